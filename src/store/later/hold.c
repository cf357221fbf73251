/* SPDX-License-Identifier: MIT */
/* Fires that found no executor and may wait for one: what would be written as failed becomes a later row instead. */
#include "store/later/later.h"

#include <stdlib.h>

#include "shardwheel/job/times.h"

#define HELD_TEXT LATER_HELD_MARK "waits: no executor could be reached; it goes out when one is there"

/* A fire that found nobody. */
struct waiting {
    const struct fire_result *result;
    const struct fire *fire;
    bool is_sent;         /* its row is open still, and as this fire left it */
    int64_t hold_until_s; /* 0: it does not wait */
    struct buf addresses; /* of a trigger that was made with some */
};

static int compare_waiting(const void *a, const void *b)
{
    return compare_numbers(((const struct waiting *)a)->result->log_id, ((const struct waiting *)b)->result->log_id);
}

/* Takes those that found nobody out of the list, ascending by log id. */
static size_t take_waiting(const struct fire_result **results, size_t *count, struct waiting *out)
{
    size_t n = 0, kept = 0;

    for (size_t i = 0; i < *count; i++) {
        if (results[i]->away)
            out[n++] = (struct waiting){.result = results[i], .fire = results[i]->away};
        else
            results[kept++] = results[i];
    }
    *count = kept;
    qsort(out, n, sizeof *out, compare_waiting);
    return n;
}

/* The row of a fire that waited is planned again, for a later second: a result that is written twice must not touch
 * it. */
static bool is_of_fire(const char *text, const struct fire *fire)
{
    struct fire mark = {0};
    char incarnation[INCARNATION_MAX];

    if (fire->shard < 0)
        return fire_parse_direct_mark(text, &mark, incarnation);
    return fire_parse_mark(text, &mark) && mark.due_s == fire->due_s;
}

static enum err lock_rows(struct store_session *s, struct waiting *list, size_t count, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    size_t i = 0;
    enum err e = store_query(s, &rows, ec,
                             "SELECT id, LEFT(trigger_msg, 100) FROM xxl_job_log FORCE INDEX (PRIMARY) WHERE id IN (?) "
                             "AND trigger_code = 0 AND handle_code = 0 ORDER BY id FOR UPDATE",
                             sql_each_in(list, count, result, log_id));

    while (!e && db_rows_next(rows)) {
        while (i < count && list[i].result->log_id < db_int(rows, 0))
            i++;
        if (i < count && list[i].result->log_id == db_int(rows, 0))
            list[i].is_sent = is_of_fire(db_text(rows, 1), list[i].fire);
    }
    db_rows_destroy(rows);
    return e;
}

/* The first wait begins with the fire's second. */
static int64_t find_end(const struct fire *fire, int64_t hold_s)
{
    int64_t until_s = fire->own && fire->own->hold_until_s ? fire->own->hold_until_s : fire->due_s + hold_s;

    return until_s > fire->due_s ? until_s : 0;
}

static enum err load_settings(struct store_session *s, struct waiting *list, size_t count, bool *some,
                              struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e =
        store_query(s, &rows, ec, "SELECT job_id, hold_s FROM shardwheel_job WHERE hold_s > 0 AND job_id IN (?)",
                    sql_each_in(list, count, fire, job_id));

    while (!e && db_rows_next(rows))
        for (size_t k = 0; k < count; k++)
            if (list[k].fire->job_id == db_int(rows, 0) && list[k].is_sent) {
                list[k].hold_until_s = find_end(list[k].fire, db_int(rows, 1));
                *some = *some || list[k].hold_until_s;
            }
    db_rows_destroy(rows);
    return e;
}

static int64_t find_next(const struct waiting *w)
{
    int64_t next_s = w->fire->due_s + HOLD_AGAIN_S;

    return next_s < w->hold_until_s ? next_s : w->hold_until_s;
}

/* The fire of a later row: that row waits again. *there: it was found. */
static enum err put_back(struct store_session *s, const struct waiting *w, bool *there, struct errctx *ec)
{
    struct db_effect effect = {0};
    enum err e = store_exec(s, &effect, ec,
                            "UPDATE shardwheel_later FORCE INDEX (shardwheel_later_log) SET planned = 0, due_s = ?, "
                            "hold_until_s = ? WHERE log_id = ?",
                            find_next(w), w->hold_until_s, w->result->log_id);

    *there = effect.matched > 0;
    return e;
}

/* A later row has its own; a trigger may have been given some. The group's own list is read when it goes out, also one
 * that was typed in. */
static const char *find_addresses(struct waiting *w)
{
    const struct group_spec *target = w->fire->target;

    if (w->fire->own)
        return w->fire->own->addresses;
    if (!target || !w->fire->addresses_given)
        return NULL;
    for (size_t i = 0; i < target->count; i++) {
        buf_puts(&w->addresses, i ? "," : "");
        buf_puts(&w->addresses, target->addresses[i]);
    }
    return target->count > 0 ? w->addresses.data : NULL;
}

/* A part of a broadcast that was made while its group was empty is all of it: it is divided when somebody is there. */
static const char *find_sharding(const struct waiting *w)
{
    const struct fire *f = w->fire;

    return f->broadcast && f->shard_total <= 1 && !f->address ? NULL : w->result->sharding;
}

/* What it would be sent with now, but for what its job says when it goes out: of its own schedule that is all. */
static struct later_row make_row(struct waiting *w)
{
    const struct fire *f = w->fire;
    bool of_schedule = f->kind == TRIGGER_CRON || f->kind == TRIGGER_MISFIRE;

    return (struct later_row){.job_id = f->job_id,
                              .due_s = find_next(w),
                              .original_due_s = f->original_due_s,
                              .kind = f->kind,
                              .param = of_schedule ? NULL : f->job->param,
                              .addresses = find_addresses(w),
                              .sharding = find_sharding(w),
                              .retries_left = of_schedule ? -1 : f->job->retry_count,
                              .generation = of_schedule && f->flags & FIRE_LAST ? LATER_LAST : f->generation,
                              .hold_until_s = w->hold_until_s,
                              .log_id = w->result->log_id};
}

static enum err write_later(struct store_session *s, struct waiting *list, size_t count, struct errctx *ec)
{
    struct later_row *rows = calloc(count, sizeof *rows);
    size_t n = 0;
    enum err e = rows ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");

    for (size_t i = 0; i < count && !e; i++) {
        bool there = false;

        if (list[i].hold_until_s && list[i].fire->own)
            e = put_back(s, &list[i], &there, ec);
        if (list[i].hold_until_s && !there)
            rows[n++] = make_row(&list[i]);
    }
    if (!e)
        e = store_insert_later(s, rows, n, ec);
    free(rows);
    return e;
}

static enum err write_logs(struct store_session *s, const struct waiting *list, size_t count, struct errctx *ec)
{
    int64_t *ids = calloc(count, sizeof *ids);
    size_t n = 0;
    enum err e = ids ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");

    for (size_t i = 0; i < count && !e; i++)
        if (list[i].hold_until_s)
            ids[n++] = list[i].result->log_id;
    for (size_t at = 0; at < n && !e; at += STORE_LIST_MAX)
        e = store_exec(s, NULL, ec,
                       "UPDATE xxl_job_log FORCE INDEX (PRIMARY) SET trigger_msg = '" HELD_TEXT "' WHERE id IN (?)",
                       sql_part(ids, n, at));
    free(ids);
    if (!e && s->st->counters)
        counters_add(s->st->counters, COUNTER_FIRES_HELD, (int64_t)n);
    return e;
}

static enum err hold_in_txn(struct store_session *s, struct waiting *list, size_t count, struct errctx *ec)
{
    bool some = false;
    enum err e = ERR_OK;

    for (size_t at = 0, n; at < count && !e; at += n) {
        n = count - at < STORE_LIST_MAX ? count - at : STORE_LIST_MAX;
        e = lock_rows(s, list + at, n, ec);
    }
    for (size_t at = 0, n; at < count && !e; at += n) {
        n = count - at < STORE_LIST_MAX ? count - at : STORE_LIST_MAX;
        e = load_settings(s, list + at, n, &some, ec);
    }
    if (e || !some)
        return e;
    e = write_later(s, list, count, ec);
    if (!e)
        e = write_logs(s, list, count, ec);
    if (!e)
        e = store_commit_txn(s, ec);
    return e;
}

enum err store_hold_fires(struct store_session *s, const struct fire_result **results, size_t *count, struct errctx *ec)
{
    struct waiting *list;
    size_t n = 0;
    enum err e;

    for (size_t i = 0; i < *count; i++)
        n += results[i]->away != NULL;
    if (n == 0)
        return ERR_OK;
    list = calloc(n, sizeof *list);
    if (!list)
        return err_set(ec, ERR_NOMEM, "out of memory");
    n = take_waiting(results, count, list);
    e = store_begin_txn(s, ec);
    if (!e)
        e = hold_in_txn(s, list, n, ec);
    store_end_txn(s);
    if (e == ERR_BUSY) { /* there is no room for later rows: they fail */
        e = ERR_OK;
        for (size_t i = 0; i < n; i++)
            list[i].hold_until_s = 0;
    }
    for (size_t i = 0; i < n && !e; i++)
        if (list[i].is_sent && !list[i].hold_until_s)
            results[(*count)++] = list[i].result;
    for (size_t i = 0; i < n; i++)
        buf_fini(&list[i].addresses);
    free(list);
    return e;
}

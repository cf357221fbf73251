/* SPDX-License-Identifier: MIT */
/* xxl_job_registry: heartbeats of executors. */
#include <stdlib.h>
#include <string.h>

#include "store/conn/datetime.h"
#include "store/conn/rows.h"
#include "shardwheel/store/registry.h"

#define BEATS_PER_STATEMENT 100

/* ---- beats ------------------------------------------------------------------------------------------------- */

static void put_key(struct sqlbuf *q, const struct beat *beat)
{
    sql_put(q, "(registry_group = ? AND registry_key = ? AND registry_value = ?)", beat->group, beat->key, beat->value);
}

static void put_keys(struct sqlbuf *q, const struct beat *beats, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        sql_puts(q, i ? " OR " : " WHERE ");
        put_key(q, &beats[i]);
    }
}

static enum err renew_beats(struct store_session *s, const struct beat *beats, size_t count, int64_t now_s,
                            int64_t *matched, struct errctx *ec)
{
    struct db_effect effect = {0};
    struct sqlbuf *q = store_sql(s, "UPDATE xxl_job_registry SET update_time = ?", sql_time(s->st->zone, now_s));
    enum err e;

    put_keys(q, beats, count);
    e = store_exec_sql(s, &effect, ec);
    *matched = effect.matched;
    return e;
}

static enum err insert_beats(struct store_session *s, const struct beat *const *beats, size_t count, int64_t now_s,
                             struct errctx *ec)
{
    struct sqlbuf *q = store_start_sql(s, "INSERT INTO xxl_job_registry (registry_group, registry_key, registry_value, "
                                          "update_time) VALUES ");

    for (size_t i = 0; i < count; i++) {
        sql_puts(q, i ? ",(" : "(");
        sql_put(q, "?,?,?,?)", beats[i]->group, beats[i]->key, beats[i]->value, sql_time(s->st->zone, now_s));
    }
    /* Another node may have been faster. Old schemas have no unique key; there a double row does no harm. */
    sql_put(q, " ON DUPLICATE KEY UPDATE update_time = ?", sql_time(s->st->zone, now_s));
    return store_exec_sql(s, NULL, ec);
}

static bool is_among(struct db_rows *rows, const struct beat *beat)
{
    db_rows_rewind(rows);
    while (db_rows_next(rows)) {
        if (!strcmp(db_text_or_empty(rows, 2), beat->value) && !strcmp(db_text_or_empty(rows, 1), beat->key) &&
            !strcmp(db_text_or_empty(rows, 0), beat->group))
            return true;
    }
    return false;
}

/* Those that have no row. An INSERT that finds its row uses up an id, so it gets the others only. */
static enum err insert_missing(struct store_session *s, const struct beat *beats, size_t count, int64_t now_s,
                               struct errctx *ec)
{
    const struct beat *missing[BEATS_PER_STATEMENT];
    struct db_rows *rows = NULL;
    size_t n = 0;
    enum err e;

    put_keys(store_start_sql(s, "SELECT registry_group, registry_key, registry_value FROM xxl_job_registry"), beats,
             count);
    e = store_query_sql(s, &rows, ec);
    for (size_t i = 0; i < count && !e; i++) {
        if (!is_among(rows, &beats[i]))
            missing[n++] = &beats[i];
    }
    db_rows_destroy(rows);
    return e || n == 0 ? e : insert_beats(s, missing, n, now_s, ec);
}

static enum err remove_beat(struct store_session *s, const struct beat *beat, struct errctx *ec)
{
    store_start_sql(s, "DELETE FROM xxl_job_registry WHERE ");
    put_key(&s->sql, beat);
    return store_exec_sql(s, NULL, ec);
}

static enum err write_beat(struct store_session *s, const struct beat *beat, int64_t now_s, struct errctx *ec)
{
    int64_t matched = 0;
    enum err e;

    if (beat->remove)
        return remove_beat(s, beat, ec);
    /* Renew first: an INSERT that finds its row uses up an id each time. */
    e = renew_beats(s, beat, 1, now_s, &matched, ec);
    if (!e && matched == 0)
        e = insert_beats(s, &beat, 1, now_s, ec);
    return e;
}

/* One that the table cannot hold must not keep the others out. */
static enum err write_or_leave_out(struct store_session *s, const struct beat *beat, int64_t now_s, struct errctx *ec)
{
    struct errctx why = {0};
    enum err e = write_beat(s, beat, now_s, &why);

    if (e && store_has_data_error(s)) {
        log_limited(&s->st->beat_log, s->st->clock, LOG_WARN, "store", "event=beat_left_out key=%s value=%s reason=%s",
                    log_quote(beat->key).s, log_quote(beat->value).s, log_quote(why.text).s);
        return ERR_OK;
    }
    return e ? err_set(ec, e, "%s", why.text) : ERR_OK;
}

/* With the unique key each beat matches one row at most, so that as many matches as beats say that all were there.
 */
static enum err write_renewals(struct store_session *s, const struct beat *beats, size_t count, int64_t now_s,
                               bool unique, struct errctx *ec)
{
    int64_t matched = 0;
    enum err e = ERR_OK;

    if (unique && count > 1) {
        struct errctx why = {0};
        e = renew_beats(s, beats, count, now_s, &matched, &why);
        if (!e && matched < (int64_t)count)
            e = insert_missing(s, beats, count, now_s, &why);
        if (!e)
            return ERR_OK;
        if (!store_has_data_error(s))
            return err_set(ec, e, "%s", why.text);
        e = ERR_OK;
    }
    for (size_t i = 0; i < count && !e; i++)
        e = write_or_leave_out(s, &beats[i], now_s, ec);
    return e;
}

static enum err write_in_txn(struct store_session *s, const struct beat *beats, size_t count, int64_t now_s,
                             bool unique, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t at = 0, end; at < count && !e; at = end) {
        end = at + 1;
        if (beats[at].remove) {
            e = write_or_leave_out(s, &beats[at], now_s, ec);
            continue;
        }
        while (end < count && end - at < BEATS_PER_STATEMENT && !beats[end].remove)
            end++;
        e = write_renewals(s, beats + at, end - at, now_s, unique, ec);
    }
    return e;
}

enum err store_write_beats(struct store_session *s, const struct beat *beats, size_t count, int64_t now_s,
                           struct errctx *ec)
{
    bool unique;
    enum err e;

    if (count == 0)
        return ERR_OK;
    unique = store_features(s)->registry_unique;
    e = store_begin_txn(s, ec);
    if (!e)
        e = write_in_txn(s, beats, count, now_s, unique, ec);
    e = store_finish_txn(s, e, ec);
    return e ? err_wrap(ec, e, "write %zu heartbeats", count) : ERR_OK;
}

/* ---- the living -------------------------------------------------------------------------------------------- */

struct dated {
    int64_t id, renewed_s;
    struct registry_row row;
    const char *update_time;
};

/* Times are compared as instants and not as local times, by which all are dead when the clocks go back an hour. */
static bool is_timed(const struct store_session *s, const struct db_rows *row, void *item)
{
    struct dated *beat = item;

    beat->update_time = db_text_or_empty(row, 4);
    return datetime_parse(s->st->zone, beat->update_time, &beat->renewed_s); /* else it never lived, and stays */
}

/* Only what still is as it was read: a beat in between saves its row. */
static enum err delete_dead(struct store_session *s, const struct dated *beats, size_t count, int64_t dead_before_s,
                            struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < count && !e; i++) {
        if (beats[i].renewed_s >= dead_before_s)
            continue;
        if (!s->in_txn)
            e = store_begin_txn(s, ec);
        if (!e)
            e = store_exec(s, NULL, ec, "DELETE FROM xxl_job_registry WHERE id = ? AND update_time = ?", beats[i].id,
                           beats[i].update_time);
    }
    return s->in_txn ? store_finish_txn(s, e, ec) : e;
}

enum err store_load_registry(struct store_session *s, int64_t dead_before_s, struct registry_list *out,
                             struct errctx *ec)
{
    static const struct row_type rows =
        ROWS_AND(struct dated, is_timed, FIELDS(struct dated, id, row.group, row.key, row.value));
    struct row_list beats = {0};
    struct registry_list list = {0};

    store_start_sql(s, "SELECT id, registry_group, registry_key, registry_value, update_time FROM xxl_job_registry "
                       "ORDER BY id");
    enum err e = store_read_list(s, &rows, &beats, ec);
    const struct dated *dated = beats.items;
    if (!e && !(list.rows = calloc(beats.count + 1, sizeof *list.rows)))
        e = err_set(ec, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < beats.count && !e; i++)
        if (dated[i].renewed_s >= dead_before_s)
            list.rows[list.count++] = dated[i].row;
    if (!e)
        e = delete_dead(s, dated, beats.count, dead_before_s, ec);
    list.memory = beats.memory;
    free(beats.items);
    if (e) {
        registry_list_fini(&list);
        return err_wrap(ec, e, "read the registry");
    }
    *out = list;
    return ERR_OK;
}

/* ---- missed heartbeats ----------------------------------------------------------------------------------------- */

enum err store_note_missed(struct store_session *s, int64_t hold_s, struct errctx *ec)
{
    enum err e = store_write(s, NULL, ec,
                             "INSERT INTO shardwheel_beats (id, began_ms, missed_ms) VALUES (1, " STORE_NOW_MS
                             ", " STORE_NOW_MS ") ON DUPLICATE KEY UPDATE began_ms = IF(missed_ms < " STORE_NOW_MS
                             " - ?, " STORE_NOW_MS ", began_ms), missed_ms = " STORE_NOW_MS,
                             hold_s * 1000);

    return e ? err_wrap(ec, e, "tell the other nodes that heartbeats were missed") : ERR_OK;
}

enum err store_load_missed(struct store_session *s, int64_t hold_s, int64_t *age_s, struct errctx *ec)
{
    int64_t age_ms = 0;
    enum err e =
        store_number(s, -1, &age_ms, ec,
                     "SELECT GREATEST(" STORE_NOW_MS
                     " - began_ms, 0) FROM shardwheel_beats WHERE id = 1 AND missed_ms >= " STORE_NOW_MS " - ?",
                     hold_s * 1000);

    if (!e)
        *age_s = age_ms < 0 ? -1 : (age_ms + 999) / 1000;
    return e ? err_wrap(ec, e, "read whether heartbeats were missed") : ERR_OK;
}

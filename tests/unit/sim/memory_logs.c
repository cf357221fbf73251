/* SPDX-License-Identifier: MIT */
/* The database in memory: planned rows after a takeover, and how rows end. */
#include "sim/memory_db.h"
#include "shardwheel/job/codes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_open(const struct memory_log *row)
{
    return row->exists && row->trigger_code == 0 && row->handle_code == 0 && !row->held && !row->direct;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static struct fire *read_row(const struct memory_log *row)
{
    struct fire *f = fire_create();

    if (!f)
        abort();
    *f = row->fire;
    f->flags &= FIRE_LAST | FIRE_LATER; /* what stands in the mark */
    f->shard = 0;
    f->route_hash = 0;
    f->written_ahead = row->fire.written_ahead && row->address;
    f->address = f->broadcast || f->written_ahead ? str_copy(row->address) : NULL;
    return f;
}

enum err store_load_planned(struct store_session *s, const struct log_slice *slice, struct fire **out, int64_t *last_id,
                            struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    struct fire *list = NULL;
    int64_t last = 0, rows = 0;
    enum err e = memory_reach(s, ec);

    if (e)
        return e;
    for (size_t i = 0; i < db->log_count && (slice->page_rows == 0 || rows < slice->page_rows); i++) {
        const struct memory_log *row = &db->logs[i];
        bool of_page = row->exists && row->fire.due_s > slice->from_s && row->fire.due_s <= slice->to_s &&
                       (slice->page_rows == 0 || row->fire.log_id > slice->after_id);

        rows += of_page;
        if (of_page && rows == slice->page_rows)
            last = row->fire.log_id;
        if (of_page && is_open(row)) {
            struct fire *f = read_row(row);

            if ((f->flags & FIRE_LATER) && !memory_load_own(db, f)) {
                fire_destroy(f);
                continue;
            }
            if ((f->flags & FIRE_LATER) && !memory_holds(db, RULE_LATER_IS_LOADED))
                f->own->param = NULL;
            f->next = list;
            list = f;
        }
    }
    fibers_sleep_us(db->look_us);
    e = memory_answer(s, /*wrote=*/false, ec);
    if (e) {
        fire_destroy_list(list);
        return e;
    }
    *out = list;
    *last_id = last;
    return ERR_OK;
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

void memory_write_code(struct memory_log *row, int code)
{
    row->trigger_code = code;
    row->was_bad = row->was_bad || code != 200;
    row->changed_us = fibers_now_us();
    if (!row->first_code)
        row->first_code = code;
}

static void write_end(struct memory_log *row, int code, const char *message)
{
    memory_write_code(row, code);
    free(row->message);
    row->message = str_copy(message);
}

static size_t end_all(struct memory_db *db, const int64_t *log_ids, size_t count, int64_t until_s, const char *message)
{
    size_t ended = 0;

    for (size_t i = 0; i < count; i++) {
        struct memory_log *row = memory_db_find_log(db, log_ids[i]);

        if (!row || !row->exists || row->fire.due_s > until_s ||
            (!is_open(row) && memory_holds(db, RULE_UNKNOWN_ONLY_WHERE_OPEN)))
            continue;
        write_end(row, 500, message);
        row->is_unknown = true;
        ended++;
    }
    db->unknown_ends += (int64_t)ended;
    return ended;
}

enum err store_end_unknown(struct store_session *s, const int64_t *log_ids, size_t count, int64_t until_s,
                           size_t *ended, struct errctx *ec)
{
    enum fate fate;
    bool go;
    enum err e = memory_begin(s, &go, &fate, ec);

    if (e)
        return e;
    *ended = end_all(s->st->db, log_ids, count, until_s, "delivery unknown: the node went away");
    return memory_end(s, fate, ec);
}

enum err store_end_doubtful(struct store_session *s, int shard, int64_t epoch, const int64_t *log_ids, size_t count,
                            struct errctx *ec)
{
    enum fate fate;
    enum err e = memory_reach(s, ec);

    if (!e)
        e = memory_wait_shard(s, shard, ec);
    if (!e && s->st->db->shard[shard].epoch != epoch)
        e = err_set(ec, ERR_STATE, "fenced");
    if (e)
        return e;
    fate = memory_draw_fate(s);
    if (fate != FATE_DONE && fate != FATE_UNKNOWN_DONE)
        return memory_fail(fate, ec);
    (void)end_all(s->st->db, log_ids, count, INT64_MAX, "delivery unknown: the guard was lost");
    return memory_end(s, fate, ec);
}

enum err store_cancel_planned(struct store_session *s, int shard, int64_t epoch, const struct gone_fires *gone,
                              struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    enum fate fate;
    enum err e = memory_reach(s, ec);

    if (!e)
        e = memory_wait_shard(s, shard, ec);
    if (!e && db->shard[shard].epoch != epoch && memory_holds(db, RULE_CANCEL_CHECKS_EPOCH))
        e = err_set(ec, ERR_STATE, "fenced");
    if (e)
        return e;
    fate = memory_draw_fate(s);
    if (fate != FATE_DONE && fate != FATE_UNKNOWN_DONE)
        return memory_fail(fate, ec);
    for (size_t i = 0; i < gone->count; i++) {
        struct memory_log *row = memory_db_find_log(db, gone->ids[i]);

        if (row && is_open(row)) {
            row->exists = false;
            row->cancelled = true;
        }
    }
    (void)end_all(db, gone->resent_ids, gone->resent_count, INT64_MAX, "delivery unknown: its job was stopped");
    return memory_end(s, fate, ec);
}

/* A delivery, than the callback that came first. */
static bool knows_better(const struct memory_log *row, const struct fire_result *result)
{
    return !result->as_planned && !result->away && result->code == 200 && row->trigger_code == 200 && row->ended_s &&
           row->alarm_status == ALARM_OPEN;
}

enum err store_write_results(struct store_session *s, const struct fire_result *results, size_t count,
                             struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    enum fate fate;
    bool go;
    enum err e = memory_begin(s, &go, &fate, ec);

    if (e)
        return e;
    for (size_t i = 0; i < count; i++) {
        struct memory_log *row = memory_db_find_log(db, results[i].log_id);

        if (!row || !row->exists ||
            (row->trigger_code != 0 && !knows_better(row, &results[i]) &&
             memory_holds(db, RULE_RESULTS_ONLY_WHERE_OPEN)))
            continue;
        if (results[i].away && memory_hold(db, &results[i]))
            continue;
        if (results[i].as_planned) {
            memory_write_code(row, results[i].code);
            continue;
        }
        write_end(row, results[i].code, results[i].message);
        row->address = memory_db_keep(db, results[i].address);
        if (results[i].write_job) {
            row->fire.group = results[i].group;
            row->retries_left = results[i].retry_count;
            row->param = memory_db_keep(db, results[i].param);
        }
        if (results[i].sharding)
            row->sharding = memory_db_keep(db, results[i].sharding);
    }
    return memory_end(s, fate, ec);
}

/* The step, or the item, as it stood after the fire was written. */
static void begin_again(struct memory_db *db, const struct sent_row *row)
{
    struct memory_flow_run *run = memory_db_find_flow_run(db, row->flow_run);
    struct flow_step_row *step = run ? &run->steps[row->flow_step] : NULL;
    struct flow_try *t = step ? &step->now : NULL;
    size_t free_fire = 0;

    if (!run || !run->exists || run->row.state > FLOW_RUN_RUNNING || t->state > FLOW_RUNNING ||
        t->log_id >= row->log_id)
        return;
    run->row.state = FLOW_RUN_RUNNING;
    run->row.look_ms = 0;
    run->is_looked_at = true;
    if (!run->has_step[row->flow_step])
        *step = (struct flow_step_row){
            .run_id = row->flow_run, .step = row->flow_step, .now.started_ms = row->due_s * 1000};
    run->has_step[row->flow_step] = true;
    t->state = FLOW_RUNNING;
    if (row->flow_items) {
        struct memory_flow_item *item = NULL;

        step->items = row->flow_items;
        for (size_t i = 0; i < ARRAY_LEN(run->items); i++)
            if (run->items[i].exists
                    ? run->items[i].row.step == row->flow_step && run->items[i].row.item == row->flow_item
                    : !item)
                item = &run->items[i];
        if (!item)
            abort();
        if (!item->exists)
            *item = (struct memory_flow_item){true, {row->flow_run, row->flow_step, row->flow_item, {0}}};
        t = &item->row.now;
        if (t->state > FLOW_RUNNING || t->log_id >= row->log_id)
            return;
        if (step->items_begun <= row->flow_item)
            step->items_begun = row->flow_item + 1;
    }
    *t = (struct flow_try){.state = FLOW_RUNNING,
                           .log_id = row->log_id,
                           .tries = t->tries + 1,
                           .started_ms = t->started_ms ? t->started_ms : row->due_s * 1000};
    while (run->fires[free_fire].log_id)
        free_fire++;
    run->fires[free_fire] =
        (struct memory_flow_fire){row->log_id, row->flow_step, row->flow_items ? row->flow_item : -1};
    db->steps_begun_again++;
}

enum err store_write_sent(struct store_session *s, const struct sent_row *rows, size_t count, const char *incarnation,
                          int64_t now_s, struct sent_counts *counts, struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    enum fate fate;
    bool go;
    enum err e = memory_begin(s, &go, &fate, ec);

    (void)incarnation;
    for (size_t i = 0; i < count && !e; i++) {
        struct memory_log *row = memory_db_find_log(db, rows[i].log_id);
        int code = rows[i].code ? rows[i].code : rows[i].handle_code ? 200 : 0;

        if (!row->exists && !rows[i].was_sent)
            continue;
        if (!row->exists && rows[i].flow_run)
            begin_again(db, &rows[i]);
        counts->written += !row->exists;
        db->written_again += !row->exists;
        row->exists = true;
        if (row->trigger_code == 0 && code != 0) {
            memory_write_code(row, code);
            counts->results++;
        }
        if (row->handle_code == 0 && rows[i].handle_code != 0) {
            row->handle_code = rows[i].handle_code;
            row->was_good = row->was_good || rows[i].handle_code == CODE_OK;
            row->was_bad = row->was_bad || rows[i].handle_code != CODE_OK;
            row->said = END_AGAIN_MARK;
            row->ended_s = now_s;
            counts->ends++;
        }
    }
    return e ? e : memory_end(s, fate, ec);
}

/* First stored result wins, and a success over the end of a lost run. True when the run has just ended well. */
static bool store_entry(struct memory_db *db, struct memory_log *row, struct callback_entry *entry, int64_t now_s)
{
    bool first = row->handle_code == 0 || (row->lost && entry->code == 200);

    entry->outcome = first ? CALLBACK_STORED : CALLBACK_REPEATED;
    if (first) {
        if (row->lost)
            memory_cancel_retry(db, row->fire.log_id);
        row->lost = false;
        row->handle_code = entry->code;
        row->was_good = row->was_good || entry->code == 200;
        row->was_bad = row->was_bad || entry->code != 200;
        row->said = memory_db_keep(db, entry->message);
        row->changed_us = fibers_now_us();
        row->ended_s = now_s;
    }
    if (row->trigger_code == 0 && (entry->delivers || (row->fire.written_ahead && row->address && !row->message)))
        memory_write_code(row, 200);
    return entry->code == 200 && (first || !memory_holds(db, RULE_CHILDREN_ONLY_ONCE));
}

/* In one transaction, where the real one has some: it says itself that each of them may have happened or not. */
enum err store_write_callbacks(struct store_session *s, struct callback_entry *entries, size_t count, int64_t now_s,
                               struct children *children, struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    struct fire *made = NULL;
    enum fate fate;
    enum err e = memory_reach(s, ec);

    if (e)
        return e;
    fate = memory_draw_fate(s);
    if (fate != FATE_DONE && fate != FATE_UNKNOWN_DONE)
        return memory_fail(fate, ec);
    for (size_t i = 0; i < count; i++) {
        struct memory_log *row = memory_db_find_log(db, entries[i].log_id);

        if (!row || !row->exists) {
            entries[i].outcome = CALLBACK_UNKNOWN_LOG;
        } else if (store_entry(db, row, &entries[i], now_s) && children && !entries[i].childless) {
            row->good_ends++;
            row->children_due = memory_count_children(db, row);
            memory_make_children(db, row, now_s, &made);
        }
    }
    if (made)
        memory_insert_direct(db, made, children->incarnation, /*visible=*/true);
    e = memory_end(s, fate, ec);
    if (made && (!e || e == ERR_UNKNOWN))
        *(e ? &children->doubtful : &children->made) = made;
    else
        fire_destroy_list(made);
    return e;
}

/* ---- FIX_DELAY --------------------------------------------------------------------------------------------------- */

enum err store_load_delayed_jobs(struct store_session *s, int shard, int n, struct delayed_job **out, size_t *count,
                                 struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    struct delayed_job *list;
    size_t found = 0;
    enum err e = memory_reach(s, ec);

    if (e)
        return e;
    list = calloc(db->job_count + 1, sizeof *list);
    if (!list)
        abort();
    for (size_t i = 0; i < db->job_count; i++) {
        const struct memory_job *job = &db->jobs[i];

        if (job->exists && job->running && job->id % n == shard && job->fixed_delay_s > 0 &&
            strcmp(job->type, "FIX_RATE") == 0 && strtoll(job->conf, NULL, 10) == job->fixed_delay_s)
            list[found++] = (struct delayed_job){job->id, job->next_ms, job->last_ms, job->fixed_delay_s};
    }
    e = memory_answer(s, /*wrote=*/false, ec);
    if (e) {
        free(list);
        return e;
    }
    *out = list;
    *count = found;
    return ERR_OK;
}

static bool is_of_schedule(const struct memory_log *row)
{
    return !row->direct && (row->fire.kind == TRIGGER_CRON || row->fire.kind == TRIGGER_MISFIRE);
}

enum err store_find_runs(struct store_session *s, const struct run_key *keys, size_t count, int limit_ms,
                         struct found_run **out, size_t *out_count, struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    struct found_run *list;
    size_t n = 0;
    enum err e = memory_reach(s, ec);

    (void)limit_ms;
    for (size_t k = 0; k < count && !e; k++)
        if (keys[k].job_id == db->unfindable_job)
            e = err_set(ec, ERR_TIMEOUT, "too slow");
    if (e)
        return e;
    list = calloc((db->log_count + db->later_count + 1) * count, sizeof *list);
    if (!list)
        abort();
    for (size_t i = 0; i < db->log_count; i++)
        for (size_t k = 0; k < count && db->logs[i].exists; k++) {
            const struct fire *f = &db->logs[i].fire;

            if (!db->logs[i].held && is_of_schedule(&db->logs[i]) && f->job_id == keys[k].job_id &&
                f->due_s == keys[k].due_s)
                list[n++] = (struct found_run){k, f->log_id};
        }
    for (size_t i = 0; i < db->later_count; i++)
        for (size_t k = 0; k < count && db->later[i].exists; k++) {
            const struct later_row *row = &db->later[i].row;

            if (row->job_id == keys[k].job_id && row->log_id &&
                (row->original_due_s == keys[k].original_due_s || row->original_due_s == keys[k].due_s) &&
                (row->kind == TRIGGER_CRON || row->kind == TRIGGER_MISFIRE))
                list[n++] = (struct found_run){k, row->log_id};
        }
    e = memory_answer(s, /*wrote=*/false, ec);
    if (e) {
        free(list);
        return e;
    }
    *out = list;
    *out_count = n;
    return ERR_OK;
}

static void read_end(struct memory_db *db, const struct memory_log *log, struct run_end *out)
{
    bool sent = log->trigger_code == 0 || log->trigger_code == 200, failed;

    out->what = log->handle_code == 0 && sent ? RUN_OPEN : RUN_ENDED;
    out->ended_s = out->what == RUN_ENDED ? log->ended_s : 0;
    failed = out->what == RUN_ENDED && log->handle_code != 200;
    if (!failed || log->retries_left <= 0)
        return;
    if (log->alarm_status == ALARM_OPEN) {
        out->what = db->follows ? RUN_OPEN : RUN_ENDED;
    } else if (log->retry_id) {
        out->what = RUN_RETRIED;
        out->retry_id = log->retry_id;
    }
    for (size_t i = 0; i < db->later_count && !log->retry_id && log->alarm_status != ALARM_OPEN; i++) {
        const struct memory_later *later = &db->later[i];

        if (!later->exists || later->row.kind != TRIGGER_RETRY || later->row.job_id != log->fire.job_id ||
            later->row.log_id == log->fire.log_id)
            continue;
        out->what = later->row.log_id ? RUN_RETRIED : RUN_OPEN;
        out->retry_id = later->row.log_id;
    }
}

enum err store_load_run_ends(struct store_session *s, struct run_end *rows, size_t count, struct errctx *ec)
{
    enum err e = memory_reach(s, ec);

    for (size_t i = 0; i < count && !e; i++) {
        const struct memory_log *row = memory_db_find_log(s->st->db, rows[i].log_id);

        rows[i] = (struct run_end){.log_id = rows[i].log_id, .what = RUN_ENDED};
        if (row && row->exists)
            read_end(s->st->db, row, &rows[i]);
    }
    return e ? e : memory_answer(s, /*wrote=*/false, ec);
}

/* SPDX-License-Identifier: MIT */
/* The database in memory: jobs, claims, guards. */
#include "sim/memory_db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SILENCE_US INT64_C(2000000) /* after so long the server ends the session of a claim, which rolls back */

/* ---- what is due ------------------------------------------------------------------------------------------------- */

static int compare_due(const void *a, const void *b)
{
    const struct due_id *x = a, *y = b;

    return x->next_ms != y->next_ms ? compare_int64(&x->next_ms, &y->next_ms) : compare_int64(&x->id, &y->id);
}

static bool is_among(const int *shards, size_t count, int shard)
{
    for (size_t i = 0; i < count; i++)
        if (shards[i] == shard)
            return true;
    return false;
}

enum err store_scan_due(struct store_session *s, const int *shards, size_t shard_count, int n, int64_t until_ms,
                        size_t limit, struct due_scan *out, struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    struct due_scan scan = {0};
    enum err e = memory_reach(s, ec);

    if (e)
        return e;
    scan.list = calloc(db->job_count + 1, sizeof *scan.list);
    if (!scan.list)
        abort();
    for (size_t i = 0; i < db->job_count; i++) {
        const struct memory_job *job = &db->jobs[i];

        if (job->exists && job->running && job->next_ms <= until_ms &&
            is_among(shards, shard_count, (int)(job->id % n)))
            scan.list[scan.count++] = (struct due_id){job->id, job->next_ms};
    }
    qsort(scan.list, scan.count, sizeof *scan.list, compare_due);
    scan.complete = scan.count <= limit;
    if (!scan.complete)
        scan.count = limit;
    e = memory_answer(s, /*wrote=*/false, ec);
    if (e)
        free(scan.list);
    else
        *out = scan;
    return e;
}

enum err store_load_due(struct store_session *s, const int64_t *ids, size_t count, int64_t until_ms,
                        struct job_page *out, struct errctx *ec)
{
    struct job_page page = {0};
    enum err e = memory_reach(s, ec);

    if (e)
        return e;
    page.jobs = calloc(count + 1, sizeof *page.jobs);
    if (!page.jobs)
        abort();
    for (size_t i = 0; i < count; i++) {
        const struct memory_job *job = memory_peek_job(s->st->db, ids[i]);

        if (job && job->running && job->next_ms <= until_ms)
            page.jobs[page.count++] = (struct job_due){.id = job->id,
                                                       .group = job->group,
                                                       .next_ms = job->next_ms,
                                                       .schedule_type = job->type,
                                                       .schedule_conf = job->conf,
                                                       .misfire = job->misfire,
                                                       .route = job->route,
                                                       .handler = job->handler,
                                                       .param = job->param,
                                                       .retry_count = job->retry_count,
                                                       .time_zone = job->time_zone,
                                                       .fixed_delay_s = job->fixed_delay_s,
                                                       .valid_from_s = job->valid_from_s,
                                                       .valid_until_s = job->valid_until_s};
    }
    e = memory_answer(s, /*wrote=*/false, ec);
    if (e)
        job_page_fini(&page);
    else
        *out = page;
    return e;
}

void store_free_list(void *items, void *memory)
{
    (void)memory;
    free(items);
}

struct job_spec *memory_make_spec(const struct memory_job *job)
{
    struct job_spec *spec = calloc(1, sizeof *spec);

    if (!spec)
        abort();
    atomic_init(&spec->refs, 1);
    spec->id = job->id;
    spec->group = job->group;
    spec->running = job->running;
    spec->childless = !job->children;
    spec->retry_count = job->retry_count;
    spec->route = job->route;
    spec->handler = job->handler;
    spec->param = job->param;
    spec->block = "SERIAL_EXECUTION";
    spec->glue_type = "BEAN";
    spec->glue_source = "";
    spec->row_hash = fire_row_hash(job->group, job->handler, job->param, job->retry_count);
    spec->route_hash = fire_route_hash(job->route);
    return spec;
}

enum err store_load_job_specs(struct store_session *s, const int64_t *ids, size_t count, struct job_spec **out,
                              struct errctx *ec)
{
    enum err e = memory_reach(s, ec);

    for (size_t i = 0; i < count; i++) {
        const struct memory_job *job = e ? NULL : memory_peek_job(s->st->db, ids[i]);

        out[i] = job ? memory_make_spec(job) : NULL;
    }
    if (!e)
        e = memory_answer(s, /*wrote=*/false, ec);
    for (size_t i = 0; i < count && e; i++) {
        job_spec_unref(out[i]);
        out[i] = NULL;
    }
    return e;
}

/* ---- claims ------------------------------------------------------------------------------------------------------ */

int64_t memory_insert_log(struct memory_db *db, const struct fire *fire, int generation)
{
    struct memory_log *row;

    if (db->log_count == db->log_room) {
        db->log_room = db->log_room ? db->log_room * 2 : 1024;
        db->logs = realloc(db->logs, db->log_room * sizeof *db->logs);
        if (!db->logs)
            abort();
    }
    row = &db->logs[db->log_count++];
    *row =
        (struct memory_log){.fire = *fire,
                            .generation = generation,
                            .first_epoch = fire->epoch,
                            .edits = memory_peek_job(db, fire->job_id) ? memory_peek_job(db, fire->job_id)->edits : 0,
                            .address = memory_db_keep(db, fire->address),
                            .made_us = fibers_now_us()};
    row->fire.log_id = (int64_t)db->log_count;
    row->fire.next = NULL;
    row->fire.job = NULL;
    row->fire.address = NULL;
    row->fire.target = NULL;
    row->fire.message = NULL;
    row->fire.own = NULL;
    return row->fire.log_id;
}

static bool is_unchanged(const struct memory_job *job, const struct job_due *read)
{
    return job && job->running && job->next_ms == read->next_ms && strcmp(job->type, read->schedule_type) == 0 &&
           strcmp(job->conf, read->schedule_conf) == 0;
}

static void add_step(struct memory_db *db, struct memory_claim *claim, struct memory_job *job, struct claim_job *asked)
{
    struct memory_step *step = &claim->steps[claim->count++];
    size_t n = 0;

    if (job->fell_back && job->fell_back_epoch != db->shard[claim->shard].epoch)
        job->generation++;

    for (const struct fire *f = asked->fires; f; f = f->next)
        n++;
    *step = (struct memory_step){.before = *job,
                                 .new_next_ms = asked->new_next_ms,
                                 .stop = asked->stop,
                                 .keeps_last = asked->keeps_last,
                                 .skipped = asked->skipped,
                                 .log_ids = calloc(n + 1, sizeof *step->log_ids)};
    if (!step->log_ids)
        abort();
    for (struct fire *f = asked->fires; f; f = f->next) {
        f->row_hash = fire_row_hash(f->group, asked->job->handler, asked->job->param, asked->job->retry_count);
        f->log_id = memory_insert_log(db, f, job->generation);
        db->logs[f->log_id - 1].retries_left = asked->job->retry_count;
        db->logs[f->log_id - 1].param = memory_db_keep(db, asked->job->param);
        if (f->broadcast)
            memory_put_sharding(db, &db->logs[f->log_id - 1], f->shard_index, f->shard_total);
        step->log_ids[step->count++] = f->log_id;
    }
    job->pending = claim->id;
}

struct memory_claim *memory_begin_claim(struct store_session *s, int shard)
{
    struct memory_db *db = s->st->db;
    struct memory_claim *claim = calloc(1, sizeof *claim);

    if (!claim)
        abort();
    *claim = (struct memory_claim){.next = db->pending,
                                   .id = ++db->next_pending,
                                   .until_us = fibers_now_us() + SILENCE_US,
                                   .st = s->st,
                                   .shard = shard};
    db->pending = claim;
    db->shard[shard].pending = claim->id;
    return claim;
}

/* Compares, locks, inserts what nobody sees yet. */
static struct memory_claim *begin_claim(struct store_session *s, int shard, struct claim_job *jobs, size_t count)
{
    struct memory_db *db = s->st->db;
    struct memory_claim *claim = memory_begin_claim(s, shard);

    claim->steps = calloc(count + 1, sizeof *claim->steps);
    if (!claim->steps)
        abort();
    for (size_t i = 0; i < count; i++) {
        struct memory_job *job = memory_peek_job(db, jobs[i].job->id);

        jobs[i].advanced =
            is_unchanged(job, jobs[i].job) || (job && job->running && !memory_holds(db, RULE_CLAIM_COMPARES_JOBS));
        if (jobs[i].advanced)
            add_step(db, claim, job, &jobs[i]);
    }
    return claim;
}

static enum err end_claim(struct store_session *s, int64_t id, int64_t guard_serial, const struct claim_guards *guards,
                          struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    struct memory_claim *claim;
    enum fate fate;

    memory_end_overdue(db);
    claim = memory_find_claim(db, id);
    if (!claim)
        return err_set(ec, ERR_LOST, "the server has ended the session");
    if (guards && (!db->guarded || db->guard_serial != guard_serial)) {
        memory_roll_back(db, claim);
        return err_set(ec, ERR_GUARD, "the guard was lost during the claim");
    }
    fate = memory_draw_fate(s);
    switch (fate) {
    case FATE_DONE:
    case FATE_UNKNOWN_DONE: memory_commit(db, claim); break;
    case FATE_LOST:
    case FATE_CONFLICT:
    case FATE_UNKNOWN_NOT: memory_roll_back(db, claim); break;
    case FATE_UNKNOWN_LATER:
        claim->carry_out = fibers_chance(500);
        claim->until_us = fibers_now_us() + (int64_t)fibers_draw(1500000);
        break;
    }
    return memory_end(s, fate, ec);
}

enum err memory_end_claim(struct store_session *s, int64_t id, struct errctx *ec)
{
    return end_claim(s, id, 0, /*guards=*/NULL, ec);
}

enum err store_claim_jobs(struct store_session *s, int shard, int64_t epoch, struct claim_job *jobs, size_t count,
                          struct claim_guards *guards, struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    int64_t guard_serial, id;
    enum err e = memory_reach(s, ec);

    for (size_t i = 0; i < count; i++)
        jobs[i].advanced = false;
    if (!e)
        e = memory_wait_shard(s, shard, ec);
    if (!e && db->shard[shard].epoch != epoch && memory_holds(db, RULE_CLAIM_CHECKS_EPOCH))
        e = err_set(ec, ERR_STATE, "fenced");
    if (!e && guards && !db->guarded)
        e = err_set(ec, ERR_GUARD, "no node keeps Java admins on standby at the moment");
    if (e)
        return e;
    guard_serial = db->guard_serial;
    if (guards)
        *guards = (struct claim_guards){.count = 1, .list = {{.incarnation = "g", .connection = guard_serial}}};
    id = begin_claim(s, shard, jobs, count)->id;
    fibers_sleep_us((int64_t)fibers_draw((uint64_t)db->latency_us)); /* the statements of the transaction */
    e = end_claim(s, id, guard_serial, guards, ec);
    for (size_t i = 0; i < count && e; i++)
        jobs[i].advanced = false;
    return e;
}

enum err store_claim_free_jobs(struct store_session *s, int shard, int64_t epoch, struct claim_job *jobs, size_t count,
                               struct claim_guards *guards, struct errctx *ec)
{
    return store_claim_jobs(s, shard, epoch, jobs, count, guards, ec);
}

/* True when the rows of the job's fires are there, and are those that we wrote. */
static bool has_rows(struct memory_db *db, const struct claim_job *job)
{
    for (const struct fire *f = job->fires; f; f = f->next) {
        const struct memory_log *row = memory_db_find_log(db, f->log_id);

        if (row && row->exists && row->fire.job_id == f->job_id && row->fire.due_s == f->due_s &&
            row->fire.original_due_s == f->original_due_s && row->fire.epoch == f->epoch)
            return true;
    }
    return false;
}

static bool was_advanced(struct memory_db *db, const struct claim_job *claim)
{
    const struct memory_job *job = memory_peek_job(db, claim->job->id);

    if (claim->fires)
        return has_rows(db, claim) && memory_holds(db, RULE_READ_BACK_FINDS_ROWS);
    if (!job)
        return false;
    return claim->stop
               ? !job->running && job->last_ms == 0 && job->next_ms == 0
               : (claim->keeps_last || job->last_ms == claim->job->next_ms) && job->next_ms == claim->new_next_ms;
}

enum err store_load_claimed(struct store_session *s, int shard, int64_t epoch, struct claim_job *jobs, size_t count,
                            struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    enum err e = memory_reach(s, ec);

    for (size_t i = 0; i < count; i++)
        jobs[i].advanced = false;
    if (!e && memory_holds(db, RULE_READ_BACK_WAITS_FOR_LOCK))
        e = memory_wait_shard(s, shard, ec);
    if (!e && db->shard[shard].epoch != epoch)
        e = err_set(ec, ERR_STATE, "fenced");
    for (size_t i = 0; i < count && !e; i++)
        jobs[i].advanced = was_advanced(db, &jobs[i]);
    if (!e)
        e = memory_answer(s, /*wrote=*/false, ec);
    for (size_t i = 0; i < count && e; i++)
        jobs[i].advanced = false;
    return e;
}

enum err store_check_guards(struct store_session *s, const struct claim_guards *guards, bool *held, struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    bool lives;
    enum err e = memory_reach(s, ec);

    if (e)
        return e;
    lives = db->guarded && guards->count > 0 && guards->list[0].connection == db->guard_serial;
    e = memory_answer(s, /*wrote=*/false, ec);
    if (!e)
        *held = lives;
    return e;
}

enum err store_load_uptime_s(struct store_session *s, int64_t *out_s, struct errctx *ec)
{
    enum err e = memory_reach(s, ec);

    if (!e)
        *out_s = fibers_now_us() / 1000000 + 86400;
    return e;
}

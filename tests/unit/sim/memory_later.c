/* SPDX-License-Identifier: MIT */
/* The database in memory: later rows. */
#include "sim/memory_db.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shardwheel/job/times.h"

/* ---- the table --------------------------------------------------------------------------------------------------- */

struct memory_later *memory_db_find_later(struct memory_db *db, int64_t id)
{
    return id >= 1 && (size_t)id <= db->later_count && db->later[id - 1].exists ? &db->later[id - 1] : NULL;
}

static struct memory_later *find_by_log(struct memory_db *db, int64_t log_id)
{
    for (size_t i = 0; i < db->later_count; i++)
        if (db->later[i].exists && db->later[i].row.log_id == log_id)
            return &db->later[i];
    return NULL;
}

int64_t memory_db_add_later(struct memory_db *db, const struct later_row *row)
{
    struct memory_later *grown = realloc(db->later, (db->later_count + 1) * sizeof *grown);

    if (!grown)
        abort();
    db->later = grown;
    grown[db->later_count] = (struct memory_later){.exists = true, .row = *row};
    grown[db->later_count].row.param = memory_db_keep(db, row->param);
    grown[db->later_count].row.addresses = memory_db_keep(db, row->addresses);
    grown[db->later_count].row.sharding = memory_db_keep(db, row->sharding);
    grown[db->later_count].row.id = (int64_t)db->later_count + 1;
    return (int64_t)++db->later_count;
}

/* ---- looking ----------------------------------------------------------------------------------------------------- */

enum err store_scan_later(struct store_session *s, const int *shards, size_t shard_count, int n, int64_t until_s,
                          size_t limit, struct later_scan *out, struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    struct later_scan scan = {.complete = true};
    enum err e = memory_reach(s, ec);

    if (e)
        return e;
    scan.list = calloc(db->later_count + 1, sizeof *scan.list);
    if (!scan.list)
        abort();
    for (size_t i = 0; i < db->later_count; i++) {
        const struct later_row *row = &db->later[i].row;
        bool ours = false;

        for (size_t k = 0; k < shard_count; k++)
            ours = ours || row->job_id % n == shards[k];
        if (!db->later[i].exists || row->planned || row->due_s > until_s || !ours)
            continue;
        scan.complete = scan.count < limit;
        if (scan.complete)
            scan.list[scan.count++] = (struct later_id){row->id, row->job_id};
    }
    e = memory_answer(s, /*wrote=*/false, ec);
    if (e)
        free(scan.list);
    else
        *out = scan;
    return e;
}

enum err store_load_later(struct store_session *s, const int64_t *ids, size_t count, struct later_page *out,
                          struct errctx *ec)
{
    struct later_page page = {0};
    enum err e = memory_reach(s, ec);

    if (e)
        return e;
    page.rows = calloc(count + 1, sizeof *page.rows);
    if (!page.rows)
        abort();
    for (size_t i = 0; i < count; i++) {
        const struct memory_later *later = memory_db_find_later(s->st->db, ids[i]);

        if (later && !later->row.planned)
            page.rows[page.count++] = later->row;
    }
    e = memory_answer(s, /*wrote=*/false, ec);
    if (e)
        later_page_fini(&page);
    else
        *out = page;
    return e;
}

bool memory_load_own(struct memory_db *db, struct fire *fire)
{
    const struct memory_later *later = find_by_log(db, fire->log_id);

    if (!later)
        return false;
    fire->own = fire_own_create(&(struct fire_own){.param = later->row.param,
                                                   .addresses = later->row.addresses,
                                                   .retries = later->row.retries_left,
                                                   .hold_until_s = later->row.hold_until_s});
    if (!fire->own)
        abort();
    return true;
}

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static bool is_waiting(struct memory_db *db, int64_t log_id)
{
    const struct memory_log *log = memory_db_find_log(db, log_id);

    return log && log->exists && log->held && log->trigger_code == 0 && log->handle_code == 0;
}

/* Of its job as the claim has it: with what the later row has of its own. */
static void write_own(struct memory_db *db, const struct fire *f, int64_t later_id)
{
    struct memory_log *log = memory_db_find_log(db, f->log_id);

    log->retries_left = f->job->retry_count;
    log->param = memory_db_keep(db, f->job->param);
    log->retry_of = memory_db_find_later(db, later_id)->retry_of;
    if (f->broadcast)
        memory_put_sharding(db, log, f->shard_index, f->shard_total);
}

static void add_step(struct memory_db *db, struct memory_claim *claim, struct later_claim *asked)
{
    struct memory_later_step *step = &claim->later[claim->later_count++];
    size_t n = 0;

    for (const struct fire *f = asked->fires; f; f = f->next)
        n++;
    if (asked->fate == LATER_PLAN && asked->row->log_id && !is_waiting(db, asked->row->log_id))
        asked->fate = LATER_DROP;
    *step = (struct memory_later_step){.id = asked->row->id,
                                       .fate = asked->fate,
                                       .again_s = asked->again_s,
                                       .fires = calloc(n + 1, sizeof *step->fires)};
    if (!step->fires)
        abort();
    for (struct fire *f = asked->fate == LATER_PLAN ? asked->fires : NULL; f; f = f->next) {
        f->row_hash = f->job->row_hash;
        f->log_id = f == asked->fires && asked->row->log_id ? asked->row->log_id : memory_insert_log(db, f, 0);
        write_own(db, f, asked->row->id);
        step->fires[step->count] = *f;
        step->fires[step->count].address = (char *)(uintptr_t)memory_db_keep(db, f->address);
        step->count++;
    }
}

static void plan_fire(struct memory_db *db, int64_t later_id, const struct fire *fire)
{
    struct memory_log *log = memory_db_find_log(db, fire->log_id);
    struct later_row row = memory_db_find_later(db, later_id)->row;
    char sharding[LATER_SHARDING_MAX];

    if (log->exists) { /* it waited */
        log->held = false;
        log->fire.due_s = fire->due_s;
        log->fire.epoch = fire->epoch;
        log->fire.flags = fire->flags;
        log->fire.row_hash = fire->row_hash;
        log->address = fire->address;
    }
    log->exists = true;
    snprintf(sharding, sizeof sharding, "%d/%d", fire->shard_index, fire->shard_total);
    if (fire->shard_index > 0 && !row.sharding) {
        row.sharding = sharding;
        row.log_id = fire->log_id;
        row.planned = true;
        later_id = memory_db_add_later(db, &row);
        db->later[later_id - 1].plans = 1;
        db->later[later_id - 1].retry_of = log->retry_of;
        return;
    }
    db->later[later_id - 1].row.log_id = fire->log_id;
    db->later[later_id - 1].row.planned = true;
    db->later[later_id - 1].plans++;
}

/* The first of a broadcast's parts last: until then its row has no number. */
static void commit_step(struct memory_db *db, const struct memory_later_step *step)
{
    struct memory_later *later = memory_db_find_later(db, step->id);
    char sharding[LATER_SHARDING_MAX];

    if (!later)
        return;
    switch (step->fate) {
    case LATER_WAIT:
        later->row.due_s = step->again_s;
        later->waits++;
        break;
    case LATER_DROP: {
        struct memory_log *log = memory_db_find_log(db, later->row.log_id);

        if (log && is_waiting(db, later->row.log_id)) {
            memory_write_code(log, 500);
            log->alarm_status = ALARM_NOT_NEEDED;
            log->held = false;
        }
        later->exists = false;
        break;
    }
    case LATER_PLAN:
        for (size_t i = step->count; i-- > 0;)
            plan_fire(db, step->id, &step->fires[i]);
        if (step->count > 1) {
            snprintf(sharding, sizeof sharding, "0/%d", step->fires[0].shard_total);
            db->later[step->id - 1].row.sharding = memory_db_keep(db, sharding);
        }
        break;
    }
}

void memory_commit_later(struct memory_db *db, struct memory_claim *claim)
{
    for (size_t i = 0; i < claim->later_count; i++)
        commit_step(db, &claim->later[i]);
}

enum err store_claim_later(struct store_session *s, int shard, int64_t epoch, struct later_claim *claims, size_t count,
                           struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    struct memory_claim *claim;
    int64_t id;
    enum err e = memory_reach(s, ec);

    for (size_t i = 0; i < count; i++)
        claims[i].done = claims[i].locked = false;
    if (!e)
        e = memory_wait_shard(s, shard, ec);
    if (!e && db->shard[shard].epoch != epoch && memory_holds(db, RULE_LATER_CHECKS_EPOCH))
        e = err_set(ec, ERR_STATE, "fenced");
    for (size_t i = 0; i < count && !e; i++) {
        const struct memory_later *later = memory_db_find_later(db, claims[i].row->id);

        if (later && later->trouble != LATER_PASSED_BY && later->trouble)
            e = err_set(ec, later->trouble == LATER_LOCKED ? ERR_CONFLICT : ERR_INPUT, "later row %" PRId64,
                        later->row.id);
        db->later_troubles += e != ERR_OK;
    }
    if (e)
        return e;
    claim = memory_begin_claim(s, shard);
    claim->later = calloc(count + 1, sizeof *claim->later);
    if (!claim->later)
        abort();
    for (size_t i = 0; i < count; i++) {
        const struct memory_later *later = memory_db_find_later(db, claims[i].row->id);

        claims[i].locked = later && later->trouble;
        claims[i].done = later && !later->row.planned && !claims[i].locked;
        if (claims[i].done)
            add_step(db, claim, &claims[i]);
    }
    id = claim->id;
    fibers_sleep_us((int64_t)fibers_draw((uint64_t)db->latency_us)); /* the statements of the transaction */
    e = memory_end_claim(s, id, ec);
    for (size_t i = 0; i < count && e; i++)
        claims[i].done = false;
    return e;
}

enum err store_find_later_claimed(struct store_session *s, int shard, int64_t epoch, struct later_claim *claims,
                                  size_t count, struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    enum err e = memory_reach(s, ec);

    for (size_t i = 0; i < count; i++)
        claims[i].done = false;
    if (!e)
        e = memory_wait_shard(s, shard, ec);
    if (!e && db->shard[shard].epoch != epoch)
        e = err_set(ec, ERR_STATE, "fenced");
    if (!e)
        e = memory_answer(s, /*wrote=*/false, ec);
    for (size_t i = 0; i < count && !e; i++) {
        const struct memory_later *later = memory_db_find_later(db, claims[i].row->id);

        claims[i].done = later && later->row.planned && claims[i].fate == LATER_PLAN &&
                         later->row.log_id == claims[i].fires->log_id && memory_holds(db, RULE_LATER_IS_READ_BACK);
    }
    return e;
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

enum err store_end_later(struct store_session *s, size_t limit, size_t *ended, struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    enum fate fate;
    bool go;
    enum err e = memory_begin(s, &go, &fate, ec);

    *ended = 0;
    if (e)
        return e;
    for (size_t i = 0; i < db->later_count && *ended < limit; i++) {
        struct memory_later *later = &db->later[i];
        const struct memory_log *log = memory_db_find_log(db, later->row.log_id);

        if (!later->exists || !later->row.planned ||
            (log && log->exists &&
             ((log->trigger_code == 0 && log->handle_code == 0) ||
              (later->row.kind == TRIGGER_RETRY &&
               log->fire.due_s > memory_db_wall_ms(db) / 1000 - LATER_RETRY_STAYS_S))))
            continue;
        later->exists = false;
        ++*ended;
    }
    return memory_end(s, fate, ec);
}

/* ---- waiting for an executor ------------------------------------------------------------------------------------- */

/* Those that were given with the order, joined. */
static const char *find_addresses(struct memory_db *db, const struct fire *fire)
{
    char list[400] = "";

    if (fire->own)
        return fire->own->addresses;
    for (size_t i = 0; fire->target && fire->addresses_given && i < fire->target->count; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? "," : "", fire->target->addresses[i]);
    return list[0] ? memory_db_keep(db, list) : NULL;
}

bool memory_hold(struct memory_db *db, const struct fire_result *result)
{
    const struct fire *fire = result->away;
    const struct memory_job *job = memory_peek_job(db, fire->job_id);
    struct memory_log *log = memory_db_find_log(db, result->log_id);
    struct memory_later *later = find_by_log(db, result->log_id);
    bool of_schedule = fire->kind == TRIGGER_CRON || fire->kind == TRIGGER_MISFIRE;
    bool made_for_nobody = fire->broadcast && fire->shard_total <= 1 && !fire->address;
    int64_t id, until_s = fire->own && fire->own->hold_until_s ? fire->own->hold_until_s
                                                               : fire->due_s + (job ? job->hold_s : 0);
    int64_t again_s = fire->due_s + HOLD_AGAIN_S < until_s ? fire->due_s + HOLD_AGAIN_S : until_s;

    if (log->held || log->direct != (fire->shard < 0) || log->fire.due_s != fire->due_s) /* dealt with */
        return true;
    if (!job || !job->hold_s || until_s <= fire->due_s)
        return false;
    log->held = log->was_held = true;
    log->direct = false; /* from now on its shard's */
    if (!later) {
        id = memory_db_add_later(
            db,
            &(struct later_row){.job_id = fire->job_id,
                                .due_s = again_s,
                                .original_due_s = fire->original_due_s,
                                .kind = fire->kind,
                                .param = of_schedule ? NULL : fire->job->param,
                                .addresses = find_addresses(db, fire),
                                .sharding = made_for_nobody ? NULL : result->sharding,
                                .retries_left = of_schedule ? -1 : fire->job->retry_count,
                                .generation = of_schedule && fire->flags & FIRE_LAST ? LATER_LAST : fire->generation,
                                .hold_until_s = until_s,
                                .log_id = result->log_id});
        db->later[id - 1].retry_of = log->retry_of;
        return true;
    }
    later->row.planned = false;
    later->row.due_s = again_s;
    later->row.hold_until_s = until_s;
    later->holds++;
    return true;
}

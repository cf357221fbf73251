/* SPDX-License-Identifier: MIT */
/* The database in memory: its tables, the way to it, faults, and transactions that are under way. */
#include "sim/memory_db.h"
#include "shardwheel/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOCK_WAIT_US INT64_C(1000000)
#define LOCK_LOOK_US 5000
#define CALL_MS 90000 /* as store/conn/pool.c has it with the usual limits */

/* ---- tables ------------------------------------------------------------------------------------------------------ */

struct memory_db *memory_db_create(int shards, int64_t base_wall_ms)
{
    struct memory_db *db = calloc(1, sizeof *db);

    if (!db)
        abort();
    db->base_wall_us = base_wall_ms * 1000;
    db->latency_us = 2000;
    db->shards = shards;
    for (int k = 0; k < shards; k++)
        db->shard[k].cursor_s = time_floor_div(base_wall_ms, 1000);
    db->guarded = true;
    return db;
}

/* Tables as they were. */
struct memory_past {
    struct memory_job *jobs;
    size_t job_count;
    struct memory_log *logs;
    size_t log_count;
    struct memory_shard shard[STORE_SHARDS_MAX];
    struct memory_note *notes;
    size_t note_count;
    struct memory_flow *flows;
    size_t flow_count;
    struct memory_flow_run *flow_runs;
    size_t flow_run_count;
};

static void forget_past(struct memory_db *db)
{
    for (size_t i = 0; db->past && i < db->past->log_count; i++)
        free(db->past->logs[i].message);
    if (db->past) {
        free(db->past->jobs);
        free(db->past->logs);
        free(db->past->notes);
        free(db->past->flows);
        free(db->past->flow_runs);
    }
    free(db->past);
    db->past = NULL;
}

static void *copy(const void *from, size_t size)
{
    void *to = malloc(size + 1);

    if (!to)
        abort();
    return size ? memcpy(to, from, size) : to;
}

void memory_db_remember(struct memory_db *db)
{
    struct memory_past *past = calloc(1, sizeof *past);

    if (!past)
        abort();
    forget_past(db);
    past->jobs = copy(db->jobs, db->job_count * sizeof *db->jobs);
    past->job_count = db->job_count;
    past->logs = copy(db->logs, db->log_count * sizeof *db->logs);
    past->log_count = db->log_count;
    for (size_t i = 0; i < past->log_count; i++)
        past->logs[i].message = past->logs[i].message ? str_copy(past->logs[i].message) : NULL;
    past->notes = copy(db->notes, db->note_count * sizeof *db->notes);
    past->note_count = db->note_count;
    past->flows = copy(db->flows, db->flow_count * sizeof *db->flows);
    past->flow_count = db->flow_count;
    past->flow_runs = copy(db->flow_runs, db->flow_run_count * sizeof *db->flow_runs);
    past->flow_run_count = db->flow_run_count;
    memcpy(past->shard, db->shard, sizeof past->shard);
    db->past = past;
}

/* Ids that were given are never given again: the rows stay, as rows that are not there. What arrived has arrived. */
static void fall_back(struct memory_db *db, struct memory_log *row, const struct memory_log *was)
{
    struct memory_log now = *row;

    *row = was ? *was : (struct memory_log){.fire = now.fire, .generation = now.generation};
    row->message = row->message ? str_copy(row->message) : NULL;
    row->arrivals = now.arrivals;
    row->arrival_wall_ms = now.arrival_wall_ms;
    row->said_good = now.said_good;
    row->said_bad = now.said_bad;
    row->forgotten = now.forgotten || (now.exists && !row->exists);
    row->was_sent = now.was_sent || (now.exists && now.fire.due_s <= db->shard[now.fire.job_id % db->shards].cursor_s);
    free(now.message);
}

void memory_db_fail_over(struct memory_db *db)
{
    struct memory_past *past = db->past;

    while (db->pending)
        memory_roll_back(db, db->pending);
    while (db->flow_moves)
        memory_roll_back_move(db, db->flow_moves->id);
    for (size_t i = 0; i < db->log_count; i++)
        fall_back(db, &db->logs[i], i < past->log_count ? &past->logs[i] : NULL);
    for (size_t i = 0; i < past->job_count; i++) {
        db->jobs[i] = past->jobs[i];
        db->jobs[i].pending = 0;
    }
    for (size_t i = 0; i < past->flow_count; i++)
        db->flows[i] = past->flows[i];
    for (size_t i = 0; i < db->flow_run_count; i++)
        db->flow_runs[i] = i < past->flow_run_count ? past->flow_runs[i] : (struct memory_flow_run){0};
    for (int k = 0; k < db->shards; k++) {
        db->shard[k] = past->shard[k];
        db->shard[k].pending = 0;
        db->shard[k].epoch++;
        db->shard[k].cursor_epoch++;
    }
    free(db->notes);
    db->notes = copy(past->notes, past->note_count * sizeof *past->notes);
    db->note_count = past->note_count;
    db->era++;
}

void memory_db_destroy(struct memory_db *db)
{
    while (db->pending)
        memory_roll_back(db, db->pending);
    memory_free_flows(db);
    forget_past(db);
    for (size_t i = 0; i < db->log_count; i++)
        free(db->logs[i].message);
    for (size_t i = 0; i < MEMORY_TEXTS; i++)
        while (db->texts[i]) {
            struct memory_text *text = db->texts[i];

            db->texts[i] = text->next;
            free(text);
        }
    free(db->logs);
    free(db->jobs);
    free(db->later);
    free(db->notes);
    free(db);
}

int64_t memory_db_wall_ms(const struct memory_db *db)
{
    return (db->base_wall_us + fibers_now_us()) / 1000;
}

static uint64_t hash(const char *text)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return h;
}

const char *memory_db_keep(struct memory_db *db, const char *text)
{
    struct memory_text **link, *kept;

    if (!text)
        return NULL;
    link = &db->texts[hash(text) % MEMORY_TEXTS];
    for (kept = *link; kept; kept = kept->next)
        if (strcmp(kept->text, text) == 0)
            return kept->text;
    kept = malloc(sizeof *kept + strlen(text) + 1);
    if (!kept)
        abort();
    kept->next = *link;
    memcpy(kept->text, text, strlen(text) + 1);
    *link = kept;
    return kept->text;
}

struct memory_job *memory_peek_job(struct memory_db *db, int64_t id)
{
    struct memory_job *job = id >= 1 && (size_t)id <= db->job_count ? &db->jobs[id - 1] : NULL;

    return job && job->exists ? job : NULL;
}

struct memory_job *memory_db_add_job(struct memory_db *db, const char *type, const char *conf, int64_t next_ms)
{
    struct memory_job *grown = realloc(db->jobs, (db->job_count + 1) * sizeof *grown);

    if (!grown)
        abort();
    db->jobs = grown;
    grown[db->job_count] = (struct memory_job){.exists = true,
                                               .running = true,
                                               .id = (int64_t)db->job_count + 1,
                                               .group = 1,
                                               .next_ms = next_ms,
                                               .type = memory_db_keep(db, type),
                                               .conf = memory_db_keep(db, conf),
                                               .misfire = "DO_NOTHING",
                                               .route = "FIRST",
                                               .handler = "demo",
                                               .param = "p"};
    return &grown[db->job_count++];
}

struct memory_job *memory_db_find_job(struct memory_db *db, int64_t id)
{
    for (;;) {
        struct memory_job *job;

        memory_end_overdue(db);
        job = memory_peek_job(db, id);
        if (!job || !job->pending)
            return job;
        fibers_sleep_us(LOCK_LOOK_US);
    }
}

struct memory_log *memory_db_find_log(struct memory_db *db, int64_t id)
{
    return id >= 1 && (size_t)id <= db->log_count ? &db->logs[id - 1] : NULL;
}

bool memory_holds(const struct memory_db *db, enum memory_rule rule)
{
    return db->broken != rule;
}

/* ---- the way to the server and back ------------------------------------------------------------------------------ */

static bool is_reached(const struct store_session *s)
{
    return !s->st->db->away && !s->st->cut && s->era == s->st->db->era;
}

static enum err lose(struct store_session *s, enum err e, struct errctx *ec)
{
    /* Refused at once, or silence until the client gives up. */
    if (fibers_chance(200)) {
        watch_pause(CALL_MS);
        fibers_sleep_us(s->kind == SESSION_RING ? 3000000 : 5000000);
    }
    watch_step();
    return err_set(ec, e, "the database is unavailable");
}

static void travel(const struct store_session *s)
{
    if (s->st->db->moves)
        s->st->db->moves(s->st->db->arg, s->st);
    watch_pause(CALL_MS);
    fibers_sleep_us(200 + (int64_t)fibers_draw((uint64_t)s->st->db->latency_us));
    watch_step();
}

enum err memory_reach(struct store_session *s, struct errctx *ec)
{
    travel(s);
    if (!is_reached(s))
        return lose(s, ERR_LOST, ec);
    memory_end_overdue(s->st->db);
    return ERR_OK;
}

enum err memory_answer(struct store_session *s, bool wrote, struct errctx *ec)
{
    travel(s);
    return is_reached(s) ? ERR_OK : lose(s, wrote ? ERR_UNKNOWN : ERR_LOST, ec);
}

enum fate memory_draw_fate(struct store_session *s)
{
    struct memory_db *db = s->st->db;

    if (!is_reached(s))
        return FATE_LOST;
    if (!fibers_chance(db->fault_permille))
        return FATE_DONE;
    db->faults++;
    return FATE_LOST + (enum fate)fibers_draw(FATE_UNKNOWN_LATER - FATE_LOST + !db->calm);
}

enum err memory_fail(enum fate fate, struct errctx *ec)
{
    switch (fate) {
    case FATE_DONE: return ERR_OK;
    case FATE_LOST: return err_set(ec, ERR_LOST, "drawn: the connection broke");
    case FATE_CONFLICT: return err_set(ec, ERR_CONFLICT, "drawn: deadlock");
    case FATE_UNKNOWN_DONE:
    case FATE_UNKNOWN_NOT:
    case FATE_UNKNOWN_LATER: break;
    }
    return err_set(ec, ERR_UNKNOWN, "drawn: the connection broke during the commit");
}

enum err memory_begin(struct store_session *s, bool *go, enum fate *fate, struct errctx *ec)
{
    enum err e = memory_reach(s, ec);

    *go = false;
    if (e)
        return e;
    *fate = memory_draw_fate(s);
    *go = *fate == FATE_DONE || *fate == FATE_UNKNOWN_DONE;
    return *go ? ERR_OK : memory_fail(*fate, ec);
}

enum err memory_end(struct store_session *s, enum fate fate, struct errctx *ec)
{
    return fate == FATE_DONE ? memory_answer(s, /*wrote=*/true, ec) : memory_fail(fate, ec);
}

enum err store_take_session(struct store *st, enum session_kind kind, struct store_session **out, struct errctx *ec)
{
    struct store_session *s = calloc(1, sizeof *s);

    (void)ec;
    if (!s)
        abort();
    *s = (struct store_session){st, kind, st->db->era};
    if (!is_reached(s)) {
        enum err e = lose(s, ERR_LOST, ec);

        free(s);
        return e;
    }
    *out = s;
    return ERR_OK;
}

void store_give_session(struct store *st, struct store_session *s)
{
    (void)st;
    free(s);
}

enum err store_ping(struct store_session *s, struct errctx *ec)
{
    enum err e = memory_reach(s, ec);

    return e ? e : memory_answer(s, /*wrote=*/false, ec);
}

enum err store_check_writable(struct store_session *s, struct errctx *ec)
{
    return store_ping(s, ec);
}

/* ---- transactions under way -------------------------------------------------------------------------------------- */

struct memory_claim *memory_find_claim(struct memory_db *db, int64_t id)
{
    for (struct memory_claim *c = db->pending; c; c = c->next)
        if (c->id == id)
            return c;
    return NULL;
}

static void let_go(struct memory_db *db, struct memory_claim *claim)
{
    for (struct memory_claim **link = &db->pending; *link; link = &(*link)->next) {
        if (*link == claim) {
            *link = claim->next;
            break;
        }
    }
    if (db->shard[claim->shard].pending == claim->id)
        db->shard[claim->shard].pending = 0;
    for (size_t i = 0; i < claim->count; i++) {
        struct memory_job *job = &db->jobs[claim->steps[i].before.id - 1];

        if (job->pending == claim->id)
            job->pending = 0;
        free(claim->steps[i].log_ids);
    }
    for (size_t i = 0; i < claim->later_count; i++)
        free(claim->later[i].fires);
    free(claim->later);
    free(claim->steps);
    free(claim);
}

static void commit_step(struct memory_db *db, struct store *st, const struct memory_step *step)
{
    struct memory_job *job = &db->jobs[step->before.id - 1];

    if (!step->keeps_last)
        job->last_ms = step->stop ? 0 : step->before.next_ms;
    job->next_ms = step->stop ? 0 : step->new_next_ms;
    job->running = !step->stop;
    job->set_by_hand = job->set_by_hand && step->keeps_last;
    job->fell_back = job->fell_back && step->keeps_last;
    for (size_t i = 0; i < step->count; i++)
        db->logs[step->log_ids[i] - 1].exists = true;
    if (db->claimed && !step->keeps_last)
        db->claimed(db->arg, st, &step->before, step->new_next_ms, step->stop, step->log_ids, step->count,
                    &step->skipped);
}

void memory_commit(struct memory_db *db, struct memory_claim *claim)
{
    for (size_t i = 0; i < claim->count; i++)
        commit_step(db, claim->st, &claim->steps[i]);
    memory_commit_later(db, claim);
    if (claim->steps)
        db->claims++;
    else if (!claim->later)
        memory_take_over(db, claim->shard, claim->epoch, claim->cursor_s, claim->owner);
    let_go(db, claim);
}

void memory_roll_back(struct memory_db *db, struct memory_claim *claim)
{
    let_go(db, claim);
}

void memory_end_overdue(struct memory_db *db)
{
    for (struct memory_claim *c = db->pending, *next; c; c = next) {
        next = c->next;
        if (c->until_us > fibers_now_us())
            continue;
        if (c->carry_out)
            memory_commit(db, c);
        else
            memory_roll_back(db, c);
    }
    memory_end_overdue_moves(db);
}

enum err memory_wait_shard(struct store_session *s, int shard, struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    int64_t until_us = fibers_now_us() + LOCK_WAIT_US;

    for (;;) {
        memory_end_overdue(db);
        if (db->shard[shard].pending == 0 && !memory_is_shared(db, shard))
            return ERR_OK;
        if (fibers_now_us() >= until_us)
            return err_set(ec, ERR_CONFLICT, "lock wait timeout");
        fibers_sleep_us(LOCK_LOOK_US);
        if (!is_reached(s))
            return lose(s, ERR_LOST, ec);
    }
}

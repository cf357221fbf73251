/* SPDX-License-Identifier: MIT */
#include "schedule/look/scanner.h"

#include "schedule/plan/planner.h"
#include "shardwheel/job/times.h"
#include "shardwheel/store/later.h"
#include "shardwheel/store/plan.h"

#include <stdlib.h>

#define IDLE_MS 1000
#define SWEEP_REST 20 /* times what a sweep took, until the next one */

void scan_part_fini(struct scan_part *part)
{
    free(part->ids);
    free(part->later);
    *part = (struct scan_part){0};
}

enum ask_state { ASK_NONE, ASK_WAITING, ASK_UNDER_WAY, ASK_READY };

struct ask {
    enum ask_state state;
    int64_t wanted_mono_ms; /* while waiting */
    struct scan_part part;  /* when ready */
};

struct scanner {
    struct look_opts opts; /* [const] */
    struct mutex lock;     /* rank LOCK_SCHEDULE; never held across a database call or a callback */
    struct ask *asks;      /* [lock] of each shard */
    struct worker worker;  /* [const] locks by itself */

    int *wanted;             /* [scanner] shards of the look under way */
    size_t wanted_count;     /* [scanner] */
    struct scan_part *parts; /* [scanner] of each shard: of the look under way */
    int64_t ended_mono_ms;   /* [scanner] of the last look */
    int64_t sweep_mono_ms;   /* [scanner] not before: later rows whose run has ended are deleted */
    unsigned failing;        /* [scanner] steps, as bits, of which a failure was logged and has not ended */
};

enum err scanner_create(const struct look_opts *opts, struct scanner **out, struct errctx *ec)
{
    struct scanner *s = calloc(1, sizeof *s);
    size_t n = (size_t)opts->shards;

    if (!s)
        return err_set(ec, ERR_NOMEM, "scanner: out of memory");
    s->opts = *opts;
    s->ended_mono_ms = clock_mono_ms(opts->clock) - SCAN_GAP_MS;
    mutex_init(&s->lock, LOCK_SCHEDULE);
    worker_init(&s->worker, opts->clock);
    s->worker.watch = opts->watch;
    s->asks = calloc(n, sizeof *s->asks);
    s->wanted = calloc(n, sizeof *s->wanted);
    s->parts = calloc(n, sizeof *s->parts);
    if (!s->asks || !s->wanted || !s->parts) {
        scanner_destroy(s);
        return err_set(ec, ERR_NOMEM, "scanner: out of memory");
    }
    *out = s;
    return ERR_OK;
}

void scanner_destroy(struct scanner *s)
{
    if (!s)
        return;
    for (int k = 0; s->asks && k < s->opts.shards; k++)
        scan_part_fini(&s->asks[k].part);
    worker_fini(&s->worker);
    mutex_fini(&s->lock);
    free(s->asks);
    free(s->wanted);
    free(s->parts);
    free(s);
}

/* ---- called by the shards ---------------------------------------------------------------------------------------- */

void scanner_ask(struct scanner *s, int shard, bool at_once)
{
    int64_t to_phase_ms = SCAN_PHASE_MS - clock_wall_ms(s->opts.clock) % 1000;
    int64_t wanted_mono_ms = clock_mono_ms(s->opts.clock);
    struct ask *ask = &s->asks[shard];

    if (!at_once)
        wanted_mono_ms += to_phase_ms > 0 ? to_phase_ms : to_phase_ms + 1000;
    mutex_lock(&s->lock);
    if (ask->state == ASK_NONE || (ask->state == ASK_WAITING && wanted_mono_ms < ask->wanted_mono_ms)) {
        ask->state = ASK_WAITING;
        ask->wanted_mono_ms = wanted_mono_ms;
        worker_poke(&s->worker);
    }
    mutex_unlock(&s->lock);
}

bool scanner_take(struct scanner *s, int shard, struct scan_part *out)
{
    struct ask *ask = &s->asks[shard];
    bool is_there;

    mutex_lock(&s->lock);
    is_there = ask->state == ASK_READY;
    if (is_there) {
        *out = ask->part;
        *ask = (struct ask){0};
    }
    mutex_unlock(&s->lock);
    return is_there;
}

void scanner_drop(struct scanner *s, int shard)
{
    struct ask *ask = &s->asks[shard];
    struct scan_part part;

    mutex_lock(&s->lock);
    part = ask->part;
    *ask = (struct ask){0}; /* a look under way is not for it any more */
    mutex_unlock(&s->lock);
    scan_part_fini(&part);
}

/* ---- the thread -------------------------------------------------------------------------------------------------- */

/* Takes up the shards whose time has come, and those that come soon. Returns how long to wait when there is none. */
static int64_t take_up(struct scanner *s)
{
    int64_t now_ms = clock_mono_ms(s->opts.clock);
    int64_t first_ms = now_ms + IDLE_MS;

    s->wanted_count = 0;
    mutex_lock(&s->lock);
    for (int k = 0; k < s->opts.shards; k++)
        if (s->asks[k].state == ASK_WAITING && s->asks[k].wanted_mono_ms < first_ms)
            first_ms = s->asks[k].wanted_mono_ms;
    if (first_ms < s->ended_mono_ms + SCAN_GAP_MS)
        first_ms = s->ended_mono_ms + SCAN_GAP_MS;
    for (int k = 0; k < s->opts.shards && first_ms <= now_ms; k++) {
        if (s->asks[k].state != ASK_WAITING || s->asks[k].wanted_mono_ms > now_ms + SCAN_TOGETHER_MS)
            continue;
        s->asks[k].state = ASK_UNDER_WAY;
        s->wanted[s->wanted_count++] = k;
    }
    mutex_unlock(&s->lock);
    return first_ms > now_ms ? first_ms - now_ms : 0;
}

/* What one look found of all its shards. */
struct findings {
    struct due_scan jobs;
    struct later_scan later;
    int64_t until_ms;
};

static bool make_room(int64_t **ids, size_t *count)
{
    *ids = *count ? malloc(*count * sizeof **ids) : NULL;
    if (*count && !*ids)
        return false;
    *count = 0;
    return true;
}

/* Divides what was found among the shards; each keeps the order. */
static enum err divide(struct scanner *s, const struct findings *f, struct errctx *ec)
{
    int64_t n = s->opts.shards;

    for (size_t i = 0; i < f->jobs.count; i++)
        s->parts[f->jobs.list[i].id % n].count++;
    for (size_t i = 0; i < f->later.count; i++)
        s->parts[f->later.list[i].job_id % n].later_count++;
    for (int k = 0; k < s->opts.shards; k++) {
        struct scan_part *part = &s->parts[k];

        if (!make_room(&part->ids, &part->count) || !make_room(&part->later, &part->later_count))
            return err_set(ec, ERR_NOMEM, "scanner: out of memory");
        part->until_ms = f->until_ms;
        part->complete = f->jobs.complete;
        part->later_more = !f->later.complete;
    }
    for (size_t i = 0; i < f->jobs.count; i++) {
        struct scan_part *part = &s->parts[f->jobs.list[i].id % n];

        part->ids[part->count++] = f->jobs.list[i].id;
    }
    for (size_t i = 0; i < f->later.count; i++) {
        struct scan_part *part = &s->parts[f->later.list[i].job_id % n];

        part->later[part->later_count++] = f->later.list[i].id;
    }
    return ERR_OK;
}

static enum err look(struct scanner *s, struct errctx *ec)
{
    struct store_session *session = NULL;
    struct findings f = {.until_ms = clock_wall_ms(s->opts.clock) + PLAN_AHEAD_MS};
    enum err e = store_take_session(s->opts.store, SESSION_CLAIM, &session, ec);

    if (!e)
        e = store_scan_due(session, s->wanted, s->wanted_count, s->opts.shards, f.until_ms, SCAN_LIMIT, &f.jobs, ec);
    if (!e)
        e = store_scan_later(session, s->wanted, s->wanted_count, s->opts.shards, f.until_ms / 1000, SCAN_LATER_LIMIT,
                             &f.later, ec);
    store_give_session(s->opts.store, session);
    if (!e)
        e = divide(s, &f, ec);
    free(f.jobs.list);
    free(f.later.list);
    return e;
}

enum step { STEP_SCAN = 1, STEP_SWEEP = 2 };

static void note_result(struct scanner *s, enum step step, enum err e, const struct errctx *ec)
{
    const char *name = step == STEP_SCAN ? "scan" : "sweep";

    if (e && !(s->failing & step))
        log_warn("schedule", "event=failed step=%s shards=%zu error=%s effect=\"tried again\"", name, s->wanted_count,
                 log_quote(ec->text).s);
    else if (!e && (s->failing & step))
        log_info("schedule", "event=recovered step=%s", name);
    s->failing = e ? s->failing | step : s->failing & ~(unsigned)step;
}

/* Gives the parts out, or has the shards wait for another look. */
static void give_out(struct scanner *s, bool good)
{
    s->ended_mono_ms = clock_mono_ms(s->opts.clock);
    for (size_t i = 0; i < s->wanted_count; i++) {
        int k = s->wanted[i];
        struct ask *ask = &s->asks[k];
        bool tell = false;

        mutex_lock(&s->lock);
        if (ask->state == ASK_UNDER_WAY && good) {
            *ask = (struct ask){.state = ASK_READY, .part = s->parts[k]};
            s->parts[k] = (struct scan_part){0};
            tell = true;
        } else if (ask->state == ASK_UNDER_WAY) {
            *ask = (struct ask){.state = ASK_WAITING, .wanted_mono_ms = s->ended_mono_ms + SCAN_RETRY_MS};
        }
        mutex_unlock(&s->lock);
        if (tell)
            s->opts.ready(s->opts.arg, k);
    }
    for (int k = 0; k < s->opts.shards; k++) {
        scan_part_fini(&s->parts[k]); /* of those that do not want it any more */
    }
}

/* Later rows whose run has ended, of all shards: the owner of shard 0 deletes them, once its look is given out. That it
 * is somebody's alone spares work; it is right whoever does it. The next look waits for it, so one that takes long is
 * made less often. */
static void sweep(struct scanner *s)
{
    int64_t began_ms = clock_mono_ms(s->opts.clock), now_ms;
    struct store_session *session = NULL;
    bool is_ours = false;
    size_t ended = 0;
    struct errctx ec = {0};
    enum err e;

    for (size_t i = 0; i < s->wanted_count; i++)
        is_ours = is_ours || s->wanted[i] == 0;
    if (!is_ours || began_ms < s->sweep_mono_ms)
        return;
    e = store_take_session(s->opts.store, SESSION_CLAIM, &session, &ec);
    if (!e)
        e = store_end_later(session, SCAN_LATER_LIMIT, &ended, &ec);
    store_give_session(s->opts.store, session);
    note_result(s, STEP_SWEEP, e, &ec);
    now_ms = clock_mono_ms(s->opts.clock);
    if (e || ended < SCAN_LATER_LIMIT)
        s->sweep_mono_ms = now_ms + LATER_SWEEP_S * 1000 + SWEEP_REST * (now_ms - began_ms);
}

int64_t scanner_turn(struct scanner *s)
{
    int64_t wait_ms = take_up(s);
    struct errctx ec = {0};
    enum err e;

    if (s->wanted_count == 0)
        return wait_ms;
    e = look(s, &ec);
    note_result(s, STEP_SCAN, e, &ec);
    give_out(s, e == ERR_OK);
    if (!e)
        sweep(s);
    return 0;
}

WORKER_LIFE(scanner, "scanner", NULL)

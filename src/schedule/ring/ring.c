/* SPDX-License-Identifier: MIT */
#include "schedule/ring/ring_impl.h"

#include "schedule/ring/prepare.h"
#include "shardwheel/dispatch.h"

#include <inttypes.h>
#include <stdlib.h>

#define TICK_MS 20   /* the longest wait: the wall clock may be set at any moment */
#define RETRY_MS 100 /* after a failed statement */
#define UNABLE_AFTER_MS 3000
#define PING_IDLE_MS 1000 /* without a shard of ours, so often we look whether the database can be written to */

/* A shard in a hand-over. */
struct parting {
    struct ring_shard shard;
    const struct cursor_move *move; /* its move, or NULL */
    int64_t sent;                   /* fires of it that go to dispatch */
};

enum err ring_create(const struct ring_opts *opts, const struct clock *clock, struct counters *counters,
                     struct ring **out, struct errctx *ec)
{
    struct ring *r = calloc(1, sizeof *r);
    size_t n = (size_t)opts->shards;

    if (!r)
        return err_set(ec, ERR_NOMEM, "ring: out of memory");
    r->opts = *opts;
    r->clock = clock;
    r->counters = counters;
    wheel_init(&r->wheel);
    mutex_init(&r->lock, LOCK_SCHEDULE);
    worker_init(&r->worker, clock);
    r->worker.watch = opts->watch;
    r->shards = calloc(n, sizeof *r->shards);
    r->floor_s = calloc(n, sizeof *r->floor_s);
    r->in_wheel = calloc(n, sizeof *r->in_wheel);
    r->unsent = calloc(n, sizeof *r->unsent);
    r->moves = calloc(n, sizeof *r->moves);
    r->taken_epoch = calloc(n, sizeof *r->taken_epoch);
    r->partings = calloc(n, sizeof *r->partings);
    if (!r->shards || !r->floor_s || !r->in_wheel || !r->unsent || !r->moves || !r->taken_epoch || !r->partings) {
        ring_destroy(r);
        return err_set(ec, ERR_NOMEM, "ring: out of memory");
    }
    /* The present second belongs to whoever was here before us. */
    r->next_s = time_floor_div(clock_wall_ms(clock), 1000) + 1;
    r->passed_s = r->next_s - 1;
    r->hold_s = INT64_MAX;
    lead_init(&r->lead);
    r->lead_ms = LEAD_MOST_MS;
    r->able = true;
    r->good_mono_ms = clock_mono_ms(clock);
    *out = r;
    return ERR_OK;
}

void ring_destroy(struct ring *r)
{
    if (!r)
        return;
    wheel_fini(&r->wheel);
    fire_destroy_list(r->taken);
    fire_destroy_list(r->ready);
    worker_fini(&r->worker);
    mutex_fini(&r->lock);
    free(r->shards);
    free(r->floor_s);
    free(r->in_wheel);
    free(r->unsent);
    free(r->moves);
    free(r->taken_epoch);
    free(r->partings);
    free(r);
}

/* ---- the ring thread --------------------------------------------------------------------------------------------- */

static void note_able(struct ring *r, bool good)
{
    int64_t now_ms = clock_mono_ms(r->clock);

    if (good)
        r->good_mono_ms = now_ms;
    if (good == r->able || (!good && now_ms - r->good_mono_ms < UNABLE_AFTER_MS))
        return;
    r->able = good;
    if (good)
        log_info("schedule", "event=database_back");
    else
        log_error("schedule",
                  "event=database_away for_ms=%" PRId64
                  " effect=\"nothing is sent; nodes that can write get the shards, if there are any\"",
                  now_ms - r->good_mono_ms);
    r->opts.able(r->opts.arg, good);
}

bool ring_note_result(struct ring *r, enum err e, const struct errctx *ec, const char *step, bool is_write)
{
    if (!e) {
        if (is_write) {
            r->failing = false;
            note_able(r, true);
        }
        return true;
    }
    counters_add(r->counters, COUNTER_CURSOR_FAILURES, 1);
    /* One line when it begins; what comes of it is told when it lasts, or when it ends. */
    if (!r->failing)
        log_warn("schedule", "event=ring_step_failed step=%s second=%" PRId64 " error=%s", step, r->next_s,
                 log_quote(ec->text).s);
    r->failing = true;
    note_able(r, false);
    store_give_session(r->opts.store, r->session);
    r->session = NULL;
    return false;
}

bool ring_have_session(struct ring *r)
{
    struct errctx ec;
    enum err e;

    if (r->session)
        return true;
    errctx_clear(&ec);
    e = store_take_session(r->opts.store, SESSION_RING, &r->session, &ec);
    return ring_note_result(r, e, &ec, "connect", /*is_write=*/false);
}

/* Drops what no shard of ours will send any more, before work is spent on it. */
static void drop_fenced(struct ring *r)
{
    struct fire **link = &r->taken;
    int64_t dropped = 0;

    mutex_lock(&r->lock);
    while (*link) {
        struct fire *fire = *link;

        if (fence_before_move(fire->epoch, &r->shards[fire->shard]) == FENCE_KEEP) {
            link = &fire->next;
            continue;
        }
        *link = fire->next;
        atomic_fetch_sub_explicit(&r->in_wheel[fire->shard], 1, memory_order_relaxed);
        fire_destroy(fire);
        dropped++;
    }
    mutex_unlock(&r->lock);
    counters_add(r->counters, COUNTER_FIRES_FENCED, dropped);
}

/* Reads the jobs of what was taken out. False: try again. */
static bool prepare(struct ring *r)
{
    int64_t began_mono_ms = clock_mono_ms(r->clock);
    struct prepare_gone gone = {0};
    struct errctx ec;
    enum err e;

    drop_fenced(r);
    if (!r->taken)
        return true;
    if (!ring_have_session(r))
        return false;
    errctx_clear(&ec);
    e = prepare_fires(r->session, &r->taken, &gone, &ec);
    for (struct fire *fire = gone.fires; fire; fire = fire->next)
        atomic_fetch_sub_explicit(&r->in_wheel[fire->shard], 1, memory_order_relaxed);
    counters_add(r->counters, COUNTER_FIRES_CANCELLED, (int64_t)gone.count);
    fire_destroy_list(gone.fires);
    if (!e) {
        if (!r->ready)
            r->ready_mono_ms = began_mono_ms;
        fire_put_before(&r->ready, r->taken);
        r->taken = NULL;
    } else {
        prepare_forget(r->taken); /* read together, they grow old together */
    }
    return ring_note_result(r, e, &ec, "read_jobs", /*is_write=*/false);
}

/* Hands over what belongs to a moved cursor, drops what is older, puts back the rest. */
static void hand_over(struct ring *r, int64_t second_s, size_t moves, int64_t deadline_boot_ms)
{
    struct fire *list = NULL;
    struct fire **tail = &list;
    struct fire *fire = r->ready;
    int64_t dropped = 0;

    r->ready = NULL;
    /* One look for all of them: it decides only about those for which no move was asked. */
    mutex_lock(&r->lock);
    for (int k = 0; k < r->opts.shards; k++)
        r->partings[k] = (struct parting){.shard = r->shards[k]};
    mutex_unlock(&r->lock);
    for (size_t i = 0; i < moves; i++)
        r->partings[r->moves[i].shard].move = &r->moves[i];
    while (fire) {
        struct parting *parting = &r->partings[fire->shard];
        struct fire *next = fire->next;

        fire->next = NULL;
        switch (fence_after_move(fire->epoch, second_s, &parting->shard, parting->move)) {
        case FENCE_SEND:
            parting->sent++;
            log_fire(SCHEDULE,
                     "event=fire_handed_over log_id=%" PRId64 " job=%" PRId64 " shard=%d epoch=%" PRId64
                     " second=%" PRId64,
                     fire->log_id, fire->job_id, fire->shard, fire->epoch, second_s);
            *tail = fire;
            tail = &fire->next;
            break;
        case FENCE_KEEP:
            prepare_forget(fire);
            wheel_push(&r->wheel, fire); /* its ring_add_shard comes */
            break;
        case FENCE_DROP:
            log_fire(SCHEDULE, "event=fire_fenced log_id=%" PRId64 " job=%" PRId64 " shard=%d epoch=%" PRId64,
                     fire->log_id, fire->job_id, fire->shard, fire->epoch);
            atomic_fetch_sub_explicit(&r->in_wheel[fire->shard], 1, memory_order_relaxed);
            fire_destroy(fire);
            dropped++;
            break;
        }
        fire = next;
    }
    counters_add(r->counters, COUNTER_FIRES_FENCED, dropped);
    for (int k = 0; k < r->opts.shards; k++) {
        if (r->partings[k].sent == 0)
            continue;
        atomic_fetch_sub_explicit(&r->in_wheel[k], r->partings[k].sent, memory_order_relaxed);
        atomic_fetch_add_explicit(&r->unsent[k], r->partings[k].sent, memory_order_acq_rel);
    }
    if (list)
        dispatch_submit(r->dispatch, list, deadline_boot_ms);
}

/* A step that began in time says how early the next ones have to; one that catches up has more to read. */
static void note_lead(struct ring *r, int64_t second_s, int64_t began_wall_ms, int64_t began_mono_ms)
{
    if (began_wall_ms < second_s * 1000)
        lead_note(&r->lead, clock_mono_ms(r->clock) - began_mono_ms);
}

/* One second. False: a database call failed, try again after a moment. */
static bool step(struct ring *r, int64_t second_s)
{
    int64_t began_wall_ms = clock_wall_ms(r->clock), began_mono_ms = clock_mono_ms(r->clock), deadline_boot_ms;
    size_t moves;
    bool moved;

    ring_note_taken(r);
    fire_put_before(&r->taken, wheel_drain(&r->wheel, second_s));
    if (r->ready && clock_mono_ms(r->clock) - r->ready_mono_ms > RING_STALE_MS) {
        prepare_forget(r->ready);
        fire_put_before(&r->taken, r->ready);
        r->ready = NULL;
    }
    if (!prepare(r))
        return false;
    /* Taken before the statement is sent, so that no pause in between lengthens it. */
    deadline_boot_ms = clock_boot_ms(r->clock) + SEND_DEADLINE_MS;
    moved = ring_move_cursors(r, second_s, &moves);
    if (moves > 0)
        note_lead(r, second_s, began_wall_ms, began_mono_ms);
    if (!moved)
        return false;
    mutex_lock(&r->lock);
    r->passed_s = second_s;
    mutex_unlock(&r->lock);
    hand_over(r, second_s, moves, deadline_boot_ms);
    ring_note_moves(r, second_s, moves);
    counters_add(r->counters, COUNTER_RING_SECONDS, 1);
    counters_set(r->counters, COUNTER_WHEEL_FIRES, wheel_count(&r->wheel));
    return true;
}

/* A node without a shard moves no cursor, but must know whether it may contend for one. */
static void ping_when_idle(struct ring *r)
{
    struct errctx ec;

    if (clock_mono_ms(r->clock) - r->good_mono_ms < PING_IDLE_MS || !ring_have_session(r))
        return;
    errctx_clear(&ec);
    ring_note_result(r, store_check_writable(r->session, &ec), &ec, "ping", /*is_write=*/true);
}

static void check_clock(struct ring *r, int64_t now_ms)
{
    int64_t ahead_ms = r->next_s * 1000 - now_ms;

    if (ahead_ms > 5000 && !r->warned_back) {
        log_error("schedule",
                  "event=clock_set_back by_ms=%" PRId64
                  " effect=\"nothing is sent until the clock reaches second %" PRId64 "\"",
                  ahead_ms - 1000, r->next_s);
        r->warned_back = true;
    } else if (ahead_ms <= 1000) {
        r->warned_back = false;
    }
    if (ahead_ms < -(RING_JUMP_S + 5) * 1000) {
        int64_t to_s =
            time_floor_div(now_ms, 1000) - RING_JUMP_S; /* one lap is left, so that every slot is looked at */

        log_warn("schedule",
                 "event=ring_jump from=%" PRId64 " to=%" PRId64 " why=\"stalled, or the clock was set forward\"",
                 r->next_s, to_s);
        r->next_s = to_s;
    }
}

static void set_lead(struct ring *r)
{
    size_t fires = 0;

    for (const struct fire *fire = r->ready; fire; fire = fire->next)
        fires++;
    r->lead_ms = lead_get_ms(&r->lead, fires);
    counters_set(r->counters, COUNTER_CURSOR_LEAD, r->lead_ms);
}

int64_t ring_turn(struct ring *r)
{
    int64_t now_ms = clock_wall_ms(r->clock), until_ms;

    if (r->next_s > ring_get_hold_s(r))
        return TICK_MS;
    check_clock(r, now_ms);
    until_ms = r->next_s * 1000 - now_ms;
    if (until_ms <= r->lead_ms) {
        if (!dispatch_has_room(r->dispatch)) {
            ping_when_idle(r);
            return RETRY_MS;
        }
        if (!step(r, r->next_s))
            return RETRY_MS;
        r->next_s++;
        return 0;
    }
    if (until_ms <= RING_PREPARE_MS && r->prepared_s != r->next_s) {
        fire_put_before(&r->taken, wheel_drain(&r->wheel, r->next_s));
        if (!prepare(r))
            return RETRY_MS;
        r->prepared_s = r->next_s;
        set_lead(r);
        ping_when_idle(r);
        return 0;
    }
    until_ms -= until_ms > RING_PREPARE_MS ? RING_PREPARE_MS : r->lead_ms;
    return until_ms < TICK_MS ? until_ms : TICK_MS;
}

static int64_t run_turn(void *ring)
{
    return ring_turn(ring);
}

static void give_session_back(void *arg)
{
    struct ring *r = arg;

    store_give_session(r->opts.store, r->session);
    r->session = NULL;
}

enum err ring_start(struct ring *r, struct dispatch *dispatch, struct errctx *ec)
{
    r->dispatch = dispatch;
    return worker_start(&r->worker, "ring", run_turn, give_session_back, r, ec);
}

WORKER_STOPS(ring)

/* SPDX-License-Identifier: MIT */
#include "schedule/shard/shard_impl.h"
#include "schedule/shard/takeover.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define BIT(n) (1u << (n))
#define TAKEOVER_PATIENCE_MS 3000
#define TAKEOVER_PAUSE_MS 5000
#define RETRY_MS 500
#define FINISH_S 10 /* the last node waits no longer for what is planned; it plans 5 s ahead */

static const uint32_t shard_next[SHARD_NSTATES] = {
    [SHARD_FOREIGN] = BIT(SHARD_TAKEOVER),
    [SHARD_TAKEOVER] = BIT(SHARD_OWNED) | BIT(SHARD_FOREIGN),
    [SHARD_OWNED] =
        BIT(SHARD_HANDOVER) | BIT(SHARD_FOREIGN) | BIT(SHARD_TAKEOVER), /* TAKEOVER: fenced, still granted */
    [SHARD_HANDOVER] = BIT(SHARD_FOREIGN),
};

enum err shard_create(int number, const struct shard_deps *deps, struct shard **out, struct errctx *ec)
{
    struct shard *shard = calloc(1, sizeof *shard);
    enum err e;

    if (!shard)
        return err_set(ec, ERR_NOMEM, "shard %d: out of memory", number);
    shard->number = number;
    shard->deps = *deps;
    mutex_init(&shard->lock, LOCK_SCHEDULE);
    worker_init(&shard->worker, deps->clock);
    shard->worker.watch = deps->opts.watch;
    e = planner_create(deps->opts.zone, deps->opts.max_year, &shard->planner, ec);
    if (!e)
        e = ahead_create(deps->opts.node_name, deps->opts.admin_ip, deps->opts.style, &shard->ahead, ec);
    if (!e)
        e = recent_create(deps->opts.shards, &shard->recent, ec);
    if (e) {
        shard_destroy(shard);
        return e;
    }
    *out = shard;
    return ERR_OK;
}

void shard_destroy(struct shard *shard)
{
    if (!shard)
        return;
    planner_destroy(shard->planner);
    ahead_destroy(shard->ahead);
    recent_destroy(shard->recent);
    left_out_fini(&shard->left_out);
    left_out_fini(&shard->later_aside);
    delays_fini(&shard->delays);
    free(shard->doubtful);
    free(shard->notes);
    worker_fini(&shard->worker);
    mutex_fini(&shard->lock);
    free(shard);
}

void shard_wake(struct shard *shard)
{
    worker_poke(&shard->worker);
}

void shard_load_status(struct shard *shard, struct shard_status *out)
{
    struct ring_shard ring = ring_get_shard(shard->deps.ring, shard->number);

    mutex_lock(&shard->lock);
    *out = (struct shard_status){.shard = shard->number,
                                 .state = shard->state,
                                 .epoch = shard->epoch,
                                 .owned_since_ms = shard->owned_since_ms,
                                 .planned_until_ms = shard->shown_until_ms};
    mutex_unlock(&shard->lock);
    if (out->state == SHARD_FOREIGN) {
        out->epoch = 0;
        out->owned_since_ms = 0;
        out->planned_until_ms = 0;
    } else if (ring.active) {
        out->cursor_s = ring.cursor_s;
    }
    out->planned_ahead = ring.in_wheel;
    out->unsent = ring.unsent;
}

/* ---- the schedule thread ----------------------------------------------------------------------------------------- */

/* The one writer of the state. A move that the table does not have is our own mistake. */
static void move_state(struct shard *shard, enum shard_state to)
{
    mutex_lock(&shard->lock);
    if (!(shard_next[shard->state] & BIT(to)))
        abort();
    shard->state = to;
    mutex_unlock(&shard->lock);
}

/* What was looked for in the log is not ours to deal with any more. */
static void drop_looks(struct shard *shard)
{
    loader_drop(shard->deps.loader, shard->number);
    shard->loading = shard->settling = false;
}

static void lose(struct shard *shard, const char *why)
{
    scanner_drop(shard->deps.scanner, shard->number);
    drop_looks(shard);
    ring_remove_shard(shard->deps.ring, shard->number);
    counters_add(shard->deps.counters, COUNTER_SHARDS_LOST, 1);
    log_warn("schedule", "event=shard_lost shard=%d epoch=%" PRId64 " why=\"%s\"", shard->number, shard->epoch, why);
}

/* Decides the last second of a handover. The ring may be in the middle of the next second, so the one after it is the
 * first that surely comes after all our pushes. Alone, all that is planned goes out first. When the ring cannot move
 * cursors, what it has done already is the end. */
static int64_t last_second(struct shard *shard, bool alone)
{
    int64_t passed_s = ring_get_passed_s(shard->deps.ring);

    if (!ring_is_able(shard->deps.ring))
        return ring_get_shard(shard->deps.ring, shard->number).cursor_s;
    if (alone && shard->planned_last_s > passed_s + 2)
        return shard->planned_last_s < passed_s + FINISH_S ? shard->planned_last_s : passed_s + FINISH_S;
    return passed_s + 2;
}

/* Goes on until the ring has handed the last second to dispatch; then gives the lock back. What is still being sent
 * then is this node's: the next owner takes it for undelivered only long after it can have been sent. False:
 * stopping. */
static bool hand_over(struct shard *shard, uint64_t serial, bool alone)
{
    const struct shard_deps *deps = &shard->deps;
    int64_t last_s = last_second(shard, alone);

    scanner_drop(deps->scanner, shard->number);
    drop_looks(shard);
    ring_limit_shard(deps->ring, shard->number, last_s);
    for (;;) {
        struct ring_shard ring = ring_get_shard(deps->ring, shard->number);

        /* A ring that jumps after a stall may pass the last second without a move: what was due until then is still
         * beyond our cursor, and the next owner's. */
        if (ring.fenced || ring.cursor_s >= last_s || ring_get_passed_s(deps->ring) > last_s)
            break;
        /* The database went away meanwhile: the cursor stands, and so does what was handed to dispatch. A move that is
         * under way is ordered against the takeover by the database. */
        if (!ring_is_able(deps->ring))
            break;
        if (!worker_wait_until(&shard->worker, clock_mono_ms(deps->clock) + 100))
            return false;
    }
    ring_remove_shard(deps->ring, shard->number);
    coord_release(deps->coord, shard->number, serial);
    counters_add(deps->counters, COUNTER_HANDOVERS, 1);
    log_info("schedule", "event=handover shard=%d epoch=%" PRId64 " last_second=%" PRId64, shard->number, shard->epoch,
             last_s);
    return true;
}

/* Milliseconds of the wall clock until this shard's next cycle: each shard has its own place in the second, away from
 * the tick, so that planning does not compete with the sending of a second's fires. */
static int64_t ms_to_next_cycle(const struct shard *shard)
{
    int64_t phase_ms = 300 + 500 * shard->number / shard->deps.opts.shards;
    int64_t in_second_ms = clock_wall_ms(shard->deps.clock) % SHARD_CYCLE_MS;
    int64_t ms = phase_ms - in_second_ms;

    return ms > 0 ? ms : ms + SHARD_CYCLE_MS;
}

/* Claims what the scanner found, or asks it; its answer wakes us. Returns how long to wait otherwise. */
static int64_t plan(struct shard *shard)
{
    struct scanner *scanner = shard->deps.scanner;
    int64_t began_ms = clock_mono_ms(shard->deps.clock), now_ms;
    enum claim_outcome outcome;
    struct scan_part part;

    if (began_ms < shard->next_claim_mono_ms)
        return shard->next_claim_mono_ms - began_ms;
    if (!shard_can_claim(shard))
        return RETRY_MS;
    if (!scanner_take(scanner, shard->number, &part)) {
        scanner_ask(scanner, shard->number, shard->in_haste);
        return SHARD_CYCLE_MS;
    }
    outcome = shard_run_claims(shard, &part);
    scan_part_fini(&part);
    now_ms = clock_mono_ms(shard->deps.clock);
    switch (outcome) {
    case CLAIM_DONE:
        shard->in_haste = now_ms - began_ms >= SHARD_CYCLE_MS; /* we are behind */
        shard->next_claim_mono_ms = now_ms + (shard->in_haste ? 0 : ms_to_next_cycle(shard));
        break;
    case CLAIM_MORE: shard->in_haste = true; break;
    case CLAIM_RETRY:
        shard->next_claim_mono_ms = now_ms + RETRY_MS;
        shard->in_haste = true;
        break;
    case CLAIM_FENCED: shard->fenced = true; return 0;
    }
    scanner_ask(scanner, shard->number, shard->in_haste);
    return SHARD_CYCLE_MS;
}

static int64_t run_owned(struct shard *shard)
{
    int64_t wait_ms = plan(shard);

    if (!shard->fenced && shard_follow_delays(shard) == CLAIM_FENCED) {
        shard->fenced = true;
        return 0;
    }
    shard_settle_undelivered(shard);
    return wait_ms;
}

/* A shard that this node cannot take over, although the lock is its own, is given back: another node may be able to. */
static bool give_up_takeover(struct shard *shard)
{
    int64_t now_ms = clock_mono_ms(shard->deps.clock);

    if (shard->takeover_since_mono_ms == 0)
        shard->takeover_since_mono_ms = now_ms;
    if (now_ms - shard->takeover_since_mono_ms < TAKEOVER_PATIENCE_MS)
        return false;
    shard->takeover_since_mono_ms = 0;
    drop_looks(shard);
    coord_release(shard->deps.coord, shard->number, shard->serial);
    move_state(shard, SHARD_FOREIGN);
    return true;
}

int64_t shard_turn(struct shard *shard)
{
    const struct shard_deps *deps = &shard->deps;
    struct coord_grant grant = coord_get_grant(deps->coord, shard->number);
    struct errctx ec;
    enum err e;

    switch (shard->state) {
    case SHARD_FOREIGN:
        if (grant.wish == COORD_GIVE_BACK) {
            coord_release(deps->coord, shard->number, grant.serial); /* nothing of it was begun */
            return 1000;
        }
        if (grant.wish != COORD_OWN && grant.wish != COORD_FINISH)
            return 1000;
        shard->serial = grant.serial;
        move_state(shard, SHARD_TAKEOVER);
        return 0;
    case SHARD_TAKEOVER:
        if (grant.wish != COORD_OWN && grant.wish != COORD_FINISH) {
            drop_looks(shard);
            move_state(shard, SHARD_FOREIGN);
            return 0;
        }
        /* Cut off from the locks, we are told what we were granted before. Whoever raised the epoch has the lock by
         * now, or will be told otherwise; two owners that believe in theirs would take the shard from each other again
         * and again. */
        if (shard->fenced && grant.wish == COORD_OWN && !coord_is_connected(deps->coord) && !shard_is_elsewhere(shard))
            return SHARD_RETAKE_MS;
        errctx_clear(&ec);
        e = shard_take_over(shard, grant.serial, &ec);
        if (shard->loading)
            shard->fenced = false; /* the epoch is ours: what comes next may shorten the pause */
        if (e == ERR_BUSY && shard->loading) {
            shard->takeover_since_mono_ms = 0; /* a large log is no failure */
            return 1000;
        }
        if (e) {
            shard_log_failure(shard, STEP_TAKEOVER, &ec);
            return give_up_takeover(shard) ? TAKEOVER_PAUSE_MS : 300;
        }
        shard->takeover_since_mono_ms = 0;
        shard_log_good(shard, STEP_TAKEOVER);
        shard->fenced = false;
        /* What was found before is not ours to plan: others may have. */
        scanner_drop(deps->scanner, shard->number);
        shard->next_claim_mono_ms = 0;
        shard->in_haste = true;
        move_state(shard, SHARD_OWNED);
        return 0;
    case SHARD_OWNED:
        if (shard_is_elsewhere(shard))
            shard->fenced = false; /* whoever raised the epoch there, the shard is ours still */
        else if (ring_get_shard(deps->ring, shard->number).fenced)
            shard->fenced = true;
        if (grant.wish == COORD_NOT_OURS || grant.serial != shard->serial || shard->fenced ||
            shard_is_elsewhere(shard)) {
            lose(shard, shard->fenced               ? "another owner has raised the epoch"
                        : shard_is_elsewhere(shard) ? "another database server is in use"
                                                    : "the lock is lost");
            move_state(shard, grant.wish == COORD_OWN ? SHARD_TAKEOVER : SHARD_FOREIGN);
            return shard->fenced ? SHARD_RETAKE_MS : 0;
        }
        if (grant.wish == COORD_GIVE_BACK || grant.wish == COORD_FINISH) {
            move_state(shard, SHARD_HANDOVER);
            return 0;
        }
        return run_owned(shard);
    case SHARD_HANDOVER:
        if (hand_over(shard, shard->serial, grant.wish == COORD_FINISH))
            move_state(shard, SHARD_FOREIGN);
        return 0;
    case SHARD_NSTATES: break;
    }
    return 1000;
}

static int64_t run_turn(void *arg)
{
    struct shard *shard = arg;
    int64_t wait_ms, until_ms;

    shard_end_doubtful(shard);
    wait_ms = shard_turn(shard);
    until_ms = clock_mono_ms(shard->deps.clock) + wait_ms; /* a turn may take long: the pause begins behind it */
    /* Between two takeovers by fencing nothing may shorten the pause, but another server. */
    if (shard->fenced && shard->state == SHARD_TAKEOVER)
        while (clock_mono_ms(shard->deps.clock) < until_ms && !shard_is_elsewhere(shard) &&
               worker_wait_until(&shard->worker, until_ms))
            continue;
    return until_ms - clock_mono_ms(shard->deps.clock);
}

static void end(void *arg)
{
    struct shard *shard = arg;

    ring_remove_shard(shard->deps.ring, shard->number);
}

enum err shard_start(struct shard *shard, struct errctx *ec)
{
    char name[sizeof shard->worker.name];

    snprintf(name, sizeof name, "shard-%d", shard->number);
    return worker_start(&shard->worker, name, run_turn, end, shard, ec);
}

WORKER_STOPS(shard)

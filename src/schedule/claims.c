/* SPDX-License-Identifier: MIT */
/* The claim cycle of a shard: what was found to be due is read, decided and written in batches, and pushed into the wheel. */
#include "schedule/shard_impl.h"
#include "shardwheel/store/plan.h"
#include "shardwheel/job/times.h"

#include <inttypes.h>
#include <stdlib.h>

#define CONFLICT_PARTS 8
#define BATCH_JOBS 500 /* jobs read at once and claimed in one transaction */
/* Why a window is not planned completely although nothing failed. */
#define LEFT_LOCKED 1u  /* somebody holds the rows of jobs */
#define LEFT_CHANGED 2u /* jobs were not what was read, or their claim turned out not to have happened */
#define READ_BACK_TRIES 200
#define RING_LAG_MAX_MS 30000 /* the ring is stalled: planning more would only fill memory */

static struct plan_moment read_moment(struct shard *shard, int64_t window_end_ms)
{
    int64_t now_ms = clock_wall_ms(shard->deps.clock);
    int64_t earliest_s = time_floor_div(now_ms, 1000);
    int64_t passed_s = ring_get_passed_s(shard->deps.ring);
    int64_t hold_s = ring_get_hold_s(shard->deps.ring);

    if (earliest_s < passed_s)
        earliest_s = passed_s;
    /* The last owner's clock may have been ahead of ours. */
    if (earliest_s < shard->cursor_floor_s)
        earliest_s = shard->cursor_floor_s;
    /* A fire planned at the last moment for a second at which the number of shards changes might be pushed after it, and the
     * next owner would take it for one that was sent: such fires go out right behind that second. */
    if (hold_s != INT64_MAX && earliest_s < hold_s && earliest_s >= hold_s - HOLD_MARGIN_S)
        earliest_s = hold_s;
    return (struct plan_moment){.now_ms = now_ms,
                                .window_end_ms = window_end_ms,
                                .planned_until_ms = shard->planned_until_ms,
                                .earliest_s = earliest_s + 1};
}

static void note_plan(struct shard *shard, const struct job_due *job, const struct plan *plan)
{
    if (plan->misfired) {
        counters_add(shard->deps.counters, COUNTER_MISFIRES, 1);
        log_limited(&shard->misfire_log, shard->deps.clock, LOG_INFO, "schedule",
                    "event=misfire shard=%d job=%" PRId64 " due_ms=%" PRId64 " strategy=%s", shard->number, job->id,
                    job->next_ms, log_quote(job->misfire).s);
    }
}

/* Decides for each job of a page. */
static enum err plan_page(struct shard *shard, const struct job_page *page, const struct plan_moment *moment,
                          struct claim_job *claims, struct plan *plans, size_t *count, struct errctx *ec)
{
    const struct registry_snapshot *snap = registry_get_snapshot(shard->deps.registry);
    size_t n = 0;
    enum err e = ERR_OK;

    ahead_begin(shard->ahead, clock_mono_ms(shard->deps.clock));
    for (size_t i = 0; i < page->count; i++) {
        const struct job_due *job = &page->jobs[i];
        const struct registry_group *group = registry_find_group(snap, job->group);
        struct plan *plan = &plans[n];

        e = planner_plan_job(shard->planner, job, moment, group, plan, ec);
        if (e)
            break;
        for (struct fire *fire = plan->fires; fire; fire = fire->next) {
            fire->shard = shard->number;
            fire->epoch = shard->epoch;
        }
        claims[n++] = (struct claim_job){.job = job,
                                         .new_next_ms = plan->new_next_ms,
                                         .stop = plan->stop,
                                         .fires = plan->fires,
                                         .message = ahead_route(shard->ahead, job->route, group, plan->fires)};
        note_plan(shard, job, plan);
        if (plan->stop)
            log_warn("schedule", "event=job_stopped shard=%d job=%" PRId64 " type=%s conf=%s reason=%s", shard->number,
                     job->id, log_quote(job->schedule_type).s, log_quote(job->schedule_conf).s,
                     log_quote(plan->why_stopped).s);
    }
    registry_put_snapshot(snap);
    *count = n;
    return e;
}

/* The guard against Java admins went while this was being written: one of them may have read the jobs before our commit and be
 * sending the same. These fires are not ours to send; their rows are ended, now or when the database can be written. */
static void give_up_fires(struct shard *shard, struct claim_job *claims, size_t count)
{
    size_t n = shard->doubtful_count, fires = 0;
    int64_t *ids;

    for (size_t i = 0; i < count; i++)
        for (const struct fire *f = claims[i].advanced ? claims[i].fires : NULL; f; f = f->next)
            fires++;
    ids = realloc(shard->doubtful, (n + fires + 1) * sizeof *ids);
    if (!ids)
        log_error("schedule",
                  "event=out_of_memory shard=%d fires=%zu effect=\"they go out with the next owner of the shard\"",
                  shard->number, fires);
    for (size_t i = 0; ids && i < count; i++)
        for (const struct fire *f = claims[i].advanced ? claims[i].fires : NULL; f; f = f->next)
            ids[n++] = f->log_id;
    if (ids) {
        shard->doubtful = ids;
        shard->doubtful_count = n;
    }
    for (size_t i = 0; i < count; i++)
        claims[i].advanced = false;
    counters_add(shard->deps.counters, COUNTER_CLAIMS_DOUBTFUL, 1);
    log_warn("schedule",
             "event=claim_unguarded shard=%d epoch=%" PRId64
             " fires=%zu why=\"the guard against Java admins was lost during "
             "the commit\" effect=\"they end as delivery unknown\"",
             shard->number, shard->epoch, fires);
    shard_end_doubtful(shard);
}

/* Pushes the fires of advanced jobs, frees the others. True when there are others: their due times are still to be planned. */
static bool settle(struct shard *shard, struct claim_job *claims, size_t count)
{
    int64_t planned = 0, conflicts = 0, stopped = 0;

    for (size_t i = 0; i < count; i++) {
        struct fire *fire = claims[i].fires;

        claims[i].fires = NULL;
        if (!claims[i].advanced) {
            fire_destroy_list(fire);
            conflicts++;
            continue;
        }
        stopped += claims[i].stop;
        while (fire) {
            struct fire *next = fire->next;

            if (fire->due_s > shard->planned_last_s)
                shard->planned_last_s = fire->due_s;
            ring_push(shard->deps.ring, fire);
            planned++;
            fire = next;
        }
    }
    counters_add(shard->deps.counters, COUNTER_FIRES_PLANNED, planned);
    counters_add(shard->deps.counters, COUNTER_CLAIM_CONFLICTS, conflicts);
    counters_add(shard->deps.counters, COUNTER_JOBS_STOPPED, stopped);
    return conflicts > 0;
}

/* False when the thread is to stop. */
static bool pause_before_next_try(struct shard *shard)
{
    bool stopping;

    mutex_lock(&shard->lock);
    stopping = shard->stopping;
    if (!stopping)
        cond_wait_until(&shard->changed, &shard->lock, clock_mono_ms(shard->deps.clock) + 100);
    mutex_unlock(&shard->lock);
    return !stopping;
}

/* After a commit with unknown outcome nothing else of this shard is planned until the rows are read back. */
static enum err read_back(struct shard *shard, struct claim_job *claims, size_t count, struct errctx *ec)
{
    enum err e = ERR_LOST;

    log_warn("schedule", "event=commit_unknown shard=%d epoch=%" PRId64 " jobs=%zu effect=\"rows are read back\"",
             shard->number, shard->epoch, count);
    for (int i = 0; i < READ_BACK_TRIES && e != ERR_OK && e != ERR_STATE; i++) {
        struct store_session *session = NULL;

        errctx_clear(ec);
        e = store_take_session(shard->deps.store, SESSION_CLAIM, &session, ec);
        if (e == ERR_OK)
            e = store_load_claimed(session, shard->number, shard->epoch, claims, count, ec);
        store_give_session(shard->deps.store, session);
        if (e == ERR_OK || e == ERR_STATE)
            break;
        if (!pause_before_next_try(shard))
            break;
    }
    /* Rows that could not be read back stand beyond the cursor for the next takeover: that is what fencing ourselves brings. */
    return e == ERR_OK ? ERR_OK : ERR_STATE;
}

/* One look, on a session that may have to be made. A server that has started since the claim began ended the guard and the claim's
 * transaction in one moment: nobody read the jobs in between. */
static enum err look_at_guards(struct shard *shard, struct store_session **session, const struct claim_guards *guards,
                               int64_t began_boot_ms, bool *held, struct errctx *ec)
{
    int64_t uptime_s = 0;
    enum err e = ERR_OK;

    if (!*session)
        e = store_take_session(shard->deps.store, SESSION_CLAIM, session, ec);
    if (e == ERR_OK)
        e = store_check_guards(*session, guards, held, ec);
    if (e == ERR_OK && !*held)
        e = store_load_uptime_s(*session, &uptime_s, ec);
    if (e == ERR_OK && !*held)
        *held = (uptime_s + 1) * 1000 <= clock_boot_ms(shard->deps.clock) - began_boot_ms;
    return e;
}

/* While the database is away no cursor moves either: the answer can be waited for. */
static bool was_guarded(struct shard *shard, struct store_session **session, const struct claim_guards *guards,
                        int64_t began_boot_ms)
{
    struct errctx ec;
    bool held = false;
    int tries = 0;

    errctx_clear(&ec);
    while (look_at_guards(shard, session, guards, began_boot_ms, &held, &ec)) {
        store_give_session(shard->deps.store, *session);
        *session = NULL;
        held = false;
        if (++tries >= READ_BACK_TRIES || !pause_before_next_try(shard))
            return false;
        errctx_clear(&ec);
    }
    return held;
}

static enum err claim_batch(struct shard *shard, struct store_session **session, struct claim_job *claims, size_t count,
                            unsigned *left_out, struct errctx *ec)
{
    struct claim_guards guards;
    bool guarded = shard->deps.guard != NULL;
    int64_t began_boot_ms = clock_boot_ms(shard->deps.clock);
    enum err e = store_claim_jobs(*session, shard->number, shard->epoch, claims, count, guarded ? &guards : NULL, ec);

    if (guarded)
        guard_note_claim(shard->deps.guard, e);
    if (e == ERR_UNKNOWN) {
        store_give_session(shard->deps.store, *session);
        *session = NULL;
        e = read_back(shard, claims, count, ec);
    }
    if (e) {
        counters_add(shard->deps.counters, COUNTER_CLAIM_FAILURES, 1);
        return e;
    }
    if (guarded && !was_guarded(shard, session, &guards, began_boot_ms))
        give_up_fires(shard, claims, count);
    counters_add(shard->deps.counters, COUNTER_CLAIMS, 1);
    if (settle(shard, claims, count)) /* before anything else can fail: these rows are written */
        *left_out |= LEFT_CHANGED;
    return *session ? ERR_OK : store_take_session(shard->deps.store, SESSION_CLAIM, session, ec);
}

/* Somebody holds a row of a job, and the server gave up waiting: in ever smaller batches the others go on without it. */
static enum err claim_batch_or_parts(struct shard *shard, struct store_session **session, struct claim_job *claims,
                                     size_t count, unsigned *left_out, struct errctx *ec)
{
    size_t part = (count + CONFLICT_PARTS - 1) / CONFLICT_PARTS;
    enum err e = claim_batch(shard, session, claims, count, left_out, ec);

    if (e != ERR_CONFLICT)
        return e;
    if (count == 1) {
        if (!shard->jobs_locked) /* those of one cycle are all named, once */
            log_warn("schedule",
                     "event=job_locked shard=%d job=%" PRId64 " error=%s effect=\"planned when it is free\"",
                     shard->number, claims->job->id, log_quote(ec->text).s);
        *left_out |= LEFT_LOCKED;
        return ERR_OK;
    }
    e = ERR_OK;
    for (size_t at = 0; at < count && e == ERR_OK; at += part)
        e = claim_batch_or_parts(shard, session, claims + at, count - at < part ? count - at : part, left_out, ec);
    return e;
}

/* A long window after an outage must not hold up a stop or a handover. */
static bool is_called_away(struct shard *shard)
{
    bool stopping;

    mutex_lock(&shard->lock);
    stopping = shard->stopping;
    mutex_unlock(&shard->lock);
    return stopping || coord_get_grant(shard->deps.coord, shard->number).wish != COORD_OWN;
}

static enum err claim_page(struct shard *shard, struct store_session **session, const struct job_page *page,
                           int64_t window_end_ms, unsigned *left_out, struct errctx *ec)
{
    struct plan_moment moment = read_moment(shard, window_end_ms);
    struct claim_job *claims = calloc(page->count + 1, sizeof *claims);
    struct plan *plans = calloc(page->count + 1, sizeof *plans);
    size_t count = 0;
    enum err e;

    if (!claims || !plans)
        e = err_set(ec, ERR_NOMEM, "claim: out of memory");
    else
        e = plan_page(shard, page, &moment, claims, plans, &count, ec);
    if (e == ERR_OK && count > 0)
        e = claim_batch_or_parts(shard, session, claims, count, left_out, ec);
    for (size_t i = 0; claims && i < count; i++)
        fire_destroy_list(claims[i].fires); /* those that were settled have none any more */
    free(claims);
    free(plans);
    return e;
}

/* Batch by batch, the most overdue first: there is no cap per second. Each is read right before it is claimed. */
static enum err claim_part(struct shard *shard, struct store_session **session, const struct scan_part *part,
                           unsigned *left_out, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t at = 0; at < part->count && e == ERR_OK; at += BATCH_JOBS) {
        size_t n = part->count - at < BATCH_JOBS ? part->count - at : BATCH_JOBS;
        struct job_page page = {0};

        if (is_called_away(shard))
            return err_set(ec, ERR_BUSY, "asked back");
        qsort(part->ids + at, n, sizeof *part->ids, compare_int64);
        e = store_load_due(*session, part->ids + at, n, part->until_ms, &page, ec);
        if (e == ERR_OK)
            e = claim_page(shard, session, &page, part->until_ms, left_out, ec);
        job_page_fini(&page);
    }
    return e;
}

/* A takeover looks no more than ten minutes beyond the cursor (store_load_beyond): a row further away would be passed by and
 * never sent. So after a long standstill the ring brings the cursor to the present first. */
static bool is_cursor_near(struct shard *shard, int64_t window_end_ms)
{
    struct ring_shard ring = ring_get_shard(shard->deps.ring, shard->number);

    return ring.active && window_end_ms - ring.cursor_s * 1000 <= CURSOR_BEHIND_MAX_MS;
}

bool shard_can_claim(struct shard *shard)
{
    return ring_get_lag_ms(shard->deps.ring) <= RING_LAG_MAX_MS &&
           is_cursor_near(shard, clock_wall_ms(shard->deps.clock) + PLAN_AHEAD_MS);
}

enum claim_outcome shard_run_claims(struct shard *shard, const struct scan_part *part)
{
    struct store_session *session = NULL;
    struct errctx ec;
    unsigned left_out = 0;
    enum err e = ERR_OK;

    errctx_clear(&ec);
    if (part->count > 0)
        e = store_take_session(shard->deps.store, SESSION_CLAIM, &session, &ec);
    if (e == ERR_OK)
        e = claim_part(shard, &session, part, &left_out, &ec);
    store_give_session(shard->deps.store, session);
    if (e == ERR_STATE)
        return CLAIM_FENCED;
    if (e == ERR_GUARD)
        return CLAIM_RETRY; /* told once for the node, not for each shard */
    if (e == ERR_BUSY && is_called_away(shard))
        return CLAIM_RETRY; /* no failure: the turn looks at the grant. A full disk is ERR_BUSY too, and is logged below. */
    if (e) {
        shard_log_failure(shard, "claim", &ec);
        return CLAIM_RETRY;
    }
    shard_log_good(shard, "claim");
    if (shard->jobs_locked && !(left_out & LEFT_LOCKED))
        log_info("schedule", "event=jobs_free shard=%d", shard->number);
    shard->jobs_locked = left_out & LEFT_LOCKED;
    if (left_out)
        return CLAIM_RETRY;
    if (!part->complete)
        return CLAIM_MORE;
    if (part->until_ms > shard->planned_until_ms)
        shard->planned_until_ms = part->until_ms;
    return CLAIM_DONE;
}

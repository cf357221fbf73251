/* SPDX-License-Identifier: MIT */
#include "schedule/shard/claim.h"
#include "schedule/shard/shard_impl.h"
#include "shardwheel/job/times.h"
#include "shardwheel/store/plan.h"

#include <inttypes.h>
#include <stdlib.h>

/* What one claim is about. */
struct batch {
    struct claim_job *claims;
    struct plan *plans; /* of each */
    size_t count;
};

static struct plan_moment read_moment(struct shard *shard, int64_t window_end_ms)
{
    int64_t now_ms = clock_wall_ms(shard->deps.clock);

    return (struct plan_moment){.now_ms = now_ms,
                                .window_end_ms = window_end_ms,
                                .planned_until_ms = shard->planned_until_ms,
                                .earliest_s = shard_find_earliest_s(shard, now_ms),
                                .newest_s = INT64_MIN};
}

static struct plan_moment moment_of_job(const struct shard *shard, const struct plan_moment *moment, int64_t job)
{
    const struct left_out_job *left_out = left_out_find(&shard->left_out, job);
    struct plan_moment own = *moment;

    own.newest_s = recent_find(shard->recent, job, moment->now_ms / 1000);
    own.own_s = recent_find_own(shard->recent, job);
    own.remembered_ms = recent_get_since_ms(shard->recent, moment->now_ms);
    if (left_out && left_out->planned_until_ms < own.planned_until_ms)
        own.planned_until_ms = left_out->planned_until_ms;
    return own;
}

/* No row of the log can name it, and no executor can be told its number: it would keep the others from being
 * planned. */
static bool is_beyond_log(struct shard *shard, const struct job_due *job)
{
    if (job->id <= JOB_ID_MAX)
        return false;
    log_limited(&shard->id_log, shard->deps.clock, LOG_ERROR, "schedule",
                "event=job_id_too_large job=%" PRId64 " most=%d effect=%s", job->id, JOB_ID_MAX,
                log_quote("it is not fired: columns of the log, and executors, accept no larger number").s);
    return true;
}

/* Decides for each of the jobs. */
static enum err decide(struct shard *shard, const struct job_due *jobs, size_t count, const struct plan_moment *moment,
                       struct batch *batch, struct errctx *ec)
{
    const struct registry_snapshot *snap = registry_get_snapshot(shard->deps.opts.registry);
    enum err e = ERR_OK;

    planner_begin(shard->planner);
    ahead_begin(shard->ahead, clock_mono_ms(shard->deps.clock));
    for (size_t i = 0; i < count; i++) {
        const struct registry_group *group = registry_find_group(snap, jobs[i].group);
        struct plan_moment own = moment_of_job(shard, moment, jobs[i].id);
        struct plan *plan = &batch->plans[batch->count];

        if (is_beyond_log(shard, &jobs[i]))
            continue;
        e = planner_plan_job(shard->planner, &jobs[i], &own, group, plan, ec);
        if (e)
            break;
        for (struct fire *fire = plan->fires; fire; fire = fire->next) {
            fire->shard = shard->number;
            fire->epoch = shard->epoch;
        }
        batch->claims[batch->count++] =
            (struct claim_job){.job = &jobs[i],
                               .new_next_ms = plan->new_next_ms,
                               .stop = plan->stop,
                               .fires = plan->fires,
                               .skipped = shard->deps.opts.skipped_rows ? plan->skipped : (struct skipped){0},
                               .message = ahead_route(shard->ahead, &jobs[i], group, plan->fires)};
    }
    registry_put_snapshot(snap);
    return e;
}

static void tell_plan(struct shard *shard, const struct job_due *job, const struct plan *plan)
{
    if (plan->misfired) {
        counters_add(shard->deps.counters, COUNTER_MISFIRES, 1);
        log_limited(&shard->misfire_log, shard->deps.clock, LOG_INFO, "schedule",
                    "event=misfire shard=%d job=%" PRId64 " due_ms=%" PRId64 " strategy=%s", shard->number, job->id,
                    job->next_ms, log_quote(job->misfire).s);
    }
    if (plan->stop)
        log_warn("schedule", "event=job_stopped shard=%d job=%" PRId64 " type=%s conf=%s reason=%s", shard->number,
                 job->id, log_quote(job->schedule_type).s, log_quote(job->schedule_conf).s,
                 log_quote(plan->why_stopped).s);
}

/* Their rows are written, whatever becomes of the fires. */
static void remember_planned(struct shard *shard, const struct batch *batch)
{
    int64_t now_s = clock_wall_ms(shard->deps.clock) / 1000;

    for (size_t i = 0; i < batch->count; i++) {
        for (const struct fire *f = batch->claims[i].advanced ? batch->claims[i].fires : NULL; f; f = f->next)
            recent_note(shard->recent, batch->claims[i].job->id, f->original_due_s, f->due_s, now_s);
        if (batch->claims[i].advanced)
            shard_note_delayed(shard, &batch->claims[i], &batch->plans[i]);
    }
}

/* The guard against Java admins went while this was being written: one of them may have read the jobs before our commit
 * and be sending the same. These fires are not ours to send; their rows are ended, now or when the database can be
 * written. */
static void give_up_fires(struct shard *shard, struct claim_job *claims, size_t count)
{
    size_t n, fires = 0;
    int64_t *ids;

    if (shard->doubtful_epoch != shard->epoch)
        shard_leave_doubtful(shard);
    n = shard->doubtful_count;
    for (size_t i = 0; i < count; i++)
        for (const struct fire *f = claims[i].advanced ? claims[i].fires : NULL; f; f = f->next)
            fires++;
    ids = realloc(shard->doubtful, (n + fires + 1) * sizeof *ids);
    if (!ids)
        log_error("schedule",
                  "event=out_of_memory shard=%d fires=%zu effect=\"the next owner of the shard sends them\"",
                  shard->number, fires);
    for (size_t i = 0; ids && i < count; i++)
        for (const struct fire *f = claims[i].advanced ? claims[i].fires : NULL; f; f = f->next)
            ids[n++] = f->log_id;
    if (ids) {
        shard->doubtful = ids;
        shard->doubtful_count = n;
        shard->doubtful_epoch = shard->epoch;
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

void shard_leave_out(struct shard *shard, struct cycle *c, const struct job_due *job, int64_t again_mono_ms)
{
    const struct left_out_job *before = left_out_find(&shard->left_out, job->id);

    left_out_add(&c->left_out,
                 (struct left_out_job){.id = job->id,
                                       .planned_until_ms = before ? before->planned_until_ms : shard->planned_until_ms,
                                       .again_mono_ms = again_mono_ms});
    counters_add(shard->deps.counters, COUNTER_JOBS_LEFT_OUT, 1);
}

static void tell_repeated(struct shard *shard, int64_t count, const struct job_due *first)
{
    counters_add(shard->deps.counters, COUNTER_NEXT_TIMES_BACK, count);
    if (count > 0)
        log_info("schedule",
                 "event=next_time_fell_back shard=%d jobs=%" PRId64 " first_job=%" PRId64 " due_ms=%" PRId64
                 " effect=\"planned fires are not planned again\"",
                 shard->number, count, first->id, first->next_ms);
}

/* Pushes the fires of advanced jobs, frees the others: their due times are still to be planned. */
static void settle(struct shard *shard, struct cycle *c, struct batch *batch)
{
    int64_t planned = 0, conflicts = 0, stopped = 0, repeated = 0;
    const struct job_due *first_repeated = NULL;

    for (size_t i = 0; i < batch->count; i++) {
        struct claim_job *claim = &batch->claims[i];
        struct fire *fire = claim->fires;

        claim->fires = NULL;
        if (!claim->advanced) {
            fire_destroy_list(fire);
            /* One that was left out before is not planned up to the window of the others still. */
            if (claim->locked || left_out_find(&shard->left_out, claim->job->id))
                shard_leave_out(shard, c, claim->job, 0);
            conflicts += !claim->locked;
            continue;
        }
        tell_plan(shard, claim->job, &batch->plans[i]);
        if (batch->plans[i].repeated && repeated++ == 0)
            first_repeated = claim->job;
        stopped += claim->stop;
        while (fire) {
            struct fire *next = fire->next;

            if (fire->due_s > shard->planned_last_s)
                shard->planned_last_s = fire->due_s;
            free(fire->message); /* it is in the row */
            fire->message = NULL;
            log_fire(SCHEDULE,
                     "event=fire_planned log_id=%" PRId64 " job=%" PRId64 " shard=%d epoch=%" PRId64 " second=%" PRId64,
                     fire->log_id, fire->job_id, shard->number, fire->epoch, fire->due_s);
            ring_push(shard->deps.ring, fire);
            planned++;
            fire = next;
        }
    }
    counters_add(shard->deps.counters, COUNTER_FIRES_PLANNED, planned);
    counters_add(shard->deps.counters, COUNTER_CLAIM_CONFLICTS, conflicts);
    counters_add(shard->deps.counters, COUNTER_JOBS_STOPPED, stopped);
    tell_repeated(shard, repeated, first_repeated);
    c->changed = c->changed || conflicts > 0;
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
        e = store_take_session(shard->deps.opts.store, SESSION_CLAIM, &session, ec);
        if (!e)
            e = store_load_claimed(session, shard->number, shard->epoch, claims, count, ec);
        store_give_session(shard->deps.opts.store, session);
        if (e == ERR_OK || e == ERR_STATE)
            break;
        if (!shard_pause_before_next_try(shard))
            break;
    }
    /* Rows that could not be read back stand beyond the cursor for the next takeover: that is what fencing ourselves
     * brings. */
    return e == ERR_OK ? ERR_OK : ERR_STATE;
}

/* One look, on a session that may have to be made. A server that has started since the claim began ended the guard and
 * the claim's transaction in one moment: nobody read the jobs in between. */
static enum err look_at_guards(struct shard *shard, struct store_session **session, const struct claim_guards *guards,
                               int64_t began_boot_ms, bool *held, struct errctx *ec)
{
    int64_t uptime_s = 0;
    enum err e = ERR_OK;

    if (!*session)
        e = store_take_session(shard->deps.opts.store, SESSION_CLAIM, session, ec);
    if (!e)
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
        store_give_session(shard->deps.opts.store, *session);
        *session = NULL;
        held = false;
        if (++tries >= READ_BACK_TRIES || !shard_pause_before_next_try(shard))
            return false;
        errctx_clear(&ec);
    }
    return held;
}

static enum err claim_batch(struct shard *shard, struct cycle *c, struct batch *batch, struct errctx *ec)
{
    enum err (*claim)(struct store_session *, int, int64_t, struct claim_job *, size_t, struct claim_guards *,
                      struct errctx *) = c->around ? store_claim_free_jobs : store_claim_jobs;
    struct claim_guards guards;
    bool guarded = shard->deps.opts.guard != NULL;
    int64_t began_boot_ms = clock_boot_ms(shard->deps.clock);
    enum err e =
        claim(c->session, shard->number, shard->epoch, batch->claims, batch->count, guarded ? &guards : NULL, ec);

    if (guarded)
        guard_note_claim(shard->deps.opts.guard, e);
    if (e == ERR_UNKNOWN) {
        store_give_session(shard->deps.opts.store, c->session);
        c->session = NULL;
        e = read_back(shard, batch->claims, batch->count, ec);
    }
    if (e) {
        counters_add(shard->deps.counters, COUNTER_CLAIM_FAILURES, 1);
        return e;
    }
    remember_planned(shard, batch);
    if (guarded && !was_guarded(shard, &c->session, &guards, began_boot_ms))
        give_up_fires(shard, batch->claims, batch->count);
    counters_add(shard->deps.counters, COUNTER_CLAIMS, 1);
    settle(shard, c, batch); /* before anything else can fail: these rows are written */
    return c->session ? ERR_OK : store_take_session(shard->deps.opts.store, SESSION_CLAIM, &c->session, ec);
}

enum err shard_claim_due(struct shard *shard, struct cycle *c, const struct job_due *jobs, size_t count,
                         int64_t window_end_ms, struct errctx *ec)
{
    struct plan_moment moment = read_moment(shard, window_end_ms);
    struct batch batch = {.claims = calloc(count + 1, sizeof *batch.claims),
                          .plans = calloc(count + 1, sizeof *batch.plans)};
    enum err e = ERR_OK;

    if (!batch.claims || !batch.plans)
        e = err_set(ec, ERR_NOMEM, "claim: out of memory");
    if (!e)
        e = decide(shard, jobs, count, &moment, &batch, ec);
    if (e == ERR_OK && batch.count > 0)
        e = claim_batch(shard, c, &batch, ec);
    for (size_t i = 0; i < batch.count; i++)
        fire_destroy_list(batch.claims[i].fires); /* those that were settled have none any more */
    free(batch.claims);
    free(batch.plans);
    return e;
}

enum err shard_claim_moves(struct shard *shard, struct claim_job *claims, size_t count, struct errctx *ec)
{
    struct cycle c = {.around = true};
    struct batch batch = {.claims = claims, .plans = calloc(count, sizeof *batch.plans), .count = count};
    enum err e = batch.plans ? store_take_session(shard->deps.opts.store, SESSION_CLAIM, &c.session, ec)
                             : err_set(ec, ERR_NOMEM, "claim: out of memory");

    if (!e)
        e = claim_batch(shard, &c, &batch, ec);
    store_give_session(shard->deps.opts.store, c.session);
    left_out_fini(&c.left_out);
    free(batch.plans);
    return e;
}

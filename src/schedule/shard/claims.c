/* SPDX-License-Identifier: MIT */
/*
 * The claim cycle of a shard: what was found to be due is read and claimed (claim.h) in batches.
 *
 * Somebody may hold the rows of jobs, for as long as he likes. The first batch that meets one waits for a second or
 * two, the others of the cycle pass such jobs by. They are left out: tried again in each cycle, behind all others and
 * apart from them.
 */
#include "schedule/shard/claim.h"
#include "schedule/shard/shard_impl.h"
#include "shardwheel/job/times.h"
#include "shardwheel/store/plan.h"

#include <inttypes.h>
#include <stdlib.h>

#define BATCH_JOBS 500 /* jobs read at once and claimed in one transaction */
/* Where the server does not say which rows are locked, it is found by trying fewer and fewer jobs, for so long in a
 * cycle... */
#define CONFLICT_PARTS 8
#define CONFLICT_PATIENCE_MS 3000
#define LEFT_OUT_PAUSE_MS 10000 /* ... and not again of those found before this is over */
#define RING_LAG_MAX_MS 30000   /* the ring is stalled: planning more would only fill memory */

/* Somebody holds the row of a job, and the server gave up waiting or did not begin to. Each try decides anew: a wait
 * takes seconds. The server that does not pass locked jobs by gets them in ever smaller numbers; what is left when the
 * time for that is over is left out, locked or not, and tried in the next cycle. */
static enum err claim_jobs(struct shard *shard, struct cycle *c, const struct job_due *jobs, size_t count,
                           int64_t window_end_ms, struct errctx *ec)
{
    size_t part = (count + CONFLICT_PARTS - 1) / CONFLICT_PARTS;
    int64_t now_ms;
    enum err e;

    if (shard_is_called_away(shard))
        return err_set(ec, ERR_BUSY, "asked back");
    e = shard_claim_due(shard, c, jobs, count, window_end_ms, ec);
    if (e != ERR_CONFLICT)
        return e;
    if (!c->around) {
        c->around = true;
        return claim_jobs(shard, c, jobs, count, window_end_ms, ec);
    }
    now_ms = clock_mono_ms(shard->deps.clock);
    if (c->searches_to_mono_ms == 0)
        c->searches_to_mono_ms = now_ms + CONFLICT_PATIENCE_MS;
    if (count == 1) {
        shard_leave_out(shard, c, jobs, now_ms + LEFT_OUT_PAUSE_MS);
        return ERR_OK;
    }
    e = ERR_OK;
    for (size_t at = 0; at < count && e == ERR_OK; at += part) {
        now_ms = clock_mono_ms(shard->deps.clock);
        if (now_ms < c->searches_to_mono_ms)
            e = claim_jobs(shard, c, jobs + at, count - at < part ? count - at : part, window_end_ms, ec);
        else
            for (size_t i = at; i < count && i < at + part; i++)
                shard_leave_out(shard, c, &jobs[i], now_ms);
    }
    return e;
}

/* Batch by batch, in the order given: there is no cap per second. Each is read right before it is claimed. */
static enum err claim_ids(struct shard *shard, struct cycle *c, int64_t *ids, size_t count, int64_t until_ms,
                          struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t at = 0; at < count && e == ERR_OK; at += BATCH_JOBS) {
        size_t n = count - at < BATCH_JOBS ? count - at : BATCH_JOBS;
        struct job_page page = {0};

        qsort(ids + at, n, sizeof *ids, compare_int64);
        e = store_load_due(c->session, ids + at, n, until_ms, &page, ec);
        if (e == ERR_OK && page.count > 0)
            e = claim_jobs(shard, c, page.jobs, page.count, until_ms, ec);
        job_page_fini(&page);
    }
    return e;
}

/* Which jobs of a part are claimed together. */
enum group { GROUP_OTHERS, GROUP_LEFT_OUT, GROUP_NOT_NOW };

static enum group group_of(const struct shard *shard, int64_t id, int64_t now_ms)
{
    const struct left_out_job *job = left_out_find(&shard->left_out, id);

    if (!job)
        return GROUP_OTHERS;
    return job->again_mono_ms > now_ms ? GROUP_NOT_NOW : GROUP_LEFT_OUT;
}

/* Those of the group, in the order of the part. */
static size_t pick_group(const struct shard *shard, const struct scan_part *part, enum group group, int64_t now_ms,
                         int64_t *ids)
{
    size_t n = 0;

    for (size_t i = 0; i < part->count; i++)
        if (group_of(shard, part->ids[i], now_ms) == group)
            ids[n++] = part->ids[i];
    return n;
}

/* The most overdue first, and those that were left out before behind all others: nobody else waits for them. */
static enum err claim_part(struct shard *shard, struct cycle *c, const struct scan_part *part, struct errctx *ec)
{
    int64_t now_ms = clock_mono_ms(shard->deps.clock);
    int64_t *ids;
    enum err e;

    if (shard->left_out.count == 0)
        return claim_ids(shard, c, part->ids, part->count, part->until_ms, ec);
    ids = malloc((part->count + 1) * sizeof *ids);
    if (!ids)
        return err_set(ec, ERR_NOMEM, "claim: out of memory");
    e = claim_ids(shard, c, ids, pick_group(shard, part, GROUP_OTHERS, now_ms, ids), part->until_ms, ec);
    c->around = true;
    if (!e)
        e = claim_ids(shard, c, ids, pick_group(shard, part, GROUP_LEFT_OUT, now_ms, ids), part->until_ms, ec);
    for (size_t i = 0, n = pick_group(shard, part, GROUP_NOT_NOW, now_ms, ids); i < n && e == ERR_OK; i++)
        left_out_add(&c->left_out, *left_out_find(&shard->left_out, ids[i]));
    free(ids);
    return e;
}

/* A takeover looks no more than ten minutes beyond the cursor (LOOK_AHEAD_S): a row further away would be passed by and
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

/* Keeps what the cycle left out. One that did not come to its end, or looked less far than one before because the clock
 * was set back, may not have met all that were left out before. */
static void keep_left_out(struct shard *shard, struct cycle *c, bool all)
{
    bool were = shard->left_out.count > 0;

    left_out_sort(&c->left_out);
    if (all) {
        left_out_fini(&shard->left_out);
        shard->left_out = c->left_out;
    } else {
        left_out_join(&shard->left_out, &c->left_out);
        left_out_fini(&c->left_out);
    }
    if (!were && shard->left_out.count > 0)
        log_warn("schedule",
                 "event=jobs_locked shard=%d jobs=%zu first_job=%" PRId64
                 " why=\"another session has locked their rows in xxl_job_info\" effect=\"they are planned when their "
                 "rows are free\"",
                 shard->number, shard->left_out.count, shard->left_out.jobs[0].id);
    else if (were && shard->left_out.count == 0)
        log_info("schedule", "event=jobs_free shard=%d", shard->number);
}

static void set_planned_until(struct shard *shard, int64_t until_ms)
{
    shard->planned_until_ms = until_ms;
    mutex_lock(&shard->lock);
    shard->shown_until_ms = until_ms;
    mutex_unlock(&shard->lock);
}

enum claim_outcome shard_run_claims(struct shard *shard, const struct scan_part *part)
{
    struct cycle c = {0};
    struct errctx ec = {0};
    enum err e = ERR_OK;
    bool whole;

    if (part->count > 0 || part->later_count > 0)
        e = store_take_session(shard->deps.opts.store, SESSION_CLAIM, &c.session, &ec);
    if (!e)
        e = claim_part(shard, &c, part, &ec);
    whole = !e && part->complete && part->until_ms >= shard->planned_until_ms;
    keep_left_out(shard, &c, whole);
    /* A window is one of jobs: it is planned, whatever becomes of the later rows. */
    if (whole && !c.changed && !shard->left_out.full)
        set_planned_until(shard, part->until_ms);
    if (whole && !c.changed && shard->left_out.count == 0)
        recent_age(shard->recent); /* every job has been looked at since the takeover */
    if (!e)
        e = shard_claim_later(shard, &c.session, part->later, part->later_count, &ec);
    store_give_session(shard->deps.opts.store, c.session);
    if (e == ERR_STATE)
        return CLAIM_FENCED;
    if (e == ERR_GUARD)
        return CLAIM_RETRY; /* told once for the node, not for each shard */
    if (e == ERR_BUSY && shard_is_called_away(shard))
        /* no failure: the turn looks at the grant. A full disk is ERR_BUSY too, and is logged below. */
        return CLAIM_RETRY;
    if (e) {
        shard_log_failure(shard, STEP_CLAIM, &ec);
        return CLAIM_RETRY;
    }
    shard_log_good(shard, STEP_CLAIM);
    if (c.changed || shard->left_out.full)
        return CLAIM_RETRY;
    return part->complete && !part->later_more ? CLAIM_DONE : CLAIM_MORE;
}

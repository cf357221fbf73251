/* SPDX-License-Identifier: MIT */
/* FIX_DELAY jobs of a shard: once a second the rows of their runs are looked at, and the next times of those whose runs
 * have ended are pulled forward. That is a claim without fires: under the epoch, a guard, and only where the next time
 * is still what the claim of that run set. */
#include "schedule/shard/shard_impl.h"
#include "shardwheel/job/times.h"

#include <inttypes.h>
#include <stdlib.h>

#define LOOK_MS 1000
#define LOOK_ROWS 2000 /* rows in one look, jobs in one pull: 500; what is beyond has its turn in the next one */
#define PULL_JOBS 500
#define SEEK_JOBS 100       /* of one second, whose rows one statement looks for */
#define SEEK_LIMIT_MS 1000  /* what that may take at the server */
#define SEEK_TURN_MS 200    /* so long further ones are begun in one look */
#define SEEK_PAUSE_MS 10000 /* after one that failed; it has its turn again behind all others */

/* ---- after a takeover -------------------------------------------------------------------------------------------- */

/* What a claim set tells when the run went out. Any other next time is nobody's to pull. */
static enum err rebuild(struct shard *shard, struct store_session *session, struct errctx *ec)
{
    struct delayed_job *jobs = NULL;
    size_t count = 0;
    enum err e = store_load_delayed_jobs(session, shard->number, shard->deps.opts.shards, &jobs, &count, ec);
    int64_t now_s = clock_wall_ms(shard->deps.clock) / 1000;

    for (size_t i = 0; i < count && !e; i++) {
        int64_t fired_s = jobs[i].next_ms / 1000 - jobs[i].delay_s - FIXED_DELAY_LIMIT_S;
        bool by_claim = jobs[i].next_ms % 1000 == 0 && fired_s >= time_floor_div(jobs[i].last_ms, 1000) &&
                        fired_s <= now_s + LOOK_AHEAD_S && fired_s > now_s - FIXED_DELAY_LIMIT_S;

        if (by_claim && !delays_find(&shard->delays, jobs[i].id) &&
            !delays_note_sought(&shard->delays, &jobs[i], fired_s))
            shard->delays.full = true;
    }
    free(jobs);
    shard->delays.rebuild = shard->delays.rebuild && e;
    return e;
}

/* Runs of one second that are sought: the next ones behind those of the last time. */
static size_t list_sought(struct delays *d, struct run_key *keys)
{
    size_t n = 0, first = d->seek_turn < d->count ? d->seek_turn : 0;

    for (size_t i = 0; i < d->count && n < SEEK_JOBS; i++) {
        const struct delayed_run *run = &d->runs[(first + i) % d->count];

        if (!run->sought || (n > 0 && run->fired_s != keys[0].due_s))
            continue;
        if (n == 0)
            d->seek_turn = (first + i) % d->count + 1;
        keys[n++] = (struct run_key){run->job_id, run->fired_s, run->original_s};
    }
    return n;
}

static enum err seek_second(struct shard *shard, struct store_session *session, const struct run_key *keys, size_t n,
                            struct errctx *ec)
{
    struct delays *d = &shard->delays;
    struct found_run *rows = NULL;
    int64_t *ids;
    size_t found = 0;
    enum err e;

    e = store_find_runs(session, keys, n, SEEK_LIMIT_MS, &rows, &found, ec);
    if (e)
        return e;
    ids = malloc((found + 1) * sizeof *ids);
    for (size_t k = 0; k < n && ids; k++) {
        size_t count = 0;

        for (size_t i = 0; i < found; i++)
            if (rows[i].key == k)
                ids[count++] = rows[i].log_id;
        delays_set_rows(d, keys[k].job_id, ids, count, clock_wall_ms(shard->deps.clock) / 1000);
    }
    free(ids);
    free(rows);
    return ids ? ERR_OK : err_set(ec, ERR_NOMEM, "delays: out of memory");
}

/* A server that is slow with it must not cost the shard its planning. */
static enum err seek(struct shard *shard, struct store_session *session, struct errctx *ec)
{
    struct delays *d = &shard->delays;
    int64_t began_ms = clock_mono_ms(shard->deps.clock);
    struct run_key keys[SEEK_JOBS];
    enum err e = ERR_OK;
    size_t n;

    while (!e && d->seek_mono_ms <= began_ms && (n = list_sought(d, keys)) > 0) {
        e = seek_second(shard, session, keys, n, ec);
        if (clock_mono_ms(shard->deps.clock) - began_ms >= SEEK_TURN_MS)
            break;
    }
    if (e)
        d->seek_mono_ms = clock_mono_ms(shard->deps.clock) + SEEK_PAUSE_MS;
    return e;
}

/* ---- once a second ----------------------------------------------------------------------------------------------- */

static enum err look(struct shard *shard, struct store_session *session, struct errctx *ec)
{
    struct delays *d = &shard->delays;
    struct run_end *rows = calloc(LOOK_ROWS, sizeof *rows), *sorted = calloc(LOOK_ROWS, sizeof *sorted);
    int64_t *jobs = calloc(LOOK_ROWS, sizeof *jobs);
    int64_t now_s;
    enum err e = rows && sorted && jobs ? ERR_OK : err_set(ec, ERR_NOMEM, "delays: out of memory");
    size_t n = e ? 0 : delays_list_rows(d, rows, jobs, LOOK_ROWS);

    for (size_t i = 0; i < n; i++)
        sorted[i] = rows[i];
    if (!e && n > 0)
        e = store_load_run_ends(session, sorted, n, ec);
    now_s = clock_wall_ms(shard->deps.clock) / 1000; /* behind it: what it says has happened by now */
    if (!e)
        qsort(sorted, n, sizeof *sorted, compare_int64);
    for (size_t i = 0; i < n && !e; i++) {
        const struct run_end *row = list_find(sorted, n, sizeof *sorted, rows[i].log_id);

        if (row)
            delays_apply(d, jobs[i], row, now_s);
    }
    free(rows);
    free(sorted);
    free(jobs);
    return e;
}

/* Jobs that are not what their run's claim left are somebody else's to plan: they are forgotten. */
static enum err pull(struct shard *shard, struct store_session *session, const int64_t *ids, size_t count,
                     struct errctx *ec)
{
    struct delays *d = &shard->delays;
    int64_t earliest_ms = shard_find_earliest_s(shard, clock_wall_ms(shard->deps.clock)) * 1000;
    struct claim_job *claims = calloc(count, sizeof *claims);
    struct job_page page = {0};
    size_t n = 0;
    enum err e = claims ? store_load_due(session, ids, count, INT64_MAX, &page, ec)
                        : err_set(ec, ERR_NOMEM, "delays: out of memory");

    for (size_t i = 0; i < page.count; i++) {
        const struct delayed_run *run = delays_find(d, page.jobs[i].id);
        int64_t next_ms = (run->ended_s + page.jobs[i].fixed_delay_s) * 1000;

        if (!occurrences_is_delayed(&page.jobs[i]) || page.jobs[i].next_ms != run->next_ms)
            continue;
        claims[n++] = (struct claim_job){
            .job = &page.jobs[i], .new_next_ms = next_ms > earliest_ms ? next_ms : earliest_ms, .keeps_last = true};
    }
    if (!e && n > 0)
        e = shard_claim_moves(shard, claims, n, ec);
    for (size_t i = 0, k = 0; i < count && !e; i++) {
        while (k < n && claims[k].job->id < ids[i])
            k++;
        /* One that somebody holds, or that the database was not told of for sure, is looked at again. */
        if (k == n || claims[k].job->id != ids[i] || claims[k].advanced)
            delays_forget(d, ids[i]);
    }
    job_page_fini(&page);
    free(claims);
    return e;
}

enum claim_outcome shard_follow_delays(struct shard *shard)
{
    struct delays *d = &shard->delays;
    int64_t now_ms = clock_mono_ms(shard->deps.clock), ended[PULL_JOBS];
    struct store_session *session = NULL;
    struct errctx ec, seek_ec;
    enum err e, sought = ERR_OK;
    size_t n;

    if ((!d->rebuild && d->count == 0) || now_ms < d->next_mono_ms)
        return CLAIM_DONE;
    d->next_mono_ms = now_ms + LOOK_MS;
    errctx_clear(&ec);
    errctx_clear(&seek_ec);
    e = store_take_session(shard->deps.opts.store, SESSION_CLAIM, &session, &ec);
    if (!e && d->rebuild)
        e = rebuild(shard, session, &ec);
    if (!e)
        sought = seek(shard, session, &seek_ec);
    if (!e && d->count > 0)
        e = look(shard, session, &ec);
    n = e ? 0 : delays_list_ended(d, ended, PULL_JOBS);
    if (n > 0)
        e = pull(shard, session, ended, n, &ec);
    store_give_session(shard->deps.opts.store, session);
    if (e == ERR_STATE)
        return CLAIM_FENCED;
    if (e == ERR_GUARD)
        return CLAIM_RETRY; /* told once for the node */
    if (e) {
        shard_log_failure(shard, STEP_DELAYS, &ec);
        return CLAIM_RETRY;
    }
    if (sought)
        shard_log_failure(shard, STEP_DELAYS, &seek_ec);
    else if (d->seek_mono_ms <= now_ms)
        shard_log_good(shard, STEP_DELAYS);
    return CLAIM_DONE;
}

/* SPDX-License-Identifier: MIT */
/* What a claim cycle makes of what the database answers: which windows count as planned, and what goes into the
 * wheel. */
#include "test.h"

#include "schedule/fake_clock.h"
#include "schedule/fake_session.h"
#include "schedule/shard/shard_impl.h"
#include "shardwheel/store/plan.h"

#include <stdlib.h>
#include <string.h>

#define T_S INT64_C(1767225600)
#define GUARD ((struct guard *)&w)

/* ---- the world around it ----------------------------------------------------------------------------------------- */

#define JOBS 500

static struct world {
    struct fake_clock time;
    struct job_due job;
    struct job_due *jobs; /* all there are, by id; `job` alone unless a test says otherwise */
    size_t job_count;
    bool (*is_locked)(int64_t id); /* somebody holds its row; NULL: nobody does */
    bool skips_locked;             /* the server can */
    bool called_away;
    bool called_away_by_conflict; /* somebody asks for the shard while a claim waits */
    int tries;                    /* of claims */
    int free_tries;               /* those that wait for nobody */
    enum err claim_result;
    bool advances; /* the claim, or what is read back of it, found the job as it was */
    int claims;
    int reads;
    int read_backs;
    int pushed;
    size_t later; /* rows that were asked for */
    enum err later_result;
    bool guard_lives;
    size_t left_doubtful;
    int64_t uptime_s;
    int uptime_fails;
    int64_t claim_takes_ms;
    int64_t cursor_s;
    struct shard shard;
} w;

static int64_t read_mono(const struct clock *clock)
{
    (void)clock;
    return clock_mono_ms(clock_system()); /* pauses between tries are real */
}

enum err store_load_due(struct store_session *s, const int64_t *ids, size_t count, int64_t until_ms,
                        struct job_page *out, struct errctx *ec)
{
    (void)s;
    (void)ec;
    w.reads++;
    for (size_t i = 1; i < count; i++)
        assert_true(ids[i - 1] < ids[i]);
    out->jobs = calloc(count + 1, sizeof *out->jobs);
    assert_non_null(out->jobs);
    for (size_t i = 0, k = 0; i < count && k < w.job_count; i++) {
        while (k < w.job_count && w.jobs[k].id < ids[i])
            k++;
        if (k < w.job_count && w.jobs[k].id == ids[i] && w.jobs[k].next_ms <= until_ms)
            out->jobs[out->count++] = w.jobs[k];
    }
    return ERR_OK;
}

enum err store_load_delayed_jobs(struct store_session *s, int shard, int n, struct delayed_job **out, size_t *count,
                                 struct errctx *ec)
{
    (void)s, (void)shard, (void)n, (void)out, (void)count;
    return err_set(ec, ERR_LOST, "not here");
}

enum err store_find_runs(struct store_session *s, const struct run_key *keys, size_t count, int limit_ms,
                         struct found_run **out, size_t *out_count, struct errctx *ec)
{
    (void)s, (void)keys, (void)count, (void)limit_ms, (void)out, (void)out_count;
    return err_set(ec, ERR_LOST, "not here");
}

enum err store_load_run_ends(struct store_session *s, struct run_end *rows, size_t count, struct errctx *ec)
{
    (void)s, (void)rows, (void)count;
    return err_set(ec, ERR_LOST, "not here");
}

void store_free_list(void *items, void *memory)
{
    (void)memory;
    free(items);
}

void job_spec_unref(struct job_spec *job)
{
    assert_null(job); /* jobs are attached by the ring */
}

static bool is_locked(int64_t id)
{
    return w.is_locked && w.is_locked(id);
}

static enum err carry_out(struct claim_job *jobs, size_t count)
{
    for (size_t i = 0, k = 0; i < count; i++) {
        while (w.jobs[k].id < jobs[i].job->id)
            k++;
        jobs[i].locked = is_locked(jobs[i].job->id);
        jobs[i].advanced = w.advances && !jobs[i].locked;
        if (jobs[i].advanced)
            w.jobs[k].next_ms = jobs[i].new_next_ms;
    }
    return ERR_OK;
}

static enum err try_claim(struct claim_job *jobs, size_t count, bool waits, struct claim_guards *guards,
                          struct errctx *ec)
{
    bool meets_locked = false;

    assert_true((guards != NULL) == (w.shard.deps.opts.guard != NULL));
    assert_false(w.called_away);
    w.tries++;
    w.free_tries += !waits;
    for (size_t i = 0; i < count; i++)
        meets_locked = meets_locked || is_locked(jobs[i].job->id);
    if (meets_locked && (waits || !w.skips_locked)) {
        fake_clock_pass_ms(&w.time, waits ? 1000 : STORE_LOCK_PATIENCE_MS);
        w.called_away = w.called_away_by_conflict;
        return err_set(ec, ERR_CONFLICT, "locked");
    }
    fake_clock_pass_ms(&w.time, w.claim_takes_ms);
    w.claims++;
    return w.claim_result ? err_set(ec, w.claim_result, "told so") : carry_out(jobs, count);
}

enum err store_claim_jobs(struct store_session *s, int shard, int64_t epoch, struct claim_job *jobs, size_t count,
                          struct claim_guards *guards, struct errctx *ec)
{
    (void)s;
    (void)shard;
    (void)epoch;
    return try_claim(jobs, count, /*waits=*/true, guards, ec);
}

enum err store_claim_free_jobs(struct store_session *s, int shard, int64_t epoch, struct claim_job *jobs, size_t count,
                               struct claim_guards *guards, struct errctx *ec)
{
    (void)s;
    (void)shard;
    (void)epoch;
    return try_claim(jobs, count, /*waits=*/false, guards, ec);
}

enum err store_load_claimed(struct store_session *s, int shard, int64_t epoch, struct claim_job *jobs, size_t count,
                            struct errctx *ec)
{
    (void)s;
    (void)shard;
    (void)epoch;
    (void)ec;
    w.read_backs++;
    return carry_out(jobs, count);
}

enum err store_check_guards(struct store_session *s, const struct claim_guards *guards, bool *held, struct errctx *ec)
{
    (void)s;
    (void)guards;
    (void)ec;
    *held = w.guard_lives;
    return ERR_OK;
}

enum err store_end_doubtful(struct store_session *s, int shard, int64_t epoch, const int64_t *log_ids, size_t count,
                            struct errctx *ec)
{
    (void)shard, (void)epoch;
    (void)s;
    (void)log_ids;
    (void)count;
    (void)ec;
    return ERR_OK;
}

enum err store_load_uptime_s(struct store_session *s, int64_t *out_s, struct errctx *ec)
{
    (void)s;
    if (w.uptime_fails-- > 0)
        return err_set(ec, ERR_LOST, "away");
    *out_s = w.uptime_s;
    return ERR_OK;
}

void guard_note_claim(struct guard *g, enum err e)
{
    assert_ptr_equal(g, GUARD);
    (void)e;
}

const struct registry_snapshot *registry_get_snapshot(struct registry *r)
{
    (void)r;
    return NULL;
}

void registry_put_snapshot(const struct registry_snapshot *snap)
{
    (void)snap;
}

const struct registry_group *registry_find_group(const struct registry_snapshot *snap, int64_t id)
{
    (void)snap;
    (void)id;
    return NULL;
}

struct coord_grant coord_get_grant(struct coord *c, int shard)
{
    (void)c;
    (void)shard;
    return (struct coord_grant){.wish = w.called_away ? COORD_GIVE_BACK : COORD_OWN};
}

int64_t ring_get_passed_s(struct ring *ring)
{
    (void)ring;
    return w.time.wall_us / 1000000;
}

int64_t ring_get_hold_s(struct ring *ring)
{
    (void)ring;
    return INT64_MAX;
}

int64_t ring_get_lag_ms(struct ring *ring)
{
    (void)ring;
    return 0;
}

struct ring_shard ring_get_shard(struct ring *ring, int shard)
{
    (void)ring;
    (void)shard;
    return (struct ring_shard){.active = true, .cursor_s = w.cursor_s};
}

void ring_push(struct ring *ring, struct fire *fire)
{
    (void)ring;
    w.pushed++;
    fire_destroy(fire);
}

enum err shard_claim_later(struct shard *shard, struct store_session **session, int64_t *ids, size_t count,
                           struct errctx *ec)
{
    (void)shard, (void)ids;
    assert_true(*session || count == 0);
    w.later += count;
    return w.later_result ? err_set(ec, w.later_result, "later") : ERR_OK;
}

void shard_log_failure(struct shard *shard, enum shard_step step, const struct errctx *ec)
{
    (void)shard;
    (void)step;
    (void)ec;
}

void shard_log_good(struct shard *shard, enum shard_step step)
{
    (void)shard;
    (void)step;
}

void shard_end_doubtful(struct shard *shard)
{
    (void)shard;
}

void shard_leave_doubtful(struct shard *shard)
{
    w.left_doubtful += shard->doubtful_count;
    shard->doubtful_count = 0;
}

/* ---- helpers ----------------------------------------------------------------------------------------------------- */

static int setup(void **state)
{
    struct zone *zone = NULL;
    struct errctx ec;

    memset(&w, 0, sizeof w);
    fake_sessions = 0;
    w.time = fake_clock_at(T_S * 1000);
    w.time.clock.mono_ms = read_mono;
    w.cursor_s = T_S;
    w.advances = true;
    w.job = (struct job_due){.id = 7,
                             .group = 1,
                             .next_ms = (T_S + 3) * 1000,
                             .schedule_type = "CRON",
                             .schedule_conf = "0/30 * * * * ?",
                             .misfire = "DO_NOTHING",
                             .route = "FIRST",
                             .handler = "h"};
    w.jobs = &w.job;
    w.job_count = 1;
    assert_int_equal(zone_load("UTC", &zone, &ec), ERR_OK);
    *state = zone;
    mutex_init(&w.shard.lock, LOCK_SCHEDULE);
    worker_init(&w.shard.worker, &w.time.clock);
    w.shard.deps = (struct shard_deps){.opts = {.shards = 1, .zone = zone}, .clock = &w.time.clock};
    assert_int_equal(planner_create(zone, 2099, &w.shard.planner, &ec), ERR_OK);
    assert_int_equal(ahead_create("n1", "10.0.0.1", (struct message_style){.lang = LANG_EN}, &w.shard.ahead, &ec),
                     ERR_OK);
    assert_int_equal(recent_create(1, &w.shard.recent, &ec), ERR_OK);
    w.shard.planned_until_ms = T_S * 1000;
    return 0;
}

static int teardown(void **state)
{
    assert_int_equal(fake_sessions, 0);
    planner_destroy(w.shard.planner);
    ahead_destroy(w.shard.ahead);
    recent_destroy(w.shard.recent);
    left_out_fini(&w.shard.left_out);
    if (w.jobs != &w.job)
        free(w.jobs);
    free(w.shard.doubtful);
    worker_fini(&w.shard.worker);
    mutex_fini(&w.shard.lock);
    zone_destroy(*state);
    return 0;
}

/* What the scanner finds at this moment. */
static enum claim_outcome run_claims(void)
{
    int64_t ids[1] = {w.job.id};
    struct scan_part part = {.ids = ids,
                             .until_ms = w.time.wall_us / 1000 + PLAN_AHEAD_MS,
                             .count = w.job.next_ms <= w.time.wall_us / 1000 + PLAN_AHEAD_MS,
                             .complete = true};

    return shard_can_claim(&w.shard) ? shard_run_claims(&w.shard, &part) : CLAIM_RETRY;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void what_is_claimed_goes_into_the_wheel(void **state)
{
    (void)state;
    assert_int_equal(run_claims(), CLAIM_DONE);
    assert_int_equal(w.pushed, 1);
    assert_int_equal(w.shard.planned_until_ms, T_S * 1000 + PLAN_AHEAD_MS);
    assert_int_equal(w.shard.shown_until_ms, T_S * 1000 + PLAN_AHEAD_MS);
}

/* The commit was rolled back: the due time must not count as planned, or it would be taken for one set into the past by
 * hand when the database is back, and left to the misfire rule. */
static void a_claim_that_did_not_happen_is_still_to_be_planned(void **state)
{
    (void)state;
    w.claim_result = ERR_UNKNOWN;
    w.advances = false;
    assert_int_equal(run_claims(), CLAIM_RETRY);
    assert_int_equal(w.read_backs, 1);
    assert_int_equal(w.pushed, 0);
    assert_int_equal(w.shard.planned_until_ms, T_S * 1000);
    assert_int_equal(w.shard.shown_until_ms, 0);

    w.claim_result = ERR_LOST;
    fake_clock_pass_ms(&w.time, 10000);
    w.cursor_s += 10;
    assert_int_equal(run_claims(), CLAIM_RETRY);

    w.claim_result = ERR_OK;
    w.advances = true;
    assert_int_equal(run_claims(), CLAIM_DONE);
    assert_int_equal(w.pushed, 1); /* late, and once */
    assert_int_equal(w.job.next_ms, (T_S + 30) * 1000);
}

static void a_claim_that_happened_without_an_answer_is_planned(void **state)
{
    (void)state;
    w.claim_result = ERR_UNKNOWN;
    assert_int_equal(run_claims(), CLAIM_DONE);
    assert_int_equal(w.read_backs, 1);
    assert_int_equal(w.pushed, 1);
}

static void a_guard_that_lives_lets_the_fires_go(void **state)
{
    (void)state;
    w.shard.deps.opts.guard = GUARD;
    w.guard_lives = true;
    assert_int_equal(run_claims(), CLAIM_DONE);
    assert_int_equal(w.pushed, 1);
}

static void fires_of_a_claim_that_lost_its_guard_are_not_sent(void **state)
{
    (void)state;
    w.shard.deps.opts.guard = GUARD;
    w.claim_takes_ms = 4000;
    w.uptime_s = 4; /* perhaps it started a moment before the claim */
    assert_int_equal(run_claims(), CLAIM_RETRY);
    assert_int_equal(w.pushed, 0);
    assert_int_equal(w.shard.doubtful_count, 1);
}

/* Another owner has loaded them. */
static void fires_given_up_under_another_epoch_are_left(void **state)
{
    (void)state;
    w.shard.deps.opts.guard = GUARD;
    for (int i = 1; i <= 3; i++) {
        w.shard.epoch += i == 3;
        assert_int_equal(run_claims(), CLAIM_RETRY);
        assert_int_equal(w.shard.doubtful_epoch, w.shard.epoch);
        assert_int_equal(w.shard.doubtful_count, i == 3 ? 1 : i);
        assert_int_equal(w.left_doubtful, i == 3 ? 2 : 0);
        w.time.wall_us += 30 * 1000000;
        w.cursor_s += 30;
    }
}

/* The guard went with the server, and the transaction with it or before: no Java admin read the jobs in between. */
static void a_server_that_started_anew_let_nobody_in(void **state)
{
    (void)state;
    w.shard.deps.opts.guard = GUARD;
    w.claim_result = ERR_UNKNOWN;
    w.claim_takes_ms = 4000;
    w.uptime_s = 3;
    w.uptime_fails = 2;
    assert_int_equal(run_claims(), CLAIM_DONE);
    assert_int_equal(w.read_backs, 1);
    assert_int_equal(w.pushed, 1);
}

/* A takeover would not find rows that are too far beyond the cursor. */
static void nothing_is_planned_far_beyond_the_cursor(void **state)
{
    (void)state;
    w.cursor_s = T_S - 3600;
    assert_int_equal(run_claims(), CLAIM_RETRY);
    assert_int_equal(w.claims, 0);
    w.cursor_s = T_S - 60;
    assert_int_equal(run_claims(), CLAIM_DONE);
    assert_int_equal(w.claims, 1);
}

/* What was found is read again before it is claimed: another one may have been faster, or somebody stopped the job. */
static void what_is_not_due_any_more_is_no_claim(void **state)
{
    int64_t ids[1] = {w.job.id};
    struct scan_part part = {.ids = ids, .count = 1, .until_ms = T_S * 1000 + PLAN_AHEAD_MS, .complete = true};

    (void)state;
    w.job.next_ms += 60000;
    assert_int_equal(shard_run_claims(&w.shard, &part), CLAIM_DONE);
    assert_int_equal(w.reads, 1);
    assert_int_equal(w.claims, 0);
    assert_int_equal(w.shard.planned_until_ms, part.until_ms);
}

/* A window of which only the most overdue were found is not planned yet: what comes later would count as set by
 * hand. */
static void a_part_that_is_not_complete_plans_no_window(void **state)
{
    int64_t ids[1] = {w.job.id};
    struct scan_part part = {.ids = ids, .count = 1, .until_ms = T_S * 1000 + PLAN_AHEAD_MS};

    (void)state;
    assert_int_equal(shard_run_claims(&w.shard, &part), CLAIM_MORE);
    assert_int_equal(w.pushed, 1);
    assert_int_equal(w.shard.planned_until_ms, T_S * 1000);
}

/* A window is one of jobs. */
static void a_window_is_planned_whatever_becomes_of_its_later_rows(void **state)
{
    int64_t later[2] = {3, 4};
    struct scan_part part = {
        .later = later, .later_count = 2, .until_ms = T_S * 1000 + PLAN_AHEAD_MS, .complete = true};

    (void)state;
    w.later_result = ERR_LOST;
    assert_int_equal(shard_run_claims(&w.shard, &part), CLAIM_RETRY);
    assert_int_equal(w.shard.planned_until_ms, part.until_ms);
    w.later_result = ERR_STATE;
    assert_int_equal(shard_run_claims(&w.shard, &part), CLAIM_FENCED);
    w.later_result = ERR_OK;
    assert_int_equal(shard_run_claims(&w.shard, &part), CLAIM_DONE);
    part.later_more = true;
    part.until_ms += 1000;
    assert_int_equal(shard_run_claims(&w.shard, &part), CLAIM_MORE);
    assert_int_equal(w.shard.planned_until_ms, part.until_ms);
    assert_int_equal(w.later, 8);
}

static void the_most_overdue_are_claimed_first(void **state)
{
    enum { MANY = 1600 };
    static int64_t ids[MANY];
    struct scan_part part = {.ids = ids, .count = MANY, .until_ms = T_S * 1000 + PLAN_AHEAD_MS, .complete = true};

    (void)state;
    for (int i = 0; i < MANY; i++)
        ids[i] = MANY * 2 - i; /* the first in the list is the last by id */
    w.job.id = MANY * 2 - 10;
    w.claim_result = ERR_LOST; /* ends the cycle with the batch that has the job */
    assert_int_equal(shard_run_claims(&w.shard, &part), CLAIM_RETRY);
    assert_int_equal(w.reads, 1);
}

/* ---- rows that somebody else holds ------------------------------------------------------------------------------- */

static bool every_fifth(int64_t id)
{
    return id % 5 == 0;
}

static bool every_one(int64_t id)
{
    (void)id;
    return true;
}

/* Jobs 1 to JOBS, each due every five seconds, and time that passes only where something waits. */
static void add_jobs(bool skips_locked, bool (*locked)(int64_t))
{
    w.jobs = calloc(JOBS, sizeof *w.jobs);
    assert_non_null(w.jobs);
    w.job_count = JOBS;
    for (int i = 0; i < JOBS; i++) {
        w.jobs[i] = w.job;
        w.jobs[i].id = i + 1;
        w.jobs[i].schedule_conf = "0/5 * * * * ?";
        w.jobs[i].next_ms = (T_S + 5) * 1000;
    }
    w.skips_locked = skips_locked;
    w.is_locked = locked;
    w.time.clock.mono_ms = fake_clock_mono_ms;
}

/* One cycle with all that is due. */
static enum claim_outcome run_cycle(bool complete)
{
    int64_t ids[JOBS];
    struct scan_part part = {.ids = ids, .until_ms = w.time.wall_us / 1000 + PLAN_AHEAD_MS, .complete = complete};

    for (size_t i = 0; i < w.job_count; i++)
        if (w.jobs[i].next_ms <= part.until_ms)
            ids[part.count++] = w.jobs[i].id;
    w.tries = w.free_tries = w.claims = 0;
    return shard_run_claims(&w.shard, &part);
}

static void pass_seconds(int n)
{
    fake_clock_pass_ms(&w.time, n * 1000);
    w.cursor_s += n;
}

static int count_unplanned(void)
{
    int n = 0;

    for (size_t i = 0; i < w.job_count; i++)
        n += w.jobs[i].next_ms <= w.time.wall_us / 1000 + PLAN_AHEAD_MS && !is_locked(w.jobs[i].id);
    return n;
}

/* The first batch that meets one waits; from then on nothing does. */
static void locked_jobs_hold_up_no_other(void **state)
{
    (void)state;
    add_jobs(/*skips_locked=*/true, every_fifth);
    assert_int_equal(run_cycle(true), CLAIM_DONE);
    assert_int_equal(w.pushed, JOBS - JOBS / 5);
    assert_int_equal(w.tries, 2);
    assert_int_equal(w.shard.left_out.count, JOBS / 5);
    assert_int_equal(w.shard.planned_until_ms, T_S * 1000 + PLAN_AHEAD_MS);

    /* Behind the others and apart from them. */
    pass_seconds(5);
    assert_int_equal(run_cycle(true), CLAIM_DONE);
    assert_int_equal(w.tries, 2);
    assert_int_equal(w.free_tries, 1);
    assert_int_equal(w.pushed, 2 * (JOBS - JOBS / 5));
    assert_int_equal(count_unplanned(), 0);
}

/* Their window is the one before they were left out: what they missed is no time that somebody set into the past. */
static void what_was_left_out_is_caught_up_one_by_one(void **state)
{
    (void)state;
    add_jobs(/*skips_locked=*/true, every_fifth);
    for (int i = 0; i < 7; i++) {
        assert_int_equal(run_cycle(true), CLAIM_DONE);
        pass_seconds(5);
    }
    w.is_locked = NULL;
    w.pushed = 0;
    assert_int_equal(run_cycle(true), CLAIM_DONE);
    /* 36 s after T: 100 jobs each have the seven from T + 5 to T + 35 and that of T + 40; the others that one. */
    assert_int_equal(w.pushed, 8 * (JOBS / 5) + JOBS - JOBS / 5);
    assert_int_equal(w.shard.left_out.count, 0);
    for (int i = 0; i < JOBS; i++)
        assert_int_equal(w.jobs[i].next_ms, (T_S + 45) * 1000);
}

/* A claim without fires, of a FIX_DELAY job whose run has ended. */
static void a_move_waits_for_nobody(void **state)
{
    struct claim_job claim = {.job = &w.job, .new_next_ms = (T_S + 60) * 1000, .keeps_last = true};
    struct errctx ec;

    (void)state;
    w.skips_locked = true;
    w.is_locked = every_one;
    assert_int_equal(shard_claim_moves(&w.shard, &claim, 1, &ec), ERR_OK);
    assert_true(claim.locked);
    assert_false(claim.advanced);
    assert_int_equal(w.shard.left_out.count, 0); /* it is not one of those that are due */
    w.is_locked = NULL;
    w.claim_result = ERR_STATE;
    assert_int_equal(shard_claim_moves(&w.shard, &claim, 1, &ec), ERR_STATE);
    w.claim_result = ERR_UNKNOWN;
    assert_int_equal(shard_claim_moves(&w.shard, &claim, 1, &ec), ERR_OK);
    assert_int_equal(w.read_backs, 1);
    assert_true(claim.advanced);
    assert_int_equal(w.job.next_ms, (T_S + 60) * 1000);
    assert_int_equal(w.tries, w.free_tries);
    assert_int_equal(w.pushed, 0);
}

/* Nor when the rows are free and the claim comes to nothing, while the others' window has moved on. */
static void what_was_left_out_stays_so_until_it_is_claimed(void **state)
{
    (void)state;
    add_jobs(/*skips_locked=*/true, every_fifth);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(run_cycle(true), CLAIM_DONE);
        pass_seconds(5);
    }
    w.is_locked = NULL;
    w.advances = false;
    assert_int_equal(run_cycle(true), CLAIM_RETRY);
    assert_int_equal(w.shard.left_out.count, JOBS / 5);
    w.advances = true;
    w.pushed = 0;
    assert_int_equal(run_cycle(true), CLAIM_DONE);
    assert_int_equal(w.pushed, 3 * (JOBS / 5) + JOBS - JOBS / 5);
    assert_int_equal(w.shard.left_out.count, 0);
}

/* Of a job that was not locked a next time in the past was set by hand, whatever is locked. */
static void others_keep_their_window(void **state)
{
    (void)state;
    add_jobs(/*skips_locked=*/true, every_fifth);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(run_cycle(true), CLAIM_DONE);
        pass_seconds(5);
    }
    w.jobs[0].next_ms = (T_S - 3600) * 1000 - 7;
    w.pushed = 0;
    assert_int_equal(run_cycle(true), CLAIM_DONE);
    assert_int_equal(w.pushed, JOBS - JOBS / 5);
    assert_int_equal(w.jobs[0].next_ms, (T_S + 35) * 1000);
}

/* A cycle that does not come to its end has not met all of them. */
static void jobs_stay_left_out_until_a_whole_cycle_has_seen_them(void **state)
{
    (void)state;
    add_jobs(/*skips_locked=*/true, every_fifth);
    assert_int_equal(run_cycle(true), CLAIM_DONE);
    w.claim_result = ERR_LOST;
    pass_seconds(5);
    assert_int_equal(run_cycle(true), CLAIM_RETRY);
    assert_int_equal(w.shard.left_out.count, JOBS / 5);
    w.claim_result = ERR_OK;
    w.is_locked = NULL;
    assert_int_equal(run_cycle(false), CLAIM_MORE);
    assert_int_equal(w.shard.left_out.count, JOBS / 5);
    pass_seconds(1);
    assert_int_equal(run_cycle(true), CLAIM_DONE);
    assert_int_equal(w.shard.left_out.count, 0);
}

/* Nor has one that looks less far than those before: the clock was set back. */
static void jobs_stay_left_out_while_the_clock_is_behind(void **state)
{
    (void)state;
    add_jobs(/*skips_locked=*/true, every_fifth);
    assert_int_equal(run_cycle(true), CLAIM_DONE);
    w.is_locked = NULL;
    w.time.wall_us -= 10 * 1000000;
    assert_int_equal(run_cycle(true), CLAIM_DONE);
    assert_int_equal(w.shard.left_out.count, JOBS / 5);
    assert_int_equal(w.shard.planned_until_ms, T_S * 1000 + PLAN_AHEAD_MS);
    w.time.wall_us += 10 * 1000000;
    pass_seconds(11);
    w.pushed = 0;
    assert_int_equal(run_cycle(true), CLAIM_DONE);
    /* All have T + 10 and T + 15, and 100 that of T + 5, too: nobody has set it into the past. */
    assert_int_equal(w.pushed, 2 * JOBS + JOBS / 5);
    assert_int_equal(w.shard.left_out.count, 0);
}

/* Where the server does not say which they are: searched for in a bounded time, then left alone for some seconds. */
static void a_search_for_locked_jobs_is_bounded(void **state)
{
    int unplanned = JOBS;

    add_jobs(/*skips_locked=*/false, every_fifth);
    for (int round = 0; round < 6; round++) {
        int64_t began_ms = clock_mono_ms(&w.time.clock);

        assert_int_equal(run_cycle(true), CLAIM_DONE);
        /* A wait for the first one, the time for the search, and the try that was under way. */
        assert_true(clock_mono_ms(&w.time.clock) - began_ms <= 1000 + 3000 + 2 * STORE_LOCK_PATIENCE_MS);
        unplanned = count_unplanned();
        pass_seconds(1);
    }
    (void)state;
    assert_int_equal(unplanned, 0);
    assert_int_equal(w.shard.left_out.count, JOBS / 5);
    for (int i = 0; i < JOBS; i++) /* each due time once */
        if (!is_locked(i + 1))
            w.pushed -= (int)(w.jobs[i].next_ms / 1000 - (T_S + 5)) / 5;
    assert_int_equal(w.pushed, 0);
}

static void who_waits_for_locked_jobs_can_be_called_away(void **state)
{
    (void)state;
    for (int skips = 0; skips < 2; skips++) {
        add_jobs(skips, every_one);
        w.called_away = false;
        w.called_away_by_conflict = true;
        assert_int_equal(run_cycle(true), CLAIM_RETRY);
        assert_int_equal(w.tries, 1);
        free(w.jobs);
        w.jobs = &w.job;
        w.job_count = 1;
    }
}

/* Many more than are remembered: then no window counts as planned. */
static void too_many_to_remember_plan_no_window(void **state)
{
    (void)state;
    add_jobs(/*skips_locked=*/true, every_one);
    for (int i = 0; i < LEFT_OUT_MAX; i++)
        left_out_add(&w.shard.left_out, (struct left_out_job){.id = 1000000 + i});
    assert_int_equal(run_cycle(false), CLAIM_RETRY);
    assert_int_equal(w.shard.left_out.count, LEFT_OUT_MAX);
    assert_int_equal(w.shard.planned_until_ms, T_S * 1000);
    assert_int_equal(run_cycle(true), CLAIM_DONE);
    assert_int_equal(w.shard.left_out.count, JOBS);
}

/* ---- next times that fall back ----------------------------------------------------------------------------------- */

/* Somebody writes all columns of the job as he read them before it was planned. */
static void what_is_planned_is_not_planned_again(void **state)
{
    int64_t before_ms = w.job.next_ms;

    (void)state;
    assert_int_equal(run_claims(), CLAIM_DONE);
    assert_int_equal(w.pushed, 1);
    w.job.next_ms = before_ms;
    assert_int_equal(run_claims(), CLAIM_DONE);
    assert_int_equal(w.pushed, 1);
    assert_int_equal(w.job.next_ms, (T_S + 30) * 1000);
}

/* Their rows are written, and end as "delivery unknown". */
static void what_was_given_up_is_not_planned_again(void **state)
{
    int64_t before_ms = w.job.next_ms;

    (void)state;
    w.shard.deps.opts.guard = GUARD;
    w.uptime_s = 4;
    assert_int_equal(run_claims(), CLAIM_RETRY);
    assert_int_equal(w.shard.doubtful_count, 1);
    w.guard_lives = true;
    w.job.next_ms = before_ms;
    assert_int_equal(run_claims(), CLAIM_DONE);
    assert_int_equal(w.pushed, 0);
    assert_int_equal(w.job.next_ms, (T_S + 30) * 1000);
}

int main(void)
{
#define CLAIMS_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CLAIMS_TEST(what_is_claimed_goes_into_the_wheel),
        CLAIMS_TEST(a_claim_that_did_not_happen_is_still_to_be_planned),
        CLAIMS_TEST(a_claim_that_happened_without_an_answer_is_planned),
        CLAIMS_TEST(a_guard_that_lives_lets_the_fires_go),
        CLAIMS_TEST(fires_of_a_claim_that_lost_its_guard_are_not_sent),
        CLAIMS_TEST(fires_given_up_under_another_epoch_are_left),
        CLAIMS_TEST(a_server_that_started_anew_let_nobody_in),
        CLAIMS_TEST(nothing_is_planned_far_beyond_the_cursor),
        CLAIMS_TEST(what_is_not_due_any_more_is_no_claim),
        CLAIMS_TEST(a_part_that_is_not_complete_plans_no_window),
        CLAIMS_TEST(a_window_is_planned_whatever_becomes_of_its_later_rows),
        CLAIMS_TEST(the_most_overdue_are_claimed_first),
        CLAIMS_TEST(locked_jobs_hold_up_no_other),
        CLAIMS_TEST(a_move_waits_for_nobody),
        CLAIMS_TEST(what_was_left_out_is_caught_up_one_by_one),
        CLAIMS_TEST(what_was_left_out_stays_so_until_it_is_claimed),
        CLAIMS_TEST(others_keep_their_window),
        CLAIMS_TEST(jobs_stay_left_out_until_a_whole_cycle_has_seen_them),
        CLAIMS_TEST(jobs_stay_left_out_while_the_clock_is_behind),
        CLAIMS_TEST(a_search_for_locked_jobs_is_bounded),
        CLAIMS_TEST(who_waits_for_locked_jobs_can_be_called_away),
        CLAIMS_TEST(too_many_to_remember_plan_no_window),
        CLAIMS_TEST(what_is_planned_is_not_planned_again),
        CLAIMS_TEST(what_was_given_up_is_not_planned_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

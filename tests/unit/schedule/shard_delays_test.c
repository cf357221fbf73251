/* SPDX-License-Identifier: MIT */
/* FIX_DELAY jobs of a shard: which of their next times are pulled forward, when, and what an error costs. */
#include "test.h"

#include "schedule/fake_clock.h"
#include "schedule/fake_session.h"
#include "schedule/shard/shard_impl.h"
#include "shardwheel/job/times.h"

#include <stdlib.h>
#include <string.h>

#define T_S INT64_C(1767225600)
#define DELAY_S 60
#define JOBS 8

/* ---- the world around it ----------------------------------------------------------------------------------------- */

static struct world {
    struct fake_clock time;
    struct job_due jobs[JOBS]; /* as the database has them, by id */
    size_t job_count;
    struct delayed_job delayed[JOBS]; /* what a takeover finds */
    size_t delayed_count;
    struct found_run found; /* of each search; log_id 0: nothing */
    int64_t search_takes_ms;
    struct run_end end; /* the one row that is not open */
    int64_t held;       /* job whose row somebody holds */
    enum err load_result, search_result, look_result, due_result, claim_result;
    int looks, searches, claims, failures, goods;
    int sought;                     /* keys of all searches */
    struct claim_job claimed[JOBS]; /* by the last claim */
    int64_t claimed_ids[JOBS];
    size_t claim_count;
    int64_t passed_s;
    struct shard shard;
} w;

enum err store_load_delayed_jobs(struct store_session *s, int shard, int n, struct delayed_job **out, size_t *count,
                                 struct errctx *ec)
{
    (void)s;
    assert_int_equal(shard, 3);
    assert_int_equal(n, 16);
    if (w.load_result)
        return err_set(ec, w.load_result, "told so");
    *out = calloc(w.delayed_count, sizeof **out);
    assert_non_null(*out);
    memcpy(*out, w.delayed, w.delayed_count * sizeof **out);
    *count = w.delayed_count;
    return ERR_OK;
}

enum err store_find_runs(struct store_session *s, const struct run_key *keys, size_t count, int limit_ms,
                         struct found_run **out, size_t *out_count, struct errctx *ec)
{
    (void)s;
    assert_true(limit_ms > 0 && count > 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(keys[i].due_s, keys[0].due_s);
    w.searches++;
    w.sought += (int)count;
    fake_clock_pass_ms(&w.time, w.search_takes_ms);
    if (w.search_result)
        return err_set(ec, w.search_result, "told so");
    *out = calloc(1, sizeof **out);
    assert_non_null(*out);
    **out = w.found;
    *out_count = w.found.log_id != 0;
    return ERR_OK;
}

enum err store_load_run_ends(struct store_session *s, struct run_end *rows, size_t count, struct errctx *ec)
{
    (void)s;
    w.looks++;
    for (size_t i = 0; i < count; i++)
        if (rows[i].log_id == w.end.log_id)
            rows[i] = w.end;
    return w.look_result ? err_set(ec, w.look_result, "told so") : ERR_OK;
}

enum err store_load_due(struct store_session *s, const int64_t *ids, size_t count, int64_t until_ms,
                        struct job_page *out, struct errctx *ec)
{
    (void)s;
    assert_int_equal(until_ms, INT64_MAX);
    if (w.due_result)
        return err_set(ec, w.due_result, "told so");
    out->jobs = calloc(JOBS, sizeof *out->jobs);
    assert_non_null(out->jobs);
    for (size_t i = 0; i < w.job_count; i++)
        for (size_t k = 0; k < count; k++)
            if (ids[k] == w.jobs[i].id)
                out->jobs[out->count++] = w.jobs[i];
    return ERR_OK;
}

void store_free_list(void *items, void *memory)
{
    (void)memory;
    free(items);
}

enum err shard_claim_moves(struct shard *shard, struct claim_job *claims, size_t count, struct errctx *ec)
{
    assert_ptr_equal(shard, &w.shard);
    w.claims++;
    if (w.claim_result)
        return err_set(ec, w.claim_result, "told so");
    for (size_t i = 0; i < count; i++) {
        claims[i].locked = claims[i].job->id == w.held;
        claims[i].advanced = !claims[i].locked;
        w.claimed[i] = claims[i];
        w.claimed_ids[i] = claims[i].job->id;
    }
    w.claim_count = count;
    return ERR_OK;
}

int64_t ring_get_passed_s(struct ring *ring)
{
    (void)ring;
    return w.passed_s;
}

int64_t ring_get_hold_s(struct ring *ring)
{
    (void)ring;
    return INT64_MAX;
}

struct coord_grant coord_get_grant(struct coord *c, int shard)
{
    (void)c;
    (void)shard;
    return (struct coord_grant){.wish = COORD_OWN};
}

void shard_log_failure(struct shard *shard, enum shard_step step, const struct errctx *ec)
{
    (void)shard;
    assert_int_equal(step, STEP_DELAYS);
    assert_string_equal(ec->text, "told so");
    w.failures++;
}

void shard_log_good(struct shard *shard, enum shard_step step)
{
    (void)shard;
    assert_int_equal(step, STEP_DELAYS);
    w.goods++;
}

/* ---- helpers ----------------------------------------------------------------------------------------------------- */

static int setup(void **state)
{
    (void)state;
    memset(&w, 0, sizeof w);
    fake_sessions = 0;
    w.time = fake_clock_at(T_S * 1000);
    w.shard.number = 3;
    w.shard.deps = (struct shard_deps){.opts = {.shards = 16}, .clock = &w.time.clock};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(fake_sessions, 0);
    delays_fini(&w.shard.delays);
    return 0;
}

/* What a claim at fired_s sets. */
static int64_t bound_ms(int64_t fired_s)
{
    return (fired_s + DELAY_S + FIXED_DELAY_LIMIT_S) * 1000;
}

static struct job_due delayed_job(int64_t id)
{
    return (struct job_due){.id = id,
                            .next_ms = bound_ms(T_S),
                            .schedule_type = "FIX_RATE",
                            .schedule_conf = "60",
                            .fixed_delay_s = DELAY_S};
}

/* A run of the job is claimed, with one row, whose id is ten times that of the job. */
static void claim_run(int64_t id)
{
    struct fire fire = {.job_id = id, .log_id = 10 * id};
    struct job_due *job = &w.jobs[w.job_count++];
    struct plan plan = {0};

    *job = delayed_job(id);
    shard_note_delayed(&w.shard, &(struct claim_job){.job = job, .new_next_ms = job->next_ms, .fires = &fire}, &plan);
}

static bool is_waited_for(int64_t id)
{
    return delays_find(&w.shard.delays, id) != NULL;
}

/* The look of the next second. */
static enum claim_outcome follow(void)
{
    fake_clock_pass_ms(&w.time, 1000);
    return shard_follow_delays(&w.shard);
}

static void end_row(int64_t log_id, int64_t ended_s)
{
    w.end = (struct run_end){.log_id = log_id, .what = RUN_ENDED, .ended_s = ended_s};
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void a_job_is_due_a_delay_behind_the_end(void **state)
{
    (void)state;
    claim_run(7);
    fake_clock_pass_ms(&w.time, 30000);
    assert_int_equal(follow(), CLAIM_DONE);
    assert_int_equal(w.claims, 0); /* it goes on */
    assert_true(is_waited_for(7));

    end_row(70, T_S + 20);
    assert_int_equal(follow(), CLAIM_DONE);
    assert_int_equal(w.claim_count, 1);
    assert_int_equal(w.claimed[0].new_next_ms, (T_S + 20 + DELAY_S) * 1000);
    assert_true(w.claimed[0].keeps_last);
    assert_false(w.claimed[0].stop);
    assert_null(w.claimed[0].fires);
    assert_false(is_waited_for(7));

    assert_int_equal(follow(), CLAIM_DONE);
    assert_int_equal(w.claims, 1);
}

static void one_whose_delay_is_over_is_due_as_soon_as_can_be(void **state)
{
    (void)state;
    claim_run(7);
    end_row(70, T_S + 5);
    w.passed_s = T_S + 900;
    fake_clock_pass_ms(&w.time, 700000);
    assert_int_equal(follow(), CLAIM_DONE);
    assert_int_equal(w.claimed[0].new_next_ms, (T_S + 901) * 1000);
}

static void rows_are_looked_at_once_a_second(void **state)
{
    (void)state;
    assert_int_equal(follow(), CLAIM_DONE);
    assert_int_equal(w.shard.delays.next_mono_ms, 0); /* nothing to look at is no look */
    claim_run(7);
    assert_int_equal(follow(), CLAIM_DONE);
    assert_int_equal(w.looks, 1);
    fake_clock_pass_ms(&w.time, 999);
    assert_int_equal(shard_follow_delays(&w.shard), CLAIM_DONE);
    assert_int_equal(w.looks, 1);
    fake_clock_pass_ms(&w.time, 1);
    assert_int_equal(shard_follow_delays(&w.shard), CLAIM_DONE);
    assert_int_equal(w.looks, 2);
}

/* Each of these runs has ended. Job 3 is due at another time by now, 6 has another schedule, 7 is gone. */
static void only_what_somebody_holds_is_tried_again(void **state)
{
    (void)state;
    for (int64_t id = 3; id <= 7; id++)
        claim_run(id);
    for (size_t i = 0; i < w.shard.delays.count; i++) {
        w.shard.delays.runs[i].count = 0;
        w.shard.delays.runs[i].ended_s = T_S;
    }
    w.jobs[0].next_ms += 1000;
    w.jobs[3].schedule_conf = "61";
    w.job_count = 4;
    w.held = 4;
    assert_int_equal(follow(), CLAIM_DONE);
    assert_int_equal(w.claim_count, 2);
    assert_int_equal(w.claimed_ids[0], 4);
    assert_int_equal(w.claimed_ids[1], 5);
    for (int64_t id = 3; id <= 7; id++)
        assert_int_equal(is_waited_for(id), id == 4);

    w.held = 0;
    assert_int_equal(follow(), CLAIM_DONE);
    assert_int_equal(w.claim_count, 1);
    assert_int_equal(w.shard.delays.count, 0);
}

static void what_an_error_costs(void **state)
{
    static const struct {
        enum err look, due, claim;
        enum claim_outcome outcome;
        int failures;
    } cases[] = {
        {.look = ERR_LOST, .outcome = CLAIM_RETRY, .failures = 1},
        {.due = ERR_LOST, .outcome = CLAIM_RETRY, .failures = 1},
        {.claim = ERR_LOST, .outcome = CLAIM_RETRY, .failures = 1},
        {.claim = ERR_CONFLICT, .outcome = CLAIM_RETRY, .failures = 1},
        {.claim = ERR_GUARD, .outcome = CLAIM_RETRY}, /* told once for the node */
        {.claim = ERR_STATE, .outcome = CLAIM_FENCED},
    };

    (void)state;
    claim_run(7);
    end_row(70, T_S);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        w.look_result = cases[i].look;
        w.due_result = cases[i].due;
        w.claim_result = cases[i].claim;
        w.failures = 0;
        assert_int_equal(follow(), cases[i].outcome);
        assert_int_equal(w.failures, cases[i].failures);
        assert_int_equal(w.goods, 0);
        assert_true(is_waited_for(7));
    }
    w.claim_result = ERR_OK;
    assert_int_equal(follow(), CLAIM_DONE);
    assert_int_equal(w.goods, 1);
    assert_false(is_waited_for(7));
}

/* ---- after a takeover -------------------------------------------------------------------------------------------- */

static void add_delayed(int64_t id, int64_t fired_s, int64_t last_ms)
{
    w.delayed[w.delayed_count++] =
        (struct delayed_job){.id = id, .next_ms = bound_ms(fired_s), .last_ms = last_ms, .delay_s = DELAY_S};
}

/* Any other next time was set by somebody else. */
static void a_takeover_knows_a_next_time_that_a_claim_set(void **state)
{
    const int64_t now_s = T_S + 1; /* at the look */

    (void)state;
    add_delayed(1, now_s, now_s * 1000 + 999);
    add_delayed(2, now_s - 1, now_s * 1000); /* it would have gone out before its due time */
    add_delayed(3, now_s, now_s * 1000);
    w.delayed[2].next_ms++;
    add_delayed(4, now_s + LOOK_AHEAD_S, now_s * 1000);
    add_delayed(5, now_s + LOOK_AHEAD_S + 1, now_s * 1000);
    add_delayed(6, now_s - FIXED_DELAY_LIMIT_S + 1, 0);
    add_delayed(7, now_s - FIXED_DELAY_LIMIT_S, 0);
    w.search_result = ERR_TIMEOUT;
    w.shard.delays.rebuild = true;
    assert_int_equal(follow(), CLAIM_DONE);
    assert_false(w.shard.delays.rebuild);
    for (int64_t id = 1; id <= 7; id++)
        assert_int_equal(is_waited_for(id), id == 1 || id == 4 || id == 6);
    assert_int_equal(delays_find(&w.shard.delays, 1)->original_s, now_s);
    assert_int_equal(delays_find(&w.shard.delays, 4)->fired_s, now_s + LOOK_AHEAD_S);
}

static void a_takeover_leaves_what_was_claimed_since(void **state)
{
    (void)state;
    claim_run(7);
    add_delayed(7, T_S, 0);
    w.shard.delays.rebuild = true;
    assert_int_equal(follow(), CLAIM_DONE);
    assert_int_equal(w.searches, 0);
    assert_int_equal(delays_find(&w.shard.delays, 7)->count, 1);
}

static void a_takeover_that_cannot_look_tries_again(void **state)
{
    (void)state;
    add_delayed(7, T_S, 0);
    w.shard.delays.rebuild = true;
    w.load_result = ERR_LOST;
    assert_int_equal(follow(), CLAIM_RETRY);
    assert_int_equal(w.failures, 1);
    assert_true(w.shard.delays.rebuild);
    w.load_result = ERR_OK;
    w.found = (struct found_run){.key = 0, .log_id = 70};
    assert_int_equal(follow(), CLAIM_DONE);
    assert_false(w.shard.delays.rebuild);
    assert_int_equal(w.searches, 1);
    assert_int_equal(delays_find(&w.shard.delays, 7)->log_ids[0], 70);
}

static void a_run_without_rows_has_ended(void **state)
{
    (void)state;
    w.jobs[w.job_count++] = delayed_job(7);
    add_delayed(7, T_S, 0);
    w.shard.delays.rebuild = true;
    assert_int_equal(follow(), CLAIM_DONE);
    assert_int_equal(w.claimed[0].new_next_ms, (T_S + 1 + DELAY_S) * 1000); /* it is not known when */
}

/* A server that is slow with the search keeps no other run waiting. */
static void a_search_that_failed_pauses(void **state)
{
    (void)state;
    claim_run(7);
    add_delayed(8, T_S, 0);
    w.shard.delays.rebuild = true;
    w.search_result = ERR_TIMEOUT;
    for (int i = 0; i < 10; i++)
        assert_int_equal(follow(), CLAIM_DONE);
    assert_int_equal(w.searches, 1);
    assert_int_equal(w.looks, 10);
    assert_int_equal(w.failures, 1);
    assert_int_equal(w.goods, 0); /* it has not ended */

    w.search_result = ERR_OK;
    w.found = (struct found_run){.key = 0, .log_id = 80};
    assert_int_equal(follow(), CLAIM_DONE);
    assert_int_equal(w.searches, 2);
    assert_int_equal(w.goods, 1);
    assert_int_equal(delays_find(&w.shard.delays, 8)->log_ids[0], 80);
}

/* One statement for each second, and as many as 200 ms allow. */
static void searches_take_turns(void **state)
{
    (void)state;
    for (int64_t id = 1; id <= 6; id++)
        add_delayed(id, T_S - id / 2, 0); /* seconds of 1, 2, 2, 1 jobs */
    w.search_takes_ms = 100;
    w.shard.delays.rebuild = true;
    assert_int_equal(follow(), CLAIM_DONE);
    assert_int_equal(w.searches, 2);
    assert_int_equal(w.sought, 3);
    assert_int_equal(follow(), CLAIM_DONE);
    assert_int_equal(w.searches, 4);
    assert_int_equal(w.sought, 6);
    assert_int_equal(follow(), CLAIM_DONE);
    assert_int_equal(w.searches, 4);
}

/* ---- what a claim leaves ----------------------------------------------------------------------------------------- */

static void other_claims_change_what_is_waited_for(void **state)
{
    struct fire fire = {.job_id = 7, .log_id = 71};
    struct job_due job = delayed_job(7), other = delayed_job(7);
    struct claim_job claim = {.job = &job, .new_next_ms = 5000, .keeps_last = true};
    struct plan plan = {0};

    (void)state;
    other.schedule_conf = "30";
    claim_run(7);
    shard_note_delayed(&w.shard, &claim, &plan); /* our own pull */
    shard_note_delayed(&w.shard, &(struct claim_job){.job = &other, .new_next_ms = 5000}, &plan);
    assert_int_equal(delays_find(&w.shard.delays, 7)->next_ms, bound_ms(T_S));

    claim.keeps_last = false;
    plan.repeated = true;
    shard_note_delayed(&w.shard, &claim, &plan);
    assert_int_equal(delays_find(&w.shard.delays, 7)->next_ms, 5000);
    assert_int_equal(delays_find(&w.shard.delays, 7)->log_ids[0], 70);
    claim.stop = true;
    shard_note_delayed(&w.shard, &claim, &plan);
    assert_false(is_waited_for(7));

    claim.fires = &fire;
    shard_note_delayed(&w.shard, &claim, &plan); /* the last fire of a job that ends */
    assert_false(is_waited_for(7));
    claim.stop = false;
    shard_note_delayed(&w.shard, &claim, &plan);
    assert_int_equal(delays_find(&w.shard.delays, 7)->log_ids[0], 71);
    claim.fires = NULL;
    plan.repeated = false;
    shard_note_delayed(&w.shard, &claim, &plan); /* left to the misfire rule */
    assert_false(is_waited_for(7));
}

static void memory_has_a_bound(void **state)
{
    struct fire fire = {.log_id = 1};
    struct job_due job = delayed_job(0);
    struct claim_job claim = {.job = &job, .new_next_ms = 5000, .fires = &fire};
    struct plan plan = {0};

    (void)state;
    for (job.id = 1; job.id <= DELAYS_MAX; job.id++)
        shard_note_delayed(&w.shard, &claim, &plan);
    assert_int_equal(w.shard.delays.count, DELAYS_MAX);
    assert_false(w.shard.delays.full);
    shard_note_delayed(&w.shard, &claim, &plan);
    assert_false(is_waited_for(DELAYS_MAX + 1));
    assert_true(w.shard.delays.full);

    job.id = DELAYS_MAX; /* one that is there has room */
    claim.new_next_ms = 6000;
    shard_note_delayed(&w.shard, &claim, &plan);
    assert_int_equal(delays_find(&w.shard.delays, DELAYS_MAX)->next_ms, 6000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_is_due_a_delay_behind_the_end),
        TEST(one_whose_delay_is_over_is_due_as_soon_as_can_be),
        TEST(rows_are_looked_at_once_a_second),
        TEST(only_what_somebody_holds_is_tried_again),
        TEST(what_an_error_costs),
        TEST(a_takeover_knows_a_next_time_that_a_claim_set),
        TEST(a_takeover_leaves_what_was_claimed_since),
        TEST(a_takeover_that_cannot_look_tries_again),
        TEST(a_run_without_rows_has_ended),
        TEST(a_search_that_failed_pauses),
        TEST(searches_take_turns),
        TEST(other_claims_change_what_is_waited_for),
        TEST(memory_has_a_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

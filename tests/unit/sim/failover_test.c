/* SPDX-License-Identifier: MIT */
/* A database that goes on without its last commits, while those who own the shards stay. */
#include "sim/jobs.h"

#include <inttypes.h>

#define SEEDS 25

/* A replica that is up to twenty seconds behind takes the place of its primary, at any moment. What was sent is not
 * sent again, and has a row; what was planned and not sent is planned again, once. */
static size_t run_with(uint64_t seed, int64_t away_ms)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = away_ms > 0 ? 1 : 2, .seed = seed});
    size_t written;

    add_jobs(sim, 30);
    sim_advance_ms(sim, 30 * SECOND_MS + (int64_t)fibers_draw(1000));
    for (int i = 0; i < 3; i++) {
        sim_remember(sim);
        sim_advance_ms(sim, 1 + (int64_t)fibers_draw(20000));
        sim_set_away(sim, away_ms > 0);
        sim_advance_ms(sim, away_ms);
        sim_set_away(sim, false);
        sim_fail_over(sim);
        sim_advance_ms(sim, 20 * SECOND_MS + (int64_t)fibers_draw(1000));
    }
    sim_advance_ms(sim, 3 * MINUTE_MS);
    sim_check(sim);
    written = sim_get_db(sim)->written_again;
    sim_destroy(sim);
    return written;
}

static void commits_are_forgotten(void **state)
{
    size_t written = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        written += run_with(seed, 0);
    assert_true(written > 500);
}

/* However long there is no server in between. One node: of several, others would own the shards then. */
static void and_nobody_is_there_for_a_while(void **state)
{
    static const int64_t away_ms[] = {1500, 20000, 90000, 5 * MINUTE_MS};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(away_ms); i++)
        for (uint64_t seed = 1; seed <= 3; seed++)
            run_with(100 * i + seed, away_ms[i]);
}

/* ---- flows ------------------------------------------------------------------------------------------------------- */

enum { LINE = 1, RESCUE = 3, CAST = 5 }; /* of sim_add_flows: none of them needs what an executor said */

static int count_arrivals(const struct memory_db *db, int64_t run, int step, int item)
{
    int count = 0;

    for (size_t i = 0; i < db->log_count; i++) {
        const struct fire *f = &db->logs[i].fire;

        if (f->kind == TRIGGER_FLOW && f->flow_run == run && f->flow_step == step && f->flow_item == item)
            count += db->logs[i].arrivals;
    }
    return count;
}

static void check_sent_once(const struct memory_db *db, const struct memory_flow_run *run)
{
    for (int step = 0; step < MEMORY_FLOW_STEPS; step++)
        for (int item = -1; item < MEMORY_FLOW_ITEMS; item++)
            if (count_arrivals(db, run->row.id, step, item) > 1)
                fail_msg("step %d, item %d of run %" PRId64 " was sent twice", step, item, run->row.id);
    if (run->row.state != FLOW_RUN_SUCCEEDED)
        fail_msg("run %" PRId64 " of flow %" PRId64 " has state %d", run->row.id, run->row.flow_id, run->row.state);
}

/* Runs that the replica knows go on where they stood: whatever step was sent since is not sent again, and its end is
 * taken in. */
static void steps_are_forgotten(void **state)
{
    size_t begun_again = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim *sim = sim_create((struct sim_opts){.nodes = 2, .seed = seed, .follows = true, .flows = true});
        struct memory_db *db = sim_get_db(sim);
        size_t known;

        sim_add_flows(sim);
        for (size_t i = 0; i < db->flow_count; i++)
            db->flows[i].started = false;
        sim_advance_ms(sim, 30 * SECOND_MS);
        for (int i = 0; i < 30; i++) {
            static const int64_t flows[] = {LINE, RESCUE, CAST};
            sim_start_that_flow(sim, flows[i % (int)ARRAY_LEN(flows)]);
            sim_advance_ms(sim, (int64_t)fibers_draw(150));
        }
        sim_remember(sim);
        known = db->flow_run_count;
        sim_advance_ms(sim, 1 + (int64_t)fibers_draw(15000));
        sim_fail_over(sim);
        sim_advance_ms(sim, 5 * MINUTE_MS);
        for (size_t i = 0; i < known; i++)
            check_sent_once(db, &db->flow_runs[i]);
        begun_again += db->steps_begun_again;
        sim_check(sim);
        sim_destroy(sim);
    }
    assert_true(begun_again > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commits_are_forgotten),
        cmocka_unit_test(and_nobody_is_there_for_a_while),
        cmocka_unit_test(steps_are_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commits_are_forgotten),
        cmocka_unit_test(and_nobody_is_there_for_a_while),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

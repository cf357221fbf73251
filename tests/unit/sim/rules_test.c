/* SPDX-License-Identifier: MIT */
/*
 * A rule of the database's contract is taken out, and a drill that leans on it must go wrong; with the rule it goes
 * well. So the simulation sees what it is there for.
 */
#include "sim/jobs.h"

#include <inttypes.h>

#define SEEDS 100

/* Statements are slow, and one of two nodes never hears that it has lost its locks. */
static void two_owners(struct sim *sim)
{
    add_jobs(sim, 40);
    sim_get_db(sim)->latency_us = 300000;
    sim_advance_ms(sim, 10 * SECOND_MS + (int64_t)fibers_draw(1000));
    sim_cut_locks(sim, 0, true);
    sim_advance_ms(sim, 20 * SECOND_MS);
}

static void edits_on_a_slow_database(struct sim *sim)
{
    add_jobs(sim, 20);
    sim_get_db(sim)->latency_us = 300000;
    for (int i = 0; i < 60; i++) {
        sim_advance_ms(sim, (int64_t)fibers_draw(1000));
        sim_change_cron(sim, 1 + (int64_t)fibers_draw(20), fibers_chance(500) ? "0/3 * * * * ?" : "1/7 * * * * ?");
    }
}

/* Shards go from a node whose clock is ahead to one whose clock is behind while rows wait for their results. */
static void clocks_differ(struct sim *sim)
{
    sim_shift_wall_ms(sim, 0, 4000);
    sim_set_executors(sim, EXECUTOR_SILENT);
    add_jobs(sim, 40);
    for (int i = 0; i < 20; i++) {
        sim_give_to(sim, (int)fibers_draw(4), i % 2);
        sim_advance_ms(sim, (int64_t)fibers_draw(4000));
    }
}

static void commits_of_unknown_outcome(struct sim *sim)
{
    add_jobs(sim, 40);
    sim_get_db(sim)->fault_permille = 60;
    sim_advance_ms(sim, 3 * MINUTE_MS);
}

/* A node stands still between the sending and the result, longer than its fires stay open. */
static void long_pauses(struct sim *sim)
{
    add_jobs(sim, 40);
    sim_set_executors(sim, EXECUTOR_SLOW);
    for (int i = 0; i < 3; i++) {
        sim_advance_ms(sim, 20 * SECOND_MS + (int64_t)fibers_draw(1000));
        sim_pause(sim, i % 2);
        sim_advance_ms(sim, 58 * SECOND_MS);
        sim_wake(sim, i % 2);
    }
}

/* The number of shards falls while a node stands still: it wakes up with shards that are no more. */
static void fewer_shards(struct sim *sim)
{
    add_jobs(sim, 40);
    sim_set_executors(sim, EXECUTOR_SILENT);
    sim_advance_ms(sim, 20 * SECOND_MS);
    for (int i = 0; i < 4; i++) {
        sim_reshard(sim, i % 2 ? 8 : 2);
        sim_advance_ms(sim, 5500 + (int64_t)fibers_draw(2500));
        sim_pause(sim, i % 2);
        sim_advance_ms(sim, 1000 + (int64_t)fibers_draw(9000));
        sim_wake(sim, i % 2);
        sim_advance_ms(sim, 12 * SECOND_MS);
    }
}

/* The owner of all shards stands still with fires in its wheel; the other node, which has waited for no answers so far,
 * sends them. Then the jobs are stopped, and the first one wakes up. */
static void jobs_are_stopped_meanwhile(struct sim *sim)
{
    add_jobs(sim, 40);
    for (int shard = 0; shard < 4; shard++)
        sim_give_to(sim, shard, 0);
    sim_set_executors(sim, EXECUTOR_SILENT);
    sim_advance_ms(sim, 20 * SECOND_MS + (int64_t)fibers_draw(1000));
    sim_pause(sim, 0);
    sim_advance_ms(sim, 6 * SECOND_MS + (int64_t)fibers_draw(4000));
    for (int64_t job = 1; job <= 40; job++)
        sim_stop_job(sim, job);
    sim_wake(sim, 0);
}

/* Later rows beside all that: the parameter of each tells its fire from one of the schedule. */
static void later_rows_of_two_owners(struct sim *sim)
{
    add_jobs(sim, 8);
    sim_get_db(sim)->latency_us = 300000;
    sim_advance_ms(sim, 10 * SECOND_MS + (int64_t)fibers_draw(1000));
    sim_cut_locks(sim, 0, true);
    for (int i = 0; i < 20; i++) {
        for (int64_t job = 1; job <= 8; job++)
            (void)sim_add_later(sim, job, 0);
        sim_advance_ms(sim, SECOND_MS);
    }
}

static void later_commits_of_unknown_outcome(struct sim *sim)
{
    add_jobs(sim, 8);
    sim_get_db(sim)->fault_permille = 60;
    for (int i = 0; i < 60; i++) {
        for (int64_t job = 1; job <= 8; job++)
            (void)sim_add_later(sim, job, (int64_t)fibers_draw(6));
        sim_advance_ms(sim, 2 * SECOND_MS);
    }
}

/* What follows the ends of runs, told twice and with commits whose answers are lost. */
static void failures_and_children(struct sim *sim)
{
    add_jobs(sim, 12);
    for (int64_t job = 1; job <= 12; job++)
        sim_edit_job(sim, job)->retry_count = 3;
    sim_edit_job(sim, 1)->children = "10,11";
    sim_set_failing(sim, 300);
    sim_get_db(sim)->fault_permille = 60;
    sim_get_db(sim)->latency_us = 100000;
    sim_advance_ms(sim, 2 * MINUTE_MS);
    sim_set_failing(sim, 0);
}

/* Runs of flows, and somebody who asks for things, while shards go from one node to the other and back. */
static void flow_runs_of_two_owners(struct sim *sim)
{
    sim_add_flows(sim);
    sim_get_db(sim)->latency_us = 200000;
    sim_set_failing(sim, 200);
    for (int i = 0; i < 60; i++) {
        sim_start_flow(sim);
        sim_ask_flow(sim);
        if (i % 6 == 3)
            sim_give_to(sim, (int)fibers_draw(4), i / 6 % 2);
        if (i % 20 == 15)
            sim_cut_locks(sim, i / 20 % 2, true);
        if (i % 20 == 19)
            sim_cut_locks(sim, i / 20 % 2, false);
        sim_advance_ms(sim, (int64_t)fibers_draw(2000));
    }
    sim_set_failing(sim, 0);
    sim_approve_flows(sim);
}

static bool uses_flows(void (*drill)(struct sim *sim))
{
    return drill == flow_runs_of_two_owners;
}

static bool goes_well(void (*drill)(struct sim *sim), uint64_t seed, enum memory_rule broken)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 2,
                                                   .shards = 4,
                                                   .seed = seed,
                                                   .broken = broken,
                                                   .follows = drill == failures_and_children || uses_flows(drill),
                                                   .flows = uses_flows(drill)});
    const char *why;

    drill(sim);
    sim_get_db(sim)->fault_permille = 0;
    sim_get_db(sim)->latency_us = 2000;
    for (int minutes = 3; minutes > 0; minutes--) {
        if (uses_flows(drill))
            sim_approve_flows(sim);
        sim_advance_ms(sim, MINUTE_MS);
    }
    why = sim_find_violation(sim);
    if (why)
        print_message("  seed %" PRIu64 ": %s\n", seed, why);
    sim_destroy(sim);
    return !why;
}

static void without_a_rule_something_breaks(void **state)
{
    static const struct drill {
        enum memory_rule rule;
        const char *name;
        void (*run)(struct sim *sim);
    } drills[] = {
        {RULE_CLAIM_CHECKS_EPOCH, "a claim checks the epoch", two_owners},
        {RULE_CURSOR_CHECKS_EPOCH, "a cursor moves under its epoch only", two_owners},
        {RULE_CURSOR_NEVER_FALLS, "a cursor never falls", clocks_differ},
        {RULE_CLAIM_COMPARES_JOBS, "a claim compares what was read", edits_on_a_slow_database},
        {RULE_READ_BACK_FINDS_ROWS, "rows are read back after an unknown commit", commits_of_unknown_outcome},
        {RULE_READ_BACK_WAITS_FOR_LOCK, "reading back waits for the shard's row", commits_of_unknown_outcome},
        {RULE_RESULTS_ONLY_WHERE_OPEN, "a result is written where trigger_code = 0 only", long_pauses},
        {RULE_TAKEOVER_RAISES_BOTH_EPOCHS, "a takeover raises both epochs", two_owners},
        {RULE_TAKEOVER_CHECKS_NUMBER, "a takeover compares the number of shards", fewer_shards},
        {RULE_RESHARD_RAISES_EPOCHS, "another number of shards raises all epochs", fewer_shards},
        {RULE_CANCEL_CHECKS_EPOCH, "rows of stopped jobs are removed under the epoch", jobs_are_stopped_meanwhile},
        {RULE_LATER_CHECKS_EPOCH, "a claim of later rows checks the epoch", later_rows_of_two_owners},
        {RULE_LATER_IS_READ_BACK, "later rows are read back after an unknown commit", later_commits_of_unknown_outcome},
        {RULE_LATER_IS_LOADED, "a takeover loads what later rows have of their own", later_rows_of_two_owners},
        {RULE_DIRECT_IS_READ_BACK, "retries and children are read back", failures_and_children},
        {RULE_FAILURE_IS_LOOKED_AT_AGAIN, "a failure is dealt with by one node", failures_and_children},
        {RULE_CHILDREN_ONLY_ONCE, "a callback told twice has its children once", failures_and_children},
        {RULE_MOVE_CHECKS_EPOCH, "a move of flow runs checks the epoch", flow_runs_of_two_owners},
        {RULE_MOVE_LOCKS_RUNS, "a move locks the rows of its runs", flow_runs_of_two_owners},
        {RULE_FLOW_FIRES_ARE_LOADED, "a takeover loads what flow runs wait for", flow_runs_of_two_owners},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(drills); i++) {
        uint64_t seed = 1;

        print_message("without \"%s\":\n", drills[i].name);
        while (seed <= SEEDS && goes_well(drills[i].run, seed, drills[i].rule))
            seed++;
        if (seed > SEEDS)
            fail_msg("nothing goes wrong");
        if (!goes_well(drills[i].run, seed, RULE_NONE))
            fail_msg("it goes wrong with the rule, too");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(without_a_rule_something_breaks)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* How much is remembered of how many jobs, and what is forgotten first. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

#include "route/turns.h"

#define LIST 200

struct fixture {
    struct turns turns;
    struct groups groups;
    char texts[LIST][32];
    const char *addresses[LIST];
    struct registry_group group;
    struct listed listed;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    f->turns.random = 42;
    for (int i = 0; i < LIST; i++) {
        snprintf(f->texts[i], sizeof f->texts[i], "http://host%d:1/", i);
        f->addresses[i] = f->texts[i];
    }
    f->group = (struct registry_group){.id = 1, .app_name = "", .addresses = f->addresses, .count = LIST};
    groups_begin(&f->groups);
    assert_true(groups_get_listed(&f->groups, &f->group, &f->listed));
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    turns_forget(&f->turns);
    groups_fini(&f->groups);
    free(f);
    return 0;
}

static size_t memory_of(const struct turns *t)
{
    return (t->young.cost + t->old.cost) * 8;
}

/* A job that is routed all the while keeps its turn, whatever number of others comes; what nobody asked for since is
 * forgotten. */
static void a_job_in_use_is_remembered_while_others_come_and_go(void **state)
{
    enum { OTHERS = 3000000 };
    struct fixture *f = *state;
    size_t before = turns_pick_round(&f->turns, 1, 1000003), rare = turns_pick_round(&f->turns, 2, 1000003);

    for (int64_t other = 0; other < OTHERS; other++) {
        turns_pick_round(&f->turns, 1000 + other, 3);
        if (other % 1000 != 0)
            continue;
        assert_int_equal(turns_pick_round(&f->turns, 1, 1000003), before + 1);
        before++;
    }
    assert_true(memory_of(&f->turns) <= 2 * (TURNS_MAX + TURN_COST) * 8);
    assert_true(f->turns.young.used + f->turns.old.used >= 524288); /* and no less is remembered than was promised */
    for (size_t i = 0; i < 100; i++)                                /* a count is 100 at most only where it is new */
        rare = turns_pick_round(&f->turns, 2, 1000003);
    assert_in_range(rare, 99, 198);
}

static void long_lists_are_bounded_as_well(void **state)
{
    enum { JOBS = 100000 };
    struct fixture *f = *state;

    for (int64_t job = 1; job <= JOBS; job++)
        assert_int_equal(turns_pick_longest_ago(&f->turns, job, &f->listed), 0);
    assert_true(memory_of(&f->turns) <= 2 * (TURNS_MAX + TURN_COST + LIST) * 8);
    assert_int_equal(turns_pick_longest_ago(&f->turns, JOBS, &f->listed), 1);         /* remembered */
    assert_int_equal(turns_pick_longest_ago(&f->turns, JOBS - 25000, &f->listed), 1); /* of the older generation */
    assert_int_equal(turns_pick_longest_ago(&f->turns, JOBS - 25000, &f->listed), 2);
    assert_int_equal(turns_pick_longest_ago(&f->turns, 1, &f->listed), 0); /* forgotten */
}

/* One job that changes its route counts for each by itself. */
static void each_kind_has_turns_of_its_own(void **state)
{
    struct fixture *f = *state;
    size_t round = turns_pick_round(&f->turns, 5, 1000003);

    assert_int_equal(turns_pick_longest_ago(&f->turns, 5, &f->listed), 0);
    turns_pick_least_often(&f->turns, 5, &f->listed);
    assert_int_equal(turns_pick_longest_ago(&f->turns, 5, &f->listed), 1);
    assert_int_equal(turns_pick_round(&f->turns, 5, 1000003), round + 1);
}

static void an_index_finds_each_address(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < LIST; i++) {
        assert_int_equal(listed_find_hash(&f->listed, f->listed.hashes[i]), i);
        assert_true(f->listed.hashes[i] != 12345);
    }
    assert_true(listed_find_hash(&f->listed, 12345) == NOT_LISTED);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_job_in_use_is_remembered_while_others_come_and_go),
        T(long_lists_are_bounded_as_well),
        T(each_kind_has_turns_of_its_own),
        T(an_index_finds_each_address),
    };

    return cmocka_run_group_tests_name("route.turns", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
#include "coord/agreed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct zk_ask asked;
static char asked_path[200], asked_data[400];
static uint64_t next_id = 1;

static bool note_ask(void *arg, const struct zk_ask *ask)
{
    (void)arg;
    asked = *ask;
    snprintf(asked_path, sizeof asked_path, "%s", ask->path);
    snprintf(asked_data, sizeof asked_data, "%s", ask->data ? ask->data : "");
    return true;
}

static void step(struct agreed *a)
{
    asked = (struct zk_ask){0};
    agreed_step(a, 0, &next_id, note_ask, NULL);
}

static void answer(struct agreed *a, const char *data, int version)
{
    static const char *const names[] = {"me"};

    agreed_on_answer(a,
                     &(struct zk_answer){.verb = asked.verb,
                                         .id = asked.id,
                                         .result = ZK_OK,
                                         .data = data,
                                         .version = version,
                                         .names = names,
                                         .count = 1},
                     0);
}

/* Until it asks for BASE/primary; everything else is as it should be. */
static void go_to_primary(struct agreed *a)
{
    for (int i = 0; i < 20; i++) {
        step(a);
        if (asked.verb == ZK_READ && strcmp(asked_path, "/base/primary") == 0)
            return;
        answer(a, "", 0);
    }
    fail_msg("it does not ask for BASE/primary");
}

/* Two nodes find the server gone. One has written while the other one's look is under way, which makes its own decision
 * meanwhile from what it knew before. */
static void what_was_made_from_an_older_look_is_not_written(void **state)
{
    struct decision next = {.generation = 6, .by = "me", .server = "third"};
    struct agreed a;

    (void)state;
    assert_int_equal(agreed_init(&a, "/base", "me"), ERR_OK);
    agreed_set_connected(&a, true, 7);
    agreed_set_own(&a, 5, false, 4000);
    go_to_primary(&a);
    answer(&a, "generation=5 base=5 used=1 by=x server=first", 5);
    assert_int_equal(a.decision.generation, 5);

    agreed_on_change(&a, "/base/primary");
    go_to_primary(&a);
    agreed_propose(&a, &next);
    answer(&a, "generation=6 base=5 used=0 by=y server=second", 6);
    step(&a);
    assert_false(asked.verb == ZK_WRITE && strcmp(asked_path, "/base/primary") == 0);
    assert_false(a.wants_decision);
    assert_true(a.has_refused);

    /* Made from what stands there now it is. */
    next.generation = 7;
    if (a.pending)
        answer(&a, "", 0);
    agreed_propose(&a, &next);
    step(&a);
    assert_int_equal(asked.verb, ZK_WRITE);
    assert_string_equal(asked_path, "/base/primary");
    assert_int_equal(asked.version, 6);
    assert_non_null(strstr(asked_data, "generation=7"));
    agreed_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_made_from_an_older_look_is_not_written)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

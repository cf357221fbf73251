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

static void begin(struct agreed *a)
{
    assert_int_equal(agreed_init(a, "/base", "me"), ERR_OK);
    agreed_set_connected(a, true, 7);
    agreed_set_own(a, 5, false, 4000);
}

static void answer_list(struct agreed *a, const char *const *names, size_t count)
{
    assert_int_equal(asked.verb, ZK_LIST_WATCHED);
    agreed_on_answer(
        a, &(struct zk_answer){.verb = asked.verb, .id = asked.id, .result = ZK_OK, .names = names, .count = count}, 0);
}

static void go_to_list(struct agreed *a)
{
    go_to_primary(a);
    answer(a, "generation=5 base=5 used=1 by=x server=first", 5);
    step(a);
}

/* Nothing can be counted on from such a number, and it is no node's. */
static void generations_that_no_node_writes_are_none(void **state)
{
    static const char *const numbers[] = {"9223372036854775807", "99999999999999999999999", "-1", "x",
                                          "1152921504606846977"};
    struct agreed a;

    (void)state;
    begin(&a);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        char text[200];

        agreed_on_change(&a, "/base/primary");
        go_to_primary(&a);
        snprintf(text, sizeof text, "generation=%s base=%s used=1 by=x server=first", numbers[i], numbers[i]);
        answer(&a, text, 5);
        assert_true(a.has_decision);
        assert_int_equal(a.decision.generation, 0);
        assert_int_equal(a.decision.base, 0);
    }
    agreed_fini(&a);
}

static void writer_with_strange_numbers_is_waited_for(void **state)
{
    static const char *const names[] = {"me", "other"};
    const char *who;
    struct agreed a;

    (void)state;
    begin(&a);
    go_to_list(&a);
    answer_list(&a, names, 2);
    step(&a);
    assert_string_equal(asked_path, "/base/writers/other");
    answer(&a, "generation=9223372036854775807 fine=1 timeout=9223372036854775807", 0);
    assert_true(agreed_knows_writers(&a));
    assert_false(agreed_is_acknowledged(&a, 6, 10000, 4000, &who));
    assert_string_equal(who, "other");
    agreed_on_change(&a, "/base/writers");
    step(&a);
    answer_list(&a, names, 1);
    assert_false(agreed_is_acknowledged(&a, 6, 3999, 4000, &who));
    assert_true(agreed_is_acknowledged(&a, 6, 4000, 4000, &who));
    agreed_fini(&a);
}

/* It was asked for at the pace of the network once: its name was cut, so that it was never found again. */
static void strangers_with_long_names_are_left_out(void **state)
{
    static const char *const names[] = {"0123456789012345678901234567890123456789", "me", "other"};
    struct agreed a;

    (void)state;
    begin(&a);
    go_to_list(&a);
    answer_list(&a, names, 3);
    step(&a);
    assert_string_equal(asked_path, "/base/writers/other");
    answer(&a, "generation=5 fine=1 timeout=4000", 0);
    assert_true(agreed_knows_writers(&a));
    assert_int_equal(a.count, 1);
    step(&a);
    assert_null(asked.path);
    agreed_fini(&a);
}

static void more_writers_than_there_can_be_are_asked_for_once_a_second(void **state)
{
    static char texts[AGREED_WRITERS_MAX + 2][8];
    const char *names[AGREED_WRITERS_MAX + 2];
    struct agreed a;

    (void)state;
    names[0] = "me";
    for (int i = 1; i < AGREED_WRITERS_MAX + 2; i++) {
        snprintf(texts[i], sizeof texts[i], "w%d", i);
        names[i] = texts[i];
    }
    begin(&a);
    go_to_list(&a);
    answer_list(&a, names, ARRAY_LEN(names));
    assert_false(agreed_knows_writers(&a));
    asked = (struct zk_ask){0};
    agreed_step(&a, LOCK_RETRY_MS - 1, &next_id, note_ask, NULL);
    assert_null(asked.path);
    agreed_step(&a, LOCK_RETRY_MS, &next_id, note_ask, NULL);
    assert_int_equal(asked.verb, ZK_LIST_WATCHED);
    agreed_fini(&a);
}

static void answer_no_node(struct agreed *a)
{
    agreed_on_answer(a, &(struct zk_answer){.verb = asked.verb, .id = asked.id, .result = ZK_NO_NODE}, 0);
}

/* Somebody deletes the folder above while those below are being made. */
static void folders_that_are_deleted_meanwhile_are_made_anew(void **state)
{
    struct agreed a;

    (void)state;
    begin(&a);
    step(&a);
    assert_string_equal(asked_path, "/base");
    answer(&a, "", 0);
    step(&a);
    assert_string_equal(asked_path, "/base/writers");
    answer_no_node(&a);
    step(&a);
    assert_null(asked.path); /* not at once, or it would be asked for again and again where it stays away */
    agreed_step(&a, LOCK_RETRY_MS, &next_id, note_ask, NULL);
    assert_string_equal(asked_path, "/base");
    agreed_fini(&a);
}

/* Of our session of before, or of a stranger: a persistent one has the owner 0. */
static void znode_in_our_name_that_is_not_ours_is_left_alone(void **state)
{
    static const int64_t owners[] = {0, 6, -7};
    struct agreed a;

    (void)state;
    begin(&a);
    asked = (struct zk_ask){0};
    while (asked.verb != ZK_CREATE_EPHEMERAL) {
        step(&a);
        if (asked.verb == ZK_MAKE)
            answer(&a, "", 0);
    }
    assert_string_equal(asked_path, "/base/writers/me");
    agreed_on_answer(&a, &(struct zk_answer){.verb = asked.verb, .id = asked.id, .result = ZK_EXISTS}, 0);
    for (size_t i = 0; i < ARRAY_LEN(owners); i++) {
        int64_t now_mono_ms = (int64_t)i * LOCK_RETRY_MS;

        agreed_step(&a, now_mono_ms, &next_id, note_ask, NULL);
        assert_int_equal(asked.verb, ZK_READ);
        assert_string_equal(asked_path, "/base/writers/me");
        agreed_on_answer(&a,
                         &(struct zk_answer){.verb = ZK_READ,
                                             .id = asked.id,
                                             .result = ZK_OK,
                                             .owner = owners[i],
                                             .data = "generation=9 fine=1 timeout=4000"},
                         now_mono_ms);
        assert_false(a.is_present);
        asked = (struct zk_ask){0};
        agreed_step(&a, now_mono_ms, &next_id, note_ask, NULL);
        assert_null(asked.path); /* nothing at once, and BASE/primary not before it is gone */
    }
    agreed_step(&a, LOCK_RETRY_MS * 3, &next_id, note_ask, NULL);
    answer_no_node(&a);
    agreed_step(&a, LOCK_RETRY_MS * 3, &next_id, note_ask, NULL);
    assert_int_equal(asked.verb, ZK_CREATE_EPHEMERAL);
    assert_string_equal(asked_data, "generation=5 fine=0 timeout=4000");
    agreed_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_made_from_an_older_look_is_not_written),
        cmocka_unit_test(generations_that_no_node_writes_are_none),
        cmocka_unit_test(writer_with_strange_numbers_is_waited_for),
        cmocka_unit_test(strangers_with_long_names_are_left_out),
        cmocka_unit_test(more_writers_than_there_can_be_are_asked_for_once_a_second),
        cmocka_unit_test(folders_that_are_deleted_meanwhile_are_made_anew),
        cmocka_unit_test(znode_in_our_name_that_is_not_ours_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

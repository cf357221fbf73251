/* SPDX-License-Identifier: MIT */
/* Who counts as stuck, on a clock of the test's own. The thread of the test is the watched one. */
#include "test.h"

#include "shardwheel/watch.h"

static int64_t now_ms;

static int64_t read_ms(const struct clock *clock)
{
    (void)clock;
    return now_ms;
}

static const struct clock clock_of_test = {read_ms, read_ms, read_ms};

static struct watch *create(void)
{
    struct watch *w = NULL;
    struct errctx ec;

    now_ms = 1000000;
    assert_int_equal(watch_create(&clock_of_test, &w, &ec), ERR_OK);
    return w;
}

/* Looks every second, as its caller has to. */
static size_t let_pass(struct watch *w, int64_t ms)
{
    size_t stuck = watch_look(w);

    for (int64_t end_ms = now_ms + ms; now_ms < end_ms; stuck = watch_look(w))
        now_ms += 1000;
    return stuck;
}

static void silence_is_noticed_and_ends(void **state)
{
    struct watch *w = create();
    struct watch_mark mark;
    char name[16];
    int64_t since_ms;

    (void)state;
    watch_enter(w, &mark, "ring");
    assert_int_equal(let_pass(w, WATCH_STEP_MS), 0);
    assert_false(watch_find_stuck(w, name, &since_ms));
    assert_int_equal(let_pass(w, 1000), 1);
    assert_int_equal(let_pass(w, 2000), 1);
    assert_true(watch_find_stuck(w, name, &since_ms));
    assert_string_equal(name, "ring");
    assert_int_equal(since_ms, WATCH_STEP_MS + 3000);
    watch_step();
    assert_int_equal(watch_look(w), 0);
    assert_false(watch_find_stuck(w, name, &since_ms));
    watch_leave(w, &mark);
    watch_destroy(w);
}

static void a_pause_may_take_its_time(void **state)
{
    struct watch *w = create();
    struct watch_mark mark;

    (void)state;
    watch_enter(w, &mark, "results");
    watch_pause(90000);
    assert_int_equal(let_pass(w, 90000 + WATCH_STEP_MS), 0);
    assert_int_equal(let_pass(w, 1000), 1);
    watch_pause(WATCH_FOREVER);
    assert_int_equal(let_pass(w, 3600000), 0);
    watch_step();
    assert_int_equal(let_pass(w, WATCH_STEP_MS + 1000), 1);
    watch_leave(w, &mark);
    assert_int_equal(watch_look(w), 0);
    watch_destroy(w);
}

/* SIGSTOP, or a machine that gave the process no time: nobody is to blame. */
static void a_process_that_stood_still_gets_time(void **state)
{
    struct watch *w = create();
    struct watch_mark mark;

    (void)state;
    watch_enter(w, &mark, "ring");
    assert_int_equal(watch_look(w), 0);
    now_ms += 60000;
    assert_int_equal(let_pass(w, WATCH_STEP_MS - 1000), 0);
    assert_int_equal(let_pass(w, 1000), 1);
    watch_leave(w, &mark);
    watch_destroy(w);
}

/* Several; in whatever order they leave. */
static void all_are_counted(void **state)
{
    struct watch *w = create();
    struct watch_mark mark[3];
    char name[16];
    int64_t since_ms;

    (void)state;
    watch_enter(w, &mark[0], "shard-0");
    watch_enter(w, &mark[1], "shard-1");
    watch_enter(w, &mark[2], "a-name-that-is-too-long");
    assert_int_equal(let_pass(w, WATCH_STEP_MS + 1000), 3);
    watch_leave(w, &mark[1]);
    assert_int_equal(watch_look(w), 2);
    watch_leave(w, &mark[2]);
    assert_int_equal(watch_look(w), 1);
    assert_true(watch_find_stuck(w, name, &since_ms));
    assert_string_equal(name, "shard-0");
    watch_leave(w, &mark[0]);
    assert_int_equal(watch_look(w), 0);
    watch_destroy(w);
}

static void who_is_not_watched_may_say_what_he_likes(void **state)
{
    struct watch_mark mark;

    (void)state;
    watch_step();
    watch_pause(5);
    watch_enter(NULL, &mark, "none");
    watch_step();
    watch_leave(NULL, &mark);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silence_is_noticed_and_ends),
        cmocka_unit_test(a_pause_may_take_its_time),
        cmocka_unit_test(a_process_that_stood_still_gets_time),
        cmocka_unit_test(all_are_counted),
        cmocka_unit_test(who_is_not_watched_may_say_what_he_likes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

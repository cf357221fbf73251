/* SPDX-License-Identifier: MIT */
/* The bound on log lines, on a clock of the test's own. Lines go to a pipe in the place of stderr. */
#include "test.h"

#include "shardwheel/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Atomic int64_t now_ms;

static int64_t mono_ms(const struct clock *clock)
{
    (void)clock;
    return now_ms;
}

static const struct clock test_clock = {.mono_ms = mono_ms};

/* ---- what was written -------------------------------------------------------------------------------------------- */

static FILE *file;
static int stderr_was;

static int catch_lines(void **state)
{
    (void)state;
    file = tmpfile();
    stderr_was = dup(STDERR_FILENO);
    return file && dup2(fileno(file), STDERR_FILENO) >= 0 ? 0 : 1;
}

static int end_catch(void **state)
{
    (void)state;
    dup2(stderr_was, STDERR_FILENO);
    close(stderr_was);
    fclose(file);
    return 0;
}

/* From "area=" on; all lines since the last call. */
static const char *take_lines(void)
{
    static char out[4000];
    char line[400];
    size_t n = 0;

    out[0] = '\0';
    rewind(file);
    while (fgets(line, sizeof line, file)) {
        const char *from = strstr(line, "area=");
        n += (size_t)snprintf(out + n, sizeof out - n, "%s", from ? from : line);
    }
    rewind(file);
    if (ftruncate(fileno(file), 0) != 0)
        return "the file could not be emptied";
    lseek(STDERR_FILENO, 0, SEEK_SET);
    return out;
}

static void say(struct log_limit *limit, int number)
{
    log_limited(limit, &test_clock, LOG_WARN, "test", "event=said number=%d", number);
}

/* ---- cases ------------------------------------------------------------------------------------------------------- */

static void the_first_lines_are_written_and_the_rest_counted(void **state)
{
    struct log_limit limit = {0}, other = {0};

    (void)state;
    now_ms = 0;
    for (int i = 0; i < 1000; i++)
        say(&limit, i);
    assert_string_equal(take_lines(), "area=test event=said number=0\narea=test event=said number=1\n"
                                      "area=test event=said number=2\narea=test event=said number=3\n"
                                      "area=test event=said number=4\n");
    now_ms = LOG_LIMIT_MS - 1;
    say(&limit, 1000);
    say(&other, 7); /* another place has its own */
    assert_string_equal(take_lines(), "area=test event=said number=7\n");
    now_ms = LOG_LIMIT_MS + 1;
    say(&limit, 1001);
    say(&limit, 1002);
    assert_string_equal(take_lines(), "area=test event=lines_left_out of=said count=996\n"
                                      "area=test event=said number=1001\narea=test event=said number=1002\n");
    now_ms = 3 * LOG_LIMIT_MS; /* nothing was left out meanwhile */
    say(&limit, 1003);
    assert_string_equal(take_lines(), "area=test event=said number=1003\n");
}

static void what_the_level_hides_does_not_count(void **state)
{
    struct log_limit limit = {0};

    (void)state;
    log_set_level(LOG_ERROR);
    for (int i = 0; i < 100; i++)
        say(&limit, i);
    log_set_level(LOG_INFO);
    say(&limit, 100);
    assert_string_equal(take_lines(), "area=test event=said number=100\n");
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

enum { THREADS = 4, EACH = 20000 };
static struct log_limit shared;

static void run_talker(void *arg)
{
    (void)arg;
    for (int i = 0; i < EACH; i++) {
        atomic_fetch_add(&now_ms, 1);
        say(&shared, i);
    }
}

/* Each line is written, or counted once. */
static void nothing_is_lost_between_threads(void **state)
{
    struct thread threads[THREADS] = {0};
    struct errctx ec;
    char line[400];
    long written = 0, left_out = 0;

    (void)state;
    now_ms = 1;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(thread_start(&threads[i], "talker", run_talker, NULL, &ec), ERR_OK);
    for (int i = 0; i < THREADS; i++)
        thread_join(&threads[i]);
    now_ms += 2 * LOG_LIMIT_MS;
    say(&shared, 0);
    rewind(file);
    while (fgets(line, sizeof line, file)) {
        const char *count = strstr(line, "count=");
        left_out += count ? atol(count + 6) : 0;
        written += !count;
    }
    assert_int_equal(written + left_out, THREADS * EACH + 1);
    assert_in_range(written, LOG_LIMIT_LINES, 60); /* 80 s by that clock */
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, catch_lines, end_catch)
    const struct CMUnitTest tests[] = {
        T(the_first_lines_are_written_and_the_rest_counted),
        T(what_the_level_hides_does_not_count),
        T(nothing_is_lost_between_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

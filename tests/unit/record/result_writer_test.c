/* SPDX-License-Identifier: MIT */
/* Results are written until they are, one that is refused hurts no other, and a writer that stops tries once more. */
#include "test.h"

#include "record/result_writer.h"
#include "schedule/fake_clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIES 20

struct store_session {
    int unused;
};

static struct world {
    struct fake_clock time;
    struct counters counters;
    struct result_writer writer;
    struct store_session session;
    int sessions; /* taken and not given back */
    enum err take_result;
    enum err results[TRIES]; /* of each statement */
    int tries;
    size_t sizes[TRIES];
    int64_t refused;        /* row that the database does not take */
    bool refuses_plain_too; /* nor in its plain form */
    int64_t written[TRIES]; /* rows, in their order */
    size_t written_count;
    char plain[60];
    int64_t pauses[TRIES]; /* what was asked for */
    int pause_count;
    int stops_at; /* the pause that says so, and all behind it */
} w;

enum err store_take_session(struct store *st, enum session_kind kind, struct store_session **out, struct errctx *ec)
{
    (void)st;
    assert_int_equal(kind, SESSION_NORMAL);
    if (w.take_result) {
        enum err e = w.take_result;

        w.take_result = ERR_OK;
        return err_set(ec, e, "no session");
    }
    w.sessions++;
    *out = &w.session;
    return ERR_OK;
}

void store_give_session(struct store *st, struct store_session *s)
{
    (void)st;
    w.sessions -= s != NULL;
}

enum err store_write_results(struct store_session *s, const struct fire_result *results, size_t count,
                             struct errctx *ec)
{
    enum err e = w.results[w.tries];

    assert_ptr_equal(s, &w.session);
    assert_true(w.tries < TRIES);
    w.sizes[w.tries++] = count;
    if (e)
        return err_set(ec, e, "told so");
    for (size_t i = 0; i < count; i++)
        if (results[i].log_id == w.refused && (w.refuses_plain_too || results[i].as_planned))
            return err_set(ec, ERR_INPUT, "a character");
    for (size_t i = 0; i < count; i++) {
        w.written[w.written_count++] = results[i].log_id;
        if (results[i].log_id == w.refused) {
            assert_int_equal(results[i].code, 500);
            snprintf(w.plain, sizeof w.plain, "%s", results[i].message);
        }
    }
    return ERR_OK;
}

static bool pause_writer(void *arg, int64_t about_ms)
{
    assert_ptr_equal(arg, &w);
    assert_true(w.pause_count < TRIES);
    w.pauses[w.pause_count] = about_ms;
    return w.pause_count++ < w.stops_at;
}

/* ---- helpers ----------------------------------------------------------------------------------------------------- */

static int setup(void **state)
{
    (void)state;
    memset(&w, 0, sizeof w);
    w.time = fake_clock_at(INT64_C(1767225600000));
    w.writer =
        (struct result_writer){.clock = &w.time.clock, .counters = &w.counters, .pause = pause_writer, .arg = &w};
    w.stops_at = TRIES;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    result_writer_end(&w.writer);
    assert_int_equal(w.sessions, 0);
    return 0;
}

/* Rows 1 to count. */
static enum err commit(size_t count)
{
    struct fire_result rows[10] = {{0}};

    for (size_t i = 0; i < count; i++)
        rows[i] = (struct fire_result){.log_id = (int64_t)i + 1, .code = 500, .message = "m", .as_planned = true};
    return result_writer_commit(&w.writer, rows, count);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void a_batch_is_one_transaction(void **state)
{
    (void)state;
    assert_int_equal(commit(3), ERR_OK);
    assert_int_equal(commit(2), ERR_OK);
    assert_int_equal(w.tries, 2);
    assert_int_equal(w.sessions, 1); /* kept for the next one */
    assert_int_equal(counters_get(&w.counters, COUNTER_RESULTS_WRITTEN), 5);
    assert_int_equal(counters_get(&w.counters, COUNTER_RESULT_BATCHES), 2);
    assert_int_equal(counters_get(&w.counters, COUNTER_RESULT_FAILURES), 0);
}

static void it_is_tried_until_it_is_written(void **state)
{
    static const int64_t pauses[] = {0, 100, 200, 400, 800, 1600, 3200, 5000, 5000};

    (void)state;
    for (int i = 0; i < 8; i++)
        w.results[i] = i % 2 ? ERR_LOST : ERR_UNKNOWN;
    assert_int_equal(commit(3), ERR_OK);
    assert_int_equal(w.tries, 9);
    assert_int_equal(w.sizes[8], 3);
    assert_int_equal(w.pause_count, ARRAY_LEN(pauses));
    for (size_t i = 0; i < ARRAY_LEN(pauses); i++)
        assert_int_equal(w.pauses[i], pauses[i]);
    assert_int_equal(counters_get(&w.counters, COUNTER_RESULT_FAILURES), 8);
    assert_int_equal(counters_get(&w.counters, COUNTER_RESULTS_WRITTEN), 3);
    assert_int_equal(w.written_count, 3);
}

static void a_session_that_failed_is_given_back(void **state)
{
    (void)state;
    w.results[0] = ERR_LOST;
    w.stops_at = 0;
    assert_int_equal(commit(1), ERR_LOST);
    assert_int_equal(w.sessions, 0);
}

/* What keeps a session from being made is no fault of the rows. */
static void without_a_session_nothing_is_refused(void **state)
{
    (void)state;
    w.take_result = ERR_INPUT;
    assert_int_equal(commit(3), ERR_OK);
    assert_int_equal(w.tries, 1);
    assert_int_equal(w.sizes[0], 3);
}

static void a_writer_that_stops_tries_once_more(void **state)
{
    (void)state;
    for (int i = 0; i < TRIES; i++)
        w.results[i] = ERR_LOST;
    w.stops_at = 0; /* it was stopped before */
    assert_int_equal(commit(3), ERR_LOST);
    assert_int_equal(w.tries, 1);
    w.tries = w.pause_count = 0;
    w.stops_at = 2; /* while it waits for the third try */
    assert_int_equal(commit(3), ERR_LOST);
    assert_int_equal(w.tries, 3);
    w.tries = w.pause_count = 0;
    w.results[2] = ERR_OK;
    assert_int_equal(commit(3), ERR_OK);
}

static void a_row_that_is_refused_hurts_no_other(void **state)
{
    (void)state;
    w.refused = 2;
    assert_int_equal(commit(3), ERR_OK);
    assert_int_equal(w.tries, 5); /* all; 1; 2, and its plain form; 3 */
    assert_int_equal(w.written_count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(w.written[i], i + 1);
    assert_string_equal(w.plain, "the database refused the text of this result");
    assert_int_equal(counters_get(&w.counters, COUNTER_RESULTS_WRITTEN), 3);
}

static void one_that_is_refused_in_any_form_is_dropped(void **state)
{
    (void)state;
    w.refused = 1;
    w.refuses_plain_too = true;
    assert_int_equal(commit(3), ERR_OK);
    assert_int_equal(w.written_count, 2);
    assert_int_equal(w.written[0], 2);
    assert_int_equal(counters_get(&w.counters, COUNTER_RESULTS_WRITTEN), 2);
}

static void a_stop_ends_what_goes_row_by_row(void **state)
{
    (void)state;
    w.refused = 3;
    w.results[2] = ERR_LOST; /* that of the second row */
    w.stops_at = 2;          /* the pause before it */
    assert_int_equal(commit(3), ERR_LOST);
    assert_int_equal(w.written_count, 1);
    assert_int_equal(w.tries, 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_batch_is_one_transaction),
        TEST(it_is_tried_until_it_is_written),
        TEST(a_session_that_failed_is_given_back),
        TEST(without_a_session_nothing_is_refused),
        TEST(a_writer_that_stops_tries_once_more),
        TEST(a_row_that_is_refused_hurts_no_other),
        TEST(one_that_is_refused_in_any_form_is_dropped),
        TEST(a_stop_ends_what_goes_row_by_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

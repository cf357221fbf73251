/* SPDX-License-Identifier: MIT */
/* One run, at its executor: whom is asked, when nobody is, and what the row says then. */
#include "test.h"

#include "schedule/fake_clock.h"
#include "schedule/fake_session.h"
#include "shardwheel/executor/call.h"
#include "shardwheel/keep.h"
#include "shardwheel/record.h"
#include "shardwheel/store/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_ID 4711
#define JOB_ID 7
#define NOW_S INT64_C(1767225600)

/* ---- the world around it ----------------------------------------------------------------------------------------- */

static struct world {
    struct fake_clock time;
    struct run_facts facts;
    enum err load_result, call_result, write_result;
    int answer_code;
    const char *answer_text;
    int calls; /* to the executor */
    char message[100];
    int writes, offers, facts_held, answers_held;
} w;

enum err store_load_run(struct store_session *s, int64_t log_id, struct run_facts *out, struct errctx *ec)
{
    (void)s;
    assert_int_equal(log_id, LOG_ID);
    if (w.load_result)
        return err_set(ec, w.load_result, "told so");
    w.facts_held++;
    *out = w.facts;
    return ERR_OK;
}

void run_facts_fini(struct run_facts *facts)
{
    (void)facts;
    w.facts_held--;
}

enum err store_write_callbacks(struct store_session *s, struct callback_entry *entries, size_t count, int64_t now_s,
                               struct children *children, struct errctx *ec)
{
    (void)s;
    assert_int_equal(count, 1);
    assert_int_equal(entries[0].log_id, LOG_ID);
    assert_int_equal(entries[0].code, 500);
    assert_false(entries[0].delivers);
    assert_int_equal(now_s, NOW_S);
    assert_null(children);
    w.writes++;
    snprintf(w.message, sizeof w.message, "%s", entries[0].message);
    return w.write_result ? err_set(ec, w.write_result, "told so") : ERR_OK;
}

static void check_target(const struct executor_target *target)
{
    assert_string_equal(target->address, "http://a/");
    assert_string_equal(target->app_name, "app");
    assert_string_equal(target->group_token, "of the group");
    assert_string_equal(target->access_token, "global");
    assert_int_equal(target->timeout_ms, 3000);
    w.calls++;
}

enum err executor_kill(struct executor_calls *calls, const struct executor_target *target, int64_t job_id,
                       struct answer *out, struct errctx *ec)
{
    (void)calls;
    check_target(target);
    assert_int_equal(job_id, JOB_ID);
    if (w.call_result)
        return err_set(ec, w.call_result, "told so");
    out->code = w.answer_code;
    out->text = str_copy(w.answer_text);
    w.answers_held++;
    return ERR_OK;
}

void answer_fini(struct answer *answer)
{
    w.answers_held -= answer->code != 0;
    free(answer->text);
    *answer = (struct answer){0};
}

enum err executor_read_log(struct executor_calls *calls, const struct executor_target *target, int64_t log_id,
                           int64_t date_ms, int64_t from_line, struct log_answer *out, struct errctx *ec)
{
    (void)calls;
    check_target(target);
    assert_int_equal(log_id, LOG_ID);
    assert_int_equal(date_ms, 5000);
    if (w.call_result)
        return err_set(ec, w.call_result, "told so");
    *out = (struct log_answer){.from_line = from_line};
    out->answer.code = w.answer_code;
    out->answer.text = str_copy(w.answer_text);
    w.answers_held++;
    return ERR_OK;
}

void log_answer_fini(struct log_answer *answer)
{
    answer_fini(&answer->answer);
}

void keep_offer(struct keep_offers *offers, int64_t log_id, bool maybe_failed)
{
    (void)offers;
    assert_int_equal(log_id, LOG_ID);
    assert_true(maybe_failed);
    w.offers++;
}

/* ---- helpers ----------------------------------------------------------------------------------------------------- */

static int setup(void **state)
{
    (void)state;
    memset(&w, 0, sizeof w);
    fake_sessions = 0;
    w.time = fake_clock_at(NOW_S * 1000);
    w.facts = (struct run_facts){.job_id = JOB_ID,
                                 .trigger_ms = 5000,
                                 .trigger_code = 200,
                                 .address = "http://a/",
                                 .app_name = "app",
                                 .access_token = "of the group"};
    w.answer_code = 200;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(fake_sessions, 0);
    assert_int_equal(w.facts_held, 0);
    assert_int_equal(w.answers_held, 0);
    return 0;
}

static struct run_calls make_calls(void)
{
    return (struct run_calls){.clock = &w.time.clock, .access_token = "global", .timeout_ms = 3000};
}

static enum err stop(struct buf *said, struct errctx *ec)
{
    const struct run_calls with = make_calls();

    errctx_clear(ec);
    return run_kill(&with, LOG_ID, &(struct kill_words){"stopped", " by "}, said, ec);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void a_run_that_its_executor_stopped_ends_as_failed(void **state)
{
    static const struct {
        const char *text, *message, *said;
    } cases[] = {{"its thread", "stopped by its thread", "before: its thread"},
                 {NULL, "stopped", "before: "},
                 {"", "stopped", "before: "}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf said = {0};
        struct errctx ec;

        buf_puts(&said, "before: ");
        w.answer_text = cases[i].text;
        assert_int_equal(stop(&said, &ec), ERR_OK);
        assert_string_equal(w.message, cases[i].message);
        assert_string_equal(said.data, cases[i].said);
        assert_int_equal(stop(NULL, &ec), ERR_OK);
        buf_fini(&said);
    }
    assert_int_equal(w.writes, 6);
    assert_int_equal(w.offers, 6);
}

static void a_run_that_is_with_no_executor_is_not_stopped(void **state)
{
    static const struct {
        int trigger_code, handle_code;
        enum err e;
        const char *text;
    } cases[] = {
        {200, 200, ERR_STATE, "has ended already, with code 200"},
        {200, 502, ERR_STATE, "has ended already, with code 502"},
        {0, 200, ERR_STATE, "has ended already"},
        {0, 0, ERR_BUSY, "was not sent to an executor yet, according to its row"},
        {500, 0, ERR_STATE, "its trigger failed"},
    };
    struct errctx ec;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        w.facts.trigger_code = cases[i].trigger_code;
        w.facts.handle_code = cases[i].handle_code;
        assert_int_equal(stop(NULL, &ec), cases[i].e);
        assert_non_null(strstr(ec.text, cases[i].text));
    }
    w.load_result = ERR_NOTFOUND;
    assert_int_equal(stop(NULL, &ec), ERR_NOTFOUND);
    assert_int_equal(w.calls, 0);
    assert_int_equal(w.writes, 0);
    assert_int_equal(w.offers, 0);
}

static void an_executor_that_does_not_stop_it_says_why(void **state)
{
    struct buf said = {0};
    struct errctx ec;

    (void)state;
    w.answer_code = 500;
    w.answer_text = "no such job";
    assert_int_equal(stop(&said, &ec), ERR_LOST);
    assert_non_null(strstr(ec.text, "was not stopped: no such job"));
    assert_string_equal(said.data, "no such job");
    w.answer_text = NULL;
    assert_int_equal(stop(NULL, &ec), ERR_LOST);
    assert_non_null(strstr(ec.text, "the executor gave no reason"));
    w.call_result = ERR_TIMEOUT;
    assert_int_equal(stop(NULL, &ec), ERR_TIMEOUT);
    assert_int_equal(w.calls, 3);
    assert_int_equal(w.writes, 0);
    assert_int_equal(w.offers, 0);
    buf_fini(&said);
}

static void an_end_that_cannot_be_written_is_told(void **state)
{
    struct errctx ec;

    (void)state;
    w.write_result = ERR_LOST;
    assert_int_equal(stop(NULL, &ec), ERR_LOST);
    assert_int_equal(w.writes, 1);
    assert_int_equal(w.offers, 0);
}

static void a_log_is_read_where_the_run_went(void **state)
{
    static const struct {
        int trigger_code, handle_code;
        const char *address;
        enum err e;
        bool is_over;
        const char *text;
    } cases[] = {
        {200, 0, "http://a/", ERR_OK, false, NULL},
        {200, 200, "http://a/", ERR_OK, true, NULL},
        {0, 0, "http://a/", ERR_OK, false, NULL}, /* its callback may be quicker than its row */
        {0, 500, "http://a/", ERR_OK, true, NULL},
        {500, 0, "http://a/", ERR_STATE, false, "its trigger failed"},
        {500, 500, "http://a/", ERR_STATE, true, "its trigger failed"},
        {200, 200, "", ERR_STATE, true, "has no executor"},
        {0, 0, "", ERR_STATE, false, "has no executor"},
    };
    const struct run_calls with = make_calls();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct log_answer log = {0};
        struct errctx ec = {{0}};
        bool is_over = !cases[i].is_over;

        w.facts.trigger_code = cases[i].trigger_code;
        w.facts.handle_code = cases[i].handle_code;
        w.facts.address = cases[i].address;
        assert_int_equal(run_read_log(&with, LOG_ID, 17, &is_over, &log, &ec), cases[i].e);
        assert_int_equal(is_over, cases[i].is_over);
        if (cases[i].text)
            assert_non_null(strstr(ec.text, cases[i].text));
        else
            assert_int_equal(log.from_line, 17);
        log_answer_fini(&log);
    }
    assert_int_equal(w.calls, 4);
}

static void a_log_that_cannot_be_read_leaves_nothing_to_free(void **state)
{
    const struct run_calls with = make_calls();
    struct log_answer log = {0};
    struct errctx ec = {{0}};
    bool is_over = false;

    (void)state;
    w.answer_code = 500;
    w.answer_text = "gone";
    assert_int_equal(run_read_log(&with, LOG_ID, 1, &is_over, &log, &ec), ERR_LOST);
    assert_non_null(strstr(ec.text, "cannot be read: gone"));
    w.answer_text = NULL;
    assert_int_equal(run_read_log(&with, LOG_ID, 1, &is_over, &log, &ec), ERR_LOST);
    assert_non_null(strstr(ec.text, "the executor gave no reason"));
    w.call_result = ERR_TIMEOUT;
    assert_int_equal(run_read_log(&with, LOG_ID, 1, &is_over, &log, &ec), ERR_TIMEOUT);
    w.load_result = ERR_NOTFOUND;
    assert_int_equal(run_read_log(&with, LOG_ID, 1, &is_over, &log, &ec), ERR_NOTFOUND);
    assert_int_equal(w.calls, 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_run_that_its_executor_stopped_ends_as_failed),
        TEST(a_run_that_is_with_no_executor_is_not_stopped),
        TEST(an_executor_that_does_not_stop_it_says_why),
        TEST(an_end_that_cannot_be_written_is_told),
        TEST(a_log_is_read_where_the_run_went),
        TEST(a_log_that_cannot_be_read_leaves_nothing_to_free),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

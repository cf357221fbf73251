/* SPDX-License-Identifier: MIT */
/* FIX_DELAY: when a run counts as ended, by its row. */
#include "store/test_db.h"

#include "shardwheel/store/plan.h"

#define NOW_S INT64_C(1700000000)

static void a_row_tells_what_became_of_its_run(void **state)
{
    static const struct {
        int trigger_code, handle_code, alarm_status, retries;
        const char *message;
        int later; /* 1: a later row waits for the job; 2: it is planned as log 4711 */
        int what;
        int64_t retry_id;
    } cases[] = {
        {0, 0, 0, 0, "", 0, RUN_OPEN, 0},
        {200, 0, 0, 3, "", 0, RUN_OPEN, 0},
        {200, 200, 0, 3, "", 0, RUN_ENDED, 0},
        {500, 200, 0, 3, "", 0, RUN_ENDED, 0},
        {500, 0, 0, 0, "", 0, RUN_ENDED, 0},
        {200, 500, 0, 0, "", 0, RUN_ENDED, 0},
        {200, 502, 1, 0, "", 0, RUN_ENDED, 0},
        {200, 500, 0, 1, "", 0, RUN_OPEN, 0}, /* nobody has dealt with it */
        {500, 0, 0, 1, "", 0, RUN_OPEN, 0},
        {500, 0, 2, 1, "text<br><!--sw:r:4712-->", 0, RUN_RETRIED, 4712},
        {200, 500, -1, 1, "<!--sw:p:1:1-->x<!--sw:r:4712--> and more", 0, RUN_RETRIED, 4712},
        {200, 500, 2, 0, "<!--sw:r:4712-->", 0, RUN_ENDED, 0}, /* the text of an executor */
        {200, 500, 2, 1, "<!--sw:r:x-->", 0, RUN_ENDED, 0},
        {200, 500, 2, 1, "", 0, RUN_ENDED, 0}, /* its job or group is gone */
        {200, 500, 2, 1, "", 1, RUN_OPEN, 0},
        {200, 500, 2, 1, "", 2, RUN_RETRIED, 4711},
        {200, 500, 2, 0, "", 1, RUN_ENDED, 0},
    };
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct run_end rows[ARRAY_LEN(cases)];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        test_sql("INSERT INTO xxl_job_log (id, job_group, job_id, trigger_code, handle_code, alarm_status, "
                 "executor_fail_retry_count, trigger_msg, handle_time) VALUES (%zu, 1, %zu, %d, %d, %d, %d, '%s', %s)",
                 i + 1, i + 100, cases[i].trigger_code, cases[i].handle_code, cases[i].alarm_status, cases[i].retries,
                 cases[i].message, cases[i].handle_code ? "'2023-11-15 06:13:25'" : "NULL");
        if (cases[i].later)
            test_sql(
                "INSERT INTO shardwheel_later (planned, job_id, due_s, kind, retries_left, generation, original_due_s, "
                "log_id) VALUES "
                "(0, %zu, 5, 'R', 0, 0, 5, %s)",
                i + 100, cases[i].later == 2 ? "4711" : "NULL");
        rows[ARRAY_LEN(cases) - 1 - i] = (struct run_end){.log_id = (int64_t)i + 1}; /* in any order */
    }
    assert_ok(store_load_run_ends(s, rows, ARRAY_LEN(rows), ec));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(rows[i].log_id, i + 1);
        if ((int)rows[i].what != cases[i].what || rows[i].retry_id != cases[i].retry_id)
            fail_msg("case %zu: %d, retry %lld", i, rows[i].what, (long long)rows[i].retry_id);
        if (rows[i].what == RUN_ENDED)
            assert_int_equal(rows[i].ended_s, cases[i].handle_code ? NOW_S + 5 : 0);
    }
    store_give_session(st, s);
    store_destroy(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_row_tells_what_became_of_its_run)};

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}

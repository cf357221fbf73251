/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "follow/retry.h"

#include <stdlib.h>

#define NOW_S 1700000000

static const char *const addresses[] = {"http://a/", "http://b/", "http://c/"};
static const struct registry_group group = {.id = 4, .app_name = "app", .addresses = addresses, .count = 3};
static struct job_spec job = {.refs = 1,
                              .id = 7,
                              .group = 4,
                              .timeout_s = 5,
                              .retry_count = 9,
                              .route = "ROUND",
                              .handler = "demo",
                              .param = "job's",
                              .block = "b",
                              .glue_type = "BEAN",
                              .glue_source = ""};
static struct job_spec everywhere = {.refs = 1,
                                     .id = 8,
                                     .group = 4,
                                     .route = "SHARDING_BROADCAST",
                                     .handler = "demo",
                                     .block = "b",
                                     .glue_type = "BEAN",
                                     .glue_source = ""};

static struct failed_row row_of(const struct job_spec *of, int retries)
{
    return (struct failed_row){.id = 1, .job_id = 7, .retries_left = retries, .job = of, .group_exists = true};
}

static size_t decide(struct failed_row *row, const struct registry_group *g, bool can_mail)
{
    struct errctx ec;
    size_t n = 0;

    assert_int_equal(retry_decide(row, g, can_mail, NOW_S, &ec), ERR_OK);
    for (const struct fire *f = row->retries; f; f = f->next)
        n++;
    return n;
}

static void drop(struct failed_row *row)
{
    fire_destroy_list(row->retries);
}

static void one_retry_takes_one_of_what_is_left(void **state)
{
    struct failed_row row = row_of(&job, 2);

    (void)state;
    row.param = "row's";
    row.generation = 3;
    assert_int_equal(decide(&row, &group, true), 1);
    const struct fire *f = row.retries;
    assert_int_equal(f->job->retry_count, 1);
    assert_string_equal(f->job->param, "row's");
    assert_string_equal(f->job->handler, "demo");
    assert_int_equal(f->job->timeout_s, 5);
    assert_int_equal(f->job_id, 7);
    assert_int_equal(f->group, 4);
    assert_int_equal(f->shard, -1);
    assert_int_equal(f->due_s, NOW_S);
    assert_int_equal(f->original_due_s, NOW_S);
    assert_int_equal(f->kind, TRIGGER_RETRY);
    assert_int_equal(f->generation, 3);
    assert_int_equal(f->shard_index, 0);
    assert_int_equal(f->shard_total, 1);
    assert_false(f->broadcast);
    assert_null(f->address); /* routed anew */
    drop(&row);
    row = row_of(&job, 1); /* NULL: the job's */
    assert_int_equal(decide(&row, NULL, true), 1);
    assert_string_equal(row.retries->job->param, "job's");
    assert_int_equal(row.retries->job->retry_count, 0);
    drop(&row);
    row = row_of(&job, 1);
    row.param = "";
    assert_int_equal(decide(&row, NULL, true), 1);
    assert_string_equal(row.retries->job->param, "");
    drop(&row);
    row = row_of(&everywhere, 1);
    row.sharding = "0/1";
    assert_int_equal(decide(&row, NULL, true), 1);
    assert_null(row.retries->job->param);
    drop(&row);
}

/* What the job has more than is left were retries already: each doubles the wait. */
static void retries_wait_as_their_job_says(void **state)
{
    static const struct {
        int64_t wait_s, max_s;
        int of, left;
        int64_t at_s; /* from now; 0: at once */
    } cases[] = {
        {0, 0, 3, 3, 0},    {0, 60, 3, 3, 0},          {10, 0, 3, 3, 10},  {10, 0, 3, 1, 10},
        {10, 60, 4, 4, 10}, {10, 60, 4, 3, 20},        {10, 60, 4, 2, 40}, {10, 60, 4, 1, 60},
        {10, 5, 4, 4, 5},   {1, 86400, 100, 1, 86400}, {10, 60, 1, 3, 10}, /* the job has fewer by now */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct job_spec of = job;
        struct failed_row row = row_of(&of, cases[i].left);

        of.retry_count = cases[i].of;
        row.retry_wait_s = cases[i].wait_s;
        row.retry_wait_max_s = cases[i].max_s;
        row.has_mail = true;
        assert_int_equal(decide(&row, &group, true), cases[i].at_s ? 0 : 1);
        assert_int_equal(row.retry_at_s, cases[i].at_s ? NOW_S + cases[i].at_s : 0);
        assert_int_equal(row.alarm, ALARM_LOCKED); /* a failure all the same */
        drop(&row);
    }
    struct failed_row none = row_of(&job, 0);
    none.retry_wait_s = 10;
    assert_int_equal(decide(&none, &group, true), 0);
    assert_int_equal(none.retry_at_s, 0);
}

static void nothing_is_retried_without_retries_job_or_group(void **state)
{
    struct failed_row none = row_of(&job, 0), negative = row_of(&job, -1), gone = row_of(NULL, 3),
                      groupless = row_of(&job, 3);

    (void)state;
    groupless.group_exists = false;
    assert_int_equal(decide(&none, &group, true), 0);
    assert_int_equal(decide(&negative, &group, true), 0);
    assert_int_equal(decide(&gone, NULL, true), 0);
    assert_int_equal(decide(&groupless, NULL, true), 0);
}

static void a_shard_goes_to_its_place_in_the_present_list(void **state)
{
    static const struct {
        const char *sharding;
        int index, total;
        const char *address;
    } cases[] = {{"1/3", 1, 3, "http://b/"}, {"7/8", 7, 8, "http://a/"}, {"0/1", 0, 1, "http://a/"}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct failed_row row = row_of(&everywhere, 1);
        row.sharding = cases[i].sharding;
        assert_int_equal(decide(&row, &group, true), 1);
        assert_true(row.retries->broadcast);
        assert_int_equal(row.retries->shard_index, cases[i].index);
        assert_int_equal(row.retries->shard_total, cases[i].total);
        assert_string_equal(row.retries->address, cases[i].address);
        drop(&row);
    }
    struct failed_row alone = row_of(&everywhere, 1);
    const struct registry_group empty = {.id = 4, .app_name = "app"};
    assert_int_equal(decide(&alone, &empty, true), 1);
    assert_true(alone.retries->broadcast);
    assert_null(alone.retries->address); /* dispatch tells that there is none */
    drop(&alone);
}

static void a_job_that_became_a_broadcast_goes_to_all(void **state)
{
    static const char *const texts[] = {NULL,    "",     "x",    "1",   "1/",           "/3",
                                        "1/3/4", "+1/3", " 1/3", "1/0", "1/99999999999"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct failed_row row = row_of(&everywhere, 1);
        int at = 0;
        row.sharding = texts[i];
        assert_int_equal(decide(&row, &group, true), 3);
        for (const struct fire *f = row.retries; f; f = f->next, at++) {
            assert_int_equal(f->shard_index, at);
            assert_int_equal(f->shard_total, 3);
            assert_string_equal(f->address, addresses[at]);
        }
        drop(&row);
    }
}

static void numbers_of_a_job_that_is_no_broadcast_go_along(void **state)
{
    struct failed_row row = row_of(&job, 1);

    (void)state;
    row.sharding = "2/5";
    assert_int_equal(decide(&row, &group, true), 1);
    assert_false(row.retries->broadcast);
    assert_int_equal(row.retries->shard_index, 2);
    assert_int_equal(row.retries->shard_total, 5);
    assert_null(row.retries->address);
    drop(&row);
}

static void every_failure_alarms(void **state)
{
    static const struct {
        bool job, mail, can_mail;
        enum alarm_status alarm;
    } cases[] = {
        {true, true, true, ALARM_LOCKED},       {true, true, false, ALARM_FAILED},
        {true, false, true, ALARM_DONE},        {true, false, false, ALARM_DONE},
        {false, false, true, ALARM_NOT_NEEDED}, {false, false, false, ALARM_NOT_NEEDED},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (int retries = 0; retries < 2; retries++) {
            struct failed_row row = row_of(cases[i].job ? &job : NULL, retries);
            row.has_mail = cases[i].mail;
            decide(&row, &group, cases[i].can_mail);
            assert_int_equal(row.alarm, cases[i].alarm);
            drop(&row);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_retry_takes_one_of_what_is_left),
        cmocka_unit_test(retries_wait_as_their_job_says),
        cmocka_unit_test(nothing_is_retried_without_retries_job_or_group),
        cmocka_unit_test(a_shard_goes_to_its_place_in_the_present_list),
        cmocka_unit_test(a_job_that_became_a_broadcast_goes_to_all),
        cmocka_unit_test(numbers_of_a_job_that_is_no_broadcast_go_along),
        cmocka_unit_test(every_failure_alarms),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Executors that are gone, and jobs that work again, on a clock and a log of the test's own. */
#include "test.h"

#include "alarm/offline.h"
#include "alarm/recovery.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- executors ------------------------------------------------------------------------------------------------- */

void store_free_list(void *items, void *memory)
{
    (void)memory;
    free(items);
}

/* "app address age ..." in order. */
static void note(struct offline *o, int64_t now_ms, const struct executor_beat *rows, size_t count)
{
    struct executor_beats beats = {.rows = calloc(count + 1, sizeof *beats.rows), .count = count};
    struct errctx ec;

    assert_non_null(beats.rows);
    if (count > 0)
        memcpy(beats.rows, rows, count * sizeof *rows);
    assert_int_equal(offline_note(o, &beats, now_ms, &ec), ERR_OK);
    assert_null(beats.rows);
}

#define NOTE(now_ms, ...)                                                                                              \
    note(&o, now_ms, (struct executor_beat[]){__VA_ARGS__},                                                            \
         sizeof((struct executor_beat[]){__VA_ARGS__}) / sizeof(struct executor_beat))

static void an_old_row_that_goes_is_a_death(void **state)
{
    struct offline o = {0};
    struct offline_app app;

    (void)state;
    NOTE(0, {"a", "1", 70}, {"a", "2", 69}, {"a", "3", 0}, {"b", "1", 90});
    assert_false(offline_take(&o, 0, 600000, &app));
    NOTE(10000, {"a", "3", 10}, {"b", "1", 100});
    assert_true(offline_take(&o, 10000, 600000, &app));
    assert_string_equal(app.app, "a");
    assert_string_equal(app.addresses.data, "1\n"); /* 2 said so */
    assert_int_equal(app.gone, 1);
    assert_int_equal(app.left, 1);
    assert_false(offline_take(&o, 10000, 600000, &app));
    /* Quiet: gathered, and told together. */
    NOTE(20000, {"a", "3", 0}, {"a", "4", 90}, {"a", "5", 90});
    NOTE(30000, {"a", "3", 0}, {"a", "5", 100});
    NOTE(40000, {"a", "3", 0});
    assert_true(offline_take(&o, 40000, 600000, &app)); /* b, and nobody is left there */
    assert_string_equal(app.app, "b");
    assert_int_equal(app.left, 0);
    assert_false(offline_take(&o, 609999, 600000, &app));
    assert_true(offline_take(&o, 610000, 600000, &app));
    assert_string_equal(app.addresses.data, "4\n5\n");
    assert_int_equal(app.gone, 2);
    /* An empty group that was told of is not told of again before it was filled. */
    assert_false(offline_take(&o, 10000000, 600000, &app));
    NOTE(10000000, {"a", "3", 0}, {"b", "1", 0});
    assert_false(offline_take(&o, 10000000, 600000, &app));
    assert_int_equal(o.app_count, 0);
    offline_reset(&o);
}

static void an_empty_group_is_told_after_a_minute(void **state)
{
    struct offline o = {0};
    struct offline_app app;

    (void)state;
    NOTE(0, {"a", "1", 0}, {"b", "1", 0});
    note(&o, 10000, NULL, 0);
    assert_false(offline_take(&o, 69999, 0, &app));
    NOTE(60000, {"b", "2", 0}); /* a restart */
    assert_true(offline_take(&o, 70000, 0, &app));
    assert_string_equal(app.app, "a");
    assert_int_equal(app.gone, 0);
    assert_false(offline_take(&o, 700000, 0, &app));
    offline_reset(&o);
}

static void many_are_named_in_part(void **state)
{
    struct offline o = {0};
    struct offline_app app;
    struct executor_beat rows[50];
    char names[50][4];

    (void)state;
    for (int i = 0; i < 50; i++) {
        sprintf(names[i], "%02d", i);
        rows[i] = (struct executor_beat){"a", names[i], 90};
    }
    note(&o, 0, rows, 50);
    note(&o, 10000, NULL, 0);
    assert_true(offline_take(&o, 10000, 0, &app));
    assert_int_equal(app.gone, 50);
    assert_non_null(strstr(app.addresses.data, "19\nand 30 more\n"));
    offline_reset(&o);
}

/* ---- jobs that work again --------------------------------------------------------------------------------------- */

static struct {
    struct failing_job jobs[4];
    size_t job_count;
    struct job_run runs[20];
    size_t run_count;
    int64_t last_id;
    int64_t first_read; /* the lowest id that a range began with */
    int ranges;
} log_rows;

enum err store_load_failing_jobs(struct store_session *s, size_t max, struct failing_job **out, size_t *count,
                                 struct errctx *ec)
{
    (void)s, (void)max, (void)ec;
    *out = calloc(5, sizeof **out);
    assert_non_null(*out);
    memcpy(*out, log_rows.jobs, sizeof log_rows.jobs);
    *count = log_rows.job_count;
    return ERR_OK;
}

enum err store_load_log_bounds(struct store_session *s, int64_t from_s, int64_t *first_id, int64_t *last_id,
                               struct errctx *ec)
{
    (void)s, (void)from_s, (void)ec;
    *first_id = *last_id = log_rows.last_id;
    return ERR_OK;
}

enum err store_load_runs(struct store_session *s, int64_t after_id, int64_t until_id, const int64_t *job_ids,
                         size_t job_count, struct job_run **out, size_t *count, struct errctx *ec)
{
    (void)s, (void)ec, (void)job_ids;
    assert_int_equal(job_count, log_rows.job_count);
    assert_true(until_id - after_id <= 20000);
    *out = calloc(20, sizeof **out);
    assert_non_null(*out);
    *count = 0;
    log_rows.ranges++;
    if (after_id < log_rows.first_read)
        log_rows.first_read = after_id;
    for (size_t i = 0; i < log_rows.run_count; i++)
        if (log_rows.runs[i].log_id > after_id && log_rows.runs[i].log_id <= until_id)
            (*out)[(*count)++] = log_rows.runs[i];
    return ERR_OK;
}

enum err store_load_run_list(struct store_session *s, const int64_t *log_ids, size_t id_count, struct job_run **out,
                             size_t *count, struct errctx *ec)
{
    (void)s, (void)ec;
    *out = calloc(id_count + 1, sizeof **out);
    assert_non_null(*out);
    *count = 0;
    for (size_t k = 0; k < id_count; k++)
        for (size_t i = 0; i < log_rows.run_count; i++)
            if (log_rows.runs[i].log_id == log_ids[k])
                (*out)[(*count)++] = log_rows.runs[i];
    return ERR_OK;
}

static size_t look(struct recovery *r, struct recovered_job *first)
{
    struct recovered_job *found;
    struct errctx ec;
    size_t count;

    log_rows.first_read = INT64_MAX;
    log_rows.ranges = 0;
    assert_int_equal(recovery_look(r, NULL, 0, &found, &count, &ec), ERR_OK);
    if (count > 0)
        *first = found[0];
    free(found);
    return count;
}

static void a_success_behind_the_newest_failure_is_found(void **state)
{
    struct recovery r = {0};
    struct recovered_job found;

    (void)state;
    memset(&log_rows, 0, sizeof log_rows);
    assert_int_equal(look(&r, &found), 0);
    assert_int_equal(log_rows.ranges, 0); /* nothing is read for nothing */
    log_rows.jobs[0] = (struct failing_job){7, 100};
    log_rows.job_count = 1;
    log_rows.runs[0] = (struct job_run){90, 7, false};
    log_rows.runs[1] = (struct job_run){110, 7, true};
    log_rows.runs[2] = (struct job_run){111, 8, false};
    log_rows.run_count = 3;
    log_rows.last_id = 200;
    assert_int_equal(look(&r, &found), 0);
    log_rows.last_id = 300;
    assert_int_equal(look(&r, &found), 0);
    log_rows.last_id = 400;
    assert_int_equal(look(&r, &found), 0);
    assert_int_equal(log_rows.first_read, 200); /* what came to light late is read once more */
    log_rows.runs[1].open = false;              /* it ends long after it was read */
    assert_int_equal(look(&r, &found), 1);
    assert_int_equal(found.job.job_id, 7);
    assert_int_equal(found.log_id, 110);
    /* It failed again behind that. */
    log_rows.jobs[0].last_log = 350;
    assert_int_equal(look(&r, &found), 0);
    recovery_reset(&r);
}

/* The failure of a job may be known later than its next success. */
static void a_job_that_is_new_is_looked_for_from_its_failure_on(void **state)
{
    struct recovery r = {0};
    struct recovered_job found;

    (void)state;
    memset(&log_rows, 0, sizeof log_rows);
    log_rows.jobs[0] = (struct failing_job){7, 100};
    log_rows.job_count = 1;
    log_rows.last_id = 500000;
    assert_int_equal(look(&r, &found), 0);
    assert_int_equal(log_rows.first_read, 500000 - RECOVERY_BACK);
    assert_int_equal(look(&r, &found), 0);
    assert_int_equal(look(&r, &found), 0);
    assert_int_equal(log_rows.first_read, INT64_MAX); /* nothing new */
    log_rows.jobs[0].last_log = 450000;
    log_rows.jobs[1] = (struct failing_job){9, 400000};
    log_rows.job_count = 2;
    log_rows.runs[0] = (struct job_run){400002, 7, false}; /* before its newest failure */
    log_rows.runs[1] = (struct job_run){400005, 9, false};
    log_rows.run_count = 2;
    assert_int_equal(look(&r, &found), 1);
    assert_int_equal(found.job.job_id, 9);
    assert_int_equal(log_rows.first_read, 400000);
    recovery_reset(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_old_row_that_goes_is_a_death),
        cmocka_unit_test(an_empty_group_is_told_after_a_minute),
        cmocka_unit_test(many_are_named_in_part),
        cmocka_unit_test(a_success_behind_the_newest_failure_is_found),
        cmocka_unit_test(a_job_that_is_new_is_looked_for_from_its_failure_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

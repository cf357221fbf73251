/* SPDX-License-Identifier: MIT */
/* Jobs looked at: lists, times, verdicts; jobs fired by hand; and two at once. */
#include "admin/jobs_fixture.h"

/* ---- lists ------------------------------------------------------------------------------------------------------- */

static const char *list(const struct actor *actor, const struct job_query *query)
{
    static char shown[200];
    struct job_found found = {0};

    shown[0] = '\0';
    assert_fine(admin_list_jobs(w.admin, actor, query, &found, &why));
    for (size_t i = 0; i < found.list.count; i++)
        snprintf(shown + strlen(shown), sizeof shown - strlen(shown), "%s%s", i ? " " : "", found.list.rows[i].name);
    if (query->count)
        snprintf(shown + strlen(shown), sizeof shown - strlen(shown), " of %" PRId64, found.total);
    job_found_fini(&found);
    return shown;
}

static void add_named(const char *name, int64_t group, const char *author, const char *handler)
{
    struct job_form form = good_form();
    int64_t id = 0;

    form.row.name = name;
    form.row.group = group;
    form.row.author = author;
    form.row.handler = handler;
    assert_fine(admin_add_job(w.admin, &root, &form, &id, &why));
}

static void lists_have_the_filters_of_the_original(void **state)
{
    struct job_query q = {.filter = {.status = -1}, .limit = 10, .count = true};
    (void)state;

    add_named("a_1", 1, "Ann", "one");
    add_named("ab1", 2, "ben", "two");
    add_named("c%d", 1, "cec", "three");
    assert_string_equal(list(&root, &q), "c%d ab1 a_1 of 3");
    q.filter.name = "a_1"; /* the wildcards of LIKE pass */
    assert_string_equal(list(&root, &q), "ab1 a_1 of 2");
    q.filter.name = "a\\_1";
    assert_string_equal(list(&root, &q), "a_1 of 1");
    q.filter.name = "\\%";
    assert_string_equal(list(&root, &q), "c%d of 1");
    q.filter.name = "";
    q.filter.author = "aNN";
    assert_string_equal(list(&root, &q), "a_1 of 1");
    q.filter.author = NULL;
    q.filter.handler = "t";
    q.filter.group = 1;
    assert_string_equal(list(&root, &q), "c%d of 1");
    q.filter = (struct job_filter){.status = -1, .text = "e"};
    assert_string_equal(list(&root, &q), "c%d ab1 a_1 of 3");
    q.filter.text = "EN";
    assert_string_equal(list(&root, &q), "ab1 of 1");
    q.filter = (struct job_filter){.status = 1};
    assert_string_equal(list(&root, &q), " of 0");
    test_sql("UPDATE xxl_job_info SET trigger_status = 1 WHERE job_desc = 'ab1'");
    assert_string_equal(list(&root, &q), "ab1 of 1");
    test_sql("INSERT INTO shardwheel_job (job_id, tags) SELECT id, CONCAT('x,', job_desc) FROM xxl_job_info");
    q.filter = (struct job_filter){.status = -1, .tag = "ab1"};
    assert_string_equal(list(&root, &q), "ab1 of 1");
    q.filter.tag = "b1";
    assert_string_equal(list(&root, &q), " of 0");
    q.filter = (struct job_filter){.status = -1, .text = "x,AB"}; /* in a tag */
    assert_string_equal(list(&root, &q), "ab1 of 1");
    test_sql("UPDATE xxl_job_info SET executor_param = 'region=cn' WHERE job_desc = 'a_1'");
    q.filter.text = "ion=";
    assert_string_equal(list(&root, &q), "a_1 of 1");
    char id[24];
    snprintf(id, sizeof id, "%" PRId64, (int64_t)test_int("SELECT id FROM xxl_job_info WHERE job_desc = 'c%%d'"));
    q.filter.text = id;
    assert_string_equal(list(&root, &q), "c%d of 1");
    q.filter = (struct job_filter){.status = -1, .some_ids = true};
    assert_string_equal(list(&root, &q), " of 0");
}

/* Each order, a page of one after the other: all jobs, each once, also where they are equal. */
static const char *walk(struct job_query q)
{
    static char shown[200];

    shown[0] = '\0';
    for (int pages = 0; pages < 20; pages++) {
        struct job_found found = {0};

        assert_fine(admin_list_jobs(w.admin, &root, &q, &found, &why));
        if (found.list.count == 0) {
            job_found_fini(&found);
            break;
        }
        const struct job_row *row = &found.list.rows[0];
        static char name[64];
        snprintf(name, sizeof name, "%s", row->name);
        snprintf(shown + strlen(shown), sizeof shown - strlen(shown), "%s%s", pages ? " " : "", name);
        q.after = (struct job_place){.id = row->id,
                                     .status = row->status,
                                     .time_ms = q.sort == JOBS_LAST ? row->last_ms : row->next_ms,
                                     .name = name};
        q.failures = job_found_failures(&found, row->id);
        job_found_fini(&found);
    }
    return shown;
}

static void each_order_has_every_job_once(void **state)
{
    struct job_query q = {.filter = {.status = -1}, .limit = 1};
    (void)state;

    for (const char *const *name = (const char *const[]){"d", "B", "c", "a", "b", NULL}; *name; name++)
        add_named(*name, 1, "x", "h");
    test_sql("UPDATE xxl_job_info SET trigger_status = job_desc IN ('d', 'c', 'a'), trigger_next_time = "
             "IF(job_desc = 'd', 9, 5), trigger_last_time = IF(job_desc IN ('a', 'c'), 7, 3)");
    assert_string_equal(walk(q), "b a c B d");
    q.sort = JOBS_OLDEST;
    assert_string_equal(walk(q), "d B c a b");
    q.sort = JOBS_NEXT;
    assert_string_equal(walk(q), "c a d B b");
    q.sort = JOBS_NAMED;
    assert_string_equal(walk(q), "a B b c d");
    q.sort = JOBS_LAST;
    assert_string_equal(walk(q), "a c b B d");
    q.sort = JOBS_RANKED; /* c failed thrice, d and a once; B only two days ago */
    test_sql("INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code, alarm_status) "
             "SELECT job_group, id, UTC_TIMESTAMP() - INTERVAL IF(job_desc = 'B', 48, 0) HOUR, 200, 500, 0 "
             "FROM xxl_job_info WHERE job_desc <> 'b' UNION ALL "
             "SELECT job_group, id, UTC_TIMESTAMP(), 500, 0, 0 FROM xxl_job_info WHERE job_desc = 'c' UNION ALL "
             "SELECT job_group, id, UTC_TIMESTAMP(), 200, 502, 0 FROM xxl_job_info WHERE job_desc = 'c'");
    assert_string_equal(walk(q), "c a d b B");
}

static void failing_jobs_are_those_of_the_overview(void **state)
{
    struct job_query q = {.filter = {.status = -1}, .limit = 10, .count = true, .failing = true, .own_groups = true};
    (void)state;

    add_named("good", 1, "x", "h");
    add_named("bad", 1, "x", "h");
    add_named("elsewhere", 2, "x", "h");
    test_sql(
        "INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code, alarm_status) SELECT "
        "job_group, id, UTC_TIMESTAMP(), 200, IF(job_desc = 'good', 200, 500), 0 FROM xxl_job_info");
    assert_string_equal(list(&root, &q), "elsewhere bad of 2");
    assert_string_equal(list(&user, &q), "bad of 1");
    q.filter.group = 2;
    assert_string_equal(list(&root, &q), "elsewhere of 1");
}

static void pages_go_on_by_offset_and_by_id(void **state)
{
    struct job_query q = {.filter = {.status = -1}, .limit = 2};
    struct job_found found = {0};
    (void)state;

    for (const char *const *name = (const char *const[]){"a", "b", "c", "d", "e", NULL}; *name; name++)
        add_named(*name, **name == 'c' ? 2 : 1, "x", "h");
    assert_string_equal(list(&root, &q), "e d");
    q.offset = 4;
    assert_string_equal(list(&root, &q), "a");
    q.offset = 0;
    assert_fine(admin_list_jobs(w.admin, &root, &q, &found, &why));
    q.after.id = found.list.rows[1].id;
    job_found_fini(&found);
    assert_string_equal(list(&root, &q), "c b");
    q.sort = JOBS_OLDEST;
    assert_string_equal(list(&root, &q), "e");
    q.limit = 0;
    assert_string_equal(list(&root, &q), "");

    q = (struct job_query){.filter = {.status = -1}, .limit = 9};
    assert_refused(admin_list_jobs(w.admin, &user, &q, &found, &why), REFUSED_RIGHT, "-");
    q.own_groups = true;
    assert_string_equal(list(&reader, &q), "e d b a");
    q.filter.group = 2;
    assert_refused(admin_list_jobs(w.admin, &user, &q, &found, &why), REFUSED_RIGHT, "-");
}

static void a_page_knows_settings_and_last_runs(void **state)
{
    int64_t first = add_good(), second = add_good(), third = add_good();
    struct job_query q = {.filter = {.status = -1}, .limit = 9, .settings = true, .runs = true};
    struct job_found found = {0};
    const struct job_last_run *run;
    (void)state;

    test_sql("INSERT INTO shardwheel_job (job_id, hold_s) VALUES (%" PRId64 ", 5)", second);
    test_sql("INSERT INTO xxl_job_log (id, job_group, job_id, trigger_time, trigger_code, handle_time, handle_code, "
             "alarm_status) VALUES (1, 1, %" PRId64 ", '2026-01-01 08:00:00', 200, '2026-01-01 08:00:05', 200, 0), "
             "(2, 1, %" PRId64 ", '2026-01-01 09:00:00', 500, NULL, 0, 0), "
             "(3, 1, %" PRId64 ", '2026-01-01 10:00:00', 0, NULL, 0, 0), "
             "(4, 1, %" PRId64 ", '2026-01-01 10:00:00', 0, NULL, 0, 0)",
             first, third, third, second);
    assert_fine(admin_list_jobs(w.admin, &root, &q, &found, &why));
    assert_int_equal(found.settings_count, 1);
    assert_int_equal(job_found_settings(&found, second)->hold_s, 5);
    assert_null(job_found_settings(&found, third));
    assert_int_equal(found.run_count, 2);
    run = job_found_run(&found, first);
    assert_int_equal(run->log_id, 1);
    assert_int_equal(run->handle_s - run->trigger_s, 5);
    assert_int_equal(run->trigger_s, 1767225600);
    run = job_found_run(&found, third); /* what is planned is no run */
    assert_int_equal(run->log_id, 2);
    assert_true(run->handle_s == TIME_NONE);
    assert_null(job_found_run(&found, second));
    job_found_fini(&found);
}

/* ---- times ------------------------------------------------------------------------------------------------------- */

static void next_times_go_by_schedule_zone_and_settings(void **state)
{
    int64_t id = add_good(), now_ms = clock_wall_ms(clock_system());
    struct job_times times;
    (void)state;

    assert_fine(admin_find_job_times(w.admin, &reader, id, 3, &times, &why));
    assert_int_equal(times.count, 3);
    assert_int_equal(times.ms[0] % 86400000, 3 * 3600000);
    assert_int_equal(times.ms[2] - times.ms[0], 2 * 86400000);
    test_sql("INSERT INTO shardwheel_job (job_id, time_zone, valid_until_s) VALUES (%" PRId64
             ", 'Asia/Shanghai', %" PRId64 ")",
             id, times.ms[1] / 1000);
    assert_fine(admin_find_job_times(w.admin, &reader, id, 5, &times, &why));
    assert_in_range(times.count, 1, 2);
    assert_int_equal(times.ms[0] % 86400000, 19 * 3600000);
    test_sql("DELETE FROM shardwheel_job");
    test_sql("UPDATE xxl_job_info SET schedule_type = 'FIX_RATE', schedule_conf = '60', trigger_status = 1, "
             "trigger_next_time = %" PRId64,
             now_ms + 30000);
    assert_fine(admin_find_job_times(w.admin, &reader, id, 2, &times, &why));
    assert_int_equal(times.ms[0], now_ms + 30000);
    test_sql("UPDATE xxl_job_info SET schedule_type = 'NONE'");
    assert_fine(admin_find_job_times(w.admin, &reader, id, 2, &times, &why));
    assert_int_equal(times.count, 0);
    assert_refused(admin_find_job_times(w.admin, &reader, 4711, 2, &times, &why), REFUSED_UNKNOWN, "id");
}

static void times_of_texts_are_those_of_the_original(void **state)
{
    struct job_times t;
    (void)state;

    assert_fine(
        admin_find_times(w.admin, &reader, &(struct schedule_text){"CRON", "0 0 0 1 1 ?", NULL, 0}, 5, &t, &why));
    assert_int_equal(t.count, 5);
    assert_fine(admin_find_times(w.admin, &reader, &(struct schedule_text){"NONE", "x", NULL, 0}, 5, &t, &why));
    assert_int_equal(t.count, 0);
    assert_fine(admin_find_times(w.admin, &reader, &(struct schedule_text){"FIX_RATE", "-5", NULL, 0}, 5, &t, &why));
    assert_int_equal(t.ms[4] - t.ms[0], -20000);
    assert_fine(
        admin_find_times(w.admin, &reader, &(struct schedule_text){"CRON", "0 0 0 1 1 ? 2020", NULL, 0}, 5, &t, &why));
    assert_int_equal(t.count, 0);
    assert_refused(admin_find_times(w.admin, &reader, &(struct schedule_text){"FIX_RATE", "x", NULL, 0}, 5, &t, &why),
                   REFUSED_INVALID, "scheduleConf");
    assert_string_equal(why.text.text, "FIX_RATE needs whole seconds, not \"x\"");
    assert_refused(admin_find_times(w.admin, &reader, &(struct schedule_text){"CRON", NULL, NULL, 0}, 5, &t, &why),
                   REFUSED_INVALID, "scheduleConf");
    assert_refused(
        admin_find_times(w.admin, &reader, &(struct schedule_text){"CRON", "0 0 0 ? * *", "Mars/X", 0}, 5, &t, &why),
        REFUSED_INVALID, "zone");
}

static void times_can_begin_in_the_future(void **state)
{
    struct schedule_text text = {"CRON", "0 0 0 1 1 ?", "UTC", INT64_C(2524608000000)}; /* 2050-01-01 */
    struct job_times t;
    (void)state;

    assert_fine(admin_find_times(w.admin, &reader, &text, 2, &t, &why));
    assert_int_equal(t.ms[0], text.from_ms);
    text.from_ms = 1000; /* past: from now on */
    assert_fine(admin_find_times(w.admin, &reader, &text, 1, &t, &why));
    assert_true(t.ms[0] > clock_wall_ms(clock_system()));
}

static void a_verdict_says_why_and_where(void **state)
{
    static const struct {
        const char *type, *conf, *zone, *field;
        bool placed;
        size_t at, len;
    } cases[] = {
        {"CRON", "0 0 3 * * ?", NULL, NULL, false, 0, 0},
        {"CRON", "0 \xc3\xa9 61 * * ?", NULL, "scheduleConf", true, 2, 1},
        {"CRON", "0 0 61 * * ?", "Asia/Tokyo", "scheduleConf", true, 4, 2},
        {"CRON", "0 0 3 * *", NULL, "scheduleConf", true, 9, 0},
        {"CRON", NULL, NULL, "scheduleConf", false, 0, 0},
        {"CRON", "0 0 3 * * ?", "Mars/X", "zone", false, 0, 0},
        {"FIX_RATE", "0", NULL, "scheduleConf", true, 0, 1},
        {"FIX_RATE", "5", NULL, NULL, false, 0, 0},
        {"NONE", NULL, NULL, NULL, false, 0, 0},
        {"FIX_DELAY", "5", NULL, "scheduleType", false, 0, 0},
    };
    struct schedule_verdict v;
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_fine(admin_check_schedule(
            w.admin, &reader, &(struct schedule_text){cases[i].type, cases[i].conf, cases[i].zone, 0}, &v, &why));
        if (v.ok != !cases[i].field || (v.field && strcmp(v.field, cases[i].field)) || v.has_place != cases[i].placed ||
            (v.has_place && (v.at != cases[i].at || v.len != cases[i].len)))
            fail_msg("case %zu: %d %s at %zu, %zu: %s", i, v.ok, v.field ? v.field : "-", v.at, v.len, v.reason.text);
    }
    assert_fine(
        admin_check_schedule(w.admin, &reader, &(struct schedule_text){"CRON", "0 0 0 1 1 ? 2020", NULL, 0}, &v, &why));
    assert_true(v.ok && !v.has_next);
}

/* ---- firing ------------------------------------------------------------------------------------------------------ */

static void fires_by_hand_stand_in_the_log_or_wait(void **state)
{
    int64_t id = add_good(), later_id = 0, at_s = clock_wall_ms(clock_system()) / 1000 + 100;
    struct trigger_order order = {.job_id = id, .kind = TRIGGER_MANUAL, .param = NULL};
    struct trigger_made made = {0};
    struct later_page page = {0};
    (void)state;

    assert_refused(admin_trigger_job(w.admin, &reader, &order, 0, NULL, NULL, &why), REFUSED_RIGHT, "-");
    assert_fine(admin_trigger_job(w.admin, &runner, &order, 0, &made, NULL, &why));
    assert_int_equal(made.count, 1);
    assert_int_equal(test_int("SELECT id FROM xxl_job_log WHERE executor_param = ''"), made.log_ids[0]);
    free(made.log_ids);
    order.param = "p";
    assert_fine(admin_trigger_job(w.admin, &runner, &order, at_s, NULL, &later_id, &why));
    assert_int_equal(
        test_int("SELECT id FROM shardwheel_later WHERE kind = 'M' AND param = 'p' AND due_s = %" PRId64, at_s),
        later_id);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit WHERE action = 'job.trigger' AND who = 'runner'"),
                     2);
    assert_fine(admin_list_later(w.admin, &reader, id, 10, &page, &why));
    assert_int_equal(page.count, 1);
    later_page_fini(&page);
    assert_refused(admin_cancel_later(w.admin, &reader, id, later_id, &why), REFUSED_RIGHT, "-");
    assert_refused(admin_cancel_later(w.admin, &runner, id, later_id + 1, &why), REFUSED_UNKNOWN, "later");
    assert_fine(admin_cancel_later(w.admin, &runner, id, later_id, &why));
    assert_refused(admin_cancel_later(w.admin, &runner, id, later_id, &why), REFUSED_UNKNOWN, "later");
    assert_refused(admin_trigger_job(w.admin, &runner, &order, 1, NULL, NULL, &why), REFUSED_INVALID, "at");
    order.addresses = "ftp://x";
    assert_refused(admin_trigger_job(w.admin, &user, &order, 0, NULL, NULL, &why), REFUSED_INVALID, "addressList");
    order.addresses = "http://127.0.0.1:9,http://169.254.169.254/";
    assert_refused(admin_trigger_job(w.admin, &runner, &order, at_s, NULL, NULL, &why), REFUSED_INVALID, "addressList");
    order.job_id = 4711;
    assert_refused(admin_trigger_job(w.admin, &runner, &order, 0, NULL, NULL, &why), REFUSED_UNKNOWN, "id");
    order.job_id = id;
    order.addresses = NULL;
    triggers_stop(w.triggers);
    assert_refused(admin_trigger_job(w.admin, &runner, &order, 0, NULL, NULL, &why), REFUSED_TRY_AGAIN, "-");
}

/* The access token goes wherever the call is sent. */
static void who_may_only_run_sends_to_the_group_alone(void **state)
{
    int64_t id = add_good(), at_s = clock_wall_ms(clock_system()) / 1000 + 100;
    struct trigger_order order = {.job_id = id, .kind = TRIGGER_MANUAL, .addresses = "http://127.0.0.1:1"};
    struct actor token = user; /* that has no scope but run */
    (void)state;

    token.rights = RIGHT_SEE | RIGHT_RUN;
    assert_fine(admin_trigger_job(w.admin, &runner, &order, 0, NULL, NULL, &why));
    order.addresses = " http://127.0.0.1:1 ,http://127.0.0.1:2";
    for (int later = 0; later < 2; later++) {
        const struct trigger_order *o = &order;
        int64_t s = later ? at_s : 0;
        assert_refused(admin_trigger_job(w.admin, &runner, o, s, NULL, NULL, &why), REFUSED_RIGHT, "addressList");
        assert_refused(admin_trigger_job(w.admin, &token, o, s, NULL, NULL, &why), REFUSED_RIGHT, "addressList");
        assert_fine(admin_trigger_job(w.admin, &user, o, s, NULL, NULL, &why));
    }
}

/* ---- at once ----------------------------------------------------------------------------------------------------- */

struct stopper {
    int64_t id;
    struct refusal why;
    enum err e;
};

static void stop_it(void *arg)
{
    struct stopper *s = arg;

    s->e = admin_set_running(w.admin, &root, s->id, false, &s->why);
}

static void wait_for_a_lock_wait(void)
{
    test_wait("SELECT variable_value FROM information_schema.global_status WHERE variable_name = "
              "'INNODB_ROW_LOCK_CURRENT_WAITS'");
}

/* A claim is under way: the stop waits for it and stands behind it, and what others wrote meanwhile stays. */
static void a_stop_waits_for_a_claim_and_stands(void **state)
{
    struct stopper s = {.id = add_good()};
    struct db *claim = test_connect();
    struct thread thread = {0};
    (void)state;

    test_sql("UPDATE xxl_job_info SET trigger_status = 1, trigger_next_time = 1000");
    test_run(claim, "USE xxl_job");
    test_run(claim, "BEGIN");
    test_run(claim, "UPDATE xxl_job_info SET trigger_last_time = 1000, trigger_next_time = 2000, executor_param = "
                    "'theirs'");
    assert_ok(thread_start(&thread, "stopper", stop_it, &s, ec));
    wait_for_a_lock_wait();
    test_run(claim, "COMMIT");
    thread_join(&thread);
    assert_int_equal(s.e, ERR_OK);
    assert_string_equal(test_text("SELECT CONCAT(trigger_status, trigger_last_time, trigger_next_time, executor_param) "
                                  "FROM xxl_job_info"),
                        "000theirs");
    db_close(claim);
}

/* Somebody who holds the row for long is named; nothing was written. */
static void a_row_that_is_held_is_refused_and_left_alone(void **state)
{
    int read_timeout_ms = test_db.opts.read_timeout_ms;
    struct db *other = test_connect();
    int64_t id;
    (void)state;

    world_close();
    test_db.opts.read_timeout_ms = 3000; /* so that it waits for a second alone */
    world_open(false);
    test_db.opts.read_timeout_ms = read_timeout_ms;
    id = add_good();
    test_sql("UPDATE xxl_job_info SET trigger_status = 1");
    test_run(other, "USE xxl_job");
    test_run(other, "BEGIN");
    test_run(other, "SELECT id FROM xxl_job_info FOR UPDATE");
    assert_refused(admin_set_running(w.admin, &root, id, false, &why), REFUSED_TRY_AGAIN, "-");
    test_run(other, "ROLLBACK");
    assert_int_equal(test_int("SELECT trigger_status FROM xxl_job_info"), 1);
    db_close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lists_have_the_filters_of_the_original, setup, teardown),
        cmocka_unit_test_setup_teardown(pages_go_on_by_offset_and_by_id, setup, teardown),
        cmocka_unit_test_setup_teardown(each_order_has_every_job_once, setup, teardown),
        cmocka_unit_test_setup_teardown(failing_jobs_are_those_of_the_overview, setup, teardown),
        cmocka_unit_test_setup_teardown(a_page_knows_settings_and_last_runs, setup, teardown),
        cmocka_unit_test_setup_teardown(next_times_go_by_schedule_zone_and_settings, setup, teardown),
        cmocka_unit_test_setup_teardown(times_of_texts_are_those_of_the_original, setup, teardown),
        cmocka_unit_test_setup_teardown(times_can_begin_in_the_future, setup, teardown),
        cmocka_unit_test_setup_teardown(a_verdict_says_why_and_where, setup, teardown),
        cmocka_unit_test_setup_teardown(fires_by_hand_stand_in_the_log_or_wait, setup, teardown),
        cmocka_unit_test_setup_teardown(who_may_only_run_sends_to_the_group_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(a_stop_waits_for_a_claim_and_stands, setup, teardown),
        cmocka_unit_test_setup_teardown(a_row_that_is_held_is_refused_and_left_alone, setup, teardown),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}

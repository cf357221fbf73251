/* SPDX-License-Identifier: MIT */
/* Settings of ours per job: values, rows, and what a change does to the job. */
#include "store/test_db.h"
#include "store/test_settings.h"

#include "shardwheel/store/job.h"
#include "shardwheel/store/jobs.h"

#define NOW_S INT64_C(1700000000) /* 2023-11-14 22:13:20 UTC */
#define NOW_MS (NOW_S * 1000)

static struct zone *berlin;

static size_t find_setting(const char *name)
{
    for (size_t i = 0; i < job_setting_count(); i++)
        if (strcmp(job_setting_name(i), name) == 0)
            return i;
    fail_msg("there is no setting %s", name);
    return 0;
}

static enum err set(struct job_settings *settings, const char *name, const char *value, struct errctx *ec)
{
    return job_setting_parse(settings, find_setting(name), value, berlin, ec);
}

static struct job_settings settings_with(int64_t job, const char *const (*values)[2], size_t count)
{
    struct job_settings settings;

    job_settings_init(&settings, job);
    for (size_t i = 0; i < count; i++)
        assert_ok(set(&settings, values[i][0], values[i][1], ec));
    return settings;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static void values_are_read_and_shown(void **state)
{
    static const char *const cases[][3] = {
        {"time-zone", "Asia/Shanghai", "Asia/Shanghai"},
        {"time-zone", "+08:00", "+08:00"},
        {"fixed-delay", "1", "1"},
        {"fixed-delay", "2147483647", "2147483647"},
        {"valid-from", "2026-12-01", "2026-12-01 00:00:00"},
        {"valid-from", "2026-12-01 07:08", "2026-12-01 07:08:00"},
        {"valid-from", "2026-12-01T07:08:09", "2026-12-01 07:08:09"},
        {"valid-until", "2026-07-01T00:00:00Z", "2026-07-01 02:00:00"},
        {"valid-until", "2028-02-29 23:59Z", "2028-03-01 00:59:00"},
        {"retry-wait", "86400", "86400"},
        {"retry-wait-max", "604800", "604800"},
        {"hold", "60", "60"},
        {"resend-lost", "on", "on"},
        {"resend-lost", "off", "none"},
        {"retention-days", "7", "7"},
        {"success-within", "60", "60"},
        {"longest-run", "0", "0"},
        {"done-by", "06:30", "06:30"},
        {"done-by", "23:59", "23:59"},
        {"tags", " billing , nightly,,", "billing,nightly"},
        {"tags", "\xe6\x97\xa5\xe5\xb8\xb8", "\xe6\x97\xa5\xe5\xb8\xb8"},
        {"tags", "none", "none"},
        {"kept-logs", "off", "off"},
        {"kept-logs", "all", "all"},
        {"kept-logs", "none", "none"},
        {"hold", "", "none"},
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct job_settings settings = settings_with(1, (const char *const[][2]){{cases[i][0], cases[i][1]}}, 1);
        struct buf shown = {0};

        job_setting_put(&settings, find_setting(cases[i][0]), berlin, &shown);
        assert_string_equal(shown.data, cases[i][2]);
        assert_int_equal(job_settings_are_empty(&settings), strcmp(cases[i][2], "none") == 0);
        assert_ok(set(&settings, cases[i][0], "none", ec));
        assert_true(job_settings_are_empty(&settings));
        buf_fini(&shown);
    }
}

static void what_is_refused_is_named(void **state)
{
    static const char *const cases[][2] = {
        {"time-zone", "Mars/Olympus"},
        {"time-zone", "localtime"},
        {"fixed-delay", "0"},
        {"fixed-delay", "-5"},
        {"fixed-delay", "2147483648"},
        {"fixed-delay", "5s"},
        {"valid-from", "tomorrow"},
        {"valid-from", "2026-02-29"},
        {"valid-from", "2026-13-01"},
        {"valid-from", "2026-12-01 24:00"},
        {"valid-until", "2026-12-01 7:00"},
        {"valid-until", "2026-12-01Zx"},
        {"retry-wait", "86401"},
        {"retry-wait-max", "x"},
        {"hold", "604801"},
        {"resend-lost", "yes"},
        {"retention-days", "0"},
        {"kept-logs", "some"},
        {"kept-logs", "0"},
        {"success-within", "59"},
        {"longest-run", "2592001"},
        {"done-by", "24:00"},
        {"done-by", "6:30"},
        {"done-by", "06:60"},
        {"done-by", "06:30:00"},
        {"tags", "a\nb"},
        {"tags", "\xff"},
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct job_settings settings;
        struct errctx why = {{0}};

        job_settings_init(&settings, 1);
        assert_int_equal(set(&settings, cases[i][0], cases[i][1], &why), ERR_INPUT);
        if (strncmp(why.text, cases[i][0], strlen(cases[i][0])) != 0 || !strstr(why.text, "expected"))
            fail_msg("%s=%s: %s", cases[i][0], cases[i][1], why.text);
    }
}

static void tags_end_at_the_column(void **state)
{
    struct job_settings settings;
    struct errctx why = {{0}};
    char tags[600 * 3 + 1] = "";

    (void)state;
    job_settings_init(&settings, 1);
    for (int i = 0; i < 512; i++)
        strcat(tags, "\xe6\x97\xa5");
    assert_ok(set(&settings, "tags", tags, ec));
    strcat(tags, "x");
    assert_int_equal(set(&settings, "tags", tags, &why), ERR_INPUT);
}

static void what_does_not_go_together_is_refused(void **state)
{
    static const struct {
        const char *values[2][2];
        const char *named; /* NULL: they go together */
    } cases[] = {
        {{{"valid-from", "2026-01-01"}, {"valid-until", "2026-01-02"}}, NULL},
        {{{"valid-from", "2026-01-02"}, {"valid-until", "2026-01-02"}}, "valid-until"},
        {{{"retry-wait", "10"}, {"retry-wait-max", "10"}}, NULL},
        {{{"retry-wait", "10"}, {"retry-wait-max", "9"}}, "retry-wait-max"},
        {{{"retry-wait", "none"}, {"retry-wait-max", "9"}}, "retry-wait-max"},
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct job_settings settings = settings_with(1, cases[i].values, 2);
        struct errctx why = {{0}};

        assert_int_equal(job_settings_check(&settings, &why), cases[i].named ? ERR_INPUT : ERR_OK);
        if (cases[i].named && strncmp(why.text, cases[i].named, strlen(cases[i].named)) != 0)
            fail_msg("%s: %s", cases[i].named, why.text);
    }
}

/* Settings as they are in the database. */
static struct job_settings load(struct store_session *s, int64_t job)
{
    struct job_settings *list = NULL, settings;
    size_t count = 0;

    assert_ok(store_load_job_settings(s, &job, 1, &list, &count, ec));
    job_settings_init(&settings, job);
    if (count > 0)
        settings = list[0];
    free(list);
    return settings;
}

struct change {
    const struct job_settings *settings;
    int64_t next_ms; /* 0: as it is */
};

static enum err decide(void *arg, struct store_session *s, const struct job_state *state, struct job_change *out,
                       struct errctx *ec)
{
    const struct change *change = arg;
    (void)s, (void)state, (void)ec;

    out->settings = *change->settings;
    if (change->next_ms)
        out->row.next_ms = change->next_ms;
    out->guarded = true;
    return ERR_OK;
}

static enum err save(struct store_session *s, const struct job_settings *settings, struct errctx *ec)
{
    return store_change_job(s, settings->job_id, decide, &(struct change){.settings = settings}, ec);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void check_loaded(struct store_session *s, const int64_t *ids, size_t count, const int64_t *expected, size_t n)
{
    struct job_settings *list = NULL;
    size_t got = 0;

    assert_ok(store_load_job_settings(s, ids, count, &list, &got, ec));
    assert_int_equal(got, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(list[i].job_id, expected[i]);
    free(list);
}

static void all_that_is_saved_is_loaded_and_only_that(void **state)
{
    static const char *const all[][2] = {
        {"time-zone", "Asia/Shanghai"},
        {"fixed-delay", "60"},
        {"valid-from", "2026-01-01"},
        {"valid-until", "2027-01-01"},
        {"retry-wait", "5"},
        {"retry-wait-max", "80"},
        {"hold", "30"},
        {"resend-lost", "on"},
        {"retention-days", "9"},
        {"success-within", "3600"},
        {"longest-run", "0"},
        {"done-by", "06:30"},
        {"tags", "it's,\\b"},
        {"kept-logs", "failed"},
    };
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct job_settings some = settings_with(1, all, ARRAY_LEN(all)), *list = NULL;
    struct job_retention *kept = NULL;
    size_t count = 0;
    int64_t many[1200];
    (void)state;

    for (size_t i = 0; i < job_setting_count(); i++)
        if (!job_setting_is_set(&some, i))
            fail_msg("all[] lacks %s", job_setting_name(i));
    for (int64_t id = 1; id <= 3; id++)
        test_add_job(id, NOW_MS);
    for (size_t i = 0; i < ARRAY_LEN(many); i++)
        many[i] = (int64_t)i + 1;
    check_loaded(s, many, 3, NULL, 0);
    assert_ok(save(s, &some, ec));
    assert_ok(store_load_job_settings(s, many, 3, &list, &count, ec));
    assert_int_equal(count, 1);
    assert_memory_equal(&list[0], &some, sizeof some);
    free(list);
    some = settings_with(3, all, 1);
    assert_ok(save(s, &some, ec));
    check_loaded(s, many, ARRAY_LEN(many), (int64_t[]){1, 3}, 2);

    assert_ok(store_load_retentions(s, &kept, &count, ec));
    assert_int_equal(count, 1);
    assert_int_equal(kept[0].job_id, 1);
    assert_int_equal(kept[0].days, 9);
    free(kept);

    job_settings_init(&some, 1);
    assert_ok(save(s, &some, ec));
    check_loaded(s, many, 3, (int64_t[]){3}, 1);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_job"), 1);
    store_give_session(st, s);
    store_destroy(st);
}

static void a_job_that_does_not_exist_is_refused(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct job_settings some = settings_with(7, (const char *const[][2]){{"hold", "5"}}, 1);
    struct errctx why = {{0}};
    (void)state;

    assert_int_equal(save(s, &some, &why), ERR_NOTFOUND);
    assert_non_null(strstr(why.text, "there is no job 7"));
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_job"), 0);
    store_give_session(st, s);
    store_destroy(st);
}

static void each_setting_alone_is_written_and_taken_away(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    (void)state;

    test_add_job(1, NOW_MS);
    for (size_t i = 0; i < job_setting_count(); i++) {
        struct job_settings had = load(s, 1), read, wanted = had;

        test_set_setting(&wanted, i);
        assert_false(job_settings_are_equal(&had, &wanted));
        assert_ok(save(s, &wanted, ec));
        read = load(s, 1);
        assert_true(job_settings_are_equal(&read, &wanted));
    }
    for (size_t i = 0; i < job_setting_count(); i++) {
        struct job_settings had = load(s, 1), less = had;

        assert_ok(set(&less, job_setting_name(i), "none", ec));
        assert_false(job_settings_are_equal(&had, &less));
        assert_ok(save(s, &less, ec));
    }
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_job"), 0);
    store_give_session(st, s);
    store_destroy(st);
}

static void a_next_time_is_written_under_a_guard_alone(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct job_settings some = settings_with(1, (const char *const[][2]){{"time-zone", "UTC"}}, 1);
    struct change change = {.settings = &some, .next_ms = NOW_MS + 10000};
    struct errctx why = {{0}};
    (void)state;

    test_add_job(1, NOW_MS);
    assert_int_equal(store_change_job(s, 1, decide, &change, &why), ERR_GUARD);
    assert_non_null(strstr(why.text, "try again"));
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_job"), 0);
    change.next_ms = NOW_MS;
    assert_ok(store_change_job(s, 1, decide, &change, ec));
    /* Nor does one that is stopped need any. */
    test_sql("UPDATE xxl_job_info SET trigger_status = 0, trigger_next_time = 0");
    change.next_ms = NOW_MS + 10000;
    assert_ok(store_change_job(s, 1, decide, &change, ec));
    store_give_session(st, s);
    store_destroy(st);
}

static void the_newest_planned_second_is_found(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    int64_t planned_s = -1;
    (void)state;

    test_add_job(1, NOW_MS);
    assert_ok(store_find_newest_planned(s, 1, NOW_MS, &planned_s, ec));
    assert_int_equal(planned_s, 0);
    for (int k = 1; k <= 3; k++) {
        char sql[400];

        snprintf(sql, sizeof sql,
                 "INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, trigger_msg, handle_code, "
                 "alarm_status) VALUES (1, %d, FROM_UNIXTIME(%lld + 8 * 3600), 0, '<!--sw:p:%lld:1-->', 0, 0)",
                 k == 3 ? 2 : 1, (long long)NOW_S + 60 * k, (long long)NOW_S + 60 * k);
        test_sql("%s", sql);
    }
    assert_ok(store_find_newest_planned(s, 1, NOW_MS, &planned_s, ec));
    assert_int_equal(planned_s, NOW_S + 120);
    store_give_session(st, s);
    store_destroy(st);
}

static int start(void **state)
{
    struct errctx why = {{0}};

    if (zone_load("Europe/Berlin", &berlin, &why))
        return -1;
    return test_db_start(state);
}

static int stop(void **state)
{
    zone_destroy(berlin);
    return test_db_stop(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_read_and_shown),
        cmocka_unit_test(what_is_refused_is_named),
        cmocka_unit_test(tags_end_at_the_column),
        cmocka_unit_test(what_does_not_go_together_is_refused),
        cmocka_unit_test(all_that_is_saved_is_loaded_and_only_that),
        cmocka_unit_test(a_job_that_does_not_exist_is_refused),
        cmocka_unit_test(each_setting_alone_is_written_and_taken_away),
        cmocka_unit_test(a_next_time_is_written_under_a_guard_alone),
        cmocka_unit_test(the_newest_planned_second_is_found),
    };

    return cmocka_run_group_tests(tests, start, stop);
}

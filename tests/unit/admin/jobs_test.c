/* SPDX-License-Identifier: MIT */
/* Jobs by hand: rules, their order, and what stands in the tables then. */
#include "admin/jobs_fixture.h"
#include "shardwheel/store/schema.h"

/* ---- new ones ---------------------------------------------------------------------------------------------------- */

static void a_new_job_is_checked_in_the_order_of_the_original(void **state)
{
    /* Each makes one thing wrong; all that come behind it are wrong already. */
    static const struct {
        const char *column;
        const char *bad, *good;
        enum refusal_kind kind;
        const char *field;
    } steps[] = {
        {"name", " ", "n", REFUSED_REQUIRED, "name"},
        {"author", "", "a", REFUSED_REQUIRED, "author"},
        {"scheduleType", "FIX_DELAY", "CRON", REFUSED_INVALID, "scheduleType"},
        {"scheduleConf", "0 0 3 * *", "0 0 3 * * ?", REFUSED_INVALID, "scheduleConf"},
        {"glueType", "bean", "BEAN", REFUSED_INVALID, "glueType"},
        {"executorHandler", NULL, "h", REFUSED_REQUIRED, "executorHandler"},
        {"executorRouteStrategy", NULL, "ROUND", REFUSED_INVALID, "executorRouteStrategy"},
        {"misfireStrategy", "x", "FIRE_ONCE_NOW", REFUSED_INVALID, "misfireStrategy"},
        {"executorBlockStrategy", "", "COVER_EARLY", REFUSED_INVALID, "executorBlockStrategy"},
        {"childJobId", "1,x", "", REFUSED_INVALID, "childJobId"},
    };
    struct job_form form = {.row = {.group = 77}};
    int64_t id = 0;
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(steps); i++)
        job_row_set_text(&form.row, job_column_find(steps[i].column), steps[i].bad);
    test_add_job(1, 0);
    assert_refused(admin_add_job(w.admin, &root, &form, &id, &why), REFUSED_UNKNOWN, "jobGroup");
    form.order = JOB_ORDER_D;
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        if (i == 2) {
            assert_refused(admin_add_job(w.admin, &root, &form, &id, &why), REFUSED_UNKNOWN, "jobGroup");
            form.row.group = 1;
        }
        assert_refused(admin_add_job(w.admin, &root, &form, &id, &why), steps[i].kind, steps[i].field);
        job_row_set_text(&form.row, job_column_find(steps[i].column), steps[i].good);
    }
    assert_fine(admin_add_job(w.admin, &root, &form, &id, &why));
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_info"), 2);
}

static void a_rate_wants_whole_seconds(void **state)
{
    struct job_form form = good_form();
    int64_t id = 0;
    (void)state;

    form.row.schedule_type = "FIX_RATE";
    form.row.schedule_conf = NULL;
    assert_refused(admin_add_job(w.admin, &root, &form, &id, &why), REFUSED_REQUIRED, "scheduleConf");
    for (const char *const *bad = (const char *const[]){"", "0", "-5", "1.5", "2147483648", NULL}; *bad; bad++) {
        form.row.schedule_conf = *bad;
        assert_refused(admin_add_job(w.admin, &root, &form, &id, &why), REFUSED_INVALID, "scheduleConf");
    }
    form.row.schedule_type = "NONE"; /* not looked at */
    assert_fine(admin_add_job(w.admin, &root, &form, &id, &why));
}

static void what_is_given_is_stored(void **state)
{
    struct job_form form = good_form();
    int64_t first = add_good(), id = 0;
    char children[40], sql[900];
    (void)state;

    snprintf(children, sizeof children, "%" PRId64 ",,", first);
    form.row.id = 55; /* of a form: not looked at */
    form.row.handler = " \tdemo \n";
    form.row.children = children;
    form.row.glue_type = "GLUE_SHELL";
    form.row.glue_source = "echo 1\r\necho 2\r\n";
    form.row.status = 1;
    form.row.last_ms = 7;
    form.row.next_ms = 8;
    form.row.param = "it's \xf0\x9f\x98\x80";
    assert_fine(admin_add_job(w.admin, &user, &form, &id, &why));
    assert_int_equal(id, first + 1);
    snprintf(sql, sizeof sql,
             "SELECT COUNT(*) FROM xxl_job_info WHERE id = %" PRId64 " AND executor_handler = 'demo' AND child_jobid = "
             "'%" PRId64
             "' AND glue_source = 'echo 1\\necho 2\\n' AND trigger_status = 1 AND trigger_last_time = 7 AND "
             "trigger_next_time = 8 AND executor_param = 'it''s \xf0\x9f\x98\x80' AND alarm_email IS NULL AND "
             "executor_timeout = 0 AND add_time IS NOT NULL AND update_time = add_time AND glue_updatetime = add_time",
             id, first);
    assert_int_equal(test_int("%s", sql), 1);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_logglue"), 0);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit WHERE action = 'job.add' AND who = 'user' AND "
                              "target = %" PRId64 " AND job_group = 1 AND before_json IS NULL AND after_json LIKE "
                              "'%%\"executorHandler\":\"demo\"%%'",
                              id),
                     1);
}

static void children_are_looked_at_in_turn(void **state)
{
    struct job_form form = good_form();
    int64_t own = add_good(), foreign = 0, id = 0;
    char list[80];
    (void)state;

    form.row.group = 2;
    assert_fine(admin_add_job(w.admin, &root, &form, &foreign, &why));
    form.row.group = 1;
    static const char *const bad[] = {"%d,,%d", "%d, %d", "+%d", "x", ",%d", "99999999999"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct buf text = {0};

        for (const char *at = bad[i]; *at; at++)
            if (*at == '%')
                buf_put_int(&text, own);
            else if (*at != 'd')
                buf_putc(&text, *at);
        form.row.children = text.data;
        assert_refused(admin_add_job(w.admin, &user, &form, &id, &why), REFUSED_INVALID, "childJobId");
        buf_fini(&text);
    }
    form.row.children = "4711";
    assert_refused(admin_add_job(w.admin, &user, &form, &id, &why), REFUSED_UNKNOWN, "childJobId");
    assert_string_equal(why.item, "4711");
    snprintf(list, sizeof list, "%" PRId64 ",%" PRId64, own, foreign);
    form.row.children = list;
    assert_refused(admin_add_job(w.admin, &user, &form, &id, &why), REFUSED_RIGHT, "childJobId");
    assert_fine(admin_add_job(w.admin, &root, &form, &id, &why));
    assert_refused(admin_update_job(w.admin, &root, own, &form, &why), REFUSED_SELF, "childJobId");
}

static void what_is_too_long_or_no_text_is_named(void **state)
{
    struct job_form form = good_form();
    int64_t id = add_good();
    char text[300];
    (void)state;

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (const char *const *field =
             (const char *const[]){"name", "author", "alarmEmail", "executorHandler", "glueRemark", NULL};
         *field; field++) {
        form = good_form();
        job_row_set_text(&form.row, job_column_find(*field), text);
        assert_refused(admin_add_job(w.admin, &root, &form, &id, &why), REFUSED_LENGTH, *field);
        job_row_set_text(&form.row, job_column_find(*field),
                         "a\xff"
                         "b");
        assert_refused(admin_add_job(w.admin, &root, &form, &id, &why), REFUSED_INVALID, *field);
    }
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_info"), 1);
}

static void sources_may_be_switched_off(void **state)
{
    struct job_form form = good_form();
    int64_t id = 0;
    (void)state;

    world_close();
    world_glue = CONFIG_GLUE_OFF;
    world_open(false);
    world_glue = CONFIG_GLUE_ON;
    form.row.glue_type = "GLUE_PYTHON";
    assert_refused(admin_add_job(w.admin, &root, &form, &id, &why), REFUSED_OFF, "glueType");
    form.row.glue_type = "BEAN";
    assert_fine(admin_add_job(w.admin, &root, &form, &id, &why));
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

static void an_update_writes_the_form_and_nothing_else(void **state)
{
    struct job_form form = good_form();
    int64_t id = add_good(), next_ms;
    char before[JOB_VERSION_MAX], after[JOB_VERSION_MAX];
    struct job_found job = {0};
    (void)state;

    test_sql(
        "UPDATE xxl_job_info SET glue_source = 'src', glue_remark = 'mark', alarm_email = 'a@b', executor_timeout = "
        "9");
    assert_fine(admin_set_running(w.admin, &user, id, true, &why));
    next_ms = test_int("SELECT trigger_next_time FROM xxl_job_info");
    test_sql("UPDATE xxl_job_info SET trigger_last_time = 5, trigger_next_time = trigger_next_time + 86400000");
    assert_fine(admin_load_job(w.admin, &reader, id, &job, &why));
    job_version(&job.list.rows[0], NULL, before);
    job_found_fini(&job);
    form.row.glue_type = "GLUE_PHP";
    form.row.glue_source = "no";
    form.row.status = 0;
    form.row.next_ms = 1;
    form.row.handler = NULL; /* not asked for here */
    form.row.name = "other";
    assert_fine(admin_update_job(w.admin, &user, id, &form, &why));
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_info WHERE glue_type = 'BEAN' AND glue_source = 'src' AND "
                              "glue_remark = 'mark' AND trigger_status = 1 AND trigger_last_time = 5 AND "
                              "trigger_next_time = %" PRId64 " AND executor_handler IS NULL AND alarm_email IS NULL "
                              "AND executor_timeout = 0 AND job_desc = 'other'",
                              next_ms + 86400000),
                     1);
    assert_string_equal(test_text("SELECT before_json FROM shardwheel_audit WHERE action = 'job.update'"),
                        "{\"name\":\"nightly\",\"alarmEmail\":\"a@b\",\"executorHandler\":\"demo\",\"executorTimeout\":"
                        "9}");
    assert_fine(admin_load_job(w.admin, &reader, id, &job, &why));
    job_version(&job.list.rows[0], NULL, after);
    assert_string_not_equal(before, after);
    test_sql("UPDATE xxl_job_info SET trigger_next_time = trigger_next_time + 1");
    job_found_fini(&job);
    assert_fine(admin_load_job(w.admin, &reader, id, &job, &why));
    job_version(&job.list.rows[0], NULL, before);
    assert_string_equal(before, after);
    job_found_fini(&job);

    test_sql("DELETE FROM shardwheel_audit");
    assert_fine(admin_update_job(w.admin, &user, id, &form, &why)); /* the same again is no change */
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit"), 0);
}

static void an_update_is_refused_in_its_order(void **state)
{
    struct job_form form = good_form();
    int64_t id = add_good();
    (void)state;

    form.row.group = 2;
    form.row.name = "";
    assert_refused(admin_update_job(w.admin, &user, id, &form, &why), REFUSED_RIGHT, "-");
    assert_refused(admin_update_job(w.admin, &root, 4711, &form, &why), REFUSED_REQUIRED, "name");
    form.row.name = "n";
    form.row.group = 77;
    form.row.block = "x";
    assert_refused(admin_update_job(w.admin, &root, 4711, &form, &why), REFUSED_INVALID, "executorBlockStrategy");
    form.row.block = "DISCARD_LATER";
    assert_refused(admin_update_job(w.admin, &root, 4711, &form, &why), REFUSED_UNKNOWN, "jobGroup");
    form.row.group = 2;
    assert_refused(admin_update_job(w.admin, &root, 4711, &form, &why), REFUSED_UNKNOWN, "id");
    assert_fine(admin_update_job(w.admin, &root, id, &form, &why));
    /* Out of a group that is not theirs, nobody moves a job into his own. */
    form.row.group = 1;
    assert_refused(admin_update_job(w.admin, &user, id, &form, &why), REFUSED_RIGHT, "-");
}

static void the_next_time_changes_with_the_schedule_of_a_running_job_alone(void **state)
{
    struct job_form form = good_form();
    int64_t id = add_good(), now_ms;
    (void)state;

    form.row.schedule_conf = "* * * * * ?";
    assert_fine(admin_update_job(w.admin, &root, id, &form, &why));
    assert_int_equal(test_int("SELECT trigger_next_time FROM xxl_job_info"), 0);
    assert_fine(admin_set_running(w.admin, &root, id, true, &why));
    test_sql("UPDATE xxl_job_info SET trigger_next_time = 99, trigger_last_time = 98");
    form.row.author = "else";
    assert_fine(admin_update_job(w.admin, &root, id, &form, &why));
    assert_int_equal(test_int("SELECT trigger_next_time FROM xxl_job_info"), 99);
    form.row.schedule_conf = "0/2 * * * * ?";
    now_ms = clock_wall_ms(clock_system());
    assert_fine(admin_update_job(w.admin, &root, id, &form, &why));
    assert_in_range(test_int("SELECT trigger_next_time FROM xxl_job_info"), now_ms + 5001, now_ms + 8000);
    assert_int_equal(test_int("SELECT trigger_last_time FROM xxl_job_info"), 98);
    form.row.schedule_type = "NONE";
    assert_refused(admin_update_job(w.admin, &root, id, &form, &why), REFUSED_STATE, "scheduleConf");
    form.row.schedule_type = "CRON";
    form.row.schedule_conf = "0 0 0 1 1 ? 2020";
    assert_refused(admin_update_job(w.admin, &root, id, &form, &why), REFUSED_STATE, "scheduleConf");
    assert_string_equal(test_text("SELECT schedule_conf FROM xxl_job_info"), "0/2 * * * * ?");
}

static enum err set_delay(void *arg, struct job_row *row, struct job_settings *settings, struct refusal *r)
{
    (void)r;
    settings->fixed_delay_s = *(int64_t *)arg;
    row->schedule_type = "FIX_RATE";
    row->schedule_conf = "30";
    row->glue_type = "GLUE_PHP"; /* not changed by this */
    row->status = 0;
    return ERR_OK;
}

static bool is_version(void *arg, const char *version)
{
    return strcmp(arg, version) == 0;
}

static void an_edit_is_checked_whole_and_against_its_version(void **state)
{
    int64_t id = add_good(), delay = 30;
    struct job_edit edit = {.edit = set_delay, .arg = &delay, .match = {is_version, "0000000000000000"}};
    char version[JOB_VERSION_MAX];
    struct job_found job = {0};
    (void)state;

    assert_refused(admin_edit_job(w.admin, &user, id, &edit, &why), REFUSED_CHANGED, "-");
    assert_fine(admin_load_job(w.admin, &user, id, &job, &why));
    job_version(&job.list.rows[0], NULL, version);
    job_found_fini(&job);
    edit.match.arg = version;
    assert_fine(admin_edit_job(w.admin, &user, id, &edit, &why));
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_info i JOIN shardwheel_job s ON s.job_id = i.id WHERE "
                              "s.fixed_delay_s = 30 AND i.schedule_type = 'FIX_RATE' AND i.glue_type = 'BEAN'"),
                     1);
    assert_refused(admin_edit_job(w.admin, &user, id, &edit, &why), REFUSED_CHANGED, "-");
    edit.match.is = NULL;
    test_sql("UPDATE xxl_job_info SET executor_handler = ''");
    assert_refused(admin_edit_job(w.admin, &user, id, &edit, &why), REFUSED_REQUIRED, "executorHandler");
    assert_refused(admin_edit_job(w.admin, &reader, id, &edit, &why), REFUSED_RIGHT, "-");
    assert_refused(admin_edit_job(w.admin, &root, 4711, &edit, &why), REFUSED_UNKNOWN, "id");
}

/* ---- start, stop, remove ----------------------------------------------------------------------------------------- */

static void put_planned(int64_t job, int64_t due_s)
{
    test_sql("INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, trigger_msg, handle_code, "
             "alarm_status) VALUES (1, %" PRId64 ", FROM_UNIXTIME(%" PRId64 " + 8 * 3600), 0, '<!--sw:p:%" PRId64
             ":1-->', 0, 0)",
             job, due_s, due_s);
}

static void a_start_goes_behind_what_is_planned(void **state)
{
    int64_t id = add_good(), now_s = clock_wall_ms(clock_system()) / 1000;
    (void)state;

    test_sql("UPDATE xxl_job_info SET schedule_conf = '* * * * * ?', trigger_last_time = 3");
    assert_fine(admin_set_running(w.admin, &user, id, true, &why));
    assert_in_range(test_int("SELECT trigger_next_time FROM xxl_job_info"), now_s * 1000 + 5001, now_s * 1000 + 8000);
    assert_int_equal(test_int("SELECT trigger_status * 10 + trigger_last_time FROM xxl_job_info"), 10);
    put_planned(id, now_s + 60);
    put_planned(id + 1, now_s + 90);
    assert_fine(admin_set_running(w.admin, &user, id, true, &why));
    assert_int_equal(test_int("SELECT trigger_next_time FROM xxl_job_info"), (now_s + 61) * 1000);
    assert_fine(admin_set_running(w.admin, &user, id, false, &why));
    assert_int_equal(test_int("SELECT trigger_status + trigger_last_time + trigger_next_time FROM xxl_job_info"), 0);
    test_sql("UPDATE xxl_job_info SET schedule_type = 'NONE'");
    assert_refused(admin_set_running(w.admin, &user, id, true, &why), REFUSED_STATE, "scheduleType");
    test_sql("UPDATE xxl_job_info SET schedule_type = 'CRON', schedule_conf = '0 0 0 1 1 ? 2020'");
    assert_refused(admin_set_running(w.admin, &user, id, true, &why), REFUSED_STATE, "scheduleConf");
    test_sql("UPDATE xxl_job_info SET schedule_conf = 'nonsense'");
    assert_refused(admin_set_running(w.admin, &user, id, true, &why), REFUSED_STATE, "scheduleConf");
    assert_refused(admin_set_running(w.admin, &root, 4711, true, &why), REFUSED_UNKNOWN, "id");
    assert_refused(admin_set_running(w.admin, &root, 4711, false, &why), REFUSED_UNKNOWN, "id");
    assert_int_equal(test_int("SELECT trigger_status FROM xxl_job_info"), 0);
    assert_string_equal(test_text("SELECT GROUP_CONCAT(action, before_json, after_json ORDER BY id) FROM "
                                  "shardwheel_audit WHERE action <> 'job.add' AND before_json <> '{}'"),
                        "job.start{\"running\":false}{\"running\":true},job.stop{\"running\":true}{\"running\":false}");
}

static void times_are_written_while_a_guard_is_held_alone(void **state)
{
    struct job_form form = good_form();
    int64_t id;
    (void)state;

    world_close();
    world_open(true);
    id = add_good();
    assert_refused(admin_set_running(w.admin, &user, id, true, &why), REFUSED_TRY_AGAIN, "-");
    assert_int_equal(test_int("SELECT trigger_status FROM xxl_job_info"), 0);
    world_guard();
    assert_fine(admin_set_running(w.admin, &user, id, true, &why));
    form.row.schedule_conf = "0 0 4 * * ?";
    assert_fine(admin_update_job(w.admin, &user, id, &form, &why));
    store_end_guard(w.guard, "0123456789abcdef");
    store_give_session(w.store, w.guard);
    w.guard = NULL;
    form.row.schedule_conf = "0 0 5 * * ?";
    assert_refused(admin_update_job(w.admin, &user, id, &form, &why), REFUSED_TRY_AGAIN, "-");
    form.row.schedule_conf = "0 0 4 * * ?";
    form.row.name = "renamed"; /* no time in it */
    assert_fine(admin_update_job(w.admin, &user, id, &form, &why));
    assert_fine(admin_set_running(w.admin, &user, id, false, &why));
}

static int looks; /* at the clock, until a node holds Java admins off */

static int64_t mono_until_guarded(const struct clock *clock)
{
    (void)clock;
    if (looks > 0 && --looks == 0)
        world_guard();
    return 1000;
}

static int64_t wall_of_the_system(const struct clock *clock)
{
    (void)clock;
    return clock_wall_us(clock_system());
}

static void a_start_waits_a_moment_for_a_guard(void **state)
{
    static const struct clock clock = {.wall_us = wall_of_the_system, .mono_ms = mono_until_guarded};
    (void)state;

    world_close();
    world_clock = &clock;
    world_open(true);
    int64_t id = add_good();
    looks = 5;
    assert_fine(admin_set_running(w.admin, &user, id, true, &why));
    assert_int_equal(looks, 0);
    world_clock = NULL;
}

static int64_t add_logs(int64_t job, int count)
{
    for (int i = 0; i < count; i++)
        test_sql("INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code, alarm_status) "
                 "SELECT 1, %" PRId64
                 ", NOW(), 200, 200, 0 FROM (SELECT 1 FROM information_schema.columns LIMIT 400) x",
                 job);
    return test_int("SELECT COUNT(*) FROM xxl_job_log WHERE job_id = %" PRId64, job);
}

static void what_goes_with_a_job(void **state)
{
    int64_t id = add_good(), other = add_good();
    size_t deleted;
    bool more;
    (void)state;

    assert_int_equal(add_logs(id, 3), 1200);
    assert_int_equal(add_logs(other, 1), 400);
    test_sql("INSERT INTO xxl_job_logglue (job_id, glue_remark) VALUES (%" PRId64 ", 'a'), (%" PRId64 ", 'b')", id,
             other);
    test_sql("INSERT INTO shardwheel_job (job_id, hold_s) VALUES (%" PRId64 ", 5)", id);
    test_sql("INSERT INTO shardwheel_later (planned, due_s, job_id, kind, retries_left, generation, original_due_s) "
             "VALUES (0, 1, %" PRId64 ", 'M', -1, 0, 1), (1, 1, %" PRId64 ", 'M', -1, 0, 1)",
             id, id);
    assert_refused(admin_remove_job(w.admin, &runner, id, NULL, &why), REFUSED_RIGHT, "-");
    assert_fine(admin_remove_job(w.admin, &user, id, NULL, &why));
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_info"), 1);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log"), 400);
    assert_string_equal(test_text("SELECT GROUP_CONCAT(glue_remark) FROM xxl_job_logglue"), "b");
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_job"), 0);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_later WHERE planned = 0"), 0);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_removed"), 0);
    assert_string_equal(test_text("SELECT CONCAT(who, ' ', target_name, ' ', job_group, ' ', after_json IS NULL) FROM "
                                  "shardwheel_audit WHERE action = 'job.remove'"),
                        "user nightly 1 1");
    assert_refused(admin_remove_job(w.admin, &user, id, NULL, &why), REFUSED_UNKNOWN, "id");

    /* What is left, a node removes: in pieces, and nothing that came behind the removal. */
    test_sql("INSERT INTO shardwheel_removed SELECT %" PRId64 ", 5, 0, MAX(id) - 10 FROM xxl_job_log", other);
    assert_ok(store_delete_removed(w.s, 0, 5, &deleted, &more, ec));
    assert_int_equal(deleted, 0);
    assert_false(more);
    assert_ok(store_delete_removed(w.s, 0, 6, &deleted, &more, ec));
    assert_int_equal(deleted, 390);
    assert_true(more);
    assert_ok(store_delete_removed(w.s, 0, 6, &deleted, &more, ec));
    assert_false(more);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log"), 10);
}

/* The oldest schemas have no index over job_id: the rows are looked for by id, some thousand at a time. */
static void rows_of_the_log_go_without_an_index_too(void **state)
{
    struct store_features features;
    int64_t id, other;
    size_t deleted, sum = 0;
    bool more = true;
    (void)state;

    test_sql("ALTER TABLE xxl_job_log DROP INDEX I_jobid");
    assert_ok(store_load_features(w.store, &features, ec));
    id = add_good();
    other = add_good();
    add_logs(id, 1);
    add_logs(other, 1);
    test_sql("INSERT INTO xxl_job_log (id, job_group, job_id, trigger_time, trigger_code, handle_code, alarm_status) "
             "VALUES (30000, 1, %" PRId64 ", NOW(), 200, 200, 0), (30001, 1, %" PRId64 ", NOW(), 200, 200, 0)",
             id, other);
    test_sql("INSERT INTO shardwheel_removed SELECT %" PRId64 ", 5, 0, MAX(id) FROM xxl_job_log", id);
    for (int i = 0; more && i < 9; i++) {
        assert_ok(store_delete_removed(w.s, id, 0, &deleted, &more, ec));
        sum += deleted;
    }
    assert_int_equal(sum, 401);
    assert_false(more);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log"), 401);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_removed"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_new_job_is_checked_in_the_order_of_the_original, setup, teardown),
        cmocka_unit_test_setup_teardown(a_rate_wants_whole_seconds, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_given_is_stored, setup, teardown),
        cmocka_unit_test_setup_teardown(children_are_looked_at_in_turn, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_too_long_or_no_text_is_named, setup, teardown),
        cmocka_unit_test_setup_teardown(sources_may_be_switched_off, setup, teardown),
        cmocka_unit_test_setup_teardown(an_update_writes_the_form_and_nothing_else, setup, teardown),
        cmocka_unit_test_setup_teardown(an_update_is_refused_in_its_order, setup, teardown),
        cmocka_unit_test_setup_teardown(the_next_time_changes_with_the_schedule_of_a_running_job_alone, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_edit_is_checked_whole_and_against_its_version, setup, teardown),
        cmocka_unit_test_setup_teardown(a_start_goes_behind_what_is_planned, setup, teardown),
        cmocka_unit_test_setup_teardown(times_are_written_while_a_guard_is_held_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(a_start_waits_a_moment_for_a_guard, setup, teardown),
        cmocka_unit_test_setup_teardown(what_goes_with_a_job, setup, teardown),
        cmocka_unit_test_setup_teardown(rows_of_the_log_go_without_an_index_too, setup, teardown),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}

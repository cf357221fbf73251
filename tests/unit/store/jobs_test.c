/* SPDX-License-Identifier: MIT */
/* Jobs that are added, changed and removed: what is decided under the lock is written, with its audit row or not at
 * all. */
#include "store/test_db.h"

#include "shardwheel/store/jobs.h"

#define NOW_S INT64_C(1700000000)

static struct store *st;
static struct store_session *s;

static int set_up(void **state)
{
    (void)state;
    st = test_db_fresh(1, NOW_S);
    s = test_take(st, SESSION_NORMAL);
    test_sql("INSERT INTO xxl_job_group (id, app_name, title, address_type) VALUES (2, 'other', 'Other', 0)");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    store_give_session(st, s);
    store_destroy(st);
    return 0;
}

static const struct audit_row audit = {.user_id = 1, .who = "admin", .action = "job.x"};

/* What is to become of a job, and how it was. */
struct wish {
    void (*edit)(struct job_change *change, size_t i); /* NULL: nothing */
    size_t i;
    enum err result;
    int64_t seen_id, seen_number;
    char seen_text[100];
};

static enum err decide(void *arg, struct store_session *session, const struct job_state *state, struct job_change *out,
                       struct errctx *ec)
{
    struct wish *w = arg;
    const struct job_column *c = job_column_get(w->i);

    assert_ptr_equal(session, s);
    assert_true(state->now_ms > NOW_S * 1000);
    w->seen_id = state->row.id;
    if (c->is_text)
        snprintf(w->seen_text, sizeof w->seen_text, "%s", job_row_text(&state->row, c));
    else
        w->seen_number = job_row_number(&state->row, c);
    if (w->edit)
        w->edit(out, w->i);
    out->audit = &audit;
    return w->result ? err_set(ec, w->result, "told so") : ERR_OK;
}

static void change(int64_t id, void (*edit)(struct job_change *change, size_t i))
{
    struct wish w = {.edit = edit};

    assert_ok(store_change_job(s, id, decide, &w, ec));
    assert_int_equal(w.seen_id, id);
}

static void expect_refused(int64_t id, struct wish w, enum err expected, const char *text)
{
    struct errctx why;

    assert_int_equal(store_change_job(s, id, decide, &w, &why), expected);
    assert_non_null(strstr(why.text, text));
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit"), 0);
}

static void make_long(struct job_change *change, size_t i)
{
    static char name[300];

    (void)i;
    memset(name, 'x', sizeof name - 1);
    change->row.name = name;
}

static void move_away(struct job_change *change, size_t i)
{
    (void)i;
    change->row.group = 99;
}

static void move(struct job_change *change, size_t i)
{
    (void)i;
    change->row.group = 2;
}

static void rename_it(struct job_change *change, size_t i)
{
    (void)i;
    change->row.name = "new";
}

static void let_wait(struct job_change *change, size_t i)
{
    struct errctx ec;

    (void)i;
    for (size_t k = 0; k < job_setting_count(); k++)
        if (strcmp(job_setting_name(k), "hold") == 0)
            assert_int_equal(job_setting_parse(&change->settings, k, "30", NULL, &ec), ERR_OK);
}

static void take_away(struct job_change *change, size_t i)
{
    (void)i;
    change->remove = true;
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

static void set_column(struct job_change *change, size_t i)
{
    const struct job_column *c = job_column_get(i);

    if (c->is_text)
        job_row_set_text(&change->row, c, "t");
    else
        job_row_set_number(&change->row, c, 2);
}

static void each_column_alone_is_written(void **state)
{
    (void)state;
    test_add_job(1, NOW_S * 1000);
    test_add_job(2, NOW_S * 1000);
    for (size_t i = 0; i < job_column_count(); i++) {
        struct wish w = {.edit = set_column, .i = i};

        assert_ok(store_change_job(s, 1, decide, &w, ec));
        assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit"), i + 1);
        assert_ok(store_change_job(s, 1, decide, &w, ec)); /* it is so already */
        assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit"), i + 1);
        if (job_column_get(i)->is_text)
            assert_string_equal(w.seen_text, "t");
        else
            assert_int_equal(w.seen_number, 2);
    }
    assert_string_equal(test_text("SELECT CONCAT_WS(' ', job_group, job_desc, schedule_conf, trigger_next_time) FROM "
                                  "xxl_job_info WHERE id = 2"),
                        "1 job 0 * * * * ? 1700000000000");
}

static void only_a_change_has_a_time(void **state)
{
    (void)state;
    test_add_job(1, NOW_S * 1000);
    test_sql("UPDATE xxl_job_info SET update_time = '2020-01-01 00:00:00'");
    change(1, NULL);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit"), 0);
    change(1, let_wait);
    assert_int_equal(test_int("SELECT hold_s FROM shardwheel_job WHERE job_id = 1"), 30);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit"), 1);
    assert_string_equal(test_text("SELECT update_time FROM xxl_job_info"), "2020-01-01 00:00:00");
    change(1, rename_it);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_info WHERE update_time > '2023-01-01' AND job_desc = "
                              "'new'"),
                     1);
    change(1, move);
    assert_int_equal(test_int("SELECT job_group FROM xxl_job_info"), 2);
}

static void what_is_refused_changes_nothing(void **state)
{
    (void)state;
    test_add_job(1, NOW_S * 1000);
    expect_refused(2, (struct wish){.edit = rename_it}, ERR_NOTFOUND, "there is no job 2");
    expect_refused(1, (struct wish){.edit = rename_it, .result = ERR_DENIED}, ERR_DENIED, "told so");
    expect_refused(1, (struct wish){.edit = move_away}, ERR_NOTFOUND, "there is no executor group 99");
    expect_refused(1, (struct wish){.edit = make_long}, ERR_INPUT, "");
    assert_string_equal(test_text("SELECT CONCAT_WS(' ', job_group, job_desc) FROM xxl_job_info"), "1 job");
}

/* ---- removal ----------------------------------------------------------------------------------------------------- */

static void a_job_takes_what_is_its_own_along(void **state)
{
    (void)state;
    for (int64_t id = 1; id <= 2; id++) {
        test_add_job(id, NOW_S * 1000);
        change(id, let_wait);
    }
    test_sql("DELETE FROM shardwheel_audit");
    test_sql("INSERT INTO xxl_job_logglue (job_id, glue_remark) SELECT IF(seq = 777, 2, 1), '' FROM seq_1_to_1001");
    test_sql("INSERT INTO shardwheel_later (id, planned, due_s, job_id, kind, retries_left, generation, "
             "original_due_s) VALUES (1, 0, 5, 1, 'M', -1, 0, 5), (2, 1, 5, 1, 'M', -1, 0, 5), (3, 0, 5, 2, 'M', -1, "
             "0, 5)");
    test_sql("INSERT INTO xxl_job_log (id, job_group, job_id, trigger_code, handle_code) VALUES (80, 1, 1, 0, 0), "
             "(90, 1, 2, 0, 0)");
    test_sql("UPDATE xxl_job_info SET job_group = 99"); /* a group that is gone is no hindrance */
    change(1, take_away);
    assert_int_equal(test_int("SELECT SUM(id) FROM xxl_job_info"), 2);
    assert_int_equal(test_int("SELECT SUM(job_id) FROM xxl_job_logglue"), 2);
    assert_int_equal(test_int("SELECT SUM(job_id) FROM shardwheel_job"), 2);
    assert_string_equal(test_text("SELECT GROUP_CONCAT(id ORDER BY id) FROM shardwheel_later"), "2,3");
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log"), 2); /* these take their time */
    assert_string_equal(test_text("SELECT CONCAT_WS(' ', job_id, log_id, last_id) FROM shardwheel_removed"), "1 0 90");
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit"), 1);
}

/* ---- new ones ---------------------------------------------------------------------------------------------------- */

static void a_new_job_is_as_it_was_wished(void **state)
{
    const struct job_row row = {.group = 2,
                                .name = "new",
                                .author = "ann",
                                .schedule_type = "NONE",
                                .misfire = "DO_NOTHING",
                                .route = "FIRST",
                                .handler = "h",
                                .block = "SERIAL_EXECUTION",
                                .glue_type = "BEAN",
                                .timeout_s = 7};
    struct job_row elsewhere = row;
    struct job_change with = {0};
    struct errctx why;
    int64_t id = 0, other = 7;

    (void)state;
    job_settings_init(&with.settings, 0);
    assert_ok(store_add_job(s, &row, &with.settings, &audit, &id, ec));
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_job"), 0); /* nothing is set */
    assert_string_equal(test_text("SELECT CONCAT_WS(' ', job_group, job_desc, author, executor_timeout, add_time = "
                                  "update_time) FROM xxl_job_info WHERE id = %" PRId64,
                                  id),
                        "2 new ann 7 1");
    assert_int_equal(test_int("SELECT target FROM shardwheel_audit"), id);

    test_sql("DELETE FROM xxl_job_info");
    test_sql("ALTER TABLE xxl_job_info AUTO_INCREMENT = %" PRId64, id); /* as after a server that forgets it */
    test_sql("INSERT INTO shardwheel_removed (job_id, at_ms, log_id, last_id) VALUES (%" PRId64 ", 1, 0, 9), (999, 1, "
             "0, 9)",
             id);
    let_wait(&with, 0);
    assert_ok(store_add_job(s, &row, &with.settings, &audit, &other, ec));
    assert_int_equal(other, id);
    assert_int_equal(test_int("SELECT job_id FROM shardwheel_removed"), 999); /* its rows are its own */
    assert_int_equal(test_int("SELECT hold_s FROM shardwheel_job WHERE job_id = %" PRId64, id), 30);

    elsewhere.group = 99;
    other = 7;
    assert_int_equal(store_add_job(s, &elsewhere, &with.settings, &audit, &other, &why), ERR_NOTFOUND);
    assert_int_equal(other, 7);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_info"), 1);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit"), 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_column_alone_is_written),    TEST(only_a_change_has_a_time),
        TEST(what_is_refused_changes_nothing), TEST(a_job_takes_what_is_its_own_along),
        TEST(a_new_job_is_as_it_was_wished),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}

/* SPDX-License-Identifier: MIT */
/* The same for many jobs: which, what came of each, and what a dry run says. */
#include "admin/jobs_fixture.h"

#include "shardwheel/admin/batch.h"

static struct batch_result result;

static int64_t add(const char *name, int64_t group, const char *type)
{
    struct job_form form = good_form();
    int64_t id = 0;

    form.row.name = name;
    form.row.group = group;
    form.row.schedule_type = type;
    assert_fine(admin_add_job(w.admin, &root, &form, &id, &why));
    return id;
}

static struct batch_order all_that(enum batch_action action)
{
    return (struct batch_order){.action = action, .filter = {.status = -1}, .expected = -1};
}

static void run(const struct actor *actor, const struct batch_order *order)
{
    batch_result_fini(&result);
    assert_fine(admin_run_batch(w.admin, actor, order, &result, &why));
}

/* "done same refused left" as numbers. */
static const char *count(void)
{
    static char text[100];

    snprintf(text, sizeof text, "%zu %zu %zu %zu", result.outcomes[BATCH_DONE], result.outcomes[BATCH_SAME],
             result.outcomes[BATCH_REFUSED], result.outcomes[BATCH_LEFT]);
    return text;
}

static void each_job_is_started_by_itself(void **state)
{
    (void)state;
    int64_t a = add("a", 1, "CRON"), b = add("b", 1, "NONE"), c = add("c", 2, "CRON");
    struct batch_order order = all_that(BATCH_START);

    order.dry_run = true;
    run(&root, &order);
    assert_string_equal(count(), "2 0 1 0");
    assert_int_equal(test_int("SELECT SUM(trigger_status) FROM xxl_job_info"), 0);
    order.dry_run = false;
    run(&root, &order);
    assert_string_equal(count(), "2 0 1 0");
    assert_int_equal(result.items[0].id, c); /* the newest first */
    assert_int_equal(result.items[1].id, b);
    assert_string_equal(result.items[1].name, "b");
    assert_string_equal(result.items[1].field, "scheduleType");
    assert_non_null(result.items[1].text);
    assert_int_equal(result.items[2].id, a);
    assert_int_equal(test_int("SELECT SUM(trigger_status) FROM xxl_job_info"), 2);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit WHERE action = 'job.start'"), 2);
    run(&root, &order);
    assert_string_equal(count(), "0 2 1 0");
}

static void the_filter_finds_what_the_actor_sees(void **state)
{
    (void)state;
    int64_t a = add("a", 1, "CRON"), c = add("c", 2, "CRON");
    struct batch_order order = all_that(BATCH_REMOVE);

    run(&user, &order);
    assert_string_equal(count(), "1 0 0 0");
    assert_int_equal(result.items[0].id, a);
    order.ids = (const int64_t[]){c, 999};
    order.id_count = 2;
    run(&user, &order);
    assert_string_equal(count(), "0 0 2 0");
    assert_int_equal(result.items[0].kind, REFUSED_RIGHT);
    assert_int_equal(result.items[1].kind, REFUSED_UNKNOWN);
    run(&reader, &(struct batch_order){.action = BATCH_REMOVE, .filter = {.status = -1}, .expected = -1});
    assert_int_equal(result.count, 0);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_info"), 1);
}

static void a_reader_changes_nothing(void **state)
{
    (void)state;
    add("a", 1, "CRON");
    struct batch_order order = all_that(BATCH_REMOVE);

    for (int dry = 0; dry < 2; dry++) {
        order.dry_run = dry;
        run(&reader, &order);
        assert_string_equal(count(), "0 0 1 0");
        assert_int_equal(result.items[0].kind, REFUSED_RIGHT);
    }
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_info"), 1);
}

static void another_number_than_expected_is_refused(void **state)
{
    (void)state;
    add("a", 1, "CRON");
    struct batch_order order = all_that(BATCH_STOP);

    order.expected = 2;
    assert_refused(admin_run_batch(w.admin, &root, &order, &result, &why), REFUSED_STATE, "expected");
    order.expected = 1;
    run(&root, &order);
    assert_string_equal(count(), "0 1 0 0");
}

static enum err put_author(void *arg, struct job_row *row, struct job_settings *settings, struct refusal *r)
{
    (void)settings;
    (void)r;
    row->author = arg;
    return ERR_OK;
}

static void an_edit_says_what_it_would_change(void **state)
{
    (void)state;
    char you[] = "you", blank[] = "";
    add("a", 1, "CRON");
    add("b", 1, "CRON");
    test_sql("UPDATE xxl_job_info SET author = 'you' WHERE job_desc = 'b'");
    struct batch_order order = all_that(BATCH_EDIT);

    order.edit = (struct job_edit){.edit = put_author, .arg = you};
    order.dry_run = true;
    run(&root, &order);
    assert_string_equal(count(), "1 1 0 0");
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_info WHERE author = 'you'"), 1);
    order.edit.arg = blank;
    run(&root, &order);
    assert_string_equal(count(), "0 0 2 0");
    assert_string_equal(result.items[0].field, "author");
    order.edit.arg = you;
    order.dry_run = false;
    run(&root, &order);
    assert_string_equal(count(), "1 1 0 0");
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_info WHERE author = 'you'"), 2);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit WHERE action = 'job.update'"), 1);
}

static void more_jobs_than_a_batch_has_are_refused(void **state)
{
    (void)state;
    add("a", 1, "CRON");
    for (int64_t n = 1; n <= BATCH_MAX; n *= 2)
        test_sql(
            "INSERT INTO xxl_job_info (job_group, job_desc, glue_type) SELECT 1, 'many', 'BEAN' FROM xxl_job_info");
    struct batch_order order = all_that(BATCH_STOP);

    assert_refused(admin_run_batch(w.admin, &root, &order, &result, &why), REFUSED_LIMIT, "filter");
    add("zebra", 1, "CRON");
    order.filter.name = "zeb";
    run(&root, &order);
    assert_string_equal(count(), "0 1 0 0");
}

static int end(void **state)
{
    batch_result_fini(&result);
    return teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_job_is_started_by_itself, setup, end),
        cmocka_unit_test_setup_teardown(the_filter_finds_what_the_actor_sees, setup, end),
        cmocka_unit_test_setup_teardown(a_reader_changes_nothing, setup, end),
        cmocka_unit_test_setup_teardown(another_number_than_expected_is_refused, setup, end),
        cmocka_unit_test_setup_teardown(an_edit_says_what_it_would_change, setup, end),
        cmocka_unit_test_setup_teardown(more_jobs_than_a_batch_has_are_refused, setup, end),
    };
    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}

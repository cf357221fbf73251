/* SPDX-License-Identifier: MIT */
/* Jobs and groups out of a cluster, and into one. */
#include "admin/jobs_fixture.h"

#include "shardwheel/admin/transfer.h"

static struct transfer_result result;

static int64_t add(const char *name, int64_t group, const char *children)
{
    struct job_form form = good_form();
    int64_t id = 0;

    form.row.name = name;
    form.row.group = group;
    form.row.children = children;
    assert_fine(admin_add_job(w.admin, &root, &form, &id, &why));
    return id;
}

/* A job of a document. */
static struct transfer_job job(const char *app, const char *name)
{
    struct transfer_job job = {.app_name = app, .row = good_form().row, .running = -1};

    for (size_t i = 0; i < job_column_count(); i++) {
        const struct job_column *c = job_column_get(i);
        if (c->is_text && !job_row_text(&job.row, c))
            job_row_set_text(&job.row, c, "");
    }
    job.row.name = name;
    job_settings_init(&job.settings, 0);
    return job;
}

/* What fits a page of each. It stands until its exporter is destroyed. */
struct taken {
    struct transfer document;
    struct exporter *x;
};

static void take_out(const struct actor *actor, const struct export_opts *opts, struct taken *out)
{
    bool more;

    *out = (struct taken){0};
    assert_fine(admin_begin_export(w.admin, actor, opts, &out->x, &why));
    assert_fine(exporter_read_groups(out->x, &out->document, &more, &why));
    assert_false(more);
    assert_fine(exporter_read_jobs(out->x, &out->document, &more, &why));
    assert_false(more);
}

static void import(const struct actor *actor, const struct transfer *d, bool dry_run)
{
    transfer_result_fini(&result);
    assert_fine(admin_import(w.admin, actor, d, dry_run, &result, &why));
}

/* "create change same refused left" as numbers. */
static const char *count(void)
{
    static char text[100];

    snprintf(text, sizeof text, "%zu %zu %zu %zu %zu", result.outcomes[0], result.outcomes[1], result.outcomes[2],
             result.outcomes[3], result.outcomes[4]);
    return text;
}

#define assert_item(item, outcome_, field_)                                                                            \
    do {                                                                                                               \
        if (strcmp(transfer_outcome_name((item).outcome), outcome_) ||                                                 \
            strcmp((item).field ? (item).field : "", field_))                                                          \
            fail_msg("%s %s: %s", transfer_outcome_name((item).outcome), (item).field ? (item).field : "",             \
                     (item).text ? (item).text : "");                                                                  \
    } while (0)

static void what_was_taken_out_is_the_same_when_put_in(void **state)
{
    (void)state;
    struct taken out;
    int64_t b = add("b", 1, NULL);
    char children[40];

    snprintf(children, sizeof children, "%" PRId64, b);
    add("a", 2, children);
    add("a", 1, children);
    test_sql("INSERT INTO shardwheel_job (job_id, retry_wait_s) VALUES (%" PRId64 ", 30)", b);
    test_sql("UPDATE xxl_job_info SET trigger_status = 1 WHERE id = %" PRId64, b);
    take_out(&root, &(struct export_opts){0}, &out);
    assert_int_equal(out.document.group_count, 3);
    assert_int_equal(out.document.job_count, 3);
    const struct transfer_job *jobs = out.document.jobs;
    assert_string_equal(jobs[0].app_name, "app-1");
    assert_string_equal(jobs[0].row.name, "a");
    assert_int_equal(jobs[0].child_count, 1);
    assert_string_equal(jobs[0].children[0].name, "b");
    assert_true(jobs[1].running == 1 && jobs[1].settings.retry_wait_s == 30);
    assert_string_equal(jobs[2].app_name, "app-2");
    import(&root, &out.document, true);
    assert_string_equal(count(), "0 0 6 0 0");
    import(&root, &out.document, false);
    assert_string_equal(count(), "0 0 6 0 0");
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit WHERE action <> 'job.add'"), 0);
    test_sql("DELETE FROM shardwheel_job");
    test_sql("DELETE FROM xxl_job_info");
    import(&root, &out.document, true);
    assert_string_equal(count(), "3 0 3 0 0");
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_info"), 0);
    import(&root, &out.document, false);
    assert_string_equal(count(), "3 0 3 0 0");
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_info c JOIN xxl_job_info p ON p.child_jobid = c.id "
                              "WHERE c.job_desc = 'b' AND p.job_desc = 'a'"),
                     2);
    assert_int_equal(test_int("SELECT j.trigger_status + s.retry_wait_s FROM xxl_job_info j JOIN shardwheel_job s "
                              "ON s.job_id = j.id WHERE j.job_desc = 'b'"),
                     31);
    import(&root, &out.document, false);
    assert_string_equal(count(), "0 0 6 0 0");
    exporter_destroy(out.x);
}

static void an_export_has_what_the_actor_sees(void **state)
{
    (void)state;
    struct taken out;
    int64_t other = add("theirs", 2, NULL);
    char children[40];

    snprintf(children, sizeof children, "%" PRId64, other);
    add("ours", 1, children);
    take_out(&user, &(struct export_opts){0}, &out);
    assert_int_equal(out.document.group_count, 1);
    assert_int_equal(out.document.job_count, 1);
    assert_int_equal(out.document.jobs[0].child_count, 0); /* it has no name that he may know */
    assert_string_equal(out.document.jobs[0].row.children, children);
    exporter_destroy(out.x);
    take_out(&root, &(struct export_opts){.groups = (const int64_t[]){2}, .group_count = 1}, &out);
    assert_int_equal(out.document.group_count, 1);
    assert_string_equal(out.document.jobs[0].row.name, "theirs");
    exporter_destroy(out.x);
}

/* "app/name children" of each job, read by pages. */
static void list_by_pages(const struct export_opts *opts, struct buf *out)
{
    struct transfer page = {0};
    struct exporter *x = NULL;
    bool more = true;

    assert_fine(admin_begin_export(w.admin, &root, opts, &x, &why));
    while (more) {
        assert_fine(exporter_read_groups(x, &page, &more, &why));
        assert_true(page.group_count <= opts->page);
        for (size_t i = 0; i < page.group_count; i++)
            buf_printf(out, "%s ", page.groups[i].app_name);
    }
    for (more = true; more;) {
        assert_fine(exporter_read_jobs(x, &page, &more, &why));
        assert_true(page.job_count <= opts->page);
        for (size_t i = 0; i < page.job_count; i++)
            buf_printf(out, "%s/%s:%zu ", page.jobs[i].app_name, page.jobs[i].row.name, page.jobs[i].child_count);
    }
    exporter_destroy(x);
}

static void pages_make_one_list(void **state)
{
    (void)state;
    static const char *const names[] = {"b", "a", "B", "a ", "\xc3\xa9", "a\t", "a", "\xf0\x9f\x98\x80"};
    const size_t sizes[][2] = {{1, 1}, {2, 3}, {3, 2}, {2, 4}, {100, 9}};
    int64_t first = 0;
    char child[40] = "";

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        int64_t id = add("x", i == 0 ? 2 : 1, child);
        test_sql("UPDATE xxl_job_info SET job_desc = '%s' WHERE id = %" PRId64, names[i], id);
        first = first ? first : id;
        snprintf(child, sizeof child, "%" PRId64, first);
    }
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        struct buf out = {0};
        list_by_pages(&(struct export_opts){.page = sizes[i][0], .listed = sizes[i][1]}, &out);
        assert_string_equal(out.data,
                            "app-1 app-2 app-3 app-1/B:1 app-1/a:1 app-1/a:1 app-1/a\t:1 app-1/a :1 app-1/\xc3\xa9:1 "
                            "app-1/\xf0\x9f\x98\x80:1 app-2/b:0 ");
        buf_fini(&out);
    }
}

static void a_page_has_no_more_sources_than_memory_should_hold(void **state)
{
    (void)state;
    struct exporter *x = NULL;
    struct transfer page = {0};
    const size_t counts[] = {1, 2, 1};
    bool more;

    for (int i = 0; i < 4; i++) {
        int64_t id = add((const char[]){(char)('a' + i), 0}, 1, NULL);
        test_sql("UPDATE xxl_job_info SET glue_source = REPEAT('x', %d) WHERE id = %" PRId64,
                 i ? EXPORT_SOURCES_MAX / 2 : EXPORT_SOURCES_MAX - 10, id);
    }
    assert_fine(admin_begin_export(w.admin, &root, &(struct export_opts){0}, &x, &why));
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        assert_fine(exporter_read_jobs(x, &page, &more, &why));
        assert_int_equal(page.job_count, counts[i]);
        assert_int_equal(strlen(page.jobs[0].row.glue_source), i ? EXPORT_SOURCES_MAX / 2 : EXPORT_SOURCES_MAX - 10);
        assert_true(more == (i < 2));
    }
    exporter_destroy(x);
}

/* By the first 64 bytes alone. */
static void jobs_that_are_not_in_order_are_not_left_out_unseen(void **state)
{
    (void)state;
    struct exporter *x = NULL;
    struct transfer page;
    bool more;

    test_sql("SET GLOBAL max_sort_length = 64"); /* for sessions that begin now */
    for (int i = 9; i > 0; i--)
        test_sql("UPDATE xxl_job_info SET job_desc = CONCAT(REPEAT('x', 200), %d) WHERE id = %" PRId64, i,
                 add("x", 1, NULL));
    assert_fine(admin_begin_export(w.admin, &root, &(struct export_opts){0}, &x, &why));
    assert_refused(exporter_read_jobs(x, &page, &more, &why), REFUSED_BROKEN, "-");
    test_sql("SET GLOBAL max_sort_length = DEFAULT");
    exporter_destroy(x);
}

static void what_goes_meanwhile_is_left_out(void **state)
{
    (void)state;
    struct exporter *x = NULL;
    struct transfer page = {0};
    bool more;

    for (int i = 0; i < 4; i++)
        add((const char[]){(char)('a' + i), 0}, 1, NULL);
    assert_fine(admin_begin_export(w.admin, &root, &(struct export_opts){.page = 2}, &x, &why));
    assert_fine(exporter_read_jobs(x, &page, &more, &why));
    test_sql("DELETE FROM xxl_job_info WHERE job_desc = 'c'");
    assert_fine(exporter_read_jobs(x, &page, &more, &why));
    assert_int_equal(page.job_count, 1);
    assert_string_equal(page.jobs[0].row.name, "d");
    assert_false(more);
    exporter_destroy(x);
}

/* Lists leave them out: an import would empty the job's. */
static void large_sources_are_taken_out_as_well(void **state)
{
    (void)state;
    struct taken out;
    int64_t id = add("script", 1, NULL);

    add("other", 1, NULL);
    test_sql("UPDATE xxl_job_info SET glue_type = 'GLUE_SHELL', glue_source = REPEAT('s', 300000) WHERE id = %" PRId64,
             id);
    take_out(&root, &(struct export_opts){0}, &out);
    assert_int_equal(out.document.job_count, 2);
    assert_string_equal(out.document.jobs[1].row.name, "script");
    assert_int_equal(strlen(out.document.jobs[1].row.glue_source), 300000);
    import(&root, &out.document, true);
    assert_string_equal(count(), "0 0 5 0 0");
    exporter_destroy(out.x);
}

static void a_name_that_is_there_twice_is_refused(void **state)
{
    (void)state;
    struct transfer_job jobs[] = {job("app-1", "b"), job("app-1", "a"), job("app-1", "b")};
    struct transfer d = {.jobs = jobs, .job_count = 3};

    assert_refused(admin_import(w.admin, &root, &d, false, &result, &why), REFUSED_INVALID, "jobs");
    assert_string_equal(why.item, "app-1/b");
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_info"), 0);
    add("a", 1, NULL);
    add("a", 1, NULL);
    d.job_count = 2;
    import(&root, &d, false);
    assert_string_equal(count(), "1 0 0 1 0");
    assert_item(result.jobs[1], "refused", "jobDesc");
}

static void a_change_says_what_differs(void **state)
{
    (void)state;
    int64_t id = add("a", 1, NULL);
    struct transfer_job jobs[] = {job("app-1", "a")};
    struct transfer d = {.jobs = jobs, .job_count = 1};

    jobs[0].row.schedule_conf = "0 0 4 * * ?";
    jobs[0].running = 1;
    for (int dry = 1; dry >= 0; dry--) {
        import(&root, &d, dry);
        assert_item(result.jobs[0], "change", "");
        assert_int_equal(result.jobs[0].id, id);
        assert_string_equal(result.jobs[0].before, "{\"scheduleConf\":\"0 0 3 * * ?\"}");
        assert_string_equal(result.jobs[0].after, "{\"scheduleConf\":\"0 0 4 * * ?\"}");
        assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_info WHERE schedule_conf = '0 0 4 * * ?' AND "
                                  "trigger_status = 1"),
                         !dry);
    }
    import(&root, &d, false);
    assert_item(result.jobs[0], "same", "");
    jobs[0].running = 0;
    import(&root, &d, false);
    assert_string_equal(result.jobs[0].before, "{\"running\":true}");
    assert_int_equal(test_int("SELECT trigger_status FROM xxl_job_info"), 0);
    jobs[0].row.schedule_conf = "nonsense";
    for (int dry = 1; dry >= 0; dry--) {
        import(&root, &d, dry);
        assert_item(result.jobs[0], "refused", "scheduleConf");
    }
    jobs[0] = job("app-1", "a");
    jobs[0].row.schedule_conf = "0 0 4 * * ?";
    jobs[0].row.glue_type = "GLUE_SHELL";
    import(&root, &d, false);
    assert_item(result.jobs[0], "refused", "glueType");
}

static void a_source_that_differs_becomes_a_version(void **state)
{
    (void)state;
    struct transfer_job jobs[] = {job("app-1", "a")};
    struct transfer d = {.jobs = jobs, .job_count = 1};

    jobs[0].row.glue_type = "GLUE_SHELL";
    jobs[0].row.glue_source = "echo 1";
    import(&root, &d, false);
    assert_item(result.jobs[0], "create", "");
    jobs[0].row.glue_source = "echo 2";
    for (int dry = 1; dry >= 0; dry--) {
        import(&root, &d, dry);
        assert_item(result.jobs[0], "change", "");
        assert_non_null(strstr(result.jobs[0].after, "\"glueSource\":{\"length\":6,"));
        assert_string_equal(test_text("SELECT glue_source FROM xxl_job_info"), dry ? "echo 1" : "echo 2");
    }
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_logglue WHERE glue_source = 'echo 2'"), 1);
    import(&root, &d, false);
    assert_item(result.jobs[0], "same", "");
}

static void groups_are_made_and_changed(void **state)
{
    (void)state;
    struct group_info groups[] = {
        {.app_name = "app-1", .title = "one", .address_type = 1, .address_list = "http://127.0.0.1:1"},
        {.app_name = "fresh", .title = "new", .address_type = 0}};
    struct transfer_name child = {"fresh", "b"};
    struct transfer_job jobs[] = {job("fresh", "a"), job("fresh", "b"), job("nowhere", "c")};
    struct transfer d = {.groups = groups, .group_count = 2, .jobs = jobs, .job_count = 3};

    jobs[0].children = &child;
    jobs[0].child_count = 1;
    for (int dry = 1; dry >= 0; dry--) {
        import(&root, &d, dry);
        assert_string_equal(count(), "3 1 0 1 0");
        assert_item(result.jobs[2], "refused", "appname");
        assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_group WHERE app_name = 'fresh'"), !dry);
    }
    assert_string_equal(test_text("SELECT title FROM xxl_job_group WHERE app_name = 'app-1'"), "one");
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_info c JOIN xxl_job_info p ON p.child_jobid = c.id"), 1);
    import(&root, &d, false);
    assert_string_equal(count(), "0 0 4 1 0");
}

static void who_may_not_is_refused_item_by_item(void **state)
{
    (void)state;
    struct group_info groups[] = {{.app_name = "fresh", .title = "new"}, {.app_name = "app-1", .title = "mine now"}};
    struct transfer_job jobs[] = {job("app-1", "a"), job("app-2", "a")};
    struct transfer d = {.groups = groups, .group_count = 2, .jobs = jobs, .job_count = 2};

    for (int dry = 1; dry >= 0; dry--) {
        import(&user, &d, dry);
        assert_item(result.groups[0], "refused", "");
        assert_item(result.groups[1], "refused", "");
        assert_item(result.jobs[0], "create", "");
        assert_item(result.jobs[1], "refused", "appname"); /* he does not see that group */
    }
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_info"), 1);
    import(&reader, &d, false);
    assert_item(result.jobs[0], "refused", "");
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_group WHERE title <> 'g'"), 0);
}

static void a_child_that_nobody_has_is_told(void **state)
{
    (void)state;
    struct transfer_name child = {"app-1", "nobody"};
    struct transfer_job jobs[] = {job("app-1", "a")};
    struct transfer d = {.jobs = jobs, .job_count = 1};

    jobs[0].children = &child;
    jobs[0].child_count = 1;
    for (int dry = 1; dry >= 0; dry--) {
        import(&root, &d, dry);
        assert_item(result.jobs[0], "refused", "children");
        assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_info WHERE job_desc = 'a'"), !dry); /* the rest is */
    }
}

static int end(void **state)
{
    transfer_result_fini(&result);
    return teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_taken_out_is_the_same_when_put_in, setup, end),
        cmocka_unit_test_setup_teardown(an_export_has_what_the_actor_sees, setup, end),
        cmocka_unit_test_setup_teardown(large_sources_are_taken_out_as_well, setup, end),
        cmocka_unit_test_setup_teardown(pages_make_one_list, setup, end),
        cmocka_unit_test_setup_teardown(a_page_has_no_more_sources_than_memory_should_hold, setup, end),
        cmocka_unit_test_setup_teardown(jobs_that_are_not_in_order_are_not_left_out_unseen, setup, end),
        cmocka_unit_test_setup_teardown(what_goes_meanwhile_is_left_out, setup, end),
        cmocka_unit_test_setup_teardown(a_name_that_is_there_twice_is_refused, setup, end),
        cmocka_unit_test_setup_teardown(a_change_says_what_differs, setup, end),
        cmocka_unit_test_setup_teardown(a_source_that_differs_becomes_a_version, setup, end),
        cmocka_unit_test_setup_teardown(groups_are_made_and_changed, setup, end),
        cmocka_unit_test_setup_teardown(who_may_not_is_refused_item_by_item, setup, end),
        cmocka_unit_test_setup_teardown(a_child_that_nobody_has_is_told, setup, end),
    };
    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}

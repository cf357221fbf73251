/* SPDX-License-Identifier: MIT */
/* Children of runs that end well: their rows and the lines about them, in the transaction of the callback. */
#include "store/test_proxy.h"
#include "store/test_schema.h"
#include "shardwheel/job.h"
#include "shardwheel/store/plan.h"
#include "shardwheel/store/run.h"

#define NOW_S INT64_C(1700000000)
#define INCARNATION "0123456789abcdef"
#define HEADING "<br><br><span style=\"color:#00c0ef;\" > >>>>>>>>>>>child jobs<<<<<<<<<<< </span><br>"

static struct store *st;
static struct store_session *s;
static struct children children;

static int set_up(void **state)
{
    (void)state;
    st = test_db_fresh(1, NOW_S);
    s = test_take(st, SESSION_NORMAL);
    children = (struct children){.incarnation = INCARNATION};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fire_destroy_list(children.made);
    fire_destroy_list(children.doubtful);
    store_give_session(st, s);
    store_destroy(st);
    return 0;
}

static void add_job(int64_t id, const char *list)
{
    test_add_job(id, 0);
    test_sql("UPDATE xxl_job_info SET trigger_status = 0, child_jobid = '%s', executor_fail_retry_count = 2 "
             "WHERE id = %" PRId64,
             list, id);
}

static int64_t add_log(int64_t job, const char *msg)
{
    test_sql("INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, trigger_msg, handle_code) VALUES "
             "(1, %" PRId64 ", '2023-11-15 06:13:20', 200, '%s', 0)",
             job, msg);
    return test_int("SELECT MAX(id) FROM xxl_job_log");
}

static enum err report(int64_t log_id, int code, const char *message, struct errctx *ec)
{
    struct callback_entry entry = {.log_id = log_id, .code = code, .message = message};

    return store_write_callbacks(s, &entry, 1, NOW_S, &children, ec);
}

static const char *message_of(int64_t log_id)
{
    return test_text("SELECT handle_msg FROM xxl_job_log WHERE id = %" PRId64, log_id);
}

/* Log ids of children, which are new, as #1, #2. */
static const char *numbered(const char *text, int64_t first)
{
    static char out[20000];
    char id[30];

    snprintf(out, sizeof out, "%s", text);
    for (int i = 3; i >= 1; i--) {
        snprintf(id, sizeof id, "log %" PRId64, first + i - 1);
        for (char *at; (at = strstr(out, id)) != NULL;) {
            at[0] = '#';
            at[1] = (char)('0' + i);
            memmove(at + 2, at + strlen(id), strlen(at + strlen(id)) + 1);
        }
    }
    return out;
}

/* ---- the rules ----------------------------------------------------------------------------------------------- */

static void the_list_of_children_is_followed(void **state)
{
    static const struct {
        const char *list;
        int code;
        size_t made;
        const char *message;
    } cases[] = {
        {"", 200, 0, "done"},
        {"  ", 200, 0, "done"},
        {"7", 500, 0, "done"},
        {"7", 502, 0, "done"},
        {"7", 201, 0, "done"},
        {"7", 0, 0, "done"},
        {"7", -1, 0, "done"},
        {"7", 200, 1, "done" HEADING "1/1: job 7 triggered as #1<br>"},
        {"7,8", 200, 2, "done" HEADING "1/2: job 7 triggered as #1<br>2/2: job 8 triggered as #2<br>"},
        {"7,7", 200, 2, "done" HEADING "1/2: job 7 triggered as #1<br>2/2: job 7 triggered as #2<br>"},
        {"5", 200, 0, "done" HEADING},
        {"5,7", 200, 1, "done" HEADING "2/2: job 7 triggered as #1<br>"},
        {"7,99,8", 200, 2,
         "done" HEADING "1/3: job 7 triggered as #1<br>2/3: job 99 does not exist<br>3/3: job 8 triggered as #2<br>"},
        {"x<b>, 7,99999999999999,7,,", 200, 1,
         "done" HEADING "1/4: no job id: x&lt;b&gt;<br>2/4: no job id:  7<br>3/4: no job id: 99999999999999<br>"
         "4/4: job 7 triggered as #1<br>"},
        {",", 200, 0, "done" HEADING},
    };

    (void)state;
    add_job(5, "");
    add_job(7, "");
    add_job(8, "");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t made = 0;
        test_sql("UPDATE xxl_job_info SET child_jobid = '%s' WHERE id = 5", cases[i].list);
        int64_t id = add_log(5, "");
        assert_ok(report(id, cases[i].code, "done", ec));
        for (const struct fire *f = children.made; f; f = f->next)
            made++;
        assert_int_equal(made, cases[i].made);
        assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log WHERE id > %" PRId64, id), made);
        assert_string_equal(numbered(message_of(id), children.made ? children.made->log_id : 0), cases[i].message);
        fire_destroy_list(children.made);
        children.made = NULL;
        assert_null(children.doubtful);
    }
}

static void a_child_is_a_direct_fire_with_its_own_settings(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(test_families); i++) {
        store_give_session(st, s);
        store_destroy(st);
        st = test_db_fresh(1, NOW_S);
        add_job(5, "7");
        add_job(7, "5");
        test_make_family(test_families[i]);
        test_sql("UPDATE xxl_job_group SET address_type = 1, address_list = 'http://a, http://b' WHERE id = 1");
        store_destroy(st);
        st = test_store();
        s = test_take(st, SESSION_NORMAL);
        int64_t id = add_log(5, "<!--sw:p:1:1-->");
        assert_ok(report(id, 200, NULL, ec));
        const struct fire *f = children.made;
        assert_non_null(f);
        assert_null(f->next);
        assert_int_equal(f->generation, 1);
        assert_int_equal(f->due_s, NOW_S);
        assert_int_equal(f->target->count, 2);
        assert_true(f->target->manual);
        assert_string_equal(test_text("SELECT CONCAT_WS('|', job_group, job_id, executor_handler, executor_param, "
                                      "executor_fail_retry_count, trigger_time, trigger_code, trigger_msg, "
                                      "handle_code, alarm_status) FROM xxl_job_log WHERE id = %" PRId64,
                                      f->log_id),
                            "1|7|demo|p|2|2023-11-15 06:13:20|0|<!--sw:d:" INCARNATION ":1700000000:P:G1-->|0|0");
        fire_destroy_list(children.made);
        children.made = NULL;
    }
}

static void a_broadcast_child_has_a_row_for_each_address(void **state)
{
    (void)state;
    add_job(5, "7");
    add_job(7, "");
    test_sql("UPDATE xxl_job_info SET executor_route_strategy = 'SHARDING_BROADCAST' WHERE id = 7");
    test_sql("UPDATE xxl_job_group SET address_list = 'http://a,http://b,http://c' WHERE id = 1");
    test_sql("SET GLOBAL auto_increment_increment = 3");
    store_give_session(st, s);
    store_destroy(st);
    st = test_store();
    s = test_take(st, SESSION_NORMAL);
    int64_t id = add_log(5, "");
    assert_ok(report(id, 200, "done", ec));
    test_sql("SET GLOBAL auto_increment_increment = 1");
    int i = 0;
    for (const struct fire *f = children.made; f; f = f->next, i++) {
        char expected[40];
        snprintf(expected, sizeof expected, "http://%c|%d/3", 'a' + i, i);
        assert_string_equal(test_text("SELECT CONCAT_WS('|', executor_address, executor_sharding_param) FROM "
                                      "xxl_job_log WHERE id = %" PRId64,
                                      f->log_id),
                            expected);
    }
    assert_int_equal(i, 3);
    assert_non_null(strstr(message_of(id), "and 2 more<br>"));
}

static void a_child_whose_group_is_gone_has_a_row_to_say_so(void **state)
{
    (void)state;
    add_job(5, "7");
    add_job(7, "");
    test_sql("UPDATE xxl_job_info SET job_group = 99 WHERE id = 7");
    assert_ok(report(add_log(5, ""), 200, "done", ec));
    assert_non_null(children.made);
    assert_null(children.made->target);
    assert_int_equal(children.made->group, 99);
}

/* ---- once ------------------------------------------------------------------------------------------------------ */

static void a_repeat_makes_no_more(void **state)
{
    struct callback_entry twice[] = {{.code = 200, .message = "a"}, {.code = 200, .message = "b"}, {.code = 500}};

    (void)state;
    add_job(5, "7");
    add_job(7, "");
    int64_t id = add_log(5, ""), other = add_log(7, "");
    twice[0].log_id = twice[1].log_id = id;
    twice[2].log_id = other;
    for (int i = 0; i < 2; i++)
        assert_ok(store_write_callbacks(s, twice, 3, NOW_S, &children, ec));
    assert_int_equal(twice[0].outcome, CALLBACK_REPEATED);
    assert_non_null(children.made);
    assert_null(children.made->next);
    assert_ok(report(id, 200, "c", ec));
    assert_null(children.made->next);
    /* A failure that a later callback makes a success, as the original has it for codes below 1. */
    int64_t third = add_log(5, "");
    assert_ok(report(third, -1, "bad", ec));
    assert_ok(report(third, 200, "good", ec));
    assert_non_null(children.made->next);
    assert_memory_equal(message_of(third), "bad<br>good<br><br><span", 24);
}

static void others_of_the_batch_take_the_quick_way(void **state)
{
    enum { N = 700 };
    static struct callback_entry c[N];
    size_t made = 0;

    (void)state;
    add_job(5, "7");
    add_job(7, "");
    for (int i = 0; i < N; i++)
        c[i] = (struct callback_entry){.log_id = add_log(i % 3 ? 7 : 5, ""), .code = 200, .message = "m"};
    assert_ok(store_write_callbacks(s, c, N, NOW_S, &children, ec));
    for (int i = 0; i < N; i++)
        assert_int_equal(c[i].outcome, CALLBACK_STORED);
    for (const struct fire *f = children.made; f; f = f->next)
        made++;
    assert_int_equal(made, (N + 2) / 3);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log WHERE handle_code = 200 AND handle_msg = 'm'"),
                     N - (N + 2) / 3);
    assert_int_equal(test_int("SELECT COUNT(DISTINCT id) FROM xxl_job_log WHERE handle_msg LIKE 'm<br><br>%%'"),
                     (N + 2) / 3);
}

/* What was sent a moment ago is known from then; no statement is spent on it. */
static void nobody_looks_for_children_of_the_childless(void **state)
{
    struct callback_entry c = {.code = 200, .childless = true};

    (void)state;
    add_job(5, "7");
    add_job(7, "");
    c.log_id = add_log(5, "");
    int64_t selects = test_commands("COM_SELECT");
    assert_ok(store_write_callbacks(s, &c, 1, NOW_S, &children, ec));
    assert_null(children.made);
    assert_int_equal(test_commands("COM_SELECT") - selects, 1); /* this one */
}

static void jobs_tell_whether_they_have_children(void **state)
{
    static const struct {
        const char *list;
        bool childless;
    } cases[] = {{"NULL", true}, {"''", true}, {"'  '", true}, {"'7'", false}, {"','", false}};
    struct job_spec *job = NULL;

    (void)state;
    add_job(5, "");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        test_sql("UPDATE xxl_job_info SET child_jobid = %s WHERE id = 5", cases[i].list);
        assert_ok(store_load_job_specs(s, (int64_t[]){5}, 1, &job, ec));
        assert_int_equal(job->childless, cases[i].childless);
        struct job_spec *copy = job_spec_copy(job, NULL, 1);
        assert_int_equal(copy->childless, cases[i].childless);
        job_spec_unref(copy);
        job_spec_unref(job);
    }
}

/* ---- bounds ---------------------------------------------------------------------------------------------------- */

static void generations_end(void **state)
{
    char mark[100];
    struct fire fire = {.due_s = 1, .kind = TRIGGER_PARENT, .generation = CHILD_GENERATIONS - 1};

    (void)state;
    add_job(5, "7");
    add_job(7, "5");
    fire_format_direct_mark(&fire, "ab", mark);
    assert_ok(report(add_log(5, mark), 200, NULL, ec));
    assert_non_null(children.made);
    assert_int_equal(children.made->generation, CHILD_GENERATIONS);
    int64_t last = children.made->log_id;
    assert_ok(report(last, 200, NULL, ec));
    assert_null(children.made->next);
    assert_non_null(strstr(message_of(last), "1/1: job 5 not triggered: 100 generations"));
}

/* What was lost before it is no generation of its children, and their own lost runs count anew. */
static void lost_runs_are_no_generations(void **state)
{
    char mark[100];
    struct fire fire = {.due_s = 1, .kind = TRIGGER_RETRY, .generation = 2 * GENERATION_LOST + 4};

    (void)state;
    add_job(5, "7");
    add_job(7, "");
    fire_format_direct_mark(&fire, "ab", mark);
    assert_ok(report(add_log(5, mark), 200, NULL, ec));
    assert_non_null(children.made);
    assert_int_equal(children.made->generation, 5);
}

static enum err look(void *arg, struct failed_row *row, struct errctx *ec)
{
    (void)ec;
    *(int *)arg = row->generation;
    row->alarm = ALARM_DONE;
    return ERR_OK;
}

/* Its retry is one, too. */
static void a_failed_row_tells_its_generation(void **state)
{
    struct failed_batch batch = {0};
    int generation = -1;
    int64_t id = add_log(5, "<!--sw:d:ab:1:R:G7-->");

    (void)state;
    test_sql("UPDATE xxl_job_log SET handle_code = 500 WHERE id = %" PRId64, id);
    assert_ok(store_handle_failures(s, &id, 1, INCARNATION, look, &generation, &batch, ec));
    assert_int_equal(generation, 7);
    failed_batch_fini(&batch);
}

static void lines_are_cut_and_the_children_run(void **state)
{
    static const char *const fillers[] = {"x", "\xc3\xbc", "\xf0\x9f\x98\x80"};
    static const int units[] = {1, 1, 2};

    (void)state;
    add_job(5, "7");
    add_job(7, "");
    for (size_t i = 0; i < ARRAY_LEN(fillers); i++) {
        struct buf text = {0};
        for (int n = 0; n < 15000 / units[i] - 3; n++)
            buf_puts(&text, fillers[i]);
        int64_t id = add_log(5, "");
        assert_ok(report(id, 200, text.data, ec));
        assert_non_null(children.made);
        assert_int_equal(
            test_int("SELECT LENGTH(CONVERT(handle_msg USING utf16)) DIV 2 FROM xxl_job_log WHERE id = %" PRId64, id),
            15000);
        assert_memory_equal(message_of(id), text.data, text.len);
        buf_fini(&text);
        fire_destroy_list(children.made);
        children.made = NULL;
    }
}

/* ---- an outcome that is not known ------------------------------------------------------------------------------ */

static void what_came_of_rows_is_found_by_one(void **state)
{
    bool found = false;

    (void)state;
    add_job(5, "7");
    add_job(7, "");
    assert_ok(report(add_log(5, ""), 200, NULL, ec));
    assert_ok(store_find_direct(s, children.made, INCARNATION, &found, ec));
    assert_true(found);
    assert_ok(store_find_direct(s, children.made, "other", &found, ec));
    assert_false(found);
    children.made->log_id++;
    assert_ok(store_find_direct(s, children.made, INCARNATION, &found, ec));
    assert_false(found);
}

static void a_lost_commit_leaves_its_children_in_doubt(void **state)
{
    static const enum test_proxy_mode modes[] = {PROXY_LOSE_COMMIT, PROXY_LOSE_ANSWER};
    struct test_proxy proxy;
    struct callback_entry c = {.code = 200};

    (void)state;
    add_job(5, "7");
    add_job(7, "");
    test_proxy_start(&proxy);
    test_db.opts.socket = proxy.path;
    struct store *broken = test_store();
    test_db.opts.socket = test_db.socket;
    struct store_session *b = test_take(broken, SESSION_NORMAL);
    for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
        bool found = false;
        struct errctx why;
        c.log_id = add_log(5, "");
        atomic_store(&proxy.mode, modes[m]);
        assert_int_equal(store_write_callbacks(b, &c, 1, NOW_S, &children, &why), ERR_UNKNOWN);
        assert_null(children.made);
        assert_non_null(children.doubtful);
        assert_ok(store_find_direct(s, children.doubtful, INCARNATION, &found, ec));
        assert_int_equal(found, modes[m] == PROXY_LOSE_ANSWER);
        assert_int_equal(test_int("SELECT handle_code FROM xxl_job_log WHERE id = %" PRId64, c.log_id),
                         found ? 200 : 0);
        fire_destroy_list(children.doubtful);
        children.doubtful = NULL;
    }
    store_give_session(broken, b);
    store_destroy(broken);
    test_proxy_stop(&proxy);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(the_list_of_children_is_followed),
        T(a_child_is_a_direct_fire_with_its_own_settings),
        T(a_broadcast_child_has_a_row_for_each_address),
        T(a_child_whose_group_is_gone_has_a_row_to_say_so),
        T(a_repeat_makes_no_more),
        T(others_of_the_batch_take_the_quick_way),
        T(nobody_looks_for_children_of_the_childless),
        T(jobs_tell_whether_they_have_children),
        T(generations_end),
        T(lost_runs_are_no_generations),
        T(a_failed_row_tells_its_generation),
        T(lines_are_cut_and_the_children_run),
        T(what_came_of_rows_is_found_by_one),
        T(a_lost_commit_leaves_its_children_in_doubt),
    };
    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}

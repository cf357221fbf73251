/* SPDX-License-Identifier: MIT */
/* Reading what happened: who sees which rows, pages, points in time and their quantiles. */
#include "store/test_db.h"

#include "shardwheel/admin/explain.h"
#include "shardwheel/admin/history.h"
#include "shardwheel/admin/timeline.h"
#include "shardwheel/store/schema.h"

#define NOW_S INT64_C(1700049600) /* 2023-11-15 12:00:00 UTC */
#define NOW_MS (NOW_S * 1000)

static const struct history_place newest = {.at_ms = INT64_MAX};
static const int64_t three[] = {3};

static struct world {
    struct store *st;
    struct admin *a;
    struct zone *utc;
    struct refusal why;
} w;

static const struct actor admin = {.name = "admin", .role = ROLE_ADMIN, .rights = RIGHTS_ALL};
static const struct actor ann = {
    .name = "ann", .role = ROLE_USER, .rights = RIGHTS_ALL, .groups = three, .group_count = 1};
static const struct actor rose = {.name = "rose", .role = ROLE_READER, .rights = RIGHTS_ALL, .all_groups = true};
static const struct actor writer = {.name = "token", .role = ROLE_ADMIN, .rights = RIGHT_CHANGE};

static int begin(void **state)
{
    (void)state;
    w.st = test_db_fresh(1, NOW_S);
    assert_ok(zone_load("UTC", &w.utc, ec));
    assert_ok(admin_create(&(struct admin_opts){.store = w.st, .zone = w.utc}, clock_system(), NULL, &w.a, ec));
    return 0;
}

static int finish(void **state)
{
    (void)state;
    admin_destroy(w.a);
    zone_destroy(w.utc);
    store_destroy(w.st);
    return 0;
}

/* ---- audit and events -------------------------------------------------------------------------------------------- */

static void add_audit(int64_t at_ms, const char *action, int64_t target, int64_t group)
{
    test_sql("INSERT INTO shardwheel_audit (at_ms, user_id, who, address, via, action, target, target_name, job_group) "
             "VALUES (%" PRId64 ", 1, 'ann', '', '', '%s', %" PRId64 ", '', %" PRId64 ")",
             at_ms, action, target, group);
}

static const char *list_audit(const struct actor *actor, struct audit_filter filter, size_t max)
{
    static char out[200];
    struct audit_page page;
    size_t n = 0;

    if (admin_list_audit(w.a, actor, &filter, newest, max, &page, &w.why))
        return refusal_name(w.why.kind);
    out[0] = '\0';
    for (size_t i = 0; i < page.count; i++)
        n += (size_t)snprintf(out + n, sizeof out - n, "%s%s", i ? " " : "", page.items[i].row.action);
    audit_page_fini(&page);
    return out;
}

static void rows_of_audit_are_for_who_sees_their_group(void **state)
{
    (void)state;
    add_audit(1, "job.start", 7, 3);
    add_audit(2, "job.stop", 8, 4);
    add_audit(3, "user.add", 9, 0);
    assert_string_equal(list_audit(&admin, (struct audit_filter){0}, 9), "user.add job.stop job.start");
    assert_string_equal(list_audit(&rose, (struct audit_filter){0}, 9), "job.stop job.start");
    assert_string_equal(list_audit(&ann, (struct audit_filter){0}, 9), "job.start");
    assert_string_equal(list_audit(&ann, (struct audit_filter){.job_group = 3}, 9), "job.start");
    assert_string_equal(list_audit(&ann, (struct audit_filter){.job_group = 4}, 9), "forbidden");
    assert_string_equal(list_audit(&writer, (struct audit_filter){0}, 9), "forbidden");
    assert_string_equal(list_audit(&admin, (struct audit_filter){0}, 2), "user.add job.stop");
}

static const char *list_changes(const struct actor *actor, int64_t job)
{
    static char out[100];
    struct audit_page page;

    if (admin_list_job_changes(w.a, actor, job, newest, 9, &page, &w.why))
        return refusal_name(w.why.kind);
    snprintf(out, sizeof out, "%zu", page.count);
    audit_page_fini(&page);
    return out;
}

static void changes_of_a_job_are_for_who_sees_it(void **state)
{
    (void)state;
    test_sql("DELETE FROM xxl_job_info");
    test_add_job(7, 0);
    test_add_job(8, 0);
    test_sql("UPDATE xxl_job_info SET job_group = IF(id = 7, 3, 4)");
    add_audit(1, "job.start", 7, 3);
    add_audit(2, "glue.save", 7, 3);
    add_audit(3, "group.update", 7, 7);
    add_audit(4, "job.remove", 9, 3);
    assert_string_equal(list_changes(&ann, 7), "2");
    assert_string_equal(list_changes(&ann, 8), "forbidden");
    assert_string_equal(list_changes(&admin, 8), "0");
    assert_string_equal(list_changes(&ann, 9), "1"); /* it is gone, and was of his group */
    assert_string_equal(list_changes(&admin, 10), "unknown");
}

static void events_of_jobs_are_for_who_sees_their_group(void **state)
{
    const struct event_row rows[] = {
        {.at_ms = 1, .kind = "node-joined", .node = "n1", .shard = -1, .detail = "n1"},
        {.at_ms = 2, .kind = "job-changed", .node = "n1", .shard = -1, .job_id = 7, .job_group = 3, .detail = "7"},
        {.at_ms = 3, .kind = "job-changed", .node = "n1", .shard = -1, .job_id = 8, .job_group = 4, .detail = "8"},
    };
    const struct {
        const struct actor *actor;
        size_t count;
    } table[] = {{&admin, 3}, {&rose, 3}, {&ann, 2}};
    struct store_session *s = test_take(w.st, SESSION_NORMAL);
    struct event_page page;
    (void)state;

    assert_ok(store_write_events(s, rows, 3, ec));
    store_give_session(w.st, s);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        assert_int_equal(admin_list_events(w.a, table[i].actor, &(struct event_filter){0}, newest, 9, &page, &w.why),
                         ERR_OK);
        assert_int_equal(page.count, table[i].count);
        event_page_fini(&page);
    }
    assert_int_equal(admin_list_events(w.a, &admin, &(struct event_filter){0}, newest, 2, &page, &w.why), ERR_OK);
    assert_int_equal(page.count, 2); /* as many as are asked for */
    event_page_fini(&page);
    assert_int_equal(admin_list_events(w.a, &writer, &(struct event_filter){0}, newest, 9, &page, &w.why), ERR_DENIED);
}

/* ---- minutes ----------------------------------------------------------------------------------------------------- */

static void minutes_of_all_nodes_become_points(void **state)
{
    struct minute_row rows[] = {{.minute_s = NOW_S, .fires = 5, .undelivered = 1, .succeeded = 3, .failed = 1},
                                {.minute_s = NOW_S + 240, .fires = 2},
                                {.minute_s = NOW_S + 300, .fires = 7}};
    struct store_session *s = test_take(w.st, SESSION_NORMAL);
    struct history_points points;
    (void)state;

    rows[0].lateness[0] = 3;
    rows[0].late_sum_ms = 6;
    assert_ok(store_write_minutes(s, "aa", rows, 3, ec));
    assert_ok(store_write_minutes(s, "bb", rows, 1, ec));
    store_give_session(w.st, s);
    assert_int_equal(admin_load_minutes(w.a, &ann, NOW_MS + 90000, NOW_MS + 301000, 300, &points, &w.why), ERR_OK);
    assert_int_equal(points.count, 2);
    assert_int_equal(points.items[0].from_ms, NOW_MS);
    assert_int_equal(points.items[0].sum.fires, 12);
    assert_int_equal(points.items[0].sum.undelivered, 2);
    assert_int_equal(points.items[0].sum.succeeded, 6);
    assert_int_equal(points.items[0].sum.failed, 2);
    assert_int_equal(points.items[0].sent, 6);
    assert_int_equal(points.items[1].sum.fires, 7);
    assert_int_equal(points.sum.from_ms, NOW_MS);
    assert_int_equal(points.sum.sum.fires, 19);
    assert_int_equal(points.sum.sum.failed, points.items[0].sum.failed + points.items[1].sum.failed);
    assert_int_equal(points.sum.sent, points.items[0].sent + points.items[1].sent);
    history_points_fini(&points);
    assert_int_equal(admin_load_minutes(w.a, &ann, NOW_MS, NOW_MS + 300000, 60, &points, &w.why), ERR_OK);
    assert_int_equal(points.count, 5);
    assert_int_equal(points.items[4].sum.fires, 2);
    history_points_fini(&points);
}

static void ranges_of_points_are_bounded(void **state)
{
    const struct {
        int64_t length_ms, step_s;
        enum refusal_kind kind;
        const char *field;
    } table[] = {{60000, 61, REFUSED_INVALID, "step"},
                 {0, 60, REFUSED_INVALID, "to"},
                 {(int64_t)HISTORY_POINTS_MAX * 60000 + 1, 60, REFUSED_LIMIT, "step"}};
    struct history_points points;
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        assert_int_not_equal(
            admin_load_minutes(w.a, &admin, NOW_MS, NOW_MS + table[i].length_ms, table[i].step_s, &points, &w.why),
            ERR_OK);
        assert_int_equal(w.why.kind, table[i].kind);
        assert_string_equal(w.why.field, table[i].field);
    }
    assert_int_equal(
        admin_load_minutes(w.a, &admin, NOW_MS, NOW_MS + (int64_t)HISTORY_POINTS_MAX * 60000, 60, &points, &w.why),
        ERR_OK);
    assert_int_equal(points.count, HISTORY_POINTS_MAX);
    history_points_fini(&points);
}

static void quantiles_lie_within_their_bounds(void **state)
{
    struct history_point p = {0};
    (void)state;

    assert_true(history_find_quantile_ms(&p, 0.5) < 0);
    p.sum.lateness[2] = 100; /* 2 to 5 ms */
    p.sent = 100;
    assert_int_equal(history_find_quantile_ms(&p, 0.5) * 1000 + 0.5, 3500);
    assert_int_equal(history_find_quantile_ms(&p, 1) * 1000 + 0.5, 5000);
    p.sum.lateness[HISTOGRAM_BUCKETS] = 100; /* beyond a minute */
    p.sent = 200;
    assert_int_equal(history_find_quantile_ms(&p, 0.5) * 1000 + 0.5, 5000);
    assert_int_equal(history_find_quantile_ms(&p, 0.99) + 0.5, 60000);
}

/* ---- explain: what comes from the tables ------------------------------------------------------------------------- */

static void add_row(int64_t id, const char *time, int trigger_code, int handle_code, const char *trigger_msg,
                    const char *handle_msg)
{
    test_sql("INSERT INTO xxl_job_log (id, job_group, job_id, executor_address, trigger_time, trigger_code, "
             "trigger_msg, handle_time, handle_code, handle_msg) VALUES (%" PRId64 ", 3, 7, 'http://a/', '2023-11-15 "
             "%s', %d, '%s', IF(%d, '2023-11-15 %s', NULL), %d, '%s')",
             id, time, trigger_code, trigger_msg, handle_code, time, handle_code, handle_msg);
}

static void assert_says(const struct explain_item *item, const char *wanted)
{
    struct buf text = {0};

    explain_put_text(&text, item);
    assert_string_equal(text.data, wanted);
    buf_fini(&text);
}

#define MARK(s) "<!--sw:p:" s ":1-->"
#define HEAD "trigger type: cron<br>node: n1"

/* A minute each; local time of the store's zone is eight hours ahead. */
static void explanations_read_all_tables(void **state)
{
    static const char *const wanted[] = {
        "It was sent on time and succeeded after 0 s.",
        "It was sent on time, but it could not be delivered: not sent: connection <refused>; retry 1 (run 60) "
        "succeeded after 0 s.",
        "It was sent on time, but it is not known whether the executor received it (delivery unknown: the node that "
        "was to send this went away; it may have reached its executor or not).",
        "It was skipped by the misfire strategy, as one of 2 due times (DO_NOTHING): no node had planned it in time.",
        "It was skipped by the misfire strategy, as one of 2 due times (DO_NOTHING): no node had planned it in time.",
        "It was sent on time, but its executor lost the run: no sign of life.",
        "The job was stopped at that time: it was stopped by ann (console A) at 2023-11-15 12:05:30Z.",
    };
    struct explanation ex = {0};
    (void)state;

    test_sql("DELETE FROM xxl_job_info");
    test_sql("DELETE FROM xxl_job_log");
    test_add_job(7, 0);
    test_sql("UPDATE xxl_job_info SET job_group = 3, trigger_status = 0, add_time = '2020-01-01' WHERE id = 7");
    add_row(50, "20:00:00", 200, 200, MARK("1700049600") HEAD, "");
    add_row(51, "20:01:00", 500, 0,
            MARK("1700049660") HEAD
            "<br><br>executor address: none<br>result: failed<br>code: 500<br>reason: "
            "not sent: connection &lt;refused&gt;<br><br><span style=\"\">retry: sent again as log "
            "60<!--sw:r:60--></span>",
            "");
    add_row(52, "20:02:00", 500, 0,
            MARK("1700049720") "delivery unknown: the node that was to send this went away; it may have reached its "
                               "executor or not",
            "");
    add_row(53, "20:03:00", 500, 0,
            "<!--sw:s:2-->due times skipped: 2: x<br>not planned in time, misfire strategy "
            "DO_NOTHING",
            "");
    add_row(54, "20:05:00", 200, 500, MARK("1700049900") HEAD, "<!--sw:l-->no sign of life");
    add_row(60, "21:30:00", 200, 200, "<!--sw:d:aa:1700055000:R-->" HEAD, ""); /* the retry is out of the range */
    test_sql("INSERT INTO shardwheel_audit (at_ms, user_id, who, address, via, action, target, target_name, job_group, "
             "before_json, after_json) VALUES (%" PRId64 ", 1, 'ann', '', 'console A', 'job.stop', 7, '', 3, "
             "'{\"running\":true}', '{\"running\":false}')",
             NOW_MS + 330000);
    if (admin_explain_job(w.a, &ann, 7, NOW_MS, NOW_MS + 420000, &ex, &w.why))
        fail_msg("%s", w.why.text.text);
    assert_int_equal(ex.count, ARRAY_LEN(wanted));
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        assert_int_equal(ex.items[i].due_ms, NOW_MS + (int64_t)i * 60000);
        assert_says(&ex.items[i], wanted[i]);
    }
    explanation_fini(&ex);
    if (admin_explain_job(w.a, &ann, 7, NOW_MS + 360000, NOW_MS + 420000, &ex, &w.why))
        fail_msg("%s", w.why.text.text);
    assert_says(&ex.items[0], wanted[6]); /* who did it before the range */
    explanation_fini(&ex);
    if (admin_explain_job(w.a, &ann, 7, NOW_MS, NOW_MS + 420000, &ex, &w.why))
        fail_msg("%s", w.why.text.text);
    assert_int_equal(ex.items[1].runs[1], 60);
    assert_int_equal(ex.items[1].end.cause, CAUSE_UNREACHABLE);
    assert_int_equal(ex.items[1].retries_max, 0);
    assert_int_equal(ex.items[3].runs[0], 53);
    assert_int_equal(ex.items[4].runs[0], 53);
    explanation_fini(&ex);
}

static void an_outage_counts_for_the_shard_that_it_held_up(void **state)
{
    const struct event_row rows[] = {
        {.at_ms = NOW_MS - 9000, .kind = "shard-taken", .node = "n1", .shard = 0, .detail = ""},
        {.at_ms = NOW_MS + 50000,
         .until_ms = NOW_MS + 80000,
         .kind = "database-away",
         .node = "n2",
         .shard = -1,
         .detail = ""},
        {.at_ms = NOW_MS + 110000, .kind = "node-died", .node = "n1", .shard = -1, .detail = ""},
        {.at_ms = NOW_MS + 125000, .kind = "shard-taken", .node = "n2", .shard = 0, .detail = ""},
    };
    struct store_session *s = test_take(w.st, SESSION_NORMAL);
    struct explanation ex = {0};
    (void)state;

    assert_ok(store_write_events(s, rows, ARRAY_LEN(rows), ec));
    store_give_session(w.st, s);
    test_sql("DELETE FROM xxl_job_info");
    test_sql("DELETE FROM xxl_job_log");
    test_add_job(7, 0);
    test_sql("UPDATE xxl_job_info SET job_group = 3, add_time = '2020-01-01' WHERE id = 7");
    add_row(51, "20:01:00", 200, 200, MARK("1700049660") HEAD, "");
    add_row(52, "20:02:00", 200, 0, MARK("1700049720") HEAD, "");
    if (admin_explain_job(w.a, &ann, 7, NOW_MS + 60000, NOW_MS + 180000, &ex, &w.why))
        fail_msg("%s", w.why.text.text);
    assert_int_equal(ex.count, 2);
    /* n2 saw the database away, and n1 had the shard. */
    assert_says(&ex.items[0], "It was sent on time and succeeded after 0 s.");
    assert_says(&ex.items[1], "It was sent 5 s late because the node n1 failed at 2023-11-15 12:01:50Z, and its shards "
                              "had to move, and was accepted by the executor and is running at http://a/.");
    explanation_fini(&ex);
}

/* Rows of each second are too many to be told one by one: they are counted. */
static void a_timeline_counts_what_is_too_much(void **state)
{
    struct event_row rows[] = {
        {.at_ms = NOW_MS - 5000,
         .until_ms = NOW_MS + 5000,
         .kind = "database-away",
         .node = "n1",
         .shard = -1,
         .detail = ""},
        {.at_ms = NOW_MS - 9000,
         .until_ms = NOW_MS - 8000,
         .kind = "zookeeper-away",
         .node = "n1",
         .shard = -1,
         .detail = ""},
        {.at_ms = NOW_MS + 1000,
         .kind = "job-changed",
         .node = "n1",
         .shard = -1,
         .job_id = 7,
         .job_group = 3,
         .detail = ""},
        {.at_ms = NOW_MS + 2000,
         .kind = "job-changed",
         .node = "n1",
         .shard = -1,
         .job_id = 8,
         .job_group = 3,
         .detail = ""},
        {.at_ms = NOW_MS + 3000, .kind = "node-left", .node = "n1", .shard = -1, .detail = ""},
    };
    struct store_session *s = test_take(w.st, SESSION_NORMAL);
    struct timeline t;
    (void)state;

    assert_ok(store_write_events(s, rows, ARRAY_LEN(rows), ec));
    store_give_session(w.st, s);
    test_sql("DELETE FROM xxl_job_info");
    test_sql("DELETE FROM xxl_job_log");
    test_add_job(7, 0);
    test_sql("UPDATE xxl_job_info SET job_group = 3, schedule_conf = '* * * * * ?', add_time = '2020-01-01' "
             "WHERE id = 7");
    add_row(51, "20:01:00", 200, 200, MARK("1700049660") HEAD, "");
    add_row(52, "20:01:59", 200, 200, "<!--sw:p:1700049719:1:O1700049700-->" HEAD, "");
    add_row(53, "20:01:59", 500, 0, MARK("1700049719") "delivery unknown: x", "");
    add_row(54, "20:02:00", 200, 500, MARK("1700049720") HEAD, "<!--sw:l-->lost: x");
    add_row(55, "20:02:59", 500, 0, "<!--sw:s:44-->x", "");
    add_row(56, "20:03:00", 200, 0, "", "");
    add_row(57, "21:00:00", 200, 200, "", ""); /* behind the range */
    if (admin_load_timeline(w.a, &ann, 7, NOW_MS, NOW_MS + 3600000, &t, &w.why))
        fail_msg("%s", w.why.text.text);
    assert_false(t.has_items);
    assert_true(t.has_steps);
    assert_int_equal(t.step_s, 60);
    assert_int_equal(t.step_count, 60);
    assert_int_equal(t.steps[0].counts[RUN_SUCCESS], 0);
    assert_int_equal(t.steps[1].from_ms, NOW_MS + 60000);
    assert_int_equal(t.steps[1].counts[RUN_SUCCESS], 2);
    assert_int_equal(t.steps[1].late, 1);
    assert_int_equal(t.steps[1].counts[RUN_UNKNOWN], 1);
    assert_int_equal(t.steps[2].counts[RUN_LOST], 1);
    assert_int_equal(t.steps[2].counts[RUN_SKIPPED], 44);
    assert_int_equal(t.steps[3].counts[RUN_RUNNING], 1);
    assert_int_equal(t.event_count, 3);
    assert_string_equal(t.events[0].kind, "database-away");
    assert_string_equal(t.events[1].kind, "job-changed");
    assert_int_equal(t.events[1].job_id, 7);
    timeline_fini(&t);
    /* Half an hour of it are few enough. */
    if (admin_load_timeline(w.a, &ann, 7, NOW_MS, NOW_MS + 1800000, &t, &w.why))
        fail_msg("%s", w.why.text.text);
    assert_true(t.has_items && !t.has_steps);
    assert_int_equal(t.items.count, 1800);
    timeline_fini(&t);
}

static void explanations_are_for_who_sees_the_job(void **state)
{
    struct explanation ex = {0};
    (void)state;

    test_sql("DELETE FROM xxl_job_info");
    test_add_job(7, 0);
    test_sql("UPDATE xxl_job_info SET job_group = 4 WHERE id = 7");
    assert_int_equal(admin_explain_job(w.a, &ann, 7, NOW_MS, NOW_MS + 1000, &ex, &w.why), ERR_DENIED);
    assert_int_equal(w.why.kind, REFUSED_RIGHT);
    assert_int_equal(admin_explain_job(w.a, &ann, 8, NOW_MS, NOW_MS + 1000, &ex, &w.why), ERR_NOTFOUND);
    assert_int_equal(admin_explain_job(w.a, &writer, 7, NOW_MS, NOW_MS + 1000, &ex, &w.why), ERR_DENIED);
    assert_int_equal(admin_explain_job(w.a, &rose, 7, NOW_MS, NOW_MS + 1000, &ex, &w.why), ERR_OK);
    explanation_fini(&ex);
    assert_int_equal(admin_explain_job(w.a, &rose, 7, NOW_MS, NOW_MS + 7 * INT64_C(86400000) + 1, &ex, &w.why),
                     ERR_INPUT);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(rows_of_audit_are_for_who_sees_their_group),
        CASE(changes_of_a_job_are_for_who_sees_it),
        CASE(events_of_jobs_are_for_who_sees_their_group),
        CASE(minutes_of_all_nodes_become_points),
        CASE(ranges_of_points_are_bounded),
        cmocka_unit_test(quantiles_lie_within_their_bounds),
        CASE(explanations_read_all_tables),
        CASE(an_outage_counts_for_the_shard_that_it_held_up),
        CASE(a_timeline_counts_what_is_too_much),
        CASE(explanations_are_for_who_sees_the_job),
    };
    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}

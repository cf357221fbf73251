/* SPDX-License-Identifier: MIT */
/* Flows, their versions, runs, and what people ask of runs. */
#include "store/test_db.h"

#include "shardwheel/store/flow.h"
#include "shardwheel/store/schema.h"

#define NOW_S INT64_C(1700000000)

static struct store *st;
static struct store_session *s;

static const struct audit_row audit = {
    .user_id = 1, .who = "admin", .action = "flow.test", .target_name = "f", .after = "{}"};

static int set_up(void **state)
{
    (void)state;
    st = test_db_fresh(1, NOW_S);
    s = test_take(st, SESSION_NORMAL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    store_give_session(st, s);
    store_destroy(st);
    return 0;
}

static int64_t add(const char *name, const char *document)
{
    int64_t id = 0;

    assert_ok(store_add_flow(s, name, document, "ann", &audit, &id, ec));
    return id;
}

static int64_t count_audit(void)
{
    return test_int("SELECT COUNT(*) FROM shardwheel_audit");
}

/* ---- flows ------------------------------------------------------------------------------------------------------- */

static void flows_are_added_and_found(void **state)
{
    const struct flow_filter all = {.started = -1}, named = {.name = "B", .started = 0}, started = {.started = 1};
    const char *names[] = {"beta", "nothing"};
    struct flow_rows rows = {0};
    struct errctx why;
    int64_t beta = add("beta", "{\"b\":1}"), alpha = add("alpha", "{\"calls\":\"beta\"}"), id = 0;

    (void)state;
    assert_int_equal(test_int("SELECT MAX(target) FROM shardwheel_audit"), alpha);
    assert_int_equal(store_add_flow(s, "beta", "{}", "ann", &audit, &id, &why), ERR_STATE);
    assert_int_equal(count_audit(), 2);
    assert_ok(store_list_flows(s, &all, "", 10, &rows, ec));
    assert_int_equal(rows.count, 2);
    assert_string_equal(rows.rows[0].name, "alpha");
    assert_string_equal(rows.rows[1].document, "{\"b\":1}");
    assert_int_equal(rows.rows[1].version, 1);
    assert_false(rows.rows[1].started);
    assert_int_equal(rows.rows[1].next_s, 0);
    flow_rows_fini(&rows);
    assert_ok(store_list_flows(s, &all, "alpha", 10, &rows, ec));
    assert_int_equal(rows.count, 1);
    flow_rows_fini(&rows);
    assert_ok(store_list_flows(s, &named, "", 10, &rows, ec));
    assert_int_equal(rows.count, 1);
    assert_int_equal(rows.rows[0].id, beta);
    flow_rows_fini(&rows);
    assert_ok(store_list_flows(s, &started, "", 10, &rows, ec));
    assert_int_equal(rows.count, 0);
    flow_rows_fini(&rows);
    assert_ok(store_load_flows_named(s, names, 2, &rows, ec));
    assert_int_equal(rows.count, 1);
    flow_rows_fini(&rows);
    assert_ok(store_list_flows_with(s, "\"beta\"", 0, 10, &rows, ec));
    assert_int_equal(rows.count, 1);
    assert_int_equal(rows.rows[0].id, alpha);
    flow_rows_fini(&rows);
    assert_ok(store_load_flows(s, NULL, 0, &rows, ec));
    assert_int_equal(rows.count, 0);
    flow_rows_fini(&rows);
}

static struct flow_change wanted;
static enum err wanted_error;
static struct flow_now seen;

static enum err decide(void *arg, const struct flow_now *now, struct flow_change *out, struct errctx *why)
{
    (void)arg;
    seen = *now;
    out->started = wanted.started;
    out->next_s = wanted.next_s;
    out->document = wanted.document;
    out->name = wanted.name ? wanted.name : out->name;
    out->who = "eve";
    out->remove = wanted.remove;
    out->audit = &audit;
    return wanted_error ? err_set(why, wanted_error, "no") : ERR_OK;
}

static void versions_are_kept(void **state)
{
    int64_t id = add("flow", "{\"v\":1}"), other = add("other", "{}");
    struct flow_version_rows versions = {0};
    struct errctx why;
    int64_t before_ms = test_int("SELECT " STORE_NOW_MS);

    (void)state;
    wanted = (struct flow_change){.document = "{\"v\":2}", .name = "renamed", .started = true, .next_s = 77};
    assert_ok(store_change_flow(s, id, decide, NULL, ec));
    assert_int_equal(seen.row.version, 1);
    assert_in_range(seen.now_ms, before_ms, test_int("SELECT " STORE_NOW_MS));
    assert_string_equal(test_text("SELECT CONCAT_WS('|', name, started, version, next_s) FROM shardwheel_flow WHERE "
                                  "id = %" PRId64,
                                  id),
                        "renamed|1|2|77");
    assert_ok(store_list_flow_versions(s, id, INT64_MAX, 10, &versions, ec));
    assert_int_equal(versions.count, 2);
    assert_int_equal(versions.rows[0].version, 2);
    assert_string_equal(versions.rows[0].who, "eve");
    assert_null(versions.rows[0].document);
    flow_version_rows_fini(&versions);
    assert_ok(store_list_flow_versions(s, id, 2, 10, &versions, ec));
    assert_int_equal(versions.count, 1);
    flow_version_rows_fini(&versions);
    assert_ok(store_load_flow_version(s, id, 1, &versions, ec));
    assert_string_equal(versions.rows[0].document, "{\"v\":1}");
    flow_version_rows_fini(&versions);
    assert_ok(store_load_flow_version(s, id, 3, &versions, ec));
    assert_int_equal(versions.count, 0);
    flow_version_rows_fini(&versions);
    wanted.name = "other";
    assert_int_equal(store_change_flow(s, id, decide, NULL, &why), ERR_STATE);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_flow_version WHERE flow_id = %" PRId64, id), 2);
    wanted_error = ERR_DENIED;
    assert_int_equal(store_change_flow(s, other, decide, NULL, &why), ERR_DENIED);
    wanted_error = ERR_OK;
    assert_int_equal(count_audit(), 3);
    assert_int_equal(store_change_flow(s, 99, decide, NULL, &why), ERR_NOTFOUND);
    wanted = (struct flow_change){.remove = true};
    assert_ok(store_change_flow(s, id, decide, NULL, ec));
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_flow_version WHERE flow_id = %" PRId64, id), 0);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_flow WHERE id = %" PRId64, id), 0);
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static int64_t start(int64_t flow, enum flow_policy policy, const char *key, bool expect_new)
{
    const struct flow_run_start order = {.flow_id = flow,
                                         .version = 1,
                                         .parameters = "{\"day\":1}",
                                         .key = key,
                                         .kind = "A",
                                         .who = "ann",
                                         .policy = policy,
                                         .queue_max = 2};
    bool is_new = !expect_new;
    int64_t id = 0;

    assert_ok(store_start_flow_run(s, &order, &audit, &id, &is_new, ec));
    assert_int_equal(is_new, expect_new);
    return id;
}

static enum err refuse_start(int64_t flow, int64_t version, enum flow_policy policy)
{
    const struct flow_run_start order = {
        .flow_id = flow, .version = version, .kind = "M", .who = "ann", .policy = policy, .queue_max = 2};
    struct errctx why;
    int64_t id;
    bool is_new;

    return store_start_flow_run(s, &order, &audit, &id, &is_new, &why);
}

static void policies_hold(void **state)
{
    int64_t id = add("flow", "{}"), first;

    (void)state;
    first = start(id, FLOW_SKIP_IF_RUNNING, NULL, true);
    assert_string_equal(
        test_text("SELECT CONCAT_WS('|', flow_id, version, state, kind, parameters, depth, who, look_ms, "
                  "late_told, started_ms = created_ms, due_s = created_ms DIV 1000) FROM "
                  "shardwheel_flow_run WHERE id = %" PRId64,
                  first),
        "1|1|1|A|{\"day\":1}|0|ann|0|0|1|1");
    assert_int_equal(refuse_start(id, 1, FLOW_SKIP_IF_RUNNING), ERR_STATE);
    start(id, FLOW_QUEUE, NULL, true);
    assert_string_equal(test_text("SELECT CONCAT_WS('|', state, look_ms, started_ms IS NULL) FROM shardwheel_flow_run "
                                  "ORDER BY id DESC LIMIT 1"),
                        "0|0|1");
    start(id, FLOW_QUEUE, NULL, true);
    assert_int_equal(refuse_start(id, 1, FLOW_QUEUE), ERR_BUSY);
    start(id, FLOW_PARALLEL, NULL, true);
    assert_int_equal(refuse_start(id, 2, FLOW_PARALLEL), ERR_CONFLICT);
    assert_int_equal(refuse_start(9, 1, FLOW_PARALLEL), ERR_NOTFOUND);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_flow_run"), 4);
    assert_string_equal(test_text("SELECT CONCAT_WS('|', target, after_json) FROM shardwheel_audit ORDER BY id DESC "
                                  "LIMIT 1"),
                        "0|{\"run\":4,\"parameters\":{\"day\":1}}");
}

static void a_key_gives_the_same_run(void **state)
{
    int64_t id = add("flow", "{}"), other = add("other", "{}"), first, audits;

    (void)state;
    first = start(id, FLOW_SKIP_IF_RUNNING, "order-1", true);
    audits = count_audit();
    assert_int_equal(start(id, FLOW_SKIP_IF_RUNNING, "order-1", false), first);
    assert_int_equal(start(id, FLOW_PARALLEL, "order-1", false), first);
    assert_int_equal(count_audit(), audits);
    assert_int_not_equal(start(id, FLOW_PARALLEL, "ORDER-1", true), first);
    assert_int_not_equal(start(other, FLOW_PARALLEL, "order-1", true), first);
}

static size_t list(int64_t flow, unsigned states, int64_t before, size_t limit, int64_t *first)
{
    const struct flow_run_filter filter = {.flow_id = flow, .states = states, .before = before};
    struct flow_run_rows rows = {0};
    size_t count;

    assert_ok(store_list_flow_runs(s, &filter, limit, 2000, &rows, ec));
    *first = rows.count ? rows.rows[0].id : 0;
    count = rows.count;
    flow_run_rows_fini(&rows);
    return count;
}

static void runs_are_listed(void **state)
{
    int64_t id = add("flow", "{}"), other = add("other", "{}"), first, ids[2] = {id, other}, open[2];
    struct flow_tick *ticks = NULL;
    struct flow_run_rows rows = {0};
    size_t count = 0;

    (void)state;
    for (int i = 0; i < 30; i++)
        start(i == 7 ? other : id, FLOW_PARALLEL, NULL, true);
    test_sql("UPDATE shardwheel_flow_run SET state = id %% 6, look_ms = IF(id %% 6 < 2, 0, NULL), message = 'why'");
    assert_int_equal(list(0, 0, INT64_MAX, 100, &first), 30);
    assert_int_equal(first, 30);
    assert_int_equal(list(id, 0, INT64_MAX, 100, &first), 29);
    assert_int_equal(list(other, 0, INT64_MAX, 100, &first), 1);
    assert_int_equal(first, 8);
    assert_int_equal(list(0, 0, 8, 3, &first), 3);
    assert_int_equal(first, 7);
    assert_int_equal(list(0, FLOW_RUN_OPEN, INT64_MAX, 100, &first), 10);
    assert_int_equal(list(id, 1u << FLOW_RUN_FAILED, INT64_MAX, 100, &first), 5);
    assert_int_equal(first, 27);
    assert_int_equal(list(0, 1u << FLOW_RUN_FAILED, 27, 100, &first), 4);
    assert_ok(store_load_flow_ticks(s, ids, 2, &ticks, &count, ec));
    assert_int_equal(count, 21);
    assert_int_equal(ticks[0].id, 30);
    assert_int_equal(ticks[19].id, 11);
    assert_int_equal(ticks[20].flow_id, other);
    free(ticks);
    assert_ok(store_count_open_flow_runs(s, ids, 2, open, ec));
    assert_int_equal(open[0], 10);
    assert_int_equal(open[1], 0);
    first = 8;
    test_sql("UPDATE shardwheel_flow_run SET parameters = REPEAT('1', 9000) WHERE id = 8");
    assert_ok(store_load_flow_runs(s, &first, 1, &rows, ec));
    assert_string_equal(rows.rows[0].flow_name, "other");
    assert_string_equal(rows.rows[0].message, "why");
    assert_int_equal(strlen(rows.rows[0].parameters), 9000);
    flow_run_rows_fini(&rows);
    assert_ok(store_list_flow_runs(s, &(struct flow_run_filter){.before = 9}, 1, 2000, &rows, ec));
    assert_null(rows.rows[0].parameters);
    flow_run_rows_fini(&rows);
    wanted = (struct flow_change){.remove = true};
    assert_ok(store_change_flow(s, other, decide, NULL, ec));
    assert_int_equal(list(0, 0, INT64_MAX, 100, &first), 29);
    assert_int_equal(list(0, 0, 9, 1, &first), 1); /* behind one of the flow that is gone */
    assert_int_equal(first, 7);
    test_sql("UPDATE shardwheel_flow_run SET state = 99 WHERE id = 30");
    assert_int_equal(list(0, 0, INT64_MAX, 1, &first), 1);
    assert_int_equal(first, 29);
}

static void steps_and_items_are_read(void **state)
{
    int64_t run = start(add("flow", "{}"), FLOW_PARALLEL, NULL, true);
    struct flow_step_views steps = {0};
    struct flow_item_views items = {0};

    (void)state;
    test_sql("INSERT INTO xxl_job_log (id, job_group, job_id, executor_param, trigger_code, handle_code) VALUES (70, "
             "1, 1, 'given', 200, 0)");
    test_sql("INSERT INTO shardwheel_flow_step (run_id, step, state, log_id, tries, code, result, items, items_begun, "
             "items_ended, items_failed) VALUES (1, 2, 1, 70, 1, NULL, NULL, 5, 3, 2, 1), (1, 0, 2, NULL, 2, 200, '7', "
             "NULL, NULL, NULL, NULL)");
    test_sql("INSERT INTO shardwheel_flow_item (run_id, step, item, state, log_id, tries, code) VALUES (1, 2, 0, 2, 1, "
             "1, 200), (1, 2, 1, 3, 2, 1, 500), (1, 2, 2, 3, 3, 1, NULL), (1, 3, 0, 3, 4, 1, 500)");
    test_sql("INSERT INTO shardwheel_flow_step (run_id, step, state, tries) VALUES (1, 5, 9, 1)");
    test_sql("INSERT INTO shardwheel_flow_item (run_id, step, item, state, tries) VALUES (1, 2, 9, -1, 1)");
    assert_ok(store_load_flow_steps(s, run, &steps, ec));
    assert_int_equal(steps.count, 2);
    assert_int_equal(steps.rows[0].step, 0);
    assert_int_equal(steps.rows[0].code, 200);
    assert_int_equal(steps.rows[0].items, FLOW_NO_NUMBER);
    assert_null(steps.rows[0].param);
    assert_string_equal(steps.rows[1].param, "given");
    assert_int_equal(steps.rows[1].code, FLOW_NO_NUMBER);
    assert_int_equal(steps.rows[1].items_begun, 3);
    flow_step_views_fini(&steps);
    assert_ok(store_list_flow_items(s, run, 2, 1u << FLOW_FAILED, 0, 10, &items, ec));
    assert_int_equal(items.count, 2);
    assert_int_equal(items.rows[0].item, 1);
    flow_item_views_fini(&items);
    assert_ok(store_list_flow_items(s, run, 2, 0, 1, 1, &items, ec));
    assert_int_equal(items.count, 1);
    assert_int_equal(items.rows[0].code, 500);
    flow_item_views_fini(&items);
}

static void runs_of_flows_that_are_gone_go(void **state)
{
    int64_t id = add("flow", "{}"), other = add("other", "{}");
    bool more = false;

    (void)state;
    for (int i = 0; i < 150; i++)
        start(i == 3 ? other : id, FLOW_PARALLEL, NULL, true);
    test_sql("INSERT INTO shardwheel_flow_step (run_id, step, state, tries) SELECT id, 0, 1, 1 FROM "
             "shardwheel_flow_run");
    test_sql("INSERT INTO shardwheel_flow_item (run_id, step, item, state, tries) SELECT id, 0, 0, 1, 1 FROM "
             "shardwheel_flow_run");
    test_sql("INSERT INTO shardwheel_flow_fire (log_id, run_id, step, item) SELECT id, id, 0, 0 FROM "
             "shardwheel_flow_run");
    test_sql(
        "INSERT INTO shardwheel_flow_request (run_id, step, action, who, remark) SELECT id, 0, 'skip', '', '' FROM "
        "shardwheel_flow_run");
    assert_ok(store_delete_flow_runs(s, id, &more, ec));
    assert_true(more);
    assert_ok(store_delete_flow_runs(s, id, &more, ec));
    assert_false(more);
    assert_string_equal(test_text("SELECT CONCAT_WS('|', (SELECT COUNT(*) FROM shardwheel_flow_run), (SELECT COUNT(*) "
                                  "FROM shardwheel_flow_step), (SELECT COUNT(*) FROM shardwheel_flow_item), (SELECT "
                                  "COUNT(*) FROM shardwheel_flow_fire), (SELECT COUNT(*) FROM "
                                  "shardwheel_flow_request))"),
                        "1|1|1|1|1");
}

/* Runs that ended a day and more ago, but for those that wait to be moved again and steps of runs that are open. */
static void old_runs_go_with_all_they_have(void **state)
{
    int64_t id = add("flow", "{}"), gone = 0;
    bool more = false;
    size_t deleted = 0;

    (void)state;
    for (int i = 0; i < 6; i++)
        start(id, FLOW_PARALLEL, NULL, true);
    test_sql("UPDATE shardwheel_flow_run SET state = 2, look_ms = NULL, ended_ms = UNIX_TIMESTAMP() * 1000 - IF(id = "
             "2, 86000000, 87000000)");
    test_sql("UPDATE shardwheel_flow_run SET state = 1, look_ms = 0, ended_ms = NULL WHERE id = 3");
    test_sql("UPDATE shardwheel_flow_run SET look_ms = 0 WHERE id = 4");
    test_sql("UPDATE shardwheel_flow_run SET parent_run = 3 WHERE id = 5");
    test_sql("UPDATE shardwheel_flow_run SET parent_run = 2 WHERE id = 6");
    test_sql("INSERT INTO shardwheel_flow_step (run_id, step, state, tries) SELECT id, 0, 1, 1 FROM "
             "shardwheel_flow_run");
    test_sql("INSERT INTO shardwheel_flow_item (run_id, step, item, state, tries) SELECT id, 0, 0, 1, 1 FROM "
             "shardwheel_flow_run");
    assert_ok(store_delete_old_flow_runs(s, id, 1, &deleted, &more, ec));
    assert_int_equal(deleted, 2);
    assert_false(more);
    assert_string_equal(test_text("SELECT CONCAT_WS('|', (SELECT GROUP_CONCAT(id ORDER BY id) FROM "
                                  "shardwheel_flow_run), (SELECT GROUP_CONCAT(run_id ORDER BY run_id) FROM "
                                  "shardwheel_flow_step), (SELECT GROUP_CONCAT(run_id ORDER BY run_id) FROM "
                                  "shardwheel_flow_item))"),
                        "2,3,4,5|2,3,4,5|2,3,4,5");
    /* A run with very many items goes by itself. */
    test_sql("UPDATE shardwheel_flow_run SET state = 2, look_ms = NULL, ended_ms = id, parent_run = NULL");
    test_sql("UPDATE shardwheel_flow_step SET items_begun = 1500 WHERE run_id < 5");
    for (int left = 3; left >= 2; left--) {
        assert_ok(store_delete_old_flow_runs(s, id, 1, &deleted, &more, ec));
        assert_int_equal(deleted, 1);
        assert_true(more);
        assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_flow_run"), left);
    }
    assert_ok(store_delete_old_flow_runs(s, id, 1, &deleted, &more, ec));
    assert_int_equal(deleted, 2);
    assert_false(more);
    /* What a flow that is gone has left. */
    assert_ok(store_find_gone_flow(s, &gone, ec));
    assert_int_equal(gone, 0);
    start(id, FLOW_PARALLEL, NULL, true);
    test_sql("DELETE FROM shardwheel_flow");
    assert_ok(store_find_gone_flow(s, &gone, ec));
    assert_int_equal(gone, id);
    assert_ok(store_delete_flow_runs(s, id, &more, ec));
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_flow_version"), 0);
    assert_ok(store_find_gone_flow(s, &gone, ec));
    assert_int_equal(gone, 0);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static struct flow_run_now asked;

static enum err check(void *arg, const struct flow_run_now *now, struct errctx *why)
{
    (void)arg;
    asked = *now;
    return wanted_error ? err_set(why, wanted_error, "not now") : ERR_OK;
}

static void requests_wake_the_run(void **state)
{
    int64_t run = start(add("flow", "{}"), FLOW_PARALLEL, NULL, true), audits;
    struct flow_request request = {.run_id = run, .step = 4, .action = "retry", .who = "ann", .remark = "again"};
    struct errctx why;

    (void)state;
    test_sql("UPDATE shardwheel_flow_run SET state = 3, look_ms = NULL");
    test_sql("INSERT INTO shardwheel_flow_step (run_id, step, state, tries) VALUES (%" PRId64 ", 4, 3, 1)", run);
    audits = count_audit();
    assert_ok(store_ask_flow_run(s, &request, check, NULL, &audit, ec));
    assert_int_equal(asked.state, FLOW_RUN_FAILED);
    assert_int_equal(asked.step_state, FLOW_FAILED);
    assert_string_equal(test_text("SELECT CONCAT_WS('|', q.step, q.action, q.who, q.remark, r.look_ms) FROM "
                                  "shardwheel_flow_request q JOIN shardwheel_flow_run r ON r.id = q.run_id"),
                        "4|retry|ann|again|0");
    assert_ok(store_ask_flow_run(s, &request, check, NULL, &audit, ec));
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_flow_request"), 1);
    assert_int_equal(count_audit(), audits + 1);
    request.step = 5;
    wanted_error = ERR_STATE;
    assert_int_equal(store_ask_flow_run(s, &request, check, NULL, &audit, &why), ERR_STATE);
    wanted_error = ERR_OK;
    assert_int_equal(asked.step_state, FLOW_WAITING);
    request.run_id = 99;
    assert_int_equal(store_ask_flow_run(s, &request, check, NULL, &audit, &why), ERR_NOTFOUND);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_flow_request"), 1);
    assert_int_equal(count_audit(), audits + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(flows_are_added_and_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(versions_are_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(policies_hold, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_key_gives_the_same_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(runs_are_listed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(steps_and_items_are_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(runs_of_flows_that_are_gone_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(old_runs_go_with_all_they_have, set_up, tear_down),
        cmocka_unit_test_setup_teardown(requests_wake_the_run, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}

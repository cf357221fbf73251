/* SPDX-License-Identifier: MIT */
/* Events for webhooks: written with what they tell of, handed out in order, tried again, given up, cleaned. */
#include "store/test_schema.h"

#include "shardwheel/store/hook.h"
#include "shardwheel/store/lost.h"
#include "shardwheel/store/plan.h"
#include "shardwheel/store/run.h"
#include "shardwheel/store/schema.h"
#include "store/people/audit.h"

#define NOW_S INT64_C(1700000000)
#define HOUR_MS INT64_C(3600000)

static struct store *st;
static struct store_session *s;

static void begin(void)
{
    struct store_features features;

    st = test_db_fresh(1, NOW_S);
    s = test_take(st, SESSION_NORMAL);
    assert_ok(store_get_features(s, &features, ec));
    test_sql("DELETE FROM xxl_job_group");
    test_sql("INSERT INTO xxl_job_group (id, app_name, title) VALUES (1, 'pay', 'Pay'), (2, 'other', 'Other')");
    test_sql("INSERT INTO shardwheel_job (job_id, tags) VALUES (7, 'a,night'), (8, 'nightly')");
}

static void end(void)
{
    store_give_session(st, s);
    store_destroy(st);
}

static int64_t add_hook(const char *name, int kinds, int only_failed, const char *apps, const char *tags, int enabled)
{
    const struct hook_row row = {.name = name,
                                 .target = "http://127.0.0.1/",
                                 .secret = "",
                                 .kinds = kinds,
                                 .only_failed = only_failed,
                                 .app_names = apps,
                                 .tags = tags,
                                 .enabled = enabled};
    int64_t id = 0;

    assert_ok(store_put_hook(s, &row, &(struct audit_row){.action = "hook.add"}, &id, ec));
    return id;
}

static int64_t add_run(int64_t job, int64_t group)
{
    test_sql("INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code, trigger_msg) VALUES "
             "(%" PRId64 ", %" PRId64 ", '2023-11-15 06:13:20', 200, 0, '')",
             group, job);
    return test_int("SELECT MAX(id) FROM xxl_job_log");
}

static void end_run(int64_t log_id, int code)
{
    struct callback_entry entry = {.log_id = log_id, .code = code, .message = "said"};

    assert_ok(store_write_callbacks(s, &entry, 1, NOW_S, NULL, ec));
}

static int64_t ended_run(int64_t job)
{
    int64_t id = add_run(job, 1);

    end_run(id, 200);
    return id;
}

/* What is due, as "log log ...", without those of `busy`. */
static const char *due(int64_t hook, const int64_t *busy, size_t count)
{
    static char text[200];
    struct hook_events events = {0};

    assert_ok(store_load_due_events(s, hook, busy, count, 10, &events, ec));
    text[0] = '\0';
    for (size_t i = 0; i < events.count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%" PRId64, i ? " " : "", events.rows[i].log_id);
    hook_events_fini(&events);
    return text;
}

static int64_t delivery_of(int64_t log_id)
{
    return test_int("SELECT id FROM shardwheel_delivery WHERE log_id = %" PRId64, log_id);
}

static size_t finish(int64_t hook, int64_t log_id, bool sent, bool away, int64_t pause_ms)
{
    const struct delivery_outcome outcome = {.id = delivery_of(log_id),
                                             .hook_id = hook,
                                             .sent = sent,
                                             .away = away,
                                             .status = sent ? 200 : 503,
                                             .error = sent ? "" : "HTTP status 503",
                                             .pause_ms = pause_ms};
    size_t given_up = 0;

    assert_ok(store_end_deliveries(s, &outcome, 1, &given_up, ec));
    return given_up;
}

#define HOOKS_OF(log) "SELECT COALESCE(GROUP_CONCAT(hook_id ORDER BY hook_id), '') FROM shardwheel_delivery WHERE " log

static void a_webhook_gets_what_it_wants(void **state)
{
    (void)state;
    begin();
    int64_t before = ended_run(7);
    assert_int_equal(add_hook("all", 7, 0, "", "", 1), 1);
    assert_int_equal(add_hook("failed", 1, 1, "", "", 1), 2);
    assert_int_equal(add_hook("pay", 1, 0, "x,pay", "", 1), 3);
    assert_int_equal(add_hook("night", 1, 0, "", "z,night", 1), 4);
    assert_int_equal(add_hook("changes", 2, 0, "", "", 1), 5);
    assert_int_equal(add_hook("off", 7, 0, "", "", 0), 6);
    int64_t good = add_run(7, 1), bad = add_run(8, 2), open = add_run(9, 1), gone = add_run(9, 77);
    end_run(good, 200);
    end_run(bad, 500);
    end_run(gone, 200);
    assert_string_equal(test_text(HOOKS_OF("log_id = %" PRId64), before), "");
    assert_string_equal(test_text(HOOKS_OF("log_id = %" PRId64), good), "1,3,4");
    assert_string_equal(test_text(HOOKS_OF("log_id = %" PRId64), bad), "1,2");
    assert_string_equal(test_text(HOOKS_OF("log_id = %" PRId64), open), "");
    assert_string_equal(test_text(HOOKS_OF("log_id = %" PRId64), gone), "1");
    end();
}

/* By whatever way: results of dispatch, callbacks of many runs, lost ones, those whose delivery is unknown. */
static void every_way_to_an_end_is_told_once(void **state)
{
    int64_t job = 7;
    size_t ended = 0;

    (void)state;
    begin();
    add_hook("all", 7, 0, "", "", 1);
    int64_t refused = add_run(7, 1), taken = add_run(7, 1), lost = add_run(7, 1), unknown = add_run(7, 1);
    test_sql("UPDATE xxl_job_log SET trigger_code = 0, trigger_msg = '<!--sw:p:1699999990:1-->' WHERE id IN (%" PRId64
             ", %" PRId64 ", %" PRId64 ")",
             refused, taken, unknown);
    const struct fire_result results[] = {
        {.log_id = refused, .code = 500, .message = "no executor"},
        {.log_id = taken, .code = 200, .address = "http://a:1/", .message = "ok", .as_planned = true}};
    for (int again = 0; again < 2; again++)
        assert_ok(store_write_results(s, results, 2, ec));
    assert_ok(store_end_lost(s, &lost, &job, 1, "gone", NOW_S, &ended, ec));
    assert_ok(store_end_unknown(s, &unknown, 1, NOW_S, &ended, ec));
    end_run(lost, 200); /* it was not lost: it has ended anew */
    end_run(lost, 500);
    end_run(taken, 200);
    end_run(taken, 200);
    const char *told = test_text("SELECT GROUP_CONCAT(log_id, ':', code ORDER BY id) FROM shardwheel_delivery");
    char expected[200];
    snprintf(expected, sizeof expected,
             "%" PRId64 ":500,%" PRId64 ":500,%" PRId64 ":500,%" PRId64 ":200,%" PRId64 ":200", refused, lost, unknown,
             lost, taken);
    assert_string_equal(told, expected);
    end();
}

static void what_is_rolled_back_is_not_told(void **state)
{
    struct errctx why = {{0}};

    (void)state;
    begin();
    add_hook("all", 7, 0, "", "", 1);
    int64_t run = add_run(7, 1);
    test_sql("RENAME TABLE shardwheel_delivery TO away");
    struct callback_entry entry = {.log_id = run, .code = 200, .message = ""};
    assert_true(store_write_callbacks(s, &entry, 1, NOW_S, NULL, &why) != ERR_OK);
    assert_int_equal(test_int("SELECT handle_code FROM xxl_job_log WHERE id = %" PRId64, run), 0);
    test_sql("RENAME TABLE away TO shardwheel_delivery");
    end_run(run, 200);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_delivery"), 1);
    end();
}

static void changes_of_jobs_are_told_and_others_not(void **state)
{
    static const char *const actions[] = {"job.update", "job.remove", "job.trigger", "job.cancel-later",
                                          "glue.save",  "group.add",  "jobs.x"};

    (void)state;
    begin();
    add_hook("all", 7, 1, "", "", 1);
    add_hook("night", 2, 0, "pay", "night", 1);
    add_hook("other", 2, 0, "other", "", 1);
    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        const struct audit_row row = {
            .action = actions[i], .target = i == 1 ? 99 : 7, .target_name = "x", .job_group = 1, .who = "ann"};
        assert_ok(store_begin_txn(s, ec));
        assert_ok(store_end_audited(s, ERR_OK, &row, ec));
    }
    assert_string_equal(test_text("SELECT GROUP_CONCAT(a.action, d.hook_id ORDER BY d.id) FROM shardwheel_delivery d "
                                  "JOIN shardwheel_audit a ON a.id = d.audit_id WHERE d.kind = 1"),
                        "job.update1,job.update2,job.remove1,job.remove2,glue.save1,glue.save2");
    end();
}

static void a_job_is_told_in_order_and_others_meanwhile(void **state)
{
    char expected[80];

    (void)state;
    begin();
    int64_t hook = add_hook("all", 7, 0, "", "", 1);
    int64_t a1 = ended_run(7), a2 = ended_run(7), b1 = ended_run(8), a3 = ended_run(7), busy[1];
    snprintf(expected, sizeof expected, "%" PRId64 " %" PRId64, a1, b1);
    assert_string_equal(due(hook, NULL, 0), expected);
    busy[0] = delivery_of(a1); /* under way: what is behind it waits */
    snprintf(expected, sizeof expected, "%" PRId64, b1);
    assert_string_equal(due(hook, busy, 1), expected);
    finish(hook, a1, false, false, HOUR_MS); /* not taken */
    assert_string_equal(due(hook, NULL, 0), expected);
    finish(hook, b1, true, false, 0);
    assert_string_equal(due(hook, NULL, 0), "");
    assert_ok(store_resend_delivery(s, delivery_of(a1), &(struct audit_row){.action = "hook.resend"}, ec));
    for (int i = 0; i < 3; i++) {
        int64_t next = i == 0 ? a1 : i == 1 ? a2 : a3;
        snprintf(expected, sizeof expected, "%" PRId64, next);
        assert_string_equal(due(hook, NULL, 0), expected);
        finish(hook, next, true, false, 0);
    }
    assert_string_equal(due(hook, NULL, 0), "");
    end();
}

#define HOOK_STATE                                                                                                     \
    "SELECT CONCAT_WS(' ', failures, next_ms > made.now + 3000000, sent_ms > 0, error) FROM "                          \
    "shardwheel_hook, (SELECT UNIX_TIMESTAMP() * 1000 AS now) made"

static void a_webhook_that_is_away_is_left_alone(void **state)
{
    (void)state;
    begin();
    int64_t hook = add_hook("all", 7, 0, "", "", 1);
    int64_t first = ended_run(7), second = ended_run(8);
    finish(hook, first, false, false, HOUR_MS);
    assert_string_equal(test_text(HOOK_STATE), "0 0 HTTP status 503");
    finish(hook, first, false, true, HOUR_MS);
    finish(hook, second, false, true, HOUR_MS);
    assert_string_equal(test_text(HOOK_STATE), "2 1 HTTP status 503");
    assert_int_equal(test_int("SELECT tries FROM shardwheel_delivery WHERE log_id = %" PRId64, first), 2);
    finish(hook, second, true, false, 0);
    assert_string_equal(test_text(HOOK_STATE), "0 0 1 ");
    finish(hook, second, false, true, HOUR_MS); /* of one that was sent meanwhile */
    assert_string_equal(test_text("SELECT CONCAT_WS(' ', state, tries, status) FROM shardwheel_delivery WHERE log_id = "
                                  "%" PRId64,
                                  second),
                        "1 2 200");
    end();
}

static void what_waits_for_a_day_is_given_up(void **state)
{
    size_t given_up = 0;
    int64_t waiting = 0;
    bool more = false;
    struct errctx why = {{0}};

    (void)state;
    begin();
    int64_t hook = add_hook("all", 7, 0, "", "", 1);
    int64_t old = ended_run(7), young = ended_run(8), behind = ended_run(9);
    test_sql("UPDATE shardwheel_delivery SET made_ms = made_ms - 86400000, since_ms = since_ms - 86400000 WHERE log_id "
             "<> %" PRId64,
             young);
    assert_int_equal(finish(hook, young, false, false, 0), 0);
    assert_int_equal(finish(hook, old, false, false, 0), 1);
    assert_ok(store_clean_deliveries(s, 100, &given_up, &waiting, &more, ec));
    assert_int_equal(given_up, 0); /* the webhook is there: it may be taken yet */
    assert_int_equal(waiting, 2);
    test_sql("UPDATE shardwheel_hook SET failures = 1");
    assert_ok(store_clean_deliveries(s, 100, &given_up, &waiting, &more, ec));
    assert_int_equal(given_up, 1);
    assert_int_equal(test_int("SELECT state FROM shardwheel_delivery WHERE log_id = %" PRId64, behind), 2);
    assert_int_equal(waiting, 1);
    /* As if it were new. */
    assert_ok(store_resend_delivery(s, delivery_of(old), &(struct audit_row){.action = "hook.resend"}, ec));
    assert_int_equal(finish(hook, old, false, false, 0), 0);
    assert_int_equal(test_int("SELECT tries FROM shardwheel_delivery WHERE log_id = %" PRId64, old), 1);
    assert_int_equal(store_resend_delivery(s, 999, &(struct audit_row){.action = "hook.resend"}, &why), ERR_NOTFOUND);
    end();
}

static void what_is_old_or_too_much_goes(void **state)
{
    size_t given_up = 0;
    int64_t waiting = 0;
    bool more = false;

    (void)state;
    begin();
    int64_t hook = add_hook("all", 7, 0, "", "", 1), other = add_hook("other", 1, 0, "", "", 1);
    int64_t old = ended_run(7), young = ended_run(7);
    finish(hook, old, true, false, 0);
    finish(hook, young, true, false, 0);
    test_sql("UPDATE shardwheel_delivery SET ended_ms = ended_ms - 8 * 86400000 WHERE state = 1 AND log_id = %" PRId64,
             old);
    assert_ok(store_remove_hook(s, other, &(struct audit_row){.action = "hook.remove"}, ec));
    assert_ok(store_clean_deliveries(s, 100, &given_up, &waiting, &more, ec));
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_delivery"), 1);
    assert_int_equal(delivery_of(young) > 0, 1);
    for (int i = 0; i < 4; i++)
        ended_run(8);
    assert_ok(store_clean_deliveries(s, 3, &given_up, &waiting, &more, ec));
    assert_int_equal(given_up, 1); /* the sent one went first */
    assert_int_equal(waiting, 3);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_delivery"), 3);
    assert_false(more);
    end();
}

static void without_webhooks_nothing_is_asked(void **state)
{
    (void)state;
    begin();
    int64_t run = add_run(7, 1), hook = add_hook("all", 7, 0, "", "", 1);
    assert_ok(store_remove_hook(s, hook, &(struct audit_row){.action = "hook.remove"}, ec));
    test_sql("RENAME TABLE shardwheel_hook TO away");
    end_run(run, 200);
    test_sql("RENAME TABLE away TO shardwheel_hook");
    assert_int_equal(test_int("SELECT handle_code FROM xxl_job_log WHERE id = %" PRId64, run), 200);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_webhook_gets_what_it_wants),
        cmocka_unit_test(every_way_to_an_end_is_told_once),
        cmocka_unit_test(what_is_rolled_back_is_not_told),
        cmocka_unit_test(changes_of_jobs_are_told_and_others_not),
        cmocka_unit_test(a_job_is_told_in_order_and_others_meanwhile),
        cmocka_unit_test(a_webhook_that_is_away_is_left_alone),
        cmocka_unit_test(what_waits_for_a_day_is_given_up),
        cmocka_unit_test(what_is_old_or_too_much_goes),
        cmocka_unit_test(without_webhooks_nothing_is_asked),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}

/* SPDX-License-Identifier: MIT */
/* Rows of audit: written with a change, within bounds. */
#include "store/test_db.h"

#include "shardwheel/store/schema.h"
#include "store/people/audit.h"

#define NOW_S INT64_C(1700000000)

static struct audit_row make_row(void)
{
    return (struct audit_row){.user_id = 5,
                              .who = "ann",
                              .address = "10.0.0.9",
                              .via = "api/v1",
                              .action = "job.update",
                              .target = 7,
                              .target_name = "nightly",
                              .job_group = 3,
                              .before = "{\"author\":\"ann\"}",
                              .after = "{\"author\":\"bob\"}"};
}

static void put(struct store_session *s, const struct audit_row *row)
{
    assert_ok(store_begin_txn(s, ec));
    assert_ok(store_put_audit(s, row, ec));
    assert_ok(store_commit_txn(s, ec));
}

static const char *newest(void)
{
    return test_text(
        "SELECT CONCAT_WS('|', user_id, who, address, via, action, target, target_name, job_group, "
        "IFNULL(before_json, '-'), IFNULL(after_json, '-')) FROM shardwheel_audit ORDER BY id DESC LIMIT 1");
}

static void a_row_goes_with_its_transaction(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct audit_row row = make_row();
    (void)state;

    put(s, &row);
    assert_string_equal(newest(), "5|ann|10.0.0.9|api/v1|job.update|7|nightly|3|{\"author\":\"ann\"}|"
                                  "{\"author\":\"bob\"}");
    assert_true(llabs(test_int("SELECT at_ms FROM shardwheel_audit") - clock_wall_ms(clock_system())) < 60000);
    assert_ok(store_begin_txn(s, ec));
    assert_ok(store_put_audit(s, &row, ec));
    store_end_txn(s);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit"), 1);
    put(s, NULL);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit"), 1);
    store_give_session(st, s);
    store_destroy(st);
}

static void texts_are_cut_and_json_is_never_half(void **state)
{
    static char text[300], json[AUDIT_JSON_MAX + 2];
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct audit_row row = make_row();
    (void)state;

    memset(text, 'x', sizeof text - 1);
    memset(json, 'j', AUDIT_JSON_MAX);
    row.who = row.address = row.via = row.action = row.target_name = text;
    row.before = json;
    put(s, &row);
    assert_string_equal(test_text("SELECT CONCAT_WS(' ', LENGTH(who), LENGTH(address), LENGTH(via), LENGTH(action), "
                                  "LENGTH(target_name), LENGTH(before_json)) FROM shardwheel_audit"),
                        "100 64 64 40 100 65536");
    json[AUDIT_JSON_MAX] = 'j';
    row = (struct audit_row){.action = "user.remove", .before = json};
    put(s, &row);
    assert_string_equal(newest(), "0||||user.remove|0||0|{\"bytesLeftOut\":65537}|-");
    store_give_session(st, s);
    store_destroy(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_goes_with_its_transaction),
        cmocka_unit_test(texts_are_cut_and_json_is_never_half),
    };
    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}

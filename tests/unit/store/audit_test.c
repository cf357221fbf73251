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
    struct errctx why;
    (void)state;

    int64_t before_s = test_now_s();
    put(s, &row);
    assert_string_equal(newest(), "5|ann|10.0.0.9|api/v1|job.update|7|nightly|3|{\"author\":\"ann\"}|"
                                  "{\"author\":\"bob\"}");
    assert_in_range(test_int("SELECT at_ms DIV 1000 FROM shardwheel_audit"), before_s, test_now_s());
    assert_ok(store_begin_txn(s, ec));
    assert_ok(store_put_audit(s, &row, ec));
    store_end_txn(s);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit"), 1);
    put(s, NULL);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit"), 1);
    row.failed = true;
    assert_ok(store_begin_txn(s, ec));
    assert_int_equal(store_put_audit(s, &row, &why), ERR_NOMEM);
    store_end_txn(s);
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

/* Only what was sent may be there. */
static void a_row_that_was_not_sent_is_lost(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct audit_row row = make_row();
    struct errctx why;
    (void)state;

    s->is_bound = true;
    store_drop_connection(s);
    assert_int_equal(store_write_audit(s, &row, &why), ERR_LOST);
    assert_ok(store_ready_session(s, ec));
    assert_ok(store_write_audit(s, &row, ec));
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit"), 1);
    store_give_session(st, s);
    store_destroy(st);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Ids in the order of the list, for what a filter asks; at most `max` behind `place`. */
static const char *list(struct store_session *s, struct audit_filter filter, struct history_place place, size_t max)
{
    static char out[200];
    struct audit_page page;
    size_t n = 0;

    out[0] = '\0';
    assert_ok(store_load_audit(s, &filter, place, max, 2000, &page, ec));
    for (size_t i = 0; i < page.count; i++)
        n += (size_t)snprintf(out + n, sizeof out - n, "%s%" PRId64, i ? " " : "", page.items[i].id);
    audit_page_fini(&page);
    return out;
}

static void lists_begin_with_the_newest_and_take_filters(void **state)
{
    static const int64_t groups[] = {3, 4};
    const struct history_place newest_place = {.at_ms = INT64_MAX};
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct audit_page page;
    (void)state;

    test_sql("INSERT INTO shardwheel_audit (at_ms, user_id, who, address, via, action, target, target_name, job_group, "
             "before_json) VALUES (10, 1, 'ann', 'a', 'v', 'job.update', 7, 'j', 3, '{}'), "
             "(20, 1, 'bob', '', '', 'job.start', 7, '', 3, NULL), (20, 1, 'ann', '', '', 'jobs.import', 0, '', 4, "
             "NULL), (30, 1, 'ann', '', '', 'user.add', 5, '', 0, NULL)");
    const struct {
        const char *wanted;
        struct audit_filter filter;
    } table[] = {
        {"4 3 2 1", {.scope = AUDIT_OF_ALL}},
        {"2 1", {.groups = groups, .group_count = 1}},
        {"3 2 1", {.scope = AUDIT_OF_GROUPS}},
        {"2 1", {.scope = AUDIT_OF_ALL, .of_jobs = true}},
        {"3 2 1", {.groups = groups, .group_count = 2}},
        {"", {.group_count = 0}},
        {"4 3 1", {.scope = AUDIT_OF_ALL, .who = "ann"}},
        {"2", {.scope = AUDIT_OF_ALL, .action = "job.start"}},
        {"2 1", {.scope = AUDIT_OF_ALL, .action = "job."}},
        {"", {.scope = AUDIT_OF_ALL, .action = "j%."}},
        {"", {.scope = AUDIT_OF_ALL, .action = "jo_."}},
        {"", {.scope = AUDIT_OF_ALL, .action = "'\\."}},
        {"2 1", {.scope = AUDIT_OF_ALL, .target = 7}},
        {"3", {.scope = AUDIT_OF_ALL, .job_group = 4}},
        {"", {.groups = groups, .group_count = 1, .job_group = 4}},
        {"3 2", {.scope = AUDIT_OF_ALL, .from_ms = 20, .to_ms = 30}},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        assert_string_equal(list(s, table[i].filter, newest_place, 9), table[i].wanted);
    assert_string_equal(list(s, table[0].filter, newest_place, 2), "4 3");
    assert_string_equal(list(s, table[0].filter, (struct history_place){20, 3}, 2), "2 1");
    assert_ok(store_load_audit(s, &table[0].filter, (struct history_place){20, 2}, 9, 2000, &page, ec));
    assert_int_equal(page.count, 1);
    assert_int_equal(page.items[0].at_ms, 10);
    assert_string_equal(page.items[0].row.who, "ann");
    assert_string_equal(page.items[0].row.before, "{}");
    assert_null(page.items[0].row.after);
    audit_page_fini(&page);
    store_give_session(st, s);
    store_destroy(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_goes_with_its_transaction),
        cmocka_unit_test(texts_are_cut_and_json_is_never_half),
        cmocka_unit_test(a_row_that_was_not_sent_is_lost),
        cmocka_unit_test(lists_begin_with_the_newest_and_take_filters),
    };
    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}

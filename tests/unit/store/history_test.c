/* SPDX-License-Identifier: MIT */
/* Minutes, events, edits of others, and their retention. */
#include "store/test_schema.h"

#include "shardwheel/store/history.h"
#include "shardwheel/store/schema.h"

#define NOW_S INT64_C(1700000000) /* 2023-11-15 06:13:20 in the zone of the store */
#define NOW_MS (NOW_S * 1000)
#define LIMIT_MS 60000

static const struct history_place newest = {.at_ms = INT64_MAX};

/* ---- minutes ----------------------------------------------------------------------------------------------------- */

struct taken {
    struct minute_row rows[8];
    size_t count;
};

static void take(void *arg, const struct minute_row *row)
{
    struct taken *t = arg;

    assert_true(t->count < ARRAY_LEN(t->rows));
    t->rows[t->count++] = *row;
}

static void minutes_come_back_and_are_written_once(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct minute_row rows[] = {
        {.minute_s = 6000, .fires = 9, .undelivered = 2, .succeeded = 6, .failed = 1, .late_sum_ms = 12345},
        {.minute_s = 6060, .fires = 4},
    };
    struct taken t = {0};
    (void)state;

    rows[0].lateness[0] = 7;
    rows[0].lateness[HISTOGRAM_BUCKETS] = INT64_C(9999999999);
    assert_ok(store_write_minutes(s, "aa", rows, 2, ec));
    rows[0].fires = 5;
    assert_ok(store_write_minutes(s, "aa", rows, 2, ec));
    assert_ok(store_write_minutes(s, "bb", rows, 1, ec));
    assert_ok(store_write_minutes(s, "bb", rows, 0, ec));
    assert_ok(store_read_minutes(s, 6000, 6060, LIMIT_MS, take, &t, ec));
    assert_int_equal(t.count, 2);
    assert_int_equal(t.rows[0].fires, 9);
    assert_int_equal(t.rows[1].fires, 5);
    rows[0].fires = 9;
    assert_memory_equal(&t.rows[0], &rows[0], sizeof rows[0]);
    t.count = 0;
    assert_ok(store_read_minutes(s, 6001, 6061, LIMIT_MS, take, &t, ec));
    assert_int_equal(t.count, 1);
    assert_int_equal(t.rows[0].minute_s, 6060);
    test_sql("UPDATE shardwheel_minute SET lateness = '1,-3,5,x,7' WHERE minute_s = 6060");
    t.count = 0;
    assert_ok(store_read_minutes(s, 6060, 6120, LIMIT_MS, take, &t, ec));
    assert_int_equal(t.rows[0].lateness[0], 1);
    assert_int_equal(t.rows[0].lateness[1], 0);
    assert_int_equal(t.rows[0].lateness[2], 5);
    assert_int_equal(t.rows[0].lateness[4], 0);
    store_give_session(st, s);
    store_destroy(st);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static void put_events(struct store_session *s)
{
    const struct event_row rows[] = {
        {.at_ms = 1000, .kind = "node-joined", .node = "n1", .shard = -1, .detail = "n1 is there"},
        {.at_ms = 2000, .kind = "shard-taken", .node = "n1", .shard = 0, .detail = "shard 0"},
        {.at_ms = 2000, .until_ms = 2500, .kind = "database-away", .node = "n1", .shard = -1, .detail = "it's away"},
        {.at_ms = 3000,
         .kind = "job-changed",
         .node = "n1",
         .shard = -1,
         .job_id = 7,
         .job_group = 3,
         .detail = "7",
         .data = "{\"running\":true}"},
        {.at_ms = 4000, .kind = "job-changed", .node = "n1", .shard = -1, .job_id = 8, .job_group = 4, .detail = "8"},
    };
    assert_ok(store_write_events(s, rows, ARRAY_LEN(rows), ec));
    assert_ok(store_write_events(s, rows, 0, ec));
}

/* Their details, newest first. */
static const char *list(struct store_session *s, struct event_filter filter, struct history_place place, size_t max)
{
    static char out[200];
    struct event_page page;
    size_t n = 0;

    out[0] = '\0';
    assert_ok(store_load_events(s, &filter, place, max, LIMIT_MS, &page, ec));
    for (size_t i = 0; i < page.count; i++)
        n += (size_t)snprintf(out + n, sizeof out - n, "%s%s", i ? "|" : "", page.items[i].detail);
    event_page_fini(&page);
    return out;
}

static void events_are_listed_newest_first_and_by_filters(void **state)
{
    static const int64_t three[] = {3};
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct event_page page;
    (void)state;

    put_events(s);
    assert_string_equal(list(s, (struct event_filter){.all_groups = true}, newest, 9),
                        "8|7|it's away|shard 0|n1 is there");
    assert_string_equal(list(s, (struct event_filter){.groups = three, .group_count = 1}, newest, 9),
                        "7|it's away|shard 0|n1 is there");
    assert_string_equal(list(s, (struct event_filter){0}, newest, 9), "it's away|shard 0|n1 is there");
    assert_string_equal(list(s, (struct event_filter){.all_groups = true, .kind = "job-changed"}, newest, 9), "8|7");
    assert_string_equal(list(s, (struct event_filter){.all_groups = true, .job_id = 7}, newest, 9), "7");
    assert_string_equal(list(s, (struct event_filter){.all_groups = true, .by_shard = true}, newest, 9), "shard 0");
    assert_string_equal(list(s, (struct event_filter){.all_groups = true, .no_jobs = true}, newest, 2),
                        "it's away|shard 0");
    assert_string_equal(list(s, (struct event_filter){.all_groups = true, .from_ms = 2000, .to_ms = 4000}, newest, 9),
                        "7|it's away|shard 0");
    assert_ok(store_load_events(s, &(struct event_filter){.all_groups = true}, newest, 3, LIMIT_MS, &page, ec));
    assert_int_equal(page.items[2].until_ms, 2500);
    assert_int_equal(page.items[2].shard, -1);
    assert_string_equal(page.items[1].data, "{\"running\":true}");
    assert_int_equal(page.items[1].job_group, 3);
    assert_null(page.items[0].data);
    /* Two of one time: the list goes on between them. */
    struct history_place place = {page.items[2].at_ms, page.items[2].id};
    assert_string_equal(list(s, (struct event_filter){.all_groups = true}, place, 9), "shard 0|n1 is there");
    event_page_fini(&page);
    store_give_session(st, s);
    store_destroy(st);
}

/* ---- edits ------------------------------------------------------------------------------------------------------- */

/* Of jobs changed within the last minute, from the first one on; ids between bars. */
static const char *find_edits(struct store_session *s, int64_t after, int64_t *until)
{
    static char out[200];
    struct edited_job *jobs = NULL;
    size_t count = 0, n = 0;

    out[0] = '\0';
    assert_ok(store_find_edits(s, after, NOW_S - 60, &jobs, &count, until, ec));
    for (size_t i = 0; i < count; i++)
        n += (size_t)snprintf(out + n, sizeof out - n, "%s%" PRId64 " %" PRId64 "%s%s %s", i ? "|" : "", jobs[i].id,
                              jobs[i].updated_s - NOW_S, jobs[i].added ? " added" : "",
                              jobs[i].running ? " running" : "", jobs[i].conf);
    free(jobs);
    return out;
}

static void jobs_changed_of_late_are_found_in_every_family(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(test_families); i++) {
        struct store *st = test_db_fresh(1, NOW_S);
        struct store_session *s = test_take(st, SESSION_NORMAL);
        int64_t until = -1;

        for (int64_t id = 10; id < 15; id++)
            test_add_job(id, 0);
        test_make_family(test_families[i]);
        test_sql("UPDATE xxl_job_info SET add_time = '2020-01-01', update_time = '2023-11-15 06:12:19'");
        test_sql("UPDATE xxl_job_info SET update_time = '2023-11-15 06:12:20' WHERE id = 11");
        test_sql("UPDATE xxl_job_info SET update_time = '2023-11-15 06:13:25', add_time = '2023-11-15 06:13:25', "
                 "trigger_status = 0 WHERE id = 13");
        test_sql("UPDATE xxl_job_info SET update_time = NULL WHERE id = 14");
        assert_string_equal(find_edits(s, 0, &until), "11 -60 running 0 * * * * ?|13 5 added 0 * * * * ?");
        assert_int_equal(until, 0);
        assert_string_equal(find_edits(s, 11, &until), "13 5 added 0 * * * * ?");
        store_give_session(st, s);
        store_destroy(st);
    }
}

static void pieces_lead_to_the_end(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    int64_t until = 0;
    (void)state;

    test_sql("DELETE FROM xxl_job_info");
    test_sql("INSERT INTO xxl_job_info (id, job_group, job_desc, executor_block_strategy, glue_type, update_time) "
             "SELECT seq * 3, 1, 'job', 'x', 'BEAN', IF(seq IN (2, %d, %d), '2023-11-15 06:13:20', '2020-01-01') "
             "FROM seq_1_to_%d",
             EDITS_PIECE, EDITS_PIECE + 1, EDITS_PIECE + 1);
    assert_string_equal(find_edits(s, 0, &until), "6 0 |15000 0 ");
    assert_int_equal(until, EDITS_PIECE * 3);
    assert_string_equal(find_edits(s, until, &until), "15003 0 ");
    assert_int_equal(until, 0);
    store_give_session(st, s);
    store_destroy(st);
}

static bool write_edit(struct store_session *s, int64_t job, int64_t at_ms)
{
    struct event_row row = {.at_ms = at_ms,
                            .kind = "job-changed",
                            .node = "n1",
                            .shard = -1,
                            .job_id = job,
                            .job_group = 3,
                            .detail = "changed"};
    bool written = false;

    assert_ok(store_write_event_once(s, &row, /*unless_own=*/true, &written, ec));
    return written;
}

static void an_edit_is_told_once_and_not_when_it_was_ours(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    (void)state;

    assert_true(write_edit(s, 7, NOW_MS));
    assert_false(write_edit(s, 7, NOW_MS));
    assert_true(write_edit(s, 7, NOW_MS + 1000));
    test_sql("INSERT INTO shardwheel_audit (at_ms, user_id, who, address, via, action, target, target_name, job_group) "
             "VALUES (%" PRId64 ", 1, 'ann', '', '', 'job.update', 8, '', 3), (%" PRId64
             ", 1, 'ann', '', '', 'group.update', 9, '', 3)",
             NOW_MS + 999, NOW_MS + 999);
    assert_false(write_edit(s, 8, NOW_MS));
    assert_false(write_edit(s, 8, NOW_MS - EVENT_OWN_MS));
    assert_true(write_edit(s, 8, NOW_MS - EVENT_OWN_MS - 1000));
    assert_true(write_edit(s, 9, NOW_MS));
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_event"), 4);
    /* Without a job the node tells them apart. */
    struct event_row died = {.at_ms = 5, .kind = "node-died", .node = "n1", .shard = -1, .detail = "n1"};
    bool written = false;
    assert_ok(store_write_event_once(s, &died, /*unless_own=*/false, &written, ec));
    assert_true(written);
    assert_ok(store_write_event_once(s, &died, /*unless_own=*/false, &written, ec));
    assert_false(written);
    died.node = "n2";
    assert_ok(store_write_event_once(s, &died, /*unless_own=*/false, &written, ec));
    assert_true(written);
    store_give_session(st, s);
    store_destroy(st);
}

/* ---- retention --------------------------------------------------------------------------------------------------- */

static size_t sweep(struct store_session *s, enum history_table table, int64_t before_ms, size_t max)
{
    size_t removed = 99;

    assert_ok(store_sweep_history(s, table, before_ms, max, &removed, ec));
    return removed;
}

static void old_rows_go_the_oldest_first(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct minute_row minutes[] = {{.minute_s = 60}, {.minute_s = 120}, {.minute_s = 180}};
    (void)state;

    put_events(s);
    assert_int_equal(sweep(s, HISTORY_EVENTS, 3000, 1), 1);
    assert_string_equal(list(s, (struct event_filter){.all_groups = true}, newest, 9), "8|7|it's away|shard 0");
    assert_int_equal(sweep(s, HISTORY_EVENTS, 3000, 9), 2);
    assert_int_equal(sweep(s, HISTORY_EVENTS, 3000, 9), 0);
    assert_ok(store_write_minutes(s, "aa", minutes, 3, ec));
    assert_int_equal(sweep(s, HISTORY_MINUTES, 120000, 9), 1);
    assert_int_equal(test_int("SELECT MIN(minute_s) FROM shardwheel_minute"), 120);
    test_sql("INSERT INTO shardwheel_audit (at_ms, user_id, who, address, via, action, target, target_name, job_group) "
             "VALUES (5, 1, '', '', '', 'a', 1, '', 1), (6, 1, '', '', '', 'b', 1, '', 1)");
    assert_int_equal(sweep(s, HISTORY_AUDIT, 6, 9), 1);
    assert_string_equal(test_text("SELECT action FROM shardwheel_audit"), "b");
    store_give_session(st, s);
    store_destroy(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(minutes_come_back_and_are_written_once),
        cmocka_unit_test(events_are_listed_newest_first_and_by_filters),
        cmocka_unit_test(jobs_changed_of_late_are_found_in_every_family),
        cmocka_unit_test(pieces_lead_to_the_end),
        cmocka_unit_test(an_edit_is_told_once_and_not_when_it_was_ours),
        cmocka_unit_test(old_rows_go_the_oldest_first),
    };
    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}

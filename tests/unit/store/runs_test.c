/* SPDX-License-Identifier: MIT */
/* Runs found by filters, on every set of indexes that databases have: always what the server finds by itself. */
#include "store/test_schema.h"

#include "shardwheel/store/runs.h"
#include "store/run/states.h"

#define ROWS 7000
#define NOW_S INT64_C(1700000000) /* 2023-11-14 22:13:20 UTC, 15 06:13:20 in Shanghai */

/* Seven states in turn, ten jobs, three groups; times fall back now and then, and many are equal. */
static void add_rows(void)
{
    test_sql("INSERT INTO xxl_job_log (id, job_group, job_id, executor_address, executor_handler, executor_param, "
             "trigger_time, trigger_code, trigger_msg, handle_code, handle_msg, alarm_status) "
             "SELECT seq, 1 + seq %% 3, 1 + (seq DIV 3) %% 10, CONCAT('http://a', seq %% 4, ':1/'), 'demo', "
             "IF(seq %% 1000 = 500, '50%%_off|x\\\\', 'p'), "
             "'2023-11-15 00:00:00' + INTERVAL (seq DIV 3 + 40 * (seq %% 7 = 0)) SECOND, "
             "ELT(1 + seq %% 9, 200, 200, 0, 0, 0, 500, 500, 200, 200), "
             "ELT(1 + seq %% 9, 'ok', NULL, '<!--sw:p:1:2-->ahead', '<!--sw:d:abc:1:M-->', '<!--sw:h-->waits', "
             "'<!--sw:s:3-->skipped', '<!--sw:p:1:2:O1-->delivery unknown: gone', '', 'x'), "
             "ELT(1 + seq %% 9, 200, 0, 0, 0, 0, 0, 0, IF(seq %% 2, 500, 502), 500), "
             "ELT(1 + seq %% 9, '', NULL, NULL, NULL, NULL, NULL, NULL, 'bad', '<!--sw:l-->lost'), 0 FROM seq_1_to_%d",
             ROWS);
}

static const char *const index_sets[] = {
    "ADD KEY t (trigger_time), ADD KEY h (handle_code)",                                                     /* 2.3 */
    "ADD KEY t (trigger_time), ADD KEY h (handle_code), ADD KEY jg (job_id, job_group), ADD KEY j (job_id)", /* 2.5 */
    "ADD KEY t (trigger_time), ADD KEY h (handle_code), ADD KEY j (job_id), ADD KEY g (job_group)",          /* 3.4 */
    ("ADD KEY t (trigger_time), ADD KEY h (handle_code), ADD KEY jt (job_id, trigger_time), "
     "ADD KEY gt (job_group, trigger_time)"), /* 2.3 with ours */
    "ADD KEY h (handle_code)",
};

static struct store *prepare(const char *indexes)
{
    struct store *st = test_db_fresh(1, NOW_S);

    test_sql("DROP TABLE xxl_job_log");
    test_sql("CREATE TABLE xxl_job_log (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, job_group INT NOT NULL, job_id "
             "INT NOT NULL, executor_address VARCHAR(255), executor_handler VARCHAR(255), executor_param TEXT, "
             "executor_sharding_param VARCHAR(20), executor_fail_retry_count INT NOT NULL DEFAULT 0, trigger_time "
             "DATETIME, trigger_code INT NOT NULL, trigger_msg TEXT, handle_time DATETIME, handle_code INT NOT NULL, "
             "handle_msg TEXT, alarm_status TINYINT NOT NULL DEFAULT 0) ENGINE=InnoDB");
    test_sql("ALTER TABLE xxl_job_log %s", indexes);
    add_rows();
    store_destroy(st);
    return test_store();
}

/* ---- states ------------------------------------------------------------------------------------------------------ */

static void states_are_the_same_in_sql(void **state)
{
    struct store *st = prepare(index_sets[0]);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    int64_t ids[18];
    struct run_rows rows;
    unsigned seen = 0;
    (void)state;

    for (int i = 0; i < 18; i++)
        ids[i] = i + 1;
    assert_ok(store_load_run_rows(s, ids, 18, 0, SIZE_MAX, &rows, ec));
    assert_int_equal(rows.count, 18);
    for (size_t i = 0; i < rows.count; i++) {
        for (unsigned other = 0; other < RUN_STATES; other++) {
            struct sqlbuf *q = store_start_sql(s, "SELECT COUNT(*) FROM xxl_job_log WHERE ");
            struct db_rows *found = NULL;

            run_states_put(q, 1u << other);
            sql_puts(q, " AND id = ");
            sql_int(q, rows.rows[i].id);
            assert_ok(store_query_sql(s, &found, ec));
            assert_true(db_rows_next(found));
            assert_int_equal(db_int(found, 0), other == rows.rows[i].state);
            db_rows_destroy(found);
        }
        seen |= 1u << rows.rows[i].state;
    }
    assert_int_equal(seen, (1u << RUN_STATES) - 1);
    run_rows_fini(&rows);
    store_give_session(st, s);
    store_destroy(st);
}

/* ---- finding ----------------------------------------------------------------------------------------------------- */

static const struct {
    struct run_filter filter;
    const char *sql; /* what it says */
} filters[] = {
    {{0}, "TRUE"},
    {{.job_id = 4}, "job_id = 4"},
    {{.job_id = 99}, "FALSE"},
    {{.group = 2}, "job_group = 2"},
    {{.job_id = 4, .group = 2}, "job_id = 4 AND job_group = 2"},
    {{.groups = (const int64_t[]){1, 3}, .group_count = 2}, "job_group IN (1, 3)"},
    {{.groups = (const int64_t[]){1, 3}, .group_count = 2, .job_id = 5}, "job_group IN (1, 3) AND job_id = 5"},
    {{.from_s = 1699978800, .until_s = 1699979000},
     "trigger_time BETWEEN '2023-11-15 00:20:00' AND '2023-11-15 00:23:20'"},
    {{.job_id = 2, .until_s = 1699979000}, "job_id = 2 AND trigger_time <= '2023-11-15 00:23:20'"},
    {{.group = 1, .from_s = 1699978800}, "job_group = 1 AND trigger_time >= '2023-11-15 00:20:00'"},
    {{.late = true}, "trigger_msg LIKE '<!--sw:p:_%:O_%'"},
    {{.late = true, .job_id = 4}, "job_id = 4 AND trigger_msg LIKE '<!--sw:p:_%:O_%'"},
    {{.log_status = 1}, "handle_code = 200"},
    {{.log_status = 2}, "(trigger_code NOT IN (0, 200) OR handle_code NOT IN (0, 200))"},
    {{.log_status = 3, .group = 3}, "trigger_code = 200 AND handle_code = 0 AND job_group = 3"},
    {{.log_status = 7}, "TRUE"},
    {{.states = 1u << RUN_SKIPPED | 1u << RUN_LOST},
     "(trigger_msg LIKE '<!--sw:s:%' OR handle_msg LIKE '<!--sw:l-->%')"},
    {{.states = 1u << RUN_SUCCESS, .job_id = 7}, "handle_code = 200 AND job_id = 7"},
    {{.address = "http://a3:1/"}, "executor_address = 'http://a3:1/'"},
    {{.text = "50%_off|x\\"}, "id % 1000 = 500"},
    {{.text = "%"}, "id % 1000 = 500"},
    {{.text = "lost", .group = 2}, "job_group = 2 AND handle_msg LIKE '%lost%'"},
};

static void check_ids(const struct run_ids *ids, const char *where, enum run_order order, int64_t skip, size_t want)
{
    struct db_rows *rows = NULL;
    char sql[1000];
    size_t n = 0;

    snprintf(
        sql, sizeof sql,
        "SELECT id FROM xxl_job_log IGNORE INDEX FOR ORDER BY (PRIMARY) WHERE %s ORDER BY %s LIMIT %zu OFFSET %" PRId64,
        where, order == RUN_BY_TIME ? "trigger_time DESC, id DESC" : "id DESC", want, skip);
    assert_ok(db_query(test_db.sql, sql, strlen(sql), &rows, ec));
    if (ids->count != db_rows_count(rows))
        fail_msg("%s: %zu found, %zu there", sql, ids->count, db_rows_count(rows));
    for (; db_rows_next(rows); n++)
        if (ids->ids[n] != db_int(rows, 0))
            fail_msg("%s: row %zu is %" PRId64 ", not %" PRId64, sql, n, ids->ids[n], db_int(rows, 0));
    db_rows_destroy(rows);
}

static void each_filter_finds_what_it_says(void **state)
{
    static const struct {
        int64_t skip;
        size_t want;
    } pages[] = {{0, 10}, {0, 1}, {25, 500}, {6500, 2000}};
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(index_sets); i++) {
        struct store *st = prepare(index_sets[i]);
        struct store_session *s = test_take(st, SESSION_NORMAL);

        for (size_t f = 0; f < ARRAY_LEN(filters); f++) {
            int64_t total = -1;

            assert_ok(store_count_runs(s, &filters[f].filter, 5000, &total, ec));
            assert_int_equal(total, test_int("SELECT COUNT(*) FROM xxl_job_log WHERE %s", filters[f].sql));
            for (size_t p = 0; p < ARRAY_LEN(pages) * 2; p++) {
                struct run_query query = {.filter = filters[f].filter,
                                          .order = p % 2 ? RUN_BY_ID : RUN_BY_TIME,
                                          .skip = pages[p / 2].skip,
                                          .want = pages[p / 2].want,
                                          .limit_ms = 60000,
                                          .look_max = 1000000};
                struct run_ids ids;

                assert_ok(store_search_runs(s, &query, &ids, ec));
                assert_int_equal(ids.stop, RUN_STOP_NOT);
                check_ids(&ids, filters[f].sql, query.order, query.skip, query.want);
                assert_int_equal(ids.is_end, query.skip + (int64_t)query.want >= total);
                run_ids_fini(&ids);
            }
        }
        store_give_session(st, s);
        store_destroy(st);
    }
}

/* Page by page, each from where the last one ended: every row once, in order, also where a page stops short. */
static void pages_follow_each_other(void **state)
{
    static const size_t chosen[] = {0, 1, 3, 5, 8, 13, 14, 16};
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(index_sets) - 1; i++) {
        struct store *st = prepare(index_sets[i]);
        struct store_session *s = test_take(st, SESSION_NORMAL);

        for (size_t c = 0; c < ARRAY_LEN(chosen) * 2; c++) {
            size_t f = chosen[c / 2], stops = 0;
            struct run_query query = {.filter = filters[f].filter,
                                      .order = c % 2 ? RUN_BY_ID : RUN_BY_TIME,
                                      .want = 400,
                                      .limit_ms = 60000,
                                      .look_max = 1500};
            struct run_ids all = {.ids = calloc(ROWS + 400, sizeof(int64_t))}, page = {0};

            while (!page.is_end) {
                run_ids_fini(&page);
                assert_ok(store_search_runs(s, &query, &page, ec));
                for (size_t n = 0; n < page.count; n++)
                    all.ids[all.count++] = page.ids[n];
                stops += page.stop == RUN_STOP_ROWS;
                query.after = page.last;
                assert_true(all.count <= ROWS && stops < 10);
            }
            check_ids(&all, filters[f].sql, query.order, 0, ROWS);
            run_ids_fini(&page);
            run_ids_fini(&all);
        }
        store_give_session(st, s);
        store_destroy(st);
    }
}

static void a_search_stops_when_its_time_is_over(void **state)
{
    struct store *st = prepare(index_sets[0]);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct run_query query = {.filter = {.text = "nowhere"}, .want = 10, .limit_ms = 1, .look_max = 1000000};
    struct run_ids ids;
    int64_t total;
    struct errctx why = {{0}};
    (void)state;

    assert_ok(store_search_runs(s, &query, &ids, ec));
    assert_int_equal(ids.stop, RUN_STOP_TIME);
    assert_false(ids.is_end);
    assert_int_equal(ids.count, 0);
    run_ids_fini(&ids);
    test_sql("INSERT INTO xxl_job_log (job_group, job_id, trigger_code, handle_code, trigger_msg) SELECT 1, 1, 0, 0, "
             "REPEAT('x', 2000) FROM seq_1_to_20000");
    assert_int_equal(store_count_runs(s, &query.filter, 1, &total, &why), ERR_TIMEOUT);
    store_give_session(st, s);
    store_destroy(st);
}

/* Nobody writes such rows, but the column allows it: by time they come last, and from page to page by id alone. */
static void rows_without_a_time_do_no_harm(void **state)
{
    struct store *st = prepare(index_sets[3]);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct run_query query = {.filter = {.job_id = 4}, .want = 3, .limit_ms = 60000, .look_max = 100000};
    struct run_ids ids;
    (void)state;

    test_sql("DELETE FROM xxl_job_log WHERE job_id = 4 AND id > 100");
    test_sql("UPDATE xxl_job_log SET trigger_time = NULL WHERE job_id = 4");
    for (size_t f = 0; f < 2; f++) {
        int64_t seen = 0;
        bool is_end = false;

        query.after = (struct run_place){0};
        query.filter.text = f ? "demo" : NULL;
        for (int page = 0; page < 10 && !is_end; page++) {
            assert_ok(store_search_runs(s, &query, &ids, ec));
            query.after = ids.last;
            seen += (int64_t)ids.count;
            is_end = ids.is_end;
            run_ids_fini(&ids);
        }
        assert_true(is_end);
        assert_int_equal(seen, test_int("SELECT COUNT(*) FROM xxl_job_log WHERE job_id = 4"));
    }
    store_give_session(st, s);
    store_destroy(st);
}

/* ---- reading and clearing ---------------------------------------------------------------------------------------- */

static void rows_come_in_the_order_of_their_ids(void **state)
{
    struct store *st = prepare(index_sets[0]);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    int64_t ids[300];
    struct run_rows rows;
    (void)state;

    for (int64_t i = 0; i < 300; i++)
        ids[i] = 6000 - i * 7;
    test_sql("DELETE FROM xxl_job_log WHERE id = %" PRId64, ids[5]);
    assert_ok(store_load_run_rows(s, ids, 300, 0, SIZE_MAX, &rows, ec));
    assert_int_equal(rows.count, 299);
    assert_false(rows.cut);
    assert_int_equal(rows.rows[4].id, ids[4]);
    assert_int_equal(rows.rows[5].id, ids[6]);
    assert_int_equal(rows.rows[298].id, ids[299]);
    run_rows_fini(&rows);
    assert_ok(store_load_run_rows(s, ids, 300, 3, 20000, &rows, ec));
    assert_true(rows.cut && rows.count > 80 && rows.count < 100);
    for (size_t i = 0; i < rows.count; i++)
        assert_true(!rows.rows[i].trigger_msg || strlen(rows.rows[i].trigger_msg) <= 3);
    run_rows_fini(&rows);
    store_give_session(st, s);
    store_destroy(st);
}

static void what_is_cut_has_its_tail(void **state)
{
    struct store *st = prepare(index_sets[0]);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    int64_t ids[] = {1, 2, 3};
    struct run_rows rows;
    (void)state;

    test_sql("UPDATE xxl_job_log SET trigger_msg = CONCAT(REPEAT('a', 900), 'end') WHERE id = 1");
    test_sql("UPDATE xxl_job_log SET trigger_msg = 'short' WHERE id = 2");
    test_sql("UPDATE xxl_job_log SET trigger_msg = NULL WHERE id = 3");
    assert_ok(store_load_run_rows(s, ids, 3, 50, SIZE_MAX, &rows, ec));
    assert_int_equal(strlen(rows.rows[0].trigger_msg), 50);
    assert_int_equal(strlen(rows.rows[0].tail), RUN_TAIL);
    assert_string_equal(rows.rows[0].tail + RUN_TAIL - 4, "aend");
    assert_string_equal(rows.rows[1].tail, "short");
    assert_null(rows.rows[2].tail);
    run_rows_fini(&rows);
    assert_ok(store_load_run_rows(s, ids, 3, 0, SIZE_MAX, &rows, ec));
    assert_ptr_equal(rows.rows[0].tail, rows.rows[0].trigger_msg);
    run_rows_fini(&rows);
    store_give_session(st, s);
    store_destroy(st);
}

/* By each set of indexes: what the table has, or nothing where no index leads to it. */
static void the_newest_runs_of_jobs_are_found(void **state)
{
    static const int64_t jobs[] = {4, 99, 7};
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(index_sets); i++) {
        struct store *st = prepare(index_sets[i]);
        struct store_session *s = test_take(st, SESSION_NORMAL);
        bool indexed, by_id = i == 1 || i == 2, can = by_id || i == 3;
        int64_t ids[15];
        size_t count;

        assert_ok(store_find_recent_runs(s, jobs, ARRAY_LEN(jobs), 5, 5000, ids, &count, &indexed, ec));
        assert_int_equal(indexed, can);
        assert_int_equal(count, can ? 10 : 0);
        for (size_t k = 0; k < count; k++) {
            int64_t id = test_int("SELECT id FROM (SELECT id FROM xxl_job_log WHERE job_id = %d ORDER BY %s id DESC "
                                  "LIMIT 5) r ORDER BY id DESC LIMIT %d, 1",
                                  k < 5 ? 4 : 7, by_id ? "" : "trigger_time DESC,", (int)(k % 5));
            assert_int_equal(ids[k], id);
        }
        store_give_session(st, s);
        store_destroy(st);
    }
}

static void open_fires_of_ours_are_not_cleared(void **state)
{
    struct store *st = prepare(index_sets[0]);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct run_query query = {.want = CLEAR_BATCH_MAX, .limit_ms = 60000, .look_max = 100000};
    struct run_ids ids = {0};
    struct run_place place;
    size_t deleted, all = 0;
    bool found;
    (void)state;

    assert_ok(store_find_place(s, &query.filter, 999, 5000, &place, &found, ec));
    assert_true(found);
    assert_int_equal(place.id, test_int("SELECT id FROM xxl_job_log ORDER BY trigger_time DESC, id DESC LIMIT 999, 1"));
    assert_ok(store_find_place(s, &query.filter, ROWS, 5000, &place, &found, ec));
    assert_false(found);
    do {
        run_ids_fini(&ids);
        assert_ok(store_search_runs(s, &query, &ids, ec));
        query.after = ids.last;
        assert_ok(store_clear_runs(s, ids.ids, ids.count, &deleted, ec));
        all += deleted;
    } while (!ids.is_end);
    run_ids_fini(&ids);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log"), ROWS - (int64_t)all);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log WHERE NOT (trigger_code = 0 AND handle_code = 0)"), 0);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log"),
                     (ROWS - 2) / 9 + (ROWS - 3) / 9 + (ROWS - 4) / 9 + 3);
    store_give_session(st, s);
    store_destroy(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_are_the_same_in_sql),
        cmocka_unit_test(each_filter_finds_what_it_says),
        cmocka_unit_test(pages_follow_each_other),
        cmocka_unit_test(rows_without_a_time_do_no_harm),
        cmocka_unit_test(a_search_stops_when_its_time_is_over),
        cmocka_unit_test(rows_come_in_the_order_of_their_ids),
        cmocka_unit_test(what_is_cut_has_its_tail),
        cmocka_unit_test(the_newest_runs_of_jobs_are_found),
        cmocka_unit_test(open_fires_of_ours_are_not_cleared),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}

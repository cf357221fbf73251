/* SPDX-License-Identifier: MIT */
#include "store/test_claim.h"

/* ---- loading ----------------------------------------------------------------------------------------------- */

static void assert_scan(struct store_session *s, const int *shards, size_t shard_count, int n, size_t limit,
                        const int64_t *ids, size_t count, bool complete)
{
    struct due_scan scan = {0};

    assert_ok(store_scan_due(s, shards, shard_count, n, 5000, limit, &scan, ec));
    assert_int_equal(scan.count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(scan.list[i].id, ids[i]);
    assert_int_equal(scan.complete, complete);
    free(scan.list);
}

static void one_look_finds_what_is_due_of_several_shards(void **state)
{
    struct fixture f;
    static const int64_t all[] = {2, 3, 6, 10, 4, 7};

    (void)state;
    set_up(&f);
    test_add_job(4, 2000);
    test_add_job(2, 1000);
    test_add_job(6, 1000);
    test_add_job(8, 5001);
    test_add_job(3, 1000);
    test_add_job(7, 5000);
    test_add_job(10, 1000);
    test_add_job(12, 1000);
    test_sql("UPDATE xxl_job_info SET trigger_status = 0 WHERE id = 12");
    assert_scan(f.s, (int[]){0, 1}, 2, 2, 10, all, 6, true);
    assert_scan(f.s, (int[]){0, 1}, 2, 2, 6, all, 6, true);
    assert_scan(f.s, (int[]){0, 1}, 2, 2, 5, all, 5, false); /* the most overdue */
    assert_scan(f.s, (int[]){1}, 1, 2, 10, (int64_t[]){3, 7}, 2, true);
    assert_scan(f.s, (int[]){0, 3}, 2, 4, 10, (int64_t[]){3, 4, 7}, 3, true);
    assert_scan(f.s, (int[]){0}, 1, 7, 10, (int64_t[]){7}, 1, true);
    assert_scan(f.s, (int[]){5}, 1, 7, 10, NULL, 0, true);
    tear_down(&f);
}

/* Rows that were not read to the end leave the connection as it was; one that breaks in their midst is a failure. */
static void a_look_that_breaks_is_no_short_answer(void **state)
{
    struct fixture f;
    struct due_scan scan = {0};
    struct db_rows *rows = NULL;

    (void)state;
    set_up(&f);
    test_sql("INSERT INTO xxl_job_info (job_group, job_desc, glue_type, trigger_status, trigger_next_time) "
             "SELECT 1, '', 'BEAN', 1, seq FROM seq_1_to_200000");
    assert_ok(store_scan_due(f.s, (int[]){0}, 1, 1, INT64_MAX, 10, &scan, ec));
    assert_int_equal(scan.count, 10);
    assert_false(scan.complete);
    free(scan.list);
    assert_ok(store_ready_session(f.s, ec));
    store_start_sql(f.s, "SELECT id, REPEAT('x', 2000) FROM xxl_job_info");
    assert_ok(store_stream_sql(f.s, &rows, ec));
    assert_true(db_rows_next(rows));
    test_sql("KILL CONNECTION %" PRId64, db_connection_id(f.s->db));
    while (db_rows_next(rows))
        continue;
    assert_int_equal(store_end_stream(f.s, rows, NULL), ERR_LOST);
    assert_ok(store_scan_due(f.s, (int[]){0}, 1, 1, INT64_MAX, 10, &scan, ec)); /* on a new connection */
    free(scan.list);
    tear_down(&f);
}

static void due_jobs_are_read_by_id(void **state)
{
    struct fixture f;
    struct job_page page;
    enum { MANY = 1203 };
    static int64_t ids[MANY];

    (void)state;
    set_up(&f);
    for (int64_t id = 1; id <= 4; id++)
        test_add_job(id, 1000 * id);
    test_sql("UPDATE xxl_job_info SET trigger_status = 0 WHERE id = 2");
    assert_ok(store_load_due(f.s, (int64_t[]){1, 2, 3, 4, 5}, 5, 3000, &page, ec));
    assert_int_equal(page.count, 2);
    assert_int_equal(page.jobs[0].id, 1);
    assert_int_equal(page.jobs[1].id, 3);
    assert_int_equal(page.jobs[1].next_ms, 3000);
    assert_string_equal(page.jobs[1].schedule_type, "CRON");
    assert_string_equal(page.jobs[1].schedule_conf, "0 * * * * ?");
    assert_string_equal(page.jobs[1].misfire, "DO_NOTHING");
    assert_string_equal(page.jobs[1].route, "FIRST");
    assert_string_equal(page.jobs[1].handler, "demo");
    assert_string_equal(page.jobs[1].param, "p");
    assert_int_equal(page.jobs[1].group, 1);
    job_page_fini(&page);
    /* More than one statement takes. */
    test_sql("INSERT INTO xxl_job_info (id, job_group, job_desc, glue_type, trigger_status, trigger_next_time) "
             "SELECT 100 + seq, 1, '', 'BEAN', 1, 7 FROM seq_1_to_%d",
             MANY);
    for (int64_t i = 0; i < MANY; i++)
        ids[i] = 101 + i;
    assert_ok(store_load_due(f.s, ids, MANY, 7, &page, ec));
    assert_int_equal(page.count, MANY);
    for (int64_t i = 0; i < MANY; i++)
        assert_int_equal(page.jobs[i].id, 101 + i);
    assert_string_equal(page.jobs[0].schedule_type, "NONE"); /* the texts of the first statement live on */
    job_page_fini(&page);
    tear_down(&f);
}

static void null_columns_read_as_empty(void **state)
{
    struct fixture f;
    struct job_page page;
    struct job_spec *spec = NULL;

    (void)state;
    set_up(&f);
    test_sql("INSERT INTO xxl_job_info (id, job_group, job_desc, glue_type, trigger_status, trigger_next_time) "
             "VALUES (7, 1, '', 'BEAN', 1, 5)");
    assert_ok(load_due_jobs(f.s, 0, 1, 10, 10, &page, ec));
    assert_int_equal(page.count, 1);
    assert_string_equal(page.jobs[0].schedule_conf, "");
    assert_string_equal(page.jobs[0].route, "");
    assert_string_equal(page.jobs[0].handler, "");
    assert_null(page.jobs[0].param);
    job_page_fini(&page);
    assert_ok(store_load_job_specs(f.s, &(int64_t){7}, 1, &spec, ec));
    assert_non_null(spec);
    assert_string_equal(spec->route, "");
    assert_string_equal(spec->handler, "");
    assert_null(spec->param);
    assert_string_equal(spec->block, "");
    assert_string_equal(spec->glue_source, "");
    assert_int_equal(spec->glue_updated_ms, 0);
    assert_true(spec->running);
    job_spec_unref(spec);
    tear_down(&f);
}

static void specs_stand_at_the_place_of_their_id(void **state)
{
    struct fixture f;
    int64_t ids[700];
    struct job_spec *specs[700];

    (void)state;
    set_up(&f);
    for (int64_t i = 0; i < 700; i++)
        ids[i] = i + 1;
    test_add_job(1, 1000);
    test_add_job(500, 1000);
    test_add_job(501, 1000);
    test_add_job(700, 1000);
    test_sql("UPDATE xxl_job_info SET glue_type = 'GLUE_SHELL', glue_source = 'echo \\'h\xc3\xa9\\'', "
             "glue_updatetime = '2023-11-15 06:13:20', executor_timeout = 9, executor_fail_retry_count = 2, "
             "trigger_status = 0 WHERE id = 501");
    test_sql("UPDATE xxl_job_info SET glue_source = 'not for BEAN' WHERE id = 500");
    assert_ok(store_load_job_specs(f.s, ids, 700, specs, ec));
    for (int i = 0; i < 700; i++) {
        bool there = i == 0 || i == 499 || i == 500 || i == 699;
        assert_true((specs[i] != NULL) == there);
        if (specs[i])
            assert_int_equal(specs[i]->id, i + 1);
    }
    assert_string_equal(specs[499]->glue_source, "");
    assert_string_equal(specs[500]->glue_source, "echo 'h\xc3\xa9'");
    assert_int_equal(specs[500]->glue_updated_ms, INT64_C(1700000000000)); /* 06:13:20 in Shanghai */
    assert_int_equal(specs[500]->timeout_s, 9);
    assert_int_equal(specs[500]->retry_count, 2);
    assert_false(specs[500]->running);
    for (int i = 0; i < 700; i++)
        job_spec_unref(specs[i]);
    tear_down(&f);
}

/* ---- claiming ---------------------------------------------------------------------------------------------- */

static void claim_advances_and_plans(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f);
    test_add_job(1, NOW_S * 1000);
    test_add_job(2, NOW_S * 1000 + 1000);
    test_sql("UPDATE xxl_job_info SET executor_param = NULL, executor_fail_retry_count = 3 WHERE id = 2");
    make_claim(f.s, 0, 1, f.epoch, NOW_S * 1000 + 5000, &f.c);
    assert_int_equal(f.c.count, 2);
    /* The second is a broadcast to two addresses, late, and its last. */
    struct fire *a = f.c.jobs[1].fires, *b = new_fire(f.c.jobs[1].job, 0, f.epoch, NOW_S + 1);
    a->next = b;
    a->broadcast = b->broadcast = true;
    a->shard_total = b->shard_total = 2;
    b->shard_index = 1;
    a->kind = b->kind = TRIGGER_MISFIRE;
    a->flags = b->flags = FIRE_LAST;
    a->original_due_s = b->original_due_s = NOW_S - 30;
    a->address = strdup("http://a/");
    b->address = strdup("http://b'/");
    f.c.jobs[1].stop = true;
    assert_ok(store_claim_jobs(f.s, 0, f.epoch, f.c.jobs, f.c.count, NULL, ec));
    assert_true(f.c.jobs[0].advanced && f.c.jobs[1].advanced);

    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_info WHERE id = 1 AND trigger_status = 1 AND "
                              "trigger_last_time = %" PRId64 " AND trigger_next_time = %" PRId64,
                              NOW_S * 1000, NOW_S * 1000 + 60000),
                     1);
    assert_int_equal(
        test_int("SELECT trigger_status + trigger_last_time + trigger_next_time FROM xxl_job_info WHERE id = 2"), 0);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log"), 3);
    const struct fire *one = f.c.jobs[0].fires;
    assert_string_equal(test_text("SELECT CONCAT_WS('|', job_group, job_id, IFNULL(executor_address, '-'), "
                                  "executor_handler, executor_param, IFNULL(executor_sharding_param, '-'), "
                                  "executor_fail_retry_count, trigger_time, trigger_code, trigger_msg, "
                                  "IFNULL(handle_time, '-'), handle_code, IFNULL(handle_msg, '-'), alarm_status) "
                                  "FROM xxl_job_log WHERE id = %" PRId64,
                                  one->log_id),
                        "1|1|-|demo|p|-|0|2023-11-15 06:13:20|0|<!--sw:p:1700000000:1-->|-|0|-|0");
    assert_int_equal(one->row_hash, fire_row_hash(1, "demo", "p", 0));
    /* As the job says it, as long as nobody changes it. */
    struct job_spec *spec[2];
    test_sql("UPDATE xxl_job_info SET job_group = 2 WHERE id = 2");
    assert_ok(store_load_job_specs(f.s, (int64_t[]){1, 2}, 2, spec, ec));
    assert_int_equal(spec[0]->row_hash, one->row_hash);
    assert_int_equal(spec[1]->group, 2);
    assert_int_not_equal(spec[1]->row_hash, b->row_hash);
    job_spec_unref(spec[0]);
    job_spec_unref(spec[1]);
    assert_string_equal(test_text("SELECT CONCAT_WS('|', executor_address, executor_handler, "
                                  "IFNULL(executor_param, '-'), executor_sharding_param, executor_fail_retry_count, "
                                  "trigger_msg) FROM xxl_job_log WHERE id = %" PRId64,
                                  b->log_id),
                        "http://b'/|demo|-|1/2|3|<!--sw:p:1700000001:1:L:M:O1699999970-->");
    assert_string_equal(test_text("SELECT executor_sharding_param FROM xxl_job_log WHERE id = %" PRId64, a->log_id),
                        "0/2");
    tear_down(&f);
}

static void a_newer_epoch_fences(void **state)
{
    struct fixture f;
    struct errctx why;
    struct store_session *other;

    (void)state;
    set_up(&f);
    test_add_job(1, NOW_S * 1000);
    make_claim(f.s, 0, 1, f.epoch, NOW_S * 1000, &f.c);
    other = test_take(f.st, SESSION_CLAIM);
    assert_int_equal(take(other, 0), f.epoch + 1);
    assert_int_equal(store_claim_jobs(f.s, 0, f.epoch, f.c.jobs, f.c.count, NULL, &why), ERR_STATE);
    assert_non_null(strstr(why.text, "epoch 2, ours is 1"));
    assert_false(f.c.jobs[0].advanced);
    assert_int_equal(store_load_claimed(f.s, 0, f.epoch, f.c.jobs, f.c.count, &why), ERR_STATE);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log"), 0);
    assert_int_equal(test_int("SELECT trigger_next_time FROM xxl_job_info"), NOW_S * 1000);
    assert_int_equal(store_claim_jobs(f.s, 5, 1, f.c.jobs, f.c.count, NULL, &why), ERR_STATE); /* no such shard */
    store_give_session(f.st, other);
    tear_down(&f);
}

/* Each of the compared columns, changed between read and claim, keeps its job out and no other. */
static void changed_jobs_are_left_alone(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f);
    for (int id = 1; id <= 8; id++)
        test_add_job(id, NOW_S * 1000);
    make_claim(f.s, 0, 1, f.epoch, NOW_S * 1000, &f.c);
    assert_int_equal(f.c.count, 8);
    test_sql("UPDATE xxl_job_info SET trigger_next_time = trigger_next_time + 1 WHERE id = 1");
    test_sql("UPDATE xxl_job_info SET trigger_status = 0 WHERE id = 2");
    test_sql("UPDATE xxl_job_info SET schedule_type = 'Cron' WHERE id = 3"); /* equal to the collation */
    test_sql("UPDATE xxl_job_info SET schedule_conf = '0 * * * * ? ' WHERE id = 4");
    test_sql("UPDATE xxl_job_info SET schedule_conf = NULL WHERE id = 5");
    test_sql("DELETE FROM xxl_job_info WHERE id = 6");
    test_sql("UPDATE xxl_job_info SET executor_param = 'other' WHERE id = 7"); /* not compared */
    assert_ok(store_claim_jobs(f.s, 0, f.epoch, f.c.jobs, f.c.count, NULL, ec));
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(f.c.jobs[i].advanced, i >= 6);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log"), 2);
    assert_int_equal(test_int("SELECT SUM(job_id) FROM xxl_job_log"), 7 + 8);
    assert_int_equal(
        test_int("SELECT COUNT(*) FROM xxl_job_info WHERE trigger_next_time = %" PRId64, NOW_S * 1000 + 60000), 2);
    tear_down(&f);
}

/* Equal and different next times, whole and part lists: every job gets its own. */
static void many_jobs_get_their_own_times(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f);
    for (int id = 1; id <= 560; id++)
        test_add_job(id, NOW_S * 1000 + id % 5);
    make_claim(f.s, 0, 1, f.epoch, NOW_S * 1000 + 5000, &f.c);
    assert_int_equal(f.c.count, 560);
    for (size_t i = 0; i < f.c.count; i++) {
        int64_t id = f.c.jobs[i].job->id;
        f.c.jobs[i].new_next_ms = id % 3 == 0 ? 1000000 + id : id % 3 == 1 ? 2000000 : 3000000 + id % 20;
    }
    assert_ok(store_claim_jobs(f.s, 0, f.epoch, f.c.jobs, f.c.count, NULL, ec));
    assert_int_equal(
        test_int("SELECT COUNT(*) FROM xxl_job_info WHERE trigger_last_time = %" PRId64 " + id %% 5 AND "
                 "trigger_next_time = IF(id %% 3 = 0, 1000000 + id, IF(id %% 3 = 1, 2000000, 3000000 + id %% 20))",
                 NOW_S * 1000),
        560);
    for (size_t i = 0; i < f.c.count; i++)
        assert_int_equal(test_int("SELECT job_id FROM xxl_job_log WHERE id = %" PRId64, f.c.jobs[i].fires->log_id),
                         f.c.jobs[i].job->id);
    tear_down(&f);
}

/* As above, for jobs that one statement advances and compares: one that was changed keeps itself out, and no other. */
static void changed_jobs_of_a_group_are_left_alone(void **state)
{
    static const char *const changes[] = {
        "trigger_next_time = trigger_next_time + 1",
        "trigger_next_time = trigger_next_time - 60000",
        "trigger_status = 0",
        "schedule_type = 'Cron'", /* equal to the collation, as the next two */
        "schedule_conf = '0 * * * * ? '",
        "schedule_conf = '0 * * * * L'",
        "schedule_conf = NULL",
        "schedule_type = ''",
        "id = 1000",
    };

    (void)state;
    for (size_t k = 0; k <= ARRAY_LEN(changes); k++) {
        struct fixture f;
        set_up(&f);
        for (int id = 1; id <= 40; id++)
            test_add_job(id, NOW_S * 1000);
        test_sql("UPDATE xxl_job_info SET schedule_conf = '0 * * * * l' WHERE id %% 2 = 0");
        make_claim(f.s, 0, 1, f.epoch, NOW_S * 1000, &f.c);
        assert_int_equal(f.c.count, 40);
        if (k < ARRAY_LEN(changes))
            test_sql("UPDATE xxl_job_info SET %s WHERE id = 6", changes[k]);
        int64_t rollbacks = test_commands("COM_ROLLBACK"), updates = test_commands("COM_UPDATE"),
                selects = test_commands("COM_SELECT");
        assert_ok(store_claim_jobs(f.s, 0, f.epoch, f.c.jobs, f.c.count, NULL, ec));
        bool changed = k < ARRAY_LEN(changes);
        if (!changed) /* that of the shard's row, and the one that counts them */
            assert_int_equal(test_commands("COM_SELECT") - selects, 2);
        assert_int_equal(test_commands("COM_ROLLBACK") - rollbacks, changed);
        if (!changed)
            assert_int_equal(test_commands("COM_UPDATE") - updates, 2);
        for (int i = 0; i < 40; i++)
            assert_int_equal(f.c.jobs[i].advanced, !changed || i != 5);
        assert_int_equal(
            test_int("SELECT COUNT(*) FROM xxl_job_info WHERE id <> 6 AND id < 100 AND trigger_last_time = "
                     "%" PRId64 " AND trigger_next_time = %" PRId64,
                     NOW_S * 1000, NOW_S * 1000 + 60000),
            39);
        assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_info WHERE id IN (6, 1000) AND trigger_last_time <> 0"),
                         !changed);
        assert_int_equal(test_int("SELECT COUNT(DISTINCT job_id) FROM xxl_job_log"), 40 - changed);
        assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log WHERE job_id = 6"), !changed);
        for (int i = 0; i < 40; i++)
            if (f.c.jobs[i].advanced)
                assert_int_equal(
                    test_int("SELECT job_id FROM xxl_job_log WHERE id = %" PRId64, f.c.jobs[i].fires->log_id), i + 1);
        tear_down(&f);
    }
}

/* Jobs that one statement advances beside such that are locked: each is advanced once, by its own values. */
static void groups_and_single_jobs_share_a_claim(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f);
    for (int id = 1; id <= 60; id++)
        test_add_job(id, NOW_S * 1000);
    test_sql("UPDATE xxl_job_info SET schedule_conf = CONCAT('0 ', id, ' * * * ?') WHERE id %% 3 = 0");
    make_claim(f.s, 0, 1, f.epoch, NOW_S * 1000, &f.c);
    f.c.jobs[0].stop = true;
    test_sql("UPDATE xxl_job_info SET trigger_status = 0 WHERE id = 30"); /* a single one that was changed */
    int64_t rollbacks = test_commands("COM_ROLLBACK");
    assert_ok(store_claim_jobs(f.s, 0, f.epoch, f.c.jobs, f.c.count, NULL, ec));
    assert_int_equal(test_commands("COM_ROLLBACK"), rollbacks);
    for (int i = 0; i < 60; i++)
        assert_int_equal(f.c.jobs[i].advanced, i != 29);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_info WHERE trigger_last_time = %" PRId64
                              " AND trigger_next_time = %" PRId64 " AND trigger_status = 1",
                              NOW_S * 1000, NOW_S * 1000 + 60000),
                     58);
    assert_int_equal(test_int("SELECT trigger_status + trigger_next_time FROM xxl_job_info WHERE id = 1"), 0);
    assert_int_equal(test_int("SELECT COUNT(DISTINCT job_id) FROM xxl_job_log"), 59);
    tear_down(&f);
}

static void rows_are_written_ahead(void **state)
{
    struct fixture f;
    struct fire *loaded = NULL;
    size_t count = 0;
    int64_t none;

    (void)state;
    set_up(&f);
    for (int id = 1; id <= 3; id++)
        test_add_job(id, NOW_S * 1000 + 1000);
    make_claim(f.s, 0, 1, f.epoch, NOW_S * 1000 + 1000, &f.c);
    for (int i = 0; i < 2; i++) {
        f.c.jobs[i].fires->written_ahead = true;
        f.c.jobs[i].fires->address = strdup("http://a/");
    }
    f.c.jobs[0].message = "it's ahead";
    f.c.jobs[2].message = "for those that are written ahead";
    assert_ok(store_claim_jobs(f.s, 0, f.epoch, f.c.jobs, f.c.count, NULL, ec));
    const char *sql = "SELECT CONCAT_WS('|', IFNULL(executor_address, '-'), trigger_msg, IFNULL(handle_time, '-'), "
                      "IFNULL(handle_msg, '-')) FROM xxl_job_log WHERE job_id = ";
    assert_string_equal(test_text("%s1", sql), "http://a/|<!--sw:p:1700000001:1-->it's ahead" STORE_SLACK "|-|-");
    assert_string_equal(test_text("%s2", sql), "http://a/|<!--sw:p:1700000001:1-->" STORE_SLACK "|-|-");
    assert_string_equal(test_text("%s3", sql), "-|<!--sw:p:1700000001:1-->|-|-");

    /* Who takes over finds them so. */
    assert_ok(store_load_planned(f.s, &(struct log_slice){.from_s = NOW_S, .to_s = NOW_S + 600, .limit_ms = 5000},
                                 &loaded, &none, ec));
    for (const struct fire *fire = loaded; fire; fire = fire->next, count++) {
        assert_int_equal(fire->written_ahead, fire->job_id < 3);
        if (fire->job_id < 3)
            assert_string_equal(fire->address, "http://a/");
        else
            assert_null(fire->address);
    }
    assert_int_equal(count, 3);
    fire_destroy_list(loaded);

    /* What fails does not keep the look of a success. */
    size_t ended = 0;
    int64_t ids[2] = {f.c.jobs[0].fires->log_id, f.c.jobs[1].fires->log_id};
    assert_ok(store_end_unknown(f.s, ids, 2, INT64_MAX, &ended, ec));
    assert_int_equal(ended, 2);
    assert_int_equal(
        test_int("SELECT COUNT(*) FROM xxl_job_log WHERE job_id < 3 AND trigger_code = 500 AND trigger_msg "
                 "LIKE '<!--sw:p:1700000001:1-->delivery unknown: %%or not'"),
        2);
    tear_down(&f);
}

/* The message is cut like all else when the batch is refused; one job's does not spoil the other's. */
static void messages_written_ahead_are_made_to_fit(void **state)
{
    struct fixture f;
    char *message = malloc(70001);

    (void)state;
    set_up(&f);
    test_sql("ALTER TABLE xxl_job_log CONVERT TO CHARACTER SET utf8mb3");
    memset(message, 'x', 70000);
    message[70000] = '\0';
    for (int id = 1; id <= 2; id++)
        test_add_job(id, NOW_S * 1000);
    make_claim(f.s, 0, 1, f.epoch, NOW_S * 1000, &f.c);
    for (int i = 0; i < 2; i++)
        f.c.jobs[i].fires->written_ahead = true;
    f.c.jobs[0].message = "\xf0\x9f\x98\x80\xe4\xbb\xbb";
    f.c.jobs[1].message = message;
    assert_ok(store_claim_jobs(f.s, 0, f.epoch, f.c.jobs, f.c.count, NULL, ec));
    assert_string_equal(test_text("SELECT trigger_msg FROM xxl_job_log WHERE job_id = 1"),
                        "<!--sw:p:1700000000:1-->?\xe4\xbb\xbb" STORE_SLACK);
    assert_int_equal(test_int("SELECT trigger_msg LIKE '<!--sw:p:1700000000:1-->xxx%%x' FROM xxl_job_log "
                              "WHERE job_id = 2"),
                     1);
    free(message);
    tear_down(&f);
}

static void ids_follow_the_increment_of_the_session(void **state)
{
    struct fixture f;

    (void)state;
    test_sql("SET GLOBAL auto_increment_increment = 3, GLOBAL auto_increment_offset = 2");
    set_up(&f);
    for (int id = 1; id <= 20; id++)
        test_add_job(id, NOW_S * 1000);
    make_claim(f.s, 0, 1, f.epoch, NOW_S * 1000, &f.c);
    assert_ok(store_claim_jobs(f.s, 0, f.epoch, f.c.jobs, f.c.count, NULL, ec));
    test_sql("SET GLOBAL auto_increment_increment = 1, GLOBAL auto_increment_offset = 1");
    for (size_t i = 0; i < f.c.count; i++)
        assert_int_equal(test_int("SELECT job_id FROM xxl_job_log WHERE id = %" PRId64, f.c.jobs[i].fires->log_id),
                         f.c.jobs[i].job->id);
    assert_int_equal(f.c.jobs[1].fires->log_id - f.c.jobs[0].fires->log_id, 3);
    tear_down(&f);
}

/* More than fits a packet of the server (4 MB here), in texts that all need escaping. */
static void large_claims_are_split(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f);
    for (int id = 1; id <= 100; id++)
        test_add_job(id, NOW_S * 1000);
    test_sql("UPDATE xxl_job_info SET executor_param = REPEAT('\\'', 65000)");
    make_claim(f.s, 0, 1, f.epoch, NOW_S * 1000, &f.c);
    assert_ok(store_claim_jobs(f.s, 0, f.epoch, f.c.jobs, f.c.count, NULL, ec));
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log WHERE executor_param = REPEAT('\\'', 65000)"), 100);
    for (size_t i = 0; i < f.c.count; i++)
        assert_int_equal(test_int("SELECT job_id FROM xxl_job_log WHERE id = %" PRId64, f.c.jobs[i].fires->log_id),
                         f.c.jobs[i].job->id);
    tear_down(&f);
}

/* A log table older than the job table: one text does not fit, the batch goes through all the same. */
static void texts_that_do_not_fit_are_made_to(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f);
    test_sql("ALTER TABLE xxl_job_log CONVERT TO CHARACTER SET utf8mb3");
    test_sql("ALTER TABLE xxl_job_log MODIFY executor_param VARCHAR(512) CHARACTER SET utf8mb3, "
             "MODIFY executor_handler VARCHAR(255) CHARACTER SET latin1");
    for (int id = 1; id <= 4; id++)
        test_add_job(id, NOW_S * 1000);
    test_sql("UPDATE xxl_job_info SET executor_param = '\xe4\xbb\xbb\xf0\x9f\x98\x80' WHERE id = 2");
    test_sql(
        "UPDATE xxl_job_info SET executor_handler = 'x\xe4\xbb\xbb', executor_param = '\xe4\xbb\xbb' WHERE id = 3");
    test_sql("UPDATE xxl_job_info SET executor_param = REPEAT('\xe4\xbb\xbb', 600) WHERE id = 4");
    make_claim(f.s, 0, 1, f.epoch, NOW_S * 1000, &f.c);
    assert_ok(store_claim_jobs(f.s, 0, f.epoch, f.c.jobs, f.c.count, NULL, ec));
    for (int i = 0; i < 4; i++)
        assert_int_equal(test_int("SELECT job_id FROM xxl_job_log WHERE id = %" PRId64, f.c.jobs[i].fires->log_id),
                         i + 1);
    assert_string_equal(test_text("SELECT executor_param FROM xxl_job_log WHERE job_id = 1"), "p");
    assert_string_equal(test_text("SELECT executor_param FROM xxl_job_log WHERE job_id = 2"), "\xe4\xbb\xbb?");
    assert_string_equal(test_text("SELECT executor_handler FROM xxl_job_log WHERE job_id = 3"), "x?");
    assert_int_equal(test_int("SELECT executor_param = REPEAT('\xe4\xbb\xbb', 512) FROM xxl_job_log WHERE job_id = 4"),
                     1);
    tear_down(&f);
}

/* One row for what a job was due and has no fire for, behind the fires, and no failure for anybody. */
static void skipped_due_times_have_one_row(void **state)
{
    static const struct {
        struct skipped skipped;
        const char *misfire, *text;
    } cases[] = {
        {{.count = 86400, .first_s = NOW_S - 86400, .last_s = NOW_S - 1},
         "DO_NOTHING",
         "<!--sw:s:86400-->due times skipped: 86400: 2023-11-14 06:13:20 - 2023-11-15 06:13:19<br>"
         "not planned in time, misfire strategy DO_NOTHING"},
        {{.count = 20000, .more = true, .first_s = NOW_S - 86400, .last_s = NOW_S - 66401},
         "FIRE_ONCE_NOW",
         "<!--sw:s:20000-->due times skipped: at least 20000: 2023-11-14 06:13:20 - 2023-11-14 11:46:39 ...<br>"
         "not planned in time, misfire strategy FIRE_ONCE_NOW"},
        {{.count = 1, .by_hand = true, .first_s = NOW_S, .last_s = NOW_S},
         "<b>",
         "<!--sw:s:1-->due times skipped: 1: 2023-11-15 06:13:20<br>"
         "the next time was set into the past, misfire strategy DO_NOTHING"},
    };
    struct fixture f;
    (void)state;

    set_up(&f);
    for (int64_t id = 1; id <= 5; id++)
        test_add_job(id, NOW_S * 1000);
    make_claim(f.s, 0, 1, f.epoch, NOW_S * 1000, &f.c);
    test_sql("UPDATE xxl_job_info SET trigger_next_time = trigger_next_time + 1 WHERE id = 4");
    for (size_t i = 0; i < 4; i++) {
        f.c.jobs[i].skipped = cases[i % 3].skipped;
        f.c.page.jobs[i].misfire = cases[i % 3].misfire;
    }
    fire_destroy_list(f.c.jobs[0].fires); /* one that has no fire besides */
    f.c.jobs[0].fires = NULL;
    assert_ok(store_claim_jobs(f.s, 0, f.epoch, f.c.jobs, f.c.count, NULL, ec));
    assert_string_equal(test_text("SELECT GROUP_CONCAT(job_id, IF(trigger_code = 0, '+', '-') ORDER BY id) "
                                  "FROM xxl_job_log"),
                        "2+,3+,5+,1-,2-,3-");
    for (int i = 0; i < 3; i++) {
        int64_t count = 0;

        assert_string_equal(
            test_text("SELECT trigger_msg FROM xxl_job_log WHERE trigger_code = 500 AND job_id = %d", i + 1),
            cases[i].text);
        assert_true(fire_parse_skipped_mark(cases[i].text, &count));
        assert_int_equal(count, cases[i].skipped.count);
        assert_string_equal(test_text("SELECT CONCAT_WS('|', job_group, alarm_status, handle_code, "
                                      "TIMESTAMPDIFF(SECOND, '2023-11-15 06:13:20', trigger_time)) "
                                      "FROM xxl_job_log WHERE trigger_code = 500 AND job_id = %d",
                                      i + 1),
                            i == 2 ? "1|1|0|0" : "1|1|0|-86400");
    }
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(skipped_due_times_have_one_row),
        cmocka_unit_test(one_look_finds_what_is_due_of_several_shards),
        cmocka_unit_test(a_look_that_breaks_is_no_short_answer),
        cmocka_unit_test(due_jobs_are_read_by_id),
        cmocka_unit_test(null_columns_read_as_empty),
        cmocka_unit_test(specs_stand_at_the_place_of_their_id),
        cmocka_unit_test(claim_advances_and_plans),
        cmocka_unit_test(a_newer_epoch_fences),
        cmocka_unit_test(changed_jobs_are_left_alone),
        cmocka_unit_test(many_jobs_get_their_own_times),
        cmocka_unit_test(changed_jobs_of_a_group_are_left_alone),
        cmocka_unit_test(groups_and_single_jobs_share_a_claim),
        cmocka_unit_test(rows_are_written_ahead),
        cmocka_unit_test(messages_written_ahead_are_made_to_fit),
        cmocka_unit_test(ids_follow_the_increment_of_the_session),
        cmocka_unit_test(large_claims_are_split),
        cmocka_unit_test(texts_that_do_not_fit_are_made_to),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}

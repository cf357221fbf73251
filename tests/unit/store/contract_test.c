/* SPDX-License-Identifier: MIT */
/* The contract of the store on a real server. */
#include "store/test_db.h"

#include "store/contract.h"

static struct store *st;

static void contract_begin(int shards, struct store_session **s, struct store_session **other)
{
    st = test_db_fresh(shards, CONTRACT_S);
    *s = test_take(st, SESSION_CLAIM);
    *other = test_take(st, SESSION_CLAIM);
}

static void contract_end(struct store_session *s, struct store_session *other)
{
    store_give_session(st, s);
    store_give_session(st, other);
    store_destroy(st);
}

static void contract_add_job(int64_t id, int64_t next_ms)
{
    test_add_job(id, next_ms);
}

static void contract_change_job(int64_t id, enum contract_change change)
{
    static const char *const sql[] = {
        [CONTRACT_NEXT] = "UPDATE xxl_job_info SET trigger_next_time = trigger_next_time + 1 WHERE id = %" PRId64,
        [CONTRACT_STOP] = "UPDATE xxl_job_info SET trigger_status = 0 WHERE id = %" PRId64,
        [CONTRACT_CONF] = "UPDATE xxl_job_info SET schedule_conf = '1 * * * * ?' WHERE id = %" PRId64,
        [CONTRACT_REMOVE] = "DELETE FROM xxl_job_info WHERE id = %" PRId64,
    };
    char text[200];

    snprintf(text, sizeof text, sql[change], id);
    test_sql("%s", text);
}

static struct contract_job contract_read_job(int64_t id)
{
    return (struct contract_job){
        .exists = test_int("SELECT COUNT(*) FROM xxl_job_info WHERE id = %" PRId64, id) == 1,
        .running = test_int("SELECT trigger_status FROM xxl_job_info WHERE id = %" PRId64, id) == 1,
        .last_ms = test_int("SELECT trigger_last_time FROM xxl_job_info WHERE id = %" PRId64, id),
        .next_ms = test_int("SELECT trigger_next_time FROM xxl_job_info WHERE id = %" PRId64, id)};
}

static struct contract_log contract_read_log(int64_t id)
{
    return (struct contract_log){
        .exists = test_int("SELECT COUNT(*) FROM xxl_job_log WHERE id = %" PRId64, id) == 1,
        .trigger_code = (int)test_int("SELECT trigger_code FROM xxl_job_log WHERE id = %" PRId64, id),
        .handle_code = (int)test_int("SELECT handle_code FROM xxl_job_log WHERE id = %" PRId64, id),
        .unknown =
            test_int("SELECT trigger_msg LIKE '%%-->delivery unknown%%' FROM xxl_job_log WHERE id = %" PRId64, id) == 1,
        .address = test_text("SELECT COALESCE(executor_address, '') FROM xxl_job_log WHERE id = %" PRId64, id)};
}

static void contract_set_settings(int64_t id)
{
    test_sql("INSERT INTO shardwheel_job (job_id, time_zone, fixed_delay_s, valid_from_s, valid_until_s) VALUES "
             "(%" PRId64 ", 'Asia/Shanghai', 60, %" PRId64 ", %" PRId64 ")",
             id, CONTRACT_S, CONTRACT_S + 1000);
}

static void contract_set_rate(int64_t id, const char *conf)
{
    test_sql("UPDATE xxl_job_info SET schedule_type = 'FIX_RATE', schedule_conf = '%s' WHERE id = %" PRId64, conf, id);
}

static void contract_set_cursor(int shard, int64_t cursor_s)
{
    test_sql("UPDATE shardwheel_cursor SET cursor_s = %" PRId64 " WHERE shard = %d", cursor_s, shard);
}

static void contract_age_notes(int64_t ms)
{
    test_sql("UPDATE shardwheel_takeover SET taken_ms = taken_ms - %" PRId64, ms);
}

static int64_t contract_add_later(const struct later_row *row)
{
    struct store_session *s = test_take(st, SESSION_NORMAL);
    int64_t id = 0;

    assert_ok(store_add_later(s, row, NULL, &id, ec));
    store_give_session(st, s);
    return id;
}

static struct contract_later contract_read_later(int64_t id)
{
    return (struct contract_later){
        .exists = test_int("SELECT COUNT(*) FROM shardwheel_later WHERE id = %" PRId64, id) == 1,
        .planned = test_int("SELECT COALESCE(SUM(planned), 0) FROM shardwheel_later WHERE id = %" PRId64, id) == 1,
        .due_s = test_int("SELECT COALESCE(SUM(due_s), 0) FROM shardwheel_later WHERE id = %" PRId64, id),
        .log_id = test_int("SELECT COALESCE(SUM(log_id), 0) FROM shardwheel_later WHERE id = %" PRId64, id),
        .hold_until_s =
            test_int("SELECT COALESCE(SUM(hold_until_s), 0) FROM shardwheel_later WHERE id = %" PRId64, id)};
}

static void contract_set_hold(int64_t job, int64_t hold_s)
{
    test_sql("REPLACE INTO shardwheel_job (job_id, hold_s) VALUES (%" PRId64 ", %" PRId64 ")", job, hold_s);
}

static int64_t contract_add_flow(const char *name, const char *document)
{
    struct store_session *s = test_take(st, SESSION_NORMAL);
    int64_t id = 0;

    assert_ok(store_add_flow(s, name, document, "ann", NULL, &id, ec));
    store_give_session(st, s);
    return id;
}

static void contract_follow_flow(int64_t id, int64_t next_s)
{
    test_sql("UPDATE shardwheel_flow SET started = 1, next_s = NULLIF(%" PRId64 ", 0) WHERE id = %" PRId64, next_s, id);
}

static int64_t contract_read_next(int64_t id)
{
    return test_int("SELECT COALESCE(next_s, 0) FROM shardwheel_flow WHERE id = %" PRId64, id);
}

#define RUN(what) test_int("SELECT COALESCE(SUM(" what "), 0) FROM shardwheel_flow_run WHERE id = %" PRId64, id)

static struct contract_run contract_read_run(int64_t id)
{
    return (struct contract_run){
        .exists = RUN("1") == 1,
        .is_looked_at = RUN("look_ms IS NOT NULL") == 1,
        .state = (int)RUN("state"),
        .look_ms = RUN("look_ms"),
        .ended_ms = RUN("ended_ms"),
        .message = test_text("SELECT COALESCE(MAX(message), '') FROM shardwheel_flow_run WHERE id = %" PRId64, id)};
}

#define STEP(what)                                                                                                     \
    test_int("SELECT COALESCE(SUM(" what "), 0) FROM shardwheel_flow_step WHERE run_id = %" PRId64 " AND step = %d",   \
             run, step)

static struct contract_step contract_read_step(int64_t run, int step)
{
    return (struct contract_step){
        .exists = STEP("1") == 1,
        .state = (int)STEP("state"),
        .code = (int)STEP("code"),
        .items_ended = (int)STEP("items_ended"),
        .items_failed = (int)STEP("items_failed"),
        .log_id = STEP("log_id"),
        .child_run = STEP("child_run"),
        .result = test_text("SELECT COALESCE(MAX(result), '') FROM shardwheel_flow_step WHERE run_id = %" PRId64
                            " AND step = %d",
                            run, step)};
}

static int contract_count_fires(int64_t run)
{
    return (int)test_int("SELECT COUNT(*) FROM shardwheel_flow_fire WHERE run_id = %" PRId64, run);
}

static void contract_end_log(int64_t id, int trigger_code, int handle_code, const char *said)
{
    test_sql("UPDATE xxl_job_log SET trigger_code = %d, handle_code = %d, handle_msg = %s%s%s WHERE id = %" PRId64,
             trigger_code, handle_code, said ? "'" : "", said ? said : "NULL", said ? "'" : "", id);
}

int main(void)
{
    const struct CMUnitTest tests[] = {CONTRACT_TESTS};

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}

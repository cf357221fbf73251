/* SPDX-License-Identifier: MIT */
/* flowrun with the database in memory, and no node around it. */
#include "test.h"

#include "sim/memory_store.h"
#include "shardwheel/flowrun.h"

#include <string.h>

#define NOW_MS INT64_C(1700000000000)

static struct memory_db *db;
static struct store st;
static struct counters counters;
static struct flowrun *flows;
static int64_t epochs[2]; /* as the node knows them */
static size_t sent;

static int64_t read_wall_us(const struct clock *clock)
{
    (void)clock;
    return memory_db_wall_ms(db) * 1000;
}

static int64_t read_ms(const struct clock *clock)
{
    (void)clock;
    return FIBERS_MONO_START_MS + fibers_now_us() / 1000;
}

static const struct clock test_clock = {read_wall_us, read_ms, read_ms};

static int get_epochs(void *arg, int64_t *out)
{
    (void)arg;
    memcpy(out, epochs, sizeof epochs);
    return 2;
}

static void submit(void *arg, struct fire *list)
{
    (void)arg;
    for (const struct fire *f = list; f; f = f->next)
        sent++;
    fire_destroy_list(list);
}

static void take(int shard)
{
    struct store_session *s = NULL;
    int64_t epoch = 0, cursor_s = 0;
    struct errctx ec;

    assert_int_equal(store_take_session(&st, SESSION_NORMAL, &s, &ec), ERR_OK);
    assert_int_equal(store_take_shard(s, shard, 2, "node", 0, 0, &epoch, &cursor_s, &ec), ERR_OK);
    store_give_session(&st, s);
}

static void start(int64_t flow)
{
    struct flow_run_start order = {
        .flow_id = flow, .version = 1, .kind = "M", .who = "ann", .policy = FLOW_PARALLEL, .queue_max = 1};
    struct store_session *s = NULL;
    struct errctx ec;
    int64_t id = 0;
    bool is_new;

    assert_int_equal(store_take_session(&st, SESSION_NORMAL, &s, &ec), ERR_OK);
    assert_int_equal(store_start_flow_run(s, &order, NULL, &id, &is_new, &ec), ERR_OK);
    store_give_session(&st, s);
}

static void begin(void)
{
    struct errctx ec;

    fibers_begin(1);
    db = memory_db_create(2, NOW_MS);
    db->address_list = "http://10.0.0.1:9999/";
    st = (struct store){.db = db};
    sent = 0;
    (void)memory_db_add_job(db, "NONE", "", 0);
    (void)memory_db_add_flow(db, "f", "{\"name\":\"f\",\"steps\":[{\"name\":\"a\",\"type\":\"job\",\"jobId\":1}]}");
    for (int shard = 0; shard < 2; shard++) {
        take(shard);
        epochs[shard] = db->shard[shard].epoch;
    }
    assert_int_equal(
        flowrun_create(
            &(struct flowrun_opts){
                .incarnation = "0123", .store = &st, .max_year = 2200, .get_epochs = get_epochs, .submit = submit},
            &test_clock, &counters, &flows, &ec),
        ERR_OK);
}

static void end(void)
{
    flowrun_destroy(flows);
    memory_db_destroy(db);
    fibers_end();
}

static void report(int64_t log_id)
{
    db->logs[log_id - 1].trigger_code = db->logs[log_id - 1].handle_code = 200;
}

static void a_run_goes_from_its_start_to_its_end(void **state)
{
    (void)state;
    begin();
    start(1);
    (void)flowrun_turn(flows);
    assert_int_equal(sent, 1);
    report(1);
    fibers_sleep_us(50000);
    (void)flowrun_turn(flows);
    assert_int_equal(db->flow_runs[0].row.state, FLOW_RUN_SUCCEEDED);
    assert_int_equal(counters_get(&counters, COUNTER_FLOW_FIRES_OPEN), 0);
    end();
}

/* A shard is taken away, which the node hears of later: the end of a run of it is not taken in, and is for the new
 * owner to look at, as is what has not ended. Once the node has no shards any more it waits for nothing. */
static void nothing_is_waited_for_without_a_shard(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 3; i++)
        start(1);
    (void)flowrun_turn(flows);
    assert_int_equal(sent, 3);
    assert_int_equal(counters_get(&counters, COUNTER_FLOW_FIRES_OPEN), 3);
    report(1);
    report(2);
    take(1);
    fibers_sleep_us(50000);
    (void)flowrun_turn(flows);
    assert_int_equal(db->flow_runs[0].row.state, FLOW_RUN_RUNNING);
    assert_int_equal(db->flow_runs[1].row.state, FLOW_RUN_SUCCEEDED);
    memset(epochs, 0, sizeof epochs);
    fibers_sleep_us(50000);
    assert_true(flowrun_turn(flows) > 100);
    assert_int_equal(counters_get(&counters, COUNTER_FLOW_FIRES_OPEN), 0);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_run_goes_from_its_start_to_its_end),
                                       cmocka_unit_test(nothing_is_waited_for_without_a_shard)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Fires that somebody asks for, on a real database: rows first, then sent, many calls in one transaction. */
#include "store/test_proxy.h"
#include "store/test_schema.h"
#include "shardwheel/follow/triggers.h"

#define INCARNATION "0123456789abcdef"

static struct store *st;
static struct triggers *t;
static struct counters counters;
static struct mutex lock;
static int64_t sent[5000]; /* [lock] log ids */
static size_t sent_count;  /* [lock] */
static int64_t now_s;

/* Their rows are there when they are sent. */
static void take_fires(void *arg, struct fire *list)
{
    (void)arg;
    mutex_lock(&lock);
    for (const struct fire *f = list; f; f = f->next)
        sent[sent_count++] = f->log_id;
    mutex_unlock(&lock);
    fire_destroy_list(list);
}

static void start(struct store *store)
{
    struct errctx why;

    assert_int_equal(triggers_create(&(struct triggers_opts){INCARNATION, store, take_fires, NULL}, clock_system(),
                                     &counters, &t, &why),
                     ERR_OK);
    assert_int_equal(triggers_start(t, &why), ERR_OK);
}

static void stop(void)
{
    triggers_stop(t);
    triggers_join(t);
    triggers_destroy(t);
    t = NULL;
}

static int set_up(void **state)
{
    (void)state;
    now_s = clock_wall_ms(clock_system()) / 1000;
    st = test_db_fresh(1, now_s);
    memset(&counters, 0, sizeof counters);
    mutex_init(&lock, LOCK_LEAF);
    sent_count = 0;
    test_add_job(7, 0);
    test_sql("UPDATE xxl_job_info SET trigger_status = 0, executor_fail_retry_count = 3 WHERE id = 7");
    test_sql("UPDATE xxl_job_group SET address_list = 'http://a,http://b' WHERE id = 1");
    start(st);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    if (t)
        stop();
    mutex_fini(&lock);
    store_destroy(st);
    return 0;
}

static enum err fire(int64_t job, enum trigger_kind kind, const char *param, const char *addresses,
                     struct trigger_made *made, struct errctx *ec)
{
    return triggers_fire(t, &(struct trigger_order){job, kind, param, addresses}, made, ec);
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static void each_family_gets_its_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(test_families); i++) {
        struct trigger_made made;
        struct errctx why;
        char *too_long = NULL;

        (void)tear_down(state);
        (void)set_up(state);
        stop();
        test_make_family(test_families[i]);
        store_destroy(st);
        st = test_store();
        start(st);
        assert_ok(fire(7, TRIGGER_MANUAL, "it's \xe6\x97\xa5", NULL, &made, ec));
        assert_int_equal(made.count, 1);
        assert_string_equal(
            test_text("SELECT CONCAT_WS('|', job_group, job_id, executor_handler, executor_param, "
                      "executor_fail_retry_count, trigger_code, LEFT(trigger_msg, 26), RIGHT(trigger_msg, 5), "
                      "handle_code, alarm_status) FROM xxl_job_log WHERE id = %" PRId64,
                      made.log_ids[0]),
            "1|7|demo|it's \xe6\x97\xa5|3|0|<!--sw:d:" INCARNATION ":|:M-->|0|0");
        assert_int_equal(sent[0], made.log_ids[0]);
        free(made.log_ids);
        /* The column's own length. */
        size_t max = (size_t)test_int("SELECT character_maximum_length FROM information_schema.columns WHERE "
                                      "table_schema = 'xxl_job' AND table_name = 'xxl_job_log' AND column_name = "
                                      "'executor_param'");
        too_long = malloc(max + 2);
        memset(too_long, 'x', max + 1);
        too_long[max + 1] = '\0';
        assert_int_equal(fire(7, TRIGGER_MANUAL, too_long, NULL, NULL, &why), ERR_INPUT);
        too_long[max] = '\0';
        assert_ok(fire(7, TRIGGER_MANUAL, too_long, NULL, NULL, ec));
        free(too_long);
    }
}

static void a_broadcast_answers_with_all_its_logs(void **state)
{
    struct trigger_made made;

    (void)state;
    test_sql("UPDATE xxl_job_info SET executor_route_strategy = 'SHARDING_BROADCAST' WHERE id = 7");
    assert_ok(fire(7, TRIGGER_API, NULL, "http://x,http://y,http://z", &made, ec));
    assert_int_equal(made.count, 3);
    assert_string_equal(test_text("SELECT GROUP_CONCAT(CONCAT(executor_address, ' ', executor_sharding_param, ' ', "
                                  "executor_param) ORDER BY id) FROM xxl_job_log"),
                        "http://x 0/3 p,http://y 1/3 p,http://z 2/3 p");
    assert_int_equal(sent_count, 3);
    free(made.log_ids);
    assert_int_equal(counters_get(&counters, COUNTER_TRIGGERS), 3);
}

static void job_and_group_are_read_afresh(void **state)
{
    struct errctx why;

    (void)state;
    assert_int_equal(fire(8, TRIGGER_MANUAL, NULL, NULL, NULL, &why), ERR_NOTFOUND);
    assert_string_equal(why.text, "job id: there is no job 8");
    test_add_job(8, 0);
    assert_ok(fire(8, TRIGGER_MANUAL, NULL, NULL, NULL, ec));
    test_sql("UPDATE xxl_job_info SET job_group = 5 WHERE id = 8");
    assert_int_equal(fire(8, TRIGGER_MANUAL, NULL, NULL, NULL, &why), ERR_NOTFOUND);
    assert_non_null(strstr(why.text, "names group 5"));
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log"), 1);
}

/* ---- many ------------------------------------------------------------------------------------------------------ */

struct caller {
    struct thread thread;
    int number, rounds;
    int fired, refused;
};

static void run_caller(void *arg)
{
    struct caller *c = arg;
    struct errctx why;

    for (int i = 0; i < c->rounds; i++) {
        struct trigger_made made = {0};
        /* Every fourth asks for what is not there: nobody else's matter. */
        enum err e = fire(i % 4 == 3 ? 99 : 7, TRIGGER_MANUAL, "p", NULL, &made, &why);
        c->fired += e == ERR_OK && made.count == 1;
        c->refused += e == ERR_NOTFOUND;
        free(made.log_ids);
    }
}

static void calls_share_a_transaction_and_no_fault(void **state)
{
    enum { CALLERS = 40, ROUNDS = 40 };
    struct caller callers[CALLERS];
    int64_t commits = test_commands("COM_COMMIT");

    (void)state;
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (struct caller){.number = i, .rounds = ROUNDS};
        assert_ok(thread_start(&callers[i].thread, "caller", run_caller, &callers[i], ec));
    }
    for (int i = 0; i < CALLERS; i++) {
        thread_join(&callers[i].thread);
        assert_int_equal(callers[i].fired, ROUNDS * 3 / 4);
        assert_int_equal(callers[i].refused, ROUNDS / 4);
    }
    assert_int_equal(sent_count, CALLERS * ROUNDS * 3 / 4);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log"), sent_count);
    assert_true(test_commands("COM_COMMIT") - commits < (int64_t)sent_count / 2);
}

/* ---- a database that fails --------------------------------------------------------------------------------------- */

static void what_came_of_a_lost_commit_is_looked_up(void **state)
{
    struct test_proxy proxy;
    struct errctx why;

    (void)state;
    stop();
    store_destroy(st);
    test_proxy_start(&proxy);
    test_db.opts.socket = proxy.path;
    st = test_store();
    test_db.opts.socket = test_db.socket;
    start(st);
    assert_ok(fire(7, TRIGGER_MANUAL, NULL, NULL, NULL, ec));
    atomic_store(&proxy.mode, PROXY_LOSE_ANSWER);
    struct trigger_made made = {0};
    assert_ok(fire(7, TRIGGER_MANUAL, NULL, NULL, &made, ec));
    assert_int_equal(sent_count, 2);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log WHERE id = %" PRId64, made.log_ids[0]), 1);
    free(made.log_ids);
    atomic_store(&proxy.mode, PROXY_LOSE_COMMIT);
    assert_int_equal(fire(7, TRIGGER_MANUAL, NULL, NULL, NULL, &why), ERR_LOST);
    assert_non_null(strstr(why.text, "nothing was fired"));
    assert_int_equal(sent_count, 2);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log"), 2);
    assert_ok(fire(7, TRIGGER_MANUAL, NULL, NULL, NULL, ec));
    stop();
    store_destroy(st);
    test_proxy_stop(&proxy);
    st = test_store();
}

static void a_stop_refuses_who_waits(void **state)
{
    struct errctx why;

    (void)state;
    triggers_stop(t);
    assert_int_equal(fire(7, TRIGGER_MANUAL, NULL, NULL, NULL, &why), ERR_STATE);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log"), 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(each_family_gets_its_row),
        T(a_broadcast_answers_with_all_its_logs),
        T(job_and_group_are_read_afresh),
        T(calls_share_a_transaction_and_no_fault),
        T(what_came_of_a_lost_commit_is_looked_up),
        T(a_stop_refuses_who_waits),
    };
    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}

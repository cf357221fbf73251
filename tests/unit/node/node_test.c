/* SPDX-License-Identifier: MIT */
/*
 * A whole standalone node on a real database: in which order it starts and stops, what is left when a step of its start
 * fails, and how it goes over to another number of shards.
 *
 * The linker puts the functions below in the place of those that node.c calls (node_test.wrap names them): each notes
 * that it was called, does what the real one does, or fails where a test wants that.
 */
#include "store/test_db.h"

#include "node/node.h"
#include "shardwheel/coord.h"
#include "shardwheel/dispatch.h"
#include "shardwheel/follow.h"
#include "shardwheel/follow/lost.h"
#include "shardwheel/follow/triggers.h"
#include "shardwheel/http.h"
#include "shardwheel/record.h"
#include "shardwheel/registry.h"
#include "shardwheel/schedule.h"
#include "shardwheel/store/cluster.h"
#include "shardwheel/store/schema.h"
#include "shardwheel/history.h"
#include "shardwheel/upkeep.h"

#include <arpa/inet.h>
#include <dirent.h>

/* ---- what is called ---------------------------------------------------------------------------------------------- */

#define EVENTS_MAX 200

static const char *events[EVENTS_MAX]; /* names of functions, in the order of their calls */
static size_t event_count;
static size_t steps;           /* of a start, so far */
static size_t failing_step;    /* the n-th one fails; 0: none */
static const char *to_fail[8]; /* each of these fails once, whenever it comes; NULL: done with */

static void note(const char *name)
{
    assert_true(event_count < EVENTS_MAX);
    events[event_count++] = name;
}

static enum err note_step(const char *name, struct errctx *ec)
{
    bool fails = ++steps == failing_step;

    for (size_t i = 0; i < ARRAY_LEN(to_fail) && !fails; i++) {
        if (to_fail[i] && strcmp(to_fail[i], name) == 0) {
            to_fail[i] = NULL;
            fails = true;
        }
    }
    if (fails)
        return err_set(ec, ERR_STATE, "as the test wants it: %s", name);
    note(name);
    return ERR_OK;
}

#define STEP(name, params, ...)                                                                                        \
    __typeof__(name) __real_##name, __wrap_##name;                                                                     \
    enum err __wrap_##name params                                                                                      \
    {                                                                                                                  \
        enum err e = note_step(#name, ec);                                                                             \
        return e ? e : __real_##name(__VA_ARGS__);                                                                     \
    }
#define CALL(name, type)                                                                                               \
    __typeof__(name) __real_##name, __wrap_##name;                                                                     \
    void __wrap_##name(struct type *x)                                                                                 \
    {                                                                                                                  \
        note(#name);                                                                                                   \
        __real_##name(x);                                                                                              \
    }

STEP(store_init_shards, (struct store_session * s, int n, int64_t now_s, int *in_force, struct errctx *ec), s, n, now_s,
     in_force, ec)
STEP(store_agree_on_zones,
     (struct store_session * s, const struct zone *cron, struct cluster_zones *out, struct errctx *ec), s, cron, out,
     ec)
STEP(registry_start, (struct registry * x, struct errctx *ec), x, ec)
STEP(results_start, (struct results * x, struct errctx *ec), x, ec)
STEP(dispatch_start, (struct dispatch * x, struct errctx *ec), x, ec)
STEP(complete_start, (struct complete * x, struct errctx *ec), x, ec)
STEP(http_start, (struct http * x, struct errctx *ec), x, ec)
STEP(guard_start, (struct guard * x, struct errctx *ec), x, ec)
STEP(coord_start, (struct coord * x, struct errctx *ec), x, ec)
STEP(schedule_start, (struct schedule * x, struct coord *coord, struct dispatch *dispatch, struct errctx *ec), x, coord,
     dispatch, ec)
STEP(schedule_resize, (struct schedule * x, int shards, struct errctx *ec), x, shards, ec)
STEP(failures_start, (struct failures * x, struct errctx *ec), x, ec)
STEP(lost_start, (struct lost * x, struct errctx *ec), x, ec)
STEP(upkeep_start, (struct upkeep * x, struct errctx *ec), x, ec)
STEP(history_start, (struct history * x, struct errctx *ec), x, ec)
STEP(triggers_start, (struct triggers * x, struct errctx *ec), x, ec)

CALL(registry_stop, registry)
CALL(registry_join, registry)
CALL(results_stop, results)
CALL(results_join, results)
CALL(dispatch_stop, dispatch)
CALL(dispatch_join, dispatch)
CALL(complete_stop, complete)
CALL(complete_join, complete)
CALL(http_stop, http)
CALL(guard_stop, guard)
CALL(guard_join, guard)
CALL(coord_stop, coord)
CALL(coord_join, coord)
CALL(schedule_halt, schedule)
CALL(schedule_stop, schedule)
CALL(schedule_join, schedule)
CALL(failures_stop, failures)
CALL(failures_join, failures)
CALL(lost_stop, lost)
CALL(lost_join, lost)
CALL(upkeep_stop, upkeep)
CALL(upkeep_join, upkeep)
CALL(history_stop, history)
CALL(history_join, history)
CALL(triggers_stop, triggers)
CALL(triggers_join, triggers)
CALL(store_destroy, store)

static void forget_calls(void)
{
    event_count = steps = failing_step = 0;
    memset(to_fail, 0, sizeof to_fail);
}

static size_t count_calls(const char *name)
{
    size_t n = 0;

    for (size_t i = 0; i < event_count; i++)
        n += strcmp(events[i], name) == 0;
    return n;
}

/* Where it was called, first or last. */
static size_t find_call(const char *name, bool last)
{
    size_t found = EVENTS_MAX;

    for (size_t i = 0; i < event_count && (last || found == EVENTS_MAX); i++)
        if (strcmp(events[i], name) == 0)
            found = i;
    if (found == EVENTS_MAX)
        fail_msg("%s was not called", name);
    return found;
}

struct order {
    const char *first, *then, *why;
};

static void check_order(const struct order *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (find_call(list[i].first, /*last=*/true) > find_call(list[i].then, /*last=*/false))
            fail_msg("%s comes after %s, but %s", list[i].first, list[i].then, list[i].why);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static struct config *load_config(int port)
{
    char url[300], port_text[40];
    char *argv[] = {"shardwheel",
                    "--shardwheel.coordination=standalone",
                    "--shardwheel.shards=2",
                    port_text,
                    "--shardwheel.node.name=node-a",
                    "--shardwheel.http.bind=127.0.0.1",
                    "--shardwheel.time-zone=UTC",
                    "--spring.datasource.username=root",
                    url,
                    NULL};
    char *env[] = {NULL};
    struct config *config = NULL;

    snprintf(url, sizeof url,
             "--spring.datasource.url=jdbc:mysql://localhost/xxl_job?serverTimezone=UTC&localSocket=%s",
             test_db.socket);
    snprintf(port_text, sizeof port_text, "--server.port=%d", port);
    assert_ok(config_load((int)ARRAY_LEN(argv) - 1, argv, env, &config, ec));
    return config;
}

static struct node *start(struct config *config)
{
    struct node *node = NULL;

    forget_calls();
    assert_ok(node_start(config, &node, ec));
    return node;
}

static void stop_in_order(struct node *node)
{
    int64_t deadline = clock_mono_ms(clock_system()) + TEST_DEADLINE_MS;

    while (!node_drain(node) || !node_may_end_guard(node)) {
        if (clock_mono_ms(clock_system()) > deadline)
            fail_msg("the node does not hand its shards over");
        test_pause();
    }
    node_stop(node);
}

static int count_threads(void)
{
    DIR *dir = opendir("/proc/self/task");
    int n = 0;

    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

/* Nothing of a node is left: no thread, no session at the server, no sign of life in the tables. A thread that was
 * joined may stand in /proc for a moment. */
static void check_nothing_left(int threads)
{
    int64_t deadline = clock_mono_ms(clock_system()) + TEST_DEADLINE_MS;

    while (count_threads() > threads) {
        if (clock_mono_ms(clock_system()) > deadline)
            fail_msg("%d threads, %d before", count_threads(), threads);
        test_pause();
    }
    test_wait("SELECT COUNT(*) = 1 FROM information_schema.processlist WHERE user = 'root'");
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_node"), 0);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_guard"), 0);
}

static void fresh_database(void)
{
    forget_calls();
    store_destroy(test_db_fresh(2, clock_wall_ms(clock_system()) / 1000));
}

/* ---- starting and stopping --------------------------------------------------------------------------------------- */

static void a_node_starts_and_stops_in_order(void **state)
{
    static const struct order starting[] = {
        {"store_init_shards", "store_agree_on_zones", "the zones stand in the row that it makes"},
        {"store_agree_on_zones", "registry_start", "a node of another zone must do nothing"},
        {"store_agree_on_zones", "guard_start", "a node of another zone must do nothing"},
        {"results_start", "dispatch_start", "each fire that was sent has a result"},
        {"registry_start", "http_start", "heartbeats come at once"},
        {"complete_start", "http_start", "callbacks come at once"},
        {"http_start", "guard_start", "with its port in use it must not hold Java admins off"},
        {"http_start", "coord_start", "with its port in use it must take no shard"},
        {"guard_start", "coord_start", "Java admins stand by before it takes a shard"},
        {"dispatch_start", "schedule_start", "somebody must take the fires that are due"},
        {"history_start", "coord_start", "it tells of the first shards, too"},
        {"coord_start", "schedule_start", "it asks who owns what"},
        {"schedule_start", "failures_start", "retries need the ring"},
    };
    static const struct order stopping[] = {
        {"failures_join", "schedule_stop", "no retry is made that would not be sent"},
        {"schedule_join", "dispatch_stop", "no cursor moves for a fire that would not be sent"},
        {"schedule_join", "coord_stop", "what is ours is let out before it is let go"},
        {"dispatch_join", "results_stop", "each fire that was sent has a result"},
        {"results_join", "guard_stop", "Java admins wait until all is written"},
        {"complete_join", "dispatch_stop", "children that callbacks make are sent, or told"},
        {"triggers_join", "dispatch_stop", "what was asked for is sent, or told"},
        {"http_stop", "complete_stop", "what was taken in is written"},
        {"http_stop", "registry_stop", "what was taken in is written"},
        {"registry_join", "store_destroy", "all of them use it"},
        {"complete_join", "store_destroy", "all of them use it"},
        {"guard_join", "store_destroy", "all of them use it"},
        {"coord_join", "store_destroy", "all of them use it"},
        {"coord_join", "history_stop", "it tells of the last shards, too"},
        {"history_join", "store_destroy", "all of them use it"},
    };
    int threads = count_threads();
    struct config *config;
    struct node *node;

    (void)state;
    fresh_database();
    config = load_config(0);
    node = start(config);
    check_order(starting, ARRAY_LEN(starting));
    test_wait("SELECT COUNT(*) = 2 FROM shardwheel_shard WHERE owner = 'node-a'");
    test_wait("SELECT COUNT(*) = 1 FROM shardwheel_node WHERE node = 'node-a' AND owned = 2");
    test_wait("SELECT COUNT(*) = 1 FROM shardwheel_guard");
    assert_true(node_is_alive(node));
    stop_in_order(node);
    check_order(stopping, ARRAY_LEN(stopping));
    check_nothing_left(threads);
    /* A second one finds all as it must be. */
    node = start(config);
    node_stop(node); /* at once, as after a second signal */
    check_nothing_left(threads);
    config_destroy(config);
}

static void what_started_is_stopped_when_a_step_fails(void **state)
{
    static const char *const areas[] = {"registry", "results", "dispatch", "complete", "triggers",
                                        "guard",    "coord",   "schedule", "failures", "history"};
    int threads = count_threads();
    struct config *config;
    size_t failed = 0;
    bool done = false;

    (void)state;
    fresh_database();
    config = load_config(0);
    while (!done) {
        struct node *node = NULL;
        struct errctx why = {{0}};
        enum err e;

        forget_calls();
        failing_step = ++failed;
        e = node_start(config, &node, &why);
        done = e == ERR_OK;
        if (done) {
            node_stop(node);
        } else {
            assert_null(node);
            if (!strstr(why.text, "as the test wants it: "))
                fail_msg("step %zu: %s", failed, why.text);
        }
        for (size_t i = 0; i < ARRAY_LEN(areas); i++) {
            char started[40], stopped[40], joined[40];

            snprintf(started, sizeof started, "%s_start", areas[i]);
            snprintf(stopped, sizeof stopped, "%s_stop", areas[i]);
            snprintf(joined, sizeof joined, "%s_join", areas[i]);
            if (count_calls(started) == 0)
                continue;
            assert_int_equal(count_calls(stopped), 1);
            assert_int_equal(count_calls(joined), 1);
        }
        assert_true(count_calls("http_start") <= count_calls("http_stop"));
        check_nothing_left(threads);
    }
    assert_true(failed > 10); /* every step has failed once */
    config_destroy(config);
}

static void a_port_in_use_is_told_before_anything_is_taken(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), threads = count_threads();
    struct node *node = NULL;
    struct errctx why = {{0}};
    struct config *config;
    char port[20];

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    fresh_database();
    config = load_config(ntohs(address.sin_port));
    forget_calls();
    assert_true(node_start(config, &node, &why) != ERR_OK);
    snprintf(port, sizeof port, "%d", ntohs(address.sin_port));
    if (!strstr(why.text, port))
        fail_msg("the port is not named: %s", why.text);
    assert_int_equal(count_calls("guard_start") + count_calls("coord_start") + count_calls("schedule_start"), 0);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_shard WHERE owner <> ''"), 0);
    check_nothing_left(threads);
    config_destroy(config);
    close(fd);
}

/* ---- another number of shards ------------------------------------------------------------------------------------ */

static void ask_for_shards(int n)
{
    struct store *st = test_store();
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct reshard_wish wish;

    assert_ok(store_ask_reshard(s, n, NULL, &wish, ec));
    store_give_session(st, s);
    __real_store_destroy(st);
}

/* Turns as main does, until the query gives a number that is not 0. */
static void follow_until(struct node *node, const char *sql)
{
    int64_t deadline = clock_mono_ms(clock_system()) + 2 * TEST_DEADLINE_MS;

    while (!test_int("%s", sql)) {
        if (clock_mono_ms(clock_system()) > deadline)
            fail_msg("still nothing: %s", sql);
        node_follow(node);
        test_pause();
    }
}

static void follow_until_failed(struct node *node, size_t which)
{
    int64_t deadline = clock_mono_ms(clock_system()) + 2 * TEST_DEADLINE_MS;

    while (to_fail[which]) {
        if (clock_mono_ms(clock_system()) > deadline)
            fail_msg("%s was not called", to_fail[which]);
        node_follow(node);
        test_pause();
    }
}

static void another_number_of_shards_is_tried_until_it_works(void **state)
{
    int threads = count_threads();
    char why[NODE_WHY_MAX];
    struct config *config;
    struct node *node;

    (void)state;
    fresh_database();
    config = load_config(0);
    node = start(config);
    test_wait("SELECT COUNT(*) = 2 FROM shardwheel_shard WHERE owner = 'node-a'");
    to_fail[0] = "schedule_resize";
    to_fail[1] = "coord_start";
    to_fail[2] = "schedule_start";
    ask_for_shards(5);
    follow_until(node, "SELECT COUNT(*) = 5 FROM shardwheel_shard s JOIN shardwheel_node n ON n.node = s.owner "
                       "AND n.owned = 5 WHERE s.owner = 'node-a'");
    for (size_t i = 0; i < 3; i++)
        assert_null(to_fail[i]); /* each of them has failed, and the next try went further */
    assert_int_equal(count_calls("schedule_resize"), 3);
    assert_true(node_is_healthy(node, why));
    /* What answers executors was not touched. */
    assert_int_equal(count_calls("http_stop") + count_calls("registry_stop") + count_calls("dispatch_stop") +
                         count_calls("guard_stop"),
                     0);
    stop_in_order(node);
    check_nothing_left(threads);
    config_destroy(config);
}

static void a_node_stops_half_way_to_another_number(void **state)
{
    int threads = count_threads();
    struct config *config;
    struct node *node;

    (void)state;
    fresh_database();
    config = load_config(0);
    node = start(config);
    test_wait("SELECT COUNT(*) = 2 FROM shardwheel_shard WHERE owner = 'node-a'");
    to_fail[0] = "schedule_start";
    ask_for_shards(3);
    follow_until_failed(node, 0);
    assert_true(node_drain(node)); /* nothing is its own now */
    stop_in_order(node);
    check_nothing_left(threads);
    node = start(config); /* the next one goes on with the new number */
    test_wait("SELECT COUNT(*) = 3 FROM shardwheel_shard WHERE owner = 'node-a' AND shard < 3");
    stop_in_order(node);
    config_destroy(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_starts_and_stops_in_order),
        cmocka_unit_test(what_started_is_stopped_when_a_step_fails),
        cmocka_unit_test(a_port_in_use_is_told_before_anything_is_taken),
        cmocka_unit_test(another_number_of_shards_is_tried_until_it_works),
        cmocka_unit_test(a_node_stops_half_way_to_another_number),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}

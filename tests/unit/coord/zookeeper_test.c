/* SPDX-License-Identifier: MIT */
/* Coordination on a real ZooKeeper server, which this program starts for itself in a folder of its own. */
#include "coord/coord_nodes.h"
#include "coord/store_stub.h"

#include <arpa/inet.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADED /* for the synchronous calls */
#include <zookeeper/zookeeper.h>

/* The library writes an address for its log into one static buffer, also with several sessions in one process. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "race_top:vsprintf\n";
}

#define TIMEOUT_MS 4000    /* the most that the server allows: a busy machine may hold up its clients */
#define PATIENCE_MS 120000 /* with what must come: no statement of how soon */
#define LOOKS_MAX 20000    /* the same, where each look does something */

static char folder[64];
static int port;
static char servers[64];
static pid_t server_pid;
static pid_t child_pid;
static zhandle_t *client; /* the test's own session, for a look at the server */

/* ---- the server ------------------------------------------------------------------------------------------------ */

static int find_free_port(void)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof addr;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
    close(fd);
    return ntohs(addr.sin_port);
}

static bool accepts_connections(void)
{
    struct sockaddr_in addr = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ok = connect(fd, (struct sockaddr *)&addr, sizeof addr) == 0;

    close(fd);
    return ok;
}

static pid_t spawn(char *const argv[], bool quiet)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        sigset_t none;

        prctl(PR_SET_PDEATHSIG, SIGKILL); /* whatever becomes of the test, it leaves nothing behind */
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        if (quiet && (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)))
            _exit(126);
        execvp(argv[0], argv);
        _exit(127);
    }
    return pid;
}

static void begin_server(void)
{
    char config[100];
    char *argv[] = {"java",
                    "-Xmx128m",
                    "-XX:+UseSerialGC",
                    "-XX:TieredStopAtLevel=1",
                    "-Dzookeeper.admin.enableServer=false",
                    "-Dzookeeper.forceSync=no",
                    "-cp",
                    "/usr/share/java/zookeeper.jar",
                    "org.apache.zookeeper.server.ZooKeeperServerMain",
                    config,
                    NULL};
    FILE *f;

    snprintf(config, sizeof config, "%s/zoo.cfg", folder);
    f = fopen(config, "w");
    assert_non_null(f);
    fprintf(f, "tickTime=200\ndataDir=%s\nclientPort=%d\nclientPortAddress=127.0.0.1\nmaxClientCnxns=0\n", folder,
            port);
    fclose(f);
    server_pid = spawn(argv, /*quiet=*/true);
    if (wait_until(accepts_connections, PATIENCE_MS) < 0)
        fail_msg("no ZooKeeper server on port %d: are the packages zookeeper and default-jre-headless there?", port);
}

static void end_process(pid_t *pid)
{
    if (*pid <= 0)
        return;
    kill(*pid, SIGKILL);
    waitpid(*pid, NULL, 0);
    *pid = 0;
}

static bool client_is_connected(void)
{
    return zoo_state(client) == ZOO_CONNECTED_STATE;
}

static void ignore_events(zhandle_t *zh, int type, int state, const char *path, void *arg)
{
    (void)zh;
    (void)type;
    (void)state;
    (void)path;
    (void)arg;
}

static void ignore_log(const char *message)
{
    (void)message;
}

static int setup_server(void **state)
{
    (void)state;
    mutex_init(&stub.lock, LOCK_LEAF);
    snprintf(folder, sizeof folder, "/tmp/coord_test.XXXXXX");
    assert_non_null(mkdtemp(folder));
    port = find_free_port();
    snprintf(servers, sizeof servers, "127.0.0.1:%d", port);
    begin_server();
    client = zookeeper_init2(servers, ignore_events, 4000, NULL, NULL, 0, ignore_log);
    assert_non_null(client);
    assert_true(wait_until(client_is_connected, PATIENCE_MS) >= 0);
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

static int teardown_server(void **state)
{
    (void)state;
    zookeeper_close(client);
    end_process(&server_pid);
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    mutex_fini(&stub.lock);
    return 0;
}

/* ---- nodes ----------------------------------------------------------------------------------------------------- */

static enum err create_node(int i, const char *name, const char *base, const char *where)
{
    struct coord_opts opts = {.shards = NODE_SHARDS,
                              .node_name = name,
                              .servers = where,
                              .base_path = base,
                              .session_timeout_ms = TIMEOUT_MS,
                              .changed = on_changed,
                              .arg = &nodes[i]};

    memset(&nodes[i], 0, sizeof nodes[i]);
    return coord_create(&opts, clock_system(), &nodes[i].counters, &nodes[i].coord, NULL);
}

static void begin_node(int i, const char *name, const char *base)
{
    struct errctx ec = {0};

    assert_int_equal(create_node(i, name, base, servers), ERR_OK);
    if (coord_start(nodes[i].coord, &ec))
        fail_msg("%s", ec.text);
}

static int end_nodes(void **state)
{
    (void)state;
    for (int i = 0; i < NODES_MAX; i++)
        end_node(i);
    end_process(&child_pid);
    return 0;
}

static bool first_owns_all(void)
{
    return count_owned(0) == NODE_SHARDS;
}

static bool first_owns_seven(void)
{
    return count_owned(0) == NODE_SHARDS - 1;
}

static bool second_owns_all(void)
{
    return count_owned(1) == NODE_SHARDS;
}

static bool two_share(void)
{
    for (int k = 0; k < NODE_SHARDS; k++) {
        if ((coord_get_grant(nodes[0].coord, k).wish == COORD_OWN) ==
            (coord_get_grant(nodes[1].coord, k).wish == COORD_OWN))
            return false;
    }
    return count_owned(0) == NODE_SHARDS / 2 && coord_count_held(nodes[0].coord) == NODE_SHARDS / 2 &&
           coord_count_held(nodes[1].coord) == NODE_SHARDS / 2;
}

static bool first_holds_none(void)
{
    return coord_count_held(nodes[0].coord) == 0;
}

static bool first_is_away(void)
{
    return !coord_is_connected(nodes[0].coord);
}

static bool both_are_connected(void)
{
    return coord_is_connected(nodes[0].coord) && coord_is_connected(nodes[1].coord);
}

static bool first_has_second_session(void)
{
    return counters_get(&nodes[0].counters, COUNTER_COORD_SESSIONS) == 2;
}

/* The program run as a node that can be killed. */
static int run_as_node(char **argv)
{
    port = atoi(argv[2]);
    snprintf(servers, sizeof servers, "127.0.0.1:%d", port);
    mutex_init(&stub.lock, LOCK_LEAF);
    if (create_node(0, argv[3], argv[4], servers) || coord_start(nodes[0].coord, NULL))
        return 1;
    for (;;) {
        release_what_is_asked_back();
        wait_a_moment();
    }
}

static void begin_child(const char *name, const char *base)
{
    char port_text[16];
    char *argv[] = {"/proc/self/exe", "--node", port_text, (char *)name, (char *)base, NULL};

    snprintf(port_text, sizeof port_text, "%d", port);
    child_pid = spawn(argv, /*quiet=*/true);
}

/* ---- tests ----------------------------------------------------------------------------------------------------- */

static void test_two_nodes_share(void **state)
{
    int64_t ms;

    (void)state;
    begin_node(0, "a", "/two/xxl-job");
    assert_true(wait_until(first_owns_all, PATIENCE_MS) >= 0);
    begin_node(1, "b", "/two/xxl-job");
    ms = wait_until(two_share, PATIENCE_MS);
    assert_true(ms >= 0);
    printf("joined and has its share after %" PRId64 " ms\n", ms);
    assert_int_equal(counters_get(&nodes[1].counters, COUNTER_NODES_LIVE), 2);
    assert_int_equal(counters_get(&nodes[0].counters, COUNTER_NODES_LIVE), 2);
    assert_int_equal(counters_get(&nodes[0].counters, COUNTER_COORD_UP), 1);
    assert_int_equal(counters_get(&nodes[0].counters, COUNTER_COORD_SESSIONS), 1);
    /* 8 granted; 4 of them asked back and given back. */
    assert_int_equal(atomic_load(&nodes[0].changes), 8 + 2 * 4);
    assert_int_equal(atomic_load(&nodes[1].changes), 4);
}

static void test_drain_leaves_all_to_the_other(void **state)
{
    (void)state;
    begin_node(0, "a", "/drain");
    begin_node(1, "b", "/drain");
    assert_true(wait_until(two_share, PATIENCE_MS) >= 0);
    coord_drain(nodes[0].coord);
    assert_true(wait_until(second_owns_all, PATIENCE_MS) >= 0);
    assert_true(wait_until(first_holds_none, PATIENCE_MS) >= 0);
    assert_int_equal(counters_get(&nodes[1].counters, COUNTER_NODES_LIVE), 1);
}

static void test_stop_gives_up_at_once(void **state)
{
    struct Stat st;

    (void)state;
    begin_node(0, "a", "/stop");
    begin_node(1, "b", "/stop");
    assert_true(wait_until(two_share, PATIENCE_MS) >= 0);
    assert_int_equal(zoo_exists(client, "/stop/nodes/a", 0, &st), ZOK);
    end_node(0);
    /* Its session has ended with it, and was not left to its timeout. */
    assert_int_equal(zoo_exists(client, "/stop/nodes/a", 0, &st), ZNONODE);
    assert_true(wait_until(second_owns_all, PATIENCE_MS) >= 0);
}

static void test_killed_node_is_replaced(void **state)
{
    int64_t ms;

    (void)state;
    begin_node(1, "b", "/kill");
    assert_true(wait_until(second_owns_all, PATIENCE_MS) >= 0);
    begin_child("c", "/kill");
    nodes[0].coord = NULL;
    for (int looks = 0; count_owned(1) != NODE_SHARDS / 2; wait_a_moment()) {
        release_what_is_asked_back();
        assert_true(looks++ < LOOKS_MAX);
    }
    end_process(&child_pid);
    ms = wait_until(second_owns_all, PATIENCE_MS);
    assert_true(ms >= 0);
    printf("all shards of a killed node taken after %" PRId64 " ms (session timeout %d ms)\n", ms, TIMEOUT_MS);
}

static void test_server_restart_changes_nothing(void **state)
{
    struct coord_grant before[2][NODE_SHARDS];
    int64_t begun;

    (void)state;
    begin_node(0, "a", "/restart");
    begin_node(1, "b", "/restart");
    assert_true(wait_until(two_share, PATIENCE_MS) >= 0);
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < NODE_SHARDS; k++)
            before[i][k] = coord_get_grant(nodes[i].coord, k);
    }
    end_process(&server_pid);
    assert_true(wait_until(first_is_away, PATIENCE_MS) >= 0);
    begun = clock_mono_ms(clock_system());
    while (clock_mono_ms(clock_system()) - begun < TIMEOUT_MS + 1000) {
        assert_true(two_share());
        wait_a_moment();
    }
    begin_server();
    assert_true(wait_until(both_are_connected, PATIENCE_MS) >= 0);
    /* The server has kept the sessions, so not even a serial has changed. Seen for longer than a session would last. */
    begun = clock_mono_ms(clock_system());
    while (clock_mono_ms(clock_system()) - begun < TIMEOUT_MS + 1000) {
        for (int i = 0; i < 2; i++) {
            for (int k = 0; k < NODE_SHARDS; k++) {
                struct coord_grant g = coord_get_grant(nodes[i].coord, k);

                assert_int_equal(g.wish, before[i][k].wish);
                assert_int_equal(g.serial, before[i][k].serial);
            }
        }
        wait_a_moment();
    }
    assert_int_equal(counters_get(&nodes[0].counters, COUNTER_COORD_SESSIONS), 1);
    assert_true(wait_until(client_is_connected, PATIENCE_MS) >= 0);
}

/* The server makes a session's password from its id, with the generator of java.util.Random. */
static void make_password(int64_t session, char out[16])
{
    uint64_t mask = (1ull << 48) - 1;
    uint64_t seed = (((uint64_t)session ^ 0xB3415C00ull) ^ 0x5DEECE66Dull) & mask;

    for (int i = 0; i < 16; i += 4) {
        uint32_t word;

        seed = (seed * 0x5DEECE66Dull + 0xBull) & mask;
        word = (uint32_t)(seed >> 16);
        for (int b = 0; b < 4; b++)
            out[i + b] = (char)(word >> (8 * b));
    }
}

static struct {
    const char *member;
    int64_t session;
} victim;

static bool victim_has_ended(void)
{
    struct Stat st;
    int result = zoo_exists(client, victim.member, 0, &st);

    return result == ZNONODE || (result == ZOK && st.ephemeralOwner != victim.session);
}

/* Ends a node's session as the server does at its timeout: by joining it on a second connection and closing it. The
 * node takes the session back as quickly as it can, and may have done so before ours is closed: then once more. */
static void end_session_of(const char *member)
{
    struct Stat st;
    clientid_t id;
    zhandle_t *mine = client;

    assert_int_equal(zoo_exists(client, member, 0, &st), ZOK);
    victim.member = member;
    victim.session = id.client_id = st.ephemeralOwner;
    make_password(st.ephemeralOwner, id.passwd);
    for (int i = 0; i < 20; i++) {
        client = zookeeper_init2(servers, ignore_events, TIMEOUT_MS, &id, NULL, 0, ignore_log);
        assert_non_null(client);
        (void)wait_until(client_is_connected, 2000);
        zookeeper_close(client);
        client = mine;
        if (wait_until(victim_has_ended, 500) >= 0)
            return;
    }
    fail_msg("the session of %s cannot be ended", member);
}

static void test_expired_session_is_replaced(void **state)
{
    int64_t ms;

    (void)state;
    begin_node(0, "a", "/expire");
    begin_node(1, "b", "/expire");
    assert_true(wait_until(two_share, PATIENCE_MS) >= 0);
    end_session_of("/expire/nodes/a");
    ms = wait_until(first_has_second_session, PATIENCE_MS);
    assert_true(ms >= 0);
    assert_true(wait_until(two_share, PATIENCE_MS) >= 0);
}

static void test_expired_session_alone_comes_back(void **state)
{
    (void)state;
    begin_node(0, "a", "/alone");
    assert_true(wait_until(first_owns_all, PATIENCE_MS) >= 0);
    end_session_of("/alone/nodes/a");
    for (int looks = 0; coord_get_grant(nodes[0].coord, 5).serial < 2; wait_a_moment()) {
        assert_true(first_owns_all()); /* never lost, nobody else was there */
        assert_true(looks++ < LOOKS_MAX);
    }
}

static void test_curator_client_excludes_and_is_excluded(void **state)
{
    static const char ticket[] = "/curator/schedule_lock_5/_c_3f2d8c1e-5a70-4f0e-9c57-0d4b8f6f7a11-lock-";
    char first[200];
    char second[200];
    struct String_vector names;
    int64_t lowest = INT64_MAX;

    (void)state;
    assert_int_equal(zoo_create(client, "/curator", "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, NULL, 0), ZOK);
    assert_int_equal(
        zoo_create(client, "/curator/schedule_lock_5", "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_CONTAINER, NULL, 0), ZOK);
    assert_int_equal(
        zoo_create(client, ticket, "10.0.0.1", 8, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL_SEQUENTIAL, first, sizeof first),
        ZOK);
    begin_node(0, "a", "/curator");
    assert_true(wait_until(first_owns_seven, PATIENCE_MS) >= 0);
    for (int64_t begun = clock_mono_ms(clock_system()); clock_mono_ms(clock_system()) - begun < 500; wait_a_moment())
        assert_int_equal(coord_get_grant(nodes[0].coord, 5).wish, COORD_NOT_OURS);
    assert_int_equal(zoo_create(client, ticket, "10.0.0.1", 8, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL_SEQUENTIAL, second,
                                sizeof second),
                     ZOK);
    assert_int_equal(zoo_delete(client, first, -1), ZOK);
    assert_true(wait_until(first_owns_all, PATIENCE_MS) >= 0);
    /* By Curator's order, the number after the last "lock-", the lowest is ours now. */
    assert_int_equal(zoo_get_children(client, "/curator/schedule_lock_5", 0, &names), ZOK);
    assert_int_equal(names.count, 2);
    for (int i = 0; i < names.count; i++) {
        const char *number = strstr(names.data[i], "-lock-") + strlen("-lock-");

        assert_int_equal(strlen(number), 10);
        assert_int_equal(strlen(names.data[i]), strlen(strrchr(second, '/') + 1));
        assert_int_equal(strncmp(names.data[i], "_c_", 3), 0);
        if (atoll(number) < lowest)
            lowest = atoll(number);
    }
    assert_true(lowest < atoll(strstr(second, "-lock-") + strlen("-lock-")));
    deallocate_String_vector(&names);
    assert_int_equal(zoo_delete(client, second, -1), ZOK);
}

static void test_absent_server_is_an_error_at_start(void **state)
{
    struct errctx ec = {0};
    char where[64];

    (void)state;
    snprintf(where, sizeof where, "127.0.0.1:%d", find_free_port());
    assert_int_equal(create_node(0, "a", "/xxl-job", where), ERR_OK);
    assert_int_equal(coord_start(nodes[0].coord, &ec), ERR_LOST);
    assert_non_null(strstr(ec.text, where));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_two_nodes_share, end_nodes),
        cmocka_unit_test_teardown(test_drain_leaves_all_to_the_other, end_nodes),
        cmocka_unit_test_teardown(test_stop_gives_up_at_once, end_nodes),
        cmocka_unit_test_teardown(test_killed_node_is_replaced, end_nodes),
        cmocka_unit_test_teardown(test_server_restart_changes_nothing, end_nodes),
        cmocka_unit_test_teardown(test_expired_session_is_replaced, end_nodes),
        cmocka_unit_test_teardown(test_expired_session_alone_comes_back, end_nodes),
        cmocka_unit_test_teardown(test_curator_client_excludes_and_is_excluded, end_nodes),
        cmocka_unit_test_teardown(test_absent_server_is_an_error_at_start, end_nodes),
    };

    if (argc == 5 && strcmp(argv[1], "--node") == 0)
        return run_as_node(argv);
    return cmocka_run_group_tests(tests, setup_server, teardown_server);
}

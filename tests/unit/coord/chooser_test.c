/* SPDX-License-Identifier: MIT */
/* Nodes with real choosers and real views of a ZooKeeper in memory, servers in memory, virtual time. */
#include "coord/chooser.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NODES 3
#define SERVERS 3
#define ZNODES 16
#define TIMEOUT_MS 4000
#define LEASE_MS (TIMEOUT_MS / 3 * 2)
#define STEP_MS 50

struct server {
    bool up, writes, galera;
    bool no_tables;
    int64_t generation;
    char row_server[20];
    int raises;
};

struct znode {
    char path[100];
    char data[400];
    int version;
    int64_t owner;
};

struct node {
    bool alive, cut;     /* cut: from ZooKeeper */
    bool blind[SERVERS]; /* cut from that server */
    int order[SERVERS];  /* candidate i is server order[i] */
    size_t count;
    struct chooser chooser;
    struct agreed agreed;
    int64_t session, lease_ms, cut_ms;
    uint64_t next_id;
    bool lose_answers; /* what is asked is done, and nobody hears of it */
    bool slow_to_stop; /* does not take part: neither reads nor acknowledges */
    int stops, uses, changes;
    bool lossless;
    int64_t used_generation;
    struct zk_answer answer;
    char data[400];
    char names[NODES][40];
    const char *name_list[NODES];
    bool has_answer;
};

static struct server servers[SERVERS];
static struct znode znodes[ZNODES];
static struct node nodes[NODES];
static int64_t now_ms, next_session;
static bool no_watches; /* what changes is not told */

/* ---- ZooKeeper --------------------------------------------------------------------------------------------------- */

static struct znode *find_znode(const char *path)
{
    for (int i = 0; i < ZNODES; i++) {
        if (strcmp(znodes[i].path, path) == 0)
            return &znodes[i];
    }
    return NULL;
}

static struct znode *get_znode(const char *path)
{
    struct znode *z = find_znode(path);

    if (!z)
        abort();
    return z;
}

static void tell_all(const char *path)
{
    for (int i = 0; i < NODES && !no_watches; i++) {
        if (nodes[i].alive && !nodes[i].cut)
            agreed_on_change(&nodes[i].agreed, path);
    }
}

static void remove_znode(struct znode *z)
{
    char path[100];

    memcpy(path, z->path, sizeof path);
    *z = (struct znode){0};
    tell_all(path);
    tell_all("/t/writers");
}

static enum zk_result make_znode(const char *path, const char *data, int64_t owner)
{
    struct znode *z = find_znode("");

    if (find_znode(path))
        return ZK_EXISTS;
    if (!z)
        abort();
    snprintf(z->path, sizeof z->path, "%s", path);
    snprintf(z->data, sizeof z->data, "%s", data ? data : "");
    z->owner = owner;
    tell_all("/t/writers");
    return ZK_OK;
}

static void list_writers(struct node *n, struct zk_answer *a)
{
    for (int i = 0; i < ZNODES; i++) {
        if (strncmp(znodes[i].path, "/t/writers/", 11) == 0) {
            snprintf(n->names[a->count], sizeof n->names[0], "%.30s", znodes[i].path + 11);
            n->name_list[a->count] = n->names[a->count];
            a->count++;
        }
    }
    a->names = n->name_list;
}

static bool ask_zk(void *arg, const struct zk_ask *ask)
{
    struct node *n = arg;
    struct znode *z = find_znode(ask->path);
    struct zk_answer a = {.verb = ask->verb, .id = ask->id, .result = z ? ZK_OK : ZK_NO_NODE};

    if (n->cut)
        return false;
    switch (ask->verb) {
    case ZK_MAKE: a.result = make_znode(ask->path, ask->data, 0); break;
    case ZK_CREATE_EPHEMERAL: a.result = make_znode(ask->path, ask->data, n->session); break;
    case ZK_READ:
        if (z) {
            memcpy(n->data, z->data, sizeof n->data);
            a.data = n->data;
            a.version = z->version;
            a.owner = z->owner;
        }
        break;
    case ZK_WRITE:
        if (z && ask->version >= 0 && ask->version != z->version) {
            a.result = ZK_CHANGED;
        } else if (z) {
            snprintf(z->data, sizeof z->data, "%s", ask->data);
            a.version = ++z->version;
            tell_all(z->path);
        }
        break;
    case ZK_LIST_WATCHED: list_writers(n, &a); break;
    case ZK_CREATE_QUEUED:
    case ZK_DELETE:
    case ZK_LIST:
    case ZK_LIST_SYNCED:
    case ZK_WATCH: fail();
    }
    if (n->lose_answers) {
        n->lose_answers = false;
        a.result = ZK_LOST;
    }
    n->answer = a;
    n->has_answer = true;
    return true;
}

/* ---- servers ----------------------------------------------------------------------------------------------------- */

static const char *name_of(int server)
{
    static const char *const names[] = {"one", "two", "three"};

    return names[server];
}

static struct host_facts look(const struct node *n, int index)
{
    int k = n->order[index];
    const struct server *s = &servers[k];
    struct host_facts f = {.reached = s->up && !n->blind[k]};

    if (!f.reached) {
        snprintf(f.why, sizeof f.why, "away");
        return f;
    }
    f.takes_writes = s->writes;
    f.galera = s->galera;
    f.has_tables = !s->no_tables;
    f.generation = s->generation;
    snprintf(f.server, sizeof f.server, "%s", name_of(k));
    snprintf(f.row_server, sizeof f.row_server, "%s", s->row_server);
    return f;
}

/* A pair: what one that takes writes has reaches those that take none. */
static void write_row(int k, int64_t generation)
{
    servers[k].generation = generation;
    snprintf(servers[k].row_server, sizeof servers[k].row_server, "%s", name_of(k));
    for (int i = 0; i < SERVERS; i++) {
        if (i != k && servers[i].up && (!servers[i].writes || servers[i].galera)) {
            servers[i].generation = generation;
            memcpy(servers[i].row_server, servers[k].row_server, sizeof servers[i].row_server);
        }
    }
}

static void raise_server(const struct node *n, int index, int64_t generation)
{
    struct server *s = &servers[n->order[index]];

    if (!s->up || !s->writes || n->blind[n->order[index]] || s->no_tables || s->generation >= generation)
        return;
    s->raises++;
    write_row(n->order[index], generation);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static void begin_node(int i, bool in_cluster, size_t count, int first, int second)
{
    struct node *n = &nodes[i];
    char name[20];

    *n = (struct node){.alive = true, .count = count, .order = {first, second, 2}, .next_id = 1};
    n->session = ++next_session;
    snprintf(name, sizeof name, "n%d-%d", i, (int)n->session);
    assert_int_equal(chooser_init(&n->chooser, count, in_cluster, name), ERR_OK);
    assert_int_equal(agreed_init(&n->agreed, "/t", name), ERR_OK);
    if (in_cluster)
        agreed_set_connected(&n->agreed, true, n->session);
    n->lease_ms = INT64_MAX;
}

static void end_session(const struct node *n)
{
    for (int i = 0; i < ZNODES; i++) {
        if (znodes[i].owner == n->session)
            remove_znode(&znodes[i]);
    }
}

/* kill -9; its session ends by itself, which the test does by end_session_of. */
static void free_node(struct node *n)
{
    chooser_fini(&n->chooser);
    agreed_fini(&n->agreed);
    n->alive = false;
}

static void cut_node(int i)
{
    nodes[i].cut = true;
    nodes[i].cut_ms = now_ms;
    nodes[i].lease_ms = now_ms + LEASE_MS;
    nodes[i].has_answer = false;
    nodes[i].agreed.pending = 0;
    agreed_set_connected(&nodes[i].agreed, false, 0);
}

static void join_again(int i)
{
    nodes[i].cut = false;
    agreed_reset(&nodes[i].agreed);
    nodes[i].session = ++next_session;
    agreed_set_connected(&nodes[i].agreed, true, nodes[i].session);
    nodes[i].lease_ms = INT64_MAX;
}

static int server_used(const struct node *n)
{
    return n->alive && n->chooser.used >= 0 ? n->order[n->chooser.used] : -1;
}

static void apply(struct node *n, const struct plan *plan)
{
    if (plan->move == PLAN_STOP)
        n->stops++;
    if (plan->move == PLAN_USE) {
        n->uses++;
        n->changes += plan->generation != n->used_generation;
        n->used_generation = plan->generation;
        n->lossless = plan->is_lossless;
    }
    if (n->chooser.in_cluster && !n->cut) {
        agreed_set_own(&n->agreed, n->chooser.known, chooser_is_fine(&n->chooser), TIMEOUT_MS);
        if (plan->proposes && !n->agreed.wants_decision)
            agreed_propose(&n->agreed, &plan->next);
    }
    if (plan->raise >= 0) {
        raise_server(n, plan->raise, plan->raise_generation);
        chooser_note_raised(&n->chooser, now_ms);
    }
}

/* Errors of statements tell the node of a server that is gone. */
static void feel(struct node *n)
{
    const struct server *s = server_used(n) >= 0 ? &servers[server_used(n)] : NULL;

    if (s && (!s->up || !s->writes || n->blind[server_used(n)]))
        chooser_note_trouble(&n->chooser);
}

static void turn(struct node *n)
{
    struct sight sight = {.agreed = &n->agreed, .lease_mono_ms = n->lease_ms, .timeout_ms = TIMEOUT_MS};
    struct plan plan;
    int64_t until;
    int index;

    if (!n->alive || n->slow_to_stop)
        return;
    if (n->has_answer) {
        n->has_answer = false;
        agreed_on_answer(&n->agreed, &n->answer, now_ms);
    }
    feel(n);
    index = chooser_find_look(&n->chooser, now_ms, &until);
    if (index >= 0) {
        struct host_facts f = look(n, index);

        chooser_set_facts(&n->chooser, index, &f, now_ms, now_ms);
    }
    chooser_plan(&n->chooser, &sight, now_ms, &plan);
    apply(n, &plan);
    if (n->chooser.in_cluster && !n->cut)
        agreed_step(&n->agreed, now_ms, &n->next_id, ask_zk, n);
}

/* What must hold at every moment: no two nodes use two servers that are not one. */
static void check_one_server(void)
{
    int used = -1;

    for (int i = 0; i < NODES; i++) {
        int k = server_used(&nodes[i]);

        if (k < 0 || servers[k].galera || !nodes[i].chooser.in_cluster)
            continue;
        if (used >= 0 && used != k)
            fail_msg("at %" PRId64 " ms node %d uses %s while another one uses %s", now_ms, i, name_of(k),
                     name_of(used));
        used = k;
    }
}

static void run_ms(int64_t ms)
{
    for (int64_t end = now_ms + ms; now_ms < end; now_ms += STEP_MS) {
        for (int i = 0; i < NODES; i++) {
            for (int k = 0; k < 3; k++)
                turn(&nodes[i]);
            check_one_server();
        }
    }
}

static int reset(void **state)
{
    (void)state;
    for (int i = 0; i < NODES; i++) {
        if (nodes[i].alive)
            free_node(&nodes[i]);
    }
    memset(servers, 0, sizeof servers);
    memset(znodes, 0, sizeof znodes);
    memset(nodes, 0, sizeof nodes);
    now_ms = 1000000;
    next_session = 0;
    servers[0] = (struct server){.up = true, .writes = true};
    servers[1] = (struct server){.up = true};
    return 0;
}

/* Two nodes in a cluster, each with the pair in its own order, at work. */
static void begin_pair(void)
{
    begin_node(0, true, 2, 0, 1);
    begin_node(1, true, 2, 1, 0);
    run_ms(1000);
    assert_int_equal(server_used(&nodes[0]), 0);
    assert_int_equal(server_used(&nodes[1]), 0);
}

static void fail_over(void)
{
    servers[0].up = false;
    servers[1].writes = true;
}

/* Until somebody has written generation 2 there, and nobody has looked since. Returns who it was. */
static int run_until_proposed(void)
{
    for (int i = 0; i < 1000; i++, now_ms += 10) {
        for (int k = 0; k < 2; k++) {
            turn(&nodes[k]);
            if (strncmp(get_znode("/t/primary")->data, "generation=2", 12) == 0)
                return k;
        }
    }
    fail();
    return -1;
}

static struct decision decided(void)
{
    return nodes[0].alive ? nodes[0].agreed.decision : nodes[1].agreed.decision;
}

/* ---- a single host ----------------------------------------------------------------------------------------------- */

static void test_single_host_is_used_and_gets_its_row(void **state)
{
    (void)state;
    begin_node(0, false, 1, 0, 1);
    run_ms(500);
    assert_int_equal(server_used(&nodes[0]), 0);
    assert_int_equal(servers[0].generation, 1);
    assert_int_equal(servers[0].raises, 1);
}

static void test_single_host_that_restarts_changes_nothing(void **state)
{
    (void)state;
    begin_node(0, false, 1, 0, 1);
    run_ms(500);
    servers[0].up = false;
    run_ms(20000);
    assert_int_equal(server_used(&nodes[0]), 0);
    servers[0].up = true;
    run_ms(3000);
    assert_int_equal(servers[0].raises, 1);
    assert_int_equal(nodes[0].uses, 1);
    assert_int_equal(nodes[0].stops, 0);
}

static void test_single_host_without_tables_gets_its_row_later(void **state)
{
    (void)state;
    servers[0].no_tables = true;
    begin_node(0, false, 1, 0, 1);
    run_ms(500);
    assert_int_equal(server_used(&nodes[0]), 0);
    assert_int_equal(nodes[0].used_generation, 0);
    servers[0].no_tables = false;
    chooser_note_trouble(&nodes[0].chooser);
    run_ms(3000);
    assert_int_equal(servers[0].generation, 1);
    assert_int_equal(nodes[0].chooser.generation, 1);
    assert_int_equal(nodes[0].uses, 1);
}

static void test_another_server_behind_one_name_is_raised(void **state)
{
    (void)state;
    begin_node(0, false, 1, 0, 1);
    run_ms(500);
    nodes[0].order[0] = 1;
    chooser_note_trouble(&nodes[0].chooser);
    run_ms(2000); /* still read-only: nothing is done */
    assert_int_equal(servers[1].raises, 0);
    servers[1].writes = true;
    run_ms(2500);
    assert_int_equal(servers[1].generation, 2);
    assert_string_equal(servers[1].row_server, "two");
    assert_int_equal(nodes[0].used_generation, 2);
    assert_false(nodes[0].lossless);
}

/* ---- standalone -------------------------------------------------------------------------------------------------- */

static void test_standalone_follows_a_failover(void **state)
{
    (void)state;
    begin_node(0, false, 2, 0, 1);
    run_ms(500);
    assert_int_equal(server_used(&nodes[0]), 0);
    fail_over();
    run_ms(3000);
    assert_int_equal(server_used(&nodes[0]), 1);
    assert_int_equal(servers[1].generation, 2);
}

static void test_standalone_waits_for_a_server_that_restarts(void **state)
{
    (void)state;
    begin_node(0, false, 2, 0, 1);
    run_ms(500);
    servers[0].up = false;
    run_ms(10000);
    servers[0].up = true;
    run_ms(1000);
    assert_int_equal(server_used(&nodes[0]), 0);
    assert_int_equal(nodes[0].stops, 0);
    assert_int_equal(servers[0].raises, 1);
}

static void test_standalone_sits_out_a_short_silence(void **state)
{
    (void)state;
    begin_node(0, false, 2, 0, 1);
    run_ms(500);
    fail_over();
    run_ms(700);
    servers[0].up = true;
    run_ms(3000);
    assert_int_equal(server_used(&nodes[0]), 0);
    assert_int_equal(servers[1].raises, 0);
}

static void test_standalone_starts_where_the_newest_row_is(void **state)
{
    (void)state;
    write_row(0, 3);
    servers[1].writes = true;
    write_row(1, 4);
    begin_node(0, false, 2, 0, 1);
    run_ms(1000);
    assert_int_equal(server_used(&nodes[0]), 1);
    assert_int_equal(servers[0].raises + servers[1].raises, 0);
    assert_int_equal(nodes[0].chooser.second, 0);
}

/* ---- a cluster --------------------------------------------------------------------------------------------------- */

static void test_first_start_ever_agrees_on_one(void **state)
{
    (void)state;
    begin_pair();
    assert_int_equal(servers[0].generation, 1);
    assert_int_equal(decided().generation, 1);
    assert_true(decided().is_used);
    assert_int_equal(decided().base, 1);
}

static void test_lists_in_different_order_lead_to_one_server(void **state)
{
    (void)state;
    servers[1].writes = true; /* both take writes, and each list begins with another one */
    begin_node(0, true, 2, 0, 1);
    begin_node(1, true, 2, 1, 0);
    run_ms(3000);
    assert_true(server_used(&nodes[0]) >= 0);
    assert_int_equal(server_used(&nodes[0]), server_used(&nodes[1]));
    assert_int_equal(servers[0].raises + servers[1].raises, 1);
}

static void test_nodes_follow_a_failover(void **state)
{
    (void)state;
    begin_pair();
    servers[0].up = false;
    run_ms(5000);
    assert_int_equal(server_used(&nodes[0]), 0); /* nobody else takes writes */
    servers[1].writes = true;
    run_ms(1500);
    assert_int_equal(server_used(&nodes[0]), 1);
    assert_int_equal(server_used(&nodes[1]), 1);
    assert_int_equal(servers[1].generation, 2);
    assert_int_equal(servers[1].raises, 1);
    assert_false(nodes[0].lossless);
}

static void test_short_silence_changes_nothing(void **state)
{
    (void)state;
    begin_pair();
    servers[1].writes = true;
    servers[0].up = false;
    run_ms(700);
    servers[0].up = true;
    run_ms(3000);
    assert_int_equal(server_used(&nodes[0]), 0);
    assert_int_equal(decided().generation, 1);
    assert_int_equal(nodes[0].stops, 0);
}

static void test_one_node_cut_from_the_server_moves_nobody(void **state)
{
    (void)state;
    begin_pair();
    servers[1].writes = true;
    nodes[0].blind[0] = true;
    run_ms(10000);
    assert_int_equal(decided().generation, 1);
    assert_int_equal(server_used(&nodes[1]), 0);
    assert_int_equal(server_used(&nodes[0]), 0); /* it goes on trying */
}

static void test_nobody_raises_before_all_have_stopped(void **state)
{
    (void)state;
    begin_pair();
    fail_over();
    nodes[1].slow_to_stop = true; /* it lives, and its znode says that it works with the old one */
    nodes[1].chooser.bad_mono_ms = INT64_MAX;
    run_ms(6000);
    assert_int_equal(servers[1].raises, 0);
    nodes[1].slow_to_stop = false;
    run_ms(3000);
    assert_int_equal(servers[1].raises, 1);
    assert_int_equal(server_used(&nodes[1]), 1);
}

static void test_a_decision_waits_for_each_acknowledgement(void **state)
{
    int by;

    (void)state;
    begin_pair();
    run_ms(TIMEOUT_MS);
    fail_over();
    by = run_until_proposed();
    nodes[!by].slow_to_stop = true;
    run_ms(10000);
    assert_int_equal(servers[1].raises, 0);
    nodes[!by].slow_to_stop = false;
    run_ms(1000);
    assert_int_equal(servers[1].raises, 1);
    assert_int_equal(server_used(&nodes[!by]), 1);
}

static void test_a_writer_that_vanished_is_waited_for(void **state)
{
    (void)state;
    begin_pair();
    run_ms(TIMEOUT_MS);
    end_session(&nodes[1]); /* it does not know of it yet */
    cut_node(1);
    nodes[1].lease_ms = now_ms + TIMEOUT_MS - 100;
    fail_over();
    run_ms(TIMEOUT_MS - 200);
    assert_int_equal(servers[1].raises, 0);
    assert_int_equal(server_used(&nodes[1]), 0);
    run_ms(1000);
    assert_int_equal(servers[1].raises, 1);
    assert_int_equal(server_used(&nodes[1]), -1);
}

static void test_a_node_that_has_just_come_waits_for_those_before(void **state)
{
    (void)state;
    begin_pair();
    end_session(&nodes[0]);
    end_session(&nodes[1]);
    free_node(&nodes[0]);
    cut_node(1); /* and goes on for as long as it may */
    fail_over();
    begin_node(2, true, 2, 1, 0);
    run_ms(TIMEOUT_MS - 500);
    assert_int_equal(servers[1].raises, 0);
    run_ms(1500);
    assert_int_equal(server_used(&nodes[2]), 1);
    assert_int_equal(servers[1].generation, 2);
}

static void test_a_raiser_that_dies_half_way_is_followed(void **state)
{
    int by;

    (void)state;
    begin_pair();
    run_ms(TIMEOUT_MS);
    fail_over();
    by = run_until_proposed();
    assert_int_equal(servers[1].raises, 0);
    free_node(&nodes[by]);
    run_ms(3000); /* its session goes on, and so its decision is left alone */
    assert_int_equal(servers[1].raises, 0);
    end_session(&nodes[by]);
    run_ms(TIMEOUT_MS + 3000);
    assert_int_equal(server_used(&nodes[!by]), 1);
    assert_int_equal(servers[1].generation, 3);
}

static void test_lost_answers_change_nothing(void **state)
{
    (void)state;
    for (int lost = 0; lost < 25; lost++) {
        reset(NULL);
        begin_node(0, true, 2, 0, 1);
        begin_node(1, true, 2, 1, 0);
        for (int i = 0; i < lost; i++)
            run_ms(STEP_MS);
        nodes[lost % 2].lose_answers = true;
        run_ms(1000);
        fail_over();
        for (int i = 0; i < lost; i++)
            run_ms(STEP_MS);
        nodes[lost % 2].lose_answers = true;
        run_ms(8000);
        assert_int_equal(server_used(&nodes[0]), 1);
        assert_int_equal(server_used(&nodes[1]), 1);
    }
}

static void test_out_of_sight_a_node_stops_and_comes_back(void **state)
{
    (void)state;
    begin_pair();
    cut_node(0);
    run_ms(LEASE_MS - 100);
    assert_int_equal(server_used(&nodes[0]), 0);
    run_ms(300);
    assert_int_equal(server_used(&nodes[0]), -1);
    end_session(&nodes[0]);
    join_again(0);
    run_ms(1000);
    assert_int_equal(server_used(&nodes[0]), 0);
    assert_int_equal(nodes[0].changes, 1);
    assert_int_equal(decided().generation, 1);
}

static void test_out_of_sight_a_galera_node_goes_on(void **state)
{
    (void)state;
    servers[0].galera = servers[1].galera = servers[1].writes = true;
    begin_pair();
    cut_node(0);
    run_ms(3 * TIMEOUT_MS);
    assert_int_equal(server_used(&nodes[0]), 0);
}

static void test_galera_moves_without_a_wait_and_loses_nothing(void **state)
{
    (void)state;
    servers[0].galera = servers[1].galera = servers[1].writes = true;
    begin_pair();
    assert_int_equal(nodes[0].chooser.second, -1);
    servers[0].up = false;
    run_ms(2500);
    assert_int_equal(server_used(&nodes[0]), 1);
    assert_int_equal(server_used(&nodes[1]), 1);
    assert_true(nodes[0].lossless);
}

static void test_second_server_that_takes_writes_is_never_used(void **state)
{
    (void)state;
    begin_pair();
    fail_over();
    run_ms(5000);
    assert_int_equal(server_used(&nodes[0]), 1);
    servers[0].up = true; /* the old one, and it takes writes */
    run_ms(12000);
    assert_int_equal(server_used(&nodes[0]), 1);
    assert_int_equal(nodes[0].chooser.second, 0);
    servers[1].up = false; /* nor when the new one goes: it does not have what was written since */
    run_ms(20000);
    assert_int_equal(servers[0].raises, 1);
    assert_int_equal(decided().generation, 2);
    begin_node(2, true, 2, 0, 1); /* and a node that starts then does not, either */
    run_ms(10000);
    assert_int_equal(server_used(&nodes[2]), -1);
    servers[1].up = true;
    run_ms(2000);
    assert_int_equal(server_used(&nodes[2]), 1);
    assert_int_equal(decided().generation, 2);
}

static void test_agreed_server_may_have_lost_its_row(void **state)
{
    (void)state;
    begin_pair();
    for (int i = 0; i < 2; i++) {
        end_session(&nodes[i]);
        free_node(&nodes[i]);
    }
    snprintf(get_znode("/t/primary")->data, sizeof znodes[0].data, "generation=7 base=7 used=1 by=x server=one");
    begin_node(0, true, 2, 0, 1); /* a backup was restored there */
    run_ms(TIMEOUT_MS + 3000);
    assert_int_equal(server_used(&nodes[0]), 0);
    assert_int_equal(servers[0].generation, 8);
}

static void test_row_newer_than_the_znode_is_gone_beyond(void **state)
{
    (void)state;
    begin_pair();
    fail_over();
    run_ms(5000);
    assert_int_equal(servers[1].generation, 2);
    remove_znode(get_znode("/t/primary")); /* ZooKeeper was wiped */
    run_ms(TIMEOUT_MS + 12000);
    assert_int_equal(server_used(&nodes[0]), 1);
    assert_int_equal(server_used(&nodes[1]), 1);
    assert_int_equal(servers[1].generation, 3);
    assert_true(nodes[0].lossless);
}

/* As somebody who writes into the table by hand may leave it. */
static void test_generation_that_none_can_follow_is_told(void **state)
{
    (void)state;
    write_row(0, INT64_MAX);
    write_row(1, INT64_MAX);
    begin_node(0, true, 2, 0, 1);
    run_ms(5000);
    assert_int_equal(server_used(&nodes[0]), -1);
    assert_int_equal(servers[0].raises + servers[1].raises, 0);
    assert_null(find_znode("/t/primary"));
    assert_non_null(strstr(nodes[0].chooser.why, "no generation follows"));
}

static void test_znode_that_went_back_is_gone_beyond(void **state)
{
    struct znode *z;

    (void)state;
    begin_pair();
    fail_over();
    run_ms(5000);
    servers[0].up = true; /* with the old row, and it takes writes */
    z = get_znode("/t/primary");
    snprintf(z->data, sizeof z->data, "generation=1 base=1 used=1 by=x server=one");
    z->version++;
    tell_all("/t/primary");
    run_ms(TIMEOUT_MS + 5000);
    assert_int_equal(server_used(&nodes[0]), 1);
    assert_int_equal(decided().generation, 3);
    assert_int_equal(servers[0].raises, 1);
}

static void test_server_that_nobody_reaches_is_waited_for(void **state)
{
    (void)state;
    servers[0].up = servers[1].up = false;
    begin_node(0, true, 2, 0, 1);
    run_ms(20000);
    assert_int_equal(server_used(&nodes[0]), -1);
    assert_null(find_znode("/t/primary"));
    assert_non_null(strstr(nodes[0].chooser.why, "away"));
    servers[0].up = true;
    run_ms(TIMEOUT_MS + 1000);
    assert_int_equal(server_used(&nodes[0]), 0);
}

static void step_agreed(struct node *n)
{
    agreed_step(&n->agreed, now_ms, &n->next_id, ask_zk, n);
    n->has_answer = false;
    agreed_on_answer(&n->agreed, &n->answer, now_ms);
}

static void test_two_decide_and_one_of_them_counts(void **state)
{
    struct decision one = {.generation = 2, .base = 1, .by = "a", .server = "one"};
    struct decision two = {.generation = 2, .base = 1, .by = "b", .server = "two"};

    (void)state;
    begin_pair();
    run_ms(5000);
    no_watches = true; /* both have read the same, and neither knows of the other */
    agreed_propose(&nodes[0].agreed, &one);
    agreed_propose(&nodes[1].agreed, &two);
    step_agreed(&nodes[0]);
    step_agreed(&nodes[1]);
    no_watches = false;
    assert_false(nodes[1].agreed.wants_decision);
    assert_non_null(strstr(get_znode("/t/primary")->data, "server=one"));
}

static void test_two_names_of_one_server_are_one(void **state)
{
    (void)state;
    begin_node(0, true, 2, 0, 0);
    run_ms(1000);
    assert_int_equal(server_used(&nodes[0]), 0);
    run_ms(20000);
    assert_int_equal(nodes[0].chooser.second, -1);
    assert_int_equal(servers[0].raises, 1);
}

static void test_tables_are_made_by_one(void **state)
{
    (void)state;
    servers[0].no_tables = true;
    begin_pair();
    servers[0].no_tables = false;
    chooser_note_trouble(&nodes[0].chooser);
    chooser_note_trouble(&nodes[1].chooser);
    run_ms(1000);
    assert_int_equal(servers[0].generation, 1);
    assert_int_equal(decided().generation, 1);
    assert_int_equal(decided().base, 1);
    assert_int_equal(nodes[0].stops + nodes[1].stops, 0);
}

static bool has_writer(const struct node *n)
{
    for (int i = 0; i < ZNODES; i++) {
        if (znodes[i].owner == n->session)
            return true;
    }
    return false;
}

static void test_deleted_writer_is_made_again_before_anything_is_used(void **state)
{
    (void)state;
    begin_pair();
    for (int i = 0; i < ZNODES; i++) {
        if (znodes[i].owner == nodes[0].session)
            remove_znode(&znodes[i]);
    }
    run_ms(500);
    assert_true(has_writer(&nodes[0]));
    assert_true(nodes[0].agreed.is_fresh);
    assert_int_equal(server_used(&nodes[0]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_single_host_is_used_and_gets_its_row, reset, reset),
        cmocka_unit_test_setup_teardown(test_single_host_that_restarts_changes_nothing, reset, reset),
        cmocka_unit_test_setup_teardown(test_single_host_without_tables_gets_its_row_later, reset, reset),
        cmocka_unit_test_setup_teardown(test_another_server_behind_one_name_is_raised, reset, reset),
        cmocka_unit_test_setup_teardown(test_standalone_follows_a_failover, reset, reset),
        cmocka_unit_test_setup_teardown(test_standalone_waits_for_a_server_that_restarts, reset, reset),
        cmocka_unit_test_setup_teardown(test_standalone_sits_out_a_short_silence, reset, reset),
        cmocka_unit_test_setup_teardown(test_standalone_starts_where_the_newest_row_is, reset, reset),
        cmocka_unit_test_setup_teardown(test_first_start_ever_agrees_on_one, reset, reset),
        cmocka_unit_test_setup_teardown(test_lists_in_different_order_lead_to_one_server, reset, reset),
        cmocka_unit_test_setup_teardown(test_nodes_follow_a_failover, reset, reset),
        cmocka_unit_test_setup_teardown(test_short_silence_changes_nothing, reset, reset),
        cmocka_unit_test_setup_teardown(test_one_node_cut_from_the_server_moves_nobody, reset, reset),
        cmocka_unit_test_setup_teardown(test_nobody_raises_before_all_have_stopped, reset, reset),
        cmocka_unit_test_setup_teardown(test_a_decision_waits_for_each_acknowledgement, reset, reset),
        cmocka_unit_test_setup_teardown(test_a_writer_that_vanished_is_waited_for, reset, reset),
        cmocka_unit_test_setup_teardown(test_a_node_that_has_just_come_waits_for_those_before, reset, reset),
        cmocka_unit_test_setup_teardown(test_a_raiser_that_dies_half_way_is_followed, reset, reset),
        cmocka_unit_test_setup_teardown(test_lost_answers_change_nothing, reset, reset),
        cmocka_unit_test_setup_teardown(test_out_of_sight_a_node_stops_and_comes_back, reset, reset),
        cmocka_unit_test_setup_teardown(test_out_of_sight_a_galera_node_goes_on, reset, reset),
        cmocka_unit_test_setup_teardown(test_galera_moves_without_a_wait_and_loses_nothing, reset, reset),
        cmocka_unit_test_setup_teardown(test_second_server_that_takes_writes_is_never_used, reset, reset),
        cmocka_unit_test_setup_teardown(test_agreed_server_may_have_lost_its_row, reset, reset),
        cmocka_unit_test_setup_teardown(test_row_newer_than_the_znode_is_gone_beyond, reset, reset),
        cmocka_unit_test_setup_teardown(test_generation_that_none_can_follow_is_told, reset, reset),
        cmocka_unit_test_setup_teardown(test_znode_that_went_back_is_gone_beyond, reset, reset),
        cmocka_unit_test_setup_teardown(test_server_that_nobody_reaches_is_waited_for, reset, reset),
        cmocka_unit_test_setup_teardown(test_two_decide_and_one_of_them_counts, reset, reset),
        cmocka_unit_test_setup_teardown(test_two_names_of_one_server_are_one, reset, reset),
        cmocka_unit_test_setup_teardown(test_tables_are_made_by_one, reset, reset),
        cmocka_unit_test_setup_teardown(test_deleted_writer_is_made_again_before_anything_is_used, reset, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

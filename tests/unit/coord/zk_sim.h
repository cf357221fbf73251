/* SPDX-License-Identifier: MIT */
/*
 * zk_sim: a ZooKeeper server in memory with several clients, each driven by a real engine, in virtual time. Requests
 * and answers travel in order with random delays; connections break with requests in any stage of their way; sessions
 * expire.
 */
#ifndef SHARDWHEEL_TESTS_ZK_SIM_H
#define SHARDWHEEL_TESTS_ZK_SIM_H

#include "coord/engine.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIM_NODES 6
#define SIM_SHARDS 16
#define SIM_TIMEOUT_MS 4000
#define SIM_BASE "/t/jobs"

struct sim_znode {
    struct sim_znode *next;
    char *path;
    int64_t owner; /* session, 0 for a persistent one */
    int64_t id;    /* unlike that of any other znode ever */
    int64_t sequence;
    int64_t changes; /* of its children */
};

struct sim_watch {
    struct sim_watch *next;
    char *path;
    bool children;
    int64_t seen; /* id of the znode, or number of its children's changes, when the watch was set */
};

struct sim_message {
    struct sim_message *next;
    int64_t at_ms;
    bool answered; /* of a request: its answer is in the inbox */
    struct zk_answer answer;
    char *path; /* request: its path; change: what changed */
    char **names;
    bool change;
};

struct sim_node {
    struct engine *engine;
    char name[16];
    int64_t session; /* 0: none yet */
    bool alive;
    bool connected;
    bool able;
    bool shall_own_none;
    bool drained;              /* counts as no worker any more */
    bool finished[SIM_SHARDS]; /* was to let out what is planned, as the last node */
    bool isolated;             /* does not reconnect by itself */
    int64_t reconnect_ms;
    struct sim_message *out; /* requests on their way, oldest first */
    struct sim_message *in;  /* answers and changes on their way back */
    struct sim_watch *watches;
    struct coord_grant seen[SIM_SHARDS];
    int64_t release_ms[SIM_SHARDS];
    uint64_t grants; /* how many serials it was given */
    struct sim *sim;
};

struct sim_session {
    int64_t id;
    bool alive;
    int64_t expires_ms; /* INT64_MAX while connected */
};

struct sim {
    uint64_t random;
    int64_t now_ms;
    int shards;
    int max_release_ms; /* how long a node takes to hand a shard over */
    int64_t max_hold_ms;
    struct sim_znode *znodes;
    int64_t next_id;
    struct sim_session sessions[4096];
    size_t session_count;
    struct sim_node nodes[SIM_NODES];
    bool stirred; /* something has happened in this millisecond that may change who holds what */
    uint64_t requests;
    uint64_t creates;      /* tickets made */
    uint64_t lost_creates; /* creates that happened and whose answer got lost */
};

static uint64_t sim_random(struct sim *s, uint64_t below)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return (s->random >> 11) % below;
}

/* ---- server -------------------------------------------------------------------------------------------------- */

static struct sim_znode *sim_find(struct sim *s, const char *path, size_t len)
{
    for (struct sim_znode *z = s->znodes; z; z = z->next) {
        if (strlen(z->path) == len && strncmp(z->path, path, len) == 0)
            return z;
    }
    return NULL;
}

static void sim_push(struct sim_message **list, struct sim_message *m)
{
    while (*list)
        list = &(*list)->next;
    m->next = NULL;
    *list = m;
}

static void sim_free_message(struct sim_message *m)
{
    for (size_t i = 0; m->names && m->names[i]; i++)
        free(m->names[i]);
    free(m->names);
    free((char *)m->answer.created);
    free(m->path);
    free(m);
}

static int64_t sim_arrival(struct sim *s, struct sim_message *list)
{
    int64_t at = s->now_ms + 1 + (int64_t)sim_random(s, 4);

    for (; list; list = list->next)
        at = list->at_ms > at ? list->at_ms : at;
    return at;
}

static void sim_send_change(struct sim *s, struct sim_node *n, const char *path)
{
    struct sim_message *m = calloc(1, sizeof *m);

    m->change = true;
    m->path = strdup(path);
    m->at_ms = sim_arrival(s, n->in);
    sim_push(&n->in, m);
}

/* Fires what is due of a connected node's watches. */
static void sim_fire(struct sim *s, struct sim_node *n)
{
    for (struct sim_watch **w = &n->watches; *w;) {
        struct sim_watch *watch = *w;
        struct sim_znode *z = sim_find(s, watch->path, strlen(watch->path));

        if (z && watch->seen == (watch->children ? z->changes : z->id)) {
            w = &watch->next;
            continue;
        }
        sim_send_change(s, n, watch->path);
        *w = watch->next;
        free(watch->path);
        free(watch);
    }
}

static void sim_fire_all(struct sim *s)
{
    s->stirred = true;
    for (int i = 0; i < SIM_NODES; i++) {
        if (s->nodes[i].alive && s->nodes[i].connected)
            sim_fire(s, &s->nodes[i]);
    }
}

static void sim_watch(struct sim_node *n, struct sim_znode *z, bool children)
{
    struct sim_watch *w;

    for (w = n->watches; w; w = w->next) {
        if (w->children == children && strcmp(w->path, z->path) == 0)
            return;
    }
    w = calloc(1, sizeof *w);
    *w = (struct sim_watch){
        .next = n->watches, .path = strdup(z->path), .children = children, .seen = children ? z->changes : z->id};
    n->watches = w;
}

static enum zk_result sim_create(struct sim *s, const char *path, int64_t owner, bool queued, char **created)
{
    const char *slash = strrchr(path, '/');
    struct sim_znode *parent = sim_find(s, path, (size_t)(slash - path));
    struct sim_znode *z;
    char full[600];

    if (slash != path && !parent)
        return ZK_NO_NODE;
    if (queued)
        snprintf(full, sizeof full, "%s%010" PRId64, path, parent->sequence);
    else
        snprintf(full, sizeof full, "%s", path);
    if (sim_find(s, full, strlen(full)))
        return ZK_EXISTS;
    z = calloc(1, sizeof *z);
    *z = (struct sim_znode){.next = s->znodes, .path = strdup(full), .owner = owner, .id = ++s->next_id};
    s->znodes = z;
    if (parent) {
        parent->sequence++;
        parent->changes++;
    }
    if (created)
        *created = strdup(full);
    sim_fire_all(s);
    return ZK_OK;
}

static enum zk_result sim_delete(struct sim *s, const char *path)
{
    struct sim_znode *parent = sim_find(s, path, (size_t)(strrchr(path, '/') - path));

    for (struct sim_znode **z = &s->znodes; *z; z = &(*z)->next) {
        struct sim_znode *gone = *z;

        if (strcmp(gone->path, path) != 0)
            continue;
        *z = gone->next;
        free(gone->path);
        free(gone);
        if (parent)
            parent->changes++;
        sim_fire_all(s);
        return ZK_OK;
    }
    return ZK_NO_NODE;
}

static struct sim_session *sim_find_session(struct sim *s, int64_t id)
{
    return id ? &s->sessions[id - 1] : NULL;
}

static int64_t sim_begin_session(struct sim *s)
{
    assert(s->session_count < 4096);
    s->sessions[s->session_count] =
        (struct sim_session){.id = (int64_t)s->session_count + 1, .alive = true, .expires_ms = INT64_MAX};
    return s->sessions[s->session_count++].id;
}

static void sim_end_session(struct sim *s, int64_t id)
{
    struct sim_znode *z = s->znodes;

    sim_find_session(s, id)->alive = false;
    while (z) {
        char *path = z->owner == id ? strdup(z->path) : NULL;

        z = z->next;
        if (path)
            sim_delete(s, path);
        free(path);
    }
}

static void sim_list(struct sim *s, struct sim_znode *folder, struct sim_message *m)
{
    size_t len = strlen(folder->path);

    m->names = calloc(1, sizeof *m->names);
    for (struct sim_znode *z = s->znodes; z; z = z->next) {
        if (strncmp(z->path, folder->path, len) != 0 || z->path[len] != '/' || strchr(z->path + len + 1, '/'))
            continue;
        m->names = realloc(m->names, (m->answer.count + 2) * sizeof *m->names);
        m->names[m->answer.count++] = strdup(z->path + len + 1);
        m->names[m->answer.count] = NULL;
    }
    m->answer.names = (const char *const *)m->names;
}

static void sim_carry_out(struct sim *s, struct sim_node *n, const struct sim_message *ask, struct sim_message *m)
{
    struct sim_znode *z = sim_find(s, ask->path, strlen(ask->path));

    m->answer = ask->answer;
    m->answer.result = z ? ZK_OK : ZK_NO_NODE;
    switch (ask->answer.verb) {
    case ZK_MAKE: m->answer.result = sim_create(s, ask->path, 0, false, NULL); break;
    case ZK_CREATE_QUEUED:
        s->creates++;
        m->answer.result = sim_create(s, ask->path, n->session, true, (char **)&m->answer.created);
        break;
    case ZK_CREATE_EPHEMERAL: m->answer.result = sim_create(s, ask->path, n->session, false, NULL); break;
    case ZK_DELETE: m->answer.result = sim_delete(s, ask->path); break;
    case ZK_LIST:
    case ZK_LIST_SYNCED:
    case ZK_LIST_WATCHED:
        if (z)
            sim_list(s, z, m);
        if (z && ask->answer.verb == ZK_LIST_WATCHED)
            sim_watch(n, z, true);
        break;
    case ZK_WATCH:
        if (z) {
            m->answer.owner = z->owner;
            sim_watch(n, z, false);
        }
        break;
    case ZK_READ:
    case ZK_WRITE: assert(false); break; /* no engine asks that */
    }
}

/* ---- clients -------------------------------------------------------------------------------------------------- */

static bool sim_ask(void *arg, const struct zk_ask *ask)
{
    struct sim_node *n = arg;
    struct sim_message *m = calloc(1, sizeof *m);

    assert(n->connected);
    n->sim->requests++;
    m->path = strdup(ask->path);
    m->answer = (struct zk_answer){.verb = ask->verb, .tag = ask->tag, .id = ask->id};
    m->at_ms = sim_arrival(n->sim, n->out);
    sim_push(&n->out, m);
    return true;
}

static void sim_drop_messages(struct sim_message **list)
{
    while (*list) {
        struct sim_message *m = *list;

        *list = m->next;
        sim_free_message(m);
    }
}

static void sim_drop_watches(struct sim_node *n)
{
    while (n->watches) {
        struct sim_watch *w = n->watches;

        n->watches = w->next;
        free(w->path);
        free(w);
    }
}

/* Breaks a connection: of what was on its way to the server some is carried out, no answer comes back. */
static void sim_cut(struct sim *s, struct sim_node *n)
{
    size_t reached = sim_random(s, 4);
    struct sim_session *session = sim_find_session(s, n->session);
    struct sim_message *answers = n->in;
    struct sim_message *asks = n->out;

    if (!n->connected)
        return;
    n->in = NULL;
    n->out = NULL;
    n->connected = false;
    if (session && session->alive)
        session->expires_ms = s->now_ms + SIM_TIMEOUT_MS;
    while (answers) {
        struct sim_message *m = answers;

        answers = m->next;
        if (!m->change) {
            s->lost_creates += m->answer.verb == ZK_CREATE_QUEUED && m->answer.result == ZK_OK;
            m->answer.result = ZK_LOST;
            engine_on_answer(n->engine, &m->answer, s->now_ms);
        }
        sim_free_message(m);
    }
    while (asks) {
        struct sim_message *m = asks;

        asks = m->next;
        if (reached > 0 && session && session->alive) {
            struct sim_message done = {0};

            reached--;
            sim_carry_out(s, n, m, &done);
            s->lost_creates += done.answer.verb == ZK_CREATE_QUEUED && done.answer.result == ZK_OK;
            for (size_t i = 0; done.names && done.names[i]; i++)
                free(done.names[i]);
            free(done.names);
            free((char *)done.answer.created);
        }
        m->answer.result = ZK_LOST;
        engine_on_answer(n->engine, &m->answer, s->now_ms);
        sim_free_message(m);
    }
    engine_set_connected(n->engine, false, 0);
    n->reconnect_ms = s->now_ms + 50 + (int64_t)sim_random(s, 500);
}

static void sim_connect(struct sim *s, struct sim_node *n)
{
    if (!n->session || !sim_find_session(s, n->session)->alive) {
        sim_drop_watches(n);
        n->session = sim_begin_session(s);
        engine_begin_session(n->engine);
    }
    sim_find_session(s, n->session)->expires_ms = INT64_MAX;
    n->connected = true;
    engine_set_connected(n->engine, true, n->session);
    sim_fire(s, n); /* what happened while it was away */
}

static struct sim_node *sim_add(struct sim *s, int i)
{
    struct sim_node *n = &s->nodes[i];
    struct engine_opts opts = {.shards = s->shards,
                               .node_name = n->name,
                               .base_path = SIM_BASE,
                               .member_data = "sim",
                               .max_hold_ms = s->max_hold_ms,
                               .jitter_seed = sim_random(s, 1u << 30),
                               .ask = sim_ask,
                               .arg = n};

    assert(!n->alive);
    *n = (struct sim_node){.sim = s, .alive = true, .able = true};
    snprintf(n->name, sizeof n->name, "n%d", i);
    if (engine_create(&opts, &n->engine, NULL))
        abort();
    return n;
}

/* kill -9: the server learns of it by the session's timeout only. */
static void sim_kill(struct sim *s, int i)
{
    struct sim_node *n = &s->nodes[i];

    if (!n->alive)
        return;
    if (n->session && sim_find_session(s, n->session)->alive && n->connected)
        sim_find_session(s, n->session)->expires_ms = s->now_ms + SIM_TIMEOUT_MS;
    sim_drop_messages(&n->out);
    sim_drop_messages(&n->in);
    sim_drop_watches(n);
    engine_destroy(n->engine);
    *n = (struct sim_node){0};
}

/* The place of schedule: hands over what is asked back, after a while. */
static void sim_schedule(struct sim *s, struct sim_node *n)
{
    for (int k = 0; k < s->shards; k++) {
        struct coord_grant g = engine_get_grant(n->engine, k);

        assert(g.serial >= n->seen[k].serial);
        n->grants += g.serial != n->seen[k].serial;
        bool asked_back = g.wish == COORD_GIVE_BACK || g.wish == COORD_FINISH;

        n->finished[k] |= g.wish == COORD_FINISH;
        if (asked_back && (n->seen[k].wish != g.wish || n->seen[k].serial != g.serial))
            n->release_ms[k] = s->now_ms + (int64_t)sim_random(s, (uint64_t)s->max_release_ms + 1);
        n->seen[k] = g;
        if (asked_back && s->now_ms >= n->release_ms[k]) {
            engine_release(n->engine, k, g.serial, s->now_ms);
            n->seen[k] = engine_get_grant(n->engine, k);
        }
    }
}

static void sim_run_node(struct sim *s, struct sim_node *n)
{
    if (!n->connected && !n->isolated && s->now_ms >= n->reconnect_ms)
        sim_connect(s, n);
    while (n->connected && n->out && n->out->at_ms <= s->now_ms) {
        struct sim_message *ask = n->out;
        struct sim_message *m;

        if (!sim_find_session(s, n->session)->alive) {
            sim_cut(s, n); /* the server closes the connection of a session that has expired */
            break;
        }
        m = calloc(1, sizeof *m);
        n->out = ask->next;
        sim_carry_out(s, n, ask, m);
        m->at_ms = sim_arrival(s, n->in);
        sim_push(&n->in, m);
        sim_free_message(ask);
    }
    while (n->in && n->in->at_ms <= s->now_ms) {
        struct sim_message *m = n->in;

        n->in = m->next;
        s->stirred = true;
        if (m->change)
            engine_on_change(n->engine, m->path);
        else
            engine_on_answer(n->engine, &m->answer, s->now_ms);
        sim_free_message(m);
        engine_turn(n->engine, s->now_ms);
    }
    engine_set_able(n->engine, n->able);
    engine_set_drained(n->engine, n->shall_own_none);
    sim_schedule(s, n);
    engine_turn(n->engine, s->now_ms);
}

/* One millisecond. */
static void sim_tick(struct sim *s)
{
    s->now_ms++;
    s->stirred = false;
    for (size_t i = 0; i < s->session_count; i++) {
        if (s->sessions[i].alive && s->sessions[i].expires_ms <= s->now_ms)
            sim_end_session(s, s->sessions[i].id);
    }
    for (int i = 0; i < SIM_NODES; i++) {
        struct sim_node *n = &s->nodes[i];

        if (!n->alive)
            continue;
        if (n->connected && !sim_find_session(s, n->session)->alive)
            sim_cut(s, n);
        sim_run_node(s, n);
    }
}

static struct sim *sim_create_all(uint64_t seed, int shards)
{
    struct sim *s = calloc(1, sizeof *s);

    s->random = seed * 2 + 1;
    s->shards = shards;
    s->max_release_ms = 100;
    return s;
}

static void sim_destroy_all(struct sim *s)
{
    for (int i = 0; i < SIM_NODES; i++)
        sim_kill(s, i);
    while (s->znodes) {
        struct sim_znode *z = s->znodes;

        s->znodes = z->next;
        free(z->path);
        free(z);
    }
    free(s);
}

#endif

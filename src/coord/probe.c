/* SPDX-License-Identifier: MIT */
/* Looks at ZooKeeper from outside: one session for each server, and a few requests by the first one that is there. */
#include "coord/zk.h"
#include "shardwheel/coord.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POLL_MS 20
#define CONNECT_MS 2000

/* What the library's threads hand over. */
struct mailbox {
    struct mutex lock;       /* rank LOCK_LEAF */
    struct cond wake;        /* with lock */
    struct zk_event *answer; /* [lock] of the one request that is under way */
};

struct prober {
    const struct coord_probe_opts *opts; /* [const] as all below but the mailbox: one thread's */
    const struct clock *clock;
    int64_t deadline_mono_ms;
    struct zk *zk[COORD_PROBE_MAX];
    struct mailbox mailbox;
};

static void post(void *arg, struct zk_event *event)
{
    struct mailbox *m = arg;

    mutex_lock(&m->lock);
    if (!event->changed_path && !m->answer) {
        m->answer = event;
        event = NULL;
        cond_signal(&m->wake);
    }
    mutex_unlock(&m->lock);
    zk_event_destroy(event);
}

static void poke(void *arg)
{
    (void)arg; /* states are looked at again and again */
}

/* NULL when no answer came in time. */
static struct zk_event *ask(struct prober *p, struct zk *zk, const struct zk_ask *wanted)
{
    struct zk_event *answer;

    if (!zk_ask(zk, wanted))
        return NULL;
    mutex_lock(&p->mailbox.lock);
    while (!p->mailbox.answer && cond_wait_until(&p->mailbox.wake, &p->mailbox.lock, p->deadline_mono_ms))
        ;
    answer = p->mailbox.answer;
    p->mailbox.answer = NULL;
    mutex_unlock(&p->mailbox.lock);
    return answer;
}

/* ---- sessions ---------------------------------------------------------------------------------------------------- */

static enum err open_sessions(struct prober *p, char *list, struct coord_probe *out, struct errctx *ec)
{
    char *entry;

    while ((entry = strsep(&list, ",")) && out->count < COORD_PROBE_MAX) {
        struct coord_probe_server *server = &out->servers[out->count];
        struct errctx why = {{0}};
        struct zk_opts opts = {.servers = entry,
                               .session_timeout_ms = p->opts->session_timeout_ms,
                               .clock = p->clock,
                               .post = post,
                               .poke = poke,
                               .arg = &p->mailbox};
        enum err e;

        snprintf(server->name, sizeof server->name, "%s", entry);
        e = zk_open(&opts, &p->zk[out->count], &why);
        if (e == ERR_NOMEM)
            return err_set(ec, e, "%s", why.text);
        snprintf(server->error, sizeof server->error, "%.199s", e ? why.text : "no session was created");
        out->count++;
    }
    return ERR_OK;
}

static size_t count_connecting(const struct prober *p, struct coord_probe *out)
{
    size_t n = 0;

    for (size_t i = 0; i < out->count; i++) {
        struct coord_probe_server *server = &out->servers[i];

        if (!p->zk[i])
            continue;
        server->reached = zk_get_state(p->zk[i]) == ZK_CONNECTED;
        if (server->reached)
            server->session_timeout_ms = zk_get_session_timeout_ms(p->zk[i]);
        n += !server->reached;
    }
    return n;
}

/* ---- the folder of the cluster ----------------------------------------------------------------------------------- */

static void keep_names(const struct zk_answer *answer, struct coord_probe *out)
{
    for (size_t i = 0; i < answer->count; i++)
        buf_printf(&out->members, "%s%s", out->members.len ? "\n" : "", answer->names[i]);
}

static void note_refusal(const struct zk_event *answer, const char *what, struct coord_probe *out)
{
    if (!answer)
        snprintf(out->refused, sizeof out->refused, "%s: no answer came", what);
    else if (answer->answer.result == ZK_REFUSED || answer->answer.result == ZK_LOST)
        snprintf(out->refused, sizeof out->refused, "%s: %s", what, answer->answer.error_text);
}

/* A znode of our own is made and taken away: as a node does it for each shard. */
static void try_to_write(struct prober *p, struct zk *zk, const char *base, struct coord_probe *out)
{
    struct zk_event *answer;
    char random[17], *path;

    if (random_hex(random, 8, NULL) || !(path = zk_format("%s/probe-%s", base, random)))
        return;
    answer = ask(p, zk, &(struct zk_ask){.verb = ZK_CREATE_EPHEMERAL, .path = path});
    note_refusal(answer, "create a znode", out);
    if (answer && answer->answer.result == ZK_OK) {
        zk_event_destroy(answer);
        answer = ask(p, zk, &(struct zk_ask){.verb = ZK_DELETE, .path = path});
        note_refusal(answer, "delete a znode", out);
    }
    zk_event_destroy(answer);
    free(path);
}

static void look_at_folder(struct prober *p, struct zk *zk, const char *base, struct coord_probe *out)
{
    struct zk_event *answer = ask(p, zk, &(struct zk_ask){.verb = ZK_LIST, .path = base});
    char *nodes = zk_format("%s/nodes", base);
    bool has_folder = answer && answer->answer.result == ZK_OK;

    note_refusal(answer, "list the base path", out);
    zk_event_destroy(answer);
    if (has_folder && nodes) {
        answer = ask(p, zk, &(struct zk_ask){.verb = ZK_LIST, .path = nodes});
        note_refusal(answer, "list the nodes", out);
        if (answer && answer->answer.result == ZK_OK)
            keep_names(&answer->answer, out);
        zk_event_destroy(answer);
    }
    free(nodes);
    if (has_folder && !out->refused[0])
        try_to_write(p, zk, base, out);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static void run(struct prober *p, const char *base, struct coord_probe *out)
{
    int half_ms = p->opts->wait_ms / 2;
    int64_t connect_by_ms = clock_mono_ms(p->clock) + (half_ms < CONNECT_MS ? half_ms : CONNECT_MS);

    while (count_connecting(p, out) && clock_mono_ms(p->clock) < connect_by_ms)
        clock_sleep_ms(POLL_MS);
    for (size_t i = 0; i < out->count; i++) {
        if (out->servers[i].reached) {
            look_at_folder(p, p->zk[i], base, out);
            break;
        }
    }
    for (size_t i = 0; i < out->count; i++)
        zk_close(p->zk[i]);
}

enum err coord_look(const struct coord_probe_opts *opts, const struct clock *clock, struct coord_probe *out,
                    struct errctx *ec)
{
    struct prober p = {.opts = opts, .clock = clock, .deadline_mono_ms = clock_mono_ms(clock) + opts->wait_ms};
    char *servers, *base;
    enum err e = zk_split_servers(opts->servers, opts->base_path, &servers, &base, ec);

    mutex_init(&p.mailbox.lock, LOCK_LEAF);
    cond_init(&p.mailbox.wake);
    if (!e)
        e = open_sessions(&p, servers, out, ec);
    run(&p, base, out);
    zk_event_destroy(p.mailbox.answer);
    cond_fini(&p.mailbox.wake);
    mutex_fini(&p.mailbox.lock);
    free(servers);
    free(base);
    return e;
}

void coord_probe_fini(struct coord_probe *probe)
{
    buf_fini(&probe->members);
}

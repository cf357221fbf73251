/* SPDX-License-Identifier: MIT */
#include "shardwheel/coord.h"
#include "shardwheel/text.h"

#include "coord/coord_impl.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define START_MS 10000
#define MAX_SHARDS 65536 /* of which the uuid of a ticket has 16 bits */
#define MAX_NAME 200     /* bytes of a node's name */

/* ---- options --------------------------------------------------------------------------------------------------- */

/* A node's name is part of a ZooKeeper path: anything printable, no slash, not "." or "..". */
static bool is_name(const char *s)
{
    size_t len = strlen(s);

    return len > 0 && len <= MAX_NAME && strcmp(s, ".") != 0 && strcmp(s, "..") != 0 && !strchr(s, '/') &&
           !text_has_control(s, len);
}

static enum err check_opts(const struct coord_opts *o, struct errctx *ec)
{
    if (o->shards < 1 || o->shards > MAX_SHARDS)
        return err_set(ec, ERR_INPUT, "number of shards %d is not 1 to %d", o->shards, MAX_SHARDS);
    if (!is_name(o->node_name))
        return err_set(ec, ERR_INPUT,
                       "node name \"%s\" must have 1 to %d characters, none of them '/' or a control character",
                       o->node_name, MAX_NAME);
    return o->servers || o->store ? ERR_OK : err_set(ec, ERR_INPUT, "standalone coordination needs the database");
}

static enum err copy_opts(struct coord *c, const struct coord_opts *o, struct errctx *ec)
{
    char host[256] = "";
    enum err e = ERR_OK;

    if (o->servers)
        e = zk_split_servers(o->servers, o->base_path, &c->servers, &c->base_path, ec);
    if (gethostname(host, sizeof host - 1) != 0)
        strcpy(host, "unknown");
    c->member_data = zk_format("host=%s start_wall_ms=%" PRId64, host, clock_wall_ms(c->clock));
    c->node_name = str_copy(o->node_name);
    c->seats = calloc((size_t)o->shards, sizeof *c->seats);
    c->news = calloc((size_t)o->shards, sizeof *c->news);
    if (e || !c->member_data || !c->node_name || !c->seats || !c->news)
        return err_set(ec, ERR_NOMEM, "out of memory");
    for (int k = 0; k < o->shards; k++)
        c->seats[k].told = true;
    return ERR_OK;
}

enum err coord_create(const struct coord_opts *opts, const struct clock *clock, struct counters *counters,
                      struct coord **out, struct errctx *ec)
{
    struct coord *c = NULL;
    enum err e = check_opts(opts, ec);

    if (e)
        return err_wrap(ec, e, "coordination");
    c = calloc(1, sizeof *c);
    if (!c)
        return err_set(ec, ERR_NOMEM, "coordination: out of memory");
    STAILQ_INIT(&c->events);
    mutex_init(&c->lock, LOCK_COORD);
    cond_init(&c->wake);
    cond_init(&c->started);
    c->opts = *opts;
    c->clock = clock;
    c->counters = counters;
    c->able = true;
    e = copy_opts(c, opts, ec);
    if (e) {
        coord_destroy(c);
        return err_wrap(ec, e, "coordination");
    }
    *out = c;
    return ERR_OK;
}

void coord_destroy(struct coord *c)
{
    if (!c)
        return;
    zk_events_destroy(&c->events);
    cond_fini(&c->started);
    cond_fini(&c->wake);
    mutex_fini(&c->lock);
    free(c->node_name);
    free(c->servers);
    free(c->base_path);
    free(c->member_data);
    free(c->seats);
    free(c->news);
    free(c);
}

/* ---- the thread ------------------------------------------------------------------------------------------------ */

static void run(void *arg)
{
    struct coord *c = arg;

    if (c->servers)
        zookeeper_run(c);
    else
        standalone_run(c);
    counters_set(c->counters, COUNTER_COORD_UP, 0);
    mutex_lock(&c->lock);
    c->shown.connected = false;
    mutex_unlock(&c->lock);
}

enum err coord_start(struct coord *c, struct errctx *ec)
{
    int64_t deadline = clock_mono_ms(c->clock) + START_MS;
    enum err e = thread_start(&c->thread, "coord", run, c, ec);

    if (e)
        return err_wrap(ec, e, "coordination");
    if (c->opts.in_background && c->servers)
        return ERR_OK;
    mutex_lock(&c->lock);
    while (!c->start_done && cond_wait_until(&c->started, &c->lock, deadline))
        ;
    if (c->start_done) {
        e = c->start_result;
        if (e)
            err_set(ec, e, "%s", c->start_error.text);
    } else {
        /* The last reason that the provider had, if any. */
        e = err_set(ec, ERR_LOST, "no %s within %d s at %s%s%s", c->servers ? "ZooKeeper session" : "named lock",
                    START_MS / 1000, c->servers ? c->servers : "the database", c->start_error.text[0] ? ": " : "",
                    c->start_error.text);
    }
    mutex_unlock(&c->lock);
    if (e) {
        coord_stop(c);
        coord_join(c);
        return err_wrap(ec, e, "coordination");
    }
    return ERR_OK;
}

void coord_stop(struct coord *c)
{
    mutex_lock(&c->lock);
    c->stopping = true;
    c->poked = true;
    cond_signal(&c->wake);
    mutex_unlock(&c->lock);
}

void coord_join(struct coord *c)
{
    thread_join(&c->thread);
}

/* ---- callers --------------------------------------------------------------------------------------------------- */

struct coord_grant coord_get_grant(struct coord *c, int shard)
{
    struct coord_grant grant;

    assert(shard >= 0 && shard < c->opts.shards);
    mutex_lock(&c->lock);
    grant = c->seats[shard].grant;
    mutex_unlock(&c->lock);
    return grant;
}

void coord_release(struct coord *c, int shard, uint64_t serial)
{
    struct seat_view *s = &c->seats[shard];

    assert(shard >= 0 && shard < c->opts.shards);
    mutex_lock(&c->lock);
    if (s->grant.wish != COORD_NOT_OURS && s->grant.serial == serial) {
        s->grant.wish = COORD_NOT_OURS;
        s->told = false;
        s->released = serial;
        c->poked = true;
        cond_signal(&c->wake);
    }
    mutex_unlock(&c->lock);
}

void coord_rotate(struct coord *c, int shard)
{
    assert(shard >= 0 && shard < c->opts.shards);
    mutex_lock(&c->lock);
    c->seats[shard].rotate = true;
    c->poked = true;
    cond_signal(&c->wake);
    mutex_unlock(&c->lock);
}

void coord_set_able(struct coord *c, bool able)
{
    mutex_lock(&c->lock);
    if (c->able != able) {
        c->able = able;
        c->poked = true;
        cond_signal(&c->wake);
    }
    mutex_unlock(&c->lock);
}

void coord_set_drained(struct coord *c, bool drained)
{
    mutex_lock(&c->lock);
    if (c->drained != drained) {
        c->drained = drained;
        c->poked = true;
        cond_signal(&c->wake);
    }
    mutex_unlock(&c->lock);
}

void coord_drain(struct coord *c)
{
    mutex_lock(&c->lock);
    if (!c->draining)
        c->shown.held++; /* something is to be done until the provider says otherwise */
    c->draining = true;
    c->poked = true;
    cond_signal(&c->wake);
    mutex_unlock(&c->lock);
}

static struct coord_view get_view(struct coord *c)
{
    struct coord_view view;

    mutex_lock(&c->lock);
    view = c->shown;
    mutex_unlock(&c->lock);
    return view;
}

int coord_count_held(struct coord *c)
{
    return get_view(c).held;
}

bool coord_is_last(struct coord *c)
{
    return get_view(c).last;
}

bool coord_is_connected(struct coord *c)
{
    return get_view(c).connected;
}

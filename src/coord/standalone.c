/* SPDX-License-Identifier: MIT */
/*
 * The provider for one node: every shard is ours while a session of ours has the database's named lock, which keeps a
 * second standalone node out.
 */
#include "coord/coord_impl.h"
#include "shardwheel/store/cluster.h"

#include <inttypes.h>
#include <stdlib.h>

#define CHECK_MS 1000
#define START_RETRY_MS 200
#define START_WAIT_MS 3000 /* for a node of before that is just ending */
#define FOREIGN_MS 3000    /* another one has the lock for so long: it is not our broken session any more */

/* All of it belongs to coord's thread. */
struct standalone {
    struct coord *c;
    struct store_session *session; /* the one that has the lock, or NULL */
    struct coord_grant *grants;    /* one for each shard */
    bool lost;                     /* the lock is not ours at present */
    bool foreign;                  /* ... and has been another's for too long: nothing is granted */
    int64_t foreign_since_mono_ms; /* 0: nobody was seen with it */
};

static enum err take_lock(struct standalone *s, struct errctx *ec)
{
    struct store_session *session = NULL;
    enum err e = store_take_session(s->c->opts.store, SESSION_NORMAL, &session, ec);

    if (e)
        return e;
    e = store_lock_standalone(session, ec);
    if (e) {
        store_give_session(s->c->opts.store, session);
        return e;
    }
    s->session = session;
    return ERR_OK;
}

/* False when the node is to stop, or may not start. */
static bool begin(struct standalone *s, struct coord_news *news)
{
    struct coord *c = s->c;
    int64_t deadline = clock_mono_ms(c->clock) + START_WAIT_MS;
    struct errctx ec = {0};
    enum err e = take_lock(s, &ec);

    while (e == ERR_BUSY && clock_mono_ms(c->clock) < deadline && !news->stopping) {
        coord_wait(c, clock_mono_ms(c->clock) + START_RETRY_MS, news);
        e = take_lock(s, &ec);
    }
    if (e == ERR_BUSY)
        err_set(&ec, e, "another standalone node uses this database");
    coord_end_start(c, e, &ec);
    if (e)
        return false;
    counters_add(c->counters, COUNTER_COORD_SESSIONS, 1);
    log_info("coord", "event=standalone shards=%d", c->opts.shards);
    return !news->stopping;
}

/* Looks whether the lock is still ours and takes it again when it is not. */
static void check_lock(struct standalone *s)
{
    int64_t now = clock_mono_ms(s->c->clock);
    struct errctx ec = {0};
    bool held = false;
    enum err e = ERR_LOST;

    if (s->session) {
        e = store_check_standalone(s->session, &held, &ec);
        if (e == ERR_OK && held)
            return;
        store_give_session(s->c->opts.store, s->session);
        s->session = NULL;
    }
    if (!s->lost)
        log_warn("coord",
                 "event=standalone_lock_lost text=%s hint=\"this node keeps its shards; the lock is taken again\"",
                 log_quote(e ? ec.text : "the session does not have it any more").s);
    s->lost = true;
    e = take_lock(s, &ec);
    if (!e) {
        s->lost = false;
        s->foreign = false;
        s->foreign_since_mono_ms = 0;
        counters_add(s->c->counters, COUNTER_COORD_SESSIONS, 1);
        log_info("coord", "event=standalone_lock_back");
    } else if (e == ERR_BUSY) {
        if (!s->foreign_since_mono_ms)
            s->foreign_since_mono_ms = now;
        if (!s->foreign && now - s->foreign_since_mono_ms > FOREIGN_MS) {
            s->foreign = true;
            log_error("coord",
                      "event=standalone_lock_foreign shards=%d hint=\"another standalone node uses this database: "
                      "stop one of the two\"",
                      s->c->opts.shards);
        }
    } else {
        s->foreign_since_mono_ms = 0; /* nobody can tell who has it */
    }
}

static void settle_shard(struct standalone *s, int shard, const struct coord_news *news)
{
    struct coord_grant *grant = &s->grants[shard];
    uint64_t released = coord_take_released(s->c, shard);

    if (released && released == grant->serial)
        grant->wish = COORD_NOT_OURS;
    if (s->foreign)
        grant->wish = COORD_NOT_OURS;
    else if (grant->wish == COORD_OWN && news->draining)
        grant->wish = COORD_FINISH;
    else if (grant->wish == COORD_OWN && news->drained)
        grant->wish = COORD_GIVE_BACK;
    else if (grant->wish == COORD_NOT_OURS && !news->drained && !news->draining && !s->lost)
        *grant = (struct coord_grant){.wish = COORD_OWN, .serial = grant->serial + 1};
}

static struct coord_grant get_grant(void *arg, int shard)
{
    const struct standalone *s = arg;

    return s->grants[shard];
}

static void turn(struct standalone *s, const struct coord_news *news)
{
    int held = 0;

    for (int k = 0; k < s->c->opts.shards; k++) {
        settle_shard(s, k, news);
        held += s->grants[k].wish != COORD_NOT_OURS;
    }
    coord_publish(
        s->c, &(struct coord_view){
                  .get = get_grant, .arg = s, .held = held, .nodes = 1, .connected = !s->lost, .last = news->draining});
}

void standalone_run(struct coord *c)
{
    struct standalone s = {.c = c, .grants = calloc((size_t)c->opts.shards, sizeof *s.grants)};
    struct coord_news news;
    int64_t check_mono_ms;

    if (!s.grants) {
        struct errctx ec = {0};

        coord_end_start(c, ERR_NOMEM, err_set(&ec, ERR_NOMEM, "out of memory") ? &ec : NULL);
        return;
    }
    coord_wait(c, clock_mono_ms(c->clock), &news);
    if (begin(&s, &news)) {
        check_mono_ms = clock_mono_ms(c->clock) + CHECK_MS;
        while (!news.stopping) {
            if (clock_mono_ms(c->clock) >= check_mono_ms) {
                check_lock(&s);
                check_mono_ms = clock_mono_ms(c->clock) + CHECK_MS;
            }
            turn(&s, &news);
            coord_wait(c, check_mono_ms, &news);
        }
    }
    store_give_session(c->opts.store, s.session);
    free(s.grants);
}

/* SPDX-License-Identifier: MIT */
/* The provider for clusters: it keeps a session open and carries what happens to the engine and back. */
#include "coord/coord_impl.h"
#include "coord/engine.h"

#include <inttypes.h>

#define REOPEN_MS 1000 /* between two attempts to begin a session */

/* All of it belongs to coord's thread. */
struct provider {
    struct coord *c;
    struct engine *engine;
    struct zk *zk;       /* NULL between sessions */
    uint32_t generation; /* of the present session; events of another are stale */
    bool connected;
    bool was_connected;      /* this session has been connected at least once */
    bool lease_over;         /* it has been away for longer than its timeout, and that was logged */
    struct zk_server server; /* the one that it is or was connected to */
    int64_t lost_mono_ms;    /* when the connection was lost */
    int64_t timeout_ms;      /* as agreed with the server */
    int64_t reopen_mono_ms;
};

static bool ask_zk(void *arg, const struct zk_ask *ask)
{
    struct provider *p = arg;

    return p->zk && zk_ask(p->zk, ask);
}

static void keep_start_reason(struct coord *c, const struct errctx *ec)
{
    mutex_lock(&c->lock);
    if (!c->start_done)
        c->start_error = *ec;
    mutex_unlock(&c->lock);
}

static void open_session(struct provider *p, int64_t now_mono_ms)
{
    struct coord *c = p->c;
    struct errctx ec = {0};
    struct zk_opts opts = {.servers = c->servers,
                           .session_timeout_ms = c->opts.session_timeout_ms,
                           .generation = ++p->generation,
                           .clock = c->clock,
                           .post = coord_post_event,
                           .poke = coord_poke,
                           .arg = c};

    engine_begin_session(p->engine);
    p->connected = false;
    p->was_connected = false;
    p->lease_over = false;
    p->lost_mono_ms = now_mono_ms;
    p->timeout_ms = c->opts.session_timeout_ms;
    if (zk_open(&opts, &p->zk, &ec)) {
        p->zk = NULL;
        p->reopen_mono_ms = now_mono_ms + REOPEN_MS;
        keep_start_reason(c, &ec);
        log_warn("coord", "event=open_failed text=%s hint=\"tried again every second\"", log_quote(ec.text).s);
    }
}

static void close_session(struct provider *p, int64_t now_mono_ms)
{
    zk_close(p->zk);
    p->zk = NULL;
    p->connected = false;
    p->reopen_mono_ms = now_mono_ms;
    engine_set_connected(p->engine, false, 0);
}

static void note_connected(struct provider *p)
{
    int64_t id = zk_get_session_id(p->zk);

    p->connected = true;
    p->lease_over = false;
    p->timeout_ms = zk_get_session_timeout_ms(p->zk);
    p->server = zk_get_server(p->zk);
    counters_set(p->c->counters, COUNTER_COORD_TIMEOUT, p->timeout_ms);
    if (!p->was_connected) {
        p->was_connected = true;
        counters_add(p->c->counters, COUNTER_COORD_SESSIONS, 1);
        log_info("coord", "event=session_begun session=0x%" PRIx64 " timeout_ms=%" PRId64 " server=%s servers=%s",
                 (uint64_t)id, p->timeout_ms, p->server.text, p->c->servers);
        coord_end_start(p->c, ERR_OK, NULL);
    } else {
        log_info("coord", "event=connected session=0x%" PRIx64 " server=%s away_ms=%" PRId64, (uint64_t)id,
                 p->server.text, clock_mono_ms(p->c->clock) - p->lost_mono_ms);
    }
    engine_set_connected(p->engine, true, id);
}

static void follow_state(struct provider *p, int64_t now_mono_ms)
{
    enum zk_state state = zk_get_state(p->zk);

    switch (state) {
    case ZK_CONNECTED:
        if (!p->connected)
            note_connected(p);
        return;
    case ZK_CONNECTING:
        if (p->connected) {
            p->connected = false;
            p->lost_mono_ms = now_mono_ms;
            engine_set_connected(p->engine, false, 0);
            counters_add(p->c->counters, COUNTER_COORD_DISCONNECTS, 1);
            log_warn("coord",
                     "event=disconnected from=%s servers=%s hint=\"that server ended the connection or is silent; this "
                     "node keeps its shards and reconnects\"",
                     p->server.text, p->c->servers);
        }
        /* The library waits for ever; the server does not. */
        if (p->was_connected && !p->lease_over && now_mono_ms - p->lost_mono_ms > p->timeout_ms) {
            p->lease_over = true;
            log_warn("coord",
                     "event=lease_over away_ms=%" PRId64
                     " hint=\"other nodes may take the shards of this node; the database decides who writes\"",
                     now_mono_ms - p->lost_mono_ms);
        }
        return;
    case ZK_EXPIRED:
        log_warn("coord", "event=session_expired hint=\"this node competes for its shards again\"");
        close_session(p, now_mono_ms);
        return;
    case ZK_BROKEN:
        log_error("coord",
                  "event=session_broken servers=%s hint=\"the server does not accept this client; tried again every "
                  "second\"",
                  p->c->servers);
        close_session(p, now_mono_ms);
        p->reopen_mono_ms = now_mono_ms + REOPEN_MS;
        return;
    }
}

static void take_events(struct provider *p, struct zk_events *events, int64_t now_mono_ms)
{
    struct zk_event *event;

    STAILQ_FOREACH(event, events, in_queue)
    {
        if (event->generation != p->generation || !p->zk)
            continue;
        if (event->changed_path)
            engine_on_change(p->engine, event->changed_path);
        else
            engine_on_answer(p->engine, &event->answer, now_mono_ms);
    }
    zk_events_destroy(events);
}

static struct coord_grant get_grant(void *arg, int shard)
{
    return engine_get_grant(arg, shard);
}

static void take_releases(struct provider *p, int64_t now_mono_ms)
{
    for (int k = 0; k < p->c->opts.shards; k++) {
        uint64_t serial = coord_take_released(p->c, k);

        if (serial)
            engine_release(p->engine, k, serial, now_mono_ms);
        if (coord_take_rotate(p->c, k))
            engine_rotate(p->engine, k);
    }
}

static void turn(struct provider *p, struct coord_news *news)
{
    int64_t now_mono_ms = clock_mono_ms(p->c->clock);

    if (!p->zk && now_mono_ms >= p->reopen_mono_ms)
        open_session(p, now_mono_ms);
    take_events(p, &news->events, now_mono_ms);
    if (p->zk)
        follow_state(p, now_mono_ms);
    take_releases(p, now_mono_ms);
    engine_set_able(p->engine, news->able);
    engine_set_drained(p->engine, news->drained);
    if (news->draining)
        engine_drain(p->engine);
    engine_turn(p->engine, now_mono_ms);
    coord_publish(p->c, &(struct coord_view){.get = get_grant,
                                             .arg = p->engine,
                                             .held = engine_count_held(p->engine),
                                             .nodes = engine_count_nodes(p->engine),
                                             .connected = p->connected,
                                             .last = engine_is_last(p->engine)});
}

void zookeeper_run(struct coord *c)
{
    struct provider p = {.c = c, .reopen_mono_ms = INT64_MIN};
    struct engine_opts opts = {.shards = c->opts.shards,
                               .node_name = c->node_name,
                               .base_path = c->base_path,
                               .member_data = c->member_data,
                               .max_hold_ms = c->opts.max_hold_ms,
                               .jitter_seed = (uint64_t)clock_wall_us(c->clock),
                               .ask = ask_zk,
                               .arg = &p};
    struct coord_news news;
    struct errctx ec = {0};
    enum err e = engine_create(&opts, &p.engine, &ec);

    if (e) {
        coord_end_start(c, e, &ec);
        return;
    }
    coord_wait(c, clock_mono_ms(c->clock), &news);
    while (!news.stopping) {
        turn(&p, &news);
        coord_wait(c, clock_mono_ms(c->clock) + ENGINE_TICK_MS, &news);
    }
    take_events(&p, &news.events, clock_mono_ms(c->clock));
    if (p.connected)
        log_info("coord", "event=session_closed");
    close_session(&p, clock_mono_ms(c->clock));
    engine_destroy(p.engine);
}

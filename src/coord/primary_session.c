/* SPDX-License-Identifier: MIT */
#include "coord/primary_impl.h"

#define REOPEN_MS 1000

static void post_event(void *arg, struct zk_event *event)
{
    struct primary *p = arg;

    mutex_lock(&p->lock);
    STAILQ_INSERT_TAIL(&p->events, event, in_queue);
    mutex_unlock(&p->lock);
    worker_poke(&p->worker);
}

static void poke(void *arg)
{
    struct primary *p = arg;

    worker_poke(&p->worker);
}

bool primary_ask(void *arg, const struct zk_ask *ask)
{
    struct primary *p = arg;

    return p->zk && zk_ask(p->zk, ask);
}

static void open_session(struct primary *p, int64_t now_mono_ms)
{
    struct errctx ec = {0};
    struct zk_opts opts = {.servers = p->servers,
                           .session_timeout_ms = p->timeout_ms,
                           .generation = ++p->session,
                           .clock = p->clock,
                           .post = post_event,
                           .poke = poke,
                           .arg = p};

    agreed_reset(&p->agreed);
    if (zk_open(&opts, &p->zk, &ec)) {
        p->zk = NULL;
        p->reopen_mono_ms = now_mono_ms + REOPEN_MS; /* coord tells of it */
    }
}

void primary_close_session(struct primary *p, int64_t now_mono_ms)
{
    agreed_reset(&p->agreed);
    p->is_connected = false;
    p->is_lent = false;
    p->lease_mono_ms = now_mono_ms; /* our znode is gone: nobody waits for us any more */
    zk_close(p->zk);
    p->zk = NULL;
    p->reopen_mono_ms = now_mono_ms;
}

/* The server counts the session's time from what it heard of us last. When the library finds the connection silent two
 * thirds of it may have passed since, and who raises waits once more for as long after our znode is gone. */
static void extend_lease(struct primary *p, int64_t now_mono_ms)
{
    p->lease_mono_ms = now_mono_ms + p->agreed_timeout_ms / 3 * 2;
    p->is_lent = true;
}

static void follow_state(struct primary *p, int64_t now_mono_ms)
{
    enum zk_state state = zk_get_state(p->zk);

    /* This process stood still, and its session may have ended meanwhile, whatever the library believes. */
    if (p->is_connected && p->is_lent && now_mono_ms >= p->lease_mono_ms)
        state = ZK_EXPIRED;
    if (state == ZK_EXPIRED || state == ZK_BROKEN) {
        log_warn("coord", "event=primary_session_ended effect=\"a new session begins\"");
        primary_close_session(p, now_mono_ms);
        p->reopen_mono_ms = now_mono_ms + (state == ZK_BROKEN ? REOPEN_MS : 0);
        return;
    }
    if (state == ZK_CONNECTED && !p->is_connected) {
        p->is_connected = true;
        p->agreed_timeout_ms = zk_get_session_timeout_ms(p->zk);
        agreed_set_connected(&p->agreed, true, zk_get_session_id(p->zk));
    } else if (state != ZK_CONNECTED && p->is_connected) {
        p->is_connected = false;
        agreed_set_connected(&p->agreed, false, 0);
    }
    if (p->is_connected && p->agreed.is_present)
        extend_lease(p, now_mono_ms);
}

static void take_events(struct primary *p, int64_t now_mono_ms)
{
    struct zk_events events = STAILQ_HEAD_INITIALIZER(events);
    struct zk_event *event;

    mutex_lock(&p->lock);
    STAILQ_CONCAT(&events, &p->events);
    mutex_unlock(&p->lock);
    STAILQ_FOREACH(event, &events, in_queue)
    {
        if (event->generation != p->session || !p->zk)
            continue;
        if (event->changed_path)
            agreed_on_change(&p->agreed, event->changed_path);
        else
            agreed_on_answer(&p->agreed, &event->answer, now_mono_ms);
    }
    zk_events_destroy(&events);
}

void primary_follow_session(struct primary *p, int64_t now_mono_ms)
{
    if (!p->zk && now_mono_ms >= p->reopen_mono_ms)
        open_session(p, now_mono_ms);
    if (p->zk)
        follow_state(p, now_mono_ms);
    take_events(p, now_mono_ms);
}

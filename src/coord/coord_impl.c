/* SPDX-License-Identifier: MIT */
#include "coord/coord_impl.h"

void coord_wait(struct coord *c, int64_t deadline_mono_ms, struct coord_news *out)
{
    mutex_lock(&c->lock);
    while (STAILQ_EMPTY(&c->events) && !c->poked && cond_wait_until(&c->wake, &c->lock, deadline_mono_ms))
        ;
    *out =
        (struct coord_news){.able = c->able, .drained = c->drained, .draining = c->draining, .stopping = c->stopping};
    STAILQ_INIT(&out->events);
    STAILQ_CONCAT(&out->events, &c->events);
    c->drain_noticed = c->draining;
    c->poked = false;
    mutex_unlock(&c->lock);
}

uint64_t coord_take_released(struct coord *c, int shard)
{
    uint64_t serial;

    mutex_lock(&c->lock);
    serial = c->seats[shard].released;
    c->seats[shard].released = 0;
    mutex_unlock(&c->lock);
    return serial;
}

bool coord_take_rotate(struct coord *c, int shard)
{
    bool rotate;

    mutex_lock(&c->lock);
    rotate = c->seats[shard].rotate;
    c->seats[shard].rotate = false;
    mutex_unlock(&c->lock);
    return rotate;
}

void coord_publish(struct coord *c, const struct coord_view *view)
{
    size_t count = 0;

    mutex_lock(&c->lock);
    for (int k = 0; k < c->opts.shards; k++) {
        struct seat_view *s = &c->seats[k];
        struct coord_grant grant = view->get(view->arg, k);

        /* A release that the provider does not know of yet is newer than what it says about that serial. */
        if (!(s->released && s->released == grant.serial) &&
            (grant.wish != s->grant.wish || grant.serial != s->grant.serial)) {
            s->grant = grant;
            s->told = false;
        }
        if (!s->told)
            c->news[count++] = k;
        s->told = true;
    }
    c->shown = *view;
    c->shown.held += c->draining && !c->drain_noticed;
    mutex_unlock(&c->lock);
    counters_set(c->counters, COUNTER_COORD_UP, view->connected);
    counters_set(c->counters, COUNTER_NODES_LIVE, view->nodes);
    for (size_t i = 0; c->opts.changed && i < count; i++)
        c->opts.changed(c->opts.arg, c->news[i]);
}

void coord_end_start(struct coord *c, enum err result, const struct errctx *ec)
{
    mutex_lock(&c->lock);
    if (!c->start_done) {
        c->start_done = true;
        c->start_result = result;
        if (ec)
            c->start_error = *ec;
        cond_broadcast(&c->started);
    }
    mutex_unlock(&c->lock);
}

void coord_post_event(void *coord, struct zk_event *event)
{
    struct coord *c = coord;

    mutex_lock(&c->lock);
    STAILQ_INSERT_TAIL(&c->events, event, in_queue);
    cond_signal(&c->wake);
    mutex_unlock(&c->lock);
}

void coord_poke(void *coord)
{
    struct coord *c = coord;

    mutex_lock(&c->lock);
    c->poked = true;
    cond_signal(&c->wake);
    mutex_unlock(&c->lock);
}

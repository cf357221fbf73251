/* SPDX-License-Identifier: MIT */
#include "shardwheel/schedule.h"

#include "schedule/shard.h"

#include <stdlib.h>

#define HEALTHY_LAG_MS 5000

struct schedule {
    struct schedule_opts opts; /* [const] */
    const struct clock *clock; /* [const] */
    struct counters *counters; /* [const] */
    struct ring *ring;         /* [const] */
    struct coord *coord;       /* [const] set in schedule_start */
    struct shard **shards;     /* [const] all N, set in schedule_start before any of them runs */
    _Atomic bool started;      /* [atomic] release in schedule_start, acquire in on_changed: shards is complete */
};

/* The ring's and coord's callbacks: both only wake the shard's thread. Coord may call before the shards are there. */
static void on_changed(void *arg, int shard)
{
    struct schedule *s = arg;

    if (atomic_load_explicit(&s->started, memory_order_acquire)) /* pairs with schedule_start */
        shard_wake(s->shards[shard]);
}

static void on_able(void *arg, bool able)
{
    struct schedule *s = arg;

    coord_set_able(s->coord, able);
}

enum err schedule_create(const struct schedule_opts *opts, const struct clock *clock, struct counters *counters,
                         struct schedule **out, struct errctx *ec)
{
    struct schedule *s = calloc(1, sizeof *s);
    enum err e;

    if (!s)
        return err_set(ec, ERR_NOMEM, "schedule: out of memory");
    s->opts = *opts;
    s->clock = clock;
    s->counters = counters;
    s->shards = calloc((size_t)opts->shards, sizeof *s->shards);
    e = s->shards ? ERR_OK : err_set(ec, ERR_NOMEM, "schedule: out of memory");
    if (e == ERR_OK)
        e = ring_create(
            &(struct ring_opts){
                .shards = opts->shards, .store = opts->store, .changed = on_changed, .able = on_able, .arg = s},
            clock, counters, &s->ring, ec);
    if (e) {
        schedule_destroy(s);
        return e;
    }
    *out = s;
    return ERR_OK;
}

enum err schedule_start(struct schedule *s, struct coord *coord, struct dispatch *dispatch, struct errctx *ec)
{
    struct shard_deps deps = {.shards = s->opts.shards,
                              .node_name = s->opts.node_name,
                              .zone = s->opts.zone,
                              .max_year = s->opts.max_year,
                              .store = s->opts.store,
                              .registry = s->opts.registry,
                              .ring = s->ring,
                              .coord = coord,
                              .guard = s->opts.guard,
                              .clock = s->clock,
                              .counters = s->counters};
    enum err e = ERR_OK;

    s->coord = coord;
    for (int k = 0; k < s->opts.shards && e == ERR_OK; k++)
        e = shard_create(k, &deps, &s->shards[k], ec);
    if (e)
        return e;
    atomic_store_explicit(&s->started, true, memory_order_release); /* pairs with on_changed */
    e = ring_start(s->ring, dispatch, ec);
    for (int k = 0; k < s->opts.shards && e == ERR_OK; k++)
        e = shard_start(s->shards[k], ec);
    return e;
}

void schedule_on_grant(void *schedule, int shard)
{
    on_changed(schedule, shard);
}

void schedule_on_sent(void *schedule, int shard, size_t count)
{
    struct schedule *s = schedule;

    if (shard >= 0)
        ring_note_sent(s->ring, shard, count);
}

void schedule_submit_direct(struct schedule *s, struct fire *list)
{
    ring_submit_direct(s->ring, list);
}

void schedule_load_status(struct schedule *s, struct shard_status *out)
{
    for (int k = 0; k < s->opts.shards; k++) {
        out[k] = (struct shard_status){.shard = k};
        if (atomic_load_explicit(&s->started, memory_order_acquire)) /* pairs with schedule_start */
            shard_load_status(s->shards[k], &out[k]);
    }
}

int64_t schedule_count_unsent(struct schedule *s)
{
    int64_t n = 0;

    for (int k = 0; k < s->opts.shards; k++)
        n += ring_get_shard(s->ring, k).unsent;
    return n;
}

bool schedule_is_healthy(struct schedule *s, const char **why)
{
    if (ring_get_lag_ms(s->ring) <= HEALTHY_LAG_MS)
        return true;
    *why = "the ring is more than 5 s behind the clock: cursors cannot be moved";
    return false;
}

void schedule_stop(struct schedule *s)
{
    for (int k = 0; k < s->opts.shards; k++) {
        if (s->shards[k])
            shard_stop(s->shards[k]);
    }
    ring_stop(s->ring);
}

void schedule_join(struct schedule *s)
{
    for (int k = 0; k < s->opts.shards; k++) {
        if (s->shards[k])
            shard_join(s->shards[k]);
    }
    ring_join(s->ring);
}

void schedule_destroy(struct schedule *s)
{
    if (!s)
        return;
    for (int k = 0; s->shards && k < s->opts.shards; k++)
        shard_destroy(s->shards[k]);
    free(s->shards);
    ring_destroy(s->ring);
    free(s);
}

/* SPDX-License-Identifier: MIT */
#include "shardwheel/schedule.h"

#include "schedule/cluster.h"
#include "schedule/shard/shard.h"
#include "shardwheel/dispatch.h"
#include "shardwheel/store/cluster.h"

#include <stdlib.h>

#define HEALTHY_LAG_MS 5000

struct schedule {
    struct schedule_opts opts;  /* [const] */
    const struct clock *clock;  /* [const] */
    struct counters *counters;  /* [const] */
    struct ring *ring;          /* [const] */
    struct scanner *scanner;    /* [main] made with the shards */
    struct loader *loader;      /* [main] likewise */
    int64_t *highest_epochs;    /* [schedule threads] of each shard number there can be, also of before a change of N */
    struct coord *coord;        /* [main] set in schedule_start */
    struct shard **shards;      /* [main] all N, made in schedule_start before any of them runs */
    struct cluster *cluster;    /* [const] made in the first schedule_start */
    struct dispatch *dispatch;  /* [const] set in the first schedule_start, before `serving` */
    _Atomic bool serving;       /* [atomic] release in schedule_start, acquire in schedule_on_primary */
    struct primary_use primary; /* [atomic] */
    _Atomic bool drained;       /* [atomic] relaxed: what was asked for last */
    _Atomic bool started;       /* [atomic] release in schedule_start, acquire in on_changed: shards is complete */
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

/* The scanner's and the loader's: they run only while the shards are there. */
static void on_found(void *arg, int shard)
{
    struct schedule *s = arg;

    shard_wake(s->shards[shard]);
}

/* ---- what the cluster's tables ask for: on the thread of cluster ------------------------------------------------- */

static void on_drained(void *arg, bool drained)
{
    struct schedule *s = arg;

    atomic_store_explicit(&s->drained, drained, memory_order_relaxed);
    coord_set_drained(s->coord, drained);
}

static void on_release(void *arg, int shard)
{
    struct schedule *s = arg;

    coord_rotate(s->coord, shard);
}

static void on_hold(void *arg, int64_t last_s)
{
    struct schedule *s = arg;

    ring_hold(s->ring, last_s);
}

static int count_owned(void *arg)
{
    struct schedule *s = arg;
    int n = 0;

    for (int k = 0; k < s->opts.shards; k++) {
        struct shard_status status;

        shard_load_status(s->shards[k], &status);
        n += status.state != SHARD_FOREIGN;
    }
    return n;
}

int schedule_get_wanted_shards(struct schedule *s)
{
    return s->cluster ? cluster_get_wanted_shards(s->cluster) : 0;
}

/* ---- start and stop ---------------------------------------------------------------------------------------------- */

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
    s->highest_epochs = calloc(STORE_SHARDS_MAX, sizeof *s->highest_epochs);
    e = s->shards && s->highest_epochs ? ERR_OK : err_set(ec, ERR_NOMEM, "schedule: out of memory");
    if (!e)
        e = ring_create(&(struct ring_opts){.shards = STORE_SHARDS_MAX,
                                            .store = opts->store,
                                            .watch = opts->watch,
                                            .changed = on_changed,
                                            .able = on_able,
                                            .arg = s},
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
    struct shard_deps deps = {.opts = s->opts,
                              .ring = s->ring,
                              .highest_epochs = s->highest_epochs,
                              .primary = &s->primary,
                              .coord = coord,
                              .clock = s->clock,
                              .counters = s->counters};
    const struct look_opts look = {.shards = s->opts.shards,
                                   .store = s->opts.store,
                                   .watch = s->opts.watch,
                                   .clock = s->clock,
                                   .ready = on_found,
                                   .arg = s};
    enum err e = scanner_create(&look, &s->scanner, ec);

    if (!e)
        e = loader_create(&look, &s->loader, ec);
    if (e)
        return e;
    deps.scanner = s->scanner;
    deps.loader = s->loader;
    s->coord = coord;
    /* One that was made after a change of N does not know these. */
    coord_set_able(coord, ring_is_able(s->ring));
    coord_set_drained(coord, atomic_load_explicit(&s->drained, memory_order_relaxed));
    for (int k = 0; k < s->opts.shards && e == ERR_OK; k++)
        e = shard_create(k, &deps, &s->shards[k], ec);
    if (e)
        return e;
    s->dispatch = dispatch;
    atomic_store_explicit(&s->serving, true, memory_order_release); /* pairs with schedule_on_primary */
    atomic_store_explicit(&s->started, true, memory_order_release); /* pairs with on_changed */
    e = ring_start(s->ring, dispatch, ec);
    if (!e)
        e = scanner_start(s->scanner, ec);
    if (!e)
        e = loader_start(s->loader, ec);
    for (int k = 0; k < s->opts.shards && e == ERR_OK; k++)
        e = shard_start(s->shards[k], ec);
    if (e)
        return e;
    if (s->cluster) {
        cluster_resume(s->cluster, s->opts.shards);
        return ERR_OK;
    }
    e = cluster_create(&(struct cluster_opts){.shards = s->opts.shards,
                                              .incarnation = s->opts.incarnation,
                                              .node_name = s->opts.node_name,
                                              .url = s->opts.url,
                                              .version = s->opts.version,
                                              .store = s->opts.store,
                                              .count_owned = count_owned,
                                              .drained = on_drained,
                                              .hold = on_hold,
                                              .release = on_release,
                                              .arg = s},
                       s->clock, s->counters, &s->cluster, ec);
    return e ? e : cluster_start(s->cluster, ec);
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

void schedule_on_primary(struct schedule *s, int64_t generation, bool lossless)
{
    int64_t before = atomic_load_explicit(&s->primary.generation, memory_order_relaxed);

    /* Before the number: flow runs of a shard that is taken over by it wait for the comparison. Twice does no harm.
     * Before schedule_start nothing was sent. */
    if (generation > before && !lossless &&
        atomic_load_explicit(&s->serving, memory_order_acquire)) /* pairs with schedule_start */
        dispatch_compare_sent(s->dispatch);
    do {
        if (generation <= before)
            return;
    } while (!atomic_compare_exchange_weak_explicit(&s->primary.generation, &before, generation, memory_order_release,
                                                    memory_order_relaxed)); /* pairs with takeover.c: read_primary */
    /* Behind the number: a shard that is added meanwhile and fenced here has pushed what the server knows, and only
     * takes over once more. */
    ring_fence_all(s->ring);
    if (!atomic_load_explicit(&s->started, memory_order_acquire)) /* pairs with schedule_start */
        return;
    for (int k = 0; k < s->opts.shards; k++)
        shard_wake(s->shards[k]);
}

void schedule_load_status(struct schedule *s, struct shard_status *out)
{
    for (int k = 0; k < s->opts.shards; k++) {
        out[k] = (struct shard_status){.shard = k};
        if (atomic_load_explicit(&s->started, memory_order_acquire)) /* pairs with schedule_start */
            shard_load_status(s->shards[k], &out[k]);
    }
}

int64_t schedule_get_epoch(struct schedule *s, int shard)
{
    struct shard_status status = {0};

    if (shard < s->opts.shards && atomic_load_explicit(&s->started, memory_order_acquire)) /* as above */
        shard_load_status(s->shards[shard], &status);
    return status.state == SHARD_OWNED ? status.epoch : 0;
}

int64_t schedule_count_unsent(struct schedule *s)
{
    int64_t n = 0;

    for (int k = 0; k < STORE_SHARDS_MAX; k++) /* also those of before a change of N */
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

static void stop_firing(struct schedule *s)
{
    for (int k = 0; k < s->opts.shards; k++)
        shard_stop(s->shards[k]);
    scanner_stop(s->scanner);
    loader_stop(s->loader);
    ring_stop(s->ring);
}

static void join_firing(struct schedule *s)
{
    for (int k = 0; k < s->opts.shards; k++)
        shard_join(s->shards[k]);
    scanner_join(s->scanner);
    loader_join(s->loader);
    ring_join(s->ring);
}

void schedule_stop(struct schedule *s)
{
    cluster_stop(s->cluster);
    stop_firing(s);
}

void schedule_join(struct schedule *s)
{
    cluster_join(s->cluster);
    join_firing(s);
}

void schedule_halt(struct schedule *s)
{
    if (s->cluster)
        cluster_suspend(s->cluster);
    stop_firing(s);
    join_firing(s);
}

static void destroy_shards(struct schedule *s)
{
    for (int k = 0; s->shards && k < s->opts.shards; k++)
        shard_destroy(s->shards[k]);
    scanner_destroy(s->scanner);
    s->scanner = NULL;
    loader_destroy(s->loader);
    s->loader = NULL;
    free(s->shards);
}

enum err schedule_resize(struct schedule *s, int shards, struct errctx *ec)
{
    struct shard **fresh = calloc((size_t)shards, sizeof(struct shard *));

    if (!fresh)
        return err_set(ec, ERR_NOMEM, "schedule: out of memory");
    atomic_store_explicit(&s->started, false, memory_order_relaxed); /* who might look has been joined */
    destroy_shards(s);
    ring_level_floors(s->ring);
    ring_hold(s->ring, INT64_MAX); /* the change that it was for is made: no old epoch moves a cursor any more */
    s->shards = fresh;
    s->opts.shards = shards;
    return ERR_OK;
}

void schedule_destroy(struct schedule *s)
{
    if (!s)
        return;
    cluster_destroy(s->cluster);
    destroy_shards(s);
    ring_destroy(s->ring);
    free(s->highest_epochs);
    free(s);
}

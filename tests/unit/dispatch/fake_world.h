/* SPDX-License-Identifier: MIT */
/*
 * fake_world: a whole dispatch between a store and a registry in memory, and the making of fires for it.
 */
#ifndef TEST_FAKE_WORLD_H
#define TEST_FAKE_WORLD_H

#include <stdio.h>
#include <time.h>

#include "dispatch/fake_parts.h"
#include "shardwheel/dispatch.h"
#include "shardwheel/executor/access.h"
#include "shardwheel/resolver.h"
#include "shardwheel/job.h"
#include "shardwheel/record.h"

#define WORLD_DEADLINE_MS 120000
#define WORLD_GROUP 3

struct world {
    struct store store;
    struct registry registry;
    struct counters counters;
    struct resolver *resolver;
    struct results *results;
    struct dispatch *dispatch;
    struct access_box access;
    struct clock clock;   /* the system's, with offsets */
    _Atomic long sent[8]; /* by shard */
    _Atomic long sent_direct;
    int64_t next_log;
};

static _Atomic int64_t world_wall_offset_us; /* what the clocks are ahead of the system's */
static _Atomic int64_t world_wall_frozen_us; /* where the wall clock stands; 0 when it runs */
static _Atomic int64_t world_boot_offset_ms;
static _Atomic int64_t world_mono_frozen_ms; /* where the monotonic clock stands; 0 when it runs */
static _Atomic int64_t world_mono_offset_ms; /* a wait of the writer ends so much later than it should */

static inline int64_t world_wall_us(const struct clock *clock)
{
    int64_t frozen_us = world_wall_frozen_us;

    (void)clock;
    return frozen_us ? frozen_us : clock_wall_us(clock_system()) + world_wall_offset_us;
}

static inline int64_t world_mono_ms(const struct clock *clock)
{
    int64_t frozen_ms = world_mono_frozen_ms;

    (void)clock;
    return frozen_ms ? frozen_ms : clock_mono_ms(clock_system()) + world_mono_offset_ms;
}

static inline int64_t world_boot_ms(const struct clock *clock)
{
    (void)clock;
    return clock_boot_ms(clock_system()) + world_boot_offset_ms;
}

static inline void world_sent(void *arg, int shard, size_t count)
{
    struct world *w = arg;

    assert(shard >= -1 && shard < 8);
    if (shard < 0)
        w->sent_direct += (long)count;
    else
        w->sent[shard] += (long)count;
}

static inline void world_set_access(struct world *w, const char *token, int64_t timeout_ms)
{
    if (!access_box_set(&w->access, token, NULL, timeout_ms))
        abort();
}

static inline struct world *world_create(const char *const *addresses, size_t count, struct dispatch_opts opts)
{
    struct world *w = calloc(1, sizeof *w);
    struct errctx ec;

    fake_store_init(&w->store);
    fake_registry_init(&w->registry);
    fake_registry_add(&w->registry, WORLD_GROUP, "", addresses, count);
    w->clock = (struct clock){.wall_us = world_wall_us, .mono_ms = world_mono_ms, .boot_ms = world_boot_ms};
    world_wall_offset_us = 0;
    world_wall_frozen_us = 0;
    world_boot_offset_ms = 0;
    world_mono_frozen_ms = 0;
    world_mono_offset_ms = 0;
    w->next_log = 1;
    opts.threads = opts.threads ? opts.threads : 2;
    opts.per_address = opts.per_address ? opts.per_address : 4;
    opts.queue_max = opts.queue_max ? opts.queue_max : 100000;
    opts.results_max = opts.results_max ? opts.results_max : 100000;
    opts.style.lang = LANG_EN;
    opts.node_name = "node-1";
    opts.admin_ip = "10.1.2.3";
    opts.sent = world_sent;
    opts.arg = w;
    if (resolver_create(&w->clock, &w->resolver, &ec) != ERR_OK)
        abort();
    opts.resolver = w->resolver;
    access_box_init(&w->access);
    opts.access = &w->access;
    if (results_create(&(struct results_opts){.store = &w->store, .waiting_max = opts.results_max / 2}, &w->clock,
                       &w->counters, &w->results, &ec) != ERR_OK ||
        dispatch_create(&opts, &w->registry, w->results, &w->clock, &w->counters, &w->dispatch, &ec) != ERR_OK ||
        results_start(w->results, &ec) != ERR_OK || dispatch_start(w->dispatch, &ec) != ERR_OK) {
        fprintf(stderr, "%s\n", ec.text);
        abort();
    }
    world_set_access(w, "secret", 3000);
    return w;
}

static inline void world_stop(struct world *w)
{
    dispatch_stop(w->dispatch);
    dispatch_stop(w->dispatch); /* twice is fine */
    dispatch_join(w->dispatch);
    results_stop(w->results);
    results_join(w->results);
}

static inline void world_destroy(struct world *w)
{
    world_stop(w);
    results_destroy(w->results);
    dispatch_destroy(w->dispatch);
    access_box_fini(&w->access);
    resolver_destroy(w->resolver);
    fake_registry_fini(&w->registry);
    fake_store_fini(&w->store);
    assert(fake_fires_live == 0);
    free(w);
}

static inline struct job_spec *world_job(int64_t id, const char *route)
{
    struct job_spec *job = calloc(1, sizeof *job);

    atomic_init(&job->refs, 1);
    job->id = id;
    job->group = WORLD_GROUP;
    job->running = true;
    job->route = route;
    job->handler = "demoJobHandler";
    job->block = "SERIAL_EXECUTION";
    job->glue_type = "BEAN";
    job->glue_source = "";
    return job;
}

static inline int64_t world_now_s(const struct world *w)
{
    return time_floor_div(clock_wall_us(&w->clock), 1000000);
}

/* Takes the caller's reference of the job. */
static inline struct fire *world_fire(struct world *w, struct job_spec *job, int64_t due_s)
{
    struct fire *fire = fire_create();

    fire->log_id = w->next_log++;
    fire->job_id = job->id;
    fire->group = job->group;
    fire->due_s = fire->original_due_s = due_s;
    fire->shard = (int)(job->id % 8);
    fire->shard_total = 1;
    fire->row_hash = job->row_hash = fire_row_hash(job->group, job->handler, job->param, job->retry_count);
    job->route_hash = fire_route_hash(job->route);
    fire->job = job;
    return fire;
}

/* As if its row had been written with that address. */
static inline struct fire *world_plan(struct fire *fire, const char *address)
{
    fire->written_ahead = true;
    fire->route_hash = fire->job->route_hash;
    fire->address = strdup(address);
    return fire;
}

/* As if its job had been moved to that group before the fire was prepared. */
static inline struct fire *world_move(struct fire *fire, int64_t group)
{
    struct job_spec *job = fire->job;

    job->group = group;
    job->row_hash = fire_row_hash(group, job->handler, job->param, job->retry_count);
    if (!fire->broadcast)
        fire->group = group;
    return fire;
}

static inline struct fire *world_list(struct fire *head, struct fire *more)
{
    more->next = head;
    return more;
}

static inline void world_submit(struct world *w, struct fire *list)
{
    dispatch_submit(w->dispatch, list, clock_boot_ms(&w->clock) + 20000);
}

static inline void world_nap(void)
{
    struct timespec t = {.tv_nsec = 1000000};

    nanosleep(&t, NULL);
}

/* Polls for the condition; false after the deadline. */
#define WORLD_WAIT(condition)                                                                                          \
    ({                                                                                                                 \
        int64_t wait_end = clock_mono_ms(clock_system()) + WORLD_DEADLINE_MS;                                          \
        while (!(condition) && clock_mono_ms(clock_system()) < wait_end)                                               \
            world_nap();                                                                                               \
        (condition);                                                                                                   \
    })

static inline bool world_wait_done(struct world *w)
{
    return WORLD_WAIT(dispatch_count_open(w->dispatch) == 0);
}

static inline long world_sent_total(struct world *w)
{
    long total = 0;

    for (int i = 0; i < 8; i++)
        total += w->sent[i];
    return total;
}

#endif

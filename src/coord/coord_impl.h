/* SPDX-License-Identifier: MIT */
/*
 * coord_impl: what the two providers (zookeeper.c, standalone.c) share.
 *
 * A provider runs on coord's thread. It waits with coord_wait, which hands it what was asked for meanwhile, and shows
 * what it decided with coord_publish.
 */
#ifndef COORD_COORD_IMPL_H
#define COORD_COORD_IMPL_H

#include "coord/zk.h"
#include "shardwheel/counters.h"
#include "shardwheel/coord.h"

struct seat_view {
    struct coord_grant grant; /* [lock] as callers see it */
    uint64_t released;        /* [lock] serial given to coord_release and not yet taken by the provider, or 0 */
    bool rotate;              /* [lock] asked for by coord_rotate and not yet taken by the provider */
    bool told;                /* [lock] `changed` has been called for the present grant */
};

/* What the provider decided. */
struct coord_view {
    struct coord_grant (*get)(void *arg, int shard); /* each grant */
    void *arg;
    int held;
    int nodes;
    bool connected;
    bool last;
};

struct coord {
    char *node_name;           /* [const] */
    char *servers;             /* [const] in the library's form; NULL: standalone */
    char *base_path;           /* [const] with the path of the list of servers before it */
    char *member_data;         /* [const] */
    struct coord_opts opts;    /* [const] its texts are void: those below count; `changed` may be NULL */
    const struct clock *clock; /* [const] */
    struct counters *counters; /* [const] may be NULL */
    struct thread thread;      /* [const] between start and join */
    int *news;                 /* [loop] room for the shards to be told of */

    struct mutex lock;         /* rank LOCK_COORD; never held across a call out of this area */
    struct cond wake;          /* with lock: something for the provider */
    struct cond started;       /* with lock: start_done was set */
    struct seat_view *seats;   /* [lock] */
    struct zk_events events;   /* [lock] not yet taken, oldest first */
    bool poked;                /* [lock] there is something besides events */
    bool able;                 /* [lock] */
    bool drained;              /* [lock] */
    bool draining;             /* [lock] set once */
    bool drain_noticed;        /* [lock] the provider knows of it: `shown` says what is left to do */
    bool stopping;             /* [lock] set once */
    struct coord_view shown;   /* [lock] */
    bool start_done;           /* [lock] set once by the provider */
    enum err start_result;     /* [lock] set before start_done */
    struct errctx start_error; /* [lock] the same */
};

/* What others asked for since the last look. */
struct coord_news {
    struct zk_events events; /* the provider's, to destroy */
    bool able;
    bool drained;
    bool draining;
    bool stopping;
};

/* Waits until there is something or the deadline has passed. */
void coord_wait(struct coord *c, int64_t deadline_mono_ms, struct coord_news *out);
/* A serial that was released since the last call for this shard, or 0. */
uint64_t coord_take_released(struct coord *c, int shard);
/* True when coord_rotate was called for this shard since the last call. */
bool coord_take_rotate(struct coord *c, int shard);

/* Shows it to callers and tells of changes. */
void coord_publish(struct coord *c, const struct coord_view *view);
/* The first outcome counts: coord_start returns it. */
void coord_end_start(struct coord *c, enum err result, const struct errctx *ec);
void coord_post_event(void *coord, struct zk_event *event); /* any thread */
void coord_poke(void *coord);                               /* any thread */

void zookeeper_run(struct coord *c);
void standalone_run(struct coord *c);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * delivery: a fire on its way through dispatch, from its submission until its result is committed.
 *
 * Threads     One owner at a time: the thread that submits (routing), then one loop, then record (results_post), which
 *             gives it back from any thread. struct post_office is what they share: constants, and counts that any of
 *             them changes.
 * Invariants  delivery_end is called exactly once for each.
 * Ownership   A delivery owns its fire and one reference of its batch; the batch keeps the snapshot of the registry, so
 *             that group and address may point into it.
 */
#ifndef DISPATCH_DELIVERY_H
#define DISPATCH_DELIVERY_H

#include "shardwheel/counters.h"
#include "shardwheel/dispatch.h"
#include "shardwheel/executor/access.h"
#include "shardwheel/executor/http_client.h"
#include "shardwheel/job.h"
#include "shardwheel/job/words.h"
#include "shardwheel/record.h"
#include "shardwheel/registry.h"

/* What the fires of one submission have in common. */
struct batch {
    _Atomic int refs;                         /* [atomic] */
    const struct registry_snapshot *snapshot; /* [const] one reference */
    struct executor_access *access;           /* [const] one reference: as it was then */
    int64_t deadline_boot_ms;                 /* [const] */
    int64_t asked_wall_us;                    /* [const] direct fires: when they were asked for; else 0 */
};

struct post_office;
/* Takes the present snapshot and a reference of the access. NULL when out of memory. The creator gives its reference
 * back with batch_put when all deliveries are made. */
struct batch *batch_create(struct post_office *office, struct executor_access *access, int64_t deadline_boot_ms,
                           int64_t asked_wall_us);
void batch_put(struct batch *batch); /* NULL is fine */

struct asking;
struct lane;
struct loop;

struct delivery {
    struct delivery *next; /* the list it is in */
    struct delivery *prev;
    struct batch *batch;
    struct fire *fire;
    const struct registry_group *group; /* NULL when it is gone */
    struct registry_group target;       /* `group` of a fire that has one of its own */
    const char *address;                /* NULL when there is none, or none yet */
    struct asking *asking;              /* whom to ask for one: asking.h. NULL: nobody */
    uint64_t address_hash;
    struct loop *loop; /* that sends it */
    struct lane *lane; /* while waiting or under way */
    char *body;        /* of the request; NULL until prepared */
    size_t body_len;
    bool trigger_path;     /* the path that it is sent to */
    bool path_switched;    /* the other one was tried before */
    bool counted_sent;     /* opts.sent was or is being told */
    bool has_room;         /* counted in post_office.room_used */
    int64_t write_wall_us; /* when it was written; the next one is the same moment */
    int64_t write_mono_ms;
    bool away;            /* no executor could be reached: nothing was written to any */
    bool fits_row;        /* its row was written ahead, and a success leaves nothing but its code to be written */
    struct result result; /* made by delivery_end */
    char *message;
    char sharding[24];
};

struct delivery_list {
    struct delivery *head;
    struct delivery *tail;
    size_t count;
};
void delivery_list_add(struct delivery_list *list, struct delivery *d);
struct delivery *delivery_list_take(struct delivery_list *list);                 /* the first, or NULL */
void delivery_list_remove(struct delivery_list *list, struct delivery *d);       /* which is in it */
void delivery_list_join(struct delivery_list *list, struct delivery_list *more); /* `more` ends empty */

struct post_office {
    struct registry *registry;       /* [const] */
    const struct clock *clock;       /* [const] */
    struct counters *counters;       /* [const] */
    struct results *results;         /* [const] */
    struct dispatch_opts opts;       /* [const] */
    _Atomic size_t open;             /* [atomic] deliveries without a committed result */
    _Atomic size_t unended;          /* [atomic] deliveries without a result */
    _Atomic size_t room_used;        /* [atomic] requests under way and results not yet committed */
    _Atomic int64_t sending_mono_ms; /* [atomic] when a loop last sent while more was due */
    _Atomic bool draining;           /* [atomic] set once: nothing new is sent */
    struct loop **loops;             /* [const] once they run; by hash of the address */
    size_t loop_count;               /* [const] */
};

/* Takes a reference of the batch; the fire is taken on success only. NULL when out of memory. */
struct delivery *delivery_create(struct post_office *office, struct batch *batch, struct fire *fire);
void delivery_destroy(struct delivery *d); /* NULL is fine */
/* When it is to go out: the beginning of its second; of a direct fire, when it was asked for. Lateness counts from
 * here. */
int64_t delivery_get_due_us(const struct delivery *d);
/* Routed: from now on its callback may bring its result along, where its row was written ahead and holds. `kept`:
 * routes_can_keep said so of its address. */
void delivery_route(struct post_office *office, struct delivery *d, const char *address, bool kept);
/* How a fire ended; the counter of its outcome. */
enum delivery_outcome { DELIVERY_DELIVERED, DELIVERY_REFUSED, DELIVERY_FAILED, DELIVERY_TOO_LATE };
/* Makes the result. `text` is the executor's msg or our reason; may be NULL. The delivery is posted by its result then,
 * and comes back by delivery_of. */
void delivery_end(struct post_office *office, struct delivery *d, enum delivery_outcome outcome, int code,
                  const char *text);
struct delivery *delivery_of(struct result *result);

#endif

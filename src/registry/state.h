/* SPDX-License-Identifier: MIT */
/*
 * state: the registry object and the work of its thread: registry.c has the calls of others and the thread's loop,
 * work.c what the loop does with the database.
 *
 * Threads     Members are tagged; [thread] means the registry's own thread (and registry_start, before there is one).
 */
#ifndef REGISTRY_STATE_H
#define REGISTRY_STATE_H

#include "registry/internal.h"
#include "shardwheel/counters.h"

#define QUEUE_MAX 20000 /* executors whose beats may wait for the database */
#define BATCH_MAX 1000  /* beats in one transaction */
#define QUIET_MS 50     /* beats are written when none came for so long, */
#define GATHER_MS 1000  /* when the first of them has waited so long, */
#define FLOOD_MIN 15000 /* or when so many wait: the queue must not fill up */
#define SNAPSHOT_MS 1000
#define MONITOR_MS 30000
#define RETRY_MS 1000
#define RECOMPUTE_MS 500    /* between two recomputations for new addresses */
#define FRUITLESS_MAX 5     /* recomputations that changed nothing, until only the monitor makes them */
#define BEAT_STALE_MS 60000 /* an executor that lives has sent a newer beat by then */
#define DEAD_S 90
/* After a start, or when the database was away, executors have a beat's time to show that they live: until then rows
 * count as dead only after DEAD_PATIENT_S. Else the first pass would empty every list. */
#define PATIENCE_MS 40000
#define DEAD_PATIENT_S 600
#define MISSED_EVERY_MS 5000 /* the database is told so often that beats are missed */
#define OUTAGE_MS 30000      /* the database was away for so long: a beat's time */
#define CONFLICT_TRIES 4
#define TURN_BATCHES 32 /* batches in one turn, so that a flood of beats does not hold up the snapshot */

struct registry {
    struct store *store;       /* [const] */
    const struct clock *clock; /* [const] */
    struct counters *counters; /* [const] */
    struct worker worker;      /* [const] locks by itself */

    struct mutex lock;       /* rank LOCK_REGISTRY; never held across a store call */
    struct beat_queue queue; /* [lock] */
    bool missed;             /* [lock] beats were, and the database was not told yet */

    struct mutex snap_lock;               /* rank LOCK_LEAF */
    const struct registry_snapshot *snap; /* [snap_lock] one reference is ours */

    struct generations generations; /* [atomic] locks by itself */

    struct group_list loaded;     /* [thread] what `snap` was made of */
    int64_t next_snapshot_ms;     /* [thread] */
    int64_t next_monitor_ms;      /* [thread] */
    int64_t next_recompute_ms;    /* [thread] INT64_MAX: none is wanted */
    int64_t last_recompute_ms;    /* [thread] */
    int64_t retry_ms;             /* [thread] nothing is tried before */
    int64_t patient_until_ms;     /* [thread] */
    int64_t last_success_ms;      /* [thread] */
    int fruitless;                /* [thread] recomputations in a row that changed nothing */
    int64_t next_missed_ms;       /* [thread] when missed beats may be told again */
    bool holding;                 /* [thread] no executor expires, and that was logged */
    bool failing;                 /* [thread] the last turn failed, and it was logged */
    struct log_limit refused_log; /* [atomic] locks by itself */
    struct log_limit list_log;    /* [atomic] likewise */
    size_t cut_logged;            /* [thread] lists that were too long, as last logged */
};

/* Reads the groups; makes a new snapshot only when something is different, so that its address can be a cache key. */
MUST_CHECK enum err work_refresh_snapshot(struct registry *r, struct store_session *s, struct errctx *ec);
/* Writes one batch; *more tells that the queue may hold another. Beats that were not written go back into the queue. */
MUST_CHECK enum err work_flush_batch(struct registry *r, struct store_session *s, bool *more, struct errctx *ec);
/* Tells the cluster if beats were missed here. */
MUST_CHECK enum err work_note_missed(struct registry *r, struct store_session *s, struct errctx *ec);
/* Computes the address lists of all automatic groups and writes those that are different. */
MUST_CHECK enum err work_recompute_lists(struct registry *r, struct store_session *s, bool *changed, struct errctx *ec);
char *copy_trimmed(const char *address); /* without white space around it; NULL when out of memory */

#endif

/* SPDX-License-Identifier: MIT */
/*
 * primary_impl: what the two files of `primary` share: the threads, and the ZooKeeper session of the one that decides.
 *
 * Threads     Fields carry their tags; functions belong to the thread `database`.
 */
#ifndef COORD_PRIMARY_IMPL_H
#define COORD_PRIMARY_IMPL_H

#include "coord/chooser.h"
#include "shardwheel/counters.h"
#include "shardwheel/coord/primary.h"

enum task_kind { TASK_NONE, TASK_LOOK, TASK_RAISE };

/* What the thread `candidates` is to do, and what came of it. */
struct task {
    enum task_kind kind;
    int index;
    int64_t generation;
    int64_t asked_mono_ms;
    struct host_facts facts;
    enum err result;
    struct errctx error;
};

struct primary {
    struct hosts *hosts;       /* [const] */
    const struct clock *clock; /* [const] */
    struct counters *counters; /* [const] */
    char *node_name;           /* [const] */
    char *servers;             /* [const] in the library's form; NULL: none are asked */
    char *base_path;           /* [const] */
    int64_t timeout_ms;        /* [const] as configured */
    struct worker worker;      /* [const] locks by itself */
    struct worker candidates;  /* [const] the same */

    struct mutex lock;         /* rank LOCK_COORD; never held across a call out of this area */
    struct cond settled;       /* with lock: a server is in use, or the first one is */
    struct zk_events events;   /* [lock] not yet taken, oldest first */
    bool has_trouble;          /* [lock] */
    bool is_used;              /* [lock] */
    char why[PRIMARY_WHY_MAX]; /* [lock] none is: why */
    struct task task;          /* [lock] under way, or done */
    bool has_task;             /* [lock] for `candidates` to do */
    bool is_done;              /* [lock] for `database` to take */
    void (*changed)(void *arg, int64_t generation, bool lossless); /* [lock] */
    void *arg;                                                     /* [lock] */

    struct chooser chooser; /* [database] and all that follows */
    struct agreed agreed;
    struct zk *zk; /* NULL between sessions */
    uint32_t session;
    uint64_t next_id;
    bool is_connected;
    int64_t agreed_timeout_ms; /* as the server gave it */
    int64_t lease_mono_ms;
    bool is_lent; /* the lease is that of this session */
    int64_t reopen_mono_ms;
    bool is_busy;      /* a task is under way */
    struct task raise; /* waits for its end; TASK_NONE: there is none */
    int64_t errors;
    int64_t told_generation;
    bool told_gone;
    int told_second;
    int64_t told_none_mono_ms;
};

/* Opens a session where there is none, follows its state, takes what has come. */
void primary_follow_session(struct primary *p, int64_t now_mono_ms);
void primary_close_session(struct primary *p, int64_t now_mono_ms);
bool primary_ask(void *arg, const struct zk_ask *ask); /* arg is the primary */

#endif

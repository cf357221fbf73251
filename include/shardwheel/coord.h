/* SPDX-License-Identifier: MIT */
/*
 * coord: says which shards this node should own: ZooKeeper locks and membership, or all of them when standalone.
 *
 * Threads     One thread of its own. coord_get_grant, coord_release, coord_rotate, coord_set_able, coord_set_drained
 *             and coord_drain may be called by any thread and never block. `changed` is called on coord's thread and
 *             must only post.
 * Invariants  A grant says who SHOULD own a shard; the epoch in the database says who MAY write. While ZooKeeper is
 *             away a granted shard stays granted: owners go on with what they own.
 *             A node holds at most ceil(N / live nodes) shards; one too many is asked back (COORD_GIVE_BACK).
 * Ownership   coord_create copies its options.
 * Time        Monotonic.
 */
#ifndef SHARDWHEEL_COORD_H
#define SHARDWHEEL_COORD_H

#include "shardwheel/base.h"
#include "shardwheel/counters.h"
#include "shardwheel/store/conn.h"

struct coord;

enum coord_wish {
    COORD_NOT_OURS,  /* do not schedule it; if it is being scheduled, stop at once: it was lost */
    COORD_OWN,       /* schedule it */
    COORD_GIVE_BACK, /* schedule it no further: hand it over, then call coord_release */
    /* the same, but nobody is there to take it: let all that is planned go out first. May be a new grant */
    COORD_FINISH,
};

struct coord_grant {
    enum coord_wish wish;
    uint64_t serial; /* grows with each new grant of this shard: another serial means a takeover anew */
};

struct coord_opts {
    int shards; /* N */
    const char *node_name;
    const char *servers; /* "host:port,host:port/path", as config has checked it; the path is optional and stands before
                            * the base path. NULL: standalone */
    const char *base_path; /* "/xxl-job" */
    int64_t session_timeout_ms;
    int64_t max_hold_ms; /* 0: for ever. After that long, 10 % more or less, a shard goes to another live node */
    bool in_background;  /* coord_start does not wait for the first ZooKeeper session */
    struct store *store; /* standalone: where the named lock is taken */
    void (*changed)(void *arg, int shard);
    void *arg;
};

MUST_CHECK enum err coord_create(const struct coord_opts *opts, const struct clock *clock, struct counters *counters,
                                 struct coord **out, struct errctx *ec);
/* Connects. Waits up to 10 s for the first session: ERR_LOST with the servers in the text when none came (an absent
 * ZooKeeper at start is an error for the operator); ERR_BUSY when another standalone node has the named lock. */
MUST_CHECK enum err coord_start(struct coord *c, struct errctx *ec);
struct coord_grant coord_get_grant(struct coord *c, int shard);
/* The shard of that serial is handed over: the lock is given back. Nothing happens when the serial is not the present
 * one. */
/* While ZooKeeper is away the release cannot be confirmed: the shard is granted to us again at once, under a new
 * serial. */
void coord_release(struct coord *c, int shard, uint64_t serial);
/* The shard goes to another live node as if it had been held for long enough. Nothing happens when it is not ours, when
 * there is no other node, or standalone. */
void coord_rotate(struct coord *c, int shard);
/* False: this node cannot write to the database. It ends its membership and contends for nothing until true. What it
 * owns is asked back after 1.5 s if other nodes, who can, are members then, but not while ZooKeeper is away. If nobody
 * is there to take it, for the database is away for all, it stays: when the database is back the owner goes on with the
 * very step that it could not make. True at first; a grant that was asked back stays so until it is released, also when
 * the node is able again. */
void coord_set_able(struct coord *c, bool able);
/* True: this node shall own nothing; everything is asked back at once, whoever is there. */
void coord_set_drained(struct coord *c, bool drained);
/* Shutdown. Membership ends first. When other nodes are left then, every shard is asked back and none contended for any
 * more. The last node, or one that has lost sight of ZooKeeper, gives nothing back: what it has, and what nobody has,
 * is COORD_FINISH. */
void coord_drain(struct coord *c);
/* Number of shards of which this node still holds the lock, waits for the release to be confirmed, or, after
 * coord_drain, has something to do; 0 then means that it is done. */
int coord_count_held(struct coord *c);
/* After coord_drain: nobody is there to take what this node had; see there. Nodes may turn out to be dead, so false may
 * become true. */
bool coord_is_last(struct coord *c);
bool coord_is_connected(struct coord *c);
void coord_stop(struct coord *c); /* closes the session: what is still held is released by the server */
void coord_join(struct coord *c);
void coord_destroy(struct coord *c);

/* ---- the guard beside Java admins: coord/guard.c -------------------------------------------------------------- */

/*
 * Java admins plan only while they hold the row schedule_lock of xxl_job_lock exclusively. A node that holds a shared
 * lock of it holds them off, for itself and all other nodes: a claim looks in the database whether anybody's guard is
 * alive. The node asks for it in the background, since its request may have to wait behind that of a Java admin.
 *
 * Threads     One of its own. guard_note_claim: any thread; the others: the main thread. None waits but guard_join,
 *             which takes about a second, or five while the database is away.
 * Invariants  Lost, it is asked for again at once, without end.
 */
struct guard;

/* Copies the incarnation: at most 32 letters and digits. */
MUST_CHECK enum err guard_create(struct store *store, const char *incarnation, const struct clock *clock,
                                 struct counters *counters, struct guard **out, struct errctx *ec);
void guard_set_watch(struct guard *g, struct watch *watch); /* of its thread; before guard_start */
MUST_CHECK enum err guard_start(struct guard *g, struct errctx *ec);
/* What a claim met with: ERR_GUARD when it was refused for want of a guard. Counts, and logs when that begins and
 * ends. */
void guard_note_claim(struct guard *g, enum err e);
/* False: this node holds Java admins off, and other nodes that rely on it wait for a guard of their own. */
bool guard_may_end(struct guard *g);
void guard_stop(struct guard *g); /* once nothing is planned or sent any more: Java admins go on */
void guard_join(struct guard *g);
void guard_destroy(struct guard *g); /* NULL is fine */

/* ---- looking at ZooKeeper from outside: coord/probe.c ------------------------------------------------------------ */

/*
 * What a node with these settings would find: each server of the list by itself, and the folder of the cluster.
 *
 * Threads     The caller's, which waits. Nothing but a znode of its own is made, and that is taken away again.
 */
#define COORD_PROBE_MAX 16 /* servers; further ones are left out */
struct coord_probe_opts {
    const char *servers; /* as in coord_opts */
    const char *base_path;
    int64_t session_timeout_ms;
    int wait_ms; /* for all of it; closing may take some seconds more where a server takes nothing */
};
struct coord_probe_server {
    char name[280]; /* host:port */
    bool reached;
    int64_t session_timeout_ms; /* as the server agreed to it */
    char error[200];            /* where it was not reached */
};
struct coord_probe {
    struct coord_probe_server servers[COORD_PROBE_MAX];
    size_t count;
    struct buf members; /* names of nodes that take part, one a line */
    char refused[200];  /* what the first server that was reached would not do, and why; "": nothing */
};
/* Into zeroed storage; to be followed by coord_probe_fini. */
MUST_CHECK enum err coord_look(const struct coord_probe_opts *opts, const struct clock *clock, struct coord_probe *out,
                               struct errctx *ec);
void coord_probe_fini(struct coord_probe *probe);

#endif

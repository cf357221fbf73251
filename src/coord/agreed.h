/* SPDX-License-Identifier: MIT */
/*
 * agreed: what the nodes of a cluster have in ZooKeeper about the database server that all of them write to.
 *
 * BASE/primary is persistent: the newest generation, its server, and who decided on it; it is only ever written over
 * the version that was read. BASE/writers/INCARNATION is ephemeral, one for each node: the newest generation that the
 * node knows of, which it wrote when it had stopped using all before, and whether it works with that one.
 *
 * Threads     One at a time.
 * Invariants  Pure, like member.h; at most one request is under way. agreed_is_fresh: our writer's znode was seen to
 *             belong to our session, and BASE/primary was read after that, so whoever decides anew since then waits for
 *             us. A writer that goes without having known of the newest generation is remembered, also from one session
 *             to the next.
 * Ownership   agreed_init copies.
 * Time        Monotonic, passed in.
 */
#ifndef COORD_AGREED_H
#define COORD_AGREED_H

#include "coord/zk.h"
#include "coord/lock.h"
#include "shardwheel/store/conn.h"

#define AGREED_WRITERS_MAX 256
#define AGREED_NAME_MAX 40
#define GENERATION_MAX (INT64_C(1) << 60) /* this and what is beyond was written by no node, and is none */

/* What BASE/primary says. */
struct decision {
    int64_t generation;       /* 0: there is none */
    int64_t base;             /* what a server's row must have at least, to be the next one, until is_used */
    bool is_used;             /* somebody has begun to work with it: from now on `base` is `generation` */
    char by[AGREED_NAME_MAX]; /* the incarnation that decided */
    char server[STORE_SERVER_MAX];
};

/* What a node says of itself. */
struct writer {
    char name[AGREED_NAME_MAX]; /* its incarnation */
    int64_t generation;         /* it uses nothing older */
    bool is_fine;               /* it works with that generation */
    int64_t timeout_ms;         /* of its session */
    bool is_known;              /* its data was read */
    bool is_stale;              /* its data must be read */
    bool is_listed;             /* in the newest list */
    int64_t gone_mono_ms;       /* seen to be gone; INT64_MAX while it is there */
};

struct agreed {
    char *base;    /* "/xxl-job" */
    char *primary; /* paths */
    char *folder;
    char *own;
    const char *name;   /* last part of own */
    int64_t session_id; /* 0: not connected */
    uint64_t pending;   /* request under way, 0: none */
    int step;           /* what it is for */
    size_t asked;       /* ... which of the writers */
    size_t folders;     /* parts of the path that were made in this session */
    int64_t retry_mono_ms;

    struct decision decision; /* as read last */
    bool has_decision;        /* it was read in this session */
    int version;              /* -1: the znode is not there */
    bool primary_stale;
    int64_t read_mono_ms; /* of the newest answer about it */
    uint64_t reads;       /* answers about it so far */

    bool is_present;  /* our znode belongs to our session */
    bool is_unsure;   /* there is one: perhaps ours */
    bool is_fresh;    /* out: see above */
    char wanted[120]; /* what our znode shall say */
    char written[120];
    char writing[120];

    bool wants_decision; /* `next` is to be written over `version` */
    struct decision next;
    uint64_t next_reads; /* what `next` was made from: it is written over nothing else */

    struct writer writers[AGREED_WRITERS_MAX]; /* but ourselves; those that are gone as well */
    size_t count;
    bool list_stale;
    bool is_listed;        /* the list was read in this session */
    int64_t since_mono_ms; /* we have known of all writers since then */
    int64_t check_mono_ms;
};

MUST_CHECK enum err agreed_init(struct agreed *a, const char *base, const char *name);
void agreed_fini(struct agreed *a);
/* A new session begins: our znode of before is gone, or will be. */
void agreed_reset(struct agreed *a);
void agreed_set_connected(struct agreed *a, bool connected, int64_t session_id);
/* What our znode shall say. It says it when agreed_step has had the time. */
void agreed_set_own(struct agreed *a, int64_t generation, bool is_fine, int64_t timeout_ms);
/* Asks for `next` to be written in place of what was read last. */
void agreed_propose(struct agreed *a, const struct decision *next);
void agreed_step(struct agreed *a, int64_t now_mono_ms, uint64_t *next_id, zk_ask_fn ask, void *arg);
void agreed_on_answer(struct agreed *a, const struct zk_answer *answer, int64_t now_mono_ms);
void agreed_on_change(struct agreed *a, const char *path);

/* All writers of the newest list have been read. */
bool agreed_knows_writers(const struct agreed *a);
/* Nobody uses a generation before that one any more, or can: every other writer has said so, or is gone for as long as
 * its session lasts. *who: one that is waited for. */
bool agreed_is_acknowledged(const struct agreed *a, int64_t generation, int64_t now_mono_ms, int64_t timeout_ms,
                            const char **who);
/* Another writer works with that generation. */
bool agreed_is_fine_elsewhere(const struct agreed *a, int64_t generation);
bool agreed_is_there(const struct agreed *a, const char *name); /* among the writers, but ourselves */

#endif

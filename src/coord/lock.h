/* SPDX-License-Identifier: MIT */
/*
 * lock: the lock of one shard, by the recipe that Apache Curator's InterProcessMutex uses: each contender has an
 * ephemeral sequential znode ("ticket") in the lock's folder, the lowest number holds, everybody else watches the one
 * before its own.
 *
 * Threads     One at a time.
 * Invariants  Pure: what happens comes in as answers and changes, what is to be done goes out through lock_step. At
 *             most one request is under way. TICKET_LOWEST is entered only after a list of the folder, read while our
 *             ticket was in it, showed none before it. A ticket is never left behind: a create with unknown outcome is
 *             looked for by its uuid, a delete with unknown outcome is repeated until the znode is gone.
 * Ownership   lock_init copies.
 * Time        Monotonic, passed in.
 */
#ifndef COORD_LOCK_H
#define COORD_LOCK_H

#include "coord/zk.h"

#define LOCK_UUID_LEN 36
#define LOCK_RETRY_MS 1000  /* after a refusal */
#define LOCK_CHECK_MS 10000 /* a ticket that stands is looked at so often: somebody may delete znodes by hand */

enum ticket_state {
    TICKET_NONE,
    TICKET_CREATING, /* its create is under way */
    TICKET_UNSURE,   /* the create has an unknown outcome: the folder must be read */
    TICKET_LOOKING,  /* it exists; its place is being found out */
    TICKET_WAITING,  /* another one is before it and watched */
    TICKET_LOWEST,   /* it holds the lock */
    TICKET_DELETING,
    TICKET_NSTATES,
};

struct shard_lock {
    char *folder; /* "/xxl-job/schedule_lock_3" */
    int tag;
    char uuid[LOCK_UUID_LEN + 1]; /* of all our tickets in this session and this folder */
    enum ticket_state state;      /* written by move_ticket only */
    bool want;                    /* be in the queue; without it a ticket that is not the lowest is deleted */
    bool drop;                    /* the present ticket is to be deleted, whatever its place */
    bool no_folder;   /* out: the create failed for want of the folder; the caller makes it and clears this */
    char *name;       /* our ticket, NULL when unknown or none */
    char *before;     /* the ticket before ours, NULL while not known */
    char *stray;      /* a ticket of ours that we did not know of: to be deleted */
    uint64_t pending; /* id of the request under way, 0 if none */
    int64_t retry_mono_ms;
    int64_t check_mono_ms; /* when the folder is to be read again though nothing happened */
};

/* Hands a request to ZooKeeper; false when it was certainly not done. */
typedef bool (*zk_ask_fn)(void *arg, const struct zk_ask *ask);

MUST_CHECK enum err lock_init(struct shard_lock *l, const char *folder, int tag);
void lock_fini(struct shard_lock *l);
/* A new session begins: no ticket of before exists any more. */
void lock_reset(struct shard_lock *l, const char *uuid);
/* Gives the present ticket back, also one that is only being made. Nothing happens when there is none. */
void lock_drop(struct shard_lock *l);
/* Asks for what has to be done next, if anything. To be called while connected; `data` goes into a new ticket. */
void lock_step(struct shard_lock *l, int64_t now_mono_ms, uint64_t *next_id, const char *data, zk_ask_fn ask,
               void *arg);
void lock_on_answer(struct shard_lock *l, const struct zk_answer *answer, int64_t now_mono_ms);
void lock_on_change(struct shard_lock *l, const char *path);
/* The number after the last "lock-" of a name, as Curator sorts. False for a name that is no ticket. */
bool lock_parse_number(const char *name, int64_t *out);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * member: this node's ephemeral znode among the live nodes, and how many of them there are.
 *
 * Threads     One at a time.
 * Invariants  Pure, like lock.h. Membership counts from the moment that the znode is known to belong to our session: a
 *             znode of our name that another session owns is waited for, never taken over.
 * Ownership   member_init copies.
 * Time        Monotonic, passed in.
 */
#ifndef COORD_MEMBER_H
#define COORD_MEMBER_H

#include "coord/lock.h"

enum member_state {
    MEMBER_NONE,
    MEMBER_CREATING,
    MEMBER_CHECKING, /* the znode is there, or may be: whose is it? */
    MEMBER_PRESENT,
    MEMBER_TAKEN, /* another session has our name */
    MEMBER_DELETING,
    MEMBER_NSTATES,
};

struct member {
    char *folder;     /* "/xxl-job/nodes" */
    char *path;       /* our znode */
    const char *name; /* last part of path */
    int tag;          /* of requests for our znode; tag - 1 is for the list */
    int64_t session_id;
    enum member_state state; /* written by move_member only */
    bool want;
    bool no_folder; /* out: see shard_lock */
    bool deleted; /* out: our znode or its folder was deleted, perhaps tickets too; the caller looks and clears this */
    uint64_t pending; /* request about our znode */
    int64_t retry_mono_ms;

    bool list_stale; /* the list must be read */
    uint64_t list_pending;
    uint64_t lists_begun; /* in this session */
    uint64_t lists_done;  /* number of the newest list that was begun and answered */
    int64_t list_retry_mono_ms;
    int64_t check_mono_ms;
    int others;   /* nodes in the newest list besides this one */
    int live;     /* nodes in the newest list; of before the session while lists_done is 0 */
    bool listed;  /* the newest list was read while our znode was in it */
    bool changed; /* out: a first list of this session, or live has changed; the caller clears it */
};

MUST_CHECK enum err member_init(struct member *m, const char *folder, const char *name, int tag);
void member_fini(struct member *m);
void member_reset(struct member *m);
void member_step(struct member *m, int64_t now_mono_ms, uint64_t *next_id, const char *data, zk_ask_fn ask, void *arg);
/* True when the answer was for it. */
bool member_on_answer(struct member *m, const struct zk_answer *answer, int64_t now_mono_ms);
void member_on_change(struct member *m, const char *path);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * others: what the owner of shard 0 looks for in the tables: nodes that died, and jobs that somebody else has changed.
 *
 * Nodes       One whose last beat is OTHERS_DIED_MS old, while that of this node is young.
 * Jobs        All of them are walked over by the primary key, EDITS_PIECE at a time, once in OTHERS_PASS_MS at most.
 *             What was updated within OTHERS_BACK_S becomes an event, unless it is one, or the audit has it.
 *             What a pass has dealt with the next one leaves alone. Bounded: OTHERS_WRITES statements in a pass; the
 *             rest has its turn in the next ones, as long as it is not older than OTHERS_BACK_S.
 * Threads     One owner.
 */
#ifndef HISTORY_OTHERS_H
#define HISTORY_OTHERS_H

#include "shardwheel/store/cluster.h"
#include "shardwheel/store/history.h"

#define OTHERS_DIED_MS 15000
#define OTHERS_FRESH_MS 5000
#define OTHERS_NODES_MS 10000 /* between two looks at the nodes */
#define OTHERS_PASS_MS 60000
#define OTHERS_PIECE_MS 50 /* between two pieces of a pass */
#define OTHERS_BACK_S 3600
#define OTHERS_WRITES 200
#define OTHERS_KNOWN_MAX 20000 /* edits that are remembered from a pass to the next */

struct known_edit {
    int64_t id;
    int64_t updated_s;
};

struct others {
    const char *node;         /* [const] */
    const char *incarnation;  /* [const] of this node */
    bool walking;             /* [owner] */
    int64_t after_id;         /* [owner] */
    int writes;               /* [owner] in this pass */
    struct known_edit *known; /* [owner] ascending by id: that the last pass has dealt with */
    size_t known_count;       /* [owner] */
    size_t known_at;          /* [owner] of the walk */
    struct known_edit *next;  /* [owner] that this one has dealt with */
    size_t next_count;        /* [owner] */
    int64_t pass_mono_ms;     /* [owner] when the next piece, or pass, is due */
    int64_t nodes_mono_ms;    /* [owner] */
};

void others_init(struct others *o, const char *node, const char *incarnation);
void others_fini(struct others *o);
void others_forget(struct others *o); /* this node has just become the owner of shard 0 */
/* What is due of both, at most a piece. now_ms: by the clock of the database. `calm`: the database was there for long
 * enough that other nodes had time for a beat. *next_mono_ms: when to call again. */
MUST_CHECK enum err others_step(struct others *o, struct store_session *s, const struct clock *clock, int64_t now_ms,
                                bool calm, int64_t *next_mono_ms, struct errctx *ec);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * stale: planned rows that were passed by long ago and still have no end. Whoever takes a shard over looks back some
 * minutes, and further where a note says so; this ends what all of them have missed.
 *
 * Threads     One owner.
 * Use         In each pass of the failure monitor: stale_begin, stale_note for each open planned row that was seen,
 *             stale_end.
 * Rule        A row is over when the cursor of its shard was STALE_S beyond it already STALE_SEEN_MS ago, and no note
 *             of a takeover or of a jump stood for that shard, neither then nor now: what is handed over is sent within
 *             20 s, a note stands for 40 s at least, and who lives has written his results by then.
 */
#ifndef FOLLOW_STALE_H
#define FOLLOW_STALE_H

#include "shardwheel/store/cluster.h"
#include "shardwheel/store/run.h"

#define STALE_MAX 10000 /* rows in a pass */

struct stale {
    struct stale_row {
        int64_t id;
        int64_t job_id;
        int64_t due_s;
    } * rows; /* of the pass; room for STALE_MAX once there is one */
    size_t count;
    struct passed_shards held; /* how far the shards were... */
    int64_t held_mono_ms;      /* ...at that time; without shards: not known */
};

void stale_init(struct stale *st);
void stale_fini(struct stale *st);
void stale_begin(struct stale *st);
MUST_CHECK enum err stale_note(struct stale *st, const struct log_state *row, int64_t now_s, struct errctx *ec);
/* Ends those that are over. */
MUST_CHECK enum err stale_end(struct stale *st, struct store_session *s, int64_t now_mono_ms, size_t *ended,
                              struct errctx *ec);

#endif

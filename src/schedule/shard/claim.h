/* SPDX-License-Identifier: MIT */
/*
 * claim: one claim of a shard: what some jobs fire next is decided and written in one transaction, and the fires are
 * pushed into the wheel.
 *
 * Threads     The schedule thread of the shard.
 * Invariants  A fire is pushed only where its row is written under our epoch, and no Java admin can have read its job
 *             before. After a commit of unknown outcome the rows are read back first.
 */
#ifndef SCHEDULE_SHARD_CLAIM_H
#define SCHEDULE_SHARD_CLAIM_H

#include "schedule/shard/left_out.h"
#include "shardwheel/store/plan.h"

struct shard;

/* What the claims of one cycle have in common. All zero but for the session at first. */
struct cycle {
    struct store_session *session;
    struct left_out left_out;    /* jobs that this cycle left out */
    bool changed;                /* jobs were not what was read, or their claim turned out not to have happened */
    bool around;                 /* jobs that somebody holds are passed by */
    int64_t searches_to_mono_ms; /* the time for finding them is over; 0: none was looked for yet */
};

/* The jobs were read just now; window_end_ms: plans up to there. ERR_CONFLICT: somebody holds the row of a job, nothing
 * is written. ERR_STATE: fenced. ERR_GUARD: no node holds the guard. Without an error the cycle has a session
 * afterwards. */
MUST_CHECK enum err shard_claim_due(struct shard *shard, struct cycle *c, const struct job_due *jobs, size_t count,
                                    int64_t window_end_ms, struct errctx *ec);
/* This cycle passes the job by; not tried again before that time. */
void shard_leave_out(struct shard *shard, struct cycle *c, const struct job_due *job, int64_t again_mono_ms);

#endif

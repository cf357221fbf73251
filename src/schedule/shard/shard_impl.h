/* SPDX-License-Identifier: MIT */
/* What the files of a shard share: shard.c (states, handover), takeover.c, claims.c (planning) and those that they
 * call. All run on the shard's own thread. */
#ifndef SCHEDULE_SHARD_SHARD_IMPL_H
#define SCHEDULE_SHARD_SHARD_IMPL_H

#include "schedule/plan/planner.h"
#include "schedule/shard/ahead.h"
#include "schedule/shard/delays.h"
#include "schedule/shard/left_out.h"
#include "schedule/shard/recent.h"
#include "schedule/shard/shard.h"
#include "shardwheel/store/cluster.h"

struct shard {
    int number;             /* [const] */
    struct shard_deps deps; /* [const] */
    struct mutex lock;      /* rank LOCK_SCHEDULE */
    enum shard_state state; /* [lock] written by the schedule thread, by move_state alone */
    int64_t epoch;          /* [lock] written by the schedule thread */
    int64_t owned_since_ms; /* [lock] likewise */
    int64_t shown_until_ms; /* [lock] likewise: planned_until_ms for other threads; the takeover, until there is one */
    struct worker worker;   /* [const] locks by itself */

    struct planner *planner; /* [schedule thread], and all that follows */
    struct ahead *ahead;
    uint64_t serial; /* of the grant that we work under */
    bool fenced;
    bool loading;           /* of a takeover: the epoch is written, what is beyond the cursor is being looked for */
    int64_t primary;        /* generation of the server that the shard was taken over on, or is being */
    int64_t taken_epoch;    /* of the takeover under way */
    int64_t taken_cursor_s; /* likewise */
    int64_t taken_floor_s;  /* likewise: the highest that this node had moved it to */
    int64_t takeover_since_mono_ms; /* first failure of the takeover under way, or 0 */
    unsigned failing;               /* steps, as bits, of which a failure was logged and has not ended */
    int64_t next_claim_mono_ms;     /* not before: this shard's place in the second */
    bool in_haste;                  /* the next look at what is due is wanted at once */
    int64_t planned_until_ms;       /* end of the last window that was planned completely, but for those left out */
    struct left_out left_out;       /* jobs whose rows somebody holds; sorted, written by claims.c */
    struct left_out later_aside;    /* later rows that are not tried at present; sorted, later.c's alone */
    struct recent *recent;          /* what was planned within the last minute */
    struct delays delays;           /* runs of FIX_DELAY jobs; shard_delays.c's alone */
    int64_t planned_last_s;         /* the latest due second that was planned or loaded */
    int64_t cursor_floor_s;         /* the cursor at the takeover: nothing is planned at or before it */
    struct takeover_note *notes; /* of takeovers, ours the last: not settled yet; by epoch; owned, settle.c's alone */
    size_t note_count;
    int64_t notes_mono_ms; /* when they were loaded */
    bool settling;         /* open rows of the oldest notes are being looked for */
    size_t settling_count; /* how many notes these are */
    enum settle_what { SETTLE_NEAR, SETTLE_GAP, SETTLE_REST } settling_what; /* REST: then they are settled */
    int64_t settling_to_s;                                                   /* what settled_to_s becomes then */
    bool near_settled;    /* of the oldest notes: what is due close to their cursor */
    int64_t settled_to_s; /* we have settled open rows due at or before it; 0: none yet */
    int64_t jump_mono_ms; /* the last jump of the cursor that we know of */
    int64_t *doubtful;    /* planned rows that a Java admin may have sent; to be ended as soon as possible; owned */
    size_t doubtful_count;
    int64_t doubtful_epoch; /* under which they were planned: who takes over later loads them, and sends them */
    struct log_limit misfire_log, id_log, dropped_log, refused_log;
};

enum claim_outcome {
    CLAIM_DONE,   /* everything due within the window is planned */
    CLAIM_MORE,   /* all of the part, but there is more: at once again */
    CLAIM_RETRY,  /* a database call failed: soon again */
    CLAIM_FENCED, /* the epoch in the database is newer */
};
/* False while nothing may be planned: the ring is stalled, or its cursor is far behind. */
bool shard_can_claim(struct shard *shard);
enum claim_outcome shard_run_claims(struct shard *shard, const struct scan_part *part);
/* later.c: plans those later rows, whose ids are sorted on the way. Rows that somebody holds, and those that the
 * database refuses, are put aside for a while. */
MUST_CHECK enum err shard_claim_later(struct shard *shard, struct store_session **session, int64_t *ids, size_t count,
                                      struct errctx *ec);
/* claiming.c, for all claims. earliest_s: the first second that what is due at once may go to. */
int64_t shard_find_earliest_s(struct shard *shard, int64_t now_ms);
bool shard_pause_before_next_try(struct shard *shard); /* false when the thread is to stop */
bool shard_is_called_away(struct shard *shard);        /* it was asked back, or is stopping */
#define READ_BACK_TRIES 200
/* claim.c: claims without fires, by id; passes by what somebody holds (`locked`). ERR_STATE: fenced. */
MUST_CHECK enum err shard_claim_moves(struct shard *shard, struct claim_job *claims, size_t count, struct errctx *ec);
/* shard_delays.c: a claim of that job was written. And what is done once a second; CLAIM_DONE, CLAIM_RETRY or
 * CLAIM_FENCED. */
void shard_note_delayed(struct shard *shard, const struct claim_job *claim, const struct plan *plan);
enum claim_outcome shard_follow_delays(struct shard *shard);
/* common.c: tries to end the rows of `doubtful`; logs a failure. And gives them up, which it logs, too. */
void shard_end_doubtful(struct shard *shard);
void shard_leave_doubtful(struct shard *shard);
/* settle.c: takes the list, which was loaded by the takeover under way. */
void shard_set_notes(struct shard *shard, struct takeover_note *notes, size_t count);
void shard_settle_undelivered(struct shard *shard); /* goes on with the notes whose time has come; logs a failure */
void shard_push_all(struct shard *shard, struct fire *list); /* to the ring; takes the list */
enum shard_step { STEP_TAKEOVER, STEP_CLAIM, STEP_SETTLE, STEP_END_DOUBTFUL, STEP_DELAYS };
void shard_log_failure(struct shard *shard, enum shard_step step, const struct errctx *ec);
void shard_log_good(struct shard *shard, enum shard_step step);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * times: all times of the protocol that must agree with each other, each with the rule it serves (docs/protocol.md).
 * What must hold between them is checked when this is compiled. Times that concern one file alone stand in that file.
 */
#ifndef SHARDWHEEL_JOB_TIMES_H
#define SHARDWHEEL_JOB_TIMES_H

#include <assert.h>

/* ---- planning ---------------------------------------------------------------------------------------------------- */

#define PLAN_AHEAD_MS 5000 /* what is due within this time is planned */
#define PLAN_OVERDUE_MS                                                                                                \
    5000 /* a next time set into the past by hand fires at once up to this age: the original's rule */
#define PLAN_CATCH_UP_MS 60000 /* a due time that nobody planned is caught up, one by one, up to this age */
#define PLAN_REMEMBER_S 60     /* the newest due second that was planned of a job is known for so long */
/* A claim sets the next time of a FIX_DELAY job so far beyond the delay: when nobody sees the end of its run within
 * that time, it is due all the same. */
#define FIXED_DELAY_LIMIT_S 86400
#define WHEEL_SLOTS 60   /* seconds in a lap of the wheel */
#define WHEEL_AHEAD_S 10 /* slots of the next seconds that a drain leaves alone: nothing is planned further ahead */
#define RING_JUMP_S                                                                                                    \
    60 /* a ring that is further behind than that goes on with these last seconds: a lap, so that every
                                * slot is looked at */

static_assert(PLAN_AHEAD_MS < WHEEL_AHEAD_S * 1000, "a drain must leave what is planned alone");
static_assert(PLAN_REMEMBER_S * 1000 >= PLAN_CATCH_UP_MS, "what is caught up may have been planned before");
static_assert(RING_JUMP_S >= WHEEL_SLOTS, "a jump must look at every slot");
static_assert(PLAN_CATCH_UP_MS <= RING_JUMP_S * 1000, "what is caught up must not be jumped over");

/* ---- later rows -------------------------------------------------------------------------------------------------- */

/* A fire that waits for an executor is looked at again PLAN_AHEAD_MS before its later row is due, and goes out then
 * when there is one: HOLD_AGAIN_S is from a try to the next due second of the row. While its group stays empty the
 * time between two looks grows with the number that one look finds, by a second for HOLD_ROWS_PER_S rows, up to
 * HOLD_LOOK_MAX_S. */
#define HOLD_AGAIN_S 10
#define HOLD_ROWS_PER_S 50
#define HOLD_LOOK_MAX_S 60
#define LATER_SWEEP_S 5 /* so often rows whose run has ended are deleted */

static_assert(HOLD_AGAIN_S * 1000 > PLAN_AHEAD_MS, "a fire that waits is in every look, and its row written each time");

/* ---- sending, and who may say that it is unknown ----------------------------------------------------------------- */

/* A fire is sent no later than this after its cursor's move was asked for; a direct fire, than this after it was handed
 * to dispatch, which is no later than this after its row was begun. On the boot clock. */
#define SEND_DEADLINE_MS 20000
/* An executor has so long to answer, at most: the bound of xxl.job.executor.timeout. */
#define ANSWER_MAX_MS 10000
/* A success as planned waits so long for its callback, and so long while callbacks are behind; not at all when it comes
 * after SEND_DEADLINE_MS. */
#define RESULT_WAIT_MS 500
#define RESULT_WAIT_MAX_MS 10000
#define RESULT_WRITE_MS 5000 /* a batch of results and two tries to write it */
/* Open rows that a takeover found are ended, or sent again, no earlier than this after it. */
#define UNKNOWN_AFTER_MS 40000

static_assert(UNKNOWN_AFTER_MS >= SEND_DEADLINE_MS + ANSWER_MAX_MS + RESULT_WRITE_MS,
              "a row is ended as unknown although its executor may still answer");
static_assert(UNKNOWN_AFTER_MS >= SEND_DEADLINE_MS + RESULT_WAIT_MAX_MS + RESULT_WRITE_MS,
              "a row is ended as unknown although its result waits for the callback");

/* Open direct fires of a node without a sign of life for NODE_GONE_MS are ended when their row is DIRECT_AGE_S old and
 * was seen open for DIRECT_SEEN_MS: a wrong clock alone ends nothing. */
#define NODE_GONE_MS 40000
#define DIRECT_AGE_S 60
#define DIRECT_SEEN_MS 50000

static_assert(DIRECT_SEEN_MS >= 2 * SEND_DEADLINE_MS + RESULT_WRITE_MS,
              "a direct fire is ended as unknown although its node may still send it");
static_assert(DIRECT_AGE_S * 1000 >= DIRECT_SEEN_MS, "the age of the row is the weaker of the two conditions");

/* ---- taking over ------------------------------------------------------------------------------------------------- */

/* A takeover loads what is beyond the cursor up to so far ahead, and claims wait until the cursor is within
 * CURSOR_BEHIND_MAX_MS of the clock. */
#define LOOK_AHEAD_S (10 * 60)
#define CURSOR_BEHIND_MAX_MS 120000

/* What was in flight at a takeover's cursor is looked for so far back. Whoever moves a cursor by more than RING_JUMP_S
 * at once leaves a note first, since what that passes may be further back; and what lies STALE_S behind a cursor that
 * stood there STALE_SEEN_MS ago, while no note stood, is nobody's any more. */
#define SETTLE_BACK_S (15 * 60)
#define STALE_S (20 * 60)
#define STALE_SEEN_MS 60000

static_assert(SETTLE_BACK_S >= 2 * (RING_JUMP_S + UNKNOWN_AFTER_MS / 1000),
              "what is in flight may be further behind the cursor than the next owner looks");
static_assert(STALE_S > SETTLE_BACK_S, "the failure monitor must leave to a takeover what that will look at");
static_assert(STALE_SEEN_MS >= UNKNOWN_AFTER_MS, "a row is ended as unknown although it may still be sent");

static_assert(LOOK_AHEAD_S * 1000 >= 2 * (CURSOR_BEHIND_MAX_MS + PLAN_AHEAD_MS),
              "a row may be planned so far beyond the cursor that a takeover does not load it");

/* ---- lost runs --------------------------------------------------------------------------------------------------- */

#define LOST_UNREGISTERED_S 600 /* the original's rule: since the trigger, with an address that is not registered */
#define LOST_AWAY_MS 30000      /* an address that was registered is not any more for so long */
#define LOST_IDLE_MS 60000      /* between two answers that the job is idle */
#define LOST_QUIET_MS 120000    /* callbacks were accepted by all nodes for so long */
#define LOST_YOUNG_S 30         /* a run is looked at when it is so old */

static_assert(LOST_YOUNG_S * 1000 >= RESULT_WAIT_MAX_MS + RESULT_WRITE_MS,
              "an accepted run may not be seen when it is looked for");

/* ---- another number of shards ------------------------------------------------------------------------------------ */

#define RESHARD_AHEAD_S 6        /* a second at which all cursors are to stop is chosen so far ahead */
#define RESHARD_PATIENCE_MS 5000 /* when it is over by so much and some cursor is not there, another one is chosen */
#define HOLD_MARGIN_S 3          /* so long before that second nothing is planned at the last moment */

static_assert(RESHARD_AHEAD_S * 1000 > PLAN_AHEAD_MS,
              "the second at which cursors stop must not be planned yet when it is chosen");
static_assert(HOLD_MARGIN_S < RESHARD_AHEAD_S, "planning ends before the cursors stop");

/* ---- beside Java admins ------------------------------------------------------------------------------------------ */

#define CLAIM_IDLE_S 2      /* a claim's session ends at the server when it is silent for so long */
#define GUARD_IDLE_S 10     /* the guard's likewise */
#define GUARD_PROOF_MS 8000 /* a claim counts on a guard that was heard of within this time */

static_assert(GUARD_PROOF_MS + CLAIM_IDLE_S * 1000 <= GUARD_IDLE_S * 1000,
              "a silent claim may outlive the guard that it counted on");

/* ---- stopping ---------------------------------------------------------------------------------------------------- */

#define STOP_DRAIN_MS 25000 /* the whole stop waits so long for what is handed to dispatch */

static_assert(STOP_DRAIN_MS > SEND_DEADLINE_MS, "a stop must not end what may still be sent");

#endif

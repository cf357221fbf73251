/* SPDX-License-Identifier: MIT */
/*
 * ring_impl: what the files of the ring share: ring.c (its thread: seconds, one after the other), cursors.c (what a
 * second does in the database) and shards.c (what other threads tell and ask).
 *
 * Threads     All functions below: the ring thread.
 */
#ifndef SCHEDULE_RING_RING_IMPL_H
#define SCHEDULE_RING_RING_IMPL_H

#include "schedule/ring/lead.h"
#include "schedule/ring/ring.h"
#include "shardwheel/counters.h"

struct parting;

struct ring {
    struct ring_opts opts;     /* [const] */
    const struct clock *clock; /* [const] */
    struct counters *counters; /* [const] */
    struct dispatch *dispatch; /* [const] set in ring_start */
    struct wheel wheel;        /* [atomic] see wheel.h */
    struct mutex lock;         /* rank LOCK_SCHEDULE; never held across a database call or a callback */
    struct ring_shard *shards; /* [lock] but in_wheel and unsent, which are in the arrays below */
    int64_t *floor_s;          /* [lock] per shard: see ring_get_floor_s */
    _Atomic int64_t *in_wheel; /* [atomic] per shard; a gauge */
    _Atomic int64_t *unsent;   /* [atomic] per shard; acq_rel: whoever sees 0 sees all sends before */
    int64_t passed_s;          /* [lock] written by the ring thread */
    int64_t hold_s;            /* [lock] see ring_hold */
    struct worker worker;      /* [const] locks by itself */

    struct store_session *session; /* [ring] */
    struct fire *taken;            /* [ring] taken out of the wheel for seconds up to next_s, jobs not read yet */
    struct fire *ready;            /* [ring] the same, with their jobs */
    int64_t ready_mono_ms;         /* [ring] when the first jobs of `ready` were read */
    int64_t next_s;                /* [ring] the second to hand over next */
    int64_t prepared_s;            /* [ring] the second whose jobs were read ahead last */
    struct lead lead;              /* [ring] what moves of cursors take */
    int64_t lead_ms;               /* [ring] for next_s */
    int64_t good_mono_ms;          /* [ring] last time that the database carried out a statement */
    _Atomic bool able;             /* [atomic] written by the ring thread, relaxed: what opts.able was told last */
    bool failing;                  /* [ring] a statement failed, and none that writes has succeeded since */
    bool warned_back;              /* [ring] one line for each time that the clock was set back */
    struct cursor_move *moves;     /* [ring] room for all shards */
    int64_t *taken_epoch;          /* [ring] per shard: its epoch when the second under way was taken out, or -1 */
    struct parting *partings;      /* [ring] per shard: of the second under way */
};

/* ---- ring.c ------------------------------------------------------------------------------------------------------ */

bool ring_have_session(struct ring *r);
/* Of a statement on it, or of its making. False when it failed: the step is to be tried again, on another session. Only
 * a write proves that we can write. */
bool ring_note_result(struct ring *r, enum err e, const struct errctx *ec, const char *step, bool is_write);

/* ---- cursors.c --------------------------------------------------------------------------------------------------- */

/* Before the fires of a second are taken out. A shard that is added from now on has pushed its loaded fires too late
 * for this second: its cursor waits for the next one, or the fires of this second would stand behind a cursor that says
 * they were handed over. */
void ring_note_taken(struct ring *r);
/* Moves the cursors of our shards to second_s and writes into r->moves how it went. False: try again. */
bool ring_move_cursors(struct ring *r, int64_t second_s, size_t *count);
/* Writes the outcome of the moves into the shards and tells those whose state changed. */
void ring_note_moves(struct ring *r, int64_t second_s, size_t count);

#endif

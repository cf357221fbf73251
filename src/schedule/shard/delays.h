/* SPDX-License-Identifier: MIT */
/*
 * delays: the runs of a shard's FIX_DELAY jobs that are under way, until their jobs may be due again.
 *
 * A claim sets the next time of such a job far ahead (plan/planner.c). When the run has ended, with all its retries
 * and all shards of a broadcast, the owner pulls the next time forward to that end and the delay, if it still is what
 * the claim set. What is forgotten here is due at the bound.
 *
 * Threads     The schedule thread of one shard.
 * Memory      72 bytes for a job and 8 for each of its rows; at most DELAYS_MAX jobs.
 * Time        Wall clock, passed in.
 */
#ifndef SCHEDULE_SHARD_DELAYS_H
#define SCHEDULE_SHARD_DELAYS_H

#include "shardwheel/store/plan.h"

#define DELAYS_MAX 100000

struct delayed_run {
    int64_t job_id;
    int64_t next_ms;    /* what the claim set */
    int64_t fired_s;    /* the second it went out, and the due time that it stands for: its rows' mark */
    int64_t original_s; /* 0: any */
    int64_t ended_s;    /* the latest end of its rows so far */
    int64_t *log_ids;   /* rows without an end; owned */
    size_t count;
    bool sought; /* its rows are to be found first */
};

struct delays {
    struct delayed_run *runs; /* ascending by job; owned */
    size_t count;
    size_t turn;          /* where the next look begins */
    int64_t next_mono_ms; /* the next look */
    size_t seek_turn;     /* where the next search begins */
    int64_t seek_mono_ms; /* not before */
    bool rebuild;         /* after a takeover: jobs are to be looked for */
    bool full;            /* there were more than are kept; told */
};

void delays_fini(struct delays *d);
const struct delayed_run *delays_find(const struct delays *d, int64_t job_id); /* NULL: none */
/* A claim has planned this run of the job. False: no room, or no memory. */
bool delays_note_fires(struct delays *d, int64_t job_id, int64_t next_ms, const struct fire *fires);
/* Rows of a broadcast that had waited in one row, which is one of them. Another run is left alone. */
void delays_add_parts(struct delays *d, int64_t job_id, const struct fire *parts);
/* A run whose rows are not known: found by job, second and due time. */
bool delays_note_sought(struct delays *d, const struct delayed_job *job, int64_t fired_s);
/* Another claim has moved the next time of the job on, or away. */
void delays_move(struct delays *d, int64_t job_id, int64_t next_ms);
void delays_forget(struct delays *d, int64_t job_id);
/* The rows of a run that was sought; none: whatever became of it, it ends now. */
void delays_set_rows(struct delays *d, int64_t job_id, const int64_t *log_ids, size_t count, int64_t now_s);
/* Up to `max` rows whose runs are to be looked at now, in turn, and whose jobs (`jobs`, same places). */
size_t delays_list_rows(struct delays *d, struct run_end *rows, int64_t *jobs, size_t max);
/* What was seen of one of them; now_s: of an end that does not say when it was. */
void delays_apply(struct delays *d, int64_t job_id, const struct run_end *row, int64_t now_s);
/* Up to `max` jobs all of whose rows have ended, ascending. */
size_t delays_list_ended(const struct delays *d, int64_t *jobs, size_t max);

#endif

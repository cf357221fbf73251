/* SPDX-License-Identifier: MIT */
/*
 * store/plan: from jobs that are due to planned rows of xxl_job_log: look, read, claim, load at a takeover, end or
 * remove what will not be sent. See store/conn.h for threads, ownership and errors.
 */
#ifndef SHARDWHEEL_STORE_PLAN_H
#define SHARDWHEEL_STORE_PLAN_H

#include "shardwheel/job.h"
#include "shardwheel/store/conn.h"

STORE_LIST(job_page, struct job_due, jobs);

/* What one look at the whole table finds. */
struct due_scan {
    struct due_id {
        int64_t id;
        int64_t next_ms;
    } * list; /* by next time, then id; free with free */
    size_t count;
    bool complete; /* false: there are more */
};
/* Running jobs of those shards (id % n, id not negative) with next time <= until_ms; at most `limit`. Rows are not kept
 * on their way, so it takes no more memory than the list. */
MUST_CHECK enum err store_scan_due(struct store_session *s, const int *shards, size_t shard_count, int n,
                                   int64_t until_ms, size_t limit, struct due_scan *out, struct errctx *ec);
/* Those of the jobs `ids` (ascending and distinct) that are running and have a next time <= until_ms, ascending by
 * id. */
MUST_CHECK enum err store_load_due(struct store_session *s, const int64_t *ids, size_t count, int64_t until_ms,
                                   struct job_page *out, struct errctx *ec);

/* out[i] is the job ids[i], or NULL where there is none; ids ascending and distinct. The caller owns one reference
 * each. */
MUST_CHECK enum err store_load_job_specs(struct store_session *s, const int64_t *ids, size_t count,
                                         struct job_spec **out, struct errctx *ec);

/* One job of a claim: from what was read to what it becomes, and the fires that this plans. */
struct claim_job {
    const struct job_due *job;
    int64_t new_next_ms;    /* 0 with `stop` */
    bool stop;              /* no further occurrence, or the schedule is broken: status, last and next become 0 */
    bool keeps_last;        /* without fires: the next time alone is moved */
    struct fire *fires;     /* list, oldest first; may be NULL. Taken over when `advanced`, else stays the caller's. */
    const char *message;    /* goes behind the mark of those fires that are `written_ahead`; NULL: nothing */
    struct skipped skipped; /* count 0: none; else a row that says so, behind the fires of the claim */
    bool advanced;          /* out: the job was still what was read */
    bool locked; /* out, of store_claim_free_jobs: somebody else holds its row, or it is gone; nothing was done */
};

/* Guards that were alive when a claim began: connections that hold Java admins off. */
#define CLAIM_GUARDS_MAX 8
struct claim_guards {
    int count;
    struct claim_guard {
        char incarnation[33];
        int64_t connection;
    } list[CLAIM_GUARDS_MAX];
};

/* One transaction: the epoch of the shard is still `epoch` (else ERR_STATE: fenced) -> jobs that are what was read
 * (next time, status, type, conf) advanced -> their fires inserted (log_id and row_hash filled in) -> commit. Jobs of
 * equal times and schedules are advanced by one statement that compares them; if it finds one of them changed, all is
 * rolled back and done again with each job locked and compared.
 * `jobs` ascending by id. On ERR_UNKNOWN nothing is known of the whole batch: the fires keep the log_id that they have
 * if it happened, and store_load_claimed finds out by it. On every other error nothing was written.
 * With `guards`, ERR_GUARD when no node holds Java admins off; else it holds those that do, to be given to
 * store_check_guards after the commit (also after ERR_UNKNOWN): the claim was safe from Java admins only if one of them
 * still lives. ERR_CONFLICT: somebody holds a row of a job. ERR_TIMEOUT: somebody holds the shard's row. */
MUST_CHECK enum err store_claim_jobs(struct store_session *s, int shard, int64_t epoch, struct claim_job *jobs,
                                     size_t count, struct claim_guards *guards, struct errctx *ec);
/* The same after an ERR_CONFLICT, which a row that somebody else holds makes after a wait of a second or two: waits for
 * no job. Where the server knows SKIP LOCKED, such jobs are passed by and marked as `locked`. Elsewhere one of them
 * makes ERR_CONFLICT within STORE_LOCK_PATIENCE_MS, and the caller finds out which by trying with fewer. */
#define STORE_LOCK_PATIENCE_MS 50
MUST_CHECK enum err store_claim_free_jobs(struct store_session *s, int shard, int64_t epoch, struct claim_job *jobs,
                                          size_t count, struct claim_guards *guards, struct errctx *ec);
/* Whole seconds since the server started. */
MUST_CHECK enum err store_load_uptime_s(struct store_session *s, int64_t *out_s, struct errctx *ec);
/* *held: one of them has lived all the time until now. */
MUST_CHECK enum err store_check_guards(struct store_session *s, const struct claim_guards *guards, bool *held,
                                       struct errctx *ec);
/* After ERR_UNKNOWN, on another session: waits until the doubtful transaction has ended (locks the shard row; ERR_STATE
 * when the epoch is newer), then sets `advanced` and the fires' log_id of those jobs whose rows are there (mark, job
 * and due). */
MUST_CHECK enum err store_load_claimed(struct store_session *s, int shard, int64_t epoch, struct claim_job *jobs,
                                       size_t count, struct errctx *ec);

/* ---- runs of FIX_DELAY jobs: store/plan/delays.c ----------------------------------------------------------------- */

struct delayed_job {
    int64_t id;
    int64_t next_ms, last_ms; /* as in xxl_job_info */
    int64_t delay_s;
};
/* Running jobs of the shard that have a fixed delay in force, ascending. `out`: free with free. */
MUST_CHECK enum err store_load_delayed_jobs(struct store_session *s, int shard, int n, struct delayed_job **out,
                                            size_t *count, struct errctx *ec);
/* Planned rows of jobs at their seconds, ended or not, and those of such fires that waited for an executor, until they
 * have gone out; these are known by their due time. That is
 * original_due_s, or the second itself where the claim left the former to the misfire rule. By the index of
 * trigger_time: it reads all rows of these seconds.
 * ERR_TIMEOUT: limit_ms is over, and the server has ended the statement. `out`: free with free. */
struct run_key {
    int64_t job_id;
    int64_t due_s, original_due_s;
};
struct found_run {
    size_t key; /* its place in `keys` */
    int64_t log_id;
};
MUST_CHECK enum err store_find_runs(struct store_session *s, const struct run_key *keys, size_t count, int limit_ms,
                                    struct found_run **out, size_t *out_count, struct errctx *ec);
/* What has become of rows. */
struct run_end {
    int64_t log_id; /* in */
    enum { RUN_OPEN, RUN_ENDED, RUN_RETRIED } what;
    int64_t ended_s;  /* of one that has ended; 0: it does not say when */
    int64_t retry_id; /* of one that failed and was retried: the row of that */
};
/* A row that is gone has ended; one that failed and has retries left is open until it was dealt with. */
MUST_CHECK enum err store_load_run_ends(struct store_session *s, struct run_end *rows, size_t count, struct errctx *ec);

/* A part of the log, bounded in what it costs the server. */
struct log_slice {
    int64_t from_s; /* due after it */
    int64_t to_s;   /* due at or before it */
    /* the server ends the statement after that, and after three quarters of the read timeout at the latest */
    int limit_ms;
    int64_t page_rows; /* 0: all of it at once; else a page: so many rows, open or not, by id, behind after_id */
    int64_t after_id;
};
/* Marked open rows of the slice, of all jobs, in no order; epoch is that of the mark, shard is 0. *last_id: where the
 * next page begins, 0 when there is none. ERR_TIMEOUT: the limit; the server has ended the statement, and the session
 * is good. */
MUST_CHECK enum err store_load_planned(struct store_session *s, const struct log_slice *slice, struct fire **out,
                                       int64_t *last_id, struct errctx *ec);
/* Ends rows as failed "delivery unknown" where still trigger_code = 0 and handle_code = 0, and due at or before
 * until_s: one that waited for an executor since it was read, and was planned anew, is due later. */
MUST_CHECK enum err store_end_unknown(struct store_session *s, const int64_t *log_ids, size_t count, int64_t until_s,
                                      size_t *ended, struct errctx *ec);
/* The same for planned rows that a Java admin may have read and sent as well. ERR_STATE when the epoch is another one
 * by now: who raised it has loaded these rows, and sends them. */
MUST_CHECK enum err store_end_doubtful(struct store_session *s, int shard, int64_t epoch, const int64_t *log_ids,
                                       size_t count, struct errctx *ec);
/* Fires of a shard that must not happen any more (job stopped or deleted in time). Ids ascending. */
struct gone_fires {
    const int64_t *ids; /* their planned rows are removed, where still open */
    size_t count;
    const int64_t *resent_ids; /* may have been sent before: end as by store_end_unknown */
    size_t resent_count;
};
/* One transaction, under that epoch of the shard. ERR_STATE: somebody else owns it; their rows are his, and he may have
 * sent them. */
MUST_CHECK enum err store_cancel_planned(struct store_session *s, int shard, int64_t epoch,
                                         const struct gone_fires *gone, struct errctx *ec);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * store/restore: a database that was restored from a backup is made fit for nodes again. What was due between the
 * backup and now may have run, by nodes of which the tables know nothing any more: none of it is sent again. Each such
 * due time gets a row that says so. docs/protocol.md, "After a restore", has the rules. See store/conn.h for threads,
 * ownership and errors.
 */
#ifndef SHARDWHEEL_STORE_RESTORE_H
#define SHARDWHEEL_STORE_RESTORE_H

#include "shardwheel/job.h"
#include "shardwheel/store/conn.h"

/* How a job that was due goes on: decided by the caller, from the job as it stands in the tables. */
struct restore_next {
    struct skipped skipped; /* its due times up to that second; count 0: none */
    int64_t next_ms;        /* beyond that second */
    bool stop;              /* the schedule has ended, or is broken */
};

struct restore_order {
    int64_t from_s; /* the second of the backup; 0: that of the newest cursor */
    int64_t ids;    /* ids of the log to leave out; 0: by the rate before the backup */
    bool dry_run;   /* all of it is decided, nothing is written */
    bool force;     /* though somebody lives */
    enum err (*find_next)(void *arg, const struct job_due *job, int64_t at_s, struct restore_next *out,
                          struct errctx *ec);
    void *arg;
};

/* What may have run of a job. */
struct restored_job {
    int64_t id, group;
    int64_t count;
    bool more; /* at least so many */
    int64_t first_s, last_s;
    bool stopped;
};

struct restore_result {
    int64_t from_s;            /* of the backup */
    int64_t at_s;              /* up to this second nothing is sent any more */
    int64_t epoch;             /* that every shard has now */
    int64_t first_id;          /* ids of the log go on behind it */
    int64_t unknown;           /* fires that were planned or on their way at the backup, and ended */
    int64_t later;             /* later rows that were due, and are gone */
    int64_t running;           /* runs under way at the backup: their end may be lost, and is no reason for a retry */
    int64_t unhandled;         /* failures that nobody had dealt with: likewise */
    int64_t moved;             /* jobs whose next time was moved */
    int64_t stopped;           /* jobs that have no further due time */
    int64_t flow_runs;         /* runs of flows that were open, and end as failed */
    int64_t flows;             /* whose next time was moved */
    int64_t sessions;          /* logins that were ended */
    int64_t tokens;            /* tokens of the API as the backup knows them */
    bool reshard;              /* a wish for another number of shards was withdrawn */
    struct restored_job *jobs; /* by id */
    size_t count;
};
void restore_result_fini(struct restore_result *result);

/* One transaction: all of it is done, or nothing. Takes as long as Java admins may be silent, six seconds at least,
 * but for a dry run.
 * ERR_BUSY: a node or a Java admin lives. ERR_STATE: no node has ever worked on this database, or its clock is before
 * the backup. */
MUST_CHECK enum err store_after_restore(struct store_session *s, const struct restore_order *order,
                                        struct restore_result *out, struct errctx *ec);

#endif

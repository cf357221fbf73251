/* SPDX-License-Identifier: MIT */
/*
 * recovery: finds the first success of a job that people believe to fail.
 *
 * It reads the log's new rows by the primary key, of failing jobs alone, and while there are any; the ids of runs
 * without an end are kept and looked at again. At most RECOVERY_BACK ids behind the newest are read when it begins, and
 * RECOVERY_OPEN_MAX runs are kept: a success beyond that is not seen, but a later one of the same job is.
 *
 * Threads     One owner.
 */
#ifndef ALARM_RECOVERY_H
#define ALARM_RECOVERY_H

#include "shardwheel/store/alarm.h"

#define RECOVERY_BACK 200000
#define RECOVERY_OPEN_MAX 10000
#define RECOVERY_JOBS_MAX 1000

struct recovery {
    int64_t seen_id; /* rows up to here have been read; 0: none */
    int64_t last_id; /* the newest of the pass before: rows below it may still have come to light since then */
    int64_t *open;   /* runs without an end, ascending; all at or below seen_id */
    size_t open_count;
    struct failing_job *jobs; /* of the pass before, ascending */
    size_t job_count;
};

struct recovered_job {
    struct failing_job job;
    int64_t log_id; /* of the success */
};

void recovery_reset(struct recovery *r); /* frees, too */
/* One pass. *out is to be freed with free. */
MUST_CHECK enum err recovery_look(struct recovery *r, struct store_session *s, int64_t now_s,
                                  struct recovered_job **out, size_t *count, struct errctx *ec);

#endif

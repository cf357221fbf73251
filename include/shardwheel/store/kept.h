/* SPDX-License-Identifier: MIT */
/*
 * store/kept: logs of runs that are kept here, for when their executors are gone (shardwheel_kept_log). See
 * store/conn.h for threads, ownership and errors.
 *
 * Invariants  A run has one kept log at most; of two that are written the first stays. Rows go with those of
 *             xxl_job_log, where one of our nodes removes these; what a Java admin removes leaves them, until they are
 *             old.
 */
#ifndef SHARDWHEEL_STORE_KEPT_H
#define SHARDWHEEL_STORE_KEPT_H

#include "shardwheel/job/kept.h"
#include "shardwheel/store/conn.h"

#define KEPT_BATCH_MAX 500 /* ids or rows in one call */

/* A run that has ended, and whom to ask for its log. */
struct kept_run {
    int64_t log_id;
    int64_t job_id;
    int64_t trigger_ms; /* trigger_time */
    int handle_code;
    int own;                  /* what its job says, an enum kept_which; -1: nothing */
    const char *address;      /* of its executor */
    const char *app_name;     /* of its group; "" where there is none, as below */
    const char *access_token; /* of its group */
};
STORE_LIST(kept_runs, struct kept_run, runs);
/* Those of the runs that have ended, were taken by an executor, and have no kept log. At most KEPT_BATCH_MAX. */
MUST_CHECK enum err store_load_kept_runs(struct store_session *s, const int64_t *ids, size_t count,
                                         struct kept_runs *out, struct errctx *ec);
/* The most that a job has set for itself; KEPT_NONE where none has. */
MUST_CHECK enum err store_load_own_kept(struct store_session *s, enum kept_which *out, struct errctx *ec);

struct kept_log {
    int64_t log_id;
    int64_t job_id;
    int64_t at_ms; /* of one that was read */
    bool is_cut;
    size_t text_len;
    const unsigned char *data; /* compressed */
    size_t len;
};
/* In statements that each commit by themselves, so it may be repeated. *written: those that were not there. */
MUST_CHECK enum err store_write_kept(struct store_session *s, const struct kept_log *logs, size_t count,
                                     size_t *written, struct errctx *ec);
/* ERR_NOTFOUND: there is none of that run of that job. *memory is what `data` lies in; free with free. */
MUST_CHECK enum err store_load_kept(struct store_session *s, int64_t log_id, int64_t job_id, struct kept_log *out,
                                    void **memory, struct errctx *ec);

/* Before their rows of the log go. */
MUST_CHECK enum err store_drop_kept(struct store_session *s, const int64_t *ids, size_t count, struct errctx *ec);
/* Bytes of the data of all. */
MUST_CHECK enum err store_measure_kept(struct store_session *s, int64_t *bytes, struct errctx *ec);
/* The oldest rows, at most `max` (KEPT_BATCH_MAX): those that are older than before_ms (by the clock of the database),
 * or so many that `bytes` are gone. One statement finds them, one removes them. */
MUST_CHECK enum err store_clean_kept(struct store_session *s, int64_t before_ms, int64_t bytes, size_t max,
                                     size_t *removed, int64_t *removed_bytes, struct errctx *ec);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * store/later: later rows (shardwheel_later): what is to fire at a time that is not its job's next one: retries that
 * wait, one-shot and manual triggers, fires that wait for an executor. docs/protocol.md, "Later rows", has the rules.
 * See store/conn.h for threads, ownership and errors.
 *
 * A row is written with planned = 0. The owner of its job's shard plans it in a claim, which makes the row of
 * xxl_job_log and writes its id and planned = 1. It is deleted when that run has ended; until then it tells a takeover
 * what the fire has of its own. A fire that waits for an executor is planned = 0 again, and keeps its row of the log.
 */
#ifndef SHARDWHEEL_STORE_LATER_H
#define SHARDWHEEL_STORE_LATER_H

#include "shardwheel/job.h"
#include "shardwheel/store/audit.h"

#define LATER_MAX 1000000 /* rows; one more is refused */
#define LATER_SHARDING_MAX 24
#define LATER_LAST (-1) /* in place of a generation: the last fire of its job's schedule (FIRE_LAST), which waits */

struct later_row {
    int64_t id;
    int64_t job_id;
    int64_t due_s;
    int64_t original_due_s; /* the due time that it stands for */
    enum trigger_kind kind;
    const char *param;     /* NULL: the job's */
    const char *addresses; /* NULL: the group's */
    const char *sharding;  /* "i/n" or NULL */
    int retries_left;      /* -1: the job's */
    int generation;        /* of a child, and of its retries; 0: it is none; LATER_LAST */
    int64_t hold_until_s;  /* 0: it does not wait for an executor */
    int64_t log_id;        /* 0: it has no row of the log yet */
    bool planned;
};

STORE_LIST(later_page, struct later_row, rows);

/* One row by itself; `audit`, which may be NULL, in the same transaction. ERR_BUSY: there are LATER_MAX. */
MUST_CHECK enum err store_add_later(struct store_session *s, const struct later_row *row, const struct audit_row *audit,
                                    int64_t *id, struct errctx *ec);

/* What one look finds: rows of those shards that are not planned and are due by until_s, the most overdue first, at
 * most `limit`. By an index that holds all of it. */
struct later_scan {
    struct later_id {
        int64_t id;
        int64_t job_id;
    } * list; /* free with free */
    size_t count;
    bool complete; /* false: there are more */
};
MUST_CHECK enum err store_scan_later(struct store_session *s, const int *shards, size_t shard_count, int n,
                                     int64_t until_s, size_t limit, struct later_scan *out, struct errctx *ec);
/* Those of the rows `ids` that are there and not planned, ascending by id. */
MUST_CHECK enum err store_load_later(struct store_session *s, const int64_t *ids, size_t count, struct later_page *out,
                                     struct errctx *ec);

/* One row of a claim. */
struct later_claim {
    const struct later_row *row;
    enum later_fate {
        LATER_PLAN, /* its fires are planned */
        LATER_WAIT, /* it is looked at again at again_s */
        LATER_DROP, /* it goes; a row of the log that it has ends as failed with `why`, and no alarm */
    } fate;
    int64_t again_s;
    const char *why;
    /* One, or one for each address of a broadcast: then all but the first get later rows of their own. With their jobs
     * attached, of which their rows are made. Filled in: log_id, row_hash. They stay the caller's. */
    struct fire *fires;
    bool done;   /* out: it was there, not planned, and what was asked for has happened */
    bool locked; /* out: somebody holds its row here or in the log; nothing was done */
};
/* One transaction: the epoch of the shard is still `epoch` (else ERR_STATE: fenced) -> rows that are not planned are
 * locked -> what is asked for each. A row whose row of the log has ended meanwhile goes. `claims` ascending by id.
 * Where the server can pass locked rows by (SKIP LOCKED) nothing waits for them; others answer ERR_CONFLICT.
 * On ERR_UNKNOWN nothing is known of the whole batch: the fires keep the log_id that they have if it happened, and
 * store_find_later_claimed finds out. On every other error nothing was written. */
MUST_CHECK enum err store_claim_later(struct store_session *s, int shard, int64_t epoch, struct later_claim *claims,
                                      size_t count, struct errctx *ec);
/* After ERR_UNKNOWN, on another session: waits until the doubtful transaction has ended (locks the shard row; ERR_STATE
 * when the epoch is newer), then sets `done` of those with LATER_PLAN that are planned as this claim did it. */
MUST_CHECK enum err store_find_later_claimed(struct store_session *s, int shard, int64_t epoch,
                                             struct later_claim *claims, size_t count, struct errctx *ec);

/* Deletes planned rows whose run was sent or has ended, at most `limit`. Any node may; one is enough. Those of retries
 * stay for so long behind the second of the run: they alone tell the look at FIX_DELAY jobs which run follows the one
 * that failed. */
#define LATER_RETRY_STAYS_S 10
MUST_CHECK enum err store_end_later(struct store_session *s, size_t limit, size_t *ended, struct errctx *ec);

/* Rows that are not planned, by due second, then id; at most `limit`. Of one job, or of all with 0. */
MUST_CHECK enum err store_list_later(struct store_session *s, int64_t job_id, size_t limit, struct later_page *out,
                                     struct errctx *ec);
/* Deletes a row that is not planned; a row of the log that it has ends as failed, "cancelled", without an alarm.
 * `audit` as above.
 * ERR_NOTFOUND: there is none. ERR_STATE: it is planned, and goes out. */
MUST_CHECK enum err store_cancel_later(struct store_session *s, int64_t id, const struct audit_row *audit,
                                       struct errctx *ec);

/* What a Java admin would leave undone. */
struct later_sum {
    struct later_kind_sum {
        int64_t count;
        int64_t first_due_s;
    } kind[TRIGGER_KINDS]; /* of rows that do not wait for an executor */
    struct later_kind_sum held;
    int64_t planned; /* rows whose run has not ended */
};
MUST_CHECK enum err store_sum_later(struct store_session *s, struct later_sum *out, struct errctx *ec);

#endif

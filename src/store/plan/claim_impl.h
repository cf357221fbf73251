/* SPDX-License-Identifier: MIT */
/* claim_impl: the parts of a claim, in files of their own. Private to store. */
#ifndef STORE_PLAN_CLAIM_IMPL_H
#define STORE_PLAN_CLAIM_IMPL_H

#include "shardwheel/job.h"
#include "shardwheel/store/plan.h"
#include "store/conn/session.h"

/* Locks the shard row, so that a takeover waits for us and we wait for one, and holds our epoch against it (ERR_STATE).
 * *step is the distance between the ids of one INSERT; read here, in the same transaction, since cluster servers change
 * it. So are the guards, of which there must be one where they are asked for (not NULL). */
MUST_CHECK enum err store_lock_shard(struct store_session *s, int shard, int64_t epoch, int64_t *step,
                                     struct claim_guards *guards, struct errctx *ec);

/* What was read behind store_lock_shard holds: no commit that was under way at another member of a Galera cluster comes
 * after it. */
MUST_CHECK enum err store_end_reading_back(struct store_session *s, struct errctx *ec);

/* What is known of a job of the claim. */
enum claim_state {
    CLAIM_OTHER,    /* not looked at yet, or not what was read */
    CLAIM_SAME,     /* locked and compared */
    CLAIM_ADVANCED, /* written already, by a statement that compared it */
};

/* Advances jobs of equal times and schedules, many in a statement that compares them itself; their state becomes
 * CLAIM_ADVANCED. *refuted: one of them is not what was read: the transaction is to be rolled back. */
MUST_CHECK enum err store_advance_groups(struct store_session *s, const struct claim_job *jobs, enum claim_state *state,
                                         size_t count, bool *refuted, struct errctx *ec);
/* Advances jobs[i] where CLAIM_SAME, inside the transaction that locked them. */
MUST_CHECK enum err store_advance_claimed(struct store_session *s, const struct claim_job *jobs,
                                          const enum claim_state *state, size_t count, struct errctx *ec);
/* Inserts the fires of jobs[i] where not CLAIM_OTHER and fills in their log_id and row_hash. `step` is the session's
 * auto_increment_increment. */
MUST_CHECK enum err store_insert_fires(struct store_session *s, struct claim_job *jobs, const enum claim_state *state,
                                       size_t count, int64_t step, struct errctx *ec);

/* An INSERT up to its VALUES, and a row for due times without a fire: the mark, how many there were, from when to when,
 * and the two texts that say why. */
extern const char store_skipped_columns[];
void store_put_skipped(struct store_session *s, int64_t group, int64_t job_id, const struct skipped *skipped,
                       const char *why, const char *rule, enum text_fit fit);
/* Behind them, a row for what jobs[i] was due and has no fire for. */
MUST_CHECK enum err store_insert_skipped(struct store_session *s, const struct claim_job *jobs,
                                         const enum claim_state *state, size_t count, struct errctx *ec);

/* The open row of a fire. */
struct fire_row {
    struct fire *fire;
    const char *handler, *param;
    int retry_count;
    const char *message; /* behind the mark of one that is written ahead */
};
/* Inserts them, many in a statement, and fills in their log_id; direct fires where `incarnation` is not NULL. A text
 * that does not fit an old table is changed no more than it needs. */
MUST_CHECK enum err store_insert_rows(struct store_session *s, const struct fire_row *rows, size_t count,
                                      const char *incarnation, int64_t step, struct errctx *ec);

/* One transaction: those of the rows of the log that meet the condition, ") AND ...", end as failed, "delivery
 * unknown". plan/logs.c */
MUST_CHECK enum err store_end_unsent(struct store_session *s, const char *condition, const int64_t *log_ids,
                                     size_t count, size_t *ended, struct errctx *ec);

/* A column of a SELECT: the guards that are alive now, for store_parse_guards; NULL when there is none.
 * store/guard.c. */
extern const char store_guards_column[];
void store_parse_guards(const char *text, struct claim_guards *out);
MUST_CHECK enum err store_load_guards(struct store_session *s, struct claim_guards *out, struct errctx *ec);

#endif

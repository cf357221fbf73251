/* SPDX-License-Identifier: MIT */
/* claim: the two halves of a claim, in files of their own. Private to store. */
#ifndef STORE_CLAIM_H
#define STORE_CLAIM_H

#include "store/session.h"

/* Advances jobs[i] where same[i], inside the transaction that locked them. */
MUST_CHECK enum err store_advance_claimed(struct store_session *s, const struct claim_job *jobs, const bool *same,
                                          size_t count, struct errctx *ec);
/* Inserts the fires of jobs[i] where same[i] and fills in their log_id and row_hash. `step` is the session's
 * auto_increment_increment. */
MUST_CHECK enum err store_insert_fires(struct store_session *s, struct claim_job *jobs, const bool *same, size_t count,
                                       int64_t step, struct errctx *ec);

/* An INSERT up to its VALUES, and one row of them: an open row of that fire. */
extern const char store_fire_columns[];
void store_put_fire(struct store_session *s, const struct fire *f, const char *handler, const char *param,
                    int retry_count, const char *mark, struct fitting how);

/* A column of a SELECT: the guards that are alive now, for store_parse_guards; NULL when there is none. store/guard.c. */
extern const char store_guards_column[];
void store_parse_guards(const char *text, struct claim_guards *out);

#endif

/* SPDX-License-Identifier: MIT */
/* audit: the row of a change, written in its transaction. Private to store. */
#ifndef STORE_PEOPLE_AUDIT_H
#define STORE_PEOPLE_AUDIT_H

#include "shardwheel/store/audit.h"
#include "store/conn/rows.h"

/* Within the transaction of the session. NULL: nothing is written. */
MUST_CHECK enum err store_put_audit(struct store_session *s, const struct audit_row *row, struct errctx *ec);
/* The end of a change: where all went well so far (e is ERR_OK), the row and the commit; else, and when they fail, all
 * of the transaction is undone. Returns what went wrong. */
MUST_CHECK enum err store_end_audited(struct store_session *s, enum err e, const struct audit_row *row,
                                      struct errctx *ec);
/* The same of a change that made a row, whose id becomes the target. */
MUST_CHECK enum err store_end_added(struct store_session *s, enum err e, const struct audit_row *row, int64_t id,
                                    struct errctx *ec);

/* Sends s->sql. ERR_NOTFOUND: it matched no row, so "there is no such" one. */
MUST_CHECK enum err store_exec_found(struct store_session *s, const char *one, struct errctx *ec);

/* Tables of ours with few rows that people keep, each by its id. */
struct audited_table {
    const char *table;
    const char *one;      /* what a row is called: "channel" */
    const char *new_one;  /* "a channel" */
    const char *has_same; /* of another one that has what must differ: "another channel has the name X" */
    int64_t max;          /* rows */
};
/* One transaction: changes the row, or adds one (id 0) and writes its id to *added. `same` and `members`, with their
 * values, are SQL_VALUES: the condition that no other row may meet, and an assignment of each column. All rows are
 * locked, so that two at once do not pass both. ERR_NOTFOUND: that id is not there; ERR_STATE: see has_same; ERR_BUSY:
 * there are `max`. */
MUST_CHECK enum err store_put_audited(struct store_session *s, const struct audited_table *t, int64_t id,
                                      const char *same, const struct sql_value *same_values, const char *members,
                                      const struct sql_value *values, const struct audit_row *audit, int64_t *added,
                                      struct errctx *ec);
/* One transaction. ERR_NOTFOUND. */
MUST_CHECK enum err store_remove_audited(struct store_session *s, const struct audited_table *t, int64_t id,
                                         const struct audit_row *audit, struct errctx *ec);

#endif

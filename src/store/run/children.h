/* SPDX-License-Identifier: MIT */
/*
 * children: which runs of a batch of callbacks are those of jobs with children, and what is written for these in the
 * transaction that stores the callbacks. Private to store.
 */
#ifndef STORE_RUN_CHILDREN_H
#define STORE_RUN_CHILDREN_H

#include "store/conn/rows.h"
#include "shardwheel/store/run.h"

/* A run whose job has children. */
struct parent {
    int64_t log_id;
    int64_t job_id;
    const char *list; /* child_jobid, not blank */
};

STORE_LIST(parents, struct parent, items); /* ascending by log_id */

/* Of the entries that say 200 and are not known to be childless. Locks nothing and is no part of a transaction: for
 * nearly all batches this is all that children cost. `ids` is room for `count`. */
MUST_CHECK enum err store_find_parents(struct store_session *s, const struct callback_entry *entries, size_t count,
                                       int64_t *ids, struct parents *out, struct errctx *ec);
const struct parent *parents_find(const struct parents *parents, int64_t log_id); /* NULL: it is none */

/* A run that this transaction ends well. */
struct parent_run {
    const struct parent *parent;
    int generation;
    struct buf *message; /* the lines about its children are added */
};
/* Within the transaction: writes the rows of the children, appends their fires to *made, and the lines to the messages.
 * The caller owns *made, on errors too. */
MUST_CHECK enum err store_add_children(struct store_session *s, const struct parent_run *runs, size_t count,
                                       int64_t now_s, const char *incarnation, struct fire **made, struct errctx *ec);
/* After the end of that transaction: takes the fires over by what came of it. */
void children_take(struct children *children, struct fire *made, enum err outcome);

#endif

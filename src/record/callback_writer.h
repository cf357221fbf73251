/* SPDX-License-Identifier: MIT */
/*
 * callback_writer: one transaction of callbacks: with the results that wait for them, and with the children of runs
 * that ended well, which are sent after the commit.
 *
 * Threads     The writer's.
 * Invariants  Nothing is stored while it is not known whether the last children are there.
 */
#ifndef RECORD_CALLBACK_WRITER_H
#define RECORD_CALLBACK_WRITER_H

#include "record/batch.h"
#include "shardwheel/counters.h"

struct callback_writer {
    const struct complete_opts *opts;
    const struct clock *clock;
    struct counters *counters;
    struct direct_sender sender; /* of children */
    struct direct_doubt doubt;   /* children of a transaction whose outcome is unknown */
    int64_t last_failure_log_ms;
    bool failing; /* a failure was logged and no success since */
};

void callback_writer_init(struct callback_writer *w, const struct complete_opts *opts, const struct clock *clock,
                          struct counters *counters);
void callback_writer_fini(struct callback_writer *w);
/* Once: whoever has time left repeats what failed. After a commit the outcomes are in the submissions. */
MUST_CHECK enum err callback_writer_write(struct callback_writer *w, struct batch *batch, struct errctx *ec);
/* Children that are in doubt, or too late and not ended yet: looked up, or ended. After an error they still are. */
bool callback_writer_has_children_left(const struct callback_writer *w);
enum err callback_writer_settle(struct callback_writer *w, struct errctx *ec);
MUST_CHECK enum err callback_writer_end(struct callback_writer *w, struct errctx *ec); /* for the last time */

#endif

/* SPDX-License-Identifier: MIT */
/*
 * batch: what one transaction of callbacks is made of: submissions, copied from their waiters.
 *
 * Ownership   A submission holds its own copy of entries and texts, so that a waiter may give up at any time. It
 *             belongs to its waiter, but for the time that the writer has it: when the waiter gives up then, the writer
 *             frees it.
 * Threads     Members of a submission tagged [lock] are guarded by the lock of struct complete. A batch is the writer's
 *             alone.
 */
#ifndef RECORD_BATCH_H
#define RECORD_BATCH_H

#include <sys/queue.h>

#include "shardwheel/record.h"

#define BATCH_ENTRIES COMPLETE_ENTRIES_MAX /* in one transaction */
#define BATCH_BYTES ((size_t)8 << 20)      /* of submissions in it, but for a first one that is larger */

enum submission_state { SUBMISSION_QUEUED, SUBMISSION_WRITING, SUBMISSION_DONE };

struct submission {
    TAILQ_ENTRY(submission) queued; /* [lock] */
    struct cond done;               /* with lock: the waiter waits here */
    struct callback_entry *entries; /* [writer] while WRITING, else the waiter's */
    size_t count;                   /* [const] */
    size_t bytes;                   /* [const] memory held */
    enum submission_state state;    /* [lock] */
    bool abandoned;                 /* [lock] the waiter has gone: whoever ends it frees it */
    int64_t deadline_ms;            /* [const] monotonic */
    enum err result;                /* [lock] once DONE */
    struct errctx ec;               /* [lock] once DONE */
};

TAILQ_HEAD(submission_queue, submission);

/* Texts longer than the column could ever hold are cut when they are copied. */
MUST_CHECK enum err submission_create(const struct callback_entry *entries, size_t count, struct submission **out,
                                      struct errctx *ec);
void submission_destroy(struct submission *sub);
void submission_copy_outcomes(const struct submission *sub, struct callback_entry *entries);

struct batch {
    struct submission *subs[BATCH_ENTRIES];
    size_t subs_count;
    struct callback_entry entries[BATCH_ENTRIES]; /* of all submissions, in order */
    size_t count;
    size_t bytes; /* of the submissions */
};

struct batch_tally {
    int64_t stored, repeated, foreign;
    int64_t succeeded; /* of those stored */
};

/* False when the submission does not fit beside what is there. An empty batch takes any. */
bool batch_add(struct batch *batch, struct submission *sub);
void batch_fill(struct batch *batch); /* makes `entries` anew from `subs` */
/* Before a try to write it: the entries whose results wait bring them along. After it: what came of them. Those of a
 * submission with a refusal count as not written: which of its entries are stored is not known. */
void batch_claim_results(struct batch *batch, struct results *results);
void batch_settle_results(struct batch *batch, struct results *results, bool committed);
/* After a commit: writes the outcomes into the submissions that are not refused, and counts and logs them. */
struct batch_tally batch_end(struct batch *batch);
/* Then: offers the runs that have ended to those whose logs are kept. */
void batch_offer_logs(const struct batch *batch, struct keep_offers *keep);
/* The database refused something in this batch (ERR_INPUT): each submission by itself, halved down to the entry; an
 * entry that is refused alone is tried again with its text in ASCII; if that fails too, its submission's result says
 * so. Errors of other kinds are returned. */
MUST_CHECK enum err batch_write_apart(struct batch *batch, struct store_session *s, int64_t now_s,
                                      struct children *children, struct errctx *ec);

#endif

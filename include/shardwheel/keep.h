/* SPDX-License-Identifier: MIT */
/*
 * keep: a log that outlives its executor: when a run has ended, its log is fetched from its executor and written into
 * the database (store/kept.h).
 *
 *   keep_offer     whoever has written the end of a run offers it: callbacks, stopped and lost runs
 *   struct keep    the thread that looks which of these are to be kept, fetches and writes them
 *
 * Threads     keep_offer: any, a few instructions. One thread of its own, with connections of its own.
 * Invariants  Nothing waits for a log: what is too much is dropped, and counted by its reason. Few requests are under
 *             way, fewer at one executor, and one that cannot be reached is left alone for a while. While fires that
 *             are due go out, no new request is made for a moment. A run is kept once, whoever fetches it: the first
 *             log stays. What was offered and not written when a node ends is not kept, nor are runs whose ends a Java
 *             admin wrote.
 * Memory      Bounded: OFFERS_MAX ids, WAITING_MAX runs, FETCHES_MAX answers of at most HTTP_ANSWER_MAX.
 */
#ifndef SHARDWHEEL_KEEP_H
#define SHARDWHEEL_KEEP_H

#include "shardwheel/base.h"
#include "shardwheel/counters.h"
#include "shardwheel/job/kept.h"

#define KEEP_TEXT_MAX ((size_t)1024 * 1024 + 1024) /* bytes of a kept text, its marks among them */

/* ---- runs that have ended: keep/offers.c ------------------------------------------------------------------------- */

struct keep_offers;

MUST_CHECK enum err keep_offers_create(struct counters *counters, struct keep_offers **out, struct errctx *ec);
void keep_offers_destroy(struct keep_offers *offers); /* NULL is fine */
/* After its end is committed. maybe_failed: it did not end well, or that is not known. NULL offers: nothing is kept. */
void keep_offer(struct keep_offers *offers, int64_t log_id, bool maybe_failed);

/* ---- the thread: keep/keep.c ------------------------------------------------------------------------------------- */

struct access_box;
struct executor_networks;
struct keep;
struct resolver;
struct store;

struct keep_opts {
    struct store *store;
    struct keep_offers *offers; /* outlives it, as all below */
    struct resolver *resolver;
    const struct executor_networks *networks;
    struct access_box *access;     /* with what executors are asked; set before the start */
    enum kept_which which;         /* of jobs that do not say it */
    size_t text_max;               /* bytes of one text */
    bool (*is_sending)(void *arg); /* fires that are due go out; any thread; may be NULL */
    void *arg;
};

MUST_CHECK enum err keep_create(const struct keep_opts *opts, const struct clock *clock, struct counters *counters,
                                struct keep **out, struct errctx *ec);
MUST_CHECK enum err keep_start(struct keep *k, struct errctx *ec);
/* Nothing is offered any more. What waits is kept as far as that takes KEEP_STOP_MS. */
#define KEEP_STOP_MS 2000
void keep_stop(struct keep *k);
void keep_join(struct keep *k);
void keep_destroy(struct keep *k); /* NULL is fine */

/* ---- reading: keep/read.c ---------------------------------------------------------------------------------------- */

struct store_session;

/* What is kept of the log of a run. */
struct keep_copy {
    struct buf text; /* with lines that say where a part of it is missing */
    int64_t at_ms;   /* when the executor gave it */
    bool is_cut;     /* a part is missing */
};
/* ERR_NOTFOUND: nothing is kept. ERR_STATE: what is kept cannot be read. Free with keep_copy_fini after success. */
MUST_CHECK enum err keep_read(struct store_session *s, int64_t log_id, int64_t job_id, struct keep_copy *out,
                              struct errctx *ec);
void keep_copy_fini(struct keep_copy *copy); /* all zero is fine */
/* Pure, keep/pack.c. The text of a kept log, which has text_len bytes. ERR_STATE: the data is not what was written. */
MUST_CHECK enum err keep_unpack(const unsigned char *data, size_t len, size_t text_len, struct buf *out,
                                struct errctx *ec);

#endif

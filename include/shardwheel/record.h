/* SPDX-License-Identifier: MIT */
/*
 * record: how the end of a run reaches its row in xxl_job_log. All that is written to a row after it was made:
 *
 *   what                              by whom                                when
 *   -------------------------------   ------------------------------------   -----------------------------------
 *   result of dispatch: a failure,    results.c, many rows in a              within 50 ms
 *     or not as it was planned        transaction
 *   success as planned (its code)     callbacks.c, with the callback of      when the callback comes
 *                                     the run, by the same statement
 *                                     results.c, where the callback did      after RESULT_WAIT_MS; later while
 *                                     not come in time                       callbacks are behind
 *   callback of an executor           callbacks.c, many in a transaction     within 20 ms; answered after the
 *                                                                            commit
 *   "killed by hand"                  runs.c                                 when the executor has stopped it
 *   "delivery unknown"                schedule/shard/settle.c, follow/       times.h says when
 *   lines about children, and the     callbacks.c, with the callback         sent after that commit
 *     children's own rows
 *   removed: the job was stopped      schedule/ring/prepare.c                before its second
 *   alarm_status, a line about a      follow/                                within 10 s after the failure
 *     retry
 *
 * Who comes second changes nothing: trigger_code is written where it is 0 only, handle_code where it is 0 only. But a
 * callback at another node may be first: it writes success as planned, which a delivery in another way overwrites.
 *
 * Threads     Two of its own: `results` and `callbacks`, each with a session of its own.
 * Invariants  A callback that was answered with success is committed. A result that was posted is committed, unless the
 *             node is stopped while the database is away.
 * Facts       First stored result wins; forms and codes: docs/wire.md.
 */
#ifndef SHARDWHEEL_RECORD_H
#define SHARDWHEEL_RECORD_H

#include "shardwheel/base.h"
#include "shardwheel/counters.h"
#include "shardwheel/keep.h"
#include "shardwheel/store/run.h"

/* ---- results of dispatch: record/results.c ----------------------------------------------------------------------- */

/* Whether the callback of a run has come; guarded by the locks of record/pairs.c. */
enum pair_state {
    PAIR_NONE,    /* nobody looks for it */
    PAIR_OPEN,    /* no callback has come yet */
    PAIR_CLAIMED, /* its callback is being committed, with the code of the result */
    PAIR_WRITTEN, /* that is done: the row is complete */
};

/* How the sending of one fire ended. Embedded in what its owner keeps of the fire; zero-initialised but for the first
 * two. */
struct result {
    int64_t log_id;
    int64_t job_id;           /* for the log */
    int64_t deadline_boot_ms; /* of the sending: who comes later does not wait for its callback */
    bool childless;           /* its job named no children when it was sent */
    struct fire_result row;   /* what the row is told; filled in before it is posted, texts stay the owner's */
    /* The rest is record's. */
    struct result *next; /* the list it is in */
    struct result *prev;
    struct result *pair_next;
    uint64_t sent; /* results_note_sent's number */
    enum pair_state pair;
    bool waits; /* for its callback */
    int64_t posted_mono_ms;
};

struct result_list {
    struct result *head;
    struct result *tail;
    size_t count;
};
void result_list_add(struct result_list *list, struct result *r);

/*
 * results: commits the results of dispatch, many in one transaction.
 *
 * Threads     Any thread calls results_post, which never waits for the database. One thread of its own writes.
 * Invariants  A batch is written when it is full (1,000), or 50 ms after its first result came. A success as planned
 *             waits half a second for its callback, or up to 10 s while callbacks are behind, 1,000 or more wait, and a
 *             quarter of the last ones got theirs in time. Where fewer did, and fewer than 1,000 results are there, all
 *             but one of 16 do not wait at all. It is done with at once when that has brought it along; the wait is cut
 *             short when more than waiting_max wait, and when the writer is told to hurry or stopped. A batch that
 *             fails is repeated until it is committed or the writer is stopped; a repeat after an unknown outcome is
 *             harmless. Where the database refuses a batch its rows go one by one, and a row that is refused by itself
 *             is written once more with plain texts before it is given up, with a log line.
 * Ownership   results_post takes the results; `done` gives each back, one by one. Their number is bounded by who posts.
 */
struct results;

struct results_opts {
    struct watch *watch; /* of the writer's thread; NULL: none */
    struct store *store;
    size_t waiting_max;      /* results that may wait for their callbacks */
    const char *incarnation; /* of this run of the node; outlives the object */
};

MUST_CHECK enum err results_create(const struct results_opts *opts, const struct clock *clock,
                                   struct counters *counters, struct results **out, struct errctx *ec);
/* Whom to tell, before anything is posted; any thread calls both. done: the result is its owner's again, to be freed.
 * committed: so many are done with. */
void results_serve(struct results *results, void (*done)(void *arg, struct result *r),
                   void (*committed)(void *arg, size_t count), void *arg);
MUST_CHECK enum err results_start(struct results *results, struct errctx *ec);
/* Before its request can be sent: from now on its callback may bring the result along, if its row was written ahead and
 * a success leaves nothing but the code to be written. Of several with one log id only the first is looked for. */
void results_expect(struct results *results, struct result *r);
void results_forget(struct results *results, struct result *r);       /* ... no more: it is not as planned */
void results_post(struct results *results, struct result_list *list); /* the list ends empty */
/* For the callback of this log: true when it shall write the result's code too (callback_entry.delivers);
 * results_settle follows, and *childless is that of the result. A claim promises nothing to the result: if its time
 * comes meanwhile, it is written by itself, and twice does no harm. */
bool results_claim(struct results *results, int64_t log_id, bool *childless);
/* written: committed for sure; otherwise the result is written by itself. */
void results_settle(struct results *results, int64_t log_id, bool written);
/* Any thread: more callbacks come than are being written. For some seconds results may wait longer for them. */
void results_note_behind(struct results *results);
/* Fires that are handed to dispatch: they are remembered for a minute. Returns the number of the first, for its result;
 * the others of the list have those that follow. */
uint64_t results_note_sent(struct results *results, const struct fire *list);
/* Callbacks that are about to be stored, likewise. */
void results_note_ends(struct results *results, const struct callback_entry *entries, size_t count);
/* A database server is in use that may have lost the last commits: what is remembered is compared with it soon. A row
 * that is gone is written again, a result or an end too; none of it is retried or alarmed. Does not wait. */
void results_compare(struct results *results);
/* What was sent is not compared yet. */
bool results_is_comparing(struct results *results);
void results_hurry(struct results *results); /* any thread: from now on nothing waits for its callback */
/* No more posts come: what is there is tried once more, then the thread ends. */
void results_stop(struct results *results);
void results_join(struct results *results);
void results_destroy(struct results *results); /* NULL is fine; what could not be written is given back by `done` */

/* ---- direct fires: record/direct.c ------------------------------------------------------------------------------- */

/* Who writes rows of direct fires sends them by this. Belongs to one thread at a time. */
struct direct_sender {
    struct store *store;                          /* [const] */
    const struct clock *clock;                    /* [const] */
    struct counters *counters;                    /* [const] */
    void (*submit)(void *arg, struct fire *list); /* [const] as dispatch_submit_direct; takes the fires */
    void *arg;                                    /* [const] */
    struct fire *late;    /* [thread] too late to be sent, rows still open: the database was away. Owned */
    struct log_limit log; /* [atomic] */
};
/* Takes fires whose rows are committed, by a transaction that was begun at that time of the boot clock. They are sent,
 * or end as "not sent: too late" where that is longer ago than a direct fire may wait (times.h). */
void direct_send(struct direct_sender *d, struct fire *list, int64_t begun_boot_ms);
/* Whoever has a sender calls this every few seconds: what could not be ended as too late is tried again. */
void direct_end_late(struct direct_sender *d);
void direct_sender_fini(struct direct_sender *d); /* rows that are open still are ended when this node is gone */

/* Fires of a transaction whose outcome is unknown. They own their memory until they are settled. */
struct direct_doubt {
    struct fire *list; /* NULL: none */
    int64_t begun_boot_ms;
};
/* On another session: sends them if they were committed, which *committed tells (it may be NULL), else drops them.
 * After an error they are in doubt still. */
MUST_CHECK enum err direct_settle(struct direct_sender *d, struct store_session *s, const char *incarnation,
                                  struct direct_doubt *doubt, bool *committed, struct errctx *ec);

/* For a thread that ends: behind it nobody would send them. Tries it so often, as long as there is a session. */
#define DOUBT_END_TRIES 5
MUST_CHECK enum err direct_settle_at_end(struct direct_sender *d, const char *incarnation, struct direct_doubt *doubt,
                                         struct errctx *ec);

/* ---- one run, at its executor: record/runs.c --------------------------------------------------------------------- */

struct executor_calls; /* executor/call.h */
struct http_tls;
struct log_answer;

/* Any thread; both wait for the database and for the executor, timeout_ms at most for the latter. */
struct run_calls {
    struct store *store;
    struct executor_calls *calls;
    const struct clock *clock;
    const char *access_token; /* the global one */
    int64_t timeout_ms;
    const struct http_tls *tls;
    struct keep_offers *keep; /* to which a stopped run is offered; NULL: to none */
};
/* Stops the run's job at its executor, where that has every run of it end, and ends the row as failed: so it is retried
 * and alarmed like any failure. A row that the executor ends first stays as it is. The row's message is `head`, and
 * where the executor said something `between` and that; it is appended to `said`, too, which may be NULL, also of an
 * executor that refuses. ERR_NOTFOUND, ERR_STATE: it has ended or is with no executor; ERR_BUSY: it is being sent;
 * ERR_LOST: the executor did not, or is not there. */
struct kill_words {
    const char *head, *between;
};
MUST_CHECK enum err run_kill(const struct run_calls *with, int64_t log_id, const struct kill_words *words,
                             struct buf *said, struct errctx *ec);

/* Lines of what the run has logged, from `from_line` on (from 1). *is_over: the run had ended before they were asked
 * for, so no line comes after an answer without any. Errors as above, and nothing is to be freed then. A log that is
 * not there (yet) is no error (is_missing). */
MUST_CHECK enum err run_read_log(const struct run_calls *with, int64_t log_id, int64_t from_line, bool *is_over,
                                 struct log_answer *out, struct errctx *ec);

/* ---- callbacks of executors: record/callbacks.c ------------------------------------------------------------------ */

struct complete;

struct complete_opts {
    struct watch *watch; /* of the writer's thread; NULL: none */
    struct store *store;
    struct results *results; /* which callbacks bring along */
    /* Any thread: true while fires that are due go out one after the other and more wait. Callbacks let them pass for a
     * moment, since they take the same cores. */
    bool (*is_sending)(void *arg);
    /* Children of jobs that ended well: as dispatch_submit_direct; any thread. NULL: none are made. */
    void (*submit)(void *arg, struct fire *list);
    struct keep_offers *keep; /* to which runs that have ended are offered; NULL: to none */
    const char *incarnation;  /* of this run of this node; outlives the object */
    void *arg;
};

/*
 * Invariants  The children of a run are made once among our nodes, however often and wherever its callback comes: their
 *             rows are in the transaction that stores the result, and they are sent after its commit. One whose outcome
 *             is unknown is looked up before anything else is stored, and within 200 ms when no other callback comes.
 *             Of a node that dies in between the children end as "delivery unknown", as all direct fires do.
 */
MUST_CHECK enum err complete_create(const struct complete_opts *opts, const struct clock *clock,
                                    struct counters *counters, struct complete **out, struct errctx *ec);
MUST_CHECK enum err complete_start(struct complete *c, struct errctx *ec);
#define COMPLETE_ENTRIES_MAX 2000 /* in one submission; a call that brings more submits a piece after the other */
/* Of a call that comes in now: about a second. */
int64_t complete_get_deadline(const struct complete *c);
/* Any number of threads. Blocks until the entries are committed (ERR_OK, outcomes filled in) or until the deadline
 * (ERR_TIMEOUT, ERR_LOST, ERR_BUSY: the executor must send them again; storing them twice is harmless). All pieces of a
 * call have its deadline: those that are stored stay stored, and the repeat of the call finds them. */
MUST_CHECK enum err complete_submit(struct complete *c, struct callback_entry *entries, size_t count,
                                    int64_t deadline_mono_ms, struct errctx *ec);
void complete_stop(struct complete *c); /* what waits is committed or refused */
void complete_join(struct complete *c);
void complete_destroy(struct complete *c);

#endif

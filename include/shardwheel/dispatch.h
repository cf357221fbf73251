/* SPDX-License-Identifier: MIT */
/*
 * dispatch: routes fires to executors, POSTs them, and hands what came of it to record.
 *
 * Threads     dispatch_submit is called by the ring thread alone (it owns the state of the routes),
 *             dispatch_submit_direct by any thread until dispatch_join. Event-driven loops (few threads) hold the
 *             connections. Nothing waits for one slow thing: a slow executor has a queue and a bound of its own and
 *             costs a socket.
 * Invariants  A fire is POSTed at most once, never before its due second and never after its deadline (boot clock,
 *             checked right before the write). Every fire that was submitted ends as exactly one result (record.h).
 * Ownership   What submits takes the fires. `results` tells dispatch of its rows from dispatch_create on; it is started
 *             before and stopped after dispatch, and destroyed before it, since what was not written comes back.
 * Facts       Paths, headers and answers of executors: docs/wire.md.
 */
#ifndef SHARDWHEEL_DISPATCH_H
#define SHARDWHEEL_DISPATCH_H

#include "shardwheel/base.h"
#include "shardwheel/counters.h"
#include "shardwheel/registry.h"
#include "shardwheel/job.h"
#include "shardwheel/job/words.h"

struct dispatch;
struct access_box;
struct executor_networks;
struct resolver;
struct results;

struct dispatch_opts {
    int threads;           /* event loops, at least 1 */
    int per_address;       /* the most requests under way at one address; 4 while it is slow */
    size_t queue_max;      /* fires taken in and not ended; beyond it a fire ends as failed "too many fires waiting" */
    size_t results_max;    /* requests under way and results not yet written; beyond it no new request is sent */
    const char *node_name; /* shown in trigger_msg, as the next; both outlive dispatch */
    const char *admin_ip;
    struct access_box *access; /* set before the first submission; outlives dispatch */
    struct message_style style;
    bool bean_only;                                   /* jobs of other glue types are not sent */
    struct watch *watch;                              /* of the loops; NULL: none */
    struct resolver *resolver;                        /* of executors' names; outlives dispatch */
    const struct executor_networks *networks;         /* which addresses may be called; NULL: the built-in rules */
    void (*sent)(void *arg, int shard, size_t count); /* any thread: so many fires of the shard are no longer unsent */
    void *arg;
};

MUST_CHECK enum err dispatch_create(const struct dispatch_opts *opts, struct registry *registry,
                                    struct results *results, const struct clock *clock, struct counters *counters,
                                    struct dispatch **out, struct errctx *ec);
MUST_CHECK enum err dispatch_start(struct dispatch *d, struct errctx *ec);
/* Fires of one second whose cursor has been moved: each is prepared (routed, its request written) at once and sent when
 * the wall clock reaches its due_s. Each has its job attached. deadline_boot_ms: see the invariant. */
void dispatch_submit(struct dispatch *d, struct fire *list, int64_t deadline_boot_ms);
/* Fires that are no shard's: their rows are written and committed, `shard` is -1, the job is attached, due_s is now.
 * They are sent at once, no later than SEND_DEADLINE_MS from now. Any thread; waits for nothing. */
void dispatch_submit_direct(struct dispatch *d, struct fire *list);
/* Another database server is in use, which may have lost commits: see results_compare. Any thread. */
void dispatch_compare_sent(struct dispatch *d);
bool dispatch_is_comparing_sent(struct dispatch *d); /* see results_is_comparing; any thread */
/* The ring thread. False while requests under way and results that are not written are an eighth of results_max, 1,000
 * at least: what is submitted meanwhile would hold these up. That is logged, and when it is less than half of it
 * again. */
bool dispatch_has_room(struct dispatch *d);
size_t dispatch_count_open(struct dispatch *d); /* fires without a committed result */
/* Sends nothing new: what was not sent ends as failed; waits for answers and for their results to be committed, until
 * the monotonic deadline. No result waits for its callback any more. Call dispatch_stop afterwards. False when
 * something was left at the deadline. */
bool dispatch_drain(struct dispatch *d, int64_t deadline_mono_ms);
void dispatch_stop(struct dispatch *d);
void dispatch_join(struct dispatch *d);
void dispatch_destroy(struct dispatch *d);

/* Any thread: true while fires of this moment go out one after the other and more are waiting. What competes with them
 * for the cores and can wait a little should. */
bool dispatch_is_sending(struct dispatch *d);

/* ---- the text of trigger_msg, behind the mark: dispatch/message.c. Pure ------------------------------------------ */

#define DISPATCH_MESSAGE_MAX 60000 /* bytes */

struct message_facts {
    struct message_style style;
    const struct fire *fire;
    const struct job_spec *job;         /* as the run gets it */
    const struct registry_group *group; /* NULL when it is gone */
    const char *node_name;
    const char *admin_ip;
    const char *address; /* NULL when there is none */
    int code;
    bool from_executor; /* code and text are the executor's own */
    const char *text;   /* may be NULL */
    const char *asked;  /* HTML: what those said who were asked first and said no; may be NULL */
};
/*
 * HTML lines joined by <br>; everything foreign is escaped and cut. No log id and no clock goes in, but the due time of
 * a late fire, so that rows of equal settings and outcome share one UPDATE.
 *
 * A success is written into the row when the fire is planned. In the short style it has few words, the same for all
 * fires of a node and a route that are in time: what they leave out stands in the row's columns. The full style tells
 * everything in the layout of xxl-job 3.3 and later.
 */
void dispatch_put_message(struct buf *out, const struct message_facts *facts);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * dispatch: routes fires to executors, POSTs them, and writes what came of it.
 *
 * Threads     dispatch_submit is called by the ring thread alone (it owns the state of the routes), dispatch_submit_direct by
 *             any thread until dispatch_join. Event-driven loops (few threads) hold the connections; one result writer commits results in batches. Nothing waits for one slow thing:
 *             a slow executor has a queue and a bound of its own and costs a socket. What is for callbacks
 *             may be called by any thread, also between dispatch_join and dispatch_destroy.
 * Invariants  A fire is POSTed at most once, never before its due second and never after its deadline (boot clock, checked
 *             right before the write). Every fire that was submitted ends as exactly one result.
 * Ownership   What submits takes the fires.
 * Facts       Paths, headers and answers of executors: docs/wire.md.
 */
#ifndef SHARDWHEEL_DISPATCH_H
#define SHARDWHEEL_DISPATCH_H

#include "shardwheel/base.h"
#include "shardwheel/registry.h"
#include "shardwheel/store.h"

struct dispatch;

struct dispatch_opts {
    int threads;           /* event loops, at least 1 */
    int per_address;       /* the most requests under way at one address; 4 while it is slow */
    size_t queue_max;      /* fires taken in and not ended; beyond it a fire ends as failed "too many fires waiting" */
    size_t results_max;    /* requests under way and results not yet written; beyond it no new request is sent */
    const char *node_name; /* shown in trigger_msg */
    const char *admin_ip;  /* shown in trigger_msg */
    void (*sent)(void *arg, int shard, size_t count); /* any thread: so many fires of the shard are no longer unsent */
    void *arg;
};

MUST_CHECK enum err dispatch_create(const struct dispatch_opts *opts, struct registry *registry, struct store *store,
                                    const struct clock *clock, struct counters *counters, struct dispatch **out,
                                    struct errctx *ec);
MUST_CHECK enum err dispatch_start(struct dispatch *d, struct errctx *ec);
/* Any thread; used from the next request on. timeout_ms: from sending to the whole answer. */
void dispatch_set_limits(struct dispatch *d, const char *access_token, int64_t timeout_ms);
/* Fires of one second whose cursor has been moved: each is prepared (routed, its request written) at once and sent when the
 * wall clock reaches its due_s. Each has its job attached. deadline_boot_ms: see the invariant. */
void dispatch_submit(struct dispatch *d, struct fire *list, int64_t deadline_boot_ms);
/* Fires that are no shard's: their rows are written and committed, `shard` is -1, the job is attached, due_s is now. They are
 * sent at once, not later than DISPATCH_DIRECT_DEADLINE_MS from now. Any thread; waits for nothing. */
#define DISPATCH_DIRECT_DEADLINE_MS 20000
void dispatch_submit_direct(struct dispatch *d, struct fire *list);
/* The ring thread. False while requests under way and results that are not written are an eighth of results_max, 1,000 at
 * least: what is submitted meanwhile would hold these up. That is logged, and when it is less than half of it again. */
bool dispatch_has_room(struct dispatch *d);
size_t dispatch_count_open(struct dispatch *d); /* fires without a committed result */
/* Sends nothing new: what was not sent ends as failed; waits for answers and for their results to be committed, until the
 * monotonic deadline. No result waits for its callback any more. Call dispatch_stop afterwards. False when something was left at
 * the deadline. */
bool dispatch_drain(struct dispatch *d, int64_t deadline_mono_ms);
void dispatch_stop(struct dispatch *d);
void dispatch_join(struct dispatch *d);
void dispatch_destroy(struct dispatch *d);

/* Any thread: true while fires of this moment go out one after the other and more are waiting. What competes with them for the
 * cores and can wait a little should. */
bool dispatch_is_sending(struct dispatch *d);

/* ---- callbacks -------------------------------------------------------------------------------------------------- */

/* A success whose row was written ahead waits for its callback (writer.h), so that one statement writes both. Any thread:
 * true when the caller shall write the result together with the callback of that log (callback_entry.delivers). It says then
 * what came of it: `written` when that is committed for sure; otherwise the result is written by itself, and writing it
 * twice does no harm. */
bool dispatch_claim_result(struct dispatch *d, int64_t log_id);
void dispatch_settle_result(struct dispatch *d, int64_t log_id, bool written);
/* Any thread: callbacks come faster than they are written. For some seconds then results may wait longer for them (writer.h). */
void dispatch_note_callbacks_behind(struct dispatch *d);

/* ---- routes -------------------------------------------------------------------------------------------------------- */

/*
 * The state of the routes: whose turn it is, rings. Each belongs to one thread: that of a shard, which routes its fires when it
 * plans them, or the ring thread, which by dispatch_submit routes again what cannot go where it was planned. One is for direct
 * fires, and dispatch locks it.
 * A pick makes no call to anybody. Equal lists give equal consistent-hash picks on every node.
 */
struct routes;

struct route_choice {
    const char *address; /* of the group or the fire; NULL: nobody to send to, `reason` says why */
    char reason[240];
};

/* Equal seeds give equal counters of ROUND; 0: some seed. */
MUST_CHECK enum err routes_create(uint64_t seed, struct routes **out, struct errctx *ec);
void routes_destroy(struct routes *routes); /* NULL is fine */
/* Begins a round of picks. Within a round the list of a group does not change; between rounds it is compared anew. The state is
 * forgotten after 24 h. */
void routes_begin(struct routes *routes, int64_t now_mono_ms);
/* `route` is that of the job, `group` is NULL when the fire's group is gone. */
void routes_pick(struct routes *routes, const struct fire *fire, const char *route, const struct registry_group *group,
                 struct route_choice *out);

/* What a success leaves behind the mark: the same for all fires of that node and route that are in time. It stands in the row
 * before the fire goes out, so it does not say that it did. Pure. */
void dispatch_put_success(struct buf *out, const struct fire *fire, const char *node_name, const char *route);

/* ---- pure parts of the routes, for tests and tools ---------------------------------------------------------------- */

/* Index of the address that the consistent-hash route picks; count > 0. */
size_t route_pick_consistent_hash(int64_t job_id, const char *const *addresses, size_t count);
/* True for the names that this build can route: FIRST, ROUND, CONSISTENT_HASH, SHARDING_BROADCAST. */
bool route_is_known(const char *strategy);
bool route_is_broadcast(const char *strategy);

#endif

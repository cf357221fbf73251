/* SPDX-License-Identifier: MIT */
/*
 * follow: what follows the end of a run: retries of failed fires, their alarms, and the end of runs that nobody will
 * report.
 *
 * Threads     The failure monitor has a thread that finds failed rows and retries them.
 * Invariants  A failed row is dealt with by one node of the cluster, and its retry is sent at most once.
 */
#ifndef SHARDWHEEL_FOLLOW_H
#define SHARDWHEEL_FOLLOW_H

#include "shardwheel/counters.h"
#include "shardwheel/alarm.h"
#include "shardwheel/job.h"
#include "shardwheel/store/conn.h"
#include "shardwheel/registry.h"

struct failures;

struct failures_opts {
    const char *incarnation; /* of this run of this node */
    struct alarms_opts alarms;
    struct store *store;
    struct registry *registry;
    void (*submit)(void *arg, struct fire *list); /* sends direct fires, as dispatch_submit_direct does; takes them */
    void *arg;
};

/*
 * Every 10 s on every node: failed rows (log_state_is_failed) are taken by compare-and-set of alarm_status, retried
 * where retries are left, and noted for the alarms (alarm.h). It reads each row of xxl_job_log when it is new, and
 * again only while it has no end: the ids of those are kept in memory. At start it looks back 7 days.
 *
 * Open direct fires of an incarnation without a beat for 40 s are ended as "delivery unknown" once their row is 60 s
 * old and was seen open here for 50 s. A node whose beats fail for a while cannot be retried behind its back: its own
 * sends end 20 s after their row was written (later ones end as "not sent: too late"), and results are written only
 * where trigger_code = 0.
 *
 * Settings with which nobody can be told are logged.
 */
MUST_CHECK enum err failures_create(const struct failures_opts *opts, const struct clock *clock,
                                    struct counters *counters, struct failures **out, struct errctx *ec);
MUST_CHECK enum err failures_start(struct failures *f, struct errctx *ec);
/* One pass of the monitor: true when another one should follow at once. For the thread, and for tests, which do not
 * start it. */
bool failures_turn(struct failures *f);
/* The thread's last act: what is in doubt is settled, and sent with all else that is on its way. */
void failures_end(struct failures *f);
void failures_stop(struct failures *f);
void failures_join(struct failures *f);
void failures_destroy(struct failures *f); /* NULL is fine */

#endif

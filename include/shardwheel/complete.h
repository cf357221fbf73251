/* SPDX-License-Identifier: MIT */
/*
 * complete: stores what executors report of their runs, and does what a job asks for when a run failed: retries and alarms.
 *
 * Threads     One writer thread commits many callbacks in one transaction. complete_submit may be called by any number of
 *             threads and returns when its entries are committed, or refused. The failure monitor has a thread that finds
 *             failed rows and retries them, and one that sends mails, which never holds up the other.
 * Invariants  A callback that was answered with success is committed. A failed row is dealt with by one node of the cluster, and
 *             its retry is sent at most once.
 *             A result that waits for its callback is written with it, by the same statement (dispatch_claim_result).
 * Facts       First stored result wins; forms and codes: docs/wire.md.
 */
#ifndef SHARDWHEEL_COMPLETE_H
#define SHARDWHEEL_COMPLETE_H

#include "shardwheel/base.h"
#include "shardwheel/dispatch.h"
#include "shardwheel/registry.h"
#include "shardwheel/store.h"

struct complete;

MUST_CHECK enum err complete_create(struct store *store, struct dispatch *dispatch, const struct clock *clock,
                                    struct counters *counters, struct complete **out, struct errctx *ec);
MUST_CHECK enum err complete_start(struct complete *c, struct errctx *ec);
/* Blocks until the entries are committed (ERR_OK, outcomes filled in) or for about a second (ERR_TIMEOUT, ERR_LOST, ERR_BUSY:
 * the executor must send them again; storing them twice is harmless). */
MUST_CHECK enum err complete_submit(struct complete *c, struct callback_entry *entries, size_t count,
                                    struct errctx *ec);
void complete_stop(struct complete *c); /* what waits is committed or refused */
void complete_join(struct complete *c);
void complete_destroy(struct complete *c);

/* ---- failures: retries and alarms ------------------------------------------------------------------------------ */

struct failures;

enum mail_tls {
    MAIL_TLS_NONE,
    MAIL_TLS_TRY,      /* STARTTLS where the server offers it */
    MAIL_TLS_STARTTLS, /* STARTTLS or no mail */
    MAIL_TLS_WRAPPED,  /* TLS from the first byte on */
};

struct mail_opts {
    const char *host; /* "": no mail is sent */
    int port;
    const char *username; /* "": no login */
    const char *password;
    const char *from; /* "": no mail is sent */
    enum mail_tls tls;
    bool verify; /* the server's certificate */
};

struct failures_opts {
    const char *incarnation; /* of this run of this node */
    const char *node_name;   /* shown in mails */
    struct mail_opts mail;
    struct store *store;
    struct registry *registry;
    void (*submit)(void *arg, struct fire *list); /* sends direct fires, as dispatch_submit_direct does; takes them */
    void *arg;
};

/*
 * Every 10 s on every node: failed rows (log_state_is_failed) are taken by compare-and-set of alarm_status, retried where
 * retries are left, then told by mail. It reads each row of xxl_job_log when it is new, and again only while it has no end: the
 * ids of those are kept in memory. At start it looks back 7 days.
 *
 * Open direct fires of an incarnation without a beat for 40 s are ended as "delivery unknown" once their row is 60 s old and was
 * seen open here for 50 s. A node whose beats fail for a while cannot be retried behind its back: its own sends end 20 s after
 * their row was written (later ones end as "not sent: too late"), and results are written only where trigger_code = 0.
 *
 * A mail server that cannot be used is told once by a log line; so are settings with which no mail can be sent.
 */
MUST_CHECK enum err failures_create(const struct failures_opts *opts, const struct clock *clock,
                                    struct counters *counters, struct failures **out, struct errctx *ec);
MUST_CHECK enum err failures_start(struct failures *f, struct errctx *ec);
/* One pass of the monitor: true when another one should follow at once. For the thread, and for tests, which do not start it. */
bool failures_turn(struct failures *f);
void failures_stop(struct failures *f); /* mails that were not sent count as failed alarms */
void failures_join(struct failures *f);
void failures_destroy(struct failures *f); /* NULL is fine */

#endif

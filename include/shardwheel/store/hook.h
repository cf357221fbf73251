/* SPDX-License-Identifier: MIT */
/*
 * store/hook: webhooks that are told of events (shardwheel_hook), and what they are told (shardwheel_delivery): a row
 * for each event and webhook. See store/conn.h for threads, ownership and errors.
 *
 * Invariants  A row is written in the transaction that writes what it tells of, where the store knows that a webhook
 *             wants such events: see store_learn_hooks. Rows of one line (a job, or a flow) are sent in order: nobody
 *             is given a row while an older one of its line waits.
 * Time        All instants are of the database's clock.
 */
#ifndef SHARDWHEEL_STORE_HOOK_H
#define SHARDWHEEL_STORE_HOOK_H

#include "shardwheel/store/audit.h"

enum hook_kind { HOOK_RUN_ENDED, HOOK_JOB_CHANGED, HOOK_FLOW_ENDED, HOOK_KINDS };
const char *hook_kind_name(enum hook_kind kind); /* "run_ended" */
const char *const *hook_kind_names(void);        /* NULL behind the last */
enum delivery_state { DELIVERY_WAITING, DELIVERY_SENT, DELIVERY_GIVEN_UP, DELIVERY_STATES };
const char *const *delivery_state_names(void); /* "waiting"; likewise */

/* ---- webhooks: hook/hooks.c -------------------------------------------------------------------------------------- */

#define HOOKS_MAX 16

struct hook_row {
    int64_t id;
    const char *name;
    const char *target;    /* a secret */
    const char *secret;    /* "": none */
    int kinds;             /* bits of enum hook_kind */
    int only_failed;       /* of runs and flows those alone that failed */
    const char *app_names; /* between commas; "": all */
    const char *tags;      /* of jobs, between commas; "": all */
    int enabled;
    int64_t changed_ms;
    /* What has become of it: written by those below alone. */
    int failures;      /* tries in a row for which it was away */
    int64_t next_ms;   /* it is not tried before */
    int64_t wait_ms;   /* until then; 0 or less: it may be tried */
    int64_t sent_ms;   /* when it last took one; 0: not yet */
    const char *error; /* of its last try; "": it took it */
    int64_t waiting;   /* rows that wait: of store_load_hooks with `counts` alone, as the next one */
    int64_t oldest_ms; /* since when the oldest of them does; 0: none */
};
STORE_LIST(hook_rows, struct hook_row, rows); /* ascending by id */
MUST_CHECK enum err store_load_hooks(struct store_session *s, bool counts, struct hook_rows *out, struct errctx *ec);
/* As store_put_channel and so on (store/channel.h). A change lets it be tried at once. */
MUST_CHECK enum err store_put_hook(struct store_session *s, const struct hook_row *row, const struct audit_row *audit,
                                   int64_t *added, struct errctx *ec);
MUST_CHECK enum err store_remove_hook(struct store_session *s, int64_t id, const struct audit_row *audit,
                                      struct errctx *ec);

/* Reads which kinds of events enabled webhooks want. From then on this store writes rows for these; before, and in
 * tables of the version before, for none. Any thread. */
MUST_CHECK enum err store_learn_hooks(struct store_session *s, struct errctx *ec);
/* From now on they know the same: `from` outlives the other one, which nobody uses yet. */
void store_share_hooks(struct store *from, struct store *to);

/* ---- deliveries: hook/deliveries.c, hook/outcomes.c -------------------------------------------------------------- */

struct delivery {
    int64_t id, hook_id;
    const char *hook; /* its name */
    int kind;         /* of enum hook_kind */
    int64_t line;     /* id of the job; of a flow below 0 */
    const char *job;  /* its name; "": there is none, or it is gone, as the next one */
    const char *flow;
    int64_t log_id, run_id;
    int state, tries;
    int64_t made_ms, next_ms, ended_ms; /* 0: none */
    int status;
    const char *error;
};
struct delivery_filter {
    int64_t hook_id; /* 0: any, as all here */
    int state;       /* -1: any */
    int64_t job_id;
};
STORE_LIST(deliveries, struct delivery, rows); /* the newest first */
/* Behind before_id (INT64_MAX: from the newest), at most `limit`. The server ends the statement after limit_ms:
 * ERR_TIMEOUT. */
MUST_CHECK enum err store_load_deliveries(struct store_session *s, const struct delivery_filter *filter,
                                          int64_t before_id, size_t limit, int limit_ms, struct deliveries *out,
                                          struct errctx *ec);
/* That one, or none. */
MUST_CHECK enum err store_load_delivery(struct store_session *s, int64_t id, struct deliveries *out, struct errctx *ec);
/* What waits is due at once, what does not waits anew. ERR_NOTFOUND. */
MUST_CHECK enum err store_resend_delivery(struct store_session *s, int64_t id, const struct audit_row *audit,
                                          struct errctx *ec);

/* All that is told of an event, as it is now. What is gone, or does not apply, is 0 or "". */
struct hook_event {
    int64_t id, hook_id;
    int kind, code, tries;
    int64_t line, log_id, run_id, made_ms;
    const char *job_name, *app_name;
    /* Of a run. */
    bool has_run;
    int trigger_code, handle_code, retries_left, retries;
    int64_t triggered_s, ended_s;
    const char *address, *message;
    /* Of a change. */
    const char *who, *action, *audit_name, *before, *after; /* JSON; NULL: none */
    /* Of a flow run. */
    const char *flow_name, *flow_message;
    int flow_state;
    int64_t started_ms, ended_ms;
};
STORE_LIST(hook_events, struct hook_event, rows);
MUST_CHECK enum err store_load_hook_event(struct store_session *s, int64_t id, struct hook_events *out,
                                          struct errctx *ec);
/* Of that webhook those that are due, the oldest of their lines, at most `max` but for those of `busy`. Looks at the
 * thousand that have waited for longest, without lines of which one waits for its time. */
MUST_CHECK enum err store_load_due_events(struct store_session *s, int64_t hook_id, const int64_t *busy,
                                          size_t busy_count, size_t max, struct hook_events *out, struct errctx *ec);

struct delivery_outcome {
    int64_t id, hook_id;
    bool sent;
    bool away;         /* the receiver, not this event alone, is to be left alone for a while */
    int status;        /* 0: no answer */
    const char *error; /* "" */
    int64_t pause_ms;  /* from now on, of the event; of an `away` one also of the webhook */
};
#define DELIVERY_KEPT_MS (INT64_C(24) * 3600 * 1000) /* what has waited for so long when a try fails is given up */
/* One transaction; where an event does not wait any more only its webhook is written. May be repeated. */
MUST_CHECK enum err store_end_deliveries(struct store_session *s, const struct delivery_outcome *list, size_t count,
                                         size_t *given_up, struct errctx *ec);

#define DELIVERY_DAYS 7        /* that sent and given up ones are kept */
#define DELIVERIES_MAX 1000000 /* rows */
/* A step of cleaning, in small statements: gives up what waits for too long for a webhook that is off or away, removes
 * what is old, too much, or of no webhook. *waiting: those of all webhooks. *more: there may be more to do. */
MUST_CHECK enum err store_clean_deliveries(struct store_session *s, int64_t max_rows, size_t *given_up,
                                           int64_t *waiting, bool *more, struct errctx *ec);

#endif

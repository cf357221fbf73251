/* SPDX-License-Identifier: MIT */
/*
 * admin/explain: why a job fired, or did not, in a time range: each due time with what became of it, in one sentence.
 * See admin.h for threads and errors.
 *
 * Sources     Due times from the schedule as it was then: the job as it is now, and back from there by the audit and
 *             by events of edits by others; rows of xxl_job_log; later rows; outages. What none of them tells is said
 *             to be unknown, never made up.
 * Bounds      EXPLAIN_DAYS and EXPLAIN_ITEMS_MAX in a call; what is behind them is another call's, from `until_ms` on.
 */
#ifndef SHARDWHEEL_ADMIN_EXPLAIN_H
#define SHARDWHEEL_ADMIN_EXPLAIN_H

#include "shardwheel/admin.h"
#include "shardwheel/job.h"

#define EXPLAIN_DAYS 7
#define EXPLAIN_ITEMS_MAX 2000
#define EXPLAIN_RUNS_MAX 8

enum explain_state {
    EXPLAIN_PLANNED, /* to come */
    EXPLAIN_RUNNING,
    EXPLAIN_SUCCESS,
    EXPLAIN_FAILED,  /* its retries, too */
    EXPLAIN_RETRIED, /* it failed; its retry waits, runs or did well */
    EXPLAIN_LATE,    /* it went out late, and runs or did well */
    EXPLAIN_SKIPPED, /* left out on purpose: the job was stopped, the misfire rule */
    EXPLAIN_UNKNOWN, /* nobody can tell whether it was sent, or how the schedule was */
    EXPLAIN_MISSING, /* it should have fired, and there is no row */
};
const char *explain_state_name(enum explain_state state); /* "planned", ... */

/* What an item says. Those up to WHY_FAILED tell how a row of the log stands; the others, why there is none. */
enum explain_reason {
    WHY_SUCCEEDED,
    WHY_RUNNING,
    WHY_PLANNED,          /* its row is there, and goes out at its second */
    WHY_WAITING,          /* no executor could be reached so far */
    WHY_OPEN,             /* nobody has said what came of it */
    WHY_UNDELIVERED,      /* no executor took it: `cause` */
    WHY_DELIVERY_UNKNOWN, /* it may have reached an executor, or not */
    WHY_BLOCK_REFUSED,    /* by the executor, whose run before was not over */
    WHY_BLOCK_ENDED,      /* by the executor, in favour of a later run */
    WHY_KILLED,           /* by hand */
    WHY_LOST,             /* its executor will not report its end */
    WHY_TIME_LIMIT,
    WHY_FAILED,
    WHY_BROADCAST, /* several rows: `spread` */
    WHY_TO_COME,
    WHY_MOMENT_AGO,     /* its row may be on its way */
    WHY_CLEANED,        /* rows of that age may have been removed */
    WHY_NOT_PLANNED,    /* `outage` */
    WHY_CHANGED_BEFORE, /* started or changed too shortly before: `change` */
    WHY_NO_TRACE,       /* nothing known says why */
    WHY_SKIPPED,        /* left to the misfire rule */
    WHY_STOPPED,
    WHY_REMOVED,
    WHY_SCHEDULE_UNKNOWN, /* up to `until_ms` */
    WHY_SCHEDULE_BROKEN,  /* likewise */
    WHY_REASONS
};
const char *explain_reason_name(enum explain_reason why); /* "succeeded", ... */

/* Why there was a fire where none was due. */
enum explain_origin {
    ORIGIN_DUE, /* it was */
    ORIGIN_ASKED,
    ORIGIN_PARENT,
    ORIGIN_FLOW, /* it is a step of a flow run */
    ORIGIN_RETRY,
    ORIGIN_MISFIRE,
    ORIGIN_FOREIGN,       /* of a Java admin, as it seems */
    ORIGIN_BEFORE_CHANGE, /* planned before the job was changed */
    ORIGIN_NOT_DUE,       /* by the schedule as it is known */
    ORIGINS
};
const char *explain_origin_name(enum explain_origin origin); /* "due", ... */

/* Why no executor took a fire, by the words of the row; English in every language. */
enum explain_cause {
    CAUSE_NONE, /* not known: the message says it, or the executor */
    CAUSE_NO_EXECUTOR,
    CAUSE_NO_GROUP,
    CAUSE_UNREACHABLE,
    CAUSE_NO_ANSWER, /* it may have taken it */
    CAUSE_ALL_BUSY,  /* none has answered that the job is idle there */
    CAUSE_NONE_ALIVE,
    CAUSE_TOO_LATE,
    CAUSE_STOPPING, /* the node */
    CAUSE_QUEUE_FULL,
    CAUSE_BAD_ADDRESS,
    CAUSE_GLUE_OFF,
    CAUSE_JOB_GONE,
    CAUSE_JOB_STOPPED,
    CAUSE_NO_MEMORY,
    CAUSES
};
const char *explain_cause_name(enum explain_cause cause); /* "no-executor", ... */

bool explain_has_failed(enum explain_reason why);

/* How a row stands, or how it ended. Texts are never NULL. */
struct explain_end {
    enum explain_reason why; /* up to WHY_FAILED, or WHY_SKIPPED */
    enum explain_cause cause;
    int64_t run;
    int code;            /* handle_code, or trigger_code where the row has no other */
    int64_t took_s;      /* -1: not known */
    int64_t ended_ms;    /* 0: it has not, or nobody knows when */
    int64_t until_ms;    /* WHY_WAITING: it fails then; 0: not known */
    const char *address; /* of the executor */
    const char *message; /* what executor or node said, cut */
    const char *killer;  /* WHY_KILLED, as far as the row says it */
    const char *said;    /* name of a run_reason (admin/reasons.h), where it failed and the row says so; NULL */
    const char *value;   /* that belongs to it; "" */
};

/* Something that kept fires of this job from being planned or sent. */
struct explain_outage {
    int64_t from_ms, to_ms; /* for the job: another node may have taken its shard before it was over */
    int64_t told_to_ms;     /* until when it lasted; 0: it has no length */
    bool holds;             /* what was due meanwhile went out behind it: nobody else could send it */
    const char *kind;       /* EVENT_DATABASE_AWAY, EVENT_NODE_DIED, EVENT_GUARD_LOST */
    const char *node;
};

struct explain_who {
    int64_t at_ms;   /* 0: there is none */
    const char *who; /* NULL: somebody else, not through shardwheel */
    const char *via;
};

/* How many rows of a broadcast stand how. */
struct explain_spread {
    size_t executors, succeeded, running, failed, open;
};

enum explain_skip { SKIP_UNKNOWN, SKIP_LATE, SKIP_BY_HAND, SKIP_RESTORED };

/* Texts are those of the facts: see explanation. What does not apply is 0, or NULL. */
struct explain_item {
    int64_t due_ms;
    enum trigger_kind kind; /* TRIGGER_CRON: a due time of its schedule; others were asked for, or followed something */
    enum explain_state state;
    int64_t runs[EXPLAIN_RUNS_MAX]; /* rows of xxl_job_log, retries too */
    size_t run_count;
    int64_t runs_left_out; /* beyond EXPLAIN_RUNS_MAX */
    enum explain_reason why;
    enum explain_origin origin;
    struct explain_who asked;            /* ORIGIN_ASKED */
    int64_t flow_run;                    /* ORIGIN_FLOW; 0: not known */
    struct explain_who change;           /* that stopped, removed, started or changed the job */
    const struct explain_outage *outage; /* that made it late, or kept it from being planned */
    bool has_end;                        /* `end` is there: of the row, or of the first of a broadcast that failed */
    struct explain_end end;
    int64_t late_s;           /* 0: it went out on time, or not at all */
    bool by_misfire;          /* late by the misfire rule */
    int retries;              /* that were made */
    int retries_max;          /* that the job had; 0: not known */
    struct explain_end retry; /* the last one of them */
    int64_t retry_at_ms;      /* one waits until then */
    struct explain_spread spread;
    int64_t skipped; /* due times, that one among them */
    enum explain_skip skip;
    const char *misfire; /* its strategy, where the row says it */
    bool is_ahead;       /* it was not due yet when this was asked */
    int64_t until_ms;
};
/* The item in one English sentence: made of the members above alone. */
void explain_put_text(struct buf *out, const struct explain_item *item);

struct explanation {
    int64_t job_id;
    int64_t from_ms;
    int64_t until_ms;           /* so far; before to_ms when there was too much for one call */
    struct explain_item *items; /* by due time */
    size_t count;
    void *facts; /* private: the texts; NULL: they are the caller's */
};
void explanation_fini(struct explanation *ex);

/* from_ms <= due < to_ms. Right: SEE of the job's group; of a job that is gone, of the group that its audit names.
 * `from`, `to` REFUSED_INVALID: no range, or too long a one. `id` REFUSED_UNKNOWN. REFUSED_LIMIT: the log has too many
 * rows for that range to be read in time. */
MUST_CHECK enum err admin_explain_job(struct admin *a, const struct actor *actor, int64_t job_id, int64_t from_ms,
                                      int64_t to_ms, struct explanation *out, struct refusal *r);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * doctor: looks at a live set-up and says what to change. A check looks at one thing and tells what it finds; one that
 * fails itself becomes a finding, and the others go on.
 *
 * Threads     The main thread alone.
 * Time        Until the deadline no check begins later. What a check waits for has a limit of DOCTOR_WAIT_MS, or
 *             doctor_left_ms where that is less, so a server that hangs holds nothing up for long.
 * Reading     Checks change nothing, but for a row and a znode that they make and take back (sessions.c,
 *             zookeeper.c).
 */
#ifndef CTL_DOCTOR_DOCTOR_H
#define CTL_DOCTOR_DOCTOR_H

#include "shardwheel/config.h"
#include "shardwheel/store/cluster.h"
#include "shardwheel/store/look.h"
#include "shardwheel/store/schema.h"

#define DOCTOR_WAIT_MS 5000

/* The worst one found decides the exit status. */
enum doctor_level {
    DOCTOR_OK,
    DOCTOR_NOTE,     /* good to know: nothing is wrong */
    DOCTOR_UNKNOWN,  /* it could not be looked at */
    DOCTOR_WARNING,  /* works, and will not always */
    DOCTOR_CRITICAL, /* fires are lost, late, or will be */
};
const char *doctor_level_name(enum doctor_level level); /* "ok" ... "critical" */
int doctor_exit_status(enum doctor_level worst);        /* as monitoring plugins have it: 0, 1, 2; 3 unknown */

/* ---- the report: report.c ---------------------------------------------------------------------------------------- */

struct finding {
    enum doctor_level level;
    const char *check;   /* constant: code of the check that told it */
    const char *code;    /* constant, stable: what scripts go by */
    char *where;         /* "node node-a", "table xxl_job_log"; NULL: the whole set-up */
    char *what, *change; /* sentences; change is NULL where nothing need be done */
};

struct doctor_report {
    struct finding *findings; /* in the order of the checks */
    size_t count, cap;
    struct buf left_out; /* codes of checks that could not be made for want of what another one misses, by blanks */
    size_t left_out_count;
    bool failed; /* out of memory */
};

void report_fini(struct doctor_report *r);
void report_add(struct doctor_report *r, const struct finding *finding); /* copies the three texts */
void report_leave_out(struct doctor_report *r, const char *check);
enum doctor_level report_get_worst(const struct doctor_report *r);
/* Append to `out`. */
void report_write_text(const struct doctor_report *r, bool verbose, struct buf *out);
void report_write_json(const struct doctor_report *r, struct buf *out);

/* ---- what checks look at ----------------------------------------------------------------------------------------- */

struct doctor_check;

struct doctor {
    const struct config *config; /* what a node with these settings would go by, but for shorter times to wait */
    const struct clock *clock;
    int64_t deadline_mono_ms;
    bool is_over;                     /* no time was left for the check that was last */
    const struct doctor_check *check; /* the one that runs */
    struct doctor_report report;

    /* With DOCTOR_DATABASE. */
    struct store *store;
    struct store_session *session;
    bool has_tables; /* those below are there, too */

    /* With DOCTOR_TABLES. */
    struct store_features features;
    int64_t now_ms;         /* of the database, when all below was read */
    struct node_row *nodes; /* also those that are silent: node_is_silent */
    size_t node_count;
    struct cluster_status status; /* without counts of fires */
    struct job_survey *survey;    /* of all jobs, once a check has asked for it; NULL before. See jobs.h */
};

/* What a check needs: where that is missing, it is left out, and who found it missing has told so. */
enum doctor_needs {
    DOCTOR_NOTHING,  /* the settings alone */
    DOCTOR_DATABASE, /* a session */
    DOCTOR_TABLES,   /* tables of the original and of ours, of a version that this program knows */
};

struct doctor_check {
    const char *code;            /* what its finding bears when all is fine */
    const char *title;           /* ... and says: "The clocks agree." */
    const char *const *findings; /* codes of all that it may tell besides; ends with NULL */
    enum doctor_needs needs;
    /* An error, with its text, when it could not look. What was told before stays. */
    enum err (*run)(struct doctor *d, struct errctx *ec);
};

/* The tables of checks, each ended by one without a code: checks.c lists all of them, in the order of running. */
extern const struct doctor_check *const doctor_tables[];   /* ends with NULL */
extern const struct doctor_check doctor_database_checks[]; /* database.c; the first one opens it */
extern const struct doctor_check doctor_server_checks[];
extern const struct doctor_check doctor_replica_checks[];
extern const struct doctor_check doctor_schema_checks[];
extern const struct doctor_check doctor_clock_checks[];
extern const struct doctor_check doctor_log_checks[];
extern const struct doctor_check doctor_node_checks[];
extern const struct doctor_check doctor_page_checks[];
extern const struct doctor_check doctor_session_checks[];
extern const struct doctor_check doctor_host_checks[];
extern const struct doctor_check doctor_zookeeper_checks[];
extern const struct doctor_check doctor_job_checks[];
extern const struct doctor_check doctor_alarm_checks[];
extern const struct doctor_check doctor_executor_checks[];
extern const struct doctor_check doctor_people_checks[];
extern const struct doctor_check doctor_secret_checks[];

/* Tells a finding: `code` is one of the check's. `where` and `change` may be NULL; `what` is a sentence. */
PRINTF_LIKE(6, 7)
void doctor_tell(struct doctor *d, enum doctor_level level, const char *code, const char *where, const char *change,
                 const char *what, ...);
/* How long a wait may take: DOCTOR_WAIT_MS, less near the deadline, 1 at least. */
int doctor_left_ms(const struct doctor *d);
/* store_look within that time. */
MUST_CHECK enum err doctor_look(struct doctor *d, const char *statement, struct look **out, struct errctx *ec);
/* The number in the first column of the first row; 0 without one. */
MUST_CHECK enum err doctor_look_number(struct doctor *d, const char *statement, int64_t *out, struct errctx *ec);

size_t doctor_count_live(const struct doctor *d); /* nodes that give signs of life */

/* ---- all of it --------------------------------------------------------------------------------------------------- */

/* Runs the checks, prints the report; the exit status. */
int ctl_doctor(const struct config *config);

#endif

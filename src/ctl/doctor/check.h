/* SPDX-License-Identifier: MIT */
/*
 * check: what the checks of the doctor share. He looks at a live set-up and says what to change; a check looks at one
 * thing and tells what it finds. One that fails itself becomes a finding, and the others go on.
 *
 * Threads     The main thread alone.
 * Time        Until the deadline no check begins later. What a check waits for has a limit of DOCTOR_WAIT_MS, or
 *             doctor_left_ms where that is less, so a server that hangs holds nothing up for long.
 * Reading     Checks change nothing, but for a row and a znode that they make and take back (sessions.c,
 *             zookeeper.c).
 */
#ifndef CTL_DOCTOR_CHECK_H
#define CTL_DOCTOR_CHECK_H

#include "ctl/doctor/report.h"
#include "ctl/doctor/words.h"

#include "shardwheel/config.h"
#include "shardwheel/store/cluster.h"
#include "shardwheel/store/look.h"
#include "shardwheel/store/schema.h"

#define DOCTOR_WAIT_MS 5000

/* Told by checks for which they are not theirs. */
#define COULD_NOT_LOOK "could_not_look" /* one that failed itself, or for which no time was left */
#define DATABASE_LOST "database_lost"   /* while it looked, the database went away */

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
    struct job_survey *survey;    /* of all jobs, once a check needs it; NULL before. See survey.h */
};

/* What a check needs: where that is missing, it is left out, and who found it missing has told so. */
enum doctor_needs {
    DOCTOR_NOTHING,  /* the settings alone */
    DOCTOR_DATABASE, /* a session */
    DOCTOR_TABLES,   /* tables of the original and of ours, of a version that this program knows */
    DOCTOR_JOBS,     /* the same, and the survey */
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
extern const struct doctor_check doctor_https_checks[];
extern const struct doctor_check doctor_login_checks[];
extern const struct doctor_check doctor_ldap_checks[];

/* Tells a finding: `code` is one of the check's. `where` and `change` may be NULL; `what` is a sentence. */
PRINTF_LIKE(6, 7)
void doctor_tell(struct doctor *d, enum doctor_level level, const char *code, const char *where, const char *change,
                 const char *what, ...);
/* "WHAT (7): a, b, c." of a list that is not empty; it is ended. */
void doctor_tell_list(struct doctor *d, enum doctor_level level, const char *code, const char *where,
                      const char *change, const char *what, struct words *list);
/* How long a wait may take: DOCTOR_WAIT_MS, less near the deadline, 1 at least. */
int doctor_left_ms(const struct doctor *d);
/* store_look within that time; the statement is as of printf, and its texts are the caller's own. */
PRINTF_LIKE(4, 5)
MUST_CHECK enum err doctor_look(struct doctor *d, struct db_rows **out, struct errctx *ec, const char *statement, ...);
/* The number in the first column of the first row; 0 without one. */
PRINTF_LIKE(4, 5)
MUST_CHECK enum err doctor_look_number(struct doctor *d, int64_t *out, struct errctx *ec, const char *statement, ...);
/* Adds the rows that it finds: their ids, which may be NULL, and names. */
PRINTF_LIKE(4, 5)
MUST_CHECK enum err doctor_add_rows(struct doctor *d, struct words *out, struct errctx *ec, const char *statement, ...);

/* Nodes that give signs of life: how many; that behind `after` (NULL: the first), or NULL. */
size_t doctor_count_live(const struct doctor *d);
const struct node_row *doctor_next_live(const struct doctor *d, const struct node_row *after);

#endif

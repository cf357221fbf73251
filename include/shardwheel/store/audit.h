/* SPDX-License-Identifier: MIT */
/*
 * store/audit: who changed what (shardwheel_audit). A change and its row are one transaction: functions of the store
 * that change what people own take the row along. See store/conn.h for threads, ownership and errors.
 */
#ifndef SHARDWHEEL_STORE_AUDIT_H
#define SHARDWHEEL_STORE_AUDIT_H

#include "shardwheel/store/conn.h"

#define AUDIT_JSON_MAX (64 * 1024)

/* Texts that are too long are cut; NULL stands as "", but for before and after. Of a JSON text beyond AUDIT_JSON_MAX
 * bytes the length alone is written: {"bytesLeftOut":N}. */
struct audit_row {
    int64_t user_id;         /* 0: no user of xxl_job_user */
    const char *who;         /* name of the user, or what acted in the place of one */
    const char *address;     /* where the request came from */
    const char *via;         /* "console A", "api/v1", "token NAME" */
    const char *action;      /* "job.update", "group.remove", "run.kill": what was changed, a dot, and how */
    int64_t target;          /* its id; 0: it has none */
    const char *target_name; /* what people call it */
    int64_t job_group;       /* whose users may see the row; 0: admins alone */
    const char *before;      /* JSON object of what differs; NULL: it was not there */
    const char *after;       /* likewise; NULL: it is gone. Never a secret. */
    bool failed;             /* out of memory for these two: who writes it fails with ERR_NOMEM */
};

/* A row by itself, of what changed nothing in the database, or behind what others have done: a fire by hand, a run that
 * was stopped. One statement, which commits. */
MUST_CHECK enum err store_write_audit(struct store_session *s, const struct audit_row *row, struct errctx *ec);

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Where a list goes on: behind the row of that time and id. Lists begin with the newest. */
struct history_place {
    int64_t at_ms; /* INT64_MAX: at the newest */
    int64_t id;
};

/* NULL and 0 ask for nothing. */
struct audit_filter {
    const char *who;
    const char *action; /* "job.update"; one that ends with a dot stands for all that begin so: "job." */
    int64_t target;
    int64_t job_group;
    int64_t from_ms; /* at or after it */
    int64_t to_ms;   /* before it */
    bool of_jobs;    /* actions job.* and glue.* alone: `target` is a job then */
    /* Whose rows: those of the groups below; of all groups; of all groups, and of none. */
    enum audit_scope { AUDIT_OF_LISTED, AUDIT_OF_GROUPS, AUDIT_OF_ALL } scope;
    const int64_t *groups;
    size_t group_count;
};

struct audit_entry {
    int64_t id;
    int64_t at_ms; /* by the clock of the database */
    struct audit_row row;
};
STORE_LIST(audit_page, struct audit_entry, items);
/* The newest rows behind `place`, at most `max`. The server ends the statement after limit_ms: ERR_TIMEOUT. */
MUST_CHECK enum err store_load_audit(struct store_session *s, const struct audit_filter *filter,
                                     struct history_place place, size_t max, int limit_ms, struct audit_page *out,
                                     struct errctx *ec);

#endif

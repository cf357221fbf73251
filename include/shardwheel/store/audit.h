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
};

#endif

/* SPDX-License-Identifier: MIT */
/*
 * store/channel: the channels of alarms that were set in the console (shardwheel_channel), and what was told to whom
 * (shardwheel_told). See store/conn.h for threads, ownership and errors.
 */
#ifndef SHARDWHEEL_STORE_CHANNEL_H
#define SHARDWHEEL_STORE_CHANNEL_H

#include "shardwheel/store/audit.h"

struct channel_row {
    int64_t id;
    const char *name;
    const char *kind;      /* "dingtalk" */
    const char *target;    /* a secret */
    const char *secret;    /* "": none */
    const char *app_names; /* between commas; "": all */
    const char *tags;      /* of jobs, between commas; "": all */
    const char *quiet;     /* quiet hours, see alarm/quiet.h; "": none */
    int64_t changed_ms;
};
STORE_LIST(channel_rows, struct channel_row, rows); /* ascending by id */
MUST_CHECK enum err store_load_channels(struct store_session *s, struct channel_rows *out, struct errctx *ec);
/* Adds a row (id 0), whose id goes to *added and to the row of audit; else writes all of the row with that id, which
 * was read before. ERR_STATE: another one has that name; ERR_BUSY: there are `max`; ERR_NOTFOUND. */
MUST_CHECK enum err store_put_channel(struct store_session *s, const struct channel_row *row, int64_t max,
                                      const struct audit_row *audit, int64_t *added, struct errctx *ec);
MUST_CHECK enum err store_remove_channel(struct store_session *s, int64_t id, const struct audit_row *audit,
                                         struct errctx *ec);

/* ---- what was told ----------------------------------------------------------------------------------------------- */

#define TOLD_KEPT 20000 /* messages; and days of them: */
#define TOLD_DAYS 30

struct sent_alarm {
    int64_t id, at_ms; /* filled in by the store */
    const char *event; /* as in JSON: "job_failed" */
    int64_t job_id;    /* 0: it is about no job */
    int64_t log_id;
    const char *app_name;
    const char *channel;
    const char *receiver; /* of a mail; else "" */
    const char *title;
    const char *error; /* NULL: it was taken */
    /* As it is now; filled in by the store. */
    int64_t job_group;    /* 0: the job is gone, or there is none */
    const char *job_name; /* NULL likewise */
};
MUST_CHECK enum err store_add_told(struct store_session *s, const struct sent_alarm *rows, size_t count,
                                   struct errctx *ec);

struct sent_filter {
    int64_t job_id;        /* 0: any */
    const char *channel;   /* NULL: any */
    bool failed;           /* those alone that were not taken */
    const int64_t *groups; /* of jobs of those; NULL: all, and what is about no job */
    size_t group_count;
};
STORE_LIST(sent_alarms, struct sent_alarm, rows); /* the newest first */
/* Behind before_id (INT64_MAX: from the newest), at most `limit`. */
MUST_CHECK enum err store_load_told(struct store_session *s, const struct sent_filter *filter, int64_t before_id,
                                    size_t limit, struct sent_alarms *out, struct errctx *ec);
/* Removes what is beyond TOLD_KEPT and TOLD_DAYS, in small statements. */
MUST_CHECK enum err store_forget_told(struct store_session *s, struct errctx *ec);

#endif

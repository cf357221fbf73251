/* SPDX-License-Identifier: MIT */
/*
 * admin/jobs: what people do with jobs. See admin.h for what holds for all use cases.
 *
 * Rights      Looking SEE, firing RUN, all else CHANGE, each in the job's group; who moves a job needs both groups.
 * At once     Everything is decided under the lock of the job's row: the scheduler's claims, other people and a Java
 *             admin wait for it, or it for them. Only columns that differ are written. A next time of a job that runs
 *             is the first one behind now + 5 s and behind all that is planned of it, and is written only while a node
 *             holds Java admins off: else REFUSED_TRY_AGAIN.
 * A stop      counts for every fire whose second is a second or more after its commit.
 * Fields      of refusals are those of struct job_column, and "id", "at", "addresses", "count", "type", "zone".
 */
#ifndef SHARDWHEEL_ADMIN_JOBS_H
#define SHARDWHEEL_ADMIN_JOBS_H

#include "shardwheel/admin.h"
#include "shardwheel/follow/triggers.h"
#include "shardwheel/store/jobs.h"
#include "shardwheel/store/later.h"

#define JOB_PAGE_MAX 10000
#define JOB_TIMES_MAX 100
#define JOB_VERSION_MAX 17 /* with its NUL */

/* ---- looking ----------------------------------------------------------------------------------------------------- */

struct job_query {
    struct job_filter filter; /* its groups are filled in by the use case */
    bool own_groups;          /* without a group: those of who asks; else that is for who may see all of them */
    bool failing;             /* whose last run did not end well, as the overview knows them */
    enum job_sort sort;       /* see struct job_page_opts; JOBS_RANKED: by failures of the last 24 h, the most first */
    struct job_place after;   /* of JOBS_RANKED: `failures` instead of its rank */
    int64_t failures;
    int64_t offset;
    int64_t limit;
    bool sources;
    bool count;    /* how many there are */
    bool settings; /* those of ours, of the page's jobs */
    bool runs;     /* their last runs */
};

/* What the overview knows. */
struct job_failures {
    int64_t job_id, count;
};

struct job_found {
    struct job_list list;
    struct job_failures *failures; /* of JOBS_RANKED: ascending by count, then by id; NULL: nobody asked */
    size_t failure_count;
    struct job_settings *settings; /* ascending by job_id; of jobs that have some */
    size_t settings_count;
    struct job_last_run *runs; /* ascending by job_id; of jobs that have one, where the database tells them in time */
    size_t run_count;
    int64_t total;
    bool is_estimate; /* counting took too long: `total` is what was counted last, or what is surely there */
};
void job_found_fini(struct job_found *found);
const struct job_settings *job_found_settings(const struct job_found *found, int64_t job_id); /* NULL: none */
const struct job_last_run *job_found_run(const struct job_found *found, int64_t job_id);      /* NULL: none */
int64_t job_found_failures(const struct job_found *found, int64_t job_id);                    /* of the last 24 h */

MUST_CHECK enum err admin_list_jobs(struct admin *a, const struct actor *actor, const struct job_query *query,
                                    struct job_found *out, struct refusal *r);
/* REFUSED_UNKNOWN "id". The list has this one; settings and run as above. */
MUST_CHECK enum err admin_load_job(struct admin *a, const struct actor *actor, int64_t id, struct job_found *out,
                                   struct refusal *r);

/* Changes with everything that people can change, and with nothing that time does. */
void job_version(const struct job_row *row, const struct job_settings *settings, char out[JOB_VERSION_MAX]);

/* What must hold of the job's version; `is` NULL: nothing. Else REFUSED_CHANGED. Called under the lock. */
struct job_match {
    bool (*is)(void *arg, const char *version);
    void *arg;
};

/* ---- changing ---------------------------------------------------------------------------------------------------- */

/* In which order a form is looked at (console.md of the original): the first check that fails answers. */
enum job_order {
    JOB_ORDER_ABC,
    JOB_ORDER_D, /* the group behind name and author */
};

struct job_form {
    struct job_row row;                  /* texts NULL where absent, numbers 0 */
    const struct job_settings *settings; /* NULL: they stay; of a new job: there are none */
    enum job_order order;
};

/* Status and trigger times are taken as they are given: a job that runs with a next time of 0 or in the past is dealt
 * with by its misfire rule. `id` of the form is not looked at. */
MUST_CHECK enum err admin_add_job(struct admin *a, const struct actor *actor, const struct job_form *form, int64_t *id,
                                  struct refusal *r);
/* A whole form: but for the GLUE columns, status and times all is written, what is absent as NULL or 0. */
MUST_CHECK enum err admin_update_job(struct admin *a, const struct actor *actor, int64_t id,
                                     const struct job_form *form, struct refusal *r);
/* `edit` puts what was asked for into row and settings of the job as it is; the texts that it points to live until the
 * call returns. Then it is checked as a whole. GLUE columns, status and times are not looked at. Who gives a job a
 * fixed delay makes it FIX_RATE with the same seconds: what a Java admin can run. */
struct job_edit {
    enum err (*edit)(void *arg, struct job_row *row, struct job_settings *settings, struct refusal *r);
    void *arg;
    struct job_match match;
};
MUST_CHECK enum err admin_edit_job(struct admin *a, const struct actor *actor, int64_t id, const struct job_edit *edit,
                                   struct refusal *r);
/* With its sources, settings, what waits of it, and its log: rows of the log that could not be removed within two
 * seconds are removed by a node later. */
MUST_CHECK enum err admin_remove_job(struct admin *a, const struct actor *actor, int64_t id,
                                     const struct job_match *match, struct refusal *r);
/* Starts or stops it. A job that runs and is started gets its next time anew. REFUSED_STATE "scheduleType": NONE;
 * "scheduleConf": it has no next time. */
MUST_CHECK enum err admin_set_running(struct admin *a, const struct actor *actor, int64_t id, bool running,
                                      struct refusal *r);

/* ---- firing ------------------------------------------------------------------------------------------------------ */

/* At once (at_s 0), or at that second: then made has no log ids, and *later_id is the row that waits. */
MUST_CHECK enum err admin_trigger_job(struct admin *a, const struct actor *actor, const struct trigger_order *order,
                                      int64_t at_s, struct trigger_made *made, int64_t *later_id, struct refusal *r);
/* What waits of a job, by due second and id. */
MUST_CHECK enum err admin_list_later(struct admin *a, const struct actor *actor, int64_t job_id, size_t limit,
                                     struct later_page *out, struct refusal *r);
/* REFUSED_UNKNOWN "id": it went out, or never was; REFUSED_STATE: it is planned. `job_id`: it must be of that job. */
MUST_CHECK enum err admin_cancel_later(struct admin *a, const struct actor *actor, int64_t job_id, int64_t id,
                                       struct refusal *r);

/* ---- times ------------------------------------------------------------------------------------------------------- */

struct job_times {
    int64_t ms[JOB_TIMES_MAX];
    size_t count;
};

struct schedule_text {
    const char *type;
    const char *conf;
    const char *zone; /* NULL or "": that of the cluster */
    int64_t from_ms;  /* occurrences of an expression from then on; 0 or past: behind now */
};

/* The next due times from now on, `count` of them or as many as there are. */
MUST_CHECK enum err admin_find_job_times(struct admin *a, const struct actor *actor, int64_t id, size_t count,
                                         struct job_times *out, struct refusal *r);
/* Any user; types without due times have none. REFUSED_INVALID "scheduleConf" or "zone". FIX_RATE takes any whole
 * number, as the original does. */
MUST_CHECK enum err admin_find_times(struct admin *a, const struct actor *actor, const struct schedule_text *text,
                                     size_t count, struct job_times *out, struct refusal *r);

struct schedule_verdict {
    bool ok;
    const char *field; /* at fault: "scheduleType", "scheduleConf" or "zone" */
    struct errctx reason;
    bool has_place; /* where in scheduleConf it is wrong, in characters from 0 */
    size_t at, len; /* len 0: something is missing there */
    bool has_next;  /* of a schedule that is ok: false: it never becomes due */
    int64_t next_ms;
};
/* ERR_OK whatever the verdict. */
MUST_CHECK enum err admin_check_schedule(struct admin *a, const struct actor *actor, const struct schedule_text *text,
                                         struct schedule_verdict *out, struct refusal *r);

/* Of expressions without a zone of their own, and of times that are shown without one. */
const struct zone *admin_get_zone(const struct admin *a);

/* Pure, for whoever changes a schedule: the first due time behind now + 5 s and behind what is planned. ERR_NOTFOUND,
 * ERR_INPUT as schedule_find_next. */
MUST_CHECK enum err job_find_next(const struct job_row *row, const struct job_settings *settings,
                                  const struct zone *zone, int64_t now_ms, int64_t planned_s, int64_t *out_ms,
                                  struct errctx *ec);
/* Pure: times, zones and the like of both are the same. */
bool job_settings_have_same_times(const struct job_settings *a, const struct job_settings *b);
/* Against job, group and log as they are now. ERR_INPUT and ERR_NOTFOUND as trigger_order_check. */
MUST_CHECK enum err job_check_order(struct store_session *s, const struct trigger_order *order, struct errctx *ec);

#endif

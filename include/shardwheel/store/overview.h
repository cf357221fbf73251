/* SPDX-License-Identifier: MIT */
/*
 * store/overview: what a dashboard asks of the whole log and of all jobs, each bounded in rows and time. See
 * store/conn.h for threads, ownership and errors. `groups` NULL: of all executor groups. ERR_TIMEOUT: the server has
 * ended it after limit_ms.
 */
#ifndef SHARDWHEEL_STORE_OVERVIEW_H
#define SHARDWHEEL_STORE_OVERVIEW_H

#include "shardwheel/store/runs.h"

struct group_choice {
    const int64_t *groups; /* ascending; NULL: all */
    size_t count;
};
static inline bool group_choice_has(const struct group_choice *choice, int64_t group)
{
    return !choice->groups || list_find(choice->groups, choice->count, sizeof group, group);
}

/* ---- runs that have not ended well: run/notable.c ---------------------------------------------------------------- */

/* A row that is not a success: open, failed, lost, unknown, or due times that were skipped. */
struct notable_run {
    int64_t id, job_id, group;
    int64_t trigger_s; /* INT64_MIN for NULL */
    enum run_state state;
    int64_t skipped;     /* due times, of RUN_SKIPPED */
    bool alarm_failed;   /* its message did not go out */
    const char *address; /* may be NULL */
};
/* Newest first; not complete: there are more, older ones. */
STORE_LIST(notable_runs, struct notable_run, items, bool complete;);
/* By the index over handle_code: the newest `each` rows of every code but that of success, open ones among them. None
 * where there is no such index, and not complete. */
MUST_CHECK enum err store_load_notable_runs(struct store_session *s, const struct group_choice *choice, int64_t each,
                                            int limit_ms, struct notable_runs *out, struct errctx *ec);

/* A fire that went out, or goes out, seconds behind the due time that it stands for. */
struct late_run {
    int64_t id, job_id, group;
    int64_t trigger_s;
    int64_t late_s;
};
/* Of the newest `look_max` rows triggered at from_s or later: newest first. *out: free with free. *complete: all rows
 * of that time were looked at. */
MUST_CHECK enum err store_load_late_runs(struct store_session *s, const struct group_choice *choice, int64_t from_s,
                                         int64_t look_max, int limit_ms, struct late_run **out, size_t *count,
                                         bool *complete, struct errctx *ec);

/* ---- jobs: job/soon.c -------------------------------------------------------------------------------------------- */

struct group_count {
    int64_t group;
    int64_t jobs, running;
    int64_t soon; /* that run and are due by until_ms */
};
/* Ascending by group; of groups that have jobs. *out: free with free. */
MUST_CHECK enum err store_count_group_jobs(struct store_session *s, const struct group_choice *choice, int64_t until_ms,
                                           int limit_ms, struct group_count **out, size_t *count, struct errctx *ec);

/* A job that is due, or a fire that is planned already. */
struct soon_fire {
    int64_t job_id, group;
    int64_t due_ms;
    int64_t log_id; /* of the planned fire; 0: it is not planned yet */
};
#define SOON_MAX 20
/* The first SOON_MAX of both from now_ms to until_ms, by time. *planned: fires that are planned for then. */
MUST_CHECK enum err store_load_soon(struct store_session *s, const struct group_choice *choice, int64_t now_ms,
                                    int64_t until_ms, int limit_ms, struct soon_fire out[SOON_MAX], size_t *count,
                                    int64_t *planned, struct errctx *ec);

#endif

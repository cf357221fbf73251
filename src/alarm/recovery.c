/* SPDX-License-Identifier: MIT */
#include "alarm/recovery.h"

#include <stdlib.h>

#define STEP_ROWS 20000

/* Of one pass. */
struct pass {
    struct failing_job *jobs;
    int64_t *job_ids;
    size_t job_count;
    struct recovered_job *found;
    size_t found_count;
    int64_t *open;
    size_t open_count;
};

void recovery_reset(struct recovery *r)
{
    free(r->open);
    free(r->jobs);
    *r = (struct recovery){0};
}

static const struct failing_job *find_job(const struct failing_job *jobs, size_t count, int64_t job_id)
{
    return list_find(jobs, count, sizeof *jobs, job_id);
}

/* A job that is new here may have succeeded before it was known to fail: its rows are read again. */
static void choose_start(struct recovery *r, const struct pass *p, int64_t last_id)
{
    for (size_t i = 0; i < p->job_count; i++) {
        bool known = find_job(r->jobs, r->job_count, p->jobs[i].job_id) != NULL;
        if (r->seen_id == 0 || (!known && p->jobs[i].last_log < r->seen_id))
            r->seen_id = p->jobs[i].last_log;
    }
    if (r->seen_id < last_id - RECOVERY_BACK)
        r->seen_id = last_id - RECOVERY_BACK;
    while (r->open_count > 0 && r->open[r->open_count - 1] > r->seen_id)
        r->open_count--;
}

static void take_runs(struct pass *p, const struct job_run *runs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct failing_job *job = find_job(p->jobs, p->job_count, runs[i].job_id);
        bool known = false;
        if (!job || runs[i].log_id <= job->last_log)
            continue;
        if (runs[i].open) {
            if (p->open_count < RECOVERY_OPEN_MAX)
                p->open[p->open_count++] = runs[i].log_id;
            continue;
        }
        for (size_t k = 0; k < p->found_count && !known; k++)
            known = p->found[k].job.job_id == job->job_id;
        if (!known)
            p->found[p->found_count++] = (struct recovered_job){*job, runs[i].log_id};
    }
}

static enum err read_all(struct recovery *r, struct pass *p, struct store_session *s, int64_t last_id,
                         struct errctx *ec)
{
    struct job_run *runs = NULL;
    size_t count = 0;
    enum err e = store_load_run_list(s, r->open, r->open_count, &runs, &count, ec);

    if (!e)
        take_runs(p, runs, count);
    free(runs);
    for (int64_t at = r->seen_id; at < last_id && !e; at += STEP_ROWS) {
        int64_t until = last_id - at < STEP_ROWS ? last_id : at + STEP_ROWS;
        runs = NULL;
        e = store_load_runs(s, at, until, p->job_ids, p->job_count, &runs, &count, ec);
        if (!e)
            take_runs(p, runs, count);
        free(runs);
    }
    return e;
}

static enum err prepare(struct pass *p, struct errctx *ec)
{
    p->job_ids = calloc(p->job_count + 1, sizeof *p->job_ids);
    p->found = calloc(p->job_count + 1, sizeof *p->found);
    p->open = calloc(RECOVERY_OPEN_MAX, sizeof *p->open);
    if (!p->job_ids || !p->found || !p->open)
        return err_set(ec, ERR_NOMEM, "out of memory for jobs that fail");
    for (size_t i = 0; i < p->job_count; i++)
        p->job_ids[i] = p->jobs[i].job_id;
    return ERR_OK;
}

enum err recovery_look(struct recovery *r, struct store_session *s, int64_t now_s, struct recovered_job **out,
                       size_t *count, struct errctx *ec)
{
    struct pass p = {0};
    int64_t first_id, last_id = 0;
    enum err e = store_load_failing_jobs(s, RECOVERY_JOBS_MAX, &p.jobs, &p.job_count, ec);

    *out = NULL;
    *count = 0;
    if (!e && p.job_count == 0) {
        recovery_reset(r);
        free(p.jobs);
        return ERR_OK;
    }
    if (!e)
        e = store_load_log_bounds(s, now_s, &first_id, &last_id, ec);
    if (!e)
        e = prepare(&p, ec);
    if (!e) {
        choose_start(r, &p, last_id);
        e = read_all(r, &p, s, last_id, ec);
    }
    free(p.job_ids);
    if (e) {
        free(p.jobs);
        free(p.found);
        free(p.open);
        return e;
    }
    free(r->open);
    free(r->jobs);
    /* What came to light during the pass before is read once more in the next one. */
    int64_t seen_id = r->last_id > r->seen_id && r->last_id <= last_id ? r->last_id : r->seen_id;
    *r = (struct recovery){.seen_id = seen_id,
                           .last_id = last_id,
                           .open = p.open,
                           .open_count = p.open_count,
                           .jobs = p.jobs,
                           .job_count = p.job_count};
    *out = p.found;
    *count = p.found_count;
    return ERR_OK;
}

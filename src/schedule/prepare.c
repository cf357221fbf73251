/* SPDX-License-Identifier: MIT */
#include "schedule/prepare.h"

#include <stdlib.h>

#define CHUNK 1000 /* ids in one statement */

bool prepare_is_needed(const struct fire *list)
{
    for (; list; list = list->next) {
        if (!list->job)
            return true;
    }
    return false;
}

void prepare_forget(struct fire *list)
{
    for (; list; list = list->next) {
        job_spec_unref(list->job);
        list->job = NULL;
    }
}

bool prepare_still_happens(const struct fire *fire, const struct job_spec *job)
{
    return job && (job->running || (fire->flags & FIRE_LAST));
}

static int compare_ids(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* Distinct ids of the jobs that are to be read, ascending. */
static int64_t *collect_ids(const struct fire *list, size_t *count)
{
    size_t n = 0, kept = 0;
    int64_t *ids;

    for (const struct fire *fire = list; fire; fire = fire->next)
        n += !fire->job;
    ids = malloc((n + 1) * sizeof *ids);
    if (!ids)
        return NULL;
    n = 0;
    for (const struct fire *fire = list; fire; fire = fire->next) {
        if (!fire->job)
            ids[n++] = fire->job_id;
    }
    qsort(ids, n, sizeof *ids, compare_ids);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || ids[i] != ids[i - 1])
            ids[kept++] = ids[i];
    }
    *count = kept;
    return ids;
}

/* Removes the rows of fires that do not happen; those that may have been sent before end as "delivery unknown" instead. */
static enum err end_rows(struct store_session *s, const struct fire *list, size_t count, struct errctx *ec)
{
    int64_t *ids = malloc(2 * count * sizeof *ids);
    int64_t *resent = ids + count;
    size_t n = 0, m = 0, ended;
    enum err e = ERR_OK;

    if (!ids)
        return err_set(ec, ERR_NOMEM, "cancel fires: out of memory");
    for (; list; list = list->next) {
        if (list->flags & FIRE_RESENT)
            resent[m++] = list->log_id;
        else
            ids[n++] = list->log_id;
    }
    qsort(ids, n, sizeof *ids, compare_ids);
    qsort(resent, m, sizeof *ids, compare_ids);
    for (size_t at = 0; at < n && e == ERR_OK; at += CHUNK)
        e = store_cancel_planned(s, ids + at, n - at < CHUNK ? n - at : CHUNK, ec);
    if (m > 0 && e == ERR_OK)
        e = store_end_unknown(s, resent, m, &ended, ec);
    free(ids);
    return e;
}

/* Attaches the jobs; fires that do not happen move from the list to gone once their rows are settled. */
static enum err cancel(struct store_session *s, struct fire **list, int64_t *ids, struct job_spec **jobs, size_t count,
                       struct prepare_gone *gone, struct errctx *ec)
{
    struct fire *dropped = NULL;
    struct fire **link = list;
    struct fire **end = &dropped;
    size_t n = 0;
    enum err e;

    while (*link) {
        struct fire *fire = *link;

        if (!fire->job) {
            int64_t *id = bsearch(&fire->job_id, ids, count, sizeof *ids, compare_ids);
            struct job_spec *job = id ? jobs[id - ids] : NULL;

            if (!prepare_still_happens(fire, job)) {
                *link = fire->next;
                fire->next = NULL;
                *end = fire;
                end = &fire->next;
                n++;
                continue;
            }
            fire->job = job_spec_ref(job);
        }
        link = &fire->next;
    }
    if (n == 0)
        return ERR_OK;
    e = end_rows(s, dropped, n, ec);
    if (e) {
        /* Back into the list without a job: looked at again with the next try. */
        *end = *list;
        *list = dropped;
        return e;
    }
    *end = gone->fires;
    gone->fires = dropped;
    gone->count += n;
    return ERR_OK;
}

enum err prepare_fires(struct store_session *s, struct fire **list, struct prepare_gone *gone, struct errctx *ec)
{
    struct job_spec **jobs = NULL;
    size_t count = 0;
    int64_t *ids = collect_ids(*list, &count);
    enum err e = ERR_OK;

    if (!ids)
        return err_set(ec, ERR_NOMEM, "prepare fires: out of memory");
    jobs = calloc(count + 1, sizeof *jobs);
    if (!jobs)
        e = err_set(ec, ERR_NOMEM, "prepare fires: out of memory");
    for (size_t at = 0; at < count && e == ERR_OK; at += CHUNK)
        e = store_load_job_specs(s, ids + at, count - at < CHUNK ? count - at : CHUNK, jobs + at, ec);
    if (e == ERR_OK)
        e = cancel(s, list, ids, jobs, count, gone, ec);
    for (size_t i = 0; jobs && i < count; i++)
        job_spec_unref(jobs[i]);
    free(jobs);
    free(ids);
    return e ? err_wrap(ec, e, "read the jobs of %zu fires", count) : ERR_OK;
}

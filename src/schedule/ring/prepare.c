/* SPDX-License-Identifier: MIT */
#include "schedule/ring/prepare.h"
#include "shardwheel/store/plan.h"

#include <stdlib.h>

#define CHUNK 1000 /* ids in one statement */

void prepare_forget(struct fire *list)
{
    for (; list; list = list->next) {
        job_spec_unref(list->job);
        list->job = NULL;
    }
}

bool prepare_still_happens(const struct fire *fire, const struct job_spec *job)
{
    bool of_schedule = fire->kind == TRIGGER_CRON || fire->kind == TRIGGER_MISFIRE;

    return job && (job->running || (fire->flags & FIRE_LAST) || ((fire->flags & FIRE_LATER) && !of_schedule));
}

struct job_spec *prepare_copy_job(const struct fire_own *own, const struct job_spec *job)
{
    return job_spec_copy(job, own->param ? own->param : job->param,
                         own->retries >= 0 ? own->retries : job->retry_count);
}

/* A fire without a job. */
struct wanted {
    int64_t job_id;
    struct fire *fire;
};

static unsigned byte_of(int64_t id, unsigned shift)
{
    return (unsigned)(((uint64_t)id ^ UINT64_C(1) << 63) >> shift) & 255; /* in the order of signed numbers */
}

/* By job, byte by byte from the lowest on, those that differ: tens of thousands are sorted between two seconds. `spare`
 * has the same room; returns the one that holds the result. */
static struct wanted *sort_wanted(struct wanted *wanted, struct wanted *spare, size_t count)
{
    uint64_t differ = 0;

    for (size_t i = 1; i < count; i++)
        differ |= (uint64_t)(wanted[i].job_id ^ wanted[0].job_id);
    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t place[256] = {0}, sum = 0;
        struct wanted *sorted = spare;

        if (!(differ >> shift & 255))
            continue;
        for (size_t i = 0; i < count; i++)
            place[byte_of(wanted[i].job_id, shift)]++;
        for (size_t v = 0; v < 256; v++) {
            size_t n = place[v];

            place[v] = sum;
            sum += n;
        }
        for (size_t i = 0; i < count; i++)
            sorted[place[byte_of(wanted[i].job_id, shift)]++] = wanted[i];
        spare = wanted;
        wanted = sorted;
    }
    return wanted;
}

static size_t count_wanted(const struct fire *list)
{
    size_t n = 0;

    for (; list; list = list->next)
        n += !list->job;
    return n;
}

/* The fires to be prepared, by job. */
static const struct wanted *collect_wanted(struct fire *list, struct wanted *room, size_t count)
{
    size_t n = 0;

    for (struct fire *fire = list; fire; fire = fire->next)
        if (!fire->job)
            room[n++] = (struct wanted){fire->job_id, fire};
    return sort_wanted(room, room + count, count);
}

/* Their distinct jobs, ascending. */
static size_t list_jobs(const struct wanted *wanted, size_t count, int64_t *ids)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        if (i == 0 || wanted[i].job_id != wanted[i - 1].job_id)
            ids[n++] = wanted[i].job_id;
    }
    return n;
}

/* Of one shard: removes the rows of fires that do not happen; those that may have been sent before end as "delivery
 * unknown" instead. Where the shard has another owner by now the rows are his, and stay. */
static enum err end_rows_of(struct store_session *s, const struct fire *list, int shard, int64_t *ids, size_t room,
                            struct errctx *ec)
{
    int64_t *resent = ids + room, epoch = 0;
    size_t n = 0, m = 0;
    enum err e;

    for (; list; list = list->next) {
        if (list->shard != shard)
            continue;
        epoch = list->epoch > epoch ? list->epoch : epoch;
        if (list->flags & FIRE_RESENT)
            resent[m++] = list->log_id;
        else
            ids[n++] = list->log_id;
    }
    qsort(ids, n, sizeof *ids, compare_int64);
    qsort(resent, m, sizeof *ids, compare_int64);
    e = store_cancel_planned(s, shard, epoch,
                             &(struct gone_fires){.ids = ids, .count = n, .resent_ids = resent, .resent_count = m}, ec);
    return e == ERR_STATE ? ERR_OK : e;
}

/* The next higher shard of the list; -1: there is none. */
static int find_next_shard(const struct fire *list, int above)
{
    int next = -1;

    for (; list; list = list->next)
        if (list->shard > above && (next < 0 || list->shard < next))
            next = list->shard;
    return next;
}

static enum err end_rows(struct store_session *s, const struct fire *list, size_t count, struct errctx *ec)
{
    int64_t *ids = malloc(2 * count * sizeof *ids);
    enum err e = ERR_OK;

    if (!ids)
        return err_set(ec, ERR_NOMEM, "cancel fires: out of memory");
    for (int shard = find_next_shard(list, -1); shard >= 0 && !e; shard = find_next_shard(list, shard))
        e = end_rows_of(s, list, shard, ids, count, ec);
    free(ids);
    return e;
}

/* The parts of a broadcast were made for the addresses of one group, and go to it together. */
static bool attach_job(struct fire *fire, struct job_spec *job)
{
    fire->job = fire->own ? prepare_copy_job(fire->own, job) : job_spec_ref(job);
    if (!fire->broadcast)
        fire->group = job->group;
    return fire->job;
}

/* Attaches the jobs to the fires that happen; both are in the order of the jobs' ids. */
static enum err attach(const struct wanted *wanted, size_t count, struct job_spec **jobs, struct errctx *ec)
{
    size_t at = 0;

    for (size_t i = 0; i < count; i++) {
        if (i > 0 && wanted[i].job_id != wanted[i - 1].job_id)
            at++;
        if (prepare_still_happens(wanted[i].fire, jobs[at]) && !attach_job(wanted[i].fire, jobs[at]))
            return err_set(ec, ERR_NOMEM, "prepare fires: out of memory");
    }
    return ERR_OK;
}

/* Fires without a job do not happen: they move from the list to gone once their rows are settled. */
static enum err cancel(struct store_session *s, struct fire **list, struct prepare_gone *gone, struct errctx *ec)
{
    struct fire *dropped = NULL;
    struct fire **link = list;
    struct fire **end = &dropped;
    size_t n = 0;
    enum err e;

    while (*link) {
        struct fire *fire = *link;

        if (fire->job) {
            link = &fire->next;
            continue;
        }
        *link = fire->next;
        fire->next = NULL;
        *end = fire;
        end = &fire->next;
        n++;
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
    size_t count = count_wanted(*list), job_count = 0;
    struct wanted *room = calloc(2 * count + 1, sizeof *room);
    const struct wanted *wanted = NULL;
    int64_t *ids = calloc(count + 1, sizeof *ids);
    struct job_spec **jobs = calloc(count + 1, sizeof *jobs);
    enum err e = ERR_OK;

    if (room && ids && jobs) {
        wanted = collect_wanted(*list, room, count);
        job_count = list_jobs(wanted, count, ids);
    } else {
        e = err_set(ec, ERR_NOMEM, "prepare fires: out of memory");
    }
    for (size_t at = 0; at < job_count && e == ERR_OK; at += CHUNK)
        e = store_load_job_specs(s, ids + at, job_count - at < CHUNK ? job_count - at : CHUNK, jobs + at, ec);
    if (!e)
        e = attach(wanted, count, jobs, ec);
    if (!e)
        e = cancel(s, list, gone, ec);
    for (size_t i = 0; jobs && i < job_count; i++)
        job_spec_unref(jobs[i]);
    free(room);
    free(jobs);
    free(ids);
    return e ? err_wrap(ec, e, "read the jobs of %zu fires", count) : ERR_OK;
}

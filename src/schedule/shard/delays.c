/* SPDX-License-Identifier: MIT */
#include "schedule/shard/delays.h"

#include <stdlib.h>
#include <string.h>

static void forget_rows(struct delayed_run *run)
{
    free(run->log_ids);
    run->log_ids = NULL;
    run->count = 0;
}

void delays_fini(struct delays *d)
{
    for (size_t i = 0; i < d->count; i++)
        forget_rows(&d->runs[i]);
    free(d->runs);
    *d = (struct delays){0};
}

/* Where the job stands, or would. */
static size_t find_place(const struct delays *d, int64_t job_id)
{
    return list_find_place(d->runs, d->count, sizeof *d->runs, job_id);
}

static struct delayed_run *find(const struct delays *d, int64_t job_id)
{
    return list_find(d->runs, d->count, sizeof *d->runs, job_id);
}

const struct delayed_run *delays_find(const struct delays *d, int64_t job_id)
{
    return find(d, job_id);
}

void delays_forget(struct delays *d, int64_t job_id)
{
    struct delayed_run *run = find(d, job_id);

    if (!run)
        return;
    forget_rows(run);
    d->count--;
    memmove(run, run + 1, (size_t)(d->runs + d->count - run) * sizeof *run);
}

static struct delayed_run *add(struct delays *d, int64_t job_id)
{
    size_t at = find_place(d, job_id);

    if (at < d->count && d->runs[at].job_id == job_id) {
        forget_rows(&d->runs[at]);
    } else {
        if (d->count == DELAYS_MAX || !list_grow(&d->runs, d->count, sizeof *d->runs))
            return NULL;
        memmove(&d->runs[at + 1], &d->runs[at], (d->count - at) * sizeof *d->runs);
        d->count++;
    }
    d->runs[at] = (struct delayed_run){.job_id = job_id};
    return &d->runs[at];
}

bool delays_note_fires(struct delays *d, int64_t job_id, int64_t next_ms, const struct fire *fires)
{
    struct delayed_run *run;
    size_t n = 0;

    for (const struct fire *f = fires; f; f = f->next)
        n++;
    int64_t *log_ids = malloc((n + 1) * sizeof *log_ids);
    run = log_ids ? add(d, job_id) : NULL;
    if (!run) {
        free(log_ids);
        return false;
    }
    run->next_ms = next_ms;
    run->log_ids = log_ids;
    for (const struct fire *f = fires; f; f = f->next)
        log_ids[run->count++] = f->log_id;
    return true;
}

bool delays_note_sought(struct delays *d, const struct delayed_job *job, int64_t fired_s)
{
    struct delayed_run *run = add(d, job->id);

    if (!run)
        return false;
    run->next_ms = job->next_ms;
    run->fired_s = fired_s;
    run->original_s = time_floor_div(job->last_ms, 1000);
    run->sought = true;
    return true;
}

static bool has_row(const struct delayed_run *run, int64_t log_id)
{
    for (size_t i = 0; i < run->count; i++)
        if (run->log_ids[i] == log_id)
            return true;
    return false;
}

void delays_add_parts(struct delays *d, int64_t job_id, const struct fire *parts)
{
    struct delayed_run *run = find(d, job_id);
    bool is_of_run = false;
    size_t n = 0;

    for (const struct fire *f = parts; run && f; f = f->next, n++)
        is_of_run = is_of_run || has_row(run, f->log_id);
    int64_t *log_ids = is_of_run && n > 1 ? realloc(run->log_ids, (run->count + n) * sizeof *log_ids) : NULL;
    if (!log_ids) /* without memory the run ends with the rows that it has */
        return;
    run->log_ids = log_ids;
    for (const struct fire *f = parts; f; f = f->next)
        if (!has_row(run, f->log_id))
            log_ids[run->count++] = f->log_id;
}

void delays_move(struct delays *d, int64_t job_id, int64_t next_ms)
{
    struct delayed_run *run = find(d, job_id);

    if (run)
        run->next_ms = next_ms;
}

void delays_set_rows(struct delays *d, int64_t job_id, const int64_t *log_ids, size_t count, int64_t now_s)
{
    struct delayed_run *run = find(d, job_id);

    if (!run)
        return;
    int64_t *copy = malloc((count + 1) * sizeof *copy);
    if (!copy) {
        delays_forget(d, job_id);
        return;
    }
    for (size_t i = 0; i < count; i++)
        copy[i] = log_ids[i];
    forget_rows(run);
    if (count == 0)
        run->ended_s = now_s;
    run->log_ids = copy;
    run->count = count;
    run->sought = false;
}

size_t delays_list_rows(struct delays *d, struct run_end *rows, int64_t *jobs, size_t max)
{
    size_t n = 0, looked = 0;

    if (d->turn >= d->count)
        d->turn = 0;
    for (; looked < d->count; looked++) {
        const struct delayed_run *run = &d->runs[(d->turn + looked) % d->count];

        if (n > 0 && run->count > max - n)
            break;
        for (size_t i = 0; i < run->count && n < max; i++) {
            rows[n] = (struct run_end){.log_id = run->log_ids[i]};
            jobs[n++] = run->job_id;
        }
    }
    d->turn += looked;
    return n;
}

void delays_apply(struct delays *d, int64_t job_id, const struct run_end *row, int64_t now_s)
{
    struct delayed_run *run = find(d, job_id);
    int64_t ended_s = row->ended_s && row->ended_s < now_s ? row->ended_s : now_s;

    if (!run || row->what == RUN_OPEN)
        return;
    for (size_t i = 0; i < run->count; i++) {
        if (run->log_ids[i] != row->log_id)
            continue;
        if (row->what == RUN_RETRIED) {
            run->log_ids[i] = row->retry_id;
            return;
        }
        run->log_ids[i] = run->log_ids[--run->count];
        if (ended_s > run->ended_s)
            run->ended_s = ended_s;
        return;
    }
}

size_t delays_list_ended(const struct delays *d, int64_t *jobs, size_t max)
{
    size_t n = 0;

    for (size_t i = 0; i < d->count && n < max; i++)
        if (d->runs[i].count == 0 && !d->runs[i].sought)
            jobs[n++] = d->runs[i].job_id;
    return n;
}

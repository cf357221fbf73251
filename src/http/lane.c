/* SPDX-License-Identifier: MIT */
#include "http/lane.h"

#include <stdio.h>
#include <stdlib.h>

TAILQ_HEAD(job_list, lane_job);

struct lane {
    struct lane_opts opts;     /* [const] */
    const struct clock *clock; /* [const] */
    struct thread *threads;    /* [put] of the thread that puts: room for all workers */
    size_t started;            /* [put] of them */
    struct mutex lock;         /* rank LOCK_LEAF */
    struct cond wake;          /* with lock: a job or the stop */
    struct job_list ahead;     /* [lock] oldest first, as the next */
    struct job_list rest;      /* [lock] */
    size_t count;              /* [lock] of both */
    size_t idle;               /* [lock] workers that wait, those too that a job has woken and that do not run yet */
    bool stopping;             /* [lock] set once */
};

static struct lane_job *take_job(struct lane *lane)
{
    mutex_lock(&lane->lock);
    while (!lane->count && !lane->stopping) {
        lane->idle++;
        cond_wait(&lane->wake, &lane->lock);
        lane->idle--;
    }
    struct job_list *queue = TAILQ_EMPTY(&lane->ahead) ? &lane->rest : &lane->ahead;
    struct lane_job *job = lane->stopping ? NULL : TAILQ_FIRST(queue);
    if (job) {
        TAILQ_REMOVE(queue, job, in_queue);
        lane->count--;
    }
    mutex_unlock(&lane->lock);
    return job;
}

static void run_worker(void *arg)
{
    struct lane *lane = arg;

    for (struct lane_job *job; (job = take_job(lane));)
        lane->opts.run(lane->opts.arg, job);
}

static enum err add_worker(struct lane *lane, struct errctx *ec)
{
    char name[32];

    snprintf(name, sizeof name, lane->opts.thread_name, (int)lane->started);
    enum err e = thread_start(&lane->threads[lane->started], name, run_worker, lane, ec);
    if (!e)
        lane->started++;
    return e;
}

enum err lane_create(const struct lane_opts *opts, const struct clock *clock, struct lane **out, struct errctx *ec)
{
    struct lane *lane = calloc(1, sizeof *lane);

    if (lane)
        lane->threads = calloc(opts->workers, sizeof *lane->threads);
    if (!lane || !lane->threads) {
        free(lane);
        return err_set(ec, ERR_NOMEM, "out of memory for workers of HTTP");
    }
    lane->opts = *opts;
    lane->clock = clock;
    mutex_init(&lane->lock, LOCK_LEAF);
    cond_init(&lane->wake);
    TAILQ_INIT(&lane->ahead);
    TAILQ_INIT(&lane->rest);
    enum err e = add_worker(lane, ec); /* one there must be; others that cannot be made are waited for */
    if (e) {
        lane_destroy(lane);
        return e;
    }
    *out = lane;
    return ERR_OK;
}

bool lane_put(struct lane *lane, struct lane_job *job, bool ahead)
{
    struct errctx ec;

    mutex_lock(&lane->lock);
    size_t ready = lane->idle + lane->opts.workers - lane->started;
    bool taken = !lane->stopping && (lane->count < ready || lane->count - ready < lane->opts.waiting);
    if (taken) {
        job->put_mono_ms = clock_mono_ms(lane->clock);
        TAILQ_INSERT_TAIL(ahead ? &lane->ahead : &lane->rest, job, in_queue);
        lane->count++;
    }
    bool more = lane->count > lane->idle && lane->started < lane->opts.workers;
    if (taken && lane->idle)
        cond_signal(&lane->wake);
    mutex_unlock(&lane->lock);
    if (more && add_worker(lane, &ec))
        log_debug("http", "event=worker_not_made error=%s", log_quote(ec.text).s);
    return taken;
}

int64_t lane_get_wait_ms(struct lane *lane)
{
    int64_t now_ms = clock_mono_ms(lane->clock), first_ms = now_ms;

    mutex_lock(&lane->lock);
    const struct lane_job *oldest[] = {TAILQ_FIRST(&lane->ahead), TAILQ_FIRST(&lane->rest)};
    for (size_t i = 0; i < ARRAY_LEN(oldest); i++)
        first_ms = oldest[i] && oldest[i]->put_mono_ms < first_ms ? oldest[i]->put_mono_ms : first_ms;
    mutex_unlock(&lane->lock);
    return now_ms - first_ms;
}

void lane_stop(struct lane *lane)
{
    mutex_lock(&lane->lock);
    lane->stopping = true;
    cond_broadcast(&lane->wake);
    mutex_unlock(&lane->lock);
}

void lane_join(struct lane *lane)
{
    for (size_t i = 0; i < lane->started; i++)
        thread_join(&lane->threads[i]);
}

void lane_destroy(struct lane *lane)
{
    if (!lane)
        return;
    cond_fini(&lane->wake);
    mutex_fini(&lane->lock);
    free(lane->threads);
    free(lane);
}

/* SPDX-License-Identifier: MIT */
/*
 * lane: a queue of jobs and the workers that do them. Workers are made when they are needed, up to a number.
 *
 * Threads     One thread puts, and the same one or one after it stops and joins. `run` is called by the workers, many
 *             at a time.
 * Ownership   A job is the lane's from lane_put until `run` is called with it. What waits at the stop stays undone, in
 *             the queue.
 */
#ifndef HTTP_LANE_H
#define HTTP_LANE_H

#include <sys/queue.h>

#include "shardwheel/base.h"

struct lane;

struct lane_job {
    TAILQ_ENTRY(lane_job) in_queue;
    int64_t put_mono_ms;
};

struct lane_opts {
    const char *thread_name; /* with %d for the number of the worker */
    size_t workers;          /* at most */
    size_t waiting;          /* at most, beside what the workers do; SIZE_MAX: what the caller has */
    void (*run)(void *arg, struct lane_job *job);
    void *arg;
};

MUST_CHECK enum err lane_create(const struct lane_opts *opts, const struct clock *clock, struct lane **out,
                                struct errctx *ec);
/* False when it is full or was stopped: the job stays the caller's. `ahead`: before all that are not. */
bool lane_put(struct lane *lane, struct lane_job *job, bool ahead);
int64_t lane_get_wait_ms(struct lane *lane); /* for how long the one that waits longest has waited; 0 when none does */
void lane_stop(struct lane *lane);           /* the workers end after the job that they are at */
void lane_join(struct lane *lane);
void lane_destroy(struct lane *lane); /* NULL is fine */

#endif

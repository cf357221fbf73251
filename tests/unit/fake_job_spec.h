/* SPDX-License-Identifier: MIT */
/*
 * fake_job_spec: references of jobs that a test has made with calloc and refs of 1. Include it in one source of a test
 * that links nothing of the store.
 */
#ifndef TEST_FAKE_JOB_SPEC_H
#define TEST_FAKE_JOB_SPEC_H

#include <stdlib.h>

#include "shardwheel/job.h"

struct job_spec *job_spec_ref(struct job_spec *job)
{
    atomic_fetch_add(&job->refs, 1);
    return job;
}

void job_spec_unref(struct job_spec *job)
{
    if (job && atomic_fetch_sub(&job->refs, 1) == 1)
        free(job);
}

/* Its texts are those of the other one. */
struct job_spec *job_spec_copy(const struct job_spec *job, const char *param, int retry_count)
{
    struct job_spec *copy = calloc(1, sizeof *copy);

    if (!copy)
        return NULL;
    atomic_init(&copy->refs, 1);
    copy->id = job->id;
    copy->group = job->group;
    copy->running = job->running;
    copy->route = job->route;
    copy->handler = job->handler;
    copy->param = param;
    copy->retry_count = retry_count;
    copy->row_hash = fire_row_hash(job->group, job->handler, param, retry_count);
    copy->route_hash = job->route_hash;
    return copy;
}

#endif

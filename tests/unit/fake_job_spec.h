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

#endif

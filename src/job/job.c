/* SPDX-License-Identifier: MIT */
/* Jobs as their fires need them: one block of memory each, shared by reference. */
#include <stdlib.h>

#include "shardwheel/job.h"

struct job_spec *job_spec_ref(struct job_spec *job)
{
    /* Relaxed: whoever refs holds a reference already, so nothing is published here. */
    atomic_fetch_add_explicit(&job->refs, 1, memory_order_relaxed);
    return job;
}

void job_spec_unref(struct job_spec *job)
{
    /* Pairs with itself in other threads: their reads of the job come before our free. */
    if (job && atomic_fetch_sub_explicit(&job->refs, 1, memory_order_acq_rel) == 1)
        free(job);
}

struct job_spec *job_spec_copy(const struct job_spec *job, const char *param, int retry_count)
{
    struct job_spec *copy = malloc(sizeof *copy + str_size(job->route) + str_size(job->handler) + str_size(param) +
                                   str_size(job->block) + str_size(job->glue_type) + str_size(job->glue_source));

    if (!copy)
        return NULL;
    char *at = (char *)(copy + 1);
    *copy = (struct job_spec){
        .id = job->id,
        .group = job->group,
        .running = job->running,
        .childless = job->childless,
        .timeout_s = job->timeout_s,
        .retry_count = retry_count,
        .row_hash = fire_row_hash(job->group, job->handler, param, retry_count),
        .route_hash = job->route_hash,
        .glue_updated_ms = job->glue_updated_ms,
        .route = str_pack(&at, job->route),
        .handler = str_pack(&at, job->handler),
        .param = str_pack(&at, param),
        .block = str_pack(&at, job->block),
        .glue_type = str_pack(&at, job->glue_type),
        .glue_source = str_pack(&at, job->glue_source),
    };
    atomic_init(&copy->refs, 1);
    return copy;
}

/* SPDX-License-Identifier: MIT */
/* Jobs as their fires need them: one block of memory each, shared by reference. */
#include <stdlib.h>
#include <string.h>

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

static size_t text_size(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

/* Copies the text behind what is there already. */
static const char *put_text(char **at, const char *text)
{
    const char *copy = *at;

    if (!text)
        return NULL;
    memcpy(*at, text, strlen(text) + 1);
    *at += strlen(text) + 1;
    return copy;
}

struct job_spec *job_spec_copy(const struct job_spec *job, const char *param, int retry_count)
{
    struct job_spec *copy = malloc(sizeof *copy + text_size(job->route) + text_size(job->handler) + text_size(param) +
                                   text_size(job->block) + text_size(job->glue_type) + text_size(job->glue_source));

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
        .route = put_text(&at, job->route),
        .handler = put_text(&at, job->handler),
        .param = put_text(&at, param),
        .block = put_text(&at, job->block),
        .glue_type = put_text(&at, job->glue_type),
        .glue_source = put_text(&at, job->glue_source),
    };
    atomic_init(&copy->refs, 1);
    return copy;
}

/* SPDX-License-Identifier: MIT */
/* v1/job_form: a job as api/v1 shows it and takes it. */
#ifndef HTTP_V1_JOB_FORM_H
#define HTTP_V1_JOB_FORM_H

#include "http/v1/write.h"
#include "shardwheel/admin/jobs.h"

/* Members that people give; texts live until the call's end. */
struct job_given {
    struct v1_call *c;
    uint32_t columns; /* a bit for each of job_column_get that was given */
    struct job_row row;
    uint32_t settings; /* a bit for each setting */
    struct job_settings values;
};

/* All members that may be given, of an object that the caller ends. New jobs: what is absent has its default, and the
 * GLUE columns may be given. */
void job_take(struct v1_object *from, bool is_new, struct job_given *out);
/* What was given goes over what is there: for struct job_edit. */
enum err job_put_over(void *given, struct job_row *row, struct job_settings *settings, struct refusal *r);

/* Of a text that was not given; NULL: it has none. */
const char *job_find_default(const char *field);
/* The member "settings"; NULL: none is set. `all`: also what is not set. */
void job_put_settings(struct buf *b, const struct job_settings *settings, bool all);
/* `whole`: with its source. */
void job_put(struct buf *b, const struct job_row *row, const struct job_found *found, bool whole);
/* The tag of its version, in quotes. */
struct v1_etag job_tag(const struct job_row *row, const struct job_settings *settings);

#endif

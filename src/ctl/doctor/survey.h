/* SPDX-License-Identifier: MIT */
/*
 * survey: what is wrong with jobs and their groups. All jobs are read once, in pages, for the checks that are about
 * them.
 *
 * Cost        A job takes a few microseconds and 9 bytes; nothing of xxl_job_log is read.
 */
#ifndef CTL_DOCTOR_SURVEY_H
#define CTL_DOCTOR_SURVEY_H

#include "shardwheel/store/registry.h"

#include "ctl/doctor/check.h"
#include "ctl/doctor/job_faults.h"
#include "ctl/doctor/words.h"

struct group_facts {
    int64_t running; /* jobs of it */
    size_t addresses;
};

struct job_survey {
    int64_t jobs, running;
    struct words faults[JOB_FAULTS];
    struct words mailed;   /* jobs that run and name mail addresses */
    struct words bad_mail; /* ... one of which is none */
    struct group_list groups;
    struct group_facts *facts; /* of the groups, in their order */
};
/* Makes d->survey, once. */
MUST_CHECK enum err survey_jobs(struct doctor *d, struct errctx *ec);
/* Adds so many jobs, the first of them with their names. */
MUST_CHECK enum err survey_name_jobs(struct doctor *d, const int64_t *ids, size_t count, struct words *out,
                                     struct errctx *ec);
const struct group_row *survey_find_group(const struct group_list *groups, int64_t id); /* NULL: there is none */
void survey_destroy(struct job_survey *survey);                                         /* NULL is fine */

#endif

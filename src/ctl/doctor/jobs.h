/* SPDX-License-Identifier: MIT */
/*
 * jobs: what is wrong with jobs and their groups. Judging is pure; survey_jobs reads all jobs once, in pages, for the
 * checks that are about them.
 *
 * Cost        A job takes a few microseconds and 9 bytes; nothing of xxl_job_log is read.
 */
#ifndef CTL_DOCTOR_JOBS_H
#define CTL_DOCTOR_JOBS_H

#include "shardwheel/cron.h"
#include "shardwheel/store/registry.h"

#include "ctl/doctor/doctor.h"
#include "ctl/doctor/words.h"

/* ---- judging: job_faults.c --------------------------------------------------------------------------------------- */

/* A job as it stands in the tables. Texts are "" for NULL. */
struct job_view {
    int64_t id, group;
    const char *name;
    bool running;
    int64_t next_ms;
    const char *type, *conf, *misfire, *route, *block, *glue_type;
    bool has_handler, has_source, has_glue_time;
    const char *children, *email;
    int64_t param_chars;
    const char *zone; /* settings of ours; "" and 0: not set */
    int64_t fixed_delay_s, valid_from_s, valid_until_s;
};

enum job_fault {
    FAULT_CRON_BROKEN,  /* the expression cannot be read */
    FAULT_CRON_OVER,    /* it has no further occurrence */
    FAULT_ZONE,         /* no such time zone */
    FAULT_TYPE,         /* runs, and its schedule_type is none of those that fire */
    FAULT_RATE,         /* FIX_RATE without a rate */
    FAULT_VALIDITY,     /* is not valid any more */
    FAULT_LEFT_BEHIND,  /* its next time has passed, and nobody plans it */
    FAULT_FAR,          /* its next time leaves occurrences out */
    FAULT_HANDLER,      /* BEAN without a handler */
    FAULT_SOURCE,       /* GLUE without a source */
    FAULT_GLUE_TYPE,    /* no such glue_type */
    FAULT_GLUE_OFF,     /* shardwheel.glue forbids it */
    FAULT_ROUTE,        /* no such route */
    FAULT_WORD,         /* misfire or block strategy that counts as another one */
    FAULT_PARAM,        /* parameter longer than the log takes */
    FAULT_CANNOT_START, /* does not run, and could not be started as it is */
    FAULT_BACK_OLD,     /* xxl-job-admin up to 3.0 reads the schedule otherwise */
    FAULT_BACK_MIDDLE,  /* ... 3.1 to 3.3 */
    FAULT_BACK_ROW,     /* a Java admin leaves its rows open for ever */
    JOB_FAULTS
};

struct judge {
    int64_t now_ms;
    int64_t max_year;
    bool planned; /* a node lives that plans: next times do not stay behind */
    enum config_glue glue;
    int64_t param_max;       /* characters of xxl_job_log.executor_param */
    const struct zone *zone; /* of cron expressions without one of their own */
    struct judge_zone {
        char name[ZONE_NAME_MAX];
        struct zone *zone; /* NULL: there is none of that name */
    } * zones;             /* those that jobs have named so far */
    size_t zone_count;
};
void judge_fini(struct judge *j); /* the zones of jobs alone */
/* Bits 1 << enum job_fault. */
uint32_t judge_job(struct judge *j, const struct job_view *job);
/* What other engines make of an expression that ours takes: bits of FAULT_BACK_OLD and FAULT_BACK_MIDDLE. */
uint32_t judge_going_back(const char *cron);

/* ---- children: children.c ---------------------------------------------------------------------------------------- */

/* Who is whose child, by places in a list of jobs. */
struct family_edge {
    size_t parent, child;
};
/* A bit for each job: is_in_circle[i] is set for those that are their own descendants. Sorts the edges. */
MUST_CHECK enum err children_find_circles(struct family_edge *edges, size_t count, size_t jobs, bool *is_in_circle,
                                          struct errctx *ec);

/* ---- the survey: survey.c ---------------------------------------------------------------------------------------- */

enum child_fault { CHILD_FAULT_MISSING, CHILD_FAULT_ILLEGAL, CHILD_FAULT_CIRCLE, CHILD_FAULTS };

struct group_facts {
    int64_t running; /* jobs of it */
    size_t addresses;
};

struct job_survey {
    int64_t jobs, running;
    struct words faults[JOB_FAULTS];
    struct words child_faults[CHILD_FAULTS];
    struct words no_group; /* jobs that run */
    struct words mailed;   /* jobs that run and name mail addresses */
    struct words bad_mail; /* ... one of which is none */
    struct group_list groups;
    struct group_facts *facts; /* of the groups, in their order */
};
/* Once; later calls borrow what is there. */
MUST_CHECK enum err survey_jobs(struct doctor *d, struct job_survey **out, struct errctx *ec);
void survey_destroy(struct job_survey *survey); /* NULL is fine */

#endif

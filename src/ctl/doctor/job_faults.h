/* SPDX-License-Identifier: MIT */
/* job_faults: what is wrong with one job. Pure. */
#ifndef CTL_DOCTOR_JOB_FAULTS_H
#define CTL_DOCTOR_JOB_FAULTS_H

#include "shardwheel/config.h"
#include "shardwheel/cron.h"

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
    JUDGE_FAULTS,       /* those above are found by judge_job, those below with all jobs in view */
    FAULT_NO_GROUP = JUDGE_FAULTS,
    FAULT_CHILD_MISSING,
    FAULT_CHILD_ILLEGAL,
    FAULT_CHILD_CIRCLE,
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
/* Bits 1 << enum job_fault, below JUDGE_FAULTS. */
uint32_t judge_job(struct judge *j, const struct job_view *job);
/* What other engines make of an expression that ours takes: bits of FAULT_BACK_OLD and FAULT_BACK_MIDDLE. */
uint32_t judge_going_back(const char *cron);

#endif

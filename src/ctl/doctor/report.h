/* SPDX-License-Identifier: MIT */
/* report: what the doctor found. */
#ifndef CTL_DOCTOR_REPORT_H
#define CTL_DOCTOR_REPORT_H

#include "shardwheel/base.h"

/* The worst one found decides the exit status. */
enum doctor_level {
    DOCTOR_OK,
    DOCTOR_NOTE,     /* good to know: nothing is wrong */
    DOCTOR_UNKNOWN,  /* it could not be looked at */
    DOCTOR_WARNING,  /* works, and will not always */
    DOCTOR_CRITICAL, /* fires are lost, late, or will be */
};
int doctor_exit_status(enum doctor_level worst); /* as monitoring plugins have it: 0, 1, 2; 3 unknown */

struct finding {
    enum doctor_level level;
    const char *check;   /* constant: code of the check that told it */
    const char *code;    /* constant, stable: what scripts go by */
    char *where;         /* "node node-a", "table xxl_job_log"; NULL: the whole set-up */
    char *what, *change; /* sentences; change is NULL where nothing need be done */
};

#define REPORT_LEFT_OUT_MAX 100 /* checks */
struct doctor_report {
    struct finding *findings; /* in the order of the checks */
    size_t count;
    const char *left_out[REPORT_LEFT_OUT_MAX]; /* codes of checks that lack what another one misses: constants */
    size_t left_out_count;
    bool failed; /* out of memory */
};

void report_fini(struct doctor_report *r);
void report_add(struct doctor_report *r, const struct finding *finding); /* copies the three texts */
void report_leave_out(struct doctor_report *r, const char *check);
enum doctor_level report_get_worst(const struct doctor_report *r);
/* Append to `out`. */
void report_write_text(const struct doctor_report *r, bool verbose, struct buf *out);
void report_write_json(const struct doctor_report *r, struct buf *out);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The insides of a parsed expression: what cron_parse.c fills and cron_search.c reads.
 *
 * Invariants  Sets are bit maps: bit v of values[field] means that the value v is allowed. A value that the field
 *             cannot have is either rejected or has no bit, because it would never match.
 */
#ifndef CRON_CRON_IMPL_H
#define CRON_CRON_IMPL_H

#include "shardwheel/cron.h"

enum cron_field {
    FIELD_SECOND,
    FIELD_MINUTE,
    FIELD_HOUR,
    FIELD_DAY_OF_MONTH,
    FIELD_MONTH,
    FIELD_DAY_OF_WEEK, /* 1 is Sunday */
    FIELD_YEAR,
    FIELD_COUNT,
};

#define CRON_YEAR_FIRST 1970 /* where "*" and "*" with a step begin */
#define CRON_YEAR_LAST 2999  /* no search goes beyond it, whatever max_year says */

struct cron {
    uint64_t values[FIELD_YEAR];             /* plain values of all fields but the year */
    uint64_t years[CRON_YEAR_LAST / 64 + 1]; /* bit y % 64 of word y / 64 */
    uint32_t last_offsets;                   /* day-of-month L-k: bit k */
    uint32_t weekday_days;                   /* day-of-month nW: bit n; bit 0 is accepted and never fires */
    uint32_t weekday_last_offsets;           /* day-of-month L-kW: bit k */
    int nth_week;                            /* day-of-week d#n: 1..5, else 0 */
    bool last_week;                          /* day-of-week dL */
    bool no_day_of_month, no_day_of_week;    /* the field is "?"; exactly one of them is, once parsed */
    int64_t max_year;
};

#endif

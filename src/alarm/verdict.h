/* SPDX-License-Identifier: MIT */
/*
 * verdict: whether something that was to happen did. Pure.
 */
#ifndef ALARM_VERDICT_H
#define ALARM_VERDICT_H

#include "shardwheel/cron.h"
#include "shardwheel/store/watch.h"

#define USUAL_RUNS 30      /* successes by which a long run is told from a usual one... */
#define USUAL_RUNS_MIN 5   /* ... and how many there must be */
#define LONG_RUN_MIN_S 60  /* no run is long before */
#define FEW_GRACE_MS 60000 /* executors may restart */

enum verdict {
    VERDICT_GOOD, /* what is open ends, and people are told so */
    VERDICT_BAD,
    VERDICT_IDLE, /* it is too early to say: what is open stays open, and nothing opens */
};

/* What holds for a job: its own settings, else the strictest of the rules that are for it. -1: nothing. */
struct watch_limits {
    int64_t success_s; /* no success within */
    int64_t long_s;    /* 0: by what is usual */
    int done_minute;   /* from midnight */
    int64_t since_ms;  /* when the newest of these rules was changed, by the clock of the database */
};
struct watch_limits limits_find(const struct watched_job *job, const struct watch_rule *rules, size_t rule_count);
bool limits_are_empty(const struct watch_limits *limits);

/* `since_s`: when the job or the rule was changed last; success_s 0: none is known. */
enum verdict verdict_success(int64_t bound_s, int64_t since_s, int64_t success_s, int64_t now_s);

/* A success counts if it began behind the deadline before the last one, and not before the first due time since then.
 * `cron` NULL: it is due on every day; else nothing is expected for a day without a due time. `begun_s`: when the
 * success that began last did so; 0: none is known. */
enum verdict verdict_done(const struct zone *zone, int minute, const struct cron *cron, int64_t since_s,
                          int64_t begun_s, int64_t now_s);

/* Seconds beyond which a run is long; -1: too little is known. `took`: ascending. */
int64_t verdict_find_long(const int64_t *took, size_t count);

#endif

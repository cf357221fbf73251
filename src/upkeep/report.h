/* SPDX-License-Identifier: MIT */
/*
 * report: the numbers of the log report: today, yesterday and the day before.
 *
 * They are kept by minutes, so that not all rows are read each time: a pass reads the newest minutes, those in which
 * some run has no end, and a part of all others, so that each minute is read again within an hour. What is left when
 * the next pass begins goes on. A day is written once each of its minutes was counted.
 *
 * Threads     One owner.
 */
#ifndef UPKEEP_REPORT_H
#define UPKEEP_REPORT_H

#include "shardwheel/store/upkeep.h"

#define REPORT_DAYS 3
#define REPORT_MINUTES (REPORT_DAYS * DAY_MINUTES)
#define REPORT_PERIOD_MS 60000
#define REPORT_ALL_MS (60 * 60000) /* within this time each minute is read again */
#define REPORT_HOT 4               /* minutes up to now that each pass reads, and the one to come */
#define REPORT_SLICE_MS 100        /* a statement counts as many minutes as take about so long */
#define REPORT_REST 4              /* after it nothing is read for so many times as long */

struct report {
    int64_t day; /* today */
    bool begun;
    struct report_minute {
        uint32_t total, running, success, skipped;
        bool counted;          /* at least once */
        bool wanted;           /* in this pass */
    } minutes[REPORT_MINUTES]; /* from the beginning of the oldest day on */
    int sweep;                 /* the minute at which the part of all others goes on */
    int at;                    /* the minute below which the reading goes on, from newer to older and round */
    int span;                  /* minutes in a statement */
    int64_t pass_mono_ms;      /* when the next pass begins */
    int64_t write_mono_ms;     /* when days are written if the pass is not done by then; INT64_MAX: they are written */
};

void report_init(struct report *r); /* nothing is known: all is counted anew */
/* One step: a statement that counts, or the days written. *next_mono_ms: when the next step is due. */
MUST_CHECK enum err report_step(struct report *r, struct store_session *s, const struct store *store,
                                const struct clock *clock, int64_t *next_mono_ms, struct errctx *ec);

#endif

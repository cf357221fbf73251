/* SPDX-License-Identifier: MIT */
#include "upkeep/report.h"

#include <string.h>

#define LIMIT_MS 1000 /* of a statement over several minutes */
#define LIMIT_ONE_MS                                                                                                   \
    7000 /* of one over a single minute, which cannot be made smaller: tried again, with warmer pages */

void report_init(struct report *r)
{
    memset(r, 0, sizeof *r);
    r->span = 10;
}

static void forget(struct report_minute *minutes, int count)
{
    for (int i = 0; i < count; i++)
        minutes[i] = (struct report_minute){.wanted = true};
}

/* Today becomes yesterday; after anything else nothing is known. */
static void roll(struct report *r, int64_t day)
{
    if (r->begun && day == r->day)
        return;
    if (r->begun && day == r->day + 1) {
        memmove(r->minutes, r->minutes + DAY_MINUTES, (REPORT_DAYS - 1) * DAY_MINUTES * sizeof r->minutes[0]);
        forget(r->minutes + (REPORT_DAYS - 1) * DAY_MINUTES, DAY_MINUTES);
    } else {
        forget(r->minutes, REPORT_MINUTES);
    }
    r->begun = true;
    r->day = day;
}

static void want(struct report *r, int now)
{
    int part = REPORT_MINUTES / (REPORT_ALL_MS / REPORT_PERIOD_MS);

    for (int i = 0; i < REPORT_MINUTES; i++)
        if (r->minutes[i].running > 0)
            r->minutes[i].wanted = true;
    for (int i = 0; i < part; i++, r->sweep++)
        r->minutes[r->sweep % REPORT_MINUTES].wanted = true;
    r->sweep %= REPORT_MINUTES;
    for (int i = now - REPORT_HOT + 1; i <= now + 1 && i < REPORT_MINUTES; i++)
        r->minutes[i].wanted = true;
}

/* The next run of wanted minutes of one day, going down from `at`; false when there is none. */
static bool pick(struct report *r, int *from, int *count)
{
    int last = -1;

    for (int i = 0; i < REPORT_MINUTES && last < 0; i++) {
        int k = (r->at - 1 - i + 2 * REPORT_MINUTES) % REPORT_MINUTES;
        if (r->minutes[k].wanted)
            last = k;
    }
    if (last < 0)
        return false;
    *from = last;
    while (*from % DAY_MINUTES > 0 && last - *from + 1 < r->span && r->minutes[*from - 1].wanted)
        (*from)--;
    *count = last - *from + 1;
    return true;
}

static void take(struct report *r, int from, int count, const struct report_counts *counts)
{
    for (int i = 0; i < count; i++)
        r->minutes[from + i] = (struct report_minute){.total = (uint32_t)counts[i].total,
                                                      .running = (uint32_t)counts[i].running,
                                                      .success = (uint32_t)counts[i].success,
                                                      .skipped = (uint32_t)counts[i].skipped,
                                                      .counted = true};
}

static enum err count_some(struct report *r, struct store_session *s, const struct clock *clock, int from, int count,
                           bool newest, struct errctx *ec)
{
    struct report_counts counts[DAY_MINUTES];
    int64_t begun_ms = clock_mono_ms(clock);
    enum err e = store_count_minutes(s, r->day - (REPORT_DAYS - 1) + from / DAY_MINUTES, from % DAY_MINUTES, count,
                                     count == 1 ? LIMIT_ONE_MS : LIMIT_MS, counts, ec);
    int64_t took_ms = clock_mono_ms(clock) - begun_ms;

    if (e == ERR_TIMEOUT && count > 1 && !newest) {
        r->span = count / 2; /* tried again with fewer */
        return ERR_OK;
    }
    if (e)
        return e;
    take(r, from, count, counts);
    if (!newest)
        r->at = from;
    if (took_ms > REPORT_SLICE_MS)
        r->span = count > 1 ? count / 2 : 1;
    else if (took_ms < REPORT_SLICE_MS / 2 && count == r->span && r->span < DAY_MINUTES)
        r->span = r->span * 2 < DAY_MINUTES ? r->span * 2 : DAY_MINUTES;
    return ERR_OK;
}

static enum err write_days(struct report *r, struct store_session *s, int64_t now_s, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (int d = 0; d < REPORT_DAYS && !e; d++) {
        struct report_counts sum = {0};
        bool whole = true;
        for (int i = d * DAY_MINUTES; i < (d + 1) * DAY_MINUTES; i++) {
            const struct report_minute *m = &r->minutes[i];
            sum.total += m->total;
            sum.running += m->running;
            sum.success += m->success;
            sum.skipped += m->skipped;
            whole &= m->counted;
        }
        if (whole)
            e = store_write_report(s, r->day - (REPORT_DAYS - 1) + d, &sum, now_s, ec);
    }
    return e;
}

/* The newest minutes come first in each pass; the others go on where the pass before was. */
static void pick_newest(int minute, int *from, int *count)
{
    int first = minute - REPORT_HOT + 1 > 0 ? minute - REPORT_HOT + 1 : 0;
    int last = minute + 1 < DAY_MINUTES ? minute + 1 : minute;

    *from = (REPORT_DAYS - 1) * DAY_MINUTES + first;
    *count = last - first + 1;
}

enum err report_step(struct report *r, struct store_session *s, const struct store *store, const struct clock *clock,
                     int64_t *next_mono_ms, struct errctx *ec)
{
    int64_t now_s = time_floor_div(clock_wall_ms(clock), 1000);
    int64_t begun_ms = clock_mono_ms(clock), now_ms;
    int minute, from = 0, count = 0;
    bool newest = begun_ms >= r->pass_mono_ms;
    enum err e;

    roll(r, store_find_day(store, now_s, &minute));
    if (newest) {
        want(r, (REPORT_DAYS - 1) * DAY_MINUTES + minute);
        r->pass_mono_ms = begun_ms + REPORT_PERIOD_MS;
        r->write_mono_ms = begun_ms + REPORT_PERIOD_MS / 2;
        pick_newest(minute, &from, &count);
    } else if (!pick(r, &from, &count) || begun_ms >= r->write_mono_ms) {
        e = r->write_mono_ms < INT64_MAX ? write_days(r, s, now_s, ec) : ERR_OK;
        r->write_mono_ms = INT64_MAX;
        *next_mono_ms = count > 0 ? clock_mono_ms(clock) : r->pass_mono_ms;
        return e;
    }
    e = count_some(r, s, clock, from, count, newest, ec);
    if (newest && e)
        r->pass_mono_ms = begun_ms; /* the pass begins anew */
    now_ms = clock_mono_ms(clock);
    *next_mono_ms = now_ms + (now_ms - begun_ms) * REPORT_REST;
    return e;
}

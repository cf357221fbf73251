/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target for the next occurrence in zones whose clocks change, against a walk through time that knows nothing of
 * src/cron: it reads the clock with localtime_r of the C library and looks at each second of a minute that matches.
 * Head: zone, start (5 bytes), then a byte or two for each field. Left out is what docs/cron.md calls an oddity of the
 * original: days with W, plain days mixed with L, a gap of more than an hour on the
 * way, and zones whose gaps do not begin with an hour.
 */
#include "shardwheel/cron.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_YEAR 2126
#define HORIZON_S (INT64_C(3) * 366 * 86400)
#define FIRST_S INT64_C(173000000)         /* in 1975: from then on all offsets are whole minutes */
#define SPAN_S (INT64_C(85) * 366 * 86400) /* the C library knows rules of zones beyond their tables as well */
#define GAP_MAX_S 3600

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *at;
    size_t left;
};

static unsigned draw(struct input *in, unsigned below)
{
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->at++ % below;
}

/* ---- the expression: its text and, apart from it, what it means ------------------------------------------------- */

enum day_kind { DAY_PLAIN, DAY_LAST, DAY_WEEKDAY, DAY_LAST_WEEKDAY, DAY_NTH_WEEKDAY, DAY_KINDS };

struct plan {
    char text[400];
    uint64_t seconds, minutes, hours, months, days, weekdays;
    enum day_kind kind;
    int weekday, number;
    int years[2];
};

static uint64_t draw_set(struct input *in, char *text, int min, int max)
{
    int first = min + (int)draw(in, (unsigned)(max - min + 1));
    int last = min + (int)draw(in, (unsigned)(max - min + 1));
    int step = 1 + (int)draw(in, (unsigned)(max < 24 ? max : 23));
    int size = max - min + 1;
    uint64_t set = 0;

    switch (draw(in, 6)) {
    case 0:
        strcat(text, "* ");
        step = 1, first = min, last = max;
        break;
    case 1:
        sprintf(text + strlen(text), "%d ", first);
        last = first;
        break;
    case 2:
        sprintf(text + strlen(text), "%d/%d ", first, step);
        last = max;
        break;
    case 3:
        sprintf(text + strlen(text), "*/%d ", step);
        first = min, last = max;
        break;
    case 4:
        sprintf(text + strlen(text), "%d-%d ", first, last);
        step = 1;
        break;
    default: /* two values, the first of them twice */
        sprintf(text + strlen(text), "%d,%d,%d ", first, last, first);
        return UINT64_C(1) << first | UINT64_C(1) << last;
    }
    if (last < first) /* runs over the top */
        last += size;
    for (int v = first; v <= last; v += step)
        set |= UINT64_C(1) << (v > max ? v - size : v);
    return set;
}

static void draw_plan(struct input *in, int year, struct plan *plan)
{
    char months[64] = "";
    char *end;

    plan->text[0] = '\0';
    plan->seconds = draw_set(in, plan->text, 0, 59);
    plan->minutes = draw_set(in, plan->text, 0, 59);
    plan->hours = draw_set(in, plan->text, 0, 23);
    plan->kind = draw(in, DAY_KINDS);
    plan->weekday = 1 + (int)draw(in, 7);
    plan->months = draw_set(in, months, 1, 12);
    end = plan->text + strlen(plan->text);
    switch (plan->kind) {
    case DAY_PLAIN:
        plan->days = draw_set(in, end, 1, 31);
        strcat(end, months);
        strcat(end, "? ");
        break;
    case DAY_LAST:
        plan->number = (int)draw(in, 28);
        sprintf(end, plan->number ? "L-%d %s? " : "L%.0d %s? ", plan->number, months);
        break;
    case DAY_WEEKDAY:
        sprintf(end, "? %s", months);
        plan->weekdays = draw_set(in, end, 1, 7);
        break;
    case DAY_LAST_WEEKDAY: sprintf(end, "? %s%dL ", months, plan->weekday); break;
    case DAY_NTH_WEEKDAY:
        plan->number = 1 + (int)draw(in, 5);
        sprintf(end, "? %s%d#%d ", months, plan->weekday, plan->number);
        break;
    case DAY_KINDS: break;
    }
    plan->years[0] = 0, plan->years[1] = MAX_YEAR;
    if (draw(in, 2)) {
        plan->years[0] = year + (int)draw(in, 3);
        plan->years[1] = plan->years[0] + (int)draw(in, 2);
        sprintf(end + strlen(end), "%d-%d", plan->years[0], plan->years[1]);
    }
}

static int month_length(const struct tm *tm)
{
    int year = tm->tm_year + 1900;
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return tm->tm_mon == 1 ? 28 + leap
                           : 31 - (tm->tm_mon == 3 || tm->tm_mon == 5 || tm->tm_mon == 8 || tm->tm_mon == 10);
}

static bool has_day(const struct plan *plan, const struct tm *tm)
{
    int year = tm->tm_year + 1900;

    if (!(plan->months >> (tm->tm_mon + 1) & 1) || year < plan->years[0] || year > plan->years[1])
        return false;
    switch (plan->kind) {
    case DAY_PLAIN: return plan->days >> tm->tm_mday & 1;
    case DAY_LAST: return tm->tm_mday == month_length(tm) - plan->number;
    case DAY_WEEKDAY: return plan->weekdays >> (tm->tm_wday + 1) & 1;
    case DAY_LAST_WEEKDAY: return tm->tm_wday + 1 == plan->weekday && tm->tm_mday + 7 > month_length(tm);
    case DAY_NTH_WEEKDAY: return tm->tm_wday + 1 == plan->weekday && (tm->tm_mday + 6) / 7 == plan->number;
    case DAY_KINDS: break;
    }
    return false;
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

static struct tm clock_at(int64_t at_s)
{
    time_t t = (time_t)at_s;
    struct tm tm;

    localtime_r(&t, &tm);
    return tm;
}

static bool is_same_time(const struct tm *a, const struct tm *b)
{
    return a->tm_mday == b->tm_mday && a->tm_hour == b->tm_hour && a->tm_min == b->tm_min && a->tm_sec == b->tm_sec;
}

/* The last instant with the same local time. */
static int64_t last_pass(int64_t at_s)
{
    struct tm now = clock_at(at_s);

    for (int64_t ahead_s = 3 * 3600; ahead_s > 0; ahead_s -= 900) {
        struct tm then = clock_at(at_s + ahead_s);

        if (is_same_time(&now, &then))
            return at_s + ahead_s;
    }
    return at_s;
}

/* The first second of this minute, from at_s on, that the plan has and that does not come again; -1 for none. */
static int64_t in_minute(const struct plan *plan, int64_t at_s, const struct tm *tm)
{
    if (!(plan->minutes >> tm->tm_min & 1) || !(plan->hours >> tm->tm_hour & 1))
        return -1;
    for (int second = tm->tm_sec; second < 60; second++, at_s++) {
        if (plan->seconds >> second & 1 && last_pass(at_s) == at_s)
            return at_s;
    }
    return -1;
}

enum walk { WALK_FOUND, WALK_NONE, WALK_UNKNOWN };

/* Steps are a minute on days that match and an hour on others. What an hour steps over are times that come again. */
static enum walk walk_on(const struct plan *plan, int64_t from_s, int64_t *out_s)
{
    int64_t at_s = last_pass(from_s + 1);
    long offset_s = clock_at(at_s).tm_gmtoff;

    while (at_s < from_s + HORIZON_S) {
        struct tm tm = clock_at(at_s);
        struct tm later = clock_at(at_s + 3600);

        if (tm.tm_gmtoff > offset_s + GAP_MAX_S)
            return WALK_UNKNOWN;
        offset_s = tm.tm_gmtoff;
        if (tm.tm_year + 1900 > plan->years[1])
            return WALK_NONE;
        if (!has_day(plan, &tm) && !has_day(plan, &later) && tm.tm_mday == later.tm_mday) {
            at_s += 3600;
            continue;
        }
        *out_s = has_day(plan, &tm) ? in_minute(plan, at_s, &tm) : -1;
        if (*out_s >= 0)
            return WALK_FOUND;
        at_s += 60 - tm.tm_sec;
    }
    return WALK_UNKNOWN;
}

/* ---- the comparison ---------------------------------------------------------------------------------------------- */

static const struct zone *pick_zone(unsigned choice)
{
    static const char *const names[] = {
        "America/New_York",  "Europe/Berlin",  "Australia/Lord_Howe", "America/Asuncion", "America/Havana",
        "Africa/Casablanca", "Asia/Kathmandu", "America/Sao_Paulo",   "Asia/Beirut",      "Asia/Shanghai"};
    static struct zone *zones[ARRAY_LEN(names)]; /* loaded once: the process of a fuzzer lives long */

    choice %= ARRAY_LEN(names);
    if (zones[choice] == NULL && zone_load(names[choice], &zones[choice], NULL))
        abort();
    setenv("TZ", names[choice], 1);
    tzset();
    return zones[choice];
}

static void compare(const struct plan *plan, const struct zone *zone, int64_t from_s)
{
    struct cron *cron = NULL;
    struct errctx ec = {""};

    if (cron_parse(plan->text, MAX_YEAR, &cron, &ec)) {
        fprintf(stderr, "\"%s\" is refused: %s\n", plan->text, ec.text);
        abort();
    }
    for (int i = 0; i < 3; i++) {
        int64_t expected_s = -1, next_ms = -1;
        enum walk walk = walk_on(plan, from_s, &expected_s);
        enum err e = cron_next(cron, zone, from_s * 1000, &next_ms, &ec);

        if (walk == WALK_UNKNOWN)
            break;
        if (e != (walk == WALK_NONE ? ERR_NOTFOUND : ERR_OK) || (!e && next_ms != expected_s * 1000)) {
            fprintf(stderr, "\"%s\" in %s after %" PRId64 ": %" PRId64 ", expected %" PRId64 "\n", plan->text,
                    zone_get_name(zone), from_s, e ? -1 : next_ms / 1000, expected_s);
            abort();
        }
        if (e)
            break;
        from_s = next_ms / 1000;
    }
    cron_destroy(cron);
}

/* A third of the starts are within hours of a change of the clock: that is where mistakes are. */
static int64_t near_change(int64_t from_s, unsigned before_s)
{
    for (int64_t at_s = from_s; at_s < from_s + 366 * 86400; at_s += 6 * 3600) {
        if (clock_at(at_s).tm_gmtoff != clock_at(at_s + 6 * 3600).tm_gmtoff)
            return at_s + 3600 - (int64_t)before_s;
    }
    return from_s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    struct plan plan = {.text = ""};
    const struct zone *zone;
    int64_t from_s = 0;

    if (size < 12 || size > 64)
        return -1;
    zone = pick_zone(draw(&in, 256));
    for (int i = 0; i < 4; i++)
        from_s = from_s << 8 | (int64_t)draw(&in, 256);
    from_s = FIRST_S + from_s % SPAN_S;
    switch (draw(&in, 3)) {
    case 0: break;
    case 1: from_s -= from_s % 3600; break;
    default: from_s = near_change(from_s, draw(&in, 256) * 60); break;
    }
    draw_plan(&in, clock_at(from_s).tm_year + 1900, &plan);
    compare(&plan, zone, from_s);
    return 0;
}

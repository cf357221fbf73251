/* SPDX-License-Identifier: MIT */
/*
 * cron_search: the next occurrence. A working time in local fields moves forward until every field agrees.
 * docs/cron.md gives the results that look like mistakes but are those of the original. The steps:
 *
 * 1. Start one second after `from`, cut to the second; in the first pass of a repeated hour at its second pass.
 * 2. Normalise. After the year 2999 there is none.
 * 3. Second: the next allowed, else the first and one minute more; normalise.
 * 4. Minute: the next allowed, else the first and one hour more. If it moved: second 0, set the hour, again from 2.
 * 5. Hour: the next allowed, else the first and one day more. If it moved: minute and second 0, set the hour, again
 *    from 2. To set the hour: normalise; where that gives another hour than wanted (and not 24 was), it is wanted + 1.
 * 6. Day-of-month. A is the next plain day or `L-k` from today, see find_day; B the next W day likewise, moved off the
 *    weekend within its month. Where B, at the present time of day, is before the start, all W days of this month are
 *    dropped. If B is not after A: that day, at the present time of day, on with 8. Else A, else the 1st of the next
 *    month; if that is not today: its midnight, again from 2.
 * 7. Day-of-week: the next allowed weekday; of `dL` and `d#n` the smallest weekday alone. If it moved: its midnight,
 *    again from 2; beyond the month the 1st of the next.
 * 8. Month: the next allowed, else the first of the next year. If it moved: midnight of the 1st, again from 2.
 * 9. Year: the next allowed, or none. If it moved: midnight of 1 January, again from 2. Else normalise: the answer.
 *
 * Only local time is worked with: a skipped local time moves forward by the gap, a repeated one stands for its
 * second pass. So the zone is asked only when the working time leaves the span in which the offset was found.
 */
#include "cron/cron_item.h"
#include "cron/zone_impl.h"

/* The beginning of year 1: a search does not begin before it, or it could walk through half a million years. */
#define FROM_MIN_MS (INT64_C(-62135596800) * 1000)

struct search {
    const struct cron *cron;
    const struct zone *zone;
    struct local_span span; /* holds the working time when it was last normalised */
    int64_t start_s;        /* the first instant that may be the answer */
    struct civil at;        /* the working time; a field may stand out of its range until normalise */
};

enum outcome {
    FIELD_AGREES, /* go on with the next field */
    START_AGAIN,  /* the working time moved: from the first field again */
    NEVER,        /* no occurrence any more */
};

/* Carries fields over, and leaves a gap if the working time stands in one. Returns the local seconds. */
static int64_t normalise(struct search *s)
{
    int64_t local_s = civil_to_second(&s->at);

    if (local_s < s->span.begin_s || local_s >= s->span.end_s)
        s->span = zone_find_span(s->zone, &local_s);
    s->at = civil_of_second(local_s);
    return local_s;
}

/* The smallest value of the set that is at least `from`, or -1. */
static int find_bit(uint64_t set, int from)
{
    uint64_t rest = from > 63 ? 0 : set >> from << from;

    return rest ? __builtin_ctzll(rest) : -1;
}

static int find_highest_bit(uint64_t set)
{
    return set ? 63 - __builtin_clzll(set) : -1;
}

static enum outcome go_to(struct search *s, int64_t year, int month, int day)
{
    s->at = (struct civil){.year = year, .month = month, .day = day};
    return START_AGAIN;
}

static enum outcome go_to_next_month(struct search *s)
{
    return go_to(s, s->at.year, s->at.month + 1, 1);
}

/* A skipped hour is left by one hour, not by the gap: after a gap of two hours this comes out an hour late. */
static enum outcome go_to_hour(struct search *s, int hour)
{
    s->at.hour = hour;
    normalise(s);
    if (s->at.hour != hour && hour != 24)
        s->at.hour = hour + 1;
    return START_AGAIN;
}

static enum outcome match_time(struct search *s)
{
    const uint64_t *values = s->cron->values;
    int second = find_bit(values[FIELD_SECOND], s->at.second);
    int minute, hour;

    if (second != s->at.second) {
        if (second < 0) {
            second = find_bit(values[FIELD_SECOND], 0);
            s->at.minute++;
        }
        s->at.second = second;
        normalise(s);
    }
    minute = find_bit(values[FIELD_MINUTE], s->at.minute);
    if (minute != s->at.minute) {
        hour = s->at.hour + (minute < 0 ? 1 : 0);
        s->at.second = 0;
        s->at.minute = minute < 0 ? find_bit(values[FIELD_MINUTE], 0) : minute;
        return go_to_hour(s, hour);
    }
    hour = find_bit(values[FIELD_HOUR], s->at.hour);
    if (hour != s->at.hour) {
        s->at.second = 0;
        s->at.minute = 0;
        if (hour < 0)
            s->at.day++;
        return go_to_hour(s, hour < 0 ? find_bit(values[FIELD_HOUR], 0) : hour);
    }
    return FIELD_AGREES;
}

/* The first day from today on that is in `days`, or `offset` days before the last of the month; 0: none. A plain
 * day wins over an offset as if the month had 31 days, which is the original's way of comparing the two. */
static int find_day(uint64_t days, uint64_t offsets, int today, int last_day)
{
    int day = find_bit(days, today);
    int offset = find_highest_bit(offsets & ((UINT64_C(2) << (last_day - today)) - 1));

    if (day > 0 && day <= last_day && (offset < 0 || day < 31 - offset))
        return day;
    return offset >= 0 ? last_day - offset : 0;
}

/* The working day nearest to `day` in the same month. */
static int find_working_day(const struct civil *at, int day, int last_day)
{
    int weekday = calendar_weekday(calendar_to_days(at->year, at->month, day));

    if (weekday == 7)
        return day == 1 ? day + 2 : day - 1;
    if (weekday == 1)
        return day == last_day ? day - 2 : day + 1;
    return day;
}

static enum outcome match_day_of_month(struct search *s)
{
    const struct cron *cron = s->cron;
    int today = s->at.day;
    int last_day = calendar_month_length(s->at.year, s->at.month);
    int day = find_day(cron->values[FIELD_DAY_OF_MONTH], cron->last_offsets, today, last_day);
    int working = find_day(cron->weekday_days, cron->weekday_last_offsets, today, last_day);

    if (working > 0) {
        struct civil then = s->at;
        int64_t local_s;
        struct local_span span;

        then.day = working = find_working_day(&s->at, working, last_day);
        local_s = civil_to_second(&then);
        span = zone_find_span(s->zone, &local_s);
        if (local_s - span.offset_s < s->start_s)
            working = 0; /* moved back into the past; later W days of this month are lost with it */
    }
    if (working > 0 && (day == 0 || working <= day)) {
        s->at.day = working; /* keeps the time of day, and is not looked at again: it need not be in the set */
        return FIELD_AGREES;
    }
    if (day == 0)
        return go_to_next_month(s);
    return day == today ? FIELD_AGREES : go_to(s, s->at.year, s->at.month, day);
}

static enum outcome match_day_of_week(struct search *s)
{
    const struct cron *cron = s->cron;
    uint64_t set = cron->values[FIELD_DAY_OF_WEEK];
    int today = s->at.day;
    int last_day = calendar_month_length(s->at.year, s->at.month);
    int weekday = calendar_weekday(calendar_to_days(s->at.year, s->at.month, today));
    int wanted = find_bit(set, 0);
    int day;

    if (!cron->last_week && cron->nth_week == 0 && find_bit(set, weekday) >= 0)
        wanted = find_bit(set, weekday);
    day = today + (wanted - weekday + 7) % 7; /* 0 is accepted before # and means 7 */
    if (cron->nth_week > 0) {
        int week = (day + 6) / 7;

        if (cron->nth_week < week)
            return go_to_next_month(s);
        day += (cron->nth_week - week) * 7;
    }
    if (day > last_day)
        return go_to_next_month(s);
    if (cron->last_week)
        day += (last_day - day) / 7 * 7;
    return day == today ? FIELD_AGREES : go_to(s, s->at.year, s->at.month, day);
}

static enum outcome match_month(struct search *s)
{
    uint64_t set = s->cron->values[FIELD_MONTH];
    int month = find_bit(set, s->at.month);

    if (s->at.year > s->cron->max_year)
        return NEVER;
    if (month < 0)
        return go_to(s, s->at.year + 1, find_bit(set, 0), 1);
    return month == s->at.month ? FIELD_AGREES : go_to(s, s->at.year, month, 1);
}

static enum outcome match_year(struct search *s)
{
    int64_t year = s->at.year;

    if (year < 0) /* the set has no such years */
        return go_to(s, 0, 1, 1);
    for (int64_t word = year / 64; word <= CRON_YEAR_LAST / 64; word++) {
        int bit = find_bit(s->cron->years[word], word == year / 64 ? (int)(year % 64) : 0);

        if (bit >= 0)
            return word * 64 + bit == year ? FIELD_AGREES : go_to(s, word * 64 + bit, 1, 1);
    }
    return NEVER;
}

int64_t cron_last_year(const struct cron *cron)
{
    int64_t year = cron->max_year < CRON_YEAR_LAST ? cron->max_year : CRON_YEAR_LAST;

    while (year >= 0 && !(cron->years[year / 64] >> (year % 64) & 1))
        year--;
    return year;
}

static enum outcome match(struct search *s)
{
    enum outcome o;

    normalise(s);
    if (s->at.year > CRON_YEAR_LAST)
        return NEVER;
    o = match_time(s);
    if (o == FIELD_AGREES)
        o = s->cron->no_day_of_week ? match_day_of_month(s) : match_day_of_week(s);
    if (o == FIELD_AGREES)
        o = match_month(s);
    if (o == FIELD_AGREES)
        o = match_year(s);
    return o;
}

/* Sets that can never match a day would be searched up to the last year, month by month. */
static bool has_days(const struct cron *cron)
{
    if (cron->no_day_of_month)
        return cron->values[FIELD_DAY_OF_WEEK] != 0;
    return cron->values[FIELD_DAY_OF_MONTH] != 0 || cron->last_offsets != 0 || cron->weekday_days > 1 ||
           cron->weekday_last_offsets != 0;
}

static enum err check_sets(const struct cron *cron, struct errctx *ec)
{
    static const enum cron_field needed[] = {FIELD_SECOND, FIELD_MINUTE, FIELD_HOUR, FIELD_DAY_OF_WEEK, FIELD_MONTH};

    for (size_t i = 0; i < ARRAY_LEN(needed); i++) {
        bool may_be_empty = needed[i] == FIELD_DAY_OF_WEEK && (cron->no_day_of_week || cron->nth_week > 0);

        if (cron->values[needed[i]] == 0 && !may_be_empty)
            return err_set(ec, ERR_INPUT, "%s field: there is no value in it, expected at least one",
                           cron_field_name(needed[i]));
    }
    return ERR_OK;
}

enum err cron_next(const struct cron *cron, const struct zone *zone, int64_t from_ms, int64_t *out_ms,
                   struct errctx *ec)
{
    struct search s = {.cron = cron, .zone = zone};
    enum outcome o = NEVER;
    enum err e = check_sets(cron, ec);
    int64_t local_s;

    if (e)
        return e;
    if (has_days(cron)) {
        s.start_s = calendar_floor_div(from_ms < FROM_MIN_MS ? FROM_MIN_MS : from_ms, 1000) + 1;
        s.at = zone_to_civil(zone, s.start_s);
        do
            o = match(&s);
        while (o == START_AGAIN);
    }
    if (o == NEVER)
        return err_set(ec, ERR_NOTFOUND, "no occurrence up to the end of year %lld",
                       (long long)(cron->max_year < CRON_YEAR_LAST ? cron->max_year : CRON_YEAR_LAST));
    local_s = normalise(&s); /* a W day that kept its time may stand in a gap */
    *out_ms = (local_s - s.span.offset_s) * 1000;
    return ERR_OK;
}

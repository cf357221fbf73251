/* SPDX-License-Identifier: MIT */
/*
 * calendar: the proleptic Gregorian calendar as arithmetic. Days are counted from 1970-01-01.
 *
 * Threads     Pure functions.
 * Ranges      Months and days may lie outside their range and carry over, as in "the 32nd of month 13"; years stay
 *             below a million in either direction (the callers see to that), so that no sum here overflows.
 */
#ifndef SHARDWHEEL_CALENDAR_H
#define SHARDWHEEL_CALENDAR_H

#include <stdbool.h>
#include <stdint.h>

#define CALENDAR_DAY_S INT64_C(86400)
#define CALENDAR_CYCLE_S (INT64_C(146097) * CALENDAR_DAY_S) /* 400 years: dates, weekdays and leap years repeat */

static inline int64_t calendar_floor_div(int64_t value, int64_t unit)
{
    int64_t quotient = value / unit;

    return quotient * unit > value ? quotient - 1 : quotient;
}

static inline bool calendar_is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* The month is one of 1..12. */
static inline int calendar_month_length(int64_t year, int month)
{
    static const int8_t length[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return month == 2 && calendar_is_leap(year) ? 29 : length[month - 1];
}

static inline int64_t calendar_to_days(int64_t year, int month, int64_t day)
{
    /* Days before each month, in years that begin in March: the leap day comes last and needs no case of its own. */
    static const int16_t before[12] = {306, 337, 0, 31, 61, 92, 122, 153, 184, 214, 245, 275};
    int64_t carry = calendar_floor_div((int64_t)month - 1, 12);
    int64_t index = (int64_t)month - 1 - carry * 12; /* 0 is January */
    int64_t march_year = year + carry - (index < 2 ? 1 : 0);

    return march_year * 365 + calendar_floor_div(march_year, 4) - calendar_floor_div(march_year, 100) +
           calendar_floor_div(march_year, 400) + before[index] + day - 1 - 719468;
}

static inline void calendar_from_days(int64_t days, int64_t *year, int *month, int *day)
{
    int64_t shifted = days + 719468; /* from 0000-03-01, where a cycle of 400 years begins */
    int64_t cycle = calendar_floor_div(shifted, 146097);
    int32_t in_cycle = (int32_t)(shifted - cycle * 146097);
    /* The three terms take out the leap days that have passed: every 4 years, not every 100, but every 400. */
    int32_t in_cycle_year = (in_cycle - in_cycle / 1460 + in_cycle / 36524 - in_cycle / 146096) / 365;
    int32_t in_year = in_cycle - (365 * in_cycle_year + in_cycle_year / 4 - in_cycle_year / 100);
    int32_t march_month = (5 * in_year + 2) / 153; /* months from March have 31,30,31,30,31 days, again and again */

    *day = in_year - (153 * march_month + 2) / 5 + 1;
    *month = march_month < 10 ? march_month + 3 : march_month - 9;
    *year = cycle * 400 + in_cycle_year + (*month <= 2 ? 1 : 0);
}

/* 1 is Sunday, 7 is Saturday. */
static inline int calendar_weekday(int64_t days)
{
    int64_t rest = (days + 4) % 7; /* 1970-01-01 was a Thursday */

    return (int)(rest < 0 ? rest + 7 : rest) + 1;
}

/* The time that a clock on the wall shows. */
struct civil {
    int64_t year;
    int month, day, hour, minute, second; /* 1..12, 1..31, 0..23, 0..59, 0..59 */
};

/* Of a clock that shows UTC, and its seconds since 1970. */
static inline struct civil civil_of_second(int64_t at_s)
{
    int64_t days = calendar_floor_div(at_s, CALENDAR_DAY_S);
    int in_day = (int)(at_s - days * CALENDAR_DAY_S);
    struct civil c = {.hour = in_day / 3600, .minute = in_day / 60 % 60, .second = in_day % 60};

    calendar_from_days(days, &c.year, &c.month, &c.day);
    return c;
}

static inline int64_t civil_to_second(const struct civil *c)
{
    int64_t days = calendar_to_days(c->year, c->month, c->day);

    return days * CALENDAR_DAY_S + c->hour * INT64_C(3600) + c->minute * INT64_C(60) + c->second;
}

/* All is within its range, and the month has that day. */
static inline bool civil_is_real(const struct civil *c)
{
    return c->month >= 1 && c->month <= 12 && c->day >= 1 && c->day <= calendar_month_length(c->year, c->month) &&
           c->hour >= 0 && c->hour <= 23 && c->minute >= 0 && c->minute <= 59 && c->second >= 0 && c->second <= 59;
}

#endif

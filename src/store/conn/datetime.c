/* SPDX-License-Identifier: MIT */
#include "store/conn/datetime.h"

#include <inttypes.h>
#include <stdio.h>

int64_t datetime_bound(int64_t value_s)
{
    if (value_s > TIME_END_S)
        return TIME_END_S;
    return value_s < -TIME_END_S ? -TIME_END_S : value_s;
}

static void put_text(const struct civil *c, char out[DATETIME_TEXT_MAX])
{
    if (c->year < 1000)
        snprintf(out, DATETIME_TEXT_MAX, "1000-01-01 00:00:00");
    else if (c->year > 9999)
        snprintf(out, DATETIME_TEXT_MAX, "9999-12-31 23:59:59");
    else
        snprintf(out, DATETIME_TEXT_MAX, "%04" PRId64 "-%02d-%02d %02d:%02d:%02d", c->year, c->month, c->day, c->hour,
                 c->minute, c->second);
}

void datetime_format(const struct zone *zone, int64_t epoch_s, char out[DATETIME_TEXT_MAX])
{
    struct civil c = zone_to_civil(zone, epoch_s);

    put_text(&c, out);
}

static bool read_number(const char **at, int digits, int min, int max, int *out)
{
    int value = 0;

    for (int i = 0; i < digits; i++, (*at)++) {
        if (**at < '0' || **at > '9')
            return false;
        value = value * 10 + (**at - '0');
    }
    *out = value;
    return value >= min && value <= max;
}

static bool read_char(const char **at, char c)
{
    return **at == c ? ((*at)++, true) : false;
}

bool datetime_parse(const struct zone *zone, const char *text, int64_t *epoch_s)
{
    struct civil c = {0};
    int year;

    if (!text)
        return false;
    if (!read_number(&text, 4, 1, 9999, &year) || !read_char(&text, '-') || !read_number(&text, 2, 1, 12, &c.month) ||
        !read_char(&text, '-') || !read_number(&text, 2, 1, 31, &c.day) || !read_char(&text, ' ') ||
        !read_number(&text, 2, 0, 23, &c.hour) || !read_char(&text, ':') || !read_number(&text, 2, 0, 59, &c.minute) ||
        !read_char(&text, ':') || !read_number(&text, 2, 0, 59, &c.second))
        return false;
    if (*text != '\0' && *text != '.')
        return false;
    c.year = year;
    *epoch_s = zone_from_civil(zone, &c);
    return true;
}

void datetime_range(const struct zone *zone, int64_t from_s, int64_t to_s, char low[DATETIME_TEXT_MAX],
                    char high[DATETIME_TEXT_MAX])
{
    int64_t a = zone_offset_s(zone, from_s);
    int64_t b = zone_offset_s(zone, to_s);
    struct civil first = civil_of_second(from_s + (a < b ? a : b));
    struct civil last = civil_of_second(to_s + (a > b ? a : b));

    put_text(&first, low);
    put_text(&last, high);
}

int64_t datetime_day(const struct zone *zone, int64_t epoch_s, int *minute)
{
    int64_t local_s = epoch_s + zone_offset_s(zone, epoch_s);
    int64_t day = time_floor_div(local_s, 86400);

    *minute = (int)((local_s - day * 86400) / 60);
    return day;
}

void datetime_format_day(int64_t day, int64_t minute, char out[DATETIME_TEXT_MAX])
{
    struct civil c = civil_of_second(day * CALENDAR_DAY_S + minute * 60);

    put_text(&c, out);
}

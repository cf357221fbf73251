/* SPDX-License-Identifier: MIT */
#include "shardwheel/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The text begins so: 9 stands for any digit. */
static bool has_shape(const char *text, const char *shape)
{
    while (*shape && (*shape == '9' ? isdigit((unsigned char)*text) : toupper((unsigned char)*text) == *shape)) {
        shape++;
        text++;
    }
    return !*shape;
}

static bool is_date(const struct tm *tm)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year = tm->tm_year, month = tm->tm_mon;
    bool leap = year % 4 == 0 && (year % 100 || year % 400 == 0);

    return year >= 1970 && month >= 1 && month <= 12 && tm->tm_mday >= 1 &&
           tm->tm_mday <= days[month - 1] + (leap && month == 2);
}

bool instant_parse(const char *text, int64_t *out_ms)
{
    static const char shape[] = "9999-99-99T99:99:99";
    int ms = 0, hours = 0, minutes = 0, sign = 0;
    struct tm tm = {0};

    if (!has_shape(text, shape) ||
        sscanf(text, "%4d-%2d-%2d%*c%2d:%2d:%2d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour, &tm.tm_min,
               &tm.tm_sec) != 6 ||
        !is_date(&tm) || tm.tm_hour > 23 || tm.tm_min > 59 || tm.tm_sec > 60)
        return false;
    const char *p = text + strlen(shape);
    if (has_shape(p, ".9")) {
        p++;
        for (int scale = 100; isdigit((unsigned char)*p); p++, scale /= 10)
            ms += (*p - '0') * scale;
    }
    if (has_shape(p, "Z")) {
        p++;
    } else if (has_shape(p, "+99:99") || has_shape(p, "-99:99")) {
        sign = *p == '-' ? -1 : 1;
        if (sscanf(p + 1, "%2d:%2d", &hours, &minutes) != 2 || hours > 23 || minutes > 59)
            return false;
        p += strlen("+99:99");
    } else {
        return false;
    }
    tm.tm_year -= 1900;
    tm.tm_mon--;
    int64_t out = ((int64_t)timegm(&tm) - sign * (60 * hours + minutes) * 60) * 1000 + ms;
    if (*p || out < 0)
        return false;
    *out_ms = out;
    return true;
}

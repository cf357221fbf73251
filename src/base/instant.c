/* SPDX-License-Identifier: MIT */
#include "shardwheel/calendar.h"
#include "shardwheel/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The text begins so: 9 stands for any digit. */
static bool has_shape(const char *text, const char *shape)
{
    while (*shape && (*shape == '9' ? isdigit((unsigned char)*text) : toupper((unsigned char)*text) == *shape)) {
        shape++;
        text++;
    }
    return !*shape;
}

bool instant_parse(const char *text, int64_t *out_ms)
{
    static const char shape[] = "9999-99-99T99:99:99";
    int ms = 0, hours = 0, minutes = 0, sign = 0;
    struct civil c = {0};

    if (!has_shape(text, shape) || sscanf(text, "%4" SCNd64 "-%2d-%2d%*c%2d:%2d:%2d", &c.year, &c.month, &c.day,
                                          &c.hour, &c.minute, &c.second) != 6)
        return false;
    bool leaps = c.second == 60;
    c.second -= leaps;
    if (c.year < 1970 || !civil_is_real(&c))
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
    int64_t out = (civil_to_second(&c) + leaps - sign * (60 * hours + minutes) * 60) * 1000 + ms;
    if (*p || out < 0)
        return false;
    *out_ms = out;
    return true;
}

/* SPDX-License-Identifier: MIT */
/* base/log.c for simulations: shows what nodes log, with the simulation's time, when SHARDWHEEL_SIM_LOG is set. */
#include "sim/fibers.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define LEVEL_AT_FIRST(id, name) [LOG_AREA_##id] = LOG_INFO,
_Atomic signed char log_levels[LOG_AREA_COUNT] = {LOG_AREAS(LEVEL_AT_FIRST)};

void log_set_level(enum log_level level)
{
    (void)level;
}

static void write_line(enum log_level level, const char *area, const char *fmt, va_list args)
{
    char text[1500];

    if (level > LOG_INFO || !getenv("SHARDWHEEL_SIM_LOG"))
        return;
    vsnprintf(text, sizeof text, fmt, args);
    fprintf(stderr, "%10.3f %2d %s %s\n", (double)fibers_now_us() / 1e6, fibers_get_group(), area, text);
}

void log_line(enum log_level level, const char *area, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    write_line(level, area, fmt, args);
    va_end(args);
}

void log_limited(struct log_limit *limit, const struct clock *clock, enum log_level level, const char *area,
                 const char *fmt, ...)
{
    va_list args;

    (void)limit, (void)clock;
    va_start(args, fmt);
    write_line(level, area, fmt, args);
    va_end(args);
}

struct log_text log_quote(const char *text)
{
    struct log_text out;

    snprintf(out.s, sizeof out.s, "\"%s\"", text ? text : "");
    return out;
}

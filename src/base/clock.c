/* SPDX-License-Identifier: MIT */
/* The one file that reads the clocks of the system. */
#include "shardwheel/base.h"

#include <stdio.h>
#include <time.h>

static int64_t read_us(clockid_t id)
{
    struct timespec ts;

    clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static int64_t system_wall_us(const struct clock *clock)
{
    (void)clock;
    return read_us(CLOCK_REALTIME);
}

static int64_t system_mono_ms(const struct clock *clock)
{
    (void)clock;
    return read_us(CLOCK_MONOTONIC) / 1000;
}

static int64_t system_boot_ms(const struct clock *clock)
{
    (void)clock;
    return read_us(CLOCK_BOOTTIME) / 1000;
}

const struct clock *clock_system(void)
{
    static const struct clock system = {system_wall_us, system_mono_ms, system_boot_ms};

    return &system;
}

int64_t clock_wall_us(const struct clock *clock)
{
    return clock->wall_us(clock);
}

int64_t clock_wall_ms(const struct clock *clock)
{
    return time_floor_div(clock->wall_us(clock), 1000);
}

int64_t clock_mono_ms(const struct clock *clock)
{
    return clock->mono_ms(clock);
}

int64_t clock_boot_ms(const struct clock *clock)
{
    return clock->boot_ms(clock);
}

int64_t time_floor_div(int64_t value, int64_t unit)
{
    int64_t q = value / unit;

    return value % unit < 0 ? q - 1 : q;
}

bool time_put_text(int64_t at_ms, char out[TIME_TEXT_MAX])
{
    int64_t at_s = time_floor_div(at_ms, 1000);
    time_t t = (time_t)at_s;
    struct tm tm;

    if (at_s > TIME_END_S || at_s < -TIME_END_S || !gmtime_r(&t, &tm) || tm.tm_year < -1900)
        return false;
    snprintf(out, TIME_TEXT_MAX, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
             tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(at_ms - at_s * 1000));
    return true;
}

void clock_sleep_ms(int64_t ms)
{
    struct timespec ts = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};

    clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
}

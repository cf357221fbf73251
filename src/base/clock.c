/* SPDX-License-Identifier: MIT */
/* The one file that reads the clocks of the system. */
#include "shardwheel/base.h"

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

void clock_sleep_ms(int64_t ms)
{
    struct timespec ts = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};

    clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
}

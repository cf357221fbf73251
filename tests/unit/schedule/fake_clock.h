/* SPDX-License-Identifier: MIT */
/*
 * fake_clock: a clock that stands still until the test moves it. Put one into the world of the test and give `clock` to
 * what is tested.
 *
 * Threads     That of the test alone.
 */
#ifndef TEST_FAKE_CLOCK_H
#define TEST_FAKE_CLOCK_H

#include "shardwheel/base.h"

#define FAKE_CLOCK_START_MONO_MS INT64_C(5000000)

struct fake_clock {
    struct clock clock; /* the first: the functions below find the others by it */
    int64_t wall_us;
    int64_t mono_ms; /* and boot time */
};

static inline int64_t fake_clock_wall_us(const struct clock *clock)
{
    return ((const struct fake_clock *)clock)->wall_us;
}

static inline int64_t fake_clock_mono_ms(const struct clock *clock)
{
    return ((const struct fake_clock *)clock)->mono_ms;
}

static inline struct fake_clock fake_clock_at(int64_t wall_ms)
{
    return (struct fake_clock){.clock = {fake_clock_wall_us, fake_clock_mono_ms, fake_clock_mono_ms},
                               .wall_us = wall_ms * 1000,
                               .mono_ms = FAKE_CLOCK_START_MONO_MS};
}

/* Both clocks; a test that sets the wall clock alone writes to wall_us. */
static inline void fake_clock_pass_ms(struct fake_clock *c, int64_t ms)
{
    c->wall_us += ms * 1000;
    c->mono_ms += ms;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * micro: what one operation of a hot path costs. A case is a handful of functions; micro_bench.c measures it in time,
 * tests/perf/guard in instructions.
 *
 * Threads     One. The case "http" alone has a second one, its server.
 * Errors      micro_die: a measurement that cannot be made is a bug of the measurement.
 */
#ifndef PERF_MICRO_H
#define PERF_MICRO_H

#include <stddef.h>

struct micro_case {
    const char *name;
    const char *what; /* one operation, in words */
    size_t count;     /* operations of one round: some ten milliseconds */
    void *(*make)(void);
    void (*run)(void *state, size_t count);
    void (*unmake)(void *state);
};

extern const struct micro_case wheel_case, cron_case, plan_case, answer_case, callbacks_case, request_case, rows_case,
    http_case;

__attribute__((noreturn, format(printf, 1, 2))) void micro_die(const char *format, ...);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * process: what the kernel says of this process, under the names that all client libraries of Prometheus use.
 *
 * Threads     Any; nothing is kept.
 */
#ifndef METRICS_PROCESS_H
#define METRICS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum process_metric {
    PROCESS_CPU,
    PROCESS_RESIDENT,
    PROCESS_VIRTUAL,
    PROCESS_OPEN_FDS,
    PROCESS_MAX_FDS,
    PROCESS_THREADS,
    PROCESS_START,
    PROCESS_METRICS
};

struct process_info {
    const char *name;
    const char *type;
    const char *help;
};

const struct process_info *process_get_info(enum process_metric metric);
/* started_ms: wall clock, handed on as PROCESS_START. False: the kernel does not say, and the sample is to be left out;
 * in a closed /proc, say. A few system calls; no file of a size that grows is read on Linux 6.2 or later. */
bool process_read(enum process_metric metric, int64_t started_ms, double *out);

#endif

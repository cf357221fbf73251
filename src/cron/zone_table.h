/* SPDX-License-Identifier: MIT */
/*
 * zone_table: the changes of offset of a time zone, copied out of the library once, so that a lookup is a binary
 * search without calls into C++, locks or allocations.
 *
 * Two questions are asked of it. "What is the offset at this instant" looks at steps[].at_s. "Which instant is
 * this local time" looks at steps[].local_s, the local time at which the new offset begins to be used. That one
 * number serves both kinds of change: where clocks go forward, the old offset is used for every skipped local
 * time; where they go back, the new offset is used from the first repeated second on. In both cases it is the
 * smaller one of the two offsets.
 *
 * This header is the border between C and C++: plain types only.
 */
#ifndef CRON_ZONE_TABLE_H
#define CRON_ZONE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct zone_step {
    int64_t at_s;     /* the instant of the change */
    int64_t local_s;  /* at_s + offset_s */
    int32_t offset_s; /* local minus UTC, from here on */
};

struct zone_table {
    int32_t first_offset_s; /* before the first step */
    size_t count;
    struct zone_step *steps; /* ascending; from malloc, NULL when there are none */
    int64_t cycle_end_s;     /* from here on the table repeats every 400 years; INT64_MAX: the last offset stays */
};

/* Reads the zone file at an absolute path. Returns 0, ENOMEM, or EINVAL when it is none. *out is written on success. */
int zone_table_read(const char *path, struct zone_table *out);

#ifdef __cplusplus
}
#endif

#endif

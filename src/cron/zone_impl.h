/* SPDX-License-Identifier: MIT */
/*
 * The insides of a time zone, for the files of this area and their tests.
 */
#ifndef CRON_ZONE_IMPL_H
#define CRON_ZONE_IMPL_H

#include "cron/zone_table.h"
#include "shardwheel/cron.h"

/* Of a file that does not tell its name: another machine has another zone there. */
#define ZONE_NAME_UNKNOWN "localtime"

struct zone {
    char name[ZONE_NAME_MAX];
    struct zone_table table; /* steps are owned */
};

/* A stretch of local time, in seconds, without a skipped second and with one offset to use. */
struct local_span {
    int64_t begin_s, end_s; /* end_s is the first second beyond it */
    int32_t offset_s;
};

/* The span that holds *local_s. A skipped local time is first moved forward by the gap. */
struct local_span zone_find_span(const struct zone *zone, int64_t *local_s);

/* zone_load_local with its two sources as parameters; tz may be NULL. */
MUST_CHECK enum err zone_load_from(const char *tz, const char *localtime_path, struct zone **out, struct errctx *ec);

#endif

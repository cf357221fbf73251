/* SPDX-License-Identifier: MIT */
/*
 * quiet: the hours of a day in which a channel is told nothing. Pure.
 *
 * "22:00-07:00" or "22:00-07:00/Asia/Shanghai": from the first time on, up to the second, which may be on the next day.
 * Without a zone: UTC.
 */
#ifndef ALARM_QUIET_H
#define ALARM_QUIET_H

#include "shardwheel/cron.h"

struct quiet {
    int from, until; /* minutes from midnight; the same: there are none */
    struct zone *zone;
};

/* "": none. ERR_INPUT: a sentence that begins with "quiet". */
MUST_CHECK enum err quiet_parse(const char *text, struct quiet *out, struct errctx *ec);
void quiet_fini(struct quiet *q);
bool quiet_covers(const struct quiet *q, int64_t now_s);

#endif

/* SPDX-License-Identifier: MIT */
/* times: a range of time as the list of runs is sent it. Pure. */
#ifndef HTTP_CONSOLE_TIMES_H
#define HTTP_CONSOLE_TIMES_H

#include "shardwheel/cron.h"

/* "START - END", each as "yyyy-MM-dd HH:mm:ss" in the zone (NULL: UTC), read as leniently as the original does: fields
 * roll over, and what follows the seconds does not matter. Anything but two parts is no range. A part that cannot be
 * read sets *broken and is no limit. 0: no limit. */
void times_parse_range(const char *text, const struct zone *zone, int64_t *from_s, int64_t *until_s, bool *broken);

#endif

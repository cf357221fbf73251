/* SPDX-License-Identifier: MIT */
/*
 * datetime: DATETIME texts to and from epoch seconds, in the zone of the database's DATETIME columns. Pure
 * functions.
 */
#ifndef STORE_CONN_DATETIME_H
#define STORE_CONN_DATETIME_H

#include "shardwheel/cron.h"

#define DATETIME_TEXT_MAX 64

/* Seconds from a column of numbers, where anybody may have written any: those that no DATETIME could hold become the
 * nearest that one could, so that they can be reckoned with. */
int64_t datetime_bound(int64_t value_s);

/* "2024-02-29 23:59:59". Years outside 0000..9999 are written as the nearest that the column type holds. */
void datetime_format(const struct zone *zone, int64_t epoch_s, char out[DATETIME_TEXT_MAX]);
/* False for NULL, a zero date, and what is no DATETIME. A fraction of a second is dropped. */
bool datetime_parse(const struct zone *zone, const char *text, int64_t *epoch_s);
/* Local times between which every row lies whose instant is within [from_s, to_s], whatever the zone does meanwhile
 * (at most one change of its offset in that time). As DATETIME texts. */
void datetime_range(const struct zone *zone, int64_t from_s, int64_t to_s, char low[DATETIME_TEXT_MAX],
                    char high[DATETIME_TEXT_MAX]);
/* The local date of an instant as a number of days (0 is 1970-01-01), and the minute of that day (0..1439). */
int64_t datetime_day(const struct zone *zone, int64_t epoch_s, int *minute);
/* That minute of that local day as a DATETIME text; minutes beyond 1439 are of later days. */
void datetime_format_day(int64_t day, int64_t minute, char out[DATETIME_TEXT_MAX]);

#endif

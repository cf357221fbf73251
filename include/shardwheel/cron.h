/* SPDX-License-Identifier: MIT */
/*
 * cron: Quartz-style cron expressions and time zones. Pure functions: no clock, no global state.
 *
 * Threads     A parsed expression and a zone are never changed: any number of threads may use them at once.
 * Ownership   cron_parse and zone_load create, cron_destroy and zone_destroy free; NULL is fine.
 * Time        Instants are epoch milliseconds, UTC. Local time exists inside this area and in store only.
 * Facts       The dialect is that of xxl-job 3.4.2 (Quartz 2.5.2 lineage), oddities included; see docs/cron.md.
 */
#ifndef SHARDWHEEL_CRON_H
#define SHARDWHEEL_CRON_H

#include "shardwheel/base.h"
#include "shardwheel/calendar.h"

struct cron;
struct zone;

#define ZONE_NAME_MAX 80 /* with its NUL */

/* IANA names ("Asia/Shanghai"), "UTC", "Z", fixed offsets ("+08:00", "GMT+8", "UTC+08:00") and the short names of Java
 * that JDBC URLs use ("PRC", "CTT"; "CST" is Chicago there). ERR_INPUT with the name in the text when it is none. */
MUST_CHECK enum err zone_load(const char *name, struct zone **out, struct errctx *ec);
/* The zone of this process: TZ if it is not empty, else /etc/localtime, else UTC. The forms of TZ that are rules and
 * no names ("CST-8") are refused with ERR_INPUT. Reads the environment: not while another thread may change it. */
MUST_CHECK enum err zone_load_local(struct zone **out, struct errctx *ec);
void zone_destroy(struct zone *zone);
const char *zone_get_name(const struct zone *zone);
struct civil zone_to_civil(const struct zone *zone, int64_t epoch_s);
/* A skipped local time is read with the offset before the gap, a repeated one as the second pass (the later instant).
 * Months and smaller fields may be out of their range and carry over: 2026-00-00 is 2025-11-30. */
int64_t zone_from_civil(const struct zone *zone, const struct civil *civil);
int zone_offset_s(const struct zone *zone, int64_t epoch_s);                     /* local minus UTC */
void zone_put_second(const struct zone *zone, int64_t epoch_s, struct buf *out); /* 2026-11-22 16:00:00 */

/* Both have the same offset at every instant from from_s to to_s (within 400 years of now), whatever their names
 * are. */
bool zone_is_same(const struct zone *a, const struct zone *b, int64_t from_s, int64_t to_s);
/* A name by which zone_load finds this zone on other machines: its own; or its offset, such as "+08:00", when it was
 * read from a file that does not tell its name (a copy at /etc/localtime). False when it has neither within that
 * time. */
bool zone_find_name(const struct zone *zone, int64_t from_s, int64_t to_s, char out[ZONE_NAME_MAX]);

/* ERR_INPUT with what is wrong, in which item and field, and what was expected; NULL text is ERR_INPUT too. `max_year`
 * caps the search: the calendar year at process start + 100. No search goes beyond 2999. */
MUST_CHECK enum err cron_parse(const char *text, int64_t max_year, struct cron **out, struct errctx *ec);
/* The same, and where it is wrong: *fault, which may be NULL, is written with ERR_INPUT alone. */
struct cron_fault {
    size_t at;  /* byte of the text, from 0 */
    size_t len; /* bytes that are wrong; 0: something is missing there */
};
MUST_CHECK enum err cron_parse_at(const char *text, int64_t max_year, struct cron **out, struct cron_fault *fault,
                                  struct errctx *ec);
void cron_destroy(struct cron *cron);

/* The last year in which it can fire; -1: none. */
int64_t cron_last_year(const struct cron *cron);

/* The first occurrence after from_ms (always a whole second, given in ms); any from_ms will do. ERR_NOTFOUND: there is
 * none any more. ERR_INPUT: accepted by cron_parse but without a single value in a field, so that it can never be
 * evaluated. Allocates nothing; takes about a microsecond, up to a quarter of a millisecond for what never fires. */
MUST_CHECK enum err cron_next(const struct cron *cron, const struct zone *zone, int64_t from_ms, int64_t *out_ms,
                              struct errctx *ec);

#endif

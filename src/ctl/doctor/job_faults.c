/* SPDX-License-Identifier: MIT */
/* What is wrong with a job: pure but for the files of time zones. */
#include "ctl/doctor/job_faults.h"

#include <stdlib.h>
#include <string.h>

#include "shardwheel/job.h"
#include "shardwheel/job/times.h"
#include "shardwheel/route.h"
#include "shardwheel/text.h"

#define BIT(fault) (UINT32_C(1) << (fault))
#define LEFT_BEHIND_MS 120000 /* a next time of such an age: nobody has planned it */
#define SOON_MS 60000         /* occurrences within it may be planned already */
#define RATE_MAX_OLD 2147483  /* seconds; beyond it the milliseconds do not fit in 32 bits */
#define DELAY_LIMIT_MS (FIXED_DELAY_LIMIT_S * INT64_C(1000))

void judge_fini(struct judge *j)
{
    for (size_t i = 0; i < j->zone_count; i++)
        zone_destroy(j->zones[i].zone);
    free(j->zones);
    j->zones = NULL;
    j->zone_count = 0;
}

/* ---- zones ------------------------------------------------------------------------------------------------------- */

/* NULL: there is none, or no memory for it. */
static const struct zone *find_zone(struct judge *j, const char *name)
{
    struct judge_zone *added;
    struct errctx ec = {{0}};

    if (!name[0])
        return j->zone;
    for (size_t i = 0; i < j->zone_count; i++) {
        if (!strcmp(j->zones[i].name, name))
            return j->zones[i].zone;
    }
    if (strlen(name) >= ZONE_NAME_MAX || !list_grow(&j->zones, j->zone_count, sizeof *added))
        return NULL;
    added = &j->zones[j->zone_count++];
    *added = (struct judge_zone){.zone = NULL};
    memcpy(added->name, name, strlen(name) + 1);
    return zone_load(name, &added->zone, &ec) ? NULL : added->zone;
}

/* ---- schedules --------------------------------------------------------------------------------------------------- */

/* What the occurrence behind all that may be planned by now says: none, or one that the job would pass by. */
static uint32_t judge_next(const struct judge *j, const struct job_view *job, const struct cron *cron,
                           const struct zone *zone)
{
    int64_t from_ms = job->valid_from_s ? job->valid_from_s * 1000 - 1 : INT64_MIN;
    int64_t soon_ms = j->now_ms + SOON_MS, next_ms = 0;
    struct errctx ec = {{0}};

    if (cron_next(cron, zone, from_ms > j->now_ms ? from_ms : j->now_ms, &next_ms, &ec))
        return BIT(FAULT_CRON_OVER);
    if (job->valid_until_s && next_ms >= job->valid_until_s * 1000)
        return BIT(FAULT_VALIDITY);
    if (cron_next(cron, zone, from_ms > soon_ms ? from_ms : soon_ms, &next_ms, &ec) ||
        (job->valid_until_s && next_ms >= job->valid_until_s * 1000))
        return 0; /* the last one is about to be planned */
    return job->next_ms > next_ms ? BIT(FAULT_FAR) : 0;
}

static uint32_t judge_cron(struct judge *j, const struct job_view *job)
{
    const struct zone *zone = find_zone(j, job->zone);
    struct cron *cron = NULL;
    struct errctx ec = {{0}};
    uint32_t faults;

    if (cron_parse(job->conf, j->max_year, &cron, &ec))
        return BIT(FAULT_CRON_BROKEN);
    faults = zone ? judge_next(j, job, cron, zone) : BIT(FAULT_ZONE);
    cron_destroy(cron);
    return faults | judge_going_back(job->conf);
}

static uint32_t judge_rate(const struct judge *j, const struct job_view *job)
{
    int64_t rate_s, from_ms = job->valid_from_s * 1000 > j->now_ms ? job->valid_from_s * 1000 : j->now_ms;
    int64_t slack_ms = SOON_MS + (job->fixed_delay_s ? DELAY_LIMIT_MS : 0);
    uint32_t faults = 0;

    if (!parse_int(job->conf, 1, INT32_MAX, &rate_s))
        return BIT(FAULT_RATE);
    if (job->valid_until_s && job->valid_until_s * 1000 <= j->now_ms)
        faults |= BIT(FAULT_VALIDITY);
    if (job->next_ms > from_ms + rate_s * 1000 + slack_ms)
        faults |= BIT(FAULT_FAR);
    if (rate_s > RATE_MAX_OLD)
        faults |= BIT(FAULT_BACK_OLD);
    return faults;
}

static uint32_t judge_schedule(struct judge *j, const struct job_view *job)
{
    uint32_t faults = 0;

    if (j->planned && job->next_ms < j->now_ms - LEFT_BEHIND_MS)
        faults |= BIT(FAULT_LEFT_BEHIND);
    if (!strcmp(job->type, "CRON"))
        return faults | judge_cron(j, job);
    if (!strcmp(job->type, "FIX_RATE"))
        return faults | judge_rate(j, job);
    return faults | BIT(FAULT_TYPE);
}

/* A start would be refused. */
static bool can_start(const struct judge *j, const struct job_view *job)
{
    struct cron *cron = NULL;
    int64_t rate_s;
    struct errctx ec = {{0}};
    enum err e;

    if (!strcmp(job->type, "NONE"))
        return true;
    if (!strcmp(job->type, "FIX_RATE"))
        return parse_int(job->conf, 1, INT32_MAX, &rate_s);
    if (strcmp(job->type, "CRON"))
        return false;
    e = cron_parse(job->conf, j->max_year, &cron, &ec);
    cron_destroy(cron);
    return !e;
}

/* ---- what it runs ------------------------------------------------------------------------------------------------ */

static uint32_t judge_words(const struct job_view *job)
{
    uint32_t faults = route_is_known(job->route) ? 0 : BIT(FAULT_ROUTE);

    if (!text_list_has(JOB_MISFIRES, job->misfire) || !text_list_has(JOB_BLOCKS, job->block))
        faults |= BIT(FAULT_WORD);
    return faults;
}

static uint32_t judge_glue(const struct judge *j, const struct job_view *job)
{
    if (!strcmp(job->glue_type, "BEAN"))
        return job->has_handler ? 0 : BIT(FAULT_HANDLER);
    if (j->glue == CONFIG_GLUE_BEAN_ONLY)
        return BIT(FAULT_GLUE_OFF);
    if (!text_list_has(JOB_GLUE_TYPES, job->glue_type))
        return BIT(FAULT_GLUE_TYPE);
    return job->has_source ? 0 : BIT(FAULT_SOURCE);
}

uint32_t judge_job(struct judge *j, const struct job_view *job)
{
    uint32_t faults;

    if (!job->running)
        return can_start(j, job) ? 0 : BIT(FAULT_CANNOT_START);
    faults = judge_schedule(j, job) | judge_words(job) | judge_glue(j, job);
    if (job->param_chars > j->param_max)
        faults |= BIT(FAULT_PARAM);
    if (!job->has_glue_time)
        faults |= BIT(FAULT_BACK_ROW);
    return faults;
}

/* ---- going back -------------------------------------------------------------------------------------------------- */

static bool has_letter(const char *text, size_t len, char upper)
{
    for (size_t i = 0; i < len; i++) {
        if ((text[i] & ~0x20) == upper)
            return true;
    }
    return false;
}

/* Engines differ in L and W of the day of the month: the first takes neither in a list, the second counts L as if each
 * month had 31 days, and loses days that W moves forward. */
uint32_t judge_going_back(const char *cron)
{
    const char *day = cron + strspn(cron, " \t");
    size_t len;
    bool has_l, has_w;

    for (int field = 0; field < 3; field++) {
        day += strcspn(day, " \t");
        day += strspn(day, " \t");
    }
    len = strcspn(day, " \t");
    has_l = has_letter(day, len, 'L');
    has_w = has_letter(day, len, 'W');
    if (!has_l && !has_w)
        return 0;
    return BIT(FAULT_BACK_MIDDLE) | (memchr(day, ',', len) ? BIT(FAULT_BACK_OLD) : 0);
}

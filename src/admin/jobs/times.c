/* SPDX-License-Identifier: MIT */
/* When jobs are due: next times, for changes and for people; expressions checked. */
#include "admin/jobs/jobs_impl.h"

#include <stdio.h>
#include <string.h>

#include "shardwheel/schedule.h"
#include "shardwheel/text.h"

#define START_AHEAD_MS 5000 /* a next time that is made anew lies so far ahead, as with the original */

static int64_t or_zero(int64_t value)
{
    return value == SETTING_NONE ? 0 : value;
}

void job_make_due(const struct job_row *row, const struct job_settings *settings, struct job_due *out)
{
    *out = (struct job_due){.id = row->id,
                            .schedule_type = row->schedule_type ? row->schedule_type : "",
                            .schedule_conf = row->schedule_conf ? row->schedule_conf : "",
                            .fixed_delay_s = or_zero(settings->fixed_delay_s),
                            .valid_from_s = or_zero(settings->valid_from_s),
                            .valid_until_s = or_zero(settings->valid_until_s)};
}

static int64_t find_max_year(const struct zone *zone, int64_t now_ms)
{
    return zone_to_civil(zone, time_floor_div(now_ms, 1000)).year + JOB_CRON_YEARS;
}

enum err job_find_next(const struct job_row *row, const struct job_settings *settings, const struct zone *zone,
                       int64_t now_ms, int64_t planned_s, int64_t *out_ms, struct errctx *ec)
{
    int64_t after_ms = now_ms + START_AHEAD_MS;
    struct job_due due;

    job_make_due(row, settings, &due);
    if (after_ms < planned_s * 1000)
        after_ms = planned_s * 1000;
    return schedule_find_next(&due, zone, find_max_year(zone, now_ms), after_ms, out_ms, ec);
}

bool job_settings_have_same_times(const struct job_settings *a, const struct job_settings *b)
{
    return strcmp(a->time_zone, b->time_zone) == 0 && a->fixed_delay_s == b->fixed_delay_s &&
           a->valid_from_s == b->valid_from_s && a->valid_until_s == b->valid_until_s;
}

const struct zone *admin_get_zone(const struct admin *a)
{
    return a->opts.zone;
}

/* ---- of a job ---------------------------------------------------------------------------------------------------- */

/* From after_ms on. */
static enum err find_times(const struct job_due *due, const struct zone *zone, int64_t after_ms, size_t count,
                           struct job_times *out, struct errctx *ec)
{
    int64_t max_year = find_max_year(zone, after_ms);
    enum err e = ERR_OK;

    while (out->count < count && out->count < JOB_TIMES_MAX && !e) {
        e = schedule_find_next(due, zone, max_year, after_ms, &after_ms, ec);
        if (!e)
            out->ms[out->count++] = after_ms;
    }
    return e == ERR_NOTFOUND ? ERR_OK : e;
}

/* A rate counts from the next time; an expression also has what is planned already. */
static enum err find_job_times(const struct admin *a, const struct job_found *job, size_t count, struct job_times *out,
                               struct errctx *ec)
{
    const struct job_row *row = &job->list.rows[0];
    int64_t now_ms = clock_wall_ms(a->clock);
    const struct zone *zone = NULL;
    struct job_settings settings;
    struct zone *own = NULL;
    struct job_due due;
    enum err e;

    job_settings_init(&settings, row->id);
    if (job->settings_count > 0)
        settings = job->settings[0];
    job_make_due(row, &settings, &due);
    *out = (struct job_times){0};
    if (!strcmp(due.schedule_type, "NONE"))
        return ERR_OK;
    e = admin_take_zone(a, settings.time_zone, &own, &zone, ec);
    if (!e && count > 0 && row->status == 1 && row->next_ms > now_ms && !strcmp(due.schedule_type, "FIX_RATE")) {
        out->ms[out->count++] = row->next_ms;
        now_ms = row->next_ms;
    }
    if (!e)
        e = find_times(&due, zone, now_ms, count, out, ec);
    zone_destroy(own);
    return e;
}

enum err admin_find_job_times(struct admin *a, const struct actor *actor, int64_t id, size_t count,
                              struct job_times *out, struct refusal *r)
{
    struct job_found job = {0};
    enum err e = admin_load_job(a, actor, id, &job, r);

    if (!e) {
        e = find_job_times(a, &job, count, out, &r->text);
        e = e == ERR_INPUT ? refuse(r, REFUSED_STATE, "scheduleConf", "%s", r->text.text) : refuse_error(r, e);
    }
    job_found_fini(&job);
    return e;
}

/* ---- of texts ---------------------------------------------------------------------------------------------------- */

static enum err take_text_zone(const struct admin *a, const struct schedule_text *text, struct zone **own,
                               const struct zone **out, struct errctx *ec)
{
    if (text->zone && strlen(text->zone) >= ZONE_NAME_MAX)
        return err_set(ec, ERR_INPUT, "there is no such time zone");
    return admin_take_zone(a, text->zone, own, out, ec);
}

/* Any whole number, 0 and negative ones too. */
static enum err find_rate_times(const char *conf, int64_t now_ms, size_t count, struct job_times *out,
                                struct refusal *r)
{
    int64_t rate_s;

    if (!conf || !parse_int(conf[0] == '+' ? conf + 1 : conf, INT32_MIN, INT32_MAX, &rate_s))
        return refuse(r, REFUSED_INVALID, "scheduleConf", "FIX_RATE needs whole seconds, not \"%.100s\"",
                      conf ? conf : "");
    for (size_t i = 0; i < count && i < JOB_TIMES_MAX; i++)
        out->ms[out->count++] = time_floor_div(now_ms + (int64_t)(i + 1) * rate_s * 1000 + 999, 1000) * 1000;
    return ERR_OK;
}

enum err admin_find_times(struct admin *a, const struct actor *actor, const struct schedule_text *text, size_t count,
                          struct job_times *out, struct refusal *r)
{
    const struct job_due due = {.schedule_type = text->type ? text->type : "",
                                .schedule_conf = text->conf ? text->conf : ""};
    int64_t now_ms = clock_wall_ms(a->clock), behind_ms = text->from_ms > now_ms ? text->from_ms - 1 : now_ms;
    const struct zone *zone = NULL;
    struct zone *own = NULL;
    enum err e;

    (void)actor;
    *out = (struct job_times){0};
    if (!strcmp(due.schedule_type, "FIX_RATE"))
        return find_rate_times(text->conf, now_ms, count, out, r);
    if (strcmp(due.schedule_type, "CRON"))
        return ERR_OK;
    if (!text->conf)
        return refuse(r, REFUSED_INVALID, "scheduleConf", "the expression is missing");
    e = take_text_zone(a, text, &own, &zone, &r->text);
    if (e == ERR_INPUT)
        return refuse(r, REFUSED_INVALID, "zone", "%s", r->text.text);
    if (!e)
        e = find_times(&due, zone, behind_ms, count, out, &r->text);
    zone_destroy(own);
    return e == ERR_INPUT ? refuse(r, REFUSED_INVALID, "scheduleConf", "%s", r->text.text) : refuse_error(r, e);
}

/* ---- verdicts ---------------------------------------------------------------------------------------------------- */

static void refute(struct schedule_verdict *out, const char *field, const char *why)
{
    out->ok = false;
    out->field = field;
    snprintf(out->reason.text, sizeof out->reason.text, "%s", why);
}

static enum err judge_cron(const struct schedule_text *text, const struct zone *zone, int64_t now_ms,
                           struct schedule_verdict *out, struct errctx *ec)
{
    struct cron_fault fault = {0};
    struct cron *cron = NULL;
    enum err e = cron_parse_at(text->conf, find_max_year(zone, now_ms), &cron, &fault, ec);

    if (e == ERR_INPUT) {
        refute(out, "scheduleConf", ec->text);
        out->has_place = text->conf != NULL;
        out->at = text->conf ? utf8_count(text->conf, fault.at, /*utf16=*/false) : 0;
        out->len = text->conf ? utf8_count(text->conf + fault.at, fault.len, /*utf16=*/false) : 0;
        return ERR_OK;
    }
    if (!e)
        e = cron_next(cron, zone, now_ms, &out->next_ms, ec);
    cron_destroy(cron);
    if (e == ERR_INPUT)
        refute(out, "scheduleConf", ec->text);
    out->has_next = !e;
    return e == ERR_INPUT || e == ERR_NOTFOUND ? ERR_OK : e;
}

static void judge_rate(const struct schedule_text *text, int64_t now_ms, struct schedule_verdict *out)
{
    int64_t rate_s;

    if (!text->conf || !parse_int(text->conf, 1, INT32_MAX, &rate_s)) {
        refute(out, "scheduleConf", "FIX_RATE needs whole seconds from 1 to 2147483647");
        out->has_place = text->conf != NULL;
        out->len = text->conf ? utf8_count(text->conf, strlen(text->conf), /*utf16=*/false) : 0;
        return;
    }
    out->has_next = true;
    out->next_ms = time_floor_div(now_ms + rate_s * 1000 + 999, 1000) * 1000;
}

enum err admin_check_schedule(struct admin *a, const struct actor *actor, const struct schedule_text *text,
                              struct schedule_verdict *out, struct refusal *r)
{
    int64_t now_ms = clock_wall_ms(a->clock);
    const struct zone *zone = NULL;
    struct zone *own = NULL;
    enum err e;

    (void)actor;
    *out = (struct schedule_verdict){.ok = true};
    e = take_text_zone(a, text, &own, &zone, &r->text);
    if (e == ERR_INPUT) {
        refute(out, "zone", r->text.text);
        return ERR_OK;
    }
    if (!e && text->type && !strcmp(text->type, "CRON"))
        e = judge_cron(text, zone, now_ms, out, &r->text);
    else if (!e && text->type && !strcmp(text->type, "FIX_RATE"))
        judge_rate(text, now_ms, out);
    else if (!e && (!text->type || strcmp(text->type, "NONE")))
        refute(out, "scheduleType", "it must be NONE, CRON or FIX_RATE");
    zone_destroy(own);
    return refuse_error(r, e);
}

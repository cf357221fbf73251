/* SPDX-License-Identifier: MIT */
/* One job: its schedule, and the settings of ours that it has. */
#include "ctl/parts.h"

#include "shardwheel/admin/jobs.h"
#include "shardwheel/store/job.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAVE_TRIES 10 /* a job that is due each second changes each second; others may set it, too */

/* What is known of the job. */
struct view {
    struct job_schedule schedule;
    struct job_settings settings;
    struct zone *zone; /* of its expression, and of instants that are read or shown; owned */
};

/* The job's own zone; else that on record for the cluster; else that which a node would have. */
static enum err load_zone(struct view *v, const struct config *config, struct errctx *ec)
{
    return ctl_choose_zone(v->settings.time_zone[0] ? v->settings.time_zone : v->schedule.cron_zone, config, &v->zone,
                           ec);
}

static enum err load_view(struct store_session *s, int64_t job_id, struct view *v, struct errctx *ec)
{
    struct job_settings *list = NULL;
    size_t count = 0;
    enum err e = store_load_job_schedule(s, job_id, &v->schedule, ec);

    if (!e)
        e = store_load_job_settings(s, &job_id, 1, &list, &count, ec);
    job_settings_init(&v->settings, job_id);
    if (!e && count > 0)
        v->settings = list[0];
    free(list);
    return e;
}

/* ---- showing ----------------------------------------------------------------------------------------------------- */

/* NULL: not set. */
static const char *find_text(const struct job_settings *settings, size_t i, const struct zone *zone, struct buf *out)
{
    buf_clear(out);
    job_setting_put(settings, i, zone, out);
    return !out->data || !strcmp(out->data, "none") ? NULL : out->data;
}

static void write_json(const struct view *v, struct buf *out)
{
    struct buf value = {0};

    ctl_put_int(out, "job", v->schedule.job_id);
    ctl_put_bool(out, "running", v->schedule.running);
    ctl_put_text(out, "type", v->schedule.type);
    ctl_put_text(out, "conf", v->schedule.conf);
    if (v->schedule.running)
        ctl_put_int(out, "nextMs", v->schedule.next_ms);
    else
        ctl_put_null(out, "nextMs");
    ctl_put_text(out, "zone", zone_get_name(v->zone));
    buf_puts(ctl_put_name(out, "settings"), "{");
    for (size_t i = 0; i < job_setting_count(); i++)
        ctl_put_text(out, job_setting_name(i), find_text(&v->settings, i, v->zone, &value));
    buf_puts(out, "}}\n");
    out->failed = out->failed || buf_failed(&value);
    buf_fini(&value);
}

static void write_text(const struct view *v, struct buf *out)
{
    buf_printf(out, "job             %" PRId64 "\nschedule        %s %s\nstate           ", v->schedule.job_id,
               v->schedule.type, v->schedule.conf);
    if (v->schedule.running) {
        buf_puts(out, "running, next ");
        ctl_put_second(v->zone, time_floor_div(v->schedule.next_ms, 1000), out);
        buf_printf(out, " (%s)", zone_get_name(v->zone));
    } else {
        buf_puts(out, "stopped");
    }
    buf_putc(out, '\n');
    for (size_t i = 0; i < job_setting_count(); i++) {
        buf_printf(out, "%-15s ", job_setting_name(i));
        job_setting_put(&v->settings, i, v->zone, out);
        buf_putc(out, '\n');
    }
}

enum err ctl_show_job(struct ctl *c, struct errctx *ec)
{
    struct view v = {0};
    enum err e = load_view(c->session, c->wanted->job, &v, ec);

    if (!e)
        e = load_zone(&v, c->config, ec);
    if (!e && c->wanted->json)
        write_json(&v, &c->out);
    else if (!e)
        write_text(&v, &c->out);
    zone_destroy(v.zone);
    return e;
}

/* ---- setting ----------------------------------------------------------------------------------------------------- */

static enum err check_names(const struct config_ctl *ctl, struct errctx *ec)
{
    char all[300] = "";

    for (size_t k = 0; k < job_setting_count(); k++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", k ? ", " : "", job_setting_name(k));
    for (size_t i = 0; i < ctl->setting_count; i++) {
        bool found = false;

        for (size_t k = 0; k < job_setting_count(); k++)
            found = found || strcmp(ctl->settings[i].name, job_setting_name(k)) == 0;
        if (!found)
            return err_set(ec, ERR_INPUT, "unknown setting %s; known are: %s", log_quote(ctl->settings[i].name).s, all);
    }
    return ERR_OK;
}

/* The zone stands first among the settings: instants of the same line are read in it. */
static enum err take_values(struct view *v, const struct config *config, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < job_setting_count() && !e; i++) {
        const char *value = ctl_find_option(&config->ctl, job_setting_name(i));

        if (value)
            e = job_setting_parse(&v->settings, i, value, v->zone, ec);
        if (!e && i == 0)
            e = load_zone(v, config, ec);
    }
    return e ? e : job_settings_check(&v->settings, ec);
}

/* Behind what is planned already, and no sooner than five seconds from now. */
static enum err find_next(const struct view *v, struct schedule_change *change, struct errctx *ec)
{
    const struct job_schedule *from = change->from;
    const struct job_row row = {.id = from->job_id,
                                .schedule_type = change->type ? change->type : from->type,
                                .schedule_conf = change->conf ? change->conf : from->conf};
    enum err e = job_find_next(&row, &v->settings, v->zone, from->now_ms, from->planned_s, &change->next_ms, ec);

    return e ? err_wrap(ec, e, "job %" PRId64 " is started and would have no next time: stop it first", from->job_id)
             : ERR_OK;
}

static void note_field(struct ctl_note *note, const char *name, const char *old, const char *new)
{
    if (old == new || (old && new && !strcmp(old, new)))
        return;
    ctl_put_text(&note->before, name, old);
    ctl_put_text(&note->after, name, new);
}

/* Instants are in UTC, as in api/v1. */
static enum err note_settings(struct ctl_note *note, const struct job_settings *before,
                              const struct job_settings *after, struct errctx *ec)
{
    struct buf old = {0}, new = {0};
    struct zone *utc = NULL;
    enum err e = zone_load("UTC", &utc, ec);

    for (size_t i = 0; i < job_setting_count() && !e; i++)
        note_field(note, job_setting_name(i), find_text(before, i, utc, &old), find_text(after, i, utc, &new));
    if (!e && (buf_failed(&old) || buf_failed(&new)))
        e = err_set(ec, ERR_NOMEM, "out of memory for the audit of job %" PRId64, after->job_id);
    buf_fini(&old);
    buf_fini(&new);
    zone_destroy(utc);
    return e;
}

/* What is the same already is written all the same, and leaves no row of audit. */
static enum err save(struct store_session *s, const struct job_settings *before, const struct view *v,
                     const struct schedule_change *change, struct errctx *ec)
{
    struct ctl_note note = {0};
    struct audit_row audit;
    bool differs = false;
    enum err e = ctl_note_begin(&note, s, v->schedule.job_id, ec);

    if (!e && change && change->type) {
        note_field(&note, "scheduleType", v->schedule.type, change->type);
        note_field(&note, "scheduleConf", v->schedule.conf, change->conf);
    }
    if (!e)
        e = note_settings(&note, before, &v->settings, ec);
    differs = note.after.len > 0;
    if (!e)
        e = ctl_note_end(&note, "job.update", v->schedule.job_id, &audit, ec);
    if (!e)
        e = store_save_job_settings(s, before, &v->settings, change, differs ? &audit : NULL, ec);
    ctl_note_fini(&note);
    return e;
}

static enum err set_once(struct ctl *c, struct errctx *ec)
{
    struct view v = {0};
    struct job_settings before;
    struct schedule_change change = {.from = &v.schedule, .guarded = c->config->java_guard};
    char delay[24];
    bool moves;
    enum err e = load_view(c->session, c->wanted->job, &v, ec);

    before = v.settings;
    change.next_ms = v.schedule.next_ms;
    if (!e)
        e = take_values(&v, c->config, ec);
    moves = !e && !job_settings_have_same_times(&before, &v.settings);
    if (!e && v.settings.fixed_delay_s != SETTING_NONE && ctl_find_option(c->wanted, "fixed-delay")) {
        snprintf(delay, sizeof delay, "%" PRId64, v.settings.fixed_delay_s);
        change.type = "FIX_RATE"; /* what a Java admin can run */
        change.conf = delay;
        moves = moves || strcmp(v.schedule.type, change.type) != 0 || strcmp(v.schedule.conf, delay) != 0;
    }
    if (!e && moves && v.schedule.running)
        e = find_next(&v, &change, ec);
    if (!e)
        e = save(c->session, &before, &v, moves ? &change : NULL, ec);
    zone_destroy(v.zone);
    return e;
}

enum err ctl_set_job(struct ctl *c, struct errctx *ec)
{
    enum err e = check_names(c->wanted, ec);

    for (int i = 0; i < SAVE_TRIES && !e; i++) {
        errctx_clear(ec);
        e = set_once(c, ec);
        if (e != ERR_CONFLICT)
            break;
        e = i + 1 < SAVE_TRIES ? ERR_OK : e;
    }
    return e ? e : ctl_show_job(c, ec);
}

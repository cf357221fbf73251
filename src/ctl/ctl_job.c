/* SPDX-License-Identifier: MIT */
/* One job: its schedule, and the settings of ours that it has. */
#include "ctl/parts.h"

#include "shardwheel/admin/jobs.h"
#include "shardwheel/store/job.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What is known of the job. */
struct view {
    const struct job_row *row;
    const struct job_settings *settings;
    const struct zone *zone; /* its own, else that of the cluster: of its expression, and of instants that are shown */
};

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

    member_object(out, NULL);
    member_int(out, "job", v->row->id);
    member_bool(out, "running", v->row->status == 1);
    member_text(out, "type", v->row->schedule_type);
    member_text(out, "conf", v->row->schedule_conf);
    member_int_if(out, "nextMs", v->row->status == 1, v->row->next_ms);
    member_text(out, "zone", zone_get_name(v->zone));
    member_object(out, "settings");
    for (size_t i = 0; i < job_setting_count(); i++)
        member_text(out, job_setting_name(i), find_text(v->settings, i, v->zone, &value));
    buf_puts(out, "}}\n");
    out->failed = out->failed || buf_failed(&value);
    buf_fini(&value);
}

static void write_text(const struct view *v, struct buf *out)
{
    buf_printf(out, "job             %" PRId64 "\nschedule        %s %s\nstate           ", v->row->id,
               v->row->schedule_type, v->row->schedule_conf);
    if (v->row->status == 1) {
        buf_puts(out, "running, next ");
        zone_put_second(v->zone, time_floor_div(v->row->next_ms, 1000), out);
        buf_printf(out, " (%s)", zone_get_name(v->zone));
    } else {
        buf_puts(out, "stopped");
    }
    buf_putc(out, '\n');
    for (size_t i = 0; i < job_setting_count(); i++) {
        buf_printf(out, "%-15s ", job_setting_name(i));
        job_setting_put(v->settings, i, v->zone, out);
        buf_putc(out, '\n');
    }
}

enum err ctl_show_job(struct ctl *c, struct errctx *ec)
{
    struct job_found found = {0};
    struct job_settings none;
    struct view v = {0};
    struct zone *own = NULL;
    struct refusal r = {0};
    enum err e = ctl_refused(admin_load_job(c->admin, &ctl_actor, c->wanted->job, &found, &r), &r, ec);

    if (!e) {
        job_settings_init(&none, c->wanted->job);
        v.row = &found.list.rows[0];
        v.settings = found.settings_count ? &found.settings[0] : &none;
        if (v.settings->time_zone[0])
            e = zone_load(v.settings->time_zone, &own, ec);
        v.zone = own ? own : c->zone;
    }
    if (!e && c->wanted->json)
        write_json(&v, &c->out);
    else if (!e)
        write_text(&v, &c->out);
    zone_destroy(own);
    job_found_fini(&found);
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

/* A job's edit. */
struct editing {
    struct ctl *c;
    char delay[24];
};

/* The zone stands first among the settings: instants of the same line are read in it. A fixed delay stands as FIX_RATE
 * in the original's columns: what a Java admin can run. */
static enum err edit(void *arg, struct job_row *row, struct job_settings *settings, struct refusal *r)
{
    struct editing *editing = arg;
    struct ctl *c = editing->c;
    struct zone *own = NULL;
    struct errctx ec = {{0}};
    enum err e = ERR_OK;

    for (size_t i = 0; i < job_setting_count() && !e; i++) {
        const char *value = ctl_find_option(c->wanted, job_setting_name(i));

        if (value)
            e = job_setting_parse(settings, i, value, own ? own : c->zone, &ec);
        if (!e && i == 0 && settings->time_zone[0])
            e = zone_load(settings->time_zone, &own, &ec);
    }
    if (!e)
        e = job_settings_check(settings, &ec);
    zone_destroy(own);
    if (e)
        return refuse(r, REFUSED_INVALID, NULL, "%s", ec.text);
    if (settings->fixed_delay_s != SETTING_NONE && ctl_find_option(c->wanted, "fixed-delay")) {
        snprintf(editing->delay, sizeof editing->delay, "%" PRId64, settings->fixed_delay_s);
        row->schedule_type = "FIX_RATE";
        row->schedule_conf = editing->delay;
    }
    return ERR_OK;
}

enum err ctl_set_job(struct ctl *c, struct errctx *ec)
{
    struct editing editing = {.c = c};
    struct refusal r = {0};
    enum err e = check_names(c->wanted, ec);

    if (e)
        return e;
    e = ctl_refused(
        admin_edit_job(c->admin, &ctl_actor, c->wanted->job, &(struct job_edit){.edit = edit, .arg = &editing}, &r), &r,
        ec);
    if (!e)
        return ctl_show_job(c, ec);
    return r.kind == REFUSED_STATE ? err_wrap(ec, e, "job %" PRId64 " is started: stop it first", c->wanted->job) : e;
}

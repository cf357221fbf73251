/* SPDX-License-Identifier: MIT */
#include "http/v1/job_form.h"

#include <stdio.h>
#include <string.h>

#define PARAM_MAX 65535
#define SOURCE_MAX (4 * 1024 * 1024)
#define TAGS_MAX 100

/* ---- columns ----------------------------------------------------------------------------------------------------- */

/* Members beside those of the table of columns that people do not give. */
static bool is_shown_alone(const char *field)
{
    return !strcmp(field, "triggerStatus") || !strcmp(field, "triggerLastTime") || !strcmp(field, "triggerNextTime");
}

static bool is_glue(const char *field)
{
    return !strncmp(field, "glue", 4);
}

static const struct {
    const char *field, *value;
} defaults[] = {
    {"scheduleType", "NONE"},
    {"misfireStrategy", "DO_NOTHING"},
    {"executorRouteStrategy", "FIRST"},
    {"executorBlockStrategy", "SERIAL_EXECUTION"},
    {"glueType", "BEAN"},
    {"scheduleConf", ""},
    {"childJobId", ""},
    {"glueRemark", ""},
};

const char *job_find_default(const char *field)
{
    for (size_t i = 0; i < ARRAY_LEN(defaults); i++)
        if (!strcmp(defaults[i].field, field))
            return defaults[i].value;
    return NULL;
}

/* These may be null. */
static bool may_be_null(const char *field)
{
    static const char *const fields[] = {"alarmEmail", "scheduleConf", "executorHandler", "executorParam",
                                         "childJobId", "glueSource",   "glueRemark"};

    return list_has_text(fields, ARRAY_LEN(fields), field);
}

static void take_text(struct job_given *g, struct v1_object *o, const struct job_column *c)
{
    size_t max = c->max_chars ? c->max_chars : !strcmp(c->field, "glueSource") ? SOURCE_MAX : PARAM_MAX;

    if (may_be_null(c->field) && v1_take_null(o, c->field))
        job_row_set_text(&g->row, c, NULL);
    else
        job_row_set_text(&g->row, c, v1_text(o, c->field, max));
}

static void take_column(struct job_given *g, struct v1_object *o, size_t k, bool is_new)
{
    const struct job_column *c = job_column_get(k);
    bool is_group = !strcmp(c->field, "jobGroup");

    if (is_shown_alone(c->field) || (is_glue(c->field) && !is_new))
        return;
    if (!v1_has(o, c->field)) {
        if (is_new && c->is_text)
            job_row_set_text(&g->row, c, job_find_default(c->field));
        return;
    }
    g->columns |= UINT32_C(1) << k;
    if (c->is_text)
        take_text(g, o, c);
    else
        job_row_set_number(&g->row, c, v1_int(o, c->field, is_group ? 1 : 0, INT32_MAX, 0));
}

/* ---- settings ---------------------------------------------------------------------------------------------------- */

/* As a text, which the parser of shardwheelctl reads. */
static void put_value(struct v1_object *o, size_t i, struct buf *out)
{
    const char *name = job_setting_get(i)->member, *text = "";

    switch (job_setting_get(i)->kind) {
    case SETTING_ZONE: text = v1_text(o, name, ZONE_NAME_MAX - 1); break;
    case SETTING_WORD: text = v1_text(o, name, 20); break;
    case SETTING_CLOCK: text = v1_text(o, name, 5); break;
    case SETTING_NUMBER: buf_put_int(out, v1_int(o, name, 0, INT32_MAX, 0)); break;
    case SETTING_FLAG: buf_puts(out, v1_bool(o, name, false) ? "on" : "off"); break;
    case SETTING_TAGS: text = v1_joined_list(o, name, TAGS_MAX, 100, true); break;
    case SETTING_INSTANT: break;
    }
    buf_puts(out, text ? text : "");
}

static void take_instant(struct job_given *g, struct v1_object *o, size_t i)
{
    const char *name = job_setting_get(i)->member;
    int64_t ms = v1_instant(o, name, 0);

    if (!strcmp(name, "validFrom"))
        g->values.valid_from_s = time_floor_div(ms + 999, 1000);
    else
        g->values.valid_until_s = time_floor_div(ms, 1000);
}

static void take_setting(struct job_given *g, struct v1_object *o, size_t i, const struct zone *zone)
{
    const struct job_setting *row = job_setting_get(i);
    struct buf value = {0};
    struct errctx ec = {{0}};

    if (!v1_has(o, row->member))
        return;
    g->settings |= UINT32_C(1) << i;
    if (v1_take_null(o, row->member))
        return;
    if (row->kind == SETTING_INSTANT) {
        take_instant(g, o, i);
        return;
    }
    put_value(o, i, &value);
    if (buf_failed(&value))
        v1_note(g->c, REFUSED_BROKEN, NULL, "out of memory");
    else if (job_setting_parse(&g->values, i, value.data ? value.data : "", zone, &ec))
        v1_note(g->c, REFUSED_INVALID, row->member, "%s", ec.text);
    buf_fini(&value);
}

/* A fixed delay is FIX_RATE with it in the columns that a Java admin reads. */
static void take_delay(struct job_given *g, struct v1_object *from)
{
    const struct job_column *type = job_column_find("scheduleType"), *conf = job_column_find("scheduleConf");
    char *text;

    if (g->values.fixed_delay_s == SETTING_NONE)
        return;
    text = v1_keep(g->c, 24);
    if (!text)
        return;
    snprintf(text, 24, "%lld", (long long)g->values.fixed_delay_s);
    if ((v1_has(from, type->field) && g->row.schedule_type && strcmp(g->row.schedule_type, "FIX_RATE")) ||
        (v1_has(from, conf->field) && g->row.schedule_conf && strcmp(g->row.schedule_conf, text)))
        v1_note(g->c, REFUSED_INVALID, "fixedDelaySeconds",
                "fixedDelaySeconds sets scheduleType and scheduleConf: omit both");
    g->row.schedule_type = "FIX_RATE";
    g->row.schedule_conf = text;
    for (size_t k = 0; k < job_column_count(); k++)
        if (job_column_get(k) == type || job_column_get(k) == conf)
            g->columns |= UINT32_C(1) << k;
}

static void take_settings(struct job_given *g, struct v1_object *from)
{
    struct v1_object o = v1_object(from, "settings");

    job_settings_init(&g->values, 0);
    for (size_t i = 0; i < job_setting_count(); i++)
        take_setting(g, &o, i, admin_get_zone(g->c->admin));
    v1_end(&o);
    take_delay(g, from);
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

void job_take(struct v1_object *from, bool is_new, struct job_given *out)
{
    *out = (struct job_given){.c = from->c};
    if (is_new) {
        v1_require(from, "jobGroup");
        v1_require(from, "name");
        v1_require(from, "author");
    }
    for (size_t k = 0; k < job_column_count(); k++)
        take_column(out, from, k, is_new);
    take_settings(out, from);
}

enum err job_put_over(void *given, struct job_row *row, struct job_settings *to, struct refusal *r)
{
    const struct job_given *g = given;

    for (size_t k = 0; k < job_column_count(); k++) {
        const struct job_column *c = job_column_get(k);

        if (!(g->columns & UINT32_C(1) << k))
            continue;
        if (c->is_text)
            job_row_set_text(row, c, job_row_text(&g->row, c));
        else
            job_row_set_number(row, c, job_row_number(&g->row, c));
    }
    for (size_t i = 0; i < job_setting_count(); i++)
        if (g->settings & UINT32_C(1) << i)
            job_setting_copy(to, &g->values, i);
    return job_settings_check(to, &r->text) ? refuse(r, REFUSED_INVALID, "settings", "%s", r->text.text) : ERR_OK;
}

/* ---- shown ------------------------------------------------------------------------------------------------------- */

/* null where it is not set. */
static void put_setting(struct buf *b, const struct job_settings *v, size_t i)
{
    const char *member = job_setting_get(i)->member, *text = job_setting_find_text(v, i);
    int64_t number = job_setting_number(v, i);

    switch (job_setting_get(i)->kind) {
    case SETTING_CLOCK:
    case SETTING_ZONE: member_text(b, member, *text ? text : NULL); break;
    case SETTING_TAGS: v1_put_parts(b, member, text); break;
    case SETTING_FLAG: member_bool(b, member, number == 1); break;
    case SETTING_INSTANT: v1_put_second(b, member, number); break;
    case SETTING_WORD: member_text(b, member, number != SETTING_NONE ? job_setting_word(i, number) : NULL); break;
    case SETTING_NUMBER: member_int_if(b, member, number != SETTING_NONE, number); break;
    }
}

void job_put_settings(struct buf *b, const struct job_settings *found, bool all)
{
    struct job_settings none;
    const struct job_settings *v = found ? found : &none;

    job_settings_init(&none, 0);
    member_object(b, "settings");
    for (size_t i = 0; i < job_setting_count(); i++)
        if (all || job_setting_is_set(v, i))
            put_setting(b, v, i);
    member_object_end(b);
}

static void put_run(struct buf *b, const struct job_last_run *run)
{
    bool failed, ended;

    if (!member_object_if(b, "lastRun", run))
        return;
    ended = run->handle_s != TIME_NONE && run->trigger_s != TIME_NONE;
    failed = (run->trigger_code != 0 && run->trigger_code != 200) || (run->handle_code != 0 && run->handle_code != 200);
    member_int(b, "id", run->log_id);
    v1_put_second(b, "triggeredAt", run->trigger_s);
    member_text(b, "result",
                run->skipped              ? "skipped"
                : failed                  ? "failed"
                : run->handle_code == 200 ? "succeeded"
                                          : "running");
    member_int_if(b, "durationSeconds", ended, ended ? run->handle_s - run->trigger_s : 0);
    member_object_end(b);
}

void job_put(struct buf *b, const struct job_row *row, const struct job_found *found, bool whole)
{
    member_int(b, "id", row->id);
    for (size_t k = 0; k < job_column_count(); k++) {
        const struct job_column *c = job_column_get(k);

        if (is_shown_alone(c->field) || (!whole && !strcmp(c->field, "glueSource")))
            continue;
        if (c->is_text)
            member_text(b, c->field, job_row_text(row, c));
        else
            member_int(b, c->field, job_row_number(row, c));
    }
    member_bool(b, "running", row->status == 1);
    v1_put_instant(b, "nextFireAt", row->status == 1 ? row->next_ms : 0);
    v1_put_second(b, "addedAt", row->added_s);
    v1_put_second(b, "updatedAt", row->updated_s);
    v1_put_second(b, "glueUpdatedAt", row->glue_s);
    job_put_settings(b, job_found_settings(found, row->id), /*all=*/true);
    put_run(b, job_found_run(found, row->id));
    if (found->failures)
        member_int(b, "failuresDay", job_found_failures(found, row->id));
}

struct v1_etag job_tag(const struct job_row *row, const struct job_settings *values)
{
    char version[JOB_VERSION_MAX];
    struct v1_etag tag;

    job_version(row, values, version);
    snprintf(tag.text, sizeof tag.text, "\"%s\"", version);
    return tag;
}

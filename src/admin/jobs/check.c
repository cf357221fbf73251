/* SPDX-License-Identifier: MIT */
/* A job's form: checked in the order of the original, then put in order for its columns. */
#include "admin/jobs/jobs_impl.h"
#include "admin/people/password.h"
#include "shardwheel/admin/glue.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shardwheel/job.h"
#include "shardwheel/route.h"
#include "shardwheel/store/run.h"
#include "shardwheel/text.h"

static enum err refuse_choice(const char *value, const char *field, struct refusal *r)
{
    return refuse(r, REFUSED_INVALID, field, "%s: \"%.60s\" is not valid", field, value ? value : "");
}

static enum err check_choice(const char *choices, const char *value, const char *field, struct refusal *r)
{
    return value && text_list_has(choices, value) ? ERR_OK : refuse_choice(value, field, r);
}

/* ---- schedule ---------------------------------------------------------------------------------------------------- */

static enum err check_cron(struct admin *a, const char *conf, struct refusal *r)
{
    int64_t year = zone_to_civil(a->opts.zone, clock_wall_ms(a->clock) / 1000).year;
    struct cron *cron = NULL;
    enum err e = cron_parse(conf, year + JOB_CRON_YEARS, &cron, &r->text);

    cron_destroy(cron);
    if (e == ERR_INPUT)
        return refuse(r, REFUSED_INVALID, "scheduleConf", "%s", r->text.text);
    return refuse_error(r, e);
}

static enum err check_schedule(struct admin *a, const struct job_row *row, struct refusal *r)
{
    const char *type = row->schedule_type ? row->schedule_type : "";
    int64_t rate_s;

    if (!strcmp(type, "CRON"))
        return check_cron(a, row->schedule_conf, r);
    if (!strcmp(type, "NONE"))
        return ERR_OK;
    if (strcmp(type, "FIX_RATE"))
        return refuse(r, REFUSED_INVALID, "scheduleType",
                      "scheduleType: \"%.60s\" is not valid; use NONE, CRON or FIX_RATE", type);
    if (!row->schedule_conf)
        return refuse(r, REFUSED_REQUIRED, "scheduleConf", "scheduleConf: FIX_RATE needs a number of seconds");
    if (!parse_int(row->schedule_conf, 1, INT32_MAX, &rate_s))
        return refuse(r, REFUSED_INVALID, "scheduleConf", "scheduleConf: FIX_RATE needs whole seconds from 1 to %d",
                      INT32_MAX);
    return ERR_OK;
}

/* ---- children ---------------------------------------------------------------------------------------------------- */

static enum err refuse_child(struct refusal *r, enum refusal_kind kind, const struct child_item *item, const char *why)
{
    size_t len = utf8_cut(item->text, item->len, sizeof r->item - 1);
    enum err e = refuse(r, kind, "childJobId", "childJobId: \"%.*s\" %s", (int)len, item->text, why);

    memcpy(r->item, item->text, len);
    r->item[len] = '\0';
    return e;
}

static enum err check_child(const struct actor *actor, const struct child_item *item, int64_t group, struct refusal *r)
{
    if (item->verdict == CHILD_ILLEGAL)
        return refuse_child(r, REFUSED_INVALID, item, "is not a job id");
    if (group == 0)
        return refuse_child(r, REFUSED_UNKNOWN, item, "does not exist");
    if (!actor_may(actor, RIGHT_CHANGE, group))
        return refuse_child(r, REFUSED_RIGHT, item, "is in a group that you may not change");
    return item->verdict == CHILD_SELF ? refuse_child(r, REFUSED_SELF, item, "is the job itself") : ERR_OK;
}

/* Each in turn; the list without the empty items at its end is what is stored. */
static enum err check_children(const struct actor *actor, struct store_session *s, const char *list, int64_t own_id,
                               char out[CHILDREN_TEXT_MAX], struct refusal *r)
{
    struct child_item items[CHILDREN_MAX];
    size_t count = children_parse(list, own_id, items);
    int64_t ids[CHILDREN_MAX], groups[CHILDREN_MAX];
    enum err e;

    for (size_t i = 0; i < count; i++)
        ids[i] = items[i].verdict == CHILD_ILLEGAL ? 0 : items[i].id;
    e = refuse_error(r, store_load_job_groups(s, ids, count, groups, &r->text));
    for (size_t i = 0; i < count && !e; i++)
        e = check_child(actor, &items[i], groups[i], r);
    if (e)
        return e;
    out[0] = '\0';
    for (size_t i = 0; i < count && strlen(out) + items[i].len + 2 < CHILDREN_TEXT_MAX; i++)
        snprintf(out + strlen(out), CHILDREN_TEXT_MAX - strlen(out), "%s%.*s", i ? "," : "", (int)items[i].len,
                 items[i].text);
    return ERR_OK;
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

static enum err check_utf8(const struct job_row *row, struct refusal *r)
{
    for (size_t k = 0; k < job_column_count(); k++) {
        const struct job_column *c = job_column_get(k);
        const char *text = c->is_text ? job_row_text(row, c) : NULL;

        if (text && !utf8_is_valid(text, strlen(text)))
            return refuse(r, REFUSED_INVALID, c->field, "%s: not UTF-8", c->field);
    }
    return ERR_OK;
}

static enum err check_length(const char *text, size_t max, const char *field, struct refusal *r)
{
    bool in_bytes = max >= 65535; /* a column of that length counts bytes */

    if (!text || (in_bytes ? strlen(text) : utf8_count(text, strlen(text), /*utf16=*/false)) <= max)
        return ERR_OK;
    return refuse_length(r, field, 0, max, "%s: longer than %zu %s", field, max, in_bytes ? "bytes" : "characters");
}

static enum err check_lengths(struct store_session *s, const struct job_row *row, struct refusal *r)
{
    size_t param_max = 0;
    enum err e = refuse_error(r, store_load_param_max(s, &param_max, &r->text));

    for (size_t k = 0; k < job_column_count() && !e; k++) {
        const struct job_column *c = job_column_get(k);

        if (c->is_text && c->max_chars)
            e = check_length(job_row_text(row, c), c->max_chars, c->field, r);
    }
    return e ? e : check_length(row->param, param_max, "executorParam", r);
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static enum err check_group(struct store_session *s, int64_t group, struct refusal *r)
{
    bool found = false;
    enum err e = refuse_error(r, store_find_group(s, group, &found, &r->text));

    if (!e && !found)
        return refuse(r, REFUSED_UNKNOWN, "jobGroup", "jobGroup: there is no executor group %" PRId64, group);
    return e;
}

static enum err check_names(const struct job_row *row, struct refusal *r)
{
    if (str_is_blank(row->name))
        return refuse(r, REFUSED_REQUIRED, "name", "name: blank");
    if (str_is_blank(row->author))
        return refuse(r, REFUSED_REQUIRED, "author", "author: blank");
    return ERR_OK;
}

static enum err check_glue(const struct admin *a, const struct job_row *row, enum job_check what, struct refusal *r)
{
    enum err e = check_choice(JOB_GLUE_TYPES, row->glue_type, "glueType", r);

    if (!e && what == CHECK_NEW)
        e = glue_may_save(a, row->glue_type, r);
    if (!e && what == CHECK_NEW && row->glue_source && strlen(row->glue_source) > GLUE_SOURCE_MAX)
        e = refuse_length(r, "glueSource", 0, GLUE_SOURCE_MAX, "glueSource: longer than %d bytes", GLUE_SOURCE_MAX);

    if (!e && !strcmp(row->glue_type, "BEAN") && str_is_blank(row->handler))
        return refuse(r, REFUSED_REQUIRED, "executorHandler", "executorHandler: a job of type BEAN needs one");
    return e;
}

static enum err check_strategies(const struct job_row *row, struct refusal *r)
{
    enum err e = route_is_known(row->route) ? ERR_OK : refuse_choice(row->route, "executorRouteStrategy", r);

    if (!e)
        e = check_choice(JOB_MISFIRES, row->misfire, "misfireStrategy", r);
    return e ? e : check_choice(JOB_BLOCKS, row->block, "executorBlockStrategy", r);
}

/* A group is looked for first in the form of a new job; in D behind name and author; else at the end. */
static enum err check_in_order(struct admin *a, const struct actor *actor, struct store_session *s,
                               const struct job_form *form, enum job_check what, int64_t own_id, struct job_tidy *out,
                               struct refusal *r)
{
    bool group_first = what == CHECK_NEW && form->order == JOB_ORDER_ABC;
    bool group_behind_author = form->order == JOB_ORDER_D && (what == CHECK_NEW || form->row.group > 0);
    enum err e = group_first ? check_group(s, form->row.group, r) : ERR_OK;

    if (!e)
        e = check_names(&form->row, r);
    if (!e && group_behind_author)
        e = check_group(s, form->row.group, r);
    if (!e)
        e = check_schedule(a, &form->row, r);
    if (!e && what != CHECK_CHANGE)
        e = check_glue(a, &form->row, what, r);
    if (!e)
        e = check_strategies(&form->row, r);
    if (!e && !str_is_blank(form->row.children)) {
        e = check_length(form->row.children, 255, "childJobId", r);
        if (!e)
            e = check_children(actor, s, form->row.children, own_id, out->children, r);
        out->row.children = out->children;
    }
    if (!e && !group_first)
        e = check_group(s, form->row.group, r);
    return e ? e : check_lengths(s, &form->row, r);
}

/* Without white space at both ends, as a JVM trims. */
static void trim_handler(struct job_tidy *t)
{
    struct text_part text;

    if (!t->row.handler)
        return;
    text = text_trim(t->row.handler);
    snprintf(t->handler, sizeof t->handler, "%.*s", (int)(text.len < HANDLER_MAX ? text.len : HANDLER_MAX - 1),
             text.at);
    t->row.handler = t->handler;
}

static enum err strip_returns(struct job_tidy *t, struct refusal *r)
{
    const char *source = t->row.glue_source;

    if (!source || strcmp(t->row.glue_type, "GLUE_SHELL") || !strchr(source, '\r'))
        return ERR_OK;
    for (const char *at = source; *at; at++)
        if (*at != '\r')
            buf_putc(&t->source, *at);
    if (buf_failed(&t->source))
        return refuse(r, REFUSED_BROKEN, NULL, "out of memory");
    t->row.glue_source = t->source.data ? t->source.data : "";
    return ERR_OK;
}

enum err job_check_form(struct admin *a, const struct actor *actor, struct store_session *s,
                        const struct job_form *form, enum job_check what, int64_t own_id, struct job_tidy *out,
                        struct refusal *r)
{
    enum err e;

    *out = (struct job_tidy){.row = form->row};
    e = check_utf8(&form->row, r);
    if (!e)
        e = check_in_order(a, actor, s, form, what, own_id, out, r);
    if (e)
        return e;
    trim_handler(out);
    return what == CHECK_NEW ? strip_returns(out, r) : ERR_OK;
}

void job_tidy_fini(struct job_tidy *t)
{
    buf_fini(&t->source);
}

/* SPDX-License-Identifier: MIT */
/* Jobs and groups as a document for version control. */
#include "http/v1/job_form.h"
#include "http/v1/transfer.h"
#include "shardwheel/admin/transfer.h"

#include <stdio.h>
#include <string.h>

#define FORMAT "shardwheel-jobs"
#define VERSION 1
#define GROUPS_MAX 5000
#define CHILDREN_OF_ONE 255
#define IMPORT_MAX BODY_MAX_SOURCE
#define ADDRESSES_MAX 1000
#define ADDRESS_CHARS 255

static const char *const types[] = {"auto", "manual", NULL}; /* as those of groups */

/* ---- out --------------------------------------------------------------------------------------------------------- */

static void put_group(struct buf *b, const struct group_values *group)
{
    v1_put_object(b, NULL);
    v1_put_text(b, "appname", group->app_name);
    v1_put_text(b, "title", group->title);
    v1_put_text(b, "addressType", types[group->address_type != 0]);
    if (group->address_type)
        v1_put_parts(b, "addressList", group->addresses);
    v1_put_object_end(b);
}

/* What stands elsewhere in a document, or changes by itself. */
static bool is_left_out(const struct transfer_job *job, const char *field)
{
    return !strcmp(field, "jobGroup") || !strncmp(field, "trigger", 7) ||
           (!strcmp(field, "childJobId") && job->child_count);
}

/* What is not its default. */
static void put_column(struct buf *b, const struct transfer_job *job, const struct job_column *c)
{
    if (is_left_out(job, c->field))
        return;
    if (!c->is_text) {
        if (job_row_number(&job->row, c))
            v1_put_int(b, c->field, job_row_number(&job->row, c));
        return;
    }
    const char *standard = job_find_default(c->field), *text = job_row_text(&job->row, c);
    if (strcmp(text, standard ? standard : "") != 0)
        v1_put_text(b, c->field, text);
}

static void put_job(struct buf *b, const struct transfer_job *job)
{
    v1_put_object(b, NULL);
    v1_put_text(b, "appname", job->app_name);
    for (size_t i = 0; i < job_column_count(); i++)
        put_column(b, job, job_column_get(i));
    if (job->child_count)
        v1_put_list(b, "children");
    for (size_t i = 0; i < job->child_count; i++) {
        v1_put_object(b, NULL);
        v1_put_text(b, "appname", job->children[i].app_name);
        v1_put_text(b, "name", job->children[i].name);
        v1_put_object_end(b);
    }
    if (job->child_count)
        v1_put_list_end(b);
    if (!job_settings_are_empty(&job->settings))
        job_put_settings(b, &job->settings, /*all=*/false);
    v1_put_bool(b, "running", job->running == 1);
    v1_put_object_end(b);
}

static void put_document(struct buf *b, const struct transfer *d)
{
    v1_put_object(b, NULL);
    v1_put_text(b, "format", FORMAT);
    v1_put_int(b, "version", VERSION);
    v1_put_list(b, "groups");
    for (size_t i = 0; i < d->group_count; i++)
        put_group(b, &d->groups[i]);
    v1_put_list_end(b);
    v1_put_list(b, "jobs");
    for (size_t i = 0; i < d->job_count; i++)
        put_job(b, &d->jobs[i]);
    v1_put_list_end(b);
    v1_put_object_end(b);
}

static void answer_export(struct v1_call *c)
{
    struct v1_ints groups = v1_query_ints(c, "group", 1, INT32_MAX, 100);
    struct export out = {0};
    struct buf compact = {0};

    if (v1_is_refused(c) || v1_has_failed(c, admin_export(c->admin, c->actor, groups.v, groups.count, &out, &c->why)))
        return;
    put_document(&compact, &out.document);
    export_fini(&out);
    if (buf_failed(&compact))
        c->r->body.failed = true;
    else
        json_put_indented(&c->r->body, compact.data, compact.len);
    buf_fini(&compact);
    v1_tag_answer(c);
}

/* An escape with its backslash, as short as there is one; how many bytes it had. */
static size_t put_escape(struct buf *out, const char *from, size_t left)
{
    static const struct {
        const char *is, *instead;
    } shorter[] = {{"\\u000a", "\\n"}, {"\\u0009", "\\t"}, {"\\u000d", "\\r"}};

    for (size_t i = 0; i < ARRAY_LEN(shorter); i++) {
        if (left >= 6 && !memcmp(from, shorter[i].is, 6)) {
            buf_puts(out, shorter[i].instead);
            return 6;
        }
    }
    buf_append(out, from, left < 2 ? left : 2);
    return 2;
}

/* A text with its quotes; how many bytes it had. */
static size_t put_whole_text(struct buf *out, const char *from, size_t left)
{
    size_t i = 1;

    buf_putc(out, '"');
    while (i < left && from[i] != '"') {
        size_t run = strcspn(from + i, "\\\"");
        buf_append(out, from + i, run);
        i += run;
        if (i < left && from[i] == '\\')
            i += put_escape(out, from + i, left - i);
    }
    buf_putc(out, '"');
    return i + 1;
}

static void put_line(struct buf *out, int depth)
{
    buf_printf(out, "\n%*s", 2 * depth, "");
}

/* A member on a line of its own: changes of one are changes of one line. */
void json_put_indented(struct buf *out, const char *json, size_t len)
{
    int depth = 0;

    for (size_t i = 0; i < len; i++) {
        bool opens = json[i] == '{' || json[i] == '[', closes = json[i] == '}' || json[i] == ']';
        if (json[i] == '"') {
            i += put_whole_text(out, json + i, len - i) - 1;
            continue;
        }
        if (closes)
            put_line(out, --depth);
        buf_putc(out, json[i]);
        if (opens && i + 1 < len && (json[i + 1] == '}' || json[i + 1] == ']'))
            buf_putc(out, json[++i]);
        else if (opens)
            put_line(out, ++depth);
        else if (json[i] == ',')
            put_line(out, depth);
        else if (json[i] == ':')
            buf_putc(out, ' ');
    }
    buf_putc(out, '\n');
}

/* ---- in ---------------------------------------------------------------------------------------------------------- */

/* As the column has them. */
static const char *take_addresses(struct v1_object *o)
{
    struct v1_texts list = v1_text_list(o, "addressList", ADDRESSES_MAX, ADDRESS_CHARS);
    size_t size = 1;

    for (size_t i = 0; i < list.count; i++) {
        size += strlen(list.v[i]) + 1;
        if (str_is_blank(list.v[i]) || strchr(list.v[i], ','))
            v1_note(o->c, REFUSED_INVALID, "addressList", "address %zu is empty, or has a comma in it", i + 1);
    }
    char *text = v1_keep(o->c, size);
    for (size_t i = 0; text && i < list.count; i++) {
        strcat(text, i ? "," : "");
        strcat(text, list.v[i]);
    }
    return text;
}

static void take_group(struct v1_object *o, struct group_values *out)
{
    v1_require(o, "appname");
    v1_require(o, "title");
    *out = (struct group_values){.app_name = v1_text(o, "appname", 64),
                                 .title = v1_text(o, "title", 64),
                                 .address_type = v1_choice(o, "addressType", types, 0),
                                 .addresses = take_addresses(o)};
    if (!out->address_type && *(out->addresses ? out->addresses : ""))
        v1_note(o->c, REFUSED_INVALID, "addressList", "the addresses of an automatic group come by heartbeats");
    v1_end(o);
}

static void take_children(struct v1_object *o, struct transfer_job *out)
{
    struct v1_list list = v1_object_list(o, "children", CHILDREN_OF_ONE);
    struct transfer_name *names = list.count ? v1_keep(o->c, list.count * sizeof *names) : NULL;
    struct v1_object item;

    for (size_t i = 0; names && v1_next_object(&list, &item); i++) {
        v1_require(&item, "appname");
        v1_require(&item, "name");
        names[i] = (struct transfer_name){v1_text(&item, "appname", 64), v1_text(&item, "name", 255)};
        v1_end(&item);
    }
    if (names && v1_has(o, "childJobId"))
        v1_note(o->c, REFUSED_INVALID, "childJobId", "childJobId: the job has children by name");
    out->children = names;
    out->child_count = names ? list.count : 0;
}

/* Texts that were not given, or are null, have their defaults. */
static void fill_texts(struct job_row *row)
{
    for (size_t i = 0; i < job_column_count(); i++) {
        const struct job_column *c = job_column_get(i);
        const char *standard = job_find_default(c->field);
        if (c->is_text && !job_row_text(row, c))
            job_row_set_text(row, c, standard ? standard : "");
    }
}

static void take_job(struct v1_object *o, struct transfer_job *out)
{
    struct job_given *given = v1_keep(o->c, sizeof *given);

    if (!given)
        return;
    v1_require(o, "appname");
    v1_require(o, "name");
    v1_require(o, "author");
    if (v1_has(o, "jobGroup"))
        v1_note(o->c, REFUSED_INVALID, "jobGroup", "jobGroup: a document has appname in its place");
    *out = (struct transfer_job){.app_name = v1_text(o, "appname", 64)};
    out->running = v1_has(o, "running") ? v1_bool(o, "running", false) : -1;
    (void)v1_bool(o, "running", false);
    job_take(o, /*is_new=*/false, given);
    given->row.glue_type = v1_text(o, "glueType", 50);
    given->row.glue_source = v1_text(o, "glueSource", IMPORT_MAX);
    given->row.glue_remark = v1_text(o, "glueRemark", 128);
    take_children(o, out);
    v1_end(o);
    out->row = given->row;
    out->settings = given->values;
    fill_texts(&out->row);
}

/* Says which item the first fault is in. */
static void name_item(struct v1_call *c, const char *list, size_t i)
{
    if (c->why.kind != REFUSED_NOT && !c->why.item[0])
        snprintf(c->why.item, sizeof c->why.item, "%s[%zu]", list, i);
}

static void take_groups(struct v1_call *c, struct transfer *d)
{
    struct v1_list list = v1_object_list(&c->body, "groups", GROUPS_MAX);
    struct v1_object item;

    d->groups = v1_keep(c, (list.count + 1) * sizeof *d->groups);
    for (; d->groups && c->why.kind == REFUSED_NOT && v1_next_object(&list, &item); d->group_count++) {
        take_group(&item, &d->groups[d->group_count]);
        name_item(c, "groups", d->group_count);
    }
}

static void take_jobs(struct v1_call *c, struct transfer *d)
{
    struct v1_list list = v1_object_list(&c->body, "jobs", TRANSFER_JOBS_MAX);
    struct v1_object item;

    d->jobs = v1_keep(c, (list.count + 1) * sizeof *d->jobs);
    for (; d->jobs && c->why.kind == REFUSED_NOT && v1_next_object(&list, &item); d->job_count++) {
        take_job(&item, &d->jobs[d->job_count]);
        name_item(c, "jobs", d->job_count);
    }
}

static void take_document(struct v1_call *c, struct transfer *d)
{
    static const char *const formats[] = {FORMAT, NULL};

    v1_require(&c->body, "format");
    v1_require(&c->body, "version");
    v1_choice(&c->body, "format", formats, 0);
    v1_int(&c->body, "version", VERSION, VERSION, VERSION);
    take_groups(c, d);
    take_jobs(c, d);
}

static void put_item(struct buf *b, const char *app_name, const char *name, const struct transfer_item *item)
{
    v1_put_object(b, NULL);
    v1_put_text(b, "appname", app_name);
    if (name)
        v1_put_text(b, "name", name);
    v1_put_text(b, "outcome", transfer_outcome_name(item->outcome));
    if (item->id)
        v1_put_int(b, "id", item->id);
    else
        v1_put_null(b, "id");
    v1_put_json(b, "before", item->before);
    v1_put_json(b, "after", item->after);
    if (item->outcome == TRANSFER_REFUSED) {
        v1_put_text(b, "kind", refusal_name(item->kind));
        v1_put_text(b, "field", item->field);
        v1_put_text(b, "detail", item->text);
    }
    v1_put_object_end(b);
}

static void put_result(struct buf *b, const struct transfer *d, const struct transfer_result *result, bool dry_run)
{
    v1_put_object(b, NULL);
    v1_put_bool(b, "dryRun", dry_run);
    for (int i = TRANSFER_CREATE; i <= TRANSFER_LEFT; i++)
        v1_put_int(b, transfer_outcome_name((enum transfer_outcome)i), (int64_t)result->outcomes[i]);
    v1_put_list(b, "groups");
    for (size_t i = 0; i < d->group_count; i++)
        put_item(b, d->groups[i].app_name, NULL, &result->groups[i]);
    v1_put_list_end(b);
    v1_put_list(b, "jobs");
    for (size_t i = 0; i < d->job_count; i++)
        put_item(b, d->jobs[i].app_name, d->jobs[i].row.name, &result->jobs[i]);
    v1_put_list_end(b);
    v1_put_object_end(b);
}

static void answer_import(struct v1_call *c)
{
    bool dry_run = v1_query_bool(c, "dryRun", false);
    struct transfer_result result = {0};
    struct transfer d = {0};

    take_document(c, &d);
    if (!v1_is_refused(c) && !v1_has_failed(c, admin_import(c->admin, c->actor, &d, dry_run, &result, &c->why)))
        put_result(&c->r->body, &d, &result, dry_run);
    transfer_result_fini(&result);
}

static const struct v1_route routes[] = {
    {V1_ROUTE(ROUTE_GET, "/export", ROUTE_LOGIN), V1_NO_BODY, 0, answer_export},
    {V1_ROUTE(ROUTE_POST, "/import", ROUTE_LOGIN), V1_JSON_BODY, IMPORT_MAX, answer_import},
};

const struct v1_topic v1_transfer = {routes, ARRAY_LEN(routes)};

/* SPDX-License-Identifier: MIT */
/* A document of jobs, groups and flows, put in. */
#include "http/v1/flow_boxes.h"
#include "http/v1/job_form.h"
#include "http/v1/transfer.h"
#include "shardwheel/admin/alarms.h"
#include "shardwheel/admin/transfer.h"

#include <stdio.h>

#define GROUPS_MAX 5000
#define CHILDREN_OF_ONE 255
#define IMPORT_MAX BODY_MAX_SOURCE
#define ADDRESSES_MAX 1000
#define ADDRESS_CHARS 255

static void take_group(struct v1_object *o, struct group_info *out)
{
    v1_require(o, "appname");
    v1_require(o, "title");
    *out = (struct group_info){.app_name = v1_text(o, "appname", 64),
                               .title = v1_text(o, "title", 64),
                               .address_type = v1_choice(o, "addressType", transfer_types, 0),
                               .address_list = v1_joined_list(o, "addressList", ADDRESSES_MAX, ADDRESS_CHARS, false)};
    if (!out->address_type && *out->address_list)
        v1_note(o->c, REFUSED_INVALID, "addressList",
                "executors of an automatic group register by heartbeat: it has no address list of its own");
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
        v1_note(o->c, REFUSED_INVALID, "childJobId", "childJobId: the job has children, so it cannot have childJobId");
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
        v1_note(o->c, REFUSED_INVALID, "jobGroup", "jobGroup: a document has appname instead");
    *out = (struct transfer_job){.app_name = v1_text(o, "appname", 64)};
    out->running = v1_bool(o, "running", -1);
    job_take(o, /*is_new=*/false, given);
    given->row.glue_type = v1_text(o, "glueType", 50);
    given->row.glue_source = v1_text(o, "glueSource", IMPORT_MAX);
    given->row.glue_remark = v1_text(o, "glueRemark", 128);
    take_children(o, out);
    out->row = given->row;
    out->settings = given->values;
    fill_texts(&out->row);
}

static void take_flow(struct v1_object *o, struct transfer_flow *out)
{
    struct v1_object document = v1_object(o, "document");

    v1_require(o, "document");
    if (document.value.kind == JSON_OBJECT)
        v1_require(&document, "name");
    *out = (struct transfer_flow){.name = v1_text(&document, "name", FLOW_NAME_MAX),
                                  .document = flow_keep_object(o->c, &document.value, 2 * FLOW_DOCUMENT_MAX),
                                  .running = v1_bool(o, "running", -1)};
}

static void take_channel(struct v1_object *o, struct channel_row *out)
{
    v1_require(o, "name");
    v1_require(o, "kind");
    v1_take_route(o, out);
    out->name = v1_text(o, "name", 40);
    out->kind = v1_text(o, "kind", 16);
    out->app_names = out->app_names ? out->app_names : "";
    out->tags = out->tags ? out->tags : "";
    out->quiet = out->quiet ? out->quiet : "";
}

static void take_rule(struct v1_object *o, struct watch_rule *out)
{
    *out = v1_take_rule(o);
}

/* Says which item the first fault is in. */
static void name_item(struct v1_call *c, const char *list, size_t i)
{
    if (c->why.kind != REFUSED_NOT && !c->why.item[0])
        snprintf(c->why.item, sizeof c->why.item, "%s[%zu]", list, i);
}

#define TAKE_LIST(items, item_count, max, take)                                                                        \
    static void take_##items(struct v1_call *c, struct transfer *d)                                                    \
    {                                                                                                                  \
        struct v1_list list = v1_object_list(&c->body, #items, max);                                                   \
        struct v1_object item;                                                                                         \
                                                                                                                       \
        d->items = v1_keep(c, (list.count + 1) * sizeof *d->items);                                                    \
        for (; d->items && c->why.kind == REFUSED_NOT && v1_next_object(&list, &item); d->item_count++) {              \
            take(&item, &d->items[d->item_count]);                                                                     \
            v1_end(&item);                                                                                             \
            name_item(c, #items, d->item_count);                                                                       \
        }                                                                                                              \
    }
TAKE_LIST(groups, group_count, GROUPS_MAX, take_group)
TAKE_LIST(jobs, job_count, TRANSFER_JOBS_MAX, take_job)
TAKE_LIST(flows, flow_count, TRANSFER_FLOWS_MAX, take_flow)
TAKE_LIST(rules, rule_count, WATCH_RULES_MAX, take_rule)
TAKE_LIST(channels, channel_count, TRANSFER_CHANNELS_MAX, take_channel)
#undef TAKE_LIST

static void take_document(struct v1_call *c, struct transfer *d)
{
    static const char *const formats[] = {TRANSFER_FORMAT, NULL};

    v1_require(&c->body, "format");
    v1_require(&c->body, "version");
    v1_choice(&c->body, "format", formats, 0);
    v1_int(&c->body, "version", TRANSFER_VERSION, TRANSFER_VERSION, TRANSFER_VERSION);
    take_groups(c, d);
    take_jobs(c, d);
    take_flows(c, d);
    take_rules(c, d);
    take_channels(c, d);
}

static void put_item(struct buf *b, const char *app_name, const char *name, const struct transfer_item *item)
{
    member_object(b, NULL);
    if (app_name)
        member_text(b, "appname", app_name);
    if (name)
        member_text(b, "name", name);
    member_text(b, "outcome", transfer_outcome_name(item->outcome));
    member_int_or_null(b, "id", item->id);
    member_json(b, "before", item->before);
    member_json(b, "after", item->after);
    if (item->outcome == TRANSFER_REFUSED) {
        member_text(b, "kind", refusal_name(item->kind));
        member_text(b, "field", item->field);
        member_text(b, "detail", item->text);
    }
    member_object_end(b);
}

static void put_rule_item(struct buf *b, const struct watch_rule *rule, const struct transfer_item *item)
{
    struct buf name = {0};

    transfer_put_rule_name(rule, &name);
    put_item(b, NULL, buf_failed(&name) ? "" : name.data, item);
    b->failed |= buf_failed(&name);
    buf_fini(&name);
}

static void put_result(struct buf *b, const struct transfer *d, const struct transfer_result *result, bool dry_run)
{
    member_bool(b, "dryRun", dry_run);
    for (int i = TRANSFER_CREATE; i <= TRANSFER_LEFT; i++)
        member_int(b, transfer_outcome_name((enum transfer_outcome)i), (int64_t)result->outcomes[i]);
    member_list(b, "groups");
    for (size_t i = 0; i < d->group_count; i++)
        put_item(b, d->groups[i].app_name, NULL, &result->groups[i]);
    member_list_end(b);
    member_list(b, "jobs");
    for (size_t i = 0; i < d->job_count; i++)
        put_item(b, d->jobs[i].app_name, d->jobs[i].row.name, &result->jobs[i]);
    member_list_end(b);
    member_list(b, "flows");
    for (size_t i = 0; i < d->flow_count; i++)
        put_item(b, NULL, d->flows[i].name, &result->flows[i]);
    member_list_end(b);
    member_list(b, "rules");
    for (size_t i = 0; i < d->rule_count; i++)
        put_rule_item(b, &d->rules[i], &result->rules[i]);
    member_list_end(b);
    member_list(b, "channels");
    for (size_t i = 0; i < d->channel_count; i++)
        put_item(b, NULL, d->channels[i].name, &result->channels[i]);
    member_list_end(b);
}

static void answer_import(struct v1_call *c)
{
    bool dry_run = v1_query_bool(c, "dryRun", false);
    struct transfer_result result = {0};
    struct transfer d = {0};

    take_document(c, &d);
    if (!V1_FAILS(c, admin_import, &d, dry_run, &result))
        put_result(&c->r->body, &d, &result, dry_run);
    transfer_result_fini(&result);
}

static const struct v1_route routes[] = {
    {V1_ROUTE(ROUTE_GET, "/export", ROUTE_LOGIN), V1_NO_BODY, 0, v1_answer_export},
    {V1_ROUTE(ROUTE_POST, "/export", ROUTE_LOGIN), V1_JSON_BODY, 0, v1_answer_export_of},
    {V1_ROUTE(ROUTE_POST, "/import", ROUTE_LOGIN), V1_JSON_BODY, IMPORT_MAX, answer_import},
};

const struct v1_topic v1_transfer = {routes, ARRAY_LEN(routes)};

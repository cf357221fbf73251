/* SPDX-License-Identifier: MIT */
/* Alarms on what did not happen: rules, and what is open. */
#include "http/v1/transfer.h"
#include "http/v1/write.h"
#include "shardwheel/admin/alarms.h"
#include "shardwheel/store/job.h"

#include <stdio.h>
#include <string.h>

static bool is_done_by(const char *kind)
{
    return strcmp(kind, watch_kind_name(WATCH_NOT_DONE)) == 0;
}

static const char *write_clock(char out[24], const struct watch_rule *rule)
{
    snprintf(out, 24, "%02d:%02d", (int)(rule->bound / 60 % 24), (int)(rule->bound % 60));
    return out;
}

void v1_put_portable_rule(struct buf *b, const struct watch_rule *rule)
{
    char clock[24];

    member_text(b, "kind", rule->kind);
    if (rule->tag[0])
        member_text(b, "tag", rule->tag);
    if (rule->app_name[0])
        member_text(b, "group", rule->app_name);
    if (is_done_by(rule->kind))
        member_text(b, "doneBy", write_clock(clock, rule));
    else
        member_int(b, "limit", rule->bound);
}

static void put_rule(struct buf *b, const struct watch_rule *rule)
{
    char clock[24];

    member_int(b, "id", rule->id);
    member_text(b, "kind", rule->kind);
    member_text(b, "tag", rule->tag[0] ? rule->tag : NULL);
    member_text(b, "group", rule->app_name[0] ? rule->app_name : NULL);
    member_int_if(b, "limit", !is_done_by(rule->kind), rule->bound);
    member_text(b, "doneBy", is_done_by(rule->kind) ? write_clock(clock, rule) : NULL);
    v1_put_instant(b, "changedAt", rule->changed_ms);
}

static void answer_rules(struct v1_call *c)
{
    struct watch_rules rules = {0};

    if (v1_is_refused(c) || v1_has_failed(c, admin_load_watch_rules(c->admin, c->actor, &rules, &c->why)))
        return;
    V1_PUT_LIST(&c->r->body, "items", rules.rows, rules.count, put_rule);
    watch_rules_fini(&rules);
}

/* tag, group, limit and doneBy; NULL and -1 where they are not given. The kind is that which has doneBy, if that is. */
static struct watch_rule take_rule(struct v1_object *o)
{
    struct watch_rule rule = {.tag = v1_take_null(o, "tag") ? "" : v1_text(o, "tag", V1_TAG_MAX),
                              .app_name = v1_take_null(o, "group") ? "" : v1_text(o, "group", V1_APP_NAME_MAX),
                              .bound = v1_int(o, "limit", 0, INT32_MAX, -1)};
    const char *done_by = v1_text(o, "doneBy", 5);
    int hour, minute;

    if (done_by && !job_clock_parse(done_by, &hour, &minute))
        v1_note(o->c, REFUSED_INVALID, "doneBy", "doneBy must be a time of day, HH:MM");
    else if (done_by)
        rule.bound = hour * 60 + minute;
    rule.kind = done_by ? watch_kind_name(WATCH_NOT_DONE) : NULL;
    return rule;
}

struct watch_rule v1_take_rule(struct v1_object *o)
{
    struct watch_rule rule;
    int kind;

    v1_require(o, "kind");
    kind = v1_choice(o, "kind", watch_kind_names(), -1);
    rule = take_rule(o);
    if (rule.kind && kind >= 0 && kind != WATCH_NOT_DONE)
        v1_note(o->c, REFUSED_INVALID, "doneBy", "a rule of this kind cannot have doneBy");
    rule.kind = kind >= 0 ? watch_kind_name((enum watch_kind)kind) : "";
    rule.tag = rule.tag ? rule.tag : "";
    rule.app_name = rule.app_name ? rule.app_name : "";
    v1_require(o, kind == WATCH_NOT_DONE ? "doneBy" : "limit");
    return rule;
}

static void answer_add_rule(struct v1_call *c)
{
    struct watch_rule rule = v1_take_rule(&c->body);
    int64_t id = 0;

    if (!V1_FAILS(c, admin_put_watch_rule, &rule, &id))
        v1_answer_id(c, id);
}

static void answer_change_rule(struct v1_call *c)
{
    int64_t id = v1_path_id(c, 0);
    struct watch_rule rule = take_rule(&c->body);

    rule.id = id;
    if (!V1_FAILS(c, admin_put_watch_rule, &rule, &id))
        v1_set_no_content(c);
}

V1_ID_ANSWER(answer_remove_rule, admin_remove_watch_rule)

static void put_open(struct buf *b, const struct open_alarm *alarm)
{
    enum watch_kind kind = WATCH_LATE_SHARD;
    bool is_job = watch_kind_parse(alarm->kind, &kind) && watch_kind_is_of_jobs(kind);

    member_text(b, "kind", alarm->kind);
    member_int_if(b, "jobId", is_job, alarm->target);
    member_int_or_null(b, "groupId", alarm->group_id);
    member_int_if(b, "shard", kind == WATCH_LATE_SHARD, alarm->target);
    member_text(b, "name", alarm->name[0] ? alarm->name : NULL);
    member_text(b, "group", alarm->app_name[0] ? alarm->app_name : NULL);
    member_int_or_null(b, "logId", alarm->log_id);
    v1_put_instant(b, "since", alarm->since_ms);
    member_bool(b, "told", alarm->told);
    member_text(b, "detail", alarm->detail);
}

static void answer_open(struct v1_call *c)
{
    struct open_alarms list = {0};

    if (v1_is_refused(c) || v1_has_failed(c, admin_load_open_alarms(c->admin, c->actor, &list, &c->why)))
        return;
    V1_PUT_LIST(&c->r->body, "items", list.rows, list.count, put_open);
    open_alarms_fini(&list);
}

static const struct v1_route routes[] = {
    {V1_ROUTE(ROUTE_GET, "/alarms/open", ROUTE_LOGIN), V1_NO_BODY, 0, answer_open},
    {V1_ROUTE(ROUTE_GET, "/alarms/rules", ROUTE_LOGIN), V1_NO_BODY, 0, answer_rules},
    {V1_ROUTE(ROUTE_POST, "/alarms/rules", ROUTE_LOGIN), V1_JSON_BODY, 0, answer_add_rule},
    {V1_ROUTE(ROUTE_PATCH, "/alarms/rules/{id}", ROUTE_LOGIN), V1_JSON_BODY, 0, answer_change_rule},
    {V1_ROUTE(ROUTE_DELETE, "/alarms/rules/{id}", ROUTE_LOGIN), V1_NO_BODY, 0, answer_remove_rule},
};

const struct v1_topic v1_watch = {routes, ARRAY_LEN(routes)};

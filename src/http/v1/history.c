/* SPDX-License-Identifier: MIT */
/* What happened: audit, events, minutes; and why a job fired or did not. */
#include "http/v1/facts.h"
#include "shardwheel/admin/explain.h"
#include "shardwheel/admin/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WHO_MAX 100
#define ACTION_MAX 40
#define FACT_MAX 1000 /* bytes of a text of an event */

/* ---- pages ------------------------------------------------------------------------------------------------------- */

static struct history_place find_place(const struct v1_page *page)
{
    if (!page->after)
        return (struct history_place){.at_ms = INT64_MAX};
    return (struct history_place){.at_ms = page->from.keys[0], .id = page->from.keys[1]};
}

static void end_page(struct v1_call *c, const char *list, bool more, int64_t at_ms, int64_t id)
{
    const struct v1_cursor next = {.keys = {at_ms, id}, .count = 2};

    v1_end_page(c, list, more ? &next : NULL);
}

/* limit and after; what is not counted refuses `count`. */
static struct v1_page read_page(struct v1_call *c, const char *list)
{
    struct v1_page page = v1_query_page(c, list, 2, /*text=*/false);

    if (page.count)
        v1_note(c, REFUSED_INVALID, "count", "this list is not counted");
    return page;
}

/* ---- audit ------------------------------------------------------------------------------------------------------- */

static void put_entry(struct buf *b, const struct audit_entry *entry)
{
    const struct audit_row *row = &entry->row;

    v1_put_object(b, NULL);
    v1_put_int(b, "id", entry->id);
    v1_put_instant(b, "at", entry->at_ms);
    v1_put_text(b, "who", row->who);
    v1_put_int(b, "userId", row->user_id);
    v1_put_text(b, "address", row->address);
    v1_put_text(b, "via", row->via);
    v1_put_text(b, "action", row->action);
    v1_put_int(b, "target", row->target);
    v1_put_text(b, "targetName", row->target_name);
    v1_put_int(b, "jobGroup", row->job_group);
    v1_put_json(b, "before", row->before);
    v1_put_json(b, "after", row->after);
    v1_put_object_end(b);
}

static void put_entries(struct v1_call *c, const char *list, struct audit_page *page, bool more)
{
    const struct audit_entry *last = page->count > 0 ? &page->items[page->count - 1] : NULL;

    v1_begin_page(c);
    for (size_t i = 0; i < page->count; i++)
        put_entry(&c->r->body, &page->items[i]);
    end_page(c, list, more, last ? last->at_ms : 0, last ? last->id : 0);
    audit_page_fini(page);
}

static void answer_audit(struct v1_call *c)
{
    struct audit_filter filter = {.who = v1_query_text(c, "who", WHO_MAX),
                                  .action = v1_query_text(c, "action", ACTION_MAX),
                                  .target = v1_query_int(c, "target", 1, INT64_MAX, 0),
                                  .job_group = v1_query_int(c, "jobGroup", 1, INT32_MAX, 0)};
    const char *kind = v1_query_text(c, "kind", ACTION_MAX - 2);
    struct v1_page wanted;
    struct audit_page page = {0};
    char prefix[ACTION_MAX * 4 + 2];
    bool more = false;

    filter.from_ms = v1_query_instant(c, "from", 0);
    filter.to_ms = v1_query_instant(c, "to", 0);
    wanted = read_page(c, "audit");
    if (kind && filter.action)
        v1_note(c, REFUSED_INVALID, "kind", "give the action, or the kind of what was changed, not both");
    if (v1_is_refused(c))
        return;
    if (kind) {
        snprintf(prefix, sizeof prefix, "%s.", kind);
        filter.action = prefix;
    }
    if (v1_has_failed(
            c, admin_list_audit(c->admin, c->actor, &filter, find_place(&wanted), wanted.limit, &page, &more, &c->why)))
        return;
    put_entries(c, "audit", &page, more);
}

static void answer_changes(struct v1_call *c)
{
    int64_t job_id = v1_path_id(c, 0);
    struct v1_page wanted = read_page(c, "changes");
    struct audit_page page = {0};
    bool more = false;

    if (v1_is_refused(c) || v1_has_failed(c, admin_list_job_changes(c->admin, c->actor, job_id, find_place(&wanted),
                                                                    wanted.limit, &page, &more, &c->why)))
        return;
    put_entries(c, "changes", &page, more);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static void put_int_or_null(struct buf *b, const char *name, int64_t value, int64_t null)
{
    if (value == null)
        v1_put_null(b, name);
    else
        v1_put_int(b, name, value);
}

/* What stands in the database is shown only as far as it is known here: somebody may have written it by hand. */
static void put_fact(struct buf *b, const char *fact, const struct json_value *value)
{
    static const char *const numbers[] = {"shardsBefore", "shardsAfter", "count"};
    static const char *const texts[] = {"version", "run", "scheduleType", "scheduleConf"};
    static const char *const flags[] = {"running", "added"};
    int64_t number;

    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        if (!strcmp(fact, numbers[i]) && json_get_int(value, 0, INT64_MAX, &number))
            v1_put_int(b, fact, number);
    for (size_t i = 0; i < ARRAY_LEN(flags); i++)
        if (!strcmp(fact, flags[i]) && value->kind == JSON_BOOL)
            v1_put_bool(b, fact, *value->at == 't' || *value->at == 'T');
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct buf text = {0};

        if (strcmp(fact, texts[i]) != 0 || value->kind != JSON_TEXT)
            continue;
        buf_append(&text, "", 0);
        json_put_text(&text, value, FACT_MAX);
        v1_put_text(b, fact, text.data);
        b->failed = b->failed || buf_failed(&text);
        buf_fini(&text);
    }
}

static void put_facts(struct buf *b, const char *data)
{
    static const char *const known[] = {"shardsBefore", "shardsAfter",  "count",   "version", "run",
                                        "scheduleType", "scheduleConf", "running", "added"};
    struct json_place place = {0};
    struct json_value root, name, value;
    struct errctx ec;

    v1_put_object(b, "facts");
    if (data && !json_check(data, strlen(data), &root, &ec))
        while (json_next_member(&root, &place, &name, &value))
            for (size_t i = 0; i < ARRAY_LEN(known); i++)
                if (json_is_text(&name, known[i]))
                    put_fact(b, known[i], &value);
    v1_put_object_end(b);
}

static void put_event(struct buf *b, const struct event_row *row)
{
    v1_put_object(b, NULL);
    v1_put_int(b, "id", row->id);
    v1_put_instant(b, "at", row->at_ms);
    v1_put_instant(b, "until", row->until_ms);
    v1_put_text(b, "kind", row->kind);
    v1_put_text(b, "node", row->node);
    put_int_or_null(b, "shard", row->shard, -1);
    put_int_or_null(b, "job", row->job_id, 0);
    put_facts(b, row->data);
    v1_put_text(b, "text", row->detail);
    v1_put_object_end(b);
}

static void answer_events(struct v1_call *c)
{
    struct event_filter filter = {.kind = v1_query_text(c, "kind", 32),
                                  .job_id = v1_query_int(c, "job", 1, INT32_MAX, 0)};
    struct v1_page wanted;
    struct event_page page = {0};
    const struct event_row *last;
    bool more = false;

    filter.from_ms = v1_query_instant(c, "from", 0);
    filter.to_ms = v1_query_instant(c, "to", 0);
    wanted = read_page(c, "events");
    if (v1_is_refused(c) || v1_has_failed(c, admin_list_events(c->admin, c->actor, &filter, find_place(&wanted),
                                                               wanted.limit, &page, &more, &c->why)))
        return;
    last = page.count > 0 ? &page.items[page.count - 1] : NULL;
    v1_begin_page(c);
    for (size_t i = 0; i < page.count; i++)
        put_event(&c->r->body, &page.items[i]);
    end_page(c, "events", more, last ? last->at_ms : 0, last ? last->id : 0);
    event_page_fini(&page);
}

/* ---- minutes ----------------------------------------------------------------------------------------------------- */

/* Milliseconds with one digit behind the point; null without any fire. */
static void put_quantile(struct buf *b, const char *name, const struct history_point *point, double part)
{
    char text[32];
    double ms = history_find_quantile_ms(point, part);

    snprintf(text, sizeof text, "%.1f", ms);
    v1_put_json(b, name, ms < 0 ? NULL : text);
}

static void put_point(struct buf *b, const struct history_point *point)
{
    v1_put_object(b, NULL);
    v1_put_instant(b, "from", point->from_ms);
    v1_put_int(b, "fires", point->sum.fires);
    v1_put_int(b, "undelivered", point->sum.undelivered);
    v1_put_int(b, "succeeded", point->sum.succeeded);
    v1_put_int(b, "failed", point->sum.failed);
    put_quantile(b, "p50LatenessMilliseconds", point, 0.50);
    put_quantile(b, "p99LatenessMilliseconds", point, 0.99);
    put_int_or_null(b, "meanLatenessMilliseconds", point->sent ? point->sum.late_sum_ms / point->sent : -1, -1);
    v1_put_object_end(b);
}

static int64_t query_required(struct v1_call *c, const char *name)
{
    int64_t ms = v1_query_instant(c, name, 0);

    if (ms == 0)
        v1_note(c, REFUSED_REQUIRED, name, "%s is required", name);
    return ms;
}

static void answer_minutes(struct v1_call *c)
{
    static const char *const steps[] = {"minute", "5minutes", "hour", NULL};
    static const int64_t seconds[] = {60, 300, 3600};
    int64_t from_ms = query_required(c, "from"), to_ms = query_required(c, "to");
    int step = v1_query_choice(c, "step", steps, 0);
    struct history_points points = {0};
    struct buf *b = &c->r->body;

    if (v1_is_refused(c) ||
        v1_has_failed(c, admin_load_minutes(c->admin, c->actor, from_ms, to_ms, seconds[step], &points, &c->why)))
        return;
    v1_put_object(b, NULL);
    v1_put_int(b, "stepSeconds", seconds[step]);
    v1_put_list(b, "items");
    for (size_t i = 0; i < points.count; i++)
        put_point(b, &points.items[i]);
    v1_put_list_end(b);
    v1_put_object_end(b);
    history_points_fini(&points);
}

/* ---- explain ----------------------------------------------------------------------------------------------------- */

static void put_sentence(struct buf *b, const struct explain_item *item)
{
    struct buf text = {0};

    explain_put_text(&text, item);
    v1_put_text(b, "text", text.data);
    b->failed = b->failed || buf_failed(&text);
    buf_fini(&text);
}

static void put_item(struct buf *b, const struct explain_item *item)
{
    v1_put_object(b, NULL);
    v1_put_instant(b, "due", item->due_ms);
    v1_put_text(b, "kind", trigger_kind_name(item->kind));
    v1_put_text(b, "state", explain_state_name(item->state));
    v1_put_list(b, "runs");
    for (size_t i = 0; i < item->run_count; i++)
        v1_put_int(b, NULL, item->runs[i]);
    v1_put_list_end(b);
    v1_put_int(b, "runsLeftOut", item->runs_left_out);
    v1_put_reason(b, item);
    put_sentence(b, item);
    v1_put_object_end(b);
}

static void answer_explain(struct v1_call *c)
{
    int64_t job_id = v1_path_id(c, 0);
    int64_t from_ms = query_required(c, "from"), to_ms = query_required(c, "to");
    struct explanation ex = {0};
    struct buf *b = &c->r->body;

    if (v1_is_refused(c) ||
        v1_has_failed(c, admin_explain_job(c->admin, c->actor, job_id, from_ms, to_ms, &ex, &c->why)))
        return;
    v1_put_object(b, NULL);
    v1_put_int(b, "job", ex.job_id);
    v1_put_instant(b, "from", ex.from_ms);
    v1_put_instant(b, "until", ex.until_ms);
    v1_put_bool(b, "complete", ex.until_ms >= to_ms);
    v1_put_list(b, "items");
    for (size_t i = 0; i < ex.count; i++)
        put_item(b, &ex.items[i]);
    v1_put_list_end(b);
    v1_put_object_end(b);
    explanation_fini(&ex);
}

static const struct v1_route routes[] = {
    {V1_ROUTE(ROUTE_GET, "/audit", ROUTE_LOGIN), V1_NO_BODY, 0, answer_audit},
    {V1_ROUTE(ROUTE_GET, "/jobs/{id}/changes", ROUTE_LOGIN), V1_NO_BODY, 0, answer_changes},
    {V1_ROUTE(ROUTE_GET, "/jobs/{id}/explain", ROUTE_LOGIN), V1_NO_BODY, 0, answer_explain},
    {V1_ROUTE(ROUTE_GET, "/events", ROUTE_LOGIN), V1_NO_BODY, 0, answer_events},
    {V1_ROUTE(ROUTE_GET, "/history/minutes", ROUTE_LOGIN), V1_NO_BODY, 0, answer_minutes},
};

const struct v1_topic v1_history = {routes, ARRAY_LEN(routes)};

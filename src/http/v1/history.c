/* SPDX-License-Identifier: MIT */
/* What happened: audit, events, minutes; and why a job fired or did not. */
#include "http/v1/facts.h"
#include "shardwheel/admin/explain.h"
#include "shardwheel/admin/history.h"

#include <stdio.h>

#define WHO_MAX 100
#define ACTION_MAX 40

/* ---- pages ------------------------------------------------------------------------------------------------------- */

static struct history_place find_place(const struct v1_page *page)
{
    if (!page->after)
        return (struct history_place){.at_ms = INT64_MAX};
    return (struct history_place){.at_ms = page->from.keys[0], .id = page->from.keys[1]};
}

/* limit and after; what is not counted refuses `count`. */
static struct v1_page read_page(struct v1_call *c, const char *list)
{
    struct v1_page page = v1_query_page(c, list, 2, /*text=*/false);

    v1_refuse_count(c, &page);
    return page;
}

/* ---- audit ------------------------------------------------------------------------------------------------------- */

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

    filter.from_ms = v1_query_instant(c, "from", 0);
    filter.to_ms = v1_query_instant(c, "to", 0);
    wanted = read_page(c, "audit");
    if (kind && filter.action)
        v1_note(c, REFUSED_INVALID, "kind", "use action or kind, not both");
    if (kind) {
        snprintf(prefix, sizeof prefix, "%s.", kind);
        filter.action = prefix;
    }
    if (V1_FAILS(c, admin_list_audit, &filter, find_place(&wanted), (size_t)wanted.want, &page))
        return;
    V1_PUT_PAGE_BY(c, &wanted, page.items, page.count, 2, at_ms, id, v1_put_audit);
    audit_page_fini(&page);
}

static void answer_changes(struct v1_call *c)
{
    int64_t job_id = v1_path_id(c, 0);
    struct v1_page wanted = read_page(c, "changes");
    struct audit_page page = {0};

    if (V1_FAILS(c, admin_list_job_changes, job_id, find_place(&wanted), (size_t)wanted.want, &page))
        return;
    V1_PUT_PAGE_BY(c, &wanted, page.items, page.count, 2, at_ms, id, v1_put_audit);
    audit_page_fini(&page);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static void answer_events(struct v1_call *c)
{
    struct event_filter filter = {.kind = v1_query_text(c, "kind", 32),
                                  .job_id = v1_query_int(c, "job", 1, INT32_MAX, 0)};
    struct v1_page wanted;
    struct event_page page = {0};

    filter.from_ms = v1_query_instant(c, "from", 0);
    filter.to_ms = v1_query_instant(c, "to", 0);
    wanted = read_page(c, "events");
    if (V1_FAILS(c, admin_list_events, &filter, find_place(&wanted), (size_t)wanted.want, &page))
        return;
    V1_PUT_PAGE_BY(c, &wanted, page.items, page.count, 2, at_ms, id, v1_put_event);
    event_page_fini(&page);
}

/* ---- minutes ----------------------------------------------------------------------------------------------------- */

/* Milliseconds with one digit behind the point; null without any fire. */
static void put_quantile(struct buf *b, const char *name, const struct history_point *point, double part)
{
    char text[32];
    double ms = history_find_quantile_ms(point, part);

    snprintf(text, sizeof text, "%.1f", ms);
    member_json(b, name, ms < 0 ? NULL : text);
}

static void put_point(struct buf *b, const struct history_point *point)
{
    int64_t mean_ms = point->sent ? point->sum.late_sum_ms / point->sent : -1;

    v1_put_instant(b, "from", point->from_ms);
    member_int(b, "fires", point->sum.fires);
    member_int(b, "undelivered", point->sum.undelivered);
    member_int(b, "succeeded", point->sum.succeeded);
    member_int(b, "failed", point->sum.failed);
    put_quantile(b, "p50LatenessMilliseconds", point, 0.50);
    put_quantile(b, "p99LatenessMilliseconds", point, 0.99);
    member_int_if(b, "meanLatenessMilliseconds", mean_ms != -1, mean_ms);
}

static void answer_minutes(struct v1_call *c)
{
    static const char *const steps[] = {"minute", "5minutes", "hour", NULL};
    static const int64_t seconds[] = {60, 300, 3600};
    int64_t from_ms = v1_query_instant_required(c, "from"), to_ms = v1_query_instant_required(c, "to");
    int step = v1_query_choice(c, "step", steps, 0);
    struct history_points points = {0};
    struct buf *b = &c->r->body;

    if (V1_FAILS(c, admin_load_minutes, from_ms, to_ms, seconds[step], &points))
        return;
    member_int(b, "stepSeconds", seconds[step]);
    V1_PUT_LIST(b, "items", points.items, points.count, put_point);
    member_object(b, "sum");
    put_point(b, &points.sum);
    member_object_end(b);
    history_points_fini(&points);
}

/* ---- explain ----------------------------------------------------------------------------------------------------- */

static void answer_explain(struct v1_call *c)
{
    int64_t job_id = v1_path_id(c, 0);
    int64_t from_ms = v1_query_instant_required(c, "from"), to_ms = v1_query_instant_required(c, "to");
    struct explanation ex = {0};
    struct buf *b = &c->r->body;

    if (V1_FAILS(c, admin_explain_job, job_id, from_ms, to_ms, &ex))
        return;
    member_int(b, "job", ex.job_id);
    v1_put_instant(b, "from", ex.from_ms);
    v1_put_instant(b, "until", ex.until_ms);
    member_bool(b, "complete", ex.until_ms >= to_ms);
    V1_PUT_LIST(b, "items", ex.items, ex.count, v1_put_explained);
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

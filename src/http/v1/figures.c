/* SPDX-License-Identifier: MIT */
/* The numbers of a dashboard. */
#include "shardwheel/admin/figures.h"
#include "http/v1/write.h"

#include <stdio.h>

#define DAYS_MAX 400
#define DAYS_DEFAULT 8

static void answer_figures(struct v1_call *c)
{
    struct figures figures;
    struct buf *b = &c->r->body;

    if (v1_is_refused(c) || v1_has_failed(c, admin_load_figures(c->admin, &figures, &c->why)))
        return;
    member_int(b, "jobs", figures.jobs);
    member_int(b, "jobsRunning", figures.jobs_running);
    member_int(b, "runs", figures.runs);
    member_int(b, "executors", figures.executors);
}

static void put_day(struct buf *b, const struct report_day *day)
{
    member_text(b, "day", day->day);
    member_int(b, "running", day->running);
    member_int(b, "success", day->success);
    member_int(b, "fail", day->fail);
}

static void answer_days(struct v1_call *c)
{
    int64_t count = v1_query_int(c, "days", 1, DAYS_MAX, DAYS_DEFAULT);
    char first[REPORT_DAY_MAX], last[REPORT_DAY_MAX], from[32], to[32];
    struct report_days days;
    struct buf *b = &c->r->body;

    if (v1_is_refused(c))
        return;
    admin_write_day(c->admin, count - 1, first);
    admin_write_day(c->admin, 0, last);
    snprintf(from, sizeof from, "%s 00:00:00", first);
    snprintf(to, sizeof to, "%s 23:59:59", last);
    if (v1_has_failed(c, admin_load_days(c->admin, from, to, &days, &c->why)))
        return;
    V1_PUT_LIST(b, "items", days.items, days.count, put_day);
    report_days_fini(&days);
}

static const struct v1_route routes[] = {
    {V1_ROUTE(ROUTE_GET, "/figures", ROUTE_SIGHT), V1_NO_BODY, 0, answer_figures},
    {V1_ROUTE(ROUTE_GET, "/figures/days", ROUTE_SIGHT), V1_NO_BODY, 0, answer_days},
};

const struct v1_topic v1_figures = {routes, ARRAY_LEN(routes)};

/* SPDX-License-Identifier: MIT */
/* What a dashboard and a footer show. */
#include "shardwheel/admin/overview.h"
#include "http/v1/write.h"

/* ---- overview ---------------------------------------------------------------------------------------------------- */

static void put_job_names(struct buf *b, const struct overview *o, int64_t job_id, int64_t group)
{
    const struct name_row *job = names_find(&o->job_names, job_id);
    const struct name_row *in = names_find(&o->group_names, group);

    member_int(b, "jobId", job_id);
    member_text(b, "jobName", job ? job->name : NULL);
    member_int(b, "jobGroup", group);
    member_text(b, "groupTitle", in ? in->name : NULL);
}

static void put_last(struct buf *b, const struct overview_job *job)
{
    member_int(b, "lastRunId", job->last_run);
    v1_put_second(b, "lastAt", job->last_s);
}

static void put_failing_job(struct buf *b, const struct overview_job *job, const struct overview *o)
{
    put_job_names(b, o, job->job_id, job->group);
    member_int(b, "failuresHour", job->hour);
    member_int(b, "failuresDay", job->day);
    member_bool(b, "failing", job->failing);
    put_last(b, job);
}

static void put_failing(struct buf *b, const struct overview *o, const struct overview_jobs *jobs)
{
    size_t count = jobs->count < OVERVIEW_TOP ? jobs->count : OVERVIEW_TOP;

    V1_PUT_LIST(b, "items", jobs->items, count, put_failing_job, o);
}

static void put_runs(struct buf *b, const struct overview *o)
{
    member_object(b, "runs");
    member_int(b, "running", o->running);
    member_int(b, "waiting", o->waiting);
    member_int(b, "failuresHour", o->failures_hour);
    member_int(b, "failuresDay", o->failures_day);
    member_int(b, "skippedHour", o->skipped_hour);
    member_int(b, "alarmsUndeliveredDay", o->alarms_failed_day);
    member_bool(b, "isEstimate", o->runs_are_estimates);
    member_object_end(b);
    member_object(b, "failing");
    member_int(b, "count", (int64_t)o->failing.count);
    member_bool(b, "isEstimate", o->runs_are_estimates);
    put_failing(b, o, &o->failing);
    member_object_end(b);
    member_object(b, "topFailing");
    put_failing(b, o, &o->top);
    member_object_end(b);
}

static void put_late_job(struct buf *b, const struct overview_job *job, const struct overview *o)
{
    put_job_names(b, o, job->job_id, job->group);
    member_int(b, "runs", job->hour);
    member_int(b, "worstSeconds", job->worst_s);
    put_last(b, job);
}

static void put_late(struct buf *b, const struct overview *o)
{
    member_object(b, "late");
    member_int(b, "count", o->late_hour);
    member_bool(b, "isEstimate", o->late_is_estimate);
    V1_PUT_LIST(b, "items", o->late.items, o->late.count, put_late_job, o);
    member_object_end(b);
}

static void put_cannot(struct buf *b, const struct overview_cannot *cannot, const struct overview *o)
{
    const struct name_row *group = names_find(&o->group_names, cannot->group);

    member_int(b, "jobGroup", cannot->group);
    member_text(b, "appname", group ? group->app_name : NULL);
    member_text(b, "groupTitle", group ? group->name : NULL);
    member_text(b, "reason", cannot->no_group ? "no-group" : "no-address");
    member_int(b, "jobs", cannot->jobs);
}

static void put_soon(struct buf *b, const struct soon_fire *soon, const struct overview *o)
{
    put_job_names(b, o, soon->job_id, soon->group);
    v1_put_instant(b, "at", soon->due_ms);
    member_int_if(b, "runId", soon->log_id > 0, soon->log_id);
}

static void put_next(struct buf *b, const struct overview *o)
{
    member_object(b, "nextMinute");
    member_int(b, "count", o->soon_all);
    V1_PUT_LIST(b, "items", o->soon, o->soon_count, put_soon, o);
    member_object_end(b);
}

static void put_incomplete(struct buf *b, unsigned parts)
{
    static const struct {
        enum overview_part part;
        const char *name;
    } names[] = {
        {OVERVIEW_JOBS, "jobs"}, {OVERVIEW_RUNS, "runs"}, {OVERVIEW_LATE, "late"}, {OVERVIEW_NEXT, "nextMinute"}};

    member_list(b, "incomplete");
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (parts & names[i].part)
            member_text(b, NULL, names[i].name);
    member_list_end(b);
}

static void answer_overview(struct v1_call *c)
{
    const struct overview *o = NULL;
    struct buf *b = &c->r->body;

    if (V1_FAILS(c, admin_get_overview, &o))
        return;
    v1_put_instant(b, "now", o->now_ms);
    member_int(b, "jobs", o->jobs);
    member_int(b, "jobsRunning", o->jobs_running);
    member_int(b, "jobsStopped", o->jobs - o->jobs_running);
    put_runs(b, o);
    put_late(b, o);
    V1_PUT_LIST(b, "cannotFire", o->cannot, o->cannot_count, put_cannot, o);
    member_object(b, "executors");
    member_int(b, "online", o->executors);
    member_int(b, "groups", o->groups);
    member_int(b, "groupsWithout", o->groups_without);
    member_object_end(b);
    put_next(b, o);
    put_incomplete(b, o->incomplete);
    overview_put(o);
}

/* ---- health ------------------------------------------------------------------------------------------------------ */

static void answer_health(struct v1_call *c)
{
    struct buf *b = &c->r->body;
    struct health h;

    if (v1_is_refused(c) || v1_has_failed(c, admin_load_health(c->admin, &h, &c->why)))
        return;
    member_int(b, "nodes", h.nodes);
    member_int(b, "nodesLive", h.nodes_live);
    member_int(b, "nodesDraining", h.nodes_draining);
    member_int(b, "shards", h.shards);
    member_int(b, "shardsOwned", h.shards_owned);
    member_int_if(b, "databaseMilliseconds", h.database_ms >= 0, h.database_ms);
    member_text(b, "zookeeper", h.zookeeper);
    if (member_object_if(b, "trouble", h.trouble)) {
        member_text(b, "code", h.trouble);
        member_text(b, "text", h.text);
        member_object_end(b);
    }
}

static const struct v1_route routes[] = {
    {V1_ROUTE(ROUTE_GET, "/overview", ROUTE_LOGIN), V1_NO_BODY, 0, answer_overview},
    {V1_ROUTE(ROUTE_GET, "/health", ROUTE_LOGIN), V1_NO_BODY, 0, answer_health},
};

const struct v1_topic v1_overview = {routes, ARRAY_LEN(routes)};

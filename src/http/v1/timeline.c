/* SPDX-License-Identifier: MIT */
/* What the page of a job draws: its timeline, and the jobs before and behind it. */
#include "http/v1/facts.h"
#include "shardwheel/admin/family.h"
#include "shardwheel/admin/timeline.h"

/* ---- timeline ---------------------------------------------------------------------------------------------------- */

static void put_items(struct buf *b, const struct timeline *t)
{
    if (t->has_items)
        V1_PUT_LIST(b, "items", t->items.items, t->items.count, v1_put_explained);
    else
        member_null(b, "items");
}

/* Without those in which nothing was. */
static void put_step(struct buf *b, const struct timeline_step *step)
{
    int64_t all = 0;

    for (size_t i = 0; i < RUN_STATES; i++)
        all += step->counts[i];
    if (all == 0)
        return;
    member_object(b, NULL);
    v1_put_instant(b, "from", step->from_ms);
    member_object(b, "counts");
    for (size_t i = 0; i < RUN_STATES; i++)
        if (step->counts[i])
            member_int(b, run_state_name((enum run_state)i), step->counts[i]);
    member_object_end(b);
    member_int(b, "late", step->late);
    member_object_end(b);
}

static void put_steps(struct buf *b, const struct timeline *t)
{
    member_int_if(b, "stepSeconds", t->has_steps && t->step_s, t->step_s);
    if (!t->has_steps) {
        member_null(b, "steps");
        return;
    }
    member_list(b, "steps");
    for (size_t i = 0; i < t->step_count; i++)
        put_step(b, &t->steps[i]);
    member_list_end(b);
}

static void answer_timeline(struct v1_call *c)
{
    int64_t job_id = v1_path_id(c, 0);
    int64_t from_ms = v1_query_instant_required(c, "from"), to_ms = v1_query_instant_required(c, "to");
    struct timeline t = {0};
    struct buf *b = &c->r->body;

    if (V1_FAILS(c, admin_load_timeline, job_id, from_ms, to_ms, &t))
        return;
    member_int(b, "job", t.job_id);
    v1_put_instant(b, "from", t.from_ms);
    v1_put_instant(b, "to", t.to_ms);
    put_items(b, &t);
    put_steps(b, &t);
    V1_PUT_LIST(b, "changes", t.changes.items, t.changes.count, v1_put_audit);
    V1_PUT_LIST(b, "events", t.events, t.event_count, v1_put_event);
    member_bool(b, "complete", !t.is_cut);
    timeline_fini(&t);
}

/* ---- family ------------------------------------------------------------------------------------------------------ */

static void put_job(struct buf *b, const struct family_job *job)
{
    member_int(b, "id", job->id);
    member_text(b, "access", !job->group ? "gone" : job->is_seen ? "seen" : "hidden");
    member_int_if(b, "jobGroup", job->is_seen && job->group, job->group);
    member_text(b, "name", job->name);
    member_bool(b, "running", job->running);
    v1_put_instant(b, "nextTime", job->next_ms);
}

static void put_link(struct buf *b, const struct family_link *link)
{
    member_int(b, "from", link->from);
    member_int(b, "to", link->to);
}

static void answer_family(struct v1_call *c)
{
    int64_t job_id = v1_path_id(c, 0);
    struct family f = {0};
    struct buf *b = &c->r->body;

    if (V1_FAILS(c, admin_load_family, job_id, &f))
        return;
    V1_PUT_LIST(b, "jobs", f.jobs, f.job_count, put_job);
    V1_PUT_LIST(b, "links", f.links, f.link_count, put_link);
    member_bool(b, "complete", !f.is_cut);
    family_fini(&f);
}

static const struct v1_route routes[] = {
    {V1_ROUTE(ROUTE_GET, "/jobs/{id}/timeline", ROUTE_LOGIN), V1_NO_BODY, 0, answer_timeline},
    {V1_ROUTE(ROUTE_GET, "/jobs/{id}/family", ROUTE_LOGIN), V1_NO_BODY, 0, answer_family},
};

const struct v1_topic v1_timeline = {routes, ARRAY_LEN(routes)};

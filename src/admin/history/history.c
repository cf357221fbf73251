/* SPDX-License-Identifier: MIT */
#include "shardwheel/admin/history.h"

#include "admin/admin_impl.h"
#include "shardwheel/store/jobs.h"

#include <inttypes.h>
#include <stdlib.h>

#define LIMIT_MS 2000

/* As admin_end, of what may take too long. */
static enum err end_slow(struct admin *a, struct store_session *s, enum err e, struct refusal *r)
{
    if (e == ERR_TIMEOUT)
        e = refuse(r, REFUSED_LIMIT, NULL, "the database takes too long: ask for a shorter time range, or for less");
    return admin_end(a, s, e, r);
}

/* ---- audit ------------------------------------------------------------------------------------------------------- */

static void set_scope(const struct actor *actor, struct audit_filter *f)
{
    bool admin = actor->role == ROLE_ADMIN;

    f->scope = admin ? AUDIT_OF_ALL : actor->all_groups ? AUDIT_OF_GROUPS : AUDIT_OF_LISTED;
    f->groups = actor->groups;
    f->group_count = actor->group_count;
}

enum err admin_list_audit(struct admin *a, const struct actor *actor, const struct audit_filter *filter,
                          struct history_place place, size_t max, struct audit_page *out, struct refusal *r)
{
    struct audit_filter scoped = *filter;
    struct store_session *s = NULL;
    enum err e =
        filter->job_group ? refuse_unless(actor, RIGHT_SEE, filter->job_group, r) : refuse_unless_sees(actor, r);

    set_scope(actor, &scoped);
    if (!e)
        e = admin_take_session(a, &s, r);
    if (!e)
        e = end_slow(a, s, store_load_audit(s, &scoped, place, max, LIMIT_MS, out, &r->text), r);
    return e;
}

/* The right in the job's group; of a job that is gone the rows themselves say whose they are. */
static enum err refuse_unless_sees_job(struct admin *a, const struct actor *actor, int64_t job_id, bool *found,
                                       struct refusal *r)
{
    struct store_session *s = NULL;
    int64_t group = 0;
    enum err e = admin_take_session(a, &s, r);

    if (!e)
        e = store_load_job_groups(s, &job_id, 1, &group, &r->text);
    *found = group > 0;
    if (!e && group)
        e = refuse_unless(actor, RIGHT_SEE, group, r);
    return admin_end(a, s, e, r);
}

enum err admin_list_job_changes(struct admin *a, const struct actor *actor, int64_t job_id, struct history_place place,
                                size_t max, struct audit_page *out, struct refusal *r)
{
    const struct audit_filter filter = {.target = job_id, .of_jobs = true};
    bool found = false;
    enum err e = refuse_unless_sees(actor, r);

    if (!e)
        e = refuse_unless_sees_job(a, actor, job_id, &found, r);
    if (!e)
        e = admin_list_audit(a, actor, &filter, place, max, out, r);
    if (e || found || out->count > 0)
        return e;
    audit_page_fini(out);
    return refuse(r, REFUSED_UNKNOWN, "id", "there is no job %" PRId64 ", and there are no records of one", job_id);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

enum err admin_list_events(struct admin *a, const struct actor *actor, const struct event_filter *filter,
                           struct history_place place, size_t max, struct event_page *out, struct refusal *r)
{
    struct event_filter scoped = *filter;
    struct store_session *s = NULL;
    enum err e = admin_enter_seeing(a, actor, &s, r);

    scoped.all_groups = actor->role == ROLE_ADMIN || actor->all_groups;
    scoped.groups = actor->groups;
    scoped.group_count = actor->group_count;
    if (!e)
        e = end_slow(a, s, store_load_events(s, &scoped, place, max, LIMIT_MS, out, &r->text), r);
    return e;
}

/* ---- minutes ----------------------------------------------------------------------------------------------------- */

double history_find_quantile_ms(const struct history_point *point, double part)
{
    double wanted = part * (double)point->sent, seen = 0, low_ms = 0;

    if (point->sent == 0)
        return -1;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        double here = (double)point->sum.lateness[i], high_ms = histogram_bounds_s[i] * 1000;

        if (here > 0 && seen + here >= wanted)
            return low_ms + (high_ms - low_ms) * (wanted - seen) / here;
        seen += here;
        low_ms = high_ms;
    }
    return low_ms;
}

struct summing {
    struct history_points *points;
    int64_t from_s;
    int64_t step_s;
};

static void add_to(struct history_point *point, const struct minute_row *row)
{
    point->sum.fires += row->fires;
    point->sum.undelivered += row->undelivered;
    point->sum.succeeded += row->succeeded;
    point->sum.failed += row->failed;
    point->sum.late_sum_ms += row->late_sum_ms;
    for (size_t i = 0; i <= HISTOGRAM_BUCKETS; i++) {
        point->sum.lateness[i] += row->lateness[i];
        point->sent += row->lateness[i];
    }
}

static void add_minute(void *arg, const struct minute_row *row)
{
    struct summing *s = arg;
    int64_t at = (row->minute_s - s->from_s) / s->step_s;

    if (at < 0 || at >= (int64_t)s->points->count)
        return;
    add_to(&s->points->items[at], row);
    add_to(&s->points->sum, row);
}

static enum err make_points(int64_t from_ms, int64_t to_ms, int64_t step_s, struct history_points *out,
                            struct refusal *r)
{
    int64_t first_s, count;

    if (step_s != 60 && step_s != 300 && step_s != 3600)
        return refuse(r, REFUSED_INVALID, "step", "step must be 60, 300 or 3600 seconds");
    if (to_ms <= from_ms)
        return refuse(r, REFUSED_INVALID, "to", "to must be after from");
    first_s = time_floor_div(from_ms, step_s * 1000) * step_s;
    count = time_floor_div(to_ms - first_s * 1000 + step_s * 1000 - 1, step_s * 1000);
    if (count > HISTORY_POINTS_MAX)
        return refuse(r, REFUSED_LIMIT, "step", "this needs %" PRId64 " points; %d are allowed: use a larger step",
                      count, HISTORY_POINTS_MAX);
    out->items = calloc((size_t)count, sizeof *out->items);
    if (!out->items)
        return refuse(r, REFUSED_BROKEN, NULL, "out of memory");
    out->count = (size_t)count;
    for (size_t i = 0; i < out->count; i++)
        out->items[i].from_ms = (first_s + (int64_t)i * step_s) * 1000;
    out->sum.from_ms = first_s * 1000;
    return ERR_OK;
}

enum err admin_load_minutes(struct admin *a, const struct actor *actor, int64_t from_ms, int64_t to_ms, int64_t step_s,
                            struct history_points *out, struct refusal *r)
{
    struct summing sum = {.points = out, .step_s = step_s};
    struct store_session *s = NULL;
    enum err e = refuse_unless_sees(actor, r);

    *out = (struct history_points){0};
    if (!e)
        e = make_points(from_ms, to_ms, step_s, out, r);
    if (!e)
        e = admin_take_session(a, &s, r);
    if (!e) {
        sum.from_s = out->items[0].from_ms / 1000;
        e = store_read_minutes(s, sum.from_s, sum.from_s + (int64_t)out->count * step_s, LIMIT_MS, add_minute, &sum,
                               &r->text);
        e = end_slow(a, s, e, r);
    }
    if (e)
        history_points_fini(out);
    return e;
}

FINI_BY(free, history_points, items)

/* SPDX-License-Identifier: MIT */
#include "shardwheel/admin/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "admin/admin_impl.h"
#include "admin/explain/explain_impl.h"
#include "shardwheel/admin/history.h"
#include "shardwheel/store/cluster.h"

#define LIMIT_MS 3000
#define DAY_MS (24 * INT64_C(3600000)) /* an outage that began so long before the range may reach into it */

void timeline_fini(struct timeline *t)
{
    explanation_fini(&t->items);
    free(t->steps);
    audit_page_fini(&t->changes);
    free(t->events);
    for (size_t i = 0; i < ARRAY_LEN(t->pages); i++)
        event_page_fini(&t->pages[i]);
    *t = (struct timeline){0};
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

int64_t timeline_find_step_s(int64_t from_ms, int64_t to_ms)
{
    static const int64_t steps[] = {60, 300, 900, 1800, 3600};
    size_t i = 0;

    while (i + 1 < ARRAY_LEN(steps) && (to_ms - from_ms) / (steps[i] * 1000) + 2 > TIMELINE_STEPS_MAX)
        i++;
    return steps[i];
}

static void add_minute(void *arg, const struct run_minute *minute)
{
    struct timeline *t = arg;
    int64_t at = time_floor_div(minute->at_s - t->steps[0].from_ms / 1000, t->step_s);

    if (at < 0 || at >= (int64_t)t->step_count)
        return;
    t->steps[at].counts[minute->state] += minute->count;
    t->steps[at].late += minute->late;
}

/* Steps begin at their multiples, and the first and last are whole. */
static enum err count_steps(struct store_session *s, struct timeline *t, struct errctx *ec)
{
    int64_t step_s = timeline_find_step_s(t->from_ms, t->to_ms);
    int64_t first_s = time_floor_div(t->from_ms, step_s * 1000) * step_s;
    int64_t count = time_floor_div(t->to_ms - first_s * 1000 + step_s * 1000 - 1, step_s * 1000);
    enum err e;

    t->steps = calloc((size_t)count, sizeof *t->steps);
    if (!t->steps)
        return err_set(ec, ERR_NOMEM, "out of memory");
    t->step_s = step_s;
    t->step_count = (size_t)count;
    for (size_t i = 0; i < t->step_count; i++)
        t->steps[i].from_ms = (first_s + (int64_t)i * step_s) * 1000;
    e = store_count_run_minutes(s, t->job_id, first_s, first_s + count * step_s, LIMIT_MS, add_minute, t, ec);
    t->has_steps = !e;
    return e == ERR_TIMEOUT ? ERR_OK : e;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* One more was asked for than is shown. */
static void cut(struct timeline *t, size_t *count)
{
    if (*count <= TIMELINE_EVENTS_MAX)
        return;
    *count = TIMELINE_EVENTS_MAX;
    t->is_cut = true;
}

static enum err load_events(struct store_session *s, struct timeline *t, struct event_page *page,
                            struct event_filter filter, struct errctx *ec)
{
    enum err e;

    filter.all_groups = true;
    filter.to_ms = t->to_ms;
    e = store_load_events(s, &filter, (struct history_place){.at_ms = INT64_MAX}, TIMELINE_EVENTS_MAX + 1, LIMIT_MS,
                          page, ec);
    if (!e)
        cut(t, &page->count);
    return e;
}

COMPARE_BY_TWO(compare_events, struct event_row, at_ms, id)

static enum err gather_events(struct timeline *t, struct errctx *ec)
{
    size_t room = 1;

    for (size_t i = 0; i < ARRAY_LEN(t->pages); i++)
        room += t->pages[i].count;
    t->events = calloc(room, sizeof *t->events);
    if (!t->events)
        return err_set(ec, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < ARRAY_LEN(t->pages); i++)
        for (size_t k = 0; k < t->pages[i].count; k++)
            if (t->pages[i].items[k].at_ms >= t->from_ms || t->pages[i].items[k].until_ms > t->from_ms)
                t->events[t->event_count++] = t->pages[i].items[k];
    qsort(t->events, t->event_count, sizeof *t->events, compare_events);
    return ERR_OK;
}

static enum err load_all_events(struct store_session *s, struct timeline *t, struct errctx *ec)
{
    struct cluster_view view = {0};
    enum err e = store_load_cluster(s, "", &view, ec);

    if (!e)
        e = load_events(s, t, &t->pages[0], (struct event_filter){.job_id = t->job_id, .from_ms = t->from_ms}, ec);
    if (!e && view.shards > 0)
        e = load_events(
            s, t, &t->pages[1],
            (struct event_filter){
                .by_shard = true, .shard = (int)(t->job_id % view.shards), .no_jobs = true, .from_ms = t->from_ms},
            ec);
    if (!e)
        e = load_events(s, t, &t->pages[2],
                        (struct event_filter){.no_shards = true, .no_jobs = true, .from_ms = t->from_ms - DAY_MS}, ec);
    return e ? e : gather_events(t, ec);
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static enum err load_changes(struct admin *a, const struct actor *actor, struct timeline *t, struct refusal *r)
{
    const struct audit_filter filter = {.target = t->job_id, .of_jobs = true, .from_ms = t->from_ms, .to_ms = t->to_ms};
    enum err e = admin_list_audit(a, actor, &filter, (struct history_place){.at_ms = INT64_MAX},
                                  TIMELINE_EVENTS_MAX + 1, &t->changes, r);

    if (!e)
        cut(t, &t->changes.count);
    return e;
}

static enum err load_rest(struct admin *a, struct timeline *t, struct refusal *r)
{
    struct store_session *s = NULL;
    enum err e = admin_take_session(a, &s, r);

    if (!e)
        e = load_all_events(s, t, &r->text);
    if (!e && !t->has_items)
        e = count_steps(s, t, &r->text);
    return admin_end(a, s, e, r);
}

enum err admin_load_timeline(struct admin *a, const struct actor *actor, int64_t job_id, int64_t from_ms, int64_t to_ms,
                             struct timeline *out, struct refusal *r)
{
    enum err e;

    *out = (struct timeline){.job_id = job_id, .from_ms = from_ms, .to_ms = to_ms};
    e = explain_job(a, actor, job_id, from_ms, to_ms, /*whole=*/true, &out->items, r);
    out->has_items = !e && out->items.until_ms >= to_ms;
    if (!e)
        e = load_changes(a, actor, out, r);
    if (!e)
        e = load_rest(a, out, r);
    if (e)
        timeline_fini(out);
    return e;
}

/* SPDX-License-Identifier: MIT */
/* What a list of executor groups shows of each: who beats, its jobs, its runs. */
#include "shardwheel/admin/groups.h"
#include "shardwheel/admin/overview.h"

#include "admin/admin_impl.h"
#include "shardwheel/registry.h"
#include "shardwheel/store/alarm.h"
#include "shardwheel/store/overview.h"

#include <stdlib.h>
#include <string.h>

static struct group_figures *find_group(struct groups_figures *list, int64_t id)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].group == id)
            return &list->items[i];
    }
    return NULL;
}

/* Of those that are asked for, the groups that there are and that the actor may see; each once. */
static void choose(struct groups_figures *out, const struct registry_snapshot *snap, const struct actor *actor,
                   const int64_t *ids, size_t count)
{
    for (size_t i = 0; i < count && out->count < ARRAY_LEN(out->items); i++) {
        const struct registry_group *group = registry_find_group(snap, ids[i]);

        if (!group || !actor_may(actor, RIGHT_SEE, ids[i]) || find_group(out, ids[i]))
            continue;
        out->items[out->count++] =
            (struct group_figures){.group = ids[i], .beat_s = -1, .listed = (int64_t)group->count};
    }
}

/* An address may stand there twice, for two writers that came at once. */
static void count_beats(struct group_figures *f, const struct executor_beats *beats, const char *app_name,
                        int64_t now_s)
{
    const char *last = NULL;
    size_t i = list_find_first(&app_name, beats->rows, beats->count, sizeof *beats->rows, compare_texts);

    for (; i < beats->count && !strcmp(beats->rows[i].app_name, app_name); i++) {
        const struct executor_beat *row = &beats->rows[i];

        if (row->age_s > MISSED_HOLD_S)
            continue;
        f->online += !last || strcmp(last, row->address) != 0;
        f->beat_s = now_s - row->age_s > f->beat_s ? now_s - row->age_s : f->beat_s;
        last = row->address;
    }
}

static void count_jobs(struct groups_figures *out, const struct overview *o)
{
    out->has_jobs = !(o->incomplete & OVERVIEW_JOBS);
    for (size_t i = 0; i < o->group_count; i++) {
        struct group_figures *f = find_group(out, o->group_counts[i].group);

        if (!f)
            continue;
        f->jobs = o->group_counts[i].jobs;
        f->jobs_running = o->group_counts[i].running;
    }
}

static void count_runs(struct groups_figures *out, const struct overview *o, int64_t now_s)
{
    out->has_runs = !(o->incomplete & OVERVIEW_RUNS);
    out->runs_are_estimates = o->runs_are_estimates;
    for (size_t i = 0; i < o->notable.count; i++) {
        const struct notable_run *run = &o->notable.items[i];
        struct group_figures *f = find_group(out, run->group);

        if (!f)
            continue;
        f->under_way += run->state == RUN_RUNNING;
        if (run->state != RUN_FAILED && run->state != RUN_LOST && run->state != RUN_UNKNOWN)
            continue;
        f->failures += run->trigger_s >= now_s - 3600;
        f->failed_s = run->trigger_s > f->failed_s ? run->trigger_s : f->failed_s;
    }
}

static enum err load_beats(struct admin *a, int64_t now_s, struct executor_beats *out, struct refusal *r)
{
    struct store_session *s = NULL;
    enum err e = admin_take_session(a, &s, r);

    if (!e)
        e = store_load_executor_beats(s, now_s, out, &r->text);
    return admin_end(a, s, e, r);
}

enum err admin_load_group_figures(struct admin *a, const struct actor *actor, const int64_t *ids, size_t count,
                                  struct groups_figures *out, struct refusal *r)
{
    int64_t now_s = clock_wall_ms(a->clock) / 1000;
    struct executor_beats beats = {0};
    const struct overview *o = NULL;
    enum err e = admin_get_overview(a, actor, &o, r);

    if (!e)
        e = load_beats(a, now_s, &beats, r);
    if (!e) {
        const struct registry_snapshot *snap = registry_get_snapshot(a->opts.registry);

        *out = (struct groups_figures){0};
        choose(out, snap, actor, ids, count);
        for (size_t i = 0; i < out->count; i++)
            count_beats(&out->items[i], &beats, registry_find_group(snap, out->items[i].group)->app_name, now_s);
        registry_put_snapshot(snap);
        count_jobs(out, o);
        count_runs(out, o, now_s);
    }
    executor_beats_fini(&beats);
    overview_put(o);
    return e;
}

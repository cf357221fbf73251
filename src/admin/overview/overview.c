/* SPDX-License-Identifier: MIT */
/* Overviews are made by who asks first, and shown to all who may see the same groups. */
#include "shardwheel/admin/overview.h"

#include "admin/admin_impl.h"
#include "shardwheel/registry.h"
#include "shardwheel/store/jobs.h"

#include <stdlib.h>
#include <string.h>

#define RUNS_MS 1000
#define LATE_MS 500
#define JOBS_MS 1000
#define NEXT_MS 500
#define SOON_MS 60000
#define HOUR_S 3600
#define REST 10       /* so many times as long as it took it stands */
#define LAST_RUNS 100 /* jobs in one statement */

/* ---- ownership --------------------------------------------------------------------------------------------------- */

static void destroy(struct overview *o)
{
    free(o->failing.items);
    free(o->top.items);
    free(o->ranked.items);
    free(o->late.items);
    free(o->group_counts);
    names_fini(&o->job_names);
    names_fini(&o->group_names);
    notable_runs_fini(&o->notable);
    free(o);
}

void overview_put(const struct overview *o)
{
    struct overview *own = (struct overview *)(uintptr_t)o;

    if (own && atomic_fetch_sub_explicit(&own->refs, 1, memory_order_acq_rel) == 1)
        destroy(own);
}

/* Who holds a reference makes another. */
static const struct overview *share(const struct overview *o)
{
    struct overview *own = (struct overview *)(uintptr_t)o;

    atomic_fetch_add_explicit(&own->refs, 1, memory_order_relaxed);
    return o;
}

void overview_cache_init(struct overview_cache *c)
{
    mutex_init(&c->lock, LOCK_LEAF);
}

void overview_cache_fini(struct overview_cache *c)
{
    for (size_t i = 0; i < OVERVIEWS; i++)
        overview_put(c->places[i].o);
    mutex_fini(&c->lock);
}

/* ---- executors --------------------------------------------------------------------------------------------------- */

enum err overview_count_executors(struct overview *o, const struct registry_snapshot *snap,
                                  const struct group_choice *choice, struct errctx *ec)
{
    size_t n = 0, all = 0;

    for (size_t i = 0; i < snap->count; i++)
        all += snap->groups[i].count;
    const char **addresses = calloc(all + 1, sizeof *addresses);
    if (!addresses)
        return err_set(ec, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < snap->count; i++) {
        if (!group_choice_has(choice, snap->groups[i].id))
            continue;
        o->groups++;
        o->groups_without += snap->groups[i].count == 0;
        for (size_t k = 0; k < snap->groups[i].count; k++)
            addresses[n++] = snap->groups[i].addresses[k];
    }
    if (n)
        qsort(addresses, n, sizeof *addresses, compare_texts);
    for (size_t i = 0; i < n; i++)
        o->executors += i == 0 || strcmp(addresses[i], addresses[i - 1]) != 0;
    free(addresses);
    return ERR_OK;
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

static void note_cannot(struct overview *o, const struct registry_snapshot *snap, const struct group_count *count)
{
    const struct registry_group *group = registry_find_group(snap, count->group);

    if (count->running == 0 || (group && group->count > 0) || o->cannot_count == OVERVIEW_CANNOT_MAX)
        return;
    o->cannot[o->cannot_count++] =
        (struct overview_cannot){.group = count->group, .no_group = !group, .jobs = count->running};
}

static enum err load_jobs(struct overview *o, struct store_session *s, const struct registry_snapshot *snap,
                          const struct group_choice *choice, struct errctx *ec)
{
    struct group_count *counts = NULL;
    size_t count = 0;
    enum err e = store_count_group_jobs(s, choice, o->now_ms + SOON_MS, JOBS_MS, &counts, &count, ec);

    for (size_t i = 0; i < count && !e; i++) {
        o->jobs += counts[i].jobs;
        o->jobs_running += counts[i].running;
        o->soon_all += counts[i].soon;
        if (snap)
            note_cannot(o, snap, &counts[i]);
    }
    o->group_counts = counts;
    o->group_count = count;
    return e;
}

static enum err load_next(struct overview *o, struct store_session *s, const struct group_choice *choice,
                          struct errctx *ec)
{
    int64_t planned = 0;
    enum err e =
        store_load_soon(s, choice, o->now_ms, o->now_ms + SOON_MS, NEXT_MS, o->soon, &o->soon_count, &planned, ec);

    o->soon_all += planned;
    return e;
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static bool failed(const struct job_last_run *run)
{
    return !run->skipped &&
           ((run->trigger_code != 0 && run->trigger_code != 200) || (run->handle_code != 0 && run->handle_code != 200));
}

static size_t count_failing(const struct overview_jobs *jobs, size_t from, size_t to)
{
    size_t n = 0;

    for (size_t i = from; i < to; i++)
        n += jobs->items[i].failing;
    return n;
}

/* What was removed fails no more, whatever its last run was. */
static enum err forget_removed(struct overview_jobs *jobs, size_t from, const int64_t *ids, size_t n,
                               struct store_session *s, struct errctx *ec)
{
    struct names names = {0};
    enum err e = store_load_job_names(s, ids, n, &names, ec);

    for (size_t i = 0; i < n && !e; i++)
        jobs->items[from + i].failing = jobs->items[from + i].failing && names_find(&names, ids[i]);
    names_fini(&names);
    return e;
}

/* As many as are wanted: those behind are not looked at, and *all is false. */
static enum err mark_failing(struct overview_jobs *jobs, struct store_session *s, bool *all, struct errctx *ec)
{
    struct job_last_run runs[LAST_RUNS];
    int64_t ids[LAST_RUNS];
    size_t failing = 0, at = 0;
    enum err e = ERR_OK;

    for (size_t n; at < jobs->count && failing <= OVERVIEW_FAILING_MAX && !e; at += n) {
        size_t found = 0;

        n = jobs->count - at < LAST_RUNS ? jobs->count - at : LAST_RUNS;
        for (size_t i = 0; i < n; i++)
            ids[i] = jobs->items[at + i].job_id;
        e = store_load_last_runs(s, ids, n, RUNS_MS, runs, &found, ec);
        for (size_t k = 0; k < found && !e; k++)
            for (size_t i = 0; i < n; i++)
                if (jobs->items[at + i].job_id == runs[k].job_id)
                    jobs->items[at + i].failing = failed(&runs[k]);
        if (!e)
            e = forget_removed(jobs, at, ids, n, s, ec);
        failing += count_failing(jobs, at, at + n);
    }
    *all = at >= jobs->count;
    return e;
}

/* Of the jobs that failed, those that still do; and which of the top ones are among them. */
static void keep_failing(struct overview *o, struct overview_jobs *jobs)
{
    size_t n = 0;

    for (size_t i = 0; i < jobs->count; i++) {
        for (size_t k = 0; k < o->top.count; k++)
            if (o->top.items[k].job_id == jobs->items[i].job_id)
                o->top.items[k].failing = jobs->items[i].failing;
        if (jobs->items[i].failing && n < OVERVIEW_FAILING_MAX)
            jobs->items[n++] = jobs->items[i];
        else
            o->runs_are_estimates = o->runs_are_estimates || jobs->items[i].failing;
    }
    jobs->count = n;
    o->failing = *jobs;
}

#define CANDIDATES_MAX 2000

static enum err load_runs(struct overview *o, struct store_session *s, const struct group_choice *choice,
                          struct errctx *ec)
{
    struct overview_jobs jobs = {0};
    bool all = true;
    enum err e = store_load_notable_runs(s, choice, OVERVIEW_LOOK, RUNS_MS, &o->notable, ec);

    if (e)
        return e;
    o->runs_are_estimates = !o->notable.complete;
    if (!overview_count_runs(o, o->now_ms / 1000, &jobs))
        return err_set(ec, ERR_NOMEM, "out of memory");
    if (jobs.count > CANDIDATES_MAX) {
        jobs.count = CANDIDATES_MAX;
        o->runs_are_estimates = true;
    }
    e = mark_failing(&jobs, s, &all, ec);
    o->runs_are_estimates = o->runs_are_estimates || !all;
    if (e)
        free(jobs.items);
    else
        keep_failing(o, &jobs);
    return e;
}

static enum err load_late(struct overview *o, struct store_session *s, const struct group_choice *choice,
                          struct errctx *ec)
{
    struct late_run *runs = NULL;
    int64_t now_s = o->now_ms / 1000;
    bool complete = true;
    size_t count = 0;
    enum err e =
        store_load_late_runs(s, choice, now_s - HOUR_S, OVERVIEW_LATE_LOOK, LATE_MS, &runs, &count, &complete, ec);

    if (!e && !overview_count_late(o, now_s, runs, count))
        e = err_set(ec, ERR_NOMEM, "out of memory");
    o->late_is_estimate = !complete;
    free(runs);
    return e;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static size_t list_ids(const struct overview *o, int64_t *jobs, int64_t *groups)
{
    const struct overview_jobs *const lists[] = {&o->failing, &o->top, &o->late};
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        for (size_t k = 0; k < lists[i]->count && k < OVERVIEW_TOP; k++, n++) {
            jobs[n] = lists[i]->items[k].job_id;
            groups[n] = lists[i]->items[k].group;
        }
    for (size_t i = 0; i < o->soon_count; i++, n++) {
        jobs[n] = o->soon[i].job_id;
        groups[n] = o->soon[i].group;
    }
    for (size_t i = 0; i < o->cannot_count; i++, n++) {
        jobs[n] = 0;
        groups[n] = o->cannot[i].group;
    }
    return n;
}

static enum err load_names(struct overview *o, struct store_session *s, struct errctx *ec)
{
    int64_t jobs[3 * OVERVIEW_TOP + SOON_MAX + OVERVIEW_CANNOT_MAX], groups[ARRAY_LEN(jobs)];
    size_t n = list_ids(o, jobs, groups);
    enum err e = store_load_job_names(s, jobs, n, &o->job_names, ec);

    return e ? e : store_load_group_names(s, groups, n, &o->group_names, ec);
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* A part that takes too long is left out, and said to be. */
static enum err part(struct overview *o, enum overview_part which, enum err e)
{
    o->incomplete |= e == ERR_TIMEOUT ? which : 0u;
    return e == ERR_TIMEOUT ? ERR_OK : e;
}

static enum err make(struct admin *a, const struct group_choice *choice, struct overview *o, struct errctx *ec)
{
    const struct registry_snapshot *snap = a->opts.registry ? registry_get_snapshot(a->opts.registry) : NULL;
    struct store_session *s = NULL;
    enum err e = store_take_session(a->opts.store, SESSION_NORMAL, &s, ec);

    o->now_ms = clock_wall_ms(a->clock);
    if (!e && snap)
        e = overview_count_executors(o, snap, choice, ec);
    if (!e)
        e = part(o, OVERVIEW_JOBS, load_jobs(o, s, snap, choice, ec));
    if (!e)
        e = part(o, OVERVIEW_NEXT, load_next(o, s, choice, ec));
    if (!e)
        e = part(o, OVERVIEW_RUNS, load_runs(o, s, choice, ec));
    if (!e)
        e = part(o, OVERVIEW_LATE, load_late(o, s, choice, ec));
    if (!e)
        e = load_names(o, s, ec);
    store_give_session(a->opts.store, s);
    if (snap)
        registry_put_snapshot(snap);
    return e;
}

static enum err make_new(struct admin *a, const struct group_choice *choice, const struct overview **out,
                         struct refusal *r)
{
    struct overview *o = calloc(1, sizeof *o);

    if (!o)
        return refuse(r, REFUSED_BROKEN, NULL, "out of memory");
    atomic_init(&o->refs, 1);
    int64_t begun_ms = clock_mono_ms(a->clock), took_ms;
    enum err e = make(a, choice, o, &r->text);
    if (e) {
        destroy(o);
        return refuse_error(r, e);
    }
    o->made_mono_ms = clock_mono_ms(a->clock);
    took_ms = o->made_mono_ms - begun_ms;
    o->again_mono_ms = o->made_mono_ms + (took_ms * REST > OVERVIEW_MS ? took_ms * REST : OVERVIEW_MS);
    *out = o;
    return ERR_OK;
}

/* ---- the cache --------------------------------------------------------------------------------------------------- */

/* [lock] The place of the key, or the one that goes for it: of those that nobody works on, the oldest. NULL: none. */
static struct overview_place *find_place(struct overview_cache *c, uint64_t key)
{
    struct overview_place *oldest = NULL;

    for (size_t i = 0; i < OVERVIEWS; i++) {
        struct overview_place *place = &c->places[i];

        if (place->key == key)
            return place;
        if (!place->making && (!oldest || !place->o || (oldest->o && place->o->made_mono_ms < oldest->o->made_mono_ms)))
            oldest = place;
    }
    return oldest;
}

/* One that is new enough, or that must do while another one is made. *make: this caller is to make it. */
static const struct overview *look_up(struct admin *a, uint64_t key, bool *make_it, const struct overview **gone)
{
    struct overview_cache *c = &a->overviews;
    int64_t now = clock_mono_ms(a->clock);
    const struct overview *found = NULL;

    mutex_lock(&c->lock);
    struct overview_place *place = find_place(c, key);
    if (place && place->key != key) {
        *gone = place->o;
        *place = (struct overview_place){.key = key};
    }
    int64_t age = place && place->o ? now - place->o->made_mono_ms : INT64_MAX;
    if ((age < INT64_MAX && now < place->o->again_mono_ms) || (place && place->making && age < OVERVIEW_OLD_MS))
        found = share(place->o);
    else if (place)
        place->making = true;
    mutex_unlock(&c->lock);
    *make_it = !found;
    return found;
}

/* `o` NULL: it could not be made. */
static const struct overview *keep(struct admin *a, uint64_t key, const struct overview *o)
{
    struct overview_cache *c = &a->overviews;
    const struct overview *gone = NULL;

    mutex_lock(&c->lock);
    for (size_t i = 0; i < OVERVIEWS; i++) {
        struct overview_place *place = &c->places[i];

        if (place->key != key)
            continue;
        place->making = false;
        if (o) {
            gone = place->o;
            place->o = share(o);
        }
        break;
    }
    mutex_unlock(&c->lock);
    return gone;
}

enum err admin_get_overview(struct admin *a, const struct actor *actor, const struct overview **out, struct refusal *r)
{
    struct group_choice choice = {0};
    const struct overview *found, *gone = NULL;
    uint64_t key = 1;
    bool make_it;
    enum err e = refuse_unless_sees(actor, r);

    if (e)
        return e;
    if (!actor_may(actor, RIGHT_SEE, 0)) {
        static const int64_t nothing[] = {0};

        choice = (struct group_choice){actor->group_count ? actor->groups : nothing, actor->group_count};
        key = hash_bytes(HASH_START, choice.groups, choice.count * sizeof *choice.groups) | 2;
    }
    found = look_up(a, key, &make_it, &gone);
    overview_put(gone);
    if (make_it) {
        e = make_new(a, &choice, &found, r);
        overview_put(keep(a, key, e ? NULL : found));
    }
    if (!e)
        *out = found;
    return e;
}

/* SPDX-License-Identifier: MIT */
/* A turn: what holds for which job, what is open, and what changes. */
#include "alarm/lookout.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TURN_MS 10000
#define JOBS_PER_SECOND 400 /* that are watched: many make turns rarer */

void lookout_init(struct lookout *w, const struct clock *clock, const struct zone *zone, int64_t max_year)
{
    *w = (struct lookout){.clock = clock, .zone = zone, .max_year = max_year};
}

void lookout_reset(struct lookout *w)
{
    watched_jobs_fini(&w->jobs);
    watch_rules_fini(&w->rules);
    watch_states_fini(&w->states);
    free(w->items);
    free(w->runs);
    free(w->few);
    free(w->changes);
    zone_destroy(w->job_zone);
    lookout_init(w, w->clock, w->zone, w->max_year);
}

/* ---- what is open ------------------------------------------------------------------------------------------------ */

static int compare_states(const void *a, const void *b)
{
    const struct watch_state *x = a, *y = b;
    int by_kind = strcmp(x->kind, y->kind);

    return by_kind ? by_kind : compare_numbers(x->target, y->target);
}

const struct watch_state *lookout_find_state(const struct watch_states *states, const char *kind, int64_t target)
{
    const struct watch_state key = {.kind = kind, .target = target};

    return states->count ? bsearch(&key, states->rows, states->count, sizeof key, compare_states) : NULL;
}

static void add_change(struct lookout *w, enum watch_change_kind what, enum watch_kind kind, int64_t target,
                       int64_t log_id, const char *detail)
{
    struct watch_change *c;

    if (w->change_count == WATCH_CHANGES_MAX)
        return; /* the next turn finds the same */
    c = &w->changes[w->change_count++];
    *c = (struct watch_change){.what = what, .kind = kind, .target = target, .log_id = log_id};
    snprintf(c->detail, sizeof c->detail, "%s", detail);
}

void lookout_note(struct lookout *w, enum verdict verdict, enum watch_kind kind, int64_t target, int64_t log_id,
                  const char *fmt, ...)
{
    const struct watch_state *state = lookout_find_state(&w->states, watch_kind_name(kind), target);
    char detail[200];
    va_list args;

    va_start(args, fmt);
    vsnprintf(detail, sizeof detail, fmt, args);
    va_end(args);
    /* One whose message may be under way is left alone: it ends, or opens anew, when people know. */
    if (verdict == VERDICT_BAD && !state)
        add_change(w, WATCH_OPENS, kind, target, log_id, detail);
    else if (verdict == VERDICT_GOOD && state && state->phase == WATCH_TOLD)
        add_change(w, WATCH_ENDS, kind, target, 0, "");
}

void lookout_drop(struct lookout *w, enum watch_kind kind, int64_t target)
{
    add_change(w, WATCH_DROPS, kind, target, 0, "");
}

/* ---- what holds -------------------------------------------------------------------------------------------------- */

struct watch_item *lookout_find_item(struct lookout *w, int64_t job_id)
{
    return list_find(w->items, w->item_count, sizeof *w->items, job_id);
}

static bool has_rule_of_jobs(const struct watch_rules *rules)
{
    enum watch_kind kind;

    for (size_t i = 0; i < rules->count; i++)
        if (watch_kind_parse(rules->rows[i].kind, &kind) && watch_kind_is_of_jobs(kind))
            return true;
    return false;
}

static int64_t newest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* What is known of the job from the turns before stays. */
static void put_item(struct lookout *w, struct watch_item *item, const struct watched_job *job,
                     const struct watch_limits *limits)
{
    const struct watch_item *known = lookout_find_item(w, job->job_id);
    bool is_cron = strcmp(job->schedule_type, "CRON") == 0;

    *item = known ? *known : (struct watch_item){.job_id = job->job_id};
    item->expected = job->started || strcmp(job->schedule_type, "NONE") == 0 || !job->schedule_type[0];
    item->limits = *limits;
    item->since_s = newest(newest(job->changed_s, job->set_s), time_floor_div(limits->since_ms, 1000));
    item->zone_name = job->time_zone;
    item->cron_text = is_cron ? job->schedule_conf : "";
}

static enum err load_items(struct lookout *w, struct store_session *s, struct errctx *ec)
{
    struct watch_rules rules = {0};
    struct watched_jobs jobs = {0};
    struct watch_item *items = NULL;
    size_t count = 0;
    enum err e = store_load_watch_rules(s, &rules, ec);

    if (!e)
        e = store_load_watched_jobs(s, has_rule_of_jobs(&rules), &jobs, ec);
    if (!e) {
        items = calloc(jobs.count + 1, sizeof *items);
        e = items ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory for %zu jobs that are watched", jobs.count);
    }
    if (e) {
        watch_rules_fini(&rules);
        watched_jobs_fini(&jobs);
        return e;
    }
    for (size_t i = 0; i < jobs.count; i++) {
        struct watch_limits limits = limits_find(&jobs.rows[i], rules.rows, rules.count);
        if (!limits_are_empty(&limits))
            put_item(w, &items[count++], &jobs.rows[i], &limits);
    }
    free(w->items);
    watch_rules_fini(&w->rules);
    watched_jobs_fini(&w->jobs);
    w->items = items;
    w->item_count = count;
    w->rules = rules;
    w->jobs = jobs;
    return ERR_OK;
}

/* The rule of a job's state is there no more, or the job is not, or it is stopped. */
static void drop_states(struct lookout *w)
{
    for (size_t i = 0; i < w->states.count; i++) {
        const struct watch_state *state = &w->states.rows[i];
        const struct watch_item *item = lookout_find_item(w, state->target);
        enum watch_kind kind;
        bool holds = false;

        if (!watch_kind_parse(state->kind, &kind) || !watch_kind_is_of_jobs(kind) || state->phase == WATCH_OVER)
            continue;
        if (item && kind == WATCH_LONG_RUN)
            holds = item->limits.long_s >= 0;
        else if (item && item->expected)
            holds = kind == WATCH_NO_SUCCESS ? item->limits.success_s >= 0 : item->limits.done_minute >= 0;
        if (!holds)
            lookout_drop(w, kind, state->target);
    }
}

/* ---- the turn ---------------------------------------------------------------------------------------------------- */

static enum err look(struct lookout *w, struct store_session *s, int64_t now_ms, struct errctx *ec)
{
    enum err e = load_items(w, s, ec);

    if (!e) {
        struct watch_states states = {0};
        e = store_load_watch_states(s, &states, ec);
        if (!e) {
            watch_states_fini(&w->states);
            w->states = states;
        }
    }
    if (!e) {
        drop_states(w);
        e = lookout_look_at_successes(w, s, now_ms, ec);
    }
    if (!e)
        e = lookout_look_at_runs(w, s, now_ms, ec);
    if (!e)
        e = lookout_look_at_groups(w, s, now_ms, ec);
    return e ? e : lookout_look_at_shards(w, s, now_ms, ec);
}

enum err lookout_turn(struct lookout *w, struct store_session *s, const char *incarnation, struct errctx *ec)
{
    int64_t now_ms = clock_mono_ms(w->clock);
    enum err e = ERR_OK;

    if (now_ms < w->next_ms)
        return ERR_OK;
    if (!w->changes) {
        w->changes = calloc(WATCH_CHANGES_MAX, sizeof *w->changes);
        if (!w->changes)
            return err_set(ec, ERR_NOMEM, "out of memory for what is watched");
    }
    w->change_count = 0;
    e = look(w, s, clock_wall_ms(w->clock), ec);
    w->next_ms = now_ms + TURN_MS + (int64_t)(w->item_count / JOBS_PER_SECOND) * 1000;
    if (!e && w->change_count > 0)
        e = store_write_watch_changes(s, incarnation, w->changes, w->change_count, ec);
    for (size_t i = 0; i < w->change_count && !e; i++)
        if (w->changes[i].what == WATCH_OPENS)
            log_info("alarm", "event=watch_opened kind=%s target=%lld detail=%s", watch_kind_name(w->changes[i].kind),
                     (long long)w->changes[i].target, log_quote(w->changes[i].detail).s);
    return e;
}

/* SPDX-License-Identifier: MIT */
/* Moves of many runs in one transaction: which, what is done around it, and what becomes of runs that hinder others. */
#include "flowrun/flowrun_impl.h"

#include <inttypes.h>
#include <stdlib.h>

#define RUNS_MAX 500     /* in one move: what it costs in any case they share */
#define ENDS_MAX 1000    /* likewise */
#define FIRES_MAX 2000   /* likewise, and those of one run more */
#define POLL_MAX 5000    /* fires in one look for ends */
#define CONFLICTS_MAX 3  /* then each run is moved by itself: a deadlock comes to an end earlier */
#define REFUSED_MS 60000 /* after an error of one run alone */
#define HELD_MS 5000     /* while somebody holds its row */

static const struct advance_job *find_job(void *arg, int64_t id)
{
    return documents_find_job(arg, id);
}

static const struct advance_flow *find_flow(void *arg, const char *name)
{
    return documents_find_name(arg, name);
}

static enum err decide(void *arg, struct flow_moving *run, int64_t now_ms, struct flow_changes *out, struct errctx *ec)
{
    struct flowrun *f = arg;
    const struct advance_flow *flow =
        documents_find(f->documents, (struct flow_version){run->flow_id, run->version, 0});
    const struct advance a = {.flow = flow,
                              .zone = flow && flow->zone ? flow->zone : f->opts.zone,
                              .find_job = find_job,
                              .find_flow = find_flow,
                              .arg = f->documents,
                              .param_max = f->param_max};

    if (f->tally.tries >= FIRES_MAX) {
        f->cut = true;
        return ERR_OK;
    }
    return advance_run(&a, run, now_ms, out, &f->tally, ec);
}

static void count(struct flowrun *f)
{
    const struct advance_tally *t = &f->tally;

    counters_add(f->counters, COUNTER_FLOW_RUNS_SUCCEEDED, t->runs_succeeded);
    counters_add(f->counters, COUNTER_FLOW_RUNS_FAILED, t->runs_failed);
    counters_add(f->counters, COUNTER_FLOW_RUNS_CANCELLED, t->runs_cancelled);
    counters_add(f->counters, COUNTER_FLOW_STEPS_SUCCEEDED, t->steps_succeeded);
    counters_add(f->counters, COUNTER_FLOW_STEPS_FAILED, t->steps_failed);
    counters_add(f->counters, COUNTER_FLOW_STEPS_SKIPPED, t->steps_skipped);
    counters_add(f->counters, COUNTER_FLOW_TRIES, t->tries);
}

/* After the commit. */
static enum err follow(struct flowrun *f, struct flow_changes *changes, int64_t begun_boot_ms, struct errctx *ec)
{
    int64_t now_ms = clock_mono_ms(f->clock);
    enum err e = ERR_OK;

    for (size_t i = 0; i < changes->closed_count; i++)
        flights_drop_run(&f->flights, changes->closed[i]);
    for (const struct fire *fire = changes->fires; fire && !e; fire = fire->next)
        e = flights_add(&f->flights, (struct flow_fire){fire->log_id, fire->flow_run}, now_ms, ec);
    if (e)
        flowrun_read_flights_again(f);
    direct_send(&f->sender, changes->fires, begun_boot_ms);
    changes->fires = NULL;
    kills_add(f->kills, changes->kills, changes->kill_count);
    count(f);
    return e;
}

/* Ends that were found and not taken in are of fires that nobody waits for, or the table says more than we know. */
static void drop_ends(struct flowrun *f, const int64_t *ends, size_t count, struct flow_changes *changes)
{
    if (f->cut) {
        changes->ended_count = sort_distinct(changes->ended, changes->ended_count);
        flights_drop_logs(&f->flights, changes->ended, changes->ended_count);
        return;
    }
    flights_drop_logs(&f->flights, ends, count);
    if (changes->ended_count < count)
        flowrun_read_flights_again(f);
}

static enum err move_some(struct flowrun *f, struct store_session *s, const int64_t *runs, size_t run_count,
                          const int64_t *ends, size_t end_count, struct errctx *ec)
{
    struct flow_move_order order = {.epochs = f->owned,
                                    .epoch_count = f->owned_count,
                                    .n = f->n,
                                    .run_ids = runs,
                                    .run_count = run_count,
                                    .ended_logs = ends,
                                    .ended_count = end_count,
                                    .incarnation = f->opts.incarnation,
                                    .decide = decide,
                                    .arg = f};
    struct flow_changes changes = {0};
    int64_t begun_boot_ms = clock_boot_ms(f->clock);
    size_t moved = 0;
    enum err e = documents_load(f->documents, s, runs, run_count, ec);

    f->tally = (struct advance_tally){0};
    f->cut = false;
    if (!e)
        e = store_load_param_max(s, &f->param_max, ec);
    if (!e)
        e = store_move_flows(s, &order, &changes, &moved, ec);
    if (e == ERR_UNKNOWN) {
        f->doubt = (struct direct_doubt){changes.fires, begun_boot_ms};
        changes.fires = NULL;
        flowrun_read_flights_again(f);
    }
    if (!e) {
        f->moved |= moved > 0;
        drop_ends(f, ends, end_count, &changes); /* also of runs that are gone */
        e = follow(f, &changes, begun_boot_ms, ec);
    }
    flow_changes_fini(&changes);
    return e;
}

static void put_aside(struct flowrun *f, int64_t run, enum err why, const struct errctx *ec)
{
    int64_t wait_ms = why == ERR_CONFLICT ? HELD_MS : REFUSED_MS;
    size_t at = 0;

    log_warn("flowrun", "event=flow_run_stuck run=%" PRId64 " error=%s again_s=%" PRId64, run, log_quote(ec->text).s,
             wait_ms / 1000);
    while (at < f->aside_count && f->aside[at] != run)
        at++;
    if (at == ASIDE_MAX)
        at = f->aside_count = 0;
    if (at == f->aside_count)
        f->aside_count++;
    f->aside[at] = run;
    f->aside_mono_ms[at] = clock_mono_ms(f->clock) + wait_ms;
}

static bool is_aside(struct flowrun *f, int64_t run)
{
    for (size_t i = 0; i < f->aside_count; i++)
        if (f->aside[i] == run)
            return clock_mono_ms(f->clock) < f->aside_mono_ms[i];
    return false;
}

/* The others. What nobody is to take in now must not look like an end that the table does not know. */
static size_t leave_aside(struct flowrun *f, struct flow_fire *ends, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if (!is_aside(f, ends[i].run_id))
            ends[kept++] = ends[i];
    return kept;
}

COMPARE_BY_TWO(compare_by_run, struct flow_fire, run_id, log_id)

/* These runs with the ends of theirs. What the database does not take in any way, and what somebody holds, must not
 * keep the others. */
static enum err move_runs(struct flowrun *f, struct store_session *s, const int64_t *runs, size_t run_count,
                          const struct flow_fire *ends, size_t end_count, struct errctx *ec)
{
    int64_t logs[ENDS_MAX];
    size_t n = 0, at = 0;
    enum err e;

    for (size_t i = 0; i < end_count && n < ENDS_MAX; i++)
        logs[n++] = ends[i].log_id;
    n = sort_distinct(logs, n);
    e = move_some(f, s, runs, run_count, logs, n, ec);
    f->conflicts = e == ERR_CONFLICT ? f->conflicts + 1 : e == ERR_INPUT ? f->conflicts : 0;
    if (e != ERR_INPUT && (e != ERR_CONFLICT || f->conflicts < CONFLICTS_MAX))
        return e;
    if (run_count == 1) {
        put_aside(f, runs[0], e, ec);
        return ERR_OK;
    }
    e = ERR_OK;
    for (size_t i = 0; i < run_count && !e; i++) {
        size_t from = at;
        int conflicts = f->conflicts;
        while (at < end_count && ends[at].run_id <= runs[i])
            at++;
        e = move_runs(f, s, &runs[i], 1, ends + from, at - from, ec);
        f->conflicts = e ? f->conflicts : conflicts; /* one that goes well says nothing of the others */
    }
    return e;
}

/* Runs that are to be looked at, and those whose fires have ended, some at a time. */
static enum err move_all(struct flowrun *f, struct store_session *s, const int64_t *looks, size_t look_count,
                         struct flow_fire *ends, size_t end_count, struct errctx *ec)
{
    int64_t runs[RUNS_MAX];
    size_t look = 0, end = 0;
    enum err e = ERR_OK;

    end_count = leave_aside(f, ends, end_count);
    if (end_count > 0)
        qsort(ends, end_count, sizeof *ends, compare_by_run);
    while ((look < look_count || end < end_count) && !e && !worker_is_stopping(&f->worker)) {
        size_t n = 0, from = end;
        while (n < RUNS_MAX && end - from < ENDS_MAX && (look < look_count || end < end_count)) {
            bool is_end = end < end_count && (look == look_count || ends[end].run_id <= looks[look]);
            int64_t run = is_end ? ends[end].run_id : looks[look];
            if (is_end)
                end++;
            else
                look++;
            if (!is_aside(f, run) && (n == 0 || runs[n - 1] != run))
                runs[n++] = run;
        }
        if (n > 0)
            e = move_runs(f, s, runs, n, ends + from, end - from, ec);
    }
    return e;
}

/* ---- looking ----------------------------------------------------------------------------------------------------- */

static enum err find_ends(struct flowrun *f, struct store_session *s, struct flow_fire *fires, size_t *ended,
                          struct errctx *ec)
{
    size_t count = flights_take_due(&f->flights, clock_mono_ms(f->clock), fires, POLL_MAX);

    *ended = 0;
    return count > 0 ? store_find_flow_ends(s, fires, count, ended, ec) : ERR_OK;
}

enum err moves_look_and_move(struct flowrun *f, struct store_session *s, struct errctx *ec)
{
    int64_t looks[RUNS_MAX];
    struct flow_fire *fires = malloc(POLL_MAX * sizeof *fires);
    size_t look_count = 0, end_count = 0;
    enum err e = fires ? find_ends(f, s, fires, &end_count, ec) : err_set(ec, ERR_NOMEM, "out of memory");

    if (!e)
        e = store_find_flow_looks(s, f->shards, f->owned_count, f->n, looks, ARRAY_LEN(looks), &look_count, ec);
    if (!e) {
        look_count = sort_distinct(looks, look_count);
        e = move_all(f, s, looks, look_count, fires, end_count, ec);
    }
    free(fires);
    return e;
}

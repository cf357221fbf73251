/* SPDX-License-Identifier: MIT */
#include "shardwheel/flowrun.h"

#include "flowrun/documents.h"
#include "flowrun/flights.h"
#include "flowrun/kills.h"
#include "flowrun/schedules.h"
#include "shardwheel/record.h"
#include "shardwheel/store/cluster.h"
#include "shardwheel/store/run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define RUNS_MAX 500     /* in one move: what it costs in any case they share */
#define ENDS_MAX 1000    /* likewise */
#define FIRES_MAX 2000   /* likewise, and those of one run more */
#define ASIDE_MAX 100    /* runs that could not be moved */
#define POLL_MAX 5000    /* fires in one look for ends */
#define DUE_MAX 100      /* flows that are due in one look */
#define IDLE_MS 200      /* between two looks for runs */
#define LOOK_MS 25       /* ... while fires are under way */
#define FAILED_MS 1000   /* after an error */
#define CONFLICTS_MAX 3  /* then each run is moved by itself: a deadlock comes to an end earlier */
#define REFUSED_MS 60000 /* after an error of one run alone */
#define HELD_MS 5000     /* while somebody holds its row */
#define DOUBT_MS 100
#define NODES_MS 1000    /* between two looks for nodes that do not know flows */
#define AGAIN_MS 30000   /* after a takeover, what is waited for is read once more */
#define EPOCH_STALE (-1) /* flights that are to be read anew, or dropped if the shard is not ours any more */

struct flowrun {
    struct flowrun_opts opts;    /* [const] */
    const struct clock *clock;   /* [const] */
    struct counters *counters;   /* [const] */
    struct kills *kills;         /* [const] */
    struct worker worker;        /* [const] locks by itself */
    struct documents *documents; /* [thread], as all below */
    struct direct_sender sender;
    struct direct_doubt doubt;
    struct flights flights;
    int64_t epochs[STORE_SHARDS_MAX]; /* with which the flights of each shard were loaded; 0: there are none of it */
    int n;
    int64_t again_mono_ms; /* when to read flights again; 0: never */
    bool compared;         /* likewise, in the next turn */
    int64_t nodes_mono_ms;
    bool waits_for_nodes;
    bool failing;
    int64_t aside_mono_ms[ASIDE_MAX]; /* runs that could not be moved are left alone until then */
    int64_t aside[ASIDE_MAX];
    size_t aside_count;
    struct advance_tally tally;
    bool cut;      /* runs of the move were left for the next one */
    int conflicts; /* moves in a row that met a row that somebody holds */
    size_t param_max;
    /* of the turn */
    struct flow_epoch owned[STORE_SHARDS_MAX];
    int shards[STORE_SHARDS_MAX];
    size_t owned_count;
    bool moved;
};

/* ---- shards ------------------------------------------------------------------------------------------------------ */

static enum err load_shard(struct flowrun *f, struct store_session *s, int shard, int64_t epoch, struct errctx *ec)
{
    int64_t now_ms = clock_mono_ms(f->clock);
    struct flow_fire *fires = NULL;
    size_t count = 0;
    enum err e;

    flights_drop_shard(&f->flights, shard, f->n);
    e = store_load_flow_fires(s, shard, f->n, &fires, &count, ec);
    for (size_t i = 0; i < count && !e; i++)
        e = flights_add(&f->flights, fires[i], now_ms, ec);
    free(fires);
    f->epochs[shard] = e ? EPOCH_STALE : epoch;
    return e;
}

/* The table knows better what is waited for. */
static void read_flights_again(struct flowrun *f)
{
    for (int k = 0; k < f->n; k++)
        if (f->epochs[k] != 0)
            f->epochs[k] = EPOCH_STALE;
    f->again_mono_ms = 0;
}

/* What is waited for of a shard is read when it becomes ours: who had it before is fenced by then. */
static enum err follow_epochs(struct flowrun *f, struct store_session *s, bool *wait, struct errctx *ec)
{
    int64_t epochs[STORE_SHARDS_MAX];
    int n = f->opts.get_epochs(f->opts.arg, epochs);
    enum err e = ERR_OK;

    /* Behind the epochs: where a server that has forgotten commits gave one, the comparison is asked for by now. */
    *wait = f->opts.is_comparing && f->opts.is_comparing(f->opts.arg);
    f->compared |= *wait;
    if (*wait)
        return ERR_OK;
    if (f->compared || (f->again_mono_ms && clock_mono_ms(f->clock) >= f->again_mono_ms))
        read_flights_again(f);
    f->compared = false;
    if (n != f->n) {
        flights_clear(&f->flights);
        memset(f->epochs, 0, sizeof f->epochs);
        f->n = n;
    }
    f->owned_count = 0;
    for (int k = 0; k < n && !e; k++) {
        if (epochs[k] == 0 && f->epochs[k] != 0) {
            flights_drop_shard(&f->flights, k, n);
            f->epochs[k] = 0;
        }
        if (epochs[k] == 0)
            continue;
        /* Another node may compare what it sent a moment later. */
        if (epochs[k] != f->epochs[k] && f->epochs[k] != EPOCH_STALE)
            f->again_mono_ms = clock_mono_ms(f->clock) + AGAIN_MS;
        if (epochs[k] != f->epochs[k])
            e = load_shard(f, s, k, epochs[k], ec);
        f->shards[f->owned_count] = k;
        f->owned[f->owned_count++] = (struct flow_epoch){k, epochs[k]};
    }
    return e;
}

/* Nodes of a release without flows may own shards, and would leave runs alone: nothing moves before they are gone. */
static enum err look_for_nodes(struct flowrun *f, struct store_session *s, struct errctx *ec)
{
    bool found = false;
    enum err e;

    if (clock_mono_ms(f->clock) < f->nodes_mono_ms)
        return ERR_OK;
    e = store_find_flowless_node(s, &found, ec);
    if (e)
        return e;
    if (found != f->waits_for_nodes)
        log_info("flowrun", "event=%s", found ? "flows_wait_for_nodes" : "flows_go_on");
    f->waits_for_nodes = found;
    f->nodes_mono_ms = clock_mono_ms(f->clock) + NODES_MS;
    return ERR_OK;
}

/* ---- moving ------------------------------------------------------------------------------------------------------ */

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
        read_flights_again(f);
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
        read_flights_again(f);
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
        read_flights_again(f);
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

static int compare_by_run(const void *a, const void *b)
{
    const struct flow_fire *x = a, *y = b;
    int c = compare_int64(&x->run_id, &y->run_id);

    return c ? c : compare_int64(&x->log_id, &y->log_id);
}

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
    f->conflicts = e == ERR_CONFLICT ? f->conflicts + 1 : run_count > 1 ? 0 : f->conflicts;
    if (e != ERR_INPUT && (e != ERR_CONFLICT || f->conflicts < CONFLICTS_MAX))
        return e;
    if (run_count == 1) {
        put_aside(f, runs[0], e, ec);
        return ERR_OK;
    }
    e = ERR_OK;
    for (size_t i = 0; i < run_count && !e; i++) {
        size_t from = at;
        while (at < end_count && ends[at].run_id <= runs[i])
            at++;
        e = move_runs(f, s, &runs[i], 1, ends + from, at - from, ec);
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

static enum err look_and_move(struct flowrun *f, struct store_session *s, struct errctx *ec)
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

/* ---- schedules --------------------------------------------------------------------------------------------------- */

static enum err start_due(struct flowrun *f, struct store_session *s, const struct due_flow *due, struct errctx *ec)
{
    struct flow_start start = {.flow = *due};
    const struct advance_flow *flow = NULL;
    int shard = (int)(due->id % f->n);
    enum err e = documents_get(f->documents, s, (struct flow_version){due->id, due->version, due->at_ms}, &flow, ec);

    if (e == ERR_INPUT || e == ERR_NOTFOUND) {
        log_warn("flowrun", "event=flow_unreadable flow=%" PRId64 " version=%d error=%s", due->id, due->version,
                 log_quote(ec->text).s);
        start.missed = "the document of this version cannot be read; the schedule has ended";
    } else if (e) {
        return e;
    } else {
        schedules_plan(flow_get_settings(flow->flow), flow->zone ? flow->zone : f->opts.zone, f->opts.max_year,
                       due->now_s, &start);
    }
    f->moved = true;
    return store_start_due_flow(s, (struct flow_epoch){shard, f->epochs[shard]}, &start, ec);
}

static enum err start_all_due(struct flowrun *f, struct store_session *s, struct errctx *ec)
{
    struct due_flow *due = NULL;
    size_t n = 0;
    enum err e = store_find_due_flows(s, f->shards, f->owned_count, f->n, DUE_MAX, &due, &n, ec);

    for (size_t i = 0; i < n && !e; i++) {
        e = start_due(f, s, &due[i], ec);
        if (e == ERR_STATE || e == ERR_CONFLICT) /* fenced, or somebody holds it */
            e = ERR_OK;
    }
    free(due);
    return e;
}

/* ---- turns ------------------------------------------------------------------------------------------------------- */

static enum err settle_doubt(struct flowrun *f, struct store_session *s, struct errctx *ec)
{
    direct_end_late(&f->sender);
    return f->doubt.list ? direct_settle(&f->sender, s, f->opts.incarnation, &f->doubt, NULL, ec) : ERR_OK;
}

static enum err work(struct flowrun *f, bool *wait, struct errctx *ec)
{
    struct store_session *s = NULL;
    enum err e = store_take_session(f->opts.store, SESSION_CLAIM, &s, ec);

    if (!e)
        e = settle_doubt(f, s, ec);
    if (!e)
        e = follow_epochs(f, s, wait, ec);
    if (!e && !*wait && f->owned_count > 0)
        e = look_for_nodes(f, s, ec);
    *wait |= f->waits_for_nodes;
    if (!e && !*wait && f->owned_count > 0) {
        e = start_all_due(f, s, ec);
        if (!e)
            e = look_and_move(f, s, ec);
    }
    store_give_session(f->opts.store, s);
    return e;
}

int64_t flowrun_turn(struct flowrun *f)
{
    int64_t next_ms;
    struct errctx ec;
    bool wait = false;
    enum err e;

    errctx_clear(&ec);
    f->moved = false;
    e = work(f, &wait, &ec);
    counters_set(f->counters, COUNTER_FLOW_FIRES_OPEN, (int64_t)f->flights.count);
    if (e == ERR_CONFLICT) /* somebody holds a row */
        return LOOK_MS;
    if (e && !f->failing)
        log_warn("flowrun", "event=flows_failing error=%s", log_quote(ec.text).s);
    if (!e && f->failing)
        log_info("flowrun", "event=flows_working");
    f->failing = e != ERR_OK;
    if (e)
        return f->doubt.list ? DOUBT_MS : FAILED_MS;
    if (wait) /* whatever is due meanwhile */
        return LOOK_MS;
    next_ms = flights_find_next_ms(&f->flights);
    if (next_ms == INT64_MAX)
        return f->moved ? LOOK_MS : IDLE_MS;
    next_ms -= clock_mono_ms(f->clock);
    return next_ms < LOOK_MS ? next_ms < 0 ? 0 : next_ms : f->moved ? LOOK_MS : next_ms < IDLE_MS ? next_ms : IDLE_MS;
}

static int64_t run_turn(void *arg)
{
    return flowrun_turn(arg);
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

enum err flowrun_create(const struct flowrun_opts *opts, const struct clock *clock, struct counters *counters,
                        struct flowrun **out, struct errctx *ec)
{
    struct flowrun *f = calloc(1, sizeof *f);
    enum err e;

    if (!f)
        return err_set(ec, ERR_NOMEM, "out of memory for flows");
    f->opts = *opts;
    f->clock = clock;
    f->counters = counters;
    f->sender = (struct direct_sender){
        .store = opts->store, .clock = clock, .counters = counters, .submit = opts->submit, .arg = opts->arg};
    worker_init(&f->worker, clock);
    f->worker.watch = opts->watch;
    e = documents_create(&f->documents, ec);
    if (!e)
        e = kills_create(opts, clock, &f->kills, ec);
    if (e) {
        flowrun_destroy(f);
        return e;
    }
    *out = f;
    return ERR_OK;
}

enum err flowrun_set_access(struct flowrun *f, const char *access_token, const struct http_tls *tls, struct errctx *ec)
{
    return kills_set_access(f->kills, access_token, tls, ec);
}

enum err flowrun_start(struct flowrun *f, struct errctx *ec)
{
    enum err e = kills_start(f->kills, ec);

    return e ? e : worker_start(&f->worker, "flows", run_turn, NULL, f, ec);
}

void flowrun_stop(struct flowrun *f)
{
    worker_stop(&f->worker);
    kills_stop(f->kills);
}

void flowrun_join(struct flowrun *f)
{
    worker_join(&f->worker);
    kills_join(f->kills);
}

void flowrun_destroy(struct flowrun *f)
{
    if (!f)
        return;
    fire_destroy_list(f->doubt.list);
    direct_sender_fini(&f->sender);
    flights_fini(&f->flights);
    documents_destroy(f->documents);
    kills_destroy(f->kills);
    worker_fini(&f->worker);
    free(f);
}

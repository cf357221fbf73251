/* SPDX-License-Identifier: MIT */
#include "flowrun/flowrun_impl.h"
#include "flowrun/schedules.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DUE_MAX 100    /* flows that are due in one look */
#define IDLE_MS 200    /* between two looks for runs */
#define LOOK_MS 25     /* ... while fires are under way */
#define FAILED_MS 1000 /* after an error */
#define DOUBT_MS 100
#define NODES_MS 1000  /* between two looks for nodes that do not know flows */
#define AGAIN_MS 30000 /* after a takeover, what is waited for is read once more */

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

void flowrun_read_flights_again(struct flowrun *f)
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
        flowrun_read_flights_again(f);
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
            e = moves_look_and_move(f, s, ec);
    }
    store_give_session(f->opts.store, s);
    return e;
}

int64_t flowrun_turn(struct flowrun *f)
{
    int64_t next_ms;
    struct errctx ec = {0};
    bool wait = false;
    enum err e;

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

static void end_turns(void *arg)
{
    struct flowrun *f = arg;
    struct errctx ec = {0};

    if (direct_settle_at_end(&f->sender, f->opts.incarnation, &f->doubt, &ec))
        log_warn("flowrun", "event=flows_failing error=%s", log_quote(ec.text).s);
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

enum err flowrun_start(struct flowrun *f, struct errctx *ec)
{
    enum err e = kills_start(f->kills, ec);

    return e ? e : worker_start(&f->worker, "flows", run_turn, end_turns, f, ec);
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

/* SPDX-License-Identifier: MIT */
#include "shardwheel/follow/lost.h"
#include "follow/lost_ask.h"
#include "follow/lost_rule.h"
#include "follow/lost_runs.h"
#include "shardwheel/job/times.h"
#include "shardwheel/keep.h"
#include "shardwheel/store/cluster.h"
#include "shardwheel/store/lost.h"
#include "shardwheel/store/registry.h"
#include "shardwheel/store/upkeep.h"

#include <inttypes.h>
#include <stdlib.h>

#define TURN_MS 10000
#define GAP_MS 30000           /* a turn that comes later than that after the one before has missed something */
#define CHECK_MAX 200          /* addresses in a turn that are looked for by the database's way to compare */
#define FORGET_MS (60 * 60000) /* an address that nobody has registered for so long */
#define BEGIN_SLACK_S 60       /* an executor that is just leaving may still accept a run */
#define END_MAX 500            /* runs ended in one transaction */

struct lost {
    struct lost_opts opts;     /* [const] the strings are ours */
    const struct clock *clock; /* [const] */
    struct counters *counters; /* [const] */
    struct worker worker;      /* [const] locks by itself */
    struct idle_asker *asker;  /* [thread] */

    struct lost_addresses addresses; /* [thread], as all below */
    int64_t quiet_mono_ms;           /* since then callbacks were accepted, as far as is known */
    int64_t turn_mono_ms;            /* the last turn that did its work; INT64_MIN: none */
    int64_t refused;                 /* COUNTER_CALLBACKS_REFUSED as seen last */
    bool failing;

    int64_t epoch; /* of shard 0; 0: it is not ours, and no run is known */
    struct lost_runs runs;
};

/* ---- addresses --------------------------------------------------------------------------------------------------- */

static void mark_used(struct lost *l, bool used)
{
    for (size_t i = 0; i < l->runs.count; i++)
        l->runs.list[i].address->used = used;
}

static enum err look_at_registry(struct lost *l, struct store_session *s, struct errctx *ec)
{
    struct address_list list = {0};
    enum err e = store_load_addresses(s, &list, ec);

    if (e)
        return e;
    for (size_t i = 0; i < l->addresses.count; i++)
        l->addresses.list[i]->used = l->addresses.list[i]->registered = false;
    mark_used(l, true);
    lost_addresses_forget(&l->addresses, clock_mono_ms(l->clock) - FORGET_MS);
    for (size_t i = 0; i < list.count; i++) {
        struct lost_address *a = lost_addresses_get(&l->addresses, list.list[i]);
        if (a)
            lost_address_see(a, l->clock);
    }
    address_list_fini(&list);
    return ERR_OK;
}

/* The addresses of runs that are not there to the letter: as the original compares them, some letters are one. */
static enum err look_closer(struct lost *l, struct store_session *s, struct errctx *ec)
{
    size_t checked = 0;
    enum err e = ERR_OK;

    mark_used(l, false);
    for (size_t i = 0; i < l->runs.count && !e; i++) {
        struct lost_address *a = l->runs.list[i].address;
        bool found = false;
        if (a->registered || a->used || !a->text[0])
            continue;
        if (checked++ == CHECK_MAX)
            break;
        a->used = true;
        e = store_is_registered(s, a->text, &found, ec);
        if (!e && found)
            lost_address_see(a, l->clock);
    }
    /* Those that there was no time for count as registered in this turn. */
    for (size_t i = 0; i < l->runs.count && checked > CHECK_MAX; i++)
        if (!l->runs.list[i].address->used)
            l->runs.list[i].address->registered = true;
    return e;
}

/* ---- callbacks --------------------------------------------------------------------------------------------------- */

/* Whether all nodes can have accepted callbacks since the last turn. */
static enum err look_at_callbacks(struct lost *l, struct store_session *s, struct errctx *ec)
{
    int64_t now_ms = clock_mono_ms(l->clock), refused = counters_get(l->counters, COUNTER_CALLBACKS_REFUSED);
    int64_t missed_s = -1, db_now_ms = 0;
    struct node_row *nodes = NULL;
    size_t count = 0;
    bool quiet = refused == l->refused && l->turn_mono_ms != INT64_MIN && now_ms - l->turn_mono_ms <= GAP_MS;
    enum err e = store_load_missed(s, MISSED_HOLD_S, &missed_s, ec);

    if (!e)
        e = store_load_nodes(s, &nodes, &count, &db_now_ms, ec);
    if (e)
        return e;
    quiet &= missed_s < 0;
    l->refused = refused;
    if (!quiet)
        l->quiet_mono_ms = now_ms;
    /* A node that has just begun may have been away before: executors that know it alone could not call. */
    for (size_t i = 0; i < count; i++) {
        int64_t started_ms = now_ms - (db_now_ms - nodes[i].started_ms);
        if (db_now_ms - nodes[i].beat_ms < NODE_GONE_MS && started_ms > l->quiet_mono_ms)
            l->quiet_mono_ms = started_ms;
    }
    free(nodes);
    return ERR_OK;
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

static enum err ask(struct lost *l, struct errctx *ec)
{
    const struct lost_asking with = {
        .clock = l->clock, .registry = l->opts.registry, .asker = l->asker, .access = l->opts.access};

    return lost_ask(&with, l->runs.list, l->runs.count, ec);
}

/* ---- ending ------------------------------------------------------------------------------------------------------ */

static enum lost_reason judge(const struct lost *l, const struct lost_run *run)
{
    int64_t now_ms = clock_mono_ms(l->clock), now_s = time_floor_div(clock_wall_ms(l->clock), 1000);
    const struct lost_address *a = run->address;
    const struct lost_facts facts = {
        .age_s = run->triggered_s == INT64_MIN ? -1 : now_s - run->triggered_s,
        .registered = a->registered,
        .was_registered = a->seen_wall_s != INT64_MIN && a->seen_wall_s >= run->triggered_s - BEGIN_SLACK_S,
        .away_ms = a->seen_mono_ms == INT64_MIN ? -1 : now_ms - a->seen_mono_ms,
        .idle_ms = run->idle_mono_ms == INT64_MIN ? -1 : run->last_idle_mono_ms - run->idle_mono_ms,
        .quiet_ms = now_ms - l->quiet_mono_ms,
    };

    return lost_decide(&facts);
}

static enum err end_for(struct lost *l, struct store_session *s, enum lost_reason reason, struct errctx *ec)
{
    static const enum counter_id counter[LOST_REASONS] = {[LOST_UNREGISTERED] = COUNTER_RUNS_LOST_UNREGISTERED,
                                                          [LOST_LEFT] = COUNTER_RUNS_LOST_LEFT,
                                                          [LOST_IDLE] = COUNTER_RUNS_LOST_IDLE};
    int64_t ids[END_MAX], job_ids[END_MAX], now_s = time_floor_div(clock_wall_ms(l->clock), 1000);
    size_t at = 0, sum = 0;
    enum err e = ERR_OK;

    while (at < l->runs.count && !e) {
        size_t n = 0, ended = 0;
        for (; at < l->runs.count && n < END_MAX; at++) {
            if (judge(l, &l->runs.list[at]) != reason)
                continue;
            ids[n] = l->runs.list[at].id;
            job_ids[n++] = l->runs.list[at].job_id;
        }
        if (n > 0)
            e = store_check_epoch(s, 0, l->epoch, ec);
        if (!e && n > 0)
            e = store_end_lost(s, ids, job_ids, n, lost_reason_text(reason), now_s, &ended, ec);
        for (size_t i = 0; !e && i < n; i++)
            keep_offer(l->opts.keep, ids[i], /*maybe_failed=*/true);
        for (size_t i = 0; !e && i < n; i++)
            log_fire(FOLLOW, "event=run_lost log_id=%" PRId64 " job=%" PRId64 " why=%s", ids[i], job_ids[i],
                     log_quote(lost_reason_text(reason)).s);
        sum += ended;
    }
    counters_add(l->counters, counter[reason], (int64_t)sum);
    if (sum > 0)
        log_warn("follow", "event=runs_lost count=%zu why=%s", sum, log_quote(lost_reason_text(reason)).s);
    return e;
}

/* ---- turns ------------------------------------------------------------------------------------------------------- */

static enum err do_turn(struct lost *l, struct store_session *s, struct errctx *ec)
{
    enum err e = look_at_registry(l, s, ec);

    if (!e)
        e = look_at_callbacks(l, s, ec);
    if (e || l->epoch == 0)
        return e;
    e = store_check_epoch(s, 0, l->epoch, ec);
    if (!e)
        e = lost_runs_drop_ended(&l->runs, s, ec);
    if (!e)
        e = lost_runs_find(&l->runs, s, ec);
    if (!e)
        e = look_closer(l, s, ec);
    if (!e && l->opts.ask)
        e = ask(l, ec);
    for (int reason = LOST_NOT + 1; reason < LOST_REASONS && !e; reason++)
        e = end_for(l, s, (enum lost_reason)reason, ec);
    return e;
}

int64_t lost_turn(struct lost *l)
{
    int64_t begun_ms = clock_mono_ms(l->clock), epoch = l->opts.get_epoch(l->opts.arg), took_ms;
    struct store_session *s = NULL;
    struct errctx ec = {0};
    enum err e;

    if (epoch != l->epoch) {
        l->epoch = epoch;
        lost_runs_forget(&l->runs);
    }
    e = store_take_session(l->opts.store, SESSION_CLAIM, &s, &ec);
    if (!e)
        e = do_turn(l, s, &ec);
    store_give_session(l->opts.store, s);
    if (!e)
        l->turn_mono_ms = begun_ms;
    if (e && e != ERR_CONFLICT && !l->failing)
        log_warn("follow", "event=lost_runs_failing error=%s effect=%s", log_quote(ec.text).s,
                 log_quote("lost runs are not found").s);
    else if (!e && l->failing)
        log_info("follow", "event=lost_runs_working");
    l->failing = e && e != ERR_CONFLICT;
    took_ms = clock_mono_ms(l->clock) - begun_ms;
    return took_ms < TURN_MS ? TURN_MS - took_ms : 1000;
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

enum err lost_create(const struct lost_opts *opts, const struct clock *clock, struct counters *counters,
                     struct lost **out, struct errctx *ec)
{
    struct lost *l = calloc(1, sizeof *l);
    enum err e;

    if (!l)
        return err_set(ec, ERR_NOMEM, "out of memory for the monitor of lost runs");
    l->opts = *opts;
    l->clock = clock;
    l->counters = counters;
    l->turn_mono_ms = INT64_MIN;
    worker_init(&l->worker, clock);
    l->runs = (struct lost_runs){.clock = clock, .worker = &l->worker, .addresses = &l->addresses};
    e = opts->ask ? idle_create(clock, opts->resolver, opts->networks, &l->asker, ec) : ERR_OK;
    if (e) {
        lost_destroy(l);
        return e;
    }
    *out = l;
    return ERR_OK;
}

WORKER_LIFE(lost, "lost", NULL)

void lost_destroy(struct lost *l)
{
    if (!l)
        return;
    idle_destroy(l->asker);
    lost_addresses_fini(&l->addresses);
    lost_runs_fini(&l->runs);
    worker_fini(&l->worker);
    free(l);
}

/* SPDX-License-Identifier: MIT */
#include "shardwheel/history.h"

#include "history/events.h"
#include "history/minutes.h"
#include "history/others.h"
#include "history/changes.h"

#include <stdlib.h>
#include <string.h>

#define LOOK_MS 1000
#define RETRY_MS 5000  /* after a write that failed */
#define CALM_MS 20000  /* so long the database must be there before other nodes are judged by their beats */
#define SETTLE_MS 5000 /* so long after the end of an outage other nodes' events may still be on their way */

struct history {
    struct history_opts opts;  /* [const] the strings are the caller's */
    const struct clock *clock; /* [const] */
    struct counters *counters; /* [const] */
    struct worker worker;      /* [const] locks by itself */

    struct shard_status shards[STORE_SHARDS_MAX]; /* [thread], as all below */
    int64_t moves; /* takeovers, handovers and losses as counted when shards were looked at last; -1: never */
    struct changes changes;
    struct events events;
    struct minutes minutes;
    struct others others;
    int64_t epoch; /* of shard 0; 0: it is not ours */
    int64_t others_mono_ms;
    int64_t write_mono_ms; /* no write before */
    bool greeted;
    bool failing;
};

/* ---- looking ----------------------------------------------------------------------------------------------------- */

/* By the clock of the database, as far as the node knows how far its own is ahead. */
static int64_t read_now_ms(struct history *h)
{
    return clock_wall_ms(h->clock) - counters_get(h->counters, COUNTER_CLOCK_DIFFERENCE);
}

static void greet(struct history *h, int64_t now_ms)
{
    struct buf data = {0};

    member_object(&data, NULL);
    member_text(&data, "version", h->opts.version);
    member_text(&data, "run", h->opts.incarnation);
    member_object_end(&data);
    events_post(&h->events,
                &(struct event_row){.at_ms = now_ms,
                                    .kind = EVENT_NODE_JOINED,
                                    .node = h->opts.node_name,
                                    .shard = -1,
                                    .data = buf_failed(&data) ? NULL : data.data},
                "%s has started (version %s, run %s).", h->opts.node_name, h->opts.version, h->opts.incarnation);
    buf_fini(&data);
    h->greeted = true;
}

static void look(struct history *h, int64_t now_ms)
{
    struct counters *c = h->counters;
    int64_t moves =
        counters_get(c, COUNTER_TAKEOVERS) + counters_get(c, COUNTER_HANDOVERS) + counters_get(c, COUNTER_SHARDS_LOST);
    struct changes_facts facts = {.now_ms = now_ms,
                                  .database_up = counters_get(c, COUNTER_DB_UP) == 1,
                                  .zookeeper_up = counters_get(c, COUNTER_COORD_UP) == 1,
                                  .guard_losses = counters_get(c, COUNTER_GUARD_LOSSES),
                                  .shard_losses = counters_get(c, COUNTER_SHARDS_LOST),
                                  .shards = h->shards};

    if (moves != h->moves)
        facts.count = h->opts.load_shards(h->opts.arg, h->shards);
    h->moves = moves;
    changes_look(&h->changes, &facts, &h->events);
    minutes_look(&h->minutes, c, now_ms);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static enum err write_waiting(struct history *h, struct store_session *s, int64_t now_ms, struct errctx *ec)
{
    struct event_row rows[EVENTS_BATCH];
    size_t minutes = h->minutes.count, n;
    enum err e = store_write_minutes(s, h->opts.incarnation, h->minutes.waiting, minutes, ec);

    if (!e)
        minutes_drop(&h->minutes, minutes);
    while (!e && (n = events_peek(&h->events, rows)) > 0) {
        e = store_write_events(s, rows, n, ec);
        if (!e)
            events_drop(&h->events, n, h->opts.node_name, now_ms);
    }
    return e;
}

static void note(struct history *h, enum err e, const struct errctx *ec)
{
    if (e && !h->failing)
        log_warn("history", "event=history_failing error=%s effect=%s", log_quote(ec->text).s,
                 log_quote("events and minutes wait").s);
    else if (!e && h->failing)
        log_info("history", "event=history_working");
    h->failing = e != ERR_OK;
}

static enum err write_all(struct history *h, bool others, int64_t now_ms, struct errctx *ec)
{
    struct store_session *s = NULL;
    enum err e = store_take_session(h->opts.store, SESSION_CLAIM, &s, ec);

    if (!e)
        e = write_waiting(h, s, now_ms, ec);
    if (!e && others)
        e = others_step(&h->others, s, h->clock, now_ms, now_ms - h->changes.back_ms > CALM_MS, &h->others_mono_ms, ec);
    store_give_session(h->opts.store, s);
    return e;
}

/* ---- turns ------------------------------------------------------------------------------------------------------- */

static bool has_others_due(struct history *h)
{
    int64_t epoch = h->opts.get_epoch(h->opts.arg);

    if (epoch && epoch != h->epoch) {
        others_forget(&h->others);
        h->others_mono_ms = clock_mono_ms(h->clock) + SETTLE_MS;
    }
    h->epoch = epoch;
    return epoch && clock_mono_ms(h->clock) >= h->others_mono_ms;
}

int64_t history_turn(struct history *h)
{
    int64_t now_ms = read_now_ms(h), mono_ms = clock_mono_ms(h->clock), wait_ms;
    struct errctx ec = {0};
    bool others;
    enum err e;

    if (!h->greeted)
        greet(h, now_ms);
    look(h, now_ms);
    others = has_others_due(h);
    if (mono_ms < h->write_mono_ms || counters_get(h->counters, COUNTER_DB_UP) != 1 ||
        (h->events.count == 0 && h->minutes.count == 0 && !others))
        return LOOK_MS;
    e = write_all(h, others, now_ms, &ec);
    note(h, e, &ec);
    if (e)
        h->write_mono_ms = clock_mono_ms(h->clock) + RETRY_MS;
    wait_ms = h->epoch && !e ? h->others_mono_ms - clock_mono_ms(h->clock) : LOOK_MS;
    return wait_ms < OTHERS_PIECE_MS ? OTHERS_PIECE_MS : wait_ms < LOOK_MS ? wait_ms : LOOK_MS;
}

/* The last words of a node that ends as it should. */
static void end(void *history)
{
    struct history *h = history;
    int64_t now_ms = read_now_ms(h);
    struct errctx ec = {0};
    enum err e;

    look(h, now_ms);
    minutes_end(&h->minutes, h->counters, now_ms);
    events_post(&h->events,
                &(struct event_row){.at_ms = now_ms, .kind = EVENT_NODE_LEFT, .node = h->opts.node_name, .shard = -1},
                "%s has stopped normally.", h->opts.node_name);
    if (counters_get(h->counters, COUNTER_DB_UP) != 1)
        return;
    e = write_all(h, /*others=*/false, now_ms, &ec);
    note(h, e, &ec);
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

enum err history_create(const struct history_opts *opts, const struct clock *clock, struct counters *counters,
                        struct history **out, struct errctx *ec)
{
    struct history *h = calloc(1, sizeof *h);

    if (!h)
        return err_set(ec, ERR_NOMEM, "history: out of memory");
    h->opts = *opts;
    h->clock = clock;
    h->counters = counters;
    h->moves = -1;
    changes_init(&h->changes, opts->node_name);
    others_init(&h->others, opts->node_name, opts->incarnation);
    worker_init(&h->worker, clock);
    *out = h;
    return ERR_OK;
}

WORKER_LIFE(history, "history", end)

void history_destroy(struct history *h)
{
    if (!h)
        return;
    others_fini(&h->others);
    worker_fini(&h->worker);
    free(h);
}

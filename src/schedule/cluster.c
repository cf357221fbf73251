/* SPDX-License-Identifier: MIT */
#include "schedule/cluster.h"
#include "shardwheel/store/cluster.h"

#include <inttypes.h>
#include <stdlib.h>

#define CLOCK_END_MS 800 /* a difference that goes to and fro about the limit is one difference */
#define FORGET_EVERY_MS 60000

struct cluster {
    struct cluster_opts opts;  /* [const] */
    const struct clock *clock; /* [const] */
    struct counters *counters; /* [const] */
    struct worker worker;      /* [const] locks by itself */
    struct mutex lock;         /* rank LOCK_SCHEDULE; never held across a database call or a callback */
    struct cond wake;          /* with lock: calling has changed */
    bool suspended;            /* [lock] */
    bool calling;              /* [lock] a function of opts is being called */
    int shards;                /* [lock] that the node works with */
    int wanted;                /* [lock] see cluster_get_wanted_shards */

    struct store_session *session; /* [cluster] and all that follows */
    int64_t started_ms;            /* of the database's clock; 0 until the first turn */
    int64_t forgot_mono_ms;
    int64_t clock_ms; /* how far our clock is ahead */
    int owned;        /* as counted last */
    int released;     /* told to opts.release, not yet written back; or -1 */
    bool drained;
    bool has_beat; /* the row is there, as far as we know */
    bool clock_differs;
    bool failing; /* a failure that is not the database's absence was logged */
};

enum err cluster_create(const struct cluster_opts *opts, const struct clock *clock, struct counters *counters,
                        struct cluster **out, struct errctx *ec)
{
    struct cluster *c = calloc(1, sizeof *c);

    if (!c)
        return err_set(ec, ERR_NOMEM, "cluster: out of memory");
    c->opts = *opts;
    c->clock = clock;
    c->counters = counters;
    mutex_init(&c->lock, LOCK_SCHEDULE);
    cond_init(&c->wake);
    worker_init(&c->worker, clock);
    c->shards = opts->shards;
    c->released = -1;
    c->forgot_mono_ms = clock_mono_ms(clock);
    *out = c;
    return ERR_OK;
}

void cluster_destroy(struct cluster *c)
{
    if (!c)
        return;
    worker_fini(&c->worker);
    cond_fini(&c->wake);
    mutex_fini(&c->lock);
    free(c);
}

int cluster_get_wanted_shards(struct cluster *c)
{
    int wanted;

    mutex_lock(&c->lock);
    wanted = c->wanted;
    mutex_unlock(&c->lock);
    return wanted;
}

void cluster_suspend(struct cluster *c)
{
    mutex_lock(&c->lock);
    c->suspended = true;
    while (c->calling)
        cond_wait(&c->wake, &c->lock);
    mutex_unlock(&c->lock);
}

void cluster_resume(struct cluster *c, int shards)
{
    mutex_lock(&c->lock);
    c->suspended = false;
    c->shards = shards;
    c->wanted = 0;
    mutex_unlock(&c->lock);
}

/* ---- a turn ------------------------------------------------------------------------------------------------------ */

/* True: call, then end_call. */
static bool begin_call(struct cluster *c)
{
    bool go;

    mutex_lock(&c->lock);
    go = !c->suspended;
    c->calling = go;
    mutex_unlock(&c->lock);
    return go;
}

static void end_call(struct cluster *c)
{
    mutex_lock(&c->lock);
    c->calling = false;
    cond_broadcast(&c->wake);
    mutex_unlock(&c->lock);
}

/* The database away is told by the ring; what else goes wrong, such as a missing right, is told here, once. */
static bool note_result(struct cluster *c, enum err e, const struct errctx *ec)
{
    bool away = e == ERR_LOST || e == ERR_UNKNOWN || e == ERR_TIMEOUT || e == ERR_CONFLICT;

    if (!e)
        return true;
    if (!away && !c->failing)
        log_warn("schedule",
                 "event=cluster_failed error=%s effect=\"tried again; shardwheelctl cannot reach this node\"",
                 log_quote(ec->text).s);
    c->failing = c->failing || !away;
    store_give_session(c->opts.store, c->session);
    c->session = NULL;
    return false;
}

/* A slow answer says little about the clocks: half of the time it took may have passed before or after they were
 * read. */
static void note_clock(struct cluster *c, int64_t before_ms, int64_t now_ms, int64_t after_ms)
{
    int64_t doubt_ms = (after_ms - before_ms) / 2;
    int64_t size_ms;

    c->clock_ms = before_ms + doubt_ms - now_ms;
    size_ms = (c->clock_ms < 0 ? -c->clock_ms : c->clock_ms) - doubt_ms;
    counters_set(c->counters, COUNTER_CLOCK_DIFFERENCE, c->clock_ms);
    if (!c->clock_differs && size_ms > CLUSTER_CLOCK_MS) {
        c->clock_differs = true;
        log_warn("schedule",
                 "event=clock_differs by_ms=%" PRId64 " effect=\"this node sends fires by its own clock\" "
                 "hint=\"run NTP on this node and on the database's\"",
                 c->clock_ms);
    } else if (c->clock_differs && size_ms < CLOCK_END_MS) {
        c->clock_differs = false;
        log_info("schedule", "event=clock_agrees by_ms=%" PRId64, c->clock_ms);
    }
}

static bool load_view(struct cluster *c, struct cluster_view *view)
{
    int64_t before_ms, after_ms;
    struct errctx ec = {0};
    enum err e = ERR_OK;

    if (!c->session)
        e = store_take_session(c->opts.store, SESSION_CLAIM, &c->session, &ec);
    /* Connects anew if need be, so that the clocks are compared by a round trip and nothing else. */
    if (!e)
        e = store_ping(c->session, &ec);
    before_ms = clock_wall_ms(c->clock);
    if (!e)
        e = store_load_cluster(c->session, c->opts.incarnation, view, &ec);
    after_ms = clock_wall_ms(c->clock);
    if (!note_result(c, e, &ec))
        return false;
    note_clock(c, before_ms, view->now_ms, after_ms);
    if (c->started_ms == 0)
        c->started_ms = view->now_ms;
    return true;
}

static void take_drain(struct cluster *c, const struct cluster_view *view)
{
    /* Without a row the wish of before holds: somebody took this node for gone. */
    if (view->known && view->drain != c->drained) {
        c->drained = view->drain;
        log_info("schedule", "event=%s",
                 c->drained ? "drained effect=\"this node hands its shards over\"" : "undrained");
    }
    c->opts.drained(c->opts.arg, c->drained);
}

static void take_release(struct cluster *c, const struct cluster_view *view, int shards)
{
    if (view->release_shard < 0) {
        c->released = -1;
        return;
    }
    if (view->release_shard == c->released)
        return; /* told already; it is still to be written back */
    c->released = view->release_shard;
    if (c->released < shards)
        c->opts.release(c->opts.arg, c->released);
}

/* Tells the node what the database says. True when the wish is to be worked on. */
static bool act(struct cluster *c, const struct cluster_view *view)
{
    bool same, wish;
    int shards;

    mutex_lock(&c->lock);
    shards = c->shards;
    /* 0: somebody has emptied the table; there is nothing to go over to. */
    same = view->shards == shards || view->shards < 1 || view->shards > STORE_SHARDS_MAX;
    c->wanted = same || c->suspended ? 0 : view->shards;
    mutex_unlock(&c->lock);
    /* Nonsense that somebody wrote into the table by hand could never be carried out: nobody stops for it. */
    wish = same && view->wish.shards > 0 && view->wish.shards <= STORE_SHARDS_MAX;
    if (!begin_call(c)) {
        c->owned = 0; /* what this node had is being taken apart */
        return false;
    }
    take_drain(c, view);
    take_release(c, view, shards);
    c->opts.hold(c->opts.arg, wish ? view->wish.last_s : INT64_MAX);
    c->owned = c->opts.count_owned(c->opts.arg);
    end_call(c);
    return wish;
}

static bool write_beat(struct cluster *c)
{
    struct node_beat beat = {.incarnation = c->opts.incarnation,
                             .node = c->opts.node_name,
                             .url = c->opts.url,
                             .version = c->opts.version,
                             .started_ms = c->started_ms,
                             .clock_ms = c->clock_ms,
                             .owned = c->owned,
                             .drain = c->drained,
                             .released = c->released};
    struct errctx ec = {0};

    if (!note_result(c, store_write_beat(c->session, &beat, &ec), &ec))
        return false;
    c->has_beat = true;
    c->released = -1; /* the same shard may be asked for anew */
    if (clock_mono_ms(c->clock) - c->forgot_mono_ms < FORGET_EVERY_MS)
        return true;
    c->forgot_mono_ms = clock_mono_ms(c->clock);
    return note_result(c, store_forget_nodes(c->session, CLUSTER_FORGET_MS, &ec), &ec);
}

static void log_step(const struct reshard_wish *wish, const struct reshard_step *step)
{
    switch (step->outcome) {
    case RESHARD_WAITING:
    case RESHARD_GONE: break;
    case RESHARD_DONE:
        log_info("schedule", "event=reshard from=%d to=%d last_second=%" PRId64, step->shards, wish->shards,
                 wish->last_s);
        break;
    case RESHARD_POSTPONED:
        log_warn("schedule",
                 "event=reshard_postponed from=%d to=%d try=%d last_second=%" PRId64 " next_second=%" PRId64
                 " cursors_off=%s",
                 step->shards, wish->shards, wish->tries, wish->last_s, step->last_s, log_quote(step->where).s);
        break;
    case RESHARD_GIVEN_UP:
        log_error("schedule",
                  "event=reshard_given_up from=%d to=%d tries=%d last_second=%" PRId64
                  " cursors_off=%s effect=\"the number of shards does not change\" hint=\"look for a shard without an "
                  "owner, or a node whose clock is far from that of the database\"",
                  step->shards, wish->shards, wish->tries, wish->last_s, log_quote(step->where).s);
        break;
    }
}

/* True when something has changed: look again at once. */
static bool work_on(struct cluster *c, const struct reshard_wish *wish)
{
    struct reshard_step step = {0};
    struct errctx ec = {0};

    if (!note_result(c, store_step_reshard(c->session, wish, &step, &ec), &ec))
        return false;
    log_step(wish, &step);
    return step.outcome != RESHARD_WAITING;
}

int64_t cluster_turn(struct cluster *c)
{
    struct cluster_view view;
    bool wish;

    if (!load_view(c, &view))
        return CLUSTER_BEAT_MS;
    wish = act(c, &view);
    if (!write_beat(c))
        return wish ? CLUSTER_CHANGE_MS : CLUSTER_BEAT_MS;
    if (c->failing)
        log_info("schedule", "event=cluster_recovered");
    c->failing = false;
    if (wish && work_on(c, &view.wish))
        return 0;
    return view.wish.shards || cluster_get_wanted_shards(c) ? CLUSTER_CHANGE_MS : CLUSTER_BEAT_MS;
}

/* ---- the thread -------------------------------------------------------------------------------------------------- */

static void say_goodbye(void *arg)
{
    struct cluster *c = arg;
    struct errctx ec = {0};

    /* Only with a session that worked a second ago: the stop does not wait for a database that is away. */
    if (c->session && c->has_beat && store_delete_node(c->session, c->opts.incarnation, &ec))
        log_warn("schedule", "event=cluster_failed error=%s effect=\"this node's row stays for 10 minutes\"",
                 log_quote(ec.text).s);
    store_give_session(c->opts.store, c->session);
    c->session = NULL;
}

WORKER_LIFE(cluster, "cluster", say_goodbye)

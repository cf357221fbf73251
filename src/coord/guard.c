/* SPDX-License-Identifier: MIT */
/* The guard beside Java admins: asks for the row, holds it, shows the others that it is held. */
#include "shardwheel/coord.h"
#include "shardwheel/store/guard.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_MS 500
#define LOOK_MS 200     /* how soon a request that waits notices a stop */
#define BOOK_MS 1000    /* between two writings of our row while we ask */
#define WAIT_MS 130000  /* the server gives a request up after 120 s */
#define OVERLAP_MS 3000 /* claims that began under our guard alone are over when another's has been there for so long */
#define CLEAN_TURNS 100
#define IN_WAY_TURNS 3     /* how often we look whether somebody wants the table to himself */
#define VIEW_STALE_MS 5000 /* what was seen of others says nothing any more */

struct guard {
    struct store *store;         /* [const] */
    const struct clock *clock;   /* [const] */
    struct counters *counters;   /* [const] may be NULL */
    char incarnation[33];        /* [const] */
    struct worker worker;        /* [const] locks by itself */
    bool is_keeping;             /* [main] guard_may_end has said no */
    struct mutex lock;           /* rank LOCK_COORD */
    bool held;                   /* [lock] */
    int others;                  /* [lock] other nodes alive, at seen_mono_ms */
    int64_t seen_mono_ms;        /* [lock] 0: never */
    int64_t other_held_mono_ms;  /* [lock] another node has held the guard since; 0: none does */
    _Atomic bool refusing;       /* [atomic] claims were refused; relaxed: it only says whether a change was logged */
    struct store_session *link;  /* [guard thread] asks for the row and holds it */
    struct store_session *book;  /* [guard thread] writes and reads the table */
    int64_t connection;          /* [guard thread] of link */
    bool failing;                /* [guard thread] a failure was logged and has not ended */
    int64_t asked_since_mono_ms; /* [guard thread] 0: not asking */
};

enum err guard_create(struct store *store, const char *incarnation, const struct clock *clock,
                      struct counters *counters, struct guard **out, struct errctx *ec)
{
    struct guard *g = calloc(1, sizeof *g);

    if (!g)
        return err_set(ec, ERR_NOMEM, "guard: out of memory");
    g->store = store;
    g->clock = clock;
    g->counters = counters;
    snprintf(g->incarnation, sizeof g->incarnation, "%s", incarnation);
    mutex_init(&g->lock, LOCK_COORD);
    worker_init(&g->worker, clock);
    counters_set(counters, COUNTER_GUARD_WANTED, 1);
    *out = g;
    return ERR_OK;
}

void guard_destroy(struct guard *g)
{
    if (!g)
        return;
    worker_fini(&g->worker);
    mutex_fini(&g->lock);
    free(g);
}

/* ---- for others ------------------------------------------------------------------------------------------------ */

void guard_note_claim(struct guard *g, enum err e)
{
    bool refused = e == ERR_GUARD;

    if (refused)
        counters_add(g->counters, COUNTER_CLAIMS_UNGUARDED, 1);
    if (e && e != ERR_GUARD && e != ERR_UNKNOWN)
        return; /* it did not come so far */
    if (atomic_load_explicit(&g->refusing, memory_order_relaxed) == refused ||
        atomic_exchange_explicit(&g->refusing, refused, memory_order_relaxed) == refused)
        return;
    if (refused)
        log_warn("schedule", "event=planning_held_up why=\"no node keeps Java admins on standby at the moment\" "
                             "effect=\"nothing is planned until one does; planned fires are sent\"");
    else
        log_info("schedule", "event=planning_goes_on");
}

bool guard_may_end(struct guard *g)
{
    int64_t now = clock_mono_ms(g->clock);
    bool needed;

    mutex_lock(&g->lock);
    needed = g->held && g->others > 0 && now - g->seen_mono_ms < VIEW_STALE_MS &&
             (!g->other_held_mono_ms || now - g->other_held_mono_ms < OVERLAP_MS);
    mutex_unlock(&g->lock);
    if (needed && !g->is_keeping)
        log_info("coord", "event=guard_kept why=\"other nodes rely on it and wait for their own guard\"");
    g->is_keeping = needed;
    return !needed;
}

/* ---- the thread ------------------------------------------------------------------------------------------------ */

static void set_held(struct guard *g, bool held)
{
    mutex_lock(&g->lock);
    g->held = held;
    mutex_unlock(&g->lock);
    counters_set(g->counters, COUNTER_GUARD_HELD, held);
    counters_set(g->counters, COUNTER_GUARD_SINCE, held ? clock_wall_ms(g->clock) : 0);
}

/* One line when it begins, one when it ends. */
static void note_failure(struct guard *g, const struct errctx *ec)
{
    if (!g->failing)
        log_warn("coord", "event=guard_failed error=%s effect=\"tried again\"", log_quote(ec->text).s);
    g->failing = true;
}

static void drop_link(struct guard *g)
{
    store_give_session(g->store, g->link);
    g->link = NULL;
}

/* Our row, and what others show: with connection 0 that we ask, else that we hold. */
static enum err write_book(struct guard *g, int64_t connection, int64_t proven_ms, struct errctx *ec)
{
    int nodes = 0, held = 0;
    int64_t now;
    enum err e = ERR_OK;

    if (!g->book)
        e = store_take_session(g->store, SESSION_GUARD, &g->book, ec);
    if (!e)
        e = store_write_guard(g->book, g->incarnation, connection, proven_ms, ec);
    if (!e)
        e = store_count_guards(g->book, g->incarnation, &nodes, &held, ec);
    if (e)
        return e;
    now = clock_mono_ms(g->clock);
    mutex_lock(&g->lock);
    g->others = nodes;
    g->seen_mono_ms = now;
    if (held == 0)
        g->other_held_mono_ms = 0;
    else if (!g->other_held_mono_ms)
        g->other_held_mono_ms = now;
    mutex_unlock(&g->lock);
    return ERR_OK;
}

static void remove_row(struct guard *g)
{
    struct errctx ec = {0};

    if (g->book && store_delete_guard(g->book, g->incarnation, &ec))
        log_info("coord", "event=guard_row_left error=%s effect=\"another node removes it\"", log_quote(ec.text).s);
}

static enum err ask(struct guard *g, struct errctx *ec)
{
    enum err e = store_take_session(g->store, SESSION_GUARD, &g->link, ec);

    if (!e)
        e = store_ask_guard(g->link, g->incarnation, &g->connection, ec);
    if (e == ERR_OK && !g->asked_since_mono_ms)
        g->asked_since_mono_ms = clock_mono_ms(g->clock);
    return e;
}

/* The server does not look at the connection of a session that waits for a row, and we hear nothing from one that it
 * has lost: so each looks after the other. */
static enum err look_after_request(struct guard *g, struct errctx *ec)
{
    bool alive = true;
    enum err e = write_book(g, 0, 0, ec);

    if (!e)
        e = store_check_asking(g->book, g->incarnation, g->connection, &alive, ec);
    if (e == ERR_OK && !alive)
        return err_set(ec, ERR_LOST, "the session that asks for the guard has ended");
    if (e)
        note_failure(g, ec); /* the request stands all the same */
    return ERR_OK;
}

/* Until the row is ours, or the node stops; then *proven_ms stays 0. */
static enum err wait_for_row(struct guard *g, int64_t *proven_ms, struct errctx *ec)
{
    int64_t begin = clock_mono_ms(g->clock), look = begin + BOOK_MS;
    bool told = false, held = false;

    while (!worker_is_stopping(&g->worker)) {
        enum err e = store_wait_guard(g->link, g->incarnation, LOOK_MS, &held, proven_ms, ec);

        if (e || held)
            return e;
        if (clock_mono_ms(g->clock) - begin > WAIT_MS)
            return err_set(ec, ERR_TIMEOUT, "no answer to the request for the guard");
        if (clock_mono_ms(g->clock) < look)
            continue;
        if (!told)
            log_info("coord", "event=guard_waits why=\"a Java admin is before this node\"");
        told = true;
        e = look_after_request(g, ec);
        if (e)
            return e;
        look = clock_mono_ms(g->clock) + BOOK_MS;
    }
    return ERR_OK;
}

/* A request that waits would keep its place at the server, and its row, after we are gone. */
static void cancel_request(struct guard *g)
{
    struct errctx ec = {0};
    enum err e = ERR_OK;

    if (!g->book)
        e = store_take_session(g->store, SESSION_GUARD, &g->book, &ec);
    if (!e)
        e = store_kill_session(g->book, g->connection, &ec);
    if (e)
        log_info("coord", "event=guard_request_left error=%s effect=\"the server ends it within 2 minutes\"",
                 log_quote(ec.text).s);
}

static bool is_in_way(struct guard *g)
{
    struct errctx ec = {0};
    bool in_way = false;

    return g->book && store_is_guard_in_way(g->book, &in_way, &ec) == ERR_OK && in_way;
}

/* Who changes or rebuilds the table of the row waits for all that hold it, for as long as a node lives; and all that
 * ask for it then wait for him. Our row goes first: a claim that looked at it is over before the guard is. Asked for
 * again at once, we are behind him. */
static bool give_way(struct guard *g)
{
    struct errctx ec = {0};

    if (store_delete_guard(g->book, g->incarnation, &ec)) {
        note_failure(g, &ec);
        return false;
    }
    log_info("coord",
             "event=guard_gives_way why=\"another session waits to change xxl_job_lock\" "
             "effect=\"asked for again in %d s\"",
             OVERLAP_MS / 1000);
    set_held(g, false);
    (void)worker_pause_until(&g->worker, clock_mono_ms(g->clock) + OVERLAP_MS);
    store_end_guard(g->link, g->incarnation);
    drop_link(g);
    return true;
}

/* Until it is lost, given up for a moment, or the node stops. The row must be written for claims to be allowed, here
 * and elsewhere. */
static enum err hold(struct guard *g, int64_t proven_ms, struct errctx *ec)
{
    set_held(g, true);
    log_info("coord", "event=guard_held waited_ms=%" PRId64, clock_mono_ms(g->clock) - g->asked_since_mono_ms);
    g->asked_since_mono_ms = 0;
    for (unsigned turn = 0;; turn++) {
        struct errctx row = {0};
        enum err e = write_book(g, g->connection, proven_ms, &row);

        if (e == ERR_OK && turn % CLEAN_TURNS == 0)
            e = store_delete_guard(g->book, NULL, &row);
        if (e)
            note_failure(g, &row);
        else
            g->failing = false;
        if (worker_is_stopping(&g->worker))
            return ERR_OK;
        if (turn % IN_WAY_TURNS == IN_WAY_TURNS - 1 && is_in_way(g) && give_way(g))
            return ERR_OK;
        e = store_ping_guard(g->link, &proven_ms, ec);
        if (e)
            return e;
    }
}

static void lose(struct guard *g, const struct errctx *ec)
{
    set_held(g, false);
    counters_add(g->counters, COUNTER_GUARD_LOSSES, 1);
    log_warn("coord", "event=guard_lost error=%s effect=\"asked for again; nothing is planned while no node has it\"",
             log_quote(ec->text).s);
}

/* One time from asking to losing it. Returns whether it was held. */
static bool serve(struct guard *g, enum err *e, struct errctx *ec)
{
    int64_t proven_ms = 0;

    *e = ask(g, ec);
    if (*e == ERR_OK)
        *e = wait_for_row(g, &proven_ms, ec);
    if (*e)
        return false;
    if (!proven_ms) {
        cancel_request(g);
        return false;
    }
    *e = hold(g, proven_ms, ec);
    return true;
}

static int64_t guard_turn(struct guard *g)
{
    struct errctx ec = {0};
    enum err e;
    bool was_held;

    if (worker_is_stopping(&g->worker))
        return 0;
    was_held = serve(g, &e, &ec);
    if (was_held && e)
        lose(g, &ec);
    else if (e && e != ERR_CONFLICT) /* waited in vain for 2 minutes: asked again */
        note_failure(g, &ec);
    if (e)
        drop_link(g);
    return e && !was_held ? RETRY_MS : 0;
}

static void end(void *arg)
{
    struct guard *g = arg;

    /* Our row goes first: a claim of another node that begins now looks for another guard. */
    remove_row(g);
    if (g->link)
        store_end_guard(g->link, g->incarnation);
    drop_link(g);
    store_give_session(g->store, g->book);
    set_held(g, false);
    log_info("coord", "event=guard_ended");
}

void guard_set_watch(struct guard *g, struct watch *watch)
{
    g->worker.watch = watch;
}

WORKER_LIFE(guard, "guard", end)

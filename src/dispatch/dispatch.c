/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shardwheel/executor/answer.h"
#include "dispatch/asking.h"
#include "dispatch/delivery.h"
#include "dispatch/loop.h"
#include "shardwheel/executor/request.h"
#include "shardwheel/dispatch.h"
#include "shardwheel/job.h"
#include "shardwheel/job/times.h"
#include "shardwheel/route.h"
#include "shardwheel/store/conn.h"

#define SENDING_MS 5 /* between two turns of a loop that has more to send */
/* Of results_max, but no less than so many: beyond it nothing more goes out. So few that callbacks come before their
 * results stop waiting (writer.c) where the database writes some thousands a second. */
#define HELD_SHARE 8
#define HELD_MIN 1000

struct dispatch {
    struct post_office office; /* [const] but for its counts */
    struct routes *routes;     /* [ring] the thread that calls dispatch_submit */
    size_t held_at;            /* [const] so many requests under way and results: nothing more goes out */
    bool full;                 /* [ring] there was no room, and it was logged */
    struct loop **loops;       /* [const] */
    size_t loop_count;         /* [const] */
    struct mutex lock;         /* rank LOCK_DISPATCH */
    struct cond all_done;      /* with lock */
    struct log_limit drop_log; /* [atomic] */
    struct mutex
        direct_lock;       /* rank LOCK_DISPATCH; never together with `lock`; held for one pick, which calls nobody */
    struct routes *direct; /* [direct_lock] the state of the routes for direct fires */
};

/* ---- the way of a fire in ---------------------------------------------------------------------------------------- */

static void end_at_once(struct dispatch *d, struct delivery *delivery, const char *reason, struct result_list *ended)
{
    d->office.opts.sent(d->office.opts.arg, delivery->fire->shard, 1);
    delivery->counted_sent = true;
    delivery_end(&d->office, delivery, DELIVERY_FAILED, CODE_FAILED, reason);
    result_list_add(ended, &delivery->result);
}

/* Where a fire goes. True: it keeps the address that it was planned for, and delivery->address_hash is set. */
typedef bool (*choose_fn)(struct dispatch *d, struct delivery *delivery, struct route_choice *out);

/* Any thread. A round for each: the next one may come with a newer list of the same group. */
static bool choose_for_direct(struct dispatch *d, struct delivery *delivery, struct route_choice *out)
{
    int64_t now_mono_ms = clock_mono_ms(d->office.clock);

    mutex_lock(&d->direct_lock);
    routes_begin(d->direct, now_mono_ms);
    routes_pick(d->direct, delivery->fire, delivery->fire->job->route, delivery->group, out);
    mutex_unlock(&d->direct_lock);
    return false;
}

/* [ring] */
static bool choose_for_planned(struct dispatch *d, struct delivery *delivery, struct route_choice *out)
{
    struct fire *fire = delivery->fire;

    if (delivery->fire->target) /* what is kept of the group's list is not for this one */
        return choose_for_direct(d, delivery, out);
    if (!routes_can_keep(d->routes, fire, delivery->group, &delivery->address_hash)) {
        routes_pick(d->routes, fire, fire->job->route, delivery->group, out);
        return false;
    }
    out->address = fire->address;
    out->ask = ROUTE_ASK_NOBODY;
    return true;
}

/* Puts the delivery into the list of its loop, or ends it. */
static void route_delivery(struct dispatch *d, struct delivery *delivery, choose_fn choose,
                           struct delivery_list *for_loops, struct result_list *ended)
{
    struct route_choice choice;
    bool kept = choose(d, delivery, &choice);

    delivery_route(&d->office, delivery, choice.address, kept);
    if (choice.ask)
        delivery->asking = asking_create(choice.ask);
    /* relaxed: a bound that may be off by what other threads end right now. */
    if (choice.ask && !delivery->asking) {
        end_at_once(d, delivery, "not sent: out of memory", ended);
    } else if (d->office.opts.bean_only && strcmp(delivery->fire->job->glue_type, "BEAN") != 0) {
        end_at_once(d, delivery, "not sent: GLUE is switched off (shardwheel.glue=bean-only)", ended);
    } else if (!choice.ask && !choice.address) {
        delivery->away = delivery->group && delivery->group->count == 0;
        end_at_once(d, delivery, choice.reason, ended);
    } else if (!choice.ask && !request_is_address(choice.address)) {
        end_at_once(d, delivery, "not sent: the address is no http URL", ended);
    } else if (atomic_load_explicit(&d->office.unended, memory_order_relaxed) > d->office.opts.queue_max) {
        end_at_once(d, delivery, "not sent: too many fires waiting", ended);
    } else {
        if (choice.ask) /* the loop of the first one, where it begins to ask */
            delivery->address_hash = route_hash_address(delivery->group->addresses[0]);
        else if (!kept)
            delivery->address_hash = route_hash_address(choice.address);
        log_fire(DISPATCH, "event=fire_taken log_id=%" PRId64 " job=%" PRId64 " address=%s", delivery->fire->log_id,
                 delivery->fire->job_id, log_quote(delivery->address).s);
        delivery_list_add(&for_loops[delivery->address_hash % d->loop_count], delivery);
    }
}

/* Out of memory for even a result: the row stays open, and the log says so. */
static void give_up_fire(struct dispatch *d, struct fire *fire)
{
    log_limited(&d->drop_log, d->office.clock, LOG_ERROR, "dispatch",
                "event=fire_dropped reason=out_of_memory job=%lld log=%lld", (long long)fire->job_id,
                (long long)fire->log_id);
    d->office.opts.sent(d->office.opts.arg, fire->shard, 1);
    counters_add(d->office.counters, COUNTER_FIRES_FAILED, 1);
    fire_destroy(fire);
}

static struct batch *begin_batch(struct dispatch *d, int64_t deadline_boot_ms, int64_t asked_wall_us)
{
    struct executor_access *access = access_box_get(d->office.opts.access);
    struct batch *batch = access ? batch_create(&d->office, access, deadline_boot_ms, asked_wall_us) : NULL;

    executor_access_unref(access);
    return batch;
}

/* Takes the fires; the batch, too, which may be NULL when memory is out. */
static void submit(struct dispatch *d, struct fire *list, struct batch *batch, choose_fn choose)
{
    struct result_list ended = {0};
    struct delivery_list *for_loops = calloc(d->loop_count, sizeof *for_loops);
    uint64_t number = results_note_sent(d->office.results, list);

    while (list) {
        struct fire *fire = list;
        struct delivery *delivery;

        list = fire->next;
        fire->next = NULL;
        delivery = batch && for_loops ? delivery_create(&d->office, batch, fire) : NULL;
        if (delivery)
            delivery->result.sent = number;
        number++;
        if (delivery)
            route_delivery(d, delivery, choose, for_loops, &ended);
        else
            give_up_fire(d, fire);
    }
    for (size_t i = 0; for_loops && i < d->loop_count; i++) {
        if (loop_post(d->loops[i], &for_loops[i]))
            continue;
        for (struct delivery *late; (late = delivery_list_take(&for_loops[i])) != NULL;)
            end_at_once(d, late, "not sent: this node is stopping", &ended);
    }
    results_post(d->office.results, &ended);
    free(for_loops);
    batch_put(batch);
}

void dispatch_submit(struct dispatch *d, struct fire *list, int64_t deadline_boot_ms)
{
    routes_begin(d->routes, clock_mono_ms(d->office.clock));
    submit(d, list, begin_batch(d, deadline_boot_ms, 0), choose_for_planned);
}

void dispatch_compare_sent(struct dispatch *d)
{
    results_compare(d->office.results);
}

bool dispatch_is_comparing_sent(struct dispatch *d)
{
    return results_is_comparing(d->office.results);
}

void dispatch_submit_direct(struct dispatch *d, struct fire *list)
{
    int64_t deadline_boot_ms = clock_boot_ms(d->office.clock) + SEND_DEADLINE_MS;

    submit(d, list, begin_batch(d, deadline_boot_ms, clock_wall_us(d->office.clock)), choose_for_direct);
}

/* ---- the way out ------------------------------------------------------------------------------------------------- */

static void on_done(void *arg, struct result *result)
{
    (void)arg;
    delivery_destroy(delivery_of(result));
}

/* Any thread: so many rows are complete. */
static void on_committed(void *arg, size_t count)
{
    struct dispatch *d = arg;

    /* seq_cst: pairs with reserve_room in loop.c. */
    atomic_fetch_sub_explicit(&d->office.room_used, count, memory_order_seq_cst);
    for (size_t i = 0; i < d->loop_count; i++)
        loop_wake_if_starved(d->loops[i]);
    mutex_lock(&d->lock);
    /* Under the lock, so that the waiter cannot look before and sleep after. release: pairs with
     * dispatch_count_open. */
    if (atomic_fetch_sub_explicit(&d->office.open, count, memory_order_release) == count)
        cond_broadcast(&d->all_done);
    mutex_unlock(&d->lock);
}

bool dispatch_has_room(struct dispatch *d)
{
    /* relaxed: a count of the moment. */
    size_t used = atomic_load_explicit(&d->office.room_used, memory_order_relaxed);
    bool full = used >= d->held_at;

    if (full && !d->full) {
        log_warn("dispatch", "event=results_full count=%zu effect=%s", used,
                 log_quote("fires are sent only as fast as results are written").s);
        d->full = true;
    } else if (d->full && used <= d->held_at / 2) {
        d->full = false;
        log_info("dispatch", "event=results_have_room count=%zu", used);
    }
    return !full;
}

size_t dispatch_count_open(struct dispatch *d)
{
    /* acquire: pairs with the release in on_committed, so that who sees them gone also sees what their results
     * changed. */
    return atomic_load_explicit(&d->office.open, memory_order_acquire);
}

bool dispatch_drain(struct dispatch *d, int64_t deadline_mono_ms)
{
    bool done;

    /* release: pairs with the acquire in the loops. */
    atomic_store_explicit(&d->office.draining, true, memory_order_release);
    for (size_t i = 0; i < d->loop_count; i++)
        loop_wake(d->loops[i]);
    results_hurry(d->office.results);
    mutex_lock(&d->lock);
    while (dispatch_count_open(d) > 0 && cond_wait_until(&d->all_done, &d->lock, deadline_mono_ms))
        ;
    done = dispatch_count_open(d) == 0;
    mutex_unlock(&d->lock);
    return done;
}

bool dispatch_is_sending(struct dispatch *d)
{
    int64_t sent_mono_ms = atomic_load_explicit(&d->office.sending_mono_ms, memory_order_relaxed);

    return clock_mono_ms(d->office.clock) - sent_mono_ms <= SENDING_MS;
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

static void ignore_sent(void *arg, int shard, size_t count)
{
    (void)arg, (void)shard, (void)count;
}

static enum err create_parts(struct dispatch *d, const struct dispatch_opts *opts, struct errctx *ec)
{
    enum err e = routes_create(0, &d->routes, ec);

    if (!e)
        e = routes_create(0, &d->direct, ec);
    if (e)
        return e;
    d->loops = calloc((size_t)opts->threads, sizeof(struct loop *));
    if (!d->loops)
        return err_set(ec, ERR_NOMEM, "out of memory for %d loops", opts->threads);
    for (; d->loop_count < (size_t)opts->threads; d->loop_count++) {
        e = loop_create(&d->office, (int)d->loop_count, &d->loops[d->loop_count], ec);
        if (e)
            return e;
    }
    d->office.loops = d->loops;
    d->office.loop_count = d->loop_count;
    return ERR_OK;
}

enum err dispatch_create(const struct dispatch_opts *opts, struct registry *registry, struct results *results,
                         const struct clock *clock, struct counters *counters, struct dispatch **out, struct errctx *ec)
{
    struct dispatch *d;
    enum err e;

    if (opts->threads < 1 || opts->per_address < 1 || opts->queue_max < 1 || opts->results_max < 1)
        return err_set(ec, ERR_INPUT,
                       "dispatch: threads, requests per address and both queue limits must be at least 1");
    d = calloc(1, sizeof *d);
    if (!d)
        return err_set(ec, ERR_NOMEM, "out of memory for dispatch");
    mutex_init(&d->lock, LOCK_DISPATCH);
    mutex_init(&d->direct_lock, LOCK_DISPATCH);
    cond_init(&d->all_done);
    d->office = (struct post_office){
        .registry = registry,
        .results = results,
        .clock = clock,
        .counters = counters,
        .opts = *opts,
        .sending_mono_ms = INT64_MIN / 2,
    };
    if (!opts->sent)
        d->office.opts.sent = ignore_sent;
    d->held_at = opts->results_max / HELD_SHARE;
    if (d->held_at < HELD_MIN)
        d->held_at = opts->results_max < HELD_MIN ? opts->results_max : HELD_MIN;
    e = create_parts(d, opts, ec);
    if (e) {
        dispatch_destroy(d);
        return e;
    }
    results_serve(results, on_done, on_committed, d);
    *out = d;
    return ERR_OK;
}

enum err dispatch_start(struct dispatch *d, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < d->loop_count && !e; i++)
        e = loop_start(d->loops[i], ec);
    if (e) {
        dispatch_stop(d);
        dispatch_join(d);
        return err_wrap(ec, e, "start dispatch");
    }
    return ERR_OK;
}

void dispatch_stop(struct dispatch *d)
{
    for (size_t i = 0; i < d->loop_count; i++)
        loop_stop(d->loops[i]);
}

void dispatch_join(struct dispatch *d)
{
    for (size_t i = 0; i < d->loop_count; i++)
        loop_join(d->loops[i]);
}

void dispatch_destroy(struct dispatch *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->loop_count; i++)
        loop_destroy(d->loops[i]);
    free(d->loops);
    routes_destroy(d->routes);
    routes_destroy(d->direct);
    cond_fini(&d->all_done);
    mutex_fini(&d->direct_lock);
    mutex_fini(&d->lock);
    free(d);
}

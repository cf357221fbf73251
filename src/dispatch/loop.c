/* SPDX-License-Identifier: MIT */
#include "dispatch/loop_impl.h"

#include <stdio.h>
#include <stdlib.h>

#include "shardwheel/executor/http_client.h"
#include "dispatch/asking.h"
#include "dispatch/lanes.h"
#include "dispatch/questions.h"
#include "shardwheel/job/codes.h"
#include "shardwheel/watch.h"

#define SWEEP_EVERY_MS 200
#define LANE_IDLE_MS (120 * INT64_C(1000))
#define STARTS_PER_TURN 512
#define SENDING_AGE_MS 500

/* ---- from the inbox to the lanes --------------------------------------------------------------------------------- */

/* Seconds come in order, but for late fires, which are due already and do not get here. */
static void put_in_pending(struct loop *loop, struct delivery *d)
{
    struct delivery **at = &loop->pending.head;

    if (!loop->pending.tail || loop->pending.tail->fire->due_s <= d->fire->due_s) {
        delivery_list_add(&loop->pending, d);
        return;
    }
    while ((*at)->fire->due_s <= d->fire->due_s)
        at = &(*at)->next;
    d->next = *at;
    d->prev = d->next->prev;
    d->next->prev = d;
    *at = d;
    loop->pending.count++;
}

/* Makes ready ahead of time what does not depend on it. */
static void prepare(struct loop *loop, struct delivery *d)
{
    const struct job_spec *job = d->fire->job;

    d->loop = loop;
    if (!job->glue_source || !job->glue_source[0]) /* a source may be large, and many may wait */
        (void)loop_prepare_body(loop, d);          /* without memory it is tried again when it is due */
}

/* False when the delivery has ended. */
static bool expect(struct loop *loop, struct delivery *d, bool warm)
{
    d->trigger_path = registry_is_trigger_path(loop->office->registry, d->address);
    if (lanes_expect(loop->lanes, d, warm) == ERR_OK)
        return true;
    loop_end(loop, d, DELIVERY_FAILED, CODE_FAILED, TEXT_NO_MEMORY);
    return false;
}

/* ---- fires whose executors are asked first ----------------------------------------------------------------------- */

/* Asks the next address in the loop that has it, or ends the delivery: nobody is left. */
static void ask_next(struct loop *loop, struct delivery *d)
{
    struct post_office *office = loop->office;
    int64_t left_ms = d->batch->deadline_boot_ms - clock_boot_ms(office->clock);
    const char *address =
        asking_get_next(d->asking, d->group, clock_mono_ms(office->clock), left_ms, d->batch->access->timeout_ms);
    uint64_t hash;
    struct loop *there;

    if (!address) {
        d->away = d->asking->ask == ROUTE_ASK_ALIVE; /* who is busy is there */
        loop_end(loop, d, DELIVERY_FAILED, CODE_FAILED, asking_get_reason(d->asking));
        return;
    }
    hash = route_hash_address(address);
    there = office->loops[hash % office->loop_count];
    if (there != loop) {
        struct delivery_list one = {0};

        delivery_list_add(&one, d);
        if (!loop_post(there, &one))
            loop_end(loop, d, DELIVERY_FAILED, CODE_FAILED, TEXT_STOPPING);
    } else if (questions_put(loop->questions, d, address, hash) != ERR_OK) {
        loop_end(loop, d, DELIVERY_FAILED, CODE_FAILED, TEXT_NO_MEMORY);
    }
}

static void on_answered(void *arg, struct delivery *d, bool yes)
{
    struct loop *loop = arg;

    if (loop_is_draining(loop)) {
        loop_end(loop, d, DELIVERY_FAILED, CODE_FAILED, TEXT_STOPPING);
    } else if (!yes) {
        ask_next(loop, d);
    } else {
        delivery_route(loop->office, d, d->group->addresses[d->asking->at], /*kept=*/false);
        d->address_hash = route_hash_address(d->address);
        if (expect(loop, d, /*warm=*/false))
            lanes_add(loop->lanes, d, clock_mono_ms(loop->office->clock));
    }
}

/* ---- the inbox --------------------------------------------------------------------------------------------------- */

/* Its second has come. */
static void let_go(struct loop *loop, struct delivery *d, int64_t now_mono_ms)
{
    if (d->address)
        lanes_add(loop->lanes, d, now_mono_ms);
    else
        ask_next(loop, d);
}

static void take_inbox(struct loop *loop, bool ending)
{
    struct delivery_list taken;
    struct delivery *d;
    int64_t now_mono_ms = clock_mono_ms(loop->office->clock), now_wall_s;

    mutex_lock(&loop->lock);
    taken = loop->inbox;
    loop->inbox = (struct delivery_list){0};
    loop->closed = ending;
    mutex_unlock(&loop->lock);
    now_wall_s = time_floor_div(clock_wall_us(loop->office->clock), 1000000);
    while ((d = delivery_list_take(&taken)) != NULL) {
        bool is_due = d->batch->asked_wall_us || d->fire->due_s <= now_wall_s;

        prepare(loop, d);
        if (d->address && !expect(loop, d, /*warm=*/!is_due))
            continue;
        if (is_due)
            let_go(loop, d, now_mono_ms);
        else
            put_in_pending(loop, d);
    }
}

static void move_due(struct loop *loop)
{
    int64_t now_mono_ms = clock_mono_ms(loop->office->clock), now_wall_s;

    if (!loop->pending.head)
        return;
    now_wall_s = time_floor_div(clock_wall_us(loop->office->clock), 1000000);
    while (loop->pending.head && loop->pending.head->fire->due_s <= now_wall_s)
        let_go(loop, delivery_list_take(&loop->pending), now_mono_ms);
}

/* ---- sending ----------------------------------------------------------------------------------------------------- */

static bool try_reserve_room(struct post_office *office)
{
    /* seq_cst: see reserve_room. */
    if (atomic_fetch_add_explicit(&office->room_used, 1, memory_order_seq_cst) < office->opts.results_max)
        return true;
    atomic_fetch_sub_explicit(&office->room_used, 1, memory_order_seq_cst);
    return false;
}

/* Room for one more result. Without room the loop says so and looks once more: whoever frees room does it first and
 * looks for starved loops then (loop_wake_if_starved), so one of the two sees the other. */
static bool reserve_room(struct loop *loop)
{
    if (try_reserve_room(loop->office))
        return true;
    atomic_store_explicit(&loop->starved, true, memory_order_seq_cst);
    return try_reserve_room(loop->office);
}

/* Whoever asks dispatch_is_sending shall leave the cores to a second's fires; not to a queue that an executor is too
 * slow for, whose fires are older. relaxed: a hint. */
static void note_sending(struct loop *loop, int64_t started_due_s)
{
    if (lanes_count_waiting(loop->lanes) > 0 &&
        clock_wall_ms(loop->office->clock) - started_due_s * 1000 < SENDING_AGE_MS)
        atomic_store_explicit(&loop->office->sending_mono_ms, clock_mono_ms(loop->office->clock), memory_order_relaxed);
}

/* True when there may be more to start at once: a turn between lets the first ones out before the last are made. */
static bool send_waiting(struct loop *loop)
{
    struct delivery *d;
    int64_t now_mono_ms = clock_mono_ms(loop->office->clock);
    int64_t due_s = 0; /* of the last one that was started */

    for (int i = 0; i < STARTS_PER_TURN; i++) {
        if (lanes_count_waiting(loop->lanes) == 0 || !reserve_room(loop))
            return false;
        d = lanes_take_next(loop->lanes, now_mono_ms);
        if (!d) { /* all lanes have their windows under way */
            atomic_fetch_sub_explicit(&loop->office->room_used, 1, memory_order_seq_cst);
            note_sending(loop, due_s);
            return false;
        }
        d->has_room = true;
        due_s = d->fire->due_s;
        loop_send(loop, d);
    }
    note_sending(loop, due_s);
    return true;
}

static void end_list(struct loop *loop, struct delivery_list *list, enum delivery_outcome outcome, const char *text)
{
    struct delivery *d;

    while ((d = delivery_list_take(list)) != NULL)
        loop_end(loop, d, outcome, CODE_FAILED, text);
}

static void drop_pending(struct delivery *d, struct delivery_list *out)
{
    if (d->lane)
        lanes_cancel(d);
    delivery_list_add(out, d);
}

/* What must not or can not be sent any more. */
static void sweep(struct loop *loop, int64_t now_mono_ms)
{
    int64_t now_boot_ms = clock_boot_ms(loop->office->clock);
    struct delivery_list expired = {0}, kept = {0};
    struct delivery *d;

    loop->next_sweep_mono_ms = now_mono_ms + SWEEP_EVERY_MS;
    lanes_take_expired(loop->lanes, now_boot_ms, &expired);
    for (d = expired.head; d; d = d->next)
        d->away = lanes_is_away(d->lane); /* a host that is off: each try takes its time, and few are under way */
    while ((d = delivery_list_take(&loop->pending)) != NULL) {
        if (d->batch->deadline_boot_ms < now_boot_ms)
            drop_pending(d, &expired);
        else
            delivery_list_add(&kept, d);
    }
    loop->pending = kept;
    questions_sweep(loop->questions, now_mono_ms, now_boot_ms, &expired);
    end_list(loop, &expired, DELIVERY_TOO_LATE, TEXT_TOO_LATE);
    lanes_drop_idle(loop->lanes, now_mono_ms - LANE_IDLE_MS);
}

static void end_unsent(struct loop *loop)
{
    struct delivery_list unsent = {0};
    struct delivery *d;

    lanes_take_expired(loop->lanes, INT64_MAX, &unsent);
    while ((d = delivery_list_take(&loop->pending)) != NULL)
        drop_pending(d, &unsent);
    questions_take_all(loop->questions, &unsent);
    end_list(loop, &unsent, DELIVERY_FAILED, TEXT_STOPPING);
}

/* ---- the thread -------------------------------------------------------------------------------------------------- */

static void show_gauge(struct loop *loop, enum counter_id id, size_t *shown, size_t now)
{
    if (*shown != now)
        counters_add(loop->office->counters, id, (int64_t)now - (int64_t)*shown);
    *shown = now;
}

/* Hands on what came of this turn. */
static void end_turn(struct loop *loop)
{
    loop_flush_sent(loop);
    if (loop->ended.head)
        results_post(loop->office->results, &loop->ended);
    show_gauge(loop, COUNTER_DISPATCH_QUEUED, &loop->shown_queued,
               lanes_count_waiting(loop->lanes) + loop->pending.count + questions_count(loop->questions));
    show_gauge(loop, COUNTER_DISPATCH_IN_FLIGHT, &loop->shown_in_flight, http_client_count(loop->http));
}

static int64_t get_wait_us(const struct loop *loop, int64_t now_mono_ms)
{
    int64_t wait_us = (loop->next_sweep_mono_ms - now_mono_ms) * 1000;
    bool has_work = loop->pending.head || lanes_count_waiting(loop->lanes) > 0 || http_client_count(loop->http) > 0 ||
                    questions_count(loop->questions) > 0;

    if (!has_work)
        return 60 * INT64_C(1000000);
    if (loop->pending.head) {
        int64_t due_us = loop->pending.head->fire->due_s * 1000000 - clock_wall_us(loop->office->clock);
        if (due_us < wait_us)
            wait_us = due_us;
    }
    return wait_us > 0 ? wait_us : 0;
}

static void run(void *arg)
{
    struct loop *loop = arg;
    struct watch_mark mark;
    int64_t now_mono_ms;
    bool more;

    watch_enter(loop->office->opts.watch, &mark, loop->name);
    /* acquire: pairs with the release in loop_stop. */
    while (!atomic_load_explicit(&loop->stopping, memory_order_acquire)) {
        take_inbox(loop, /*ending=*/false);
        move_due(loop);
        if (loop_is_draining(loop))
            end_unsent(loop);
        more = send_waiting(loop);
        now_mono_ms = clock_mono_ms(loop->office->clock);
        if (now_mono_ms >= loop->next_sweep_mono_ms)
            sweep(loop, now_mono_ms);
        end_turn(loop);
        http_client_turn(loop->http, more ? 0 : get_wait_us(loop, now_mono_ms));
    }
    take_inbox(loop, /*ending=*/true);
    end_unsent(loop);
    http_client_abort(loop->http);
    end_turn(loop);
    watch_leave(loop->office->opts.watch, &mark);
}

bool loop_post(struct loop *loop, struct delivery_list *list)
{
    bool was_empty, closed;

    if (!list->head)
        return true;
    mutex_lock(&loop->lock);
    closed = loop->closed;
    was_empty = !loop->inbox.head;
    if (!closed)
        delivery_list_join(&loop->inbox, list);
    mutex_unlock(&loop->lock);
    if (!closed && was_empty)
        loop_wake(loop);
    return !closed;
}

void loop_wake(struct loop *loop)
{
    http_client_wake(loop->http);
}

void loop_wake_if_starved(struct loop *loop)
{
    /* seq_cst: pairs with reserve_room. */
    if (atomic_exchange_explicit(&loop->starved, false, memory_order_seq_cst))
        loop_wake(loop);
}

enum err loop_create(struct post_office *office, int number, struct loop **out, struct errctx *ec)
{
    struct loop *loop = calloc(1, sizeof *loop);
    enum err e;

    if (!loop)
        return err_set(ec, ERR_NOMEM, "out of memory for a dispatch loop");
    loop->office = office;
    loop->number = number;
    mutex_init(&loop->lock, LOCK_DISPATCH);
    e = http_client_create(office->clock, office->opts.resolver, &loop->http, ec);
    if (!e)
        http_client_set_networks(loop->http, office->opts.networks);
    if (!e)
        e = lanes_create(office->opts.per_address, loop->http, &loop->lanes, ec);
    if (!e)
        e = questions_create(office, loop->http, loop->lanes, on_answered, loop, &loop->questions, ec);
    if (e) {
        loop_destroy(loop);
        return e;
    }
    *out = loop;
    return ERR_OK;
}

enum err loop_start(struct loop *loop, struct errctx *ec)
{
    snprintf(loop->name, sizeof loop->name, "dispatch-%d", loop->number);
    return thread_start(&loop->thread, loop->name, run, loop, ec);
}

void loop_stop(struct loop *loop)
{
    /* release: pairs with the acquire in run. */
    atomic_store_explicit(&loop->stopping, true, memory_order_release);
    loop_wake(loop);
}

void loop_join(struct loop *loop)
{
    thread_join(&loop->thread);
}

void loop_destroy(struct loop *loop)
{
    struct delivery *d;

    if (!loop)
        return;
    while ((d = delivery_list_take(&loop->inbox)) != NULL) /* never started */
        delivery_destroy(d);
    questions_destroy(loop->questions);
    lanes_destroy(loop->lanes);
    http_client_destroy(loop->http);
    buf_fini(&loop->headers);
    buf_fini(&loop->body);
    mutex_fini(&loop->lock);
    free(loop);
}

/* SPDX-License-Identifier: MIT */
#include "shardwheel/follow/triggers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "follow/trigger_plan.h"
#include "shardwheel/record.h"
#include "shardwheel/store/run.h"

#define BATCH_MAX 200    /* calls in a transaction */
#define CONFLICT_TRIES 6 /* of a transaction, after a deadlock or the like */
#define LATE_PAUSE_MS 1000
#define IDLE_MS 60000      /* a call wakes us */
#define DOUBT_PAUSE_MS 100 /* between two looks for what came of a transaction */

enum call_state { CALL_QUEUED, CALL_WRITING, CALL_DONE };

/* One call. It is its waiter's but while the writer has it: who gives up then leaves it to the writer. */
struct call {
    TAILQ_ENTRY(call) queued;   /* [lock] */
    struct cond done;           /* with lock: the waiter waits here */
    struct trigger_order order; /* [const] the texts are ours */
    enum call_state state;      /* [lock] */
    bool abandoned;             /* [lock] */
    enum err result;            /* [writer] until DONE, as all below */
    struct errctx ec;
    struct trigger_made made;
    struct fire *fires; /* planned, not sent */
};
TAILQ_HEAD(call_queue, call);

struct triggers {
    struct triggers_opts opts;   /* [const] */
    const struct clock *clock;   /* [const] */
    struct worker worker;        /* [const] locks by itself */
    struct direct_sender sender; /* [thread] */
    struct direct_doubt doubt;   /* [thread] */
    struct mutex lock;           /* rank LOCK_COMPLETE; never held across a store call */
    struct call_queue queue;     /* [lock] oldest first */
    size_t waiting;              /* [lock] their number */
};

/* ---- calls (any thread) ------------------------------------------------------------------------------------------ */

static void destroy_call(struct call *call)
{
    if (!call)
        return;
    fire_destroy_list(call->fires);
    free(call->made.log_ids);
    free((char *)call->order.param);
    free((char *)call->order.addresses);
    cond_fini(&call->done);
    free(call);
}

static enum err create_call(const struct trigger_order *order, struct call **out, struct errctx *ec)
{
    struct call *call = calloc(1, sizeof *call);

    if (!call)
        return err_set(ec, ERR_NOMEM, "out of memory");
    cond_init(&call->done);
    call->order = *order;
    call->order.param = str_copy(order->param);
    call->order.addresses = str_copy(order->addresses);
    if ((order->param && !call->order.param) || (order->addresses && !call->order.addresses)) {
        destroy_call(call);
        return err_set(ec, ERR_NOMEM, "out of memory");
    }
    *out = call;
    return ERR_OK;
}

/* [lock] */
static enum err enqueue(struct triggers *t, struct call *call, struct errctx *ec)
{
    if (worker_is_stopping(&t->worker))
        return err_set(ec, ERR_STATE, "this node is shutting down");
    if (t->waiting >= TRIGGERS_WAITING_MAX)
        return err_set(ec, ERR_BUSY, "too many triggers wait for the database (%zu)", t->waiting);
    TAILQ_INSERT_TAIL(&t->queue, call, queued);
    if (t->waiting++ == 0)
        worker_poke(&t->worker);
    return ERR_OK;
}

/* [lock] */
static void unqueue(struct triggers *t, struct call *call)
{
    TAILQ_REMOVE(&t->queue, call, queued);
    t->waiting--;
}

/* [lock] False when the writer has the call, and frees it. */
static bool wait_for_end(struct triggers *t, struct call *call, int64_t deadline_mono_ms)
{
    while (call->state != CALL_DONE) {
        if (cond_wait_until(&call->done, &t->lock, deadline_mono_ms) || call->state == CALL_DONE)
            continue;
        if (clock_mono_ms(t->clock) < deadline_mono_ms)
            continue;
        if (call->state == CALL_WRITING) {
            call->abandoned = true;
            return false;
        }
        unqueue(t, call);
        call->result = err_set(&call->ec, ERR_TIMEOUT, "the database did not accept it within %d s; nothing was fired",
                               TRIGGERS_WAIT_MS / 1000);
        return true;
    }
    return true;
}

static enum err take_outcome(struct call *call, struct trigger_made *out, struct errctx *ec)
{
    enum err e = call->result;

    if (e)
        err_set(ec, e, "%s", call->ec.text);
    else if (out) {
        *out = call->made;
        call->made = (struct trigger_made){0};
    }
    destroy_call(call);
    return e;
}

enum err triggers_fire(struct triggers *t, const struct trigger_order *order, struct trigger_made *out,
                       struct errctx *ec)
{
    struct call *call = NULL;
    bool ours;
    enum err e = trigger_check(order, ec);

    if (!e)
        e = create_call(order, &call, ec);
    if (e)
        return e;
    mutex_lock(&t->lock);
    e = enqueue(t, call, ec);
    ours = e || wait_for_end(t, call, clock_mono_ms(t->clock) + TRIGGERS_WAIT_MS);
    mutex_unlock(&t->lock);
    if (e) {
        destroy_call(call);
        return e;
    }
    if (!ours)
        return err_set(ec, ERR_UNKNOWN, "the database has not answered for %d s: the log says whether it was fired",
                       TRIGGERS_WAIT_MS / 1000);
    return take_outcome(call, out, ec);
}

/* ---- writing (thread) -------------------------------------------------------------------------------------------- */

struct batch {
    struct call *calls[BATCH_MAX];
    size_t count;
    int64_t ids[BATCH_MAX]; /* of the jobs, ascending and distinct */
    size_t id_count;
    struct job_spec *jobs[BATCH_MAX];
    struct group_spec *groups[BATCH_MAX];
};

static void take_batch(struct triggers *t, struct batch *b)
{
    struct call *call;

    *b = (struct batch){0};
    mutex_lock(&t->lock);
    while (b->count < BATCH_MAX && (call = TAILQ_FIRST(&t->queue)) != NULL) {
        unqueue(t, call);
        call->state = CALL_WRITING;
        b->calls[b->count++] = call;
    }
    mutex_unlock(&t->lock);
}

static void end_call(struct triggers *t, struct call *call, enum err e, const struct errctx *ec)
{
    mutex_lock(&t->lock);
    call->result = e;
    if (e && ec != &call->ec)
        err_set(&call->ec, e, "%s", ec->text);
    call->state = CALL_DONE;
    bool abandoned = call->abandoned;
    if (!abandoned)
        cond_signal(&call->done);
    mutex_unlock(&t->lock);
    if (abandoned)
        destroy_call(call);
}

static enum err read_targets(struct batch *b, struct store_session *s, size_t *param_max, struct errctx *ec)
{
    enum err e = store_load_param_max(s, param_max, ec);

    for (size_t i = 0; i < b->count; i++)
        b->ids[i] = b->calls[i]->order.job_id;
    b->id_count = sort_distinct(b->ids, b->count);
    return e ? e : store_load_targets(s, b->ids, b->id_count, b->jobs, b->groups, ec);
}

/* Each call gets its fires, or is ended with the reason why it has none. */
static void plan_calls(struct triggers *t, struct batch *b, size_t param_max)
{
    int64_t now_s = time_floor_div(clock_wall_ms(t->clock), 1000);
    size_t kept = 0;

    for (size_t i = 0; i < b->count; i++) {
        struct call *call = b->calls[i];
        int64_t *at = list_find(b->ids, b->id_count, sizeof *b->ids, call->order.job_id);
        enum err e = trigger_plan(&call->order, b->jobs[at - b->ids], b->groups[at - b->ids], param_max, now_s,
                                  &call->fires, &call->ec);
        if (e)
            end_call(t, call, e, &call->ec);
        else
            b->calls[kept++] = call;
    }
    b->count = kept;
    for (size_t i = 0; i < b->id_count; i++) {
        job_spec_unref(b->jobs[i]);
        group_spec_unref(b->groups[i]);
    }
}

/* Joins the fires of those calls. The ends of their parts are kept, so that they can be told apart again. */
static struct fire *join_fires(struct call **calls, size_t count, struct fire **ends)
{
    struct fire *list = NULL;

    for (size_t i = count; i-- > 0;) {
        ends[i] = calls[i]->fires;
        while (ends[i]->next)
            ends[i] = ends[i]->next;
        ends[i]->next = list;
        list = calls[i]->fires;
    }
    return list;
}

static enum err write_rows(struct triggers *t, struct store_session *s, struct call **calls, size_t count,
                           struct errctx *ec)
{
    struct fire *ends[BATCH_MAX];
    struct fire *list = join_fires(calls, count, ends);
    enum err e = ERR_OK;

    for (int i = 0; i < CONFLICT_TRIES; i++) {
        e = store_make_direct(s, list, t->opts.incarnation, ec);
        if (e != ERR_CONFLICT)
            break;
    }
    for (size_t i = 0; i < count; i++)
        ends[i]->next = NULL;
    return e;
}

/* The fires leave the call; it keeps their log ids. */
static enum err note_log_ids(struct call *call, struct errctx *ec)
{
    size_t n = 0;

    for (const struct fire *f = call->fires; f; f = f->next)
        n++;
    call->made.log_ids = calloc(n, sizeof *call->made.log_ids);
    if (!call->made.log_ids)
        return err_set(ec, ERR_NOMEM, "it was fired, but there is no memory to answer with its log id");
    for (const struct fire *f = call->fires; f; f = f->next)
        call->made.log_ids[call->made.count++] = f->log_id;
    return ERR_OK;
}

/* What came of the transaction that is in doubt: ERR_OK when it happened. Others wait meanwhile: the database is away,
 * and nothing could be written for them either. */
static enum err settle(struct triggers *t, struct errctx *ec)
{
    for (int last = 0;;) {
        struct store_session *s = NULL;
        bool sent = false, away;
        enum err e = store_take_session(t->opts.store, SESSION_NORMAL, &s, ec);

        away = e != ERR_OK;
        if (!e)
            e = direct_settle(&t->sender, s, t->opts.incarnation, &t->doubt, &sent, ec);
        store_give_session(t->opts.store, s);
        if (!e)
            return sent ? ERR_OK : err_set(ec, ERR_LOST, "the database lost it; nothing was fired");
        if (!worker_pause_until(&t->worker, clock_mono_ms(t->clock) + DOUBT_PAUSE_MS) &&
            (away || ++last == DOUBT_END_TRIES))
            return err_set(ec, ERR_UNKNOWN, "this node is stopping: the log says whether it was fired");
    }
}

static void fire_calls(struct triggers *t, struct store_session *s, struct call **calls, size_t count,
                       int64_t begun_boot_ms)
{
    struct fire *ends[BATCH_MAX], *list;
    struct errctx ec = {0};

    enum err e = write_rows(t, s, calls, count, &ec);
    if (e == ERR_INPUT && count > 1) { /* the database refuses one of them: each by itself */
        for (size_t i = 0; i < count; i++)
            fire_calls(t, s, calls + i, 1, begun_boot_ms);
        return;
    }
    if (!e || e == ERR_UNKNOWN) {
        for (size_t i = 0; i < count; i++)
            calls[i]->result = note_log_ids(calls[i], &calls[i]->ec);
        list = join_fires(calls, count, ends);
        for (size_t i = 0; i < count; i++)
            calls[i]->fires = NULL;
        if (!e) {
            direct_send(&t->sender, list, begun_boot_ms);
        } else {
            t->doubt = (struct direct_doubt){list, begun_boot_ms};
            e = settle(t, &ec);
        }
    }
    for (size_t i = 0; i < count; i++)
        end_call(t, calls[i], e ? e : calls[i]->result, e ? &ec : &calls[i]->ec);
}

static void fire_batch(struct triggers *t, struct batch *b)
{
    struct store_session *s = NULL;
    struct errctx ec = {0};
    size_t param_max = 0;
    int64_t begun_boot_ms = clock_boot_ms(t->clock);
    enum err e;

    e = store_take_session(t->opts.store, SESSION_NORMAL, &s, &ec);
    if (!e)
        e = read_targets(b, s, &param_max, &ec);
    if (!e)
        plan_calls(t, b, param_max);
    for (size_t i = 0; i < b->count && e; i++)
        end_call(t, b->calls[i], e, &ec);
    if (!e && b->count > 0)
        fire_calls(t, s, b->calls, b->count, begun_boot_ms);
    store_give_session(t->opts.store, s);
}

static int64_t triggers_turn(struct triggers *t)
{
    struct batch batch;
    bool any;

    take_batch(t, &batch);
    any = batch.count > 0;
    direct_end_late(&t->sender);
    if (any)
        fire_batch(t, &batch);
    return any ? 0 : t->sender.late ? LATE_PAUSE_MS : IDLE_MS;
}

/* What waits is refused. */
static void end(void *arg)
{
    struct triggers *t = arg;
    struct call *call;

    mutex_lock(&t->lock);
    while ((call = TAILQ_FIRST(&t->queue)) != NULL) {
        unqueue(t, call);
        call->result = err_set(&call->ec, ERR_STATE, "this node is shutting down");
        call->state = CALL_DONE;
        cond_signal(&call->done);
    }
    mutex_unlock(&t->lock);
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

enum err triggers_create(const struct triggers_opts *opts, const struct clock *clock, struct counters *counters,
                         struct triggers **out, struct errctx *ec)
{
    struct triggers *t = calloc(1, sizeof *t);

    if (!t)
        return err_set(ec, ERR_NOMEM, "out of memory for the triggers");
    t->opts = *opts;
    t->clock = clock;
    t->sender = (struct direct_sender){
        .store = opts->store, .clock = clock, .counters = counters, .submit = opts->submit, .arg = opts->arg};
    TAILQ_INIT(&t->queue);
    mutex_init(&t->lock, LOCK_COMPLETE);
    worker_init(&t->worker, clock);
    *out = t;
    return ERR_OK;
}

WORKER_LIFE(triggers, "triggers", end)

void triggers_destroy(struct triggers *t)
{
    if (!t)
        return;
    fire_destroy_list(t->doubt.list);
    direct_sender_fini(&t->sender);
    worker_fini(&t->worker);
    mutex_fini(&t->lock);
    free(t);
}

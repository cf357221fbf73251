/* SPDX-License-Identifier: MIT */
#include "record/batch.h"
#include "record/callback_writer.h"
#include "shardwheel/record.h"
#include "shardwheel/watch.h"

#include <inttypes.h>
#include <assert.h>
#include <stdlib.h>

#define QUEUE_BYTES_MAX (128u << 20) /* of submissions waiting */
#define WAIT_MS 1000                 /* a submission waits so long for its commit, then its sender is refused */
#define TELL_MS 50                   /* so long before that the writer tells the reason, where there is one */
/* The writer waits for more callbacks to be committed together, counted from when the oldest came; their senders wait
 * with it. */
#define GATHER_MS 20          /* for others to come */
#define GATHER_SUBMISSIONS 16 /* no longer when so many are there, */
#define GATHER_ENTRIES 1000   /* or so many callbacks in them */
/* Then it waits on while fires that are due are being sent. */
#define HOLD_MS 150         /* at most, GATHER_MS among them */
#define HOLD_SUBMISSIONS 32 /* no longer when so many HTTP threads wait */
#define HOLD_LOOK_MS 4      /* between two looks whether they still are */
#define RETRY_MIN_MS 20     /* a pause before a transaction that failed is tried again, twice as long each time */
#define RETRY_MAX_MS 200
#define DOUBT_MS 200 /* between two looks for children in doubt while no callback comes: they expire soon */

struct complete {
    struct complete_opts opts; /* [const] */
    const struct clock *clock; /* [const] */
    struct counters *counters; /* [const] */
    struct thread thread;      /* [const] after start */

    struct mutex lock;             /* rank LOCK_COMPLETE; never held across a store call */
    struct cond wake;              /* with lock: for the writer */
    struct submission_queue queue; /* [lock] not taken by the writer, oldest first */
    size_t queued_bytes;           /* [lock] */
    size_t queued;                 /* [lock] submissions */
    size_t queued_entries;         /* [lock] */
    bool stopping;                 /* [lock] */

    struct callback_writer writer; /* [thread] */
};

enum err complete_create(const struct complete_opts *opts, const struct clock *clock, struct counters *counters,
                         struct complete **out, struct errctx *ec)
{
    struct complete *c = calloc(1, sizeof *c);
    if (!c)
        return err_set(ec, ERR_NOMEM, "out of memory for the callback writer");
    c->opts = *opts;
    c->clock = clock;
    c->counters = counters;
    callback_writer_init(&c->writer, &c->opts, clock, counters);
    TAILQ_INIT(&c->queue);
    mutex_init(&c->lock, LOCK_COMPLETE);
    cond_init(&c->wake);
    *out = c;
    return ERR_OK;
}

void complete_destroy(struct complete *c)
{
    if (!c)
        return;
    callback_writer_fini(&c->writer);
    cond_fini(&c->wake);
    mutex_fini(&c->lock);
    free(c);
}

/* ---- submitting (any thread) ------------------------------------------------------------------------------------- */

/* [lock] Of a submission that comes into the queue (+1) or leaves it (-1). */
static void count_queued(struct complete *c, const struct submission *sub, int sign)
{
    c->queued += (size_t)sign;
    c->queued_bytes += (size_t)sign * sub->bytes;
    c->queued_entries += (size_t)sign * sub->count;
}

/* [lock] */
static bool has_gathered(const struct complete *c)
{
    return c->queued >= GATHER_SUBMISSIONS || c->queued_entries >= GATHER_ENTRIES;
}

/* [lock] */
static enum err enqueue(struct complete *c, struct submission *sub, struct errctx *ec)
{
    if (c->stopping)
        return err_set(ec, ERR_STATE, "this node is shutting down");
    if (c->queued_bytes + sub->bytes > QUEUE_BYTES_MAX && c->queued > 0)
        return err_set(ec, ERR_BUSY, "too many callbacks wait for the database (%zu bytes)", c->queued_bytes);
    TAILQ_INSERT_TAIL(&c->queue, sub, queued);
    count_queued(c, sub, 1);
    if (c->queued == 1 || has_gathered(c))
        cond_signal(&c->wake);
    return ERR_OK;
}

/* [lock] */
static void unqueue(struct complete *c, struct submission *sub)
{
    TAILQ_REMOVE(&c->queue, sub, queued);
    count_queued(c, sub, -1);
}

static enum err tell_late(struct errctx *ec)
{
    return err_set(ec, ERR_TIMEOUT, "the callbacks could not be stored within %d ms", WAIT_MS);
}

/* [lock] Waits for the writer's word or the deadline; true when the submission is ours again, false when the writer has
 * it and frees it. */
static bool wait_for_end(struct complete *c, struct submission *sub)
{
    while (sub->state != SUBMISSION_DONE) {
        if (cond_wait_until(&sub->done, &c->lock, sub->deadline_ms) || sub->state == SUBMISSION_DONE)
            continue;
        if (clock_mono_ms(c->clock) < sub->deadline_ms)
            continue;
        if (sub->state == SUBMISSION_QUEUED) {
            unqueue(c, sub);
            sub->result = tell_late(&sub->ec);
            return true;
        }
        sub->abandoned = true;
        return false;
    }
    return true;
}

int64_t complete_get_deadline(const struct complete *c)
{
    return clock_mono_ms(c->clock) + WAIT_MS;
}

enum err complete_submit(struct complete *c, struct callback_entry *entries, size_t count, int64_t deadline_mono_ms,
                         struct errctx *ec)
{
    struct submission *sub = NULL;
    if (!count)
        return ERR_OK;
    assert(count <= COMPLETE_ENTRIES_MAX);
    enum err e = submission_create(entries, count, &sub, ec);
    if (e) {
        counters_add(c->counters, COUNTER_CALLBACKS_REFUSED, (int64_t)count);
        return e;
    }
    for (size_t i = 0; i < count; i++)
        log_fire(RECORD, "event=callback_taken log_id=%" PRId64 " code=%d", entries[i].log_id, entries[i].code);
    int64_t start_us = clock_mono_ms(c->clock) * 1000;
    sub->deadline_ms = deadline_mono_ms;

    mutex_lock(&c->lock);
    e = enqueue(c, sub, ec);
    bool ours = e || wait_for_end(c, sub);
    mutex_unlock(&c->lock);

    if (!ours) {
        e = tell_late(ec);
    } else if (!e) {
        e = sub->result;
        if (e)
            err_set(ec, e, "%s", sub->ec.text);
        else
            submission_copy_outcomes(sub, entries);
    }
    if (ours)
        submission_destroy(sub);
    if (e)
        counters_add(c->counters, COUNTER_CALLBACKS_REFUSED, (int64_t)count);
    else
        counters_observe_us(c->counters, COUNTER_CALLBACK_TIME, clock_mono_ms(c->clock) * 1000 - start_us);
    return e;
}

/* ---- writing (thread) -------------------------------------------------------------------------------------------- */

/* [lock] When the oldest submission came; there is one. */
static int64_t get_since_ms(const struct complete *c)
{
    return TAILQ_FIRST(&c->queue)->deadline_ms - WAIT_MS;
}

/* [lock] Waits for the first submission, and for others to come along. Its waiter may give up meanwhile: then for the
 * next first. With children in doubt it waits for the first no longer than DOUBT_MS. */
static void gather(struct complete *c)
{
    int64_t look_ms = clock_mono_ms(c->clock) + DOUBT_MS;

    while (!c->stopping && !has_gathered(c)) {
        bool any = c->queued > 0;

        watch_pause(WATCH_FOREVER);
        if (!any && !callback_writer_has_children_left(&c->writer))
            cond_wait(&c->wake, &c->lock);
        else if (!cond_wait_until(&c->wake, &c->lock, any ? get_since_ms(c) + GATHER_MS : look_ms) &&
                 any == (c->queued > 0))
            break;
    }
    watch_step();
}

/* [lock] Fires that are due go first: storing what came of others takes as much of the cores as sending them. */
static void let_fires_pass(struct complete *c)
{
    int64_t now_ms = clock_mono_ms(c->clock);

    while (!c->stopping && c->queued > 0 && c->queued < HOLD_SUBMISSIONS && now_ms < get_since_ms(c) + HOLD_MS &&
           c->opts.is_sending(c->opts.arg)) {
        cond_wait_until(&c->wake, &c->lock, now_ms + HOLD_LOOK_MS);
        now_ms = clock_mono_ms(c->clock);
    }
}

/* [lock] More are there than one transaction waits for, or they came while the last one was being written. */
static bool is_behind(const struct complete *c)
{
    return has_gathered(c) || (c->queued > 0 && clock_mono_ms(c->clock) >= get_since_ms(c) + GATHER_MS);
}

/* Takes what is there, oldest first, as far as it fits. Waits for the first, and comes back without where children are
 * in doubt. False when there is none and none will come. */
static bool take_batch(struct complete *c, struct batch *batch)
{
    mutex_lock(&c->lock);
    bool behind = is_behind(c);
    do {
        gather(c);
        let_fires_pass(c);
    } while (c->queued == 0 && !c->stopping &&
             !callback_writer_has_children_left(&c->writer)); /* whoever waited may have given up meanwhile */
    batch->subs_count = batch->count = batch->bytes = 0;
    for (struct submission *sub; (sub = TAILQ_FIRST(&c->queue)) != NULL && batch_add(batch, sub);) {
        unqueue(c, sub);
        sub->state = SUBMISSION_WRITING;
    }
    bool goes_on = batch->subs_count > 0 || !c->stopping;
    mutex_unlock(&c->lock);
    if (behind)
        results_note_behind(c->opts.results);
    return goes_on;
}

/* [lock] */
static void finish(struct submission *sub, enum err e, const struct errctx *ec)
{
    if (sub->abandoned) {
        submission_destroy(sub);
        return;
    }
    sub->result = e;
    if (e && ec != &sub->ec)
        err_set(&sub->ec, e, "%s", ec->text);
    sub->state = SUBMISSION_DONE;
    cond_signal(&sub->done);
}

static void end_batch(struct complete *c, struct batch *batch, enum err e, const struct errctx *ec)
{
    mutex_lock(&c->lock);
    for (size_t i = 0; i < batch->subs_count; i++)
        finish(batch->subs[i], e ? e : batch->subs[i]->result, e ? ec : &batch->subs[i]->ec);
    mutex_unlock(&c->lock);
}

/* Takes out of a batch that cannot be written now those whose time is up; true when some are left. */
static bool drop_expired(struct complete *c, struct batch *batch, enum err e, const struct errctx *ec)
{
    int64_t now = clock_mono_ms(c->clock);
    mutex_lock(&c->lock);
    size_t kept = 0;
    for (size_t i = 0; i < batch->subs_count; i++) {
        struct submission *sub = batch->subs[i];
        if (sub->abandoned || now >= sub->deadline_ms - TELL_MS)
            finish(sub, e, ec);
        else
            batch->subs[kept++] = sub;
    }
    bool changed = kept != batch->subs_count;
    batch->subs_count = kept;
    mutex_unlock(&c->lock);
    if (changed)
        batch_fill(batch);
    return kept > 0;
}

/* Waits before the next try, but not beyond the time at which a waiter of the batch must be told; ends early when the
 * node stops, since then every waiter wants to go home. */
static void pause_writer(struct complete *c, const struct batch *batch, int64_t pause_ms)
{
    int64_t until = clock_mono_ms(c->clock) + pause_ms;
    for (size_t i = 0; i < batch->subs_count; i++) {
        if (batch->subs[i]->deadline_ms - TELL_MS < until)
            until = batch->subs[i]->deadline_ms - TELL_MS;
    }
    watch_pause(pause_ms);
    mutex_lock(&c->lock);
    while (!c->stopping && clock_mono_ms(c->clock) < until)
        cond_wait_until(&c->wake, &c->lock, until);
    mutex_unlock(&c->lock);
    watch_step();
}

static bool is_stopping(struct complete *c)
{
    mutex_lock(&c->lock);
    bool stopping = c->stopping;
    mutex_unlock(&c->lock);
    return stopping;
}

static void write_batch(struct complete *c, struct batch *batch)
{
    int64_t pause_ms = RETRY_MIN_MS;
    for (;;) {
        struct errctx ec;
        errctx_clear(&ec);
        enum err e = callback_writer_write(&c->writer, batch, &ec);
        if (!e) {
            end_batch(c, batch, ERR_OK, &ec);
            return;
        }
        if (is_stopping(c) || (e != ERR_LOST && e != ERR_UNKNOWN && e != ERR_CONFLICT && e != ERR_TIMEOUT)) {
            end_batch(c, batch, e, &ec);
            return;
        }
        pause_writer(c, batch, pause_ms);
        pause_ms = pause_ms * 2 > RETRY_MAX_MS ? RETRY_MAX_MS : pause_ms * 2;
        if (!drop_expired(c, batch, e, &ec))
            return;
    }
}

static void run_writer(void *arg)
{
    struct complete *c = arg;
    struct batch batch; /* some 80 KB: too much for the heap to refuse in the middle of the work */
    struct watch_mark mark;
    struct errctx ec;

    watch_enter(c->opts.watch, &mark, "callbacks");
    while (take_batch(c, &batch)) {
        errctx_clear(&ec);
        if (batch.subs_count > 0)
            write_batch(c, &batch);
        else
            /* An error: tried again; it was logged when the callbacks were refused. */
            (void)callback_writer_settle(&c->writer, &ec);
    }
    errctx_clear(&ec);
    if (callback_writer_end(&c->writer, &ec))
        log_warn("record", "event=children_left_open error=%s effect=%s", log_quote(ec.text).s,
                 log_quote("ended as delivery unknown by other nodes, or at the next start").s);
    watch_leave(c->opts.watch, &mark);
}

enum err complete_start(struct complete *c, struct errctx *ec)
{
    return thread_start(&c->thread, "callbacks", run_writer, c, ec);
}

void complete_stop(struct complete *c)
{
    mutex_lock(&c->lock);
    c->stopping = true;
    cond_broadcast(&c->wake);
    mutex_unlock(&c->lock);
}

void complete_join(struct complete *c)
{
    thread_join(&c->thread);
}

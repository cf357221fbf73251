/* SPDX-License-Identifier: MIT */
#include "dispatch/writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_MAX 1000
#define BATCH_WAIT_MS 50
#define CALLBACK_WAIT_MS 500
/* While callbacks are behind and a full batch of results waits for them: to write these by themselves would hold callbacks up more.
 * Not where it does not pay, because the jobs run for longer or call another node back. */
#define BEHIND_WAIT_MS 10000
#define BEHIND_MS 3000 /* so long after it was said: a transaction of callbacks and more */
#define BEHIND_LOOK_MS 50
#define PAYS_SHARE 4     /* when one of so many was paired lately, */
#define PAYS_OF_MAX 4000 /* of no more than so many */
#define RETRY_FIRST_MS 100
#define RETRY_MAX_MS 5000
#define PLAIN_MESSAGE "the database refused the text of this result"

struct writer {
    struct writer_opts opts;      /* [const] */
    struct thread thread;         /* [const] after start */
    struct mutex lock;            /* rank LOCK_DISPATCH; never held across a store call */
    struct cond changed;          /* with lock: first result, full batch, stop */
    struct delivery_list queue;   /* [lock] to be written, oldest first */
    struct delivery_list waiting; /* [lock] for their callbacks, oldest first */
    bool hurried;                 /* [lock] nothing waits any more */
    int64_t behind_mono_ms;       /* [lock] until then callbacks are behind */
    size_t left, left_paired;     /* [lock] of those that waited: done with lately, and paired among them */
    bool stopping;                /* [lock] */

    struct store_session *session; /* [writer] as all below; NULL until needed and after a fault */
    struct fire_result results[BATCH_MAX];
    uint64_t random;
    bool faulty; /* the last transaction failed: one log line for the fault, one for its end */
};

/* ---- waiting ------------------------------------------------------------------------------------------------------- */

/* [lock] */
static bool is_behind(const struct writer *w)
{
    return w->waiting.count >= BATCH_MAX && clock_mono_ms(w->opts.clock) < w->behind_mono_ms &&
           w->left_paired * PAYS_SHARE >= w->left;
}

/* [lock] How long a result waits now. */
static int64_t get_wait_ms(const struct writer *w)
{
    return is_behind(w) ? BEHIND_WAIT_MS : CALLBACK_WAIT_MS;
}

/* [lock] Those whose wait ends within the age of a batch come along with the first. */
static bool has_waited(const struct writer *w, int64_t wait_ms, int64_t now_mono_ms)
{
    return w->waiting.head && (w->hurried || w->stopping || w->waiting.count > w->opts.waiting_max ||
                               w->waiting.head->posted_mono_ms + wait_ms <= now_mono_ms);
}

/* [lock] It waits no longer. */
static void note_left(struct writer *w, struct delivery *d, bool paired)
{
    d->waits = false;
    if (w->left >= PAYS_OF_MAX) {
        w->left /= 2;
        w->left_paired /= 2;
    }
    w->left++;
    w->left_paired += paired;
}

/* [lock] */
static void take_waiting(struct writer *w, struct delivery_list *batch)
{
    struct delivery *d = delivery_list_take(&w->waiting);

    note_left(w, d, /*paired=*/false);
    delivery_list_add(batch, d);
}

/* [lock] Sleeps until a result must not wait any longer, or the writer is stopped. */
static void wait_for_first(struct writer *w)
{
    int64_t now_mono_ms = clock_mono_ms(w->opts.clock);

    while (!w->queue.head && !w->stopping && !has_waited(w, get_wait_ms(w), now_mono_ms)) {
        if (w->waiting.head)
            cond_wait_until(&w->changed, &w->lock,
                            is_behind(w) ? now_mono_ms + BEHIND_LOOK_MS
                                         : w->waiting.head->posted_mono_ms + CALLBACK_WAIT_MS);
        else
            cond_wait(&w->changed, &w->lock);
        now_mono_ms = clock_mono_ms(w->opts.clock);
    }
}

/* Waits for a full batch or the age of its first result. An empty list: stopped, and nothing is left. */
static struct delivery_list take_batch(struct writer *w)
{
    struct delivery_list batch = {0};
    int64_t deadline_mono_ms, wait_ms;

    mutex_lock(&w->lock);
    wait_for_first(w);
    deadline_mono_ms = clock_mono_ms(w->opts.clock) + BATCH_WAIT_MS;
    while (w->queue.head && w->queue.count < BATCH_MAX && !w->stopping &&
           cond_wait_until(&w->changed, &w->lock, deadline_mono_ms))
        ;
    wait_ms = get_wait_ms(w);
    /* Neither holds the other up: half of a full batch is of those that have waited for their callbacks. */
    while (batch.count < BATCH_MAX / 2 && has_waited(w, wait_ms, deadline_mono_ms))
        take_waiting(w, &batch);
    for (struct delivery *d; batch.count < BATCH_MAX && (d = delivery_list_take(&w->queue)) != NULL;)
        delivery_list_add(&batch, d);
    while (batch.count < BATCH_MAX && has_waited(w, wait_ms, deadline_mono_ms))
        take_waiting(w, &batch);
    mutex_unlock(&w->lock);
    return batch;
}

static bool is_stopping(struct writer *w)
{
    bool stopping;

    mutex_lock(&w->lock);
    stopping = w->stopping;
    mutex_unlock(&w->lock);
    return stopping;
}

/* Returns early when the writer is stopped. */
static void wait_before_retry(struct writer *w, int64_t delay_ms)
{
    int64_t deadline_mono_ms;

    w->random = w->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    deadline_mono_ms = clock_mono_ms(w->opts.clock) + delay_ms / 2 + (int64_t)((w->random >> 33) % (uint64_t)delay_ms);
    mutex_lock(&w->lock);
    while (!w->stopping && cond_wait_until(&w->changed, &w->lock, deadline_mono_ms))
        ;
    mutex_unlock(&w->lock);
}

static size_t count_waiting(struct writer *w)
{
    size_t count;

    mutex_lock(&w->lock);
    count = w->queue.count + w->waiting.count;
    mutex_unlock(&w->lock);
    return count;
}

/* ---- writing ------------------------------------------------------------------------------------------------------- */

/* One transaction. After a failure the session is given back, so that the next try gets a sound one. */
static enum err write_results(struct writer *w, const struct fire_result *results, size_t count, struct errctx *ec)
{
    enum err e = ERR_OK;

    errctx_clear(ec);
    if (!w->session)
        e = store_take_session(w->opts.store, SESSION_NORMAL, &w->session, ec);
    if (e) {
        w->session = NULL;
        return e == ERR_INPUT ? ERR_LOST : e; /* ERR_INPUT is for rows; this is none */
    }
    e = store_write_results(w->session, results, count, ec);
    if (e && e != ERR_INPUT) {
        store_give_session(w->opts.store, w->session);
        w->session = NULL;
    }
    return e;
}

static void note_success(struct writer *w, size_t count)
{
    if (w->faulty)
        log_info("dispatch", "event=results_written_again");
    w->faulty = false;
    counters_add(w->opts.counters, COUNTER_RESULTS_WRITTEN, (int64_t)count);
    counters_add(w->opts.counters, COUNTER_RESULT_BATCHES, 1);
}

static void note_failure(struct writer *w, enum err e, const struct errctx *ec)
{
    counters_add(w->opts.counters, COUNTER_RESULT_FAILURES, 1);
    if (!w->faulty)
        log_warn("dispatch", "event=results_not_written action=retry code=%s error=%s", err_name(e),
                 log_quote(ec->text).s);
    w->faulty = true;
}

/* Repeats until committed (ERR_OK) or refused (ERR_INPUT). Any other error: stopped, and the try after that failed too. */
static enum err write_patiently(struct writer *w, const struct fire_result *results, size_t count, struct errctx *ec)
{
    int64_t delay_ms = RETRY_FIRST_MS;
    bool last_try = is_stopping(w);
    enum err e;

    while ((e = write_results(w, results, count, ec)) != ERR_OK && e != ERR_INPUT) {
        note_failure(w, e, ec);
        if (last_try)
            return e;
        wait_before_retry(w, delay_ms);
        last_try = is_stopping(w);
        delay_ms = delay_ms * 2 < RETRY_MAX_MS ? delay_ms * 2 : RETRY_MAX_MS;
    }
    if (!e)
        note_success(w, count);
    return e;
}

/* A row that the database refuses, say for a character that its column cannot hold, must not stay open for that: it is
 * written with nothing but the code and a plain text. */
static enum err write_one(struct writer *w, const struct fire_result *result, struct errctx *ec)
{
    struct fire_result plain = {.log_id = result->log_id, .code = result->code, .message = PLAIN_MESSAGE};
    enum err e = write_patiently(w, result, 1, ec);

    if (e != ERR_INPUT)
        return e;
    log_warn("dispatch", "event=result_refused action=write_plain log=%" PRId64 " error=%s", result->log_id,
             log_quote(ec->text).s);
    e = write_patiently(w, &plain, 1, ec);
    if (e != ERR_INPUT)
        return e;
    log_error("dispatch", "event=result_dropped log=%" PRId64 " error=%s", result->log_id, log_quote(ec->text).s);
    return ERR_OK; /* done with, as far as it can be */
}

/* True when all of the batch is done with. */
static bool write_batch(struct writer *w, const struct delivery_list *batch)
{
    struct errctx ec;
    size_t count = 0;
    enum err e;

    for (const struct delivery *d = batch->head; d; d = d->next)
        delivery_get_result(d, &w->results[count++]);
    e = write_patiently(w, w->results, count, &ec);
    if (e == ERR_INPUT) {
        e = ERR_OK;
        for (size_t i = 0; i < count && !e; i++)
            e = write_one(w, &w->results[i], &ec);
    }
    return !e;
}

static void destroy_list(struct delivery_list *list)
{
    struct delivery *d;

    while ((d = delivery_list_take(list)) != NULL)
        delivery_destroy(d);
}

static void note_paired(struct writer *w, size_t count)
{
    counters_add(w->opts.counters, COUNTER_RESULTS_WRITTEN, (int64_t)count);
    counters_add(w->opts.counters, COUNTER_RESULTS_PAIRED, (int64_t)count);
}

/* Frees those whose callbacks have written their results, and leaves the others in the list. Returns their number. */
static size_t drop_written(struct writer *w, struct delivery_list *batch)
{
    struct delivery_list others = {0};
    size_t dropped = batch->count;

    for (struct delivery *d; (d = delivery_list_take(batch)) != NULL;) {
        if (pairs_remove(w->opts.pairs, d) == PAIR_WRITTEN)
            delivery_destroy(d);
        else
            delivery_list_add(&others, d);
    }
    *batch = others;
    dropped -= others.count;
    note_paired(w, dropped);
    return dropped;
}

static void run(void *arg)
{
    struct writer *w = arg;
    struct delivery_list batch;

    while ((batch = take_batch(w)).head) {
        size_t count = batch.count;
        size_t dropped = drop_written(w, &batch);
        bool done = !batch.head || write_batch(w, &batch);

        destroy_list(&batch);
        counters_add(w->opts.counters, COUNTER_RESULTS_QUEUED, -(int64_t)count);
        if (!done) { /* stopped, and the database is away: the others would fare no better */
            log_error("dispatch", "event=results_left_unwritten reason=stopping count=%zu",
                      count - dropped + count_waiting(w));
            break;
        }
        w->opts.committed(w->opts.arg, count);
    }
    store_give_session(w->opts.store, w->session);
    w->session = NULL;
}

/* ---- life ---------------------------------------------------------------------------------------------------------- */

/* [lock] A fire whose result comes after the deadline for sending it does not wait on top: whoever has its shard by then gives
 * it some time only (schedule/shard.h). */
static bool may_wait(const struct writer *w, const struct delivery *d, int64_t now_boot_ms)
{
    enum pair_state pair;

    if (!delivery_is_as_planned(d) || now_boot_ms > d->batch->deadline_boot_ms)
        return false;
    pair = pairs_look(w->opts.pairs, d);
    return pair == PAIR_OPEN || pair == PAIR_CLAIMED;
}

/* [lock] Sorts them: those that may wait for their callbacks, and the others. */
static void sort_out(struct writer *w, struct delivery_list *list)
{
    int64_t now_mono_ms = clock_mono_ms(w->opts.clock), now_boot_ms = clock_boot_ms(w->opts.clock);

    for (struct delivery *d; (d = delivery_list_take(list)) != NULL;) {
        d->posted_mono_ms = now_mono_ms;
        d->waits = may_wait(w, d, now_boot_ms);
        delivery_list_add(d->waits ? &w->waiting : &w->queue, d);
    }
}

void writer_post(struct writer *w, struct delivery_list *list)
{
    size_t added = list->count, queued, waiting;
    bool wake;

    if (!list->head)
        return;
    mutex_lock(&w->lock);
    queued = w->queue.count;
    waiting = w->waiting.count;
    sort_out(w, list);
    wake = (queued == 0 && w->queue.count > 0) || (queued < BATCH_MAX && w->queue.count >= BATCH_MAX) ||
           (w->waiting.count > waiting && (waiting == 0 || w->hurried || w->waiting.count > w->opts.waiting_max));
    counters_add(w->opts.counters, COUNTER_RESULTS_QUEUED, (int64_t)added); /* before they can be settled */
    mutex_unlock(&w->lock);
    if (wake)
        cond_signal(&w->changed);
}

void writer_settle(struct writer *w, int64_t log_id, bool written)
{
    struct delivery *done;

    mutex_lock(&w->lock);
    done = pairs_settle(w->opts.pairs, log_id, written);
    if (done) {
        delivery_list_remove(&w->waiting, done);
        note_left(w, done, /*paired=*/true);
    }
    mutex_unlock(&w->lock);
    if (!done)
        return;
    delivery_destroy(done);
    note_paired(w, 1);
    counters_add(w->opts.counters, COUNTER_RESULTS_QUEUED, -1);
    w->opts.committed(w->opts.arg, 1);
}

enum err writer_create(const struct writer_opts *opts, struct writer **out, struct errctx *ec)
{
    struct writer *w = calloc(1, sizeof *w);

    if (!w)
        return err_set(ec, ERR_NOMEM, "out of memory for the result writer");
    w->opts = *opts;
    w->random = (uint64_t)clock_wall_us(opts->clock);
    mutex_init(&w->lock, LOCK_DISPATCH);
    cond_init(&w->changed);
    *out = w;
    return ERR_OK;
}

enum err writer_start(struct writer *w, struct errctx *ec)
{
    return thread_start(&w->thread, "results", run, w, ec);
}

void writer_note_behind(struct writer *w)
{
    mutex_lock(&w->lock);
    w->behind_mono_ms = clock_mono_ms(w->opts.clock) + BEHIND_MS;
    mutex_unlock(&w->lock);
}

void writer_hurry(struct writer *w)
{
    mutex_lock(&w->lock);
    w->hurried = true;
    mutex_unlock(&w->lock);
    cond_signal(&w->changed);
}

void writer_stop(struct writer *w)
{
    mutex_lock(&w->lock);
    w->stopping = true;
    mutex_unlock(&w->lock);
    cond_signal(&w->changed);
}

void writer_join(struct writer *w)
{
    thread_join(&w->thread);
}

void writer_destroy(struct writer *w)
{
    if (!w)
        return;
    destroy_list(&w->queue);
    destroy_list(&w->waiting);
    cond_fini(&w->changed);
    mutex_fini(&w->lock);
    free(w);
}

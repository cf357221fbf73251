/* SPDX-License-Identifier: MIT */
#include "shardwheel/record.h"

#include <inttypes.h>
#include <stdlib.h>

#include "record/pairs.h"
#include "record/result_queue.h"
#include "record/result_writer.h"
#include "record/sent.h"
#include "shardwheel/job/times.h"
#include "shardwheel/watch.h"

#define BATCH_WAIT_MS 50
#define COMPARE_RETRY_MS 500
#define COMPARES 2 /* see sent_compare */

struct results {
    struct results_opts opts;  /* [const] */
    const struct clock *clock; /* [const] */
    struct counters *counters; /* [const] */
    struct sent *sent;         /* [const] */
    struct pairs *pairs;       /* [const] out of which results are taken before they are written or given back */
    void (*done)(void *arg, struct result *r);  /* [const] once served */
    void (*committed)(void *arg, size_t count); /* [const] once served */
    void *arg;                                  /* [const] once served */
    struct thread thread;                       /* [const] after start */
    struct mutex lock;                          /* rank LOCK_DISPATCH; never held across a store call */
    struct cond changed;                        /* with lock: first result, full batch, stop */
    struct result_queue queue;                  /* [lock] */
    bool compare_anew;                          /* [lock] asked for since the last one began */
    int compares;                               /* [lock] that are to be done still */
    int64_t compare_mono_ms;                    /* [lock] not before */
    bool stopping;                              /* [lock] */

    struct result_writer writer; /* [writer] as all below */
    struct fire_result rows[RESULT_BATCH_MAX];
    uint64_t random;
    struct sent_summary compared; /* so far */
};

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

/* [lock] */
static bool may_compare(const struct results *w, int64_t now_mono_ms)
{
    return w->compares > 0 && now_mono_ms >= w->compare_mono_ms;
}

/* [lock] Sleeps until a result must not wait any longer, or the writer is stopped. */
static void wait_for_first(struct results *w)
{
    int64_t now_mono_ms = clock_mono_ms(w->clock);

    while (!w->stopping && !result_queue_is_due(&w->queue, now_mono_ms) && !may_compare(w, now_mono_ms)) {
        int64_t look_mono_ms =
            w->compares > 0 ? now_mono_ms + RESULT_LOOK_MS : result_queue_get_look_ms(&w->queue, now_mono_ms);

        watch_pause(look_mono_ms < INT64_MAX ? RESULT_WAIT_MAX_MS : WATCH_FOREVER);
        if (look_mono_ms < INT64_MAX)
            cond_wait_until(&w->changed, &w->lock, look_mono_ms);
        else
            cond_wait(&w->changed, &w->lock);
        watch_step();
        now_mono_ms = clock_mono_ms(w->clock);
    }
}

/* Waits for a full batch or the age of its first result. An empty list: stopped, and nothing is left, or something is
 * to be compared. */
static struct result_list take_batch(struct results *w)
{
    struct result_list batch;
    int64_t deadline_mono_ms;

    mutex_lock(&w->lock);
    wait_for_first(w);
    deadline_mono_ms = clock_mono_ms(w->clock) + BATCH_WAIT_MS;
    while (w->queue.ready.head && w->queue.ready.count < RESULT_BATCH_MAX && !w->stopping &&
           cond_wait_until(&w->changed, &w->lock, deadline_mono_ms))
        ;
    /* Those whose wait ends within the age of a batch come along with the first. */
    batch = result_queue_take(&w->queue, clock_mono_ms(w->clock), deadline_mono_ms);
    mutex_unlock(&w->lock);
    return batch;
}

/* Returns early when the writer is stopped. */
static void wait_before_retry(struct results *w, int64_t delay_ms)
{
    int64_t deadline_mono_ms;

    w->random = w->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    deadline_mono_ms = clock_mono_ms(w->clock) + delay_ms / 2 + (int64_t)((w->random >> 33) % (uint64_t)delay_ms);
    watch_pause(2 * delay_ms);
    mutex_lock(&w->lock);
    while (!w->stopping && cond_wait_until(&w->changed, &w->lock, deadline_mono_ms))
        ;
    mutex_unlock(&w->lock);
    watch_step();
}

static bool pause_writer(void *arg, int64_t about_ms)
{
    struct results *w = arg;
    bool stopping;

    if (about_ms > 0)
        wait_before_retry(w, about_ms);
    mutex_lock(&w->lock);
    stopping = w->stopping;
    mutex_unlock(&w->lock);
    return !stopping;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* True when all of the batch is done with. */
static bool write_batch(struct results *w, const struct result_list *batch)
{
    size_t count = 0;
    bool done;

    for (const struct result *r = batch->head; r; r = r->next)
        w->rows[count++] = r->row;
    done = result_writer_commit(&w->writer, w->rows, count) == ERR_OK;
    for (const struct result *r = batch->head; r && done; r = r->next)
        log_fire(RECORD, "event=result_written log_id=%" PRId64 " job=%" PRId64 " code=%d", r->log_id, r->job_id,
                 r->row.code);
    return done;
}

static void give_back(struct results *w, struct result_list *list)
{
    struct result *r;

    while ((r = result_list_take(list)) != NULL)
        w->done(w->arg, r);
}

static void note_paired(struct results *w, size_t count)
{
    counters_add(w->counters, COUNTER_RESULTS_WRITTEN, (int64_t)count);
    counters_add(w->counters, COUNTER_RESULTS_PAIRED, (int64_t)count);
}

/* Its callback's transaction has written it. */
static void tell_paired(const struct result *r)
{
    log_fire(RECORD, "event=result_written log_id=%" PRId64 " job=%" PRId64 " code=%d with=callback", r->log_id,
             r->job_id, r->row.code);
}

/* Frees those whose callbacks have written their results, and leaves the others in the list. Returns their number. */
static size_t drop_written(struct results *w, struct result_list *batch)
{
    struct result_list others = {0};
    size_t dropped = batch->count;

    for (struct result *r; (r = result_list_take(batch)) != NULL;) {
        if (pairs_remove(w->pairs, r) == PAIR_WRITTEN) {
            sent_note_codes(w->sent, (const struct result *const[]){r}, 1);
            tell_paired(r);
            w->done(w->arg, r);
        } else
            result_list_add(&others, r);
    }
    *batch = others;
    dropped -= others.count;
    note_paired(w, dropped);
    return dropped;
}

static void tell_compared(const struct sent_summary *sum)
{
    log_warn("record",
             "event=sent_compared checked=%zu rows_written_again=%zu results_written=%zu ends_written=%zu "
             "sources_written=%zu flow_steps_written=%zu not_known=%zu "
             "why=\"another database server is in use, which may have lost the last commits\"",
             sum->checked, sum->counts.written, sum->counts.results, sum->counts.ends, sum->counts.sources,
             sum->counts.steps, sum->forgotten);
}

/* Once, if it is time to; a writer that stops does it at once, for the last time, when it has nothing else to do
 * (`idle`). False: there was nothing to compare. */
static bool compare(struct results *w, bool idle)
{
    struct errctx ec;
    bool final, last;
    enum err e;

    mutex_lock(&w->lock);
    final = w->stopping && idle && w->compares > 0;
    if (!final && (w->stopping || !may_compare(w, clock_mono_ms(w->clock)))) {
        mutex_unlock(&w->lock);
        return false;
    }
    if (w->compare_anew || final)
        w->compares = final ? 1 : COMPARES;
    w->compare_anew = false;
    mutex_unlock(&w->lock);
    if (final)
        sent_end(w->sent);
    errctx_clear(&ec);
    e = result_writer_take_session(&w->writer, &ec);
    if (!e)
        e = sent_compare(w->sent, w->writer.session, w->opts.incarnation ? w->opts.incarnation : "0", &w->compared,
                         &ec);
    mutex_lock(&w->lock);
    w->compare_mono_ms = clock_mono_ms(w->clock) + (e ? COMPARE_RETRY_MS : SENT_BETWEEN_MS);
    w->compares = final ? 0 : w->compares - (!e && !w->compare_anew);
    last = !e && w->compares == 0;
    mutex_unlock(&w->lock);
    if (e)
        result_writer_note_failure(&w->writer, e, &ec);
    if (last) {
        sent_hold(w->sent, false);
        tell_compared(&w->compared);
        w->compared = (struct sent_summary){0};
    }
    return true;
}

static void note_codes(struct results *w, const struct result_list *batch)
{
    const struct result *some[100];
    size_t n = 0;

    for (const struct result *r = batch->head; r; r = r->next) {
        some[n++] = r;
        if (n == ARRAY_LEN(some) || !r->next) {
            sent_note_codes(w->sent, some, n);
            n = 0;
        }
    }
}

static void run(void *arg)
{
    struct results *w = arg;
    struct result_list batch;
    struct watch_mark mark;

    watch_enter(w->opts.watch, &mark, "results");
    while ((batch = take_batch(w)).head || compare(w, /*idle=*/true)) {
        size_t count = batch.count;
        size_t dropped = drop_written(w, &batch);
        bool done = !batch.head || write_batch(w, &batch);

        if (done)
            note_codes(w, &batch);
        compare(w, /*idle=*/false);
        give_back(w, &batch);
        counters_add(w->counters, COUNTER_RESULTS_QUEUED, -(int64_t)count);
        if (!done) { /* stopped, and the database is away: the others would fare no better */
            mutex_lock(&w->lock);
            count += result_queue_count(&w->queue) - dropped;
            mutex_unlock(&w->lock);
            log_error("record", "event=results_left_unwritten reason=stopping count=%zu", count);
            break;
        }
        w->committed(w->arg, count);
    }
    result_writer_end(&w->writer);
    watch_leave(w->opts.watch, &mark);
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

void results_post(struct results *w, struct result_list *list)
{
    size_t added = list->count;
    bool wake;

    if (!list->head)
        return;
    mutex_lock(&w->lock);
    wake = result_queue_post(&w->queue, w->pairs, list, clock_mono_ms(w->clock), clock_boot_ms(w->clock));
    counters_add(w->counters, COUNTER_RESULTS_QUEUED, (int64_t)added); /* before they can be settled */
    mutex_unlock(&w->lock);
    if (wake)
        cond_signal(&w->changed);
}

void results_settle(struct results *w, int64_t log_id, bool written)
{
    struct result *done;

    mutex_lock(&w->lock);
    done = pairs_settle(w->pairs, log_id, written);
    if (done)
        result_queue_drop_paired(&w->queue, done);
    mutex_unlock(&w->lock);
    if (!done)
        return;
    sent_note_codes(w->sent, (const struct result *const[]){done}, 1);
    tell_paired(done);
    w->done(w->arg, done);
    note_paired(w, 1);
    counters_add(w->counters, COUNTER_RESULTS_QUEUED, -1);
    w->committed(w->arg, 1);
}

enum err results_create(const struct results_opts *opts, const struct clock *clock, struct counters *counters,
                        struct results **out, struct errctx *ec)
{
    struct results *w = calloc(1, sizeof *w);

    if (!w)
        return err_set(ec, ERR_NOMEM, "out of memory for the result writer");
    w->opts = *opts;
    w->queue.waiting_max = opts->waiting_max;
    w->writer = (struct result_writer){
        .store = opts->store, .clock = clock, .counters = counters, .pause = pause_writer, .arg = w};
    w->clock = clock;
    w->counters = counters;
    w->random = (uint64_t)clock_wall_us(clock);
    mutex_init(&w->lock, LOCK_DISPATCH);
    cond_init(&w->changed);
    enum err e = pairs_create(&w->pairs, ec);
    if (!e)
        e = sent_create(clock, &w->sent, ec);
    if (e) {
        results_destroy(w);
        return e;
    }
    *out = w;
    return ERR_OK;
}

void results_serve(struct results *w, void (*done)(void *arg, struct result *r),
                   void (*committed)(void *arg, size_t count), void *arg)
{
    w->done = done;
    w->committed = committed;
    w->arg = arg;
}

void results_expect(struct results *w, struct result *r)
{
    pairs_add(w->pairs, r);
}

void results_forget(struct results *w, struct result *r)
{
    pairs_remove(w->pairs, r);
}

bool results_claim(struct results *w, int64_t log_id, bool *childless)
{
    return pairs_claim(w->pairs, log_id, childless);
}

enum err results_start(struct results *w, struct errctx *ec)
{
    return thread_start(&w->thread, "results", run, w, ec);
}

void results_note_behind(struct results *w)
{
    mutex_lock(&w->lock);
    result_queue_note_behind(&w->queue, clock_mono_ms(w->clock));
    mutex_unlock(&w->lock);
}

uint64_t results_note_sent(struct results *w, const struct fire *list)
{
    return sent_note_fires(w->sent, list);
}

void results_note_ends(struct results *w, const struct callback_entry *entries, size_t count)
{
    sent_note_ends(w->sent, entries, count);
}

bool results_is_comparing(struct results *w)
{
    bool is;

    mutex_lock(&w->lock);
    is = w->compare_anew || w->compares == COMPARES;
    mutex_unlock(&w->lock);
    return is;
}

void results_compare(struct results *w)
{
    sent_hold(w->sent, true);
    mutex_lock(&w->lock);
    w->compare_anew = true;
    w->compares = COMPARES;
    w->compare_mono_ms = 0;
    mutex_unlock(&w->lock);
    cond_signal(&w->changed);
}

void results_hurry(struct results *w)
{
    mutex_lock(&w->lock);
    w->queue.hurried = true;
    mutex_unlock(&w->lock);
    cond_signal(&w->changed);
}

void results_stop(struct results *w)
{
    mutex_lock(&w->lock);
    w->stopping = w->queue.hurried = true;
    mutex_unlock(&w->lock);
    cond_signal(&w->changed);
}

void results_join(struct results *w)
{
    thread_join(&w->thread);
}

void results_destroy(struct results *w)
{
    if (!w)
        return;
    give_back(w, &w->queue.ready);
    give_back(w, &w->queue.waiting);
    pairs_destroy(w->pairs);
    sent_destroy(w->sent);
    cond_fini(&w->changed);
    mutex_fini(&w->lock);
    free(w);
}

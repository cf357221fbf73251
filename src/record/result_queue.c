/* SPDX-License-Identifier: MIT */
#include "record/result_queue.h"

#include "shardwheel/job/times.h"

/* While callbacks are behind and a full batch of results waits for them: to write these by themselves would hold
 * callbacks up more. Not where it does not pay, because the jobs run for longer or call another node back. */
#define BEHIND_MS 3000   /* so long after it was said: a transaction of callbacks and more */
#define PAYS_SHARE 4     /* when one of so many was paired lately, */
#define PAYS_OF_LEAST 64 /* of no fewer than so many */
#define PAYS_OF_MAX 4000 /* and no more than so many */
#define PROBE_EACH 16    /* where it does not pay, one of so many waits all the same, to see whether it does again */

/* ---- lists ------------------------------------------------------------------------------------------------------- */

void result_list_add(struct result_list *list, struct result *r)
{
    r->next = NULL;
    r->prev = list->tail;
    if (list->tail)
        list->tail->next = r;
    else
        list->head = r;
    list->tail = r;
    list->count++;
}

static void result_list_remove(struct result_list *list, struct result *r)
{
    if (r->prev)
        r->prev->next = r->next;
    else
        list->head = r->next;
    if (r->next)
        r->next->prev = r->prev;
    else
        list->tail = r->prev;
    list->count--;
    r->next = r->prev = NULL;
}

struct result *result_list_take(struct result_list *list)
{
    struct result *r = list->head;

    if (r)
        result_list_remove(list, r);
    return r;
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

static bool waiting_pays(const struct result_queue *q)
{
    return q->left < PAYS_OF_LEAST || q->left_paired * PAYS_SHARE >= q->left;
}

static bool is_behind(const struct result_queue *q, int64_t now_mono_ms)
{
    return q->waiting.count >= RESULT_BATCH_MAX && now_mono_ms < q->behind_mono_ms && waiting_pays(q);
}

/* How long a result waits now. */
static int64_t get_wait_ms(const struct result_queue *q, int64_t now_mono_ms)
{
    return is_behind(q, now_mono_ms) ? RESULT_WAIT_MAX_MS : RESULT_WAIT_MS;
}

static bool has_waited(const struct result_queue *q, int64_t wait_ms, int64_t by_mono_ms)
{
    return q->waiting.head &&
           (q->hurried || q->waiting.count > q->waiting_max || q->waiting.head->posted_mono_ms + wait_ms <= by_mono_ms);
}

/* It waits no longer. */
static void note_left(struct result_queue *q, struct result *r, bool paired)
{
    r->waits = false;
    if (q->left >= PAYS_OF_MAX) {
        q->left /= 2;
        q->left_paired /= 2;
    }
    q->left++;
    q->left_paired += paired;
}

static void take_waiting(struct result_queue *q, struct result_list *batch)
{
    struct result *r = result_list_take(&q->waiting);

    note_left(q, r, /*paired=*/false);
    result_list_add(batch, r);
}

void result_queue_note_behind(struct result_queue *q, int64_t now_mono_ms)
{
    q->behind_mono_ms = now_mono_ms + BEHIND_MS;
}

bool result_queue_is_due(const struct result_queue *q, int64_t now_mono_ms)
{
    return q->ready.head || has_waited(q, get_wait_ms(q, now_mono_ms), now_mono_ms);
}

int64_t result_queue_get_look_ms(const struct result_queue *q, int64_t now_mono_ms)
{
    if (!q->waiting.head)
        return INT64_MAX;
    return is_behind(q, now_mono_ms) ? now_mono_ms + RESULT_LOOK_MS : q->waiting.head->posted_mono_ms + RESULT_WAIT_MS;
}

struct result_list result_queue_take(struct result_queue *q, int64_t now_mono_ms, int64_t until_mono_ms)
{
    struct result_list batch = {0};
    int64_t wait_ms = get_wait_ms(q, now_mono_ms);

    /* Neither holds the other up: half of a full batch is of those that have waited for their callbacks. */
    while (batch.count < RESULT_BATCH_MAX / 2 && has_waited(q, wait_ms, until_mono_ms))
        take_waiting(q, &batch);
    for (struct result *r; batch.count < RESULT_BATCH_MAX && (r = result_list_take(&q->ready)) != NULL;)
        result_list_add(&batch, r);
    while (batch.count < RESULT_BATCH_MAX && has_waited(q, wait_ms, until_mono_ms))
        take_waiting(q, &batch);
    return batch;
}

void result_queue_drop_paired(struct result_queue *q, struct result *r)
{
    result_list_remove(&q->waiting, r);
    note_left(q, r, /*paired=*/true);
}

size_t result_queue_count(const struct result_queue *q)
{
    return q->ready.count + q->waiting.count;
}

/* ---- posting ----------------------------------------------------------------------------------------------------- */

/* A node that is killed leaves what waits as "delivery unknown". So it waits only where that saves work: callbacks come
 * in time, or so many results are there that the database has to be spared. */
static bool is_worth_waiting(struct result_queue *q)
{
    return waiting_pays(q) || result_queue_count(q) >= RESULT_BATCH_MAX || q->unpaid++ % PROBE_EACH == 0;
}

/* A fire whose result comes after the deadline for sending it does not wait on top: whoever has its shard by then gives
 * it some time only (schedule/shard/shard.h). */
static bool may_wait(struct result_queue *q, struct pairs *pairs, const struct result *r, int64_t now_boot_ms)
{
    enum pair_state pair;

    if (!r->row.as_planned || now_boot_ms > r->deadline_boot_ms)
        return false;
    pair = pairs_look(pairs, r);
    return pair == PAIR_CLAIMED || (pair == PAIR_OPEN && is_worth_waiting(q));
}

bool result_queue_post(struct result_queue *q, struct pairs *pairs, struct result_list *list, int64_t now_mono_ms,
                       int64_t now_boot_ms)
{
    size_t ready = q->ready.count, waiting = q->waiting.count;

    for (struct result *r; (r = result_list_take(list)) != NULL;) {
        r->posted_mono_ms = now_mono_ms;
        r->waits = may_wait(q, pairs, r, now_boot_ms);
        result_list_add(r->waits ? &q->waiting : &q->ready, r);
    }
    return (ready == 0 && q->ready.count > 0) || (ready < RESULT_BATCH_MAX && q->ready.count >= RESULT_BATCH_MAX) ||
           (q->waiting.count > waiting && (waiting == 0 || q->hurried || q->waiting.count > q->waiting_max));
}

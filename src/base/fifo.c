/* SPDX-License-Identifier: MIT */
#include "shardwheel/base.h"

#include <assert.h>

void fifo_init(struct fifo *q, size_t max)
{
    *q = (struct fifo){.max = max};
    mutex_init(&q->lock, LOCK_FIFO);
    cond_init(&q->not_empty);
}

void fifo_fini(struct fifo *q)
{
    assert(!q->head);
    cond_fini(&q->not_empty);
    mutex_fini(&q->lock);
}

static enum err push(struct fifo *q, struct fifo_item *item, bool always)
{
    enum err e = ERR_OK;

    mutex_lock(&q->lock);
    if (q->closed) {
        e = ERR_STATE;
    } else if (!always && q->len >= q->max) {
        e = ERR_BUSY;
    } else {
        item->next = NULL;
        if (q->tail)
            q->tail->next = item;
        else
            q->head = item;
        q->tail = item;
        if (q->len++ == 0)
            cond_signal(&q->not_empty);
    }
    mutex_unlock(&q->lock);
    return e;
}

enum err fifo_push(struct fifo *q, struct fifo_item *item)
{
    return push(q, item, /*always=*/false);
}

enum err fifo_push_always(struct fifo *q, struct fifo_item *item)
{
    return push(q, item, /*always=*/true);
}

struct fifo_item *fifo_take(struct fifo *q, size_t max, int64_t deadline_mono_ms, size_t *count, bool *closed)
{
    struct fifo_item *first;
    struct fifo_item *last;
    size_t n = 0;

    mutex_lock(&q->lock);
    while (!q->head && !q->closed) {
        if (!cond_wait_until(&q->not_empty, &q->lock, deadline_mono_ms))
            break;
    }
    first = last = q->head;
    for (struct fifo_item *item = first; item && n < max; item = item->next) {
        last = item;
        n++;
    }
    if (first) {
        q->head = last->next;
        last->next = NULL;
        q->len -= n;
        if (!q->head)
            q->tail = NULL;
        else
            cond_signal(&q->not_empty); /* for another taker */
    }
    if (closed)
        *closed = q->closed && !q->head && n == 0;
    mutex_unlock(&q->lock);
    if (count)
        *count = n;
    return first;
}

size_t fifo_len(struct fifo *q)
{
    size_t n;

    mutex_lock(&q->lock);
    n = q->len;
    mutex_unlock(&q->lock);
    return n;
}

void fifo_close(struct fifo *q)
{
    mutex_lock(&q->lock);
    q->closed = true;
    cond_broadcast(&q->not_empty);
    mutex_unlock(&q->lock);
}

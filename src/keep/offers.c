/* SPDX-License-Identifier: MIT */
#include "keep/offers.h"

#include <stdlib.h>

struct keep_offers {
    struct counters *counters; /* [const] */
    _Atomic int level;         /* [atomic] relaxed: a new one is seen soon */
    struct mutex lock;         /* rank LOCK_LEAF; held for a few instructions */
    void (*wake)(void *arg);   /* [lock] as all below */
    void *arg;
    bool closed;
    size_t first, count;
    int64_t ids[OFFERS_MAX]; /* a ring, the oldest at `first` */
};

enum err keep_offers_create(struct counters *counters, struct keep_offers **out, struct errctx *ec)
{
    struct keep_offers *o = calloc(1, sizeof *o);

    if (!o)
        return err_set(ec, ERR_NOMEM, "out of memory for logs that are to be kept");
    o->counters = counters;
    atomic_init(&o->level, KEPT_NONE);
    mutex_init(&o->lock, LOCK_LEAF);
    *out = o;
    return ERR_OK;
}

void keep_offers_destroy(struct keep_offers *o)
{
    if (!o)
        return;
    mutex_fini(&o->lock);
    free(o);
}

void keep_offer(struct keep_offers *o, int64_t log_id, bool maybe_failed)
{
    void (*wake)(void *arg) = NULL;
    void *arg = NULL;
    bool taken;

    if (!o || atomic_load_explicit(&o->level, memory_order_relaxed) < (maybe_failed ? KEPT_FAILED : KEPT_ALL))
        return;
    mutex_lock(&o->lock);
    taken = !o->closed && o->count < OFFERS_MAX;
    if (taken) {
        if (o->count == 0) {
            wake = o->wake;
            arg = o->arg;
        }
        o->ids[(o->first + o->count++) % OFFERS_MAX] = log_id;
    }
    mutex_unlock(&o->lock);
    if (!taken)
        counters_add(o->counters, COUNTER_KEPT_DROPPED_QUEUE, 1);
    if (wake)
        wake(arg);
}

void offers_set_level(struct keep_offers *o, enum kept_which level)
{
    atomic_store_explicit(&o->level, (int)level, memory_order_relaxed);
}

void offers_set_wake(struct keep_offers *o, void (*wake)(void *arg), void *arg)
{
    mutex_lock(&o->lock);
    o->wake = wake;
    o->arg = arg;
    mutex_unlock(&o->lock);
}

size_t offers_take(struct keep_offers *o, int64_t *ids, size_t max)
{
    size_t n = 0;

    mutex_lock(&o->lock);
    for (; n < max && o->count > 0; n++) {
        ids[n] = o->ids[o->first];
        o->first = (o->first + 1) % OFFERS_MAX;
        o->count--;
    }
    mutex_unlock(&o->lock);
    return n;
}

void offers_close(struct keep_offers *o)
{
    mutex_lock(&o->lock);
    o->closed = true;
    o->wake = NULL;
    mutex_unlock(&o->lock);
}

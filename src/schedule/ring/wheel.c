/* SPDX-License-Identifier: MIT */
#include "schedule/ring/wheel.h"

#define LOOKED_AT (WHEEL_SLOTS - WHEEL_AHEAD_S) /* slots of every drain */
#define OLD_S ((LOOKED_AT - 1) / 2)             /* so late a fire may be, and so far may drains be apart, at once */

void wheel_init(struct wheel *w)
{
    for (size_t i = 0; i < WHEEL_SLOTS; i++)
        atomic_init(&w->slot[i], NULL);
    atomic_init(&w->drained_s, INT64_MAX);
    atomic_init(&w->has_old, false);
    atomic_init(&w->count, 0);
}

void wheel_fini(struct wheel *w)
{
    for (size_t i = 0; i < WHEEL_SLOTS; i++)
        fire_destroy_list(atomic_exchange_explicit(&w->slot[i], NULL, memory_order_acquire));
}

static _Atomic(struct fire *) *slot_of(struct wheel *w, int64_t second_s)
{
    int64_t i = second_s % WHEEL_SLOTS;

    return &w->slot[i < 0 ? i + WHEEL_SLOTS : i];
}

static void put(struct wheel *w, struct fire *fire)
{
    _Atomic(struct fire *) *slot = slot_of(w, fire->due_s);
    struct fire *head = atomic_load_explicit(slot, memory_order_relaxed);

    /* Pairs with the exchange in take: who gets the entry sees what was written into it. Sequentially consistent for
     * wheel_push: either this entry is seen by a drain, or the drain's second is seen behind this. */
    do {
        fire->next = head;
    } while (!atomic_compare_exchange_weak_explicit(slot, &head, fire, memory_order_seq_cst, memory_order_relaxed));
}

void wheel_push(struct wheel *w, struct fire *fire)
{
    int64_t due_s = fire->due_s; /* once it is in its slot it is another's */

    atomic_fetch_add_explicit(&w->count, 1, memory_order_relaxed);
    put(w, fire);
    if (due_s < atomic_load(&w->drained_s) - OLD_S)
        atomic_store(&w->has_old, true);
}

/* Moves what is due from one slot to *out; the rest goes back. */
static int64_t take(struct wheel *w, int64_t slot_s, int64_t second_s, struct fire **out)
{
    _Atomic(struct fire *) *slot = slot_of(w, slot_s);
    struct fire *fire;
    int64_t taken = 0;

    if (!atomic_load(slot))
        return 0;
    fire = atomic_exchange(slot, NULL); /* pairs with put */
    while (fire) {
        struct fire *next = fire->next;

        if (fire->due_s <= second_s) {
            fire->next = *out;
            *out = fire;
            taken++;
        } else {
            put(w, fire);
        }
        fire = next;
    }
    return taken;
}

struct fire *wheel_drain(struct wheel *w, int64_t second_s)
{
    struct fire *out = NULL;
    int64_t taken = 0, last_s = atomic_exchange(&w->drained_s, second_s);
    bool all = atomic_exchange(&w->has_old, false) || last_s < second_s - OLD_S;

    /* Newest second first, so that the oldest stand first in the list. */
    for (int64_t back = 0; back < (all ? WHEEL_SLOTS : LOOKED_AT); back++)
        taken += take(w, second_s - back, second_s, &out);
    atomic_fetch_sub_explicit(&w->count, taken, memory_order_relaxed);
    return out;
}

int64_t wheel_count(struct wheel *w)
{
    return atomic_load_explicit(&w->count, memory_order_relaxed);
}

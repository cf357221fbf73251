/* SPDX-License-Identifier: MIT */
#include "dispatch/window.h"

#define QUICK_MS 10 /* less says nothing: the machine has other things to do as well */
#define SLOW_MS 100
#define PERIOD_MS 10000

void window_init(struct window *w, int most)
{
    int least = most < WINDOW_LEAST ? most : WINDOW_LEAST;

    *w = (struct window){.least = least,
                         .most = most,
                         .size = least,
                         .base_ms = INT64_MAX,
                         .next_base_ms = INT64_MAX,
                         .heard_mono_ms = INT64_MIN / 2};
}

int window_get(const struct window *w, int64_t now_mono_ms)
{
    return now_mono_ms - w->heard_mono_ms <= SLOW_MS ? w->size : w->least;
}

static void note_base(struct window *w, int64_t took_ms, int64_t now_mono_ms)
{
    if (now_mono_ms >= w->period_end_ms) {
        w->base_ms = w->next_base_ms;
        w->next_base_ms = INT64_MAX;
        w->period_end_ms = now_mono_ms + PERIOD_MS;
    }
    if (took_ms < w->next_base_ms)
        w->next_base_ms = took_ms;
}

static int64_t quick_ms(const struct window *w)
{
    int64_t base_ms = w->base_ms < w->next_base_ms ? w->base_ms : w->next_base_ms;

    if (base_ms > SLOW_MS / 2)
        return SLOW_MS;
    return base_ms * 2 > QUICK_MS ? base_ms * 2 : QUICK_MS;
}

static void grow(struct window *w, enum window_need need)
{
    if (need == WINDOW_ENOUGH || w->size == w->most || (++w->quick < w->size && need == WINDOW_WAITING))
        return;
    w->size++;
    w->quick = 0;
}

static void shrink_to(struct window *w, int size)
{
    w->forgiven = w->size;
    w->quick = 0;
    w->size = size > w->least ? size : w->least;
}

void window_note_answer(struct window *w, int64_t took_ms, enum window_need need, int64_t now_mono_ms)
{
    note_base(w, took_ms, now_mono_ms);
    w->heard_mono_ms = now_mono_ms;
    if (took_ms > SLOW_MS) {
        shrink_to(w, w->least);
    } else if (took_ms <= quick_ms(w)) {
        grow(w, need);
        if (w->forgiven > 0)
            w->forgiven--;
    } else if (w->forgiven > 0) {
        w->forgiven--;
    } else {
        shrink_to(w, w->size / 2);
    }
}

void window_note_failure(struct window *w)
{
    shrink_to(w, w->least);
}

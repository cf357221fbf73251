/* SPDX-License-Identifier: MIT */
#include "shardwheel/watch.h"

#include <stdio.h>

void worker_init(struct worker *w, const struct clock *clock)
{
    *w = (struct worker){.clock = clock};
    mutex_init(&w->lock, LOCK_LEAF);
    cond_init(&w->wake);
}

void worker_fini(struct worker *w)
{
    cond_fini(&w->wake);
    mutex_fini(&w->lock);
}

static bool wait_until(struct worker *w, int64_t until_mono_ms, bool heeds_pokes)
{
    bool stopping;

    watch_pause(until_mono_ms - clock_mono_ms(w->clock));
    mutex_lock(&w->lock);
    while (!w->stopping && !(heeds_pokes && w->poked) && clock_mono_ms(w->clock) < until_mono_ms &&
           cond_wait_until(&w->wake, &w->lock, until_mono_ms))
        continue;
    w->poked = w->poked && !heeds_pokes;
    stopping = w->stopping;
    mutex_unlock(&w->lock);
    watch_step();
    return !stopping;
}

bool worker_wait_until(struct worker *w, int64_t until_mono_ms)
{
    return wait_until(w, until_mono_ms, /*heeds_pokes=*/true);
}

bool worker_pause_until(struct worker *w, int64_t until_mono_ms)
{
    return wait_until(w, until_mono_ms, /*heeds_pokes=*/false);
}

static void worker_main(void *arg)
{
    struct worker *w = arg;
    struct watch_mark mark;
    int64_t wait_ms;

    watch_enter(w->watch, &mark, w->name);
    do
        wait_ms = w->turn(w->arg);
    while (worker_wait_until(w, clock_mono_ms(w->clock) + wait_ms));
    if (w->end)
        w->end(w->arg);
    watch_leave(w->watch, &mark);
}

enum err worker_start(struct worker *w, const char *name, int64_t (*turn)(void *arg), void (*end)(void *arg), void *arg,
                      struct errctx *ec)
{
    snprintf(w->name, sizeof w->name, "%s", name);
    w->turn = turn;
    w->end = end;
    w->arg = arg;
    mutex_lock(&w->lock);
    w->stopping = false;
    mutex_unlock(&w->lock);
    return thread_start(&w->thread, name, worker_main, w, ec);
}

void worker_poke(struct worker *w)
{
    mutex_lock(&w->lock);
    w->poked = true;
    mutex_unlock(&w->lock);
    cond_signal(&w->wake);
}

void worker_stop(struct worker *w)
{
    mutex_lock(&w->lock);
    w->stopping = true;
    mutex_unlock(&w->lock);
    cond_signal(&w->wake);
}

bool worker_is_stopping(struct worker *w)
{
    bool stopping;

    mutex_lock(&w->lock);
    stopping = w->stopping;
    mutex_unlock(&w->lock);
    return stopping;
}

void worker_join(struct worker *w)
{
    thread_join(&w->thread);
}

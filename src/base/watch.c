/* SPDX-License-Identifier: MIT */
#include "shardwheel/watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct watch {
    const struct clock *clock; /* [const] */
    struct mutex lock;         /* rank LOCK_LEAF */
    struct watch_mark *first;  /* [lock] */
    int64_t looked_mono_ms;    /* [lock] */
    int64_t grace_mono_ms;     /* [lock] nobody is stuck before */
};

/* Of this thread; NULL: nobody watches it. So the calls of the database need not be told who makes them. */
static _Thread_local struct watch_mark *here;

enum err watch_create(const struct clock *clock, struct watch **out, struct errctx *ec)
{
    struct watch *w = calloc(1, sizeof *w);

    if (!w)
        return err_set(ec, ERR_NOMEM, "watch: out of memory");
    w->clock = clock;
    w->looked_mono_ms = clock_mono_ms(clock);
    mutex_init(&w->lock, LOCK_LEAF);
    *out = w;
    return ERR_OK;
}

void watch_destroy(struct watch *w)
{
    if (!w)
        return;
    mutex_fini(&w->lock);
    free(w);
}

/* ---- the watched ------------------------------------------------------------------------------------------------- */

void watch_pause(int64_t max_ms)
{
    int64_t now_ms;

    if (!here)
        return;
    now_ms = clock_mono_ms(here->watch->clock);
    atomic_store_explicit(&here->heard_mono_ms, now_ms, memory_order_relaxed);
    atomic_store_explicit(&here->due_mono_ms, max_ms < INT64_MAX - now_ms ? now_ms + max_ms : WATCH_FOREVER,
                          memory_order_relaxed);
}

void watch_step(void)
{
    watch_pause(0);
}

void watch_enter(struct watch *w, struct watch_mark *mark, const char *name)
{
    if (!w)
        return;
    *mark = (struct watch_mark){.watch = w};
    snprintf(mark->name, sizeof mark->name, "%s", name);
    here = mark;
    watch_step();
    mutex_lock(&w->lock);
    mark->next = w->first;
    mark->link = &w->first;
    if (mark->next)
        mark->next->link = &mark->next;
    w->first = mark;
    mutex_unlock(&w->lock);
}

void watch_leave(struct watch *w, struct watch_mark *mark)
{
    if (!w)
        return;
    mutex_lock(&w->lock);
    *mark->link = mark->next;
    if (mark->next)
        mark->next->link = mark->link;
    mutex_unlock(&w->lock);
    here = NULL;
}

struct watch_mark *watch_swap_mark(struct watch_mark *mark)
{
    struct watch_mark *former = here;

    here = mark;
    return former;
}

/* ---- who looks --------------------------------------------------------------------------------------------------- */

/* [lock] */
static bool is_stuck(const struct watch *w, const struct watch_mark *mark, int64_t now_ms)
{
    int64_t due_ms = atomic_load_explicit(&mark->due_mono_ms, memory_order_relaxed);

    return now_ms >= w->grace_mono_ms && due_ms < now_ms - WATCH_STEP_MS;
}

struct finding {
    char name[16];
    bool stuck;
    int64_t silent_ms;
};

/* [lock] One thread that is stuck now and was not, or the other way round. */
static bool find_change(struct watch *w, int64_t now_ms, struct finding *out)
{
    for (struct watch_mark *mark = w->first; mark; mark = mark->next) {
        bool stuck = is_stuck(w, mark, now_ms);

        if (stuck == mark->told)
            continue;
        mark->told = stuck;
        *out = (struct finding){.stuck = stuck,
                                .silent_ms = now_ms - atomic_load_explicit(&mark->heard_mono_ms, memory_order_relaxed)};
        snprintf(out->name, sizeof out->name, "%s", mark->name);
        return true;
    }
    return false;
}

static void tell(const struct finding *f)
{
    if (f->stuck)
        log_error("watch",
                  "event=stuck thread=%s since_s=%" PRId64
                  " effect=\"the service manager's watchdog is not fed until it goes on\"",
                  f->name, f->silent_ms / 1000);
    else
        log_warn("watch", "event=goes_on thread=%s", f->name);
}

size_t watch_look(struct watch *w)
{
    int64_t now_ms = clock_mono_ms(w->clock);
    struct finding finding;
    bool changed = true;
    size_t stuck = 0;

    mutex_lock(&w->lock);
    if (now_ms - w->looked_mono_ms > WATCH_STILL_MS)
        w->grace_mono_ms = now_ms + WATCH_STEP_MS;
    w->looked_mono_ms = now_ms;
    mutex_unlock(&w->lock);
    while (changed) { /* no line is written under the lock */
        mutex_lock(&w->lock);
        changed = find_change(w, now_ms, &finding);
        mutex_unlock(&w->lock);
        if (changed)
            tell(&finding);
    }
    mutex_lock(&w->lock);
    for (const struct watch_mark *mark = w->first; mark; mark = mark->next)
        stuck += mark->told;
    mutex_unlock(&w->lock);
    return stuck;
}

bool watch_find_stuck(struct watch *w, char name[16], int64_t *since_ms)
{
    const struct watch_mark *mark;

    mutex_lock(&w->lock);
    for (mark = w->first; mark && !mark->told; mark = mark->next)
        continue;
    if (mark) {
        snprintf(name, sizeof mark->name, "%s", mark->name);
        *since_ms = clock_mono_ms(w->clock) - atomic_load_explicit(&mark->heard_mono_ms, memory_order_relaxed);
    }
    mutex_unlock(&w->lock);
    return mark != NULL;
}

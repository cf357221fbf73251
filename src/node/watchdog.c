/* SPDX-License-Identifier: MIT */
#include "node/watchdog.h"

#include "shardwheel/watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#define LOOK_MS 1000
#define FEEDS_PER_TIME 3 /* of the watchdog */

struct watchdog {
    struct node *node;         /* [const] */
    bool is_fed;               /* [const] the service manager asks for it */
    int64_t turn_ms;           /* [const] */
    struct worker worker;      /* [const] locks by itself */
    _Atomic(const char *) now; /* [atomic] relaxed: a constant or NULL, no more hangs on it */
    char told[NODE_WHY_MAX];   /* [watchdog] the status that was told last */
};

void watchdog_tell(const char *state)
{
    sd_notify(0, state);
}

void watchdog_tell_reload(void)
{
    sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRId64, clock_mono_ms(clock_system()) * 1000);
}

static int64_t turn(void *arg)
{
    struct watchdog *w = arg;
    const char *now = atomic_load_explicit(&w->now, memory_order_relaxed);
    char status[NODE_WHY_MAX];

    if (node_count_stuck(w->node) == 0 && w->is_fed)
        sd_notify(0, "WATCHDOG=1");
    if (now)
        snprintf(status, sizeof status, "%s", now);
    else
        node_describe(w->node, status);
    if (strcmp(status, w->told) != 0) {
        memcpy(w->told, status, sizeof status);
        sd_notifyf(0, "STATUS=%s", status);
    }
    return w->turn_ms;
}

enum err watchdog_start(struct node *node, struct watchdog **out, struct errctx *ec)
{
    struct watchdog *w = calloc(1, sizeof *w);
    uint64_t time_us = 0;
    enum err e;

    if (!w)
        return err_set(ec, ERR_NOMEM, "watchdog: out of memory");
    w->node = node;
    w->is_fed = sd_watchdog_enabled(0, &time_us) > 0;
    w->turn_ms = LOOK_MS;
    if (w->is_fed && (int64_t)(time_us / 1000) < LOOK_MS * FEEDS_PER_TIME)
        w->turn_ms = (int64_t)(time_us / 1000) / FEEDS_PER_TIME;
    worker_init(&w->worker, clock_system());
    e = worker_start(&w->worker, "watchdog", turn, NULL, w, ec);
    if (e) {
        worker_fini(&w->worker);
        free(w);
        return e;
    }
    *out = w;
    return ERR_OK;
}

void watchdog_set_status(struct watchdog *w, const char *text)
{
    atomic_store_explicit(&w->now, text, memory_order_relaxed);
    worker_poke(&w->worker);
}

void watchdog_stop(struct watchdog *w)
{
    if (!w)
        return;
    worker_stop(&w->worker);
    worker_join(&w->worker);
    worker_fini(&w->worker);
    free(w);
}

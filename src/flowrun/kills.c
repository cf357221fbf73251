/* SPDX-License-Identifier: MIT */
#include "flowrun/kills.h"

#include "shardwheel/executor/access.h"
#include "shardwheel/job/times.h"
#include "shardwheel/record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_MS 1000 /* until a run that is being sent is looked at again */
#define LOOKS_MAX (UNKNOWN_AFTER_MS / WAIT_MS)

struct kill {
    int64_t log_id, look_mono_ms;
    int looks;
};

struct kills {
    struct flowrun_opts opts;  /* [const] */
    const struct clock *clock; /* [const] */
    struct worker worker;      /* [const] locks by itself */
    struct log_limit full_log; /* [atomic] */
    struct mutex lock;         /* rank LOCK_COMPLETE */
    struct kill *list;         /* [lock] */
    size_t count;              /* [lock] */
};

enum err kills_create(const struct flowrun_opts *opts, const struct clock *clock, struct kills **out, struct errctx *ec)
{
    struct kills *k = calloc(1, sizeof *k);

    if (!k)
        return err_set(ec, ERR_NOMEM, "out of memory");
    k->opts = *opts;
    k->clock = clock;
    worker_init(&k->worker, clock);
    k->worker.watch = NULL; /* it waits for executors */
    mutex_init(&k->lock, LOCK_COMPLETE);
    k->list = calloc(KILLS_MAX, sizeof *k->list);
    if (!k->list) {
        kills_destroy(k);
        return err_set(ec, ERR_NOMEM, "out of memory");
    }
    *out = k;
    return ERR_OK;
}

void kills_add(struct kills *k, const int64_t *log_ids, size_t count)
{
    size_t n = count;

    if (count == 0 || !k->opts.calls)
        return;
    mutex_lock(&k->lock);
    if (n > KILLS_MAX - k->count)
        n = KILLS_MAX - k->count;
    for (size_t i = 0; i < n; i++)
        k->list[k->count++] = (struct kill){.log_id = log_ids[i]};
    mutex_unlock(&k->lock);
    if (n < count)
        log_limited(&k->full_log, k->clock, LOG_WARN, "flowrun", "event=kills_dropped count=%zu why=%s", count - n,
                    log_quote("too many runs of cancelled flows wait to be stopped").s);
    worker_poke(&k->worker);
}

/* One whose time has come. False: there is none; *next_mono_ms is when there may be one. */
static bool take_one(struct kills *k, int64_t now_ms, struct kill *out, int64_t *next_mono_ms)
{
    size_t at = 0;
    bool found;

    *next_mono_ms = now_ms + 60000;
    mutex_lock(&k->lock);
    for (; at < k->count && k->list[at].look_mono_ms > now_ms; at++)
        if (k->list[at].look_mono_ms < *next_mono_ms)
            *next_mono_ms = k->list[at].look_mono_ms;
    found = at < k->count;
    if (found) {
        *out = k->list[at];
        k->list[at] = k->list[--k->count];
    }
    mutex_unlock(&k->lock);
    return found;
}

/* It is on its way to its executor, and would go on there. False: that has been so for too long. */
static bool wait_for(struct kills *k, struct kill kill, int64_t now_ms)
{
    bool waits;

    kill.look_mono_ms = now_ms + WAIT_MS;
    mutex_lock(&k->lock);
    waits = ++kill.looks < LOOKS_MAX && k->count < KILLS_MAX;
    if (waits)
        k->list[k->count++] = kill;
    mutex_unlock(&k->lock);
    return waits;
}

static int64_t kills_turn(struct kills *k)
{
    struct kill kill;
    int64_t now_ms = clock_mono_ms(k->clock), next_ms = now_ms;

    while (!worker_is_stopping(&k->worker) && take_one(k, now_ms, &kill, &next_ms)) {
        struct executor_access *access = access_box_get(k->opts.access);
        const struct run_calls with = {.store = k->opts.store,
                                       .calls = k->opts.calls,
                                       .clock = k->clock,
                                       .access_token = access->token,
                                       .timeout_ms = access->timeout_ms,
                                       .tls = &access->tls,
                                       .keep = k->opts.keep};
        struct errctx ec = {0};
        enum err e = run_kill(&with, kill.log_id, &(struct kill_words){"the flow run was cancelled", ": "}, NULL, &ec);
        if (e && !(e == ERR_BUSY && wait_for(k, kill, now_ms)))
            log_info("flowrun", "event=flow_kill_failed log_id=%" PRId64 " error=%s", kill.log_id,
                     log_quote(ec.text).s);
        executor_access_unref(access);
    }
    return next_ms - now_ms;
}

WORKER_LIFE(kills, "flow-kills", NULL)

void kills_destroy(struct kills *k)
{
    if (!k)
        return;
    worker_fini(&k->worker);
    mutex_fini(&k->lock);
    free(k->list);
    free(k);
}

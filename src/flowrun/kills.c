/* SPDX-License-Identifier: MIT */
#include "flowrun/kills.h"

#include "shardwheel/executor/access.h"
#include "shardwheel/record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct kills {
    struct flowrun_opts opts;      /* [const] */
    const struct clock *clock;     /* [const] */
    struct worker worker;          /* [const] locks by itself */
    struct log_limit full_log;     /* [atomic] */
    struct mutex lock;             /* rank LOCK_COMPLETE */
    struct executor_access access; /* [lock] */
    int64_t *ids;                  /* [lock] */
    size_t count;                  /* [lock] */
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
    k->ids = calloc(KILLS_MAX, sizeof *k->ids);
    if (!k->ids) {
        kills_destroy(k);
        return err_set(ec, ERR_NOMEM, "out of memory");
    }
    *out = k;
    return ERR_OK;
}

enum err kills_set_access(struct kills *k, const char *access_token, const struct http_tls *tls, struct errctx *ec)
{
    struct executor_access fresh, old;

    if (!executor_access_copy(access_token, tls, &fresh))
        return err_set(ec, ERR_NOMEM, "out of memory");
    mutex_lock(&k->lock);
    old = k->access;
    k->access = fresh;
    mutex_unlock(&k->lock);
    executor_access_fini(&old);
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
    memcpy(k->ids + k->count, log_ids, n * sizeof *log_ids);
    k->count += n;
    mutex_unlock(&k->lock);
    if (n < count)
        log_limited(&k->full_log, k->clock, LOG_WARN, "flowrun", "event=kills_dropped count=%zu why=%s", count - n,
                    log_quote("too many runs of cancelled flows wait to be stopped").s);
    worker_poke(&k->worker);
}

/* False: there is none. */
static bool take_one(struct kills *k, int64_t *id, struct executor_access *access)
{
    bool copied;

    mutex_lock(&k->lock);
    copied = k->count > 0 && executor_access_copy(k->access.token, &k->access.tls, access);
    if (copied)
        *id = k->ids[--k->count];
    mutex_unlock(&k->lock);
    return copied;
}

static int64_t turn(void *arg)
{
    struct kills *k = arg;
    struct executor_access access = {0};
    int64_t id = 0;

    while (!worker_is_stopping(&k->worker) && take_one(k, &id, &access)) {
        const struct run_calls with = {.store = k->opts.store,
                                       .calls = k->opts.calls,
                                       .clock = k->clock,
                                       .access_token = access.token,
                                       .timeout_ms = k->opts.timeout_ms,
                                       .tls = &access.tls};
        struct errctx ec;
        errctx_clear(&ec);
        if (run_kill(&with, id, &(struct kill_words){"the flow run was cancelled", ": "}, NULL, &ec))
            log_info("flowrun", "event=flow_kill_failed log_id=%" PRId64 " error=%s", id, log_quote(ec.text).s);
        executor_access_fini(&access);
    }
    return 60000;
}

enum err kills_start(struct kills *k, struct errctx *ec)
{
    return worker_start(&k->worker, "flow-kills", turn, NULL, k, ec);
}

void kills_stop(struct kills *k)
{
    worker_stop(&k->worker);
}

void kills_join(struct kills *k)
{
    worker_join(&k->worker);
}

void kills_destroy(struct kills *k)
{
    if (!k)
        return;
    executor_access_fini(&k->access);
    worker_fini(&k->worker);
    mutex_fini(&k->lock);
    free(k->ids);
    free(k);
}

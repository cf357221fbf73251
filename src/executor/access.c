/* SPDX-License-Identifier: MIT */
#include "shardwheel/executor/access.h"

#include <stdlib.h>

static char *copy_text(const char *text)
{
    return str_copy(text ? text : "");
}

struct executor_access *executor_access_ref(struct executor_access *access)
{
    atomic_fetch_add_explicit(&access->refs, 1, memory_order_relaxed);
    return access;
}

void executor_access_unref(struct executor_access *access)
{
    /* acq_rel: the last one to let go sees what the others did before they let go. */
    if (!access || atomic_fetch_sub_explicit(&access->refs, 1, memory_order_acq_rel) > 1)
        return;
    free(access->token);
    free((char *)access->tls.ca);
    free((char *)access->tls.cert);
    free((char *)access->tls.key);
    free(access);
}

void access_box_init(struct access_box *box)
{
    mutex_init(&box->lock, LOCK_LEAF);
    box->now = NULL;
}

void access_box_fini(struct access_box *box)
{
    executor_access_unref(box->now);
    mutex_fini(&box->lock);
}

bool access_box_set(struct access_box *box, const char *token, const struct http_tls *tls, int64_t timeout_ms)
{
    static const struct http_tls first = {.verify = true};
    struct executor_access *fresh = calloc(1, sizeof *fresh), *old = box->now;

    if (!fresh)
        return false;
    tls = tls ? tls : old ? &old->tls : &first;
    fresh->token = copy_text(token);
    fresh->tls = (struct http_tls){
        .verify = tls->verify, .ca = copy_text(tls->ca), .cert = copy_text(tls->cert), .key = copy_text(tls->key)};
    fresh->timeout_ms = timeout_ms;
    atomic_init(&fresh->refs, 1);
    if (!fresh->token || !fresh->tls.ca || !fresh->tls.cert || !fresh->tls.key) {
        executor_access_unref(fresh);
        return false;
    }
    mutex_lock(&box->lock);
    box->now = fresh;
    mutex_unlock(&box->lock);
    executor_access_unref(old);
    return true;
}

struct executor_access *access_box_get(struct access_box *box)
{
    struct executor_access *access;

    if (!box)
        return NULL;
    mutex_lock(&box->lock);
    access = box->now ? executor_access_ref(box->now) : NULL;
    mutex_unlock(&box->lock);
    return access;
}

/* SPDX-License-Identifier: MIT */
#include "admin/access.h"

#include "admin/admin_impl.h"

#include <stdlib.h>
#include <string.h>

/* Texts one behind the other, each with its NUL: token, ca, cert, key. */
#define TEXTS 4

void admin_set_access(struct admin *a, const char *access_token, int64_t timeout_ms, const struct http_tls *tls)
{
    const char *const texts[TEXTS] = {access_token, tls->ca, tls->cert, tls->key};
    struct buf fresh = {0};

    for (size_t i = 0; i < TEXTS; i++) {
        buf_puts(&fresh, texts[i] ? texts[i] : "");
        buf_putc(&fresh, '\0');
    }
    if (buf_failed(&fresh)) {
        log_error("admin", "event=access_kept error=\"out of memory\" effect=\"logs and stops use the old token\"");
        buf_fini(&fresh);
        return;
    }
    mutex_lock(&a->lock);
    struct buf old = a->access;
    a->access = fresh;
    a->access_timeout_ms = timeout_ms;
    a->access_verify = tls->verify;
    mutex_unlock(&a->lock);
    buf_fini(&old);
}

enum err access_copy(struct admin *a, struct access_copy *out, struct errctx *ec)
{
    const char *texts[TEXTS] = {"", "", "", ""};
    struct buf copy = {0};

    mutex_lock(&a->lock);
    buf_append(&copy, a->access.data, a->access.len);
    int64_t timeout_ms = a->access_timeout_ms;
    bool verify = a->access_verify;
    mutex_unlock(&a->lock);
    if (buf_failed(&copy)) {
        buf_fini(&copy);
        return err_set(ec, ERR_NOMEM, "out of memory for a call");
    }
    for (size_t i = 0, at = 0; i < TEXTS && at < copy.len; i++) {
        texts[i] = copy.data + at;
        at += strlen(texts[i]) + 1;
    }
    *out = (struct access_copy){
        .tls = {.verify = verify, .ca = texts[1], .cert = texts[2], .key = texts[3]},
        .calls = {.store = a->opts.store,
                  .calls = a->opts.calls,
                  .clock = a->clock,
                  .access_token = texts[0],
                  .timeout_ms = timeout_ms > 0 ? timeout_ms : 3000},
    };
    out->memory = copy.data;
    out->calls.tls = &out->tls;
    return ERR_OK;
}

void access_copy_fini(struct access_copy *copy)
{
    free(copy->memory);
    *copy = (struct access_copy){0};
}

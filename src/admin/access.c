/* SPDX-License-Identifier: MIT */
#include "admin/access.h"

#include "admin/admin_impl.h"

void admin_set_access(struct admin *a, const char *access_token, int64_t timeout_ms, const struct http_tls *tls)
{
    struct executor_access fresh, old;

    if (!executor_access_copy(access_token, tls, &fresh)) {
        log_error("admin", "event=access_kept error=\"out of memory\" effect=\"logs and stops use the old token\"");
        return;
    }
    mutex_lock(&a->lock);
    old = a->access;
    a->access = fresh;
    a->access_timeout_ms = timeout_ms;
    mutex_unlock(&a->lock);
    executor_access_fini(&old);
}

enum err access_copy(struct admin *a, struct access_copy *out, struct errctx *ec)
{
    bool copied;

    mutex_lock(&a->lock);
    copied = executor_access_copy(a->access.token, &a->access.tls, &out->access);
    int64_t timeout_ms = a->access_timeout_ms;
    mutex_unlock(&a->lock);
    if (!copied)
        return err_set(ec, ERR_NOMEM, "out of memory for a call");
    out->calls = (struct run_calls){.store = a->opts.store,
                                    .calls = a->opts.calls,
                                    .clock = a->clock,
                                    .access_token = out->access.token,
                                    .timeout_ms = timeout_ms > 0 ? timeout_ms : 3000,
                                    .tls = &out->access.tls,
                                    .keep = a->opts.keep};
    return ERR_OK;
}

void access_copy_fini(struct access_copy *copy)
{
    executor_access_fini(&copy->access);
    *copy = (struct access_copy){0};
}

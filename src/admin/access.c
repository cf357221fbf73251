/* SPDX-License-Identifier: MIT */
#include "admin/access.h"

#include "admin/admin_impl.h"

enum err access_copy(struct admin *a, struct access_copy *out, struct errctx *ec)
{
    out->access = access_box_get(a->opts.access);
    if (!out->access)
        return err_set(ec, ERR_STATE, "this node calls no executors");
    out->calls = (struct run_calls){.store = a->opts.store,
                                    .calls = a->opts.calls,
                                    .clock = a->clock,
                                    .access_token = out->access->token,
                                    .timeout_ms = out->access->timeout_ms,
                                    .tls = &out->access->tls,
                                    .keep = a->opts.keep};
    return ERR_OK;
}

FINI_BY(executor_access_unref, access_copy, access)

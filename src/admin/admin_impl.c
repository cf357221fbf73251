/* SPDX-License-Identifier: MIT */
#include "admin/admin_impl.h"

#include "shardwheel/config.h"

bool admin_is_strict(const struct admin *a)
{
    return a->opts.config && a->opts.config->security_strict;
}

enum err admin_take_session(struct admin *a, struct store_session **out, struct refusal *r)
{
    struct errctx ec = {{0}};

    return refuse_error(r, store_take_session(a->opts.store, SESSION_NORMAL, out, &ec), &ec);
}

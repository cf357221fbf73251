/* SPDX-License-Identifier: MIT */
#include "admin/groups/address_check.h"

#include "admin/admin_impl.h"
#include "shardwheel/executor/networks.h"

#include <stdio.h>

enum err refuse_addresses(const struct admin *a, const char *list, const char *field, struct refusal *r)
{
    char refused[EXECUTOR_ADDRESS_SHOWN];
    struct errctx ec = {{0}};

    if (!list || !executor_networks_check_list(a->opts.networks, list, refused, &ec))
        return ERR_OK;
    enum err e = refuse(r, REFUSED_INVALID, field, "%s", ec.text);
    snprintf(r->item, sizeof r->item, "%s", refused);
    return e;
}

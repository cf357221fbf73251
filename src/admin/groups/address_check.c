/* SPDX-License-Identifier: MIT */
#include "admin/groups/address_check.h"

#include "admin/admin_impl.h"
#include "shardwheel/executor/networks.h"

#include <stdio.h>

enum err refuse_addresses(const struct admin *a, const char *list, const char *field, struct refusal *r)
{
    char refused[EXECUTOR_ADDRESS_SHOWN];

    if (!list || !executor_networks_check_list(a->opts.networks, list, refused, &r->text))
        return ERR_OK;
    enum err e = refuse(r, REFUSED_INVALID, field, "%s", r->text.text);
    snprintf(r->item, sizeof r->item, "%s", refused);
    return e;
}

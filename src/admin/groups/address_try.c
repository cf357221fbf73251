/* SPDX-License-Identifier: MIT */
/* One address asked whether an executor is there. No session is held meanwhile. */
#include "shardwheel/admin/groups.h"

#include "admin/access.h"
#include "admin/groups/check.h"
#include "admin/admin_impl.h"
#include "shardwheel/executor/call.h"
#include "shardwheel/text.h"

#include <stdio.h>
#include <string.h>

static enum err check(const struct admin *a, const char *address, struct refusal *r)
{
    if (str_is_blank(address))
        return refuse(r, REFUSED_REQUIRED, "address", "the address is missing");
    if (strchr(address, ',') || (strncmp(address, "http://", 7) != 0 && strncmp(address, "https://", 8) != 0))
        return refuse(r, REFUSED_INVALID, "address",
                      "the address must be a single one that begins with http:// or https://");
    return refuse_addresses(a, address, "address", r);
}

static enum err ask(struct admin *a, const char *address, const struct group_info *group, struct address_verdict *out,
                    struct errctx *ec)
{
    struct access_copy access;
    struct answer answer;
    bool reached = false;
    enum err e = access_copy(a, &access, ec);

    if (e)
        return e;
    const struct executor_target target = {.address = address,
                                           .app_name = group ? group->app_name : NULL,
                                           .group_token = group ? group->access_token : NULL,
                                           .access_token = access.calls.access_token,
                                           .timeout_ms = access.calls.timeout_ms,
                                           .tls = access.calls.tls};
    int64_t begun_ms = clock_mono_ms(a->clock);
    e = executor_ask_beat(a->opts.calls, &target, &answer, &reached, ec);
    access_copy_fini(&access);
    if (e)
        return e;
    *out = (struct address_verdict){.took_ms = clock_mono_ms(a->clock) - begun_ms,
                                    .what = !reached                 ? ADDRESS_AWAY
                                            : !answer.from_executor  ? ADDRESS_STRANGER
                                            : answer.code == CODE_OK ? ADDRESS_ANSWERED
                                                                     : ADDRESS_REFUSED};
    if (answer.text && out->what != ADDRESS_STRANGER)
        snprintf(out->detail.text, sizeof out->detail.text, "%s", answer.text);
    answer_fini(&answer);
    return ERR_OK;
}

enum err admin_check_address(struct admin *a, const struct actor *actor, const char *address, int64_t group,
                             struct address_verdict *out, struct refusal *r)
{
    struct group_infos list = {0};
    enum err e = refuse_unless(actor, RIGHT_ADMINISTER, 0, r);

    if (!e)
        e = check(a, address, r);
    if (!e && group)
        e = admin_show_group(a, actor, group, &list, r);
    if (!e)
        e = refuse_error(r, ask(a, address, group ? list.items : NULL, out, &r->text));
    group_infos_fini(&list);
    return e;
}

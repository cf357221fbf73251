/* SPDX-License-Identifier: MIT */
/* The channels as they may be shown. */
#include "alarm/channels.h"
#include "shardwheel/alarm.h"

enum err alarms_list_channels(const struct alarms_opts *opts,
                              void (*each)(void *arg, const struct alarm_channel *channel), void *arg,
                              struct errctx *ec)
{
    struct channel_list list;
    enum err e = channels_parse(opts->channels, &list, ec);

    if (e)
        return err_wrap(ec, e, "shardwheel.alarm.channels");
    for (size_t i = 0; i < list.count; i++) {
        const struct channel *c = &list.items[i];
        each(arg, &(struct alarm_channel){.kind = channel_limits[c->kind].name,
                                          .name = c->name,
                                          .groups = c->groups,
                                          .group_count = c->group_count,
                                          .has_secret = c->secret && c->secret[0]});
    }
    channels_fini(&list);
    return ERR_OK;
}

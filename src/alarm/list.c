/* SPDX-License-Identifier: MIT */
/* The channels as they may be shown, and whether one more could be used. */
#include <stdio.h>
#include <string.h>

#include "alarm/channels.h"
#include "alarm/client.h"
#include "shardwheel/alarm.h"
#include "shardwheel/store/channel.h"

#define HOST_SHOWN 255

/* Scheme, host and port: what stands behind them is a secret, as what stands before an "@" is. */
static void write_host(char out[HOST_SHOWN], const char *url)
{
    const char *scheme_end = strstr(url, "://");
    const char *host = scheme_end ? scheme_end + 3 : url;
    size_t len = strcspn(host, "/?#");

    for (size_t i = len; i > 0; i--) {
        if (host[i - 1] == '@') {
            host += i;
            len -= i;
            break;
        }
    }
    snprintf(out, HOST_SHOWN, "%.*s%.*s", (int)(scheme_end ? scheme_end + 3 - url : 0), url, (int)len, host);
}

static struct alarm_channel show(const struct channel *c, char host[HOST_SHOWN])
{
    if (c->kind == CHANNEL_MAIL)
        snprintf(host, HOST_SHOWN, "%s", c->target);
    else
        write_host(host, c->target);
    return (struct alarm_channel){.kind = channel_limits[c->kind].name,
                                  .name = c->name,
                                  .groups = c->groups,
                                  .group_count = c->group_count,
                                  .tags = c->tags,
                                  .tag_count = c->tag_count,
                                  .quiet = c->quiet_text,
                                  .has_secret = c->secret && c->secret[0],
                                  .host = host};
}

/* One of the table, which may be one that cannot be used. */
static void show_row(const struct channel_list *list, size_t before, const struct channel_row *row, const char *error,
                     void (*each)(void *arg, const struct alarm_channel *channel), void *arg)
{
    char host[HOST_SHOWN];
    struct alarm_channel shown = {
        .kind = row->kind, .name = row->name, .has_secret = row->secret[0], .host = host, .quiet = row->quiet};

    if (list->count > before)
        shown = show(&list->items[before], host);
    else
        write_host(host, row->target);
    shown.id = row->id;
    shown.changed_ms = row->changed_ms;
    shown.left_out = error;
    each(arg, &shown);
}

enum err alarms_list_channels(const struct alarms_opts *opts,
                              void (*each)(void *arg, const struct alarm_channel *channel), void *arg,
                              struct errctx *ec)
{
    struct channel_list list;
    char host[HOST_SHOWN];
    const char *field;
    enum err e = channels_parse(opts->channels, &list, ec);

    if (e)
        return err_wrap(ec, e, "shardwheel.alarm.channels");
    for (size_t i = 0; i < list.count; i++) {
        struct alarm_channel shown = show(&list.items[i], host);
        each(arg, &shown);
    }
    for (size_t i = 0; i < opts->row_count && (!e || e == ERR_INPUT || e == ERR_STATE); i++) {
        size_t before = list.count;
        errctx_clear(ec);
        e = channels_add(&list, &opts->rows[i], &field, ec);
        if (!e || e == ERR_INPUT || e == ERR_STATE)
            show_row(&list, before, &opts->rows[i], e ? ec->text : NULL, each, arg);
    }
    channels_fini(&list);
    return e == ERR_INPUT || e == ERR_STATE ? ERR_OK : e;
}

enum err alarms_check_channel(const struct alarms_opts *opts, const struct channel_row *row, const struct clock *clock,
                              const char **field, struct errctx *ec)
{
    struct channel_list list;
    struct client *client = NULL;
    enum err e = channels_parse(opts->channels, &list, ec);

    *field = NULL;
    if (e)
        return err_wrap(ec, e, "shardwheel.alarm.channels");
    e = channels_add(&list, row, field, ec);
    channels_fini(&list);
    if (e)
        return e;
    e = client_create_webhook(row->target, opts->ca, /*guarded=*/true, opts->resolver, clock, &client, ec);
    client_destroy(client);
    *field = e ? "url" : NULL;
    return e;
}

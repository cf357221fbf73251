/* SPDX-License-Identifier: MIT */
#include "alarm/outlets.h"

#include <stdlib.h>
#include <string.h>

#include "shardwheel/store/channel.h"
#include "shardwheel/text.h"

/* ---- life -------------------------------------------------------------------------------------------------------- */

static enum err create_mail(struct outlets *o, const struct alarms_opts *opts, const struct receiver_opts *receiver,
                            const struct clock *clock, struct counters *counters, struct errctx *ec)
{
    struct receiver_opts own = *receiver;
    enum err e;

    if (!mail_is_address(opts->mail.from)) {
        log_warn("alarm", "event=mails_off why=%s effect=%s",
                 log_quote("spring.mail.from (or spring.mail.username where that is empty) is not an address").s,
                 log_quote("no alarm is sent by mail").s);
        return ERR_OK;
    }
    o->from = str_copy(opts->mail.from);
    o->mail_channel = (struct channel){.kind = CHANNEL_MAIL, .name = str_copy("mail")};
    if (!o->from || !o->mail_channel.name)
        return err_set(ec, ERR_NOMEM, "out of memory for the alarms");
    own.channel = &o->mail_channel;
    own.from = o->from;
    e = client_create_mail(&opts->mail, opts->resolver, clock, &own.client, ec);
    if (!e)
        e = receiver_create(&own, clock, counters, &o->mail, ec);
    o->receivers[o->channels.count] = o->mail;
    return e;
}

static enum err create_webhook(struct outlets *o, size_t i, const struct alarms_opts *opts,
                               const struct receiver_opts *receiver, const struct clock *clock,
                               struct counters *counters, struct errctx *ec)
{
    const struct channel *channel = &o->channels.items[i];
    struct receiver_opts own = *receiver;
    enum err e;

    if (channel->kind == CHANNEL_MAIL && !o->mail)
        return err_set(ec, ERR_INPUT, "shardwheel.alarm.channels: %s needs spring.mail.host and spring.mail.from",
                       channel->name);
    if (channel->kind == CHANNEL_MAIL)
        return ERR_OK;
    own.channel = channel;
    e = client_create_webhook(channel->target, opts->ca, channel->guarded, opts->resolver, clock, &own.client, ec);
    if (e && channel->guarded) {
        log_warn("alarm", "event=channel_left_out channel=%s error=%s", channel->name, log_quote(ec->text).s);
        return e == ERR_INPUT ? ERR_OK : e;
    }
    if (e)
        return err_wrap(ec, e, "shardwheel.alarm.channels: %s", channel->name);
    return receiver_create(&own, clock, counters, &o->receivers[i], ec);
}

/* One that cannot be used, since the settings have its name for example, holds no other up. */
static enum err add_rows(struct channel_list *list, const struct alarms_opts *opts, struct errctx *ec)
{
    for (size_t i = 0; i < opts->row_count; i++) {
        const char *field;
        enum err e = channels_add(list, &opts->rows[i], &field, ec);
        if (e && e != ERR_INPUT && e != ERR_STATE)
            return e;
        if (e)
            log_warn("alarm", "event=channel_left_out channel=%s error=%s", log_quote(opts->rows[i].name).s,
                     log_quote(ec->text).s);
    }
    return ERR_OK;
}

enum err outlets_create(const struct alarms_opts *opts, const struct receiver_opts *receiver, const struct clock *clock,
                        struct counters *counters, struct outlets *out, struct errctx *ec)
{
    enum err e;

    *out = (struct outlets){0};
    e = channels_parse(opts->channels, &out->channels, ec);
    if (e)
        return err_wrap(ec, e, "shardwheel.alarm.channels");
    e = add_rows(&out->channels, opts, ec);
    if (e) {
        outlets_fini(out);
        return e;
    }
    out->receivers = calloc(out->channels.count + 1, sizeof(struct receiver *));
    e = out->receivers ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory for the alarms");
    if (!e && opts->mail.host[0])
        e = create_mail(out, opts, receiver, clock, counters, ec);
    for (size_t i = 0; i < out->channels.count && !e; i++)
        e = create_webhook(out, i, opts, receiver, clock, counters, ec);
    if (e)
        outlets_fini(out);
    return e;
}

bool outlets_is_empty(const struct outlets *o)
{
    return !o->mail && o->channels.count == 0;
}

bool outlets_serve(const struct outlets *o, const char *app)
{
    for (size_t i = 0; i < o->channels.count; i++)
        if (channel_serves(&o->channels.items[i], app))
            return true;
    return false;
}

enum err outlets_start(struct outlets *o, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i <= o->channels.count && !e; i++)
        if (o->receivers[i])
            e = receiver_start(o->receivers[i], (int)i, ec);
    return e;
}

void outlets_stop(struct outlets *o)
{
    for (size_t i = 0; i <= o->channels.count; i++)
        if (o->receivers[i])
            receiver_stop(o->receivers[i]);
    for (size_t i = 0; i <= o->channels.count; i++)
        if (o->receivers[i])
            receiver_join(o->receivers[i]);
}

void outlets_fini(struct outlets *o)
{
    for (size_t i = 0; o->receivers && i <= o->channels.count; i++)
        receiver_destroy(o->receivers[i]);
    free(o->receivers);
    channels_fini(&o->channels);
    free(o->mail_channel.name);
    free(o->from);
    *o = (struct outlets){0};
}

/* ---- who gets a message ------------------------------------------------------------------------------------------ */

static enum err add(struct outlet_posts *posts, struct receiver *receiver, struct message *message, const char *to,
                    void *owner, struct errctx *ec)
{
    bool room = list_grow(&posts->items, posts->count, sizeof *posts->items);
    struct parcel *d = room ? parcel_create(message, to, owner) : NULL;

    if (!d)
        return err_set(ec, ERR_NOMEM, "out of memory for the receivers of a message");
    posts->items[posts->count++] = (struct outlet_post){receiver, d};
    return ERR_OK;
}

static bool has_address(const struct outlet_posts *posts, const char *to)
{
    for (size_t i = 0; i < posts->count; i++)
        if (posts->items[i].parcel->to && strcmp(posts->items[i].parcel->to, to) == 0)
            return true;
    return false;
}

static enum err add_mails(struct outlets *o, const char *emails, struct message *message, void *owner,
                          struct outlet_posts *posts, struct errctx *ec)
{
    struct mail_list list = {0};
    enum err e = mail_list_parse(emails, &list, ec);

    if (e)
        return e;
    posts->has_address = posts->has_address || list.count > 0 || list.refused > 0;
    posts->refused += list.refused + (o->mail ? 0 : list.count);
    for (size_t i = 0; i < list.count && o->mail && !e; i++)
        if (!has_address(posts, list.addresses[i]))
            e = add(posts, o->mail, message, list.addresses[i], owner, ec);
    mail_list_fini(&list);
    return e;
}

static bool serves(const struct channel *channel, const struct outlet_about *about)
{
    bool fits = !about->apps || (about->app_count == 0 && channel_serves(channel, NULL));

    for (size_t i = 0; about->apps && i < about->app_count; i++)
        fits = fits || channel_serves(channel, about->apps[i]);
    return fits && (!about->apps || about->any_tag || channel_serves_tags(channel, about->tags)) &&
           (!about->only || strcmp(channel->name, about->only) == 0);
}

const struct channel *outlets_find_channel(const struct outlets *o, const char *name)
{
    for (size_t i = 0; i < o->channels.count; i++)
        if (strcmp(o->channels.items[i].name, name) == 0)
            return &o->channels.items[i];
    return NULL;
}

static enum err add_quiet(const struct outlets *o, const struct channel *channel, struct outlet_posts *posts,
                          struct errctx *ec)
{
    if (!posts->quiet)
        posts->quiet = calloc(o->channels.count, sizeof *posts->quiet);
    if (!posts->quiet)
        return err_set(ec, ERR_NOMEM, "out of memory for the receivers of a message");
    posts->quiet[posts->quiet_count++] = channel->name;
    return ERR_OK;
}

enum err outlets_collect(struct outlets *o, const struct outlet_about *about, struct message *message, void *owner,
                         struct outlet_posts *out, struct errctx *ec)
{
    struct outlet_posts posts = {0};
    enum err e = about->only ? ERR_OK : add_mails(o, about->emails, message, owner, &posts, ec);

    for (size_t i = 0; i < o->channels.count && !e; i++) {
        const struct channel *channel = &o->channels.items[i];
        if (!serves(channel, about))
            continue;
        if (about->now_s && quiet_covers(&channel->quiet, about->now_s))
            e = add_quiet(o, channel, &posts, ec);
        else if (channel->kind == CHANNEL_MAIL)
            e = add_mails(o, channel->target, message, owner, &posts, ec);
        else if (o->receivers[i])
            e = add(&posts, o->receivers[i], message, NULL, owner, ec);
    }
    if (e) {
        outlet_posts_fini(&posts, true);
        return e;
    }
    *out = posts;
    return ERR_OK;
}

void outlet_posts_fini(struct outlet_posts *posts, bool with_parcels)
{
    for (size_t i = 0; with_parcels && i < posts->count; i++)
        parcel_destroy(posts->items[i].parcel);
    free(posts->items);
    free(posts->quiet);
    *posts = (struct outlet_posts){0};
}

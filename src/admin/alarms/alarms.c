/* SPDX-License-Identifier: MIT */
#include "shardwheel/admin/alarms.h"

#include "admin/admin_impl.h"
#include "shardwheel/admin/audit.h"
#include "shardwheel/config.h"

/* Settings of alarms are read at start alone, so the config of the start has them. */
enum err admin_read_alarms(struct admin *a, struct alarms_opts *out, struct channel_rows *rows, struct refusal *r)
{
    struct store_session *s = NULL;

    *out = (struct alarms_opts){.node_name = a->opts.node_name, .resolver = a->opts.resolver};
    if (!a->opts.config)
        return refuse(r, REFUSED_OFF, NULL, "this node has no alarm settings");
    enum err e = refuse_error(r, alarms_read_config(a->opts.config, out, &r->text));
    if (e || !out->console_channels)
        return e;
    e = admin_take_session(a, &s, r);
    if (!e)
        e = store_load_channels(s, rows, &r->text);
    out->rows = rows->rows;
    out->row_count = rows->count;
    return admin_end(a, s, e, r);
}

enum err admin_list_channels(struct admin *a, const struct actor *actor,
                             void (*each)(void *arg, const struct alarm_channel *channel), void *arg, bool *mail,
                             bool *can_add, struct refusal *r)
{
    struct channel_rows rows = {0};
    struct alarms_opts opts;
    enum err e = refuse_unless(actor, RIGHT_ADMINISTER, 0, r);

    if (!e)
        e = admin_read_alarms(a, &opts, &rows, r);
    if (!e)
        e = refuse_error(r, alarms_list_channels(&opts, each, arg, &r->text));
    channel_rows_fini(&rows);
    if (e)
        return e;
    *mail = opts.mail.host[0] && opts.mail.from[0];
    *can_add = opts.console_channels;
    return ERR_OK;
}

enum err admin_enter_alarms(struct admin *a, const struct actor *actor, const int64_t **groups, size_t *group_count,
                            struct store_session **out, struct refusal *r)
{
    bool all = actor_may(actor, RIGHT_SEE, 0);

    *groups = all ? NULL : actor->groups;
    *group_count = all ? 0 : actor->group_count;
    /* A group: for a token without that scope. */
    return admin_enter(a, actor, RIGHT_SEE, *group_count ? actor->groups[0] : 0, out, r);
}

enum err admin_refuse_change(enum err e, const char *field, const char *not_there, struct refusal *r)
{
    if (r->kind != REFUSED_NOT)
        return e;
    if (e == ERR_STATE)
        return refuse(r, REFUSED_TAKEN, field, "%s", r->text.text);
    if (e == ERR_BUSY)
        return refuse(r, REFUSED_LIMIT, NULL, "%s", r->text.text);
    return e == ERR_NOTFOUND ? refuse(r, REFUSED_UNKNOWN, "id", "%s", not_there) : e;
}

enum err admin_load_alarms(struct admin *a, const struct actor *actor, int64_t after_job, size_t limit,
                           struct alarm_state **out, size_t *count, struct refusal *r)
{
    struct store_session *s = NULL;
    const int64_t *groups;
    size_t group_count;
    enum err e = admin_enter_alarms(a, actor, &groups, &group_count, &s, r);

    if (!e)
        e = store_load_alarm_states(s, after_job, limit, groups, group_count, out, count, &r->text);
    return admin_end(a, s, e, r);
}

enum err admin_load_told(struct admin *a, const struct actor *actor, struct sent_filter *filter, int64_t before_id,
                         size_t limit, struct sent_alarms *out, struct refusal *r)
{
    struct store_session *s = NULL;
    enum err e = admin_enter_alarms(a, actor, &filter->groups, &filter->group_count, &s, r);

    if (!e)
        e = store_load_told(s, filter, before_id, limit, out, &r->text);
    return admin_end(a, s, e, r);
}

/* Counts whom it tells of. */
struct counting {
    void (*each)(void *arg, const char *channel, const char *to, const char *error);
    void *arg;
    size_t count;
};

static void count_one(void *arg, const char *channel, const char *to, const char *error)
{
    struct counting *counting = arg;

    counting->count++;
    counting->each(counting->arg, channel, to, error);
}

/* It changes nothing but sends messages: who did is on record. */
static enum err note_test(struct admin *a, const struct actor *actor, const char *app, const char *channel,
                          struct refusal *r)
{
    struct audit_diff diff;

    audit_begin(&diff, AUDIT_ADDED);
    audit_text(&diff, "group", NULL, app);
    audit_text(&diff, "channel", NULL, channel);
    return admin_write_audit(a, &diff, actor, "alarm.test", 0, channel ? channel : app, 0, r);
}

static enum err test_all(struct admin *a, const struct actor *actor, const struct alarms_opts *opts, const char *app,
                         const char *channel, struct counting *counting, struct refusal *r)
{
    enum err e = note_test(a, actor, app, channel, r);

    if (!e)
        e = refuse_error(r, alarms_test(opts, app, channel, a->clock, count_one, counting, &r->text));
    if (!e && !counting->count)
        e = channel ? refuse(r, REFUSED_UNKNOWN, "channel", "there is no channel %s", channel)
                    : refuse(r, REFUSED_STATE, NULL, "no channel serves the executor group %s", app);
    atomic_store_explicit(&a->testing_alarms, false, memory_order_release); /* with the exchange of the caller */
    return e;
}

enum err admin_test_alarms(struct admin *a, const struct actor *actor, const char *app, const char *channel,
                           void (*each)(void *arg, const char *channel, const char *to, const char *error), void *arg,
                           struct refusal *r)
{
    struct counting counting = {.each = each, .arg = arg};
    struct channel_rows rows = {0};
    struct alarms_opts opts;
    enum err e = refuse_unless(actor, RIGHT_ADMINISTER, 0, r);

    if (!e)
        e = admin_read_alarms(a, &opts, &rows, r);
    if (!e && !opts.mail.host[0] && !opts.channels[0] && !opts.row_count)
        e = refuse(r, REFUSED_STATE, NULL, "there is no channel, and spring.mail.host is not set");
    if (!e && atomic_exchange_explicit(&a->testing_alarms, true, memory_order_acquire)) /* with the release above */
        e = refuse(r, REFUSED_LIMIT, NULL, "another test of the alarms is in progress");
    else if (!e)
        e = test_all(a, actor, &opts, app, channel, &counting, r);
    channel_rows_fini(&rows);
    return e;
}

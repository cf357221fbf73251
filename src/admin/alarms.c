/* SPDX-License-Identifier: MIT */
#include "shardwheel/admin/alarms.h"

#include "admin/admin_impl.h"
#include "admin/audit.h"
#include "shardwheel/config.h"

/* Settings of alarms are read at start alone, so the config of the start has them. */
static enum err read_opts(struct admin *a, struct alarms_opts *out, struct refusal *r)
{
    struct errctx ec;

    errctx_clear(&ec);
    *out = (struct alarms_opts){.node_name = a->opts.node_name, .resolver = a->opts.resolver};
    if (!a->opts.config)
        return refuse(r, REFUSED_OFF, NULL, "this node has no settings of alarms");
    return refuse_error(r, alarms_read_config(a->opts.config, out, &ec), &ec);
}

enum err admin_list_channels(struct admin *a, const struct actor *actor,
                             void (*each)(void *arg, const struct alarm_channel *channel), void *arg, bool *mail,
                             struct refusal *r)
{
    struct alarms_opts opts;
    struct errctx ec;
    enum err e = refuse_unless(actor, RIGHT_ADMINISTER, 0, r);

    errctx_clear(&ec);
    if (!e)
        e = read_opts(a, &opts, r);
    if (!e)
        e = refuse_error(r, alarms_list_channels(&opts, each, arg, &ec), &ec);
    if (!e)
        *mail = opts.mail.host[0] && opts.mail.from[0];
    return e;
}

enum err admin_load_alarms(struct admin *a, const struct actor *actor, int64_t after_job, size_t limit,
                           struct alarm_state **out, size_t *count, struct refusal *r)
{
    bool all = actor_may(actor, RIGHT_SEE, 0);
    struct store_session *s = NULL;
    struct errctx ec;
    enum err e = ERR_OK;

    errctx_clear(&ec);
    if (!all && !actor->group_count)
        e = refuse_unless(actor, RIGHT_SEE, 0, r);
    if (!e && !all)
        e = refuse_unless(actor, RIGHT_SEE, actor->groups[0], r); /* a token without that scope */
    if (!e)
        e = admin_take_session(a, &s, r);
    if (!e)
        e = refuse_error(r,
                         store_load_alarm_states(s, after_job, limit, all ? NULL : actor->groups,
                                                 all ? 0 : actor->group_count, out, count, &ec),
                         &ec);
    store_give_session(a->opts.store, s);
    return e;
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
static enum err note_test(struct admin *a, const struct actor *actor, const char *app, struct refusal *r)
{
    struct store_session *s = NULL;
    struct audit_diff diff;
    struct audit_row row;
    struct errctx ec;
    enum err e = admin_take_session(a, &s, r);

    if (e)
        return e;
    errctx_clear(&ec);
    audit_begin(&diff, AUDIT_ADDED);
    audit_text(&diff, "group", NULL, app);
    e = audit_end(&diff, actor, "alarm.test", 0, app, 0, &row, &ec);
    if (!e)
        e = store_write_audit(s, &row, &ec);
    audit_fini(&diff);
    store_give_session(a->opts.store, s);
    return refuse_error(r, e, &ec);
}

enum err admin_test_alarms(struct admin *a, const struct actor *actor, const char *app,
                           void (*each)(void *arg, const char *channel, const char *to, const char *error), void *arg,
                           struct refusal *r)
{
    struct counting counting = {.each = each, .arg = arg};
    struct alarms_opts opts;
    struct errctx ec;
    enum err e = refuse_unless(actor, RIGHT_ADMINISTER, 0, r);

    errctx_clear(&ec);
    if (!e)
        e = read_opts(a, &opts, r);
    if (!e && !opts.mail.host[0] && !opts.channels[0])
        e = refuse(r, REFUSED_STATE, NULL, "neither spring.mail.host nor shardwheel.alarm.channels is set");
    if (!e && atomic_exchange_explicit(&a->testing_alarms, true, memory_order_acquire)) /* with the release below */
        return refuse(r, REFUSED_LIMIT, NULL, "another test of the alarms is under way");
    if (e)
        return e;
    e = note_test(a, actor, app, r);
    if (!e)
        e = refuse_error(r, alarms_test(&opts, app, a->clock, count_one, &counting, &ec), &ec);
    if (!e && !counting.count)
        e = refuse(r, REFUSED_STATE, NULL, "no channel serves the executor group %s", app);
    atomic_store_explicit(&a->testing_alarms, false, memory_order_release); /* with the exchange above */
    return e;
}

/* SPDX-License-Identifier: MIT */
/* Webhooks for alarms that are set in the console. */
#include "shardwheel/admin/alarms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin/admin_impl.h"
#include "shardwheel/admin/audit.h"
#include "shardwheel/admin/hooks.h"
#include "shardwheel/config.h"

#define CHANNELS_MAX 32
#define NO_CHANNEL "there is no such channel"

/* What a change is made under. */
struct change {
    struct admin *admin;
    const struct actor *actor;
    struct alarms_opts opts;
    struct channel_rows rows;
    struct channel_row old; /* points into `rows` */
    struct channel_row row; /* as it is to be */
    char name[64];
};

static enum err begin(struct change *c, int64_t id, struct refusal *r)
{
    enum err e = refuse_unless(c->actor, RIGHT_ADMINISTER, 0, r);

    if (!e)
        e = admin_read_alarms(c->admin, &c->opts, &c->rows, r);
    if (!e && !c->opts.console_channels)
        e = refuse(r, REFUSED_OFF, NULL,
                   "shardwheel.alarm.console-channels is off: channels can be set only in the configuration");
    for (size_t i = 0; i < c->rows.count && !e && id; i++)
        if (c->rows.rows[i].id == id)
            c->old = c->rows.rows[i];
    if (!e && id && !c->old.id)
        e = refuse(r, REFUSED_UNKNOWN, "id", NO_CHANNEL);
    return e;
}

struct name_search {
    const char *name;
    bool found;
};

static void compare_name(void *arg, const struct alarm_channel *channel)
{
    struct name_search *search = arg;

    search->found = search->found || strcmp(channel->name, search->name) == 0;
}

/* The kind, or the kind with the first number that is free. */
static enum err choose_name(struct change *c, const char *kind, struct refusal *r)
{
    struct name_search search = {.name = c->name, .found = true};
    enum err e = ERR_OK;

    for (int n = 1; search.found && !e; n++) {
        snprintf(c->name, sizeof c->name, n > 1 ? "%.40s-%d" : "%.40s", kind, n);
        search.found = false;
        e = refuse_error(r, alarms_list_channels(&c->opts, compare_name, &search, &r->text));
    }
    return e;
}

/* Beside all others: the row itself is left out of them. */
static enum err check(struct change *c, struct refusal *r)
{
    struct channel_row *others = calloc(c->rows.count + 1, sizeof *others);
    struct alarms_opts opts = c->opts;
    const char *field = NULL;
    enum err e;

    if (!others)
        return refuse(r, REFUSED_BROKEN, NULL, "out of memory");
    opts.rows = others;
    opts.row_count = 0;
    for (size_t i = 0; i < c->rows.count; i++)
        if (c->rows.rows[i].id != c->row.id)
            others[opts.row_count++] = c->rows.rows[i];
    e = alarms_check_channel(&opts, &c->row, c->admin->clock, &field, &r->text);
    free(others);
    if (e == ERR_STATE)
        return refuse(r, field ? REFUSED_TAKEN : REFUSED_LIMIT, field, "%s", r->text.text);
    if (e == ERR_INPUT && field)
        return refuse(r, REFUSED_INVALID, field, "%s", r->text.text);
    return refuse_error(r, e);
}

static const struct audit_row *put_audit(const struct change *c, enum audit_kind kind, struct audit_diff *diff)
{
    static const char *const actions[] = {"channel.add", "channel.update", "channel.remove"}; /* by kind */
    const struct channel_row *old = &c->old, *new = &c->row;
    char old_host[HOOK_HOST_MAX], new_host[HOOK_HOST_MAX];

    hook_write_host(old_host, old->target ? old->target : "");
    hook_write_host(new_host, new->target ? new->target : "");
    audit_begin(diff, kind);
    audit_text(diff, "name", old->name, new->name);
    audit_text(diff, "kind", old->kind, new->kind);
    audit_text(diff, "host", old_host, new_host);
    audit_text(diff, "groups", old->app_names, new->app_names);
    audit_text(diff, "tags", old->tags, new->tags);
    audit_text(diff, "quiet", old->quiet, new->quiet);
    if (kind == AUDIT_CHANGED) {
        audit_secret(diff, "url", strcmp(old->target, new->target) != 0);
        audit_secret(diff, "secret", strcmp(old->secret, new->secret) != 0);
    }
    return audit_end(diff, c->actor, actions[kind], old->id, new->name ? new->name : old->name, 0);
}

static enum err write(struct change *c, enum audit_kind kind, int64_t *id, struct refusal *r)
{
    struct store_session *s = NULL;
    struct audit_diff diff;
    const struct audit_row *row = put_audit(c, kind, &diff);
    enum err e = admin_take_session(c->admin, &s, r);

    if (!e)
        e = kind == AUDIT_REMOVED ? store_remove_channel(s, c->old.id, row, &r->text)
                                  : store_put_channel(s, &c->row, CHANNELS_MAX, row, id, &r->text);
    audit_fini(&diff);
    return admin_end(c->admin, s, admin_refuse_change(e, "name", NO_CHANNEL, r), r);
}

/* What is not given is as in `old`. */
static struct channel_row merge(const struct channel_row *old, const struct channel_row *given)
{
    return (struct channel_row){.id = old->id,
                                .name = given->name ? given->name : old->name,
                                .kind = given->kind ? given->kind : old->kind,
                                .target = given->target ? given->target : old->target,
                                .secret = given->secret ? given->secret : old->secret,
                                .app_names = given->app_names ? given->app_names : old->app_names,
                                .tags = given->tags ? given->tags : old->tags,
                                .quiet = given->quiet ? given->quiet : old->quiet};
}

enum err admin_put_channel(struct admin *a, const struct actor *actor, const struct channel_row *given, bool dry_run,
                           int64_t *added, struct refusal *r)
{
    struct change c = {.admin = a, .actor = actor};
    const struct channel_row defaults = {.name = c.name, .secret = "", .app_names = "", .tags = "", .quiet = ""};
    enum err e = begin(&c, given->id, r);

    if (!e && !given->id && !given->name)
        e = choose_name(&c, given->kind, r);
    if (!e) {
        c.row = merge(given->id ? &c.old : &defaults, given);
        e = check(&c, r);
    }
    if (!e && !dry_run)
        e = write(&c, given->id ? AUDIT_CHANGED : AUDIT_ADDED, added, r);
    channel_rows_fini(&c.rows);
    return e;
}

enum err admin_remove_channel(struct admin *a, const struct actor *actor, int64_t id, struct refusal *r)
{
    struct change c = {.admin = a, .actor = actor};
    enum err e = begin(&c, id, r);

    if (!e)
        e = write(&c, AUDIT_REMOVED, NULL, r);
    channel_rows_fini(&c.rows);
    return e;
}

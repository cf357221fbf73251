/* SPDX-License-Identifier: MIT */
/* Webhooks that are told of events. */
#include "shardwheel/admin/hooks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "admin/admin_impl.h"
#include "shardwheel/admin/audit.h"
#include "shardwheel/alarm.h"
#include "shardwheel/config.h"

#define LIMIT_MS 2000
#define NO_HOOK "there is no such webhook"
#define NO_DELIVERY "there is no such delivery"

void hook_write_host(char out[HOOK_HOST_MAX], const char *url)
{
    const char *at = strstr(url, "://");
    size_t len = at ? (size_t)(at + 3 - url) + strcspn(at + 3, "/?#") : 0;
    const char *user = memchr(url, '@', len);

    snprintf(out, HOOK_HOST_MAX, "%.*s", user ? 0 : (int)len, url);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

enum err admin_load_hooks(struct admin *a, const struct actor *actor, struct hook_rows *out, struct refusal *r)
{
    struct store_session *s = NULL;
    enum err e = admin_enter(a, actor, RIGHT_ADMINISTER, 0, &s, r);

    if (!e)
        e = store_load_hooks(s, /*counts=*/true, out, &r->text);
    return admin_end(a, s, e, r);
}

/* For a change of the webhook, which points into `rows`. id 0: of a new one. */
static enum err enter(struct admin *a, const struct actor *actor, int64_t id, struct store_session **s,
                      struct hook_rows *rows, struct hook_row *out, struct refusal *r)
{
    enum err e = admin_enter(a, actor, RIGHT_ADMINISTER, 0, s, r);

    if (!e && a->opts.config && !a->opts.config->alarm_console_channels)
        e = refuse(r, REFUSED_OFF, NULL, "shardwheel.alarm.console-channels is off: webhooks for events are disabled");
    if (!e && id)
        e = store_load_hooks(*s, /*counts=*/false, rows, &r->text);
    for (size_t i = 0; i < rows->count && !e; i++)
        if (rows->rows[i].id == id)
            *out = rows->rows[i];
    return e || out->id == id ? e : refuse(r, REFUSED_UNKNOWN, "id", NO_HOOK);
}

/* ---- changing ---------------------------------------------------------------------------------------------------- */

static enum err check(const struct hook_row *row, struct refusal *r)
{
    enum err e;

    if (!alarm_is_name(row->name))
        return refuse(r, REFUSED_INVALID, "name", "a name must have 1 to 40 letters, digits, \".\", \"_\" and \"-\"");
    if (!row->kinds)
        return refuse(r, REFUSED_INVALID, "kinds", "a webhook needs at least one kind of event");
    e = events_check_url(row->target, &r->text);
    return e == ERR_INPUT ? refuse(r, REFUSED_INVALID, "url", "%s", r->text.text) : refuse_error(r, e);
}

static void put_kinds(char out[64], int kinds)
{
    size_t len = 0;

    out[0] = '\0';
    for (int kind = 0; kind < HOOK_KINDS; kind++)
        if (kinds & 1 << kind)
            len += (size_t)snprintf(out + len, 64 - len, "%s%s", len ? "," : "", hook_kind_name((enum hook_kind)kind));
}

static const struct audit_row *put_audit(struct audit_diff *diff, const struct actor *actor, enum audit_kind kind,
                                         const struct hook_row *old, const struct hook_row *new)
{
    static const char *const actions[] = {"hook.add", "hook.update", "hook.remove"}; /* by kind */
    char old_host[HOOK_HOST_MAX], new_host[HOOK_HOST_MAX], old_kinds[64], new_kinds[64];

    hook_write_host(old_host, old->target ? old->target : "");
    hook_write_host(new_host, new->target ? new->target : "");
    put_kinds(old_kinds, old->kinds);
    put_kinds(new_kinds, new->kinds);
    audit_begin(diff, kind);
    audit_text(diff, "name", old->name, new->name);
    audit_text(diff, "target", old_host, new_host);
    audit_text(diff, "kinds", old_kinds, new_kinds);
    audit_text(diff, "only", old->only_failed ? "failed" : "all", new->only_failed ? "failed" : "all");
    audit_text(diff, "groups", old->app_names, new->app_names);
    audit_text(diff, "tags", old->tags, new->tags);
    audit_bool(diff, "enabled", old->enabled, new->enabled);
    if (kind == AUDIT_CHANGED) {
        audit_secret(diff, "url", strcmp(old->target, new->target) != 0);
        audit_secret(diff, "secret", strcmp(old->secret, new->secret) != 0);
    }
    return audit_end(diff, actor, actions[kind], old->id, new->name ? new->name : old->name, 0);
}

static enum err write(struct store_session *s, const struct actor *actor, enum audit_kind kind,
                      const struct hook_row *old, const struct hook_row *new, int64_t *id, struct refusal *r)
{
    struct audit_diff diff;
    const struct audit_row *row = put_audit(&diff, actor, kind, old, new);
    enum err e = kind == AUDIT_REMOVED ? store_remove_hook(s, old->id, row, &r->text)
                                       : store_put_hook(s, new, row, id, &r->text);

    audit_fini(&diff);
    return admin_refuse_change(e, "name", NO_HOOK, r);
}

/* What is not given is as in `old`. */
static struct hook_row merge(const struct hook_row *old, const struct hook_row *given)
{
    struct hook_row row = *old;

    row.name = given->name ? given->name : old->name;
    row.target = given->target ? given->target : old->target;
    row.secret = given->secret ? given->secret : old->secret;
    row.app_names = given->app_names ? given->app_names : old->app_names;
    row.tags = given->tags ? given->tags : old->tags;
    row.kinds = given->kinds >= 0 ? given->kinds : old->kinds;
    row.only_failed = given->only_failed >= 0 ? given->only_failed : old->only_failed;
    row.enabled = given->enabled >= 0 ? given->enabled : old->enabled;
    return row;
}

enum err admin_put_hook(struct admin *a, const struct actor *actor, const struct hook_row *given, int64_t *added,
                        struct refusal *r)
{
    static const struct hook_row defaults = {
        .secret = "", .app_names = "", .tags = "", .kinds = (1 << HOOK_KINDS) - 1, .enabled = true};
    struct store_session *s = NULL;
    struct hook_rows rows = {0};
    struct hook_row old = {0};
    enum err e = enter(a, actor, given->id, &s, &rows, &old, r);
    const struct hook_row new = merge(given->id ? &old : &defaults, given);

    if (!e)
        e = check(&new, r);
    if (!e)
        e = write(s, actor, given->id ? AUDIT_CHANGED : AUDIT_ADDED, &old, &new, added, r);
    hook_rows_fini(&rows);
    return admin_end(a, s, e, r);
}

enum err admin_remove_hook(struct admin *a, const struct actor *actor, int64_t id, struct refusal *r)
{
    struct store_session *s = NULL;
    struct hook_rows rows = {0};
    struct hook_row old = {0};
    enum err e = enter(a, actor, id, &s, &rows, &old, r);

    if (!e)
        e = write(s, actor, AUDIT_REMOVED, &old, &(struct hook_row){0}, NULL, r);
    hook_rows_fini(&rows);
    return admin_end(a, s, e, r);
}

/* It changes nothing but sends something: who did is on record. The session is not kept while the receiver is waited
 * for. */
enum err admin_test_hook(struct admin *a, const struct actor *actor, int64_t id, int *status, struct errctx *why,
                         struct refusal *r)
{
    struct store_session *s = NULL;
    struct hook_rows rows = {0};
    struct hook_row hook = {0};
    enum err e = enter(a, actor, id, &s, &rows, &hook, r);
    const struct audit_row row = audit_bare(AUDIT_ADDED, actor, "hook.test", id, hook.name, 0);

    if (!e)
        e = store_write_audit(s, &row, &r->text);
    e = admin_end(a, s, e, r);
    errctx_clear(why);
    if (!e) {
        e = events_test(&hook, a->opts.config ? a->opts.config->alarm_ca : "", a->opts.resolver, a->clock, status, why);
        e = e == ERR_LOST ? ERR_OK : e ? refuse(r, REFUSED_BROKEN, NULL, "%s", why->text) : ERR_OK;
    }
    hook_rows_fini(&rows);
    return e;
}

/* ---- deliveries -------------------------------------------------------------------------------------------------- */

enum err admin_load_deliveries(struct admin *a, const struct actor *actor, const struct delivery_filter *filter,
                               int64_t before_id, size_t limit, struct deliveries *out, struct refusal *r)
{
    struct store_session *s = NULL;
    enum err e = admin_enter(a, actor, RIGHT_ADMINISTER, 0, &s, r);

    if (!e)
        e = store_load_deliveries(s, filter, before_id, limit, LIMIT_MS, out, &r->text);
    if (e == ERR_TIMEOUT)
        e = refuse(r, REFUSED_LIMIT, NULL, "the database takes too long: ask for one webhook or one job");
    return admin_end(a, s, e, r);
}

enum err admin_load_delivery(struct admin *a, const struct actor *actor, int64_t id, struct deliveries *out,
                             struct buf *body, struct refusal *r)
{
    struct store_session *s = NULL;
    struct hook_events events = {0};
    enum err e = admin_enter(a, actor, RIGHT_ADMINISTER, 0, &s, r);

    if (!e)
        e = store_load_delivery(s, id, out, &r->text);
    if (!e)
        e = store_load_hook_event(s, id, &events, &r->text);
    if (!e && (out->count == 0 || events.count == 0))
        e = refuse(r, REFUSED_UNKNOWN, "id", NO_DELIVERY);
    if (!e)
        events_put_body(body, &events.rows[0]);
    hook_events_fini(&events);
    return admin_end(a, s, e, r);
}

enum err admin_resend_delivery(struct admin *a, const struct actor *actor, int64_t id, struct refusal *r)
{
    struct store_session *s = NULL;
    struct deliveries found = {0};
    struct audit_row row;
    enum err e = admin_enter(a, actor, RIGHT_ADMINISTER, 0, &s, r);

    if (!e)
        e = store_load_delivery(s, id, &found, &r->text);
    if (!e && found.count == 0)
        e = refuse(r, REFUSED_UNKNOWN, "id", NO_DELIVERY);
    if (!e) {
        row = audit_bare(AUDIT_ADDED, actor, "hook.resend", id, found.rows[0].hook, 0);
        e = admin_refuse_change(store_resend_delivery(s, id, &row, &r->text), NULL, NO_DELIVERY, r);
    }
    deliveries_fini(&found);
    return admin_end(a, s, e, r);
}

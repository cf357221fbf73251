/* SPDX-License-Identifier: MIT */
#include "admin/admin_impl.h"

#include "shardwheel/admin/audit.h"
#include "shardwheel/config.h"

#include <string.h>

bool admin_is_strict(const struct admin *a)
{
    return a->opts.config && a->opts.config->security_strict;
}

bool admin_has_strong_passwords(const struct admin *a)
{
    return a->opts.config && a->opts.config->strong_passwords;
}

enum err admin_take_zone(const struct admin *a, const char *name, struct zone **own, const struct zone **out,
                         struct errctx *ec)
{
    enum err e = name && *name ? zone_load(name, own, ec) : ERR_OK;

    if (!e)
        *out = *own ? *own : a->opts.zone;
    return e;
}

bool is_same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

enum err admin_take_session(struct admin *a, struct store_session **out, struct refusal *r)
{
    *r = (struct refusal){0};
    return refuse_error(r, store_take_session(a->opts.store, SESSION_NORMAL, out, &r->text));
}

enum err admin_enter(struct admin *a, const struct actor *actor, enum admin_right right, int64_t group,
                     struct store_session **out, struct refusal *r)
{
    enum err e = refuse_unless(actor, right, group, r);

    return e ? e : admin_take_session(a, out, r);
}

enum err admin_enter_seeing(struct admin *a, const struct actor *actor, struct store_session **out, struct refusal *r)
{
    enum err e = refuse_unless_sees(actor, r);

    return e ? e : admin_take_session(a, out, r);
}

enum err admin_end(struct admin *a, struct store_session *s, enum err e, struct refusal *r)
{
    store_give_session(a->opts.store, s);
    return e && r->kind == REFUSED_NOT ? refuse_error(r, e) : e;
}

enum err admin_write_audit(struct admin *a, struct audit_diff *diff, const struct actor *actor, const char *action,
                           int64_t target, const char *target_name, int64_t job_group, struct refusal *r)
{
    struct store_session *s = NULL;
    enum err e = admin_take_session(a, &s, r);

    if (!e)
        e = store_write_audit(s, audit_end(diff, actor, action, target, target_name, job_group), &r->text);
    audit_fini(diff);
    return admin_end(a, s, e, r);
}

/* SPDX-License-Identifier: MIT */
#include "shardwheel/admin/groups.h"

#include "admin/admin_impl.h"
#include "admin/groups/check.h"
#include "shardwheel/admin/audit.h"
#include "shardwheel/registry.h"
#include "shardwheel/store/registry.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TRIES 4 /* of a change that others get ahead of */

static void put_audit(struct audit_diff *d, const struct group_info *old, const struct group_info *new)
{
    static const struct group_info none = {.update_s = -1};
    const char *token, *token_before;

    old = old ? old : &none;
    new = new ? new : &none;
    token_before = old->access_token ? old->access_token : "";
    token = new->access_token ? new->access_token : "";
    audit_text(d, "appname", old->app_name, new->app_name);
    audit_text(d, "title", old->title, new->title);
    audit_int(d, "addressType", old->address_type, new->address_type);
    audit_text(d, "addressList", old->address_list, new->address_list);
    audit_secret(d, "accessToken", strcmp(token, token_before) != 0);
}

/* ---- addresses --------------------------------------------------------------------------------------------------- */

/* Who beats, joined as the registry joins them; NULL: nobody. While beats may have been missed nobody is left out whose
 * row is there. */
static enum err load_registered(struct admin *a, struct store_session *s, const char *app_name, char **out,
                                struct errctx *ec)
{
    int64_t missed_age_s = -1, since_s = clock_wall_ms(a->clock) / 1000 - MISSED_HOLD_S;
    struct group_beats beats = {0};
    struct buf list = {0};
    enum err e = store_load_missed(s, MISSED_HOLD_S, &missed_age_s, ec);

    if (!e)
        e = store_load_group_beats(s, app_name, missed_age_s >= 0 ? 0 : since_s, &beats, ec);
    for (size_t i = 0; i < beats.count; i++) {
        if (list.len + strlen(beats.items[i].address) + 1 > ADDRESS_LIST_BYTES)
            break;
        buf_puts(&list, i ? "," : "");
        buf_puts(&list, beats.items[i].address);
    }
    group_beats_fini(&beats);
    if (!e && buf_failed(&list))
        e = err_set(ec, ERR_NOMEM, "out of memory");
    if (!e)
        *out = list.len ? buf_take(&list) : NULL;
    buf_fini(&list);
    return e;
}

/* ---- add --------------------------------------------------------------------------------------------------------- */

static enum err check_name_is_free(struct store_session *s, const struct group_info *values, int64_t but,
                                   struct refusal *r)
{
    bool taken = false;
    enum err e = store_is_app_name_taken(s, values->app_name, but, &taken, &r->text);

    return !e && taken ? refuse(r, REFUSED_TAKEN, "appname", "another executor group has this app name") : e;
}

/* `now` NULL: a new one, whose id *out_id becomes. */
static enum err write(struct admin *a, struct store_session *s, const struct actor *actor, const struct group_info *now,
                      const struct group_info *to, int64_t *out_id, struct refusal *r)
{
    int64_t now_s = clock_wall_ms(a->clock) / 1000, id = now ? now->id : 0;
    struct audit_diff d;

    audit_begin(&d, now ? AUDIT_CHANGED : AUDIT_ADDED);
    put_audit(&d, now, to);
    struct audit_row *row = audit_end(&d, actor, now ? "group.update" : "group.add", id, to->app_name, id);
    enum err e = now ? store_update_group(s, now, to, now_s, audit_differs(&d) ? row : NULL, &r->text)
                     : store_insert_group(s, to, now_s, row, out_id, &r->text);
    audit_fini(&d);
    return e;
}

enum err admin_add_group(struct admin *a, const struct actor *actor, const struct group_info *values,
                         const struct group_rules *rules, int64_t *out_id, struct refusal *r)
{
    struct store_session *s = NULL;
    struct group_columns columns;
    enum err e = admin_enter(a, actor, RIGHT_ADMINISTER, 0, &s, r);

    if (!e)
        e = store_get_group_columns(s, &columns, &r->text);
    if (!e)
        e = group_check(a, values, NULL, rules, &columns, r);
    if (!e && rules->unique)
        e = check_name_is_free(s, values, 0, r);
    if (!e)
        e = write(a, s, actor, NULL, values, out_id, r);
    return admin_end(a, s, e, r);
}

/* ---- change ------------------------------------------------------------------------------------------------------ */

struct change {
    int64_t id;
    group_decide *decide;
    void *arg;
    const struct group_rules *rules; /* of a change */
    bool checks_first;               /* of a removal */
};

static enum err decide_values(struct admin *a, struct store_session *s, const struct change *change,
                              const struct group_info *now, struct group_info *values, struct refusal *r)
{
    struct group_columns columns;

    *values = *now;
    if (!change->decide(change->arg, now, values, r))
        return ERR_INPUT;
    enum err e = store_get_group_columns(s, &columns, &r->text);
    if (!e)
        e = group_check(a, values, now, change->rules, &columns, r);
    if (!e && change->rules->unique && strcmp(values->app_name, now->app_name) != 0)
        e = check_name_is_free(s, values, now->id, r);
    return e;
}

/* As the original has it, which finds out last that there is no such row. */
static enum err check_unknown(struct admin *a, struct store_session *s, const struct change *change, struct refusal *r)
{
    static const struct group_info none = {.app_name = "", .title = ""};
    struct refusal unknown = *r;
    struct group_info values;

    *r = (struct refusal){0};
    enum err e = decide_values(a, s, change, &none, &values, r);
    if (!e)
        *r = unknown;
    return e ? e : ERR_NOTFOUND;
}

static enum err change_once(struct admin *a, struct store_session *s, const struct actor *actor,
                            const struct change *change, struct refusal *r)
{
    struct group_infos list = {0};
    struct group_info to;
    char *registered = NULL;
    enum err e = group_load(s, change->id, &list, r);

    if (e == ERR_NOTFOUND && change->rules->checks_first)
        return check_unknown(a, s, change, r);
    if (e)
        return e;
    e = decide_values(a, s, change, list.items, &to, r);
    if (!e && to.address_type == 0) {
        e = load_registered(a, s, to.app_name, &registered, &r->text);
        to.address_list = registered;
    }
    if (!e)
        e = write(a, s, actor, list.items, &to, NULL, r);
    free(registered);
    group_infos_fini(&list);
    return e;
}

enum err admin_change_group(struct admin *a, const struct actor *actor, int64_t id, group_decide *decide, void *arg,
                            const struct group_rules *rules, struct refusal *r)
{
    struct change change = {.id = id, .decide = decide, .arg = arg, .rules = rules};
    struct store_session *s = NULL;
    enum err e = admin_enter(a, actor, RIGHT_ADMINISTER, 0, &s, r);

    for (int i = 0; s && i < TRIES && (i == 0 || e == ERR_CONFLICT); i++)
        e = change_once(a, s, actor, &change, r);
    return admin_end(a, s, e, r);
}

/* ---- remove ------------------------------------------------------------------------------------------------------ */

static enum err refuse_removal(enum group_removal removal, struct refusal *r)
{
    switch (removal) {
    case GROUP_REMOVED: break;
    case GROUP_HAS_JOBS: return refuse(r, REFUSED_IN_USE, NULL, "the executor group still has jobs");
    case GROUP_IS_LAST: return refuse(r, REFUSED_LAST, NULL, "the last executor group cannot be deleted");
    }
    return ERR_OK;
}

static enum err refuse_unknown(struct store_session *s, int64_t id, struct refusal *r)
{
    enum group_removal removal = GROUP_REMOVED;
    struct refusal unknown = *r;

    *r = (struct refusal){0};
    enum err e = store_check_removal(s, id, &removal, &r->text);
    if (!e)
        e = refuse_removal(removal, r);
    if (!e)
        *r = unknown;
    return e ? e : ERR_NOTFOUND;
}

static enum err remove_once(struct store_session *s, const struct actor *actor, const struct change *change,
                            struct refusal *r)
{
    enum group_removal removal = GROUP_REMOVED;
    struct group_infos list = {0};
    struct group_info values;
    struct audit_diff d;
    enum err e = group_load(s, change->id, &list, r);

    if (e == ERR_NOTFOUND && change->checks_first)
        return refuse_unknown(s, change->id, r);
    if (e)
        return e;
    audit_begin(&d, AUDIT_REMOVED);
    put_audit(&d, list.items, NULL);
    if (change->decide && !change->decide(change->arg, list.items, &values, r))
        e = ERR_INPUT;
    if (!e)
        e = store_remove_group(s, list.items,
                               audit_end(&d, actor, "group.remove", change->id, list.items->app_name, change->id),
                               &removal, &r->text);
    if (!e)
        e = refuse_removal(removal, r);
    audit_fini(&d);
    group_infos_fini(&list);
    return e;
}

enum err admin_remove_group(struct admin *a, const struct actor *actor, int64_t id, group_decide *may, void *arg,
                            bool checks_first, struct refusal *r)
{
    struct change change = {.id = id, .decide = may, .arg = arg, .checks_first = checks_first};
    struct store_session *s = NULL;
    enum err e = admin_enter(a, actor, RIGHT_ADMINISTER, 0, &s, r);

    for (int i = 0; s && i < TRIES && (i == 0 || e == ERR_CONFLICT); i++)
        e = remove_once(s, actor, &change, r);
    return admin_end(a, s, e, r);
}

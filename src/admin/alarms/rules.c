/* SPDX-License-Identifier: MIT */
/* Rules of alarms on what did not happen, and what is open of them. */
#include "shardwheel/admin/alarms.h"

#include <string.h>

#include "admin/admin_impl.h"
#include "shardwheel/admin/audit.h"

#define NO_RULE "there is no such rule"

/* What a rule may say, by its kind. */
static const struct {
    int64_t min, max;
    bool takes_tag, takes_group;
    const char *expected;
} kinds[WATCH_KINDS] = {
    [WATCH_NO_SUCCESS] = {60, 366 * 86400, true, true, "seconds from 60 to 31622400"},
    [WATCH_LONG_RUN] = {60, 30 * 86400, true, true,
                        "seconds from 60 to 2592000, or 0 for three times the 95th percentile of the last 30 runs"},
    [WATCH_NOT_DONE] = {0, 24 * 60 - 1, true, true, "a time of day in doneBy"},
    [WATCH_FEW_EXECUTORS] = {1, 10000, false, true, "a number of executors from 1 to 10000"},
    [WATCH_LATE_SHARD] = {1, 86400, false, false, "seconds from 1 to 86400"},
};

enum err admin_check_watch_rule(const struct watch_rule *rule, struct refusal *r)
{
    enum watch_kind kind;

    if (!watch_kind_parse(rule->kind, &kind))
        return refuse(r, REFUSED_INVALID, "kind", "there is no kind %s", rule->kind);
    if ((rule->bound < kinds[kind].min || rule->bound > kinds[kind].max) &&
        !(kind == WATCH_LONG_RUN && rule->bound == 0))
        return refuse(r, REFUSED_INVALID, kind == WATCH_NOT_DONE ? "doneBy" : "limit", "a rule of kind %s needs %s",
                      rule->kind, kinds[kind].expected);
    if (rule->tag[0] && !kinds[kind].takes_tag)
        return refuse(r, REFUSED_INVALID, "tag", "a rule of kind %s is not about jobs, so it cannot have a tag",
                      rule->kind);
    if (strchr(rule->tag, ','))
        return refuse(r, REFUSED_INVALID, "tag", "a rule can have one tag, without a comma");
    if (rule->app_name[0] && !kinds[kind].takes_group)
        return refuse(r, REFUSED_INVALID, "group", "a rule of kind %s is for all shards, so it cannot have a group",
                      rule->kind);
    return ERR_OK;
}

enum err admin_load_watch_rules(struct admin *a, const struct actor *actor, struct watch_rules *out, struct refusal *r)
{
    struct store_session *s = NULL;
    const int64_t *groups;
    size_t group_count;
    enum err e = admin_enter_alarms(a, actor, &groups, &group_count, &s, r);

    if (!e)
        e = store_load_watch_rules(s, out, &r->text);
    return admin_end(a, s, e, r);
}

/* For a change of the rule, which points into `rules`. id 0: of a new one. */
static enum err enter(struct admin *a, const struct actor *actor, int64_t id, struct store_session **s,
                      struct watch_rules *rules, struct watch_rule *out, struct refusal *r)
{
    enum err e = admin_enter(a, actor, RIGHT_ADMINISTER, 0, s, r);

    if (!e && id)
        e = store_load_watch_rules(*s, rules, &r->text);
    for (size_t i = 0; i < rules->count && !e; i++)
        if (rules->rows[i].id == id)
            *out = rules->rows[i];
    return e || out->id == id ? e : refuse(r, REFUSED_UNKNOWN, "id", NO_RULE);
}

static enum err write(struct store_session *s, const struct actor *actor, enum audit_kind kind,
                      const struct watch_rule *old, const struct watch_rule *rule, int64_t *id, struct refusal *r)
{
    static const char *const actions[] = {"rule.add", "rule.update", "rule.remove"}; /* by kind */
    const char *name = rule->kind ? rule->kind : old->kind;
    struct audit_diff diff;

    audit_begin(&diff, kind);
    audit_text(&diff, "kind", old->kind, rule->kind);
    audit_text(&diff, "tag", old->tag, rule->tag);
    audit_text(&diff, "group", old->app_name, rule->app_name);
    audit_int(&diff, "limit", old->bound, rule->bound);
    const struct audit_row *row = audit_end(&diff, actor, actions[kind], old->id, name, 0);
    enum err e = kind == AUDIT_REMOVED ? store_remove_watch_rule(s, old->id, row, &r->text)
                                       : store_put_watch_rule(s, rule, row, id, &r->text);
    audit_fini(&diff);
    return admin_refuse_change(e, "kind", NO_RULE, r);
}

/* What is not given is as in `old`. */
static enum err merge(const struct watch_rule *old, const struct watch_rule *given, struct watch_rule *out,
                      struct refusal *r)
{
    bool has_time = strcmp(old->kind, watch_kind_name(WATCH_NOT_DONE)) == 0;

    if (given->bound >= 0 && has_time != (given->kind != NULL))
        return refuse(r, REFUSED_INVALID, given->kind ? "doneBy" : "limit", "a rule of kind %s has no %s", old->kind,
                      given->kind ? "doneBy" : "limit");
    *out = *old;
    out->tag = given->tag ? given->tag : old->tag;
    out->app_name = given->app_name ? given->app_name : old->app_name;
    out->bound = given->bound >= 0 ? given->bound : old->bound;
    return ERR_OK;
}

enum err admin_put_watch_rule(struct admin *a, const struct actor *actor, const struct watch_rule *given,
                              int64_t *added, struct refusal *r)
{
    struct store_session *s = NULL;
    struct watch_rules rules = {0};
    struct watch_rule old = {0}, rule = *given;
    enum err e = enter(a, actor, given->id, &s, &rules, &old, r);

    if (!e && given->id)
        e = merge(&old, given, &rule, r);
    if (!e)
        e = admin_check_watch_rule(&rule, r);
    if (!e)
        e = write(s, actor, given->id ? AUDIT_CHANGED : AUDIT_ADDED, &old, &rule, added, r);
    watch_rules_fini(&rules);
    return admin_end(a, s, e, r);
}

enum err admin_remove_watch_rule(struct admin *a, const struct actor *actor, int64_t id, struct refusal *r)
{
    struct store_session *s = NULL;
    struct watch_rules rules = {0};
    struct watch_rule old = {0};
    enum err e = enter(a, actor, id, &s, &rules, &old, r);

    if (!e)
        e = write(s, actor, AUDIT_REMOVED, &old, &(struct watch_rule){0}, NULL, r);
    watch_rules_fini(&rules);
    return admin_end(a, s, e, r);
}

enum err admin_load_open_alarms(struct admin *a, const struct actor *actor, struct open_alarms *out, struct refusal *r)
{
    struct store_session *s = NULL;
    const int64_t *groups;
    size_t group_count;
    enum err e = admin_enter_alarms(a, actor, &groups, &group_count, &s, r);

    if (!e)
        e = store_load_open_alarms(s, groups, group_count, out, &r->text);
    return admin_end(a, s, e, r);
}

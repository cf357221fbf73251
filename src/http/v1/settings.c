/* SPDX-License-Identifier: MIT */
/* What this node was told, and what it is. */
#include "http/v1/read.h"
#include "http/v1/write.h"
#include "shardwheel/admin/settings.h"
#include "shardwheel/admin/weak.h"

static void put_setting(struct buf *b, const struct setting_row *row)
{
    member_text(b, "key", row->key);
    member_text(b, "value", row->value);
    member_text(b, "source", row->source);
    member_text(b, "section", row->about.section);
    member_text(b, "help", row->about.help);
    member_text(b, "default", row->about.default_text);
    member_bool(b, "reloadable", row->about.reloadable);
}

static void answer_settings(struct v1_call *c)
{
    struct setting_list list = {0};

    if (V1_FAILS(c, admin_load_settings, &list))
        return;
    V1_PUT_LIST(&c->r->body, "items", list.rows, list.count, put_setting);
    setting_list_fini(&list);
}

/* In the order of enum log_level. */
static const char *const levels[] = {"error", "warn", "info", "debug", NULL};

static void put_levels(struct v1_call *c)
{
    enum log_level now[LOG_AREA_COUNT];
    struct buf *b = &c->r->body;

    if (v1_has_failed(c, admin_load_log_levels(c->actor, now, &c->why)))
        return;
    member_object(b, "levels");
    for (int i = 0; i < LOG_AREA_COUNT; i++)
        member_text(b, log_area_name((enum log_area)i), levels[now[i]]);
    member_object_end(b);
}

static void answer_log_levels(struct v1_call *c)
{
    if (!v1_is_refused(c))
        put_levels(c);
}

static void answer_set_log_levels(struct v1_call *c)
{
    struct v1_object areas = v1_object(&c->body, "levels");
    int general = v1_choice(&c->body, "level", levels, LOG_INFO);
    enum log_level wanted[LOG_AREA_COUNT];

    v1_require(&c->body, "level");
    for (int i = 0; i < LOG_AREA_COUNT; i++)
        wanted[i] = (enum log_level)v1_choice(&areas, log_area_name((enum log_area)i), levels, general);
    v1_end(&areas);
    if (!V1_FAILS(c, admin_set_log_levels, wanted))
        put_levels(c);
}

static void answer_instance(struct v1_call *c)
{
    struct buf *b = &c->r->body;
    struct instance instance;

    if (V1_FAILS(c, admin_load_instance, &instance))
        return;
    member_text(b, "version", instance.version);
    member_text(b, "node", instance.node);
    member_text(b, "incarnation", instance.incarnation);
    member_text(b, "coordination", instance.coordination);
    member_text(b, "consoleDialect", instance.console_dialect);
    member_text(b, "glue", instance.glue);
    member_text(b, "schemaFamily", instance.schema_family);
    member_text(b, "databaseVersion", instance.database_version);
    member_text(b, "databaseZone", instance.zones.database);
    member_text(b, "cronZone", instance.zones.cron);
    member_int(b, "shards", instance.shards);
    v1_put_instant(b, "now", instance.now_ms);
}

static void put_weak(struct buf *b, const struct weak_secrets *weak, enum weak_kind kind)
{
    const struct weak_info *info = weak_get_info(kind);
    const struct named_few *few = kind == WEAK_USERS ? &weak->users : kind == WEAK_GROUPS ? &weak->groups : NULL;

    member_object(b, NULL);
    member_text(b, "code", info->name);
    member_text(b, "where", info->where);
    member_text(b, "text", info->what);
    member_text(b, "advice", info->advice);
    member_int(b, "count", few ? few->all : 1);
    member_list(b, "names");
    for (size_t i = 0; few && i < few->count; i++)
        member_text(b, NULL, few->names[i]);
    member_list_end(b);
    member_object_end(b);
}

static void answer_weak(struct v1_call *c)
{
    struct buf *b = &c->r->body;
    struct weak_secrets weak;

    if (V1_FAILS(c, admin_show_weak, &weak))
        return;
    member_list(b, "items");
    for (int kind = 0; kind < WEAK_KINDS; kind++)
        if (weak.found & (1u << kind))
            put_weak(b, &weak, (enum weak_kind)kind);
    member_list_end(b);
}

static const struct v1_route routes[] = {
    {V1_ROUTE(ROUTE_GET, "/settings", ROUTE_LOGIN), V1_NO_BODY, 0, answer_settings},
    {V1_ROUTE(ROUTE_GET, "/settings/weak", ROUTE_LOGIN), V1_NO_BODY, 0, answer_weak},
    {V1_ROUTE(ROUTE_GET, "/log-levels", ROUTE_LOGIN), V1_NO_BODY, 0, answer_log_levels},
    {V1_ROUTE(ROUTE_PUT, "/log-levels", ROUTE_LOGIN), V1_JSON_BODY, 0, answer_set_log_levels},
    {V1_ROUTE(ROUTE_GET, "/instance", ROUTE_LOGIN), V1_NO_BODY, 0, answer_instance},
};

const struct v1_topic v1_settings = {routes, ARRAY_LEN(routes)};

/* SPDX-License-Identifier: MIT */
/*
 * /jobgroup: executor groups.
 *
 * Tokens      Are never shown. So an update in D that sends none, or an empty one, keeps it, where the original clears
 *             it: who sends back what a list gave must not lock executors out. api/v1 clears.
 * Rules       A and B: as the original's newest. On `update` the original looks at no characters; here script is
 *             refused. C: as 3.4.1 and later. D: as it is.
 * Rights      One group: from 3.3.2 on whoever is logged in. Before that, in A and B, administrators alone; here those
 *             who may see the group, too.
 */
#include "http/console/refuse.h"
#include "shardwheel/admin/groups.h"

#include <string.h>

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* The addresses as a list; blank ones are none, and empty items at the end do not count. */
static void put_registry_list(const struct console_call *call, struct buf *out, const char *list)
{
    size_t len = list ? strlen(list) : 0;

    if (str_is_blank(list)) {
        buf_puts(out, "null");
        return;
    }
    while (len && list[len - 1] == ',')
        len--;
    buf_putc(out, '[');
    for (size_t at = 0; at < len;) {
        size_t n = strcspn(list + at, ",");
        struct buf item = {0};
        buf_append(&item, list + at, n);
        if (at)
            buf_putc(out, ',');
        console_put_text(call, out, item.data ? item.data : "");
        buf_fini(&item);
        at += n + 1;
    }
    buf_putc(out, ']');
}

static void put_group(const struct console_call *call, const struct group_info *g)
{
    struct buf *out = &call->r->body;

    member_object(out, NULL);
    member_int(out, "id", g->id);
    console_put_member(call, out, "appname", g->app_name);
    console_put_member(call, out, call->dialect == DIALECT_D ? "name" : "title", g->title);
    member_int(out, "addressType", g->address_type);
    console_put_member(call, out, "addressList", g->address_list);
    if (call->dialect == DIALECT_D)
        console_put_member(call, out, "accessToken", NULL);
    console_put_date(call, out, "updateTime", g->update_s);
    buf_puts(out, ",\"registryList\":");
    put_registry_list(call, out, g->address_list);
    buf_putc(out, '}');
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static bool is_field(const struct refusal *r, const char *field, enum refusal_kind kind)
{
    return r->kind == kind && r->field && !strcmp(r->field, field);
}

/* False: there are no words for it. */
static bool fail_addresses(struct console_call *call, const struct refusal *r)
{
    bool has_scheme = !strncmp(r->item, "http://", 7) || !strncmp(r->item, "https://", 8);

    if (is_field(r, "addressList", REFUSED_REQUIRED) && !*r->item)
        console_fail_words(call, SAY_ADDRESSES_EMPTY, SAY_END);
    else if (is_field(r, "addressList", REFUSED_REQUIRED))
        console_fail_words(call, SAY_ADDRESSES_INVALID, SAY_END);
    else if (is_field(r, "addressList", REFUSED_INVALID) && !*r->item)
        console_fail_words(call, SAY_ADDRESSES, SAY_INVALID, SAY_END);
    else if (is_field(r, "addressList", REFUSED_INVALID) && !has_scheme && call->dialect & DIALECTS_CD)
        console_fail_words(call, SAY_ADDRESSES_INVALID, SAY_TWO, SAY_END);
    else
        return false;
    return true;
}

static void fail(struct console_call *call, const struct refusal *r)
{
    static const struct console_refusal table[] = {
        {REFUSED_REQUIRED, "appname", {SAY_PLEASE_INPUT, SAY_APP_NAME}},
        {REFUSED_LENGTH, "appname", {SAY_APP_NAME_LENGTH}},
        {REFUSED_INVALID, "appname", {SAY_APP_NAME, SAY_INVALID}},
        {REFUSED_TAKEN, "appname", {SAY_APP_NAME, SAY_BLANK, SAY_REPEAT}},
        {REFUSED_REQUIRED, "title", {SAY_PLEASE_INPUT, SAY_GROUP_TITLE}},
        {REFUSED_INVALID, "title", {SAY_GROUP_TITLE, SAY_INVALID}},
        {REFUSED_IN_USE, NULL, {SAY_GROUP_IN_USE}},
        {REFUSED_LAST, NULL, {SAY_GROUP_LAST}},
    };

    if (!fail_addresses(call, r))
        console_refuse_by(call, r, table, ARRAY_LEN(table));
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static const char *get_title_name(const struct console_call *call)
{
    return call->dialect == DIALECT_D ? "name" : "title";
}

static void answer_list(struct console_call *call)
{
    struct group_filter filter = {.app_name = console_get_filter(call, "appname"),
                                  .title = console_get_filter(call, get_title_name(call)),
                                  .by_name = true};
    struct group_infos list;
    int64_t total = 0;
    bool is_estimate = false;
    struct refusal r;

    if (!console_take_page(call, &filter.offset, &filter.limit))
        return;
    if (admin_list_groups(call->admin, &call->actor, &filter, &list, &total, &is_estimate, &r)) {
        fail(call, &r);
        return;
    }
    CONSOLE_PUT_LIST(call, total, is_estimate, list.items, list.count, put_group);
    group_infos_fini(&list);
}

static void answer_load(struct console_call *call)
{
    struct group_infos list;
    struct refusal r;
    int64_t id;

    if (!console_take_int(call, "id", &id))
        return;
    enum err e = call->dialect & DIALECTS_AB ? admin_load_group(call->admin, &call->actor, id, &list, &r)
                                             : admin_show_group(call->admin, &call->actor, id, &list, &r);
    if (e) {
        if (r.kind == REFUSED_UNKNOWN)
            console_fail(call, NULL);
        else
            fail(call, &r);
        return;
    }
    console_begin_success(call);
    put_group(call, list.items);
    console_end_success(call);
    group_infos_fini(&list);
}

/* ---- changing ---------------------------------------------------------------------------------------------------- */

static bool take_values(struct console_call *call, struct group_info *out)
{
    *out = (struct group_info){.app_name = console_get_text(call, "appname"),
                               .title = console_get_text(call, get_title_name(call)),
                               .address_list = console_get_text(call, "addressList")};
    if (call->dialect == DIALECT_D)
        out->access_token = console_get_text(call, "accessToken");
    return console_take_field(call, "addressType", &out->address_type);
}

static void answer_add(struct console_call *call)
{
    struct group_rules rules = {.angles = call->dialect & DIALECTS_AB,
                                .scheme = call->dialect & DIALECTS_CD,
                                .unique = call->dialect == DIALECT_D};
    struct group_info values;
    struct refusal r;
    int64_t id;

    if (!take_values(call, &values))
        return;
    if (admin_add_group(call->admin, &call->actor, &values, &rules, &id, &r))
        fail(call, &r);
    else
        console_succeed(call);
}

struct asked {
    const struct group_info *values;
    enum dialect dialect;
};

/* What was sent, but for what the dialect does not know. */
static bool decide(void *arg, const struct group_info *now, struct group_info *values, struct refusal *r)
{
    const struct asked *asked = arg;

    (void)now;
    (void)r;
    values->title = asked->values->title;
    values->address_type = asked->values->address_type;
    values->address_list = asked->values->address_list;
    if (asked->dialect == DIALECT_D && !str_is_blank(asked->values->access_token))
        values->access_token = asked->values->access_token;
    if (asked->dialect != DIALECT_D)
        values->app_name = asked->values->app_name;
    return true;
}

static void answer_update(struct console_call *call)
{
    bool d = call->dialect == DIALECT_D;
    struct group_rules rules = {.scheme = call->dialect & DIALECTS_CD, .keeps_name = d, .checks_first = !d};
    struct group_info values;
    struct asked asked = {&values, call->dialect};
    struct refusal r;
    int64_t id;

    if (!take_values(call, &values) || !console_take_field(call, "id", &id))
        return;
    if (!admin_change_group(call->admin, &call->actor, id, decide, &asked, &rules, &r))
        console_succeed(call);
    else if (r.kind == REFUSED_UNKNOWN && call->dialect == DIALECT_D)
        console_fail_null(call);
    else if (r.kind == REFUSED_UNKNOWN)
        console_fail(call, NULL);
    else
        fail(call, &r);
}

static void answer_remove(struct console_call *call)
{
    struct refusal r;
    int64_t id;

    if (!console_take_id(call, &id))
        return;
    enum err e = admin_remove_group(call->admin, &call->actor, id, NULL, NULL,
                                    /*checks_first=*/call->dialect & DIALECTS_AB, &r);
    if (!e || (r.kind == REFUSED_UNKNOWN && call->dialect & DIALECTS_CD))
        console_succeed(call);
    else if (r.kind == REFUSED_UNKNOWN)
        console_fail(call, NULL);
    else
        fail(call, &r);
}

static const struct console_endpoint rows[] = {
    {"/jobgroup/pageList", DIALECTS_ALL, ROUTE_ANY, CONSOLE_CALL, NEED_ADMIN, answer_list},
    {"/jobgroup/save", DIALECTS_AB, ROUTE_ANY, CONSOLE_CALL, NEED_ADMIN, answer_add},
    {"/jobgroup/insert", DIALECTS_CD, ROUTE_ANY, CONSOLE_CALL, NEED_ADMIN, answer_add},
    {"/jobgroup/update", DIALECTS_ALL, ROUTE_ANY, CONSOLE_CALL, NEED_ADMIN, answer_update},
    {"/jobgroup/remove", DIALECTS_AB, ROUTE_ANY, CONSOLE_CALL, NEED_ADMIN, answer_remove},
    {"/jobgroup/delete", DIALECTS_CD, ROUTE_ANY, CONSOLE_CALL, NEED_ADMIN, answer_remove},
    {"/jobgroup/loadById", DIALECTS_ALL, ROUTE_ANY, CONSOLE_CALL, NEED_USER, answer_load},
};

const struct console_topic console_jobgroup = {rows, ARRAY_LEN(rows)};

/* SPDX-License-Identifier: MIT */
/* /user: users. Hashes and sessions of Java admins are never shown. */
#include "http/console/console.h"

#include "http/console/refuse.h"
#include "shardwheel/admin/people.h"

static const struct console_refusal refusals[] = {
    {REFUSED_REQUIRED, "username", {SAY_PLEASE_INPUT, SAY_USER_NAME}},
    {REFUSED_REQUIRED, "password", {SAY_PLEASE_INPUT, SAY_PASSWORD}},
    {REFUSED_LENGTH, "username", {SAY_LENGTH_LIMIT, SAY_BOUNDS}},
    {REFUSED_LENGTH, "password", {SAY_LENGTH_LIMIT, SAY_BOUNDS}},
    {REFUSED_TAKEN, "username", {SAY_USER_NAME_REPEAT}},
    {REFUSED_SELF, NULL, {SAY_USER_SELF}},
};

static void answer(struct console_call *call, enum err e, const struct refusal *r)
{
    if (e)
        console_refuse_by(call, r, refusals, ARRAY_LEN(refusals));
    else
        console_succeed(call);
}

/* ---- list -------------------------------------------------------------------------------------------------------- */

static void put_person(const struct console_call *call, const struct person *p)
{
    struct buf *out = &call->r->body;
    const struct user *u = &p->user;

    member_object(out, NULL);
    member_int(out, "id", u->id);
    console_put_member(call, out, "username", u->name);
    console_put_member(call, out, "password", NULL);
    if (call->dialect != DIALECT_A)
        console_put_member(call, out, "token", NULL);
    member_int(out, "role", u->role);
    console_put_member(call, out, "permission", u->permission);
    buf_putc(out, '}');
}

static void answer_list(struct console_call *call)
{
    struct user_filter filter = {.name = console_get_filter(call, "username"), .by_name = true};
    struct person *list = NULL;
    struct refusal r;
    size_t count = 0;
    int64_t total = 0;

    if (!console_take_page(call, &filter.offset, &filter.limit) || !console_take_int(call, "role", &filter.role))
        return;
    if (admin_load_people(call->admin, &call->actor, &filter, &list, &count, &total, &r)) {
        console_fail_refusal(call, &r);
    } else {
        CONSOLE_PUT_LIST(call, total, /*is_estimate=*/false, list, count, put_person);
    }
    people_destroy(list, count);
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

static bool take_form(struct console_call *call, struct person_form *out)
{
    *out = (struct person_form){.name = console_get_text(call, "username"),
                                .password = console_get_text(call, "password"),
                                .permission = console_get_text(call, "permission")};
    return console_take_field(call, "role", &out->role);
}

static void answer_add(struct console_call *call)
{
    struct person_form form;
    struct refusal r;
    int64_t id;

    if (take_form(call, &form))
        answer(call, admin_add_person_form(call->admin, &call->actor, &form, &id, &r), &r);
}

/* As in the original, who is not there was changed with success. */
static void answer_update(struct console_call *call)
{
    struct person_form form;
    struct refusal r;
    int64_t id;

    if (!console_take_field(call, "id", &id) || !take_form(call, &form))
        return;
    enum err e = admin_change_person_form(call->admin, &call->actor, id, &form, &r);
    answer(call, e && r.kind == REFUSED_UNKNOWN ? ERR_OK : e, &r);
}

static void answer_remove(struct console_call *call)
{
    struct refusal r;
    int64_t id;

    if (!console_take_id(call, &id))
        return;
    enum err e = admin_remove_person(call->admin, &call->actor, id, (struct person_match){0}, &r);
    answer(call, e && r.kind == REFUSED_UNKNOWN ? ERR_OK : e, &r);
}

static const struct console_endpoint rows[] = {
    {"/user/pageList", DIALECTS_ALL, ROUTE_ANY, CONSOLE_CALL, NEED_ADMIN, answer_list},
    {"/user/add", DIALECTS_AB, ROUTE_ANY, CONSOLE_CALL, NEED_ADMIN, answer_add},
    {"/user/insert", DIALECTS_CD, ROUTE_ANY, CONSOLE_CALL, NEED_ADMIN, answer_add},
    {"/user/update", DIALECTS_ALL, ROUTE_ANY, CONSOLE_CALL, NEED_ADMIN, answer_update},
    {"/user/remove", DIALECTS_AB, ROUTE_ANY, CONSOLE_CALL, NEED_ADMIN, answer_remove},
    {"/user/delete", DIALECTS_CD, ROUTE_ANY, CONSOLE_CALL, NEED_ADMIN, answer_remove},
};

const struct console_topic console_user = {rows, ARRAY_LEN(rows)};

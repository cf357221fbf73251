/* SPDX-License-Identifier: MIT */
/* Users and roles. */
#include "http/v1/write.h"
#include "shardwheel/admin/factor.h"
#include "shardwheel/admin/people.h"
#include "shardwheel/admin/tokens.h"

static const char *const role_names[] = {"admin", "user", "runner", "reader", NULL}; /* as enum admin_role */

/* ---- out --------------------------------------------------------------------------------------------------------- */

static void put_person(struct buf *b, const struct person *p)
{
    member_int(b, "id", p->user.id);
    member_text(b, "username", p->user.name);
    member_text(b, "role", role_name(p->role));
    if (p->all_groups)
        member_null(b, "groups");
    else
        v1_put_ints(b, "groups", p->groups, p->group_count);
    member_text(b, "source", p->user.source[0] ? p->user.source : NULL);
    member_bool(b, "secondFactor", p->user.factor_ms != 0);
}

static void answer_person(struct v1_call *c, struct person *p)
{
    put_person(&c->r->body, p);
    v1_tag_answer(c);
    person_fini(p);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void answer_list(struct v1_call *c)
{
    struct v1_page page = v1_query_ids(c, "users", /*counted=*/true);
    int role = v1_query_choice(c, "role", role_names, -1);
    struct user_filter filter = {.name = v1_query_text(c, "username", 100),
                                 .role = -1,
                                 .named = role >= 0 ? role_names[role] : NULL,
                                 .after_id = page.from.keys[0],
                                 .limit = page.want};
    struct person *list = NULL;
    size_t count = 0;

    if (!V1_FAILS(c, admin_load_people, &filter, &list, &count, page.count ? &page.total : NULL))
        V1_PUT_PAGE(c, &page, list, count, put_person, user.id);
    people_destroy(list, count);
}

static void answer_one(struct v1_call *c)
{
    int64_t id = v1_path_id(c, 0);
    struct person p;

    if (!V1_FAILS(c, admin_load_person, id, &p))
        answer_person(c, &p);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void take_role(struct v1_call *c, struct person_change *out)
{
    int role = v1_choice(&c->body, "role", role_names, -1);

    out->has_role = role >= 0;
    out->role = role >= 0 ? (enum admin_role)role : ROLE_USER;
    out->has_groups = v1_has(&c->body, "groups");
    out->all_groups = v1_take_null(&c->body, "groups");
    if (out->has_groups && !out->all_groups) {
        struct v1_ints groups = v1_int_list(&c->body, "groups", 1, INT32_MAX, 1000);
        out->groups = groups.v;
        out->group_count = groups.count;
    }
}

static void answer_add(struct v1_call *c)
{
    struct person_change change = {0};
    struct person p;

    v1_require(&c->body, "username");
    v1_require(&c->body, "password");
    v1_require(&c->body, "role");
    change.name = v1_text(&c->body, "username", 200);
    change.password = v1_text(&c->body, "password", 200);
    take_role(c, &change);
    if (V1_FAILS(c, admin_add_person, &change, &p))
        return;
    v1_set_created(c, "/users/", p.user.id);
    answer_person(c, &p);
}

/* The ETag of If-Match, if one was sent, is that of the user as he is now. */
static bool is_current(void *c, const struct person *now, struct refusal *r)
{
    struct buf shown = {0};

    V1_PUT_EACH(&shown, now, 1, put_person);
    return v1_matches(c, &shown, r);
}

static void answer_change(struct v1_call *c)
{
    int64_t id = v1_path_id(c, 0);
    struct person_change change = {.password = v1_text(&c->body, "password", 200), .match = {is_current, c}};
    struct person p;

    take_role(c, &change);
    if (!V1_FAILS(c, admin_change_person, id, &change, &p))
        answer_person(c, &p);
}

static void answer_remove(struct v1_call *c)
{
    struct person_match match = {is_current, c};
    int64_t id = v1_path_id(c, 0);

    if (!V1_FAILS(c, admin_remove_person, id, match))
        v1_set_no_content(c);
}

V1_ID_ANSWER(answer_remove_factor, admin_remove_factor)

/* ---- roles ------------------------------------------------------------------------------------------------------- */

static void answer_roles(struct v1_call *c)
{
    struct buf *b = &c->r->body;

    if (v1_is_refused(c))
        return;
    member_list(b, "items");
    for (int role = ROLE_ADMIN; role <= ROLE_READER; role++) {
        member_object(b, NULL);
        member_text(b, "role", role_name((enum admin_role)role));
        v1_put_scopes(b, "rights", role_get_rights((enum admin_role)role));
        member_object_end(b);
    }
    member_list_end(b);
}

static const struct v1_route routes[] = {
    {V1_ROUTE(ROUTE_GET, "/users", ROUTE_LOGIN), V1_NO_BODY, 0, answer_list},
    {V1_ROUTE(ROUTE_POST, "/users", ROUTE_LOGIN), V1_JSON_BODY, 0, answer_add},
    {V1_ROUTE(ROUTE_GET, "/users/{id}", ROUTE_LOGIN), V1_NO_BODY, 0, answer_one},
    {V1_ROUTE(ROUTE_PATCH, "/users/{id}", ROUTE_LOGIN), V1_JSON_BODY, 0, answer_change},
    {V1_ROUTE(ROUTE_DELETE, "/users/{id}", ROUTE_LOGIN), V1_NO_BODY, 0, answer_remove},
    {V1_ROUTE(ROUTE_DELETE, "/users/{id}/second-factor", ROUTE_LOGIN), V1_NO_BODY, 0, answer_remove_factor},
    {V1_ROUTE(ROUTE_GET, "/roles", ROUTE_LOGIN), V1_NO_BODY, 0, answer_roles},
};

const struct v1_topic v1_users = {routes, ARRAY_LEN(routes)};

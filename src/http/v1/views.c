/* SPDX-License-Identifier: MIT */
/* Lists that a user has saved by name. */
#include "http/v1/write.h"
#include "shardwheel/admin/views.h"

static const char *const pages[] = {"jobs", "runs", NULL};

static void put_view(struct buf *b, const struct view *view)
{
    member_int(b, "id", view->id);
    member_text(b, "page", view->page);
    member_text(b, "name", view->name);
    member_text(b, "query", view->query);
}

static void answer_list(struct v1_call *c)
{
    int64_t page = v1_query_choice(c, "page", pages, -1);
    struct views list = {0};

    if (V1_FAILS_FOR(c, who, admin_load_views, page < 0 ? NULL : pages[page], &list))
        return;
    V1_PUT_LIST(&c->r->body, "items", list.items, list.count, put_view);
    views_fini(&list);
}

static void answer_add(struct v1_call *c)
{
    struct view view = {0};
    int page;

    v1_require(&c->body, "page");
    v1_require(&c->body, "name");
    v1_require(&c->body, "query");
    page = v1_choice(&c->body, "page", pages, 0);
    view.page = pages[page < 0 ? 0 : page];
    view.name = v1_text(&c->body, "name", VIEW_NAME_MAX);
    view.query = v1_text(&c->body, "query", VIEW_QUERY_MAX);
    if (!V1_FAILS_FOR(c, who, admin_add_view, &view, &view.id))
        v1_answer_id(c, view.id);
}

static void answer_change(struct v1_call *c)
{
    struct view view = {.id = v1_path_id(c, 0)};

    view.name = v1_text(&c->body, "name", VIEW_NAME_MAX);
    view.query = v1_text(&c->body, "query", VIEW_QUERY_MAX);
    if (!V1_FAILS_FOR(c, who, admin_change_view, &view))
        v1_set_no_content(c);
}

V1_ID_ANSWER_FOR(answer_remove, who, admin_remove_view)

static const struct v1_route routes[] = {
    {V1_ROUTE(ROUTE_GET, "/views", ROUTE_LOGIN), V1_NO_BODY, 0, answer_list},
    {V1_ROUTE(ROUTE_POST, "/views", ROUTE_LOGIN), V1_JSON_BODY, 0, answer_add},
    {V1_ROUTE(ROUTE_PATCH, "/views/{id}", ROUTE_LOGIN), V1_JSON_BODY, 0, answer_change},
    {V1_ROUTE(ROUTE_DELETE, "/views/{id}", ROUTE_LOGIN), V1_NO_BODY, 0, answer_remove},
};

const struct v1_topic v1_views = {routes, ARRAY_LEN(routes)};

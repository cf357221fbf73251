/* SPDX-License-Identifier: MIT */
/* Tokens of api/v1. */
#include "http/v1/write.h"
#include "shardwheel/admin/tokens.h"

#include <stdlib.h>

static void put_members(struct buf *b, const struct token_row *row)
{
    member_int(b, "id", row->id);
    member_int(b, "userId", row->user_id);
    member_text(b, "name", row->name);
    v1_put_scopes(b, "scopes", scopes_parse(row->scopes));
    v1_put_instant(b, "expiresAt", row->expires_ms);
}

static void put_token(struct buf *b, const struct token_row *row)
{
    put_members(b, row);
    v1_put_instant(b, "createdAt", row->created_ms);
    v1_put_instant(b, "usedAt", row->used_ms);
}

static void answer_list(struct v1_call *c)
{
    struct v1_page page = v1_query_ids(c, "tokens", /*counted=*/false);
    bool all = v1_query_bool(c, "all", false);
    struct token_row *list = NULL;
    size_t count = 0;

    if (V1_FAILS_FOR(c, who, admin_load_tokens, all, page.from.keys[0], page.want, &list, &count))
        return;
    V1_PUT_PAGE(c, &page, list, count, put_token, id);
    free(list);
}

static unsigned take_scopes(struct v1_call *c)
{
    struct v1_texts names = v1_text_list(&c->body, "scopes", 4, 16);
    unsigned scopes = 0, one;

    for (size_t i = 0; i < names.count; i++) {
        if (!scope_parse(names.v[i], &one))
            v1_note(c, REFUSED_INVALID, "scopes", "scopes must be some of read, run, write and admin");
        else
            scopes |= one;
    }
    return scopes;
}

static void answer_add(struct v1_call *c)
{
    char secret[TOKEN_LEN + 1];
    struct token_spec spec = {0};
    struct token_row row = {0};

    v1_require(&c->body, "name");
    v1_require(&c->body, "scopes");
    spec.name = v1_text(&c->body, "name", 64);
    spec.scopes = take_scopes(c);
    if (!v1_take_null(&c->body, "expiresAt"))
        spec.expires_ms = v1_instant(&c->body, "expiresAt", 0);
    if (V1_FAILS_FOR(c, who, admin_add_token, &spec, secret, &row))
        return;
    c->r->status = 201;
    put_members(&c->r->body, &row);
    member_text(&c->r->body, "token", secret);
}

V1_ID_ANSWER_FOR(answer_remove, who, admin_remove_token)

static const struct v1_route routes[] = {
    {V1_ROUTE(ROUTE_GET, "/tokens", ROUTE_LOGIN), V1_NO_BODY, 0, answer_list},
    {V1_ROUTE(ROUTE_POST, "/tokens", ROUTE_LOGIN), V1_JSON_BODY, 0, answer_add},
    {V1_ROUTE(ROUTE_DELETE, "/tokens/{id}", ROUTE_LOGIN), V1_NO_BODY, 0, answer_remove},
};

const struct v1_topic v1_tokens = {routes, ARRAY_LEN(routes)};

/* SPDX-License-Identifier: MIT */
/*
 * console_send: calls of the consoles without a server: by the table of the router, as the server does. A test that
 * includes it has "--wrap=console_find_actor" in its .wrap file, and says who is logged in.
 */
#ifndef SHARDWHEEL_TESTS_HTTP_CONSOLE_SEND_H
#define SHARDWHEEL_TESTS_HTTP_CONSOLE_SEND_H

#include "http/console/console.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#define ADMIN "XXL_JOB_LOGIN_IDENTITY=admin"
#define SSO "xxl_job_login_token=admin"

static struct http h;
static const char *cookie, *content_type, *accept, *origin;
static const char *who;   /* "admin", "user", "reader", NULL: nobody, "?": the database is unavailable */
static int64_t who_group; /* that one alone; 0: none */

enum err __wrap_console_find_actor(struct console_call *call, struct refusal *r);
enum err __wrap_console_find_actor(struct console_call *call, struct refusal *r)
{
    call->has_actor = who != NULL;
    if (!who)
        return ERR_OK;
    if (*who == '?')
        return refuse(r, REFUSED_TRY_AGAIN, NULL, "the database is unavailable");
    strcpy(call->actor.name, who);
    call->actor.role = !strcmp(who, "admin") ? ROLE_ADMIN : !strcmp(who, "reader") ? ROLE_READER : ROLE_USER;
    call->actor.groups = &who_group;
    call->actor.group_count = who_group != 0;
    call->actor.rights = RIGHTS_ALL;
    return ERR_OK;
}

static const char *get_header(const void *connection, const char *name)
{
    (void)connection;
    if (!strcmp(name, "Cookie"))
        return cookie;
    if (!strcmp(name, "Content-Type"))
        return content_type;
    if (!strcmp(name, "Accept"))
        return accept;
    return !strcmp(name, "Origin") || !strcmp(name, "Access-Control-Request-Method") ? origin : NULL;
}

static struct http_response answer;

/* By the table of the router, as the server does. The answer stands until the next call. */
static const char *console_send(const char *method, const char *path, const char *query, const char *body)
{
    static const struct route_table *const tables[] = {&console_routes};
    struct http_request q = {.method = method,
                             .path = path,
                             .query = query,
                             .body = body,
                             .body_len = strlen(body),
                             .get_header = get_header};
    struct route_call call;

    response_fini(&answer);
    answer = (struct http_response){.status = 200};
    route_find(&call, &h, &q, tables, ARRAY_LEN(tables));
    if (call.table->admit(&call, &answer))
        call.route->answer(&call, &answer);
    return answer.body.data ? answer.body.data : "";
}

#endif

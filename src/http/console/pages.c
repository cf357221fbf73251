/* SPDX-License-Identifier: MIT */
/* The pages of the original: each checks its login, and sends browsers on to the page of our console. */
#include "http/console/console.h"
#include "http/web/page.h"

#include <string.h>

/* Pages and what our console has in their place. A number that names a thing moves from the query into the path. */
static const struct {
    const char *path, *route;
    const char *number, *behind; /* parameter whose number follows the route, and what follows that */
} places[] = {
    {"/dashboard", "/", NULL, NULL},          {"/jobinfo", "/jobs", NULL, NULL},
    {"/joblog", "/runs", NULL, NULL},         {"/joblog/logDetailPage", "/runs/", "id", ""},
    {"/jobcode", "/jobs/", "jobId", "/glue"}, {"/jobgroup", "/executors", NULL, NULL},
    {"/user", "/users", NULL, NULL},
};

static void send_on(struct console_call *call)
{
    struct buf route = {0};
    int64_t number = 0;

    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        if (strcmp(places[i].path, call->endpoint->path))
            continue;
        if (places[i].number && !console_take_long(call, places[i].number, &number))
            return;
        buf_puts(&route, places[i].route);
        if (places[i].number) {
            buf_put_int(&route, number);
            buf_puts(&route, places[i].behind);
        } else if (*call->route->q->query) {
            buf_putc(&route, '?');
            buf_puts(&route, call->route->q->query);
        }
    }
    console_redirect(call, 302, buf_failed(&route) ? "/" : route.data);
    buf_fini(&route);
}

/* Who is logged in already goes to the first page. A program that follows redirects ends here: its /login is a call,
 * and would send it back. */
static void send_to_login(struct console_call *call)
{
    struct refusal refusal;

    if (!console_find_actor(call, &refusal) && call->has_actor)
        console_redirect(call, 303, "/");
    else if (console_is_for_browser(call->route->q))
        console_redirect(call, 302, "/login");
    else
        web_write_page(call->route, call->r);
}

static void write_error_page(struct console_call *call)
{
    console_fail_hard(call, "Error");
}

static void write_first_page(struct console_call *call)
{
    web_write_page(call->route, call->r);
}

#define PAGE(path, dialects, need, answer)                                                                             \
    {                                                                                                                  \
        path, dialects, ROUTE_ANY, CONSOLE_PAGE, need, answer                                                          \
    }

static const struct console_endpoint rows[] = {
    PAGE("", DIALECTS_ALL, NEED_USER, write_first_page),
    PAGE("/help", DIALECTS_ALL, NEED_USER, write_first_page),
    PAGE("/dashboard", DIALECTS_CD, NEED_USER, send_on),
    PAGE("/jobinfo", DIALECTS_ALL, NEED_USER, send_on),
    PAGE("/joblog", DIALECTS_ALL, NEED_USER, send_on),
    PAGE("/joblog/logDetailPage", DIALECTS_ALL, NEED_USER, send_on),
    PAGE("/jobcode", DIALECTS_ALL, NEED_USER, send_on),
    PAGE("/jobgroup", DIALECTS_ALL, NEED_ADMIN, send_on),
    PAGE("/user", DIALECTS_ALL, NEED_ADMIN, send_on),
    PAGE("/toLogin", DIALECT_A, NEED_NOBODY, send_to_login),
    PAGE("/auth/login", DIALECTS_BCD, NEED_NOBODY, send_to_login),
    PAGE("/errorpage", DIALECTS_BCD, NEED_NOBODY, write_error_page),
};

const struct console_topic console_pages = {rows, ARRAY_LEN(rows)};

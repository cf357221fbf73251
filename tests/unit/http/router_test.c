/* SPDX-License-Identifier: MIT */
/* The search in tables, and that the tables which there are can be searched. */
#include "http/router.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void answer(const struct route_call *call, struct http_response *r)
{
    (void)call;
    (void)r;
}

static void refuse(const struct route_call *call, struct http_response *r)
{
    response_set_error(r, call->match == ROUTE_NO_PATH ? 404 : 405, "none");
}

static const struct route jobs[] = {
    {ROUTE_GET, "/api/v1/jobs", HTTP_LANE_CONSOLE, ROUTE_ANYBODY, answer},
    {ROUTE_POST, "/api/v1/jobs", HTTP_LANE_CONSOLE, ROUTE_ANYBODY, answer},
    {ROUTE_GET, "/api/v1/jobs/next", HTTP_LANE_CONSOLE, ROUTE_ANYBODY, answer},
    {ROUTE_GET | ROUTE_DELETE, "/api/v1/jobs/{id}", HTTP_LANE_CONSOLE, ROUTE_ANYBODY, answer},
    {ROUTE_PUT, "/api/v1/jobs/{id}/glue/{version}", HTTP_LANE_CONSOLE, ROUTE_ANYBODY, answer},
};
static const struct route rest[] = {
    {ROUTE_GET, "", HTTP_LANE_CONSOLE, ROUTE_ANYBODY, answer},
    {ROUTE_GET, "/{page}", HTTP_LANE_CONSOLE, ROUTE_ANYBODY, answer},
    {ROUTE_PATCH, "*", HTTP_LANE_CONSOLE, ROUTE_ANYBODY, answer},
};
static const struct route_table job_table = {
    .below = "/api/v1", .routes = jobs, .count = ARRAY_LEN(jobs), .refuse = refuse};
static const struct route_table rest_table = {.below = "", .routes = rest, .count = ARRAY_LEN(rest), .refuse = refuse};
static const struct route_table *const tables[] = {&job_table, &executor_routes, &rest_table};

/* "pattern param param", "method" (the path is there, the method is not), or "none". */
static const char *find(const char *method, const char *path)
{
    static char out[2000];
    static char context[] = "/jobs";
    struct http h = {.context = context};
    struct http_request q = {.method = method, .path = path};
    struct route_call call;

    route_find(&call, &h, &q, tables, ARRAY_LEN(tables));
    assert_non_null(call.table);
    assert_non_null(call.route);
    if (call.match != ROUTE_MATCH) {
        struct http_response r = {0};
        if (call.table != &executor_routes) /* whose refusals are of status 200 */
            call.route->answer(&call, &r);
        assert_true(r.status == (call.match == ROUTE_NO_PATH ? 404 : 405) || call.table == &executor_routes);
        response_fini(&r);
        return call.match == ROUTE_NO_METHOD ? "method" : "none";
    }
    int n = snprintf(out, sizeof(out), "%s", call.route->pattern);
    for (size_t i = 0; i < ROUTE_PARAMS_MAX && call.param[i]; i++)
        n += snprintf(out + n, sizeof(out) - (size_t)n, " %s", call.param[i]);
    return out;
}

static void finds_by_path_and_method(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"GET", "/api/v1/jobs", "/api/v1/jobs"},
        {"HEAD", "/api/v1/jobs", "/api/v1/jobs"},
        {"POST", "//api/v1//jobs/", "/api/v1/jobs"},
        {"PUT", "/api/v1/jobs", "method"},
        {"get", "/api/v1/jobs", "method"},
        {"GET", "/api/v1/jobs/next", "/api/v1/jobs/next"},
        {"DELETE", "/api/v1/jobs/next", "method"}, /* it is no {id} */
        {"GET", "/api/v1/jobs/17", "/api/v1/jobs/{id} 17"},
        {"GET", "/jobs/api/v1/jobs/17", "/api/v1/jobs/{id} 17"},
        {"GET", "/xxl-job-admin/api/v1/jobs/17", "/api/v1/jobs/{id} 17"},
        {"PUT", "/api/v1/jobs/17/glue/2", "/api/v1/jobs/{id}/glue/{version} 17 2"},
        {"PUT", "/api/v1/jobs/17/glue/", "none"},
        {"PUT", "/api/v1/jobs/17/glue/2/3", "none"},
        {"GET", "/api/v1/jobsx", "none"},
        {"GET", "/api/v1/job", "none"},
        {"GET", "/api/v1", "none"}, /* of that table, though the last one has a page for anything */
        {"POST", "/api/callback", "/api/callback"},
        {"POST", "/api/v1/callback", "none"},
        {"POST", "/api/v11", "none"},
        {"GET", "/apis", "/{page} apis"},
        {"GET", "/", ""},
        {"GET", "", ""},
        {"GET", "/jobs", ""},
        {"GET", "/jobsx", "/{page} jobsx"},
        {"OPTIONS", "*", "method"},
        {"PATCH", "/a/b/c", "*"},
        {"PATCH", "/", "*"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(find(cases[i][0], cases[i][1]), cases[i][2]);
}

static void long_paths_are_nobodys(void **state)
{
    (void)state;
    char path[ROUTE_PATH_MAX + 10] = "/";

    memset(path + 1, 'x', ROUTE_PATH_MAX - 3);
    assert_memory_equal(find("GET", path), "/{page} xx", 10);
    memset(path + 1, 'x', ROUTE_PATH_MAX);
    assert_string_equal(find("GET", path), "method"); /* of the row for whatever there is, which is not for GET */
}

/* What is below a context may be below a prefix of a proxy, too. */
static void base_is_relative_to_the_page(void **state)
{
    static const struct {
        const char *path, *base;
    } cases[] = {
        {"/", "./"},
        {"/runs", "./"},
        {"/runs/", "../"},
        {"/runs/1/x", "../../"},
        {"/xxl-job-admin", "./xxl-job-admin/"}, /* browsers count from the folder above */
        {"/xxl-job-admin/", "./"},
        {"/xxl-job-admin/runs", "./"},
        {"/a b/c:d", "./c%3Ad/"},
        {"/a b/c:d/", "./"},
        {"//a b//c:d/runs/1", "../"},
        {"", "./"},
    };
    static char context[] = "/a b/c:d";
    struct http own = {.context = context};
    char long_path[ROUTE_PATH_MAX + 100] = "/";

    (void)state;
    memset(long_path + 1, 'x', sizeof long_path - 2);
    for (size_t i = 0; i <= ARRAY_LEN(cases); i++) {
        struct http_request q = {.method = "GET", .path = i < ARRAY_LEN(cases) ? cases[i].path : long_path};
        struct route_call call;
        struct buf base = {0};
        route_find(&call, &own, &q, tables, ARRAY_LEN(tables));
        route_put_base(&call, &base);
        assert_string_equal(base.data, i < ARRAY_LEN(cases) ? cases[i].base : "./");
        buf_fini(&base);
    }
}

/* A row that an earlier one hides, or that its table cannot see, would never be called. */
static void every_row_can_be_reached(void **state)
{
    (void)state;
    static const struct route_table *const real[] = {&executor_routes, &metrics_routes, &health_routes,
                                                     &document_routes, &asset_routes,   &guide_routes,
                                                     &console_routes};
    static const char *const names[] = {"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"};
    static char context[] = "";
    struct http h = {.context = context};

    for (size_t t = 0; t < ARRAY_LEN(real); t++) {
        for (size_t i = 0; i < real[t]->count; i++) {
            const struct route *route = &real[t]->routes[i];
            struct route_call call;
            assert_int_not_equal(route->lane, HTTP_LANE_REFUSED);
            assert_non_null(route->answer);
            for (size_t m = 0; m < ARRAY_LEN(names); m++) {
                struct http_request q = {.method = names[m], .path = route->pattern}; /* {x} stands for itself */
                route_find(&call, &h, &q, real, ARRAY_LEN(real));
                if (route->methods & 1u << m)
                    assert_ptr_equal(call.route, route);
            }
        }
    }
}

static const char *get_no_header(const void *connection, const char *name)
{
    (void)connection;
    (void)name;
    return NULL;
}

/* Whatever stands in the first line of a request. */
static void every_method_is_answered_in_every_table(void **state)
{
    static const struct {
        const char *method, *path, *allow;
        int status;
    } cases[] = {
        {"TRACE", "/", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS", 405},
        {"CONNECT", "/a", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS", 405},
        {"TRACE", "/jobs/7", "GET, HEAD", 405},
        {"FOO", "/a", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS", 405},
        {"", "/a", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS", 405},
        {"TRACE", "/metrics", "GET, HEAD", 405},
        {"TRACE", "/metrics/a", NULL, 404},
        {"POST", "/actuator/health", "GET, HEAD", 405},
        {"TRACE", "/actuator", NULL, 404},
        {"TRACE", "/openapi.json", "GET, HEAD", 405},
        {"TRACE", "/assets/none", NULL, 404},
        {"TRACE", "/docs/none", NULL, 404},
        {"TRACE", "/api/v1/jobs", "GET, HEAD, POST", 405},
        {"OPTIONS", "/api/v1/jobs", "GET, HEAD, POST", 405},
        {"TRACE", "/api/v1/none", NULL, 404},
        {"TRACE", "/api/callback", NULL, 200},
        {"TRACE", "/api", NULL, 200},
    };
    static char context[] = "";
    int admin;
    struct counters counters = {0};
    struct http h = {.context = context, .counters = &counters, .opts = {.admin = (struct admin *)&admin}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct http_request q = {.method = cases[i].method, .path = cases[i].path, .get_header = get_no_header};
        struct http_response r = {.status = 200};
        size_t max = 1000;
        char allow[200];
        assert_int_equal(http_admit(&h, &q, &max, &r), HTTP_LANE_REFUSED);
        if (r.status != cases[i].status)
            fail_msg("%s %s: %d", cases[i].method, cases[i].path, r.status);
        snprintf(allow, sizeof allow, "Allow: %s\r\n", cases[i].allow ? cases[i].allow : "");
        assert_string_equal(r.headers.len ? r.headers.data : "", cases[i].allow ? allow : "");
        response_fini(&r);
    }
}

static void bodies_have_limits_by_path(void **state)
{
    static const struct {
        const char *path;
        size_t max;
    } cases[] = {
        {"/jobinfo/pageList", 1 << 20}, {"/jobcode/save", 4 << 20}, {"/xxl-job-admin/jobinfo/add", 4 << 20},
        {"/user/add", 1 << 20},         {"/login", 1 << 20},        {"/nothing", 1 << 20},
    };
    static char context[] = "";
    int admin; /* only looked at whether it is there */
    struct http h = {.context = context, .opts = {.admin = (struct admin *)&admin}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct http_request q = {.method = "POST", .path = cases[i].path};
        struct http_response r = {0};
        size_t max = 64 << 20;
        assert_int_equal(http_admit(&h, &q, &max, &r), HTTP_LANE_CONSOLE);
        assert_int_equal(max, cases[i].max);
        max = 1000;
        assert_int_equal(http_admit(&h, &q, &max, &r), HTTP_LANE_CONSOLE);
        assert_int_equal(max, 1000); /* the server's is less */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_by_path_and_method),
        cmocka_unit_test(long_paths_are_nobodys),
        cmocka_unit_test(base_is_relative_to_the_page),
        cmocka_unit_test(every_row_can_be_reached),
        cmocka_unit_test(every_method_is_answered_in_every_table),
        cmocka_unit_test(bodies_have_limits_by_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
#include "http/router.h"

#include <string.h>

/* ---- paths ------------------------------------------------------------------------------------------------------- */

void route_clean_path(const char *path, char *out, size_t size)
{
    size_t n = 0;

    for (; *path && n + 1 < size; path++) {
        if (*path != '/' || n == 0 || out[n - 1] != '/')
            out[n++] = *path;
    }
    if (*path) {
        strcpy(out, "//");
        return;
    }
    if (n && out[n - 1] == '/')
        n--;
    out[n] = '\0';
}

/* What follows `start` in `path`, or NULL when the path is not below it. */
static const char *strip(const char *path, const char *start)
{
    size_t len = strlen(start);

    if (strncmp(path, start, len) || (path[len] && path[len] != '/'))
        return NULL;
    return path + len;
}

static const char *strip_context(const struct http *h, const char *clean)
{
    const char *rest = *h->context ? strip(clean, h->context) : NULL;

    if (!rest)
        rest = strip(clean, "/xxl-job-admin");
    return rest ? rest : clean;
}

const char *route_get_context(const struct route_call *call, char out[ROUTE_PATH_MAX])
{
    size_t len = (size_t)(call->path - call->clean);

    memcpy(out, call->clean, len);
    out[len] = '\0';
    return out;
}

void route_put_base(const struct route_call *call, struct buf *out)
{
    const char *rest = call->q->path, *part = rest;

    for (const char *c = call->clean; c < call->path; c++) {
        if (*c != '/')
            continue;
        rest += strspn(rest, "/");
        part = rest;
        rest += strcspn(rest, "/");
    }
    const char *slash = strchr(rest, '/');
    slash = slash ? strchr(slash + 1, '/') : NULL;
    if (!slash)
        buf_puts(out, "./");
    if (!*rest && rest > part) {
        buf_put_url(out, part, (size_t)(rest - part));
        buf_putc(out, '/');
    }
    for (; slash; slash = strchr(slash + 1, '/'))
        buf_puts(out, "../");
}

/* ---- search ------------------------------------------------------------------------------------------------------ */

unsigned route_find_method(const char *name)
{
    static const struct {
        const char *name;
        enum route_method method;
    } methods[] = {
        {"GET", ROUTE_GET},       {"HEAD", ROUTE_GET},    {"POST", ROUTE_POST},       {"PUT", ROUTE_PUT},
        {"DELETE", ROUTE_DELETE}, {"PATCH", ROUTE_PATCH}, {"OPTIONS", ROUTE_OPTIONS},
    };

    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        if (!strcmp(name, methods[i].name))
            return methods[i].method;
    }
    return 0;
}

/* Part by part; what stands for {...} is copied to `parts`. */
static bool fits(const char *pattern, struct route_call *call)
{
    const char *path = call->path;
    char *part = call->parts;
    size_t params = 0;

    memset(call->param, 0, sizeof(call->param));
    if (!strcmp(pattern, "*"))
        return true;
    while (*pattern && *path) {
        if (*pattern != '{') {
            if (*pattern++ != *path++)
                return false;
            continue;
        }
        size_t len = strcspn(path, "/");
        if (params == ROUTE_PARAMS_MAX)
            return false;
        memcpy(part, path, len);
        part[len] = '\0';
        call->param[params++] = part;
        part += len + 1;
        path += len;
        pattern += strcspn(pattern, "}") + 1;
    }
    return !*pattern && !*path;
}

static const struct route *get_route(const struct route_table *table, size_t i)
{
    if (table->get)
        return table->get(i);
    return i < table->count ? &table->routes[i] : NULL;
}

#define PARAMS_ANY (ROUTE_PARAMS_MAX + 1) /* of "*", which takes what no other row has a method for */

static size_t count_params(const char *pattern)
{
    size_t count = 0;

    if (!strcmp(pattern, "*"))
        return PARAMS_ANY;
    for (; *pattern; pattern++)
        count += *pattern == '{';
    return count;
}

/* Of the patterns that fit, those with the fewest {...}: "/runs/clear" is not a "/runs/{id}", by no method. Else
 * SIZE_MAX. */
static size_t find_fewest_params(struct route_call *call)
{
    const struct route *route;
    size_t fewest = SIZE_MAX;

    for (size_t i = 0; (route = get_route(call->table, i)); i++) {
        size_t count = fits(route->pattern, call) ? count_params(route->pattern) : SIZE_MAX;
        fewest = count < fewest ? count : fewest;
    }
    return fewest;
}

static void answer_refusal(const struct route_call *call, struct http_response *r)
{
    call->table->refuse(call, r);
}

/* The route of what has none. */
static const struct route refusal = {ROUTE_ANY, "", HTTP_LANE_REFUSED, ROUTE_ANYBODY, answer_refusal};

static void find_in_table(struct route_call *call)
{
    unsigned method = route_find_method(call->q->method);
    size_t params = find_fewest_params(call);
    const struct route *route;

    call->match = params != SIZE_MAX ? ROUTE_NO_METHOD : ROUTE_NO_PATH;
    for (size_t i = 0; params != SIZE_MAX && (route = get_route(call->table, i)); i++) {
        size_t own = count_params(route->pattern);
        if ((own != params && own != PARAMS_ANY) || !fits(route->pattern, call))
            continue;
        if (route->methods & method) {
            call->route = route;
            call->match = ROUTE_MATCH;
            return;
        }
    }
}

void route_find(struct route_call *call, struct http *h, const struct http_request *q,
                const struct route_table *const *in, size_t count)
{
    call->h = h;
    call->q = q;
    call->table = in[count - 1];
    call->route = &refusal;
    route_clean_path(q->path, call->clean, sizeof(call->clean));
    call->path = strip_context(h, call->clean);
    for (size_t i = 0; i < count; i++) {
        if (!*in[i]->below || strip(call->path, in[i]->below)) {
            call->table = in[i];
            break;
        }
    }
    find_in_table(call);
}

/* Of enum route_method: of all routes for its path. */
static unsigned list_methods(const struct route_call *call)
{
    struct route_call other = *call;
    const struct route *route;
    unsigned methods = 0;

    other.path = other.clean + (call->path - call->clean);
    size_t params = find_fewest_params(&other);
    for (size_t i = 0; (route = get_route(call->table, i)); i++) {
        if (count_params(route->pattern) == params && fits(route->pattern, &other))
            methods |= route->methods;
    }
    return methods;
}

/* What is possible at the path: "GET, HEAD, POST". */
void route_add_allow(const struct route_call *call, struct http_response *r)
{
    static const struct {
        unsigned method;
        const char *name;
    } names[] = {{ROUTE_GET, "GET, HEAD"}, {ROUTE_POST, "POST"},     {ROUTE_PUT, "PUT"},
                 {ROUTE_PATCH, "PATCH"},   {ROUTE_DELETE, "DELETE"}, {ROUTE_OPTIONS, "OPTIONS"}};
    unsigned methods = list_methods(call);
    struct buf list = {0};
    struct errctx ec;

    buf_append(&list, "", 0);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (methods & names[i].method)
            buf_printf(&list, "%s%s", list.len ? ", " : "", names[i].name);
    }
    if (buf_failed(&list) || response_add_header(r, "Allow", list.data, &ec))
        r->body.failed = true;
    buf_fini(&list);
}

bool http_is_stopping(const struct http *h)
{
    return atomic_load_explicit(&h->stopping, memory_order_relaxed);
}

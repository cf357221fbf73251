/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target for what requests carry: multipart bodies, parameters of the consoles, JSON, cookies, lists of encodings,
 * forwarded addresses, networks and addresses of executors. The first byte chooses what the rest is.
 * Run: http_params_fuzz -max_len=4096 -max_total_time=60
 */
#include <stdlib.h>
#include <string.h>

#include "http/console/params.h"
#include "http/gzip.h"
#include "http/json.h"
#include "http/message.h"
#include "http/multipart.h"
#include "shardwheel/executor/networks.h"
#include "shardwheel/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FIELDS 8

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* Of the exact size, so that a read beyond it is seen. */
static char *copy_bytes(const void *data, size_t size)
{
    char *copy = malloc(size ? size : 1);

    require(copy != NULL);
    memcpy(copy, data, size);
    return copy;
}

static char *copy_text(const void *data, size_t size)
{
    char *copy = malloc(size + 1);

    require(copy != NULL);
    memcpy(copy, data, size);
    copy[size] = '\0';
    return copy;
}

/* ---- multipart --------------------------------------------------------------------------------------------------- */

static void require_inside(const char *part, size_t len, const char *whole, size_t size)
{
    require(part >= whole && len <= size && (size_t)(part - whole) <= size - len);
}

/* The type stands before the first line end where it begins with an m; else the boundary is X. */
static void read_multipart(const uint8_t *data, size_t size)
{
    static const char usual[] = "multipart/form-data; boundary=X";
    const uint8_t *end = size && *data == 'm' ? memchr(data, '\n', size) : NULL;
    char *type = end ? copy_text(data, (size_t)(end - data)) : copy_text(usual, sizeof usual - 1);
    const uint8_t *rest = end ? end + 1 : data;
    size_t len = size - (size_t)(rest - data), count = 0;
    char *body = copy_bytes(rest, len);
    struct multipart_field fields[FIELDS];
    struct errctx ec;

    if (!multipart_parse(type, body, len, fields, FIELDS, &count, &ec)) {
        require(multipart_is(type) && count <= FIELDS);
        for (size_t i = 0; i < count; i++) {
            require_inside(fields[i].name, fields[i].name_len, body, len);
            require_inside(fields[i].value, fields[i].value_len, body, len);
            require(!i || fields[i].value > fields[i - 1].value);
        }
    }
    free(type);
    free(body);
}

/* ---- parameters -------------------------------------------------------------------------------------------------- */

/* The query stands before the first line end, the form behind it. */
static void read_params(const uint8_t *data, size_t size)
{
    const uint8_t *end = memchr(data, '\n', size);
    size_t query_len = end ? (size_t)(end - data) : size;
    char *query = copy_text(data, query_len), *form = copy_bytes(data + query_len, size - query_len);
    struct console_params params;
    struct errctx ec;
    int64_t number;

    require(!params_load(query, form, size - query_len, NULL, 0, &params, &ec));
    require(params.count <= PARAMS_MAX && memchr(params.bad, '\0', sizeof params.bad));
    for (size_t i = 0; i < params.count; i++) {
        const char *value = params_get(&params, params.list[i].name);
        require(value && params_get_first(&params, params.list[i].name));
        require(*params.bad || utf8_is_valid(value, strlen(value)));
        if (params_get_number(&params, params.list[i].name, -7, 1000, &number) == PARAM_NUMBER)
            require(number >= -7 && number <= 1000);
    }
    params_fini(&params);
    free(query);
    free(form);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void walk(const struct json_value *value, int depth)
{
    struct json_place place = {0};
    struct json_value name, item;
    int64_t number;

    require(depth <= JSON_DEPTH_MAX);
    if (json_get_int(value, INT64_MIN, INT64_MAX, &number))
        require(value->kind == JSON_INT || value->kind == JSON_REAL || value->kind == JSON_TEXT);
    while (json_next_item(value, &place, &item))
        walk(&item, depth + 1);
    place = (struct json_place){0};
    while (json_next_member(value, &place, &name, &item)) {
        json_is_text(&name, "code");
        walk(&item, depth + 1);
    }
}

/* What is written again is JSON, and that is written as it stands. */
static void read_json(const uint8_t *data, size_t size)
{
    char *text = copy_bytes(data, size);
    struct json_value root, again;
    struct buf first = {0}, second = {0};
    struct errctx ec;

    if (!json_check(text, size, &root, &ec)) {
        walk(&root, 0);
        json_put_value(&first, &root, SIZE_MAX);
        if (first.len) {
            require(!json_check(first.data, first.len, &again, &ec));
            json_put_value(&second, &again, SIZE_MAX);
            require(first.len == second.len && !memcmp(first.data, second.data, first.len));
        }
    }
    buf_fini(&first);
    buf_fini(&second);
    free(text);
}

/* ---- fields of the head ------------------------------------------------------------------------------------------ */

static const char *field; /* what every field of the head has */

static const char *get_header(const void *connection, const char *name)
{
    (void)connection, (void)name;
    return field;
}

static const char *get_next_header(const char *value, const char *name)
{
    (void)value, (void)name;
    return NULL;
}

static void read_fields(const uint8_t *data, size_t size)
{
    char *text = copy_text(data, size), out[20], client[IP_TEXT_MAX];
    struct networks *trusted = NULL;
    struct errctx ec;

    require(!networks_parse("10.0.0.0/8", &trusted, &ec));
    struct http_request q = {.trusted = trusted, .get_header = get_header, .get_next_header = get_next_header};
    field = text;
    require(ip_parse("10.0.0.1", &q.peer));
    request_get_client_address(&q, client);
    require(*client);
    request_is_tls(&q);
    if (request_get_host(&q, out, sizeof out))
        require(*out && strlen(out) < sizeof out && !strpbrk(out, " \r\n\"<>/"));
    if (request_get_cookie(&q, "xxl_job_login_token", out, sizeof out))
        require(strlen(out) < sizeof out && strstr(text, "xxl_job_login_token="));
    gzip_is_accepted(text);
    networks_destroy(trusted);
    free(text);
}

static void read_networks(const uint8_t *data, size_t size)
{
    char *text = copy_text(data, size), refused[EXECUTOR_ADDRESS_SHOWN];
    struct executor_networks *networks = NULL;
    struct errctx ec;
    struct ip ip;

    require(ip_parse("169.254.169.254", &ip) && !executor_networks_allow(NULL, &ip));
    if (executor_networks_check_list(NULL, text, refused, &ec))
        require(memchr(refused, '\0', sizeof refused) != NULL);
    if (!executor_networks_create(text, &networks, &ec)) {
        executor_networks_allow(networks, &ip);
        executor_networks_destroy(networks);
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    switch (data[0] % 5) {
    case 0: read_multipart(data + 1, size - 1); break;
    case 1: read_params(data + 1, size - 1); break;
    case 2: read_json(data + 1, size - 1); break;
    case 3: read_fields(data + 1, size - 1); break;
    default: read_networks(data + 1, size - 1); break;
    }
    return 0;
}

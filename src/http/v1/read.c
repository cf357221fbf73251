/* SPDX-License-Identifier: MIT */
#include "http/v1/values.h"
#include "shardwheel/store/jobs.h"
#include "shardwheel/text.h"

#include <stdlib.h>
#include <string.h>

/* ---- memory ------------------------------------------------------------------------------------------------------ */

struct v1_memory {
    struct v1_memory *next;
    max_align_t bytes[];
};

void *v1_keep(struct v1_call *c, size_t size)
{
    struct v1_memory *m = calloc(1, sizeof *m + size);

    if (!m) {
        v1_note(c, REFUSED_BROKEN, NULL, "out of memory for the request");
        return NULL;
    }
    m->next = c->memory;
    c->memory = m;
    return m->bytes;
}

const char *v1_keep_buf(struct v1_call *c, struct buf *text)
{
    char *kept = NULL;

    if (buf_failed(text))
        v1_note(c, REFUSED_BROKEN, NULL, "out of memory for the request");
    else
        kept = v1_keep(c, text->len + 1);
    if (kept && text->len)
        memcpy(kept, text->data, text->len);
    buf_fini(text);
    return kept;
}

void v1_forget(struct v1_call *c)
{
    while (c->memory) {
        struct v1_memory *next = c->memory->next;
        free(c->memory);
        c->memory = next;
    }
}

/* ---- the body ---------------------------------------------------------------------------------------------------- */

static enum err check_state(const struct v1_call *c, int *status, struct errctx *ec)
{
    const struct http_request *q = c->call->q;
    size_t max = c->route->max_body ? c->route->max_body : V1_BODY_MAX;

    *status = 413;
    if (q->body_state == BODY_TOO_LARGE || q->body_len > max)
        return err_set(ec, ERR_INPUT, "the body is larger than %zu bytes", max);
    *status = 503;
    if (q->body_state == BODY_NO_ROOM)
        return err_set(ec, ERR_BUSY, "this node has no memory for the request at the moment: send it again");
    *status = 400;
    if (q->body_state == BODY_BROKEN)
        return err_set(ec, ERR_INPUT, "the body is incomplete");
    return ERR_OK;
}

enum err v1_read_body(struct v1_call *c, int *status, struct errctx *ec)
{
    const struct http_request *q = c->call->q;
    enum err e = check_state(c, status, ec);

    if (e)
        return e;
    if (c->call->route->methods & ROUTE_GET)
        return ERR_OK; /* what a GET may bring means nothing */
    if (!q->body_len) {
        *status = 400;
        return c->route->body == V1_JSON_BODY ? err_set(ec, ERR_INPUT, "a JSON object is missing") : ERR_OK;
    }
    *status = 415;
    const char *type = request_get_header(q, "Content-Type");
    if (!media_is(type, "application/json") && !media_is(type, "application/merge-patch+json"))
        return err_set(ec, ERR_INPUT, "the body must be of type application/json");
    *status = 400;
    e = json_check_strict(q->body, q->body_len, &c->body.value, ec);
    if (!e && c->body.value.kind != JSON_OBJECT)
        e = err_set(ec, ERR_INPUT, "the body must be a JSON object");
    return e;
}

/* ---- path and query ---------------------------------------------------------------------------------------------- */

/* The name between the i-th braces of the pattern. */
static const char *name_param(struct v1_call *c, size_t i)
{
    const char *p = c->call->route->pattern;

    for (; i; i--)
        p = strchr(p, '}') + 1;
    p = strchr(p, '{') + 1;
    struct buf text = {0};
    buf_append(&text, p, strcspn(p, "}"));
    const char *name = v1_keep_buf(c, &text);
    return name ? name : "id";
}

int64_t v1_path_id(struct v1_call *c, size_t i)
{
    int64_t id = 0;

    v1_check_int(c, name_param(c, i), parse_int(c->call->param[i], 1, INT64_MAX, &id), 1, INT64_MAX);
    return id;
}

const char *v1_path_text(struct v1_call *c, size_t i)
{
    const char *text = c->call->param[i];

    if (!utf8_is_valid(text, strlen(text)))
        v1_note_invalid(c, name_param(c, i), "UTF-8");
    return text;
}

static const char *find_param(struct v1_call *c, const char *name)
{
    const char *value = form_get(&c->query, name);

    v1_note_asked(&c->asked, name);
    if (value && !utf8_is_valid(value, strlen(value))) {
        v1_note_invalid(c, name, "UTF-8");
        return NULL;
    }
    return value;
}

const char *v1_query_text(struct v1_call *c, const char *name, size_t max_chars)
{
    const char *value = find_param(c, name);

    return value && v1_check_length(c, name, value, max_chars) ? value : NULL;
}

const char *v1_pattern(struct v1_call *c, const char *text)
{
    struct buf part = {0};

    if (!text)
        return NULL;
    job_filter_escape(&part, text);
    return v1_keep_buf(c, &part);
}

int64_t v1_query_int(struct v1_call *c, const char *name, int64_t min, int64_t max, int64_t absent)
{
    const char *value = find_param(c, name);
    int64_t n;

    return value && v1_check_int(c, name, parse_int(value, min, max, &n), min, max) ? n : absent;
}

bool v1_query_bool(struct v1_call *c, const char *name, bool absent)
{
    const char *value = find_param(c, name);

    if (value && strcmp(value, "true") && strcmp(value, "false")) {
        v1_note_invalid(c, name, "true or false");
        return absent;
    }
    return value ? *value == 't' : absent;
}

int64_t v1_query_instant(struct v1_call *c, const char *name, int64_t absent)
{
    const char *value = find_param(c, name);
    int64_t ms = absent;

    if (value && !instant_parse(value, &ms))
        v1_note_invalid(c, name, "an instant like 2026-11-22T16:00:00.000Z");
    return ms;
}

int64_t v1_query_instant_required(struct v1_call *c, const char *name)
{
    int64_t ms = v1_query_instant(c, name, 0);

    if (ms == 0)
        v1_note(c, REFUSED_REQUIRED, name, "%s is required", name);
    return ms;
}

int v1_query_choice(struct v1_call *c, const char *name, const char *const *choices, int absent)
{
    const char *value = find_param(c, name);

    return value ? v1_find_choice(c, name, choices, value, absent) : absent;
}

struct v1_ints v1_query_ints_required(struct v1_call *c, const char *name, size_t max_count)
{
    struct v1_ints ids = v1_query_ints(c, name, 1, INT32_MAX, max_count);

    if (ids.count == 0)
        v1_note(c, REFUSED_REQUIRED, name, "%s is required", name);
    return ids;
}

struct v1_ints v1_query_ints(struct v1_call *c, const char *name, int64_t min, int64_t max, size_t max_count)
{
    const char *value = find_param(c, name);
    size_t count = value != NULL;

    for (const char *p = value; p && *p; p++)
        count += *p == ',';
    if (count > max_count) {
        v1_note(c, REFUSED_LENGTH, name, "%s has more than %zu numbers", name, max_count);
        return (struct v1_ints){0};
    }
    int64_t *v = count ? v1_keep(c, count * sizeof *v) : NULL;
    if (!v)
        return (struct v1_ints){0};
    for (size_t i = 0; i < count; i++) {
        char digits[24] = "";
        size_t len = strcspn(value, ",");
        if (len < sizeof digits)
            memcpy(digits, value, len);
        if (!v1_check_int(c, name, parse_int(digits, min, max, &v[i]), min, max))
            return (struct v1_ints){0};
        value += len + 1;
    }
    return (struct v1_ints){.v = v, .count = count};
}

unsigned v1_query_states(struct v1_call *c, const char *param, const char *(*name)(int64_t), int64_t count,
                         const char *such)
{
    const char *text = v1_query_text(c, param, 200);
    unsigned states = 0;

    while (text) {
        size_t len = strcspn(text, ",");
        int64_t i = 0;

        while (i < count && (strlen(name(i)) != len || strncmp(name(i), text, len) != 0))
            i++;
        if (i == count) {
            v1_note(c, REFUSED_INVALID, param, "%s must be states separated by commas, such as %s", param, such);
            break;
        }
        states |= 1u << i;
        text = text[len] ? text + len + 1 : NULL;
    }
    return states;
}

/* SPDX-License-Identifier: MIT */
/* What becomes of a call: problems, and how it ends well. */
#include "http/v1/values.h"
#include "http/v1/write.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define RETRY_AFTER_S 1

/* ---- problems ---------------------------------------------------------------------------------------------------- */

static void add_retry_after(struct http_response *r, int64_t seconds)
{
    char text[24];
    struct errctx ec;

    snprintf(text, sizeof text, "%" PRId64, seconds > 0 ? seconds : RETRY_AFTER_S);
    if (response_add_header(r, "Retry-After", text, &ec))
        r->body.failed = true;
}

/* An object that goes on. `retry_s`: for those who are to come again; 0: soon. */
static void put_problem(struct http_response *r, int status, const char *kind, const char *field, const char *detail,
                        int64_t retry_s)
{
    struct buf *b = &r->body;

    r->status = status;
    r->content_type = "application/problem+json";
    buf_clear(b);
    member_object(b, NULL);
    member_text(b, "type", "about:blank");
    member_text(b, "title", response_name_status(status));
    member_int(b, "status", status);
    member_text(b, "detail", detail);
    member_text(b, "kind", kind);
    if (field)
        member_text(b, "field", field);
    if (status == 503 || status == 429)
        add_retry_after(r, retry_s);
}

void v1_write_problem(struct v1_call *c, int status, const char *kind, const char *field, const char *detail)
{
    put_problem(c->r, status, kind, field, detail, c->why.retry_s);
    c->answered = true;
    c->ended = false;
}

void v1_write_whole_problem(struct http_response *r, int status, const char *kind, const char *detail)
{
    put_problem(r, status, kind, NULL, detail, 0);
    member_object_end(&r->body);
}

/* {field} stands in the pattern. */
static bool is_in_path(const char *pattern, const char *field)
{
    size_t len = strlen(field);

    for (const char *p = strchr(pattern, '{'); p; p = strchr(p + 1, '{')) {
        if (!strncmp(p + 1, field, len) && p[1 + len] == '}')
            return true;
    }
    return false;
}

int v1_get_status(const struct refusal *why, const char *pattern, bool conditional)
{
    switch (why->kind) {
    case REFUSED_REQUIRED:
    case REFUSED_INVALID:
    case REFUSED_LENGTH:
    case REFUSED_TAKEN:
    case REFUSED_SELF: return 400;
    case REFUSED_UNKNOWN: return !why->field || is_in_path(pattern, why->field) ? 404 : 400;
    case REFUSED_RIGHT:
    case REFUSED_OFF: return 403;
    case REFUSED_IN_USE:
    case REFUSED_LAST:
    case REFUSED_STATE: return 409;
    case REFUSED_CHANGED: return conditional ? 412 : 409;
    case REFUSED_LIMIT: return 429;
    case REFUSED_EXECUTOR: return 502;
    case REFUSED_TRY_AGAIN: return 503;
    case REFUSED_NOT:
    case REFUSED_UNSURE:
    case REFUSED_BROKEN: break;
    }
    return 500;
}

void v1_write_refusal(struct v1_call *c)
{
    const struct refusal *why = &c->why;
    bool conditional = request_get_header(c->call->q, "If-Match") != NULL;

    v1_write_problem(c, v1_get_status(why, c->call->route->pattern, conditional), refusal_name(why->kind), why->field,
                     why->text.text);
    if (why->item[0])
        member_text(&c->r->body, "item", why->item);
    if (why->max) {
        member_int(&c->r->body, "min", why->min);
        member_int(&c->r->body, "max", why->max);
    }
}

/* ---- how reading and use cases end ------------------------------------------------------------------------------- */

static void check_params(struct v1_call *c)
{
    for (size_t i = 0; i < c->query.count; i++) {
        const char *name = c->query.fields[i].name;
        if (!v1_is_asked(&c->asked, name))
            v1_note(c, REFUSED_INVALID, name, "%s is not a parameter of this call", name);
        for (size_t k = 0; k < i; k++) {
            if (!strcmp(c->query.fields[k].name, name))
                v1_note(c, REFUSED_INVALID, name, "%s occurs twice", name);
        }
    }
}

bool v1_is_refused(struct v1_call *c)
{
    check_params(c);
    v1_end(&c->body);
    if (c->why.kind == REFUSED_NOT && (c->route->route.right != ROUTE_SIGHT || !refuse_unless_sees(c->actor, &c->why)))
        return false;
    v1_write_refusal(c);
    return true;
}

bool v1_has_failed(struct v1_call *c, enum err e)
{
    if (!e)
        return false;
    if (c->why.kind == REFUSED_NOT) /* a use case that did not say why */
        c->why.kind = REFUSED_BROKEN;
    v1_write_refusal(c);
    return true;
}

void v1_put_context(struct buf *out, const struct route_call *call)
{
    size_t all = strlen(call->clean), path = strlen(call->path);

    buf_append(out, call->clean, all - path);
}

void v1_set_created(struct v1_call *c, const char *path, int64_t id)
{
    struct buf location = {0};
    struct errctx ec;

    v1_put_context(&location, c->call);
    buf_printf(&location, V1_BELOW "%s%" PRId64, path, id);
    c->r->status = 201;
    if (buf_failed(&location) || response_add_header(c->r, "Location", location.data, &ec))
        c->r->body.failed = true;
    buf_fini(&location);
}

void v1_set_no_content(struct v1_call *c)
{
    c->r->status = 204;
    v1_take_answer(c);
}

void v1_end_answer(struct v1_call *c)
{
    if (!c->ended)
        member_object_end(&c->r->body);
    c->ended = true;
}

void v1_take_answer(struct v1_call *c)
{
    buf_clear(&c->r->body);
    c->ended = true;
}

/* ---- ETag -------------------------------------------------------------------------------------------------------- */

struct v1_etag v1_make_etag(const char *bytes, size_t len)
{
    struct v1_etag tag;

    snprintf(tag.text, sizeof tag.text, "\"%016" PRIx64 "\"", hash_bytes(HASH_START, bytes, len));
    return tag;
}

bool v1_etag_is_in(const char *list, const char *tag)
{
    size_t len = strlen(tag);

    while (*list) {
        list += strspn(list, " \t,");
        if (!strncmp(list, "W/", 2))
            list += 2;
        size_t n = *list == '"' ? strcspn(list + 1, "\"") + 1 : strcspn(list, " \t,");
        n += *list == '"' && list[n] == '"';
        if ((n == len && !strncmp(list, tag, n)) || (n == 1 && *list == '*'))
            return true;
        list += n;
    }
    return false;
}

void v1_tag_answer(struct v1_call *c)
{
    v1_end_answer(c);
    v1_tag_answer_by(c, &c->r->body);
}

void v1_tag_answer_by(struct v1_call *c, const struct buf *representation)
{
    struct buf *body = &c->r->body;
    const char *known = request_get_header(c->call->q, "If-None-Match");
    struct errctx ec;

    if (buf_failed(body) || buf_failed(representation))
        return;
    struct v1_etag tag = v1_make_etag(representation->data, representation->len);
    if (response_add_header(c->r, "ETag", tag.text, &ec))
        body->failed = true;
    else if (known && (c->call->route->methods & ROUTE_GET) && v1_etag_is_in(known, tag.text))
        c->r->status = 304;
}

bool v1_matches(struct v1_call *c, struct buf *representation, struct refusal *r)
{
    const char *wanted = request_get_header(c->call->q, "If-Match");
    bool known = !buf_failed(representation), good;
    struct v1_etag tag = {{0}};

    if (known)
        tag = v1_make_etag(representation->data, representation->len);
    good = !wanted || (known && v1_etag_is_in(wanted, tag.text));
    if (!good && known)
        refuse(r, REFUSED_CHANGED, NULL, "it has changed since it was read: its ETag is now %s", tag.text);
    else if (!good)
        refuse(r, REFUSED_BROKEN, NULL, "out of memory");
    buf_fini(representation);
    return good;
}

bool v1_still_matches(struct v1_call *c, struct buf *representation)
{
    bool good = v1_matches(c, representation, &c->why);

    if (!good)
        v1_write_refusal(c);
    return good;
}

/* SPDX-License-Identifier: MIT */
#include "http/callbacks.h"
#include "http/server.h"
#include "shardwheel/record.h"

#include <inttypes.h>
#include <string.h>

/* Executors and their tests compare these texts: docs/api.md. */
#define MSG_METHOD "invalid request, HttpMethod not support."
#define MSG_NO_URI "invalid request, uri-mapping empty."
#define MSG_NO_BODY "invalid request, requestBody empty."
#define MSG_TOKEN "The access token is wrong."
#define MSG_GROUP_TOKEN_EMPTY "invalid request, accessToken or appname is empty."
#define MSG_GROUP_TOKEN "invalid request, accessToken or appname invalid."
#define MSG_ARGUMENT "Illegal Argument."

#define HEADER_TOKEN "XXL-JOB-ACCESS-TOKEN"
#define HEADER_APP "XXL-JOB-APPNAME"

void api_write_answer(struct http_response *r, int code, const char *msg)
{
    r->status = 200;
    r->content_type = "application/json";
    buf_printf(&r->body, "{\"code\":%d,\"msg\":", code);
    buf_put_json(&r->body, msg);
    buf_puts(&r->body, ",\"content\":null,\"data\":null}");
}

static void refuse(struct http_response *r, const char *msg)
{
    api_write_answer(r, 500, msg);
}

static void refuse_error(struct http_response *r, const struct errctx *ec)
{
    struct buf msg = {0};
    buf_printf(&msg, "openapi invoke error: %s", ec->text);
    refuse(r, buf_failed(&msg) ? "openapi invoke error" : msg.data);
    buf_fini(&msg);
}

static bool is_blank_body(const struct http_request *q)
{
    for (size_t i = 0; i < q->body_len; i++) {
        if ((unsigned char)q->body[i] > ' ')
            return false;
    }
    return true;
}

/* Text of the refusal, or NULL. An executor that names its app and whose group has a token of its own must know that one;
 * all others must know the token of the configuration, if there is one. */
static const char *check_token(struct http *h, const struct http_request *q)
{
    const char *token = request_get_header(q, HEADER_TOKEN);
    const char *app = request_get_header(q, HEADER_APP);
    const char *refusal = NULL;
    bool has_own = false;

    if (!token)
        token = "";
    if (!str_is_blank(app)) {
        const struct registry_snapshot *snap = registry_get_snapshot(h->opts.registry);
        const struct registry_group *group = registry_find_app(snap, app);
        has_own = group && !str_is_blank(group->access_token);
        if (has_own && str_is_blank(token))
            refusal = MSG_GROUP_TOKEN_EMPTY;
        else if (has_own && !str_equal_const_time(token, group->access_token))
            refusal = MSG_GROUP_TOKEN;
        registry_put_snapshot(snap);
    }
    if (!has_own) {
        mutex_lock(&h->lock);
        if (!str_is_blank(h->access_token) && !str_equal_const_time(token, h->access_token))
            refusal = MSG_TOKEN;
        mutex_unlock(&h->lock);
    }
    return refusal;
}

static void answer_beat(struct http *h, const struct http_request *q, bool remove, struct http_response *r)
{
    struct beat_body beat;
    struct errctx ec;

    errctx_clear(&ec);
    if (beat_parse(q->body, q->body_len, &beat, &ec)) {
        refuse_error(r, &ec);
        return;
    }
    if (str_is_blank(beat.group) || str_is_blank(beat.key) || str_is_blank(beat.value)) {
        refuse(r, MSG_ARGUMENT);
    } else if (registry_submit_beat(h->opts.registry, beat.group, beat.key, beat.value, remove, &ec)) {
        refuse_error(r, &ec);
    } else {
        if (!remove && !str_is_blank(request_get_header(q, HEADER_APP)))
            registry_note_generation(h->opts.registry, beat.value, true);
        api_write_answer(r, 200, "Success");
    }
    beat_fini(&beat);
}

/* Success only when all of it is committed. A malformed entry does not keep the others from being stored. */
static void answer_callback(struct http *h, const struct http_request *q, struct http_response *r)
{
    struct callback_list list;
    struct errctx ec;

    errctx_clear(&ec);
    if (callbacks_parse(q->body, q->body_len, &list, &ec)) {
        counters_add(h->counters, COUNTER_CALLBACKS_REFUSED, 1);
        log_warn("http", "event=callback_refused bytes=%zu error=%s", q->body_len, log_quote(ec.text).s);
        refuse_error(r, &ec);
        return;
    }
    if (complete_submit(h->opts.complete, list.entries, list.count, &ec)) {
        refuse_error(r, &ec);
    } else if (list.malformed) {
        counters_add(h->counters, COUNTER_CALLBACKS_REFUSED, (int64_t)list.malformed);
        log_warn("http", "event=callback_refused malformed=%zu stored=%zu error=%s", list.malformed, list.count,
                 log_quote(list.complaint.text).s);
        refuse_error(r, &list.complaint);
    } else {
        api_write_answer(r, 200, "Success");
    }
    callbacks_fini(&list);
}

/* Text of the refusal of a body that is not there as a whole, or NULL. */
static const char *check_body(const struct http *h, const struct http_request *q, struct errctx *ec)
{
    switch (q->body_state) {
    case BODY_WHOLE: return is_blank_body(q) ? MSG_NO_BODY : NULL;
    case BODY_TOO_LARGE:
        log_warn("http", "event=body_too_large path=%s max_bytes=%zu", log_quote(q->path).s, h->opts.max_body);
        err_set(ec, ERR_INPUT, "invalid request, requestBody is larger than %zu bytes.", h->opts.max_body);
        return ec->text;
    case BODY_NO_ROOM: return "this node has no memory for the request now, send it again";
    case BODY_BROKEN: return "invalid request, requestBody incomplete.";
    }
    return NULL;
}

void api_answer(struct http *h, const char *name, const struct http_request *q, struct http_response *r)
{
    struct errctx ec;
    const char *refusal = NULL;

    if (strcmp(q->method, "POST"))
        refusal = MSG_METHOD;
    else if (!*name)
        refusal = MSG_NO_URI;
    else
        refusal = check_body(h, q, &ec);
    if (!refusal) {
        refusal = check_token(h, q);
        if (refusal)
            counters_add(h->counters, COUNTER_HTTP_DENIED, 1);
    }
    if (!refusal && http_is_stopping(h))
        refusal = "this node is shutting down";

    if (refusal) {
        refuse(r, refusal);
    } else if (!strcmp(name, "registry")) {
        answer_beat(h, q, /*remove=*/false, r);
    } else if (!strcmp(name, "registryRemove")) {
        answer_beat(h, q, /*remove=*/true, r);
    } else if (!strcmp(name, "callback")) {
        answer_callback(h, q, r);
    } else {
        err_set(&ec, ERR_NOTFOUND, "invalid request, uri-mapping(%.200s) not found.", name);
        refuse(r, ec.text);
    }
}

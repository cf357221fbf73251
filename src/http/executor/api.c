/* SPDX-License-Identifier: MIT */
/* The executors' API: /api/registry, /api/registryRemove, /api/callback. The HTTP status is 200 whatever happens:
 * executors read the code of the body. */
#include "http/executor/callbacks.h"
#include "http/executor/job_calls.h"
#include "http/executor/token.h"
#include "http/console/dialect.h"
#include "http/router.h"
#include "shardwheel/record.h"

#include <string.h>

/* Executors and their tests compare these texts, and those of token.c. */
#define MSG_METHOD "invalid request, HttpMethod not support."
#define MSG_NO_URI "invalid request, uri-mapping empty."
#define MSG_NO_BODY "invalid request, requestBody empty."
#define MSG_ARGUMENT "Illegal Argument."

#define BELOW "/api"

/* From 3.2 on the original's answers have `success` as well. */
static void write_answer(const struct http *h, struct http_response *r, int code, const char *msg)
{
    r->status = 200;
    buf_printf(&r->body, "{\"code\":%d,\"msg\":", code);
    buf_put_json(&r->body, msg);
    buf_puts(&r->body, ",\"content\":null,\"data\":null");
    if (h->generation != DIALECT_A)
        buf_puts(&r->body, code == 200 ? ",\"success\":true" : ",\"success\":false");
    buf_putc(&r->body, '}');
}

static void refuse(const struct http *h, struct http_response *r, const char *msg)
{
    write_answer(h, r, 500, msg);
}

static void refuse_error(const struct http *h, struct http_response *r, const struct errctx *ec)
{
    struct buf msg = {0};

    buf_printf(&msg, "openapi invoke error: %s", ec->text);
    refuse(h, r, buf_failed(&msg) ? "openapi invoke error" : msg.data);
    buf_fini(&msg);
}

/* ---- by the head ------------------------------------------------------------------------------------------------- */

static bool has_no_body(const struct http_request *head)
{
    const char *length = request_get_header(head, "Content-Length");

    return !request_get_header(head, "Transfer-Encoding") && (!length || !length[strspn(length, "0 ")]);
}

static const char *check_token(struct http *h, const struct http_request *head, enum route_right right)
{
    const char *refusal = right == ROUTE_APP ? token_check_app(h, head) : token_check(h, head);

    if (refusal) {
        const char *app = request_get_header(head, HEADER_APP);
        counters_add(h->counters, COUNTER_HTTP_DENIED, 1);
        log_limited(&h->denied_log, h->clock, LOG_WARN, "http", "event=call_denied path=%s app=%s why=%s",
                    log_quote(head->path).s, log_quote(app).s, log_quote(refusal).s);
    }
    return refusal;
}

/* The six calls about jobs came with the tokens of groups. */
static bool has_job_calls(const struct http *h)
{
    return h->opts.admin && h->generation == DIALECT_D;
}

/* In the order in which executors know them. What only the body can tell comes later: a stranger's is not taken. */
static bool admit(const struct route_call *call, struct http_response *r)
{
    const char *name = call->path + strlen(BELOW); /* "" or "/..." */
    bool known = call->match == ROUTE_MATCH && (call->route->right != ROUTE_APP || has_job_calls(call->h));
    enum route_right right = known ? call->route->right : ROUTE_EXECUTOR;
    const char *refusal = NULL;
    struct errctx ec;

    if (strcmp(call->q->method, "POST"))
        refusal = MSG_METHOD;
    else if (!*name)
        refusal = MSG_NO_URI;
    else if (has_no_body(call->q))
        refusal = MSG_NO_BODY;
    else
        refusal = check_token(call->h, call->q, right);
    if (!refusal && http_is_stopping(call->h))
        refusal = "this node is shutting down";
    if (!refusal && !known) {
        err_set(&ec, ERR_NOTFOUND, "invalid request, uri-mapping(%.200s) not found.", name + 1);
        refusal = ec.text;
    }
    if (refusal)
        refuse(call->h, r, refusal);
    return !refusal;
}

/* What has no route is told so only behind all that `admit` asks for. */
static void refuse_unmatched(const struct route_call *call, struct http_response *r)
{
    admit(call, r); /* which never admits it */
}

/* ---- by the body ------------------------------------------------------------------------------------------------- */

static bool is_blank_body(const struct http_request *q)
{
    for (size_t i = 0; i < q->body_len; i++) {
        if ((unsigned char)q->body[i] > ' ')
            return false;
    }
    return true;
}

/* False when there is no body to work on: the answer says why. */
static bool has_body(const struct route_call *call, struct http_response *r)
{
    const struct http_request *q = call->q;
    size_t max = q->max_body;
    struct errctx ec;

    switch (q->body_state) {
    case BODY_WHOLE:
        if (!is_blank_body(q))
            return true;
        refuse(call->h, r, MSG_NO_BODY);
        break;
    case BODY_TOO_LARGE:
        log_limited(&call->h->large_log, call->h->clock, LOG_WARN, "http", "event=body_too_large path=%s max_bytes=%zu",
                    log_quote(q->path).s, max);
        err_set(&ec, ERR_INPUT, "invalid request, requestBody is larger than %zu bytes.", max);
        refuse(call->h, r, ec.text);
        break;
    case BODY_NO_ROOM:
        refuse(call->h, r, "this node has no memory for the request at the moment: send it again");
        break;
    case BODY_BROKEN: refuse(call->h, r, "invalid request, requestBody incomplete."); break;
    }
    return false;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static void answer_beat(const struct route_call *call, bool remove, struct http_response *r)
{
    const struct http_request *q = call->q;
    struct registry *registry = call->h->opts.registry;
    struct beat_body beat;
    struct errctx ec = {{0}};

    if (!has_body(call, r))
        return;
    if (beat_parse(q->body, q->body_len, &beat, &ec)) {
        refuse_error(call->h, r, &ec);
        return;
    }
    if (str_is_blank(beat.group) || str_is_blank(beat.key) || str_is_blank(beat.value)) {
        refuse(call->h, r, MSG_ARGUMENT);
    } else if (registry_submit_beat(registry, beat.group, beat.key, beat.value, remove, &ec)) {
        refuse_error(call->h, r, &ec);
    } else {
        if (!remove && !str_is_blank(request_get_header(q, HEADER_APP)))
            registry_note_generation(registry, beat.value, true);
        write_answer(call->h, r, 200, "Success");
    }
    beat_fini(&beat);
}

static void answer_registry(const struct route_call *call, struct http_response *r)
{
    answer_beat(call, /*remove=*/false, r);
}

static void answer_registry_remove(const struct route_call *call, struct http_response *r)
{
    answer_beat(call, /*remove=*/true, r);
}

/* Stores what the reader has, a piece after the other. */
static enum err store_pieces(struct complete *complete, struct callback_reader *reader, struct callback_mark *mark,
                             size_t *stored, struct errctx *ec)
{
    struct callback_piece piece; /* some 64 KB, of which a call of a few results touches the first */
    int64_t deadline_ms = complete_get_deadline(complete);
    enum err e, refused = ERR_OK;
    struct errctx why;

    piece.count = piece.bytes = 0;
    for (;;) {
        callbacks_get_mark(reader, mark);
        e = callbacks_next(reader, &piece, &why);
        if (e || !piece.count)
            break;
        e = complete_submit(complete, piece.entries, piece.count, deadline_ms, &why);
        if (e == ERR_INPUT) /* the database refused one of them; the others must not be lost for it */
            refused = err_set(ec, e, "%s", why.text);
        else if (e)
            break;
        else
            *stored += piece.count;
    }
    callbacks_end_piece(&piece);
    if (refused)
        mark->index = 0; /* none of that is done with: the repeat is told again */
    else if (e)
        err_set(ec, e, "%s", why.text);
    return refused ? refused : e;
}

/* A large call's piece takes room twice: as it was read, and as it waits for its commit. */
static enum err store_callbacks(struct http *h, const struct http_request *q, struct callback_reader *reader,
                                size_t *stored, struct errctx *ec)
{
    size_t room = q->body_len > CALLBACKS_BYTES_MIN ? 2 * reader->piece_bytes : 0;
    struct callback_mark mark;

    if (!room_take(q->room, room))
        return err_set(ec, ERR_BUSY, "this node has no memory for the request at the moment: send it again");
    if (progress_take(&h->progress, q, clock_mono_ms(h->clock), &mark))
        callbacks_go_to_mark(reader, &mark);
    enum err e = store_pieces(h->opts.complete, reader, &mark, stored, ec);
    room_give(q->room, room);
    if (e && mark.index > 0)
        progress_note(&h->progress, q, &mark, clock_mono_ms(h->clock));
    return e;
}

/* Success only when all of it is committed. A malformed entry does not keep the others from being stored. */
static void answer_callback(const struct route_call *call, struct http_response *r)
{
    const struct http_request *q = call->q;
    struct http *h = call->h;
    struct callback_reader reader;
    struct errctx ec = {{0}};
    size_t stored = 0;

    if (!has_body(call, r))
        return;
    if (callbacks_open(&reader, q->body, q->body_len, &ec)) {
        counters_add(h->counters, COUNTER_CALLBACKS_REFUSED, 1);
        log_limited(&h->unread_log, h->clock, LOG_WARN, "http", "event=callback_refused bytes=%zu error=%s",
                    q->body_len, log_quote(ec.text).s);
        refuse_error(call->h, r, &ec);
        return;
    }
    if (store_callbacks(h, q, &reader, &stored, &ec)) {
        counters_add(h->counters, COUNTER_CALLBACKS_REFUSED, (int64_t)callbacks_count_left(&reader));
        refuse_error(call->h, r, &ec);
    } else if (reader.malformed) {
        counters_add(h->counters, COUNTER_CALLBACKS_REFUSED, (int64_t)reader.malformed);
        log_limited(&h->malformed_log, h->clock, LOG_WARN, "http",
                    "event=callback_refused malformed=%zu stored=%zu error=%s", reader.malformed, stored,
                    log_quote(reader.complaint.text).s);
        refuse_error(call->h, r, &reader.complaint);
    } else {
        write_answer(call->h, r, 200, "Success");
    }
}

/* ---- jobs: job_calls.c ------------------------------------------------------------------------------------------- */

static void answer_job_call(const struct route_call *call, struct http_response *r)
{
    if (has_body(call, r))
        job_call_answer(call, call->path + strlen(BELOW), r);
}

static const struct route routes[] = {
    {ROUTE_POST, BELOW "/registry", HTTP_LANE_AT_ONCE, ROUTE_EXECUTOR, answer_registry},
    {ROUTE_POST, BELOW "/registryRemove", HTTP_LANE_AT_ONCE, ROUTE_EXECUTOR, answer_registry_remove},
    {ROUTE_POST, BELOW "/callback", HTTP_LANE_EXECUTOR, ROUTE_EXECUTOR, answer_callback},
    {ROUTE_POST, BELOW "/addJob", HTTP_LANE_CONSOLE, ROUTE_APP, answer_job_call},
    {ROUTE_POST, BELOW "/updateJob", HTTP_LANE_CONSOLE, ROUTE_APP, answer_job_call},
    {ROUTE_POST, BELOW "/removeJob", HTTP_LANE_CONSOLE, ROUTE_APP, answer_job_call},
    {ROUTE_POST, BELOW "/startJob", HTTP_LANE_CONSOLE, ROUTE_APP, answer_job_call},
    {ROUTE_POST, BELOW "/stopJob", HTTP_LANE_CONSOLE, ROUTE_APP, answer_job_call},
    {ROUTE_POST, BELOW "/triggerJob", HTTP_LANE_CONSOLE, ROUTE_APP, answer_job_call},
};

/* Of callbacks what an executor has saved up while nobody answered; of what else is here a GLUE source at most. */
static size_t get_max_body(const struct route_call *call)
{
    if (call->route->answer == answer_callback)
        return call->h->opts.max_body;
    return call->route->lane == HTTP_LANE_AT_ONCE ? BODY_MAX_USUAL : BODY_MAX_SOURCE;
}

const struct route_table executor_routes = {.below = BELOW,
                                            .routes = routes,
                                            .count = ARRAY_LEN(routes),
                                            .get_max_body = get_max_body,
                                            .refuse = refuse_unmatched,
                                            .admit = admit};

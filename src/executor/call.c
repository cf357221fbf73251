/* SPDX-License-Identifier: MIT */
#include "shardwheel/executor/call.h"

#include <stdlib.h>

#include "shardwheel/executor/http_client.h"
#include "shardwheel/executor/request.h"

struct executor_calls {
    const struct clock *clock;                /* [const] */
    struct resolver *resolver;                /* [const] */
    const struct executor_networks *networks; /* [const] */
    int max;                                  /* [const] */
    _Atomic int under_way;                    /* [atomic] relaxed: a bound, nothing is told by it */
};

/* One call, and what comes of it: the parser runs within done, where the answer is there. */
struct call {
    const struct executor_target *target;
    const char *path;
    struct buf body;
    struct answer *answer;  /* of a kill or a beat */
    struct log_answer *log; /* of a log */
    int64_t from_line;
    bool done;
    bool reached;
};

static void fail(struct answer *out, const char *reason, const char *address)
{
    struct buf text = {0};

    buf_printf(&text, "%s: %s", address, reason);
    *out = (struct answer){.code = CODE_FAILED, .text = buf_take(&text)};
}

static void on_done(void *arg, const struct http_answer *http)
{
    struct call *call = arg;
    struct answer *answer = call->log ? &call->log->answer : call->answer;

    call->done = true;
    call->reached = http->outcome == HTTP_ANSWERED;
    if (http->outcome != HTTP_ANSWERED)
        fail(answer, http->reason, call->target->address);
    else if (call->log)
        log_answer_parse(http->status, http->body, http->len, http->cut, call->from_line, call->log);
    else
        answer_parse(http->status, http->body, http->len, call->path, answer);
}

static enum err start(struct http_client *client, struct call *call, struct buf *headers)
{
    const struct executor_target *target = call->target;
    struct http_request request = {
        .path = call->path,
        .body = call->body.data,
        .body_len = call->body.len,
        .tls = target->tls,
        .timeout_ms = target->timeout_ms,
        .takes_start = call->log != NULL,
        .done = on_done,
        .arg = call,
    };
    enum err e;

    request_put_headers(headers, target->app_name, target->group_token, target->access_token);
    if (buf_failed(headers) || buf_failed(&call->body))
        return ERR_NOMEM;
    request.headers = headers->data;
    request.headers_len = headers->len;
    e = http_client_add_peer(client, target->address, &request.peer); /* it goes with the client */
    return e ? e : http_client_start(client, &request);
}

/* The client ends the request by itself when its time is over. */
static enum err run(struct executor_calls *calls, struct call *call, struct errctx *ec)
{
    struct http_client *client = NULL;
    struct buf headers = {0};
    enum err e = http_client_create(calls->clock, calls->resolver, &client, ec);

    if (!e) {
        http_client_set_networks(client, calls->networks);
        e = start(client, call, &headers);
        if (e)
            err_set(ec, e, "out of memory for a call to an executor");
        while (!e && !call->done)
            http_client_turn(client, call->target->timeout_ms * 1000);
    }
    http_client_destroy(client);
    buf_fini(&headers);
    return e;
}

static enum err make(struct executor_calls *calls, struct call *call, struct errctx *ec)
{
    enum err e;

    if (!request_is_address(call->target->address)) {
        fail(call->log ? &call->log->answer : call->answer, "the address is not a URL", call->target->address);
        e = ERR_OK;
    } else if (atomic_fetch_add_explicit(&calls->under_way, 1, memory_order_relaxed) >= calls->max) {
        atomic_fetch_sub_explicit(&calls->under_way, 1, memory_order_relaxed);
        e = err_set(ec, ERR_BUSY, "%d calls to executors are already in progress", calls->max);
    } else {
        e = run(calls, call, ec);
        atomic_fetch_sub_explicit(&calls->under_way, 1, memory_order_relaxed);
    }
    buf_fini(&call->body);
    return e;
}

enum err executor_kill(struct executor_calls *calls, const struct executor_target *target, int64_t job_id,
                       struct answer *out, struct errctx *ec)
{
    struct call call = {.target = target, .path = REQUEST_PATH_KILL, .answer = out};

    *out = (struct answer){0};
    request_put_job_body(&call.body, job_id);
    return make(calls, &call, ec);
}

enum err executor_ask_beat(struct executor_calls *calls, const struct executor_target *target, struct answer *out,
                           bool *reached, struct errctx *ec)
{
    struct call call = {.target = target, .path = REQUEST_PATH_BEAT, .answer = out};

    *out = (struct answer){0};
    enum err e = make(calls, &call, ec);
    *reached = call.reached;
    return e;
}

enum err executor_read_log(struct executor_calls *calls, const struct executor_target *target, int64_t log_id,
                           int64_t date_ms, int64_t from_line, struct log_answer *out, struct errctx *ec)
{
    struct call call = {.target = target, .path = REQUEST_PATH_LOG, .log = out, .from_line = from_line};

    *out = (struct log_answer){.from_line = from_line, .to_line = from_line - 1};
    request_put_log_body(&call.body, log_id, date_ms, from_line);
    return make(calls, &call, ec);
}

enum err executor_calls_create(const struct clock *clock, struct resolver *resolver,
                               const struct executor_networks *networks, int max, struct executor_calls **out,
                               struct errctx *ec)
{
    struct executor_calls *calls = calloc(1, sizeof *calls);

    if (!calls)
        return err_set(ec, ERR_NOMEM, "out of memory for calls to executors");
    calls->clock = clock;
    calls->resolver = resolver;
    calls->networks = networks;
    calls->max = max;
    atomic_init(&calls->under_way, 0);
    *out = calls;
    return ERR_OK;
}

void executor_calls_destroy(struct executor_calls *calls)
{
    free(calls);
}

/* SPDX-License-Identifier: MIT */
#include "load_calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { HANDLER_MAX = 255 };

static void answer(struct buf *out, const struct request *r, const char *body, size_t len)
{
    buf_printf(out, "HTTP/1.1 200 OK\r\ncontent-type: text/html;charset=UTF-8\r\ncontent-length: %zu\r\n%s\r\n", len,
               r->keep_alive ? "connection: keep-alive\r\n" : "");
    buf_append(out, body, len);
}

static void answer_success(struct buf *out, const struct request *r)
{
    static const char whole[] = "HTTP/1.1 200 OK\r\ncontent-type: text/html;charset=UTF-8\r\ncontent-length: 28\r\n"
                                "connection: keep-alive\r\n\r\n{\"code\":200,\"msg\":\"Success\"}";

    if (r->keep_alive)
        buf_append(out, whole, sizeof(whole) - 1);
    else
        answer(out, r, "{\"code\":200,\"msg\":\"Success\"}", 28);
}

/* msg must need no escapes; path, if any, stands in its middle and is escaped here. */
static void answer_failure(struct buf *out, const struct request *r, const char *msg, struct json_slice path,
                           const char *rest)
{
    struct buf body = {0};

    buf_printf(&body, "{\"code\":500,\"msg\":\"%s", msg);
    for (size_t i = 0; i < path.len; i++) {
        unsigned char ch = (unsigned char)path.text[i];

        if (ch < ' ' || ch == '"' || ch == '\\')
            buf_printf(&body, "\\u%04x", ch);
        else
            buf_append(&body, &path.text[i], 1);
    }
    buf_printf(&body, "%s\"}", rest);
    answer(out, r, body.data, body.len);
    buf_fini(&body);
}

static const struct json_slice no_path = {"", 0};

/* ---- runs ---- */

struct run {
    int64_t log_id, log_date_time_ms;
    int32_t job_id, broadcast_index, broadcast_total;
    struct json_slice handler;
};

static bool parse_run(struct json_slice body, struct run *run)
{
    struct json_walk walk;
    struct json_slice name, value;

    *run = (struct run){.handler = {"", 0}};
    if (!json_begin_object(&walk, body.text, body.len))
        return false;
    while (json_next_member(&walk, &name, &value)) {
        if (json_is(name, "logId"))
            run->log_id = json_to_int(value);
        else if (json_is(name, "jobId"))
            run->job_id = (int32_t)json_to_int(value);
        else if (json_is(name, "logDateTime"))
            run->log_date_time_ms = json_to_int(value);
        else if (json_is(name, "broadcastIndex"))
            run->broadcast_index = (int32_t)json_to_int(value);
        else if (json_is(name, "broadcastTotal"))
            run->broadcast_total = (int32_t)json_to_int(value);
        else if (json_is(name, "executorHandler"))
            run->handler = value;
    }
    return !walk.broken;
}

/* The name as one CSV field: quoted where it must be, cut at HANDLER_MAX, on one line. */
static size_t format_handler(struct json_slice name, char *out)
{
    size_t n = 0;

    if (name.len > HANDLER_MAX)
        name.len = HANDLER_MAX;
    if (!memchr(name.text, ',', name.len) && !memchr(name.text, '"', name.len) && !memchr(name.text, '\n', name.len) &&
        !memchr(name.text, '\r', name.len)) {
        memcpy(out, name.text, name.len);
        return name.len;
    }
    out[n++] = '"';
    for (size_t i = 0; i < name.len; i++) {
        char ch = name.text[i];

        out[n++] = ch == '\n' || ch == '\r' ? ' ' : ch;
        if (ch == '"')
            out[n++] = '"';
    }
    out[n++] = '"';
    return n;
}

static void note_arrival(struct executor *x, const struct request *r, const struct run *run)
{
    const int64_t numbers[] = {r->arrival_wall_us,      run->log_id,          run->job_id,
                               run->log_date_time_ms,   run->broadcast_index, run->broadcast_total,
                               x->opt.port + r->address};
    char line[sizeof(numbers) / sizeof(*numbers) * (INT_TEXT_MAX + 1) + 2 * HANDLER_MAX + 3];
    char *at = line;

    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        at = put_int(at, numbers[i]);
        *at++ = ',';
    }
    at += format_handler(run->handler, at);
    *at++ = '\n';
    executor_note(x, &x->arrivals, line, (size_t)(at - line));
}

/* 0..99 from the id: the same run fails in the same way however often a test is repeated. */
static int percent_of(int64_t log_id)
{
    return (int)(((uint64_t)log_id * UINT64_C(0x9e3779b97f4a7c15) >> 32) % 100);
}

static void handle_run(struct executor *x, const struct request *r, struct buf *out)
{
    const struct options *o = &x->opt;
    struct run run;
    int percent;

    if (!parse_run(r->body, &run)) {
        x->count.bad_requests++;
        answer_failure(out, r, "request error: the body is not a JSON object", no_path, "");
        return;
    }
    x->count.runs++;
    note_arrival(x, r, &run);
    percent = percent_of(run.log_id);
    if (r->kind == ADDRESS_SILENT || r->kind == ADDRESS_CLOSING) {
        x->count.runs_unanswered++;
    } else if (percent < o->refuse_percent || x->results_waiting >= (size_t)o->max_pending) {
        x->count.runs_refused++;
        answer_failure(out, r, "refused by load_executor", no_path, "");
    } else {
        struct result result = {
            .log_id = run.log_id,
            .log_date_time_ms = run.log_date_time_ms,
            .due_mono_us = x->turn_mono_us + o->callback_delay_us,
            .job_id = run.job_id,
            .code = percent < o->refuse_percent + o->fail_percent ? 500 : 200,
        };

        if (o->admin_count > 0)
            executor_add_result(x, r->address, &result);
        answer_success(out, r);
    }
}

static int64_t member_of(struct json_slice body, const char *wanted)
{
    struct json_walk walk;
    struct json_slice name, value;

    if (json_begin_object(&walk, body.text, body.len)) {
        while (json_next_member(&walk, &name, &value)) {
            if (json_is(name, wanted))
                return json_to_int(value);
        }
    }
    return 0;
}

/* Results that still wait for their delay stand for runs that are under way. */
static bool has_run(struct executor *x, int32_t job_id, bool kill)
{
    bool found = false;

    for (int k = 0; k < x->queue_count; k++) {
        struct result_queue *q = &x->queues[k];

        for (size_t i = 0; i < q->len; i++) {
            struct result *r = &q->items[(q->head + i) & (q->cap - 1)];

            if (r->job_id != job_id)
                continue;
            found = true;
            if (!kill)
                return true;
            r->code = 500;
        }
    }
    return found;
}

/* Lines as a job may write them: no two are the same, and all are alike. */
static void put_log(struct buf *out, int64_t log_id, int lines)
{
    uint64_t random = (uint64_t)log_id * UINT64_C(6364136223846793005) + 1;

    buf_append(out, "load_executor keeps no logs\\n", 29);
    for (int i = 2; i <= lines; i++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        buf_printf(out,
                   "2026-11-27 10:%02d:%02d.%03d [load-%" PRId64
                   "] INFO step %d: %d records read from shard %d, %d ms\\n",
                   i / 60 % 60, i % 60, (int)(random >> 54), log_id, i, (int)(random >> 40 & 0xffff),
                   (int)(random >> 33 & 31), (int)(random >> 20 & 0xfff));
    }
}

static void handle_log(const struct executor *x, const struct request *r, struct buf *out)
{
    int64_t from = member_of(r->body, "fromLineNum");
    struct buf part = {0}, body = {0};

    if (from <= 1) {
        buf_printf(&part, "{\"fromLineNum\":1,\"toLineNum\":%d,\"logContent\":\"", x->opt.log_lines);
        put_log(&part, member_of(r->body, "logId"), x->opt.log_lines);
        buf_printf(&part, "\",\"isEnd\":false}");
    } else {
        buf_printf(&part, "{\"fromLineNum\":%" PRId64 ",\"toLineNum\":0,\"logContent\":\"\",\"isEnd\":false}", from);
    }
    buf_printf(&body, "{\"code\":200,\"msg\":\"Success\",\"content\":%.*s,\"data\":%.*s}", (int)part.len, part.data,
               (int)part.len, part.data);
    answer(out, r, body.data, body.len);
    buf_fini(&part);
    buf_fini(&body);
}

void calls_handle(struct executor *x, const struct request *r, struct buf *out)
{
    const struct options *o = &x->opt;

    x->count.requests++;
    if (!json_is(r->method, "POST")) {
        answer_failure(out, r, "invalid request, HttpMethod not support.", no_path, "");
    } else if (o->token[0] && !json_is(r->token, o->token)) {
        answer_failure(out, r, "The access token is wrong.", no_path, "");
    } else if (json_is(r->path, o->path_is_trigger ? "/trigger" : "/run")) {
        handle_run(x, r, out);
    } else if (json_is(r->path, "/beat")) {
        answer_success(out, r);
    } else if (json_is(r->path, "/idleBeat")) {
        if (has_run(x, (int32_t)member_of(r->body, "jobId"), /*kill=*/false))
            answer_failure(out, r, "job thread is running or has trigger queue.", no_path, "");
        else
            answer_success(out, r);
    } else if (json_is(r->path, "/kill")) {
        has_run(x, (int32_t)member_of(r->body, "jobId"), /*kill=*/true);
        answer_success(out, r);
    } else if (json_is(r->path, "/log")) {
        handle_log(x, r, out);
    } else {
        answer_failure(out, r, "invalid request, uri-mapping(", r->path, ") not found.");
    }
}

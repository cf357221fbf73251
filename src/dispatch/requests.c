/* SPDX-License-Identifier: MIT */
/* One delivery's request: started, let go or refused right before it is written, and ended by what came of it. */
#include "dispatch/loop_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shardwheel/executor/answer.h"
#include "shardwheel/executor/http_client.h"
#include "shardwheel/executor/request.h"
#include "dispatch/lanes.h"

#define PREPARE_MAX ((size_t)64 * 1024) /* bodies that could be larger are made when they are sent */

void loop_flush_sent(struct loop *loop)
{
    for (size_t i = 0; i < loop->sent_shards; i++)
        loop->office->opts.sent(loop->office->opts.arg, loop->sent[i].shard, loop->sent[i].count);
    loop->sent_shards = 0;
}

/* Collected over a turn, because the other side may take a lock for each call. */
static void count_sent(struct loop *loop, struct delivery *d)
{
    if (d->counted_sent)
        return;
    d->counted_sent = true;
    for (size_t i = 0; i < loop->sent_shards; i++) {
        if (loop->sent[i].shard == d->fire->shard) {
            loop->sent[i].count++;
            return;
        }
    }
    if (loop->sent_shards == SENT_SHARDS)
        loop_flush_sent(loop);
    loop->sent[loop->sent_shards++] = (struct sent_count){.shard = d->fire->shard, .count = 1};
}

void loop_end(struct loop *loop, struct delivery *d, enum delivery_outcome outcome, int code, const char *text)
{
    count_sent(loop, d);
    delivery_end(loop->office, d, outcome, code, text);
    result_list_add(&loop->ended, &d->result);
}

bool loop_is_draining(const struct loop *loop)
{
    return atomic_load_explicit(&loop->office->draining, memory_order_acquire);
}

/* Right before the write. */
static bool may_send(void *arg)
{
    struct delivery *d = arg;
    struct loop *loop = d->loop;
    struct post_office *office = loop->office;

    if (loop_is_draining(loop) || clock_boot_ms(office->clock) > d->batch->deadline_boot_ms)
        return false;
    d->write_wall_us = clock_wall_us(office->clock);
    d->write_mono_ms = clock_mono_ms(office->clock);
    log_fire(DISPATCH, "event=fire_sent log_id=%" PRId64 " job=%" PRId64 " address=%s", d->fire->log_id,
             d->fire->job_id, log_quote(d->address).s);
    if (!d->counted_sent) /* not for the second path */
        counters_observe_us(office->counters, COUNTER_LATENESS, d->write_wall_us - delivery_get_due_us(d));
    count_sent(loop, d);
    return true;
}

static void end_unanswered(struct loop *loop, struct delivery *d, const struct http_answer *answer)
{
    char text[300];

    switch (answer->outcome) {
    case HTTP_REFUSED:
        if (loop_is_draining(loop))
            loop_end(loop, d, DELIVERY_FAILED, CODE_FAILED, TEXT_STOPPING);
        else
            loop_end(loop, d, DELIVERY_TOO_LATE, CODE_FAILED, TEXT_TOO_LATE);
        return;
    case HTTP_UNREACHED:
        d->away = true;
        snprintf(text, sizeof text, "not sent: %s", answer->reason);
        break;
    case HTTP_TIMEOUT:
        snprintf(text, sizeof text, "no answer within %" PRId64 " ms; the executor may have taken it",
                 d->batch->access->timeout_ms);
        break;
    case HTTP_ABORTED:
        snprintf(text, sizeof text,
                 answer->written ? "delivery unknown: this node stopped before the executor answered" : TEXT_STOPPING);
        break;
    case HTTP_ANSWERED:
    case HTTP_CLOSED:
    case HTTP_BAD_ANSWER: snprintf(text, sizeof text, "%s; the executor may have taken it", answer->reason); break;
    }
    loop_end(loop, d, DELIVERY_FAILED, CODE_FAILED, text);
}

/* True when the delivery goes out once more, to the other path: the executor has said that it knows nothing of this
 * one. */
static bool switch_path(struct loop *loop, struct delivery *d, const struct answer *answer)
{
    if (!answer->unknown_path || d->path_switched)
        return false;
    d->path_switched = true;
    d->trigger_path = !d->trigger_path;
    loop_send(loop, d);
    return true;
}

static void end_answered(struct loop *loop, struct delivery *d, const struct answer *answer)
{
    enum delivery_outcome outcome = !answer->from_executor    ? DELIVERY_FAILED
                                    : answer->code == CODE_OK ? DELIVERY_DELIVERED
                                                              : DELIVERY_REFUSED;

    if (d->path_switched && !answer->unknown_path)
        registry_note_generation(loop->office->registry, d->address, d->trigger_path);
    loop_end(loop, d, outcome, answer->code, answer->text);
}

static void on_done(void *arg, const struct http_answer *http)
{
    struct delivery *d = arg;
    struct loop *loop = d->loop;
    struct lane *lane = d->lane;
    struct post_office *office = loop->office;
    int64_t now_mono_ms = clock_mono_ms(office->clock);
    struct answer answer;

    if (http->outcome != HTTP_ANSWERED) {
        if (http->outcome != HTTP_REFUSED && http->outcome != HTTP_ABORTED) /* those were our own doing */
            lanes_note_failure(lane, /*reached=*/http->outcome != HTTP_UNREACHED);
        end_unanswered(loop, d, http);
        lanes_release(loop->lanes, lane, now_mono_ms);
        return;
    }
    lanes_note_answer(loop->lanes, lane, now_mono_ms - d->write_mono_ms, now_mono_ms);
    counters_observe_us(office->counters, COUNTER_DISPATCH_TIME, clock_wall_us(office->clock) - d->write_wall_us);
    answer_parse(http->status, http->body, http->len, request_path(d->trigger_path), &answer);
    if (!switch_path(loop, d, &answer)) {
        end_answered(loop, d, &answer);
        lanes_release(loop->lanes, lane, now_mono_ms);
    }
    answer_fini(&answer);
}

bool loop_prepare_body(struct loop *loop, struct delivery *d)
{
    if (d->body)
        return true;
    buf_clear(&loop->body);
    request_put_body(&loop->body, d->fire);
    d->body = buf_failed(&loop->body) ? NULL : malloc(loop->body.len);
    if (!d->body)
        return false;
    memcpy(d->body, loop->body.data, loop->body.len);
    d->body_len = loop->body.len;
    if (loop->body.cap > PREPARE_MAX)
        buf_fini(&loop->body);
    return true;
}

void loop_send(struct loop *loop, struct delivery *d)
{
    struct lane *lane = d->lane;
    enum err e = ERR_NOMEM;

    buf_clear(&loop->headers);
    request_put_headers(&loop->headers, d->group->app_name, d->group->access_token, d->batch->access->token);
    if (loop_prepare_body(loop, d) && !buf_failed(&loop->headers)) {
        struct http_request request = {
            .peer = lanes_peer(lane),
            .path = request_path(d->trigger_path),
            .headers = loop->headers.data,
            .headers_len = loop->headers.len,
            .body = d->body,
            .body_len = d->body_len,
            .tls = &d->batch->access->tls,
            .timeout_ms = d->batch->access->timeout_ms,
            .may_send = may_send,
            .done = on_done,
            .arg = d,
        };
        e = http_client_start(loop->http, &request);
    }
    if (e) {
        loop_end(loop, d, DELIVERY_FAILED, CODE_FAILED, TEXT_NO_MEMORY);
        lanes_release(loop->lanes, lane, clock_mono_ms(loop->office->clock));
    }
}

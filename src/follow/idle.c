/* SPDX-License-Identifier: MIT */
#include "follow/idle.h"
#include "shardwheel/executor/answer.h"
#include "shardwheel/executor/request.h"

#include <stdlib.h>
#include <string.h>

#define IN_FLIGHT_MAX 32  /* in all */
#define PER_ADDRESS_MAX 4 /* executors answer one call after the other */
#define TIMEOUT_MS 3000

/* An address while it is asked. */
struct asked {
    struct idle_asker *asker;
    struct http_peer *peer;
    struct idle_question *next, *end; /* those to be asked yet */
    size_t in_flight;
    bool silent; /* one was not answered */
};

struct call {
    struct asked *asked;
    struct idle_question *question;
    struct buf headers, body; /* must stay until the end of the request */
    struct call *next_free;
};

struct idle_asker {
    struct http_client *http;
    const struct clock *clock;
    struct call calls[IN_FLIGHT_MAX];
    struct call *free_calls;
};

enum err idle_create(const struct clock *clock, struct resolver *resolver, const struct executor_networks *networks,
                     struct idle_asker **out, struct errctx *ec)
{
    struct idle_asker *a = calloc(1, sizeof *a);
    enum err e;

    if (!a)
        return err_set(ec, ERR_NOMEM, "out of memory for questions to executors");
    a->clock = clock;
    e = http_client_create(clock, resolver, &a->http, ec);
    if (e) {
        free(a);
        return e;
    }
    http_client_set_networks(a->http, networks);
    for (size_t i = 0; i < IN_FLIGHT_MAX; i++) {
        a->calls[i].next_free = a->free_calls;
        a->free_calls = &a->calls[i];
    }
    *out = a;
    return ERR_OK;
}

void idle_destroy(struct idle_asker *a)
{
    if (!a)
        return;
    http_client_destroy(a->http);
    for (size_t i = 0; i < IN_FLIGHT_MAX; i++) {
        buf_fini(&a->calls[i].headers);
        buf_fini(&a->calls[i].body);
    }
    free(a);
}

static void end_call(struct call *call)
{
    call->asked->in_flight--;
    call->next_free = call->asked->asker->free_calls;
    call->asked->asker->free_calls = call;
}

static void take_answer(void *arg, const struct http_answer *http)
{
    struct call *call = arg;

    if (http->outcome == HTTP_ANSWERED) {
        struct answer answer = {0};
        answer_parse(http->status, http->body, http->len, REQUEST_PATH_IDLE_BEAT, &answer);
        if (answer.from_executor && !answer.unknown_path)
            call->question->answer = answer.code == CODE_OK ? IDLE_YES : IDLE_NO;
        answer_fini(&answer);
    }
    if (call->question->answer == IDLE_UNKNOWN)
        call->asked->silent = true;
    end_call(call);
}

static void start_call(struct idle_asker *a, struct asked *asked, const char *access_token, const struct http_tls *tls)
{
    struct call *call = a->free_calls;
    struct idle_question *q = asked->next++;

    a->free_calls = call->next_free;
    call->asked = asked;
    call->question = q;
    asked->in_flight++;
    buf_clear(&call->headers);
    buf_clear(&call->body);
    request_put_headers(&call->headers, q->app_name, q->group_token, access_token);
    request_put_job_body(&call->body, q->job_id);
    const struct http_request request = {.peer = asked->peer,
                                         .path = REQUEST_PATH_IDLE_BEAT,
                                         .headers = call->headers.data,
                                         .headers_len = call->headers.len,
                                         .body = call->body.data,
                                         .body_len = call->body.len,
                                         .timeout_ms = TIMEOUT_MS,
                                         .tls = tls,
                                         .done = take_answer,
                                         .arg = call};
    if (buf_failed(&call->headers) || buf_failed(&call->body) || http_client_start(a->http, &request)) {
        asked->silent = true;
        end_call(call);
    }
}

/* One for each address; NULL when out of memory. */
static struct asked *list_addresses(struct idle_asker *a, struct idle_question *questions, size_t count, size_t *n)
{
    struct asked *list = calloc(count + 1, sizeof *list);

    *n = 0;
    for (size_t i = 0; list && i < count; i++) {
        questions[i].answer = IDLE_UNKNOWN;
        if (i == 0 || strcmp(questions[i].address, questions[i - 1].address) != 0) {
            struct asked *asked = &list[(*n)++];
            *asked = (struct asked){.asker = a, .next = &questions[i]};
            asked->silent = !request_is_address(questions[i].address) ||
                            http_client_add_peer(a->http, questions[i].address, &asked->peer) != ERR_OK;
        }
        list[*n - 1].end = &questions[i] + 1;
    }
    return list;
}

/* Starts what may be started; false when there is nothing left to ask. */
static bool start_some(struct idle_asker *a, struct asked *list, size_t n, const char *access_token,
                       const struct http_tls *tls)
{
    bool left = false;

    for (size_t i = 0; i < n; i++) {
        struct asked *asked = &list[i];
        while (a->free_calls && !asked->silent && asked->next < asked->end && asked->in_flight < PER_ADDRESS_MAX)
            start_call(a, asked, access_token, tls);
        left |= !asked->silent && asked->next < asked->end;
    }
    return left;
}

void idle_ask(struct idle_asker *a, struct idle_question *questions, size_t count, const char *access_token,
              const struct http_tls *tls, int64_t budget_ms)
{
    int64_t until_ms = clock_mono_ms(a->clock) + budget_ms;
    size_t n;
    struct asked *list = list_addresses(a, questions, count, &n);

    if (!list)
        return;
    for (;;) {
        int64_t left_ms = until_ms - clock_mono_ms(a->clock);
        bool more = left_ms > 0 && start_some(a, list, n, access_token, tls);
        if (!more && http_client_count(a->http) == 0)
            break;
        http_client_turn(a->http, 100000); /* those under way end in TIMEOUT_MS, whatever the budget is */
    }
    for (size_t i = 0; i < n; i++)
        if (list[i].peer)
            http_client_drop_peer(a->http, list[i].peer);
    free(list);
}

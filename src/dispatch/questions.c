/* SPDX-License-Identifier: MIT */
#include "dispatch/questions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/asking.h"
#include "shardwheel/executor/answer.h"
#include "shardwheel/executor/request.h"

struct question {
    struct questions *owner;
    struct question *next, *prev;             /* of all */
    struct question *next_there, *prev_there; /* that wait for their turn at its lane, oldest first */
    struct lane *lane;                        /* pinned */
    enum route_ask ask;
    bool under_way;               /* and not in the list of its lane */
    struct delivery_list waiting; /* of equal groups; of one job where that is asked for */
    int64_t timeout_ms;           /* once it is under way */
    struct buf body;
};

struct questions {
    struct post_office *office;
    struct http_client *http;
    struct lanes *lanes;
    answered_fn answered;
    void *arg;
    struct question *first;
    size_t count;       /* deliveries */
    struct buf headers; /* of the question that is being started */
};

/* What came of a question. */
struct outcome {
    bool yes;
    int code;
    const char *text; /* may be NULL */
};

/* ---- life of a question ------------------------------------------------------------------------------------------ */

/* Takes the pin of the lane. */
static struct question *create_question(struct questions *q, enum route_ask ask, struct lane *lane)
{
    struct question *fresh = calloc(1, sizeof *fresh);

    if (!fresh) {
        lanes_unpin(lane, clock_mono_ms(q->office->clock));
        return NULL;
    }
    fresh->owner = q;
    fresh->ask = ask;
    fresh->lane = lane;
    if (ask == ROUTE_ASK_ALIVE)
        lanes_questions(lane)->beat = fresh;
    fresh->next = q->first;
    if (q->first)
        q->first->prev = fresh;
    q->first = fresh;
    return fresh;
}

static void destroy_question(struct question *question)
{
    struct questions *q = question->owner;

    if (question->prev)
        question->prev->next = question->next;
    else
        q->first = question->next;
    if (question->next)
        question->next->prev = question->prev;
    if (lanes_questions(question->lane)->beat == question)
        lanes_questions(question->lane)->beat = NULL;
    lanes_unpin(question->lane, clock_mono_ms(q->office->clock));
    buf_fini(&question->body);
    free(question);
}

/* Behind the others that wait for their turn there. */
static void put_in_lane(struct question *question)
{
    struct lane_questions *there = lanes_questions(question->lane);

    question->prev_there = there->last;
    if (there->last)
        there->last->next_there = question;
    else
        there->first = question;
    there->last = question;
}

static void take_from_lane(struct question *question)
{
    struct lane_questions *there = lanes_questions(question->lane);

    if (question->prev_there)
        question->prev_there->next_there = question->next_there;
    else
        there->first = question->next_there;
    if (question->next_there)
        question->next_there->prev_there = question->prev_there;
    else
        there->last = question->prev_there;
    question->next_there = question->prev_there = NULL;
}

/* The waiting deliveries, each answered; the question has gone before, for they may ask again. */
static void answer(struct questions *q, struct delivery_list *list, const struct outcome *o)
{
    struct delivery *d;

    while ((d = delivery_list_take(list)) != NULL) {
        struct asking *a = d->asking;

        q->count--;
        if (!o->yes)
            asking_note_no(a, d->group->addresses[a->at], o->code, o->text);
        q->answered(q->arg, d, o->yes);
    }
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

static void start_next(struct questions *q, struct lane *lane);

/* acquire: as in the loop. */
static bool is_draining(const struct questions *q)
{
    return atomic_load_explicit(&q->office->draining, memory_order_acquire);
}

/* Right before the write. */
static bool may_ask(void *arg)
{
    const struct question *question = arg;

    return question->waiting.head && !is_draining(question->owner);
}

static void read_answer(struct questions *q, const struct question *question, const struct http_answer *http,
                        struct answer *parsed, struct outcome *out)
{
    if (http->outcome != HTTP_ANSWERED) {
        counters_add(q->office->counters, COUNTER_QUESTIONS_SILENT, 1);
        *out = (struct outcome){false, CODE_FAILED, http->reason};
        return;
    }
    answer_parse(http->status, http->body, http->len,
                 question->ask == ROUTE_ASK_ALIVE ? REQUEST_PATH_BEAT : REQUEST_PATH_IDLE_BEAT, parsed);
    *out = (struct outcome){parsed->from_executor && parsed->code == CODE_OK, parsed->code, parsed->text};
    counters_add(q->office->counters, out->yes ? COUNTER_QUESTIONS_YES : COUNTER_QUESTIONS_NO, 1);
}

static void on_done(void *arg, const struct http_answer *http)
{
    struct question *question = arg;
    struct questions *q = question->owner;
    struct lane *lane = question->lane;
    struct delivery_list waiting = {0};
    struct answer parsed = {0};
    struct outcome outcome;
    char text[80];

    lanes_questions(lane)->under_way--;
    question->under_way = false;
    if (http->outcome == HTTP_REFUSED || http->outcome == HTTP_ABORTED) {
        /* Our own doing: nobody waited, or the node is stopping. */
        put_in_lane(question);
        if (http->outcome == HTTP_REFUSED)
            start_next(q, lane);
        return;
    }
    delivery_list_join(&waiting, &question->waiting);
    read_answer(q, question, http, &parsed, &outcome);
    if (http->outcome == HTTP_TIMEOUT) {
        snprintf(text, sizeof text, "no answer within %" PRId64 " ms", question->timeout_ms);
        outcome.text = text;
    }
    answer(q, &waiting, &outcome);
    answer_fini(&parsed);
    start_next(q, lane);
    destroy_question(question); /* last: it pins the lane */
}

/* Until the last of those that wait has no time any more; 0: none has. */
static int64_t get_timeout_ms(const struct question *question, int64_t now_mono_ms)
{
    int64_t longest_ms = 0;

    for (const struct delivery *d = question->waiting.head; d; d = d->next)
        if (d->asking->until_mono_ms - now_mono_ms > longest_ms)
            longest_ms = d->asking->until_mono_ms - now_mono_ms;
    return longest_ms;
}

static enum err start(struct questions *q, struct question *question)
{
    const struct delivery *d = question->waiting.head;
    struct http_request request = {
        .peer = lanes_peer(question->lane),
        .path = question->ask == ROUTE_ASK_ALIVE ? REQUEST_PATH_BEAT : REQUEST_PATH_IDLE_BEAT,
        .tls = &d->batch->access->tls,
        .may_send = may_ask,
        .done = on_done,
        .arg = question,
    };

    buf_clear(&q->headers);
    request_put_headers(&q->headers, d->group->app_name, d->group->access_token, d->batch->access->token);
    buf_clear(&question->body);
    buf_puts(&question->body, "");
    if (question->ask == ROUTE_ASK_IDLE)
        request_put_job_body(&question->body, d->fire->job_id);
    if (buf_failed(&q->headers) || buf_failed(&question->body))
        return ERR_NOMEM;
    question->timeout_ms = get_timeout_ms(question, clock_mono_ms(q->office->clock));
    if (question->timeout_ms <= 0)
        return ERR_TIMEOUT;
    request.timeout_ms = question->timeout_ms;
    request.headers = q->headers.data;
    request.headers_len = q->headers.len;
    request.body = question->body.data;
    request.body_len = question->body.len;
    return http_client_start(q->http, &request);
}

static void start_next(struct questions *q, struct lane *lane)
{
    struct lane_questions *there = lanes_questions(lane);
    struct question *question;

    while (there->under_way < ASK_AT_ONCE && (question = there->first) != NULL) {
        if (!question->waiting.head) { /* nobody waits for it any more */
            take_from_lane(question);
            destroy_question(question);
            continue;
        }
        /* While the node stops a write is refused, which would begin anew here: the loop takes them all. Too late, or
         * out of memory: the next sweep ends it or tries again. */
        if (is_draining(q) || start(q, question) != ERR_OK)
            return;
        take_from_lane(question);
        question->under_way = true;
        there->under_way++;
    }
}

/* Is it what this one wants to know, and would be sent the same? */
static bool can_share(const struct question *question, const struct delivery *d)
{
    const struct registry_group *other;

    if (!question || d->asking->ask != ROUTE_ASK_ALIVE || !question->waiting.head)
        return false;
    other = question->waiting.head->group;
    return other == d->group || (strcmp(other->app_name, d->group->app_name) == 0 &&
                                 strcmp(other->access_token, d->group->access_token) == 0);
}

enum err questions_put(struct questions *q, struct delivery *d, const char *address, uint64_t hash)
{
    struct lane *lane;
    struct question *question;

    if (lanes_pin(q->lanes, address, hash, &lane) != ERR_OK)
        return ERR_NOMEM;
    question = lanes_questions(lane)->beat;
    if (can_share(question, d)) {
        lanes_unpin(lane, clock_mono_ms(q->office->clock));
    } else {
        question = create_question(q, d->asking->ask, lane);
        if (!question)
            return ERR_NOMEM;
        put_in_lane(question);
    }
    delivery_list_add(&question->waiting, d);
    q->count++;
    start_next(q, lane);
    return ERR_OK;
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

/* Takes what is over out of the question. */
static void take_over(struct question *question, int64_t now_mono_ms, int64_t now_boot_ms, struct delivery_list *over,
                      struct delivery_list *expired)
{
    struct delivery *next;

    for (struct delivery *d = question->waiting.head; d; d = next) {
        bool is_expired = d->batch->deadline_boot_ms < now_boot_ms;

        next = d->next;
        if (!is_expired && d->asking->until_mono_ms > now_mono_ms)
            continue;
        delivery_list_remove(&question->waiting, d);
        delivery_list_add(is_expired ? expired : over, d);
    }
}

void questions_sweep(struct questions *q, int64_t now_mono_ms, int64_t now_boot_ms, struct delivery_list *expired)
{
    struct delivery_list over = {0};
    struct question *next;
    size_t before = expired->count;

    for (struct question *at = q->first; at; at = next) {
        next = at->next;
        take_over(at, now_mono_ms, now_boot_ms, &over, expired);
        if (!at->waiting.head && !at->under_way) {
            take_from_lane(at);
            destroy_question(at);
        }
    }
    for (struct question *at = q->first; at; at = at->next) /* nobody is without a delivery now: nothing is freed */
        if (!at->under_way)
            start_next(q, at->lane);
    q->count -= expired->count - before;
    answer(q, &over, &(struct outcome){false, CODE_FAILED, "no answer in time"});
}

void questions_take_all(struct questions *q, struct delivery_list *out)
{
    struct question *next;

    for (struct question *at = q->first; at; at = next) {
        next = at->next;
        delivery_list_join(out, &at->waiting);
        if (!at->under_way) {
            take_from_lane(at);
            destroy_question(at);
        }
    }
    q->count = 0;
}

size_t questions_count(const struct questions *q)
{
    return q->count;
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

enum err questions_create(struct post_office *office, struct http_client *http, struct lanes *lanes,
                          answered_fn answered, void *arg, struct questions **out, struct errctx *ec)
{
    struct questions *q = calloc(1, sizeof *q);

    if (!q)
        return err_set(ec, ERR_NOMEM, "out of memory for the questions of a dispatch loop");
    *q = (struct questions){.office = office, .http = http, .lanes = lanes, .answered = answered, .arg = arg};
    *out = q;
    return ERR_OK;
}

void questions_destroy(struct questions *q)
{
    if (!q)
        return;
    while (q->first)
        destroy_question(q->first);
    buf_fini(&q->headers);
    free(q);
}

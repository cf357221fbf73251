/* SPDX-License-Identifier: MIT */
/* What is read and written: answers, callbacks, requests, rows of statements. */
#include "micro.h"

#include "shardwheel/executor/answer.h"
#include "shardwheel/executor/request.h"
#include "http/executor/callbacks.h"
#include "store/conn/sqlbuf.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void *no_state(void)
{
    return NULL;
}

static void nothing_to_free(void *state)
{
    (void)state;
}

/* ---- answer: of an executor that took the job -------------------------------------------------------------------- */

static void answer_run(void *state, size_t count)
{
    static const char body[] = "{\"code\":200,\"msg\":\"Success\"}";

    (void)state;
    for (size_t i = 0; i < count; i++) {
        struct answer answer;

        answer_parse(200, body, sizeof(body) - 1, REQUEST_PATH_RUN, &answer);
        if (answer.code != CODE_OK)
            micro_die("the answer was read as %d", answer.code);
        answer_fini(&answer);
    }
}

const struct micro_case answer_case = {"answer",       "parse one answer of an executor", 50000, no_state, answer_run,
                                       nothing_to_free};

/* ---- callbacks: a batch of fifty results ------------------------------------------------------------------------- */

enum { BATCH = 50 };

static void *callbacks_make(void)
{
    struct buf *body = calloc(1, sizeof(*body));

    if (!body)
        micro_die("out of memory");
    for (int i = 0; i < BATCH; i++)
        buf_printf(body, "%s{\"logId\":%d,\"logDateTim\":1767225600000,\"handleCode\":200,\"handleMsg\":null}",
                   i ? "," : "[", 1234567 + i);
    buf_puts(body, "]");
    return body;
}

static void callbacks_run(void *state, size_t count)
{
    const struct buf *body = state;
    struct errctx ec;

    for (size_t i = 0; i < count; i++) {
        struct callback_reader reader;
        struct callback_piece piece;

        piece.count = 0;
        if (callbacks_open(&reader, body->data, body->len, &ec) || callbacks_next(&reader, &piece, &ec) ||
            piece.count != BATCH)
            micro_die("the callbacks were not read");
        callbacks_end_piece(&piece);
    }
}

static void callbacks_unmake(void *state)
{
    buf_fini(state);
    free(state);
}

const struct micro_case callbacks_case = {
    "callbacks", "parse a batch of 50 results", 1000, callbacks_make, callbacks_run, callbacks_unmake};

/* ---- request: headers and body of one start ---------------------------------------------------------------------- */

static void request_run(void *state, size_t count)
{
    struct job_spec job = {.id = 7,
                           .glue_updated_ms = 1541254891000,
                           .handler = "demoJobHandler",
                           .param = "shard=3 day=\"2026-01-01\"",
                           .block = "SERIAL_EXECUTION",
                           .glue_type = "BEAN",
                           .glue_source = ""};
    struct buf b = {0};

    (void)state;
    for (size_t i = 0; i < count; i++) {
        struct fire fire = {.log_id = 1234567 + (int64_t)i,
                            .job_id = 7,
                            .due_s = 1767225600,
                            .original_due_s = 1767225600,
                            .shard_total = 1,
                            .job = &job};

        buf_clear(&b);
        request_put_headers(&b, "demo-executor", "", "default_token");
        request_put_body(&b, &fire);
        if (b.len < 200)
            micro_die("the request is too short");
    }
    buf_fini(&b);
}

const struct micro_case request_case = {
    "request", "write headers and body of one start", 50000, no_state, request_run, nothing_to_free};

/* ---- rows: values of a statement, without a connection ----------------------------------------------------------- */

static void *rows_make(void)
{
    struct zone *zone;
    struct errctx ec;

    if (zone_load("Asia/Shanghai", &zone, &ec))
        micro_die("the zone cannot be loaded");
    return zone;
}

static void rows_run(void *state, size_t count)
{
    static const char message[] = "<b>trigger</b> http://10.0.0.5:9999/ code 200";
    const struct zone *zone = state;
    struct sqlbuf q = {0};
    int64_t ids[100];

    for (size_t i = 0; i < count; i++) {
        if (i % 100 == 0)
            sqlbuf_start(&q, NULL);
        ids[i % 100] = 1234567 + (int64_t)i;
        sql_puts(&q, "(");
        sql_int(&q, ids[i % 100]);
        sql_puts(&q, ", ");
        sql_datetime(&q, zone, 1767225600 + (int64_t)i);
        sql_puts(&q, ", ");
        sql_repair_text(&q.text, message, sizeof(message) - 1, SIZE_MAX, TEXT_AS_IS);
        sql_puts(&q, ")");
        if (i % 100 == 99)
            sql_ids(&q, ids, 100);
    }
    if (sqlbuf_failed(&q) || q.text.len == 0)
        micro_die("no statement was made");
    sqlbuf_fini(&q);
}

static void rows_unmake(void *state)
{
    zone_destroy(state);
}

const struct micro_case rows_case = {"rows", "write the values of one row", 50000, rows_make, rows_run, rows_unmake};

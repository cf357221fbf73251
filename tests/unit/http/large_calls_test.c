/* SPDX-License-Identifier: MIT */
/* Calls of many results: in pieces, with one deadline, and what becomes of them when they do not end in time. */
#include "record/fake_results.h"
#include "registry/fake_store.h"
#include "http/server.h"
#include "shardwheel/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct counters counters;

struct fixture {
    struct store *st;
    struct registry *r;
    struct complete *c;
    struct http *h;
    struct http_room room;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct errctx ec;

    memset(&counters, 0, sizeof(counters));
    f->st = fake_create();
    f->room.max = 100 << 20;
    fake_add_group(f->st, 1, "app", false, "", "");
    *state = f;
    if (registry_create(f->st, clock_system(), &counters, &f->r, &ec) || registry_start(f->r, &ec) ||
        complete_create(&(struct complete_opts){.store = f->st, .is_sending = fake_is_sending}, clock_system(),
                        &counters, &f->c, &ec) ||
        complete_start(f->c, &ec))
        return 1;
    struct http_opts opts = {
        .bind = "127.0.0.1", .threads = 4, .max_body = 1 << 20, .registry = f->r, .complete = f->c};
    return http_create(&opts, clock_system(), &counters, &f->h, &ec) ? 1 : 0;
}

static void set_gate(struct fixture *f, bool closed)
{
    fake_lock(f->st);
    f->st->gate_closed = closed;
    fake_unlock(f->st);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    set_gate(f, false);
    complete_stop(f->c);
    complete_join(f->c);
    registry_stop(f->r);
    registry_join(f->r);
    http_destroy(f->h);
    complete_destroy(f->c);
    registry_destroy(f->r);
    fake_destroy(f->st);
    free(f);
    return 0;
}

static const char *get_header(const void *connection, const char *name)
{
    (void)connection;
    return strcmp(name, "Content-Length") ? NULL : "1";
}

/* The "msg" of the answer. */
static const char *call(struct fixture *f, const struct buf *body)
{
    static char msg[500];
    struct http_request q = {.method = "POST",
                             .path = "/api/callback",
                             .body = body->data,
                             .body_len = body->len,
                             .max_body = SIZE_MAX,
                             .room = &f->room,
                             .get_header = get_header};
    struct http_response r = {.status = 500};

    assert_int_equal(http_admit(f->h, &q, &q.max_body, &r), HTTP_LANE_EXECUTOR);
    http_handle(f->h, &q, &r);
    assert_int_equal(r.status, 200);
    const char *from = strstr(r.body.data, "\"msg\":\"");
    assert_non_null(from);
    from += 7;
    snprintf(msg, sizeof(msg), "%.*s", (int)(strstr(from, "\",\"content\"") - from), from);
    response_fini(&r);
    assert_int_equal(f->room.taken, 0);
    return msg;
}

static void write_results(struct buf *out, int64_t first, int count, const char *message)
{
    for (int i = 0; i < count; i++)
        buf_printf(out, "%s{\"logId\":%ld,\"handleCode\":200,\"handleMsg\":\"%s\"}", out->len ? "," : "[",
                   (long)first + i, message);
}

static void pieces_are_bounded_by_number_and_size(void **state)
{
    struct fixture *f = *state;
    struct buf body = {0};
    char text[30001];

    write_results(&body, 1, 9001, "m");
    buf_putc(&body, ']');
    assert_string_equal(call(f, &body), "Success");
    assert_int_equal(f->st->callbacks_stored, 9001);
    assert_int_equal(f->st->callback_batches, 5);
    assert_int_equal(f->st->callback_max, 2000);

    buf_fini(&body);
    memset(text, 'm', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    f->st->callback_max = 0;
    write_results(&body, 10000, 200, text); /* 6 MB */
    buf_putc(&body, ']');
    assert_string_equal(call(f, &body), "Success");
    assert_int_equal(f->st->callbacks_stored, 9201);
    assert_in_range(f->st->callback_max, 20, 40);
    assert_int_equal(strlen(f->st->logs[10199].message), 30000);
    buf_fini(&body);
}

/* The second piece hangs. What was stored stays, and the repeat begins behind it. */
static void the_repeat_goes_on_where_the_call_ended(void **state)
{
    struct fixture *f = *state;
    struct buf body = {0}, other = {0};

    write_results(&body, 1, 3000, "m");
    buf_puts(&body, ",{\"logId\":\"?\",\"handleCode\":200}");
    write_results(&body, 3001, 7000, "m");
    buf_putc(&body, ']');
    fake_lock(f->st);
    f->st->gate_closes_after = 3;
    fake_unlock(f->st);
    assert_string_equal(call(f, &body), "openapi invoke error: the callbacks could not be stored within 1000 ms");
    assert_int_equal(f->st->callback_batches, 3);
    set_gate(f, false);
    /* A body of the same length with another text is another call. */
    buf_append(&other, body.data, body.len);
    other.data[other.len - 4] = 'M';
    assert_string_equal(call(f, &other),
                        "openapi invoke error: callback 3000: logId must be an integer, but it is \\\"?\\\"");
    assert_int_equal(f->st->callback_batches, 3 + 5 + 1); /* and that of the piece that hung */
    assert_string_equal(call(f, &body),
                        "openapi invoke error: callback 3000: logId must be an integer, but it is \\\"?\\\"");
    assert_int_equal(f->st->callback_batches, 9 + 2);
    assert_int_equal(f->st->callbacks_stored, 10000);
    /* It is through: what comes now is a new call. */
    assert_string_equal(call(f, &body),
                        "openapi invoke error: callback 3000: logId must be an integer, but it is \\\"?\\\"");
    assert_int_equal(f->st->callback_batches, 11 + 5);
    buf_fini(&other);
    buf_fini(&body);
}

/* What the database refuses keeps no other result out, and is refused again when it is repeated. */
static void a_refused_text_keeps_no_piece_out(void **state)
{
    struct fixture *f = *state;
    struct buf body = {0};

    fake_lock(f->st);
    f->st->refuse = "bad";
    fake_unlock(f->st);
    write_results(&body, 1, 1, "bad");
    write_results(&body, 2, 4999, "good");
    buf_putc(&body, ']');
    for (int i = 0; i < 2; i++) {
        assert_non_null(strstr(call(f, &body), "the database refused the callback of log 1: "));
        assert_int_equal(f->st->callbacks_stored, 4999);
        assert_int_equal(f->st->logs[1].code, 0);
    }
    buf_fini(&body);
}

static void what_is_no_json_at_its_end_is_not_stored_at_all(void **state)
{
    struct fixture *f = *state;
    struct buf body = {0};

    write_results(&body, 1, 5000, "m");
    assert_non_null(strstr(call(f, &body), "the body is not JSON: it ends too early"));
    buf_puts(&body, "x");
    assert_non_null(
        strstr(call(f, &body), "the body is not JSON: a comma or the end of an array was expected at byte"));
    assert_int_equal(f->st->callbacks_stored, 0);
    buf_fini(&body);
}

static void large_calls_take_room(void **state)
{
    struct fixture *f = *state;
    struct buf body = {0};

    f->room.max = 1 << 20;
    write_results(&body, 1, 30000, "m");
    buf_putc(&body, ']');
    assert_true(body.len > CALLBACKS_BYTES_MIN);
    assert_string_equal(call(f, &body),
                        "openapi invoke error: this node has no memory for the request at the moment: send it again");
    assert_int_equal(f->st->callbacks_stored, 0);
    assert_int_equal(counters_get(&counters, COUNTER_CALLBACKS_REFUSED), 30000);
    buf_fini(&body);
}

int main(void)
{
    log_set_level(LOG_ERROR);
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(pieces_are_bounded_by_number_and_size),
        T(the_repeat_goes_on_where_the_call_ended),
        T(a_refused_text_keeps_no_piece_out),
        T(what_is_no_json_at_its_end_is_not_stored_at_all),
        T(large_calls_take_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

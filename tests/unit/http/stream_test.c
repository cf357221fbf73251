/* SPDX-License-Identifier: MIT */
/* Answers in pieces, on a pair of sockets: what stands on the wire, and how long a client may take. */
#include "http/stream.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct errctx ec;
static int64_t now_ms; /* moved on by each look at the clock */
static int64_t step_ms;

static int64_t test_mono_ms(const struct clock *clock)
{
    (void)clock;
    return now_ms += step_ms;
}
static const struct clock test_clock = {NULL, test_mono_ms, NULL};

struct fixture {
    struct stream_office office;
    struct stream stream;
    struct http_response r;
    int fds[2]; /* ours, the client's */
    struct wire wire;
    bool ending;
};

static bool must_end(void *arg)
{
    return ((struct fixture *)arg)->ending;
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    now_ms = step_ms = 0;
    f->office = (struct stream_office){.clock = &test_clock, .places = {.max = 1}, .must_end = must_end, .arg = f};
    f->r = (struct http_response){.status = 200, .content_type = "application/json", .guarded = true};
    *state = f;
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, f->fds);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(f->office.places.taken, 0);
    response_fini(&f->r);
    close(f->fds[0]);
    close(f->fds[1]);
    free(f);
    return 0;
}

static void begin(struct fixture *f, bool old, bool head_only)
{
    f->wire = (struct wire){.fd = f->fds[0]};
    stream_init(&f->stream, &f->office, &f->wire, old, head_only, true);
    f->r.stream = &f->stream;
    assert_int_equal(response_begin_stream(&f->r, &ec), ERR_OK);
}

/* What the client has got by now. */
static struct buf receive(struct fixture *f)
{
    struct buf got = {0};
    char piece[10000];
    ssize_t n;

    while ((n = recv(f->fds[1], piece, sizeof piece, MSG_DONTWAIT)) > 0)
        buf_append(&got, piece, (size_t)n);
    buf_append(&got, "", 0);
    return got;
}

/* A part of the head and all of the body. */
static void expect(struct fixture *f, const char *line, const char *body)
{
    struct buf got = receive(f);
    const char *end = strstr(got.data, "\r\n\r\n");

    assert_non_null(end);
    assert_string_equal(end + 4, body);
    if (!strstr(got.data, line))
        fail_msg("%s", got.data);
    buf_fini(&got);
}

static void a_small_answer_is_one_chunk(void **state)
{
    struct fixture *f = *state;
    bool keep = false;

    begin(f, false, false);
    buf_puts(&f->r.body, "0123456789abcdef");
    assert_int_equal(response_push(&f->r, &ec), ERR_OK);
    assert_true(stream_end(&f->stream, &f->r, &keep));
    assert_true(keep);
    expect(f, "\r\nTransfer-Encoding: chunked\r\n", "10\r\n0123456789abcdef\r\n0\r\n\r\n");
}

static void an_empty_answer_has_its_end(void **state)
{
    struct fixture *f = *state;
    bool keep = false;

    begin(f, false, false);
    assert_true(stream_end(&f->stream, &f->r, &keep));
    expect(f, "\r\nConnection: keep-alive\r\n", "0\r\n\r\n");
}

static void an_old_client_gets_it_up_to_the_end(void **state)
{
    struct fixture *f = *state;
    bool keep = true;

    begin(f, true, false);
    buf_puts(&f->r.body, "abc");
    assert_true(stream_end(&f->stream, &f->r, &keep));
    assert_false(keep);
    expect(f, "\r\nConnection: close\r\n", "abc");
}

static void a_head_has_no_body(void **state)
{
    struct fixture *f = *state;
    bool keep = false;

    begin(f, false, true);
    for (int i = 0; i < 20000; i++)
        buf_puts(&f->r.body, "0123456789abcdef");
    assert_int_equal(response_push(&f->r, &ec), ERR_OK);
    assert_int_equal(f->r.body.len, 0);
    assert_true(stream_end(&f->stream, &f->r, &keep));
    assert_true(keep);
    expect(f, "\r\nTransfer-Encoding: chunked\r\n", "");
}

static void a_whole_answer_is_no_stream(void **state)
{
    struct fixture *f = *state;
    bool keep = true;

    f->wire = (struct wire){.fd = f->fds[0]};
    stream_init(&f->stream, &f->office, &f->wire, false, false, true);
    f->r.stream = &f->stream;
    buf_puts(&f->r.body, "abc");
    assert_int_equal(response_push(&f->r, &ec), ERR_OK); /* not begun: collected */
    response_break(&f->r);
    assert_false(stream_end(&f->stream, &f->r, &keep));
    assert_string_equal(f->r.body.data, "abc");
    f->r.stream = NULL; /* as in tests of handlers */
    assert_int_equal(response_begin_stream(&f->r, &ec), ERR_OK);
    assert_int_equal(response_push(&f->r, &ec), ERR_OK);
    assert_string_equal(f->r.body.data, "abc");
}

static void only_so_many_at_a_time(void **state)
{
    struct fixture *f = *state;
    struct stream other;
    struct http_response second = {.status = 200, .content_type = "text/plain", .stream = &other};
    bool keep;

    begin(f, false, false);
    stream_init(&other, &f->office, &f->wire, false, false, true);
    assert_int_equal(response_begin_stream(&second, &ec), ERR_BUSY);
    assert_non_null(strstr(ec.text, "1 large answers"));
    assert_false(stream_end(&other, &second, &keep)); /* so that it can still be a whole one */
    assert_true(stream_end(&f->stream, &f->r, &keep));
    assert_int_equal(response_begin_stream(&second, &ec), ERR_OK);
    assert_true(stream_end(&other, &second, &keep));
}

/* Pushes until it fails; how much went out. */
static size_t push_all(struct fixture *f)
{
    size_t pushed = 0;

    for (int i = 0; i < 1000; i++) {
        for (int j = 0; j < 4096; j++)
            buf_puts(&f->r.body, "0123456789abcdef");
        pushed += f->r.body.len;
        assert_in_range(f->r.body.len, 0, 2 * STREAM_PIECE); /* memory is bounded */
        if (response_push(&f->r, &ec)) {
            assert_int_equal(response_push(&f->r, &ec), ERR_LOST); /* and stays so */
            return pushed;
        }
    }
    fail_msg("nobody stopped it");
    return 0;
}

static void expect_cut(struct fixture *f)
{
    struct buf got;
    bool keep = true;
    char byte;

    assert_true(stream_end(&f->stream, &f->r, &keep));
    assert_false(keep);
    got = receive(f);
    assert_true(got.len < 8 || memcmp(got.data + got.len - 5, "0\r\n\r\n", 5));
    assert_int_equal(recv(f->fds[1], &byte, 1, 0), 0); /* the connection ended */
    buf_fini(&got);
}

static void who_takes_nothing_is_cut_off(void **state)
{
    struct fixture *f = *state;

    begin(f, false, false);
    step_ms = 4000;
    push_all(f);
    assert_in_range(now_ms, 10000, 40000);
    expect_cut(f);
}

static void who_goes_is_not_waited_for(void **state)
{
    struct fixture *f = *state;

    begin(f, false, false);
    shutdown(f->fds[1], SHUT_RDWR);
    push_all(f);
    assert_int_equal(now_ms, 0);
    f->stream.state = STREAM_BROKEN;
    expect_cut(f);
}

static void an_ending_server_waits_for_nobody(void **state)
{
    struct fixture *f = *state;

    begin(f, false, false);
    f->ending = true;
    assert_int_equal(push_all(f), STREAM_PIECE); /* however much the client takes */
    expect_cut(f);
}

static void a_fault_behind_the_head_cuts_the_answer(void **state)
{
    struct fixture *f = *state;

    begin(f, false, false);
    buf_puts(&f->r.body, "{\"items\":[");
    response_break(&f->r);
    assert_int_equal(response_push(&f->r, &ec), ERR_LOST);
    expect_cut(f);
}

/* Through the system's gzip. */
static void pieces_are_compressed_as_one(void **state)
{
    struct fixture *f = *state;
    char name[] = "/tmp/stream_test.XXXXXX", command[100], line[100];
    bool keep = false;
    int lines = 0;

    f->r.may_gzip = true;
    begin(f, false, false);
    for (int i = 0; i < 30000; i++) {
        buf_printf(&f->r.body, "line %d of many that look alike\n", i);
        assert_int_equal(response_push(&f->r, &ec), ERR_OK);
    }
    assert_true(stream_end(&f->stream, &f->r, &keep));
    assert_true(keep);
    struct buf got = receive(f);
    assert_non_null(strstr(got.data, "\r\nContent-Encoding: gzip\r\nVary: Accept-Encoding\r\n"));
    int fd = mkstemp(name);
    for (char *at = strstr(got.data, "\r\n\r\n") + 4, *data; *at != '0'; at = data + strtoul(at, NULL, 16) + 2) {
        data = strstr(at, "\r\n") + 2;
        size_t size = strtoul(at, NULL, 16);
        assert_int_equal(write(fd, data, size), (ssize_t)size);
    }
    close(fd);
    buf_fini(&got);
    snprintf(command, sizeof command, "gzip -dc <%s", name);
    FILE *text = popen(command, "r");
    while (fgets(line, sizeof line, text))
        assert_int_equal(atoi(line + 5), lines++);
    assert_int_equal(pclose(text), 0);
    unlink(name);
    assert_int_equal(lines, 30000);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(a_small_answer_is_one_chunk),         T(an_empty_answer_has_its_end),
        T(an_old_client_gets_it_up_to_the_end), T(a_head_has_no_body),
        T(a_whole_answer_is_no_stream),         T(only_so_many_at_a_time),
        T(who_takes_nothing_is_cut_off),        T(who_goes_is_not_waited_for),
        T(an_ending_server_waits_for_nobody),   T(a_fault_behind_the_head_cuts_the_answer),
        T(pieces_are_compressed_as_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

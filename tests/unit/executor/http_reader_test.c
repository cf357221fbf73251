/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "executor/http_reader.h"

struct row {
    const char *bytes;
    enum http_reading got; /* with the connection ended behind the bytes */
    int status;
    const char *body;
    bool keeps;
    size_t left; /* bytes that are none of the answer */
};

#define OK "HTTP/1.1 200 OK\r\n"
#define CHUNKED OK "Transfer-Encoding: chunked\r\n\r\n"

static const struct row rows[] = {
    {OK "Content-Length: 5\r\n\r\nhello", HTTP_READ_WHOLE, 200, "hello", true, 0},
    {OK "content-length:\t 5 \r\nX: y\r\n\r\nhello", HTTP_READ_WHOLE, 200, "hello", true, 0},
    {OK "Content-Length: 0\r\n\r\n", HTTP_READ_WHOLE, 200, "", true, 0},
    {"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", HTTP_READ_WHOLE, 200, "", true, 0},
    {"HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", HTTP_READ_WHOLE, 200, "", true, 0},
    {"HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", HTTP_READ_WHOLE, 200, "hi", true, 0},
    {OK "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", HTTP_READ_WHOLE, 200, "hello", true, 0},
    {"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno", HTTP_READ_WHOLE, 404, "no", true, 0},
    /* ends */
    {OK "Connection: close\r\nContent-Length: 2\r\n\r\nhi", HTTP_READ_WHOLE, 200, "hi", false, 0},
    {OK "Connection: x, Close ,y\r\nContent-Length: 2\r\n\r\nhi", HTTP_READ_WHOLE, 200, "hi", false, 0},
    {OK "Connection: keep-alive\r\nContent-Length: 2\r\n\r\nhi", HTTP_READ_WHOLE, 200, "hi", true, 0},
    {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", HTTP_READ_WHOLE, 200, "hi", false, 0},
    {OK "\r\nuntil the end", HTTP_READ_WHOLE, 200, "until the end", false, 0},
    {OK "\r\n", HTTP_READ_WHOLE, 200, "", false, 0},
    {OK "Content-Length: 2\r\n\r\nhi!!", HTTP_READ_WHOLE, 200, "hi", true, 2},
    {"HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\nrest", HTTP_READ_WHOLE, 204, "", true, 4},
    {"HTTP/1.1 304 Not Modified\r\n\r\n", HTTP_READ_WHOLE, 304, "", true, 0},
    {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nContent-Length: 3\r\nConnection: close\r\n\r\n" OK
     "Content-Length: 2\r\n\r\nhi",
     HTTP_READ_WHOLE, 200, "hi", true, 0},
    /* chunks */
    {CHUNKED "5\r\nhello\r\n1\r\n \r\n5;a=\"b\"\r\nworld\r\n0\r\n\r\n", HTTP_READ_WHOLE, 200, "hello world", true, 0},
    {CHUNKED "00A\r\n0123456789\r\n000\r\nTrailer: x\r\nOther:\r\n\r\nmore", HTTP_READ_WHOLE, 200, "0123456789", true,
     4},
    {CHUNKED "1 \r\na\r\n0\r\n\r\n", HTTP_READ_WHOLE, 200, "a", true, 0},
    {CHUNKED "0\r\n\r\n", HTTP_READ_WHOLE, 200, "", true, 0},
    {CHUNKED "b\r\n{\"code\":200\r\n1\r\n}\r\n0\r\n\r\n", HTTP_READ_WHOLE, 200, "{\"code\":200}", true, 0},
    /* cut off */
    {"", HTTP_READ_CUT, 0, NULL, false, 0},
    {"HTTP/1.", HTTP_READ_CUT, 0, NULL, false, 0},
    {OK, HTTP_READ_CUT, 0, NULL, false, 0},
    {OK "Content-Length: 5\r\n\r\nhell", HTTP_READ_CUT, 0, NULL, false, 0},
    {"HTTP/1.1 100 Continue\r\n\r\n", HTTP_READ_CUT, 0, NULL, false, 0},
    {CHUNKED "5\r\nhello\r\n", HTTP_READ_CUT, 0, NULL, false, 0},
    {CHUNKED "5\r\nhello\r\n0\r\n", HTTP_READ_CUT, 0, NULL, false, 0},
    {CHUNKED "0\r\nTrailer: x\r\n", HTTP_READ_CUT, 0, NULL, false, 0},
    /* no HTTP */
    {"hello", HTTP_READ_BAD, 0, NULL, false, 0},
    {"\r\n" OK "\r\n", HTTP_READ_BAD, 0, NULL, false, 0},
    {"HTTP/2 200 OK\r\n\r\n", HTTP_READ_BAD, 0, NULL, false, 0},
    {"HTTP/1.2 200 OK\r\n\r\n", HTTP_READ_BAD, 0, NULL, false, 0},
    {"HTTP/1.1 20 OK\r\n\r\n", HTTP_READ_BAD, 0, NULL, false, 0},
    {"HTTP/1.1 2000 OK\r\n\r\n", HTTP_READ_BAD, 0, NULL, false, 0},
    {"HTTP/1.1 099 OK\r\n\r\n", HTTP_READ_BAD, 0, NULL, false, 0},
    {"HTTP/1.1  200 OK\r\n\r\n", HTTP_READ_BAD, 0, NULL, false, 0},
    {"HTTP/1.1 200 O\x01K\r\n\r\n", HTTP_READ_BAD, 0, NULL, false, 0},
    {"HTTP/1.1 101 Switching\r\n\r\n", HTTP_READ_BAD, 0, NULL, false, 0},
    {OK "no colon\r\n\r\n", HTTP_READ_BAD, 0, NULL, false, 0},
    {OK ": x\r\n\r\n", HTTP_READ_BAD, 0, NULL, false, 0},
    {OK "Name : x\r\n\r\n", HTTP_READ_BAD, 0, NULL, false, 0},
    {OK "Na(me: x\r\n\r\n", HTTP_READ_BAD, 0, NULL, false, 0},
    {OK "A: b\r\n folded\r\n\r\n", HTTP_READ_BAD, 0, NULL, false, 0},
    {OK "A: b\rC: d\r\n\r\n", HTTP_READ_BAD, 0, NULL, false, 0},
    {OK "A: b\x7f\r\n\r\n", HTTP_READ_BAD, 0, NULL, false, 0},
    {OK "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", HTTP_READ_BAD, 0, NULL, false, 0},
    {OK "Content-Length: 5, 5\r\n\r\nhello", HTTP_READ_BAD, 0, NULL, false, 0},
    {OK "Content-Length: -5\r\n\r\nhello", HTTP_READ_BAD, 0, NULL, false, 0},
    {OK "Content-Length: +5\r\n\r\nhello", HTTP_READ_BAD, 0, NULL, false, 0},
    {OK "Content-Length: 5x\r\n\r\nhello", HTTP_READ_BAD, 0, NULL, false, 0},
    {OK "Content-Length:\r\n\r\n", HTTP_READ_BAD, 0, NULL, false, 0},
    {OK "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nhello", HTTP_READ_BAD, 0, NULL, false, 0},
    {OK "Transfer-Encoding: gzip, chunked\r\n\r\n", HTTP_READ_BAD, 0, NULL, false, 0},
    {OK "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", HTTP_READ_BAD, 0, NULL, false, 0},
    {CHUNKED "\r\n", HTTP_READ_BAD, 0, NULL, false, 0},
    {CHUNKED "g\r\n", HTTP_READ_BAD, 0, NULL, false, 0},
    {CHUNKED "0x1\r\na\r\n0\r\n\r\n", HTTP_READ_BAD, 0, NULL, false, 0},
    {CHUNKED "-1\r\n", HTTP_READ_BAD, 0, NULL, false, 0},
    {CHUNKED "1 x\r\na\r\n0\r\n\r\n", HTTP_READ_BAD, 0, NULL, false, 0},
    {CHUNKED "5\r\nhelloo\r\n0\r\n\r\n", HTTP_READ_BAD, 0, NULL, false, 0},
    {CHUNKED "0\r\nno trailer\r\n\r\n", HTTP_READ_BAD, 0, NULL, false, 0},
    /* too long */
    {OK "Content-Length: 1048577\r\n\r\n", HTTP_READ_TOO_LONG, 0, NULL, false, 0},
    {OK "Content-Length: 99999999999999999999999999\r\n\r\n", HTTP_READ_TOO_LONG, 0, NULL, false, 0},
    {OK "Content-Length: 18446744073709551618\r\n\r\nhi", HTTP_READ_TOO_LONG, 0, NULL, false, 0}, /* 2^64 + 2 */
    {CHUNKED "10000000000000001\r\na\r\n0\r\n\r\n", HTTP_READ_TOO_LONG, 0, NULL, false, 0},       /* 2^64 + 1 */
    {CHUNKED "100001\r\n", HTTP_READ_TOO_LONG, 0, NULL, false, 0},
    {CHUNKED "ffffffffffffffffffffff\r\n", HTTP_READ_TOO_LONG, 0, NULL, false, 0},
};

/* Reads the bytes in pieces of `first`, then of `step` bytes, into r and *buffer (to free); what http_reader says at
 * last. */
static enum http_reading read_pieces(const char *bytes, size_t size, size_t first, size_t step, struct http_reader *r,
                                     char **buffer, size_t *left)
{
    enum http_reading got = HTTP_READ_MORE;
    size_t fed = 0, len = 0, piece = first;
    char *in = malloc(size + 1);

    *r = (struct http_reader){0};
    while (got == HTTP_READ_MORE && fed < size) {
        size_t n = piece < size - fed ? piece : size - fed;

        memcpy(in + len, bytes + fed, n);
        fed += n;
        len += n;
        got = http_reader_step(r, in, &len);
        piece = step;
    }
    if (got == HTTP_READ_MORE)
        got = http_reader_end(r);
    *left = size - fed + len - r->at;
    *buffer = in;
    return got;
}

static void assert_row(const struct row *row, size_t first, size_t step)
{
    size_t left;
    struct http_reader r;
    char *in;
    enum http_reading got = read_pieces(row->bytes, strlen(row->bytes), first, step, &r, &in, &left);

    if (got != row->got)
        print_error("%s\nin pieces of %zu, %zu\n", row->bytes, first, step);
    assert_int_equal(got, row->got);
    if (got == HTTP_READ_WHOLE) {
        assert_int_equal(r.status, row->status);
        assert_int_equal(r.body_len, strlen(row->body));
        assert_memory_equal(in + r.body_at, row->body, r.body_len);
        assert_int_equal(http_reader_get_idle_s(&r) > 0, row->keeps);
        assert_int_equal(left, row->left);
    } else {
        assert_int_equal(http_reader_get_idle_s(&r), 0);
    }
    free(in);
}

static void answers_read_as_the_table_says_however_they_are_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t len = strlen(rows[i].bytes);

        for (size_t cut = 1; cut <= len + 1; cut++)
            assert_row(&rows[i], cut, len + 1);
        for (size_t step = 1; step < 8; step++)
            assert_row(&rows[i], step, step);
    }
}

static enum http_reading read_buf(struct buf *b, size_t step, size_t *body_len)
{
    struct http_reader r;
    size_t left;
    char *in;
    enum http_reading got = read_pieces(b->data, b->len, step, step, &r, &in, &left);

    *body_len = r.body_len;
    free(in);
    return got;
}

static void heads_and_bodies_are_bounded(void **state)
{
    enum { CHUNK = 1000 };
    static const size_t steps[] = {997, SIZE_MAX / 2};
    char chunk[CHUNK];
    size_t body_len;

    (void)state;
    memset(chunk, 'x', sizeof chunk);
    for (size_t s = 0; s < ARRAY_LEN(steps); s++) {
        struct buf b = {0};

        /* a head of many fields, and one line without an end */
        buf_puts(&b, OK);
        while (b.len < HTTP_HEAD_MAX - 100)
            buf_puts(&b, "Field: of some length\r\n");
        buf_puts(&b, "\r\n");
        assert_int_equal(read_buf(&b, steps[s], &body_len), HTTP_READ_WHOLE);
        b.len -= 2;
        while (b.len <= HTTP_HEAD_MAX)
            buf_puts(&b, "Field: of some length\r\n");
        assert_int_equal(read_buf(&b, steps[s], &body_len), HTTP_READ_BAD);
        buf_clear(&b);
        buf_puts(&b, OK "Field: ");
        while (b.len <= HTTP_HEAD_MAX)
            buf_append(&b, chunk, CHUNK);
        assert_int_equal(read_buf(&b, steps[s], &body_len), HTTP_READ_BAD);
        /* 1xx without end */
        buf_clear(&b);
        while (b.len <= HTTP_HEAD_MAX)
            buf_puts(&b, "HTTP/1.1 100 Continue\r\n\r\n");
        assert_int_equal(read_buf(&b, steps[s], &body_len), HTTP_READ_BAD);
        /* trailers without end */
        buf_clear(&b);
        buf_puts(&b, CHUNKED "0\r\n");
        while (b.len <= HTTP_HEAD_MAX)
            buf_puts(&b, "Field: of some length\r\n");
        assert_int_equal(read_buf(&b, steps[s], &body_len), HTTP_READ_BAD);
        /* an extension without end */
        buf_clear(&b);
        buf_puts(&b, CHUNKED "1;");
        buf_append(&b, chunk, CHUNK);
        buf_append(&b, chunk, CHUNK);
        assert_int_equal(read_buf(&b, steps[s], &body_len), HTTP_READ_BAD);
        /* a body that ends with the connection: just fits, and one byte more */
        buf_clear(&b);
        buf_puts(&b, OK "\r\n");
        for (size_t i = 0; i < HTTP_BODY_MAX; i++)
            buf_putc(&b, 'x');
        assert_int_equal(read_buf(&b, steps[s], &body_len), HTTP_READ_WHOLE);
        assert_int_equal(body_len, HTTP_BODY_MAX);
        buf_putc(&b, 'x');
        assert_int_equal(read_buf(&b, steps[s], &body_len), HTTP_READ_TOO_LONG);
        /* the same in chunks */
        buf_clear(&b);
        buf_puts(&b, CHUNKED);
        for (size_t i = 0; i < HTTP_BODY_MAX / CHUNK + 1; i++) {
            buf_puts(&b, "3e8\r\n");
            buf_append(&b, chunk, CHUNK);
            buf_puts(&b, "\r\n");
        }
        assert_int_equal(read_buf(&b, steps[s], &body_len), HTTP_READ_TOO_LONG);
        buf_fini(&b);
    }
}

static void of_a_body_that_is_too_long_the_start_is_taken_where_it_is_wanted(void **state)
{
    static const char *const heads[] = {OK "Content-Length: 99999999999999999999\r\n\r\n", OK "\r\n",
                                        CHUNKED "ffffffff\r\n", CHUNKED "1\r\ny\r\n100000\r\n"};
    size_t size = 2 * HTTP_BODY_MAX;
    char *in = malloc(size);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
        struct http_reader r = {.takes_start = true};
        size_t len = strlen(heads[i]);

        memcpy(in, heads[i], len);
        assert_int_equal(http_reader_step(&r, in, &len), HTTP_READ_MORE);
        memset(in + len, 'x', size - len);
        assert_int_equal(http_reader_step(&r, in, &size), HTTP_READ_TOO_LONG);
        assert_true(r.too_long);
        assert_int_equal(r.status, 200);
        assert_int_equal(r.body_len, HTTP_BODY_MAX);
        assert_int_equal(in[r.body_at + HTTP_BODY_MAX - 1], 'x');
        assert_int_equal(in[r.body_at], i == 3 ? 'y' : 'x');
        assert_int_equal(http_reader_get_idle_s(&r), 0);
    }
    free(in);
}

/* A million chunks of one byte: heads of chunks must neither count as a head nor stay in the buffer. */
static void small_chunks_take_no_more_room_than_their_bytes(void **state)
{
    enum { CHUNKS = 200000, PIECE = 6000 };
    struct http_reader r = {0};
    char *in = malloc(1024 + CHUNKS + PIECE);
    size_t len = strlen(CHUNKED), most = 0;
    enum http_reading got;

    (void)state;
    memcpy(in, CHUNKED, len);
    for (int i = 0; i < CHUNKS / 1000; i++) {
        for (int k = 0; k < 1000; k++, len += 6)
            memcpy(in + len, "1\r\nx\r\n", 6);
        got = http_reader_step(&r, in, &len);
        assert_int_equal(got, HTTP_READ_MORE);
        most = len > most ? len : most;
    }
    assert_int_equal(r.body_len, CHUNKS);
    assert_in_range(most, CHUNKS, CHUNKS + 1024);
    memcpy(in + len, "0\r\n\r\n", 5);
    len += 5;
    assert_int_equal(http_reader_step(&r, in, &len), HTTP_READ_WHOLE);
    assert_int_equal(r.body_len, CHUNKS);
    free(in);
}

static void a_peer_that_closes_early_is_believed(void **state)
{
    static const struct {
        const char *fields;
        int idle_s;
    } cases[] = {
        {"", 60},
        {"Keep-Alive: timeout=5\r\n", 4},
        {"keep-alive:timeout=5, max=100\r\n", 4},
        {"Keep-Alive: max=7 , Timeout=30\r\n", 29},
        {"Keep-Alive: timeout=61\r\n", 60},
        {"Keep-Alive: timeout=60\r\n", 59},
        {"Keep-Alive: timeout=99999999999999999999\r\n", 60},
        {"Keep-Alive: timeout=1\r\n", 0},
        {"Keep-Alive: timeout=0\r\n", 0},
        {"Keep-Alive: timeout=x\r\n", 0},
        {"Keep-Alive: timeout=5, timeout=3\r\n", 2},
        {"Keep-Alive: timeout\r\n", 60},
        {"Keep-Alive: ,,\r\n", 60},
        {"Keep-Alive:\r\n", 60},
        {"Keep-Alive: timeout=5\r\nConnection: close\r\n", 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct http_reader r = {0};
        char bytes[200];
        size_t len;

        snprintf(bytes, sizeof bytes, OK "%sContent-Length: 2\r\n\r\nhi", cases[i].fields);
        len = strlen(bytes);
        assert_int_equal(http_reader_step(&r, bytes, &len), HTTP_READ_WHOLE);
        if (http_reader_get_idle_s(&r) != cases[i].idle_s)
            print_error("%s", cases[i].fields);
        assert_int_equal(http_reader_get_idle_s(&r), cases[i].idle_s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_read_as_the_table_says_however_they_are_cut),
        cmocka_unit_test(heads_and_bodies_are_bounded),
        cmocka_unit_test(of_a_body_that_is_too_long_the_start_is_taken_where_it_is_wanted),
        cmocka_unit_test(small_chunks_take_no_more_room_than_their_bytes),
        cmocka_unit_test(a_peer_that_closes_early_is_believed),
    };
    return cmocka_run_group_tests_name("dispatch.http_reader", tests, NULL, NULL);
}

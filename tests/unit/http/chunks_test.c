/* SPDX-License-Identifier: MIT */
#include "http/chunks.h"

#include "test.h"

#include <string.h>

static struct buf body;
static size_t taken;

/* In pieces of that size. */
static enum chunks_state read_chunks(const char *bytes, size_t len, size_t piece)
{
    struct chunks c = {0};
    enum chunks_state state = CHUNKS_MORE;

    buf_clear(&body);
    taken = 0;
    for (size_t at = 0; at < len && state == CHUNKS_MORE;) {
        size_t n = len - at < piece ? len - at : piece;
        for (size_t in = 0; in < n && state == CHUNKS_MORE;) {
            size_t used = 0, data_len = 0;
            const char *data = NULL;
            state = chunks_step(&c, bytes + at + in, n - in, &used, &data, &data_len);
            if (data_len)
                buf_append(&body, data, data_len);
            in += used;
            taken = at + in;
        }
        at += n;
    }
    return state;
}

static void chunks_are_put_together(void **state)
{
    static const char bytes[] =
        "5\r\nhello\r\n1A;x=\"y\"\r\n, this is a longer chunk. \r\n00000\r\nX: trailer\r\n\r\nGET";
    (void)state;
    for (size_t piece = 1; piece < sizeof bytes; piece++) {
        assert_int_equal(read_chunks(bytes, sizeof bytes - 1, piece), CHUNKS_WHOLE);
        assert_string_equal(body.data, "hello, this is a longer chunk. ");
        assert_int_equal(taken, sizeof bytes - 4);
    }
    for (size_t len = 0; len < sizeof bytes - 4; len++)
        assert_int_equal(read_chunks(bytes, len, len + 1), CHUNKS_MORE);
    assert_int_equal(read_chunks("0\r\n\r\n", 5, 5), CHUNKS_WHOLE);
    assert_int_equal(body.len, 0);
}

static void other_sizes_are_refused(void **state)
{
    static const char *const bad[] = {
        "zz\r\n",
        "+2\r\n[]\r\n",
        "0x2\r\n[]\r\n",
        "-1\r\n",
        " 2\r\n[]\r\n",
        "2 \r\n[]\r\n",
        "2\n[]\r\n",
        "\r\n",
        ";x\r\n",
        "2\r[]",
        "2\r\n[]x\r\n",
        "2\r\n[]\n0\r\n\r\n",
        "2\r\n[]\r0\r",
        "0\r\n\n",
        "0\r\nA: b\n",
        "0\r\nA\x01\r\n",
        "2;a\x7f\r\n",
        "2,2\r\n[]\r\n",
        "1000000000000000\r\n",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (read_chunks(bad[i], strlen(bad[i]), 100) != CHUNKS_BAD)
            fail_msg("taken: %s", bad[i]);
    }
}

/* What is read over has a bound too. */
static void endless_lines_are_refused(void **state)
{
    struct buf bytes = {0};
    (void)state;
    buf_puts(&bytes, "1;");
    for (int i = 0; i < 2000; i++)
        buf_putc(&bytes, 'x');
    assert_int_equal(read_chunks(bytes.data, bytes.len, 100), CHUNKS_BAD);
    buf_clear(&bytes);
    buf_puts(&bytes, "0\r\n");
    for (int i = 0; i < 2000; i++)
        buf_puts(&bytes, "Name: value\r\n");
    assert_int_equal(read_chunks(bytes.data, bytes.len, 100), CHUNKS_BAD);
    buf_fini(&bytes);
    buf_fini(&body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_are_put_together),
        cmocka_unit_test(other_sizes_are_refused),
        cmocka_unit_test(endless_lines_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

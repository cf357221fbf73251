/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target for UTF-8, against iconv(3) of the C library: what is valid, how long the valid start is, where a text
 * may be cut, and that what we write of any bytes (as text, HTML, JSON) is valid. No difference is known.
 * Run: utf8_peer_fuzz -max_len=200
 */
#include "shardwheel/base.h"
#include "shardwheel/text.h"

#include <iconv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Bytes of the start that the C library takes. */
static size_t find_valid(const char *text, size_t len)
{
    static iconv_t converter; /* opened once: the process of a fuzzer lives long */
    char *out = malloc(4 * len + 4), *to = out, *from = (char *)text; /* which iconv does not change */
    size_t left = len, room = 4 * len + 4;

    if (!converter)
        converter = iconv_open("UTF-32LE", "UTF-8");
    if (converter == (iconv_t)-1)
        abort();
    iconv(converter, NULL, NULL, NULL, NULL);
    iconv(converter, &from, &left, &to, &room);
    free(out);
    return len - left;
}

static void require(bool holds, const char *why, const char *text, size_t len)
{
    if (holds)
        return;
    fprintf(stderr, "%s:", why);
    for (size_t i = 0; i < len; i++)
        fprintf(stderr, " %02x", (unsigned char)text[i]);
    fprintf(stderr, "\n");
    abort();
}

static void check_cut(const char *text, size_t len, size_t max)
{
    size_t cut = utf8_cut(text, len, max);

    require(cut <= max && cut <= len, "cut too late", text, len);
    if (max >= 4)
        require(find_valid(text, cut) == cut && (cut == len || cut + 4 > max), "cut within a character", text, len);
}

static void check_written(const char *text, size_t len, size_t max)
{
    struct buf outs[3] = {{0}};
    char *ended = strndup(text, len);

    text_put_utf8(&outs[0], text, len, max);
    text_put_html(&outs[1], text, len, max);
    buf_put_json(&outs[2], ended);
    for (size_t i = 0; i < ARRAY_LEN(outs); i++) {
        require(outs[i].len == 0 || find_valid(outs[i].data, outs[i].len) == outs[i].len, "we write no UTF-8", text,
                len);
        require(i == 2 || outs[i].len <= max + 3, "we write too much", text, len);
        buf_fini(&outs[i]);
    }
    free(ended);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    size_t len = size - 1, at = 0, valid;
    char *text = malloc(len ? len : 1); /* of the exact size, so that an overrun is seen */

    memcpy(text, data + 1, len);
    valid = find_valid(text, len);
    for (size_t n; at < len && (n = utf8_measure(text + at, len - at)) > 0; at += n)
        ;
    require(at == valid, "the valid start differs", text, len);
    require(utf8_is_valid(text, len) == (valid == len), "validity differs", text, len);
    check_cut(text, valid, data[0]);
    check_written(text, len, data[0]);
    free(text);
    return 0;
}

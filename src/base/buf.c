/* SPDX-License-Identifier: MIT */
#include "shardwheel/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_fini(struct buf *b)
{
    free(b->data);
    *b = (struct buf){0};
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    b->failed = false;
    if (b->data)
        b->data[0] = '\0';
}

bool buf_failed(const struct buf *b)
{
    return b->failed;
}

static bool reserve(struct buf *b, size_t more)
{
    size_t cap = b->cap ? b->cap : 256;
    char *data;

    if (b->failed)
        return false;
    if (more < b->cap && b->len < b->cap - more)
        return true;
    if (more > SIZE_MAX / 4 || b->len > SIZE_MAX / 4) {
        b->failed = true;
        return false;
    }
    while (cap <= b->len + more)
        cap *= 2;
    data = realloc(b->data, cap);
    if (!data) {
        b->failed = true;
        return false;
    }
    b->data = data;
    b->cap = cap;
    return true;
}

void buf_append(struct buf *b, const void *data, size_t len)
{
    if (!reserve(b, len))
        return;
    if (len > 0)
        memcpy(b->data + b->len, data, len);
    b->len += len;
    b->data[b->len] = '\0';
}

void buf_puts(struct buf *b, const char *text)
{
    buf_append(b, text, strlen(text));
}

void buf_putc(struct buf *b, char c)
{
    buf_append(b, &c, 1);
}

void buf_put_int(struct buf *b, int64_t value)
{
    /* Two digits a division: rows of statements are mostly numbers. */
    static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                                "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                                "8081828384858687888990919293949596979899";
    char digits[20];
    uint64_t v = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    size_t n = sizeof digits;

    for (; v >= 10; v /= 100)
        memcpy(digits + (n -= 2), pairs + v % 100 * 2, 2);
    if (v > 0 || n == sizeof digits)
        digits[--n] = (char)('0' + v);
    if (value < 0)
        buf_putc(b, '-');
    buf_append(b, digits + n, sizeof digits - n);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap;
    int len;

    va_start(ap, fmt);
    len = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (len < 0 || !reserve(b, (size_t)len))
        return;
    va_start(ap, fmt);
    vsnprintf(b->data + b->len, b->cap - b->len, fmt, ap);
    va_end(ap);
    b->len += (size_t)len;
}

/* Characters from p on that stand for themselves in JSON, of ASCII: nearly all there are. */
static size_t plain_len(const unsigned char *p)
{
    size_t len = 0;

    while (p[len] >= 0x20 && p[len] < 0x80 && p[len] != '"' && p[len] != '\\')
        len++;
    return len;
}

void buf_put_json(struct buf *b, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;

    if (!text) {
        buf_puts(b, "null");
        return;
    }
    buf_putc(b, '"');
    while (*p) {
        size_t len = plain_len(p);

        if (len > 0) {
            buf_append(b, p, len);
            p += len;
            continue;
        }
        len = utf8_measure((const char *)p, strnlen((const char *)p, 4));
        if (len == 0) {
            buf_puts(b, "\\ufffd");
            p++;
            continue;
        }
        if (*p == '"' || *p == '\\') {
            buf_putc(b, '\\');
            buf_putc(b, (char)*p);
        } else if (*p < 0x20) {
            buf_printf(b, "\\u%04x", *p);
        } else {
            buf_append(b, p, len);
        }
        p += len;
    }
    buf_putc(b, '"');
}

char *buf_take(struct buf *b)
{
    char *data;

    if (b->failed) {
        buf_fini(b);
        return NULL;
    }
    if (!b->data)
        buf_append(b, "", 0);
    data = b->failed ? NULL : b->data;
    if (!data)
        free(b->data);
    *b = (struct buf){0};
    return data;
}

void buf_put_base64(struct buf *b, const void *data, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *bytes = data;

    for (size_t i = 0; i < len; i += 3) {
        uint32_t v = (uint32_t)bytes[i] << 16;
        v |= i + 1 < len ? (uint32_t)bytes[i + 1] << 8 : 0;
        v |= i + 2 < len ? bytes[i + 2] : 0;
        buf_putc(b, digits[v >> 18]);
        buf_putc(b, digits[v >> 12 & 63]);
        buf_putc(b, i + 1 < len ? digits[v >> 6 & 63] : '=');
        buf_putc(b, i + 2 < len ? digits[v & 63] : '=');
    }
}

void buf_put_base64url(struct buf *b, const void *data, size_t len)
{
    size_t start = b->len;

    buf_put_base64(b, data, len);
    if (buf_failed(b))
        return;
    while (b->len > start && b->data[b->len - 1] == '=')
        b->data[--b->len] = '\0';
    for (size_t i = start; i < b->len; i++)
        b->data[i] = b->data[i] == '+' ? '-' : b->data[i] == '/' ? '_' : b->data[i];
}

void hex_write(const void *data, size_t len, char *out)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *bytes = data;

    for (size_t i = 0; i < len; i++) {
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    *out = '\0';
}

void buf_put_hex(struct buf *b, const void *data, size_t len)
{
    const char *at = data;
    char part[2 * 256 + 1];

    for (size_t n; len > 0; at += n, len -= n) {
        n = len < sizeof part / 2 ? len : sizeof part / 2;
        hex_write(at, n, part);
        buf_append(b, part, 2 * n);
    }
}

void buf_put_url(struct buf *b, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        bool plain =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("-._~", c));

        if (plain)
            buf_putc(b, (char)c);
        else
            buf_printf(b, "%%%02X", c);
    }
}

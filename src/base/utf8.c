/* SPDX-License-Identifier: MIT */
#include "shardwheel/text.h"

size_t utf8_measure(const char *text, size_t left)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)text;
    size_t len = (p[0] & 0xe0) == 0xc0 ? 2 : (p[0] & 0xf0) == 0xe0 ? 3 : (p[0] & 0xf8) == 0xf0 ? 4 : 0;
    uint32_t code;

    if (p[0] < 0x80)
        return 1;
    if (!len || len > left)
        return 0;
    code = p[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (p[i] & 0x3fu);
    }
    return code < least[len] || (code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff ? 0 : len;
}

bool utf8_is_valid(const char *text, size_t len)
{
    for (size_t at = 0, n; at < len; at += n) {
        n = utf8_measure(text + at, len - at);
        if (!n)
            return false;
    }
    return true;
}

void utf8_put(struct buf *out, uint32_t code)
{
    if (code < 0x80) {
        buf_putc(out, (char)code);
        return;
    }
    if (code < 0x800) {
        buf_putc(out, (char)(0xc0 | code >> 6));
    } else {
        if (code < 0x10000) {
            buf_putc(out, (char)(0xe0 | code >> 12));
        } else {
            buf_putc(out, (char)(0xf0 | code >> 18));
            buf_putc(out, (char)(0x80 | (code >> 12 & 0x3f)));
        }
        buf_putc(out, (char)(0x80 | (code >> 6 & 0x3f)));
    }
    buf_putc(out, (char)(0x80 | (code & 0x3f)));
}

size_t utf8_count(const char *text, size_t len, bool utf16)
{
    size_t count = 0;

    for (size_t at = 0, n; at < len; at += n ? n : 1) {
        n = utf8_measure(text + at, len - at);
        count += utf16 && n == 4 ? 2 : 1;
    }
    return count;
}

size_t utf8_cut(const char *text, size_t len, size_t max)
{
    if (len <= max)
        return len;
    len = max;
    while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
        len--;
    return len > 0 ? len : max;
}

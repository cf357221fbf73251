/* SPDX-License-Identifier: MIT */
#include "config/properties.h"
#include "shardwheel/text.h"

#include <string.h>

struct reader {
    const char *p;
    const char *end;
    int line; /* of p */
    const char *file;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\f';
}

static bool is_eol(char c)
{
    return c == '\n' || c == '\r';
}

static bool at_eol(const struct reader *r)
{
    return r->p == r->end || is_eol(*r->p);
}

/* Over one end of line, which may be CR, LF, or both. */
static void skip_eol(struct reader *r)
{
    if (r->p == r->end)
        return;
    if (*r->p == '\r' && r->p + 1 < r->end && r->p[1] == '\n')
        r->p++;
    r->p++;
    r->line++;
}

/* Over a continuation: the backslash, the end of line and the blanks that begin the next one. */
static bool skip_continuation(struct reader *r)
{
    if (r->p == r->end || *r->p != '\\' || (r->p + 1 < r->end && !is_eol(r->p[1])))
        return false;
    r->p++;
    skip_eol(r);
    while (r->p < r->end && is_blank(*r->p))
        r->p++;
    return true;
}

static void skip_blanks(struct reader *r)
{
    do {
        while (r->p < r->end && is_blank(*r->p))
            r->p++;
    } while (skip_continuation(r));
}

static enum err bad(const struct reader *r, struct errctx *ec, const char *what)
{
    return err_set(ec, ERR_INPUT, "%s:%d: %s", r->file, r->line, what);
}

/* The four digits of \uXXXX, with p on the first of them. */
static bool take_hex4(struct reader *r, unsigned *out)
{
    unsigned value = 0;

    if (r->end - r->p < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(r->p[i]);

        if (digit < 0)
            return false;
        value = value << 4 | (unsigned)digit;
    }
    r->p += 4;
    *out = value;
    return true;
}

/* p is behind "\u". Two escapes that form a surrogate pair are one character. */
static enum err take_unicode(struct reader *r, struct buf *out, struct errctx *ec)
{
    unsigned code;
    unsigned low;

    if (!take_hex4(r, &code))
        return bad(r, ec, "\\u must be followed by four hex digits (write \\\\ for a backslash)");
    if (code == 0)
        return bad(r, ec, "\\u0000 cannot be part of a key or value");
    if (code >= 0xd800 && code < 0xe000) {
        bool paired = code < 0xdc00 && r->end - r->p >= 2 && r->p[0] == '\\' && r->p[1] == 'u';

        if (paired) {
            r->p += 2;
            paired = take_hex4(r, &low) && low >= 0xdc00 && low < 0xe000;
        }
        if (!paired)
            return bad(r, ec, "\\uD800 to \\uDFFF are halves of a character and must come in pairs");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    utf8_put(out, code);
    return ERR_OK;
}

/* One character, which is not the end of a line nor begins a continuation. */
static enum err take_char(struct reader *r, struct buf *out, struct errctx *ec)
{
    static const char escapes[][2] = {{'t', '\t'}, {'n', '\n'}, {'r', '\r'}, {'f', '\f'}};
    char c = *r->p++;

    if (c == 0)
        return bad(r, ec, "a NUL byte: this is not a properties file in UTF-8");
    if (c == '\\') {
        c = *r->p++; /* there is one, or it would have been a continuation */
        if (c == 'u')
            return take_unicode(r, out, ec);
        if (c == 0)
            return bad(r, ec, "a NUL byte: this is not a properties file in UTF-8");
        for (size_t i = 0; i < ARRAY_LEN(escapes); i++)
            if (c == escapes[i][0])
                c = escapes[i][1];
    }
    buf_putc(out, c);
    return ERR_OK;
}

static enum err take_key(struct reader *r, struct buf *key, struct errctx *ec)
{
    while (!at_eol(r)) {
        enum err e;

        if (skip_continuation(r))
            continue;
        if (*r->p == '=' || *r->p == ':' || is_blank(*r->p))
            break;
        e = take_char(r, key, ec);
        if (e)
            return e;
    }
    return ERR_OK;
}

static enum err take_value(struct reader *r, struct buf *value, struct errctx *ec)
{
    skip_blanks(r);
    if (r->p < r->end && (*r->p == '=' || *r->p == ':')) {
        r->p++;
        skip_blanks(r);
    }
    while (!at_eol(r)) {
        enum err e;

        if (skip_continuation(r))
            continue;
        e = take_char(r, value, ec);
        if (e)
            return e;
    }
    return ERR_OK;
}

/* One logical line, with p on the first character of its key. */
static enum err take_pair(struct reader *r, struct buf *key, struct buf *value, const struct properties_sink *sink,
                          struct errctx *ec)
{
    struct reader start = *r;
    enum err e;

    buf_clear(key);
    buf_clear(value);
    e = take_key(r, key, ec);
    if (!e)
        e = take_value(r, value, ec);
    if (e)
        return e;
    buf_puts(value, ""); /* so that an empty value is an empty text, not NULL */
    if (buf_failed(key) || buf_failed(value))
        return err_set(ec, ERR_NOMEM, "%s: out of memory", r->file);
    if (!key->len) {
        bool is_empty_line = !value->len && *start.p == '\\'; /* a continuation of nothing by nothing */

        return is_empty_line ? ERR_OK : bad(&start, ec, "a key is missing before the value");
    }
    if (!utf8_is_valid(key->data, key->len) || !utf8_is_valid(value->data, value->len))
        return bad(&start, ec, "the line is not UTF-8: save the file as UTF-8, or write \\uXXXX");
    return sink->add(sink->arg, key->data, value->data, start.line, ec);
}

enum err properties_parse(const char *file, const char *text, size_t len, const struct properties_sink *sink,
                          struct errctx *ec)
{
    struct reader r = {.p = text, .end = text + len, .line = 1, .file = file};
    struct buf key = {0};
    struct buf value = {0};
    enum err e = ERR_OK;

    if (len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
        r.p += 3; /* the byte order mark that some editors write */
    while (!e && r.p < r.end) {
        while (r.p < r.end && is_blank(*r.p))
            r.p++;
        if (at_eol(&r)) {
            skip_eol(&r);
        } else if (*r.p == '#' || *r.p == '!') {
            while (!at_eol(&r))
                r.p++;
        } else {
            e = take_pair(&r, &key, &value, sink, ec);
        }
    }
    buf_fini(&key);
    buf_fini(&value);
    return e;
}

/* SPDX-License-Identifier: MIT */
/* What single texts and numbers say. */
#include "http/json.h"
#include "shardwheel/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- texts ------------------------------------------------------------------------------------------------------- */

static uint32_t read_hex(const char *digits)
{
    uint32_t code = 0;

    for (int i = 0; i < 4; i++)
        code = code << 4 | (uint32_t)hex_digit(digits[i]);
    return code;
}

/* What stands behind a backslash; returns what follows it. */
static const char *put_escape(struct buf *out, const char *p, const char *end, bool *nul)
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";

    if (*p != 'u') {
        const char *named = strchr(from, *p);
        buf_putc(out, named ? to[named - from] : *p);
        return p + 1;
    }
    uint32_t code = read_hex(p + 1);
    p += 5;
    if (code >= 0xd800 && code <= 0xdbff && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
        uint32_t low = read_hex(p + 2);
        if (low >= 0xdc00 && low <= 0xdfff) {
            utf8_put(out, 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00));
            return p + 6;
        }
    }
    if (!code)
        *nul = true;
    utf8_put(out, !code || (code >= 0xd800 && code <= 0xdfff) ? 0xfffd : code);
    return p;
}

bool json_put_text(struct buf *out, const struct json_value *text, size_t max)
{
    const char *p = text->at + 1, *end = text->at + text->len - 1;
    size_t limit = out->len + max;
    bool nul = false;

    while (p < end && out->len < limit && !buf_failed(out)) {
        size_t run = 0, most = (size_t)(end - p) < limit - out->len ? (size_t)(end - p) : limit - out->len;
        while (run < most && p[run] != '\\' && (unsigned char)p[run] - 1u < 0x7f)
            run++;
        if (run) {
            buf_append(out, p, run);
            p += run;
        } else if (*p == '\\') {
            p = put_escape(out, p + 1, end, &nul);
        } else {
            size_t len = *p ? utf8_measure(p, (size_t)(end - p)) : 0;
            buf_append(out, len ? p : UTF8_REPLACEMENT, len ? len : strlen(UTF8_REPLACEMENT));
            p += len ? len : 1;
        }
    }
    return nul;
}

bool json_is_text(const struct json_value *value, const char *text)
{
    if (value->kind != JSON_TEXT)
        return false;
    size_t len = strlen(text);
    if (!memchr(value->at, '\\', value->len))
        return value->len == len + 2 && !memcmp(value->at + 1, text, len);
    struct buf decoded = {0};
    json_put_text(&decoded, value, value->len);
    bool same = !buf_failed(&decoded) && decoded.len == len && !memcmp(decoded.data, text, len);
    buf_fini(&decoded);
    return same;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

bool json_get_int(const struct json_value *value, int64_t min, int64_t max, int64_t *out)
{
    char digits[64];
    bool quoted = value->kind == JSON_TEXT;
    size_t len = quoted ? value->len - 2 : value->len;

    if ((!quoted && value->kind != JSON_INT && value->kind != JSON_REAL) || len >= sizeof(digits))
        return false;
    memcpy(digits, value->at + quoted, len);
    digits[len] = '\0';
    if (value->kind != JSON_REAL)
        return strlen(digits) == len && parse_int(digits, min, max, out);
    double d = strtod(digits, NULL);
    if (!(fabs(d) < 9007199254740992.0) || d != floor(d))
        return false;
    int64_t n = (int64_t)d;
    if (n < min || n > max)
        return false;
    *out = n;
    return true;
}

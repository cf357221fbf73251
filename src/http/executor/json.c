/* SPDX-License-Identifier: MIT */
#include "http/executor/callbacks.h"

#include <json-c/json.h>
#include <limits.h>
#include <string.h>

/* Real bodies have three levels, and a value that an executor's job returned may have some more. */
#define DEPTH_MAX 32

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* Length of the UTF-8 character at p, or 0 when there is none (or it is NUL). */
static size_t character_len(const unsigned char *p, size_t left)
{
    size_t len;
    if (p[0] < 0x80)
        return p[0] ? 1 : 0;
    if (p[0] >= 0xc2 && p[0] <= 0xdf)
        len = 2;
    else if (p[0] >= 0xe0 && p[0] <= 0xef)
        len = 3;
    else if (p[0] >= 0xf0 && p[0] <= 0xf4)
        len = 4;
    else
        return 0;
    if (len > left)
        return 0;
    for (size_t i = 1; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    }
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
        (p[0] == 0xf4 && p[1] > 0x8f))
        return 0; /* too long a form, a surrogate, beyond U+10FFFF */
    return len;
}

static size_t find_bad(const char *text, size_t len, size_t from)
{
    const unsigned char *p = (const unsigned char *)text;
    while (from < len) {
        if (p[from] - 1u < 0x7f) { /* most of any body, and not worth a call */
            from++;
            continue;
        }
        size_t n = character_len(p + from, len - from);
        if (!n)
            break;
        from += n;
    }
    return from;
}

static enum err repair(const char *text, size_t len, struct buf *out)
{
    for (size_t at = 0; at < len;) {
        size_t bad = find_bad(text, len, at);
        buf_append(out, text + at, bad - at);
        if (bad < len)
            buf_puts(out, replacement);
        at = bad + 1;
    }
    return buf_failed(out) ? ERR_NOMEM : ERR_OK;
}

static enum err parse_clean(const char *text, size_t len, struct json_object **out, struct errctx *ec)
{
    struct json_tokener *tokener = json_tokener_new_ex(DEPTH_MAX);
    if (!tokener)
        return err_set(ec, ERR_NOMEM, "out of memory for a JSON body");
    struct json_object *root = json_tokener_parse_ex(tokener, text, (int)len);
    enum json_tokener_error error = json_tokener_get_error(tokener);
    size_t end = json_tokener_get_parse_end(tokener);
    if (error == json_tokener_continue) { /* a bare number or word ends with the text: the final NUL says so */
        root = json_tokener_parse_ex(tokener, "", 1);
        error = json_tokener_get_error(tokener);
        end = len;
    }
    json_tokener_free(tokener);

    if (error == json_tokener_error_depth)
        return err_set(ec, ERR_INPUT, "the body is nested more than %d levels deep", DEPTH_MAX);
    if (error == json_tokener_continue || (error != json_tokener_success && end >= len))
        return err_set(ec, ERR_INPUT, "the body is no JSON: it ends too early, after %zu bytes", len);
    if (error != json_tokener_success)
        return err_set(ec, ERR_INPUT, "the body is no JSON: %s at byte %zu", json_tokener_error_desc(error), end);
    end += strspn(text + end, " \t\r\n");
    if (end < len) {
        json_object_put(root);
        return err_set(ec, ERR_INPUT, "the body goes on after the JSON value, at byte %zu", end);
    }
    *out = root;
    return ERR_OK;
}

enum err json_parse(const char *text, size_t len, struct json_object **out, struct errctx *ec)
{
    struct buf repaired = {0};
    enum err e = ERR_OK;

    if (len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) {
        text += 3;
        len -= 3;
    }
    if (find_bad(text, len, 0) < len) {
        e = repair(text, len, &repaired);
        text = repaired.data;
        len = repaired.len;
    }
    if (e)
        err_set(ec, e, "out of memory for a JSON body of %zu bytes", len);
    else if (len > INT_MAX)
        e = err_set(ec, ERR_INPUT, "the body has more than %d bytes", INT_MAX);
    else
        e = parse_clean(text, len, out, ec);
    buf_fini(&repaired);
    return e;
}

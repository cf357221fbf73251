/* SPDX-License-Identifier: MIT */
#include "http/json.h"
#include "shardwheel/text.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* ---- scanning ---------------------------------------------------------------------------------------------------- */

/* A place in a text and what went wrong there. */
struct scan {
    const char *at, *end;
    const char *wrong; /* what was expected at `at`; NULL while all is well */
    bool too_deep;
    bool strict; /* as RFC 8259 has it, rather than what authors get away with */
    int depth;
};

static bool fail(struct scan *s, const char *wrong)
{
    if (!s->wrong)
        s->wrong = wrong;
    return false;
}

static void skip_space(struct scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\r' || *s->at == '\n'))
        s->at++;
}

static bool skip_byte(struct scan *s, char c)
{
    if (s->at == s->end || *s->at != c)
        return false;
    s->at++;
    return true;
}

static bool skip_escape(struct scan *s)
{
    if (s->at == s->end)
        return fail(s, "an escape");
    if (*s->at != 'u') {
        if (!*s->at || !strchr("\"\\/bfnrt", *s->at))
            return fail(s, "an escape");
        s->at++;
        return true;
    }
    s->at++;
    for (int i = 0; i < 4; i++, s->at++) {
        if (s->at == s->end || hex_digit(*s->at) < 0)
            return fail(s, "four hex digits");
    }
    return true;
}

/* Half of a character beyond U+FFFF, written as \uD8.. or \uDC..: 1 or 2; else 0. */
static int find_half(const char *p)
{
    if (p[0] != '\\' || p[1] != 'u' || (p[2] | 0x20) != 'd')
        return 0;
    if (p[3] == '8' || p[3] == '9' || (p[3] | 0x20) == 'a' || (p[3] | 0x20) == 'b')
        return 1;
    return (p[3] | 0x20) >= 'c' ? 2 : 0;
}

/* What was scanned as a text, up to its quote: no control character and no half of one is in it. */
static bool is_plain_text(const char *p, const char *end)
{
    for (; p < end; p++) {
        int half = find_half(p);
        if ((unsigned char)*p < ' ' || half == 2 || (half == 1 && find_half(p + 6) != 2))
            return false;
        p += half ? 11 : *p == '\\';
    }
    return true;
}

static bool skip_text(struct scan *s)
{
    char quote = *s->at++;
    const char *from = s->at;
    const char *close = NULL;

    for (;;) {
        if (!close || close < s->at) { /* not yet looked for, or it was an escaped one */
            close = memchr(s->at, quote, (size_t)(s->end - s->at));
            close = close ? close : s->end;
        }
        const char *escape = memchr(s->at, '\\', (size_t)(close - s->at));
        if (!escape) {
            s->at = close;
            if (s->strict && (quote != '"' || !is_plain_text(from, close))) {
                s->at = from - 1;
                return fail(s, "a text without control characters and half characters");
            }
            return skip_byte(s, quote) || fail(s, "the end of a text");
        }
        s->at = escape + 1;
        if (!skip_escape(s))
            return false;
    }
}

static size_t skip_digits(struct scan *s)
{
    const char *from = s->at;

    while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
        s->at++;
    return (size_t)(s->at - from);
}

static bool skip_word(struct scan *s, const char *word)
{
    size_t len = strlen(word), left = (size_t)(s->end - s->at);

    if (left < len && !strncasecmp(s->at, word, left)) {
        s->at = s->end; /* it ends too early, rather than being wrong */
        return fail(s, "a value");
    }
    if (left < len || (s->strict ? !islower(*word) || strncmp(s->at, word, len) : strncasecmp(s->at, word, len)))
        return fail(s, "a value");
    s->at += len;
    return true;
}

static bool skip_number(struct scan *s, enum json_kind *kind)
{
    bool negative = skip_byte(s, '-');

    if (negative && s->at < s->end && (*s->at == 'I' || *s->at == 'i')) {
        *kind = JSON_REAL;
        return skip_word(s, "Infinity");
    }
    *kind = JSON_INT;
    bool zero = s->at < s->end && *s->at == '0';
    size_t digits = skip_digits(s);
    if (s->strict && zero && digits > 1)
        return fail(s, "a number without a zero before it");
    if (digits && skip_byte(s, '.')) {
        *kind = JSON_REAL;
        digits = skip_digits(s) || !s->strict;
    }
    if (!digits)
        return fail(s, "a digit");
    if (skip_byte(s, 'e') || skip_byte(s, 'E')) {
        *kind = JSON_REAL;
        if (!skip_byte(s, '-'))
            skip_byte(s, '+');
        if (!skip_digits(s))
            return fail(s, "a digit");
    }
    return true;
}

static bool skip_value(struct scan *s, enum json_kind *kind);

static bool enter(struct scan *s)
{
    if (s->depth++ == JSON_DEPTH_MAX) {
        s->too_deep = true;
        return fail(s, "fewer levels");
    }
    s->at++;
    skip_space(s);
    return true;
}

/* After an item or member: true when another one follows, false when the end was passed, or with `wrong` set. */
static bool skip_comma(struct scan *s, char close)
{
    skip_space(s);
    if (skip_byte(s, ',')) {
        skip_space(s);
        return s->strict || !skip_byte(s, close);
    }
    if (!skip_byte(s, close))
        fail(s, close == ']' ? "a comma or the end of an array" : "a comma or the end of an object");
    return false;
}

static bool skip_array(struct scan *s)
{
    enum json_kind kind;

    if (!enter(s))
        return false;
    if (!skip_byte(s, ']')) {
        do {
            if (!skip_value(s, &kind))
                return false;
        } while (skip_comma(s, ']'));
    }
    s->depth--;
    return !s->wrong;
}

static bool skip_member(struct scan *s)
{
    enum json_kind kind;

    if (s->at == s->end || (*s->at != '"' && *s->at != '\''))
        return fail(s, "the name of a member");
    if (!skip_text(s))
        return false;
    skip_space(s);
    if (!skip_byte(s, ':'))
        return fail(s, "a colon");
    return skip_value(s, &kind);
}

static bool skip_object(struct scan *s)
{
    if (!enter(s))
        return false;
    if (!skip_byte(s, '}')) {
        do {
            if (!skip_member(s))
                return false;
        } while (skip_comma(s, '}'));
    }
    s->depth--;
    return !s->wrong;
}

/* White space before it too, not behind it. */
static bool skip_value(struct scan *s, enum json_kind *kind)
{
    skip_space(s);
    if (s->at == s->end)
        return fail(s, "a value");
    switch (*s->at) {
    case '{': *kind = JSON_OBJECT; return skip_object(s);
    case '[': *kind = JSON_ARRAY; return skip_array(s);
    case '"':
    case '\'': *kind = JSON_TEXT; return skip_text(s);
    case 't':
    case 'T': *kind = JSON_BOOL; return skip_word(s, "true");
    case 'f':
    case 'F': *kind = JSON_BOOL; return skip_word(s, "false");
    case 'N':
    case 'n':
        if (s->end - s->at > 1 && (s->at[1] == 'a' || s->at[1] == 'A')) {
            *kind = JSON_REAL;
            return skip_word(s, "NaN");
        }
        *kind = JSON_NULL;
        return skip_word(s, "null");
    case 'I':
    case 'i': *kind = JSON_REAL; return skip_word(s, "Infinity");
    default: return skip_number(s, kind);
    }
}

static enum err check(const char *text, size_t len, bool strict, struct json_value *root, struct errctx *ec)
{
    struct scan s = {.at = text, .end = text + len, .strict = strict};
    struct json_value value;

    skip_space(&s);
    value.at = s.at;
    if (!skip_value(&s, &value.kind)) {
        if (s.too_deep)
            return err_set(ec, ERR_INPUT, "the body is nested more than %d levels deep", JSON_DEPTH_MAX);
        if (s.at == s.end)
            return err_set(ec, ERR_INPUT, "the body is not JSON: it ends too early, after %zu bytes", len);
        return err_set(ec, ERR_INPUT, "the body is not JSON: %s was expected at byte %zu", s.wrong,
                       (size_t)(s.at - text));
    }
    value.len = (size_t)(s.at - value.at);
    skip_space(&s);
    if (s.at < s.end)
        return err_set(ec, ERR_INPUT, "there is text after the JSON value, at byte %zu", (size_t)(s.at - text));
    *root = value;
    return ERR_OK;
}

enum err json_check(const char *text, size_t len, struct json_value *root, struct errctx *ec)
{
    size_t mark = len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;

    return check(text + mark, len - mark, /*strict=*/false, root, ec);
}

enum err json_check_strict(const char *text, size_t len, struct json_value *root, struct errctx *ec)
{
    return utf8_is_valid(text, len) ? check(text, len, /*strict=*/true, root, ec)
                                    : err_set(ec, ERR_INPUT, "the body is not UTF-8");
}

/* ---- arrays and objects ------------------------------------------------------------------------------------------ */

/* Stands at the next item or name of a checked array or object. */
static bool find_next(const struct json_value *in, const struct json_place *place, struct scan *s)
{
    *s = (struct scan){.at = place->at ? place->at : in->at + 1, .end = in->at + in->len};
    skip_space(s);
    if (place->at && skip_byte(s, ','))
        skip_space(s);
    return s->at < s->end - 1; /* else it is the closing bracket */
}

static void take_value(struct scan *s, struct json_value *out)
{
    skip_space(s);
    out->at = s->at;
    skip_value(s, &out->kind);
    out->len = (size_t)(s->at - out->at);
}

bool json_next_item(const struct json_value *array, struct json_place *place, struct json_value *item)
{
    struct scan s;

    if (array->kind != JSON_ARRAY || !find_next(array, place, &s))
        return false;
    take_value(&s, item);
    place->at = s.at;
    return true;
}

bool json_next_member(const struct json_value *object, struct json_place *place, struct json_value *name,
                      struct json_value *value)
{
    struct scan s;

    if (object->kind != JSON_OBJECT || !find_next(object, place, &s))
        return false;
    take_value(&s, name);
    skip_space(&s);
    skip_byte(&s, ':');
    take_value(&s, value);
    place->at = s.at;
    return true;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void put_quoted(struct buf *out, const struct json_value *text, size_t max)
{
    static const char from[] = "\b\f\n\r\t\"\\", to[] = "bfnrt\"\\";
    struct buf decoded = {0};

    json_put_text(&decoded, text, max);
    buf_putc(out, '"');
    for (const char *p = decoded.data; p && *p; p++) {
        const char *named = strchr(from, *p);
        if (named)
            buf_printf(out, "\\%c", to[named - from]);
        else if ((unsigned char)*p < 0x20)
            buf_printf(out, "\\u%04x", *p);
        else
            buf_putc(out, *p);
    }
    buf_putc(out, '"');
    out->failed |= buf_failed(&decoded);
    buf_fini(&decoded);
}

/* What is checked needs no tree to be written again: it is texts, white space, and bytes to copy. */
void json_put_value(struct buf *out, const struct json_value *value, size_t max)
{
    struct scan s = {.at = value->at, .end = value->at + value->len};
    size_t limit = out->len + max;

    while (s.at < s.end && out->len < limit && !buf_failed(out)) {
        if (*s.at == '"' || *s.at == '\'') {
            struct json_value text = {.kind = JSON_TEXT};
            take_value(&s, &text);
            put_quoted(out, &text, limit - out->len);
        } else if (*s.at == ',') {
            s.at++;
            skip_space(&s);
            if (*s.at != ']' && *s.at != '}')
                buf_putc(out, ',');
        } else {
            buf_putc(out, *s.at++);
        }
        skip_space(&s);
    }
}

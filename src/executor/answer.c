/* SPDX-License-Identifier: MIT */
#include "shardwheel/executor/answer.h"

#include <json-c/json.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "executor/json_span.h"
#include "shardwheel/executor/request.h"
#include "shardwheel/text.h"

#define TEXT_MAX 16000
#define QUOTE_MAX 300
/* A tree is made of no longer answer: it takes 300 times the bytes, and the loop has other requests to see to. */
#define PARSED_MAX 4096

/* Our own reason, with the start of what came. */
static void fail(struct answer *out, const char *reason, const char *body, size_t len)
{
    struct buf text = {0};

    buf_puts(&text, reason);
    if (len > 0) {
        buf_puts(&text, ": ");
        text_put_utf8(&text, body, len, QUOTE_MAX);
    }
    *out = (struct answer){.code = CODE_FAILED, .text = buf_take(&text)};
}

/* The JSON value that makes up the whole of the text (a BOM before and blanks around it are fine), or NULL. The caller
 * cannot tell `null` from an error, and need not. */
static struct json_object *parse_whole(const char *body, size_t len)
{
    struct json_tokener *tok;
    struct json_object *value = NULL;

    if (len >= 3 && memcmp(body, "\xef\xbb\xbf", 3) == 0) {
        body += 3;
        len -= 3;
    }
    tok = json_tokener_new();
    if (!tok)
        return NULL;
    value = json_tokener_parse_ex(tok, body, (int)len);
    size_t end = json_tokener_get_parse_end(tok);
    bool whole = json_tokener_get_error(tok) == json_tokener_success;
    json_tokener_free(tok);
    while (whole && end < len)
        whole = strchr(" \t\r\n", body[end]) && body[end], end++;
    if (!whole) {
        json_object_put(value);
        return NULL;
    }
    return value;
}

/* ---- long answers: the members that count, and nothing else ------------------------------------------------------ */

enum { LONG_MEMBERS = 4 };
static const char *const long_members[LONG_MEMBERS] = {"code", "msg", "content", "data"};

/* A structure as an empty one, and of a text what a text of TEXT_MAX can come of (an escape has six bytes at most). */
static void put_long_value(struct buf *out, const struct span *value)
{
    const char *at = value->at;

    if (*at == '{' || *at == '[') {
        buf_puts(out, "{}");
        return;
    }
    if (*at != '"') {
        buf_append(out, at, (size_t)(value->end - at));
        return;
    }
    for (at++; at < value->end - 1 && at - value->at <= 6 * TEXT_MAX;)
        at += *at != '\\' ? 1 : at[1] == 'u' ? 6 : 2;
    buf_append(out, value->at, (size_t)((at < value->end - 1 ? at : value->end - 1) - value->at));
    buf_putc(out, '"');
}

/* parse_whole for a long text: an object has the members that count alone, an array nothing at all. What is within
 * other members is not looked at, and names are not unescaped. */
static struct json_object *parse_long(const char *body, size_t len)
{
    struct span s = {body, body + len}, found[LONG_MEMBERS] = {{0}}, array;
    struct buf brief = {0};
    struct json_object *value = NULL;
    bool is_object, ok;

    if (len >= 3 && memcmp(body, "\xef\xbb\xbf", 3) == 0)
        s.at += 3;
    span_skip_blanks(&s);
    is_object = span_take_char(&s, '{');
    ok = is_object ? span_find_members(&s, long_members, LONG_MEMBERS, found)
                   : s.at < s.end && *s.at == '[' && span_skip_value(&s, &array);
    span_skip_blanks(&s);
    if (!ok || s.at < s.end)
        return NULL;
    if (!is_object)
        return json_object_new_array();
    buf_putc(&brief, '{');
    for (int i = 0; i < LONG_MEMBERS; i++) {
        if (!found[i].at)
            continue;
        buf_printf(&brief, "%s\"%s\":", brief.len > 1 ? "," : "", long_members[i]);
        put_long_value(&brief, &found[i]);
    }
    buf_putc(&brief, '}');
    if (!buf_failed(&brief))
        value = parse_whole(brief.data, brief.len);
    buf_fini(&brief);
    return value;
}

/* ---- what the members say ---------------------------------------------------------------------------------------- */

/* Integers, integral numbers like 200.0, and both as text; within the column's 32 bits. */
static bool read_code(struct json_object *value, int *out)
{
    int64_t number;
    double real;

    if (json_object_is_type(value, json_type_int)) {
        number = json_object_get_int64(value); /* saturates */
    } else if (json_object_is_type(value, json_type_double)) {
        real = json_object_get_double(value);
        if (!(fabs(real) <= INT_MAX) || real != trunc(real))
            return false;
        number = (int64_t)real;
    } else if (json_object_is_type(value, json_type_string)) {
        if (!parse_int(json_object_get_string(value), INT_MIN, INT_MAX, &number))
            return false;
    } else {
        return false;
    }
    if (number < INT_MIN || number > INT_MAX)
        return false;
    *out = (int)number;
    return true;
}

static bool is_structure(struct json_object *value)
{
    return json_object_is_type(value, json_type_object) || json_object_is_type(value, json_type_array);
}

/* The executor's words: "... uri-mapping(<the request's path>) not found." */
static bool says_unknown_path(const char *msg, const char *path)
{
    const char *at = strstr(msg, "uri-mapping(");
    const char *end = at ? strstr(at, ") not found") : NULL;
    size_t len = strlen(path);

    return end && (size_t)(end - at) >= strlen("uri-mapping(") + len && memcmp(end - len, path, len) == 0;
}

static void read_object(struct json_object *object, const char *body, size_t len, const char *path, struct answer *out)
{
    struct json_object *code = json_object_object_get(object, "code");
    struct json_object *msg = json_object_object_get(object, "msg");
    int number = 0;

    if (!code) {
        fail(out, "the executor's answer has no code", body, len);
    } else if (!read_code(code, &number)) {
        fail(out, "the executor's answer has a code that is no integer", body, len);
    } else if (number == 0) {
        fail(out, "the executor's answer has the code 0", body, len);
    } else if (is_structure(msg) || is_structure(json_object_object_get(object, "content")) ||
               is_structure(json_object_object_get(object, "data"))) {
        fail(out, "the executor's answer has an object where a text belongs", body, len);
    } else {
        struct buf text = {0};

        if (msg) {
            const char *s = json_object_get_string(msg);
            text_put_utf8(&text, s, strlen(s), TEXT_MAX);
        }
        *out = (struct answer){.code = number, .from_executor = true, .text = buf_take(&text)};
        out->unknown_path = number == CODE_FAILED && out->text && says_unknown_path(out->text, path);
    }
}

void answer_parse_fully(int http_status, const char *body, size_t len, const char *path, struct answer *out)
{
    struct json_object *value;

    *out = (struct answer){.code = CODE_FAILED};
    if (http_status != 200) {
        struct buf reason = {0};

        buf_printf(&reason, "the executor answered with HTTP status %d", http_status);
        fail(out, buf_failed(&reason) ? "HTTP status" : reason.data, body, len);
        buf_fini(&reason);
        out->unknown_path = http_status == 404 && strcmp(path, REQUEST_PATH_TRIGGER) == 0;
        return;
    }
    if (len == 0) {
        fail(out, "the executor's answer is empty", body, len);
        return;
    }
    value = len <= PARSED_MAX ? parse_whole(body, len) : parse_long(body, len);
    if (json_object_is_type(value, json_type_object))
        read_object(value, body, len, path, out);
    else if (json_object_is_type(value, json_type_array))
        fail(out, "the executor refused with an array", body, len);
    else
        fail(out, "the executor's answer is no JSON object", body, len);
    json_object_put(value);
}

/* ---- the common forms of success, without json-c ----------------------------------------------------------------- */

static bool take_word(struct span *s, const char *word)
{
    size_t len = strlen(word);

    if ((size_t)(s->end - s->at) < len || memcmp(s->at, word, len) != 0)
        return false;
    s->at += len;
    return true;
}

/* A string of printable ASCII without escapes. */
static bool take_string(struct span *s, struct span *out)
{
    if (!span_take_char(s, '"'))
        return false;
    out->at = s->at;
    while (s->at < s->end && *s->at >= ' ' && *s->at < 0x7f && *s->at != '"' && *s->at != '\\')
        s->at++;
    out->end = s->at;
    return span_take_char(s, '"');
}

static bool is_name(const struct span *name, const char *text)
{
    size_t len = (size_t)(name->end - name->at);

    return len == strlen(text) && memcmp(name->at, text, len) == 0;
}

enum plain_member { PLAIN_CODE = 1, PLAIN_MSG = 2, PLAIN_CONTENT = 4, PLAIN_DATA = 8, PLAIN_SUCCESS = 16 };

static enum plain_member find_member(const struct span *name)
{
    return is_name(name, "code")      ? PLAIN_CODE
           : is_name(name, "msg")     ? PLAIN_MSG
           : is_name(name, "content") ? PLAIN_CONTENT
           : is_name(name, "data")    ? PLAIN_DATA
           : is_name(name, "success") ? PLAIN_SUCCESS
                                      : 0;
}

/* One member with its value; false for every one but code 200, and nulls, strings and true for the others. */
static bool take_member(struct span *s, unsigned *seen, struct span *msg)
{
    struct span name, text;
    enum plain_member member;

    if (!take_string(s, &name) || !span_take_char(s, ':'))
        return false;
    span_take_char(s, ' ');
    member = find_member(&name);
    if (!member || (*seen & member)) /* of one that is given twice the last one counts */
        return false;
    *seen |= member;
    if (member == PLAIN_CODE)
        return take_word(s, "200");
    if (take_word(s, "null"))
        return true;
    if (member == PLAIN_SUCCESS)
        return take_word(s, "true");
    if (!take_string(s, &text))
        return false;
    if (member == PLAIN_MSG)
        *msg = text;
    return true;
}

/* False where it is not one of the forms that known executors write, whatever else it may be. */
static bool is_plain_success(const char *body, size_t len, struct span *msg)
{
    struct span s = {body, body + len};
    unsigned seen = 0;

    *msg = (struct span){NULL, NULL};
    if (!span_take_char(&s, '{'))
        return false;
    do {
        span_take_char(&s, ' ');
        if (!take_member(&s, &seen, msg))
            return false;
    } while (span_take_char(&s, ','));
    return span_take_char(&s, '}') && s.at == s.end && (seen & PLAIN_CODE);
}

void answer_parse(int http_status, const char *body, size_t len, const char *path, struct answer *out)
{
    struct span msg;

    if (http_status != 200 || !is_plain_success(body, len, &msg)) {
        answer_parse_fully(http_status, body, len, path, out);
        return;
    }
    *out = (struct answer){.code = CODE_OK, .from_executor = true};
    if (msg.at < msg.end) {
        struct buf text = {0};

        text_put_utf8(&text, msg.at, (size_t)(msg.end - msg.at), TEXT_MAX);
        out->text = buf_take(&text);
    }
}

FINI_BY(free, answer, text)

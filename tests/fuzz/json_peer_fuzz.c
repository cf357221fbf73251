/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target for http/json, against json-c in its strict mode: what is JSON, and what stands in it. The input is the
 * text. Whatever is read is written again by json_put_value, and read the same.
 *
 * Differences on purpose
 *   We take    what find_leniency names: the leniency in the head of http/json.h; numbers as 007 and 7.; a control
 *              character, a NUL or what is no UTF-8 in a text.
 *   We refuse  more than JSON_DEPTH_MAX levels; and -.0, a leniency of json-c's own.
 *   Integers   of more than 64 bits are the nearest one for json-c, and none for us; so are those of 64 digits and
 *              more, and reals from 2^53 on.
 *   Texts      U+0000 is U+FFFD for us, and a NUL for json-c. A pair of surrogates whose character is U+nD800 to
 *              U+nDFFF, as U+1DA00, is one character for us (and for Python), and U+FFFD for json-c.
 *   Names      given twice: json-c keeps the last; we show both.
 * Run: json_peer_fuzz -max_len=2000
 */
#include "http/json.h"
#include "shardwheel/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *input;
static size_t input_len;

static void require(bool holds, const char *why)
{
    if (holds)
        return;
    fprintf(stderr, "%s: %.*s\n", why, (int)input_len, input);
    abort();
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* ---- the peer ---------------------------------------------------------------------------------------------------- */

static struct json_object *read_by_peer(const char *text, size_t len)
{
    struct json_tokener *tokener = json_tokener_new_ex(4 * JSON_DEPTH_MAX);
    char *ended = strndup(text, len);

    json_tokener_set_flags(tokener,
                           JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8 | JSON_TOKENER_ALLOW_TRAILING_CHARS);
    struct json_object *root = json_tokener_parse_ex(tokener, ended, (int)len + 1);
    size_t end = json_tokener_get_parse_end(tokener);
    bool whole = json_tokener_get_error(tokener) == json_tokener_success;
    while (whole && end < len && is_blank(text[end]))
        end++;
    if (root && (!whole || end < len)) {
        json_object_put(root);
        root = NULL;
    }
    json_tokener_free(tokener);
    free(ended);
    return root;
}

/* ---- what we take and others do not ------------------------------------------------------------------------------ */

static size_t skip_text(const char *text, size_t len, bool *lenient)
{
    size_t at = 1;

    for (; at < len && text[at] != '"'; at++) {
        *lenient |= (unsigned char)text[at] < ' ';
        at += text[at] == '\\';
    }
    return at + 1;
}

static size_t skip_word(const char *text, size_t len, bool *lenient)
{
    static const char *const words[] = {"true", "false", "null"};
    size_t n = 0;
    bool known = false;

    while (n < len && isalpha((unsigned char)text[n]))
        n++;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        known = known || (strlen(words[i]) == n && !memcmp(text, words[i], n));
    *lenient |= !known;
    return n;
}

static size_t skip_digits(const char *text, size_t len, bool *lenient)
{
    size_t n = 0;

    while (n < len && isdigit((unsigned char)text[n]))
        n++;
    *lenient |= n == 0;
    return n;
}

static size_t skip_number(const char *text, size_t len, bool *lenient)
{
    size_t n = text[0] == '-';

    *lenient |= n + 1 < len && text[n] == '0' && isdigit((unsigned char)text[n + 1]);
    n += skip_digits(text + n, len - n, lenient);
    if (n < len && text[n] == '.') {
        n++;
        n += skip_digits(text + n, len - n, lenient);
    }
    if (n < len && (text[n] == 'e' || text[n] == 'E')) {
        n++;
        n += n < len && (text[n] == '+' || text[n] == '-');
        n += skip_digits(text + n, len - n, lenient);
    }
    return n;
}

/* Something in it is no JSON as RFC 8259 has it. Of a text that we or our peer take: brackets and colons are right. */
static bool find_leniency(const char *text, size_t len)
{
    bool lenient = !utf8_is_valid(text, len) || (len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3));

    for (size_t at = 0; at < len && !lenient;) {
        if (text[at] == '"') {
            at += skip_text(text + at, len - at, &lenient);
        } else if (isalpha((unsigned char)text[at])) {
            at += skip_word(text + at, len - at, &lenient);
        } else if (isdigit((unsigned char)text[at]) || text[at] == '-') {
            at += skip_number(text + at, len - at, &lenient);
        } else if (text[at] == ',') {
            for (at++; at < len && is_blank(text[at]);)
                at++;
            lenient = at < len && strchr("]}", text[at]);
        } else {
            lenient = !strchr(" \t\r\n[]{}:", text[at++]);
        }
    }
    return lenient;
}

/* ---- the same values --------------------------------------------------------------------------------------------- */

/* As it is without NULs; *nul: it had one. */
/* json-c looks at the lower 16 bits alone. */
static bool is_half_for_peer(const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        if ((p[0] & 0xf8) == 0xf0 && (p[1] & 0x0f) == 0x0d && (p[2] & 0x20))
            return true;
    return false;
}

/* *nul: json-c has another text there, cut off or not. */
static char *decode(const struct json_value *text, bool *nul)
{
    struct buf b = {0};

    buf_puts(&b, "");
    *nul = json_put_text(&b, text, text->len);
    *nul = *nul || (b.data && is_half_for_peer(b.data));
    return buf_take(&b);
}

static void compare(const struct json_value *ours, struct json_object *theirs);

static void compare_int(const struct json_value *ours, struct json_object *theirs)
{
    char digits[64];
    int64_t n = 0, peer = json_object_get_int64(theirs);
    uint64_t large = json_object_get_uint64(theirs);

    require(json_object_is_type(theirs, json_type_int) || ours->len < 3, "an integer that is none");
    if (json_get_int(ours, INT64_MIN, INT64_MAX, &n)) {
        require(n == peer, "an integer differs");
        require(!json_get_int(ours, n, n, &n) == false, "the bounds of an integer");
        return;
    }
    if (ours->len >= sizeof digits)
        return;
    bool negative = *ours->at == '-';
    snprintf(digits, sizeof digits, "%.*s", (int)ours->len, ours->at);
    require(negative ? peer == INT64_MIN && strcmp(digits, "-9223372036854775808") != 0 : large > INT64_MAX,
            "an integer of 64 bits is refused");
}

static void compare_real(const struct json_value *ours, struct json_object *theirs)
{
    double peer = json_object_get_double(theirs);
    int64_t n = 0;
    bool whole = fabs(peer) < 9007199254740992.0 && peer == floor(peer) && ours->len < 64;

    require(json_object_is_type(theirs, json_type_double), "a real that is none");
    require(json_get_int(ours, INT64_MIN, INT64_MAX, &n) == whole, "a real is an integer, or not");
    require(!whole || (double)n == peer, "a real differs");
}

static void compare_text(const struct json_value *ours, struct json_object *theirs)
{
    bool nul;
    char *text = decode(ours, &nul);

    require(json_object_is_type(theirs, json_type_string), "a text that is none");
    if (!nul) {
        require(!strcmp(text, json_object_get_string(theirs)), "a text differs");
        require(json_is_text(ours, text), "a text is not itself");
    }
    free(text);
}

static void compare_array(const struct json_value *ours, struct json_object *theirs)
{
    struct json_place place = {0};
    struct json_value item;
    size_t count = 0;

    require(json_object_is_type(theirs, json_type_array), "an array that is none");
    for (; json_next_item(ours, &place, &item); count++) {
        require(count < json_object_array_length(theirs), "an array is longer");
        compare(&item, json_object_array_get_idx(theirs, count));
    }
    require(count == json_object_array_length(theirs), "an array is shorter");
}

static bool comes_again(const struct json_value *object, struct json_place place, const char *text)
{
    struct json_value name, value;
    bool again = false, nul;

    while (!again && json_next_member(object, &place, &name, &value)) {
        char *next = decode(&name, &nul);
        again = nul || !strcmp(next, text); /* one with a NUL is another name for json-c, maybe this one */
        free(next);
    }
    return again;
}

static void compare_object(const struct json_value *ours, struct json_object *theirs)
{
    struct json_place place = {0};
    struct json_value name, value;
    struct json_object *peer;
    int count = 0;
    bool nul, any_nul = false;

    require(json_object_is_type(theirs, json_type_object), "an object that is none");
    while (json_next_member(ours, &place, &name, &value)) {
        char *text = decode(&name, &nul);
        any_nul |= nul;
        if (!any_nul && !comes_again(ours, place, text)) {
            require(json_object_object_get_ex(theirs, text, &peer), "a member is missing");
            compare(&value, peer);
            count++;
        }
        free(text);
    }
    require(any_nul || count == json_object_object_length(theirs), "the members differ");
}

static void compare(const struct json_value *ours, struct json_object *theirs)
{
    switch (ours->kind) {
    case JSON_ABSENT: require(false, "an absent value"); break;
    case JSON_NULL: require(theirs == NULL, "a null that is none"); break;
    case JSON_BOOL:
        require(json_object_is_type(theirs, json_type_boolean) &&
                    (*ours->at == 't') == (json_object_get_boolean(theirs) != 0),
                "a bool differs");
        break;
    case JSON_INT: compare_int(ours, theirs); break;
    case JSON_REAL: compare_real(ours, theirs); break;
    case JSON_TEXT: compare_text(ours, theirs); break;
    case JSON_ARRAY: compare_array(ours, theirs); break;
    case JSON_OBJECT: compare_object(ours, theirs); break;
    }
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static size_t measure_depth(const char *text, size_t len)
{
    size_t depth = 0, most = 0;
    bool lenient = false;

    for (size_t at = 0; at < len;) {
        if (text[at] == '"') {
            at += skip_text(text + at, len - at, &lenient);
            continue;
        }
        depth += text[at] == '[' || text[at] == '{';
        depth -= text[at] == ']' || text[at] == '}';
        most = depth > most ? depth : most;
        at++;
    }
    return most;
}

static void check_written(const struct json_value *root, struct json_object *theirs)
{
    struct json_value again;
    struct buf first = {0}, second = {0};
    struct errctx ec;

    json_put_value(&first, root, 16 * root->len + 16);
    require(!json_check(first.data, first.len, &again, &ec), "what we write is no JSON for us");
    json_put_value(&second, &again, 2 * first.len + 16);
    require(first.len == second.len && !memcmp(first.data, second.data, first.len), "what we write is read otherwise");
    if (theirs) {
        struct json_object *peer = read_by_peer(first.data, first.len);
        require(peer != NULL, "what we write is no JSON");
        compare(&again, peer);
        json_object_put(peer);
    }
    buf_fini(&first);
    buf_fini(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size ? size : 1); /* of the exact size, so that an overrun is seen */
    struct json_value root = {0};
    struct errctx ec = {""};

    memcpy(text, data, size);
    input = text;
    input_len = size;
    enum err e = json_check(text, size, &root, &ec);
    require(!e || (e == ERR_INPUT && ec.text[0]), "a refusal without a reason");
    bool has_nul = memchr(text, '\0', size);
    struct json_object *theirs = has_nul ? NULL : read_by_peer(text, size);
    if (e && theirs)
        require(measure_depth(text, size) > JSON_DEPTH_MAX || find_leniency(text, size), ec.text);
    if (!e && !theirs && root.kind != JSON_NULL)
        require(has_nul || find_leniency(text, size), "we take what is no JSON");
    if (!e && theirs && !find_leniency(text, size))
        compare(&root, theirs);
    if (!e)
        check_written(&root, find_leniency(text, size) || has_nul ? NULL : theirs);
    json_object_put(theirs);
    free(text);
    return 0;
}

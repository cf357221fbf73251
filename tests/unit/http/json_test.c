/* SPDX-License-Identifier: MIT */
/* The reader against json-c, on texts made at random and damaged at random: both take the same ones, and see the same
 * in them. */
#include "http/json.h"
#include "shardwheel/text.h"

#include <json-c/json.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static uint64_t seed;

static unsigned draw(unsigned below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % below;
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

static void make_space(struct buf *out)
{
    static const char *const spaces[] = {"", "", "", " ", "\n", "\t \r\n"};
    buf_puts(out, spaces[draw(ARRAY_LEN(spaces))]);
}

static void make_text(struct buf *out)
{
    static const char *const parts[] = {"a",        "bc",      "\\n",     "\\\"", "\\\\", "\\/", "\\u00e9",
                                        "\xc3\xa9", "\\u4e2d", "\\ud83d", "'",    "{",    "],",  "\\ud83d\\ude00",
                                        "\\ude00",  "\n"};
    buf_putc(out, '"');
    for (unsigned n = draw(5); n > 0; n--)
        buf_puts(out, parts[draw(ARRAY_LEN(parts))]);
    buf_putc(out, '"');
}

static void make_value(struct buf *out, int depth)
{
    static const char *const plain[] = {"0",    "17",    "-3",   "12.50", "-0.25",           "1e3",
                                        "true", "FALSE", "null", "NaN",   "9007199254740993"};
    unsigned kind = draw(depth ? 6 : 3), count = draw(4);

    make_space(out);
    if (kind < 2) {
        buf_puts(out, plain[draw(ARRAY_LEN(plain))]);
    } else if (kind == 2) {
        make_text(out);
    } else if (kind == 3) {
        buf_putc(out, '[');
        for (unsigned i = 0; i < count; i++) {
            make_value(out, depth - 1);
            buf_puts(out, i + 1 < count ? "," : "");
        }
        make_space(out);
        buf_putc(out, ']');
    } else {
        buf_putc(out, '{');
        for (unsigned i = 0; i < count; i++) {
            make_space(out);
            buf_printf(out, "\"%c%u", "xy"[draw(2)], i); /* names differ: of two alike json-c keeps one */
            buf_puts(out, draw(3) ? "\"" : "\\u0041\"");
            make_space(out);
            buf_putc(out, ':');
            make_value(out, depth - 1);
            buf_puts(out, i + 1 < count ? "," : "");
        }
        make_space(out);
        buf_putc(out, '}');
    }
    make_space(out);
}

/* What is no UTF-8 we repair. Comments, a number that ends with its exponent's sign, and a minus without a digit are
 * json-c's own. */
static bool is_comparable(const char *text)
{
    for (const char *p = text; *p; p++) {
        if ((*p == '/' && (p == text || p[-1] != '\\')) ||
            ((*p == '-' || *p == 'e' || *p == 'E' || *p == '+' || *p == '.') && !(p[1] >= '0' && p[1] <= '9') &&
             p[1] != '"'))
            return false;
    }
    return utf8_is_valid(text, strlen(text));
}

/* ---- comparison -------------------------------------------------------------------------------------------------- */

static void assert_text(const struct json_value *value, const char *text, size_t len)
{
    struct buf out = {0};

    buf_puts(&out, "");
    json_put_text(&out, value, SIZE_MAX / 8);
    if (out.len != len)
        fail_msg("%.*s is read as %s by us, and as %s by json-c", (int)value->len, value->at, out.data, text);
    assert_memory_equal(out.data, text, len);
    buf_fini(&out);
}

static void assert_same(const struct json_value *value, struct json_object *object)
{
    struct json_place place = {0};
    struct json_value name, item;
    struct json_object *child;
    int64_t number;
    size_t count = 0;

    switch (json_object_get_type(object)) {
    case json_type_null: assert_int_equal(value->kind, JSON_NULL); break;
    case json_type_boolean: assert_int_equal(value->kind, JSON_BOOL); break;
    case json_type_double: assert_int_equal(value->kind, JSON_REAL); break;
    case json_type_int:
        if (value->kind != JSON_INT)
            fail_msg("%.*s is an integer for json-c", (int)value->len, value->at);
        assert_true(json_get_int(value, INT64_MIN, INT64_MAX, &number));
        assert_int_equal(number, json_object_get_int64(object));
        break;
    case json_type_string:
        assert_int_equal(value->kind, JSON_TEXT);
        assert_text(value, json_object_get_string(object), (size_t)json_object_get_string_len(object));
        break;
    case json_type_array:
        assert_int_equal(value->kind, JSON_ARRAY);
        for (; json_next_item(value, &place, &item); count++)
            assert_same(&item, json_object_array_get_idx(object, count));
        assert_int_equal(count, json_object_array_length(object));
        break;
    case json_type_object:
        assert_int_equal(value->kind, JSON_OBJECT);
        for (; json_next_member(value, &place, &name, &item); count++) {
            struct buf key = {0};
            json_put_text(&key, &name, SIZE_MAX / 8);
            assert_true(json_object_object_get_ex(object, key.data ? key.data : "", &child));
            assert_true(json_is_text(&name, key.data ? key.data : ""));
            assert_same(&item, child);
            buf_fini(&key);
        }
        break;
    }
}

/* NULL when json-c refuses it, or does not read all of it. */
static bool parse(const char *text, size_t len, struct json_object **out)
{
    struct json_tokener *tokener = json_tokener_new_ex(JSON_DEPTH_MAX);
    *out = json_tokener_parse_ex(tokener, text, (int)len + 1); /* with its NUL, which ends a number */
    size_t end = json_tokener_get_parse_end(tokener);
    bool ok = json_tokener_get_error(tokener) == json_tokener_success;
    json_tokener_free(tokener);
    while (ok && end < len && strchr(" \t\r\n", text[end]))
        end++;
    if (ok && end >= len)
        return true;
    json_object_put(*out);
    *out = NULL;
    return false;
}

/* look: into it, too. */
static void assert_agreed(const char *text, bool look)
{
    struct json_object *object;
    struct json_value root;
    struct errctx ec;
    bool theirs = parse(text, strlen(text), &object), ours = !json_check(text, strlen(text), &root, &ec);

    if (theirs != ours)
        fail_msg("json-c says %s, we say %s (%s) of: %s", theirs ? "yes" : "no", ours ? "yes" : "no",
                 ours ? "-" : ec.text, text);
    if (ours && look)
        assert_same(&root, object);
    json_object_put(object);
}

static void agrees_with_json_c(void **state)
{
    (void)state;
    static const char *const oddities[] = {
        "{'a':'b\"c'}",
        "[1,]",
        "{\"a\":1,}",
        "[,]",
        "[1 2]",
        "{\"a\" 1}",
        "{a:1}",
        "nul",
        "nullx",
        "tRuE",
        "[NaN,-Infinity]",
        "\"\\x\"",
        "\"\\u12g4\"",
        "\"a",
        "01",
        "1.5.2",
        "[]]",
        "",
        " ",
        "{\"a\":}",
        "[[[]]]",
        "{\"\":{}}",
        "\"\\u0000\"x",
    };
    seed = 20240229;
    for (size_t i = 0; i < ARRAY_LEN(oddities); i++)
        assert_agreed(oddities[i], /*look=*/true);
    for (int round = 0; round < 20000; round++) {
        struct buf text = {0};
        make_value(&text, 5);
        assert_agreed(text.data, /*look=*/true);
        for (unsigned n = draw(3); n > 0; n--)
            text.data[draw((unsigned)text.len)] = "{}[],:\"'\\0tn x"[draw(14)];
        if (is_comparable(text.data))
            assert_agreed(text.data, /*look=*/false); /* names may be alike now */
        buf_fini(&text);
    }
}

/* A compact text says the same as the one that it was made of. */
static void writes_what_it_has_read(void **state)
{
    (void)state;
    seed = 7;
    for (int round = 0; round < 5000; round++) {
        struct buf text = {0}, compact = {0};
        struct json_object *object;
        struct json_value root;
        struct errctx ec;
        make_value(&text, 5);
        assert_int_equal(json_check(text.data, text.len, &root, &ec), ERR_OK);
        json_put_value(&compact, &root, SIZE_MAX / 8);
        assert_true(parse(compact.data, compact.len, &object));
        assert_int_equal(json_check(text.data, text.len, &root, &ec), ERR_OK);
        assert_same(&root, object);
        assert_null(strstr(compact.data, ", "));
        json_object_put(object);
        buf_fini(&compact);
        buf_fini(&text);
    }
}

static const char *show(const char *text)
{
    static char out[300];
    struct buf compact = {0};
    struct json_value root;
    struct errctx ec;
    if (json_check(text, strlen(text), &root, &ec))
        return strcpy(out, ec.text);
    json_put_value(&compact, &root, 40);
    snprintf(out, sizeof(out), "%s", compact.data);
    buf_fini(&compact);
    return out;
}

static void says_what_is_wrong_and_where(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"[1, {\"a\" : 'b\\u003c\"\\n' , } ]", "[1,{\"a\":\"b<\\\"\\n\"}]"},
        {"[1 2]", "the body is not JSON: a comma or the end of an array was expected at byte 3"},
        {"{\"a\" 1}", "the body is not JSON: a colon was expected at byte 5"},
        {"{1:2}", "the body is not JSON: the name of a member was expected at byte 1"},
        {"<html>", "the body is not JSON: a digit was expected at byte 0"},
        {"[\"\\q\"]", "the body is not JSON: an escape was expected at byte 3"},
        {"[1", "the body is not JSON: it ends too early, after 2 bytes"},
        {"\xef\xbb\xbf[1] x", "there is text after the JSON value, at byte 4"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(show(cases[i][0]), cases[i][1]);
    char deep[2 * JSON_DEPTH_MAX + 3];
    memset(deep, '[', JSON_DEPTH_MAX);
    memset(deep + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
    deep[2 * JSON_DEPTH_MAX] = '\0';
    assert_memory_equal(show(deep), "[[[[", 4);
    memset(deep, '[', JSON_DEPTH_MAX + 1);
    assert_string_equal(show(deep), "the body is nested more than 32 levels deep");
}

static void integers_are_read_as_gson_does(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool ok;
        int64_t value;
    } cases[] = {
        {"7", true, 7},
        {"7.0", true, 7},
        {"\"7\"", true, 7},
        {"-12", true, -12},
        {"7.5", false, 0},
        {"\"7.0\"", false, 0},
        {"\" 7\"", false, 0},
        {"true", false, 0},
        {"null", false, 0},
        {"1e3", true, 1000},
        {"1e300", false, 0},
        {"NaN", false, 0},
        {"[]", false, 0},
        {"9223372036854775807", true, INT64_MAX},
        {"9223372036854775808", false, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct json_value root;
        struct errctx ec;
        int64_t value = 0;
        assert_int_equal(json_check(cases[i].text, strlen(cases[i].text), &root, &ec), ERR_OK);
        assert_int_equal(json_get_int(&root, INT64_MIN, INT64_MAX, &value), cases[i].ok);
        assert_int_equal(value, cases[i].value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_json_c),
        cmocka_unit_test(writes_what_it_has_read),
        cmocka_unit_test(says_what_is_wrong_and_where),
        cmocka_unit_test(integers_are_read_as_gson_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

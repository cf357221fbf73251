/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "shardwheel/executor/answer.h"

struct row {
    int status;
    const char *body;
    int code;
    bool from_executor;
    const char *text; /* whole text of the executor, or the start of our reason */
};

#define OURS false
#define THEIRS true

static const struct row rows[] = {
    /* taken */
    {200, "{\"code\":200}", 200, THEIRS, NULL},
    {200, "{\"code\":200,\"msg\":null,\"content\":null,\"data\":null}", 200, THEIRS, NULL},
    {200, "{\"code\":200,\"msg\":\"Success\",\"content\":\"x\",\"data\":\"y\",\"more\":{\"a\":[1]}}", 200, THEIRS,
     "Success"},
    {200, "{\"code\": 200, \"msg\": \"Running\"}\r\n", 200, THEIRS, "Running"},
    {200, "{\"code\":\"200\"}", 200, THEIRS, NULL},
    {200, "{\"code\":200.0}", 200, THEIRS, NULL},
    {200, "\xef\xbb\xbf{\"code\":200}", 200, THEIRS, NULL},
    {200, "{\"code\":500,\"code\":200}", 200, THEIRS, NULL},
    {200, "{\"code\":200,\"content\":3,\"data\":4.5}", 200, THEIRS, NULL},
    {200, " \n{\"code\":200,\"msg\":\"\"}\t", 200, THEIRS, NULL},
    /* refused: the code as it comes */
    {200, "{\"code\":500,\"msg\":\"block strategy effect\"}", 500, THEIRS, "block strategy effect"},
    {200, "{\"code\":201}", 201, THEIRS, NULL},
    {200, "{\"code\":-7,\"msg\":12}", -7, THEIRS, "12"},
    {200, "{\"code\":\"-7\"}", -7, THEIRS, NULL},
    {200, "{\"code\":2147483647}", 2147483647, THEIRS, NULL},
    /* no answer to go by */
    {200, "", 500, OURS, "the executor's answer is empty"},
    {200, "null", 500, OURS, "the executor's answer is no JSON object: null"},
    {200, "{}", 500, OURS, "the executor's answer has no code: {}"},
    {200, "{\"msg\":\"x\"}", 500, OURS, "the executor's answer has no code"},
    {200, "{\"code\":null}", 500, OURS, "the executor's answer has no code"},
    {200, "{\"code\":0,\"msg\":\"x\"}", 500, OURS, "the executor's answer has the code 0: {\"code\":0,"},
    {200, "{\"code\":\"0\"}", 500, OURS, "the executor's answer has the code 0"},
    {200, "{\"code\":true}", 500, OURS, "the executor's answer has a code that is no integer"},
    {200, "{\"code\":200.5}", 500, OURS, "the executor's answer has a code that is no integer"},
    {200, "{\"code\":\"yes\"}", 500, OURS, "the executor's answer has a code that is no integer"},
    {200, "{\"code\":\"200 \"}", 500, OURS, "the executor's answer has a code that is no integer"},
    {200, "{\"code\":2147483648}", 500, OURS, "the executor's answer has a code that is no integer"},
    {200, "{\"code\":1e300}", 500, OURS, "the executor's answer has a code that is no integer"},
    {200, "{\"code\":NaN}", 500, OURS, "the executor's answer has a code that is no integer"},
    {200, "{\"code\":99999999999999999999}", 500, OURS, "the executor's answer has a code that is no integer"},
    {200, "{\"code\":{}}", 500, OURS, "the executor's answer has a code that is no integer"},
    {200, "{\"code\":200,\"msg\":{}}", 500, OURS, "the executor's answer has an object where a text belongs"},
    {200, "{\"code\":200,\"content\":{}}", 500, OURS, "the executor's answer has an object where a text belongs"},
    {200, "{\"code\":200,\"data\":[]}", 500, OURS, "the executor's answer has an object where a text belongs"},
    {200, "[]", 500, OURS, "the executor refused with an array"},
    {200, "[{\"logId\":1,\"executeResult\":{\"code\":500,\"msg\":\"Task not registered\"},\"handleCode\":500}]", 500,
     OURS,
     "the executor refused with an array: [{\"logId\":1,\"executeResult\":{\"code\":500,\"msg\":\"Task not "
     "registered\"}"},
    {200, "200", 500, OURS, "the executor's answer is no JSON object"},
    {200, "{\"code\":200", 500, OURS, "the executor's answer is no JSON object"},
    {200, "{\"code\":200}x", 500, OURS, "the executor's answer is no JSON object"},
    {200, "{\"code\":200}{\"code\":200}", 500, OURS, "the executor's answer is no JSON object"},
    {200, "<html>hello</html>", 500, OURS, "the executor's answer is no JSON object: <html>hello</html>"},
    {201, "{\"code\":200}", 500, OURS, "the executor answered with HTTP status 201: {\"code\":200}"},
    {302, "", 500, OURS, "the executor answered with HTTP status 302"},
    {413, "", 500, OURS, "the executor answered with HTTP status 413"},
    {500, "oops", 500, OURS, "the executor answered with HTTP status 500: oops"},
};

static void answers_read_as_the_table_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row *r = &rows[i];
        struct answer a;

        answer_parse(r->status, r->body, strlen(r->body), "/run", &a);
        if (a.code != r->code || a.from_executor != r->from_executor)
            print_error("answer %zu: %s\n", i, r->body);
        assert_int_equal(a.code, r->code);
        assert_int_equal(a.from_executor, r->from_executor);
        assert_false(a.unknown_path);
        if (!r->text)
            assert_true(!a.text || !a.text[0]);
        else if (r->from_executor)
            assert_string_equal(a.text, r->text);
        else
            assert_memory_equal(a.text, r->text, strlen(r->text));
        answer_fini(&a);
    }
}

static void unknown_paths_are_told_from_other_refusals(void **state)
{
    static const struct {
        int status;
        const char *body;
        const char *path;
        bool unknown;
    } cases[] = {
        {200, "{\"code\":500,\"msg\":\"invalid request, uri-mapping(/run) not found.\"}", "/run", true},
        {200, "{\"code\":500,\"msg\":\"invalid request, uri-mapping(/trigger) not found.\"}", "/trigger", true},
        {200, "{\"code\":500,\"msg\":\"invalid request, uri-mapping(/base/run) not found.\"}", "/run", true},
        {200, "{\"code\":500,\"msg\":\"invalid request, uri-mapping(/run) not found.\"}", "/trigger", false},
        {200, "{\"code\":500,\"msg\":\"invalid request, uri-mapping(/trigger) not found.\"}", "/run", false},
        {200, "{\"code\":500,\"msg\":\"invalid request, uri-mapping(n) not found.\"}", "/run", false},
        {200, "{\"code\":200,\"msg\":\"invalid request, uri-mapping(/run) not found.\"}", "/run", false},
        {200, "{\"code\":500,\"msg\":\"uri-mapping(\"}", "/run", false},
        {404, "404 page not found", "/trigger", true},
        {404, "404 page not found", "/run", false},
        {405, "", "/trigger", false},
        {200, "{\"code\":500,\"msg\":\"The access token is wrong.\"}", "/run", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct answer a;

        answer_parse(cases[i].status, cases[i].body, strlen(cases[i].body), cases[i].path, &a);
        assert_int_equal(a.unknown_path, cases[i].unknown);
        answer_fini(&a);
    }
}

static void foreign_bytes_become_text(void **state)
{
    static const char body[] = "{\"code\":500,\"msg\":\"a\xff"
                               "b\\u0000c\"}";
    static const char with_nul[] = "ab\0cd";
    struct answer a;

    (void)state;
    answer_parse(200, body, sizeof body - 1, "/run", &a);
    assert_int_equal(a.code, 500);
    assert_memory_equal(a.text,
                        "a\xef\xbf\xbd"
                        "b",
                        5);
    answer_fini(&a);
    answer_parse(200, with_nul, sizeof with_nul - 1, "/run", &a);
    assert_string_equal(a.text, "the executor's answer is no JSON object: ab cd");
    answer_fini(&a);
}

static void long_texts_are_cut_between_characters(void **state)
{
    enum { N = 100000 };
    struct answer a;
    struct buf body = {0};
    size_t len;

    (void)state;
    buf_puts(&body, "{\"code\":500,\"msg\":\"");
    for (int i = 0; i < N; i++)
        buf_puts(&body, "\xe2\x82\xac");
    buf_puts(&body, "\"}");
    answer_parse(200, body.data, body.len, "/run", &a);
    len = strlen(a.text);
    assert_in_range(len, 15000, 16010);
    assert_string_equal(a.text + len - 3, "...");
    assert_int_equal((len - 3) % 3, 0);
    answer_fini(&a);
    answer_parse(503, body.data, body.len, "/run", &a);
    assert_in_range(strlen(a.text), 300, 400);
    answer_fini(&a);
    buf_fini(&body);
}

/* The forms that known executors write, and near misses of them. */
static const char *const successes[] = {
    "{\"code\":200}",
    "{\"code\":200,\"msg\":null,\"content\":null}",
    "{\"code\":200,\"msg\":null,\"content\":null,\"data\":null}",
    "{\"code\":200,\"content\":\"x\",\"data\":\"y\",\"msg\":\"\",\"success\":true}",
    "{\"code\": 200, \"msg\": null}",
};
static const char *const others[] = {
    "{\"code\":200,\"data\":null,\"msg\":\"Success\",\"success\":true}",
    "{\"code\":200,\"msg\":\"a\\\"b\"}",
    "{\"code\":200,\"msg\":\"\\u00e9\"}",
    "{\"code\":200,\"msg\":\"\xc3\xa9 \xff\"}",
    "{\"code\":200,\"msg\":\"a\tb\"}",
    "{\"code\":200,\"msg\":\"a\x7f\"}",
    "{\"code\":2000}",
    "{\"code\":200.5}",
    "{\"code\":200 }",
    "{\"code\":200}x",
    "{\"code\":200,}",
    "{\"code\":200,\"code\":500}",
    "{\"code\":200,\"msg\":\"a\",\"msg\":\"b\"}",
    "{\"code\":200,\"msg\":\"a\",\"msg\":null}",
    "{\"code\":200,\"msg\":true}",
    "{\"code\":200,\"msg\":null",
    "{\"code\":200,\"msg\":nullx}",
    "{\"code\":200,\"msg\":\"open}",
    "{\"code\":200,\"success\":false}",
    "{\"code\":200,\"other\":1}",
    "{\"codes\":200}",
    "{\"msg\":null}",
    "{}",
    "{",
};

static void assert_same_both_ways(int status, const char *body, size_t len)
{
    struct answer quick, full;

    answer_parse(status, body, len, "/run", &quick);
    answer_parse_fully(status, body, len, "/run", &full);
    if (quick.code != full.code)
        print_error("%s\n", body);
    assert_int_equal(quick.code, full.code);
    assert_int_equal(quick.from_executor, full.from_executor);
    assert_int_equal(quick.unknown_path, full.unknown_path);
    assert_string_equal(quick.text ? quick.text : "", full.text ? full.text : "");
    answer_fini(&quick);
    answer_fini(&full);
}

static void the_short_way_says_what_the_long_one_says(void **state)
{
    static const char with_nul[] = "{\"code\":200,\"msg\":\"a\0b\"}";

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(successes); i++) {
        struct answer a;

        answer_parse(200, successes[i], strlen(successes[i]), "/run", &a);
        assert_int_equal(a.code, 200);
        assert_null(a.text); /* the long way makes an empty text of no msg: nothing was allocated here */
        answer_fini(&a);
        assert_same_both_ways(200, successes[i], strlen(successes[i]));
        assert_same_both_ways(404, successes[i], strlen(successes[i]));
        for (size_t len = 0; len < strlen(successes[i]); len++)
            assert_same_both_ways(200, successes[i], len);
    }
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        assert_same_both_ways(200, others[i], strlen(others[i]));
    assert_same_both_ways(200, with_nul, sizeof with_nul - 1);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_same_both_ways(rows[i].status, rows[i].body, strlen(rows[i].body));
}

/* Behind so many blanks it is a long answer. */
static char *make_long(const char *body, size_t *len)
{
    enum { BLANKS = 5000 };
    struct buf text = {0};

    for (int i = 0; i < BLANKS; i++)
        buf_putc(&text, " \t\r\n"[i % 4]);
    buf_puts(&text, body);
    assert_false(buf_failed(&text));
    *len = text.len;
    return buf_take(&text);
}

static void long_answers_read_as_short_ones(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row *r = &rows[i];
        size_t len, reason = r->text ? strcspn(r->text, ":") : 0;
        char *body;
        struct answer a;

        if (!r->body[0] || (unsigned char)r->body[0] == 0xef) /* blanks change what these are */
            continue;
        body = make_long(r->body, &len);
        answer_parse(r->status, body, len, "/run", &a);
        if (a.code != r->code || a.from_executor != r->from_executor)
            print_error("answer %zu: %s\n", i, r->body);
        assert_int_equal(a.code, r->code);
        assert_int_equal(a.from_executor, r->from_executor);
        if (r->text)
            assert_memory_equal(a.text, r->text, reason);
        answer_fini(&a);
        free(body);
    }
}

static const struct row long_rows[] = {
    {200, "{\"a\":{\"code\":1,\"b\":[\"]}\",{}]},\"code\":200}", 200, THEIRS, NULL},
    {200, "{\"a\":\"x\\\"}\",\"code\" : \"201\" , \"msg\" : \"y\\\"\\u00e9\" }", 201, THEIRS, "y\"\xc3\xa9"},
    {200, "{\"code\":200,\"a\":[{}}", 500, OURS, "the executor's answer is no JSON object"},
    {200, "{\"code\":200,\"a\":", 500, OURS, "the executor's answer is no JSON object"},
    {200, "{\"code\":200,\"a\":\"x", 500, OURS, "the executor's answer is no JSON object"},
    {200, "{\"code\":200,\"a\":\"x\\", 500, OURS, "the executor's answer is no JSON object"},
    {200, "{\"code\":200,\"msg\":\"\\u\"}", 500, OURS, "the executor's answer is no JSON object"},
    {200, "{\"code\":200 \"a\":1}", 500, OURS, "the executor's answer is no JSON object"},
    {200, "{\"code\":2x0}", 500, OURS, "the executor's answer is no JSON object"},
    {200, "{code:200}", 500, OURS, "the executor's answer is no JSON object"},
    {200, "[{}", 500, OURS, "the executor's answer is no JSON object"},
    {200, "[{}]]", 500, OURS, "the executor's answer is no JSON object"},
};

static void of_long_answers_the_members_that_count_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(long_rows); i++) {
        const struct row *r = &long_rows[i];
        size_t len;
        char *body = make_long(r->body, &len);
        struct answer a;

        answer_parse(r->status, body, len, "/run", &a);
        if (a.code != r->code || a.from_executor != r->from_executor)
            print_error("answer %zu: %s\n", i, r->body);
        assert_int_equal(a.code, r->code);
        assert_int_equal(a.from_executor, r->from_executor);
        if (r->text)
            assert_memory_equal(a.text, r->text, strlen(r->text));
        answer_fini(&a);
        free(body);
    }
}

static size_t parsed_bytes; /* of which json-c was asked to make a tree */

struct json_object *__real_json_tokener_parse_ex(struct json_tokener *tok, const char *text, int len);
struct json_object *__wrap_json_tokener_parse_ex(struct json_tokener *tok, const char *text, int len);
struct json_object *__wrap_json_tokener_parse_ex(struct json_tokener *tok, const char *text, int len)
{
    parsed_bytes += (size_t)len;
    return __real_json_tokener_parse_ex(tok, text, len);
}

/* A megabyte of small objects cost a loop 0.4 s, in which nothing else was sent. */
static void of_a_long_answer_no_tree_is_made(void **state)
{
    static const char *const fillings[] = {"{},", "[],"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(fillings); i++) {
        struct buf body = {0};
        struct answer a;

        buf_puts(&body, "{\"code\":200,\"a\":[");
        while (body.len < 1000 * 1000)
            buf_puts(&body, fillings[i]);
        buf_puts(&body, "0]}");
        parsed_bytes = 0;
        answer_parse(200, body.data, body.len, "/run", &a);
        assert_int_equal(a.code, 200);
        assert_int_equal(parsed_bytes, strlen("{\"code\":200}"));
        answer_fini(&a);
        buf_fini(&body);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_read_as_the_table_says),
        cmocka_unit_test(unknown_paths_are_told_from_other_refusals),
        cmocka_unit_test(foreign_bytes_become_text),
        cmocka_unit_test(long_texts_are_cut_between_characters),
        cmocka_unit_test(the_short_way_says_what_the_long_one_says),
        cmocka_unit_test(long_answers_read_as_short_ones),
        cmocka_unit_test(of_long_answers_the_members_that_count_are_read),
        cmocka_unit_test(of_a_long_answer_no_tree_is_made),
    };
    return cmocka_run_group_tests_name("dispatch.answer", tests, NULL, NULL);
}

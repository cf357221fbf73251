/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "shardwheel/executor/log_answer.h"

#define PAGE(to, text, end) "{\"fromLineNum\":1,\"toLineNum\":" to ",\"logContent\":\"" text "\",\"isEnd\":" end "}"

struct row {
    const char *name;
    int64_t from;
    const char *body;
    bool cut;
    int64_t to;
    const char *content;
    bool is_end;
    bool is_missing;
};

static const struct row pages[] = {
    {"Java up to 3.1", 1, "{\"code\":200,\"content\":" PAGE("2", "a\\nb\\n", "false") "}", false, 2, "a\nb\n", false,
     false},
    {"Java 3.2", 1, "{\"code\":200,\"msg\":\"Success\",\"content\":" PAGE("1", "a\\n", "false") "}", false, 1, "a\n",
     false, false},
    {"Java from 3.3 on", 1, "{\"code\":200,\"msg\":\"Success\",\"data\":" PAGE("1", "\\u003cb\\u003e\\n", "false") "}",
     false, 1, "<b>\n", false, false},
    {"Python: both", 1,
     "{\"code\": 200, \"msg\": null, \"content\": {\"logContent\": \"old\\n\", \"toLineNum\": 1}, \"data\": "
     "{\"logContent\": \"\\ud83d\\ude00\\n\", \"fromLineNum\": 1, \"toLineNum\": 1, \"isEnd\": true}}",
     false, 1, "\xf0\x9f\x98\x80\n", true, false},
    {"data null, content there", 1, "{\"code\":200,\"data\":null,\"content\":" PAGE("1", "x\\n", "false") "}", false, 1,
     "x\n", false, false},
    {"Java, missing", 1, "{\"code\":200,\"content\":" PAGE("0", "readLog fail, logFile not exists", "true") "}", false,
     0, "readLog fail, logFile not exists", true, true},
    {"Python, missing", 5, "{\"code\":200,\"data\":" PAGE("5", "No such logid logs.", "false") "}", false, 4,
     "No such logid logs.", true, true},
    {"beyond the end, up to 3.2: all lines", 16, "{\"code\":200,\"content\":" PAGE("15", "", "false") "}", false, 15,
     "", false, false},
    {"beyond the end, from 3.3 on: 0", 16, "{\"code\":200,\"data\":" PAGE("0", "", "false") "}", false, 15, "", false,
     false},
    {"beyond the end, Python", 16, "{\"code\":200,\"data\":" PAGE("16", "", "true") "}", false, 15, "", true, false},
    {"numbers as text, BOM-less blanks", 3, " {\"code\":\"200\",\"data\":" PAGE("\"4\"", "a\\nb\\n", "false") "} ",
     false, 4, "a\nb\n", false, false},
    {"no text", 1, "{\"code\":200,\"data\":{\"toLineNum\":0,\"logContent\":null,\"isEnd\":false}}", false, 0, "", false,
     false},
    {"control characters", 1, "{\"code\":200,\"data\":" PAGE("1", "\\u001b[31m\\u0000\\tx\\u0007\\n", "false") "}",
     false, 1, "\x1b[31m \tx \n", false, false},
    /* cut */
    {"behind a line", 7, "{\"code\":200,\"data\":{\"toLineNum\":99,\"logContent\":\"a\\nb\\nc", true, 8, "a\nb\n",
     false, false},
    {"within an escape", 7, "{\"code\":200,\"data\":{\"logContent\":\"a\\nb\\n\\u003", true, 8, "a\nb\n", false, false},
    {"within the only line", 7, "{\"code\":200,\"data\":{\"logContent\":\"abc\\u00", true, 7, "abc", false, false},
    {"within its character", 7, "{\"code\":200,\"data\":{\"logContent\":\"ab\xf0\x9f\x98", true, 7, "ab", false, false},
    {"before the first character", 7, "{\"code\":200,\"data\":{\"logContent\":\"", true, 6, "", false, false},
    {"a backslash that is escaped, and an n", 7, "{\"code\":200,\"data\":{\"logContent\":\"a\\nb\\\\nc", true, 7, "a\n",
     false, false},
    {"behind the text", 1, "{\"code\":200,\"data\":{\"toLineNum\":1,\"logContent\":\"a\\n\",\"isE", true, 1, "a\n",
     false, false},
};

static void lines_are_read_from_every_form(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
        const struct row *row = &pages[i];
        struct log_answer a;

        log_answer_parse(200, row->body, strlen(row->body), row->cut, row->from, &a);
        if (a.answer.code != CODE_OK || !a.content || strcmp(a.content, row->content) != 0 || a.to_line != row->to ||
            a.is_end != row->is_end || a.is_missing != row->is_missing)
            fail_msg("%s: code %d %s, to %d, end %d, missing %d, content %s", row->name, a.answer.code,
                     a.answer.text ? a.answer.text : "", (int)a.to_line, a.is_end, a.is_missing,
                     a.content ? a.content : "NULL");
        assert_int_equal(a.len, strlen(a.content));
        assert_int_equal(a.from_line, row->from);
        log_answer_fini(&a);
    }
}

static const struct {
    int status;
    const char *body;
    bool cut;
    int code;
    const char *text; /* its start */
} others[] = {
    {200, "{\"code\":500,\"msg\":\"The access token is wrong.\"}", false, 500, "The access token is wrong."},
    {200, "{\"code\":500,\"msg\":\"no\",\"data\":" PAGE("1", "a\\n", "false") "}", false, 500, "no"},
    {200, "{\"code\":200,\"msg\":\"x\"}", false, 500, "the executor's answer has no log"},
    {200, "{\"code\":200,\"data\":{}}", false, 500, "the executor's answer has a log without lines"},
    {200, "{\"code\":200,\"data\":{\"logContent\":7}}", false, 500, "the executor's answer has a log without lines"},
    {200, "{\"code\":200,\"data\":{\"logContent\":\"a\"]}}", false, 500, "the executor's answer has a log that is no"},
    {200, "{\"code\":200,\"data\":{\"logContent\":\"a", false, 500, "the executor's answer is no JSON object"},
    {200, "{\"data\":" PAGE("1", "a\\n", "false") "}", false, 500, "the executor's answer has no code"},
    {200, "[]", false, 500, "the executor refused with an array"},
    {200, "", false, 500, "the executor's answer is empty"},
    {404, "404 page not found", false, 500, "the executor answered with HTTP status 404"},
};

static void what_is_no_page_says_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        struct log_answer a;

        log_answer_parse(others[i].status, others[i].body, strlen(others[i].body), others[i].cut, 1, &a);
        if (a.answer.code != others[i].code || !a.answer.text ||
            strncmp(a.answer.text, others[i].text, strlen(others[i].text)) != 0)
            fail_msg("%s: %d %s", others[i].body, a.answer.code, a.answer.text ? a.answer.text : "NULL");
        assert_int_equal(a.to_line, 0);
        log_answer_fini(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_read_from_every_form),
        cmocka_unit_test(what_is_no_page_says_why),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

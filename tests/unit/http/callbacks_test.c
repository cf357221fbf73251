/* SPDX-License-Identifier: MIT */
#include "http/executor/callbacks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Writes the list as text: "id:code:message" per entry, "-" for no message; or "error: ...". */
static const char *show(const char *body, size_t len)
{
    static char out[4000];
    static struct callback_piece piece;
    struct callback_reader reader;
    struct errctx ec;
    size_t n = 0;
    if (callbacks_open(&reader, body, len, &ec)) {
        snprintf(out, sizeof(out), "error: %s", ec.text);
        return out;
    }
    out[0] = '\0';
    while (assert_int_equal(callbacks_next(&reader, &piece, &ec), ERR_OK), piece.count) {
        for (size_t i = 0; i < piece.count; i++)
            n += (size_t)snprintf(out + n, sizeof(out) - n, "%s%ld:%d:%s", n ? " " : "", (long)piece.entries[i].log_id,
                                  piece.entries[i].code, piece.entries[i].message ? piece.entries[i].message : "-");
    }
    if (reader.malformed)
        snprintf(out + n, sizeof(out) - n, " malformed %zu: %s", reader.malformed, reader.complaint.text);
    return out;
}

static void reads_every_form(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"[{\"logId\":101,\"logDateTim\":1700000000000,\"handleCode\":200,\"handleMsg\":\"text\"}]", "101:200:text"},
        {"[{\"logId\":101,\"logDateTim\":1,\"handleCode\":500}]", "101:500:-"},
        {"{\"callbackList\":[{\"logId\":7,\"logDateTime\":1,\"handleCode\":502,\"handleMsg\":\"late\"}]}",
         "7:502:late"},
        {"[{\"logId\":8,\"logDateTim\":1,\"executeResult\":{\"code\":200,\"msg\":\"old\"}}]", "8:200:old"},
        {"[{\"logId\":9,\"logDateTim\":1,\"executeResult\":{\"code\":200,\"msg\":\"a\"},\"handleCode\":500,"
         "\"handleMsg\":\"b\"}]",
         "9:500:b"},
        {"[{\"logId\": 9, \"handleCode\": 200, \"handleMsg\": {\"a\": [1, null]}, \"executeResult\": {\"code\": 200}}]",
         "9:200:{\"a\":[1,null]}"},
        {"[{\"logId\":1,\"handleCode\":200,\"handleMsg\":12.50}]", "1:200:12.50"},
        {"[{\"logId\":1,\"handleCode\":200,\"handleMsg\":true},{\"logId\":1,\"handleCode\":500,\"handleMsg\":null}]",
         "1:200:true 1:500:-"},
        {"[{\"logId\":9007199254740993,\"handleCode\":0,\"more\":{\"x\":[]}}]", "9007199254740993:0:-"},
        {"[{\"logId\":\"12\",\"handleCode\":\"200\"},{\"logId\":13.0,\"handleCode\":200.0}]", "12:200:- 13:200:-"},
        {"[{\"logId\":1,\"handleCode\":-1}]", "1:-1:-"},
        {"null", ""},
        {"[]", ""},
        {" [null]\n", ""},
        {"{\"callbackList\":null}", ""},
        {"{\"callbackList\":[]}", ""},
        {"\xef\xbb\xbf[{\"logId\":1,\"handleCode\":200}]", "1:200:-"},
        {"[{\"logId\":1,\"handleCode\":200,\"handleMsg\":\"\\u003cb\\u003e \\ud83d\\ude00 \\u2028\"}]",
         "1:200:<b> \xf0\x9f\x98\x80 \xe2\x80\xa8"},
        {"[{\"logId\":1,\"handleCode\":200,\"handleMsg\":\"a\nb\tc\"}]", "1:200:a\nb\tc"},
        {"[{\"logId\":1,\"handleCode\":200,\"handleMsg\":\"x\\u0000y\"}]", "1:200:x\xef\xbf\xbdy"},
        {"[{\"logId\":1,\"handleCode\":200,\"handleMsg\":\"x\xff\xc0\xafy\xed\xa0\x80\"}]",
         "1:200:x\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdy\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"[{\"logId\":1,\"handleCode\":200,\"handleMsg\":\"\\ud83d!\"}]", "1:200:\xef\xbf\xbd!"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(show(cases[i][0], strlen(cases[i][0])), cases[i][1]);
    static const char with_nul[] = "[{\"logId\":1,\"handleCode\":200,\"handleMsg\":\"a\0b\"}]";
    assert_string_equal(show(with_nul, sizeof(with_nul) - 1), "1:200:a\xef\xbf\xbd"
                                                              "b");
}

static void malformed_entries_are_named_and_the_others_kept(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"[{\"logId\":1,\"handleCode\":200},{\"handleCode\":200},{\"logId\":3,\"handleCode\":200}]",
         "1:200:- 3:200:- malformed 1: callback 1: logId is missing"},
        {"[{\"logId\":\"x\",\"handleCode\":200}]",
         " malformed 1: callback 0: logId must be an integer, but it is \"x\""},
        {"[{\"logId\":1.5,\"handleCode\":200}]", " malformed 1: callback 0: logId must be an integer, but it is 1.5"},
        {"[{\"logId\":{},\"handleCode\":200}]", " malformed 1: callback 0: logId must be an integer, but it is {}"},
        {"[{\"logId\":1}]", " malformed 1: callback 0: handleCode is missing"},
        {"[{\"logId\":1,\"handleCode\":3000000000},7]",
         " malformed 2: callback 0: handleCode must be an integer of 32 bits, but it is 3000000000"},
        {"[7]", " malformed 1: callback 0: an object was expected, but it is 7"},
        {"[[]]", " malformed 1: callback 0: an object was expected, but it is []"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(show(cases[i][0], strlen(cases[i][0])), cases[i][1]);
}

static void bodies_that_are_no_list_are_errors(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{\"logId\":1,\"handleCode\":200}",
         "error: an array of callbacks or an object with callbackList was expected"},
        {"{\"callbackList\":{}}", "error: an array of callbacks or an object with callbackList was expected"},
        {"17", "error: an array of callbacks or an object with callbackList was expected"},
        {"\"x\"", "error: an array of callbacks or an object with callbackList was expected"},
        {"[{\"logId\":1,\"handleCode\":200}", "error: the body is not JSON: it ends too early, after 29 bytes"},
        {"[{\"logId\":1,\"handleCode\":200}]]", "error: there is text after the JSON value, at byte 30"},
        {"[{\"logId\":1 x}]", NULL},
        {"<html>", NULL},
        {"logId=1", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *shown = show(cases[i][0], strlen(cases[i][0]));
        if (cases[i][1])
            assert_string_equal(shown, cases[i][1]);
        else
            assert_memory_equal(shown, "error: the body is not JSON: ", 29);
    }
    char deep[200];
    memset(deep, '[', 100);
    memset(deep + 100, ']', 100);
    assert_string_equal(show(deep, 200), "error: the body is nested more than 32 levels deep");
}

/* Every prefix of a body is an error or a list, never a crash; the sanitizers watch. */
static void prefixes_do_no_harm(void **state)
{
    (void)state;
    static const char body[] =
        "{\"callbackList\":[{\"logId\":7,\"handleCode\":200,\"handleMsg\":\"\\ud83d\\ude00 \xf0\x9f\x98\x80\"},"
        "{\"logId\":8,\"executeResult\":{\"code\":500,\"msg\":[1,{\"a\":\"b\"}]}}]}";
    for (size_t len = 0; len + 1 < sizeof(body) - 1; len++) {
        char *copy = malloc(len + 1); /* exactly as long, so that a read beyond it is seen */
        memcpy(copy, body, len);
        copy[len] = '\0';
        assert_memory_equal(show(copy, len), "error:", 6);
        free(copy);
    }
}

static const char *show_beat(const char *body)
{
    static char out[700];
    struct beat_body beat;
    struct errctx ec;
    if (beat_parse(body, strlen(body), &beat, &ec)) {
        snprintf(out, sizeof(out), "error: %s", ec.text);
        return out;
    }
    snprintf(out, sizeof(out), "%s|%s|%s", beat.group ? beat.group : "-", beat.key ? beat.key : "-",
             beat.value ? beat.value : "-");
    beat_fini(&beat);
    return out;
}

static void reads_beats(void **state)
{
    (void)state;
    assert_string_equal(
        show_beat(
            "{\"registryGroup\":\"EXECUTOR\",\"registryKey\":\"app\",\"registryValue\":\"http://10.0.0.5:9999/\"}"),
        "EXECUTOR|app|http://10.0.0.5:9999/");
    assert_string_equal(show_beat("{\"registryKey\":5,\"registryValue\":null,\"x\":{}}"), "-|5|-");
    assert_string_equal(show_beat("{\"registryKey\":[]}"), "error: registryKey must be a text");
    assert_string_equal(show_beat("{\"registryKey\":\"a\\u0000b\"}"), "error: registryKey contains a NUL character");
    assert_memory_equal(show_beat("null"), "error: an object with", 21);
    assert_memory_equal(show_beat("[]"), "error: an object with", 21);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_form),
        cmocka_unit_test(malformed_entries_are_named_and_the_others_kept),
        cmocka_unit_test(bodies_that_are_no_list_are_errors),
        cmocka_unit_test(prefixes_do_no_harm),
        cmocka_unit_test(reads_beats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

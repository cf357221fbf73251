/* SPDX-License-Identifier: MIT */
/* Lines as JSON, and levels of areas from text. */
#include "test.h"

#include "shardwheel/base.h"
#include "shardwheel/text.h"

#include <json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(const char *line, const char *expected)
{
    struct buf out = {0};

    log_put_json(&out, line);
    assert_false(buf_failed(&out));
    assert_string_equal(out.data, expected);
    buf_fini(&out);
}

static void pairs_become_members(void **state)
{
    (void)state;
    check("", "{}");
    check("time=2026-11-22T10:00:00.123Z level=info area=main event=started port=8080",
          "{\"time\":\"2026-11-22T10:00:00.123Z\",\"level\":\"info\",\"area\":\"main\",\"event\":\"started\","
          "\"port\":8080}");
    check("a=-5 b=0 c=007 d=1.25 e=1. f=1e5 g=123456789012345 h=1234567890123456 i= j=-",
          "{\"a\":-5,\"b\":0,\"c\":\"007\",\"d\":1.25,\"e\":\"1.\",\"f\":\"1e5\",\"g\":123456789012345,"
          "\"h\":\"1234567890123456\",\"i\":\"\",\"j\":\"-\"}");
    check("why=\"say \\\"no\\\" \\\\ twice\\nnow\\x01\" n=1",
          "{\"why\":\"say \\\"no\\\" \\\\ twice\\u000anow\\u0001\",\"n\":1}");
    check("why=\"M\xc3\xbcnchen \xff\"", "{\"why\":\"M\xc3\xbcnchen \\ufffd\"}");
    check("job=1 job=2 job=3", "{\"job\":1,\"job_2\":2,\"job_3\":3}");
    check("list=a,b:c/d%", "{\"list\":\"a,b:c/d%\"}");
}

static void what_is_no_list_is_a_message(void **state)
{
    (void)state;
    check("level=warn area=coord connected to \"zk\"",
          "{\"level\":\"warn\",\"area\":\"coord\",\"msg\":\"connected to \\\"zk\\\"\"}");
    check("area=x event=a and so on", "{\"area\":\"x\",\"msg\":\"event=a and so on\"}");
    check("=5", "{\"msg\":\"=5\"}");
    check("a=\"b\"c", "{\"msg\":\"a=\\\"b\\\"c\"}");
    /* Cut in the middle of a text. */
    check("event=e error=\"the end is mis", "{\"event\":\"e\",\"error\":\"the end is mis\"}");
    check("event=e error=\"cut \\", "{\"event\":\"e\",\"error\":\"cut \\\\\"}");
}

/* Whatever log_quote was given comes out again. */
static void quoted_texts_come_back(void **state)
{
    char text[200], line[1000];

    (void)state;
    for (unsigned seed = 1; seed < 2000; seed++) {
        struct buf out = {0};
        json_object *parsed;
        size_t n = 0;

        srand(seed);
        while (n < (size_t)(seed % 150))
            text[n++] = (char)("\"\\\n\x01\x7f =x1,{}:\t'")[rand() % 16];
        text[n] = '\0';
        snprintf(line, sizeof line, "area=a event=e error=%s n=5", log_quote(text).s);
        log_put_json(&out, line);
        parsed = json_tokener_parse(out.data);
        assert_non_null(parsed);
        assert_string_equal(json_object_get_string(json_object_object_get(parsed, "error")), text);
        assert_int_equal(json_object_get_int(json_object_object_get(parsed, "n")), 5);
        json_object_put(parsed);
        buf_fini(&out);
    }
}

/* Any bytes give one object, on one line, of valid UTF-8. */
static void any_line_is_json(void **state)
{
    char line[120];

    (void)state;
    for (unsigned seed = 1; seed < 20000; seed++) {
        struct buf out = {0};
        json_object *parsed;
        size_t n = 0;

        srand(seed);
        while (n < (size_t)(seed % 100))
            line[n++] = rand() % 4 ? (char)("a=\" \\x1n5=-. b\xc3\xbc")[rand() % 16] : (char)(rand() % 255 + 1);
        line[n] = '\0';
        log_put_json(&out, line);
        assert_true(utf8_is_valid(out.data, out.len));
        assert_null(strchr(out.data, '\n'));
        parsed = json_tokener_parse(out.data);
        if (!parsed || json_object_get_type(parsed) != json_type_object)
            fail_msg("seed %u: %s", seed, out.data);
        json_object_put(parsed);
        buf_fini(&out);
    }
}

/* ---- levels ------------------------------------------------------------------------------------------------------ */

static void check_wrong(const char *text, const char *said)
{
    enum log_level levels[LOG_AREA_COUNT];
    struct errctx ec;

    errctx_clear(&ec);
    assert_int_equal(log_parse_levels(text, LOG_INFO, levels, &ec), ERR_INPUT);
    if (!strstr(ec.text, said))
        fail_msg("%s: %s", text, ec.text);
}

static void levels_of_areas(void **state)
{
    enum log_level levels[LOG_AREA_COUNT];
    struct errctx ec;

    (void)state;
    assert_int_equal(log_parse_levels("", LOG_WARN, levels, &ec), ERR_OK);
    for (int i = 0; i < LOG_AREA_COUNT; i++)
        assert_int_equal(levels[i], LOG_WARN);
    assert_int_equal(log_parse_levels(" schedule=debug , http=error,", LOG_INFO, levels, &ec), ERR_OK);
    assert_int_equal(levels[LOG_AREA_SCHEDULE], LOG_DEBUG);
    assert_int_equal(levels[LOG_AREA_HTTP], LOG_ERROR);
    assert_int_equal(levels[LOG_AREA_RECORD], LOG_INFO);
    check_wrong("scheduler=debug", "there is no area \"scheduler\"; there are main, admin, alarm,");
    check_wrong("http=loud", "\"loud\" is not a level; use error, warn, info or debug");
    check_wrong("http", "\"http\" is not AREA=LEVEL");
}

static void areas_have_their_own(void **state)
{
    enum log_level levels[LOG_AREA_COUNT];
    struct errctx ec;

    (void)state;
    assert_int_equal(log_parse_levels("dispatch=debug", LOG_ERROR, levels, &ec), ERR_OK);
    log_set_levels(levels);
    assert_true(log_is_on(LOG_AREA_DISPATCH, LOG_DEBUG));
    assert_false(log_is_on(LOG_AREA_SCHEDULE, LOG_WARN));
    log_set_level(LOG_INFO);
    log_get_levels(levels);
    assert_int_equal(levels[LOG_AREA_DISPATCH], LOG_INFO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_become_members),   cmocka_unit_test(what_is_no_list_is_a_message),
        cmocka_unit_test(quoted_texts_come_back), cmocka_unit_test(any_line_is_json),
        cmocka_unit_test(levels_of_areas),        cmocka_unit_test(areas_have_their_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

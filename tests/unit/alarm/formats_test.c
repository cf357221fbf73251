/* SPDX-License-Identifier: MIT */
/* What each kind of webhook is sent, signed and told. The signatures were computed by another program. */
#include "test.h"

#include "alarm/formats.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOW_MS INT64_C(1700000000123)

static struct message plain = {.event = ALARM_EVENT_FAILED,
                               .title = "Job failed: a \"b\"",
                               .text = "x & <y>\n<at user_id=\"all\">z</at> <AT> *bold*",
                               .html = "",
                               .job_id = 7,
                               .log_id = 8,
                               .count = 3,
                               .code = 500,
                               .job_name = "a \"b\"",
                               .group_name = "g",
                               .app_name = "app",
                               .reason = "r",
                               .time = "2026-01-01 00:00:00",
                               .node = "n",
                               .link = ""};
static struct message *messages[] = {&plain, &plain, &plain};

static const struct {
    enum channel_kind kind;
    const char *secret;
    size_t count;
    const char *query;
    const char *header;
    const char *body;
} rows[] = {
    {CHANNEL_DINGTALK, "", 1, "", "",
     "{\"msgtype\":\"text\",\"text\":{\"content\":\"Job failed: a \\\"b\\\"\\u000ax & <y>\\u000a<at "
     "user_id=\\\"all\\\">z</at> "
     "<AT> *bold*\"}}"},
    {CHANNEL_DINGTALK, "SECabc", 3, "timestamp=1700000000123&sign=IqXBU%2FaLfwMA3S%2FtDcfRmHx5vWHw9Y1aOgFLBr1Ti9w%3D",
     "",
     "{\"msgtype\":\"text\",\"text\":{\"content\":\"3 alarms:\\u000aJob failed: a \\\"b\\\"\\u000aJob failed: a "
     "\\\"b\\\"\\u000a"
     "Job failed: a \\\"b\\\"\\u000a\"}}"},
    {CHANNEL_WECOM, "", 1, "", "",
     "{\"msgtype\":\"text\",\"text\":{\"content\":\"Job failed: a \\\"b\\\"\\u000ax & <y>\\u000a<at "
     "user_id=\\\"all\\\">z</at> "
     "<AT> *bold*\"}}"},
    {CHANNEL_FEISHU, "", 1, "", "",
     "{\"msg_type\":\"text\",\"content\":{\"text\":\"Job failed: a \\\"b\\\"\\u000ax & <y>\\u000a\xef\xbc\x9c"
     "at user_id=\\\"all\\\">z\xef\xbc\x9c/at> \xef\xbc\x9c"
     "AT> *bold*\"}}"},
    {CHANNEL_FEISHU, "fs", 2, "", "",
     "{\"timestamp\":\"1700000000\",\"sign\":\"KnO01LyLeUz2sHjT1ogyJOBrkgWI59ibq0SodIhTzOk=\",\"msg_type\":\"text\","
     "\"content\":{\"text\":\"2 alarms:\\u000aJob failed: a \\\"b\\\"\\u000aJob failed: a \\\"b\\\"\\u000a\"}}"},
    {CHANNEL_SLACK, "", 1, "", "",
     "{\"mrkdwn\":false,\"text\":\"Job failed: a \\\"b\\\"\\u000ax &amp; &lt;y&gt;\\u000a&lt;at "
     "user_id=\\\"all\\\"&gt;z&lt;/at"
     "&gt; &lt;AT&gt; *bold*\"}"},
    {CHANNEL_JSON, "", 1, "", "",
     "{\"event\":\"job_failed\",\"title\":\"Job failed: a \\\"b\\\"\",\"text\":\"x & <y>\\u000a<at "
     "user_id=\\\"all\\\">z</at>"
     " <AT> *bold*\",\"sentMs\":1700000000123,\"node\":\"n\",\"app\":\"app\",\"jobId\":7,\"logId\":8,\"code\":500,"
     "\"count\":3,\"job\":\"a \\\"b\\\"\",\"group\":\"g\",\"reason\":\"r\",\"time\":\"2026-01-01 00:00:00\","
     "\"link\":\"\"}"},
};

static void check_all_were_seen(const bool seen[CHANNEL_KIND_COUNT])
{
    for (int k = CHANNEL_MAIL + 1; k < CHANNEL_KIND_COUNT; k++)
        if (!seen[k])
            fail_msg("no row for %s", channel_limits[k].name);
}

static void each_kind_has_its_format(void **state)
{
    bool seen[CHANNEL_KIND_COUNT] = {false};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct post post = {0};
        format_put(rows[i].kind, rows[i].secret, messages, rows[i].count, NOW_MS, &post);
        assert_false(post_failed(&post));
        assert_string_equal(post.body.data, rows[i].body);
        assert_string_equal(post.query.data, rows[i].query);
        assert_string_equal(post.header.data, rows[i].header);
        seen[rows[i].kind] = true;
        post_fini(&post);
    }
    check_all_were_seen(seen);
}

static void json_is_signed_in_a_header(void **state)
{
    struct post post = {0};
    unsigned char digest[32];
    char expected[100] = "X-Shardwheel-Signature: sha256=";

    (void)state;
    format_put(CHANNEL_JSON, "key", messages, 1, NOW_MS, &post);
    hmac_sha256("key", post.body.data, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        sprintf(expected + strlen(expected), "%02x", digest[i]);
    assert_string_equal(post.header.data, expected);
    post_fini(&post);
}

/* Whatever a text holds: it parses, and is no longer than its receiver takes. */
static void hostile_texts_end_as_text(void **state)
{
    static const size_t body_max[CHANNEL_KIND_COUNT] = {[CHANNEL_JSON] = 100000,
                                                        [CHANNEL_DINGTALK] = 20000,
                                                        [CHANNEL_WECOM] = 20000,
                                                        [CHANNEL_FEISHU] = 20000,
                                                        [CHANNEL_SLACK] = 40000};
    static const char *const pieces[] = {"\\", "\"", "\x01", "\xff", "\xf0\x9f\x98\x80", "&", "<at>", "\n"};

    (void)state;
    for (size_t k = CHANNEL_JSON; k < CHANNEL_KIND_COUNT; k++) {
        for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
            struct message m = plain;
            struct post post = {0};
            struct buf text = {0};
            while (text.len < 16000)
                buf_puts(&text, pieces[i]);
            m.text = text.data;
            struct message *one = &m;
            format_put((enum channel_kind)k, "s", &one, 1, NOW_MS, &post);
            assert_false(post_failed(&post));
            assert_true(post.body.len <= body_max[k]);
            struct json_object *root = json_tokener_parse(post.body.data), *content = NULL;
            assert_non_null(root);
            if (k == CHANNEL_WECOM) {
                json_object_object_get_ex(root, "text", &content);
                json_object_object_get_ex(content, "content", &content);
                assert_true(json_object_get_string_len(content) <= 2048);
            }
            json_object_put(root);
            post_fini(&post);
            buf_fini(&text);
        }
    }
}

static void answers_are_understood(void **state)
{
    static const struct {
        enum channel_kind kind;
        int status;
        const char *answer;
        enum client_outcome outcome;
        const char *why;
    } answers[] = {
        {CHANNEL_DINGTALK, 200, "{\"errcode\":0,\"errmsg\":\"ok\"}", CLIENT_SENT, NULL},
        {CHANNEL_DINGTALK, 200, "{\"errcode\":310000,\"errmsg\":\"sign not match\"}", CLIENT_REFUSED,
         "code 310000: sign not match"},
        {CHANNEL_DINGTALK, 200, "{\"errcode\":130101,\"errmsg\":\"too fast\"}", CLIENT_AWAY, "code 130101: too fast"},
        {CHANNEL_DINGTALK, 200, "<html>", CLIENT_REFUSED, "no code"},
        {CHANNEL_DINGTALK, 200, "", CLIENT_REFUSED, "no code"},
        {CHANNEL_WECOM, 200, "{\"errcode\":0}", CLIENT_SENT, NULL},
        {CHANNEL_WECOM, 200, "{\"errcode\":93000,\"errmsg\":\"invalid webhook url\"}", CLIENT_REFUSED, "93000"},
        {CHANNEL_WECOM, 200, "{\"errcode\":45009}", CLIENT_AWAY, "45009"},
        {CHANNEL_FEISHU, 200, "{\"code\":0,\"msg\":\"success\"}", CLIENT_SENT, NULL},
        {CHANNEL_FEISHU, 200, "{\"StatusCode\":0,\"StatusMessage\":\"success\"}", CLIENT_SENT, NULL},
        {CHANNEL_FEISHU, 200, "{\"code\":19021,\"msg\":\"sign match fail\"}", CLIENT_REFUSED, "19021: sign match fail"},
        {CHANNEL_FEISHU, 400, "{\"code\":9499}", CLIENT_REFUSED, "HTTP status 400"},
        {CHANNEL_FEISHU, 200, "[1]", CLIENT_REFUSED, "no code"},
        {CHANNEL_SLACK, 200, "ok", CLIENT_SENT, NULL},
        {CHANNEL_SLACK, 404, "no_team", CLIENT_REFUSED, "HTTP status 404: no_team"},
        {CHANNEL_SLACK, 429, "", CLIENT_AWAY, "429"},
        {CHANNEL_SLACK, 302, "", CLIENT_REFUSED, "302"},
        {CHANNEL_JSON, 204, "", CLIENT_SENT, NULL},
        {CHANNEL_JSON, 503, "later", CLIENT_AWAY, "HTTP status 503: later"},
        {CHANNEL_JSON, 408, "", CLIENT_AWAY, "408"},
    };
    bool seen[CHANNEL_KIND_COUNT] = {false};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        struct buf answer = {0};
        struct errctx ec;
        seen[answers[i].kind] = true;
        errctx_clear(&ec);
        buf_puts(&answer, answers[i].answer);
        assert_int_equal(format_judge(answers[i].kind, answers[i].status, &answer, &ec), answers[i].outcome);
        if (answers[i].why)
            assert_non_null(strstr(ec.text, answers[i].why));
        buf_fini(&answer);
    }
    check_all_were_seen(seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_has_its_format),
        cmocka_unit_test(json_is_signed_in_a_header),
        cmocka_unit_test(hostile_texts_end_as_text),
        cmocka_unit_test(answers_are_understood),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

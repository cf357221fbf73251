/* SPDX-License-Identifier: MIT */
/* What is sent, where to, and after which pauses. */
#include "test.h"

#include "events/post.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void pauses_double_up_to_ten_minutes(void **state)
{
    static const int64_t expected_s[] = {5, 10, 20, 40, 80, 160, 320, 600, 600};
    int64_t total_s = 0;

    (void)state;
    for (int i = 0; i < (int)ARRAY_LEN(expected_s); i++)
        assert_int_equal(events_find_pause_ms(i + 1), expected_s[i] * 1000);
    assert_int_equal(events_find_pause_ms(0), 5000);
    assert_int_equal(events_find_pause_ms(INT32_MAX), 600000);
    for (int i = 1; total_s < 3600; i++) /* an outage of an hour ends within ten minutes */
        total_s += events_find_pause_ms(i) / 1000;
    assert_true(total_s <= 3600 + 600);
}

static void what_must_not_be_called_is_refused(void **state)
{
    static const char *const good[] = {"http://127.0.0.1/", "https://hooks.example.org", "http://[::1]:80/x?y=%20z#f",
                                       "http://10.0.0.1:9999/a,b"};
    static const char *const bad[] = {"",
                                      "http://",
                                      "http:///x",
                                      "https://?x",
                                      "ftp://host/",
                                      "HTTP//host",
                                      "host/path",
                                      "http://u:p@host/",
                                      "http://host/a b",
                                      "http://host/\r\nX: y",
                                      "http://host/\"",
                                      "http://169.254.169.254/latest",
                                      "http://0.0.0.0/",
                                      "http://a,b/"};
    struct errctx why;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        if (events_check_url(good[i], &why))
            fail_msg("%s: %s", good[i], why.text);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (events_check_url(bad[i], &why) != ERR_INPUT)
            fail_msg("%s is taken", bad[i]);
        if (bad[i][0])
            assert_null(strstr(why.text, bad[i]));
    }
}

static struct json_object *body_of(const struct hook_event *event)
{
    struct buf body = {0};

    events_put_body(&body, event);
    assert_false(buf_failed(&body));
    struct json_object *root = json_tokener_parse(body.data);
    if (!root)
        fail_msg("no JSON: %s", body.data);
    buf_fini(&body);
    return root;
}

static struct hook_event make_event(enum hook_kind kind)
{
    return (struct hook_event){.id = 5,
                               .kind = (int)kind,
                               .line = 7,
                               .made_ms = 1000,
                               .job_name = "a \"b\"\n<c>",
                               .app_name = "app",
                               .address = "",
                               .message = "",
                               .who = "ann",
                               .action = "job.update",
                               .audit_name = "before",
                               .flow_name = "nightly",
                               .flow_message = "why"};
}

static const char *text_at(struct json_object *root, const char *object, const char *name)
{
    struct json_object *o = json_object_object_get(root, object);

    return json_object_get_string(json_object_object_get(o, name));
}

static void bodies_are_json_whatever_is_in_them(void **state)
{
    struct hook_event event = make_event(HOOK_RUN_ENDED);
    char *large = calloc(1, 60001);

    (void)state;
    memset(large, '"', 60000);
    event.log_id = 815;
    event.code = 500;
    struct json_object *root = body_of(&event); /* its row of the log is gone */
    assert_string_equal(json_object_get_string(json_object_object_get(root, "event")), "run_ended");
    assert_string_equal(text_at(root, "job", "name"), event.job_name);
    assert_string_equal(text_at(root, "run", "ok"), "false");
    assert_null(text_at(root, "run", "message"));
    json_object_put(root);

    event.has_run = true;
    event.message = large;
    event.code = 200;
    event.retries = 3;
    event.retries_left = 1;
    root = body_of(&event);
    assert_string_equal(text_at(root, "run", "ok"), "true");
    assert_string_equal(text_at(root, "run", "attempt"), "3");
    assert_null(text_at(root, "run", "endedMs"));
    assert_true(strlen(text_at(root, "run", "message")) <= EVENTS_MESSAGE_MAX + 3);
    json_object_put(root);

    event = make_event(HOOK_JOB_CHANGED);
    event.job_name = "";
    event.before = "{\"name\":\"x\"}";
    root = body_of(&event);
    assert_string_equal(text_at(root, "job", "name"), "before");
    assert_string_equal(text_at(root, "change", "before"), "{ \"name\": \"x\" }");
    assert_null(text_at(root, "change", "after"));
    json_object_put(root);

    event = make_event(HOOK_FLOW_ENDED);
    event.line = -3;
    event.flow_state = 3;
    root = body_of(&event);
    assert_string_equal(text_at(root, "flow", "id"), "3");
    assert_string_equal(text_at(root, "flowRun", "state"), "failed");
    json_object_put(root);
    free(large);
}

static void what_has_a_secret_is_signed(void **state)
{
    struct event_post post = {0};
    char digest[65], line[120];

    (void)state;
    buf_puts(&post.body, "{}");
    event_post_put_headers(&post, "test", 12, "");
    assert_null(strstr(post.headers.data, "Signature"));
    assert_non_null(strstr(post.headers.data, "X-Shardwheel-Event-Id: 12\r\n"));
    buf_clear(&post.headers);
    event_post_put_headers(&post, "test", 12, "secret");
    hmac_sha256_hex("secret", "{}", digest);
    assert_string_equal(digest, "77325902caca812dc259733aacd046b73817372c777b8d95b402647474516e13");
    snprintf(line, sizeof line, "X-Shardwheel-Signature: sha256=%s\r\n", digest);
    assert_non_null(strstr(post.headers.data, line));
    event_post_fini(&post);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pauses_double_up_to_ten_minutes),
        cmocka_unit_test(what_must_not_be_called_is_refused),
        cmocka_unit_test(bodies_are_json_whatever_is_in_them),
        cmocka_unit_test(what_has_a_secret_is_signed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "dispatch/fake_parts.h"
#include "shardwheel/text.h"
#include "shardwheel/dispatch.h"

/* ---- text -------------------------------------------------------------------------------------------------------- */

static void assert_text(bool html, const char *text, size_t len, size_t max, const char *expected)
{
    struct buf b = {0};

    buf_puts(&b, "");
    if (html)
        text_put_html(&b, text, strlen(text), max);
    else
        text_put_utf8(&b, text, len, max);
    assert_string_equal(b.data, expected);
    buf_fini(&b);
}

static void assert_utf8(const char *text, size_t max, const char *expected)
{
    assert_text(false, text, strlen(text), max, expected);
}

static void assert_html(const char *text, size_t max, const char *expected)
{
    assert_text(true, text, 0, max, expected);
}

static void utf8_is_kept_and_the_rest_replaced(void **state)
{
    (void)state;
    assert_utf8("plain <b>\ttext\r\n", 100, "plain <b>\ttext\r\n");
    assert_utf8("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 100, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
#define BAD "\xef\xbf\xbd"
    assert_utf8("a\xff"
                "b",
                100, "a" BAD "b");
    assert_utf8("\xc3", 100, BAD); /* cut off */
    assert_utf8("\xe2\x82"
                "x",
                100, BAD BAD "x");         /* cut off in the middle */
    assert_utf8("\xc0\xaf", 100, BAD BAD); /* too long a form */
    assert_utf8("\xe0\x80\xaf", 100, BAD BAD BAD);
    assert_utf8("\xed\xa0\x80", 100, BAD BAD BAD);         /* a surrogate */
    assert_utf8("\xf4\x90\x80\x80", 100, BAD BAD BAD BAD); /* beyond Unicode */
    assert_utf8("a\x01"
                "b\x1b[31m\x7f",
                100, "a b [31m ");
    assert_text(false, "a\0b", 3, 100, "a b");
}

static void texts_are_cut_between_characters(void **state)
{
    (void)state;
    assert_utf8("abcdef", 6, "abcdef");
    assert_utf8("abcdef", 5, "abcde...");
    assert_utf8("abcdef", 0, "...");
    assert_utf8("", 0, "");
    assert_utf8("ab\xe2\x82\xac"
                "c",
                4, "ab...");
    assert_utf8("ab\xe2\x82\xac"
                "c",
                5, "ab\xe2\x82\xac...");
    assert_html("a<b", 4, "a...");
    assert_html("a<b", 5, "a&lt;...");
}

static void html_is_escaped(void **state)
{
    (void)state;
    assert_html("<script>alert(\"x\" + 'y') && 1</script>", 200,
                "&lt;script&gt;alert(&quot;x&quot; + &#39;y&#39;) &amp;&amp; 1&lt;/script&gt;");
    assert_html("one\r\ntwo\nthree\x01", 200, "one<br>two<br>three ");
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static const char *const two[] = {"http://a:1/", "http://b:1/"};
static const struct registry_group group = {
    .id = 3, .app_name = "app", .access_token = "", .addresses = two, .count = 2};
static struct job_spec job = {.id = 7,
                              .timeout_s = 30,
                              .retry_count = 2,
                              .route = "ROUND",
                              .handler = "demo",
                              .param = "p=<1>",
                              .block = "SERIAL_EXECUTION"};

static struct message_facts facts_of(const struct fire *fire)
{
    return (struct message_facts){.style = {.lang = LANG_EN},
                                  .fire = fire,
                                  .job = &job,
                                  .group = &group,
                                  .node_name = "n1",
                                  .admin_ip = "10.0.0.1",
                                  .address = two[1],
                                  .code = 200,
                                  .from_executor = true};
}

static void assert_message(const struct message_facts *f, const char *expected)
{
    struct buf b = {0};

    dispatch_put_message(&b, f);
    assert_string_equal(b.data, expected);
    buf_fini(&b);
}

#define SETTINGS                                                                                                       \
    "node: n1<br>admin address: 10.0.0.1<br>addresses: automatic [http://a:1/, http://b:1/]<br>route: ROUND"
#define REST "<br>block strategy: SERIAL_EXECUTION<br>timeout: 30<br>retries: 2<br>"
#define TARGET "<br>executor address: http://b:1/<br>handler: demo<br>parameter: p=&lt;1&gt;"

static void each_outcome_has_its_lines(void **state)
{
    struct fire fire = {
        .log_id = 5, .job_id = 7, .due_s = 1700000000, .original_due_s = 1700000000, .shard_total = 1, .job = &job};
    struct message_facts f = facts_of(&fire);

    (void)state;
    assert_message(&f, "trigger type: cron<br>node: n1<br>route: ROUND");
    f.code = 500;
    f.text = "a & b";
    assert_message(&f, "trigger type: cron<br>" SETTINGS REST TARGET
                       "<br>result: refused by the executor<br>code: 500<br>msg: a &amp; b");
    f.from_executor = false;
    f.text = "not sent: too late";
    assert_message(&f, "trigger type: cron<br>" SETTINGS REST TARGET
                       "<br>result: failed<br>code: 500<br>reason: not sent: too late");
    fire.kind = TRIGGER_RETRY;
    assert_message(&f, "trigger type: retry<br>" SETTINGS REST TARGET
                       "<br>result: failed<br>code: 500<br>reason: not sent: too late");
    fire.kind = TRIGGER_MISFIRE;
    fire.original_due_s = 1699999990;
    fire.broadcast = true;
    fire.shard_index = 1;
    fire.shard_total = 2;
    assert_message(&f, "trigger type: misfire<br>due: 2023-11-14T22:13:10Z<br>" SETTINGS " (1/2)" REST TARGET
                       "<br>result: failed<br>code: 500<br>reason: not sent: too late");
}

static void fires_of_equal_settings_have_equal_texts(void **state)
{
    struct fire one = {
        .log_id = 5, .job_id = 7, .due_s = 1700000000, .original_due_s = 1700000000, .shard_total = 1, .job = &job};
    struct fire other = {.log_id = 6,
                         .job_id = 8,
                         .due_s = 1700000001,
                         .original_due_s = 1700000001,
                         .shard = 3,
                         .epoch = 9,
                         .shard_total = 1,
                         .job = &job};
    struct message_facts f = facts_of(&one), g = facts_of(&other);
    struct buf a = {0};

    (void)state;
    dispatch_put_message(&a, &f);
    assert_message(&g, a.data);
    buf_fini(&a);
}

#define SPAN(title) "<br><br><span style=\"color:#00c0ef;\" > >>>>>>>>>>>" title "<<<<<<<<<<< </span><br>"

/* Titles are ours; what scripts may look for is the original's: the order, the colon, the words in English. */
static void the_full_style_is_the_layout_of_3_3(void **state)
{
    static const struct job_spec bare = {.route = "ROUND", .handler = "", .block = "SERIAL_EXECUTION"};
    static const struct registry_group manual = {.id = 3, .app_name = "app", .manual = true};
    struct fire fire = {.due_s = 1700000000, .original_due_s = 1700000000, .shard_total = 1};
    struct message_facts f = facts_of(&fire);

    (void)state;
    f.style.full = true;
    assert_message(&f, "trigger type：cron<br>admin address：10.0.0.1<br>address type：automatic<br>"
                       "addresses：[http://a:1/, http://b:1/]<br>route：ROUND<br>block strategy：SERIAL_EXECUTION<br>"
                       "timeout：30<br>retries：2" SPAN(
                           "trigger run") "executor address：http://b:1/<br>"
                                          "JobHandler：demo<br>parameter：p=&lt;1&gt;<br>result：success");
    f.code = 500;
    f.text = "a & b";
    fire.broadcast = true;
    fire.shard_index = 1;
    fire.shard_total = 2;
    f.job = &bare;
    f.group = &manual;
    f.style.lang = LANG_ZH_CN;
    assert_message(
        &f, "触发类型：定时<br>调度中心地址：10.0.0.1<br>地址来源：手动<br>地址列表：null<br>"
            "路由策略：ROUND(1/2)<br>阻塞处理策略：SERIAL_EXECUTION<br>超时：0<br>剩余重试：0" SPAN(
                "执行") "执行器地址：http://b:1/<br>参数：null<br>结果：error, 执行：<br>address：http://b:1/<br>"
                        "code：500<br>msg：a &amp; b");
    f.text = NULL;
    f.style.lang = LANG_ZH_TC;
    f.group = NULL;
    fire.kind = TRIGGER_MANUAL;
    fire.broadcast = false;
    f.job = &job;
    assert_message(
        &f, "觸發類型：手動<br>調度中心位址：10.0.0.1<br>位址來源：自動<br>位址清單：null<br>"
            "路由策略：ROUND<br>阻塞處理策略：SERIAL_EXECUTION<br>逾時：30<br>剩餘重試：2" SPAN(
                "執行") "執行器位址：http://b:1/<br>JobHandler：demo<br>參數：p=&lt;1&gt;<br>結果：error, 執行：<br>"
                        "address：http://b:1/<br>code：500<br>msg：null");
    f.from_executor = false;
    f.text = "not sent: too late";
    f.style.lang = LANG_EN;
#define HEAD                                                                                                           \
    "trigger type：manual<br>admin address：10.0.0.1<br>address "                                                    \
    "type：automatic<br>addresses：null<br>route：ROUND<br>"                                                        \
    "block strategy：SERIAL_EXECUTION<br>timeout：30<br>retries：2" SPAN("trigger run")
    assert_message(&f, HEAD "executor address：http://b:1/<br>JobHandler：demo<br>parameter：p=&lt;1&gt;<br>"
                            "result：error, not sent: too late");
    f.address = NULL;
    f.text = "no address: nobody";
    assert_message(&f, HEAD "executor address：address route fail, no address: nobody<br>JobHandler：demo<br>"
                            "parameter：p=&lt;1&gt;<br>result：error, Address Router Fail.");
}

static void the_short_style_speaks_the_language_too(void **state)
{
    struct fire fire = {.due_s = 1700000000, .original_due_s = 1700000000, .shard_total = 1, .kind = TRIGGER_API};
    struct message_facts f = facts_of(&fire);

    (void)state;
    f.style.lang = LANG_ZH_CN;
    assert_message(&f, "触发类型: API<br>节点: n1<br>路由策略: ROUND");
}

/* What stands in the row before the fire goes out is what its success would write. */
static void a_success_is_told_as_it_was_written_ahead(void **state)
{
    struct fire planned = {.due_s = 1700000000, .original_due_s = 1700000000};
    struct fire sent = {
        .log_id = 5, .job_id = 7, .due_s = 1700000000, .original_due_s = 1700000000, .shard_total = 1, .job = &job};
    struct message_facts f = facts_of(&sent);
    struct buf ahead = {0}, longest = {0};

    (void)state;
    struct message_facts p = facts_of(&planned);
    p.address = NULL;
    p.group = NULL;
    dispatch_put_message(&ahead, &p);
    assert_message(&f, ahead.data);
    const struct job_spec plain = {.route = "SHARDING_BROADCAST"};
    p.job = &plain;
    p.node_name = "node-of-usual-length.example";
    dispatch_put_message(&longest, &p);
    assert_in_range(longest.len, 1, 119); /* it is written for every fire */
    buf_fini(&ahead);
    buf_fini(&longest);
}

static void what_is_missing_is_named(void **state)
{
    struct job_spec bare = {.id = 7};
    struct fire fire = {.job_id = 7, .shard_total = 1, .job = &bare};
    struct message_facts f = {
        .style = {.lang = LANG_EN}, .fire = &fire, .job = &bare, .node_name = "", .admin_ip = "", .code = 500};

    (void)state;
    assert_message(&f,
                   "trigger type: cron<br>node: <br>admin address: <br>addresses: the executor group does not exist<br>"
                   "route: <br>block strategy: <br>timeout: 0<br>retries: 0<br><br>executor address: none<br>"
                   "handler: <br>result: failed<br>code: 500<br>reason: ");
}

static void messages_are_bounded(void **state)
{
    enum { N = 3000, LONG = 200000 };
    static char texts[N][300];
    static const char *many[N];
    char *text = malloc(LONG + 1);
    struct job_spec huge = {.id = 7, .route = text, .handler = text, .param = text, .block = text};
    struct fire fire = {.job_id = 7, .shard_total = 1, .job = &huge};
    struct registry_group big = {.id = 3, .app_name = text, .manual = true, .addresses = many, .count = N};
    struct message_facts f = {.style = {.lang = LANG_EN},
                              .fire = &fire,
                              .job = &huge,
                              .group = &big,
                              .node_name = text,
                              .admin_ip = text,
                              .address = text,
                              .code = 500,
                              .from_executor = true,
                              .text = text};
    struct buf b = {0};

    (void)state;
    memset(text, '"', LONG); /* each becomes six bytes */
    text[LONG] = '\0';
    for (int i = 0; i < N; i++) {
        snprintf(texts[i], sizeof texts[i], "http://%0200d:1/", i);
        many[i] = texts[i];
    }
    dispatch_put_message(&b, &f);
    assert_in_range(b.len, 40000, DISPATCH_MESSAGE_MAX);
    assert_non_null(strstr(b.data, "addresses: manual [http://"));
    assert_non_null(strstr(b.data, " more]<br>route: &quot;"));
    buf_clear(&b);
    f.style.full = true;
    dispatch_put_message(&b, &f);
    assert_in_range(b.len, 40000, DISPATCH_MESSAGE_MAX);
    buf_fini(&b);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utf8_is_kept_and_the_rest_replaced),
        cmocka_unit_test(texts_are_cut_between_characters),
        cmocka_unit_test(html_is_escaped),
        cmocka_unit_test(each_outcome_has_its_lines),
        cmocka_unit_test(fires_of_equal_settings_have_equal_texts),
        cmocka_unit_test(a_success_is_told_as_it_was_written_ahead),
        cmocka_unit_test(the_full_style_is_the_layout_of_3_3),
        cmocka_unit_test(the_short_style_speaks_the_language_too),
        cmocka_unit_test(what_is_missing_is_named),
        cmocka_unit_test(messages_are_bounded),
    };
    return cmocka_run_group_tests_name("dispatch.message", tests, NULL, NULL);
}

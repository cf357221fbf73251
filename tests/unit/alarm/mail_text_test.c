/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "alarm/mail_text.h"
#include "shardwheel/markup.h"
#include "alarm/message.h"

#include <stdlib.h>
#include <string.h>

static void check_list(const char *text, const char *expected, size_t refused)
{
    struct mail_list list;
    struct errctx ec;
    struct buf joined = {0};

    assert_int_equal(mail_list_parse(text, &list, &ec), ERR_OK);
    for (size_t i = 0; i < list.count; i++)
        buf_printf(&joined, "%s;", list.addresses[i]);
    assert_string_equal(joined.data ? joined.data : "", expected);
    assert_int_equal(list.refused, refused);
    buf_fini(&joined);
    mail_list_fini(&list);
}

static void lists_are_taken_apart(void **state)
{
    (void)state;
    check_list("", "", 0);
    check_list(" , ,,\t", "", 0);
    check_list("a@b", "a@b;", 0);
    check_list(" a@b ,c@d,a@b,\te@f\t,", "a@b;c@d;e@f;", 0);
    check_list("A@b,a@b", "A@b;a@b;", 0);
    check_list("nobody,a@b,x y@z", "a@b;", 2);
    check_list("Some Body <a@b>,<c@d>,<>, <e@f> x", "a@b;c@d;", 2);
    check_list("Some\r\nBcc: x@y <a@b>,c@d\r\nBcc: z@z", "", 2);
}

/* ---- the text ------------------------------------------------------------------------------------------------ */

static int digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = strchr(digits, c);

    assert_non_null(at);
    return (int)(at - digits);
}

static void put_decoded(struct buf *out, const char *text, const char *end)
{
    while (text < end) {
        if (*text == '\r' || *text == '\n') {
            text++;
            continue;
        }
        assert_true(end - text >= 4);
        uint32_t v = (uint32_t)digit(text[0]) << 18 | (uint32_t)digit(text[1]) << 12;
        v |= text[2] == '=' ? 0 : (uint32_t)digit(text[2]) << 6;
        v |= text[3] == '=' ? 0 : (uint32_t)digit(text[3]);
        buf_putc(out, (char)(v >> 16));
        if (text[2] != '=')
            buf_putc(out, (char)(v >> 8 & 255));
        if (text[3] != '=')
            buf_putc(out, (char)(v & 255));
        text += 4;
    }
}

struct parts {
    struct buf whole;
    struct buf subject;
    struct buf body;
};

static void make(const struct alarm_facts *alarm, struct parts *out)
{
    struct message *m = message_create_job(&(struct wording){"", "", "", "n<1>"}, ALARM_EVENT_FAILED, alarm, 1);

    assert_non_null(m);
    *out = (struct parts){0};
    mail_put(&out->whole, &(struct mail_facts){.subject = m->title,
                                               .html = m->html,
                                               .log_id = alarm->log_id,
                                               .from = "me@example.org",
                                               .to = "you@example.org",
                                               .unique = "ab12",
                                               .now_s = 1700000000});
    message_unref(m);
    assert_false(buf_failed(&out->whole));
    const char *blank = strstr(out->whole.data, "\r\n\r\n");
    assert_non_null(blank);
    put_decoded(&out->body, blank + 4, out->whole.data + out->whole.len);
    for (const char *p = out->whole.data; (p = strstr(p, "=?UTF-8?B?")) != NULL && p < blank;) {
        const char *end = strstr(p, "?=");
        assert_non_null(end);
        assert_true(end + 2 - p <= 75);
        put_decoded(&out->subject, p + 10, end);
        p = end;
    }
    for (const char *line = out->whole.data; *line;) {
        const char *end = strstr(line, "\r\n");
        assert_non_null(end);
        assert_true(end - line <= 78 + 2);
        for (const char *p = line; p < end; p++)
            assert_true((unsigned char)*p >= ' ' && (unsigned char)*p < 0x7f);
        line = end + 2;
    }
}

static void drop(struct parts *p)
{
    buf_fini(&p->whole);
    buf_fini(&p->subject);
    buf_fini(&p->body);
}

static void a_mail_says_what_failed(void **state)
{
    struct parts p;
    struct alarm_facts a = {.log_id = 12,
                            .job_id = 1234,
                            .job_exists = true,
                            .job_name = "\xe6\x97\xa5\xe6\x8a\xa5 \"x\"",
                            .group_name = "G & <H>",
                            .trigger_code = 500,
                            .handle_code = 0,
                            .trigger_msg = "<!--sw:p:1:2-->trigger type: cron<br>msg: &lt;a&gt; <script>\nend<br><br>"
                                           "<span style=\"color:#00c0ef;\">retry: sent again as log 13</span>",
                            .handle_msg = "not shown"};

    (void)state;
    make(&a, &p);
    assert_string_equal(p.subject.data, "Job failed: \xe6\x97\xa5\xe6\x8a\xa5 \"x\" (log 12)");
    assert_non_null(strstr(p.whole.data, "From: shardwheel <me@example.org>\r\nTo: <you@example.org>\r\nSubject: "));
    assert_non_null(strstr(p.whole.data, "\r\nDate: Tue, 14 Nov 2023 22:13:20 +0000\r\n"));
    assert_non_null(strstr(p.whole.data, "\r\nMessage-ID: <ab12.12@example.org>\r\n"));
    assert_non_null(strstr(p.body.data, "<td>G &amp; &lt;H&gt;</td>"));
    assert_non_null(strstr(p.body.data, "<td>1234</td>"));
    assert_non_null(strstr(p.body.data, "<td>\xe6\x97\xa5\xe6\x8a\xa5 &quot;x&quot;</td>"));
    assert_non_null(strstr(p.body.data, "<td>trigger type: cron<br>msg: &lt;a&gt; &lt;script&gt;<br>end<br><br>"
                                        "retry: sent again as log 13</td>"));
    assert_null(strstr(p.body.data, "not shown"));
    assert_non_null(strstr(p.body.data, "n&lt;1&gt;"));
    drop(&p);
    a.trigger_code = 200;
    a.handle_code = 502;
    a.handle_msg = "<img src=x onerror='y'> & \x01 <!--sw: no end";
    a.group_name = NULL;
    make(&a, &p);
    assert_null(strstr(p.body.data, "trigger type"));
    assert_non_null(strstr(p.body.data, "&lt;img src=x onerror=&#39;y&#39;&gt; &amp;   &lt;!--sw: no end"));
    drop(&p);
}

/* Whatever a job is called, headers stay ours and lines short. */
static void names_cannot_make_headers(void **state)
{
    static const char *const names[] = {"x\r\nBcc: evil@example.org\r\n\r\nbody", "?= =?x", "", "\xff\xfe\xff\xfe"};
    struct parts p;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct alarm_facts a = {
            .log_id = 1, .job_name = names[i], .trigger_msg = "", .handle_msg = "", .trigger_code = 500};
        make(&a, &p);
        const char *blank = strstr(p.whole.data, "\r\n\r\n");
        const char *bcc = strstr(p.whole.data, "Bcc");
        assert_true(!bcc || bcc > blank);
        drop(&p);
    }
    char longest[256 * 4 + 1];
    for (size_t i = 0; i + 4 < sizeof longest; i += 4)
        memcpy(longest + i, "\xf0\x9f\x98\x80", 5);
    struct alarm_facts a = {.log_id = 1, .job_name = longest, .trigger_msg = "", .handle_msg = "", .trigger_code = 500};
    make(&a, &p);
    /* Words end between characters, and so does the cut. */
    assert_int_equal(p.subject.len, strlen("Job failed:  (log 1)") + 120 + strlen("..."));
    /* RFC 2047: 76 characters for a line with an encoded word, "Subject: " among them. */
    const char *line = strstr(p.whole.data, "Subject: ");
    for (; strstr(line, "=?") == strchr(line, '='); line = strstr(line, "\r\n") + 2)
        assert_true(strcspn(line, "\r") <= 76);
    drop(&p);
}

static void the_reason_is_found_in_every_form(void **state)
{
    static const struct {
        int trigger_code;
        const char *message, *reason;
    } rows[] = {
        {500, "<!--sw:p:1:1-->trigger type: cron<br>node: n<br><br>handler: h<br>code: 500<br>reason: no &lt;way&gt;",
         "no <way>"},
        {500,
         "trigger type: cron<br>result: refused<br>code: 500<br>msg: busy<br><br><span style=\"color:#00c0ef;\">"
         "retry: sent again as log 3</span>",
         "busy"},
        {500,
         "\xe8\xa7\xa6<br>msg\xef\xbc\x9a"
         "busy",
         "busy"},
        {500, "<!--sw:p:1:1-->delivery unknown: gone", "delivery unknown: gone"},
        {500, "", ""},
        {200, "line one\nreason: two", "line one\nreason: two"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct alarm_facts a = {.job_name = "j",
                                .app_name = "",
                                .time = "",
                                .trigger_code = rows[i].trigger_code,
                                .handle_code = 500,
                                .trigger_msg = rows[i].trigger_code == 200 ? "sent" : rows[i].message,
                                .handle_msg = rows[i].trigger_code == 200 ? rows[i].message : ""};
        struct message *m = message_create_job(&(struct wording){"", "", "", "n"}, ALARM_EVENT_FAILED, &a, 1);
        assert_non_null(m);
        assert_string_equal(m->reason, rows[i].reason);
        message_unref(m);
    }
}

/* The end is looked for nearby: else a text with many beginnings would be read again for each of them. */
static void a_mark_has_its_end_nearby(void **state)
{
    struct buf text = {0}, out = {0};

    (void)state;
    markup_put_html(&out, "a<!--sw:p:1:2-->b<!--sw:c");
    assert_string_equal(out.data, "ab&lt;!--sw:c");
    buf_puts(&text, "<!--sw:");
    for (int i = 0; i < 1000; i++)
        buf_putc(&text, 'x');
    buf_puts(&text, "-->");
    buf_clear(&out);
    markup_put_html(&out, text.data);
    assert_memory_equal(out.data, "&lt;!--sw:xxx", 13);
    assert_int_equal(out.len, text.len + 2 * (sizeof "&lt;" - 2));
    buf_fini(&out);
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mark_has_its_end_nearby),         cmocka_unit_test(lists_are_taken_apart),
        cmocka_unit_test(a_mail_says_what_failed),           cmocka_unit_test(names_cannot_make_headers),
        cmocka_unit_test(the_reason_is_found_in_every_form),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

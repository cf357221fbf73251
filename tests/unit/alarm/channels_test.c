/* SPDX-License-Identifier: MIT */
/* shardwheel.alarm.channels, and the templates. */
#include "test.h"

#include "alarm/channels.h"
#include "alarm/receiver.h"
#include "alarm/template.h"
#include "shardwheel/store/channel.h"

#include <string.h>

static void a_list_is_taken_apart(void **state)
{
    struct channel_list list;
    struct errctx ec;

    (void)state;
    assert_int_equal(channels_parse("", &list, &ec), ERR_OK);
    assert_int_equal(list.count, 0);
    channels_fini(&list);
    assert_int_equal(channels_parse("  dingtalk=https://d/?a=b secret=S=x\n\tgroups=app-a,,app-b,\n mail=a@b.c,d@e.f  "
                                    "dingtalk=http://d/ name=second json=https://j/",
                                    &list, &ec),
                     ERR_OK);
    assert_int_equal(list.count, 4);
    assert_int_equal(list.items[0].kind, CHANNEL_DINGTALK);
    assert_string_equal(list.items[0].target, "https://d/?a=b");
    assert_string_equal(list.items[0].secret, "S=x");
    assert_string_equal(list.items[0].name, "dingtalk");
    assert_int_equal(list.items[0].group_count, 2);
    assert_true(channel_serves(&list.items[0], "app-b"));
    assert_false(channel_serves(&list.items[0], "app"));
    assert_false(channel_serves(&list.items[0], NULL));
    assert_int_equal(list.items[1].kind, CHANNEL_MAIL);
    assert_true(channel_serves(&list.items[1], NULL));
    assert_string_equal(list.items[2].name, "second");
    channels_fini(&list);
    assert_int_equal(channels_parse("slack=https://s/ slack=https://s/2", &list, &ec), ERR_OK);
    assert_string_equal(list.items[1].name, "slack-2");
    channels_fini(&list);
}

static void mistakes_are_told_without_secrets(void **state)
{
    static const char *const wrong[][2] = {
        {"slack", "word 1: expected KIND=TARGET"},
        {"slack=", "word 1: expected KIND=TARGET"},
        {"teams=https://SECRET/", "word 1: expected mail="},
        {"slack=SECRET", "word 1: a URL"},
        {"slack=ftp://SECRET", "word 1: a URL"},
        {"mail=SECRET", "word 1: mail addresses"},
        {"mail=,", "word 1: mail addresses"},
        {"secret=SECRET", "word 1: there is no channel before it"},
        {"slack=https://s/ secret=SECRET", "word 2: secret is only for"},
        {"wecom=https://s/ secret=SECRET", "word 2: secret is only for"},
        {"slack=https://s/ groups=a groups=b", "word 3: this channel has groups"},
        {"slack=https://s/ name=a\"b", "word 2: a name has"},
        {"slack=https://s/ name=x json=https://s/ name=x", "two channels are named x"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct channel_list list;
        struct errctx ec;
        errctx_clear(&ec);
        assert_int_equal(channels_parse(wrong[i][0], &list, &ec), ERR_INPUT);
        assert_non_null(strstr(ec.text, wrong[i][1]));
        assert_null(strstr(ec.text, "SECRET"));
    }
    struct buf many = {0};
    struct channel_list list;
    struct errctx ec;
    for (int i = 0; i <= CHANNELS_MAX; i++)
        buf_puts(&many, "json=https://j/ ");
    assert_int_equal(channels_parse(many.data, &list, &ec), ERR_INPUT);
    assert_non_null(strstr(ec.text, "word 33: this is channel 33; at most 32 are allowed"));
    buf_fini(&many);
}

static void placeholders_are_filled_in_once(void **state)
{
    static const struct template_values values = {
        .event = "Job failed", .job = "{log}\x01 \xff", .job_id = "7", .count = "3", .reason = "abcdefghijklmnop"};
    static const char *const texts[][2] = {
        {"", ""},
        {"plain }", "plain }"},
        {"{{job}", "{job}"},
        {"{job}/{job_id}/{count}", "{log}  \xef\xbf\xbd/7/3"},
        {"{event}{link}.", "Job failed."},
        {"{reason}", "abcdefghijklm..."},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct buf out = {0};
        struct errctx ec;
        assert_int_equal(template_check(texts[i][0], &ec), ERR_OK);
        buf_puts(&out, "");
        template_put(&out, texts[i][0], &values, 13);
        assert_string_equal(out.data, texts[i][1]);
        buf_fini(&out);
    }
}

static void wrong_templates_are_told_with_their_place(void **state)
{
    static const char *const wrong[][2] = {
        {"{jab}", "character 1: unknown placeholder {jab}"},
        {"\xe6\x97\xa5{{ {}", "character 5: unknown placeholder {}"},
        {"ab {job", "character 4: a brace without the other one {job"},
        {"{job{log}}", "character 1: a brace without the other one {job{log}}"},
        {"{JOB}", "character 1: unknown placeholder {JOB}"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct errctx ec;
        assert_int_equal(template_check(wrong[i][0], &ec), ERR_INPUT);
        assert_non_null(strstr(ec.text, wrong[i][1]));
        assert_non_null(strstr(ec.text, "{reason}"));
    }
}

static void one_of_the_console_is_checked_like_one_of_the_settings(void **state)
{
    static const struct {
        struct channel_row row;
        enum err e;
        const char *field;
    } wrong[] = {
        {{.name = "a", .kind = "mail", .target = "a@b.c", .secret = "", .app_names = "", .tags = "", .quiet = ""},
         ERR_INPUT,
         "kind"},
        {{.name = "a", .kind = "teams", .target = "https://t/", .secret = "", .app_names = "", .tags = "", .quiet = ""},
         ERR_INPUT,
         "kind"},
        {{.name = "a b",
          .kind = "slack",
          .target = "https://s/",
          .secret = "",
          .app_names = "",
          .tags = "",
          .quiet = ""},
         ERR_INPUT,
         "name"},
        {{.name = "chat",
          .kind = "slack",
          .target = "https://s/",
          .secret = "",
          .app_names = "",
          .tags = "",
          .quiet = ""},
         ERR_STATE,
         "name"},
        {{.name = "a",
          .kind = "slack",
          .target = "ftp://SECRET",
          .secret = "",
          .app_names = "",
          .tags = "",
          .quiet = ""},
         ERR_INPUT,
         "url"},
        {{.name = "a",
          .kind = "json",
          .target = "https://S name=x",
          .secret = "",
          .app_names = "",
          .tags = "",
          .quiet = ""},
         ERR_INPUT,
         "url"},
        {{.name = "a",
          .kind = "slack",
          .target = "https://s/",
          .secret = "SECRET",
          .app_names = "",
          .tags = "",
          .quiet = ""},
         ERR_INPUT,
         "secret"},
        {{.name = "a",
          .kind = "json",
          .target = "https://s/",
          .secret = "",
          .app_names = "a b",
          .tags = "",
          .quiet = ""},
         ERR_INPUT,
         "groups"},
    };
    const struct channel_row good = {.name = "hook",
                                     .kind = "json",
                                     .target = "https://j/",
                                     .secret = "S",
                                     .app_names = "a,b",
                                     .tags = "",
                                     .quiet = ""};
    struct channel_list list;
    const char *field;
    struct errctx ec;

    (void)state;
    assert_int_equal(channels_parse("slack=https://s/ name=chat", &list, &ec), ERR_OK);
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        field = NULL;
        assert_int_equal(channels_add(&list, &wrong[i].row, &field, &ec), wrong[i].e);
        assert_string_equal(field, wrong[i].field);
        assert_null(strstr(ec.text, "SECRET"));
        assert_int_equal(list.count, 1);
    }
    assert_int_equal(channels_add(&list, &good, &field, &ec), ERR_OK);
    assert_int_equal(list.count, 2);
    assert_true(list.items[1].guarded);
    assert_false(list.items[0].guarded);
    assert_true(channel_serves(&list.items[1], "b"));
    assert_false(channel_serves(&list.items[1], "c"));
    channels_fini(&list);
}

static void pauses_grow_to_a_bound(void **state)
{
    static const int64_t pauses_ms[] = {0, 2000, 10000, 30000, 30000, 30000};

    (void)state;
    for (int i = 0; i < (int)ARRAY_LEN(pauses_ms); i++)
        assert_int_equal(receiver_find_pause_ms(i), pauses_ms[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_is_taken_apart),
        cmocka_unit_test(mistakes_are_told_without_secrets),
        cmocka_unit_test(placeholders_are_filled_in_once),
        cmocka_unit_test(wrong_templates_are_told_with_their_place),
        cmocka_unit_test(pauses_grow_to_a_bound),
        cmocka_unit_test(one_of_the_console_is_checked_like_one_of_the_settings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

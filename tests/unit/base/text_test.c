/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "shardwheel/base.h"
#include "shardwheel/counters.h"
#include "shardwheel/text.h"

#include <stdlib.h>
#include <string.h>

static void errors_wrap_from_the_inside_out(void **state)
{
    struct errctx ec;

    (void)state;
    errctx_clear(&ec);
    assert_int_equal(err_set(&ec, ERR_LOST, "connect to %s", "db"), ERR_LOST);
    assert_int_equal(err_wrap(&ec, ERR_LOST, "load shard %d", 3), ERR_LOST);
    assert_string_equal(ec.text, "load shard 3: connect to db");
    errctx_clear(&ec);
    assert_int_equal(err_wrap(&ec, ERR_BUSY, "outer"), ERR_BUSY);
    assert_string_equal(ec.text, "outer: busy");
    assert_int_equal(err_set(NULL, ERR_IO, "nobody listens"), ERR_IO);
}

static void long_errors_are_cut_and_ended(void **state)
{
    struct errctx ec;
    char text[2000];

    (void)state;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    (void)err_set(&ec, ERR_IO, "%s", text);
    assert_int_equal(strlen(ec.text), sizeof ec.text - 1);
    (void)err_wrap(&ec, ERR_IO, "%s", text);
    assert_int_equal(strlen(ec.text), sizeof ec.text - 1);
}

static void buffers_grow_and_stay_ended(void **state)
{
    struct buf b = {0};
    char *text;

    (void)state;
    for (int i = 0; i < 1000; i++)
        buf_put_int(&b, i % 10);
    assert_int_equal(b.len, 1000);
    assert_int_equal(strlen(b.data), 1000);
    buf_clear(&b);
    static const int64_t numbers[] = {0, 7, -9, 10, 99, -100, 105, 1000, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        buf_put_int(&b, numbers[i]);
        buf_printf(&b, " ");
    }
    buf_putc(&b, '!');
    assert_string_equal(b.data, "0 7 -9 10 99 -100 105 1000 9223372036854775807 -9223372036854775808 !");
    text = buf_take(&b);
    assert_non_null(text);
    assert_null(b.data);
    free(text);
    text = buf_take(&b);
    assert_string_equal(text, "");
    free(text);
}

static void json_strings_are_well_formed(void **state)
{
    struct buf b = {0};

    (void)state;
    buf_put_json(&b, "a\"\\\n\x01 \xc3\xa4 \xf0\x9f\x98\x80");
    assert_string_equal(b.data, "\"a\\\"\\\\\\u000a\\u0001 \xc3\xa4 \xf0\x9f\x98\x80\"");
    buf_clear(&b);
    buf_put_json(&b, "\xff\xc3 \xe2\x82 \xed\xa0\x80 \xf8");
    assert_string_equal(b.data, "\"\\ufffd\\ufffd \\ufffd\\ufffd \\ufffd\\ufffd\\ufffd \\ufffd\"");
    buf_clear(&b);
    buf_put_json(&b, NULL);
    assert_string_equal(b.data, "null");
    buf_fini(&b);
}

static void numbers_are_read_whole(void **state)
{
    static const char *const bad[] = {"", " 1", "1 ", "1x", "x", "+", "-", "9223372036854775808", "101", "-1", NULL};
    int64_t value = 7;

    (void)state;
    assert_true(parse_int("100", 0, 100, &value));
    assert_int_equal(value, 100);
    assert_true(parse_int("+5", 0, 100, &value));
    assert_int_equal(value, 5);
    for (size_t i = 0; bad[i]; i++)
        assert_false(parse_int(bad[i], 0, 100, &value));
    assert_false(parse_int(NULL, 0, 100, &value));
    assert_int_equal(value, 5);
}

static void two_digits_are_a_byte(void **state)
{
    (void)state;
    assert_int_equal(hex_byte("fF7"), 255);
    assert_int_equal(hex_byte("00"), 0);
    assert_int_equal(hex_byte("1"), -1);
    assert_int_equal(hex_byte("g1"), -1);
    assert_int_equal(hex_byte(""), -1);
}

static void control_characters_are_seen(void **state)
{
    (void)state;
    assert_false(text_has_control("a \xc3\xa4~", 5));
    assert_true(text_has_control("a\tb", 3));
    assert_true(text_has_control("a\x7f", 2));
    assert_true(text_has_control("a\0", 2));
    assert_false(text_has_control("a\n", 1));
}

static void texts_share_a_block(void **state)
{
    char block[] = "........", *at = block;

    (void)state;
    assert_int_equal(str_size(NULL), 0);
    assert_int_equal(str_size(""), 1);
    assert_int_equal(str_size("ab"), 3);
    assert_ptr_equal(str_pack(&at, "ab"), block);
    assert_null(str_pack(&at, NULL));
    assert_ptr_equal(str_pack(&at, ""), block + 3);
    assert_ptr_equal(str_pack(&at, "c"), block + 4);
    assert_ptr_equal(at, block + 6);
    assert_memory_equal(block, "ab\0\0c\0..", 9);
}

static void bytes_are_hex_digits(void **state)
{
    char bytes[600], hex[2 * sizeof bytes + 1];
    struct buf text = {0};

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)i;
    hex_write("\xff\x00\x1a", 3, hex);
    assert_string_equal(hex, "ff001a");
    hex_write(bytes, 0, hex);
    assert_string_equal(hex, "");
    hex_write(bytes, sizeof bytes, hex);
    buf_put_hex(&text, bytes, sizeof bytes);
    buf_put_hex(&text, bytes, 0);
    assert_string_equal(text.data, hex);
    assert_int_equal(text.len, strlen(hex));
    buf_fini(&text);
}

static void texts_that_may_be_missing_compare(void **state)
{
    char copy[] = "a";

    (void)state;
    assert_true(str_equal("a", copy));
    assert_true(str_equal(NULL, NULL));
    assert_false(str_equal("a", "ab"));
    assert_false(str_equal("", NULL));
    assert_false(str_equal(NULL, ""));
}

static void secrets_compare(void **state)
{
    (void)state;
    assert_true(str_equal_const_time("", ""));
    assert_true(str_equal_const_time("token", "token"));
    assert_false(str_equal_const_time("token", "Token"));
    assert_false(str_equal_const_time("token", ""));
    assert_false(str_equal_const_time("", "token"));
    assert_false(str_equal_const_time("to", "toto"));
    assert_false(str_equal_const_time("toto", "to"));
}

static void digests(void **state)
{
    static const unsigned char md5_abc[4] = {0x90, 0x01, 0x50, 0x98};
    unsigned char out[16];
    char hex[65];

    unsigned char mac[32];
    struct buf text = {0};

    (void)state;
    md5_digest("abc", 3, out);
    assert_memory_equal(out, md5_abc, 4);
    md5_hex("abc", 3, hex);
    assert_string_equal(hex, "900150983cd24fb0d6963f7d28e17f72");
    sha256_hex("123456", hex);
    assert_string_equal(hex, "8d969eef6ecad3c29a3a629280e686cf0c3f5d5a86aff3ca12020c923adc6c92");
    hmac_sha256("Jefe", "what do ya want for nothing?", mac); /* RFC 4231 */
    buf_put_base64(&text, mac, sizeof mac);
    assert_string_equal(text.data, "W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM=");
    buf_clear(&text);
    buf_put_base64(&text, "a", 1);
    buf_put_base64(&text, "ab", 2);
    buf_put_base64(&text, "", 0);
    assert_string_equal(text.data, "YQ==YWI=");
    buf_clear(&text);
    buf_put_base64url(&text, "=\xfb\xff", 3);
    buf_put_base64url(&text, "a", 1);
    buf_put_base64url(&text, "", 0);
    assert_string_equal(text.data, "Pfv_YQ");
    buf_clear(&text);
    buf_put_base64url(&text, "\xf8", 1);
    assert_string_equal(text.data, "-A");
    buf_clear(&text);
    buf_put_url(&text, "aZ09-._~ /%+\xc3\xa9", 14);
    buf_put_url(&text, "\0", 1);
    buf_put_url(&text, "", 0);
    assert_string_equal(text.data, "aZ09-._~%20%2F%25%2B%C3%A9%00");
    buf_fini(&text);
}

static void random_text_differs(void **state)
{
    char a[33], b[33];
    struct errctx ec;

    (void)state;
    assert_int_equal(random_hex(a, 16, &ec), ERR_OK);
    assert_int_equal(random_hex(b, 16, &ec), ERR_OK);
    assert_int_equal(strlen(a), 32);
    assert_int_equal(strspn(a, "0123456789abcdef"), 32);
    assert_string_not_equal(a, b);
}

static void log_text_is_quoted(void **state)
{
    char text[2000];

    (void)state;
    assert_string_equal(log_quote("a \"b\"\\\n\x01").s, "\"a \\\"b\\\"\\\\\\n\\x01\"");
    assert_string_equal(log_quote(NULL).s, "\"\"");
    memset(text, '"', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_true(strlen(log_quote(text).s) < sizeof(struct log_text));
}

static void floors(void **state)
{
    (void)state;
    assert_int_equal(time_floor_div(1999, 1000), 1);
    assert_int_equal(time_floor_div(-1, 1000), -1);
    assert_int_equal(time_floor_div(-1000, 1000), -1);
    assert_int_equal(time_floor_div(-1001, 1000), -2);
}

static void histograms_count_each_observation_once(void **state)
{
    static struct counters c;
    uint64_t total = 0;

    (void)state;
    counters_observe_us(&c, COUNTER_LATENESS, -5);
    counters_observe_us(&c, COUNTER_LATENESS, 1000);
    counters_observe_us(&c, COUNTER_LATENESS, 1001);
    counters_observe_us(&c, COUNTER_LATENESS, 100000000);
    assert_int_equal(c.histogram[COUNTER_LATENESS].bucket[0], 2);
    assert_int_equal(c.histogram[COUNTER_LATENESS].bucket[1], 1);
    assert_int_equal(c.histogram[COUNTER_LATENESS].bucket[HISTOGRAM_BUCKETS], 1);
    for (size_t i = 0; i <= HISTOGRAM_BUCKETS; i++)
        total += c.histogram[COUNTER_LATENESS].bucket[i];
    assert_int_equal(total, 4);
    counters_add(NULL, COUNTER_CLAIMS, 1);
    assert_int_equal(counters_get(NULL, COUNTER_CLAIMS), 0);
}

static void instants_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ms; /* -1: none */
    } cases[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"2024-02-29T12:00:00.1239Z", 1709208000123},
        {"2026-11-22t16:00:00z", 1795363200000},
        {"2026-11-22T11:00:00-05:00", 1795363200000},
        {"2016-12-31T23:59:60Z", 1483228800000},
        {"9999-12-31T23:59:59.999Z", 253402300799999},
        {"2026-02-29T00:00:00Z", -1},
        {"2026-13-01T00:00:00Z", -1},
        {"2026-11-22T24:00:00Z", -1},
        {"2026-11-22T16:00:00", -1},
        {"2026-11-22T16:00Z", -1},
        {"2026-11-22T16:00:00.Z", -1},
        {"2026-11-22 16:00:00Z", -1},
        {"2026-11-22T16:00:00Z ", -1},
        {"2026-11-22T16:00:00+24:00", -1},
        {"1969-12-31T23:59:59Z", -1},
        {"1970-01-01T00:00:00+00:01", -1},
        {"", -1},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t ms = -1;
        if (instant_parse(cases[i].text, &ms) != (cases[i].ms >= 0) || ms != cases[i].ms)
            fail_msg("%s: %ld", cases[i].text, (long)ms);
    }
}

static void words_are_found_whole(void **state)
{
    (void)state;
    assert_true(text_list_has("night", "night"));
    assert_true(text_list_has("a,night,b", "night"));
    assert_true(text_list_has("a,b,night", "night"));
    assert_false(text_list_has("", "night") || text_list_has(NULL, "night"));
    assert_false(text_list_has("nights,nigh,a night,Night", "night"));
    assert_false(text_list_has("a,b", "a,b"));
    assert_true(text_list_has_part("a,b", (struct text_part){"bc", 1}));
    assert_false(text_list_has_part("a,bc", (struct text_part){"bc", 1}));
}

static void items_come_one_by_one(void **state)
{
    static const struct {
        const char *list, *items, *cut; /* each item in brackets: as they are; those that are not blank, trimmed */
        size_t room;
    } cases[] = {
        {"", "", "", 1},
        {"a", "[a]", "[a]", 1},
        {"a, b\t ,,c,", "[a][ b\t ][][c]", "[a][b][c]", 5},
        {",", "[]", "", 2},
        {" \n, x y ", "[ \n][ x y ]", "[x y]", 2},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf items = {0}, cut = {0};
        char copy[20], *rest = copy;
        const char *list = cases[i].list;
        struct text_part item;

        buf_puts(&items, "");
        buf_puts(&cut, "");
        while (text_next_item(&list, &item))
            buf_printf(&items, "[%.*s]", (int)item.len, item.at);
        strcpy(copy, cases[i].list);
        for (char *text; (text = text_cut_item(&rest));)
            buf_printf(&cut, "[%s]", text);
        assert_string_equal(items.data, cases[i].items);
        assert_string_equal(cut.data, cases[i].cut);
        assert_int_equal(text_count_items(cases[i].list), cases[i].room);
        buf_fini(&items);
        buf_fini(&cut);
    }
}

static void entities_stand_for_five_characters(void **state)
{
    (void)state;
    for (const char *c = "&<>\"'"; *c; c++) {
        const struct html_entity *entity = html_find_entity(*c);

        assert_non_null(entity);
        assert_int_equal(entity->plain[0], *c);
        assert_int_equal(entity->plain[1], '\0');
        assert_ptr_equal(html_read_entity(entity->html), entity);
    }
    assert_string_equal(html_find_entity('<')->html, "&lt;");
    assert_null(html_find_entity('a'));
    assert_null(html_find_entity('\0'));
    assert_string_equal(html_read_entity("&amp;lt;")->plain, "&");
    assert_null(html_read_entity("&am"));
    assert_null(html_read_entity("a&amp;"));
    assert_null(html_read_entity(""));
}

static void blanks_around_a_text_go(void **state)
{
    struct text_part part = text_trim("\n a b\t");

    (void)state;
    assert_int_equal(part.len, 3);
    assert_memory_equal(part.at, "a b", 3);
    assert_int_equal(text_trim(" \r\n").len, 0);
    part = text_trim_blanks((struct text_part){"\t \002a b\n\t ", 8});
    assert_true(part.len == 5 && memcmp(part.at, "\002a b\n", 5) == 0);
    assert_int_equal(text_trim_blanks((struct text_part){"\t ", 2}).len, 0);
    part = text_trim_part((struct text_part){" ab", 2});
    assert_int_equal(part.len, 1);
    assert_int_equal(*part.at, 'a');
}

static void only_plain_addresses_pass(void **state)
{
    static const char *const good[] = {"a@b", "first.last+tag@sub.example.org", "x_y-z@10.0.0.1",
                                       "o'neill@example.org"};
    static const char *const bad[] = {"",
                                      "a",
                                      "@b",
                                      "a@",
                                      "a@@b",
                                      "a@b@c",
                                      "a b@c",
                                      "a@b c",
                                      "<a@b>",
                                      "a@b>",
                                      "a@b\r\n",
                                      "a\r\nRCPT TO:<x>@b",
                                      "a@b\nBcc: c",
                                      "a@b,c",
                                      "a@.b",
                                      "a@-b",
                                      "a@b.",
                                      "\"a\"@b",
                                      "\xc3\xbc@b",
                                      "a@b\x7f",
                                      "a(b)@c",
                                      "a:b@c"};
    char longest[MAIL_ADDRESS_MAX + 2];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_true(mail_is_address(good[i]));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(mail_is_address(bad[i]));
    memset(longest, 'a', sizeof longest);
    longest[3] = '@';
    longest[MAIL_ADDRESS_MAX] = '\0';
    assert_true(mail_is_address(longest));
    longest[MAIL_ADDRESS_MAX] = 'a';
    longest[MAIL_ADDRESS_MAX + 1] = '\0';
    assert_false(mail_is_address(longest));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_wrap_from_the_inside_out),
        cmocka_unit_test(long_errors_are_cut_and_ended),
        cmocka_unit_test(buffers_grow_and_stay_ended),
        cmocka_unit_test(json_strings_are_well_formed),
        cmocka_unit_test(numbers_are_read_whole),
        cmocka_unit_test(two_digits_are_a_byte),
        cmocka_unit_test(control_characters_are_seen),
        cmocka_unit_test(texts_share_a_block),
        cmocka_unit_test(bytes_are_hex_digits),
        cmocka_unit_test(texts_that_may_be_missing_compare),
        cmocka_unit_test(secrets_compare),
        cmocka_unit_test(digests),
        cmocka_unit_test(random_text_differs),
        cmocka_unit_test(log_text_is_quoted),
        cmocka_unit_test(floors),
        cmocka_unit_test(histograms_count_each_observation_once),
        cmocka_unit_test(instants_are_read),
        cmocka_unit_test(words_are_found_whole),
        cmocka_unit_test(items_come_one_by_one),
        cmocka_unit_test(entities_stand_for_five_characters),
        cmocka_unit_test(blanks_around_a_text_go),
        cmocka_unit_test(only_plain_addresses_pass),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Kinds of values: what each accepts, makes of it, and refuses; and that the rows of the table are sound. */
#include "config/key.h"
#include "config/settings.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct key_row *row_of(const char *name)
{
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (!strcmp(key_rows[i].name, name))
            return &key_rows[i];
    fail_msg("no row %s", name);
    return NULL;
}

static void check_number(const char *name, const char *text, int64_t expected)
{
    struct key_value value = {0};

    if (key_parse(row_of(name), text, &value, NULL))
        fail_msg("%s: %s was refused", name, text);
    if (value.number != expected)
        fail_msg("%s: %s became %" PRId64, name, text, value.number);
}

static void check_text(const char *name, const char *text, const char *expected)
{
    struct key_value value = {0};

    if (key_parse(row_of(name), text, &value, NULL))
        fail_msg("%s: \"%s\" was refused", name, text);
    assert_string_equal(value.text, expected);
    free(value.text);
}

static void check_refused(const char *name, const char *text)
{
    struct key_value value = {0};

    if (!key_parse(row_of(name), text, &value, NULL))
        fail_msg("%s: \"%s\" was accepted", name, text);
}

static void whole_numbers(void **state)
{
    static const char key[] = "server.port";

    (void)state;
    check_number(key, "0", 0);
    check_number(key, " 8080\t", 8080);
    check_number(key, "+7", 7);
    check_number(key, "-7", -7);
    check_number(key, "9223372036854775807", INT64_MAX);
    check_number(key, "-9223372036854775808", INT64_MIN);
    check_refused(key, "");
    check_refused(key, " ");
    check_refused(key, "-");
    check_refused(key, "80 80");
    check_refused(key, "8080x");
    check_refused(key, "0x10");
    check_refused(key, "1.5");
    check_refused(key, "9223372036854775808");
    check_refused(key, "99999999999999999999");
    check_refused(key, "18446744073709551617");
    check_refused(key, "-9223372036854775809");
    check_refused(key, "tcp://10.0.0.1:80");
}

static void durations(void **state)
{
    static const char ms[] = "shardwheel.lock.max-hold";
    static const char s[] = "xxl.job.timeout";

    (void)state;
    check_number(ms, "500ms", 500);
    check_number(ms, "4s", 4000);
    check_number(ms, "10m", 600000);
    check_number(ms, "2H", 7200000);
    check_number(ms, "1d", 86400000);
    check_number(ms, "1500", 1500);
    check_number(ms, "0", 0);
    check_number(s, "3", 3000);
    check_number(s, "500ms", 500);
    check_number(ms, "PT10M", 600000);
    check_number(ms, "pt1h30m", 5400000);
    check_number(ms, "PT0.5S", 500);
    check_number(ms, "PT1.0625S", 1062);
    check_number(ms, "P1DT1S", 86401000);
    check_number(ms, "P1D", 86400000);
    check_number(s, "PT5S", 5000);
    check_refused(ms, "");
    check_refused(ms, "s");
    check_refused(ms, "1.5s");
    check_refused(ms, "1 s");
    check_refused(ms, "1w");
    check_refused(ms, "1m30s");
    check_refused(ms, "P");
    check_refused(ms, "PT");
    check_refused(ms, "P1DT");
    check_refused(ms, "P1H");
    check_refused(ms, "PT1D");
    check_refused(ms, "PT1S1M");
    check_refused(ms, "PT1M1M");
    check_refused(ms, "PT0.5M");
    check_refused(ms, "PT1");
    check_refused(ms, "PT-1S");
    check_refused(ms, "PTT1S");
    check_refused(ms, "9223372036854775807s");
    check_refused(ms, "PT9223372036854775807H");
    check_refused(ms, "PT9223372036854775.807S1S");
}

static void sizes(void **state)
{
    static const char key[] = "shardwheel.kept-logs-total";

    (void)state;
    check_number(key, "512", 512);
    check_number(key, "512b", 512);
    check_number(key, "512k", 512 * 1024);
    check_number(key, "64m", 64 << 20);
    check_number(key, "64MB", 64 << 20);
    check_number(key, "1G", 1 << 30);
    check_number(key, "1kb", 1024);
    check_refused(key, "");
    check_refused(key, "m");
    check_refused(key, "64 m");
    check_refused(key, "64mib");
    check_refused(key, "9223372036854775807k");
}

static void words(void **state)
{
    (void)state;
    check_number("shardwheel.schema.auto", "on", 1);
    check_number("shardwheel.schema.auto", "TRUE", 1);
    check_number("shardwheel.schema.auto", "yes", 1);
    check_number("shardwheel.schema.auto", "1", 1);
    check_number("shardwheel.schema.auto", " Off ", 0);
    check_number("shardwheel.schema.auto", "false", 0);
    check_number("shardwheel.schema.auto", "no", 0);
    check_number("shardwheel.schema.auto", "0", 0);
    check_refused("shardwheel.schema.auto", "");
    check_refused("shardwheel.schema.auto", "maybe");
    check_number("shardwheel.log.level", "error", LOG_ERROR);
    check_number("shardwheel.log.level", "WARN", LOG_WARN);
    check_number("shardwheel.log.level", "info", LOG_INFO);
    check_number("shardwheel.log.level", "debug", LOG_DEBUG);
    check_refused("shardwheel.log.level", "trace");
    check_number("shardwheel.coordination", "auto", CONFIG_COORDINATION_AUTO);
    check_number("shardwheel.coordination", "ZooKeeper", CONFIG_COORDINATION_ZOOKEEPER);
    check_number("shardwheel.coordination", "standalone", CONFIG_COORDINATION_STANDALONE);
    check_refused("shardwheel.coordination", "etcd");
    check_number("shardwheel.java-guard", "auto", true);
    check_number("shardwheel.java-guard", "OFF", false);
    check_refused("shardwheel.java-guard", "on"); /* it is not on when there is no Java admin to be held off */
}

static void paths(void **state)
{
    static const char key[] = "server.servlet.context-path";

    (void)state;
    check_text(key, "", "");
    check_text(key, "/", "");
    check_text(key, "/xxl-job-admin", "/xxl-job-admin");
    check_text(key, " /a/b_c.d~1 ", "/a/b_c.d~1");
    check_refused(key, "a");
    check_refused(key, "/a/");
    check_refused(key, "//a");
    check_refused(key, "/a//b");
    check_refused(key, "/a b");
    check_refused(key, "/a?b");
    check_refused(key, "/a%20");
    check_refused(key, "/./a");
    check_refused(key, "/a/..");
    check_text(key, "/...", "/...");
    check_refused("shardwheel.zookeeper.base-path", "");
    check_refused("shardwheel.zookeeper.base-path", "/");
    check_text("shardwheel.zookeeper.base-path", "/a", "/a");
}

static void addresses(void **state)
{
    static const char key[] = "shardwheel.http.bind";

    (void)state;
    check_text(key, "", "");
    check_text(key, "127.0.0.1", "127.0.0.1");
    check_text(key, "::1", "::1");
    check_text(key, "[::1]", "::1");
    check_refused(key, "localhost");
    check_refused(key, "127.0.0.1:80");
    check_refused(key, "[127.0.0.1]");
    check_refused(key, "[]");
    check_refused(key, "[::1");
    check_refused(key, "256.0.0.1");
}

static void zookeeper_servers(void **state)
{
    static const char key[] = "shardwheel.zookeeper.servers";

    (void)state;
    check_text(key, "", "");
    check_text(key, "zk1:2181", "zk1:2181");
    check_text(key, "zk1", "zk1:2181");
    check_text(key, " zk1:1 , zk-2.example.com\t,10.0.0.3:65535 ", "zk1:1,zk-2.example.com:2181,10.0.0.3:65535");
    check_text(key, "[::1],[fe80::2]:99", "[::1]:2181,[fe80::2]:99");
    check_text(key, "a:1,b:2/chroot/x", "a:1,b:2/chroot/x");
    check_text(key, "a:1/", "a:1");
    check_refused(key, ",");
    check_refused(key, "a,");
    check_refused(key, "a,,b");
    check_refused(key, ":2181");
    check_refused(key, "a:");
    check_refused(key, "a:0");
    check_refused(key, "a:65536");
    check_refused(key, "a:x");
    check_refused(key, "a b");
    check_refused(key, "a;b");
    check_refused(key, "::1");
    check_refused(key, "[::1");
    check_refused(key, "[::1]x");
    check_refused(key, "[x]:1");
    check_refused(key, "a:1/x/");
    check_refused(key, "a/x,b/y");
    check_refused(key, "/x");
}

static void names_drivers_and_plain_text(void **state)
{
    (void)state;
    check_text("shardwheel.node.name", "", "");
    check_text("shardwheel.node.name", " node-1.example_com:8080 ", "node-1.example_com:8080");
    check_refused("shardwheel.node.name", "a b");
    check_refused("shardwheel.node.name", "a/b");
    check_refused("shardwheel.node.name", "n\xc3\xb6"
                                          "de");
    check_text("spring.datasource.driver-class-name", "", "");
    check_text("spring.datasource.driver-class-name", "com.mysql.cj.jdbc.Driver", "com.mysql.cj.jdbc.Driver");
    check_text("spring.datasource.driver-class-name", "com.mysql.jdbc.Driver ", "com.mysql.jdbc.Driver");
    check_text("spring.datasource.driver-class-name", "org.mariadb.jdbc.Driver", "org.mariadb.jdbc.Driver");
    check_refused("spring.datasource.driver-class-name", "org.postgresql.Driver");
    check_refused("spring.datasource.driver-class-name", "oracle.jdbc.OracleDriver");
    check_text("spring.datasource.password", " p w ", " p w "); /* blanks of a password are part of it */
    check_text("spring.datasource.url", " jdbc:mysql://h/d ", "jdbc:mysql://h/d");
    check_text("spring.datasource.url", "", "");
    check_refused("spring.datasource.url", "jdbc:h2:mem");
}

static void values_are_written_in_their_shortest_form(void **state)
{
    static const struct {
        const char *key;
        int64_t number;
        const char *text;
    } cases[] = {
        {"server.port", -5, "-5"},
        {"shardwheel.lock.max-hold", 0, "0"},
        {"shardwheel.lock.max-hold", 1, "1ms"},
        {"shardwheel.lock.max-hold", 1500, "1500ms"},
        {"shardwheel.lock.max-hold", 60000, "1m"},
        {"shardwheel.lock.max-hold", 5400000, "90m"},
        {"shardwheel.lock.max-hold", 172800000, "2d"},
        {"shardwheel.kept-logs-total", 1000, "1000"},
        {"shardwheel.kept-logs-total", 3 * 1024, "3k"},
        {"shardwheel.kept-logs-total", 1 << 30, "1g"},
        {"shardwheel.schema.auto", 0, "off"},
        {"shardwheel.log.level", LOG_DEBUG, "debug"},
        {"shardwheel.coordination", CONFIG_COORDINATION_STANDALONE, "standalone"},
        {"shardwheel.java-guard", 1, "auto"},
        {"shardwheel.java-guard", 0, "off"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf out = {0};

        key_write_number(row_of(cases[i].key), cases[i].number, &out);
        assert_string_equal(out.data, cases[i].text);
        buf_fini(&out);
    }
}

static void rows_are_sound(void **state)
{
    (void)state;
    for (size_t i = 0; i < KEY_COUNT; i++) {
        const struct key_row *row = &key_rows[i];
        struct key_value value = {0};
        size_t len = strlen(row->help);

        if (key_parse(row, row->default_text, &value, NULL) || !key_is_in_bounds(row, value.number))
            fail_msg("%s: its default is no value of it", row->name);
        free(value.text);
        if (!len || row->help[len - 1] != '.')
            fail_msg("%s: its help is no sentence", row->name);
        if (row->kind == KIND_DURATION && strcmp(row->unit, "ms") && strcmp(row->unit, "s"))
            fail_msg("%s: unit %s", row->name, row->unit);
        for (size_t k = 0; k < i; k++)
            if (!name_distance(row->name, key_rows[k].name) || row->offset == key_rows[k].offset)
                fail_msg("%s and %s are the same", row->name, key_rows[k].name);
    }
}

static void long_text_is_cut_between_characters(void **state)
{
    (void)state;
    assert_string_equal(quote("a\nb\x7f").s, "\"a?b?\"");
    for (size_t skip = 0; skip < 3; skip++) {
        char text[600] = "xx";
        struct quoted q;
        size_t len;

        for (size_t at = skip; at < 500; at += 3)
            memcpy(text + at, "\xe2\x82\xac", 4);
        q = quote(text);
        len = strlen(q.s);
        assert_true(len < sizeof(q.s));
        assert_string_equal(q.s + len - 4, "...\"");
        assert_int_equal((len - 5 - skip) % 3, 0);
    }
}

static void networks(void **state)
{
    static const char key[] = "shardwheel.http.trusted-networks";

    (void)state;
    check_text(key, "", "");
    check_text(key, " 10.0.0.0/8, ::1 ", "10.0.0.0/8, ::1");
    check_refused(key, "10.0.0.1/8");
    check_refused(key, "proxy.local");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers),
        cmocka_unit_test(durations),
        cmocka_unit_test(sizes),
        cmocka_unit_test(words),
        cmocka_unit_test(paths),
        cmocka_unit_test(addresses),
        cmocka_unit_test(networks),
        cmocka_unit_test(zookeeper_servers),
        cmocka_unit_test(names_drivers_and_plain_text),
        cmocka_unit_test(values_are_written_in_their_shortest_form),
        cmocka_unit_test(rows_are_sound),
        cmocka_unit_test(long_text_is_cut_between_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

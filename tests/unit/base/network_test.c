/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "shardwheel/network.h"

#include <stdio.h>
#include <string.h>

static struct errctx ec;

static struct ip address(const char *text)
{
    struct ip ip;

    if (!ip_parse(text, &ip))
        fail_msg("%s was refused", text);
    return ip;
}

static void addresses_are_read_and_written(void **state)
{
    static const char *const cases[][2] = {
        {"10.0.0.1", "10.0.0.1"},
        {"::1", "::1"},
        {"[fe80::1]", "fe80::1"},
        {"::ffff:10.0.0.1", "10.0.0.1"},
        {"FD00::00", "fd00::"},
        {"0.0.0.0", "0.0.0.0"},
        {"::", "::"},
    };
    static const char *const none[] = {"",          "10.0.0",       "10.0.0.256", "10.0.0.1 ", "[10.0.0.1]x", "[::1",
                                       "010.0.0.1", "fe80::1%eth0", "host",       "[]",        "0x7f.0.0.1"};
    char text[IP_TEXT_MAX];
    struct ip ip = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        ip = address(cases[i][0]);
        ip_write(&ip, text);
        assert_string_equal(text, cases[i][1]);
    }
    for (size_t i = 0; i < ARRAY_LEN(none); i++) {
        if (ip_parse(none[i], &ip))
            fail_msg("%s was taken", none[i]);
    }
}

static const char *find_inner(const char *text)
{
    static char out[IP_TEXT_MAX];
    struct ip ip = address(text), inner;

    if (!ip_find_inner(&ip, &inner))
        return "none";
    ip_write(&inner, out);
    return out;
}

static void addresses_within_others_are_found(void **state)
{
    (void)state;
    assert_string_equal(find_inner("64:ff9b::169.254.169.254"), "169.254.169.254");
    assert_string_equal(find_inner("2002:a9fe:a9fe::1"), "169.254.169.254");
    assert_string_equal(find_inner("::169.254.169.254"), "169.254.169.254");
    assert_string_equal(find_inner("::1"), "none");
    assert_string_equal(find_inner("10.0.0.1"), "none");
    assert_string_equal(find_inner("fd00::1"), "none");
}

static void check(const char *list, const char *ip, enum networks_verdict expected)
{
    struct networks *n = NULL;
    struct ip what = address(ip);

    if (networks_parse(list, &n, &ec))
        fail_msg("%s: %s", list, ec.text);
    enum networks_verdict got = networks_look_up(n, &what, NULL);
    if (got != expected)
        fail_msg("%s in %s: %d", ip, list, (int)got);
    networks_destroy(n);
}

static void the_longest_prefix_decides(void **state)
{
    static const char list[] = "10.0.0.0/8, !10.1.0.0/16 10.1.2.3,\t!10.1.2.3 ,172.16.0.0/12,fd00::/8";

    (void)state;
    check(list, "10.0.0.1", NETWORKS_IN);
    check(list, "10.255.255.255", NETWORKS_IN);
    check(list, "11.0.0.0", NETWORKS_NONE);
    check(list, "10.1.0.1", NETWORKS_OUT);
    check(list, "10.1.2.3", NETWORKS_OUT);
    check(list, "::ffff:10.0.0.1", NETWORKS_IN);
    check(list, "172.31.255.255", NETWORKS_IN);
    check(list, "172.32.0.0", NETWORKS_NONE);
    check(list, "fdff::1", NETWORKS_IN);
    check(list, "fe00::1", NETWORKS_NONE);
    check("", "10.0.0.1", NETWORKS_NONE);
    check("0.0.0.0/0", "10.0.0.1", NETWORKS_IN);
    check("0.0.0.0/0", "::1", NETWORKS_NONE);
    check("::/0", "::1", NETWORKS_IN);
    check("::/0", "10.0.0.1", NETWORKS_NONE);
    check("::ffff:10.0.0.0/104", "10.0.0.1", NETWORKS_IN);
    check("192.168.7.4/31", "192.168.7.5", NETWORKS_IN);
    check("192.168.7.4/31", "192.168.7.6", NETWORKS_NONE);
}

static void what_is_no_network_is_named(void **state)
{
    static const char *const cases[][2] = {
        {"10.0.0.1/8", "\"10.0.0.1/8\" has bits set after its prefix"},
        {"10.0.0.0/8,host", "\"host\" is not an IP address"},
        {"10.0.0.0/33", "from 0 to 32"},
        {"10.0.0.0/", "from 0 to 32"},
        {"10.0.0.0/+8", "from 0 to 32"},
        {"fd00::/129", "from 0 to 128"},
        {"::ffff:0:0/90", "neither of version 4"},
        {"!", "is not an IP address"},
        {"!!10.0.0.0/8", "is not an IP address"},
    };
    struct networks *n = NULL;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (networks_parse(cases[i][0], &n, &ec) != ERR_INPUT)
            fail_msg("%s was taken", cases[i][0]);
        if (!strstr(ec.text, cases[i][1]))
            fail_msg("%s: %s", cases[i][0], ec.text);
    }
    struct buf many = {0};
    for (int i = 0; i <= NETWORKS_MAX; i++)
        buf_printf(&many, "10.0.%d.%d,", i / 256, i % 256);
    assert_int_equal(networks_parse(many.data, &n, &ec), ERR_INPUT);
    assert_non_null(strstr(ec.text, "more than 200"));
    buf_fini(&many);
    assert_null(n);
}

static void an_empty_list_is_known_as_such(void **state)
{
    struct networks *n = NULL;

    (void)state;
    assert_int_equal(networks_parse(" , ", &n, &ec), ERR_OK);
    assert_false(networks_have_entries_in(n));
    networks_destroy(n);
    assert_int_equal(networks_parse("!10.0.0.0/8", &n, &ec), ERR_OK);
    assert_false(networks_have_entries_in(n));
    networks_destroy(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_read_and_written), cmocka_unit_test(addresses_within_others_are_found),
        cmocka_unit_test(the_longest_prefix_decides),     cmocka_unit_test(what_is_no_network_is_named),
        cmocka_unit_test(an_empty_list_is_known_as_such),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

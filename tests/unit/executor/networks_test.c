/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "shardwheel/executor/networks.h"

#include <stdio.h>
#include <string.h>

static struct errctx ec;

/* NULL rules are the built-in ones. */
static void check(const char *rules, const char *list, const char *expected)
{
    struct executor_networks *n = NULL;
    char refused[EXECUTOR_ADDRESS_SHOWN] = "";

    if (rules)
        assert_int_equal(executor_networks_create(rules, &n, &ec), ERR_OK);
    enum err e = executor_networks_check_list(n, list, refused, &ec);
    if (!!e != !!*expected || (e && e != ERR_INPUT) || strcmp(refused, expected))
        fail_msg("%s of %s gave %s \"%s\"", list, rules ? rules : "the built-in rules", err_name(e), refused);
    if (e)
        assert_non_null(strstr(ec.text, expected));
    executor_networks_destroy(n);
}

static void metadata_and_link_local_addresses_are_refused(void **state)
{
    static const char *const refused[] = {
        "http://169.254.169.254/latest/meta-data",
        "http://169.254.0.1:9999/",
        "http://100.100.100.200",
        "http://192.0.0.192:80",
        "http://168.63.129.16/",
        "http://[fe80::1]:9999/",
        "http://[fe80::1%25eth0]:9999/",
        "http://[fd00:ec2::254]/",
        "http://[fd20:ce::254]/",
        "http://0.0.0.0:9999",
        "http://[::]:9999",
        "http://224.0.0.1:9999",
        "http://255.255.255.255",
        "http://[ff02::1]/",
        "http://[::ffff:169.254.169.254]/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://[2002:a9fe:a9fe::]/",
        "http://2852039166/",
        "http://0xa9fea9fe:80/",
        "http://169.254.43518/",
        "http://user@169.254.169.254/",
        "http://user:word@169.254.169.254:80/",
        "http://host@169.254.169.254",
        "169.254.169.254:9999",
        "169.254.169.254",
        "HTTPS://169.254.169.254?x",
        "http://169.254.169.254#",
        "http://169.254.169.254\\@host/",
    };
    char list[200];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        check(NULL, refused[i], refused[i]);
        snprintf(list, sizeof list, "http://10.0.0.1:9999/, %s ,http://10.0.0.2:9999/", refused[i]);
        check("", list, refused[i]);
    }
}

static void executors_are_where_they_may_be(void **state)
{
    (void)state;
    check(NULL, "", "");
    check(NULL, " , ,", "");
    check(NULL, "http://127.0.0.1:9999/,http://[::1]:9999,http://localhost:9999", "");
    check(NULL, "http://10.0.0.1:9999/,http://172.16.0.1:9999/,http://192.168.0.1/,http://8.8.8.8/", "");
    check(NULL, "http://[fd00::1]:9999/,http://[2001:db8::1]/,http://[64:ff9b::808:808]/", "");
    check(NULL, "http://169.254.169.254.example.com/,http://host/169.254.169.254,nonsense", "");
    check(NULL, "http://169.253.255.255/,http://169.255.0.0/,http://223.255.255.255/,http://1.0.0.0/", "");
}

static void the_operators_networks_decide(void **state)
{
    (void)state;
    check("!10.1.0.0/16", "http://10.1.2.3/", "http://10.1.2.3/");
    check("!10.1.0.0/16", "http://10.2.2.3/", "");
    check("10.0.0.0/8", "http://10.1.2.3/", "");
    check("10.0.0.0/8", "http://11.1.2.3/", "http://11.1.2.3/");
    check("10.0.0.0/8", "http://[::1]/", "http://[::1]/");
    check("10.0.0.0/8", "http://name/", ""); /* when it is called */
    check("0.0.0.0/0,::/0", "http://169.254.169.254/", "http://169.254.169.254/");
    check("169.254.7.0/24,0.0.0.0/0", "http://169.254.7.1/", "");
    check("169.254.7.0/24,0.0.0.0/0", "http://169.254.8.1/", "http://169.254.8.1/");
    check("169.254.0.0/16", "http://169.254.8.1/", "");
    check("64:ff9b::/96", "http://[64:ff9b::a9fe:a9fe]/", "http://[64:ff9b::a9fe:a9fe]/");
    check("!10.0.0.0/8", "http://[64:ff9b::a00:1]/", "http://[64:ff9b::a00:1]/");
    check("64:ff9b::/96", "http://[64:ff9b::a00:1]/", "");
}

static void the_reason_names_what_was_against_it(void **state)
{
    struct executor_networks *n = NULL;
    char refused[EXECUTOR_ADDRESS_SHOWN], url[200] = "http://169.254.1.1/";

    (void)state;
    memset(url + strlen(url), 'x', 100);
    assert_int_equal(executor_networks_check_list(NULL, url, refused, &ec), ERR_INPUT);
    assert_int_equal(strlen(refused), EXECUTOR_ADDRESS_SHOWN - 1);
    assert_non_null(strstr(ec.text, " is a link-local, metadata or multicast address"));
    assert_int_equal(executor_networks_create("10.0.0.0/8", &n, &ec), ERR_OK);
    assert_int_equal(executor_networks_check_list(n, "1.2.3.4", NULL, &ec), ERR_INPUT);
    assert_string_equal(ec.text, "1.2.3.4 is not in a network that shardwheel.executor.networks allows");
    executor_networks_destroy(n);
    assert_int_equal(executor_networks_create("x", &n, &ec), ERR_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metadata_and_link_local_addresses_are_refused),
        cmocka_unit_test(executors_are_where_they_may_be),
        cmocka_unit_test(the_operators_networks_decide),
        cmocka_unit_test(the_reason_names_what_was_against_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

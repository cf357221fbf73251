/* SPDX-License-Identifier: MIT */
/* Addresses taken apart. */
#include "ctl/doctor/dial.h"

#include "test.h"

#include <string.h>

static bool split(const char *text, char host[280], char port[8])
{
    return dial_split(text, strlen(text), host, port);
}

static void addresses_are_taken_apart(void **state)
{
    char host[280], port[8];

    (void)state;
    assert_true(split("zk1:2181", host, port));
    assert_string_equal(host, "zk1");
    assert_string_equal(port, "2181");
    assert_true(split("[fd00::1]:80", host, port));
    assert_string_equal(host, "fd00::1");
    assert_false(split("zk1", host, port));
    assert_false(split(":80", host, port));
    assert_false(split("zk1:", host, port));
    assert_false(split("zk1:123456", host, port));
    assert_false(split("[]:80", host, port));
    assert_false(split("", host, port));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_taken_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

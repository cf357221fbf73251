/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <string.h>

#include "executor/plain_address.h"

static void numeric_http_addresses_are_plain(void **state)
{
    static const struct {
        const char *address, *ip;
        int port;
        const char *host, *path;
    } rows[] = {
        {"http://10.0.0.5:9999/", "10.0.0.5", 9999, "10.0.0.5:9999", ""},
        {"http://10.0.0.5:9999", "10.0.0.5", 9999, "10.0.0.5:9999", ""},
        {"HTTP://10.0.0.5/", "10.0.0.5", 80, "10.0.0.5", ""},
        {"http://10.0.0.5:80", "10.0.0.5", 80, "10.0.0.5", ""},
        {"http://10.0.0.5:65535/base/x-1", "10.0.0.5", 65535, "10.0.0.5:65535", "/base/x-1"},
        {"http://10.0.0.5:1//", "10.0.0.5", 1, "10.0.0.5:1", "/"},
        {"http://10.0.0.5:1/v1.2/", "10.0.0.5", 1, "10.0.0.5:1", "/v1.2"},
        {"http://[::1]:9999/", "::1", 9999, "[::1]:9999", ""},
        {"http://[fd00::12:3]/x", "fd00::12:3", 80, "[fd00::12:3]", "/x"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct plain_address a;
        bool v6;
        char ip[INET6_ADDRSTRLEN];

        assert_true(plain_address_parse(rows[i].address, &a));
        v6 = a.socket.any.sa_family == AF_INET6;
        inet_ntop(a.socket.any.sa_family, v6 ? (void *)&a.socket.v6.sin6_addr : (void *)&a.socket.v4.sin_addr, ip,
                  sizeof ip);
        assert_string_equal(ip, rows[i].ip);
        assert_int_equal(ntohs(v6 ? a.socket.v6.sin6_port : a.socket.v4.sin_port), rows[i].port);
        assert_int_equal(a.socket_len, v6 ? sizeof a.socket.v6 : sizeof a.socket.v4);
        assert_int_equal(a.host_len, strlen(rows[i].host));
        assert_memory_equal(a.host, rows[i].host, a.host_len);
        assert_int_equal(a.path_len, strlen(rows[i].path));
        assert_memory_equal(a.path, rows[i].path, a.path_len);
    }
}

static void every_other_form_is_left_to_others(void **state)
{
    static const char *const rows[] = {
        "",
        "http:/",
        "http://",
        "http:///x",
        "https://10.0.0.5:9999/",
        "http://executor:9999/",
        "http://localhost",
        "http://10.0.0:9999",
        "http://010.0.0.5",
        "http://0x0a000005",
        "http://10.0.0.5.",
        "http://10.0.0.256",
        "http://10.0.0.5:",
        "http://10.0.0.5:0",
        "http://10.0.0.5:099",
        "http://10.0.0.5:65536",
        "http://10.0.0.5:999999",
        "http://10.0.0.5:99x",
        "http://10.0.0.5:9999?x",
        "http://10.0.0.5:9999#x",
        "http://10.0.0.5/x?y",
        "http://10.0.0.5/x#y",
        "http://10.0.0.5/%41",
        "http://10.0.0.5/x y",
        "http://10.0.0.5/x\r\ny",
        "http://10.0.0.5/../x",
        "http://10.0.0.5/x/./y",
        "http://user@10.0.0.5/",
        "http://user:word@10.0.0.5/",
        "http://[::1",
        "http://[::1]9999",
        "http://[]:1",
        "http://[::1%25eth0]:1",
        "http://[10.0.0.5]:1",
        "http://::1/",
        "http://[1111:2222:3333:4444:5555:6666:7777:8888:9999:0000:1111:2222]/",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct plain_address a;

        if (plain_address_parse(rows[i], &a))
            fail_msg("%s", rows[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numeric_http_addresses_are_plain),
        cmocka_unit_test(every_other_form_is_left_to_others),
    };
    return cmocka_run_group_tests_name("dispatch.plain_address", tests, NULL, NULL);
}

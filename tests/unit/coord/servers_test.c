/* SPDX-License-Identifier: MIT */
#include "coord/zk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_good_lists(void **state)
{
    static const char *const lists[][3] = {
        {"zk", "zk:2181", ""},
        {"zk1:2182,zk2", "zk1:2182,zk2:2181", ""},
        {" zk1 , zk2:65535\t", "zk1:2181,zk2:65535", ""},
        {"127.0.0.1:1", "127.0.0.1:1", ""},
        {"[::1]", "[::1]:2181", ""},
        {"[fe80::1]:2183,a.b-c", "[fe80::1]:2183,a.b-c:2181", ""},
        {"a:2181/chroot", "a:2181", "/chroot"},
        {"a,b:2182/x/y", "a:2181,b:2182", "/x/y"},
        {"a:2181/", "a:2181", ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        struct buf out = {0};
        const char *chroot = NULL;
        struct errctx ec = {0};

        assert_int_equal(zk_parse_servers(lists[i][0], &out, &chroot, &ec), ERR_OK);
        assert_string_equal(out.data, lists[i][1]);
        assert_string_equal(chroot, lists[i][2]);
        buf_fini(&out);
    }
}

static void test_bad_lists(void **state)
{
    static const char *const lists[] = {"",        "  ",        ",",     "a,",      ",a",    "a,,b",    "a b",
                                        "a:",      "a:0",       ":2181", "a:65536", "a:x",   "::1",     "[::1",
                                        "[]:2181", "[::1]2181", "a:2 1", "a:1:2",   "/path", "a,/path", "a:/path"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        struct buf out = {0};
        const char *chroot = NULL;
        struct errctx ec = {0};

        if (zk_parse_servers(lists[i], &out, &chroot, &ec) != ERR_INPUT)
            fail_msg("\"%s\" was accepted", lists[i]);
        assert_null(out.data);
        assert_true(str_is_blank(lists[i]) || strstr(ec.text, lists[i]));
    }
    assert_int_equal(zk_parse_servers(NULL, &(struct buf){0}, &(const char *){0}, NULL), ERR_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_lists),
        cmocka_unit_test(test_bad_lists),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

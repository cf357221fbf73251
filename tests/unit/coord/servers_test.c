/* SPDX-License-Identifier: MIT */
#include "coord/zk.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_a_path_behind_the_list_stands_before_the_base_path(void **state)
{
    static const char *const lists[][3] = {
        {"zk:2181", "zk:2181", "/xxl-job"},
        {"a:1,[::1]:2181/chroot", "a:1,[::1]:2181", "/chroot/xxl-job"},
        {"a:1,b:2182/x/y", "a:1,b:2182", "/x/y/xxl-job"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        char *servers, *base;

        assert_int_equal(zk_split_servers(lists[i][0], "/xxl-job", &servers, &base, NULL), ERR_OK);
        assert_string_equal(servers, lists[i][1]);
        assert_string_equal(base, lists[i][2]);
        free(servers);
        free(base);
    }
}

static void test_a_path_is_whole_or_none(void **state)
{
    char *path = zk_format("/%0*d", PATH_MAX - 2, 7);

    (void)state;
    assert_non_null(path);
    assert_int_equal(strlen(path), PATH_MAX - 1);
    free(path);
    assert_null(zk_format("/%0*d", PATH_MAX - 1, 7));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_path_behind_the_list_stands_before_the_base_path),
        cmocka_unit_test(test_a_path_is_whole_or_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
#include "http/gzip.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static void a_list_says_who_takes_it(void **state)
{
    static const char *const yes[] = {"gzip",
                                      "GZIP",
                                      "deflate, gzip;q=1.0, br",
                                      "x-gzip",
                                      "*",
                                      "br;q=1, *;q=0.001",
                                      "gzip ; q=0.5",
                                      "identity;q=0, gzip;q=1"};
    static const char *const no[] = {"",      "identity", "deflate,br",  "gzip;q=0", "gzip;q=0.000",
                                     "*;q=0", "gzipx",    "gzip;q=0, *", ",;, "};

    (void)state;
    assert_false(gzip_is_accepted(NULL));
    for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
        if (!gzip_is_accepted(yes[i]))
            fail_msg("%s", yes[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(no); i++) {
        if (gzip_is_accepted(no[i]))
            fail_msg("%s", no[i]);
    }
}

static void bytes_become_fewer(void **state)
{
    static char zeros[3000000];
    struct gzip *g = gzip_create();
    struct buf out = {0};

    (void)state;
    assert_non_null(g);
    assert_true(gzip_add(g, zeros, sizeof zeros, false, &out));
    assert_true(gzip_add(g, "", 0, true, &out));
    assert_in_range(out.len, 100, sizeof zeros / 100);
    assert_memory_equal(out.data, "\x1f\x8b", 2);
    gzip_destroy(g);
    buf_fini(&out);
    gzip_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_says_who_takes_it),
        cmocka_unit_test(bytes_become_fewer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

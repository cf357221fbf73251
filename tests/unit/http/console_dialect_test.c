/* SPDX-License-Identifier: MIT */
/* Which dialect a call is of: by its path, parameters, cookie, the setting, and the generation of the database. */
#include "http/console/dialect.h"
#include "test.h"

#include <string.h>

#define A DIALECT_A
#define B DIALECT_B
#define C DIALECT_C
#define D DIALECT_D
#define ALL DIALECTS_ALL

struct example {
    unsigned possible;
    const char *path, *query;
    bool cookie_a, cookie_bcd;
    unsigned configured;
    enum dialect generation, expected;
};

static void is_told_by_what_the_request_shows(void **state)
{
    (void)state;
    static const struct example examples[] = {
        /* one is possible, whatever else is there */
        {A, "/joblog/getJobsByGroup", "offset=1", false, true, D, D, A},
        /* parameters */
        {ALL, "/jobinfo/pageList", "start=0", false, true, 0, C, B},
        {ALL, "/jobinfo/pageList", "start=0", true, false, 0, C, A},
        {ALL, "/jobinfo/pageList", "length=10&jobDesc=x", false, false, 0, C, B},
        {ALL, "/jobinfo/pageList", "offset=0", false, false, 0, A, C},
        {ALL, "/jobinfo/pageList", "pagesize=5&jobDesc=", false, false, 0, D, C},
        {ALL, "/jobinfo/pageList", "pagesize=5&name=", false, false, 0, A, D},
        {ALL, "/jobinfo/pageList", "offset=5", false, false, 0, D, D},
        {ALL, "/jobinfo/start", "id=7", false, false, 0, C, B},
        {ALL, "/jobinfo/start", "ids%5B%5D=7", false, false, 0, A, C},
        {ALL, "/jobinfo/trigger", "id=7", false, false, 0, C, C}, /* has id in all of them */
        {ALL, "/jobgroup/update", "title=x", false, false, 0, D, C},
        {ALL, "/jobgroup/update", "name=x", false, false, 0, B, D},
        {DIALECTS_CD, "/jobgroup/insert", "accessToken=", false, false, 0, C, D},
        {ALL, "/user/pageList", "name=x", false, false, 0, B, B}, /* tells nothing there */
        /* parameters that contradict each other: the first sign counts */
        {ALL, "/jobinfo/pageList", "start=0&offset=0", false, false, 0, C, B},
        /* the cookie, but not against a path or parameter */
        {ALL, "/jobinfo/update", "", true, false, C, D, A},
        {ALL, "/jobinfo/update", "", false, true, 0, A, B},
        {ALL, "/jobinfo/update", "", false, true, 0, D, D},
        {ALL, "/jobinfo/update", "", true, true, 0, C, C}, /* both: says nothing */
        {DIALECTS_CD, "/jobinfo/insert", "", true, false, 0, C, C},
        /* the setting, then the generation, then what is near */
        {ALL, "/jobinfo/update", "", false, false, B, D, B},
        {DIALECTS_CD, "/jobinfo/insert", "", false, false, B, D, D},
        {ALL, "/jobinfo/update", "", false, false, 0, A, A},
        {DIALECTS_AB, "/jobinfo/add", "", false, false, 0, D, B},
        {DIALECTS_BCD, "/auth/doLogin", "", false, false, 0, A, B},
        {A | D, "/x", "", false, false, 0, B, A},
        {A | D, "/x", "", false, false, 0, C, D},
    };
    for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
        const struct example *x = &examples[i];
        struct console_params params;
        struct errctx ec;
        assert_int_equal(params_load(x->query, NULL, 0, NULL, 0, &params, &ec), ERR_OK);
        enum dialect found =
            dialect_choose(x->possible, x->path, &params, x->cookie_a, x->cookie_bcd, x->configured, x->generation);
        if (found != x->expected)
            fail_msg("%zu: %s?%s is %s", i, x->path, x->query, dialect_name(found));
        params_fini(&params);
    }
    assert_int_equal(dialect_choose(ALL, "/", NULL, false, false, 0, C), C);
}

static void generations_have_their_dialect(void **state)
{
    (void)state;
    assert_int_equal(dialect_of_family("2.3"), A);
    assert_int_equal(dialect_of_family("2.5"), A);
    assert_int_equal(dialect_of_family("3.2"), B);
    assert_int_equal(dialect_of_family("3.4"), C);
    assert_int_equal(dialect_of_family("3.5"), D);
    assert_int_equal(dialect_of_family("3.6"), D);
    assert_int_equal(dialect_of_family("3.10"), D);
    assert_int_equal(dialect_of_family(""), A);
    assert_int_equal(dialect_of_family(NULL), A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_told_by_what_the_request_shows),
        cmocka_unit_test(generations_have_their_dialect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Which URLs of a provider are asked. With real providers: tests/integration/test_oidc.py. */
#include "oidc/fetch.h"
#include "test.h"

#include <string.h>

static void pages_are_https_or_on_this_machine(void **state)
{
    static const char *const good[] = {"https://login.example.com", "HTTPS://login.example.com:8443/a?b=c",
                                       "http://127.0.0.1:80/x",     "http://localhost/x",
                                       "http://[::1]:1/x",          "http://127.9.9.9"};
    static const char *const bad[] = {"",
                                      "login.example.com",
                                      "http://login.example.com",
                                      "http://127.0.0.1.evil.example",
                                      "http://localhost.evil.example",
                                      "http://[::ffff:127.0.0.1]/",
                                      "ftp://127.0.0.1/",
                                      "file:///etc/passwd",
                                      "https:/login.example.com",
                                      "https:login.example.com",
                                      "https:///login.example.com",
                                      " https://login.example.com",
                                      "https://",
                                      "https://login.example.com\n/x",
                                      "javascript:alert(1)"};
    struct errctx ec;
    char huge[OIDC_TEXT_MAX + 2] = "https://a/";

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        if (fetch_check_url(good[i], &ec))
            fail_msg("%s: %s", good[i], ec.text);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (fetch_check_url(bad[i], &ec) != ERR_INPUT)
            fail_msg("%s is taken", bad[i]);
        assert_non_null(strstr(ec.text, "it "));
    }
    memset(huge + strlen(huge), 'a', sizeof huge - strlen(huge) - 1);
    huge[sizeof huge - 1] = '\0';
    assert_int_equal(fetch_check_url(huge, &ec), ERR_INPUT);
    huge[OIDC_TEXT_MAX] = '\0';
    assert_int_equal(fetch_check_url(huge, &ec), ERR_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pages_are_https_or_on_this_machine)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

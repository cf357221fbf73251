/* SPDX-License-Identifier: MIT */
/* Which secrets of the settings are none, and what shardwheel.security.strict says of them. */
#include "shardwheel/admin/weak.h"
#include "shardwheel/config.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#define BIT(kind) (1u << (kind))

static struct config *load(const char *url, const char *password, const char *token, bool strict)
{
    char words[4][200];
    char *argv[] = {"shardwheel", words[0], words[1], words[2], words[3], "--spring.datasource.username=sw", NULL};
    char *env[] = {NULL};
    struct config *config = NULL;
    struct errctx ec = {{0}};

    snprintf(words[0], sizeof words[0], "--spring.datasource.url=%s", url);
    snprintf(words[1], sizeof words[1], "--spring.datasource.password=%s", password);
    snprintf(words[2], sizeof words[2], "--xxl.job.accessToken=%s", token);
    snprintf(words[3], sizeof words[3], "--shardwheel.security.strict=%s", strict ? "on" : "off");
    if (config_load(6, argv, env, &config, &ec))
        fail_msg("%s", ec.text);
    return config;
}

static void tokens_and_database_passwords(void **state)
{
    static const struct {
        const char *url, *password, *token;
        unsigned expected;
    } cases[] = {
        {"jdbc:mysql://h/d", "x7", "q9", 0},
        {"jdbc:mysql://h/d", "x7", "", BIT(WEAK_TOKEN_EMPTY)},
        {"jdbc:mysql://h/d", "x7", "  ", BIT(WEAK_TOKEN_EMPTY)}, /* which the executors' API takes as none */
        {"jdbc:mysql://h/d", "x7", "default_token", BIT(WEAK_TOKEN_DEFAULT)},
        {"jdbc:mysql://h/d", "", "q9", BIT(WEAK_DATABASE_EMPTY)},
        {"jdbc:mysql://h/d?localSocket=/s", "", "q9", 0},
        {"jdbc:mysql://h/d", "root_pwd", "q9", BIT(WEAK_DATABASE_DEFAULT)},
        {"jdbc:mysql://h/d", "sw", "default_token", BIT(WEAK_DATABASE_USER) | BIT(WEAK_TOKEN_DEFAULT)},
        {"jdbc:mysql://h/d?password=root_pwd", "", "q9", BIT(WEAK_DATABASE_DEFAULT)},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct config *config = load(cases[i].url, cases[i].password, cases[i].token, false);
        struct errctx ec = {{0}};

        if (weak_check_config(config) != cases[i].expected)
            fail_msg("case %zu: %x", i, weak_check_config(config));
        assert_int_equal(weak_check_strict(config, &ec), ERR_OK);
        config_destroy(config);
    }
}

static void strict_names_all_at_once_and_no_value(void **state)
{
    struct config *config = load("jdbc:mysql://h/d", "root_pwd", "default_token", true);
    struct errctx ec = {{0}};

    (void)state;
    assert_int_equal(weak_check_strict(config, &ec), ERR_INPUT);
    assert_non_null(strstr(ec.text, "shardwheel.security.strict is on: xxl.job.accessToken (command line): "));
    assert_non_null(strstr(ec.text, "spring.datasource.password (command line): "));
    assert_non_null(strstr(ec.text, weak_get_info(WEAK_TOKEN_DEFAULT)->advice));
    assert_non_null(strstr(ec.text, weak_get_info(WEAK_DATABASE_DEFAULT)->advice)); /* the last words fit, too */
    assert_null(strstr(ec.text, "root_pwd"));
    assert_null(strstr(ec.text, "default_token"));
    config_destroy(config);
    config = load("jdbc:mysql://h/d", "x7", "q9", true);
    assert_int_equal(weak_check_strict(config, &ec), ERR_OK);
    config_destroy(config);
}

static void passwords_that_everybody_knows(void **state)
{
    (void)state;
    assert_true(weak_is_password_hash("e10adc3949ba59abbe56e057f20f883e"));
    assert_true(weak_is_password_hash("8d969eef6ecad3c29a3a629280e686cf0c3f5d5a86aff3ca12020c923adc6c92"));
    assert_false(weak_is_password_hash("e10adc3949ba59abbe56e057f20f883f"));
    assert_false(weak_is_password_hash("123456"));
    assert_false(weak_is_password_hash(""));
    assert_true(weak_is_password(" 123456\n"));
    assert_false(weak_is_password("1234567"));
    assert_false(weak_is_password(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_and_database_passwords),
        cmocka_unit_test(strict_names_all_at_once_and_no_value),
        cmocka_unit_test(passwords_that_everybody_knows),
    };

    return cmocka_run_group_tests_name("admin.weak", tests, NULL, NULL);
}

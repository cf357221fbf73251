/* SPDX-License-Identifier: MIT */
/* Relaxed names, likeness of names, placeholders. */
#include "config/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void names_in_files_ignore_case_and_dashes(void **state)
{
    (void)state;
    assert_true(name_is_equal("xxl.job.accessToken", "xxl.job.access-token"));
    assert_true(name_is_equal("xxl.job.accessToken", "XXL.job.ACCESS_TOKEN"));
    assert_true(name_is_equal("a-", "a"));
    assert_false(name_is_equal("xxl.job.accessToken", "xxl.job.access.token"));
    assert_false(name_is_equal("xxl.job.accessToken", "xxljob.accessToken"));
    assert_false(name_is_equal("server.port", "server.ports"));
    assert_false(name_is_equal("server.ports", "server.port"));
    assert_false(name_is_equal("", "a"));
}

static void names_under_a_key(void **state)
{
    (void)state;
    assert_true(name_is_under("spring.mvc.static-path-pattern", "spring.mvc."));
    assert_true(name_is_under("Spring.MVC.x", "spring.mvc."));
    assert_true(name_is_under("a.b[0]", "a.b"));
    assert_true(name_is_under("a.b[0].c", "a.b"));
    assert_false(name_is_under("a.bc", "a.b"));
    assert_false(name_is_under("a.b.c", "a.b"));
    assert_false(name_is_under("spring.mvc", "spring.mvc."));
    assert_false(name_is_under("springs.mvc.x", "spring.mvc."));
}

static bool is_variable(const char *variable, const char *key)
{
    return name_is_variable(variable, strlen(variable), key);
}

static void names_of_the_environment(void **state)
{
    (void)state;
    assert_true(is_variable("SPRING_DATASOURCE_URL", "spring.datasource.url"));
    assert_true(is_variable("spring_datasource_url", "spring.datasource.url"));
    assert_true(is_variable("spring.datasource.url", "spring.datasource.url"));
    assert_true(is_variable("XXL_JOB_ACCESSTOKEN", "xxl.job.accessToken"));
    assert_true(is_variable("XXL_JOB_ACCESS_TOKEN", "xxl.job.accessToken"));
    assert_true(is_variable("xxl.job.accessToken", "xxl.job.accessToken"));
    assert_true(is_variable("SHARDWHEEL_LOCK_MAXHOLD", "shardwheel.lock.max-hold"));
    assert_true(is_variable("SHARDWHEEL_LOCK_MAX_HOLD", "shardwheel.lock.max-hold"));
    assert_true(is_variable("shardwheel.lock.max-hold", "shardwheel.lock.max-hold"));
    assert_true(is_variable("SERVER_SSL_ENABLED", "server.ssl."));
    assert_false(is_variable("SERVER_SSL_", "server.ssl."));
    assert_false(is_variable("SERVER_SSL", "server.ssl."));
    assert_false(is_variable("SERVERPORT", "server.port"));
    assert_false(is_variable("SERVER_PORTS", "server.port"));
    assert_false(is_variable("SERVER_POR", "server.port"));
    assert_false(is_variable("SERVER_PO_RT", "server.port"));
    assert_false(is_variable("XXL_JOB_ACCESS__TOKEN", "xxl.job.accessToken"));
    assert_false(is_variable("", "server.port"));
    /* The name ends where its length says. */
    assert_true(name_is_variable("SERVER_PORT=1", 11, "server.port"));
    assert_false(name_is_variable("SERVER_PORT", 10, "server.port"));
}

static void distance_counts_letters_and_digits(void **state)
{
    (void)state;
    assert_int_equal(name_distance("server.port", "SERVER_PORT"), 0);
    assert_int_equal(name_distance("server.port", "server.prot"), 2);
    assert_int_equal(name_distance("server.port", "sever.port"), 1);
    assert_int_equal(name_distance("", "abc"), 3);
    assert_int_equal(name_distance("abc", ""), 3);
    assert_int_equal(name_distance("kitten", "sitting"), 3);
    assert_int_equal(name_distance("abcd", "abd"), 1);
    assert_int_equal(name_distance("abd", "abcd"), 1);
    assert_int_equal(name_distance("abcdef", "cdef"), 2);
    assert_int_equal(name_distance("cdef", "abcdef"), 2);
}

static void later_settings_win(void **state)
{
    struct settings s = {0};
    struct settings tail = {0};
    struct errctx ec;

    (void)state;
    assert_null(settings_find(&s, "a"));
    assert_int_equal(settings_add(&s, SETTING_FROM_FILE, "f:1", "a-b", "1", &ec), ERR_OK);
    assert_int_equal(settings_add(&tail, SETTING_FROM_FILE, "f:2", "aB", "2", &ec), ERR_OK);
    assert_string_equal(settings_find(&s, "ab")->value, "1");
    assert_int_equal(settings_append(&s, &tail, &ec), ERR_OK);
    assert_int_equal(tail.count, 0);
    assert_string_equal(settings_find(&s, "ab")->value, "2");
    assert_int_equal(settings_append(&s, &tail, &ec), ERR_OK);
    assert_int_equal(s.count, 2);
    settings_fini(&s);
    settings_fini(&tail);
}

static char *envp[] = {"HOME=/root", "DB_HOST=dbenv", "EMPTY=", "BOTH=env", "NOEQUALS", NULL};

static void fill(struct settings *s)
{
    static const struct {
        enum setting_from from;
        const char *name;
        const char *value;
    } items[] = {
        {SETTING_FROM_FILE, "a", "A"},
        {SETTING_FROM_FILE, "nested", "<${a}>"},
        {SETTING_FROM_FILE, "camelCase", "camel"},
        {SETTING_FROM_FILE, "which", "a"},
        {SETTING_FROM_FILE, "both", "file"},
        {SETTING_FROM_FILE, "loop", "${loop2}"},
        {SETTING_FROM_FILE, "loop2", "${loop}"},
        {SETTING_FROM_FILE, "fan0", "${nil:}${nil:}"},
        {SETTING_FROM_FILE, "fan", "${fan0}${fan0}${fan0}${fan0}${fan0}${fan0}${fan0}${fan0}${fan0}${fan0}"},
        {SETTING_FROM_FILE, "fan2", "${fan}${fan}${fan}${fan}${fan}${fan}${fan}${fan}${fan}${fan}"},
        {SETTING_FROM_FILE, "fan3", "${fan2}${fan2}${fan2}${fan2}${fan2}${fan2}${fan2}${fan2}${fan2}"},
        {SETTING_FROM_FILE, "fan4", "${fan3}${fan3}${fan3}${fan3}${fan3}${fan3}${fan3}${fan3}${fan3}"},
        {SETTING_FROM_ARGUMENT, "arg", "argument"},
        {SETTING_FROM_FILE, "arg", "file"},
    };
    struct errctx ec;

    for (size_t i = 0; i < ARRAY_LEN(items); i++)
        assert_int_equal(settings_add(s, items[i].from, "f:1", items[i].name, items[i].value, &ec), ERR_OK);
}

static void check(const char *text, const char *expected)
{
    struct settings s = {0};
    struct errctx ec = {{0}};
    char *out = NULL;

    fill(&s);
    if (settings_resolve(&s, envp, text, &out, &ec))
        fail_msg("%s: %s", text, ec.text);
    assert_string_equal(out, expected);
    free(out);
    settings_fini(&s);
}

static void check_refused(const char *text, const char *expected)
{
    struct settings s = {0};
    struct errctx ec = {{0}};
    char *out = NULL;

    fill(&s);
    assert_int_equal(settings_resolve(&s, envp, text, &out, &ec), ERR_INPUT);
    assert_null(out);
    if (!strstr(ec.text, expected))
        fail_msg("\"%s\" is not in \"%s\"", expected, ec.text);
    settings_fini(&s);
}

static void placeholders_are_replaced(void **state)
{
    (void)state;
    check("", "");
    check("plain $ { } $x", "plain $ { } $x");
    check("${a}", "A");
    check("x${a}y${a}z", "xAyAz");
    check("${nested}", "<A>");
    check("${camel-case}", "camel");
    check("${HOME}/${DB_HOST:none}", "/root/dbenv");
    check("${db.host}", "dbenv");
    check("${EMPTY}|${EMPTY:default}", "|");
    check("${both}", "env"); /* the environment goes before files */
    check("${arg}", "argument");
    check("${nil:}", "");
    check("${nil:a:b}", "a:b");
    check("${nil:${nil2:${a}}}", "A");
    check("${nil:{x}}", "{x}");
    check("${${which}}", "A");
    check("${${nil:a}}", "A");
    check("${${nil:nil}:b}", "b");
    check("${nil:jdbc:mysql://${DB_HOST}:${nil:3306}/d}", "jdbc:mysql://dbenv:3306/d");
    check("p${unclosed", "p${unclosed");
    check("${a}${", "A${");
}

static void placeholders_without_value_or_end_are_refused(void **state)
{
    (void)state;
    check_refused("${nil}", "placeholder ${nil} has neither a value nor a default");
    check_refused("${}", "placeholder ${}");
    check_refused("${nil:${nil2}}", "placeholder ${nil2}");
    check_refused("${loop}", "in a circle");
    check_refused("${fan4}", "placeholders are too many");
}

static void a_value_that_grows_too_long_is_refused(void **state)
{
    struct settings s = {0};
    struct errctx ec = {{0}};
    char *out = NULL;
    char *big = malloc(40001);

    (void)state;
    assert_non_null(big);
    memset(big, 'x', 40000);
    big[40000] = 0;
    assert_int_equal(settings_add(&s, SETTING_FROM_FILE, "f:1", "big", big, &ec), ERR_OK);
    assert_int_equal(settings_resolve(&s, envp, "${big}", &out, &ec), ERR_OK);
    free(out);
    out = NULL;
    assert_int_equal(settings_resolve(&s, envp, "${big}${big}", &out, &ec), ERR_INPUT);
    assert_non_null(strstr(ec.text, "longer than"));
    free(big);
    settings_fini(&s);
}

static void what_a_placeholder_names_is_marked(void **state)
{
    struct settings s = {0};
    struct errctx ec = {{0}};
    char *out = NULL;

    (void)state;
    fill(&s);
    assert_int_equal(settings_resolve(&s, envp, "${nested}", &out, &ec), ERR_OK);
    assert_true(settings_find(&s, "nested")->used);
    assert_true(settings_find(&s, "a")->used);
    assert_false(settings_find(&s, "which")->used);
    free(out);
    settings_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_in_files_ignore_case_and_dashes),
        cmocka_unit_test(names_under_a_key),
        cmocka_unit_test(names_of_the_environment),
        cmocka_unit_test(distance_counts_letters_and_digits),
        cmocka_unit_test(later_settings_win),
        cmocka_unit_test(placeholders_are_replaced),
        cmocka_unit_test(placeholders_without_value_or_end_are_refused),
        cmocka_unit_test(a_value_that_grows_too_long_is_refused),
        cmocka_unit_test(what_a_placeholder_names_is_marked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

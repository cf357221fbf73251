/* SPDX-License-Identifier: MIT */
/* The mapping from groups of a provider to role and groups here, and who may log in by a password of ours. */
#include "shardwheel/admin/outside.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct mapping *parse(const char *text)
{
    struct mapping *m = NULL;
    struct errctx ec = {{0}};

    if (mapping_parse(text, &m, &ec))
        fail_msg("%s: %s", text, ec.text);
    return m;
}

/* "user all", "reader of 2", "nobody" */
static const char *apply(const char *rules, const char *const *groups, size_t count, bool any_case)
{
    static char said[100];
    struct mapping *m = parse(rules);
    struct mapped is;
    struct refusal r = {0};

    if (mapping_apply(m, groups, count, any_case, &is, &r)) {
        assert_int_equal(r.kind, REFUSED_RIGHT);
        snprintf(said, sizeof said, "nobody");
    } else {
        snprintf(said, sizeof said, is.all_groups ? "%s all" : "%s of %zu", role_name(is.role), is.app_count);
        free(is.apps);
    }
    mapping_destroy(m);
    return said;
}

#define RULES                                                                                                          \
    "ops -> admin; team-pay, team-shop -> user in pay-executor,other\n team-shop -> user in shop-* ;"                  \
    "*-readers->reader; night -> runner in pay-executor; Domain Users -> reader in none"

static void the_highest_role_counts_with_its_own_groups(void **state)
{
    static const struct {
        const char *groups[3];
        const char *is;
    } cases[] = {
        {{"ops"}, "admin all"},
        {{"team-pay"}, "user of 2"},
        {{"team-shop"}, "user of 3"},
        {{"team-shop", "team-pay"}, "user of 3"},
        {{"all-readers"}, "reader all"},
        {{"-readers"}, "reader all"},
        {{"readers"}, "nobody"},
        {{"night", "all-readers"}, "runner of 1"}, /* nobody runs where he may only read */
        {{"all-readers", "team-pay"}, "user of 2"},
        {{"all-readers", "ops", "night"}, "admin all"},
        {{"Domain Users"}, "reader of 1"},
        {{"Domain  Users"}, "nobody"},
        {{"Ops"}, "nobody"},
        {{"ops "}, "nobody"},
        {{""}, "nobody"},
        {{NULL}, "nobody"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t count = 0;
        while (count < 3 && cases[i].groups[count])
            count++;
        if (strcmp(apply(RULES, cases[i].groups, count, false), cases[i].is) != 0)
            fail_msg("case %zu: %s", i, apply(RULES, cases[i].groups, count, false));
    }
    assert_string_equal(apply(RULES, (const char *[]){"OPS"}, 1, true), "admin all");
    assert_string_equal(apply("", (const char *[]){"ops"}, 1, true), "nobody");
}

static void a_star_alone_is_everybody(void **state)
{
    (void)state;
    assert_string_equal(apply("* -> reader", NULL, 0, false), "reader all");
    assert_string_equal(apply("** -> reader", NULL, 0, false), "nobody");
    assert_string_equal(apply("\"\\*\" -> reader", NULL, 0, false), "nobody");
    assert_string_equal(apply("\"\\*\" -> reader", (const char *[]){"*"}, 1, false), "reader all");
}

static void names_in_quotes_have_any_character(void **state)
{
    static const char *const dn[] = {"CN=ops; \"x\\y\",OU=a->b,DC=ex"};

    (void)state;
    assert_string_equal(apply("\"CN=ops; \\\"x\\\\y\\\",OU=a->b,DC=ex\" -> admin", dn, 1, false), "admin all");
    assert_string_equal(apply("\"cn=ops*,ou=A->b,*\" -> admin", dn, 1, true), "admin all");
    assert_string_equal(apply("\"cn=ops*,ou=A->b,*\" -> admin", dn, 1, false), "nobody");
}

static void apps_are_patterns(void **state)
{
    static const struct {
        const char *pattern, *text;
        bool fits;
    } cases[] = {
        {"shop-*", "shop-1", true},
        {"shop-*", "shop-", true},
        {"shop-*", "xshop-1", false},
        {"*a*b*", "xxaxxbxx", true},
        {"*a*b*", "xxbxxaxx", false},
        {"a*a", "a", false},
        {"a*a", "aa", true},
        {"*aab", "aaab", true},
        {"exact", "exact", true},
        {"exact", "exacts", false},
        {"*", "", true},
        {"a", "", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char rules[60];
        struct mapped is;
        struct refusal r = {0};

        snprintf(rules, sizeof rules, "* -> user in %s", cases[i].pattern);
        struct mapping *m = parse(rules);
        assert_int_equal(mapping_apply(m, NULL, 0, false, &is, &r), ERR_OK);
        if (mapping_fits(is.apps[0], cases[i].text, false) != cases[i].fits)
            fail_msg("%s and %s", cases[i].pattern, cases[i].text);
        free(is.apps);
        mapping_destroy(m);
    }
    /* Many stars against a long text that fits nearly: no more than one is tried again. */
    char text[4001];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_string_equal(apply("*a*a*a*a*a*a*a*a*a*a*b -> reader", (const char *[]){text}, 1, false), "nobody");
}

static void errors_name_the_rule_and_what_was_expected(void **state)
{
    static const struct {
        const char *rules, *text;
    } cases[] = {
        {"ops", "rule 1: expected -> at its end"},
        {"ops -> admin; -> user", "rule 2: expected the name of a group at \"-> user\""},
        {"ops -> root", "rule 1: expected admin, user, runner or reader at \"root\""},
        {"ops -> ", "rule 1: expected admin, user, runner or reader at its end"},
        {"ops -> admins", "rule 1: expected admin, user, runner or reader at \"admins\""},
        {"ops -> user", "rule 1: a user needs executor groups: user in APPNAME, or user in *"},
        {"ops -> user in ", "rule 1: expected the AppName of an executor group at its end"},
        {"ops -> user in a,", "rule 1: expected the AppName of an executor group at its end"},
        {"ops -> user in a b", "rule 1: expected a comma or the end of the rule at \"b\""},
        {"ops -> user a", "rule 1: expected \"in\" and executor groups, or the end of the rule at \"a\""},
        {"ops -> user inside", "rule 1: expected \"in\" and executor groups, or the end of the rule at \"inside\""},
        {"ops -> admin in a", "rule 1: an admin has all executor groups: nothing may follow it"},
        {"ops,, x -> admin", "rule 1: expected the name of a group at \",, x -> admin\""},
        {"\"ops -> admin", "rule 1: a name begins with \" and does not end with it"},
        {"\"\" -> admin", "rule 1: expected the name of a group at \" -> admin\""},
        {"\"a\"b -> admin", "rule 1: expected -> at \"b -> admin\""},
        {"a -> b -> admin", "rule 1: expected admin, user, runner or reader at \"b -> admin\""},
        {"\xff -> admin", "it is not UTF-8"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct mapping *m = NULL;
        struct errctx ec = {{0}};

        if (mapping_parse(cases[i].rules, &m, &ec) != ERR_INPUT)
            fail_msg("%s: taken", cases[i].rules);
        if (i != 12 && strcmp(ec.text, cases[i].text) != 0)
            fail_msg("%s: %s", cases[i].rules, ec.text);
        assert_int_equal(mapping_parse(cases[i].rules, &m, NULL), ERR_INPUT);
    }
}

static void lists_are_bounded(void **state)
{
    struct buf names = {0}, rules = {0};
    struct mapping *m = NULL;
    struct errctx ec = {{0}};

    (void)state;
    for (int i = 0; i <= MAPPING_NAMES_MAX; i++)
        buf_puts(&names, i ? ",a" : "a");
    buf_puts(&names, " -> admin");
    assert_int_equal(mapping_parse(names.data, &m, &ec), ERR_INPUT);
    mapping_destroy(parse(names.data + 2));
    for (int i = 0; i <= MAPPING_RULES_MAX; i++)
        buf_puts(&rules, "a -> admin;");
    assert_int_equal(mapping_parse(rules.data, &m, &ec), ERR_INPUT);
    mapping_destroy(parse(rules.data + strlen("a -> admin;")));
    buf_fini(&names);
    buf_fini(&rules);
}

static void local_logins_are_for_whom_the_setting_names(void **state)
{
    static const struct {
        const char *setting, *name;
        bool may;
    } cases[] = {
        {"all", "ann", true},          {"", "ann", true},       {"ALL", "ann", true},
        {"none", "ann", false},        {"none", "", false},     {"root,ann", "ann", true},
        {" root , Ann ", "ann", true}, {"root", "ann", false},  {"root,anna", "ann", false},
        {"root,an", "ann", false},     {"root,,", "", false},   {"all,root", "ann", false},
        {"none", "none", false},       {"None", "none", false}, {"root,none", "none", true},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (local_may_login(cases[i].setting, cases[i].name) != cases[i].may)
            fail_msg("%s: %s", cases[i].setting, cases[i].name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_highest_role_counts_with_its_own_groups), cmocka_unit_test(a_star_alone_is_everybody),
        cmocka_unit_test(names_in_quotes_have_any_character),          cmocka_unit_test(apps_are_patterns),
        cmocka_unit_test(errors_name_the_rule_and_what_was_expected),  cmocka_unit_test(lists_are_bounded),
        cmocka_unit_test(local_logins_are_for_whom_the_setting_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Forms of passwords, names, the throttle, roles and groups of rows, and which proofs are good. */
#include "admin/people/identity.h"
#include "admin/people/identity_cache.h"
#include "admin/people/password.h"
#include "admin/people/throttle.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#define MD5 "e10adc3949ba59abbe56e057f20f883e" /* of 123456 */
#define SHA "8d969eef6ecad3c29a3a629280e686cf0c3f5d5a86aff3ca12020c923adc6c92"

/* ---- passwords --------------------------------------------------------------------------------------------------- */

static void passwords_verify_by_the_form_of_what_is_stored(void **state)
{
    char hash[65];

    (void)state;
    assert_true(password_fits(MD5, "123456"));
    assert_true(password_fits(SHA, "123456"));
    assert_false(password_fits(MD5, "1234567"));
    assert_false(password_fits(SHA, " 123456"));
    assert_false(password_fits("", ""));
    assert_false(password_fits("", "123456"));
    assert_false(password_fits("123456", "123456"));
    assert_false(password_fits("E10ADC3949BA59ABBE56E057F20F883E", "123456"));
    password_hash(50, "123456", hash);
    assert_string_equal(hash, MD5);
    password_hash(100, "123456", hash);
    assert_string_equal(hash, SHA);
}

static void names_and_passwords_are_trimmed_and_bounded(void **state)
{
    static const struct {
        const char *text;
        enum refusal_kind as_name, as_password;
    } cases[] = {
        {NULL, REFUSED_REQUIRED, REFUSED_REQUIRED},
        {" \t\n", REFUSED_REQUIRED, REFUSED_REQUIRED},
        {"abc", REFUSED_LENGTH, REFUSED_LENGTH},
        {"  abc  ", REFUSED_LENGTH, REFUSED_LENGTH},
        {" abcd ", REFUSED_NOT, REFUSED_NOT},
        {"12345678901234567890", REFUSED_NOT, REFUSED_NOT},
        {"123456789012345678901", REFUSED_LENGTH, REFUSED_LENGTH},
        {"\xe7\x8e\x8b\xe7\x8e\x8b\xe7\x8e\x8b\xe7\x8e\x8b", REFUSED_NOT, REFUSED_NOT},
        {"\xf0\x9f\x98\x80\xf0\x9f\x98\x80", REFUSED_NOT, REFUSED_NOT}, /* four units of UTF-16 */
        {"abc\xff", REFUSED_INVALID, REFUSED_INVALID},
        {"<b>x</b>", REFUSED_INVALID, REFUSED_NOT},
        {"x' OR '1", REFUSED_INVALID, REFUSED_NOT},
        {"ab\tcd", REFUSED_INVALID, REFUSED_NOT},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct refusal r = {0};
        char *got = NULL;
        (void)!check_name(cases[i].text, WORDS_MIN, WORDS_MAX, &got, &r);
        assert_int_equal(r.kind, cases[i].as_name);
        assert_int_equal(got != NULL, r.kind == REFUSED_NOT);
        free(got);
        got = NULL;
        r = (struct refusal){0};
        (void)!check_password(cases[i].text, /*strong=*/false, &got, &r);
        assert_int_equal(r.kind, cases[i].as_password);
        free(got);
    }
}

/* ---- throttle ---------------------------------------------------------------------------------------------------- */

static void waits_grow_with_failures_and_end(void **state)
{
    static const struct {
        size_t key;
        int64_t failures, since_ms, wait_ms;
    } cases[] = {
        {0, 0, 0, 0},
        {0, 4, 0, 0},
        {0, 5, 0, 1000},
        {0, 5, 400, 600},
        {0, 5, 1000, 0},
        {0, 6, 0, 2000},
        {0, 10, 0, 32000},
        {0, 11, 0, 60000},
        {0, 1000000, 0, 60000},
        {1, 9, 0, 0},
        {1, 10, 0, 1000},
        {1, 19, 0, 512000},
        {1, 20, 0, 900000},
        {1, INT64_MAX, 0, 900000},
        {0, 7, -3600000, 60000}, /* the clock was set back */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct login_failures failures = {cases[i].failures, 1000000000};
        assert_int_equal(throttle_find_wait(cases[i].key, &failures, 1000000000 + cases[i].since_ms), cases[i].wait_ms);
    }
}

static void expect_keys(const char *name, const char *address, const char *user_key, const char *address_key)
{
    struct throttle t;

    throttle_make(&t, name, address, false);
    assert_string_equal(t.user, user_key);
    assert_string_equal(t.address, address_key);
}

static void keys_are_of_names_and_networks(void **state)
{
    char longest[500];

    (void)state;
    expect_keys("Admin  ", "192.0.2.1", "u:admin", "a:192.0.2.1");
    expect_keys(" admin", "::ffff:192.0.2.1", "u:admin", "a:192.0.2.1");
    expect_keys("  an   na b  ", "192.0.2.1", "u:an na b", "a:192.0.2.1"); /* all of them are one in a directory */
    expect_keys("   ", "", "u:", "a:");
    expect_keys("x", "2001:db8:1:2:3:4:5:6", "u:x", "a:2001:db8:1:2::");
    expect_keys("", "", "u:", "a:");
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    struct throttle t;
    throttle_make(&t, longest, "2001:db8:1111:2222:3333:4444:5555:6666", true);
    assert_true(strlen(t.user) < sizeof t.user - 1);
    assert_non_null(strstr(t.user, "x a:2001:db8:1111:2222::"));
    throttle_make(&t, "ann", "192.0.2.1", true);
    expect_keys("ann a:192.0.2.1", "192.0.2.9", "u:ann a:192.0.2.1", "a:192.0.2.9");
    assert_string_not_equal(t.user, "u:ann a:192.0.2.1"); /* that anybody could count for her */
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void rows_say_role_and_groups(void **state)
{
    static const struct {
        int64_t row_role;
        const char *permission, *own_role, *own_groups;
        enum admin_role role;
        bool all;
        size_t groups;
    } cases[] = {
        {1, NULL, "", NULL, ROLE_ADMIN, true, 0},          {1, "3", "", NULL, ROLE_ADMIN, true, 0},
        {0, NULL, "", NULL, ROLE_USER, false, 0},          {0, "3, 1,x,3,,-2,07", "", NULL, ROLE_USER, false, 3},
        {2, "3", "", NULL, ROLE_USER, false, 1},           {0, NULL, "reader", NULL, ROLE_READER, true, 0},
        {0, NULL, "reader", "4,5", ROLE_READER, false, 2}, {0, NULL, "runner", "", ROLE_RUNNER, false, 0},
        {0, NULL, "admin", NULL, ROLE_USER, false, 0}, /* not in a row of ours */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char name[] = "ann";
        struct user u = {.id = 5, .name = name, .role = cases[i].row_role};
        struct identity who;
        struct refusal r;
        u.permission = (char *)(uintptr_t)cases[i].permission;
        u.own_groups = (char *)(uintptr_t)cases[i].own_groups;
        strcpy(u.own_role, cases[i].own_role);
        assert_int_equal(identity_make(&u, &who, &r), ERR_OK);
        assert_int_equal(who.actor.role, cases[i].role);
        assert_int_equal(who.actor.all_groups, cases[i].all);
        assert_int_equal(who.actor.group_count, cases[i].groups);
        assert_int_equal(who.actor.rights, RIGHTS_ALL);
        if (cases[i].groups == 3)
            assert_true(who.groups[0] == 1 && who.groups[1] == 3 && who.groups[2] == 7);
        identity_fini(&who);
    }
}

static struct login_facts make_facts(const char *password, const char *token)
{
    struct login_facts f = {.now_ms = 1000};

    strcpy(f.user.password, password);
    strcpy(f.user.token, token);
    strcpy(f.session.id, "s");
    sha256_hex(password, f.session.password);
    f.session.expires_ms = 1001;
    return f;
}

static void proofs_are_judged_by_what_stands_in_the_rows(void **state)
{
    struct proof session = {.kind = PROOF_SESSION, .secret = "tok"}, row = {.kind = PROOF_ROW, .secret = MD5},
                 token = {.kind = PROOF_TOKEN, .secret = "swt_"};
    struct login_facts f = make_facts(MD5, "");

    (void)state;
    assert_int_equal(proof_judge(&session, &f, 100), PROOF_BY_SESSION);
    f.session.expires_ms = 1000;
    assert_int_equal(proof_judge(&session, &f, 100), PROOF_BAD);
    f = make_facts(MD5, "tok");
    strcpy(f.user.password, SHA); /* another one by now */
    assert_int_equal(proof_judge(&session, &f, 100), PROOF_BY_JAVA);
    strcpy(f.user.token, "other");
    assert_int_equal(proof_judge(&session, &f, 100), PROOF_BAD);
    strcpy(f.user.token, "");
    session.secret = "";
    assert_int_equal(proof_judge(&session, &f, 100), PROOF_BAD);

    f = make_facts(MD5, "");
    f.session.id[0] = '\0';
    assert_int_equal(proof_judge(&row, &f, 50), PROOF_BY_HASH);
    assert_int_equal(proof_judge(&row, &f, 100), PROOF_BAD); /* a hash is no password there */
    row.secret = SHA;
    strcpy(f.user.password, SHA);
    assert_int_equal(proof_judge(&row, &f, 50), PROOF_BAD);
    f = make_facts(SHA, "");
    row.secret = "secret";
    assert_int_equal(proof_judge(&row, &f, 100), PROOF_BY_SESSION);

    f = make_facts(SHA, "");
    assert_int_equal(proof_judge(&token, &f, 100), PROOF_BAD);
    f.token.id = 3;
    assert_int_equal(proof_judge(&token, &f, 100), PROOF_BY_TOKEN);
    f.token.expires_ms = 1000;
    assert_int_equal(proof_judge(&token, &f, 100), PROOF_BAD);
    f.token.expires_ms = 1001;
    assert_int_equal(proof_judge(&token, &f, 100), PROOF_BY_TOKEN);
}

/* The table finds the row of "admin" by all of them. */
static void a_proxy_names_a_user_by_the_letters_of_the_name(void **state)
{
    char name[] = "admin";
    struct login_facts f = make_facts(SHA, "");

    (void)state;
    f.user.name = name;
    assert_int_equal(proof_judge(&(struct proof){.kind = PROOF_NAME, .name = "admin"}, &f, 100), PROOF_BY_OTHERS);
    assert_int_equal(proof_judge(&(struct proof){.kind = PROOF_NAME, .name = "Admin"}, &f, 100), PROOF_BY_OTHERS);
    assert_int_equal(proof_judge(&(struct proof){.kind = PROOF_NAME,
                                                 .name = "\xc3\xa1"
                                                         "dmin"},
                                 &f, 100),
                     PROOF_BAD);
    assert_int_equal(proof_judge(&(struct proof){.kind = PROOF_NAME, .name = "admin "}, &f, 100), PROOF_BAD);
}

/* ---- what is remembered ------------------------------------------------------------------------------------------ */

static void strangers_hear_nothing_of_the_database(void **state)
{
    static const struct {
        enum err e;
        bool hidden;
    } cases[] = {
        {ERR_LOST, true},     {ERR_TIMEOUT, true},   {ERR_BUSY, true},   {ERR_DENIED, true},
        {ERR_CONFLICT, true}, {ERR_IO, true},        {ERR_NOMEM, true},  {ERR_GUARD, true},
        {ERR_UNKNOWN, true},  {ERR_NOTFOUND, false}, {ERR_INPUT, false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct refusal r = {0};
        err_set(&r.text, cases[i].e, "connect to database jobs at 10.0.0.7:3306 as user root");
        (void)!refuse_error(&r, cases[i].e);
        enum refusal_kind kind = r.kind;
        assert_int_equal(refusal_hide_fault(&r), cases[i].hidden);
        assert_int_equal(r.kind, kind);
        assert_int_equal(!strstr(r.text.text, "10.0.0.7"), cases[i].hidden);
    }
}

static void identities_are_known_for_a_while_or_until_a_change(void **state)
{
    int64_t groups[] = {3, 7}, generation = 0;
    struct identity who = {.groups = groups, .actor = {.user_id = 5, .groups = groups, .group_count = 2}}, found;
    struct identity_cache c;
    char key[SECRET_HASH_MAX], other[SECRET_HASH_MAX];

    (void)state;
    identity_cache_make_key(&(struct proof){.kind = PROOF_SESSION, .user_id = 5, .secret = "x"}, key);
    identity_cache_make_key(&(struct proof){.kind = PROOF_SESSION, .user_id = 6, .secret = "x"}, other);
    assert_string_not_equal(key, other);
    identity_cache_make_key(&(struct proof){.kind = PROOF_ROW, .secret = "x", .name = "y z"}, key);
    identity_cache_make_key(&(struct proof){.kind = PROOF_ROW, .secret = "x y", .name = "z"}, other);
    assert_string_not_equal(key, other);
    assert_int_equal(identity_cache_init(&c, NULL), ERR_OK);
    assert_false(identity_cache_find(&c, key, 0, &found, &generation));
    identity_cache_put(&c, key, 0, generation, &who);
    assert_true(identity_cache_find(&c, key, KNOWN_MS - 1, &found, &generation));
    assert_int_equal(found.actor.groups[1], 7);
    assert_ptr_equal(found.actor.groups, found.groups);
    identity_fini(&found);
    assert_false(identity_cache_find(&c, other, 0, &found, &generation));
    assert_false(identity_cache_find(&c, key, KNOWN_MS, &found, &generation));
    identity_cache_clear(&c);
    assert_false(identity_cache_find(&c, key, 0, &found, &(int64_t){0}));
    identity_cache_put(&c, key, 0, generation, &who); /* looked up before the change */
    assert_false(identity_cache_find(&c, key, 0, &found, &generation));
    identity_cache_put(&c, key, 0, generation, &who);
    identity_cache_put(&c, key, 0, generation, &who);
    identity_cache_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passwords_verify_by_the_form_of_what_is_stored),
        cmocka_unit_test(names_and_passwords_are_trimmed_and_bounded),
        cmocka_unit_test(waits_grow_with_failures_and_end),
        cmocka_unit_test(keys_are_of_names_and_networks),
        cmocka_unit_test(rows_say_role_and_groups),
        cmocka_unit_test(proofs_are_judged_by_what_stands_in_the_rows),
        cmocka_unit_test(a_proxy_names_a_user_by_the_letters_of_the_name),
        cmocka_unit_test(strangers_hear_nothing_of_the_database),
        cmocka_unit_test(identities_are_known_for_a_while_or_until_a_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* People whom somebody else has proved: their rows, roles and sessions, and how all of it ends. */
#include "store/test_schema.h"

#include "shardwheel/admin/outside.h"
#include "shardwheel/admin/people.h"
#include "shardwheel/admin/settings.h"
#include "shardwheel/admin/tokens.h"

#define NOW_S INT64_C(1700000000)
#define MAPPING "--shardwheel.login.mapping=ops -> admin; pay -> user in pay-*; read -> reader; few -> runner in pay-1"

static struct store *st;
static struct admin *a;
static struct counters counters;
static struct config *config;
static struct refusal why;
static const struct origin from = {.address = "192.0.2.1", .via = "oidc", .agent = ""};

static struct config *load(const char *mapping, const char *local, const char *session, const char *tokens)
{
    char words[4][400];
    char *argv[] = {"shardwheel", "--spring.datasource.url=jdbc:mysql://h/d", words[0], words[1], words[2], words[3],
                    NULL};
    char *env[] = {NULL};
    struct config *loaded = NULL;
    struct errctx problem = {{0}};

    snprintf(words[0], sizeof words[0], "%s", mapping);
    snprintf(words[1], sizeof words[1], "--shardwheel.login.local=%s", local);
    snprintf(words[2], sizeof words[2], "--shardwheel.login.outside-session=%s", session);
    snprintf(words[3], sizeof words[3], "--shardwheel.login.outside-tokens=%s", tokens);
    if (config_load(6, argv, env, &loaded, &problem))
        fail_msg("%s", problem.text);
    return loaded;
}

static void set_config(const char *mapping, const char *local, const char *session, const char *tokens)
{
    config_destroy(config);
    config = load(mapping, local, session, tokens);
    assert_ok(admin_set_config(a, config, ec));
}

static int set_up(void **state)
{
    (void)state;
    st = test_db_fresh(1, NOW_S);
    test_sql("INSERT INTO xxl_job_group (id, app_name, title, address_type) VALUES (7, 'pay-1', 't', 0), "
             "(5, 'pay-2', 't', 0), (6, 'shop', 't', 0)");
    counters = (struct counters){0};
    assert_ok(admin_create(&(struct admin_opts){.store = st}, clock_system(), &counters, &a, ec));
    set_config(MAPPING, "all", "8h", "7d");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    admin_destroy(a);
    config_destroy(config);
    config = NULL;
    store_destroy(st);
    return 0;
}

static enum err try(const char *subject, const char *name, const char *group, struct login *out)
{
    const char *groups[] = {group};
    struct outside_person person = {
        .source = "oidc", .subject = subject, .name = name, .groups = groups, .group_count = group ? 1 : 0};

    return admin_login_outside(a, &person, &from, out, &why);
}

static struct login enter(const char *subject, const char *name, const char *group)
{
    struct login login;

    if (try(subject, name, group, &login))
        fail_msg("%s: %s", name, why.text.text);
    return login;
}

static void refused(const char *subject, const char *name, const char *group, enum refusal_kind kind)
{
    struct login login;

    if (!try(subject, name, group, &login))
        fail_msg("%s was let in", name);
    assert_string_equal(refusal_name(why.kind), refusal_name(kind));
}

static bool is_known(const struct login *login, struct identity *who)
{
    struct proof proof = {.kind = PROOF_SESSION, .user_id = login->user.id, .secret = login->secret, .now = true};

    return !admin_identify(a, &proof, &from, who, &why);
}

static bool is_good(const struct login *login)
{
    struct identity who;
    bool good = is_known(login, &who);

    if (good)
        identity_fini(&who);
    return good;
}

static const char *row_of(const char *name)
{
    return test_text("SELECT CONCAT_WS('|', u.role, IFNULL(u.permission, '-'), IFNULL(r.role, '-'), "
                     "IFNULL(r.job_groups, '-')) FROM xxl_job_user u LEFT JOIN shardwheel_role r ON r.user_id = u.id "
                     "WHERE u.username = '%s'",
                     name);
}

static void who_is_new_gets_a_row_that_no_password_opens(void **state)
{
    struct login login = enter("https://p ann", "ann", "pay"), other;
    struct identity who;

    (void)state;
    assert_string_equal(row_of("ann"), "0|5,7|-|-");
    assert_true(is_known(&login, &who));
    assert_string_equal(who.actor.name, "ann");
    assert_int_equal(who.actor.role, ROLE_USER);
    assert_int_equal(who.actor.group_count, 2);
    identity_fini(&who);
    const char *stored = test_text("SELECT password FROM xxl_job_user WHERE username = 'ann'");
    assert_int_equal(strlen(stored), 41);
    char password[64];
    snprintf(password, sizeof password, "%s", stored);
    struct login_form form = {.name = "ann", .password = password};
    assert_int_not_equal(admin_login(a, &form, &from, &other, &why), ERR_OK);
    assert_int_equal(why.kind, REFUSED_INVALID);
    assert_string_equal(test_text("SELECT GROUP_CONCAT(CONCAT(action, ' ', who, ' ', via) ORDER BY id) FROM "
                                  "shardwheel_audit WHERE action <> 'session.refused'"),
                        "user.add ann oidc,session.begin ann oidc");
    assert_string_equal(test_text("SELECT CONCAT_WS('|', source, subject, username, seen_ms > 0) FROM "
                                  "shardwheel_outside"),
                        "oidc|https://p ann|ann|1");
    /* Another one has another value there: one alone would open them all to a 2.x admin's cookie. */
    struct login bob = enter("https://p bob", "bob", "ops");
    assert_string_equal(test_text("SELECT COUNT(DISTINCT password) FROM xxl_job_user WHERE password LIKE '!%%'"), "2");
    login_fini(&bob);
    login_fini(&login);
}

static void role_and_groups_follow_each_login(void **state)
{
    static const struct {
        const char *group, *row;
    } steps[] = {{"pay", "0|5,7|-|-"},    {"ops", "1|-|-|-"},   {"read", "0|-|reader|-"},
                 {"few", "0|-|runner|7"}, {"pay", "0|5,7|-|-"}, {"pay", "0|5,7|-|-"}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        struct login login = enter("s", "ann", steps[i].group);
        if (strcmp(row_of("ann"), steps[i].row) != 0)
            fail_msg("step %zu: %s", i, row_of("ann"));
        assert_true(is_good(&login));
        login_fini(&login);
    }
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_user WHERE username = 'ann'"), 1);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit WHERE action = 'user.update'"), 4);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit WHERE action = 'session.begin'"), 6);
    /* The name is that of the first time: who he is does not hang on it. */
    struct login login = enter("s", "ann-lee", "pay");
    assert_string_equal(login.user.name, "ann");
    login_fini(&login);
}

static void a_name_of_somebody_else_is_refused(void **state)
{
    (void)state;
    refused("s", "admin", "ops", REFUSED_TAKEN);
    refused("s", "ADMIN", "ops", REFUSED_TAKEN);
    struct login login = enter("s", "ann", "pay");
    refused("t", "ann", "pay", REFUSED_TAKEN);
    refused("u", "", "pay", REFUSED_REQUIRED);
    refused("u", "<b>", "pay", REFUSED_INVALID);
    refused("u", "123456789012345678901234567890123456789012345678901", "pay", REFUSED_LENGTH);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_outside"), 1);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_user"), 2);
    login_fini(&login);
}

static int64_t make_token(const struct login *login, char secret[TOKEN_LEN + 1])
{
    struct identity who;
    struct token_row made;

    assert_true(is_known(login, &who));
    if (admin_add_token(a, &who, &(struct token_spec){.name = "t", .scopes = RIGHT_SEE}, secret, &made, &why))
        fail_msg("%s", why.text.text);
    identity_fini(&who);
    return made.id;
}

static bool is_token_good(const char *secret)
{
    struct identity who;

    if (admin_identify(a, &(struct proof){.kind = PROOF_TOKEN, .secret = secret, .now = true}, &from, &who, &why))
        return false;
    identity_fini(&who);
    return true;
}

static void who_is_nobody_any_more_loses_what_he_had(void **state)
{
    struct login login = enter("s", "ann", "pay");
    char token[TOKEN_LEN + 1];

    (void)state;
    make_token(&login, token);
    assert_true(is_token_good(token));
    refused("s", "ann", "others", REFUSED_RIGHT);
    assert_non_null(strstr(why.text.text, "shardwheel.login.mapping"));
    assert_false(is_good(&login));
    assert_false(is_token_good(token));
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_session"), 0);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit WHERE action = 'session.refused' AND who = 'ann'"),
                     1);
    refused("unknown", "eve", NULL, REFUSED_RIGHT);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_user WHERE username = 'eve'"), 0);
    /* Taken in again, the token counts as well. */
    login_fini(&login);
    login = enter("s", "ann", "pay");
    assert_true(is_token_good(token));
    login_fini(&login);
}

static void sessions_and_tokens_end_after_a_set_time(void **state)
{
    struct login login = enter("s", "ann", "pay");
    char token[TOKEN_LEN + 1];

    (void)state;
    make_token(&login, token);
    test_sql("UPDATE shardwheel_session SET created_ms = created_ms - 2 * 3600000");
    test_sql("UPDATE shardwheel_outside SET seen_ms = seen_ms - 2 * 3600000");
    assert_true(is_good(&login));
    assert_true(is_token_good(token));
    set_config(MAPPING, "all", "119m", "119m"); /* it counts for those that are there */
    assert_false(is_good(&login));
    assert_false(is_token_good(token));
    set_config(MAPPING, "all", "121m", "0");
    assert_true(is_good(&login));
    assert_false(is_token_good(token));
    /* A use does not make it live longer. */
    test_sql("UPDATE shardwheel_session SET used_ms = 0");
    assert_true(is_good(&login));
    assert_int_equal(test_int("SELECT expires_ms - created_ms FROM shardwheel_session"), 121 * 60000);
    login_fini(&login);
}

static void a_password_of_a_java_admin_opens_nothing_and_goes(void **state)
{
    struct login login = enter("s", "ann", "pay"), other;
    struct login_form form = {.name = "ann", .password = "given12"};
    char hash[65];

    (void)state;
    sha256_hex("given12", hash);
    test_sql("UPDATE xxl_job_user SET password = '%s' WHERE username = 'ann'", hash);
    assert_int_not_equal(admin_login(a, &form, &from, &other, &why), ERR_OK);
    assert_int_equal(why.kind, REFUSED_OFF);
    /* Nor does the session that the Java admin begins by it. */
    test_sql("UPDATE xxl_job_user SET token = 'java' WHERE username = 'ann'");
    struct proof java = {.kind = PROOF_SESSION, .user_id = login.user.id, .secret = "java", .now = true};
    struct identity who;
    assert_int_not_equal(admin_identify(a, &java, &from, &who, &why), ERR_OK);
    assert_int_equal(why.kind, REFUSED_UNKNOWN);
    login_fini(&login);
    login = enter("s", "ann", "pay");
    assert_int_equal(test_int("SELECT LENGTH(password) FROM xxl_job_user WHERE username = 'ann'"), 41);
    assert_true(is_good(&login));
    login_fini(&login);
}

static void another_one_who_gets_the_id_is_another_one(void **state)
{
    struct login login = enter("s", "ann", "ops");
    char hash[65];

    (void)state;
    sha256_hex("123456", hash);
    test_sql("DELETE FROM xxl_job_user WHERE username = 'ann'"); /* a Java admin */
    test_sql("INSERT INTO xxl_job_user (id, username, password, role) VALUES (%" PRId64 ", 'bob', '%s', 1)",
             login.user.id, hash);
    struct login other;
    struct login_form form = {.name = "bob", .password = "123456"};
    assert_int_equal(admin_login(a, &form, &from, &other, &why), ERR_OK);
    login_fini(&other);
    struct login again = enter("s", "ann", "ops");
    assert_string_equal(again.user.name, "ann");
    assert_int_not_equal(again.user.id, login.user.id);
    login_fini(&again);
    login_fini(&login);
}

static void nobody_changes_them_here(void **state)
{
    static const struct actor boss = {.user_id = 1, .name = "admin", .role = ROLE_ADMIN, .rights = RIGHTS_ALL};
    struct login login = enter("s", "ann", "pay");
    struct person person;
    struct identity who;

    (void)state;
    struct person_change change = {.password = "other12"};
    assert_int_not_equal(admin_change_person(a, &boss, login.user.id, &change, &person, &why), ERR_OK);
    assert_int_equal(why.kind, REFUSED_STATE);
    struct person_form form = {.name = "ann", .role = 1};
    assert_int_not_equal(admin_change_person_form(a, &boss, login.user.id, &form, &why), ERR_OK);
    assert_int_equal(why.kind, REFUSED_STATE);
    assert_true(is_known(&login, &who));
    assert_int_not_equal(admin_change_password(a, &who, "x", "other12", &why), ERR_OK);
    assert_int_equal(why.kind, REFUSED_STATE);
    identity_fini(&who);
    assert_int_equal(admin_remove_person(a, &boss, login.user.id, (struct person_match){0}, &why), ERR_OK);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_outside"), 0);
    assert_false(is_good(&login));
    login_fini(&login);
}

static void passwords_are_switched_off_but_for_named_users(void **state)
{
    struct login login;
    struct login_form form = {.name = "admin", .password = "123456"};
    char hash[65];

    (void)state;
    sha256_hex("123456", hash);
    test_sql("UPDATE xxl_job_user SET password = '%s' WHERE username = 'admin'", hash);
    set_config(MAPPING, "none", "8h", "7d");
    assert_int_not_equal(admin_login(a, &form, &from, &login, &why), ERR_OK);
    assert_int_equal(why.kind, REFUSED_OFF);
    struct login_form wrong = {.name = "admin", .password = "1234567"};
    assert_int_not_equal(admin_login(a, &wrong, &from, &login, &why), ERR_OK);
    assert_int_equal(why.kind, REFUSED_INVALID); /* who does not know the password learns nothing */
    set_config(MAPPING, "root, Admin", "8h", "7d");
    assert_int_equal(admin_login(a, &form, &from, &login, &why), ERR_OK);
    login_fini(&login);
}

/* A cookie of dialect A carries the hash: who knows his password can make one. */
static void no_cookie_goes_around_that(void **state)
{
    struct proof proof = {
        .kind = PROOF_ROW, .name = "admin", .secret = "e10adc3949ba59abbe56e057f20f883e", .now = true};
    struct identity who;

    (void)state;
    tear_down(NULL);
    store_destroy(test_db_fresh(1, NOW_S)); /* of this generation, to be another one */
    test_make_family("2.5");
    st = test_store();
    assert_ok(admin_create(&(struct admin_opts){.store = st}, clock_system(), &counters, &a, ec));
    test_sql("UPDATE xxl_job_user SET password = 'e10adc3949ba59abbe56e057f20f883e' WHERE username = 'admin'");
    set_config(MAPPING, "all", "8h", "7d");
    assert_int_equal(admin_identify(a, &proof, &from, &who, &why), ERR_OK);
    identity_fini(&who);
    set_config(MAPPING, "none", "8h", "7d");
    assert_int_not_equal(admin_identify(a, &proof, &from, &who, &why), ERR_OK);
    struct login login = enter("s", "ann", "ops"); /* in the narrow column as well */
    assert_true(is_good(&login));
    login_fini(&login);
}

static void a_mapping_that_is_none_is_told_with_its_place(void **state)
{
    struct config *bad = load("--shardwheel.login.mapping=ops -> root", "all", "8h", "7d");
    struct errctx problem = {{0}};

    (void)state;
    assert_int_equal(outside_check_config(bad, &problem), ERR_INPUT);
    assert_string_equal(problem.text, "command line: shardwheel.login.mapping: rule 1: expected admin, user, runner or "
                                      "reader at \"root\"");
    config_destroy(bad);
}

int main(void)
{
#define WITH_ADMIN(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_ADMIN(who_is_new_gets_a_row_that_no_password_opens),
        WITH_ADMIN(role_and_groups_follow_each_login),
        WITH_ADMIN(a_name_of_somebody_else_is_refused),
        WITH_ADMIN(who_is_nobody_any_more_loses_what_he_had),
        WITH_ADMIN(sessions_and_tokens_end_after_a_set_time),
        WITH_ADMIN(a_password_of_a_java_admin_opens_nothing_and_goes),
        WITH_ADMIN(another_one_who_gets_the_id_is_another_one),
        WITH_ADMIN(nobody_changes_them_here),
        WITH_ADMIN(passwords_are_switched_off_but_for_named_users),
        WITH_ADMIN(no_cookie_goes_around_that),
        WITH_ADMIN(a_mapping_that_is_none_is_told_with_its_place),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}

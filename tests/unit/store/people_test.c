/* SPDX-License-Identifier: MIT */
/* Users with roles of ours, sessions, tokens and failed logins, on databases of both generations. */
#include "store/test_schema.h"

#include "shardwheel/store/login.h"
#include "shardwheel/store/views.h"

#define NOW_S INT64_C(1700000000)
#define NOW_MS "(SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000)"

static struct store *st;
static struct store_session *s;

static int set_up(void **state)
{
    (void)state;
    st = test_db_fresh(1, NOW_S);
    s = test_take(st, SESSION_NORMAL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    store_give_session(st, s);
    store_destroy(st);
    return 0;
}

/* A database of 2.5, whose features are read anew. */
static void make_old(void)
{
    store_give_session(st, s);
    store_destroy(st);
    test_make_family("2.5");
    st = test_store();
    s = test_take(st, SESSION_NORMAL);
}

static const struct audit_row audit = {.user_id = 1, .who = "admin", .action = "user.x"};

static struct user make_user(const char *name, int64_t role, const char *permission, const char *own_role,
                             const char *own_groups)
{
    struct user u = {.role = role};

    u.name = str_copy(name);
    u.permission = str_copy(permission);
    u.own_groups = str_copy(own_groups);
    snprintf(u.own_role, sizeof u.own_role, "%s", own_role);
    sha256_hex("123456", u.password);
    return u;
}

static int64_t add(const char *name, int64_t role, const char *permission, const char *own_role, const char *own_groups)
{
    struct user u = make_user(name, role, permission, own_role, own_groups);
    int64_t id = 0;

    assert_ok(store_add_user(s, &u, &audit, &id, ec));
    user_fini(&u);
    return id;
}

static struct user load(int64_t id)
{
    struct user u;

    assert_ok(store_load_user(s, id, &u, ec));
    return u;
}

/* ---- users ------------------------------------------------------------------------------------------------------- */

static void names_are_found_as_the_collation_says(void **state)
{
    struct user u;
    struct errctx why;

    (void)state;
    assert_ok(store_find_user(s, "ADMIN ", &u, ec));
    assert_int_equal(u.id, 1);
    assert_string_equal(u.name, "admin");
    user_fini(&u);
    assert_int_equal(store_find_user(s, " admin", &u, &why), ERR_NOTFOUND);
    assert_int_equal(store_find_user(s, "x' OR '1'='1", &u, &why), ERR_NOTFOUND);
    u = make_user("Admin", 0, NULL, "", NULL);
    int64_t id;
    assert_int_equal(store_add_user(s, &u, &audit, &id, &why), ERR_STATE);
    user_fini(&u);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit"), 0);
}

static void a_role_of_ours_counts_beside_an_empty_row_alone(void **state)
{
    int64_t id = add("reader", 0, NULL, "reader", "3,4");
    struct user u = load(id);

    (void)state;
    assert_string_equal(u.own_role, "reader");
    assert_string_equal(u.own_groups, "3,4");
    assert_int_equal(test_int("SELECT role FROM xxl_job_user WHERE id = %" PRId64, id), 0);
    assert_string_equal(test_text("SELECT permission FROM xxl_job_user WHERE id = %" PRId64, id), "(null)");
    assert_int_equal(test_int("SELECT target FROM shardwheel_audit"), id);
    user_fini(&u);
    test_sql("UPDATE xxl_job_user SET permission = '1' WHERE id = %" PRId64, id); /* a Java admin */
    u = load(id);
    assert_string_equal(u.own_role, "");
    user_fini(&u);
    test_sql("UPDATE xxl_job_user SET permission = '' WHERE id = %" PRId64, id);
    u = load(id);
    assert_string_equal(u.own_role, "reader");
    user_fini(&u);
    test_sql("UPDATE xxl_job_user SET role = 1 WHERE id = %" PRId64, id);
    size_t deleted = 0;
    assert_ok(store_clean_people(s, 0, &deleted, ec));
    assert_int_equal(deleted, 1);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_role"), 0);
}

static void lists_are_filtered_and_ordered(void **state)
{
    struct user *list = NULL;
    size_t count = 0;
    int64_t total = 0;

    (void)state;
    int64_t zoe = add("zoe", 0, "1", "", NULL), bob = add("bob", 0, NULL, "reader", NULL),
            eve = add("eve_", 1, NULL, "", NULL);
    struct user_filter by_name = {.role = -1, .by_name = true, .limit = 10};
    assert_ok(store_load_users(s, &by_name, &list, &count, ec));
    assert_int_equal(count, 4);
    assert_string_equal(list[0].name, "admin");
    assert_string_equal(list[1].name, "bob");
    assert_string_equal(list[3].name, "zoe");
    users_destroy(list, count);
    struct user_filter after = {.role = -1, .after_id = zoe, .limit = 1};
    assert_ok(store_load_users(s, &after, &list, &count, ec));
    assert_int_equal(count, 1);
    assert_int_equal(list[0].id, bob);
    users_destroy(list, count);
    const struct {
        struct user_filter filter;
        int64_t total;
    } cases[] = {
        {{.role = 0}, 2},
        {{.role = 1}, 2},
        {{.role = -1, .named = "admin"}, 2},
        {{.role = -1, .named = "user"}, 1},
        {{.role = -1, .named = "reader"}, 1},
        {{.role = -1, .named = "runner"}, 0},
        {{.role = -1, .name = "O"}, 2},
        {{.role = -1, .name = "_"}, 1},
        {{.role = -1, .name = "%"}, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_ok(store_count_users(s, &cases[i].filter, &total, ec));
        assert_int_equal(total, cases[i].total);
    }
    (void)eve;
}

static void a_change_is_written_only_to_what_was_read(void **state)
{
    int64_t id = add("zoe", 0, "1", "", NULL);
    struct user from = load(id), to = load(id);
    struct errctx why;

    (void)state;
    free(to.permission);
    to.permission = NULL;
    strcpy(to.own_role, "runner");
    test_sql("UPDATE xxl_job_user SET permission = '2' WHERE id = %" PRId64, id);
    assert_int_equal(store_change_user(s, &from, &to, NULL, false, &audit, &why), ERR_CONFLICT);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_role"), 0);
    test_sql("UPDATE xxl_job_user SET permission = '1' WHERE id = %" PRId64, id);
    assert_ok(store_change_user(s, &from, &to, NULL, false, &audit, ec));
    assert_string_equal(test_text("SELECT role FROM shardwheel_role"), "runner");
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit"), 2);
    user_fini(&from);
    from = load(id);
    assert_string_equal(from.own_role, "runner");
    user_fini(&to);
    to = make_user("", 1, NULL, "", NULL);
    to.id = id;
    assert_ok(store_change_user(s, &from, &to, NULL, false, &audit, ec));
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_role"), 0); /* also when the role is plain again */
    user_fini(&from);
    user_fini(&to);
    assert_ok(store_remove_user(s, id, &audit, ec));
    assert_int_equal(store_remove_user(s, id, &audit, &why), ERR_NOTFOUND);
}

/* ---- sessions ---------------------------------------------------------------------------------------------------- */

static char session_ids[10][SECRET_HASH_MAX];

static void add_session(int i, int64_t user_id, const char *password, int64_t lives_ms, int64_t max)
{
    struct session_row row = {.user_id = user_id, .lives_ms = lives_ms, .address = "192.0.2.1", .agent = "it's"};
    char secret[2] = {(char)('a' + i), '\0'};

    sha256_hex(secret, row.id);
    sha256_hex(password, row.password);
    strcpy(session_ids[i], row.id);
    assert_ok(store_add_session(s, &row, max, NULL, ec));
}

static struct login_facts look_up(int i, int64_t user_id)
{
    struct login_facts facts;

    assert_ok(store_load_login(s, &(struct login_key){.user_id = user_id, .session = session_ids[i]}, &facts, ec));
    return facts;
}

static void a_session_is_found_with_its_user(void **state)
{
    int64_t id = add("zoe", 0, "1", "", NULL), before_s = test_now_s();

    (void)state;
    add_session(0, id, "p", 1000, 100);
    struct login_facts facts = look_up(0, id);
    assert_string_equal(facts.user.name, "zoe");
    assert_string_equal(facts.session.id, session_ids[0]);
    assert_string_equal(facts.session.agent, "it's");
    assert_int_equal(facts.session.expires_ms, facts.session.created_ms + 1000);
    assert_int_equal(facts.session.factor_ms, 0);
    assert_in_range(facts.session.created_ms / 1000, before_s, facts.now_ms / 1000);
    assert_in_range(facts.now_ms / 1000, before_s, test_now_s());
    login_facts_fini(&facts);
    bool has = false;
    assert_ok(store_has_session_from(s, id, "192.0.2.1", &has, ec));
    assert_true(has);
    assert_ok(store_has_session_from(s, id, "192.0.2.2", &has, ec));
    assert_false(has);
    facts = look_up(0, 1); /* somebody else's */
    assert_string_equal(facts.session.id, "");
    login_facts_fini(&facts);
    assert_ok(store_load_login(s, &(struct login_key){.name = "ZOE", .session = session_ids[0]}, &facts, ec));
    assert_string_equal(facts.session.id, session_ids[0]);
    login_facts_fini(&facts);
    struct errctx why;
    assert_int_equal(store_load_login(s, &(struct login_key){.user_id = 999}, &facts, &why), ERR_NOTFOUND);

    test_sql("UPDATE shardwheel_session SET created_ms = created_ms - 5000, used_ms = used_ms - 5000, "
             "expires_ms = expires_ms - 5000, lives_ms = 60000");
    assert_ok(store_touch_session(s, session_ids[0], 100000, ec));
    facts = look_up(0, id);
    assert_true(facts.session.expires_ms >= facts.now_ms + 59000 && facts.session.used_ms >= facts.now_ms - 1000);
    login_facts_fini(&facts);
    assert_ok(store_touch_session(s, session_ids[0], 6000, ec)); /* no longer than that in all */
    facts = look_up(0, id);
    assert_int_equal(facts.session.expires_ms, facts.session.created_ms + 6000);
    login_facts_fini(&facts);
}

static void sessions_have_a_bound_and_the_oldest_go(void **state)
{
    struct session_row *list = NULL;
    size_t count = 0, deleted = 0;

    (void)state;
    for (int i = 0; i < 4; i++) {
        add_session(i, 1, "p", 100000, 3);
        test_sql("UPDATE shardwheel_session SET used_ms = used_ms - 10");
    }
    assert_ok(store_load_sessions(s, 1, 100, &list, &count, ec));
    assert_int_equal(count, 3);
    assert_string_equal(list[0].id, session_ids[3]);
    assert_string_equal(list[2].id, session_ids[1]);
    free(list);
    test_sql("UPDATE shardwheel_session SET expires_ms = 1 WHERE id = '%s'", session_ids[3]);
    add_session(4, 1, "p", 100000, 3); /* what has expired goes first */
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_session WHERE id = '%s'", session_ids[3]), 0);
    test_sql("UPDATE shardwheel_session SET expires_ms = 1 WHERE id = '%s'", session_ids[4]);
    test_sql("UPDATE shardwheel_session SET user_id = 77 WHERE id = '%s'", session_ids[2]);
    assert_ok(store_clean_people(s, 0, &deleted, ec));
    assert_int_equal(deleted, 2);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_session"), 1);
    struct errctx why;
    assert_int_equal(store_remove_session(s, 2, session_ids[1], &audit, &why), ERR_NOTFOUND);
    assert_ok(store_remove_session(s, 1, session_ids[1], &audit, ec));
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_session"), 0);
}

static void a_new_password_ends_sessions_but_one(void **state)
{
    struct user from = load(1), to = load(1);
    char hash[65];

    (void)state;
    test_sql("UPDATE xxl_job_user SET token = 'java' WHERE id = 1");
    for (int i = 0; i < 3; i++)
        add_session(i, 1, from.password, 100000, 100);
    sha256_hex("other", to.password);
    assert_ok(store_change_user(s, &from, &to, session_ids[1], /*keep_java=*/false, &audit, ec));
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_session"), 1);
    sha256_hex(to.password, hash);
    assert_string_equal(test_text("SELECT password_hash FROM shardwheel_session WHERE id = '%s'", session_ids[1]),
                        hash);
    assert_string_equal(test_text("SELECT token FROM xxl_job_user WHERE id = 1"), "");
    test_sql("UPDATE xxl_job_user SET token = 'java' WHERE id = 1");
    assert_ok(store_end_java_session(s, 1, "another", &audit, ec));
    assert_string_equal(test_text("SELECT token FROM xxl_job_user WHERE id = 1"), "java");
    assert_ok(store_end_java_session(s, 1, "java", &audit, ec));
    assert_string_equal(test_text("SELECT token FROM xxl_job_user WHERE id = 1"), "");
    user_fini(&from);
    user_fini(&to);
}

static void the_oldest_generation_has_no_token_column(void **state)
{
    struct user from, to;
    int length = 0;

    (void)state;
    make_old();
    assert_ok(store_get_password_length(s, &length, ec));
    assert_int_equal(length, 50);
    from = load(1);
    to = load(1);
    assert_string_equal(from.token, "");
    strcpy(to.password, "e10adc3949ba59abbe56e057f20f883e");
    assert_ok(store_change_user(s, &from, &to, NULL, false, &audit, ec));
    assert_string_equal(test_text("SELECT password FROM xxl_job_user WHERE id = 1"), to.password);
    user_fini(&from);
    user_fini(&to);
}

/* ---- users whom somebody else proves ----------------------------------------------------------------------------- */

static struct outside_row make_outside(const char *subject)
{
    struct outside_row row = {.source = "oidc", .subject = subject};

    sha256_hex(subject, row.hash);
    return row;
}

static int64_t add_outside(const char *name, const struct outside_row *row)
{
    struct user u = make_user(name, 0, NULL, "runner", NULL);
    int64_t id = 0;

    assert_ok(store_add_outside_user(s, &u, row, &audit, &id, ec));
    user_fini(&u);
    return id;
}

/* 0: nobody here is that one. */
static int64_t find_outside(const struct outside_row *row)
{
    struct user u = {0};
    struct errctx why;
    enum err e = store_find_outside_user(s, row->hash, &u, &why);
    int64_t id = u.id;

    assert_int_equal(e, id ? ERR_OK : ERR_NOTFOUND);
    user_fini(&u);
    return id;
}

static void who_is_proved_elsewhere_is_found_by_it(void **state)
{
    struct outside_row ann = make_outside("https://p 7"), bob = make_outside("https://p 8");
    struct user u = make_user("ANN", 0, NULL, "", NULL);
    struct errctx why;
    int64_t id, other = 7;

    (void)state;
    assert_int_equal(find_outside(&ann), 0);
    id = add_outside("ann", &ann);
    assert_int_equal(find_outside(&ann), id);
    assert_int_equal(find_outside(&bob), 0);
    assert_int_equal(store_add_outside_user(s, &u, &bob, &audit, &other, &why), ERR_STATE);
    assert_int_equal(other, 7);
    assert_int_equal(find_outside(&bob), 0);
    user_fini(&u);
    u = load(id);
    assert_string_equal(u.source, "oidc");
    assert_string_equal(u.own_role, "runner");
    assert_true(u.seen_ms > 0);
    user_fini(&u);

    test_sql("UPDATE shardwheel_outside SET seen_ms = 5");
    assert_ok(store_touch_outside_user(s, id + 1, ec));
    assert_int_equal(test_int("SELECT seen_ms FROM shardwheel_outside"), 5);
    assert_ok(store_touch_outside_user(s, id, ec));
    assert_true(test_int("SELECT seen_ms FROM shardwheel_outside") > 5);

    test_sql("UPDATE xxl_job_user SET username = 'eve' WHERE id = %" PRId64, id); /* another one has that id */
    assert_int_equal(find_outside(&ann), 0);
    other = add_outside("ann", &ann);
    assert_int_equal(find_outside(&ann), other);
}

static void who_is_nobody_any_more_has_no_session(void **state)
{
    struct outside_row ann = make_outside("https://p 7"), bob = make_outside("https://p 8");
    int64_t id = add_outside("ann", &ann), bobs = add_outside("bob", &bob);

    (void)state;
    add_session(0, id, "", 60000, 5);
    add_session(1, bobs, "", 60000, 5);
    test_sql("UPDATE xxl_job_user SET token = 'java'");
    assert_ok(store_end_outside_user(s, id, &audit, ec));
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit"), 3);
    assert_int_equal(test_int("SELECT SUM(user_id) FROM shardwheel_session"), bobs);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_user WHERE token = '' AND id = %" PRId64, id), 1);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_user WHERE token = ''"), 1);
    assert_int_equal(test_int("SELECT seen_ms FROM shardwheel_outside WHERE user_id = %" PRId64, id), 0);
    assert_true(test_int("SELECT seen_ms FROM shardwheel_outside WHERE user_id = %" PRId64, bobs) > 0);
    assert_int_equal(find_outside(&ann), id); /* he may be proved again */

    make_old();
    assert_ok(store_end_outside_user(s, bobs, &audit, ec));
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_session"), 0);
}

/* ---- strong passwords -------------------------------------------------------------------------------------------- */

static void make_strong(struct user *u, const char *stands_for, const char *hash)
{
    snprintf(u->password, sizeof u->password, "%s", stands_for);
    snprintf(u->strong, sizeof u->strong, "%s", hash);
}

static void a_strong_password_counts_while_the_column_stands_for_it(void **state)
{
    struct user from = load(1), to = load(1);
    struct named_few few;
    bool moved = false, has = true;
    char hash[65];

    (void)state;
    assert_ok(store_has_strong_passwords(s, &has, ec));
    assert_false(has);
    for (int i = 0; i < 2; i++)
        add_session(i, 1, from.password, 100000, 100);
    test_sql("UPDATE shardwheel_session SET password_hash = 'of another password' WHERE id = '%s'", session_ids[1]);
    test_sql("UPDATE xxl_job_user SET token = 'java' WHERE id = 1");
    make_strong(&to, "!argon2id:00ff", "$argon2id$one");
    assert_ok(store_move_password(s, &to, "of before", &audit, &moved, ec));
    assert_false(moved);
    assert_ok(store_move_password(s, &to, from.password, &audit, &moved, ec));
    assert_true(moved);
    assert_ok(store_move_password(s, &to, from.password, &audit, &moved, ec)); /* another login of that moment */
    assert_false(moved);
    user_fini(&to);
    to = load(1);
    assert_string_equal(to.strong, "$argon2id$one");
    sha256_hex(to.password, hash);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_session WHERE password_hash = '%s'", hash), 1);
    assert_string_equal(test_text("SELECT token FROM xxl_job_user WHERE id = 1"), "java");
    assert_ok(store_find_strong_users(s, &few, ec));
    assert_int_equal(few.all, 1);

    /* A Java admin writes the column alone; letters of another case are another value. */
    test_sql("UPDATE xxl_job_user SET password = '!ARGON2ID:00FF' WHERE id = 1");
    user_fini(&to);
    to = load(1);
    assert_string_equal(to.strong, "");
    assert_ok(store_find_strong_users(s, &few, ec));
    assert_int_equal(few.all, 0);
    assert_ok(store_has_strong_passwords(s, &has, ec));
    assert_true(has);
    user_fini(&from);
    user_fini(&to);
}

static void strong_passwords_come_and_go_with_their_users(void **state)
{
    struct user u = {.role = 0}, from, to;
    struct named_few few;
    size_t deleted = 0;
    char name[] = "strong";
    int64_t id = 0;

    (void)state;
    u.name = name;
    u.strong_is_weak = true;
    make_strong(&u, "!argon2id:11", "$argon2id$weak");
    assert_ok(store_add_user(s, &u, &audit, &id, ec));
    assert_ok(store_find_users_by_password(s, (const char *const[]){"nobody's"}, 1, &few, ec));
    assert_int_equal(few.all, 1);
    assert_string_equal(few.names[0], "strong");
    from = load(id);
    to = load(id);
    make_strong(&to, "!argon2id:22", "$argon2id$other");
    assert_ok(store_change_user(s, &from, &to, NULL, false, &audit, ec));
    assert_ok(store_find_users_by_password(s, (const char *const[]){"nobody's"}, 1, &few, ec));
    assert_int_equal(few.all, 0);
    assert_string_equal(test_text("SELECT hash FROM shardwheel_password WHERE user_id = %d", (int)id),
                        "$argon2id$other");
    user_fini(&from);
    from = load(id);
    make_strong(&to, "5ebe2294ecd0e0f08eab7690d2a6ee69", "");
    assert_ok(store_change_user(s, &from, &to, NULL, false, &audit, ec));
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_password"), 0);
    test_sql("INSERT INTO shardwheel_password (user_id, stands_for, hash) VALUES (%d, 'x', 'y'), (4711, 'x', 'y')",
             (int)id);
    assert_ok(store_clean_people(s, 0, &deleted, ec));
    assert_int_equal(deleted, 1);
    assert_ok(store_remove_user(s, id, &audit, ec));
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_password"), 0);
    user_fini(&from);
    user_fini(&to);
}

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

static void tokens_have_names_bounds_and_owners(void **state)
{
    struct token_row row = {.user_id = 1, .name = "ci", .scopes = "read,run"}, *list = NULL;
    struct login_facts facts;
    struct errctx why;
    char hash[65];
    int64_t id = 0, other = 0;
    size_t count = 0;

    (void)state;
    sha256_hex("one", hash);
    assert_ok(store_add_token(s, &row, hash, 2, &audit, &id, ec));
    assert_ok(store_load_login(s, &(struct login_key){.token = hash}, &facts, ec));
    assert_int_equal(facts.token.id, id);
    assert_int_equal(facts.user.id, 1);
    assert_string_equal(facts.token.scopes, "read,run");
    assert_int_equal(facts.token.expires_ms, 0);
    assert_string_equal(facts.session.id, "");
    login_facts_fini(&facts);
    sha256_hex("two", hash);
    assert_int_equal(store_add_token(s, &row, hash, 2, &audit, &other, &why), ERR_STATE);
    strcpy(row.name, "cd");
    row.expires_ms = 1;
    assert_ok(store_add_token(s, &row, hash, 2, &audit, &other, ec));
    strcpy(row.name, "ce");
    assert_int_equal(store_add_token(s, &row, hash, 2, &audit, &other, &why), ERR_BUSY);
    assert_ok(store_load_tokens(s, 0, id, 10, &list, &count, ec));
    assert_int_equal(count, 1);
    assert_int_equal(list[0].expires_ms, 1);
    free(list);
    assert_int_equal(store_remove_token(s, 2, id, &audit, &why), ERR_NOTFOUND);
    assert_ok(store_touch_token(s, id, ec));
    assert_true(test_int("SELECT used_ms > 0 FROM shardwheel_token WHERE id = %" PRId64, id));
    size_t deleted = 0;
    assert_ok(store_clean_people(s, 1000, &deleted, ec));
    assert_int_equal(deleted, 1);
    assert_ok(store_remove_token(s, 1, id, &audit, ec));
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_token"), 0);
}

/* ---- failed logins ----------------------------------------------------------------------------------------------- */

/* The machine may be slow: neither passes by itself. */
#define HELD_MS 3600000
#define FORGET_MS (24 * HELD_MS)

static int64_t wait_from_three(size_t key, const struct login_failures *failures, int64_t now_ms)
{
    return key == 0 && failures->count >= 3 ? failures->last_ms + HELD_MS - now_ms : 0;
}

static bool say(void *arg)
{
    return *(const bool *)arg;
}

/* How long to wait, else -1 for a right password and 0 for a wrong one. */
static int64_t try_login(bool password)
{
    struct login_try t = {.keys = {"u:zoe", "a:192.0.2.1"},
                          .forget_ms = FORGET_MS,
                          .wait = wait_from_three,
                          .check = say,
                          .arg = &password};
    int64_t wait_ms = -1;
    bool right = false;

    assert_ok(store_try_login(s, &t, NULL, &wait_ms, &right, ec));
    assert_true(!right || (password && wait_ms == 0));
    return right ? -1 : wait_ms;
}

static int64_t count_failures(const char *who)
{
    const char *text = test_text("SELECT failures FROM shardwheel_login WHERE who = '%s'", who);

    return strcmp(text, "(none)") ? atoi(text) : -1;
}

static void failures_count_and_logins_do_not(void **state)
{
    (void)state;
    assert_int_equal(try_login(true), -1);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_login"), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(try_login(false), 0);
    int64_t wait_ms = try_login(true); /* right or not, nobody looks */
    assert_in_range(wait_ms, 1, HELD_MS);
    assert_int_equal(count_failures("u:zoe"), 3);
    test_sql("UPDATE shardwheel_login SET last_ms = last_ms - %d", HELD_MS + 1);
    assert_int_equal(try_login(false), 0);
    assert_int_equal(count_failures("u:zoe"), 4);
    test_sql("UPDATE shardwheel_login SET last_ms = last_ms - %d", FORGET_MS + 1); /* forgotten */
    assert_int_equal(try_login(false), 0);
    assert_int_equal(count_failures("u:zoe"), 1);
    assert_int_equal(try_login(true), -1);
    assert_int_equal(count_failures("u:zoe"), -1);
    assert_int_equal(count_failures("a:192.0.2.1"), 1); /* who has one password does not try others for nothing */
}

static int64_t count_try(struct login_failures before[LOGIN_KEYS])
{
    struct login_try t = {.keys = {"u:zoe", "a:192.0.2.1"}, .forget_ms = FORGET_MS, .wait = wait_from_three};
    int64_t wait_ms = -1;
    bool right = false;

    assert_ok(store_try_login(s, &t, before, &wait_ms, &right, ec));
    assert_false(right);
    return wait_ms;
}

static void a_try_that_was_none_is_taken_back(void **state)
{
    static const char *const keys[] = {"u:zoe", "a:192.0.2.1"};
    struct login_failures before[LOGIN_KEYS], later[LOGIN_KEYS];

    (void)state;
    assert_int_equal(count_try(before), 0);
    assert_int_equal(count_failures("u:zoe"), 1);
    assert_ok(store_take_back_try(s, keys, before, false, ec));
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_login"), 0);

    assert_int_equal(try_login(false), 0);
    test_sql("UPDATE shardwheel_login SET last_ms = last_ms - 4000");
    int64_t last_ms = test_int("SELECT MAX(last_ms) FROM shardwheel_login");
    assert_int_equal(count_try(before), 0);
    assert_int_equal(count_try(later), 0);        /* at the same time; that one stays */
    assert_int_equal(count_try(later) > 0, true); /* and counts for others at once */
    assert_ok(store_take_back_try(s, keys, before, false, ec));
    assert_int_equal(count_failures("u:zoe"), 2);
    assert_true(test_int("SELECT last_ms FROM shardwheel_login WHERE who = 'u:zoe'") > last_ms);
    test_sql("UPDATE shardwheel_login SET failures = 1, last_ms = %" PRId64, last_ms);

    assert_int_equal(count_try(before), 0);
    assert_ok(store_take_back_try(s, keys, before, true, ec)); /* the password was right */
    assert_int_equal(count_failures("u:zoe"), -1);
    assert_int_equal(count_failures("a:192.0.2.1"), 1);
    assert_int_equal(test_int("SELECT last_ms FROM shardwheel_login"), last_ms);
    assert_ok(store_take_back_try(s, keys, before, true, ec)); /* nobody's any more */
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_login WHERE failures < 0"), 0);
}

static void tries_have_a_bound(void **state)
{
    (void)state;
    test_sql("INSERT INTO shardwheel_login SELECT CONCAT('u:', seq), 1, " NOW_MS " + seq FROM seq_1_to_30");
    test_sql("INSERT INTO shardwheel_login VALUES ('u:old', 9, " NOW_MS " - 70000)");
    test_sql("INSERT INTO shardwheel_login VALUES ('c:zoe', 9, " NOW_MS " - 1000)");
    assert_ok(store_clean_tries(s, 60000, 20, ec));
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_login"), 20);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_login WHERE who IN ('u:old', 'u:10')"), 0);
    assert_int_equal(count_failures("c:zoe"), 9); /* others cannot make it go */
}

static void groups_that_are_missing_are_told(void **state)
{
    int64_t ids[] = {7, 9, 7, 8, 9};
    size_t missing = 0;
    (void)state;

    test_sql("INSERT INTO xxl_job_group (id, app_name, title) VALUES (7, 'seven', 's'), (8, 'eight', 'e')");
    assert_ok(store_find_missing_groups(s, ids, ARRAY_LEN(ids), &missing, ec));
    assert_int_equal(missing, 2);
    assert_true(ids[0] == 9 && ids[1] == 9);
}

static void secrets_that_everybody_knows_are_found(void **state)
{
    char sha[65];
    const char *const hashes[] = {sha, "e10adc3949ba59abbe56e057f20f883e"};
    struct named_few few;

    (void)state;
    sha256_hex("123456", sha);
    assert_ok(store_find_users_by_password(s, hashes, 2, &few, ec));
    assert_int_equal(few.all, 0); /* a new database has none */
    for (int i = 0; i < NAMED_FEW_MAX + 2; i++) {
        char name[20];

        snprintf(name, sizeof name, "user%d", i);
        add(name, 0, NULL, "", NULL);
    }
    test_sql("UPDATE xxl_job_user SET password = 'e10adc3949ba59abbe56e057f20f883e' WHERE username = 'user1'");
    test_sql("UPDATE xxl_job_user SET password = 'another' WHERE username = 'user2'");
    assert_ok(store_find_users_by_password(s, hashes, 2, &few, ec));
    assert_int_equal(few.all, NAMED_FEW_MAX + 1);
    assert_int_equal(few.count, NAMED_FEW_MAX);
    assert_string_equal(few.names[1], "user1");
    assert_string_equal(few.names[2], "user3");
    assert_ok(store_find_groups_by_token(s, "default_token", &few, ec));
    assert_int_equal(few.all, 0); /* their tokens are of 3.5 */
}

/* ---- saved views ------------------------------------------------------------------------------------------------- */

static int64_t save_view(int64_t user_id, const char *page, const char *name)
{
    int64_t id = 0;

    assert_ok(
        store_add_view(s, &(struct view){.user_id = user_id, .page = page, .name = name, .query = "q"}, 3, &id, ec));
    return id;
}

/* Their names, or a dash for none. */
static const char *list_views(int64_t user_id, const char *page)
{
    static char out[100];
    struct views views = {0};
    size_t n = 0;

    assert_ok(store_load_views(s, user_id, page, &views, ec));
    strcpy(out, "-");
    for (size_t i = 0; i < views.count; i++)
        n += (size_t)snprintf(out + n, sizeof out - n, "%s=%s ", views.items[i].name, views.items[i].query);
    views_fini(&views);
    return out;
}

static void views_have_names_a_bound_and_an_owner(void **state)
{
    int64_t ann = add("ann", 0, NULL, "", NULL), bob = add("bob", 0, NULL, "", NULL), b, a, id = 7;
    struct view view = {.user_id = ann, .page = "jobs", .name = "a", .query = "q"};
    struct errctx why;

    (void)state;
    assert_string_equal(list_views(ann, NULL), "-");
    b = save_view(ann, "jobs", "b");
    a = save_view(ann, "jobs", "a");
    assert_int_equal(store_add_view(s, &view, 3, &id, &why), ERR_STATE);
    save_view(ann, "runs", "a");
    save_view(bob, "jobs", "a");
    assert_string_equal(list_views(ann, NULL), "a=q b=q a=q ");
    assert_string_equal(list_views(ann, "runs"), "a=q ");
    view.name = "c";
    assert_int_equal(store_add_view(s, &view, 3, &id, &why), ERR_BUSY);
    assert_int_equal(id, 7);

    assert_int_equal(store_change_view(s, &(struct view){.id = a, .user_id = bob, .name = "x"}, &why), ERR_NOTFOUND);
    assert_int_equal(store_change_view(s, &(struct view){.id = a, .user_id = ann, .name = "b"}, &why), ERR_STATE);
    assert_ok(store_change_view(s, &(struct view){.id = a, .user_id = ann, .name = "a", .query = "new"}, ec));
    assert_ok(store_change_view(s, &(struct view){.id = b, .user_id = ann, .name = "z"}, ec));
    assert_string_equal(list_views(ann, "jobs"), "a=new z=q ");
    assert_string_equal(list_views(bob, "jobs"), "a=q ");

    assert_int_equal(store_remove_view(s, bob, a, &why), ERR_NOTFOUND);
    assert_ok(store_remove_view(s, ann, a, ec));
    assert_int_equal(store_remove_view(s, ann, a, &why), ERR_NOTFOUND);
    assert_string_equal(list_views(ann, "jobs"), "z=q ");
    save_view(ann, "jobs", "c"); /* there is room again */
}

static void groups_of_3_5_are_found_by_their_token(void **state)
{
    struct named_few few;

    (void)state;
    store_give_session(st, s);
    store_destroy(st);
    test_make_family("3.5");
    st = test_store();
    s = test_take(st, SESSION_NORMAL);
    test_sql("INSERT INTO xxl_job_group (app_name, name, access_token) VALUES ('weak', 'w', 'default_token'), "
             "('strong', 's', 'x')");
    assert_ok(store_find_groups_by_token(s, "default_token", &few, ec));
    assert_int_equal(few.all, 1);
    assert_string_equal(few.names[0], "weak");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_are_found_as_the_collation_says, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_role_of_ours_counts_beside_an_empty_row_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lists_are_filtered_and_ordered, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_change_is_written_only_to_what_was_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_session_is_found_with_its_user, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sessions_have_a_bound_and_the_oldest_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_new_password_ends_sessions_but_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_oldest_generation_has_no_token_column, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_is_proved_elsewhere_is_found_by_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_is_nobody_any_more_has_no_session, set_up, tear_down),
        cmocka_unit_test_setup_teardown(views_have_names_a_bound_and_an_owner, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_strong_password_counts_while_the_column_stands_for_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(strong_passwords_come_and_go_with_their_users, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tokens_have_names_bounds_and_owners, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failures_count_and_logins_do_not, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_try_that_was_none_is_taken_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tries_have_a_bound, set_up, tear_down),
        cmocka_unit_test_setup_teardown(groups_that_are_missing_are_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(secrets_that_everybody_knows_are_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(groups_of_3_5_are_found_by_their_token, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}

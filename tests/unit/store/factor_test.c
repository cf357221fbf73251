/* SPDX-License-Identifier: MIT */
/* Second factors: a code and a recovery code count once, and a secret that was not confirmed counts for nothing. */
#include "store/test_db.h"

#include "shardwheel/store/factor.h"

#define NOW_S INT64_C(1700000000)
#define ANN 7
#define BOB 8

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

static const struct audit_row audit = {.user_id = 1, .who = "admin", .action = "user.x"};
static char codes[RECOVERY_CODES][SECRET_HASH_MAX];

/* Ten codes that begin with the letter. */
static void make_codes(char letter)
{
    for (int i = 0; i < RECOVERY_CODES; i++) {
        char text[3] = {letter, (char)('0' + i), '\0'};

        sha256_hex(text, codes[i]);
    }
}

static struct factor_row load(int64_t user_id)
{
    struct factor_row row;

    assert_ok(store_load_factor(s, user_id, &row, ec));
    return row;
}

static bool confirm(int64_t user_id, const char *session, const char *pending, int64_t step)
{
    bool done = false;

    assert_ok(store_confirm_factor(s, user_id, session, pending, step, codes, &audit, &done, ec));
    return done;
}

static bool use_step(int64_t user_id, const char *secret, int64_t step)
{
    bool used = false;

    assert_ok(store_use_factor_step(s, user_id, secret, step, &used, ec));
    return used;
}

static bool use_recovery(int64_t user_id, const char *hash)
{
    bool used = false;

    assert_ok(store_use_recovery(s, user_id, hash, &used, ec));
    return used;
}

/* With the codes that were made last. */
static void put_in_use(int64_t user_id, const char *secret, int64_t step)
{
    assert_ok(store_set_pending_factor(s, user_id, secret, ec));
    assert_true(confirm(user_id, "", secret, step));
}

static int64_t count_audit(void)
{
    return test_int("SELECT COUNT(*) FROM shardwheel_audit");
}

static void a_secret_is_in_use_once_it_is_confirmed(void **state)
{
    struct factor_row row = load(ANN);

    (void)state;
    make_codes('a');
    assert_string_equal(row.secret, "");
    assert_string_equal(row.pending, "");
    assert_int_equal(row.since_ms, 0);
    assert_int_equal(row.code_count, 0);
    assert_true(row.now_ms > 0);

    assert_ok(store_set_pending_factor(s, ANN, "FIRST", ec));
    assert_ok(store_set_pending_factor(s, ANN, "SECOND", ec));
    row = load(ANN);
    assert_string_equal(row.secret, "");
    assert_string_equal(row.pending, "SECOND");
    assert_true(row.pending_ms > 0 && row.pending_ms <= row.now_ms);
    assert_false(use_step(ANN, "SECOND", 100));

    assert_false(confirm(ANN, "", "FIRST", 100)); /* another page has begun anew */
    assert_false(confirm(BOB, "", "SECOND", 100));
    assert_int_equal(count_audit(), 0);
    assert_int_equal(load(ANN).code_count, 0);

    assert_true(confirm(ANN, "", "SECOND", 100));
    row = load(ANN);
    assert_string_equal(row.secret, "SECOND");
    assert_string_equal(row.pending, "");
    assert_int_equal(row.pending_ms, 0);
    assert_true(row.since_ms > 0 && row.since_ms <= row.now_ms);
    assert_int_equal(row.last_step, 100);
    assert_int_equal(row.code_count, RECOVERY_CODES);
    assert_int_equal(count_audit(), 1);
    assert_false(confirm(ANN, "", "SECOND", 101)); /* twice */
    assert_int_equal(load(BOB).code_count, 0);
}

static void the_session_that_showed_the_code_has_shown_it(void **state)
{
    char ids[2][SECRET_HASH_MAX];

    (void)state;
    make_codes('a');
    for (int i = 0; i < 2; i++) {
        sha256_hex(i ? "one" : "other", ids[i]);
        test_sql("INSERT INTO shardwheel_session (id, user_id, password_hash, created_ms, used_ms, expires_ms, "
                 "lives_ms, address, agent) VALUES ('%s', 7, '%s', 1, 1, 1, 1, '', '')",
                 ids[i], ids[i]);
    }
    assert_ok(store_set_pending_factor(s, ANN, "SECRET", ec));
    assert_false(confirm(ANN, ids[0], "ANOTHER", 100));
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_session WHERE factor_ms IS NOT NULL"), 0);
    assert_true(confirm(ANN, ids[0], "SECRET", 100));
    assert_string_equal(test_text("SELECT GROUP_CONCAT(id) FROM shardwheel_session WHERE factor_ms > 0"), ids[0]);
}

static void a_code_counts_once_and_none_before_it(void **state)
{
    (void)state;
    put_in_use(ANN, "A", 100);
    put_in_use(BOB, "B", 50);
    assert_false(use_step(ANN, "A", 99));
    assert_false(use_step(ANN, "A", 100)); /* the one that confirmed it */
    assert_false(use_step(ANN, "B", 101));
    assert_true(use_step(ANN, "A", 101));
    assert_false(use_step(ANN, "A", 101));
    assert_int_equal(load(ANN).last_step, 101);
    assert_true(use_step(ANN, "A", 103));
    assert_false(use_step(ANN, "A", 102));
    assert_int_equal(load(BOB).last_step, 50);
}

static void a_recovery_code_counts_once(void **state)
{
    char anns[SECRET_HASH_MAX];

    (void)state;
    make_codes('a');
    put_in_use(ANN, "A", 100);
    strcpy(anns, codes[3]);
    make_codes('b');
    put_in_use(BOB, "B", 100);
    assert_false(use_recovery(BOB, anns));
    assert_true(use_recovery(ANN, anns));
    assert_false(use_recovery(ANN, anns));
    assert_int_equal(load(ANN).code_count, RECOVERY_CODES - 1);
    assert_int_equal(load(BOB).code_count, RECOVERY_CODES);
}

static void new_recovery_codes_take_the_place_of_the_old(void **state)
{
    char old[SECRET_HASH_MAX];
    struct errctx why;

    (void)state;
    make_codes('a');
    strcpy(old, codes[0]);
    assert_int_equal(store_replace_recovery(s, ANN, codes, &audit, &why), ERR_NOTFOUND);
    assert_ok(store_set_pending_factor(s, ANN, "A", ec)); /* that is none */
    assert_int_equal(store_replace_recovery(s, ANN, codes, &audit, &why), ERR_NOTFOUND);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_recovery"), 0);
    assert_int_equal(count_audit(), 0);

    put_in_use(ANN, "A", 100);
    put_in_use(BOB, "B", 100);
    make_codes('b');
    assert_ok(store_replace_recovery(s, ANN, codes, &audit, ec));
    assert_int_equal(count_audit(), 3);
    assert_int_equal(load(ANN).code_count, RECOVERY_CODES);
    assert_false(use_recovery(ANN, old));
    assert_true(use_recovery(ANN, codes[9]));
    assert_true(use_recovery(BOB, old));
}

static void a_factor_that_is_removed_leaves_nothing(void **state)
{
    struct factor_row row;
    struct errctx why;

    (void)state;
    make_codes('a');
    assert_ok(store_set_pending_factor(s, ANN, "A", ec));
    assert_int_equal(store_remove_factor(s, ANN, &audit, &why), ERR_NOTFOUND);
    assert_string_equal(load(ANN).pending, "A");
    put_in_use(ANN, "A", 100);
    put_in_use(BOB, "B", 100);
    assert_ok(store_set_pending_factor(s, ANN, "NEXT", ec));
    assert_string_equal(load(ANN).secret, "A"); /* it stays until the next one is confirmed */
    assert_int_equal(count_audit(), 2);

    assert_ok(store_remove_factor(s, ANN, &audit, ec));
    assert_int_equal(count_audit(), 3);
    row = load(ANN);
    assert_string_equal(row.secret, "");
    assert_string_equal(row.pending, "");
    assert_int_equal(row.code_count, 0);
    assert_string_equal(load(BOB).secret, "B");
    assert_int_equal(load(BOB).code_count, RECOVERY_CODES);
    assert_int_equal(store_remove_factor(s, ANN, &audit, &why), ERR_NOTFOUND);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_secret_is_in_use_once_it_is_confirmed),      TEST(the_session_that_showed_the_code_has_shown_it),
        TEST(a_code_counts_once_and_none_before_it),        TEST(a_recovery_code_counts_once),
        TEST(new_recovery_codes_take_the_place_of_the_old), TEST(a_factor_that_is_removed_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}

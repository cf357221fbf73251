/* SPDX-License-Identifier: MIT */
/* argon2id: what is stored, what fits it, how many are made at once, and which bounds such passwords have. */
#include "admin/people/strong.h"

#include "admin/people/password.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#define PASSWORD "correct horse battery staple"

static struct counters counters;
static struct hashing hashing;

static int set_up(void **state)
{
    (void)state;
    return hashing_init(&hashing, &counters, NULL) != ERR_OK;
}

static int tear_down(void **state)
{
    (void)state;
    hashing_fini(&hashing);
    return 0;
}

static void a_hash_fits_its_password_alone(void **state)
{
    struct user u = {0}, again = {0};
    char md5[65], changed[STRONG_HASH_MAX];

    (void)state;
    assert_int_equal(strong_make(&hashing, PASSWORD, &u, NULL), ERR_OK);
    assert_int_equal(strong_make(&hashing, PASSWORD, &again, NULL), ERR_OK);
    assert_string_not_equal(u.strong, again.strong); /* each with a salt of its own */
    assert_string_not_equal(u.password, again.password);
    assert_ptr_equal(strstr(u.strong, "$argon2id$v=19$m=19456,t=2,p=1$"), u.strong);
    assert_true(strong_fits(&hashing, u.strong, PASSWORD));
    assert_false(strong_fits(&hashing, u.strong, "correct horse battery stapl"));
    assert_false(strong_fits(&hashing, u.strong, ""));
    assert_false(strong_fits(&hashing, u.strong, u.strong));
    /* What stands in the column has the form of no original hash, and has room in the shortest column. */
    assert_true(strlen(u.password) <= 50 && strlen(u.password) > 32 + 10);
    assert_false(password_fits(u.password, PASSWORD));
    password_hash(50, PASSWORD, md5);
    assert_string_not_equal(u.password, md5);
    strcpy(changed, u.strong);
    changed[strlen(changed) - 1] ^= 1;
    assert_false(strong_fits(&hashing, changed, PASSWORD));
}

static void what_is_no_hash_fits_nothing_and_costs_the_same(void **state)
{
    static const char *const stored[] = {
        "", "$argon2id$", "e10adc3949ba59abbe56e057f20f883e",
        /* what would take 4 GiB, or a minute, or is of another kind; of the password "x" but for that */
        "$argon2id$v=19$m=4194304,t=2,p=1$CiG8t95xUsfqfp067aIN8g$dlB5WrRuXSVu1ZY5p9typiUpkEErRwnfhoSTFXiaSec",
        "$argon2id$v=19$m=19456,t=4000,p=1$CiG8t95xUsfqfp067aIN8g$dlB5WrRuXSVu1ZY5p9typiUpkEErRwnfhoSTFXiaSec",
        "$argon2i$v=19$m=19456,t=2,p=1$CiG8t95xUsfqfp067aIN8g$dlB5WrRuXSVu1ZY5p9typiUpkEErRwnfhoSTFXiaSec",
        /* cut off */
        "$argon2id$v=19$m=19456,t=2,p=1$CiG8t95xUsfqfp067aIN8g"};
    int64_t before = counters_get(&counters, COUNTER_PASSWORD_HASHES);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(stored); i++)
        assert_false(strong_fits(&hashing, stored[i], "x"));
    assert_int_equal(counters_get(&counters, COUNTER_PASSWORD_HASHES) - before, ARRAY_LEN(stored));
}

/* The hash of a password that is in the source is nobody's. */
static void the_hash_that_stands_in_for_none_lets_nobody_in(void **state)
{
    char *huge = malloc(2000);

    (void)state;
    assert_non_null(huge);
    memset(huge, 'x', 1999);
    huge[1999] = '\0';
    assert_false(strong_fits(&hashing, "", "x"));
    assert_false(strong_fits(&hashing, "", huge));
    assert_false(strong_fits(&hashing, "", ""));
    free(huge);
}

static void the_strong_one_counts_alone_where_there_is_one(void **state)
{
    struct user u = {0};
    struct stored_password p = {.column = u.password, .strong = "", .slow = false};
    int64_t before;

    (void)state;
    password_hash(50, "before", u.password);
    before = counters_get(&counters, COUNTER_PASSWORD_HASHES);
    assert_true(stored_password_fits(&hashing, &p, "before"));
    assert_int_equal(counters_get(&counters, COUNTER_PASSWORD_HASHES), before);
    p.slow = true;
    assert_true(stored_password_fits(&hashing, &p, "before"));
    assert_false(stored_password_fits(&hashing, &p, "after"));
    assert_int_equal(counters_get(&counters, COUNTER_PASSWORD_HASHES), before + 2);
    assert_int_equal(strong_make(&hashing, "after", &u, NULL), ERR_OK);
    password_hash(50, "before", u.password); /* never so: the column has what stands for it */
    p.strong = u.strong;
    assert_false(stored_password_fits(&hashing, &p, "before"));
    p.slow = false;
    assert_true(stored_password_fits(&hashing, &p, "after"));
}

/* ---- how many at once -------------------------------------------------------------------------------------------- */

static void enter(void *arg)
{
    struct refusal r = {0};

    *(enum err *)arg = hashing_enter(&hashing, clock_system(), &r);
}

static void those_beyond_who_wait_are_refused(void **state)
{
    struct thread threads[HASHINGS_WAITING];
    enum err got[HASHINGS_WAITING];
    struct refusal r = {0};
    int waiting = 0;

    (void)state;
    for (int i = 0; i < HASHINGS; i++)
        assert_int_equal(hashing_enter(&hashing, clock_system(), &r), ERR_OK);
    for (int i = 0; i < HASHINGS_WAITING; i++)
        assert_int_equal(thread_start(&threads[i], "waits", enter, &got[i], NULL), ERR_OK);
    while (waiting < HASHINGS_WAITING) {
        mutex_lock(&hashing.lock);
        waiting = hashing.waiting;
        mutex_unlock(&hashing.lock);
    }
    assert_int_equal(hashing_enter(&hashing, clock_system(), &r), ERR_BUSY);
    assert_int_equal(r.kind, REFUSED_LIMIT);
    assert_int_equal(r.retry_s, 1);
    for (int i = 0; i < HASHINGS + HASHINGS_WAITING; i++) {
        bool busy = false;
        while (!busy) { /* who waited has come in */
            mutex_lock(&hashing.lock);
            busy = hashing.busy == HASHINGS || hashing.busy + hashing.waiting == HASHINGS + HASHINGS_WAITING - i;
            mutex_unlock(&hashing.lock);
        }
        hashing_leave(&hashing);
    }
    for (int i = 0; i < HASHINGS_WAITING; i++) {
        thread_join(&threads[i]);
        assert_int_equal(got[i], ERR_OK);
    }
    assert_int_equal(hashing.busy, 0);
    assert_int_equal(hashing.waiting, 0);
}

/* ---- bounds ------------------------------------------------------------------------------------------------------ */

static void strong_passwords_have_8_to_128_characters(void **state)
{
    static const struct {
        size_t letters;
        enum refusal_kind kind;
    } cases[] = {{0, REFUSED_REQUIRED}, {7, REFUSED_LENGTH},   {8, REFUSED_NOT},        {21, REFUSED_NOT},
                 {128, REFUSED_NOT},    {129, REFUSED_LENGTH}, {100000, REFUSED_LENGTH}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct refusal r = {0};
        char *text = calloc(1, cases[i].letters + 1), *got = NULL;
        assert_non_null(text);
        memset(text, 'p', cases[i].letters);
        (void)!check_password(text, /*strong=*/true, &got, &r);
        assert_int_equal(r.kind, cases[i].kind);
        free(text);
        free(got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hash_fits_its_password_alone),
        cmocka_unit_test(what_is_no_hash_fits_nothing_and_costs_the_same),
        cmocka_unit_test(the_hash_that_stands_in_for_none_lets_nobody_in),
        cmocka_unit_test(the_strong_one_counts_alone_where_there_is_one),
        cmocka_unit_test(those_beyond_who_wait_are_refused),
        cmocka_unit_test(strong_passwords_have_8_to_128_characters),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

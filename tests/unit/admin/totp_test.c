/* SPDX-License-Identifier: MIT */
/* Codes of authenticator apps by the vectors of RFC 6238, and recovery codes. */
#include "admin/people/totp.h"

#include "admin/people/factor.h"
#include "admin/people/throttle.h"
#include "test.h"

#include <string.h>

#define SECRET "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ" /* "12345678901234567890" */

static void codes_are_those_of_the_standard(void **state)
{
    static const struct {
        int64_t at_s;
        const char *code; /* the last six of its eight digits */
    } cases[] = {{59, "287082"},         {1111111109, "081804"}, {1111111111, "050471"},
                 {1234567890, "005924"}, {2000000000, "279037"}, {INT64_C(20000000000), "353130"}};
    char code[TOTP_DIGITS + 1];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_true(totp_make_code(SECRET, cases[i].at_s / 30, code));
        assert_string_equal(code, cases[i].code);
        assert_int_equal(totp_find_step(SECRET, cases[i].code, cases[i].at_s * 1000, 0), cases[i].at_s / 30);
    }
    assert_false(totp_make_code("", 1, code));
    assert_false(totp_make_code("GEZ1", 1, code)); /* no digit of base32 */
}

static void a_code_counts_for_a_step_around_now_and_not_twice(void **state)
{
    char code[TOTP_DIGITS + 1];
    int64_t now = 1000000, now_ms = now * TOTP_STEP_MS + 17;

    (void)state;
    for (int64_t step = now - 3; step <= now + 3; step++) {
        bool fits = step >= now - 1 && step <= now + 1;
        assert_true(totp_make_code(SECRET, step, code));
        assert_int_equal(totp_find_step(SECRET, code, now_ms, 0), fits ? step : 0);
        assert_int_equal(totp_find_step(SECRET, code, now_ms, now - 1), fits && step > now - 1 ? step : 0);
        assert_int_equal(totp_find_step(SECRET, code, now_ms, now + 1), 0);
    }
}

static void what_is_no_code_fits_nothing(void **state)
{
    static const char *const texts[] = {"",       " ",      "28708",  "2870822",
                                        "28708a", "-87082", "0x4611", "\xff\xff\xff\xff\xff\xff"};
    char huge[5000];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(totp_find_step(SECRET, texts[i], 59000, 0), 0);
    memset(huge, '1', sizeof huge - 1);
    huge[sizeof huge - 1] = '\0';
    assert_int_equal(totp_find_step(SECRET, huge, 59000, 0), 0);
    assert_int_equal(totp_find_step(SECRET, " 287 082 ", 59000, 0), 1);
}

static void secrets_are_random_and_fit_their_url(void **state)
{
    char one[FACTOR_SECRET_MAX], two[FACTOR_SECRET_MAX], code[TOTP_DIGITS + 1];
    struct buf url = {0};

    (void)state;
    assert_int_equal(totp_make_secret(one, NULL), ERR_OK);
    assert_int_equal(totp_make_secret(two, NULL), ERR_OK);
    assert_string_not_equal(one, two);
    assert_int_equal(strlen(one), 32);
    assert_true(totp_make_code(one, 1, code));
    totp_put_url(&url, "A b&\xe7\x8e\x8b", SECRET);
    assert_string_equal(url.data, "otpauth://totp/shardwheel:A%20b%26%E7%8E%8B?secret=" SECRET "&issuer=shardwheel");
    buf_fini(&url);
}

static void recovery_codes_are_read_as_people_type_them(void **state)
{
    static const char *const bad[] = {"", "abcd", "abcd-efgh-ijkl-mno1", "abcd-efgh-ijkl-mnopq", "abcd_efgh_ijkl_mnop"};
    char code[RECOVERY_TEXT_MAX], other[RECOVERY_TEXT_MAX], hash[SECRET_HASH_MAX], same[SECRET_HASH_MAX];

    (void)state;
    assert_int_equal(recovery_make(code, NULL), ERR_OK);
    assert_int_equal(recovery_make(other, NULL), ERR_OK);
    assert_string_not_equal(code, other);
    assert_int_equal(strlen(code), 19);
    assert_true(recovery_hash(code, hash));
    assert_true(recovery_hash("abcd-efgh-ijkl-mnop", hash));
    assert_true(recovery_hash(" ABCDEFGH ijkl-MNOP", same));
    assert_string_equal(hash, same);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(recovery_hash(bad[i], hash));
}

static void roles_of_the_setting(void **state)
{
    (void)state;
    assert_int_equal(factor_parse_roles("none"), 0);
    assert_int_equal(factor_parse_roles("admin"), 1u << ROLE_ADMIN);
    assert_int_equal(factor_parse_roles("admin,reader"), 1u << ROLE_ADMIN | 1u << ROLE_READER);
    assert_int_equal(factor_parse_roles("all"), factor_parse_roles("admin,user,runner,reader"));
}

static void wrong_codes_wait_up_to_a_quarter_of_an_hour(void **state)
{
    struct login_failures failures = {4, 1000000};

    (void)state;
    assert_int_equal(throttle_find_code_wait(0, &failures, 1000000), 0);
    failures.count = 5;
    assert_int_equal(throttle_find_code_wait(0, &failures, 1000000), 1000);
    failures.count = 40;
    assert_int_equal(throttle_find_code_wait(0, &failures, 1000000), 900000);
    assert_int_equal(throttle_find_wait(0, &failures, 1000000), 60000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_are_those_of_the_standard),
        cmocka_unit_test(a_code_counts_for_a_step_around_now_and_not_twice),
        cmocka_unit_test(what_is_no_code_fits_nothing),
        cmocka_unit_test(secrets_are_random_and_fit_their_url),
        cmocka_unit_test(recovery_codes_are_read_as_people_type_them),
        cmocka_unit_test(roles_of_the_setting),
        cmocka_unit_test(wrong_codes_wait_up_to_a_quarter_of_an_hour),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

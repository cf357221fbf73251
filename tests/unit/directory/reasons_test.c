/* SPDX-License-Identifier: MIT */
#include "directory/reasons.h"
#include "shardwheel/base.h"
#include "test.h"

#define HEAD "80090308: LdapErr: DSID-0C090447, comment: AcceptSecurityContext error"

static void what_active_directory_says_is_told_in_words(void **state)
{
    static const struct {
        const char *words, *reason;
        bool expired;
    } cases[] = {
        {HEAD ", data 52e, v4563", "the password is wrong", false},
        {HEAD ", data 525, v4563", "there is no such user", false},
        {HEAD ", data 533, v4563", "the account is disabled", false},
        {HEAD ", data 532, v4563", "the password has expired", true},
        {HEAD ", data 773, v4563", "the password must be changed", true},
        {HEAD ", data 701, v4563", "the account has expired", false},
        {HEAD ", data 775, v4563", "the account is locked", false},
        {HEAD ", data 0, v4563", NULL, false},
        {HEAD ", data 5320, v4563", NULL, false},
        {HEAD ", data 532", NULL, false}, /* cut off */
        {HEAD ", data , v4563", NULL, false},
        {HEAD ", data  532, v", NULL, false},
        {HEAD ", data", NULL, false},
        {"x, data 532, v4563", NULL, false}, /* of another server */
        {"Invalid credentials", NULL, false},
        {"", NULL, false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        bool expired = true;
        const char *reason = reason_of_bind(cases[i].words, &expired);
        if (!cases[i].reason)
            assert_null(reason);
        else
            assert_string_equal(reason, cases[i].reason);
        assert_int_equal(expired, cases[i].expired);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_active_directory_says_is_told_in_words)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Whether a run is lost: each rule alone, and its edges. */
#include "test.h"

#include "follow/lost_rule.h"

#include <string.h>

static void each_rule_has_its_edges(void **state)
{
    static const struct {
        struct lost_facts facts;
        enum lost_reason reason;
    } cases[] = {
        /* age_s, registered, was_registered, away_ms, idle_ms, quiet_ms */
        {{599, false, false, -1, -1, 999999}, LOST_NOT},
        {{600, false, false, -1, -1, 0}, LOST_UNREGISTERED},
        {{600, true, true, 0, -1, 999999}, LOST_NOT},
        {{99999, true, true, 0, -1, 999999}, LOST_NOT},
        {{-1, false, false, -1, -1, 999999}, LOST_NOT}, /* a row without a time is nobody's: the original's rule */
        {{100, false, true, 29999, -1, 999999}, LOST_NOT},
        {{100, false, true, 30000, -1, 119999}, LOST_NOT},
        {{100, false, true, 30000, -1, 120000}, LOST_LEFT},
        {{100, true, true, 30000, -1, 120000}, LOST_NOT},
        {{100, false, false, 30000, -1, 120000}, LOST_NOT},
        {{100, true, true, 0, 59999, 120000}, LOST_NOT},
        {{100, true, true, 0, 60000, 119999}, LOST_NOT},
        {{100, true, true, 0, 60000, 120000}, LOST_IDLE},
        {{100, false, false, -1, 60000, 120000}, LOST_IDLE}, /* given by hand: its own word counts */
        {{-1, true, true, 0, 60000, 120000}, LOST_IDLE},
        {{700, false, true, 60000, 60000, 120000}, LOST_UNREGISTERED},
        {{100, false, true, 60000, 60000, 120000}, LOST_LEFT},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (lost_decide(&cases[i].facts) != cases[i].reason)
            fail_msg("case %zu: %d, not %d", i, (int)lost_decide(&cases[i].facts), (int)cases[i].reason);
}

static void each_reason_has_its_text(void **state)
{
    (void)state;
    for (int i = LOST_NOT + 1; i < LOST_REASONS; i++)
        for (int k = LOST_NOT; k < i; k++)
            assert_string_not_equal(lost_reason_text((enum lost_reason)i), lost_reason_text((enum lost_reason)k));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule_has_its_edges),
        cmocka_unit_test(each_reason_has_its_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

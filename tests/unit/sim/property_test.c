/* SPDX-License-Identifier: MIT */
/*
 * Random histories. SHARDWHEEL_SIM_SEED is the first seed (drawn and printed otherwise), SHARDWHEEL_SIM_RUNS says how
 * many are tried, one after the other.
 */
#include "test.h"

#include "sim/history.h"

#include <inttypes.h>
#include <stdlib.h>

#define RUNS 8

static int64_t read_number(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);

    return text ? strtoll(text, NULL, 10) : otherwise;
}

static void random_histories(void **state)
{
    int64_t runs = read_number("SHARDWHEEL_SIM_RUNS", RUNS);
    char hex[9], why[HISTORY_WHY_MAX];
    struct errctx ec;
    uint64_t first;

    (void)state;
    assert_int_equal(__real_random_hex(hex, 4, &ec), ERR_OK);
    first = (uint64_t)read_number("SHARDWHEEL_SIM_SEED", strtoll(hex, NULL, 16));
    print_message("seeds from %" PRIu64 "\n", first);
    for (uint64_t seed = first; seed < first + (uint64_t)runs; seed++)
        if (!history_run(seed, RULE_NONE, why))
            fail_msg("%s (SHARDWHEEL_SIM_SEED=%" PRIu64 ")", why, seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_histories)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

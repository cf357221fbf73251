/* SPDX-License-Identifier: MIT */
/*
 * Random histories: some that are always the same, and as many new ones. SHARDWHEEL_SIM_SEED is the first of the new
 * seeds (drawn and printed otherwise), SHARDWHEEL_SIM_RUNS says how many are tried, one after the other; with the
 * latter, those that are always the same are left out. Each that does not hold is said. tools/simulate runs many.
 */
#include "sanitized.h"
#include "test.h"

#include "sim/history.h"

#include <inttypes.h>
#include <stdlib.h>

/* Half a minute each; address sanitizer takes several times as long. */
#if WITH_ASAN
#define RUNS 10
#else
#define RUNS 300
#endif

static int64_t read_number(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);

    return text ? strtoll(text, NULL, 10) : otherwise;
}

static void run_histories(uint64_t first, int64_t runs)
{
    char why[HISTORY_WHY_MAX];
    int failed = 0;

    for (uint64_t seed = first; seed < first + (uint64_t)runs; seed++)
        if (!history_run(seed, RULE_NONE, why)) {
            print_message("%s (SHARDWHEEL_SIM_SEED=%" PRIu64 ")\n", why, seed);
            failed++;
        }
    if (failed)
        fail_msg("%d of %" PRId64 " histories do not hold", failed, runs);
}

static void known_histories(void **state)
{
    (void)state;
    if (getenv("SHARDWHEEL_SIM_RUNS"))
        return;
    run_histories(1, RUNS);
    run_histories(140003956, 1); /* a node is told to stop, and then the number of shards changes */
}

static void new_histories(void **state)
{
    uint64_t first;
    char hex[9];
    struct errctx ec;

    (void)state;
    assert_int_equal(__real_random_hex(hex, 4, &ec), ERR_OK);
    first = (uint64_t)read_number("SHARDWHEEL_SIM_SEED", strtoll(hex, NULL, 16));
    print_message("seeds from %" PRIu64 "\n", first);
    run_histories(first, read_number("SHARDWHEEL_SIM_RUNS", RUNS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(known_histories), cmocka_unit_test(new_histories)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

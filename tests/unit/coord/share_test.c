/* SPDX-License-Identifier: MIT */
#include "coord/share.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_shares_cover_all_shards(void **state)
{
    (void)state;
    for (int shards = 1; shards <= 70; shards++) {
        for (int live = 1; live <= 80; live++) {
            int share = share_get_size(shards, live);

            assert_true(share * live >= shards);
            assert_true((share - 1) * live < shards);
        }
    }
    assert_int_equal(share_get_size(8, 0), 8);
    assert_int_equal(share_get_size(8, 3), 3);
    assert_int_equal(share_get_size(8, 9), 1);
}

static void test_choice_is_spread_and_begins_with_the_oldest(void **state)
{
    struct share_item items[8];
    struct share_item three[3] = {
        {.shard = 1, .taken_mono_ms = 30}, {.shard = 2, .taken_mono_ms = 10}, {.shard = 3, .taken_mono_ms = 20}};
    int chosen = 0;

    (void)state;
    for (int k = 0; k < 8; k++)
        items[k] = (struct share_item){.shard = 7 - k, .taken_mono_ms = 5};
    share_choose(items, 8, 4);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(items[i].shard, i);
        assert_int_equal(items[i].chosen, i % 2 == 0);
    }
    share_choose(three, 3, 1);
    assert_int_equal(three[0].shard, 2);
    assert_true(three[0].chosen);
    assert_false(three[1].chosen || three[2].chosen);
    share_choose(three, 3, 9);
    for (int i = 0; i < 3; i++)
        chosen += three[i].chosen;
    assert_int_equal(chosen, 3);
    for (size_t excess = 0; excess <= 8; excess++) {
        chosen = 0;
        share_choose(items, 8, excess);
        for (int i = 0; i < 8; i++)
            chosen += items[i].chosen;
        assert_int_equal(chosen, excess);
    }
    share_choose(NULL, 0, 0);
}

static void test_patience_grows_to_a_limit(void **state)
{
    (void)state;
    assert_int_equal(share_get_patience_ms(0), 1000);
    assert_int_equal(share_get_patience_ms(1), 2000);
    assert_int_equal(share_get_patience_ms(5), 32000);
    assert_int_equal(share_get_patience_ms(9), 300000);
    assert_int_equal(share_get_patience_ms(1000000), 300000);
}

static void test_hold_varies_by_ten_percent(void **state)
{
    int64_t least = INT64_MAX;
    int64_t most = 0;

    (void)state;
    for (uint64_t random = 0; random < 5000; random++) {
        int64_t ms = share_get_hold_ms(10000, random);

        least = ms < least ? ms : least;
        most = ms > most ? ms : most;
    }
    assert_int_equal(least, 9000);
    assert_int_equal(most, 11000);
    assert_int_equal(share_get_hold_ms(1, UINT64_MAX), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares_cover_all_shards),
        cmocka_unit_test(test_choice_is_spread_and_begins_with_the_oldest),
        cmocka_unit_test(test_patience_grows_to_a_limit),
        cmocka_unit_test(test_hold_varies_by_ten_percent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

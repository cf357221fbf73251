/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "follow/watch.h"

#include <stdlib.h>

static struct errctx ec;

/* A round that sees these ids open; how many ids had their turn. */
static size_t go_round(struct watch *w, int64_t front_id, size_t turn_max, const int64_t *open, size_t count,
                       int64_t now_ms)
{
    size_t dropped = 0;

    assert_int_equal(watch_begin(w, front_id, turn_max, &ec), ERR_OK);
    size_t turn = w->turn_count;
    for (size_t i = 0; i < count; i++)
        assert_int_equal(watch_note(w, open[i], &ec), ERR_OK);
    assert_int_equal(watch_end(w, now_ms, &dropped, &ec), ERR_OK);
    return turn;
}

static void assert_ids(const struct watch *w, const int64_t *ids, size_t count)
{
    assert_int_equal(w->count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(w->items[i].id, ids[i]);
}

#define IDS(...) (const int64_t[]){__VA_ARGS__}, sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t)

static void rows_are_kept_as_long_as_they_are_open(void **state)
{
    struct watch w;

    (void)state;
    watch_init(&w, 100);
    assert_int_equal(go_round(&w, 0, 10, IDS(7, 3, 5, 3), 1000), 0);
    assert_ids(&w, IDS(3, 5, 7));
    /* 7 is above the front and not seen any more, 3 and 5 have their turn. */
    assert_int_equal(go_round(&w, 5, 10, IDS(5, 9), 2000), 2);
    assert_ids(&w, IDS(5, 9));
    assert_int_equal(watch_get_seen_ms(&w, 5), 1000);
    assert_int_equal(watch_get_seen_ms(&w, 9), 2000);
    assert_int_equal(watch_get_seen_ms(&w, 7), INT64_MAX);
    assert_int_equal(go_round(&w, 9, 10, NULL, 0, 3000), 2);
    assert_int_equal(w.count, 0);
    watch_fini(&w);
}

static void everybody_gets_a_turn(void **state)
{
    struct watch w;
    int seen[21] = {0};
    size_t dropped;

    (void)state;
    watch_init(&w, 100);
    for (int64_t id = 1; id <= 20; id++)
        go_round(&w, id - 1, 0, &id, 1, 0);
    assert_int_equal(w.count, 20);
    for (int round = 0; round < 6; round++) {
        assert_int_equal(watch_begin(&w, 20, 7, &ec), ERR_OK);
        for (size_t i = 0; i < w.turn_count; i++) {
            seen[w.turn[i]]++;
            assert_int_equal(watch_note(&w, w.turn[i], &ec), ERR_OK);
        }
        assert_int_equal(watch_end(&w, 0, &dropped, &ec), ERR_OK);
    }
    for (int id = 1; id <= 20; id++)
        assert_in_range(seen[id], 1, 2);
    /* While all fit into a turn, each has one every time. */
    for (int round = 0; round < 3; round++)
        assert_int_equal(watch_begin(&w, 20, 20, &ec) == ERR_OK ? w.turn_count : 0, 20);
    watch_fini(&w);
}

static void a_round_that_failed_has_not_been(void **state)
{
    struct watch w;

    (void)state;
    watch_init(&w, 100);
    go_round(&w, 0, 10, IDS(1, 2, 3), 5);
    assert_int_equal(watch_begin(&w, 2, 10, &ec), ERR_OK);
    assert_int_equal(watch_note(&w, 8, &ec), ERR_OK);
    watch_abandon(&w);
    assert_ids(&w, IDS(1, 2, 3));
    assert_int_equal(go_round(&w, 2, 10, IDS(1, 2, 3), 6), 2);
    assert_ids(&w, IDS(1, 2, 3));
    assert_int_equal(watch_get_seen_ms(&w, 3), 5);
    watch_fini(&w);
}

static void the_oldest_go_when_there_are_too_many(void **state)
{
    struct watch w;
    size_t dropped = 0;

    (void)state;
    watch_init(&w, 3);
    go_round(&w, 0, 10, IDS(1, 2, 3), 5);
    assert_int_equal(watch_begin(&w, 0, 10, &ec), ERR_OK);
    for (int64_t id = 1; id <= 5; id++)
        assert_int_equal(watch_note(&w, id, &ec), ERR_OK);
    assert_int_equal(watch_end(&w, 6, &dropped, &ec), ERR_OK);
    assert_int_equal(dropped, 2);
    assert_ids(&w, IDS(3, 4, 5));
    assert_int_equal(watch_get_seen_ms(&w, 3), 5);
    watch_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_kept_as_long_as_they_are_open),
        cmocka_unit_test(everybody_gets_a_turn),
        cmocka_unit_test(a_round_that_failed_has_not_been),
        cmocka_unit_test(the_oldest_go_when_there_are_too_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

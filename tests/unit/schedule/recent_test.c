/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "schedule/shard/recent.h"
#include "shardwheel/job/times.h"

#include <stdlib.h>
#include <unistd.h>

#define NOW_S INT64_C(1767225600)

static struct recent *make(int shards)
{
    struct recent *r = NULL;
    struct errctx ec;

    assert_int_equal(recent_create(shards, &r, &ec), ERR_OK);
    return r;
}

static void the_newest_second_is_kept_for_a_minute(void **state)
{
    struct recent *r = make(8);

    (void)state;
    assert_int_equal(recent_find(r, 3, NOW_S), INT64_MIN);
    recent_note(r, 3, NOW_S + 4, NOW_S + 4, NOW_S);
    recent_note(r, 3, NOW_S + 2, NOW_S + 2, NOW_S);
    assert_int_equal(recent_find(r, 3, NOW_S), NOW_S + 4);
    assert_int_equal(recent_find(r, 11, NOW_S), INT64_MIN);
    assert_int_equal(recent_find(r, 3, NOW_S + 4 + PLAN_REMEMBER_S), NOW_S + 4);
    assert_int_equal(recent_find(r, 3, NOW_S + 5 + PLAN_REMEMBER_S), INT64_MIN);
    recent_destroy(r);
}

/* The clock was an hour ahead for a moment. */
static void a_second_far_ahead_says_nothing(void **state)
{
    struct recent *r = make(1);

    (void)state;
    recent_note(r, 3, NOW_S + 3600, NOW_S + 3600, NOW_S + 3600);
    assert_int_equal(recent_find(r, 3, NOW_S), INT64_MIN);
    recent_note(r, 3, NOW_S + 1, NOW_S + 1, NOW_S);
    assert_int_equal(recent_find(r, 3, NOW_S), NOW_S + 1);
    recent_destroy(r);
}

static void what_does_not_fit_a_slot_is_not_kept(void **state)
{
    const int64_t ids[] = {-1, INT64_MAX, (INT64_C(1) << 32) * 8};
    struct recent *r = make(8);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        recent_note(r, ids[i], NOW_S, NOW_S, NOW_S);
        assert_int_equal(recent_find(r, ids[i], NOW_S), INT64_MIN);
    }
    recent_note(r, 16, 0, 0, NOW_S);
    recent_note(r, 16, -5, -5, NOW_S);
    assert_int_equal(recent_find(r, 16, NOW_S), INT64_MIN);
    recent_note(r, (INT64_C(1) << 32) * 8 - 1, NOW_S, NOW_S, NOW_S);
    assert_int_equal(recent_find(r, (INT64_C(1) << 32) * 8 - 1, NOW_S), NOW_S);
    assert_int_equal(recent_find(r, 7, NOW_S), INT64_MIN);
    recent_destroy(r);
}

/* Ten minutes of 2,000 jobs a second of which none comes again: the table holds those of one. */
static void memory_follows_what_is_recent(void **state)
{
    struct recent *r = make(1);
    int64_t job = 1;

    (void)state;
    for (int64_t now_s = NOW_S; now_s < NOW_S + 600; now_s++) {
        for (int i = 0; i < 2000; i++)
            recent_note(r, job++, now_s + 5, now_s + 5, now_s);
        assert_int_equal(recent_find(r, job - 1, now_s), now_s + 5);
        if (now_s >= NOW_S + 60)
            assert_int_equal(recent_find(r, job - 2000 * 60, now_s), now_s + 5 - 59);
    }
    assert_true(recent_count_slots(r) <= 2 * 2 * 2000 * (PLAN_REMEMBER_S + 5));
    recent_destroy(r);
}

/* More jobs within a minute than there is room for: the newest are known, and no more memory is taken. */
static void the_table_has_an_end(void **state)
{
    enum { SHARDS = 1024, SECONDS = 120, JOBS = 100 };
    struct recent *r = make(SHARDS);
    int64_t job = 0;

    (void)state;
    for (int64_t now_s = NOW_S; now_s < NOW_S + SECONDS; now_s++)
        for (int i = 0; i < JOBS; i++, job += SHARDS) {
            recent_note(r, job, now_s, now_s, now_s);
            assert_int_equal(recent_find(r, job, now_s), now_s);
            assert_true(recent_count_slots(r) <= RECENT_SLOTS_MAX / SHARDS);
        }
    for (int i = 0; i < 500; i++) {
        job -= SHARDS;
        assert_true(recent_find(r, job, NOW_S + SECONDS) >= NOW_S + SECONDS - 5 - 1);
    }
    recent_destroy(r);
}

/* Against a plain list, with ids that meet in the table. */
static void random_jobs_are_found(void **state)
{
    enum { JOBS = 300 };
    unsigned seed = (unsigned)getpid();
    struct recent *r = make(3);
    int64_t newest[JOBS] = {0};

    (void)state;
    print_message("seed %u\n", seed);
    for (int step = 0; step < 20000; step++) {
        int64_t now_s = NOW_S + step / 20;
        int k = rand_r(&seed) % JOBS, look = rand_r(&seed) % JOBS;
        int64_t due_s = now_s - 10 + rand_r(&seed) % 15;

        recent_note(r, (int64_t)k * 3 * 4096, due_s, due_s, now_s);
        if (due_s > newest[k])
            newest[k] = due_s;
        assert_int_equal(recent_find(r, (int64_t)look * 3 * 4096, now_s),
                         newest[look] >= now_s - PLAN_REMEMBER_S ? newest[look] : INT64_MIN);
    }
    recent_destroy(r);
}

/* What was sent stays, what was to be sent is the database's to say. */
static void a_takeover_keeps_what_was_sent(void **state)
{
    struct recent *r = make(1);

    (void)state;
    recent_note(r, 1, NOW_S - 3, NOW_S - 3, NOW_S);
    recent_note(r, 2, NOW_S - 1, NOW_S - 1, NOW_S);
    recent_note(r, 2, NOW_S + 4, NOW_S + 4, NOW_S);
    /* Three that are caught up at one second, which did not come. */
    for (int i = 12; i >= 10; i--)
        recent_note(r, 3, NOW_S - i, NOW_S + 1, NOW_S);
    recent_note(r, 4, NOW_S - 10, NOW_S, NOW_S); /* and one whose second did */
    recent_take_over(r, NOW_S);
    assert_int_equal(recent_find(r, 1, NOW_S), NOW_S - 3);
    assert_int_equal(recent_find(r, 2, NOW_S), NOW_S);
    assert_int_equal(recent_find(r, 3, NOW_S), NOW_S - 13);
    assert_int_equal(recent_find(r, 4, NOW_S), NOW_S - 10);
    recent_note(r, 2, NOW_S + 4, NOW_S + 4, NOW_S); /* its row is there */
    assert_int_equal(recent_find(r, 2, NOW_S), NOW_S + 4);
    recent_destroy(r);
}

/* However long the database was away before. */
static void nothing_is_forgotten_before_jobs_were_looked_at(void **state)
{
    int64_t later_s = NOW_S + 10 * PLAN_REMEMBER_S;
    struct recent *r = make(1);

    (void)state;
    recent_note(r, 1, NOW_S - 2, NOW_S - 2, NOW_S);
    assert_int_equal(recent_find(r, 1, later_s), INT64_MIN);
    assert_int_equal(recent_get_since_ms(r, later_s * 1000), later_s * 1000 - PLAN_CATCH_UP_MS);
    recent_take_over(r, NOW_S);
    assert_int_equal(recent_find(r, 1, later_s), NOW_S - 2);
    assert_true(recent_get_since_ms(r, later_s * 1000) <= (NOW_S - 2) * 1000);
    for (int job = 2; job < 1000; job++) /* also where the table grows */
        recent_note(r, job, later_s, later_s, later_s);
    assert_int_equal(recent_find(r, 1, later_s), NOW_S - 2);
    recent_take_over(r, later_s);
    assert_int_equal(recent_find(r, 1, later_s), NOW_S - 2);
    recent_age(r);
    assert_int_equal(recent_find(r, 1, later_s), INT64_MIN);
    recent_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_takeover_keeps_what_was_sent),
        cmocka_unit_test(nothing_is_forgotten_before_jobs_were_looked_at),
        cmocka_unit_test(the_newest_second_is_kept_for_a_minute),
        cmocka_unit_test(a_second_far_ahead_says_nothing),
        cmocka_unit_test(what_does_not_fit_a_slot_is_not_kept),
        cmocka_unit_test(memory_follows_what_is_recent),
        cmocka_unit_test(the_table_has_an_end),
        cmocka_unit_test(random_jobs_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* The jobs before and behind a job: all generations, each once, whatever leads back to itself; and timelines' steps. */
#include "shardwheel/admin/family.h"
#include "shardwheel/admin/timeline.h"
#include "shardwheel/store/jobs.h"
#include "test.h"

#include <inttypes.h>
#include <stdio.h>

/* "1 2 3 | 1>2 2>3": the jobs and links of the one with that id. */
static const char *show(struct job_parent *items, size_t count, int64_t id)
{
    static char out[4000];
    const struct job_parents parents = {.items = items, .count = count};
    struct family f = {0};
    struct errctx ec;
    size_t n = 0;

    assert_int_equal(family_find(&parents, id, &f, &ec), ERR_OK);
    for (size_t i = 0; i < f.job_count; i++)
        n += (size_t)snprintf(out + n, sizeof out - n, "%" PRId64 " ", f.jobs[i].id);
    n += (size_t)snprintf(out + n, sizeof out - n, "|");
    for (size_t i = 0; i < f.link_count; i++)
        n += (size_t)snprintf(out + n, sizeof out - n, " %" PRId64 ">%" PRId64, f.links[i].from, f.links[i].to);
    assert_false(f.is_cut);
    family_fini(&f);
    return out;
}

static void all_generations_are_found(void **state)
{
    struct job_parent items[] = {{1, "2,3"}, {2, "4"}, {3, "4, 4,x,3"}, {7, "1"}, {8, "9"}, {9, "7"}, {20, "21"}};
    (void)state;

    assert_string_equal(show(items, ARRAY_LEN(items), 1), "1 2 3 4 7 9 8 | 1>2 1>3 2>4 3>4 7>1 8>9 9>7");
    assert_string_equal(show(items, ARRAY_LEN(items), 4), "4 2 3 1 7 9 8 | 1>2 1>3 2>4 3>4 7>1 8>9 9>7");
    assert_string_equal(show(items, ARRAY_LEN(items), 5), "5 |");
}

static void jobs_that_lead_back_are_there_once(void **state)
{
    struct job_parent items[] = {{1, "2"}, {2, "3"}, {3, "1"}};
    (void)state;

    assert_string_equal(show(items, 3, 2), "2 3 1 | 1>2 2>3 3>1");
}

static void very_large_families_are_cut(void **state)
{
    static struct job_parent items[FAMILY_JOBS_MAX + 5];
    static char lists[FAMILY_JOBS_MAX + 5][12];
    const struct job_parents parents = {.items = items, .count = ARRAY_LEN(items)};
    struct family f = {0};
    struct errctx ec;
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(items); i++) {
        snprintf(lists[i], sizeof lists[i], "%zu", i + 2);
        items[i] = (struct job_parent){(int64_t)i + 1, lists[i]};
    }
    assert_int_equal(family_find(&parents, 1, &f, &ec), ERR_OK);
    assert_int_equal(f.job_count, FAMILY_JOBS_MAX);
    assert_int_equal(f.link_count, FAMILY_JOBS_MAX - 1);
    assert_true(f.is_cut);
    family_fini(&f);
}

static void steps_of_a_timeline_are_few(void **state)
{
    (void)state;
    assert_int_equal(timeline_find_step_s(0, 6 * INT64_C(3600000)), 60);
    assert_int_equal(timeline_find_step_s(0, 24 * INT64_C(3600000)), 300);
    assert_int_equal(timeline_find_step_s(0, 7 * 24 * INT64_C(3600000)), 1800);
    for (int64_t ms = 60000; ms < 7 * 24 * INT64_C(3600000); ms += 7700000)
        assert_true((ms + 59999) / (timeline_find_step_s(1, 1 + ms) * 1000) + 1 <= TIMELINE_STEPS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_generations_are_found),
        cmocka_unit_test(jobs_that_lead_back_are_there_once),
        cmocka_unit_test(very_large_families_are_cut),
        cmocka_unit_test(steps_of_a_timeline_are_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

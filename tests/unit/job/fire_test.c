/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shardwheel/job.h"

static void check_mark(struct fire f, const char *expected)
{
    char mark[100];
    char whole[200];
    struct fire back = {.job_id = 9};

    fire_format_mark(&f, mark);
    assert_string_equal(mark, expected);
    snprintf(whole, sizeof whole, "%sand the message --> goes on", mark);
    assert_true(fire_parse_mark(whole, &back));
    assert_int_equal(back.due_s, f.due_s);
    assert_int_equal(back.original_due_s, f.original_due_s);
    assert_int_equal(back.epoch, f.epoch);
    assert_int_equal(back.flags, f.flags);
    assert_int_equal(back.kind, f.kind);
    assert_int_equal(back.generation, f.generation);
    assert_int_equal(back.job_id, 9); /* the rest is not touched */
}

static void marks_go_there_and_back(void **state)
{
    (void)state;
    check_mark((struct fire){.due_s = 1700000000, .original_due_s = 1700000000, .epoch = 3},
               "<!--sw:p:1700000000:3-->");
    check_mark((struct fire){.due_s = 5, .original_due_s = 4, .epoch = 1, .flags = FIRE_LAST}, "<!--sw:p:5:1:L:O4-->");
    check_mark((struct fire){.due_s = 5, .original_due_s = 5, .epoch = 1, .kind = TRIGGER_MISFIRE},
               "<!--sw:p:5:1:M-->");
    check_mark((struct fire){.due_s = INT64_MAX,
                             .original_due_s = INT64_MAX - 1,
                             .epoch = INT64_MAX,
                             .kind = TRIGGER_MISFIRE,
                             .flags = FIRE_LAST},
               "<!--sw:p:9223372036854775807:9223372036854775807:L:M:O9223372036854775806-->");
}

/* One of a later row keeps its kind; who does not know of these takes the row for nobody's. */
static void marks_of_later_rows_have_their_kind(void **state)
{
    static const struct {
        enum trigger_kind kind;
        const char *mark;
    } marks[] = {
        {TRIGGER_CRON, "<!--sw:p:5:1:KC:O4-->"},   {TRIGGER_MISFIRE, "<!--sw:p:5:1:KF:O4-->"},
        {TRIGGER_RETRY, "<!--sw:p:5:1:KR:O4-->"},  {TRIGGER_MANUAL, "<!--sw:p:5:1:KM:O4-->"},
        {TRIGGER_PARENT, "<!--sw:p:5:1:KP:O4-->"}, {TRIGGER_API, "<!--sw:p:5:1:KA:O4-->"},
        {TRIGGER_FLOW, "<!--sw:p:5:1:KW:O4-->"},
    };
    struct fire back;

    (void)state;
    assert_int_equal(ARRAY_LEN(marks), TRIGGER_KINDS);
    for (size_t i = 0; i < ARRAY_LEN(marks); i++)
        check_mark(
            (struct fire){.due_s = 5, .original_due_s = 4, .epoch = 1, .kind = marks[i].kind, .flags = FIRE_LATER},
            marks[i].mark);
    check_mark((struct fire){.due_s = INT64_MAX,
                             .original_due_s = INT64_MAX - 1,
                             .epoch = INT64_MAX,
                             .kind = TRIGGER_RETRY,
                             .flags = FIRE_LATER | FIRE_LAST},
               "<!--sw:p:9223372036854775807:9223372036854775807:L:KR:O9223372036854775806-->");
    check_mark((struct fire){.due_s = INT64_MAX,
                             .original_due_s = 1,
                             .epoch = INT64_MAX,
                             .kind = TRIGGER_PARENT,
                             .flags = FIRE_LATER | FIRE_LAST,
                             .generation = INT32_MAX},
               "<!--sw:p:9223372036854775807:9223372036854775807:L:KP:G2147483647:O1-->");
    assert_false(fire_parse_mark("<!--sw:p:5:1:KP:G2147483648-->", &back));
    assert_false(fire_parse_mark("<!--sw:p:5:1:KX-->", &back));
    assert_false(fire_parse_mark("<!--sw:p:5:1:K-->", &back));
    assert_false(fire_parse_mark("<!--sw:p:5:1:K", &back));
    assert_false(fire_parse_mark("<!--sw:h-->waits", &back));
}

static void what_a_fire_has_of_its_own_is_copied(void **state)
{
    char param[] = "p", addresses[] = "http://a/,http://b/";
    struct fire_own *own =
        fire_own_create(&(struct fire_own){.param = param, .addresses = addresses, .retries = 3, .hold_until_s = 9});

    (void)state;
    param[0] = addresses[0] = 'x';
    assert_string_equal(own->param, "p");
    assert_string_equal(own->addresses, "http://a/,http://b/");
    assert_int_equal(own->retries, 3);
    assert_int_equal(own->hold_until_s, 9);
    free(own);
    own = fire_own_create(&(struct fire_own){.param = "", .retries = -1});
    assert_string_equal(own->param, "");
    assert_null(own->addresses);
    free(own);
}

static void direct_marks_go_there_and_back(void **state)
{
    static const char *const bad[] = {
        "",
        "<!--sw:p:1:1-->",
        "<!--sw:d::1:R-->",
        "<!--sw:d:ab:R-->",
        "<!--sw:d:ab:1-->",
        "<!--sw:d:ab:1:X-->",
        "<!--sw:d:ab:1:C-->",
        "<!--sw:d:ab:1:F-->",
        "<!--sw:d:ab:-1:R-->",
        "<!--sw:d:a b:1:R-->",
        "<!--sw:d:ab:1:R--",
        "x<!--sw:d:ab:1:R-->",
        "<!--sw:d:0123456789abcdef0123456789abcdef0:1:R-->",
    };
    char mark[100], incarnation[INCARNATION_MAX] = "kept";
    struct fire back = {.due_s = 77, .job_id = 9};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(fire_parse_direct_mark(bad[i], &back, incarnation));
    assert_false(fire_parse_direct_mark(NULL, &back, incarnation));
    assert_int_equal(back.due_s, 77);
    assert_string_equal(incarnation, "kept");
    fire_format_direct_mark(&(struct fire){.due_s = INT64_MAX, .kind = TRIGGER_RETRY},
                            "0123456789abcdef0123456789abcdef", mark);
    assert_string_equal(mark, "<!--sw:d:0123456789abcdef0123456789abcdef:9223372036854775807:R-->");
    assert_true(fire_parse_direct_mark(mark, &back, incarnation));
    assert_int_equal(back.due_s, INT64_MAX);
    assert_int_equal(back.kind, TRIGGER_RETRY);
    assert_int_equal(back.job_id, 9);
    assert_string_equal(incarnation, "0123456789abcdef0123456789abcdef");
    assert_false(fire_parse_mark(mark, &back)); /* so that no takeover takes it for a planned one */
}

static void sharding_is_two_numbers(void **state)
{
    static const char *const bad[] = {
        "",    "/", "1", "1/", "/2", "a/b", "1/2/3", "+1/2", "1/+2", " 1/2", "1/2 ", "1/0", "2147483648/2147483649",
        "-1/2"};
    int index = -5, total = -5;

    (void)state;
    assert_false(fire_parse_sharding(NULL, &index, &total));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(fire_parse_sharding(bad[i], &index, &total));
    assert_int_equal(index, -5);
    assert_true(fire_parse_sharding("7/3", &index, &total));
    assert_int_equal(index, 7);
    assert_int_equal(total, 3);
}

static void what_is_no_mark_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        " <!--sw:p:1:1-->",
        "<!--sw:d:1:1-->",
        "<!--SW:p:1:1-->",
        "<!--sw:p:1:1--",
        "<!--sw:p:1-->",
        "<!--sw:p::1-->",
        "<!--sw:p:1:-->",
        "<!--sw:p:-1:1-->",
        "<!--sw:p:+1:1-->",
        "<!--sw:p: 1:1-->",
        "<!--sw:p:1:1:X-->",
        "<!--sw:p:1:1:M:L-->",
        "<!--sw:p:1:1:L:L-->",
        "<!--sw:p:1:1:O-->",
        "<!--sw:p:1:1:-->",
        "<!--sw:p:9223372036854775808:1-->",
        "<!--sw:p:1:99999999999999999999-->",
        "<!--sw:p:1:1:O9223372036854775808-->",
        "<!--sw:p:0x1:1-->",
        "<!--sw:p:1:1 -->",
        "message<!--sw:p:1:1-->",
    };
    struct fire out = {.due_s = 77};

    (void)state;
    assert_false(fire_parse_mark(NULL, &out));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (fire_parse_mark(bad[i], &out))
            fail_msg("taken for a mark: %s", bad[i]);
    assert_int_equal(out.due_s, 77);
}

static void row_hashes_tell_columns_apart(void **state)
{
    uint32_t h = fire_row_hash(1, "demo", "p", 0);

    (void)state;
    assert_int_equal(h, fire_row_hash(1, "demo", "p", 0));
    assert_int_not_equal(h, fire_row_hash(2, "demo", "p", 0));
    assert_int_not_equal(h, fire_row_hash(1 + (INT64_C(1) << 32), "demo", "p", 0));
    assert_int_not_equal(h, fire_row_hash(1, "demo", "p", 1));
    assert_int_not_equal(h, fire_row_hash(1, "demop", "", 0));
    assert_int_not_equal(h, fire_row_hash(1, "demo", NULL, 0));
    assert_int_not_equal(fire_row_hash(1, "demo", "", 0), fire_row_hash(1, "demo", NULL, 0));
    assert_int_equal(fire_row_hash(1, "", "p", 0), fire_row_hash(1, NULL, "p", 0)); /* NULL handlers read as "" */
    assert_int_not_equal(fire_route_hash("FIRST"), fire_route_hash("ROUND"));
    assert_int_equal(fire_route_hash(""), fire_route_hash(NULL));
}

static void fires_own_what_they_hold(void **state)
{
    struct fire *list = NULL;
    struct job_spec *job = calloc(1, sizeof *job);

    (void)state;
    assert_non_null(job);
    atomic_init(&job->refs, 1);
    for (int i = 0; i < 3; i++) {
        struct fire *f = fire_create();
        assert_non_null(f);
        assert_int_equal(f->shard_total, 1);
        f->job = job_spec_ref(job);
        f->address = strdup("http://a/");
        f->next = list;
        list = f;
    }
    assert_int_equal(atomic_load(&job->refs), 4);
    fire_destroy_list(list);
    assert_int_equal(atomic_load(&job->refs), 1);
    job_spec_unref(job);
    job_spec_unref(NULL);
    fire_destroy(NULL);
    fire_destroy_list(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_go_there_and_back),
        cmocka_unit_test(marks_of_later_rows_have_their_kind),
        cmocka_unit_test(what_a_fire_has_of_its_own_is_copied),
        cmocka_unit_test(direct_marks_go_there_and_back),
        cmocka_unit_test(sharding_is_two_numbers),
        cmocka_unit_test(what_is_no_mark_is_refused),
        cmocka_unit_test(row_hashes_tell_columns_apart),
        cmocka_unit_test(fires_own_what_they_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

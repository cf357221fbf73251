/* SPDX-License-Identifier: MIT */
/* What an audit row says of a change. */
#include "shardwheel/admin/audit.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static const struct actor ann = {
    .user_id = 5, .name = "ann", .role = ROLE_USER, .rights = RIGHTS_ALL, .address = "10.0.0.9", .via = "api/v1"};

static struct audit_row end(struct audit_diff *d)
{
    return *audit_end(d, &ann, "job.update", 7, "nightly", 3);
}

static void put_all(struct audit_diff *d)
{
    audit_text(d, "jobDesc", "nightly", "nightly");
    audit_text(d, "author", "ann", "b\"ob");
    audit_text(d, "alarmEmail", NULL, "a@b.c");
    audit_int(d, "executorTimeout", 0, 30);
    audit_int(d, "jobGroup", 3, 3);
    audit_bool(d, "running", true, false);
    audit_secret(d, "password", true);
    audit_secret(d, "accessToken", false);
}

static void a_change_has_what_differs_on_both_sides(void **state)
{
    struct audit_diff d;
    struct audit_row row;
    (void)state;

    audit_begin(&d, AUDIT_CHANGED);
    put_all(&d);
    row = end(&d);
    assert_true(audit_differs(&d));
    assert_string_equal(row.before, "{\"author\":\"ann\",\"alarmEmail\":null,\"executorTimeout\":0,\"running\":true,"
                                    "\"password\":\"set\"}");
    assert_string_equal(row.after, "{\"author\":\"b\\\"ob\",\"alarmEmail\":\"a@b.c\",\"executorTimeout\":30,"
                                   "\"running\":false,\"password\":\"changed\"}");
    assert_string_equal(row.who, "ann");
    assert_string_equal(row.address, "10.0.0.9");
    assert_string_equal(row.via, "api/v1");
    assert_int_equal(row.user_id, 5);
    assert_int_equal(row.job_group, 3);
    audit_fini(&d);
}

static void what_was_added_has_no_before_and_what_was_removed_no_after(void **state)
{
    struct audit_diff d;
    struct audit_row row;
    (void)state;

    audit_begin(&d, AUDIT_ADDED);
    put_all(&d);
    row = end(&d);
    assert_null(row.before);
    assert_string_equal(row.after, "{\"jobDesc\":\"nightly\",\"author\":\"b\\\"ob\",\"alarmEmail\":\"a@b.c\","
                                   "\"executorTimeout\":30,\"jobGroup\":3,\"running\":false,\"password\":\"set\"}");
    audit_fini(&d);
    audit_begin(&d, AUDIT_REMOVED);
    audit_text(&d, "author", "ann", NULL);
    audit_text(&d, "alarmEmail", NULL, NULL);
    row = end(&d);
    assert_null(row.after);
    assert_string_equal(row.before, "{\"author\":\"ann\"}");
    audit_fini(&d);
}

static void equal_values_leave_nothing(void **state)
{
    struct audit_diff d;
    (void)state;

    audit_begin(&d, AUDIT_CHANGED);
    audit_text(&d, "author", "ann", "ann");
    audit_text(&d, "alarmEmail", NULL, NULL);
    audit_source(&d, "glueSource", "echo", "echo");
    assert_false(audit_differs(&d));
    audit_fini(&d);
}

static void a_source_goes_by_length_and_hash(void **state)
{
    struct audit_diff d;
    struct audit_row row;
    (void)state;

    audit_begin(&d, AUDIT_CHANGED);
    audit_source(&d, "glueSource", NULL, "abc");
    row = end(&d);
    assert_string_equal(row.before, "{\"glueSource\":null}");
    assert_string_equal(row.after, "{\"glueSource\":{\"length\":3,\"sha256\":"
                                   "\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"}}");
    audit_fini(&d);
}

/* Control characters take six bytes each: the worst that a text can be. */
static void sides_are_bounded_and_stay_json(void **state)
{
    static char text[AUDIT_TEXT_MAX * 2];
    struct audit_diff d;
    struct audit_row row;
    (void)state;

    memset(text, 1, sizeof text - 1);
    audit_begin(&d, AUDIT_CHANGED);
    audit_text(&d, "a", text, "1");
    audit_text(&d, "b", "2", text);
    audit_text(&d, "c", text, "left out of both sides");
    audit_text(&d, "d", "4", text);
    audit_text(&d, "e", "5", "fits");
    row = end(&d);
    assert_true(strlen(row.before) <= AUDIT_SIDE_MAX);
    assert_true(strlen(row.after) <= AUDIT_SIDE_MAX);
    assert_string_equal(strstr(row.before, "...\",\"b\""), "...\",\"b\":\"2\",\"e\":\"5\",\"fieldsLeftOut\":2}");
    assert_string_equal(strstr(row.after, "...\",\"e\""), "...\",\"e\":\"fits\",\"fieldsLeftOut\":2}");
    audit_fini(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_has_what_differs_on_both_sides),
        cmocka_unit_test(what_was_added_has_no_before_and_what_was_removed_no_after),
        cmocka_unit_test(equal_values_leave_nothing),
        cmocka_unit_test(a_source_goes_by_length_and_hash),
        cmocka_unit_test(sides_are_bounded_and_stay_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Documents of flows with names of jobs in place of ids. */
#include "shardwheel/flow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct flow_faults faults;
static struct errctx ec;

#define SAVED                                                                                                          \
    "{\"name\":\"n\",\"steps\":[{\"type\":\"job\",\"jobId\":3,\"name\":\"a\"},{\"name\":\"w\",\"type\":\"wait\","      \
    "\"jobId\":3},{\"name\":\"m\",\"type\":\"map\",\"jobId\":9007199254740993,\"items\":\"x/y\"}],\"x\":1.50}"
#define NAMED                                                                                                          \
    "{\"name\":\"n\",\"steps\":[{\"type\":\"job\",\"job\":{\"appname\":\"app\",\"name\":\"j \\\"1\\\"\"},"             \
    "\"name\":\"a\"},{\"name\":\"w\",\"type\":\"wait\",\"jobId\":3},{\"name\":\"m\",\"type\":\"map\",\"job\":"         \
    "{\"appname\":\"other\",\"name\":\"\xc3\xa9\"},\"items\":\"x/y\"}],\"x\":1.50}"

static void names_stand_where_ids_stood_and_back(void **state)
{
    (void)state;
    const struct flow_job_name names[] = {{.id = 3, .app_name = "app", .name = "j \"1\""},
                                          {.id = 9007199254740993, .app_name = "other", .name = "\xc3\xa9"}};
    struct flow_portable *portable = NULL;
    struct buf out = {0}, back = {0};
    struct flow_job_name *found;
    size_t count;

    assert_int_equal(flow_put_with_names(&out, SAVED, names, 2, &ec), ERR_OK);
    assert_string_equal(out.data, NAMED);
    assert_int_equal(flow_load_portable(out.data, &portable, &faults, &ec), ERR_OK);
    assert_int_equal(faults.count, 0);
    found = flow_get_job_names(portable, &count);
    assert_int_equal(count, 2);
    assert_int_equal(found[1].step, 2);
    assert_string_equal(found[0].name, "j \"1\"");
    for (size_t i = 0; i < count; i++)
        found[i].id = names[i].id;
    assert_int_equal(flow_put_with_ids(&back, portable, &ec), ERR_OK);
    assert_string_equal(back.data, SAVED);
    flow_destroy_portable(portable);
    buf_fini(&out);
    buf_fini(&back);
}

static void an_id_without_a_name_stays(void **state)
{
    (void)state;
    struct buf out = {0};

    assert_int_equal(flow_put_with_names(&out, SAVED, NULL, 0, &ec), ERR_OK);
    assert_string_equal(out.data, SAVED);
    buf_fini(&out);
}

static void expect_fault(const char *document, const char *where)
{
    struct flow_portable *portable = NULL;
    struct buf out = {0};
    size_t count;

    assert_int_equal(flow_load_portable(document, &portable, &faults, &ec), ERR_OK);
    if (where && faults.count == 0)
        fail_msg("no fault: %s", document);
    if (where)
        assert_string_equal(faults.list[0].where, where);
    else
        assert_int_equal(faults.count, 0);
    flow_get_job_names(portable, &count);
    assert_int_equal(count, 0);
    assert_int_equal(flow_put_with_ids(&out, portable, &ec), ERR_OK);
    flow_destroy_portable(portable);
    buf_fini(&out);
}

static void what_is_wrong_has_its_place(void **state)
{
    (void)state;
    expect_fault("", "");
    expect_fault("{\"steps\":[", "");
    expect_fault("[]", NULL); /* flow_load tells */
    expect_fault("null", NULL);
    expect_fault("{}", NULL);
    expect_fault("{\"steps\":{}}", NULL);
    expect_fault("{\"steps\":[null,1,{},{\"type\":1},{\"type\":\"wait\",\"job\":1}]}", NULL);
    expect_fault("{\"steps\":[{},{\"type\":\"job\"}]}", "/steps/1");
    expect_fault("{\"steps\":[{\"type\":\"job\",\"job\":null}]}", "/steps/0");
    expect_fault("{\"steps\":[{\"type\":\"job\",\"jobId\":1}]}", "/steps/0/jobId");
    expect_fault("{\"steps\":[{\"type\":\"map\",\"jobId\":1,\"job\":{\"appname\":\"a\",\"name\":\"b\"}}]}",
                 "/steps/0/jobId");
    expect_fault("{\"steps\":[{\"type\":\"job\",\"job\":\"a/b\"}]}", "/steps/0/job");
    expect_fault("{\"steps\":[{\"type\":\"broadcast\",\"job\":{\"appname\":\"a\"}}]}", "/steps/0/job");
    expect_fault("{\"steps\":[{\"type\":\"job\",\"job\":{\"appname\":\"a\",\"name\":7}}]}", "/steps/0/job/name");
    expect_fault("{\"steps\":[{\"type\":\"job\",\"job\":{\"appname\":\"a\",\"name\":\"b\\u0000\"}}]}",
                 "/steps/0/job/name");
}

static void an_unknown_member_of_a_name_is_told(void **state)
{
    (void)state;
    struct flow_portable *portable = NULL;

    assert_int_equal(flow_load_portable("{\"steps\":[{\"type\":\"job\",\"job\":{\"appname\":\"a\",\"name\":\"b\","
                                        "\"id\":1}}]}",
                                        &portable, &faults, &ec),
                     ERR_OK);
    assert_int_equal(faults.count, 1);
    assert_string_equal(faults.list[0].where, "/steps/0/job");
    flow_destroy_portable(portable);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_stand_where_ids_stood_and_back),
        cmocka_unit_test(an_id_without_a_name_stays),
        cmocka_unit_test(what_is_wrong_has_its_place),
        cmocka_unit_test(an_unknown_member_of_a_name_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "shardwheel/base.h"

static void commas_come_by_themselves(void **state)
{
    struct buf b = {0};

    (void)state;
    member_object(&b, NULL);
    member_text(&b, "a", ",{[:");
    member_int_or_null(&b, "b", 1);
    member_int_or_null(&b, "c", 0);
    member_list(&b, "d");
    member_list(&b, NULL);
    member_list_end(&b);
    member_text(&b, NULL, NULL);
    if (member_object_if(&b, NULL, true))
        member_object_end(&b);
    member_list_end(&b);
    member_json(&b, "e", "[1]");
    member_json(&b, "f", NULL);
    assert_false(member_object_if(&b, "g", false));
    buf_printf(member_name(&b, "h"), "%.1f", 1.5);
    member_bool(&b, "i", false);
    member_object_end(&b);
    assert_string_equal(b.data, "{\"a\":\",{[:\",\"b\":1,\"c\":null,\"d\":[[],null,{}],\"e\":[1],\"f\":null,"
                                "\"g\":null,\"h\":1.5,\"i\":false}");
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commas_come_by_themselves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

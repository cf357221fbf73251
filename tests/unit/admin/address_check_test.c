/* SPDX-License-Identifier: MIT */
#include "admin/groups/check.h"

#include "admin/admin_impl.h"
#include "test.h"

static void a_forbidden_address_is_named(void **state)
{
    struct admin a = {0};
    struct refusal r = {0};

    (void)state;
    assert_int_equal(refuse_addresses(&a, NULL, "addressList", &r), ERR_OK);
    assert_int_equal(refuse_addresses(&a, "http://10.0.0.1:9999/", "addressList", &r), ERR_OK);
    assert_int_equal(r.kind, REFUSED_NOT);
    assert_int_equal(refuse_addresses(&a, "http://10.0.0.1:9999/,http://169.254.169.254/", "addressList", &r),
                     ERR_INPUT);
    assert_int_equal(r.kind, REFUSED_INVALID);
    assert_string_equal(r.field, "addressList");
    assert_string_equal(r.item, "http://169.254.169.254/");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_forbidden_address_is_named)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

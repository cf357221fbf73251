/* SPDX-License-Identifier: MIT */
/* Settings of a job in api/v1, each of those that there are. */
#include "http/v1/job_form.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "store/test_settings.h"

static void what_is_given_alone_is_changed_alone(void **state)
{
    struct job_settings all;

    (void)state;
    job_settings_init(&all, 0);
    for (size_t i = 0; i < job_setting_count(); i++)
        test_set_setting(&all, i);
    for (size_t i = 0; i < job_setting_count(); i++) {
        struct job_given given = {.settings = UINT32_C(1) << i, .values = all};
        struct job_settings changed, expected;
        struct job_row row = {0};
        struct refusal why = {0};

        job_settings_init(&changed, 0);
        job_settings_init(&expected, 0);
        test_set_setting(&expected, i);
        (void)!job_put_over(&given, &row, &changed,
                            &why); /* one alone may lack another, and is put there all the same */
        assert_true(job_settings_are_equal(&changed, &expected));
        assert_true(job_setting_is_set(&changed, i));
    }
}

static void expect_members(const struct job_settings *settings, bool all, size_t alone)
{
    struct buf out = {0};

    buf_puts(&out, "");
    job_put_settings(&out, settings, all);
    for (size_t i = 0; i < job_setting_count(); i++) {
        char member[60];

        snprintf(member, sizeof member, "\"%s\":", job_setting_get(i)->member);
        if ((strstr(out.data, member) != NULL) != (all || i == alone))
            fail_msg("%s in %s", member, out.data);
    }
    buf_fini(&out);
}

static void each_that_is_set_is_shown(void **state)
{
    (void)state;
    expect_members(NULL, /*all=*/true, 0);
    for (size_t i = 0; i < job_setting_count(); i++) {
        struct job_settings one;

        job_settings_init(&one, 0);
        test_set_setting(&one, i);
        expect_members(&one, /*all=*/false, i);
    }
}

static void each_changes_the_version(void **state)
{
    char before[JOB_VERSION_MAX], after[JOB_VERSION_MAX];
    struct job_row row = {.id = 7};

    (void)state;
    job_version(&row, NULL, before);
    for (size_t i = 0; i < job_setting_count(); i++) {
        struct job_settings some;

        job_settings_init(&some, 7);
        for (size_t k = 0; k <= i; k++)
            test_set_setting(&some, k);
        job_version(&row, &some, after);
        if (!strcmp(before, after))
            fail_msg("%s leaves the version as it was", job_setting_name(i));
        strcpy(before, after);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_given_alone_is_changed_alone),
        cmocka_unit_test(each_that_is_set_is_shown),
        cmocka_unit_test(each_changes_the_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* What becomes of an order: fires, or the reason why there are none. */
#include "test.h"
#include "follow/trigger_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOW_S 1700000000

static char *repeat(const char *text, size_t times)
{
    struct buf out = {0};

    for (size_t i = 0; i < times; i++)
        buf_puts(&out, text);
    return buf_take(&out);
}

static struct job_spec *make_job(const char *route, const char *param)
{
    const struct job_spec plain = {
        .id = 7, .group = 3, .route = route, .handler = "h", .block = "", .glue_type = "BEAN", .glue_source = ""};

    return job_spec_copy(&plain, param, 4);
}

/* ---- what is refused ------------------------------------------------------------------------------------------- */

static void limits_are_told_with_the_name_of_the_field(void **state)
{
    char *long_address = repeat("http://aaaaaaaaaaaaa", 13), *long_list = repeat("http://a,", 8000);
    char *chars_513 = repeat("\xe6\x97\xa5", 513), *bytes_65536 = repeat("x", 65536);
    const struct {
        struct trigger_order order;
        size_t param_max;
        enum err e;
        const char *text;
    } cases[] = {
        {{.job_id = 0}, 512, ERR_INPUT, "job id: 0 is not valid: ids go from 1 to 2147483647"},
        {{.job_id = -7}, 512, ERR_INPUT, "job id: -7"},
        {{.job_id = INT64_C(2147483648)}, 512, ERR_INPUT, "job id: 2147483648 is not valid"},
        {{.job_id = 7, .addresses = "http://a,foo"}, 512, ERR_INPUT, "addresses: \"foo\" is not an http URL"},
        {{.job_id = 7, .addresses = "ftp://a"}, 512, ERR_INPUT, "addresses: \"ftp://a\""},
        {{.job_id = 7, .addresses = "http://a b"}, 512, ERR_INPUT, "is not an http URL"},
        {{.job_id = 7, .addresses = ","}, 512, ERR_INPUT, "addresses: there is no address"},
        {{.job_id = 7, .addresses = long_address}, 512, ERR_INPUT, "is longer than 255 characters"},
        {{.job_id = 7, .addresses = long_list}, 512, ERR_INPUT, "addresses: longer than 65535 bytes"},
        {{.job_id = 7, .param = chars_513}, 512, ERR_INPUT, "parameter: 513 characters; at most 512 are allowed"},
        {{.job_id = 7, .param = chars_513}, 65535, ERR_OK, NULL},
        {{.job_id = 7, .param = bytes_65536}, 65535, ERR_INPUT, "parameter: 65536 bytes; at most 65535 are allowed"},
        {{.job_id = 7}, 512, ERR_OK, NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct job_spec *job = make_job("FIRST", NULL);
        struct group_spec *group = group_spec_create(3, "app", "", false, "http://g");
        struct fire *list = NULL;
        struct errctx ec;
        enum err e = trigger_check(&cases[i].order, &ec);

        if (!e)
            e = trigger_plan(&cases[i].order, job, group, cases[i].param_max, NOW_S, &list, &ec);
        assert_int_equal(e, cases[i].e);
        if (e && strncmp(ec.text, cases[i].text, strlen(cases[i].text)) != 0 && !strstr(ec.text, cases[i].text))
            fail_msg("'%s' and not '%s'", ec.text, cases[i].text);
        assert_true(e || list);
        fire_destroy_list(list);
        group_spec_unref(group);
        job_spec_unref(job);
    }
    free(long_address);
    free(long_list);
    free(chars_513);
    free(bytes_65536);
}

static void what_is_not_there_is_named(void **state)
{
    const struct trigger_order order = {.job_id = 7};
    struct job_spec *job = make_job("FIRST", NULL);
    struct fire *list = NULL;
    struct errctx ec;

    (void)state;
    assert_int_equal(trigger_plan(&order, NULL, NULL, 512, NOW_S, &list, &ec), ERR_NOTFOUND);
    assert_string_equal(ec.text, "job id: there is no job 7");
    assert_int_equal(trigger_plan(&order, job, NULL, 512, NOW_S, &list, &ec), ERR_NOTFOUND);
    assert_string_equal(ec.text, "executor group: job 7 names group 3, which has no row");
    assert_null(list);
    job_spec_unref(job);
}

/* ---- what is made ---------------------------------------------------------------------------------------------- */

static void parameter_and_addresses_are_those_asked_for(void **state)
{
    static const struct {
        enum trigger_kind kind;
        const char *of_job, *param, *addresses, *route;
        const char *made; /* parameter | addresses it may go to | fires */
    } cases[] = {
        {TRIGGER_MANUAL, "j", NULL, NULL, "FIRST", "|http://g,http://h|1"},
        {TRIGGER_MANUAL, "j", "", NULL, "FIRST", "|http://g,http://h|1"},
        {TRIGGER_MANUAL, "j", "p", " ", "FIRST", "p|http://g,http://h|1"},
        {TRIGGER_API, "j", NULL, NULL, "FIRST", "j|http://g,http://h|1"},
        {TRIGGER_API, NULL, NULL, NULL, "FIRST", "(null)|http://g,http://h|1"},
        {TRIGGER_PARENT, "j", "", NULL, "FIRST", "|http://g,http://h|1"},
        {TRIGGER_MANUAL, "j", "p", " http://a , http://b,http://a,", "ROUND", "p|http://a,http://b|1"},
        {TRIGGER_MANUAL, "j", "p", NULL, "SHARDING_BROADCAST", "p|http://g,http://h|2"},
        {TRIGGER_MANUAL, "j", "p", "http://a,http://b,http://c", "SHARDING_BROADCAST",
         "p|http://a,http://b,http://c|3"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct trigger_order order = {7, cases[i].kind, cases[i].param, cases[i].addresses};
        struct job_spec *job = make_job(cases[i].route, cases[i].of_job);
        struct group_spec *group = group_spec_create(3, "app", "token", false, "http://g,http://h");
        struct fire *list = NULL;
        struct errctx ec;
        char made[200];
        int fires = 0;

        assert_int_equal(trigger_plan(&order, job, group, 512, NOW_S, &list, &ec), ERR_OK);
        snprintf(made, sizeof made, "%s|", list->job->param ? list->job->param : "(null)");
        for (size_t k = 0; k < list->target->count; k++)
            snprintf(made + strlen(made), sizeof made - strlen(made), "%s%s", k ? "," : "", list->target->addresses[k]);
        for (const struct fire *f = list; f; f = f->next, fires++) {
            assert_int_equal(f->kind, cases[i].kind);
            assert_int_equal(f->due_s, NOW_S);
            assert_int_equal(f->job->retry_count, 4);
            assert_int_equal(f->generation, 0);
            assert_string_equal(f->target->access_token, "token");
            assert_int_equal(f->target->manual, !str_is_blank(cases[i].addresses));
            assert_int_equal(f->addresses_given, !str_is_blank(cases[i].addresses));
        }
        snprintf(made + strlen(made), sizeof made - strlen(made), "|%d", fires);
        assert_string_equal(made, cases[i].made);
        fire_destroy_list(list);
        group_spec_unref(group);
        job_spec_unref(job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_told_with_the_name_of_the_field),
        cmocka_unit_test(what_is_not_there_is_named),
        cmocka_unit_test(parameter_and_addresses_are_those_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* What flows lead to, by the names of the flows that they run. */
#include "test.h"

#include "admin/flows/reach.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAVED_MAX 300

static struct errctx ec;
static int asked; /* calls of store_load_flows_named */

/* Saved flows: "a" runs job 1 and "b", which runs job 2. */
enum err store_load_flows_named(struct store_session *s, const char *const *names, size_t count, struct flow_rows *out,
                                struct errctx *why)
{
    static const char *const saved[][2] = {
        {"a", "{\"name\":\"a\",\"steps\":[{\"name\":\"x\",\"type\":\"job\",\"jobId\":1},"
              "{\"name\":\"y\",\"type\":\"flow\",\"flow\":\"b\"}]}"},
        {"b", "{\"name\":\"b\",\"steps\":[{\"name\":\"x\",\"type\":\"job\",\"jobId\":2}]}"}};

    (void)s, (void)why;
    asked++;
    out->rows = calloc(count, sizeof *out->rows);
    assert_non_null(out->rows);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < ARRAY_LEN(saved); k++)
            if (!strcmp(names[i], saved[k][0]))
                out->rows[out->count++] =
                    (struct flow_row){.id = (int64_t)k + 1, .version = 1, .name = saved[k][0], .document = saved[k][1]};
    return ERR_OK;
}

enum err store_load_flow_jobs(struct store_session *s, const int64_t *ids, size_t count, struct flow_jobs *out,
                              struct errctx *why)
{
    (void)s, (void)ids, (void)count, (void)out, (void)why;
    return ERR_OK;
}

/* A flow that is not saved, and runs these: their names, each with a blank behind it. */
static struct reach_flow *add(struct reach *reach, const char *name, const char *runs)
{
    const struct reach_flow *made = NULL;
    struct buf text = {0};
    char one[FLOW_NAME_MAX + 1];
    int taken = 0;

    buf_printf(&text, "{\"name\":\"%s\",\"steps\":[{\"name\":\"w\",\"type\":\"wait\",\"seconds\":1}", name);
    for (int i = 0; sscanf(runs, "%64s %n", one, &taken) == 1; i++, runs += taken)
        buf_printf(&text, ",{\"name\":\"s%d\",\"type\":\"flow\",\"flow\":\"%s\"}", i, one);
    buf_puts(&text, "]}");
    assert_int_equal(reach_add(reach, name, 0, 0, text.data, &made, &ec), ERR_OK);
    assert_non_null(made->tags);
    buf_fini(&text);
    return (struct reach_flow *)made;
}

static void assert_jobs(struct reach *reach, const struct reach_flow *flow, const char *expected)
{
    struct buf text = {0};
    int64_t *ids = NULL;
    size_t count = 0;

    buf_puts(&text, "");
    assert_int_equal(reach_load_job_ids(reach, flow, &ids, &count, &ec), ERR_OK);
    for (size_t i = 0; i < count; i++)
        buf_printf(&text, "%d ", (int)ids[i]);
    assert_string_equal(count ? text.data : "", expected);
    free(ids);
    buf_fini(&text);
}

static void a_flow_leads_to_the_jobs_of_those_that_it_runs(void **state)
{
    struct reach reach;
    const struct reach_flow *z, *none;

    (void)state;
    reach_init(&reach, NULL);
    none = add(&reach, "none", "gone ");
    z = add(&reach, "z", "m ");
    add(&reach, "m", "a gone ");
    assert_int_equal(reach_close(&reach, &ec), ERR_OK);
    assert_jobs(&reach, z, "1 2 ");
    assert_jobs(&reach, none, "");
    assert_jobs(&reach, reach_find(&reach, "b"), "2 ");
    assert_int_equal(reach_get_depth(&reach, z), 3);
    assert_int_equal(reach_get_depth(&reach, none), 1);
    assert_true(reach_leads_to(&reach, z, "b", 0));
    assert_true(reach_leads_to(&reach, z, "z", 0)); /* one that runs itself leads back to itself */
    assert_true(reach_leads_to(&reach, z, "another name", reach_find(&reach, "b")->id));
    assert_false(reach_leads_to(&reach, z, "another name", 0));
    assert_false(reach_leads_to(&reach, z, "another name", 999));
    assert_false(reach_leads_to(&reach, none, "b", 0));
    assert_int_equal(reach_find(&reach, "gone")->id, 0);
    assert_null(reach_find(&reach, "other"));
    reach_fini(&reach);
}

/* The saved one counts then. */
static void a_flow_that_gives_its_name_back_is_not_run(void **state)
{
    struct reach reach;
    const struct reach_flow *z;
    struct reach_flow *a, *c;

    (void)state;
    reach_init(&reach, NULL);
    z = add(&reach, "z", "a c ");
    a = add(&reach, "a", "b ");
    c = add(&reach, "c", "b ");
    assert_int_equal(reach_close(&reach, &ec), ERR_OK);
    assert_jobs(&reach, z, "2 ");
    reach_drop_name(&reach, a);
    assert_int_equal(reach_close(&reach, &ec), ERR_OK);
    assert_jobs(&reach, z, "1 2 ");
    assert_int_equal(reach_find(&reach, "a")->id, 1);
    reach_drop_name(&reach, c);
    assert_int_equal(reach_close(&reach, &ec), ERR_OK);
    assert_false(reach_find(&reach, "c") == c);
    assert_int_equal(reach_find(&reach, "c")->id, 0);
    assert_false(reach_leads_to(&reach, reach_find(&reach, "c"), "b", 0));
    reach_fini(&reach);
}

/* In any order, each once, and some at a time. */
static void many_names_are_asked_for_together(void **state)
{
    struct buf runs = {0};
    struct reach reach;
    const struct reach_flow *first, *second;
    char name[20];

    (void)state;
    for (int i = 0; i < SAVED_MAX / 2; i++)
        buf_printf(&runs, "n%d ", i * 7 % (SAVED_MAX / 2));
    reach_init(&reach, NULL);
    asked = 0;
    first = add(&reach, "first", runs.data);
    second = add(&reach, "second", runs.data);
    for (int i = 0; i < 40; i++) { /* few of each are no reason to ask for each */
        snprintf(name, sizeof name, "few%d", i);
        snprintf(runs.data, runs.len, "m%d ", i);
        add(&reach, name, runs.data);
    }
    assert_int_equal(reach_close(&reach, &ec), ERR_OK);
    assert_int_equal(asked, (SAVED_MAX / 2 + 40 + 19) / 20);
    for (size_t i = 1; i < first->step_count; i++) {
        assert_string_equal(first->steps[i].runs->name, first->steps[i].flow);
        assert_ptr_equal(first->steps[i].runs, second->steps[i].runs);
    }
    assert_int_equal(reach_close(&reach, &ec), ERR_OK);
    assert_int_equal(asked, (SAVED_MAX / 2 + 40 + 19) / 20);
    buf_fini(&runs);
    reach_fini(&reach);
}

static void a_circle_is_as_deep_as_can_be(void **state)
{
    struct reach reach;
    const struct reach_flow *one;

    (void)state;
    reach_init(&reach, NULL);
    one = add(&reach, "one", "two ");
    add(&reach, "two", "one ");
    assert_int_equal(reach_close(&reach, &ec), ERR_OK);
    assert_true(reach_get_depth(&reach, one) > FLOWS_DEEP_MAX);
    assert_true(reach_leads_to(&reach, reach_find(&reach, "two"), "one", 0));
    reach_fini(&reach);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flow_leads_to_the_jobs_of_those_that_it_runs),
        cmocka_unit_test(a_flow_that_gives_its_name_back_is_not_run),
        cmocka_unit_test(many_names_are_asked_for_together),
        cmocka_unit_test(a_circle_is_as_deep_as_can_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Maps and broadcasts: their items, as advance_run has them. */
#include "flowrun/advance_world.h"

#define MAP(more)                                                                                                      \
    "{'name':'f','parameters':[{'name':'list','type':'json'}],'steps':[{'name':'m','type':'map','jobId':1,'items':"    \
    "'flow.list','param':'${index}:${item}','parallel':2}" more "]}"

static struct world *begin_map(const char *document, const char *parameters)
{
    struct world *w = begin(document);

    w->run.parameters = parameters;
    move(w);
    return w;
}

static void a_map_runs_so_many_at_a_time(void **state)
{
    struct world *w = begin_map(MAP(""), "{\"list\":[\"x\",7,null,true,5]}");

    (void)state;
    assert_int_equal(count_fires(w), 2);
    assert_string_equal(w->out->fires->job->param, "0:x");
    assert_string_equal(w->out->fires->next->job->param, "1:7");
    assert_int_equal(w->out->fires->flow_item, 0);
    assert_int_equal(w->steps[0].items, 5);
    assert_int_equal(w->steps[0].items_begun, 2);
    move(w);
    assert_int_equal(count_fires(w), 0);
    report_item(w, 0, 1, 200, "b");
    move(w);
    assert_int_equal(count_fires(w), 1);
    assert_string_equal(w->out->fires->job->param, "2:null");
    report_item(w, 0, 0, 200, "a");
    report_item(w, 0, 2, 200, NULL);
    move(w);
    assert_int_equal(count_fires(w), 2);
    assert_int_equal(w->steps[0].items_ended, 3);
    end(w);
}

static void what_cannot_be_sent_takes_no_room(void **state)
{
    struct world *w =
        begin("{'name':'f','parameters':[{'name':'list','type':'json'}],'steps':[{'name':'m','type':'map',"
              "'jobId':1,'items':'flow.list','param':'${item/x}','parallel':2}]}");

    (void)state;
    w->run.parameters = "{\"list\":[1,2,3,4,{\"x\":5},6]}";
    move(w);
    assert_int_equal(count_fires(w), 1);
    assert_int_equal(w->steps[0].items_begun, 6);
    assert_int_equal(w->steps[0].items_failed, 5);
    report_item(w, 0, 4, 200, NULL);
    move(w);
    move(w);
    check_states(w, "f");
    end(w);
}

static void its_result_is_that_of_all_items(void **state)
{
    struct world *w = begin_map(MAP(",{'name':'b','type':'job','jobId':1,'param':'${steps.m.result/1}'}],'edges':["
                                    "{'from':'m','to':'b'}"),
                                "{\"list\":[1,2]}");

    (void)state;
    report_item(w, 0, 0, 200, "{\"n\":1}");
    report_item(w, 0, 1, 200, "two");
    move(w);
    check_states(w, "r.");
    assert_true(w->run.look_ms <= w->now_ms); /* the results are read by the next move */
    move(w);
    check_states(w, "sr");
    assert_string_equal(w->steps[0].now.result, "[{\"n\":1},\"two\"]");
    assert_string_equal(w->out->fires->job->param, "two");
    end(w);
}

static void an_empty_map_has_ended_at_once(void **state)
{
    struct world *w =
        begin_map(MAP(",{'name':'b','type':'job','jobId':1}],'edges':[{'from':'m','to':'b'}"), "{\"list\":[]}");

    (void)state;
    check_states(w, "sr");
    assert_string_equal(w->steps[0].now.result, "[]");
    end(w);
}

static void a_map_of_nothing_that_is_an_array_fails(void **state)
{
    struct world *w = begin_map(MAP(""), "{\"list\":{}}");

    (void)state;
    check_states(w, "f");
    assert_int_equal(w->run.state, FLOW_RUN_FAILED);
    end(w);
}

static void items_are_tried_again_by_themselves(void **state)
{
    struct world *w =
        begin("{'name':'f','parameters':[{'name':'list','type':'json'}],'steps':[{'name':'m','type':'map',"
              "'jobId':3,'items':'flow.list'}]}");

    (void)state;
    w->run.parameters = "{\"list\":[1,2]}";
    move(w);
    report_item(w, 0, 0, 500, "no");
    report_item(w, 0, 1, 200, NULL);
    move(w);
    assert_int_equal(count_fires(w), 0);
    assert_int_equal(w->steps[0].items_ended, 1);
    assert_int_equal(w->items[0].now.wake_ms, START_MS + 10000);
    assert_int_equal(w->run.look_ms, START_MS + 10000);
    move(w);
    assert_int_equal(w->run.look_ms, START_MS + 10000); /* from the table now */
    w->now_ms += 10000;
    move(w);
    assert_int_equal(count_fires(w), 1);
    assert_int_equal(w->out->fires->flow_item, 0);
    assert_int_equal(w->items[0].now.tries, 2);
    end(w);
}

static void one_item_that_failed_fails_the_map(void **state)
{
    struct world *w = begin_map(MAP(""), "{\"list\":[1,2]}");

    (void)state;
    report_item(w, 0, 0, 500, "no");
    report_item(w, 0, 1, 200, "well");
    move(w);
    move(w);
    check_states(w, "f");
    assert_string_equal(w->steps[0].now.message, "1 of 2 items failed");
    assert_string_equal(w->steps[0].now.result, "[\"no\",\"well\"]");
    assert_int_equal(w->steps[0].now.code, 500);
    end(w);
}

/* Those that ended well are not done again. */
static void a_map_is_retried_for_what_failed(void **state)
{
    struct world *w = begin_map(MAP(""), "{\"list\":[1,2]}");

    (void)state;
    report_item(w, 0, 0, 500, "no");
    report_item(w, 0, 1, 200, "well");
    move(w);
    move(w);
    ask(w, 0, "retry");
    check_states(w, "r");
    assert_int_equal(w->run.state, FLOW_RUN_RUNNING);
    assert_int_equal(w->out->again_count, 1);
    assert_true(w->run.look_ms <= w->now_ms);
    move(w);
    assert_int_equal(count_fires(w), 1);
    assert_int_equal(w->out->fires->flow_item, 0);
    assert_int_equal(w->items[0].now.tries, 1);
    report_item(w, 0, 0, 200, "now");
    move(w);
    move(w);
    check_states(w, "s");
    assert_string_equal(w->steps[0].now.result, "[\"now\",\"well\"]");
    end(w);
}

/* ---- broadcasts -------------------------------------------------------------------------------------------------- */

#define BROADCAST "{'name':'f','steps':[{'name':'b','type':'broadcast','jobId':2,'param':'p'}]}"

static void a_broadcast_goes_to_each_address(void **state)
{
    static const char *const addresses[] = {"http://a/", "http://b/", "http://c/"};
    struct world *w = begin(BROADCAST);
    int n = 0;

    (void)state;
    move(w);
    assert_int_equal(count_fires(w), 3);
    for (const struct fire *f = w->out->fires; f; f = f->next, n++) {
        assert_string_equal(f->address, addresses[n]);
        assert_int_equal(f->shard_index, n);
        assert_int_equal(f->shard_total, 3);
        assert_int_equal(f->flow_item, n);
        assert_true(f->broadcast);
        assert_string_equal(f->job->param, "p");
    }
    for (int i = 0; i < 3; i++)
        report_item(w, 0, i, 200, "done");
    move(w);
    move(w);
    assert_int_equal(w->run.state, FLOW_RUN_SUCCEEDED);
    assert_string_equal(w->steps[0].now.result, "[\"done\",\"done\",\"done\"]");
    end(w);
}

/* A part that is done again keeps its number, also where fewer executors are left. */
static void a_part_that_is_tried_again_keeps_its_number(void **state)
{
    struct world *w = begin(BROADCAST);

    (void)state;
    jobs[BROADCAST_JOB - 1].retry_count = 1;
    move(w);
    group_spec_unref(w->group);
    w->group = targets[BROADCAST_JOB - 1].group = group_spec_create(4, "app", "", false, "http://x/,http://y/");
    report_item(w, 0, 2, 500, "no");
    move(w);
    assert_int_equal(count_fires(w), 1);
    assert_int_equal(w->out->fires->shard_index, 2);
    assert_int_equal(w->out->fires->shard_total, 3);
    assert_string_equal(w->out->fires->address, "http://x/");
    jobs[BROADCAST_JOB - 1].retry_count = 0;
    end(w);
}

static void a_broadcast_to_nobody_has_one_part(void **state)
{
    struct world *w = begin(BROADCAST);

    (void)state;
    group_spec_unref(w->group);
    w->group = targets[BROADCAST_JOB - 1].group = group_spec_create(4, "app", "", false, "");
    move(w);
    assert_int_equal(count_fires(w), 1);
    assert_int_equal(w->steps[0].items, 1);
    assert_int_equal(w->out->fires->shard_total, 1);
    end(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_map_runs_so_many_at_a_time),
                                       cmocka_unit_test(what_cannot_be_sent_takes_no_room),
                                       cmocka_unit_test(its_result_is_that_of_all_items),
                                       cmocka_unit_test(an_empty_map_has_ended_at_once),
                                       cmocka_unit_test(a_map_of_nothing_that_is_an_array_fails),
                                       cmocka_unit_test(items_are_tried_again_by_themselves),
                                       cmocka_unit_test(one_item_that_failed_fails_the_map),
                                       cmocka_unit_test(a_map_is_retried_for_what_failed),
                                       cmocka_unit_test(a_broadcast_goes_to_each_address),
                                       cmocka_unit_test(a_part_that_is_tried_again_keeps_its_number),
                                       cmocka_unit_test(a_broadcast_to_nobody_has_one_part)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

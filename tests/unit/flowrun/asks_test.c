/* SPDX-License-Identifier: MIT */
/* What people ask of a run. */
#include "flowrun/advance_world.h"

#define A "{'name':'a','type':'job','jobId':1}"
#define B "{'name':'b','type':'job','jobId':1}"
#define C "{'name':'c','type':'job','jobId':1}"
#define LINE "{'name':'f','steps':[" A "," B "," C "],'edges':[{'from':'a','to':'b'},{'from':'b','to':'c'}]}"
#define GATE                                                                                                           \
    "{'name':'f','steps':[{'name':'a','type':'approval','text':'run ${run.id}?'}," B                                   \
    "],'edges':[{'from':'a','to':'b'}]}"

static void a_cancelled_run_stops_where_it_is(void **state)
{
    struct world *w = begin(LINE);

    (void)state;
    move(w);
    finish(w, 0, 200, NULL);
    ask(w, -1, "cancel");
    check_states(w, "scc");
    assert_int_equal(w->run.state, FLOW_RUN_CANCELLED);
    assert_int_equal(w->out->closed_count, 1);
    assert_int_equal(w->out->closed[0], 70);
    assert_int_equal(w->out->ask_count, 1);
    assert_int_equal(count_fires(w), 0);
    ask(w, -1, "cancel"); /* once more: nothing */
    assert_int_equal(w->out->closed_count, 0);
    assert_int_equal(w->out->ask_count, 1);
    end(w);
}

static void a_run_in_line_is_cancelled(void **state)
{
    struct world *w = begin(LINE);

    (void)state;
    w->run.state = FLOW_RUN_QUEUED;
    ask(w, -1, "cancel");
    assert_int_equal(w->run.state, FLOW_RUN_CANCELLED);
    assert_int_equal(count_fires(w), 0);
    end(w);
}

static void the_run_of_a_step_is_cancelled_with_it(void **state)
{
    struct world *w = begin("{'name':'f','steps':[{'name':'a','type':'flow','flow':'g'}]}");

    (void)state;
    add_child(w, "{'name':'g','steps':[" A "]}");
    move(w);
    ask(w, -1, "cancel");
    assert_int_equal(w->out->cancelled_count, 1);
    assert_int_equal(w->out->cancelled[0], 500);
    end(w);
}

static void a_run_goes_on_from_what_failed(void **state)
{
    struct world *w = begin(LINE);

    (void)state;
    move(w);
    finish(w, 0, 200, "kept");
    finish(w, 1, 500, "no");
    check_states(w, "sf-");
    assert_int_equal(w->run.state, FLOW_RUN_FAILED);
    ask(w, -1, "rerun");
    check_states(w, "sr.");
    assert_int_equal(w->run.state, FLOW_RUN_RUNNING);
    assert_int_equal(w->run.ended_ms, 0);
    assert_int_equal(count_fires(w), 1);
    assert_int_equal(w->out->fires->flow_step, 1);
    assert_int_equal(w->steps[1].now.tries, 1);
    assert_string_equal(w->steps[0].now.result, "kept");
    finish(w, 1, 200, NULL);
    finish(w, 2, 200, NULL);
    assert_int_equal(w->run.state, FLOW_RUN_SUCCEEDED);
    ask(w, -1, "rerun"); /* nothing failed */
    check_states(w, "sss");
    assert_int_equal(count_fires(w), 0);
    end(w);
}

static void a_cancelled_run_goes_on(void **state)
{
    struct world *w = begin(LINE);

    (void)state;
    move(w);
    ask(w, -1, "cancel");
    check_states(w, "ccc");
    ask(w, -1, "rerun");
    check_states(w, "r..");
    end(w);
}

static void only_what_failed_is_retried(void **state)
{
    struct world *w = begin("{'name':'f','steps':[" A "," B "]}");

    (void)state;
    move(w);
    finish(w, 0, 500, "no");
    ask(w, 1, "retry"); /* it runs */
    check_states(w, "fr");
    ask(w, 0, "retry");
    check_states(w, "rr");
    assert_int_equal(count_fires(w), 1);
    ask(w, 7, "retry"); /* no such step */
    assert_int_equal(w->out->ask_count, 1);
    end(w);
}

static void a_step_is_skipped_or_done_by_hand(void **state)
{
    struct world *w = begin(LINE);

    (void)state;
    move(w);
    ask(w, 0, "done"); /* it runs at an executor */
    check_states(w, "r..");
    w->now_ms += 5000;
    finish(w, 0, 500, "no");
    check_states(w, "f--");
    w->now_ms += 60000;
    ask(w, 0, "done");
    check_states(w, "sr.");
    assert_int_equal(w->steps[0].now.started_ms, START_MS); /* it ran */
    assert_int_equal(w->steps[0].now.ended_ms, START_MS + 65000);
    assert_string_equal(w->steps[0].who, "ann");
    assert_string_equal(w->steps[0].remark, "seen");
    assert_int_equal(w->steps[0].now.code, 200);
    ask(w, 2, "skip");
    check_states(w, "sr-");
    finish(w, 1, 200, NULL);
    assert_int_equal(w->run.state, FLOW_RUN_SUCCEEDED);
    end(w);
}

static void an_approval_waits_for_an_answer(void **state)
{
    struct world *w = begin(GATE);

    (void)state;
    move(w);
    check_states(w, "r.");
    assert_string_equal(w->steps[0].now.message, "run 70?");
    ask(w, 1, "approve"); /* no approval */
    check_states(w, "r.");
    ask(w, 0, "approve");
    check_states(w, "sr");
    assert_string_equal(w->steps[0].who, "ann");
    end(w);
    w = begin(GATE);
    move(w);
    ask(w, 0, "reject");
    check_states(w, "f-");
    assert_int_equal(w->run.state, FLOW_RUN_FAILED);
    end(w);
}

/* A run that has ended counts no end of what it has waited for. */
static void an_end_behind_a_cancel_changes_nothing(void **state)
{
    struct world *w = begin(LINE);

    (void)state;
    move(w);
    report_item(w, 0, -1, 200, NULL);
    w->now_ms += 1000;
    w->has_ended[0] = false; /* it is on its way */
    ask(w, -1, "cancel");
    w->fires[0] = (struct flow_fire_end){.run_id = 70, .log_id = 1000, .step = 0, .item = -1, .handle_code = 200};
    w->has_ended[0] = true;
    move(w);
    check_states(w, "ccc");
    assert_int_equal(w->out->ended_count, 1);
    assert_int_equal(w->run.state, FLOW_RUN_CANCELLED);
    end(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_cancelled_run_stops_where_it_is),
                                       cmocka_unit_test(a_run_in_line_is_cancelled),
                                       cmocka_unit_test(the_run_of_a_step_is_cancelled_with_it),
                                       cmocka_unit_test(a_run_goes_on_from_what_failed),
                                       cmocka_unit_test(a_cancelled_run_goes_on),
                                       cmocka_unit_test(only_what_failed_is_retried),
                                       cmocka_unit_test(a_step_is_skipped_or_done_by_hand),
                                       cmocka_unit_test(an_approval_waits_for_an_answer),
                                       cmocka_unit_test(an_end_behind_a_cancel_changes_nothing)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

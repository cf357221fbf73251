/* SPDX-License-Identifier: MIT */
/* What becomes of a run: its steps, their tries, joins, waits, other flows. Items are in items_test.c, what people ask
 * for in asks_test.c. */
#include "flowrun/advance_world.h"

#include "shardwheel/store/lost.h"

#define A "{'name':'a','type':'job','jobId':1}"
#define B "{'name':'b','type':'job','jobId':1}"
#define C "{'name':'c','type':'job','jobId':1}"
#define LINE "{'name':'f','steps':[" A "," B "],'edges':[{'from':'a','to':'b'}]}"

static void first_steps_start_at_once(void **state)
{
    struct world *w = begin("{'name':'f','steps':[" A ",{'name':'b','type':'job','jobId':1,'param':'run ${run.id}'}," C
                            "],'edges':[{'from':'a','to':'c'}]}");
    const struct fire *fire;

    (void)state;
    move(w);
    check_states(w, "rr.");
    assert_int_equal(count_fires(w), 2);
    fire = w->out->fires;
    assert_int_equal(fire->kind, TRIGGER_FLOW);
    assert_int_equal(fire->shard, -1);
    assert_int_equal(fire->flow_run, 70);
    assert_int_equal(fire->flow_step, 0);
    assert_int_equal(fire->flow_item, -1);
    assert_int_equal(fire->due_s, START_MS / 1000);
    assert_string_equal(fire->job->param, "job's");
    assert_int_equal(fire->job->retry_count, 0);
    assert_string_equal(fire->next->job->param, "run 70");
    assert_int_equal(w->steps[0].now.tries, 1);
    assert_int_equal(w->steps[1].now.log_id, 1001);
    assert_int_equal(w->run.started_ms, START_MS);
    assert_true(w->run.changed);
    assert_int_equal(w->run.look_ms, FLOW_NEVER_MS);
    end(w);
}

static void a_second_move_changes_nothing(void **state)
{
    struct world *w = begin(LINE);

    (void)state;
    move(w);
    move(w);
    assert_int_equal(count_fires(w), 0);
    assert_int_equal(w->out->step_count, 0);
    assert_false(w->run.changed);
    end(w);
}

/* What the database has put in the place of a lost end is no result. */
static void an_end_that_was_lost_has_no_result(void **state)
{
    struct world *w = begin("{'name':'f','steps':[" A ",{'name':'b','type':'job','jobId':1,'param':'n="
                            "${steps.a.result}'}],'edges':[{'from':'a','to':'b'}]}");

    (void)state;
    move(w);
    finish(w, 0, 200, "<!--sw:e-->written again");
    move(w);
    check_states(w, "sf");
    assert_null(w->steps[0].now.result);
    assert_non_null(strstr(w->steps[1].now.message, "steps.a.result"));
    end(w);
}

static void an_end_starts_what_follows(void **state)
{
    struct world *w = begin("{'name':'f','steps':[" A ",{'name':'b','type':'job','jobId':1,'param':'n="
                            "${steps.a.result/n}'}],'edges':[{'from':'a','to':'b'}]}");

    (void)state;
    move(w);
    w->now_ms += 5000;
    finish(w, 0, 200, "{\"n\":41}");
    check_states(w, "sr");
    assert_int_equal(w->out->ended_count, 1);
    assert_int_equal(w->out->ended[0], 1000);
    assert_string_equal(w->out->fires->job->param, "n=41");
    assert_string_equal(w->steps[0].now.result, "{\"n\":41}");
    assert_int_equal(w->steps[0].now.ended_ms, START_MS + 5000);
    finish(w, 1, 200, NULL);
    assert_int_equal(w->run.state, FLOW_RUN_SUCCEEDED);
    assert_int_equal(w->run.ended_ms, START_MS + 5000);
    end(w);
}

/* Of a fire that is not the step's last one, or of a step that has ended. */
static void an_end_of_another_fire_is_taken_in_and_no_more(void **state)
{
    struct world *w = begin(LINE);

    (void)state;
    move(w);
    w->fires[5] = (struct flow_fire_end){
        .run_id = 70, .log_id = 900, .step = 0, .item = -1, .trigger_code = 200, .handle_code = 200};
    w->has_ended[5] = true;
    move(w);
    check_states(w, "r.");
    assert_int_equal(w->out->ended_count, 1);
    assert_int_equal(w->out->ended[0], 900);
    w->fires[5] = (struct flow_fire_end){.run_id = 70, .log_id = 901, .step = 7, .item = -1, .gone = true};
    move(w);
    assert_int_equal(w->out->ended_count, 1);
    end(w);
}

static const char diamond[] = "{'name':'f','steps':[" A "," B ",{'name':'all','type':'job','jobId':1},"
                              "{'name':'any','type':'job','jobId':1,'join':'any'}],'edges':[{'from':'a','to':'all'},"
                              "{'from':'b','to':'all'},{'from':'a','to':'any'},{'from':'b','to':'any'}]}";

static void joins_wait_for_all_or_for_any(void **state)
{
    struct world *w = begin(diamond);

    (void)state;
    move(w);
    finish(w, 0, 200, NULL);
    check_states(w, "sr.r");
    finish(w, 1, 200, NULL);
    check_states(w, "ssrr");
    assert_int_equal(count_fires(w), 1); /* `any` has started before */
    end(w);
}

static void an_end_that_is_bad_skips_what_follows(void **state)
{
    struct world *w = begin(diamond);

    (void)state;
    move(w);
    finish(w, 0, 500, "no");
    check_states(w, "fr-.");
    assert_string_equal(w->steps[0].now.message, "no");
    assert_int_equal(w->steps[0].now.code, 500);
    finish(w, 1, 500, "no");
    check_states(w, "ff--");
    assert_int_equal(w->run.state, FLOW_RUN_FAILED);
    end(w);
}

static void a_failure_that_is_handled_is_none_of_the_run(void **state)
{
    struct world *w = begin("{'name':'f','steps':[" A "," B "],'edges':[{'from':'a','to':'b','on':'failure'}]}");

    (void)state;
    move(w);
    finish(w, 0, 500, NULL);
    check_states(w, "fr");
    assert_string_equal(w->steps[0].now.message, "its executor reported a failure");
    finish(w, 1, 200, NULL);
    assert_int_equal(w->run.state, FLOW_RUN_SUCCEEDED);
    end(w);
}

static void why_a_try_failed_is_told(void **state)
{
    struct world *w = begin(LINE);

    (void)state;
    move(w);
    w->fires[0].gone = w->has_ended[0] = true;
    move(w);
    assert_string_equal(w->steps[0].now.message, "its log row was deleted");
    end(w);
    w = begin(LINE);
    move(w);
    w->fires[0].trigger_code = 500;
    w->has_ended[0] = true;
    move(w);
    assert_string_equal(w->steps[0].now.message, "it could not be sent; its log row has the reason");
    assert_int_equal(w->steps[0].now.code, 500);
    end(w);
}

/* ---- tries ------------------------------------------------------------------------------------------------------- */

static void a_step_has_as_many_tries_as_its_job_allows(void **state)
{
    struct world *w = begin(LINE);

    (void)state;
    jobs[JOB - 1].retry_count = 2;
    move(w);
    for (int tries = 2; tries <= 3; tries++) {
        finish(w, 0, 500, "no");
        check_states(w, "r.");
        assert_int_equal(count_fires(w), 1); /* it does not wait */
        assert_int_equal(w->steps[0].now.tries, tries);
        assert_int_equal(w->steps[0].now.log_id, w->next_log - 1);
    }
    finish(w, 0, 500, "no");
    check_states(w, "f-");
    assert_int_equal(count_fires(w), 0);
    assert_int_equal(w->steps[0].now.tries, 3);
    end(w);
}

static void a_try_waits_longer_each_time(void **state)
{
    static const int wait_s[] = {10, 15, 15};
    struct world *w = begin("{'name':'f','steps':[{'name':'a','type':'job','jobId':3}]}");

    (void)state;
    move(w);
    for (int i = 0; i < 3; i++) {
        finish(w, 0, 500, "no");
        assert_int_equal(count_fires(w), 0);
        assert_int_equal(w->steps[0].now.wake_ms, w->now_ms + wait_s[i] * 1000);
        assert_int_equal(w->run.look_ms, w->now_ms + wait_s[i] * 1000);
        w->now_ms = w->run.look_ms - 1;
        move(w);
        assert_int_equal(count_fires(w), 0);
        assert_int_equal(w->run.look_ms, w->now_ms + 1);
        w->now_ms++;
        move(w);
        assert_int_equal(count_fires(w), 1);
        assert_int_equal(w->steps[0].now.wake_ms, 0);
        assert_int_equal(w->steps[0].now.started_ms, START_MS);
    }
    finish(w, 0, 200, "well");
    assert_int_equal(w->run.state, FLOW_RUN_SUCCEEDED);
    end(w);
}

static void what_cannot_be_fired_fails(void **state)
{
    struct world *w = begin("{'name':'f','steps':[{'name':'a','type':'job','jobId':9},{'name':'b','type':'job',"
                            "'jobId':2},{'name':'c','type':'broadcast','jobId':1},{'name':'d','type':'job','jobId':1,"
                            "'param':'${flow.p}'}],'parameters':[{'name':'p'}]}");

    (void)state;
    move(w);
    check_states(w, "ffff");
    assert_int_equal(count_fires(w), 0);
    assert_string_equal(w->steps[0].now.message, "there is no job 9");
    assert_non_null(strstr(w->steps[1].now.message, "is a broadcast job"));
    assert_non_null(strstr(w->steps[2].now.message, "is not a broadcast job"));
    assert_non_null(strstr(w->steps[3].now.message, "flow.p"));
    assert_int_equal(w->run.state, FLOW_RUN_FAILED);
    end(w);
}

/* They are sent again besides, as the job's own runs are; what a step waits with, it waits for these too. */
static void lost_runs_are_no_tries(void **state)
{
    struct world *w = begin(LINE);

    (void)state;
    jobs[JOB - 1].retry_count = 1;
    targets[JOB - 1].resend_lost = true;
    move(w);
    finish(w, 0, 500, "no");
    for (int i = 0; i < LOST_RESENDS_MAX; i++) {
        check_states(w, "r.");
        assert_int_equal(count_fires(w), 1);
        finish(w, 0, 500, LOST_MARK "it restarted");
    }
    check_states(w, "r.");
    finish(w, 0, 500, LOST_MARK "it restarted");
    check_states(w, "f-");
    assert_string_equal(w->steps[0].now.message, "it restarted");
    assert_int_equal(w->steps[0].now.tries, 5);
    end(w);
    w = begin(LINE);
    targets[JOB - 1].resend_lost = true;
    move(w);
    finish(w, 0, 500, "no");
    check_states(w, "f-");
    end(w);
}

/* The job went while the step ran: there is no other try. */
static void a_job_that_is_gone_has_no_other_try(void **state)
{
    struct world *w = begin(LINE);

    (void)state;
    jobs[JOB - 1].retry_count = 2;
    move(w);
    targets[JOB - 1].spec = NULL;
    finish(w, 0, 500, "no");
    check_states(w, "f-");
    end(w);
}

/* ---- waits ------------------------------------------------------------------------------------------------------- */

static void a_wait_is_over_when_its_time_has_come(void **state)
{
    struct world *w =
        begin("{'name':'f','steps':[{'name':'a','type':'wait','seconds':30}," B "],'edges':[{'from':'a','to':'b'}]}");

    (void)state;
    move(w);
    check_states(w, "r.");
    assert_int_equal(w->run.look_ms, START_MS + 30000);
    w->now_ms += 30000;
    move(w);
    check_states(w, "sr");
    assert_int_equal(w->run.look_ms, FLOW_NEVER_MS);
    end(w);
}

/* The run is due at 20:00 in Shanghai. */
static void a_wait_lasts_until_a_time_of_day(void **state)
{
    struct world *w = begin("{'name':'f','steps':[{'name':'a','type':'wait','until':'20:30'},{'name':'b','type':'wait',"
                            "'until':'06:00:01'}]}");

    (void)state;
    move(w);
    assert_int_equal(w->steps[0].now.wake_ms, START_MS + 1800 * 1000);
    assert_int_equal(w->steps[1].now.wake_ms, START_MS + (10 * 3600 + 1) * 1000);
    assert_int_equal(w->run.look_ms, START_MS + 1800 * 1000);
    end(w);
}

static void a_wait_until_now_is_over_at_once(void **state)
{
    struct world *w = begin("{'name':'f','steps':[{'name':'a','type':'wait','until':'20:00'}," B
                            "],'edges':[{'from':'a','to':'b'}]}");

    (void)state;
    move(w);
    check_states(w, "sr");
    end(w);
}

/* None of them may be left without a look. */
static void what_follows_a_wait_that_is_over_goes_on(void **state)
{
    struct world *w = begin("{'name':'f','steps':[{'name':'a','type':'wait','until':'20:00'},{'name':'b','type':'wait',"
                            "'until':'20:00'},{'name':'c','type':'map','jobId':1,'items':'flow.list'},{'name':'d',"
                            "'type':'wait','seconds':9}],'parameters':[{'name':'list','type':'json','default':[1]}],"
                            "'edges':[{'from':'a','to':'b'},{'from':'b','to':'c'},{'from':'b','to':'d'}]}");

    (void)state;
    move(w);
    check_states(w, "ssrr");
    assert_int_equal(count_fires(w), 1);
    assert_int_equal(w->run.look_ms, START_MS + 9000);
    end(w);
}

/* ---- other flows ------------------------------------------------------------------------------------------------- */

static const char parent[] = "{'name':'f','steps':[{'name':'a','type':'flow','flow':'g','parameters':{'p':"
                             "'${run.id}'}}," B "],'edges':[{'from':'a','to':'b'}]}";

static void a_flow_runs_as_a_step(void **state)
{
    struct world *w = begin(parent);

    (void)state;
    add_child(w, "{'name':'g','parameters':[{'name':'p','type':'number'}],'steps':[" A "]}");
    w->run.depth = 2;
    move(w);
    assert_non_null(w->out->new_runs);
    assert_int_equal(w->out->new_runs->flow_id, 8);
    assert_int_equal(w->out->new_runs->version, 3);
    assert_int_equal(w->out->new_runs->parent_run, 70);
    assert_int_equal(w->out->new_runs->parent_step, 0);
    assert_int_equal(w->out->new_runs->depth, 3);
    assert_string_equal(w->out->new_runs->parameters, "{\"p\":70}");
    check_states(w, "r.");
    move(w);
    check_states(w, "r.");
    w->steps[0].now.code = 200; /* as its note says */
    w->steps[0].now.result = "{\"a\":1}";
    move(w);
    check_states(w, "sr");
    end(w);
}

static void a_flow_that_cannot_run_fails_its_step(void **state)
{
    struct world *w = begin(parent);

    (void)state;
    move(w);
    check_states(w, "f-");
    assert_string_equal(w->steps[0].now.message, "there is no flow \"g\"");
    end(w);
    w = begin(parent);
    add_child(w, "{'name':'g','steps':[" A "]}"); /* without parameters */
    move(w);
    check_states(w, "f-");
    end(w);
    w = begin(parent);
    add_child(w, "{'name':'g','parameters':[{'name':'p','type':'number'}],'steps':[" A "]}");
    w->run.depth = FLOW_DEPTH_MAX - 1;
    move(w);
    check_states(w, "f-");
    end(w);
}

static void its_run_is_told_how_it_ended(void **state)
{
    struct world *w = begin(LINE);

    (void)state;
    w->run.parent_run = 60;
    w->run.parent_step = 4;
    move(w);
    finish(w, 0, 200, NULL);
    assert_int_equal(w->out->note_count, 0);
    finish(w, 1, 200, "[1]");
    assert_int_equal(w->out->note_count, 1);
    assert_int_equal(w->out->notes[0].run_id, 60);
    assert_int_equal(w->out->notes[0].step, 4);
    assert_int_equal(w->out->notes[0].code, 200);
    assert_string_equal(w->out->notes[0].result, "{\"b\":[1]}");
    end(w);
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

static void a_run_in_line_looks_who_is_before_it(void **state)
{
    struct world *w = begin(LINE);

    (void)state;
    w->run.state = FLOW_RUN_QUEUED;
    move(w);
    check_states(w, "..");
    assert_int_equal(w->run.started_ms, 0);
    assert_true(w->run.frees_line); /* nobody may be before it any more */
    assert_int_equal(w->run.look_ms, START_MS + 60000);
    end(w);
}

static void a_run_is_late_once(void **state)
{
    struct world *w = begin("{'name':'f','deadline':60,'steps':[" A "]}");

    (void)state;
    move(w);
    assert_int_equal(w->run.look_ms, START_MS + 60000);
    assert_int_equal(w->run.news, FLOW_NEWS_NONE);
    w->now_ms += 60000;
    move(w);
    assert_true(w->run.news == FLOW_NEWS_LATE && w->run.late_told && w->run.changed);
    assert_int_equal(w->run.look_ms, FLOW_NEVER_MS);
    check_states(w, "r");
    w->run.news = FLOW_NEWS_NONE;
    move(w);
    assert_int_equal(w->run.news, FLOW_NEWS_NONE);
    end(w);
}

static void the_end_of_a_run_frees_what_waits_for_it(void **state)
{
    struct world *w = begin("{'name':'f','whenRunning':'queue','schedule':{'delay':60},'steps':[" A "]}");

    (void)state;
    w->run.kind[0] = 'C';
    move(w);
    assert_false(w->run.frees_line);
    w->now_ms += 5500;
    finish(w, 0, 500, NULL);
    assert_true(w->run.frees_line);
    assert_int_equal(w->run.flow_next_s, START_MS / 1000 + 5 + 60);
    end(w);
    w = begin("{'name':'f','schedule':{'delay':60},'steps':[" A "]}"); /* by hand */
    move(w);
    finish(w, 0, 200, NULL);
    assert_false(w->run.frees_line);
    assert_int_equal(w->run.flow_next_s, 0);
    end(w);
}

static void a_run_that_cannot_be_understood_fails(void **state)
{
    struct world *w = begin(LINE);

    (void)state;
    w->a.flow = NULL;
    w->run.parent_run = 60;
    move(w);
    assert_int_equal(w->run.state, FLOW_RUN_FAILED);
    assert_non_null(strstr(w->run.message, "cannot be read"));
    assert_int_equal(w->out->note_count, 1);
    assert_int_equal(w->out->notes[0].code, 500);
    end(w);
    w = begin(LINE);
    move(w);
    w->run.parameters = "{\"unknown\":1}";
    finish(w, 0, 200, NULL);
    assert_int_equal(w->run.state, FLOW_RUN_FAILED);
    assert_non_null(strstr(w->run.message, "unknown"));
    assert_int_equal(w->out->ended_count, 1);
    end(w);
}

static void a_result_that_is_too_large_fails_its_step(void **state)
{
    struct world *w = begin(LINE);
    char *large = calloc(1, FLOW_RESULT_MAX + 2);

    (void)state;
    assert_non_null(large);
    memset(large, 'x', FLOW_RESULT_MAX + 1);
    move(w);
    finish(w, 0, 200, large);
    check_states(w, "f-");
    assert_null(w->steps[0].now.result);
    end(w);
    free(large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(first_steps_start_at_once),
                                       cmocka_unit_test(a_second_move_changes_nothing),
                                       cmocka_unit_test(an_end_starts_what_follows),
                                       cmocka_unit_test(an_end_that_was_lost_has_no_result),
                                       cmocka_unit_test(an_end_of_another_fire_is_taken_in_and_no_more),
                                       cmocka_unit_test(joins_wait_for_all_or_for_any),
                                       cmocka_unit_test(an_end_that_is_bad_skips_what_follows),
                                       cmocka_unit_test(a_failure_that_is_handled_is_none_of_the_run),
                                       cmocka_unit_test(why_a_try_failed_is_told),
                                       cmocka_unit_test(a_step_has_as_many_tries_as_its_job_allows),
                                       cmocka_unit_test(a_try_waits_longer_each_time),
                                       cmocka_unit_test(what_cannot_be_fired_fails),
                                       cmocka_unit_test(lost_runs_are_no_tries),
                                       cmocka_unit_test(a_job_that_is_gone_has_no_other_try),
                                       cmocka_unit_test(a_wait_is_over_when_its_time_has_come),
                                       cmocka_unit_test(a_wait_lasts_until_a_time_of_day),
                                       cmocka_unit_test(a_wait_until_now_is_over_at_once),
                                       cmocka_unit_test(what_follows_a_wait_that_is_over_goes_on),
                                       cmocka_unit_test(a_flow_runs_as_a_step),
                                       cmocka_unit_test(a_flow_that_cannot_run_fails_its_step),
                                       cmocka_unit_test(its_run_is_told_how_it_ended),
                                       cmocka_unit_test(a_run_in_line_looks_who_is_before_it),
                                       cmocka_unit_test(a_run_is_late_once),
                                       cmocka_unit_test(the_end_of_a_run_frees_what_waits_for_it),
                                       cmocka_unit_test(a_run_that_cannot_be_understood_fails),
                                       cmocka_unit_test(a_result_that_is_too_large_fails_its_step)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

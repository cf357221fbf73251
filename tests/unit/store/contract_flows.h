/* SPDX-License-Identifier: MIT */
/* The part of the contract that is about flows; see contract.h. */
#ifndef SHARDWHEEL_TESTS_STORE_CONTRACT_FLOWS_H
#define SHARDWHEEL_TESTS_STORE_CONTRACT_FLOWS_H

#include "shardwheel/store/flow.h"

struct contract_run {
    bool exists, is_looked_at;
    int state;
    int64_t look_ms, ended_ms;
    const char *message; /* "" for NULL */
};
struct contract_step {
    bool exists;
    int state, code, items_ended, items_failed;
    int64_t log_id, child_run;
    const char *result; /* likewise */
};

/* ---- hooks ---- */

static int64_t contract_add_flow(const char *name, const char *document); /* version 1, stopped */
static void contract_follow_flow(int64_t id, int64_t next_s);             /* it is started, and due then */
static int64_t contract_read_next(int64_t id);                            /* 0: it is not due */
static struct contract_run contract_read_run(int64_t id);
static struct contract_step contract_read_step(int64_t run, int step);
static int contract_count_fires(int64_t run);
static void contract_end_log(int64_t id, int trigger_code, int handle_code, const char *said);

/* ---- moves ---- */

/* What decides: by the number of the move. */
struct contract_mover {
    struct store_session *s;
    int64_t epoch;
    void (*decide)(struct contract_mover *m, struct flow_moving *run, int64_t now_ms, struct flow_changes *out);
    struct job_spec *job;
    struct flow_step_row rows[4];
    struct flow_item_row items[4];
    struct flow_changes out;
    size_t moved, seen;  /* runs that were decided about */
    int64_t ended;       /* that was seen last */
    int64_t other_child; /* not 0: a run that the step has no more tells its end */
};

static enum err contract_decide(void *arg, struct flow_moving *run, int64_t now_ms, struct flow_changes *out,
                                struct errctx *ec)
{
    struct contract_mover *m = arg;

    (void)ec;
    m->seen++;
    m->decide(m, run, now_ms, out);
    return ERR_OK;
}

static enum err contract_move(struct contract_mover *m, int64_t run, int64_t ended, struct errctx *ec)
{
    struct flow_epoch epoch = {0, m->epoch};
    struct flow_move_order order = {.epochs = &epoch,
                                    .epoch_count = 1,
                                    .n = 1,
                                    .run_ids = &run,
                                    .run_count = 1,
                                    .ended_logs = &ended,
                                    .ended_count = ended ? 1 : 0,
                                    .incarnation = "0123",
                                    .decide = contract_decide,
                                    .arg = m};

    m->seen = 0;
    m->out = (struct flow_changes){0};
    return store_move_flows(m->s, &order, &m->out, &m->moved, ec);
}

static void contract_move_one(struct contract_mover *m, int64_t run, int64_t ended)
{
    CONTRACT_OK(contract_move(m, run, ended, ec));
    assert_int_equal(m->moved, 1);
}

static int64_t contract_begin_run(struct store_session *s, int64_t flow, enum flow_policy policy, const char *key)
{
    struct flow_run_start order = {
        .flow_id = flow, .version = 1, .key = key, .kind = "M", .who = "ann", .policy = policy, .queue_max = 1};
    bool is_new;
    int64_t id = 0;

    CONTRACT_OK(store_start_flow_run(s, &order, NULL, &id, &is_new, ec));
    return id;
}

static void contract_begin_flows(struct store_session **s, struct store_session **other, struct contract_mover *m)
{
    int64_t job = 1;

    contract_begin(1, s, other);
    contract_add_job(1, (CONTRACT_S + 60) * 1000);
    *m = (struct contract_mover){.s = *s, .epoch = contract_take(*s, 0, 1)};
    CONTRACT_OK(store_load_job_specs(*s, &job, 1, &m->job, ec));
}

static void contract_end_flows(struct store_session *s, struct store_session *other, struct contract_mover *m)
{
    flow_changes_fini(&m->out);
    job_spec_unref(m->job);
    contract_end(s, other);
}

static void *contract_grow(void *list, size_t count, size_t size)
{
    assert_true(list_grow(&list, count, size)); /* as those do that the store fills, too */
    return list;
}

static void contract_put_step(struct flow_changes *out, const struct flow_step_row *row)
{
    out->steps = contract_grow(out->steps, out->step_count, sizeof *out->steps);
    out->steps[out->step_count++] = row;
}

static void contract_put_item(struct flow_changes *out, const struct flow_item_row *row)
{
    out->items = contract_grow(out->items, out->item_count, sizeof *out->items);
    out->items[out->item_count++] = row;
}

static void contract_put_id(int64_t **list, size_t *count, int64_t id)
{
    *list = contract_grow(*list, *count, sizeof **list);
    (*list)[(*count)++] = id;
}

static const struct fire *contract_put_fire(struct contract_mover *m, struct flow_changes *out, int64_t run, int step,
                                            int item)
{
    struct fire *fire = NULL;

    CONTRACT_OK(
        fires_make_direct(&(struct direct_order){.job = m->job, .kind = TRIGGER_FLOW, .now_s = CONTRACT_S}, &fire, ec));
    fire->flow_run = run;
    fire->flow_step = step;
    fire->flow_item = item;
    *out->fires_end = fire;
    out->fires_end = &fire->next;
    return fire;
}

/* ---- cases ---- */

static void contract_start_first(struct contract_mover *m, struct flow_moving *run, int64_t now_ms,
                                 struct flow_changes *out)
{
    assert_int_equal(run->step_count, 0);
    assert_int_equal(run->look_ms, 0);
    m->rows[0] = (struct flow_step_row){.run_id = run->id,
                                        .step = 2,
                                        .now = {.state = FLOW_RUNNING,
                                                .tries = 1,
                                                .started_ms = now_ms,
                                                .fire = contract_put_fire(m, out, run->id, 2, -1)}};
    contract_put_step(out, &m->rows[0]);
    run->look_ms = FLOW_NEVER_MS;
    run->changed = true;
}

static void contract_take_end(struct contract_mover *m, struct flow_moving *run, int64_t now_ms,
                              struct flow_changes *out)
{
    assert_int_equal(run->step_count, 1);
    assert_int_equal(run->steps[0].step, 2);
    assert_int_equal(run->steps[0].now.tries, 1);
    if (run->end_count == 0)
        return;
    assert_int_equal(run->ends[0].log_id, run->steps[0].now.log_id);
    assert_int_equal(run->ends[0].step, 2);
    assert_int_equal(run->ends[0].item, -1);
    assert_int_equal(run->ends[0].trigger_code, 200);
    assert_int_equal(run->ends[0].handle_code, 200);
    assert_string_equal(run->ends[0].said, "well");
    m->ended = run->ends[0].log_id;
    m->rows[0] = run->steps[0];
    m->rows[0].now.state = FLOW_SUCCEEDED;
    m->rows[0].now.code = 200;
    m->rows[0].now.result = run->ends[0].said;
    m->rows[0].now.ended_ms = now_ms;
    contract_put_step(out, &m->rows[0]);
    contract_put_id(&out->ended, &out->ended_count, run->ends[0].log_id);
    run->state = FLOW_RUN_SUCCEEDED;
    run->ended_ms = now_ms;
    run->changed = true;
}

static void contract_a_flow_run_is_moved(void **state)
{
    struct store_session *s, *other;
    struct contract_mover m;
    struct flow_fire *fires = NULL;
    int shard = 0;
    int64_t run, ids[4], log_id;
    size_t count = 0, ended = 0;

    (void)state;
    contract_begin_flows(&s, &other, &m);
    run = contract_begin_run(s, contract_add_flow("f", "{}"), FLOW_PARALLEL, NULL);
    CONTRACT_OK(store_find_flow_looks(s, &shard, 1, 1, ids, 4, &count, ec));
    assert_int_equal(count, 1);
    assert_int_equal(ids[0], run);
    m.decide = contract_start_first;
    contract_move_one(&m, run, 0);
    log_id = m.out.fires->log_id;
    assert_true(contract_read_log(log_id).exists);
    assert_int_equal(contract_read_step(run, 2).log_id, log_id);
    assert_int_equal(contract_read_step(run, 2).state, FLOW_RUNNING);
    assert_false(contract_read_step(run, 0).exists);
    CONTRACT_OK(store_find_flow_looks(s, &shard, 1, 1, ids, 4, &count, ec));
    assert_int_equal(count, 0);
    CONTRACT_OK(store_load_flow_fires(s, 1, 2, &fires, &count, ec));
    assert_int_equal(count, run % 2 == 1 ? 1 : 0);
    free(fires);
    CONTRACT_OK(store_load_flow_fires(s, 0, 1, &fires, &count, ec));
    assert_int_equal(count, 1);
    assert_int_equal(fires[0].log_id, log_id);
    assert_int_equal(fires[0].run_id, run);
    CONTRACT_OK(store_find_flow_ends(s, fires, 1, &ended, ec));
    assert_int_equal(ended, 0);
    flow_changes_fini(&m.out);

    m.decide = contract_take_end;
    contract_move_one(&m, run, log_id); /* it has not ended */
    flow_changes_fini(&m.out);
    contract_end_log(log_id, 200, 200, "well");
    CONTRACT_OK(store_find_flow_ends(s, fires, 1, &ended, ec));
    assert_int_equal(ended, 1);
    contract_move_one(&m, run, log_id);
    assert_int_equal(m.ended, log_id);
    assert_int_equal(contract_count_fires(run), 0);
    assert_int_equal(contract_read_step(run, 2).state, FLOW_SUCCEEDED);
    assert_string_equal(contract_read_step(run, 2).result, "well");
    assert_int_equal(contract_read_run(run).state, FLOW_RUN_SUCCEEDED);
    assert_false(contract_read_run(run).is_looked_at);
    free(fires);
    contract_end_flows(s, other, &m);
}

static void contract_a_move_needs_its_epoch(void **state)
{
    struct store_session *s, *other;
    struct contract_mover m;
    int64_t run;

    (void)state;
    contract_begin_flows(&s, &other, &m);
    run = contract_begin_run(s, contract_add_flow("f", "{}"), FLOW_PARALLEL, NULL);
    m.decide = contract_start_first;
    (void)contract_take(other, 0, 1);
    CONTRACT_OK(contract_move(&m, run, 0, ec));
    assert_int_equal(m.moved, 0);
    assert_int_equal(m.seen, 0);
    assert_false(contract_read_step(run, 2).exists);
    assert_int_equal(contract_count_fires(run), 0);
    flow_changes_fini(&m.out);
    m.epoch++;
    CONTRACT_OK(contract_move(&m, run + 7, 0, ec)); /* there is no such run */
    assert_int_equal(m.moved, 0);
    contract_end_flows(s, other, &m);
}

static void contract_an_end_may_be_gone(void **state)
{
    struct store_session *s, *other;
    struct contract_mover m;
    struct flow_fire fires[2] = {{4711, 1}, {0}};
    size_t ended = 0;
    int64_t run;

    (void)state;
    contract_begin_flows(&s, &other, &m);
    run = contract_begin_run(s, contract_add_flow("f", "{}"), FLOW_PARALLEL, NULL);
    m.decide = contract_start_first;
    contract_move_one(&m, run, 0);
    fires[1] = (struct flow_fire){m.out.fires->log_id, run};
    CONTRACT_OK(store_find_flow_ends(s, fires, 2, &ended, ec));
    assert_int_equal(ended, 1);
    assert_int_equal(fires[0].log_id, 4711);
    contract_end_log(m.out.fires->log_id, 500, 0, NULL); /* it could not be sent */
    CONTRACT_OK(store_find_flow_ends(s, fires, 2, &ended, ec));
    assert_int_equal(ended, 2);
    contract_end_flows(s, other, &m);
}

/* ---- items ---- */

static void contract_begin_items(struct contract_mover *m, struct flow_moving *run, int64_t now_ms,
                                 struct flow_changes *out)
{
    m->rows[0] = (struct flow_step_row){.run_id = run->id,
                                        .step = 1,
                                        .now = {.state = FLOW_RUNNING, .started_ms = now_ms},
                                        .items = 3,
                                        .items_begun = 3,
                                        .items_ended = 1};
    contract_put_step(out, &m->rows[0]);
    for (int i = 0; i < 3; i++) {
        m->items[i] = (struct flow_item_row){.run_id = run->id, .step = 1, .item = i};
        m->items[i].now = (struct flow_try){.state = FLOW_RUNNING, .tries = 1};
        contract_put_item(out, &m->items[i]);
    }
    m->items[0].now.fire = contract_put_fire(m, out, run->id, 1, 0);
    m->items[1].now.wake_ms = now_ms + 3600000;
    m->items[2].now.state = FLOW_SUCCEEDED;
    m->items[2].now.result = "two";
}

static void contract_see_items(struct contract_mover *m, struct flow_moving *run, int64_t now_ms,
                               struct flow_changes *out)
{
    (void)m, (void)out;
    assert_int_equal(run->flight_count, 1);
    assert_int_equal(run->flights[0].step, 1);
    assert_int_equal(run->flights[0].count, 1);
    assert_int_equal(run->wake_count, 1);
    assert_true(run->wakes[0].wake_ms > now_ms);
    assert_int_equal(run->end_count, 1);
    assert_int_equal(run->ends[0].item, 0);
    assert_int_equal(run->item_count, 1); /* that of the end */
    assert_int_equal(run->items[0].item, 0);
    assert_int_equal(run->items[0].now.log_id, run->ends[0].log_id);
    assert_int_equal(run->result_count, 0);
}

static void contract_do_again(struct contract_mover *m, struct flow_moving *run, int64_t now_ms,
                              struct flow_changes *out)
{
    (void)m, (void)now_ms;
    out->again = contract_grow(NULL, 0, sizeof *out->again);
    out->again[0] = (struct flow_place){run->id, 1};
    out->again_count = 1;
}

static void contract_end_items(struct contract_mover *m, struct flow_moving *run, int64_t now_ms,
                               struct flow_changes *out)
{
    (void)now_ms;
    assert_int_equal(run->item_count, 2); /* they are due at once */
    assert_int_equal(run->items[0].now.tries, 0);
    assert_int_equal(run->items[1].item, 1);
    m->rows[0] = run->steps[0];
    m->rows[0].items_ended = 3;
    contract_put_step(out, &m->rows[0]);
}

static void contract_see_results(struct contract_mover *m, struct flow_moving *run, int64_t now_ms,
                                 struct flow_changes *out)
{
    (void)m, (void)now_ms;
    assert_int_equal(run->result_count, 3);
    assert_null(run->results[0].result);
    assert_int_equal(run->results[2].item, 2);
    assert_string_equal(run->results[2].result, "two");
    out->forgotten = contract_grow(NULL, 0, sizeof *out->forgotten);
    out->forgotten[0] = (struct flow_place){run->id, 1};
    out->forgotten_count = 1;
}

/* A step that is forgotten, and begins anew at once. */
static void contract_begin_anew(struct contract_mover *m, struct flow_moving *run, int64_t now_ms,
                                struct flow_changes *out)
{
    contract_see_results(m, run, now_ms, out);
    contract_begin_items(m, run, now_ms, out);
    m->rows[0].items_ended = 3;
}

static void contract_see_new_results(struct contract_mover *m, struct flow_moving *run, int64_t now_ms,
                                     struct flow_changes *out)
{
    (void)m, (void)now_ms, (void)out;
    assert_int_equal(run->result_count, 3);
}

static void contract_see_nothing(struct contract_mover *m, struct flow_moving *run, int64_t now_ms,
                                 struct flow_changes *out)
{
    (void)m, (void)now_ms, (void)out;
    assert_int_equal(run->result_count + run->item_count + run->wake_count, 0);
}

static void contract_items_are_kept_and_done_again(void **state)
{
    struct store_session *s, *other;
    struct contract_mover m;
    int64_t run, log_id;

    (void)state;
    contract_begin_flows(&s, &other, &m);
    run = contract_begin_run(s, contract_add_flow("f", "{}"), FLOW_PARALLEL, NULL);
    m.decide = contract_begin_items;
    contract_move_one(&m, run, 0);
    log_id = m.out.fires->log_id;
    flow_changes_fini(&m.out);
    contract_end_log(log_id, 200, 500, "no");
    m.decide = contract_see_items;
    contract_move_one(&m, run, log_id);
    flow_changes_fini(&m.out);
    m.decide = contract_do_again;
    contract_move_one(&m, run, 0);
    flow_changes_fini(&m.out);
    assert_int_equal(contract_read_step(run, 1).items_ended, 1);
    assert_int_equal(contract_read_step(run, 1).items_failed, 0);
    m.decide = contract_end_items;
    contract_move_one(&m, run, 0);
    flow_changes_fini(&m.out);
    m.decide = contract_begin_anew;
    contract_move_one(&m, run, 0);
    flow_changes_fini(&m.out);
    m.decide = contract_see_new_results;
    contract_move_one(&m, run, 0);
    flow_changes_fini(&m.out);
    m.decide = contract_see_results;
    contract_move_one(&m, run, 0);
    flow_changes_fini(&m.out);
    m.decide = contract_see_nothing;
    contract_move_one(&m, run, 0);
    contract_end_flows(s, other, &m);
}

/* ---- requests, and runs of runs ---- */

static enum err contract_allow(void *arg, const struct flow_run_now *now, struct errctx *ec)
{
    struct flow_run_now *seen = arg;

    (void)ec;
    *seen = *now;
    return ERR_OK;
}

static enum err contract_refuse(void *arg, const struct flow_run_now *now, struct errctx *ec)
{
    (void)arg, (void)now;
    return err_set(ec, ERR_STATE, "no");
}

static void contract_see_ask(struct contract_mover *m, struct flow_moving *run, int64_t now_ms,
                             struct flow_changes *out)
{
    (void)m;
    assert_int_equal(run->ask_count, 2);
    assert_string_equal(run->asks[0].action, "retry");
    assert_int_equal(run->asks[0].step, 2);
    assert_string_equal(run->asks[1].action, "cancel");
    assert_int_equal(run->asks[1].step, -1);
    assert_string_equal(run->asks[1].who, "ann");
    contract_put_id(&out->asks, &out->ask_count, run->asks[0].id);
    contract_put_id(&out->asks, &out->ask_count, run->asks[1].id);
    contract_put_id(&out->closed, &out->closed_count, run->id);
    run->state = FLOW_RUN_CANCELLED;
    run->ended_ms = now_ms;
    run->changed = true;
}

static void contract_what_people_ask_for_is_seen_once(void **state)
{
    struct store_session *s, *other;
    struct contract_mover m;
    struct flow_run_now now = {0};
    struct flow_request ask = {.step = 2, .action = "retry", .who = "ann", .remark = ""};
    struct errctx why;
    int shard = 0;
    int64_t id;
    size_t count;

    (void)state;
    contract_begin_flows(&s, &other, &m);
    ask.run_id = contract_begin_run(s, contract_add_flow("f", "{}"), FLOW_PARALLEL, NULL);
    m.decide = contract_start_first;
    contract_move_one(&m, ask.run_id, 0);
    flow_changes_fini(&m.out);
    assert_int_equal(store_ask_flow_run(s, &ask, contract_refuse, NULL, NULL, &why), ERR_STATE);
    CONTRACT_OK(store_ask_flow_run(s, &ask, contract_allow, &now, NULL, ec));
    assert_int_equal(now.state, FLOW_RUN_RUNNING);
    assert_int_equal(now.step_state, FLOW_RUNNING);
    CONTRACT_OK(store_ask_flow_run(s, &ask, contract_allow, &now, NULL, ec)); /* once more */
    ask.step = -1;
    ask.action = "cancel";
    CONTRACT_OK(store_ask_flow_run(s, &ask, contract_allow, &now, NULL, ec));
    CONTRACT_OK(store_find_flow_looks(s, &shard, 1, 1, &id, 1, &count, ec));
    assert_int_equal(count, 1);
    m.decide = contract_see_ask;
    contract_move_one(&m, ask.run_id, 0);
    assert_int_equal(m.out.kill_count, 1);
    assert_int_equal(contract_count_fires(ask.run_id), 0);
    ask.run_id += 7;
    assert_int_equal(store_ask_flow_run(s, &ask, contract_allow, &now, NULL, &why), ERR_NOTFOUND);
    contract_end_flows(s, other, &m);
}

static void contract_start_child(struct contract_mover *m, struct flow_moving *run, int64_t now_ms,
                                 struct flow_changes *out)
{
    struct flow_new_run *child = calloc(1, sizeof *child);

    assert_non_null(child);
    *child = (struct flow_new_run){.flow_id = run->flow_id,
                                   .version = 1,
                                   .due_s = run->due_s,
                                   .parent_run = run->id,
                                   .parent_step = 3,
                                   .depth = 1,
                                   .parameters = str_copy("{}")};
    out->new_runs = child;
    m->rows[0] = (struct flow_step_row){
        .run_id = run->id, .step = 3, .now = {.state = FLOW_RUNNING, .started_ms = now_ms}, .child = child};
    contract_put_step(out, &m->rows[0]);
    run->look_ms = FLOW_NEVER_MS;
    run->changed = true;
}

static void contract_tell_parent(struct contract_mover *m, struct flow_moving *run, int64_t now_ms,
                                 struct flow_changes *out)
{
    (void)m;
    assert_int_equal(run->parent_step, 3);
    assert_int_equal(run->depth, 1);
    assert_string_equal(run->parameters, "{}");
    assert_string_equal(run->kind, "P");
    out->notes = contract_grow(NULL, 0, sizeof *out->notes);
    out->notes[0] = (struct flow_parent_note){run->parent_run, run->parent_step, 500, "[7]", run->id + m->other_child};
    out->note_count = 1;
    run->state = FLOW_RUN_FAILED;
    run->ended_ms = now_ms;
    run->message = "it failed";
    run->changed = true;
}

static void contract_cancel_child(struct contract_mover *m, struct flow_moving *run, int64_t now_ms,
                                  struct flow_changes *out)
{
    (void)now_ms;
    assert_int_equal(run->steps[0].now.code, 500);
    assert_int_equal(run->steps[0].child_run, m->ended);
    contract_put_id(&out->cancelled, &out->cancelled_count, m->ended);
}

static void contract_a_flow_run_has_others_as_steps(void **state)
{
    struct store_session *s, *other;
    struct contract_mover m;
    int64_t run, child;

    (void)state;
    contract_begin_flows(&s, &other, &m);
    run = contract_begin_run(s, contract_add_flow("f", "{}"), FLOW_PARALLEL, NULL);
    m.decide = contract_start_child;
    contract_move_one(&m, run, 0);
    child = m.ended = m.out.new_runs->id;
    flow_changes_fini(&m.out);
    assert_int_equal(contract_read_step(run, 3).child_run, child);
    assert_true(contract_read_run(child).is_looked_at);
    assert_int_equal(contract_read_run(run).look_ms, FLOW_NEVER_MS);
    m.decide = contract_tell_parent;
    m.other_child = 1;
    contract_move_one(&m, child, 0);
    flow_changes_fini(&m.out);
    assert_int_equal(contract_read_step(run, 3).code, 0);
    m.other_child = 0;
    contract_move_one(&m, child, 0);
    flow_changes_fini(&m.out);
    assert_int_equal(contract_read_run(run).look_ms, 0);
    assert_int_equal(contract_read_step(run, 3).code, 500);
    assert_string_equal(contract_read_step(run, 3).result, "[7]");
    assert_string_equal(contract_read_run(child).message, "it failed");
    m.decide = contract_cancel_child;
    contract_move_one(&m, run, 0);
    assert_true(contract_read_run(child).is_looked_at);
    contract_end_flows(s, other, &m);
}

/* ---- starts ---- */

static void contract_free_line(struct contract_mover *m, struct flow_moving *run, int64_t now_ms,
                               struct flow_changes *out)
{
    (void)m, (void)out;
    run->state = FLOW_RUN_SUCCEEDED;
    run->ended_ms = now_ms;
    run->changed = run->frees_line = true;
    run->flow_next_s = CONTRACT_S + 500;
}

static void contract_runs_wait_in_line(void **state)
{
    struct store_session *s, *other;
    struct contract_mover m;
    struct flow_run_start order = {
        .flow_id = 1, .version = 1, .kind = "A", .who = "ann", .policy = FLOW_SKIP_IF_RUNNING, .queue_max = 1};
    struct errctx why;
    int64_t flow, first, second, third, id;
    bool is_new;

    (void)state;
    contract_begin_flows(&s, &other, &m);
    order.flow_id = flow = contract_add_flow("f", "{}");
    first = contract_begin_run(s, flow, FLOW_QUEUE, "key");
    assert_int_equal(contract_begin_run(s, flow, FLOW_QUEUE, "key"), first);
    second = contract_begin_run(s, flow, FLOW_QUEUE, NULL);
    assert_int_equal(contract_read_run(first).state, FLOW_RUN_RUNNING);
    assert_int_equal(contract_read_run(second).state, FLOW_RUN_QUEUED);
    assert_int_equal(store_start_flow_run(s, &order, NULL, &id, &is_new, &why), ERR_STATE);
    order.policy = FLOW_QUEUE;
    assert_int_equal(store_start_flow_run(s, &order, NULL, &id, &is_new, &why), ERR_BUSY);
    order.version = 2;
    assert_int_equal(store_start_flow_run(s, &order, NULL, &id, &is_new, &why), ERR_CONFLICT);
    order.flow_id += 7;
    assert_int_equal(store_start_flow_run(s, &order, NULL, &id, &is_new, &why), ERR_NOTFOUND);
    contract_follow_flow(flow, 0);
    m.decide = contract_free_line;
    contract_move_one(&m, first, 0);
    assert_int_equal(contract_read_run(second).state, FLOW_RUN_RUNNING);
    assert_int_equal(contract_read_run(second).look_ms, 0);
    assert_int_equal(contract_read_next(flow), CONTRACT_S + 500);
    third = contract_begin_run(s, flow, FLOW_QUEUE, NULL);
    contract_move_one(&m, first, 0); /* somebody ran it again */
    assert_int_equal(contract_read_run(third).state, FLOW_RUN_QUEUED);
    contract_move_one(&m, second, 0);
    assert_int_equal(contract_read_run(third).state, FLOW_RUN_RUNNING);
    contract_end_flows(s, other, &m);
}

static void contract_start_due(struct store_session *s, struct flow_epoch epoch, struct flow_start start)
{
    CONTRACT_OK(store_start_due_flow(s, epoch, &start, ec));
}

static void contract_a_due_flow_starts_once(void **state)
{
    struct store_session *s, *other;
    struct contract_mover m;
    struct due_flow *due = NULL;
    struct flow_epoch epoch = {0};
    struct flow_start start = {.run = true, .kind = 'C', .policy = FLOW_QUEUE, .queue_max = 1};
    struct errctx why;
    int shard = 0;
    int64_t flow;
    size_t count;

    (void)state;
    contract_begin_flows(&s, &other, &m);
    flow = contract_add_flow("f", "{}");
    CONTRACT_OK(store_find_due_flows(s, &shard, 1, 1, 9, &due, &count, ec));
    assert_int_equal(count, 0); /* it is stopped */
    free(due);
    contract_follow_flow(flow, INT32_MAX);
    CONTRACT_OK(store_find_due_flows(s, &shard, 1, 1, 9, &due, &count, ec));
    assert_int_equal(count, 0);
    free(due);
    contract_follow_flow(flow, CONTRACT_S);
    CONTRACT_OK(store_find_due_flows(s, &shard, 1, 1, 9, &due, &count, ec));
    assert_int_equal(count, 1);
    assert_int_equal(due[0].id, flow);
    assert_int_equal(due[0].next_s, CONTRACT_S);
    assert_true(due[0].now_s >= CONTRACT_S && due[0].now_s < INT32_MAX);
    start.flow = due[0];
    free(due);
    start.new_next_s = CONTRACT_S + 10;
    epoch.epoch = m.epoch - 1;
    assert_int_equal(store_start_due_flow(s, epoch, &start, &why), ERR_STATE);
    epoch.epoch = m.epoch;
    contract_start_due(s, epoch, start);
    assert_int_equal(contract_read_next(flow), CONTRACT_S + 10);
    assert_int_equal(contract_read_run(1).state, FLOW_RUN_RUNNING);
    contract_start_due(s, epoch, start); /* it is not due then any more */
    assert_false(contract_read_run(2).exists);

    start.flow.next_s = CONTRACT_S + 10;
    start.new_next_s = CONTRACT_S + 20;
    contract_start_due(s, epoch, start);
    assert_int_equal(contract_read_run(2).state, FLOW_RUN_QUEUED);
    assert_int_equal(contract_read_run(2).look_ms, 0);
    start.flow.next_s = CONTRACT_S + 20;
    start.new_next_s = CONTRACT_S + 30;
    contract_start_due(s, epoch, start);
    assert_int_equal(contract_read_run(3).state, FLOW_RUN_SKIPPED);
    assert_false(contract_read_run(3).is_looked_at);
    assert_string_equal(contract_read_run(3).message, "too many runs wait in the queue");
    start.flow.next_s = CONTRACT_S + 30;
    start.new_next_s = 0;
    start.run = false;
    start.missed = "missed";
    contract_start_due(s, epoch, start);
    assert_int_equal(contract_read_run(4).state, FLOW_RUN_SKIPPED);
    assert_string_equal(contract_read_run(4).message, "missed");
    assert_int_equal(contract_read_next(flow), 0);
    contract_follow_flow(flow, CONTRACT_S + 40);
    start.flow.next_s = CONTRACT_S + 40;
    start.skipped_next_s = CONTRACT_S + 45;
    start.run = true;
    start.missed = NULL;
    start.policy = FLOW_SKIP_IF_RUNNING;
    contract_start_due(s, epoch, start);
    assert_int_equal(contract_read_run(5).state, FLOW_RUN_SKIPPED);
    assert_int_equal(contract_read_next(flow), CONTRACT_S + 45); /* no run will say when */
    contract_end_flows(s, other, &m);
}

static void contract_documents_are_read(void **state)
{
    struct store_session *s, *other;
    struct contract_mover m;
    struct flow_version version = {0}, *versions = NULL;
    struct errctx why;
    int64_t runs[3];
    char *text = NULL;
    bool flowless = true;
    size_t count;

    (void)state;
    contract_begin_flows(&s, &other, &m);
    contract_add_flow("f", "{}");
    runs[0] = contract_begin_run(s, contract_add_flow("g", "{\"a\":1}"), FLOW_PARALLEL, NULL);
    runs[1] = contract_begin_run(s, 2, FLOW_PARALLEL, NULL);
    runs[2] = runs[1] + 7;
    CONTRACT_OK(store_load_flow_versions_of(s, runs, 3, &versions, &count, ec));
    assert_int_equal(count, 1);
    assert_int_equal(versions[0].flow_id, 2);
    free(versions);
    CONTRACT_OK(store_find_flow(s, "g", &version, ec));
    assert_int_equal(version.flow_id, 2);
    assert_int_equal(version.version, 1);
    CONTRACT_OK(store_load_flow_document(s, version, &text, ec));
    assert_string_equal(text, "{\"a\":1}");
    free(text);
    version.version = 2;
    assert_int_equal(store_load_flow_document(s, version, &text, &why), ERR_NOTFOUND);
    assert_int_equal(store_find_flow(s, "h", &version, &why), ERR_NOTFOUND);
    CONTRACT_OK(store_find_flowless_node(s, &flowless, ec));
    assert_false(flowless);
    contract_end_flows(s, other, &m);
}

#define CONTRACT_FLOW_TESTS                                                                                            \
    cmocka_unit_test(contract_a_flow_run_is_moved), cmocka_unit_test(contract_a_move_needs_its_epoch),                 \
        cmocka_unit_test(contract_an_end_may_be_gone), cmocka_unit_test(contract_items_are_kept_and_done_again),       \
        cmocka_unit_test(contract_what_people_ask_for_is_seen_once),                                                   \
        cmocka_unit_test(contract_a_flow_run_has_others_as_steps), cmocka_unit_test(contract_runs_wait_in_line),       \
        cmocka_unit_test(contract_a_due_flow_starts_once), cmocka_unit_test(contract_documents_are_read)

#endif

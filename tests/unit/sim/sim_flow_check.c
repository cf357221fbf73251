/* SPDX-License-Identifier: MIT */
/* What must hold of flow runs: looked at when a run is moved, and at the end. The rules of docs/flows.md are written
 * here a second time, on the table that the documents are made of: nothing of src/flow is used. */
#include "sim/sim_flows.h"
#include "shardwheel/job/codes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define RECENT_MS INT64_C(60000) /* a run that is not older may be open */

/* ---- fires of a run ---------------------------------------------------------------------------------------------- */

static bool was_written(const struct memory_log *row)
{
    return row->exists || row->cleared || row->cancelled;
}

static bool has_ended(const struct memory_log *row)
{
    return !row->exists || row->handle_code != CODE_OPEN ||
           (row->trigger_code != CODE_OPEN && row->trigger_code != CODE_OK);
}

static bool is_of(const struct memory_log *row, int64_t run, int step, int item)
{
    return row->fire.flow_run == run && row->fire.flow_step == step && row->fire.flow_item == item &&
           row->fire.kind == TRIGGER_FLOW && was_written(row);
}

static const struct memory_log *find_before(const struct memory_db *db, int64_t log_id)
{
    const struct fire *f = &db->logs[log_id - 1].fire;

    for (int64_t id = log_id - 1; id > 0; id--)
        if (is_of(&db->logs[id - 1], f->flow_run, f->flow_step, f->flow_item))
            return &db->logs[id - 1];
    return NULL;
}

static int count_tries(const struct sim *sim, const struct shape_step *step)
{
    return sim->db->jobs[sim->flows->jobs[step->job] - 1].retry_count + 1;
}

/* Lost runs come on top. */
static int count_most_tries(const struct sim *sim, const struct shape_step *step)
{
    return count_tries(sim, step) + (step->job == JOB_RESENT ? LOST_RESENDS_MAX : 0);
}

/* ---- a move ------------------------------------------------------------------------------------------------------ */

static bool has_fire(const struct memory_flow_run *run, int64_t log_id)
{
    for (size_t i = 0; i < ARRAY_LEN(run->fires); i++)
        if (run->fires[i].log_id == log_id)
            return true;
    return false;
}

/* No try begins before the one before has ended, unless somebody has had the step done again meanwhile. */
static void check_fire(struct sim *sim, int64_t log_id)
{
    const struct memory_log *row = &sim->db->logs[log_id - 1], *before = find_before(sim->db, log_id);

    if (before && before->flow_life == row->flow_life && !has_ended(before))
        sim_violate(sim, "step-starts-once",
                    "step %d of flow run %" PRId64 " has a new try, log %" PRId64 ", and log %" PRId64 " has not ended",
                    row->fire.flow_step, row->fire.flow_run, log_id, before->fire.log_id);
}

void sim_check_move(void *arg, struct store *st, const struct memory_flow_run *before,
                    const struct memory_flow_run *after, int64_t epoch, int n)
{
    struct sim *sim = arg;
    int64_t id = after->row.id;

    if (epoch && (n != sim->db->shards || epoch != sim->db->shard[id % n].epoch))
        sim_violate(sim, "moved-by-its-owner",
                    "flow run %" PRId64 " is moved by %s with epoch %" PRId64 " of %d shards, and it is %" PRId64
                    " of %d",
                    id, st->clock ? sim_run_of_clock(st->clock)->name : "somebody", epoch, n,
                    sim->db->shard[id % sim->db->shards].epoch, sim->db->shards);
    for (size_t i = 0; i < ARRAY_LEN(after->fires); i++)
        if (after->fires[i].log_id && !has_fire(before, after->fires[i].log_id))
            check_fire(sim, after->fires[i].log_id);
}

/* ---- what becomes of steps --------------------------------------------------------------------------------------- */

/* What the fires of a step, or of an item of it, say; rows that were removed may have said anything. */
struct outcome {
    int fires; /* all of them, and of the last life: */
    int tries;
    bool may_be_good, may_be_bad; /* by the last one */
    bool is_forgotten;            /* its executor has lost the last one, and nobody has found out yet */
};

static struct outcome look_at_fires(const struct sim *sim, int64_t run, int step, int item)
{
    struct outcome o = {0};
    int life = -1;

    for (size_t i = 0; i < sim->flows->fire_count; i++) {
        const struct memory_log *row = sim->flows->fires[i];

        if (!is_of(row, run, step, item))
            continue;
        o.tries = row->flow_life == life ? o.tries + 1 : 1;
        life = row->flow_life;
        o.fires++;
        o.may_be_good = row->was_good || !row->exists;
        o.may_be_bad = row->was_bad || !row->exists;
        o.is_forgotten = row->gone_us && !has_ended(row);
    }
    return o;
}

/* The n of what the step has said, and the length of its list; -1: it has said nothing of the kind. */
static int read_n(const struct memory_flow_run *run, int step)
{
    static const char head[] = "{\"n\":";
    const char *result = run->steps[step].now.result;

    return result && strncmp(result, head, sizeof head - 1) == 0 ? result[sizeof head - 1] - '0' : -1;
}

static enum flow_state get_state(const struct memory_flow_run *run, int step)
{
    return run->has_step[step] ? run->steps[step].now.state : FLOW_WAITING;
}

static bool is_true(const struct memory_flow_run *run, const struct shape_edge *edge)
{
    enum flow_state state = get_state(run, edge->from);
    bool good = state == FLOW_SUCCEEDED, bad = state == FLOW_FAILED;

    if (edge->on == ON_SUCCESS ? !good : edge->on == ON_FAILURE ? !bad : !good && !bad)
        return false;
    return !edge->more_than || read_n(run, edge->from) > edge->more_than;
}

/* By its edges, all of whose steps have ended. */
static bool must_start(const struct shape *shape, const struct memory_flow_run *run, int step)
{
    int edges = 0, good = 0;

    for (int i = 0; i < SHAPE_EDGES && shape->edges[i].on; i++) {
        if (shape->edges[i].to != step)
            continue;
        edges++;
        good += is_true(run, &shape->edges[i]);
    }
    return edges == 0 || (shape->steps[step].join_any ? good > 0 : good == edges);
}

static bool is_by_hand(const struct memory_flow_run *run, int step)
{
    return run->steps[step].who && run->steps[step].who[0];
}

static void say(struct sim *sim, const struct memory_flow_run *run, int step, const char *what)
{
    sim_violate(sim, "step-that-must-starts", "step %d of run %" PRId64 " of flow \"%s\" %s; its state is %d", step,
                run->row.id, sim->flows->shapes[run->row.flow_id - 1].name, what, (int)get_state(run, step));
}

/* One fire after the other; without people also: all that its job allows, before it has failed. */
static bool check_outcome(struct sim *sim, const struct memory_flow_run *run, int step, int item, enum flow_state state)
{
    const struct shape_step *s = &sim->flows->shapes[run->row.flow_id - 1].steps[step];
    struct outcome o = look_at_fires(sim, run->row.id, step, item);

    if (o.fires == 0)
        say(sim, run, step, "must have run, and did not");
    else if (state == FLOW_SUCCEEDED ? !o.may_be_good : !o.may_be_bad)
        say(sim, run, step, state == FLOW_SUCCEEDED ? "did not end well" : "did not end badly");
    else if (state == FLOW_FAILED && !run->again && o.tries < count_tries(sim, s))
        say(sim, run, step, "has tries left");
    return state == FLOW_SUCCEEDED;
}

static const struct memory_flow_item *find_item(const struct memory_flow_run *run, int step, int item)
{
    for (size_t i = 0; i < ARRAY_LEN(run->items); i++)
        if (run->items[i].exists && run->items[i].row.step == step && run->items[i].row.item == item)
            return &run->items[i];
    return NULL;
}

static void check_items(struct sim *sim, const struct memory_flow_run *run, int step, int count)
{
    bool good = true;

    if (run->steps[step].items != count && count >= 0)
        say(sim, run, step, "has another number of items than its list");
    for (int item = 0; item < run->steps[step].items; item++) {
        const struct memory_flow_item *row = find_item(run, step, item);

        if (!row || (row->row.now.state != FLOW_SUCCEEDED && row->row.now.state != FLOW_FAILED)) {
            say(sim, run, step, "has ended without all of its items");
            return;
        }
        good = check_outcome(sim, run, step, item, row->row.now.state) && good;
    }
    if (good != (get_state(run, step) == FLOW_SUCCEEDED))
        say(sim, run, step, "has not ended as its items did");
}

static void check_child(struct sim *sim, const struct memory_flow_run *run, int step)
{
    const struct memory_flow_run *child = memory_db_find_flow_run(sim->db, run->steps[step].child_run);
    int children = 0;

    for (size_t i = 0; i < sim->db->flow_run_count; i++)
        children += sim->db->flow_runs[i].exists && sim->db->flow_runs[i].row.parent_run == run->row.id &&
                    sim->db->flow_runs[i].row.parent_step == step;
    if (!child || !child->exists)
        say(sim, run, step, "must have run a flow, and did not");
    else if (!child->again && (child->row.state == FLOW_RUN_SUCCEEDED) != (get_state(run, step) == FLOW_SUCCEEDED))
        say(sim, run, step, "has not ended as its flow did");
    if (children > 1 + run->again)
        sim_violate(sim, "step-starts-once", "step %d of flow run %" PRId64 " has begun %d runs", step, run->row.id,
                    children);
}

static void check_started(struct sim *sim, const struct memory_flow_run *run, int step)
{
    const struct shape_step *s = &sim->flows->shapes[run->row.flow_id - 1].steps[step];
    enum flow_state state = get_state(run, step);

    if (state != FLOW_SUCCEEDED && state != FLOW_FAILED) {
        say(sim, run, step, "must have started");
        return;
    }
    switch (s->kind) {
    case FLOW_JOB: (void)check_outcome(sim, run, step, -1, state); break;
    case FLOW_MAP:
        if (is_by_hand(run, s->list_of) || run->again) /* without a list it fails; and it may be of a former one */
            break;
        check_items(sim, run, step, read_n(run, s->list_of));
        break;
    case FLOW_BROADCAST: check_items(sim, run, step, -1); break;
    case FLOW_FLOW: check_child(sim, run, step); break;
    case FLOW_WAIT:
        if (state != FLOW_SUCCEEDED)
            say(sim, run, step, "is a wait, and failed");
        break;
    case FLOW_APPROVAL: say(sim, run, step, "was approved by nobody"); break;
    }
}

static bool has_run(const struct sim *sim, int64_t run, int step)
{
    for (size_t i = 0; i < sim->flows->fire_count; i++)
        if (sim->flows->fires[i]->fire.flow_run == run && sim->flows->fires[i]->fire.flow_step == step)
            return true;
    return false;
}

static void check_step(struct sim *sim, const struct memory_flow_run *run, int step)
{
    const struct shape *shape = &sim->flows->shapes[run->row.flow_id - 1];
    enum flow_state state = get_state(run, step);
    bool fired = has_run(sim, run->row.id, step);

    if (is_by_hand(run, step)) {
        if (state != FLOW_SUCCEEDED && state != FLOW_SKIPPED && state != FLOW_FAILED)
            say(sim, run, step, "was decided by somebody, and has not ended");
        return;
    }
    if (run->again && state == FLOW_CANCELLED) /* with the run, of which another step was done again since */
        return;
    if (must_start(shape, run, step)) {
        check_started(sim, run, step);
        return;
    }
    if (run->again &&
        (state == FLOW_SUCCEEDED || state == FLOW_FAILED)) /* it started before something was done again */
        return;
    if (state != FLOW_SKIPPED)
        say(sim, run, step, "must have been skipped");
    else if (fired && !run->again)
        say(sim, run, step, "was skipped, and ran");
}

static bool is_handled(const struct shape *shape, const struct memory_flow_run *run, int step)
{
    for (int i = 0; i < SHAPE_EDGES && shape->edges[i].on; i++)
        if (shape->edges[i].from == step && is_true(run, &shape->edges[i]))
            return true;
    return false;
}

static void check_ended(struct sim *sim, const struct memory_flow_run *run)
{
    const struct shape *shape = &sim->flows->shapes[run->row.flow_id - 1];
    bool good = true;

    for (int step = 0; step < shape->step_count; step++) {
        check_step(sim, run, step);
        good = good && get_state(run, step) != FLOW_CANCELLED &&
               !(get_state(run, step) == FLOW_FAILED && !is_handled(shape, run, step));
    }
    if (good != (run->row.state == FLOW_RUN_SUCCEEDED))
        sim_violate(sim, "step-that-must-starts", "run %" PRId64 " of flow \"%s\" has state %d by its steps",
                    run->row.id, shape->name, (int)run->row.state);
}

/* ---- tries ------------------------------------------------------------------------------------------------------- */

static void check_tries(struct sim *sim, const struct memory_flow_run *run)
{
    const struct shape *shape = &sim->flows->shapes[run->row.flow_id - 1];

    for (int step = 0; step < shape->step_count; step++)
        for (int item = -1; item < (run->steps[step].items ? MEMORY_FLOW_ITEMS : 0); item++) {
            const struct shape_step *s = &shape->steps[step];
            struct outcome o = look_at_fires(sim, run->row.id, step, item);

            if (o.fires > count_most_tries(sim, s) * (1 + run->again))
                sim_violate(sim, "step-starts-once",
                            "step %d (item %d) of run %" PRId64 " of flow \"%s\" was fired %d times", step, item,
                            run->row.id, shape->name, o.fires);
        }
}

/* Another try is for the flow to make: nobody else repeats a fire of its. */
static void check_repeats(struct sim *sim)
{
    const struct memory_db *db = sim->db;

    for (size_t i = 0; i < db->log_count; i++) {
        const struct memory_log *of = memory_db_find_log(sim->db, db->logs[i].retry_of);

        if (of && of->fire.kind == TRIGGER_FLOW && was_written(&db->logs[i]))
            sim_violate(sim, "step-starts-once", "log %zu repeats log %" PRId64 ", a fire of flow run %" PRId64, i + 1,
                        of->fire.log_id, of->fire.flow_run);
    }
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

static bool is_open(const struct memory_flow_run *run)
{
    return run->row.state == FLOW_RUN_RUNNING || run->row.state == FLOW_RUN_QUEUED;
}

/* It waits for what an executor has lost, or for something that does. */
static bool may_be_open(const struct sim *sim, const struct memory_flow_run *run)
{
    if (sim_now_ms(sim) - run->created_ms < RECENT_MS)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(run->fires); i++) {
        const struct memory_log *row = memory_db_find_log(sim->db, run->fires[i].log_id);

        if (row && row->gone_us && !has_ended(row))
            return true;
    }
    for (size_t i = 0; i < sim->db->flow_run_count; i++) {
        const struct memory_flow_run *other = &sim->db->flow_runs[i];
        bool before = run->row.state == FLOW_RUN_QUEUED && other->row.flow_id == run->row.flow_id &&
                      other->row.state == FLOW_RUN_RUNNING;

        if (other->exists && is_open(other) && (before || other->row.parent_run == run->row.id) &&
            may_be_open(sim, other))
            return true;
    }
    return false;
}

bool sim_flows_go_on(const struct sim *sim)
{
    for (size_t i = 0; i < sim->db->flow_run_count; i++) {
        const struct memory_flow_run *run = &sim->db->flow_runs[i];

        for (size_t k = 0; run->exists && is_open(run) && k < ARRAY_LEN(run->fires); k++) {
            const struct memory_log *row = memory_db_find_log(sim->db, run->fires[k].log_id);

            if (row && row->gone_us && has_ended(row))
                return true;
        }
    }
    return false;
}

static void check_left(struct sim *sim, const struct memory_flow_run *run)
{
    int64_t id = run->row.id;

    for (size_t i = 0; i < ARRAY_LEN(run->fires); i++) {
        const struct memory_log *row = memory_db_find_log(sim->db, run->fires[i].log_id);

        if (run->fires[i].log_id && !(row && row->gone_us && !has_ended(row)))
            sim_violate(sim, "flow-leaves-nothing", "flow run %" PRId64 " has ended, and waits for log %" PRId64, id,
                        run->fires[i].log_id);
    }
    for (size_t i = 0; i < ARRAY_LEN(run->requests); i++)
        if (run->requests[i].id)
            sim_violate(sim, "flow-leaves-nothing", "nobody has seen to \"%s\" of flow run %" PRId64,
                        run->requests[i].action, id);
    for (int i = 0; i < MEMORY_FLOW_STEPS; i++)
        if (run->has_step[i] && (get_state(run, i) == FLOW_RUNNING || get_state(run, i) == FLOW_WAITING))
            sim_violate(sim, "flow-leaves-nothing", "flow run %" PRId64 " has ended with state %d, and step %d is open",
                        id, (int)run->row.state, i);
    if (run->is_looked_at)
        sim_violate(sim, "flow-leaves-nothing", "flow run %" PRId64 " has ended, and is looked at", id);
}

static void check_run(struct sim *sim, const struct memory_flow_run *run)
{
    check_tries(sim, run);
    if (is_open(run)) {
        if (!may_be_open(sim, run))
            sim_violate(sim, "flow-run-ends",
                        "run %" PRId64 " of flow \"%s\" is open, with state %d, since %" PRId64 " s", run->row.id,
                        sim->flows->shapes[run->row.flow_id - 1].name, (int)run->row.state,
                        (sim_now_ms(sim) - run->created_ms) / 1000);
        return;
    }
    check_left(sim, run);
    if (run->row.state == FLOW_RUN_SUCCEEDED || run->row.state == FLOW_RUN_FAILED)
        check_ended(sim, run);
}

/* ---- schedules --------------------------------------------------------------------------------------------------- */

static bool is_by_schedule(const struct memory_flow_run *run)
{
    return run->exists && (run->row.kind[0] == 'C' || run->row.kind[0] == 'F');
}

static void check_due_times(struct sim *sim, const struct memory_flow *flow, const struct shape *shape)
{
    const struct memory_flow_run *last = NULL;
    bool open = false, again = false; /* also what is done again has an end */

    for (size_t i = 0; i < sim->db->flow_run_count; i++) {
        const struct memory_flow_run *run = &sim->db->flow_runs[i];

        if (!is_by_schedule(run) || run->row.flow_id != flow->id)
            continue;
        open = open || is_open(run);
        again = again || run->again;
        if (last && run->row.due_s <= last->row.due_s)
            sim_violate(sim, "flow-is-due-once",
                        "flow \"%s\" was due at %" PRId64 " for run %" PRId64 ", behind run %" PRId64, shape->name,
                        run->row.due_s, run->row.id, last->row.id);
        if (last && shape->delay_s && last->row.state != FLOW_RUN_SKIPPED && !again &&
            run->row.due_s < last->row.ended_ms / 1000 + shape->delay_s)
            sim_violate(sim, "flow-is-due-once",
                        "flow \"%s\" is due at %" PRId64 ", and run %" PRId64 " ended at %" PRId64, shape->name,
                        run->row.due_s, last->row.id, last->row.ended_ms / 1000);
        last = run;
    }
    if (!flow->next_s && !open)
        sim_violate(sim, "flow-is-due-once", "flow \"%s\" stands still", shape->name);
    if (flow->next_s && flow->next_s < sim_now_ms(sim) / 1000 - 15)
        sim_violate(sim, "flow-is-due-once", "flow \"%s\" is due since %" PRId64 ", and nobody starts it", shape->name,
                    flow->next_s);
}

static void find_fires(struct sim *sim)
{
    const struct memory_db *db = sim->db;

    sim->flows->fires = calloc(db->log_count + 1, sizeof *sim->flows->fires);
    if (!sim->flows->fires)
        abort();
    sim->flows->fire_count = 0;
    for (size_t i = 0; i < db->log_count; i++)
        if (db->logs[i].fire.kind == TRIGGER_FLOW && was_written(&db->logs[i]))
            sim->flows->fires[sim->flows->fire_count++] = &db->logs[i];
}

void sim_check_flows(struct sim *sim)
{
    find_fires(sim);
    check_repeats(sim);
    for (size_t i = 0; i < sim->db->flow_run_count; i++)
        if (sim->db->flow_runs[i].exists && sim->db->flow_runs[i].row.state != FLOW_RUN_SKIPPED)
            check_run(sim, &sim->db->flow_runs[i]);
    for (size_t i = 0; i < sim->db->flow_count; i++)
        if (sim->db->flows[i].started)
            check_due_times(sim, &sim->db->flows[i], &sim->flows->shapes[i]);
    free(sim->flows->fires);
    sim->flows->fires = NULL;
}

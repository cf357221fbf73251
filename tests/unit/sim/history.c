/* SPDX-License-Identifier: MIT */
#include "sim/history.h"

#include "sim/jobs.h"

#define ACTIONS 28
#define LOST_ENDS_MAX 3 /* minutes */

enum action {
    ACT_KILL,
    ACT_START,
    ACT_PAUSE,
    ACT_WAKE,
    ACT_SUSPEND,
    ACT_STOP,
    ACT_CUT_LOCKS,
    ACT_CUT_DATABASE,
    ACT_CUT_EXECUTORS,
    ACT_END_AT,
    ACT_AWAY,
    ACT_FAULTS,
    ACT_SLOW,
    ACT_CLOCK,
    ACT_EDIT,
    ACT_EDITS,
    ACT_CLEAR,
    ACT_GIVE,
    ACT_RESHARD,
    ACT_EXECUTORS,
    ACT_GUARD,
    ACT_MEMBERS,
    ACT_LATER,
    ACT_TRIGGER,
    ACT_FAILING,
    ACT_LASTING,
    ACT_FORGETTING,
    ACT_RESTART,
    ACT_FLOW,
    ACT_ASK,
    ACT_COUNT
};

/* What must not lose a fire: nodes end in order, and have their locks, their clocks and a database that answers. */
static const bool is_calm[ACT_COUNT] = {
    [ACT_START] = true, [ACT_STOP] = true,      [ACT_FAULTS] = true, [ACT_SLOW] = true,    [ACT_EDIT] = true,
    [ACT_GIVE] = true,  [ACT_RESHARD] = true,   [ACT_LATER] = true,  [ACT_FAILING] = true, [ACT_LASTING] = true,
    [ACT_WAKE] = true,  [ACT_EXECUTORS] = true, [ACT_FLOW] = true,   [ACT_ASK] = true,
};

struct history {
    struct sim *sim;
    bool calm;
    bool flows;
    int nodes;
    bool cut[SIM_NODES_MAX], blind[SIM_NODES_MAX], mute[SIM_NODES_MAX];
    int64_t shifted_ms[SIM_NODES_MAX];
};

/* Not drawn: a Java admin that edits a job with a fixed delay. It writes the next time back as it read it: a day ahead
 * if a run was under way then, which nobody pulls forward if it has ended meanwhile, or one from before the newest due
 * second, which is planned again (docs/protocol.md). */
static bool is_for_java(struct sim *sim, int64_t id)
{
    const struct memory_job *job = sim_edit_job(sim, id);

    return job && job->fixed_delay_s == 0;
}

static void edit(struct sim *sim)
{
    int64_t job = 1 + (int64_t)fibers_draw(fibers_chance(200) ? 23 : 10);
    enum sim_edit what = (enum sim_edit)fibers_draw(EDIT_START + 1);

    if (fibers_chance(50))
        what = EDIT_REMOVE;
    else if (what == EDIT_STOP && fibers_chance(500))
        what = EDIT_START;
    if (fibers_chance(500) || !is_for_java(sim, job))
        sim_edit_by_api(sim, job, what);
    else
        sim_edit_by_java(sim, job, what, (int64_t)fibers_draw(fibers_chance(500) ? 4000 : 100));
}

static void clear(struct sim *sim)
{
    if (fibers_chance(300))
        sim_clear_left(sim);
    else if (fibers_chance(300))
        sim_clear_rows(sim, 1 + (int64_t)fibers_draw(20), /*ended=*/true);
    else
        sim_clear_rows(sim, 0, /*ended=*/true);
}

static void shift_clock(struct history *h, int node)
{
    static const int64_t by_ms[] = {50, 500, 3000, 20000};
    int64_t ms = by_ms[fibers_draw(ARRAY_LEN(by_ms))] * (fibers_chance(500) ? 1 : -1);

    h->shifted_ms[node] += ms;
    sim_shift_wall_ms(h->sim, node, ms);
}

static bool has_ended(const struct history *h, int node)
{
    return !sim_is_running(h->sim, node) && !sim_is_paused(h->sim, node);
}

static void act_on_node(struct history *h, enum action action, int node)
{
    struct sim *sim = h->sim;
    bool runs = sim_is_running(sim, node);

    switch (action) {
    case ACT_KILL:
        if (!has_ended(h, node))
            sim_kill(sim, node);
        break;
    case ACT_START:
        if (!has_ended(h, node))
            break;
        sim_start(sim, node);
        h->cut[node] = h->blind[node] = h->mute[node] = false; /* were of the run before */
        break;
    case ACT_PAUSE:
        if (runs)
            sim_pause(sim, node);
        break;
    case ACT_WAKE:
        if (sim_is_paused(sim, node))
            sim_wake(sim, node);
        break;
    case ACT_SUSPEND:
        if (runs)
            sim_suspend(sim, node, (int64_t)fibers_draw(30000));
        break;
    case ACT_STOP:
        if (runs && !h->cut[node] && !h->blind[node])
            sim_stop(sim, node);
        break;
    case ACT_END_AT:
        sim_end_at(sim, node, 1 + (int64_t)fibers_draw(fibers_chance(500) ? 30 : 1000),
                   fibers_chance(700) ? END_KILLED : END_PAUSED);
        break;
    case ACT_CUT_EXECUTORS:
        h->mute[node] = !h->mute[node];
        sim_cut_executors(sim, node, h->mute[node]);
        break;
    case ACT_CUT_LOCKS:
        h->blind[node] = !h->blind[node];
        sim_cut_locks(sim, node, h->blind[node]);
        break;
    case ACT_CUT_DATABASE:
        h->cut[node] = !h->cut[node];
        sim_cut_database(sim, node, h->cut[node]);
        break;
    case ACT_CLOCK: shift_clock(h, node); break;
    case ACT_AWAY:
    case ACT_FAULTS:
    case ACT_SLOW:
    case ACT_EDIT:
    case ACT_EDITS:
    case ACT_CLEAR:
    case ACT_GIVE:
    case ACT_RESHARD:
    case ACT_EXECUTORS:
    case ACT_GUARD:
    case ACT_MEMBERS:
    case ACT_LATER:
    case ACT_TRIGGER:
    case ACT_FAILING:
    case ACT_LASTING:
    case ACT_FORGETTING:
    case ACT_RESTART:
    case ACT_FLOW:
    case ACT_ASK:
    case ACT_COUNT: break;
    }
}

/* Some fires by hand; the node may die right behind them. */
static void trigger(struct history *h)
{
    int node = (int)fibers_draw((uint64_t)h->nodes);

    for (int n = 1 + (int)fibers_draw(10); n > 0 && sim_is_running(h->sim, node); n--)
        sim_trigger(h->sim, node, 1 + (int64_t)fibers_draw(23), fibers_chance(500) ? (unsigned)fibers_draw(8) : 0);
    if (fibers_chance(300) && sim_is_running(h->sim, node))
        sim_end_at(h->sim, node, 1 + (int64_t)fibers_draw(100), END_KILLED);
}

/* Some runs; a node may die right behind them. */
static void start_flows(struct history *h)
{
    int node = (int)fibers_draw((uint64_t)h->nodes);

    for (int n = 1 + (int)fibers_draw(5); n > 0; n--)
        sim_start_flow(h->sim);
    if (!h->calm && fibers_chance(300) && sim_is_running(h->sim, node))
        sim_end_at(h->sim, node, 1 + (int64_t)fibers_draw(200), END_KILLED);
}

static void act(struct history *h)
{
    enum action action = (enum action)fibers_draw(h->flows ? ACT_COUNT : ACT_FLOW);
    struct memory_db *db = sim_get_db(h->sim);

    if (h->calm && !is_calm[action])
        return;
    switch (action) {
    case ACT_AWAY:
        sim_set_away(h->sim, true);
        sim_advance_ms(h->sim, (int64_t)fibers_draw(fibers_chance(200) ? 90000 : 8000));
        sim_set_away(h->sim, false);
        break;
    case ACT_FAULTS: db->fault_permille = fibers_chance(500) ? (unsigned)fibers_draw(80) : 0; break;
    case ACT_SLOW: db->latency_us = fibers_chance(300) ? 200000 : 2000; break;
    case ACT_EDIT: edit(h->sim); break;
    case ACT_EDITS:
        for (int n = (int)fibers_draw(15); n > 0; n--) {
            edit(h->sim);
            sim_advance_ms(h->sim, (int64_t)fibers_draw(1000));
        }
        break;
    case ACT_CLEAR: clear(h->sim); break;
    case ACT_GIVE: sim_give_to(h->sim, (int)fibers_draw(4), (int)fibers_draw((uint64_t)h->nodes)); break;
    case ACT_RESHARD:
        if (fibers_chance(500) && !db->away)
            sim_reshard(h->sim, 1 + (int)fibers_draw(8));
        break;
    case ACT_EXECUTORS: sim_set_executors(h->sim, (enum sim_executor)fibers_draw(EXECUTOR_MIXED + 1)); break;
    case ACT_GUARD:
        db->guard_serial++;
        db->guarded = fibers_chance(500);
        break;
    case ACT_LATER:
        for (int n = 1 + (int)fibers_draw(20); n > 0; n--)
            (void)sim_add_later(h->sim, 1 + (int64_t)fibers_draw(20), (int64_t)fibers_draw(20) - 5);
        break;
    case ACT_MEMBERS: sim_set_members(h->sim, fibers_chance(250) ? 0 : (unsigned)fibers_draw(8)); break;
    case ACT_TRIGGER: trigger(h); break;
    case ACT_FAILING: sim_set_failing(h->sim, (unsigned)fibers_draw(fibers_chance(200) ? 1000 : 200)); break;
    case ACT_LASTING: sim_set_lasting(h->sim, fibers_chance(500) ? (int64_t)fibers_draw(60000) : 0); break;
    case ACT_FORGETTING: sim_set_forgetting(h->sim, (unsigned)fibers_draw(fibers_chance(200) ? 1000 : 100)); break;
    case ACT_RESTART: sim_restart_executor(h->sim, (int)fibers_draw(SIM_EXECUTORS)); break;
    case ACT_FLOW: start_flows(h); break;
    case ACT_ASK: sim_ask_flow(h->sim); break;
    case ACT_KILL:
    case ACT_START:
    case ACT_PAUSE:
    case ACT_WAKE:
    case ACT_SUSPEND:
    case ACT_STOP:
    case ACT_CUT_LOCKS:
    case ACT_CUT_DATABASE:
    case ACT_CUT_EXECUTORS:
    case ACT_END_AT:
    case ACT_CLOCK:
    case ACT_COUNT: act_on_node(h, action, (int)fibers_draw((uint64_t)h->nodes)); break;
    }
}

static void heal(struct history *h)
{
    struct memory_db *db = sim_get_db(h->sim);

    db->fault_permille = 0;
    db->latency_us = 2000;
    db->guarded = true;
    fibers_disturb(0, 0);
    sim_set_executors(h->sim, EXECUTOR_QUICK);
    sim_set_members(h->sim, 7);
    sim_set_failing(h->sim, 0);
    sim_set_lasting(h->sim, 0);
    sim_set_forgetting(h->sim, 0);
    for (int i = 0; i < h->nodes; i++) {
        sim_end_at(h->sim, i, 0, END_KILLED);
        if (h->cut[i])
            act_on_node(h, ACT_CUT_DATABASE, i);
        if (h->blind[i])
            act_on_node(h, ACT_CUT_LOCKS, i);
        if (h->mute[i])
            act_on_node(h, ACT_CUT_EXECUTORS, i);
        act_on_node(h, ACT_WAKE, i);
        act_on_node(h, ACT_START, i);
        sim_shift_wall_ms(h->sim, i, -h->shifted_ms[i]);
    }
}

/* Jobs that are retried, at once or later, that have children and grandchildren, that count from their ends. */
static void add_followers(struct sim *sim)
{
    for (int64_t id = 1; id <= 20; id++) {
        struct memory_job *job = sim_edit_job(sim, id);

        job->retry_count = (int)fibers_draw(4);
        job->retry_wait_s = id % 5 == 0 ? 1 + (int64_t)fibers_draw(10) : 0;
        job->retry_wait_max_s = 20;
        job->resend_lost = fibers_chance(500);
    }
    sim_edit_job(sim, 4)->children = "11";
    sim_edit_job(sim, 11)->children = "12,13";
    sim_edit_job(sim, 12)->children = "14";
    for (int64_t id = 6; id <= 13; id++)
        if (id == 13 || fibers_chance(300))
            sim_edit_job(sim, id)->route = "SHARDING_BROADCAST";
    for (int delay_s = 2; delay_s <= 8; delay_s *= 2) {
        struct memory_job *job = sim_edit_job(sim, sim_add_rate(sim, delay_s));

        job->fixed_delay_s = delay_s;
        job->retry_count = delay_s / 4;
        job->retry_wait_s = delay_s == 8 ? 5 : 0;
    }
}

bool history_run(uint64_t seed, enum memory_rule broken, char why[HISTORY_WHY_MAX])
{
    struct sim_opts opts = {
        .seed = seed, .nodes = 1 + (int)(seed % 3), .shards = 1 + (int)(seed / 3 % 5), .broken = broken};
    struct history h = {.nodes = opts.nodes, .calm = seed % 4 == 0};
    int64_t ahead_ms = 0;
    const char *violation;

    opts.follows = true;
    opts.flows = h.flows = seed % 2 == 0;
    opts.calm = h.calm;
    opts.resend = seed % 4 == 1;
    opts.guarded = seed % 5 == 2;
    h.sim = sim_create(opts);
    add_jobs(h.sim, 20);
    add_followers(h.sim);
    if (h.flows)
        sim_add_flows(h.sim);
    for (int64_t job = 1; job <= 20 && seed % 3 != 0; job += seed % 3 + 1)
        sim_edit_job(h.sim, job)->hold_s = 5 + (int64_t)fibers_draw(60);
    if (seed % 2)
        fibers_disturb(3, 40000);
    for (int i = 0; i < ACTIONS; i++) {
        sim_advance_ms(h.sim, (int64_t)fibers_draw(fibers_chance(300) ? 30000 : 3000));
        act(&h);
        if (h.flows && fibers_chance(400))
            start_flows(&h);
    }
    for (int i = 0; i < h.nodes; i++)
        ahead_ms = h.shifted_ms[i] > ahead_ms ? h.shifted_ms[i] : ahead_ms;
    heal(&h);
    for (int minutes = seed % 4 == 0 ? 7 : 4; minutes > 0; minutes--) {
        if (h.flows)
            sim_approve_flows(h.sim);
        sim_advance_ms(h.sim, MINUTE_MS);
    }
    sim_advance_ms(h.sim, ahead_ms);
    for (int i = 0; h.flows && i < LOST_ENDS_MAX && sim_flows_go_on(h.sim); i++) { /* that was found lost at the end */
        sim_approve_flows(h.sim);
        sim_advance_ms(h.sim, MINUTE_MS);
    }
    sim_clear_left(h.sim);
    violation = sim_find_violation(h.sim);
    sim_show(h.sim);
    snprintf(why, HISTORY_WHY_MAX, "%s", violation ? violation : "");
    sim_destroy(h.sim);
    return !violation;
}

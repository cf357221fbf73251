/* SPDX-License-Identifier: MIT */
/* Flows: what they are, and who starts them and asks something of their runs. */
#include "sim/sim_flows.h"
#include "shardwheel/job/codes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOB(what)                                                                                                      \
    {                                                                                                                  \
        .kind = FLOW_JOB, .job = what                                                                                  \
    }
#define JOB_ANY(what)                                                                                                  \
    {                                                                                                                  \
        .kind = FLOW_JOB, .job = what, .join_any = true                                                                \
    }
#define EDGE(begins, ends, end)                                                                                        \
    {                                                                                                                  \
        .from = begins, .to = ends, .on = end                                                                          \
    }

static const struct shape known[] = {
    {.name = "line",
     .policy = FLOW_PARALLEL,
     .steps = {JOB(JOB_ONCE), JOB(JOB_TWICE_MORE), JOB(JOB_WAITS)},
     .step_count = 3,
     .edges = {EDGE(0, 1, ON_SUCCESS), EDGE(1, 2, ON_SUCCESS)}},
    {.name = "fan",
     .policy = FLOW_PARALLEL,
     .steps = {JOB(JOB_TWICE_MORE), JOB(JOB_ONCE), JOB(JOB_WAITS), JOB(JOB_HOLDS), JOB(JOB_ONCE), JOB_ANY(JOB_RESENT)},
     .step_count = 6,
     .edges = {EDGE(0, 1, ON_SUCCESS), EDGE(0, 2, ON_END), EDGE(0, 3, ON_SUCCESS), EDGE(1, 4, ON_SUCCESS),
               EDGE(2, 4, ON_END), EDGE(3, 4, ON_SUCCESS), EDGE(1, 5, ON_SUCCESS), EDGE(2, 5, ON_SUCCESS)}},
    {.name = "rescue",
     .policy = FLOW_PARALLEL,
     .steps = {JOB(JOB_ONCE), JOB(JOB_ONCE), JOB(JOB_TWICE_MORE), JOB_ANY(JOB_ONCE)},
     .step_count = 4,
     .edges = {EDGE(0, 1, ON_SUCCESS), EDGE(0, 2, ON_FAILURE), EDGE(1, 3, ON_SUCCESS), EDGE(2, 3, ON_SUCCESS)}},
    {.name = "map",
     .policy = FLOW_PARALLEL,
     .steps = {JOB(JOB_TWICE_MORE), {.kind = FLOW_MAP, .job = JOB_TWICE_MORE}, JOB(JOB_ONCE), JOB(JOB_ONCE)},
     .step_count = 4,
     .edges = {EDGE(0, 1, ON_SUCCESS), EDGE(1, 2, ON_SUCCESS), {.from = 0, .to = 3, .on = ON_SUCCESS, .more_than = 2}}},
    {.name = "cast",
     .policy = FLOW_PARALLEL,
     .steps = {{.kind = FLOW_BROADCAST, .job = JOB_BROADCAST}, JOB(JOB_ONCE)},
     .step_count = 2,
     .edges = {EDGE(0, 1, ON_SUCCESS)}},
    {.name = "outer",
     .policy = FLOW_PARALLEL,
     .steps = {JOB(JOB_TWICE_MORE), {.kind = FLOW_FLOW, .flow = "line"}, JOB(JOB_TWICE_MORE)},
     .step_count = 3,
     .edges = {EDGE(0, 1, ON_SUCCESS), EDGE(1, 2, ON_END)}},
    {.name = "gate",
     .policy = FLOW_PARALLEL,
     .steps = {{.kind = FLOW_APPROVAL}, JOB(JOB_ONCE), {.kind = FLOW_WAIT}},
     .step_count = 3,
     .edges = {EDGE(0, 1, ON_SUCCESS), EDGE(0, 2, ON_FAILURE)}},
    {.name = "queue",
     .settings = "\"schedule\":{\"every\":20},\"whenRunning\":\"queue\",\"queueMax\":2,",
     .policy = FLOW_QUEUE,
     .steps = {JOB(JOB_TWICE_MORE), {.kind = FLOW_WAIT}, JOB(JOB_ONCE)},
     .step_count = 3,
     .edges = {EDGE(0, 1, ON_END), EDGE(1, 2, ON_SUCCESS)}},
    {.name = "delay",
     .settings = "\"schedule\":{\"delay\":5},",
     .policy = FLOW_SKIP_IF_RUNNING,
     .delay_s = 5,
     .steps = {JOB(JOB_WAITS)},
     .step_count = 1},
};

/* Steps that are jobs, and any edges forward. */
static struct shape draw_shape(int number)
{
    static const char *const names[] = {"drawn-0", "drawn-1", "drawn-2"};
    struct shape shape = {
        .name = names[number], .policy = FLOW_PARALLEL, .step_count = 2 + (int)fibers_draw(SHAPE_STEPS - 1)};
    int edges = 0;

    for (int i = 0; i < shape.step_count; i++)
        shape.steps[i] = (struct shape_step){
            .kind = FLOW_JOB, .job = (enum step_job)fibers_draw(JOB_BROADCAST), .join_any = fibers_chance(400)};
    for (int to = 1; to < shape.step_count; to++)
        for (int from = 0; from < to; from++)
            if (edges < SHAPE_EDGES && fibers_chance(500)) {
                shape.edges[edges] =
                    (struct shape_edge){.from = from, .to = to, .on = ON_SUCCESS + (enum edge_on)fibers_draw(ON_END)};
                if (shape.edges[edges].on == ON_SUCCESS && fibers_chance(300))
                    shape.edges[edges].more_than = 1 + (int)fibers_draw(3);
                edges++;
            }
    return shape;
}

/* ---- documents --------------------------------------------------------------------------------------------------- */

static void put_step(struct buf *out, const struct sim_flows *flows, const struct shape *shape, int i)
{
    static const char *const kinds[] = {
        [FLOW_JOB] = "job",   [FLOW_MAP] = "map",           [FLOW_BROADCAST] = "broadcast",
        [FLOW_WAIT] = "wait", [FLOW_APPROVAL] = "approval", [FLOW_FLOW] = "flow"};
    const struct shape_step *step = &shape->steps[i];

    buf_printf(out, "%s{\"name\":\"s%d\",\"type\":\"%s\"", i ? "," : "", i, kinds[step->kind]);
    if (step->join_any)
        buf_puts(out, ",\"join\":\"any\"");
    switch (step->kind) {
    case FLOW_JOB:
    case FLOW_BROADCAST: buf_printf(out, ",\"jobId\":%" PRId64, flows->jobs[step->job]); break;
    case FLOW_MAP:
        buf_printf(out, ",\"jobId\":%" PRId64 ",\"items\":\"steps.s%d.result/list\",\"parallel\":2",
                   flows->jobs[step->job], step->list_of);
        break;
    case FLOW_WAIT: buf_puts(out, ",\"seconds\":3"); break;
    case FLOW_APPROVAL: buf_puts(out, ",\"text\":\"run ${run.id}?\""); break;
    case FLOW_FLOW: buf_printf(out, ",\"flow\":\"%s\"", step->flow); break;
    }
    buf_puts(out, "}");
}

static void put_edge(struct buf *out, const struct shape_edge *edge, bool first)
{
    static const char *const on[] = {[ON_SUCCESS] = "success", [ON_FAILURE] = "failure", [ON_END] = "end"};

    buf_printf(out, "%s{\"from\":\"s%d\",\"to\":\"s%d\",\"on\":\"%s\"", first ? "" : ",", edge->from, edge->to,
               on[edge->on]);
    if (edge->more_than)
        buf_printf(out, ",\"when\":{\"all\":[{\"path\":\"steps.s%d.result/n\",\"is\":\">\",\"value\":%d}]}", edge->from,
                   edge->more_than);
    buf_puts(out, "}");
}

static void add_flow(struct sim *sim, struct shape shape)
{
    struct sim_flows *flows = sim->flows;
    struct buf text = {0};
    bool first = true;

    buf_printf(&text, "{\"name\":\"%s\",%s\"steps\":[", shape.name, shape.settings ? shape.settings : "");
    for (int i = 0; i < shape.step_count; i++)
        put_step(&text, flows, &shape, i);
    buf_puts(&text, "],\"edges\":[");
    for (int i = 0; i < SHAPE_EDGES && shape.edges[i].on; i++, first = false)
        put_edge(&text, &shape.edges[i], first);
    buf_puts(&text, "]}");
    if (buf_failed(&text) || flows->count == SHAPES)
        abort();
    (void)memory_db_add_flow(sim->db, shape.name, text.data);
    flows->shapes[flows->count++] = shape;
    buf_fini(&text);
}

static int64_t add_job(struct sim *sim, enum step_job what)
{
    struct memory_job *job = memory_db_add_job(sim->db, "NONE", "", 0);

    job->running = false;
    job->retry_count = what == JOB_ONCE ? 0 : what == JOB_TWICE_MORE ? 2 : 1;
    job->retry_wait_s = what == JOB_WAITS ? 3 : 0;
    job->hold_s = what == JOB_HOLDS ? 20 : 0;
    job->resend_lost = what == JOB_RESENT;
    if (what == JOB_BROADCAST)
        job->route = "SHARDING_BROADCAST";
    return job->id;
}

void sim_add_flows(struct sim *sim)
{
    sim->flows = calloc(1, sizeof *sim->flows);
    if (!sim->flows)
        abort();
    for (int i = 0; i < FLOW_JOBS; i++)
        sim->flows->jobs[i] = add_job(sim, (enum step_job)i);
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        add_flow(sim, known[i]);
    for (int i = 0; i < 3; i++)
        add_flow(sim, draw_shape(i));
    for (size_t i = 0; i < sim->db->flow_count; i++)
        if (sim->flows->shapes[i].settings) {
            sim->db->flows[i].started = true;
            sim->db->flows[i].next_s = sim_now_ms(sim) / 1000 + 10;
        }
}

const char *sim_choose_words(struct sim *sim, const struct memory_log *row, int code)
{
    char text[60];
    int n = (int)(row->fire.log_id % 5);

    if (code != CODE_OK)
        return "it failed";
    snprintf(text, sizeof text, "{\"n\":%d,\"list\":[%.*s]}", n, n ? 2 * n - 1 : 0, "1,2,3,4");
    return memory_db_keep(sim->db, text);
}

/* Nobody is asked: flowrun has no way to executors here. */
enum err run_kill(const struct run_calls *with, int64_t log_id, const struct kill_words *words, struct buf *said,
                  struct errctx *ec)
{
    (void)with, (void)log_id, (void)words, (void)said, (void)ec;
    abort();
}

/* ---- people ------------------------------------------------------------------------------------------------------ */

/* Whatever comes of it: faults are those of the database. */
static struct store_session *take_session(struct sim *sim, struct store *st)
{
    struct store_session *session = NULL;
    struct errctx ec;

    *st = (struct store){.db = sim->db};
    return store_take_session(st, SESSION_NORMAL, &session, &ec) ? NULL : session;
}

void sim_start_flow(struct sim *sim)
{
    sim_start_that_flow(sim, 1 + (int64_t)fibers_draw((uint64_t)sim->flows->count));
}

void sim_start_that_flow(struct sim *sim, int64_t flow)
{
    struct flow_run_start order = {.flow_id = flow,
                                   .version = 1,
                                   .kind = "M",
                                   .who = "ann",
                                   .policy = sim->flows->shapes[flow - 1].policy,
                                   .queue_max = 2};
    struct store st;
    struct store_session *session = take_session(sim, &st);
    struct errctx ec;
    int64_t id;
    bool is_new;

    if (session && store_start_flow_run(session, &order, NULL, &id, &is_new, &ec))
        log_info("sim", "event=flow_not_started why=%s", log_quote(ec.text).s);
    store_give_session(&st, session);
}

static enum err allow(void *arg, const struct flow_run_now *now, struct errctx *ec)
{
    (void)arg, (void)now, (void)ec;
    return ERR_OK;
}

static void ask(struct sim *sim, int64_t run, int step, const char *action)
{
    struct flow_request request = {.run_id = run, .step = step, .action = action, .who = "ann", .remark = "x"};
    struct store st;
    struct store_session *session = take_session(sim, &st);
    struct errctx ec;

    if (session && store_ask_flow_run(session, &request, allow, NULL, NULL, &ec))
        log_info("sim", "event=flow_not_asked why=%s", log_quote(ec.text).s);
    store_give_session(&st, session);
}

void sim_ask_flow(struct sim *sim)
{
    static const char *const actions[] = {"retry", "skip", "done", "approve", "reject"};
    int64_t run, recent = sim->db->flow_run_count < 10 ? (int64_t)sim->db->flow_run_count : 10;

    if (!recent)
        return;
    run = (int64_t)sim->db->flow_run_count - (int64_t)fibers_draw((uint64_t)recent);
    if (fibers_chance(500))
        ask(sim, run, -1, fibers_chance(500) ? "cancel" : "rerun");
    else
        ask(sim, run, (int)fibers_draw(SHAPE_STEPS), actions[fibers_draw(ARRAY_LEN(actions))]);
}

void sim_approve_flows(struct sim *sim)
{
    for (size_t i = 0; i < sim->db->flow_run_count; i++) {
        const struct memory_flow_run *run = &sim->db->flow_runs[i];
        const struct shape *shape = run->exists ? &sim->flows->shapes[run->row.flow_id - 1] : NULL;

        for (int step = 0; shape && step < shape->step_count; step++)
            if (shape->steps[step].kind == FLOW_APPROVAL && run->row.state == FLOW_RUN_RUNNING)
                ask(sim, (int64_t)i + 1, step, "approve");
    }
}

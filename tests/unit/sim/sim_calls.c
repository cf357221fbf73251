/* SPDX-License-Identifier: MIT */
/* Fires that somebody asks a node for, and waits for the answer: what it says must be what happened. */
#include "sim/sim_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sim_call {
    struct sim_call *next;
    struct sim_run *run;
    struct thread thread;
    struct trigger_order order;
    unsigned members;
    char param[24], addresses[100];
    bool answered;
    enum err result;
    struct trigger_made made;
};

static void ask(void *arg)
{
    struct sim_call *call = arg;
    struct errctx ec;

    errctx_clear(&ec);
    call->result = triggers_fire(call->run->triggers, &call->order, &call->made, &ec);
    call->answered = call->run->state == RUN_ALIVE;
}

void sim_trigger(struct sim *sim, int node, int64_t job, unsigned members)
{
    struct sim_call *call = calloc(1, sizeof *call);
    int number = 0, former;
    struct errctx ec;

    if (!call)
        abort();
    for (const struct sim_call *c = sim->calls; c; c = c->next)
        number++;
    *call = (struct sim_call){.next = sim->calls, .run = sim->run[node], .members = members};
    snprintf(call->param, sizeof call->param, "call-%d.", number);
    for (int i = 0; i < SIM_EXECUTORS; i++)
        if (members & 1U << i)
            snprintf(call->addresses + strlen(call->addresses), sizeof call->addresses - strlen(call->addresses),
                     "%s%s", call->addresses[0] ? "," : "", sim_get_address(i));
    call->order = (struct trigger_order){
        .job_id = job, .kind = TRIGGER_MANUAL, .param = call->param, .addresses = members ? call->addresses : NULL};
    sim->calls = call;
    former = fibers_enter_group(sim->run[node]->group);
    if (thread_start(&call->thread, "call", ask, call, &ec))
        abort();
    fibers_enter_group(former);
}

void sim_calls_end(struct sim_run *run)
{
    for (struct sim_call *call = run->sim->calls; call; call = call->next)
        if (call->run == run)
            thread_join(&call->thread);
}

void sim_calls_free(struct sim *sim)
{
    while (sim->calls) {
        struct sim_call *call = sim->calls;

        sim->calls = call->next;
        free(call->made.log_ids);
        free(call);
    }
}

/* ---- what must hold ---------------------------------------------------------------------------------------------- */

static bool is_of(const struct sim_call *call, const struct memory_log *row)
{
    return row->param && strcmp(row->param, call->param) == 0;
}

void sim_check_call_arrival(struct sim *sim, const struct memory_log *row, int executor, const char *body, size_t len)
{
    for (const struct sim_call *call = sim->calls; call; call = call->next) {
        if (!is_of(call, row))
            continue;
        if (!memmem(body, len, call->param, strlen(call->param)))
            sim_violate(sim, "call-is-answered-truly", "log %" PRId64 " was sent without its parameter, %s",
                        row->fire.log_id, call->param);
        if (row->fire.kind == TRIGGER_MANUAL && call->members && !(call->members & 1U << executor))
            sim_violate(sim, "call-is-answered-truly", "log %" PRId64 " went to %s, which nobody asked for",
                        row->fire.log_id, sim_get_address(executor));
    }
}

static bool is_of_answer(const struct sim_call *call, int64_t log_id)
{
    for (size_t i = 0; i < call->made.count; i++)
        if (call->made.log_ids[i] == log_id)
            return true;
    return false;
}

static void check_call(struct sim *sim, const struct sim_call *call)
{
    bool fired = call->answered && call->result == ERR_OK;
    bool open = !call->answered || call->result == ERR_UNKNOWN;
    size_t rows = 0;

    for (size_t i = 0; i < sim->db->log_count; i++) {
        const struct memory_log *row = &sim->db->logs[i];

        if (!is_of(call, row) || row->fire.kind != TRIGGER_MANUAL ||
            !(row->exists || row->cleared || row->cancelled || row->forgotten || row->arrivals))
            continue;
        if (row->fire.flags & FIRE_LATER && row->fire.shard_index > 0 && !is_of_answer(call, row->fire.log_id))
            continue; /* it was divided when somebody was there */
        rows++;
        if (!fired && !open)
            sim_violate(sim, "call-is-answered-truly", "%s was refused with error %d, and log %" PRId64 " was made",
                        call->param, (int)call->result, row->fire.log_id);
        if (fired && !is_of_answer(call, row->fire.log_id))
            sim_violate(sim, "call-is-answered-truly", "log %" PRId64 " was made of %s, and not named",
                        row->fire.log_id, call->param);
        if (open && rows > 1 && !row->fire.broadcast)
            sim_violate(sim, "call-is-answered-truly", "%s was fired %zu times", call->param, rows);
    }
    if (fired && rows != call->made.count)
        sim_violate(sim, "call-is-answered-truly", "%s was answered with %zu runs, and there are %zu", call->param,
                    call->made.count, rows);
}

void sim_check_calls(struct sim *sim)
{
    for (const struct sim_call *call = sim->calls; call; call = call->next)
        check_call(sim, call);
}

/* SPDX-License-Identifier: MIT */
/* flow/decide: which steps start, which are skipped, and how a run ends. docs/flows.md has the rules. */
#include "flow/impl.h"

#include <string.h>

static void copy_states(const struct flow_values *values, enum flow_state *states)
{
    for (size_t i = 0; i < values->flow->step_count; i++)
        states[i] = values->steps[i].state;
}

/* All of its edges count: one that is false is enough to skip; or any: one that is true is enough to start. */
static enum flow_move decide_step(const struct flow_values *values, size_t step, const enum flow_state *states)
{
    const struct flow *flow = values->flow;
    size_t count[3] = {0}, edges = 0;

    for (size_t i = 0; i < flow->edge_count; i++)
        if (flow->edges[i].to == step) {
            count[flow_judge_edge(values, &flow->edges[i], states)]++;
            edges++;
        }
    if (flow->steps[step].join_any && edges > 0)
        return count[FLOW_TRUE] > 0 ? FLOW_START : count[FLOW_FALSE] == edges ? FLOW_SKIP : FLOW_STAY;
    return count[FLOW_FALSE] > 0 ? FLOW_SKIP : count[FLOW_TRUE] == edges ? FLOW_START : FLOW_STAY;
}

size_t flow_decide(const struct flow_values *values, enum flow_move *moves)
{
    const struct flow *flow = values->flow;
    enum flow_state states[FLOW_STEPS_MAX];
    size_t count = 0;

    copy_states(values, states);
    for (size_t at = 0; at < flow->step_count; at++) { /* each after all that lead to it: once is enough */
        size_t step = flow->order[at];
        moves[step] = states[step] == FLOW_WAITING ? decide_step(values, step, states) : FLOW_STAY;
        if (moves[step] == FLOW_SKIP)
            states[step] = FLOW_SKIPPED;
        count += moves[step] != FLOW_STAY;
    }
    return count;
}

static bool is_handled(const struct flow_values *values, size_t step, const enum flow_state *states)
{
    const struct flow *flow = values->flow;

    for (size_t i = 0; i < flow->edge_count; i++)
        if (flow->edges[i].from == step && flow_judge_edge(values, &flow->edges[i], states) == FLOW_TRUE)
            return true;
    return false;
}

bool flow_is_handled(const struct flow_values *values, size_t step)
{
    enum flow_state states[FLOW_STEPS_MAX];

    copy_states(values, states);
    return is_handled(values, step, states);
}

enum flow_outcome flow_find_outcome(const struct flow_values *values)
{
    enum flow_state states[FLOW_STEPS_MAX];
    enum flow_outcome outcome = FLOW_GOOD;

    copy_states(values, states);
    for (size_t i = 0; i < values->flow->step_count; i++) {
        if (states[i] == FLOW_WAITING || states[i] == FLOW_RUNNING)
            return FLOW_OPEN;
        if (states[i] == FLOW_CANCELLED || (states[i] == FLOW_FAILED && !is_handled(values, i, states)))
            outcome = FLOW_BAD;
    }
    return outcome;
}

void flow_put_reason(struct buf *out, const struct flow_values *values, size_t step)
{
    const struct flow *flow = values->flow;
    enum flow_state states[FLOW_STEPS_MAX];
    size_t count = 0;

    copy_states(values, states);
    buf_puts(out, flow->steps[step].join_any ? "It waits for one of: " : "It waits for: ");
    for (size_t i = 0; i < flow->edge_count; i++) {
        const struct flow_edge *edge = &flow->edges[i];
        static const char *const what[] = {"the success of", "the failure of", "the end of"};
        if (edge->to != step || flow_judge_edge(values, edge, states) != FLOW_UNDECIDED)
            continue;
        buf_printf(out, "%s%s %s", count++ ? ", " : "", what[edge->on], flow->steps[edge->from].name);
        if (edge->condition_count > 0)
            buf_puts(out, " with conditions");
    }
    buf_puts(out, count ? "." : "nothing; it starts now.");
}

void flow_reset_step(struct flow_values *values, size_t step)
{
    flow_set_state(values, step, FLOW_WAITING);
    for (size_t i = 0; i < values->flow->step_count; i++) {
        enum flow_state state = values->steps[i].state;
        if (flow_comes_before(values->flow, step, i) &&
            (state == FLOW_FAILED || state == FLOW_SKIPPED || state == FLOW_CANCELLED))
            flow_set_state(values, i, FLOW_WAITING);
    }
}

/* SPDX-License-Identifier: MIT */
/* flow/graph: the order of the steps, and which come before which. */
#include "flow/impl.h"

#include <stdlib.h>
#include <string.h>

bool flow_comes_before(const struct flow *flow, size_t step, size_t other)
{
    return flow->before[other][step / 8] >> (step % 8) & 1;
}

/* A step with an edge to `step`, of those that are not sorted. */
static size_t find_left(const struct flow *flow, size_t step, const size_t *edges_left)
{
    for (size_t i = 0; i < flow->edge_count; i++)
        if (flow->edges[i].to == step && edges_left[flow->edges[i].from] > 0)
            return flow->edges[i].from;
    return step;
}

/* Each of those that are left has an edge from another one: going back long enough leads into a circle. */
static enum err name_circle(const struct flow *flow, const size_t *edges_left, struct errctx *ec)
{
    bool seen[FLOW_STEPS_MAX] = {false};
    size_t at = 0, first;
    struct buf names = {0};
    enum err e;

    while (edges_left[at] == 0)
        at++;
    for (; !seen[at]; at = find_left(flow, at, edges_left))
        seen[at] = true;
    first = at;
    buf_puts(&names, flow->steps[first].name);
    do {
        at = find_left(flow, at, edges_left);
        buf_printf(&names, " <- %s", flow->steps[at].name);
    } while (at != first);
    e = err_set(ec, ERR_INPUT, "the edges make a circle: %.250s", buf_failed(&names) ? "" : names.data);
    buf_fini(&names);
    return e;
}

/* The edge's step is sorted: whether all that lead to its target are now. */
static bool pass_edge(struct flow *flow, const struct flow_edge *edge, size_t *edges_left)
{
    uint8_t *before = flow->before[edge->to];

    before[edge->from / 8] |= (uint8_t)(1 << edge->from % 8);
    for (size_t b = 0; b < sizeof *flow->before; b++)
        before[b] |= flow->before[edge->from][b];
    return --edges_left[edge->to] == 0;
}

enum err flow_sort_steps(struct flow *flow, struct errctx *ec)
{
    size_t edges_left[FLOW_STEPS_MAX] = {0}, count = 0;

    flow->order = calloc(flow->step_count, sizeof *flow->order);
    flow->before = calloc(flow->step_count, sizeof *flow->before);
    if (!flow->order || !flow->before)
        return err_set(ec, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < flow->edge_count; i++)
        edges_left[flow->edges[i].to]++;
    for (size_t i = 0; i < flow->step_count; i++)
        if (edges_left[i] == 0)
            flow->order[count++] = i;
    for (size_t at = 0; at < count; at++)
        for (size_t i = 0; i < flow->edge_count; i++)
            if (flow->edges[i].from == flow->order[at] && pass_edge(flow, &flow->edges[i], edges_left))
                flow->order[count++] = flow->edges[i].to;
    return count == flow->step_count ? ERR_OK : name_circle(flow, edges_left, ec);
}

/* SPDX-License-Identifier: MIT */
/* Who sees a flow and may do something with it, by the groups of all jobs that it leads to; and which of its steps. */
#include "admin/flows/reach.h"

#include <stdlib.h>
#include <string.h>

/* ---- rights ------------------------------------------------------------------------------------------------------ */

bool groups_are_seen(const int64_t *groups, size_t count, const struct actor *actor)
{
    if (actor_may(actor, RIGHT_SEE, 0))
        return true;
    for (size_t i = 0; i < count; i++)
        if (actor_may(actor, RIGHT_SEE, groups[i]))
            return true;
    return false;
}

bool groups_allow(const int64_t *groups, size_t count, const struct actor *actor, enum admin_right right)
{
    for (size_t i = 0; i < count; i++)
        if (!actor_may(actor, right, groups[i]))
            return false;
    return count > 0 || actor_may(actor, right, 0);
}

enum err reach_find_one_group(struct reach *reach, const struct reach_flow *flow, int64_t *out, struct errctx *ec)
{
    int64_t *groups = NULL;
    size_t count = 0;
    enum err e = reach_load_groups(reach, flow, &groups, &count, ec);

    *out = count == 1 ? groups[0] : 0;
    free(groups);
    return e;
}

enum err reach_refuse_unless_sees(struct reach *reach, const struct reach_flow *flow, const struct actor *actor,
                                  struct refusal *r)
{
    int64_t *groups = NULL;
    size_t count = 0;
    enum err e = refuse_error(r, reach_load_groups(reach, flow, &groups, &count, &r->text));

    if (!e && !groups_are_seen(groups, count, actor))
        e = refuse(r, REFUSED_RIGHT, NULL, "%s may not see any executor group of the flow", actor->name);
    free(groups);
    return e;
}

enum err reach_refuse_unless(struct reach *reach, const struct reach_flow *flow, const struct actor *actor,
                             enum admin_right right, struct refusal *r)
{
    int64_t *groups = NULL;
    size_t count = 0;
    enum err e = refuse_error(r, reach_load_groups(reach, flow, &groups, &count, &r->text));

    if (!e && count == 0)
        e = refuse_unless(actor, right, 0, r);
    for (size_t i = 0; i < count && !e; i++)
        e = refuse_unless(actor, right, groups[i], r);
    free(groups);
    return e;
}

/* ---- boxes ------------------------------------------------------------------------------------------------------- */

void flow_boxes_destroy(struct flow_box *boxes, size_t count)
{
    for (size_t i = 0; boxes && i < count; i++)
        free(boxes[i].job_name);
    free(boxes);
}

static enum err fill_box(struct reach *reach, const struct reach_step *step, const struct actor *actor,
                         struct flow_box *out, struct errctx *ec)
{
    const struct flow_job *job = step->job_id ? reach_find_job(reach, step->job_id) : NULL;
    const struct reach_flow *flow = step->runs;
    int64_t *groups = NULL;
    size_t count = 0;
    enum err e = ERR_OK;

    out->kind = step->kind;
    out->job_id = step->job_id;
    memcpy(out->name, step->name, sizeof out->name);
    if (job) {
        out->closed = !actor_may(actor, RIGHT_SEE, job->group);
        out->job_name = out->closed ? NULL : str_copy(job->name);
        return !out->closed && job->name && !out->job_name ? err_set(ec, ERR_NOMEM, "out of memory") : ERR_OK;
    }
    if (flow && flow->id) {
        e = reach_load_groups(reach, flow, &groups, &count, ec);
        out->closed = !e && !groups_are_seen(groups, count, actor);
        free(groups);
    }
    return e;
}

enum err reach_load_boxes(struct reach *reach, const struct reach_flow *flow, const struct actor *actor,
                          struct flow_box **out, struct errctx *ec)
{
    struct flow_box *boxes = calloc(flow->step_count + 1, sizeof *boxes);
    enum err e = boxes ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");

    for (size_t i = 0; i < flow->step_count && !e; i++)
        e = fill_box(reach, &flow->steps[i], actor, &boxes[i], ec);
    if (e)
        flow_boxes_destroy(boxes, flow->step_count);
    else
        *out = boxes;
    return e;
}

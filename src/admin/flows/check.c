/* SPDX-License-Identifier: MIT */
/* What is wrong with a document beside its own rules: jobs and flows that it names. */
#include "admin/flows/flows_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHERE_MAX 40

static void check_job(const struct reach *reach, const struct reach_step *step, size_t i, bool by_name,
                      struct flow_faults *faults)
{
    const struct flow_job *job = reach_find_job(reach, step->job_id);
    const char *route = job && job->route ? job->route : "not set";
    char where[WHERE_MAX];

    snprintf(where, sizeof where, "/steps/%zu/%s", i, by_name ? "job" : "jobId");
    if (!job)
        flow_add_fault(faults, where, "there is no job %" PRId64, step->job_id);
    else if (step->kind != FLOW_BROADCAST || strcmp(route, "SHARDING_BROADCAST") == 0)
        return;
    else if (by_name)
        flow_add_fault(faults, where, "%s is not a broadcast job: its routing strategy is %s",
                       job->name ? job->name : "the job", route);
    else
        flow_add_fault(faults, where, "job %" PRId64 " is not a broadcast job: its routing strategy is %s", job->id,
                       route);
}

static void check_flow(struct reach *reach, const struct reach_flow *own, const struct reach_step *step, size_t i,
                       int64_t own_id, struct flow_faults *faults)
{
    const struct reach_flow *flow = step->runs;
    char where[WHERE_MAX];

    snprintf(where, sizeof where, "/steps/%zu/flow", i);
    if (!flow || (flow->id == 0 && !flow->is_planned && flow != own))
        flow_add_fault(faults, where, "there is no flow \"%s\"", step->flow);
    else if (reach_leads_to(reach, flow, own->name, own_id))
        flow_add_fault(faults, where, "the flow \"%s\" leads back to this one", step->flow);
    else if (reach_get_depth(reach, flow) + 1 > FLOWS_DEEP_MAX)
        flow_add_fault(faults, where, "with the flow \"%s\", flows are nested more than %d levels deep", step->flow,
                       FLOWS_DEEP_MAX);
}

void flow_check_steps(struct reach *reach, const struct reach_flow *own, int64_t own_id, bool by_name,
                      struct flow_faults *faults)
{
    for (size_t i = 0; i < own->step_count; i++) {
        const struct reach_step *step = &own->steps[i];

        if (step->job_id)
            check_job(reach, step, i, by_name, faults);
        else if (step->kind == FLOW_FLOW)
            check_flow(reach, own, step, i, own_id, faults);
    }
}

enum err flow_check_document(struct reach *reach, const char *document, int64_t own_id, struct flow **flow,
                             const struct reach_flow **reached, struct flow_faults *faults, struct refusal *r)
{
    enum err e = flow_load(document, strlen(document), flow, faults, &r->text);

    if (e == ERR_INPUT)
        return ERR_OK;
    if (!e)
        e = reach_add_flow(reach, flow_get_name(*flow), own_id, 0, *flow, reached, &r->text);
    if (!e)
        e = reach_close(reach, &r->text);
    if (!e)
        flow_check_steps(reach, *reached, own_id, /*by_name=*/false, faults);
    return refuse_error(r, e);
}

void flow_verdict_fini(struct flow_verdict *v)
{
    free(v->groups);
    v->groups = NULL;
}

/* An id that the document's name has already: a flow that is checked before it is saved again. */
static enum err find_own_id(struct store_session *s, const char *document, int64_t *out, struct refusal *r)
{
    struct flow *flow = NULL;
    struct flow_rows rows = {0};
    const char *name;
    enum err e = flow_load(document, strlen(document), &flow, NULL, &r->text);

    *out = 0;
    if (!e) {
        name = flow_get_name(flow);
        e = store_load_flows_named(s, &name, 1, &rows, &r->text);
    }
    if (!e && rows.count > 0)
        *out = rows.rows[0].id;
    flow_rows_fini(&rows);
    flow_destroy(flow);
    return e == ERR_INPUT ? ERR_OK : refuse_error(r, e);
}

enum err admin_check_flow(struct admin *a, const struct actor *actor, const char *document, struct flow_verdict *out,
                          struct refusal *r)
{
    const struct reach_flow *reached = NULL;
    struct store_session *s = NULL;
    struct flow *flow = NULL;
    struct reach reach = {0};
    int64_t own_id = 0;
    enum err e = admin_enter_seeing(a, actor, &s, r);

    out->groups = NULL;
    out->group_count = 0;
    reach_init(&reach, s);
    if (!e)
        e = find_own_id(s, document, &own_id, r);
    if (!e)
        e = flow_check_document(&reach, document, own_id, &flow, &reached, &out->faults, r);
    if (!e && reached)
        e = reach_load_groups(&reach, reached, &out->groups, &out->group_count, &r->text);
    flow_destroy(flow);
    reach_fini(&reach);
    return admin_end(a, s, e, r);
}

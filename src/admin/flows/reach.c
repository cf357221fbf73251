/* SPDX-License-Identifier: MIT */
#include "admin/flows/reach.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_AT_ONCE 20 /* documents are up to 1 MB */

static enum err no_memory(struct errctx *ec)
{
    return err_set(ec, ERR_NOMEM, "out of memory");
}

void reach_init(struct reach *reach, struct store_session *s)
{
    *reach = (struct reach){.s = s};
}

static void destroy_flow(struct reach_flow *flow)
{
    free(flow->steps);
    free(flow->tags);
    free(flow);
}

void reach_fini(struct reach *reach)
{
    for (size_t i = 0; i < reach->count; i++)
        destroy_flow(reach->flows[i]);
    free(reach->flows);
    free(reach->by_name);
    flow_jobs_fini(&reach->jobs);
    *reach = (struct reach){0};
}

/* ---- adding ------------------------------------------------------------------------------------------------------ */

static int compare_name(const void *name, const void *flow)
{
    return strcmp(name, (*(struct reach_flow *const *)flow)->name);
}

/* Where the name is among by_name, or would be. */
static size_t find_place(const struct reach *reach, const char *name)
{
    return list_find_first(name, reach->by_name, reach->name_count, sizeof *reach->by_name, compare_name);
}

const struct reach_flow *reach_find(const struct reach *reach, const char *name)
{
    size_t at = find_place(reach, name);

    return at < reach->name_count && !strcmp(reach->by_name[at]->name, name) ? reach->by_name[at] : NULL;
}

/* The first one has the name. */
static void add_name(struct reach *reach, struct reach_flow *flow)
{
    size_t at = find_place(reach, flow->name);

    if (!flow->name[0] || reach_find(reach, flow->name))
        return;
    memmove(reach->by_name + at + 1, reach->by_name + at, (reach->name_count - at) * sizeof *reach->by_name);
    reach->by_name[at] = flow;
    reach->name_count++;
}

void reach_drop_name(struct reach *reach, struct reach_flow *flow)
{
    size_t at = find_place(reach, flow->name);

    if (reach_find(reach, flow->name) == flow) {
        reach->name_count--;
        memmove(reach->by_name + at, reach->by_name + at + 1, (reach->name_count - at) * sizeof *reach->by_name);
    }
    flow->name[0] = '\0';
    for (size_t i = 0; i < reach->count; i++)
        for (size_t k = 0; k < reach->flows[i]->step_count; k++)
            if (reach->flows[i]->steps[k].runs == flow)
                reach->flows[i]->steps[k].runs = NULL;
    reach->linked = reach->looked_up = 0;
}

static enum err append(struct reach *reach, const char *name, int64_t id, int64_t version, struct reach_flow **out,
                       struct errctx *ec)
{
    bool room = list_grow(&reach->flows, reach->count, sizeof(struct reach_flow *)) &&
                list_grow(&reach->by_name, reach->count, sizeof(struct reach_flow *));
    struct reach_flow *flow = room ? calloc(1, sizeof *flow) : NULL;

    if (!flow)
        return no_memory(ec);
    *flow = (struct reach_flow){.id = id, .version = version, .deep = -1};
    snprintf(flow->name, sizeof flow->name, "%s", name ? name : "");
    reach->flows[reach->count++] = flow;
    add_name(reach, flow);
    *out = flow;
    return ERR_OK;
}

static void take_steps(struct reach_flow *to, const struct flow *from)
{
    to->step_count = flow_count_steps(from);
    for (size_t i = 0; i < to->step_count; i++) {
        const struct flow_step *step = flow_get_step(from, i);
        bool runs_job = step->kind == FLOW_JOB || step->kind == FLOW_MAP || step->kind == FLOW_BROADCAST;

        to->steps[i].kind = step->kind;
        to->steps[i].job_id = runs_job ? step->job_id : 0;
        snprintf(to->steps[i].name, sizeof to->steps[i].name, "%s", step->name);
        if (step->kind == FLOW_FLOW)
            snprintf(to->steps[i].flow, sizeof to->steps[i].flow, "%s", step->flow);
    }
}

enum err reach_add_flow(struct reach *reach, const char *name, int64_t id, int64_t version, const struct flow *flow,
                        const struct reach_flow **out, struct errctx *ec)
{
    struct reach_flow *made = NULL;
    enum err e = append(reach, name, id, version, &made, ec);

    if (e || !flow) {
        *out = made;
        return e;
    }
    made->steps = calloc(flow_count_steps(flow) + 1, sizeof *made->steps);
    made->tags = str_copy(flow_get_settings(flow)->tags);
    made->deadline_s = flow_get_settings(flow)->deadline_s;
    if (!made->steps || !made->tags)
        return no_memory(ec);
    take_steps(made, flow);
    *out = made;
    return ERR_OK;
}

enum err reach_add(struct reach *reach, const char *name, int64_t id, int64_t version, const char *document,
                   const struct reach_flow **out, struct errctx *ec)
{
    struct flow *flow = NULL;
    enum err e = flow_load(document, strlen(document), &flow, NULL, ec);

    if (!e || e == ERR_INPUT)
        e = reach_add_flow(reach, name, id, version, flow, out, ec);
    flow_destroy(flow);
    return e;
}

/* ---- what they lead to ------------------------------------------------------------------------------------------- */

const struct reach_flow *reach_find_version(const struct reach *reach, int64_t id, int64_t version)
{
    for (size_t i = 0; i < reach->count; i++)
        if (reach->flows[i]->id == id && reach->flows[i]->version == version)
            return reach->flows[i];
    return NULL;
}

/* Gives steps the flows that they run; some names of flows that were not read yet are left, or none. */
static size_t link_steps(struct reach *reach, const char *names[NAMES_AT_ONCE])
{
    size_t count = 0;

    for (size_t i = reach->linked; i < reach->count && count < NAMES_AT_ONCE; i++) {
        for (size_t k = 0; k < reach->flows[i]->step_count && count < NAMES_AT_ONCE; k++) {
            struct reach_step *step = &reach->flows[i]->steps[k];

            if (step->flow[0] && !step->runs)
                step->runs = (struct reach_flow *)reach_find(reach, step->flow);
            if (step->flow[0] && !step->runs && !list_has_text(names, count, step->flow))
                names[count++] = step->flow;
        }
        if (count == 0)
            reach->linked = i + 1;
    }
    return count;
}

static enum err add_named(struct reach *reach, const char *const *names, size_t count, struct errctx *ec)
{
    struct flow_rows rows = {0};
    const struct reach_flow *made;
    enum err e = store_load_flows_named(reach->s, names, count, &rows, ec);

    for (size_t i = 0; i < rows.count && !e; i++)
        e = reach_add(reach, rows.rows[i].name, rows.rows[i].id, rows.rows[i].version, rows.rows[i].document, &made,
                      ec);
    for (size_t i = 0; i < count && !e; i++) /* so that it is not asked for again */
        if (!reach_find(reach, names[i]))
            e = reach_add_flow(reach, names[i], 0, 0, NULL, &made, ec);
    flow_rows_fini(&rows);
    return e;
}

static enum err load_jobs(struct reach *reach, struct errctx *ec)
{
    size_t count = 0, room = 1;
    int64_t *ids;

    for (size_t i = 0; i < reach->count; i++)
        room += reach->flows[i]->step_count;
    ids = calloc(room, sizeof *ids);
    if (!ids)
        return no_memory(ec);
    for (size_t i = 0; i < reach->count; i++)
        for (size_t k = 0; k < reach->flows[i]->step_count; k++)
            if (reach->flows[i]->steps[k].job_id)
                ids[count++] = reach->flows[i]->steps[k].job_id;
    flow_jobs_fini(&reach->jobs);
    count = sort_distinct(ids, count);
    enum err e = store_load_flow_jobs(reach->s, ids, count, &reach->jobs, ec);
    free(ids);
    return e;
}

enum err reach_close(struct reach *reach, struct errctx *ec)
{
    const char *names[NAMES_AT_ONCE];
    enum err e = ERR_OK;
    size_t missing;

    if (reach->looked_up == reach->count)
        return ERR_OK;
    while (!e && (missing = link_steps(reach, names)) > 0)
        e = add_named(reach, names, missing, ec);
    if (!e)
        e = load_jobs(reach, ec);
    if (!e)
        reach->looked_up = reach->count;
    return e;
}

const struct flow_job *reach_find_job(const struct reach *reach, int64_t id)
{
    const struct flow_job *planned = list_find(reach->planned, reach->planned_count, sizeof *planned, id);

    return planned ? planned : list_find(reach->jobs.items, reach->jobs.count, sizeof *reach->jobs.items, id);
}

/* ---- walks ------------------------------------------------------------------------------------------------------- */

/* All that this one leads to, each once, itself first; free with free. */
static enum err walk(struct reach *reach, const struct reach_flow *from, struct reach_flow ***out, size_t *count,
                     struct errctx *ec)
{
    struct reach_flow **queue = calloc(reach->count + 1, sizeof *queue);
    size_t at = 0, end = 0;

    if (!queue)
        return no_memory(ec);
    reach->walk++;
    queue[end++] = (struct reach_flow *)from;
    queue[0]->seen = reach->walk;
    for (; at < end; at++) {
        for (size_t k = 0; k < queue[at]->step_count; k++) {
            struct reach_flow *next = queue[at]->steps[k].runs;

            if (!next || next->seen == reach->walk)
                continue;
            next->seen = reach->walk;
            queue[end++] = next;
        }
    }
    *out = queue;
    *count = end;
    return ERR_OK;
}

enum err reach_load_job_ids(struct reach *reach, const struct reach_flow *flow, int64_t **out, size_t *count,
                            struct errctx *ec)
{
    struct reach_flow **flows = NULL;
    size_t flow_count = 0, room = 1, found = 0;
    int64_t *ids = NULL;
    enum err e = walk(reach, flow, &flows, &flow_count, ec);

    for (size_t i = 0; i < flow_count; i++)
        room += flows[i]->step_count;
    if (!e && !(ids = calloc(room, sizeof *ids)))
        e = no_memory(ec);
    for (size_t i = 0; i < flow_count && !e; i++)
        for (size_t k = 0; k < flows[i]->step_count; k++)
            if (flows[i]->steps[k].job_id)
                ids[found++] = flows[i]->steps[k].job_id;
    free(flows);
    if (e)
        return e;
    *count = sort_distinct(ids, found);
    *out = ids;
    return ERR_OK;
}

enum err reach_load_groups(struct reach *reach, const struct reach_flow *flow, int64_t **out, size_t *count,
                           struct errctx *ec)
{
    size_t found = 0;
    enum err e = reach_load_job_ids(reach, flow, out, count, ec);

    if (e)
        return e;
    for (size_t i = 0; i < *count; i++) {
        const struct flow_job *job = reach_find_job(reach, (*out)[i]);

        if (job)
            (*out)[found++] = job->group;
    }
    *count = sort_distinct(*out, found);
    return ERR_OK;
}

enum err reach_load_versions(const struct reach *reach, int64_t but_id, struct flow_version **out, size_t *count,
                             struct errctx *ec)
{
    struct flow_version *list = calloc(reach->count + 1, sizeof *list);
    size_t n = 0;

    if (!list)
        return no_memory(ec);
    for (size_t i = 0; i < reach->count; i++)
        if (reach->flows[i]->id && reach->flows[i]->id != but_id)
            list[n++] = (struct flow_version){reach->flows[i]->id, (int)reach->flows[i]->version, 0};
    *out = list;
    *count = n;
    return ERR_OK;
}

bool reach_leads_to(struct reach *reach, const struct reach_flow *from, const char *name, int64_t id)
{
    struct reach_flow **flows = NULL;
    struct errctx ec;
    size_t count = 0;
    bool found = false;

    if (walk(reach, from, &flows, &count, &ec))
        return true;
    for (size_t i = 0; i < count; i++)
        found |= (id && flows[i]->id == id) || !strcmp(flows[i]->name, name);
    free(flows);
    return found;
}

/* A circle is as deep as can be: only flows that were saved at once make one. */
static int find_depth(struct reach_flow *flow, int above)
{
    int deep = 0;

    if (flow->deep >= 0)
        return flow->deep;
    if (flow->deep == -2 || above > FLOWS_DEEP_MAX + 1)
        return FLOWS_DEEP_MAX + 1;
    flow->deep = -2;
    for (size_t k = 0; k < flow->step_count; k++) {
        struct reach_flow *next = flow->steps[k].runs;
        int below = next ? find_depth(next, above + 1) + 1 : 0;

        deep = below > deep ? below : deep;
    }
    flow->deep = deep;
    return deep;
}

int reach_get_depth(struct reach *reach, const struct reach_flow *flow)
{
    for (size_t i = 0; i < reach->count; i++)
        reach->flows[i]->deep = -1;
    return find_depth((struct reach_flow *)flow, 0);
}

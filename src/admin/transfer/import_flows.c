/* SPDX-License-Identifier: MIT */
#include "admin/transfer/import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin/flows/flows_impl.h"

#define TOLD_FAULTS 10 /* of one flow */

/* A flow of the document. */
struct flow_plan {
    const struct transfer_flow *wanted;
    struct flow_portable *portable;
    struct flow_faults faults;
    char *document;            /* with ids; NULL: not yet */
    struct reach_flow *future; /* in the reach; NULL: its document cannot be read */
    bool has_schedule;
    bool done;

    int64_t id, version; /* 0: there is none of that name yet */
    bool started, same;
};

struct flow_plans {
    struct flow_plan *plans; /* as in the document */
    size_t count;
    struct reach reach;    /* of the flows as they will be */
    struct flow_job *jobs; /* of the document as they will be, where they differ: of a dry run */
    size_t job_count;
};

static enum err refuse_memory(struct refusal *r)
{
    return refuse(r, REFUSED_BROKEN, NULL, "out of memory for the import");
}

enum err flow_plans_load(const struct transfer *document, struct flow_plans **out, struct refusal *r)
{
    struct flow_plans *p = calloc(1, sizeof *p);
    enum err e = ERR_OK;

    if (!p || !(p->plans = calloc(document->flow_count + 1, sizeof *p->plans))) {
        free(p);
        return refuse_memory(r);
    }
    p->count = document->flow_count;
    for (size_t i = 0; i < p->count && !e; i++) {
        p->plans[i].wanted = &document->flows[i];
        e = flow_load_portable(document->flows[i].document, &p->plans[i].portable, &p->plans[i].faults, &r->text);
    }
    if (e)
        flow_plans_destroy(p);
    else
        *out = p;
    return refuse_error(r, e);
}

void flow_plans_destroy(struct flow_plans *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->count; i++) {
        flow_destroy_portable(p->plans[i].portable);
        free(p->plans[i].document);
    }
    reach_fini(&p->reach);
    free(p->jobs);
    free(p->plans);
    free(p);
}

bool flow_plans_name(const struct flow_plans *p, const char *app_name)
{
    for (size_t i = 0; i < p->count; i++) {
        size_t count;
        const struct flow_job_name *names = flow_get_job_names(p->plans[i].portable, &count);

        for (size_t k = 0; k < count; k++)
            if (!strcmp(names[k].app_name, app_name))
                return true;
    }
    return false;
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

/* Of a job that a dry run does not make. */
static int64_t stand_in_id(size_t job)
{
    return INT32_MAX - (int64_t)job;
}

static enum err plan_jobs(struct importing *im, struct refusal *r)
{
    const struct transfer *d = im->document;
    struct flow_plans *p = im->flows;

    p->jobs = calloc(d->job_count + 1, sizeof *p->jobs);
    if (!p->jobs)
        return refuse_memory(r);
    for (size_t i = 0; im->dry_run && i < d->job_count; i++) {
        const struct transfer_item *item = &im->result.jobs[i];
        const struct group_info *group = NULL;

        if (item->outcome != TRANSFER_CREATE && item->outcome != TRANSFER_CHANGE)
            continue;
        transfer_index_find_group(&im->index, d->jobs[i].app_name, &group);
        p->jobs[p->job_count++] = (struct flow_job){.id = item->id ? item->id : stand_in_id(i),
                                                    .group = group ? group->id : 0,
                                                    .name = d->jobs[i].row.name,
                                                    .route = d->jobs[i].row.route};
    }
    qsort(p->jobs, p->job_count, sizeof *p->jobs, compare_int64);
    p->reach.planned = p->jobs;
    p->reach.planned_count = p->job_count;
    return ERR_OK;
}

static void find_jobs(struct importing *im, struct flow_plan *plan)
{
    size_t count;
    struct flow_job_name *names = flow_get_job_names(plan->portable, &count);

    for (size_t i = 0; i < count; i++) {
        struct flow_job_name *name = &names[i];
        char where[40];
        size_t found = transfer_index_find_job(&im->index, name->app_name, name->name, &name->id), made;

        snprintf(where, sizeof where, "/steps/%zu/job", name->step);
        if (!found)
            name->id = im->dry_run && import_makes_job(im, name->app_name, name->name, &made) ? stand_in_id(made) : 0;
        if (found > 1)
            flow_add_fault(&plan->faults, where, "%zu jobs are called %s/%s", found, name->app_name, name->name);
        else if (!name->id)
            flow_add_fault(&plan->faults, where, "there is no job %s/%s", name->app_name, name->name);
    }
}

/* ---- as they will be --------------------------------------------------------------------------------------------- */

/* Into the reach, where its document can be read. */
static enum err plan_flow(struct importing *im, struct flow_plan *plan, struct errctx *ec)
{
    const struct reach_flow *future = NULL;
    struct flow *flow = NULL;
    struct buf text = {0};
    enum err e;

    if (plan->faults.count > 0)
        return ERR_OK;
    find_jobs(im, plan);
    if (plan->faults.count > 0)
        return ERR_OK;
    e = flow_put_with_ids(&text, plan->portable, ec);
    if (!e) {
        plan->document = text.data;
        text.data = NULL;
        e = flow_load(plan->document, text.len, &flow, &plan->faults, ec);
    }
    if (!e && strcmp(flow_get_name(flow), plan->wanted->name) != 0)
        flow_add_fault(&plan->faults, "/name", "the member occurs twice");
    else if (!e)
        e = reach_add_flow(&im->flows->reach, flow_get_name(flow), 0, 0, flow, &future, ec);
    if (future) {
        plan->future = (struct reach_flow *)future;
        plan->future->is_planned = true;
        plan->has_schedule = flow_has_schedule(flow_get_settings(flow));
    }
    flow_destroy(flow);
    buf_fini(&text);
    return e == ERR_INPUT ? ERR_OK : e;
}

/* What is there by its name, and whether the actor may change it. */
static enum err find_now(struct importing *im, struct flow_plan *plan, struct transfer_item *item, char **document,
                         struct refusal *r)
{
    const char *name = plan->wanted->name;
    const struct reach_flow *now;
    struct flow_rows rows = {0};
    struct reach reach;
    enum err e = store_load_flows_named(im->session, &name, 1, &rows, &r->text);

    reach_init(&reach, im->session);
    if (!e && rows.count > 0) {
        const struct flow_row *row = &rows.rows[0];

        plan->id = row->id;
        plan->version = row->version;
        plan->started = row->started;
        *document = str_copy(row->document);
        e = reach_add(&reach, row->name, row->id, row->version, row->document, &now, &r->text);
        if (!e)
            e = reach_close(&reach, &r->text);
        if (!e)
            e = reach_refuse_unless(&reach, now, im->actor, RIGHT_CHANGE, r);
        item->id = e ? 0 : row->id;
    }
    reach_fini(&reach);
    flow_rows_fini(&rows);
    return flow_refuse_error(r, e);
}

/* ---- what differs ------------------------------------------------------------------------------------------------ */

static const char *find_app_name(const struct importing *im, int64_t group)
{
    for (size_t i = 0; i < im->index.groups.count; i++)
        if (im->index.groups.items[i].id == group)
            return im->index.groups.items[i].app_name;
    return NULL;
}

/* The saved document by names, as far as they are known. */
static enum err put_named(struct importing *im, const char *document, struct buf *out, struct errctx *ec)
{
    struct flow_job_name names[FLOW_STEPS_MAX];
    const struct reach_flow *flow = NULL;
    size_t count = 0;
    struct reach reach;
    enum err e;

    reach_init(&reach, im->session);
    e = reach_add(&reach, NULL, 0, 0, document, &flow, ec);
    if (!e)
        e = reach_close(&reach, ec);
    for (size_t i = 0; !e && i < reach.jobs.count && count < FLOW_STEPS_MAX; i++) {
        const struct flow_job *job = &reach.jobs.items[i];
        const char *app_name = find_app_name(im, job->group);

        if (app_name && job->name)
            names[count++] = (struct flow_job_name){.id = job->id, .app_name = app_name, .name = job->name};
    }
    if (!e)
        e = flow_put_with_names(out, document, names, count, ec);
    reach_fini(&reach);
    return e;
}

/* The lines of flow_put_diff. */
static void put_lines(struct buf *out, char *lines)
{
    member_list(out, "changes");
    for (char *line, *rest = lines; (line = strsep(&rest, "\n")) != NULL;)
        if (line[0])
            member_text(out, NULL, line);
    member_list_end(out);
}

static enum err show_change(struct importing *im, const struct flow_plan *plan, const char *now, bool switches,
                            struct transfer_item *item, struct refusal *r)
{
    struct buf named = {0}, lines = {0}, before = {0}, after = {0};
    const char *wanted = plan->wanted->document;
    enum err e = ERR_OK;

    member_object(&before, NULL);
    member_object(&after, NULL);
    buf_append(&lines, "", 0);
    if (plan->id && !plan->same) {
        e = put_named(im, now, &named, &r->text);
        if (!e)
            e = flow_put_diff(&lines, named.data, named.len, wanted, strlen(wanted), &r->text);
        member_int(&before, "version", plan->version);
    }
    if (!plan->same) {
        member_int(&after, "version", plan->version + 1);
        if (plan->id && !e && lines.data)
            put_lines(&after, lines.data);
    }
    if (switches) {
        member_bool(&before, "running", plan->started);
        member_bool(&after, "running", !plan->started);
    }
    member_object_end(&before);
    member_object_end(&after);
    if (!e && (buf_failed(&lines) || buf_failed(&before) || buf_failed(&after)))
        e = refuse_memory(r);
    if (!e)
        import_keep_diff(item, plan->id ? before.data : NULL, after.data);
    buf_fini(&named);
    buf_fini(&lines);
    buf_fini(&before);
    buf_fini(&after);
    return refuse_error(r, e);
}

/* ---- one after the other ----------------------------------------------------------------------------------------- */

static enum err save(struct importing *im, struct flow_plan *plan, bool switches, struct transfer_item *item,
                     struct refusal *r)
{
    enum err e = ERR_OK;

    if (!plan->id)
        e = admin_add_flow(im->admin, im->actor, plan->document, &item->id, &plan->faults, r);
    else if (!plan->same)
        e = admin_update_flow(im->admin, im->actor, plan->id, plan->version, plan->document, &plan->faults, r);
    if (!e && switches)
        e = admin_set_flow_started(im->admin, im->actor, item->id, plan->wanted->running, r);
    return e;
}

static enum err try_flow(struct importing *im, struct flow_plan *plan, struct transfer_item *item, struct refusal *r)
{
    char *now = NULL;
    bool switches;
    enum err e = find_now(im, plan, item, &now, r);

    if (!e && plan->future && plan->faults.count == 0)
        flow_check_steps(&im->flows->reach, plan->future, 0, /*by_name=*/true, &plan->faults);
    if (!e)
        e = flow_refuse_faults(&plan->faults, r);
    if (!e)
        e = reach_refuse_unless(&im->flows->reach, plan->future, im->actor, RIGHT_CHANGE, r);
    if (!e && plan->wanted->running == 1 && !plan->has_schedule)
        e = refuse(r, REFUSED_STATE, "running", "the flow has no schedule");
    plan->same = now && plan->document && flow_is_same_document(now, plan->document);
    switches = plan->wanted->running >= 0 && plan->wanted->running != plan->started;
    item->outcome = !plan->id ? TRANSFER_CREATE : plan->same && !switches ? TRANSFER_SAME : TRANSFER_CHANGE;
    if (!e && item->outcome != TRANSFER_SAME)
        e = show_change(im, plan, now, switches, item, r);
    free(now);
    return e || im->dry_run ? e : save(im, plan, switches, item, r);
}

/* All faults, where there are several. */
static void tell_faults(const struct flow_faults *faults, struct transfer_item *item)
{
    size_t told = faults->count < TOLD_FAULTS ? faults->count : TOLD_FAULTS;
    struct buf text = {0};

    for (size_t i = 0; i < told; i++)
        buf_printf(&text, "%s%s%s%s", i ? "; " : "", faults->list[i].where, faults->list[i].where[0] ? ": " : "",
                   faults->list[i].text);
    if (faults->count > told)
        buf_printf(&text, "; and %zu more", faults->count - told);
    if (buf_failed(&text)) {
        buf_fini(&text);
        return;
    }
    free(item->text);
    item->text = text.data;
}

/* Those that run it look at what is there. */
static enum err put_back(struct importing *im, struct flow_plan *plan, struct refusal *r)
{
    if (!plan->future)
        return ERR_OK; /* the reach has it as it is */
    reach_drop_name(&im->flows->reach, plan->future);
    return refuse_error(r, reach_close(&im->flows->reach, &r->text));
}

static void import_flow(struct importing *im, struct flow_plan *plan, struct transfer_item *item)
{
    struct refusal why = {0}, again = {0};
    enum err e = try_flow(im, plan, item, &why);

    import_end_item(item, e, &why);
    if (!e)
        return;
    if (why.kind == REFUSED_INVALID && plan->faults.count > 0)
        tell_faults(&plan->faults, item);
    import_end_item(item, put_back(im, plan, &again), &again);
}

static struct flow_plan *find_plan(struct flow_plans *p, const char *name)
{
    for (size_t i = 0; i < p->count; i++)
        if (!strcmp(p->plans[i].wanted->name, name))
            return &p->plans[i];
    return NULL;
}

/* Those that it runs, then itself. One that leads back to itself is refused. */
static void import_in_order(struct importing *im, struct flow_plan *plan)
{
    plan->done = true;
    for (size_t i = 0; plan->future && i < plan->future->step_count; i++) {
        const struct reach_step *step = &plan->future->steps[i];
        struct flow_plan *before = step->flow[0] ? find_plan(im->flows, step->flow) : NULL;

        if (before && !before->done)
            import_in_order(im, before);
    }
    if (!import_is_over(im))
        import_flow(im, plan, &im->result.flows[plan - im->flows->plans]);
}

void import_flows(struct importing *im)
{
    struct flow_plans *p = im->flows;
    struct refusal why = {0};
    enum err e;

    if (p->count == 0)
        return;
    reach_init(&p->reach, im->session);
    e = refuse_unless_somewhere(im->actor, RIGHT_CHANGE, &why);
    if (!e)
        e = plan_jobs(im, &why);
    for (size_t i = 0; i < p->count && !e && !import_is_over(im); i++)
        e = refuse_error(&why, plan_flow(im, &p->plans[i], &why.text));
    if (!e)
        e = refuse_error(&why, reach_close(&p->reach, &why.text));
    for (size_t i = 0; i < p->count && !e && !import_is_over(im); i++)
        if (p->plans[i].future) /* all together: which of them are in a circle */
            flow_check_steps(&p->reach, p->plans[i].future, 0, /*by_name=*/true, &p->plans[i].faults);
    for (size_t i = 0; i < p->count && !import_is_over(im); i++) {
        if (e)
            import_end_item(&im->result.flows[i], e, &why);
        else if (!p->plans[i].done)
            import_in_order(im, &p->plans[i]);
    }
}

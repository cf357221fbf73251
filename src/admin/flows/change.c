/* SPDX-License-Identifier: MIT */
/* Flows, changed: what is decided under the lock of the flow's row. */
#include "admin/flows/flows_impl.h"
#include "shardwheel/schedule.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define START_AHEAD_MS 5000 /* as with jobs */
#define CRON_YEARS 100
#define REMOVE_MS 2000
#define CALLERS_AT_ONCE 20

/* ---- documents with faults --------------------------------------------------------------------------------------- */

enum err flow_refuse_faults(const struct flow_faults *faults, struct refusal *r)
{
    if (faults->count == 0)
        return ERR_OK;
    return refuse(r, REFUSED_INVALID, "document", "%s%s%s", faults->list[0].where, faults->list[0].where[0] ? ": " : "",
                  faults->list[0].text);
}

static enum err refuse_name(struct refusal *r, enum err e)
{
    if (e == ERR_STATE && r->kind == REFUSED_NOT)
        return refuse(r, REFUSED_TAKEN, "document", "%s", r->text.text);
    return flow_refuse_error(r, e);
}

/* ---- adding ------------------------------------------------------------------------------------------------------ */

static enum err add_flow(struct reach *reach, const struct actor *actor, const struct reach_flow *flow,
                         const char *document, int64_t *id, struct refusal *r)
{
    struct audit_diff diff;
    int64_t group = 0;
    enum err e = reach_find_one_group(reach, flow, &group, &r->text);

    audit_begin(&diff, AUDIT_ADDED);
    audit_text(&diff, "document", NULL, document);
    const struct audit_row *row = audit_end(&diff, actor, "flow.create", 0, flow->name, group);
    if (!e)
        e = refuse_name(r, store_add_flow(reach->s, flow->name, document, actor->name, row, id, &r->text));
    audit_fini(&diff);
    return e;
}

enum err admin_add_flow(struct admin *a, const struct actor *actor, const char *document, int64_t *id,
                        struct flow_faults *faults, struct refusal *r)
{
    const struct reach_flow *reached = NULL;
    struct store_session *s = NULL;
    struct flow *flow = NULL;
    struct reach reach = {0};
    enum err e = refuse_unless_somewhere(actor, RIGHT_CHANGE, r);

    faults->count = 0;
    if (!e)
        e = admin_take_session(a, &s, r);
    reach_init(&reach, s);
    if (!e)
        e = flow_check_document(&reach, document, 0, &flow, &reached, faults, r);
    if (!e)
        e = flow_refuse_faults(faults, r);
    if (!e)
        e = reach_refuse_unless(&reach, reached, actor, RIGHT_CHANGE, r);
    if (!e)
        e = add_flow(&reach, actor, reached, document, id, r);
    flow_destroy(flow);
    reach_fini(&reach);
    return admin_end(a, s, e, r);
}

/* ---- a change ---------------------------------------------------------------------------------------------------- */

struct change_call {
    struct admin *admin;
    const struct actor *actor;
    const struct flow_row *read; /* as it was when rights were looked at */
    int64_t group;               /* of the audit row */
    int64_t version;             /* of an update: which must be the newest */
    const char *document;
    const struct flow *flow; /* of an update: that document */
    bool start;
    struct store_session *alone_in;    /* NULL, or: if it gets another name, or none, nobody may run it as a step */
    const struct flow_version *others; /* see struct flow_change */
    size_t other_count;
    struct audit_diff diff;
    struct refusal *r;
    enum err (*act)(struct change_call *call, const struct flow_now *now, struct flow_change *out, struct errctx *ec);
};

static enum err find_callers(struct store_session *s, const char *name, int64_t id, struct refusal *r);

static bool renames(const struct change_call *call)
{
    return !call->flow || strcmp(call->read->name, flow_get_name(call->flow)) != 0;
}

/* Rights were looked at with another version: the caller begins anew. Who runs the flow is looked at here: whoever
 * begins to has its row locked (`others`), and has ended. */
static enum err decide(void *arg, const struct flow_now *now, struct flow_change *out, struct errctx *ec)
{
    struct change_call *call = arg;

    if (now->row.version != call->read->version)
        return err_set(ec, ERR_CONFLICT, "flow %" PRId64 " has a new version", now->row.id);
    out->who = call->actor->name;
    out->others = call->others;
    out->other_count = call->other_count;
    audit_fini(&call->diff);
    enum err e = ERR_OK;
    if (call->alone_in && renames(call))
        e = find_callers(call->alone_in, call->read->name, call->read->id, call->r);
    if (!e)
        e = call->act(call, now, out, ec);
    if (!e && audit_differs(&call->diff))
        out->audit = &call->diff.row;
    return e;
}

/* One try, with rights looked at anew. `callers`: nobody may run it as a step. */
struct change_plan {
    struct change_call call;
    enum admin_right right;
    int64_t id;
    struct flow_faults *faults; /* of an update */
};

static enum err try_change(struct change_plan *plan, struct store_session *s, bool alone, struct refusal *r)
{
    const struct reach_flow *old = NULL, *new = NULL;
    struct flow_rows rows = {0};
    struct reach reach, with;
    struct flow_version *others = NULL;
    struct flow *flow = NULL;
    size_t other_count = 0;
    enum err e;

    reach_init(&reach, s);
    reach_init(&with, s);
    e = flow_find(&reach, plan->id, &rows, &old, r);
    if (!e)
        e = reach_refuse_unless(&reach, old, plan->call.actor, plan->right, r);
    if (!e && plan->call.document) {
        e = flow_check_document(&with, plan->call.document, plan->id, &flow, &new, plan->faults, r);
        if (!e)
            e = flow_refuse_faults(plan->faults, r);
        if (!e)
            e = reach_refuse_unless(&with, new, plan->call.actor, plan->right, r);
    }
    if (!e) {
        e = refuse_error(r, new ? reach_find_one_group(&with, new, &plan->call.group, &r->text)
                                : reach_find_one_group(&reach, old, &plan->call.group, &r->text));
        plan->call.read = &rows.rows[0];
        plan->call.flow = flow;
        plan->call.alone_in = alone ? s : NULL;
    }
    if (!e && flow)
        e = refuse_error(r, reach_load_versions(&with, plan->id, &others, &other_count, &r->text));
    plan->call.others = others;
    plan->call.other_count = other_count;
    if (!e)
        e = store_change_flow(s, plan->id, decide, &plan->call, &r->text);
    free(others);
    flow_destroy(flow);
    flow_rows_fini(&rows);
    reach_fini(&with);
    reach_fini(&reach);
    return e;
}

static enum err run_change(struct change_plan *plan, bool alone, struct refusal *r)
{
    struct admin *a = plan->call.admin;
    struct store_session *s = NULL;
    enum err e = admin_take_session(a, &s, r);

    plan->call.r = r;
    if (!e) {
        int tries = FLOW_TRIES;

        do {
            errctx_clear(&r->text);
            e = try_change(plan, s, alone, r);
        } while (e == ERR_CONFLICT && r->kind == REFUSED_NOT && --tries > 0);
    }
    audit_fini(&plan->call.diff);
    return admin_end(a, s, plan->call.document ? refuse_name(r, e) : flow_refuse_error(r, e), r);
}

/* ---- who runs it as a step --------------------------------------------------------------------------------------- */

/* One that this release cannot read runs nothing. */
static enum err refuse_caller(const struct flow_row *row, const char *name, struct refusal *r)
{
    struct refusal unread = {0};
    struct flow *flow = NULL;
    enum err e = ERR_OK;

    if (flow_load_saved(row->document, &flow, &unread))
        return ERR_OK;
    for (size_t i = 0; !e && i < flow_count_steps(flow); i++) {
        const struct flow_step *step = flow_get_step(flow, i);

        if (step->kind == FLOW_FLOW && !strcmp(step->flow, name))
            e = refuse(r, REFUSED_IN_USE, NULL, "the flow \"%s\" runs it as a step", row->name);
    }
    flow_destroy(flow);
    return e;
}

static enum err find_callers(struct store_session *s, const char *name, int64_t id, struct refusal *r)
{
    char quoted[FLOW_NAME_MAX + 3];
    int64_t after_id = 0;
    bool more = true;
    enum err e = ERR_OK;

    snprintf(quoted, sizeof quoted, "\"%s\"", name);
    while (!e && more) {
        struct flow_rows rows = {0};

        e = refuse_error(r, store_list_flows_with(s, quoted, after_id, CALLERS_AT_ONCE, &rows, &r->text));
        for (size_t i = 0; i < rows.count && !e; i++) {
            after_id = rows.rows[i].id;
            e = rows.rows[i].id == id ? ERR_OK : refuse_caller(&rows.rows[i], name, r);
        }
        more = rows.count == CALLERS_AT_ONCE;
        flow_rows_fini(&rows);
    }
    return e;
}

/* ---- when it is due ---------------------------------------------------------------------------------------------- */

/* ERR_NOTFOUND, ERR_INPUT as schedule_find_next. */
static enum err find_next(const struct admin *a, const struct flow *flow, int64_t now_ms, int64_t *next_s,
                          struct errctx *ec)
{
    const struct zone *zone = NULL;
    struct zone *own = NULL;
    struct job_due due;
    int64_t next_ms = 0;
    char conf[FLOW_CONF_MAX];
    enum err e = admin_take_zone(a, flow_get_settings(flow)->zone, &own, &zone, ec);

    flow_make_due(flow_get_settings(flow), conf, &due);
    if (!e)
        e = schedule_find_next(&due, zone, zone_to_civil(zone, time_floor_div(now_ms, 1000)).year + CRON_YEARS,
                               now_ms + START_AHEAD_MS, &next_ms, ec);
    if (!e)
        *next_s = time_floor_div(next_ms, 1000);
    zone_destroy(own);
    return e;
}

static bool have_same_times(const struct flow_settings *a, const struct flow_settings *b)
{
    return is_same_text(a->cron, b->cron) && a->every_s == b->every_s && a->delay_s == b->delay_s &&
           is_same_text(a->zone, b->zone) && a->from_s == b->from_s && a->until_s == b->until_s;
}

/* ---- updates ----------------------------------------------------------------------------------------------------- */

/* A flow that is started stays so, while it has a schedule; one that has no next time is due never again. */
static enum err renew_next(struct change_call *call, const struct flow_now *now, struct flow_change *out,
                           struct errctx *ec)
{
    const struct flow_settings *set = flow_get_settings(call->flow);
    struct flow *old = NULL;
    bool same = false;
    enum err e;

    out->started = now->row.started && flow_has_schedule(set);
    if (!out->started) {
        out->next_s = 0;
        return ERR_OK;
    }
    if (!flow_load_saved(now->row.document, &old, call->r))
        same = have_same_times(flow_get_settings(old), set);
    flow_destroy(old);
    *call->r = (struct refusal){0};
    if (same)
        return ERR_OK;
    out->next_s = 0;
    e = find_next(call->admin, call->flow, now->now_ms, &out->next_s, ec);
    return e == ERR_NOTFOUND ? ERR_OK : e;
}

static enum err act_update(struct change_call *call, const struct flow_now *now, struct flow_change *out,
                           struct errctx *ec)
{
    bool same = flow_is_same_document(now->row.document, call->document);
    enum err e;

    audit_begin(&call->diff, AUDIT_CHANGED);
    if (now->row.version != call->version)
        return refuse(call->r, REFUSED_CHANGED, "version", "version %" PRId64 " is now the newest one",
                      now->row.version);
    e = renew_next(call, now, out, ec);
    if (e || same)
        return e;
    out->document = call->document;
    out->name = flow_get_name(call->flow);
    audit_int(&call->diff, "version", now->row.version, now->row.version + 1);
    audit_text(&call->diff, "document", now->row.document, call->document);
    audit_bool(&call->diff, "started", now->row.started, out->started);
    audit_end(&call->diff, call->actor, "flow.update", now->row.id, out->name, call->group);
    return ERR_OK;
}

enum err admin_update_flow(struct admin *a, const struct actor *actor, int64_t id, int64_t version,
                           const char *document, struct flow_faults *faults, struct refusal *r)
{
    struct change_plan plan = {
        .call = {.admin = a, .actor = actor, .version = version, .document = document, .act = act_update},
        .right = RIGHT_CHANGE,
        .id = id,
        .faults = faults};

    faults->count = 0;
    return run_change(&plan, /*alone=*/true, r);
}

/* ---- start, stop ------------------------------------------------------------------------------------------------- */

static enum err start_schedule(struct change_call *call, const struct flow_now *now, struct flow_change *out,
                               struct errctx *ec)
{
    struct flow *flow = NULL;
    enum err e = flow_load_saved(now->row.document, &flow, call->r);

    if (!e && !flow_has_schedule(flow_get_settings(flow)))
        e = refuse(call->r, REFUSED_STATE, "schedule", "the flow has no schedule");
    if (!e) {
        e = find_next(call->admin, flow, now->now_ms, &out->next_s, ec);
        if (e == ERR_NOTFOUND || e == ERR_INPUT)
            e = refuse(call->r, REFUSED_STATE, "schedule", "schedule: there is no next time: %s", ec->text);
    }
    flow_destroy(flow);
    return e;
}

static enum err act_switch(struct change_call *call, const struct flow_now *now, struct flow_change *out,
                           struct errctx *ec)
{
    enum err e = ERR_OK;

    audit_begin(&call->diff, AUDIT_CHANGED);
    out->started = call->start;
    out->next_s = 0;
    if (call->start)
        e = start_schedule(call, now, out, ec);
    if (e)
        return e;
    audit_bool(&call->diff, "started", now->row.started, call->start);
    audit_end(&call->diff, call->actor, call->start ? "flow.start" : "flow.stop", now->row.id, now->row.name,
              call->group);
    return ERR_OK;
}

enum err admin_set_flow_started(struct admin *a, const struct actor *actor, int64_t id, bool started, struct refusal *r)
{
    struct change_plan plan = {
        .call = {.admin = a, .actor = actor, .start = started, .act = act_switch}, .right = RIGHT_CHANGE, .id = id};

    return run_change(&plan, /*alone=*/false, r);
}

/* ---- removal ----------------------------------------------------------------------------------------------------- */

static enum err act_remove(struct change_call *call, const struct flow_now *now, struct flow_change *out,
                           struct errctx *ec)
{
    (void)ec;
    audit_begin(&call->diff, AUDIT_REMOVED);
    if (now->open_runs > 0)
        return refuse(call->r, REFUSED_STATE, NULL, "%" PRId64 " of its runs are still open", now->open_runs);
    out->remove = true;
    audit_text(&call->diff, "document", now->row.document, NULL);
    audit_end(&call->diff, call->actor, "flow.delete", now->row.id, now->row.name, call->group);
    return ERR_OK;
}

/* The flow is gone already: what fails here is done by a node later. */
static void remove_runs(struct admin *a, int64_t id)
{
    int64_t end_ms = clock_mono_ms(a->clock) + REMOVE_MS;
    struct store_session *s = NULL;
    struct refusal r;
    bool more = true;

    if (admin_take_session(a, &s, &r))
        return;
    while (more && clock_mono_ms(a->clock) < end_ms)
        if (store_delete_flow_runs(s, id, &more, &r.text))
            break;
    store_give_session(a->opts.store, s);
}

enum err admin_remove_flow(struct admin *a, const struct actor *actor, int64_t id, struct refusal *r)
{
    struct change_plan plan = {
        .call = {.admin = a, .actor = actor, .act = act_remove}, .right = RIGHT_CHANGE, .id = id};
    enum err e = run_change(&plan, /*alone=*/true, r);

    if (!e)
        remove_runs(a, id);
    return e;
}

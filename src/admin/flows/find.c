/* SPDX-License-Identifier: MIT */
/* Flows and runs that calls are about: found, read, and let go. */
#include "admin/flows/flows_impl.h"

#include <inttypes.h>
#include <string.h>

enum err flow_refuse_error(struct refusal *r, enum err e)
{
    if (!e || r->kind != REFUSED_NOT)
        return e;
    if (e == ERR_NOTFOUND)
        return refuse(r, REFUSED_UNKNOWN, "id", "%s", r->text.text);
    if (e == ERR_CONFLICT)
        return refuse(r, REFUSED_TRY_AGAIN, NULL, "somebody else is changing the flow: %s", r->text.text);
    return refuse_error(r, e);
}

enum err flow_load_saved(const char *document, struct flow **out, struct refusal *r)
{
    enum err e = flow_load(document, strlen(document), out, NULL, &r->text);

    if (e == ERR_INPUT)
        return refuse(r, REFUSED_STATE, NULL, "this release cannot read the saved document: %s", r->text.text);
    return refuse_error(r, e);
}

enum err flow_find(struct reach *reach, int64_t id, struct flow_rows *rows, const struct reach_flow **out,
                   struct refusal *r)
{
    enum err e = store_load_flows(reach->s, &id, 1, rows, &r->text);

    if (!e && rows->count == 0)
        return refuse(r, REFUSED_UNKNOWN, "id", "there is no flow %" PRId64, id);
    if (!e)
        e = reach_add(reach, rows->rows[0].name, id, rows->rows[0].version, rows->rows[0].document, out, &r->text);
    if (!e)
        e = reach_close(reach, &r->text);
    return refuse_error(r, e);
}

size_t flow_find_step_named(const struct reach_flow *flow, const char *name)
{
    size_t i = 0;

    while (i < flow->step_count && strcmp(flow->steps[i].name, name) != 0)
        i++;
    return i;
}

/* ---- for one call ------------------------------------------------------------------------------------------------ */

enum err flow_open(struct admin *a, const struct actor *actor, int64_t id, struct flow_view *v, struct refusal *r)
{
    *v = (struct flow_view){0};
    enum err e = admin_take_session(a, &v->s, r);

    reach_init(&v->reach, v->s);
    if (!e)
        e = flow_find(&v->reach, id, &v->flows, &v->flow, r);
    return e ? e : reach_refuse_unless_sees(&v->reach, v->flow, actor, r);
}

enum err flow_open_run(struct admin *a, int64_t run_id, struct flow_view *v, struct refusal *r)
{
    *v = (struct flow_view){0};
    enum err e = admin_take_session(a, &v->s, r);

    reach_init(&v->reach, v->s);
    if (!e)
        e = store_load_flow_runs(v->s, &run_id, 1, &v->runs, &r->text);
    if (!e && v->runs.count > 0)
        e = store_load_flow_version(v->s, v->runs.rows[0].flow_id, v->runs.rows[0].version, &v->version, &r->text);
    if (!e && (v->runs.count == 0 || v->version.count == 0))
        e = refuse(r, REFUSED_UNKNOWN, "id", "there is no flow run %" PRId64, run_id);
    if (!e)
        e = reach_add(&v->reach, NULL, v->runs.rows[0].flow_id, v->runs.rows[0].version, v->version.rows[0].document,
                      &v->flow, &r->text);
    return e ? e : reach_close(&v->reach, &r->text);
}

enum err flow_close(struct admin *a, struct flow_view *v, enum err e, struct refusal *r)
{
    flow_version_rows_fini(&v->version);
    flow_run_rows_fini(&v->runs);
    flow_rows_fini(&v->flows);
    reach_fini(&v->reach);
    return admin_end(a, v->s, e, r);
}

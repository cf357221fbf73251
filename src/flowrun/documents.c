/* SPDX-License-Identifier: MIT */
#include "flowrun/documents.h"

#include "flowrun/work.h"

#include "shardwheel/flowrun.h"
#include "shardwheel/store/job.h"
#include "shardwheel/store/run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define OUTDATED 0 /* in place of a flow's id: the document goes before the next batch */

struct named {
    const char *name; /* in the document that has it as a step */
    struct flow_version version;
};

struct documents {
    struct advance_flow **flows; /* at most FLOWRUN_DOCUMENTS_MAX, and those of one batch */
    size_t flow_count;
    struct named *names; /* of steps that are flows */
    size_t name_count;
    struct advance_job *jobs; /* by id */
    size_t job_count;
};

static void drop_jobs(struct documents *d)
{
    for (size_t i = 0; i < d->job_count; i++) {
        job_spec_unref(d->jobs[i].spec);
        group_spec_unref(d->jobs[i].group);
    }
    free(d->jobs);
    free(d->names);
    d->jobs = NULL;
    d->names = NULL;
    d->job_count = d->name_count = 0;
}

static void destroy_flow(struct advance_flow *flow)
{
    if (!flow)
        return;
    flow_destroy(flow->flow);
    zone_destroy(flow->zone);
    free(flow);
}

static void drop_flows(struct documents *d, bool all)
{
    size_t kept = 0;

    for (size_t i = 0; i < d->flow_count; i++) {
        if (!all && d->flows[i]->version.flow_id != OUTDATED)
            d->flows[kept++] = d->flows[i];
        else
            destroy_flow(d->flows[i]);
    }
    d->flow_count = kept;
}

enum err documents_create(struct documents **out, struct errctx *ec)
{
    *out = calloc(1, sizeof **out);
    return *out ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");
}

void documents_destroy(struct documents *d)
{
    if (!d)
        return;
    drop_jobs(d);
    drop_flows(d, /*all=*/true);
    free(d->flows);
    free(d);
}

/* ---- documents --------------------------------------------------------------------------------------------------- */

const struct advance_flow *documents_find(const struct documents *d, struct flow_version version)
{
    for (size_t i = 0; i < d->flow_count; i++)
        if (d->flows[i]->version.flow_id == version.flow_id && d->flows[i]->version.version == version.version)
            return d->flows[i];
    return NULL;
}

static enum err read_flow(const char *text, struct advance_flow *flow, struct errctx *ec)
{
    const char *zone;
    enum err e = flow_load(text, strlen(text), &flow->flow, NULL, ec);

    if (e)
        return e;
    zone = flow_get_settings(flow->flow)->zone;
    return zone ? zone_load(zone, &flow->zone, ec) : ERR_OK;
}

/* What is known by that number, but was saved at another time, is not found any more. The batch may still use it. */
static void hide_outdated(struct documents *d, struct flow_version version)
{
    for (size_t i = 0; i < d->flow_count && version.at_ms; i++) {
        struct flow_version *known = &d->flows[i]->version;

        if (known->flow_id == version.flow_id && known->version == version.version && known->at_ms != version.at_ms)
            known->flow_id = OUTDATED;
    }
}

enum err documents_get(struct documents *d, struct store_session *s, struct flow_version version,
                       const struct advance_flow **out, struct errctx *ec)
{
    struct advance_flow *flow;
    char *text = NULL;
    enum err e;

    hide_outdated(d, version);
    *out = documents_find(d, version);
    if (*out)
        return ERR_OK;
    flow = list_grow(&d->flows, d->flow_count, sizeof(struct advance_flow *)) ? calloc(1, sizeof *flow) : NULL;
    if (!flow)
        return err_set(ec, ERR_NOMEM, "out of memory");
    flow->version = version;
    e = store_load_flow_document(s, version, &text, ec);
    if (!e)
        e = read_flow(text, flow, ec);
    free(text);
    if (e) {
        destroy_flow(flow);
        return e == ERR_INPUT || e == ERR_NOTFOUND
                   ? err_wrap(ec, e, "version %d of flow %" PRId64, version.version, version.flow_id)
                   : e;
    }
    d->flows[d->flow_count++] = flow;
    *out = flow;
    return ERR_OK;
}

/* ---- flows of steps ---------------------------------------------------------------------------------------------- */

const struct advance_flow *documents_find_name(const struct documents *d, const char *name)
{
    for (size_t i = 0; i < d->name_count; i++)
        if (strcmp(d->names[i].name, name) == 0)
            return documents_find(d, d->names[i].version);
    return NULL;
}

static enum err load_named(struct documents *d, struct store_session *s, const char *name, struct errctx *ec)
{
    const struct advance_flow *flow;
    struct flow_version version;
    enum err e;

    for (size_t i = 0; i < d->name_count; i++)
        if (strcmp(d->names[i].name, name) == 0)
            return ERR_OK;
    e = store_find_flow(s, name, &version, ec);
    if (!e)
        e = documents_get(d, s, version, &flow, ec);
    if (e == ERR_NOTFOUND || e == ERR_INPUT)
        return ERR_OK;
    if (e)
        return e;
    if (!list_grow(&d->names, d->name_count, sizeof *d->names))
        return err_set(ec, ERR_NOMEM, "out of memory");
    d->names[d->name_count++] = (struct named){name, version};
    return ERR_OK;
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

const struct advance_job *documents_find_job(const struct documents *d, int64_t id)
{
    return list_find(d->jobs, d->job_count, sizeof *d->jobs, id);
}

static enum err load_settings(struct documents *d, struct store_session *s, const int64_t *ids, struct errctx *ec)
{
    struct job_settings *settings = NULL;
    size_t found = 0;
    enum err e = store_load_job_settings(s, ids, d->job_count, &settings, &found, ec);

    for (size_t i = 0, k = 0; i < d->job_count && !e; i++) {
        while (k < found && settings[k].job_id < ids[i])
            k++;
        if (k < found && settings[k].job_id == ids[i]) {
            d->jobs[i].retry_wait_s = settings[k].retry_wait_s > 0 ? settings[k].retry_wait_s : 0;
            d->jobs[i].resend_lost = settings[k].resend_lost == 1;
            d->jobs[i].retry_wait_max_s = settings[k].retry_wait_max_s > 0 ? settings[k].retry_wait_max_s : 0;
        }
    }
    free(settings);
    return e;
}

static enum err load_jobs(struct documents *d, struct store_session *s, const int64_t *ids, size_t count,
                          struct errctx *ec)
{
    struct job_spec **specs = calloc(count + 1, sizeof(struct job_spec *));
    struct group_spec **groups = calloc(count + 1, sizeof(struct group_spec *));
    enum err e;

    d->jobs = calloc(count + 1, sizeof *d->jobs);
    e = specs && groups && d->jobs ? store_load_targets(s, ids, count, specs, groups, ec)
                                   : err_set(ec, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < count && !e; i++)
        d->jobs[d->job_count++] = (struct advance_job){.id = ids[i], .spec = specs[i], .group = groups[i]};
    free(specs);
    free(groups);
    return e || count == 0 ? e : load_settings(d, s, ids, ec);
}

/* ---- a batch ----------------------------------------------------------------------------------------------------- */

static enum err load_one(struct documents *d, struct store_session *s, struct flow_version version, int64_t **ids,
                         size_t *id_count, struct errctx *ec)
{
    const struct advance_flow *flow = NULL;
    enum err e = documents_get(d, s, version, &flow, ec);

    if (e == ERR_INPUT || e == ERR_NOTFOUND) {
        log_warn("flowrun", "event=flow_unreadable flow=%" PRId64 " version=%d error=%s", version.flow_id,
                 version.version, log_quote(ec->text).s);
        return ERR_OK;
    }
    for (size_t i = 0; !e && i < flow_count_steps(flow->flow); i++) {
        const struct flow_step *step = flow_get_step(flow->flow, i);

        if (step->kind == FLOW_FLOW)
            e = load_named(d, s, step->flow, ec);
        if (!e && step->job_id > 0)
            e = work_add_id(ids, id_count, step->job_id, ec);
    }
    return e;
}

enum err documents_load(struct documents *d, struct store_session *s, const int64_t *run_ids, size_t count,
                        struct errctx *ec)
{
    struct flow_version *versions = NULL;
    int64_t *ids = NULL;
    size_t version_count = 0, id_count = 0;
    enum err e = store_load_flow_versions_of(s, run_ids, count, &versions, &version_count, ec);

    drop_jobs(d);
    drop_flows(d, d->flow_count > FLOWRUN_DOCUMENTS_MAX);
    for (size_t i = 0; i < version_count && !e; i++)
        e = load_one(d, s, versions[i], &ids, &id_count, ec);
    free(versions);
    if (!e) {
        id_count = sort_distinct(ids, id_count);
        e = load_jobs(d, s, ids, id_count, ec);
    }
    free(ids);
    return e;
}

/* SPDX-License-Identifier: MIT */
/* Groups, jobs and flows, taken out: names are listed in their order, and what stands under them is read in pages. */
#include "shardwheel/admin/transfer.h"

#include <stdlib.h>
#include <string.h>

#include "admin/jobs/jobs_impl.h"
#include "admin/transfer/export.h"

struct exporter {
    struct admin *admin;
    struct export_filter filter;
    int64_t *groups, *jobs_wanted; /* of the filter */
    size_t page, listed;

    struct group_infos infos; /* the page of groups */

    struct export_names names; /* that are listed */
    size_t at;                 /* of them: those before are read */
    size_t measured;           /* of them: the bytes of those before are known */
    bool names_end;            /* there are none behind these */
    struct job_found found;    /* the page of jobs, as all below */
    struct transfer_job *jobs;
    struct export_children children;

    struct export_flows flows; /* the page of flows */

    bool takes_rules, takes_channels;
    struct export_alarms alarms;
};

static void drop_jobs(struct exporter *x)
{
    job_found_fini(&x->found);
    free(x->jobs);
    x->jobs = NULL;
    export_children_fini(&x->children);
}

void exporter_destroy(struct exporter *x)
{
    if (!x)
        return;
    drop_jobs(x);
    export_flows_fini(&x->flows);
    export_alarms_fini(&x->alarms);
    group_infos_fini(&x->infos);
    export_names_fini(&x->names);
    free(x->groups);
    free(x->jobs_wanted);
    free(x);
}

static enum err refuse_memory(struct refusal *r)
{
    return refuse(r, REFUSED_BROKEN, NULL, "out of memory for the export");
}

/* Those that are wanted and seen. */
static bool choose_groups(struct exporter *x, const struct actor *actor, const struct export_opts *opts)
{
    bool sees_all = actor_may(actor, RIGHT_SEE, 0);
    const int64_t *from = opts->groups ? opts->groups : actor->groups;
    size_t count = opts->groups ? opts->group_count : actor->group_count;

    x->filter.groups.all_groups = sees_all && !opts->groups;
    x->groups = calloc(count + 1, sizeof *x->groups);
    for (size_t i = 0; x->groups && !x->filter.groups.all_groups && i < count; i++) {
        if (actor_may(actor, RIGHT_SEE, from[i]))
            x->groups[x->filter.groups.group_count++] = from[i];
    }
    x->filter.groups.groups = x->groups;
    return x->groups != NULL;
}

static bool choose_jobs(struct exporter *x, const struct export_opts *opts)
{
    if (!opts->jobs)
        return true;
    x->jobs_wanted = calloc(opts->job_count + 1, sizeof *x->jobs_wanted);
    if (x->jobs_wanted && opts->job_count)
        memcpy(x->jobs_wanted, opts->jobs, opts->job_count * sizeof *x->jobs_wanted);
    if (x->jobs_wanted)
        qsort(x->jobs_wanted, opts->job_count, sizeof *x->jobs_wanted, compare_int64);
    x->filter.jobs = x->jobs_wanted;
    x->filter.job_count = opts->job_count;
    return x->jobs_wanted != NULL;
}

enum err admin_begin_export(struct admin *a, const struct actor *actor, const struct export_opts *opts,
                            struct exporter **out, struct refusal *r)
{
    enum err e = refuse_unless_sees(actor, r);
    struct exporter *x = e ? NULL : calloc(1, sizeof *x);

    if (e)
        return e;
    if (!x || !choose_groups(x, actor, opts) || !choose_jobs(x, opts)) {
        exporter_destroy(x);
        return refuse_memory(r);
    }
    x->admin = a;
    x->takes_rules = x->filter.groups.all_groups && !opts->jobs;
    x->takes_channels = x->takes_rules && actor_may(actor, RIGHT_ADMINISTER, 0);
    x->page = opts->page && opts->page < EXPORT_PAGE ? opts->page : EXPORT_PAGE;
    x->listed = opts->listed ? opts->listed : EXPORT_LISTED;
    *out = x;
    return ERR_OK;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

enum err exporter_read_groups(struct exporter *x, struct transfer *out, bool *more, struct refusal *r)
{
    const struct group_info *last = x->infos.count ? &x->infos.items[x->infos.count - 1] : NULL;
    struct export_name after = {0};
    struct group_infos next = {0};
    struct store_session *s = NULL;
    enum err e = admin_take_session(x->admin, &s, r);

    if (last)
        after = (struct export_name){.id = last->id, .app_name = last->app_name, .name = last->title};
    if (!e)
        e = store_list_export_groups(s, &x->filter, last ? &after : NULL, (int64_t)x->page, TRANSFER_MS, &next,
                                     &r->text);
    e = admin_end(x->admin, s, e, r);
    if (e)
        return e;
    group_infos_fini(&x->infos);
    x->infos = next;
    out->groups = next.items;
    out->group_count = next.count;
    *more = next.count == x->page;
    return ERR_OK;
}

/* ---- names of jobs ----------------------------------------------------------------------------------------------- */

static int compare_names(const struct export_name *a, const struct export_name *b)
{
    int by_app = strcmp(a->app_name, b->app_name), by_name = by_app ? by_app : strcmp(a->name, b->name);

    return by_name ? by_name : compare_numbers(a->id, b->id);
}

/* A server that sorts by the first bytes of a text alone would have us leave some out. */
static enum err check_order(const struct export_name *after, const struct export_names *names, struct refusal *r)
{
    for (size_t i = 0; i < names->count; after = &names->items[i++]) {
        if (after && compare_names(after, &names->items[i]) >= 0)
            return refuse(r, REFUSED_BROKEN, NULL, "the database does not sort jobs %lld and %lld by name",
                          (long long)after->id, (long long)names->items[i].id);
    }
    return ERR_OK;
}

/* When those that are listed are read. */
static enum err list_names(struct exporter *x, struct store_session *s, struct refusal *r)
{
    const struct export_name *after = x->names.count ? &x->names.items[x->names.count - 1] : NULL;
    struct export_names next = {0};
    enum err e;

    if (x->names_end || x->at < x->names.count)
        return ERR_OK;
    e = store_list_export_jobs(s, &x->filter, after, (int64_t)x->listed, TRANSFER_MS, &next, &r->text);
    if (!e)
        e = check_order(after, &next, r);
    if (e) {
        export_names_fini(&next);
        return e;
    }
    export_names_fini(&x->names);
    x->names = next;
    x->at = x->measured = 0;
    x->names_end = next.count < x->listed;
    return ERR_OK;
}

/* How many jobs the next page has. */
static enum err choose_count(struct exporter *x, struct store_session *s, size_t *out, struct errctx *ec)
{
    size_t left = x->names.count - x->at, n = 0;
    int64_t bytes = 0;
    enum err e = ERR_OK;

    if (x->at == x->measured && left) {
        size_t count = left < x->page ? left : x->page;
        e = store_measure_sources(s, x->names.items + x->at, count, ec);
        x->measured += count;
    }
    for (; x->at + n < x->measured; n++) {
        bytes += x->names.items[x->at + n].source_bytes;
        if (n && bytes > EXPORT_SOURCES_MAX)
            break;
    }
    *out = n;
    return e;
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

static void fill_texts(struct job_row *row)
{
    for (size_t i = 0; i < job_column_count(); i++) {
        const struct job_column *c = job_column_get(i);
        if (c->is_text && !job_row_text(row, c))
            job_row_set_text(row, c, "");
    }
}

/* In the order of the names; a job that has gone since they were listed is passed over. */
static size_t put_jobs(struct exporter *x, const struct export_name *names, size_t count)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        const struct job_row *row = list_find(x->found.list.rows, x->found.list.count, sizeof *row, names[i].id);
        if (!row)
            continue;
        struct transfer_job *job = &x->jobs[n++];
        const struct job_settings *settings = job_found_settings(&x->found, row->id);
        *job = (struct transfer_job){.app_name = names[i].app_name, .row = *row, .running = row->status == 1};
        fill_texts(&job->row);
        job_settings_init(&job->settings, row->id);
        if (settings)
            job->settings = *settings;
    }
    return n;
}

static enum err load_rows(struct exporter *x, struct store_session *s, size_t count, struct errctx *ec)
{
    int64_t ids[EXPORT_PAGE];
    enum err e = ERR_OK;

    for (size_t i = 0; i < count; i++)
        ids[i] = x->names.items[x->at + i].id;
    qsort(ids, count, sizeof *ids, compare_int64);
    if (count)
        e = store_load_jobs(s, ids, count, &x->found.list, ec);
    if (count && !e)
        e = store_load_job_settings(s, ids, count, &x->found.settings, &x->found.settings_count, ec);
    return e;
}

static enum err load_jobs(struct exporter *x, struct store_session *s, struct transfer *out, struct errctx *ec)
{
    size_t count = 0;
    enum err e = choose_count(x, s, &count, ec);

    if (!e)
        e = load_rows(x, s, count, ec);
    if (e)
        return e;
    x->jobs = calloc(count + 1, sizeof *x->jobs);
    if (!x->jobs)
        return err_set(ec, ERR_NOMEM, "out of memory for the export");
    out->jobs = x->jobs;
    out->job_count = put_jobs(x, x->names.items + x->at, count);
    x->at += count;
    return export_children_load(&x->children, s, &x->filter.groups, x->jobs, out->job_count, ec);
}

enum err exporter_read_jobs(struct exporter *x, struct transfer *out, bool *more, struct refusal *r)
{
    struct store_session *s = NULL;
    enum err e = admin_take_session(x->admin, &s, r);

    if (e)
        return e;
    drop_jobs(x);
    e = list_names(x, s, r);
    if (!e)
        e = load_jobs(x, s, out, &r->text);
    *more = !x->names_end || x->at < x->names.count;
    return admin_end(x->admin, s, e, r);
}

/* ---- flows ------------------------------------------------------------------------------------------------------- */

enum err exporter_read_flows(struct exporter *x, struct transfer *out, bool *more, struct refusal *r)
{
    struct store_session *s = NULL;
    enum err e = admin_take_session(x->admin, &s, r);

    if (!e)
        e = export_flows_read(&x->flows, s, &x->filter, x->page, &r->text);
    out->flows = x->flows.items;
    out->flow_count = x->flows.count;
    *more = !x->flows.is_end;
    return admin_end(x->admin, s, e, r);
}

/* ---- alarms ------------------------------------------------------------------------------------------------------ */

enum err exporter_read_alarms(struct exporter *x, struct transfer *out, struct refusal *r)
{
    struct store_session *s = NULL;
    enum err e = x->takes_rules ? admin_take_session(x->admin, &s, r) : ERR_OK;

    if (!e && x->takes_rules)
        e = export_alarms_read(&x->alarms, x->admin, s, x->takes_channels, out, r);
    return x->takes_rules ? admin_end(x->admin, s, e, r) : e;
}

/* SPDX-License-Identifier: MIT */
#include "admin/transfer/export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin/flows/reach.h"

#define ROWS_AT_ONCE 20 /* documents are up to 1 MB */
#define IDS_AT_ONCE 500

/* Where the next page begins stays. */
void export_flows_fini(struct export_flows *flows)
{
    for (size_t i = 0; i < flows->count; i++) {
        free((char *)flows->items[i].name);
        free((char *)flows->items[i].document);
    }
    flows->count = 0;
}

/* Takes the document. */
static enum err append(struct export_flows *flows, const struct flow_row *row, char *document, struct errctx *ec)
{
    char *name = str_copy(row->name);

    if (!name) {
        free(document);
        return err_set(ec, ERR_NOMEM, "out of memory for the export");
    }
    flows->items[flows->count++] = (struct transfer_flow){name, document, row->started};
    return ERR_OK;
}

/* ---- which ones -------------------------------------------------------------------------------------------------- */

static bool are_wanted(const struct export_filter *filter, const int64_t *ids, size_t count)
{
    bool wanted = true;

    for (size_t i = 0; wanted && filter->jobs && i < count; i++)
        wanted = list_find(filter->jobs, filter->job_count, sizeof *ids, ids[i]) != NULL;
    return wanted;
}

/* *all: each of the jobs is there, and taken out. */
static enum err have_names(struct store_session *s, const struct export_filter *filter, const int64_t *ids,
                           size_t count, bool *all, struct errctx *ec)
{
    enum err e = ERR_OK;

    *all = are_wanted(filter, ids, count) && (count || (filter->groups.all_groups && !filter->jobs));
    for (size_t at = 0; !e && *all && at < count; at += IDS_AT_ONCE) {
        size_t some = count - at < IDS_AT_ONCE ? count - at : IDS_AT_ONCE;
        struct export_names names = {0};

        e = store_load_export_names(s, &filter->groups, ids + at, some, &names, ec);
        *all = !e && names.count == some;
        export_names_fini(&names);
    }
    return e;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static size_t collect_jobs(const struct reach_flow *flow, int64_t ids[FLOW_STEPS_MAX])
{
    size_t count = 0;

    for (size_t i = 0; i < flow->step_count && count < FLOW_STEPS_MAX; i++)
        if (flow->steps[i].job_id)
            ids[count++] = flow->steps[i].job_id;
    return sort_distinct(ids, count);
}

static enum err put_document(struct store_session *s, const struct export_filter *filter, const struct flow_row *row,
                             const struct reach_flow *flow, struct buf *out, struct errctx *ec)
{
    struct flow_job_name names[FLOW_STEPS_MAX];
    int64_t ids[FLOW_STEPS_MAX];
    struct export_names list = {0};
    size_t count = collect_jobs(flow, ids);
    enum err e = count ? store_load_export_names(s, &filter->groups, ids, count, &list, ec) : ERR_OK;

    for (size_t i = 0; !e && i < list.count; i++)
        names[i] = (struct flow_job_name){
            .id = list.items[i].id, .app_name = list.items[i].app_name, .name = list.items[i].name};
    if (!e && list.count == count)
        e = flow_put_with_names(out, row->document, names, count, ec);
    export_names_fini(&list);
    return e;
}

static enum err take_row(struct export_flows *flows, struct reach *reach, const struct export_filter *filter,
                         const struct flow_row *row, struct errctx *ec)
{
    const struct reach_flow *flow = reach_find(reach, row->name);
    struct buf document = {0};
    int64_t *ids = NULL;
    size_t count = 0;
    bool all = false;
    enum err e = flow ? reach_load_job_ids(reach, flow, &ids, &count, ec) : ERR_OK;

    if (!e && flow && flow->tags) /* else only a newer release can read it */
        e = have_names(reach->s, filter, ids, count, &all, ec);
    free(ids);
    if (!e && all)
        e = put_document(reach->s, filter, row, flow, &document, ec);
    if (e || !document.data) {
        buf_fini(&document);
        return e;
    }
    return append(flows, row, document.data, ec);
}

/* ---- pages ------------------------------------------------------------------------------------------------------- */

static enum err take_rows(struct export_flows *flows, struct store_session *s, const struct export_filter *filter,
                          const struct flow_rows *rows, struct errctx *ec)
{
    const struct reach_flow *made;
    struct reach reach;
    enum err e = ERR_OK;

    reach_init(&reach, s);
    for (size_t i = 0; i < rows->count && !e; i++)
        e = reach_add(&reach, rows->rows[i].name, rows->rows[i].id, rows->rows[i].version, rows->rows[i].document,
                      &made, ec);
    if (!e)
        e = reach_close(&reach, ec);
    for (size_t i = 0; i < rows->count && !e; i++)
        e = take_row(flows, &reach, filter, &rows->rows[i], ec);
    reach_fini(&reach);
    return e;
}

enum err export_flows_read(struct export_flows *flows, struct store_session *s, const struct export_filter *filter,
                           size_t page, struct errctx *ec)
{
    size_t looked = 0, bytes = 0;
    enum err e = ERR_OK;

    export_flows_fini(flows);
    while (!e && !flows->is_end && looked < page && bytes < EXPORT_SOURCES_MAX) {
        const struct flow_filter every = {.started = -1};
        size_t limit = page - looked < ROWS_AT_ONCE ? page - looked : ROWS_AT_ONCE;
        struct flow_rows rows = {0};

        e = store_list_flows(s, &every, flows->last, (int64_t)limit, &rows, ec);
        if (!e)
            e = take_rows(flows, s, filter, &rows, ec);
        for (size_t i = 0; !e && i < rows.count; i++) {
            bytes += strlen(rows.rows[i].document);
            snprintf(flows->last, sizeof flows->last, "%s", rows.rows[i].name);
        }
        looked += rows.count;
        flows->is_end = !e && rows.count < limit;
        flow_rows_fini(&rows);
    }
    return e;
}

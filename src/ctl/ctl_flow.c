/* SPDX-License-Identifier: MIT */
/* Flows and their versions: what is shown of them. */
#include "ctl/parts.h"

#include "shardwheel/store/flow.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 200          /* flows that are read at once; with their documents, of at most 1 MB each */
#define VERSIONS_SHOWN 20 /* of show */

enum err ctl_find_flow(struct ctl *c, const char *name, struct flow_rows *out, struct errctx *ec)
{
    enum err e = store_load_flows_named(c->session, &name, 1, out, ec);

    return e || out->count ? e : err_set(ec, ERR_NOTFOUND, "there is no flow %s", log_quote(name).s);
}

/* NULL: a release that knows more has saved it. */
static struct flow *read_document(const char *document)
{
    struct errctx ec = {""};
    struct flow *flow = NULL;

    return flow_load(document, strlen(document), &flow, NULL, &ec) ? NULL : flow;
}

/* ---- list -------------------------------------------------------------------------------------------------------- */

static void put_schedule(const struct flow_settings *s, struct buf *out)
{
    if (s->cron)
        buf_printf(out, "cron %s%s%s", s->cron, s->zone ? ", " : "", s->zone ? s->zone : "");
    else if (s->every_s)
        buf_printf(out, "every %" PRId64 " s", s->every_s);
    else if (s->delay_s)
        buf_printf(out, "%" PRId64 " s after the end", s->delay_s);
    else
        buf_puts(out, "-");
}

static void put_flow_json(const struct flow_row *row, const struct flow *flow, int64_t open_runs, struct buf *out)
{
    struct buf schedule = {0};

    if (flow)
        put_schedule(flow_get_settings(flow), &schedule);
    member_int(out, "id", row->id);
    member_text(out, "name", row->name);
    member_bool(out, "started", row->started);
    member_int(out, "version", row->version);
    member_int_or_null(out, "steps", flow ? (int64_t)flow_count_steps(flow) : 0);
    member_text(out, "schedule", flow && strcmp(schedule.data, "-") != 0 ? schedule.data : NULL);
    member_int_or_null(out, "nextSeconds", row->started ? row->next_s : 0);
    member_int(out, "openRuns", open_runs);
    out->failed = out->failed || buf_failed(&schedule);
    buf_fini(&schedule);
}

static void put_flow_row(const struct ctl *c, const struct flow_row *row, const struct flow *flow, int64_t open_runs,
                         struct buf *out)
{
    buf_printf(out, "%s\t%s\t%" PRId64 "\t%zu\t%" PRId64 "\t", row->name, row->started ? "started" : "stopped",
               row->version, flow ? flow_count_steps(flow) : 0, open_runs);
    if (row->started && row->next_s)
        zone_put_second(c->zone, row->next_s, out);
    else
        buf_puts(out, "-");
    buf_puts(out, "\t");
    if (flow)
        put_schedule(flow_get_settings(flow), out);
    else
        buf_puts(out, "?");
    buf_puts(out, "\n");
}

static enum err put_page(struct ctl *c, const struct flow_rows *page, bool first, struct buf *out, struct errctx *ec)
{
    int64_t *ids = calloc(2 * page->count + 1, sizeof *ids), *open_runs = ids + page->count;
    enum err e = ids ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");

    for (size_t i = 0; !e && i < page->count; i++)
        ids[i] = page->rows[i].id;
    if (!e && page->count)
        e = store_count_open_flow_runs(c->session, ids, page->count, open_runs, ec);
    for (size_t i = 0; !e && i < page->count; i++) {
        struct flow *flow = read_document(page->rows[i].document);

        if (c->wanted->json) {
            buf_puts(out, first && i == 0 ? "\n{" : ",\n{");
            put_flow_json(&page->rows[i], flow, open_runs[i], out);
            buf_puts(out, "}");
        } else {
            put_flow_row(c, &page->rows[i], flow, open_runs[i], out);
        }
        flow_destroy(flow);
    }
    free(ids);
    return e;
}

enum err ctl_list_flows(struct ctl *c, struct errctx *ec)
{
    char after[FLOW_NAME_MAX + 1] = "";
    struct buf lines = {0};
    enum err e = ERR_OK;
    bool more = true;

    while (!e && more) {
        struct flow_rows page = {0};

        e = store_list_flows(c->session, &(struct flow_filter){.started = -1}, after[0] ? after : NULL, PAGE, &page,
                             ec);
        if (!e)
            e = put_page(c, &page, !after[0], &lines, ec);
        more = !e && page.count == PAGE;
        if (more)
            snprintf(after, sizeof after, "%s", page.rows[PAGE - 1].name);
        flow_rows_fini(&page);
    }
    if (!e && c->wanted->json)
        buf_printf(&c->out, "[%s%s]\n", lines.len ? lines.data : "", lines.len ? "\n" : "");
    else if (!e && !lines.len)
        buf_puts(&c->out, "There are no flows.\n");
    else if (!e)
        ctl_put_table("NAME\tSTATE\tVERSION\tSTEPS\tOPEN\tNEXT\tSCHEDULE\n", &lines, &c->out);
    c->out.failed = c->out.failed || buf_failed(&lines);
    buf_fini(&lines);
    return e;
}

/* ---- show -------------------------------------------------------------------------------------------------------- */

static void put_versions_json(const struct flow_version_rows *versions, struct buf *out)
{
    member_list(out, "versions");
    for (size_t i = 0; i < versions->count; i++) {
        member_object(out, NULL);
        member_int(out, "version", versions->rows[i].version);
        member_int(out, "atMs", versions->rows[i].at_ms);
        member_text(out, "who", versions->rows[i].who);
        member_object_end(out);
    }
    member_list_end(out);
}

static void put_flow_text(const struct ctl *c, const struct flow_row *row, const struct flow *flow, int64_t open_runs,
                          const struct flow_version_rows *versions, struct buf *out)
{
    struct buf lines = {0};

    buf_printf(out, "flow      %s (%" PRId64 ")\nstate     %s", row->name, row->id,
               row->started ? "started" : "stopped");
    if (row->started && row->next_s) {
        buf_puts(out, ", next ");
        zone_put_second(c->zone, row->next_s, out);
    }
    buf_puts(out, "\nschedule  ");
    if (flow)
        put_schedule(flow_get_settings(flow), out);
    buf_printf(out, "\nsteps     %zu\nopen runs %" PRId64 "\n\n", flow ? flow_count_steps(flow) : 0, open_runs);
    for (size_t i = 0; i < versions->count; i++) {
        buf_printf(&lines, "%" PRId64 "\t", versions->rows[i].version);
        zone_put_second(c->zone, versions->rows[i].at_ms / 1000, &lines);
        buf_puts(&lines, "\t");
        ctl_put_cell(&lines, versions->rows[i].who);
        buf_puts(&lines, "\n");
    }
    ctl_put_table("VERSION\tAT\tWHO\n", &lines, out);
    buf_fini(&lines);
}

enum err ctl_show_flow(struct ctl *c, struct errctx *ec)
{
    struct flow_version_rows versions = {0};
    struct flow_rows rows = {0};
    struct flow *flow = NULL;
    int64_t open_runs = 0;
    enum err e = ctl_find_flow(c, c->wanted->words[0], &rows, ec);

    if (!e)
        e = store_list_flow_versions(c->session, rows.rows[0].id, INT64_MAX, VERSIONS_SHOWN, &versions, ec);
    if (!e)
        e = store_count_open_flow_runs(c->session, &rows.rows[0].id, 1, &open_runs, ec);
    if (!e)
        flow = read_document(rows.rows[0].document);
    if (!e && c->wanted->json) {
        member_object(&c->out, NULL);
        put_flow_json(&rows.rows[0], flow, open_runs, &c->out);
        put_versions_json(&versions, &c->out);
        member_json(&c->out, "document", rows.rows[0].document);
        buf_puts(&c->out, "}\n");
    } else if (!e) {
        put_flow_text(c, &rows.rows[0], flow, open_runs, &versions, &c->out);
    }
    flow_destroy(flow);
    flow_version_rows_fini(&versions);
    flow_rows_fini(&rows);
    return e;
}

/* ---- diff -------------------------------------------------------------------------------------------------------- */

static enum err load_version(struct ctl *c, const struct flow_row *flow, const char *word,
                             struct flow_version_rows *out, struct errctx *ec)
{
    int64_t version;
    enum err e;

    if (!parse_int(word, 1, INT32_MAX, &version))
        return err_set(ec, ERR_INPUT, "expected the number of a version, 1 to %" PRId64 "; not %s", flow->version,
                       log_quote(word).s);
    e = store_load_flow_version(c->session, flow->id, version, out, ec);
    return e || out->count ? e
                           : err_set(ec, ERR_NOTFOUND, "there is no version %" PRId64 ": the newest one is %" PRId64,
                                     version, flow->version);
}

enum err ctl_diff_flow(struct ctl *c, struct errctx *ec)
{
    struct flow_version_rows sides[2] = {0};
    struct flow_rows rows = {0};
    enum err e = ctl_find_flow(c, c->wanted->words[0], &rows, ec);

    for (size_t i = 0; !e && i < 2; i++)
        e = load_version(c, &rows.rows[0], c->wanted->words[i + 1], &sides[i], ec);
    if (!e)
        e = flow_put_diff(&c->out, sides[0].rows[0].document, strlen(sides[0].rows[0].document),
                          sides[1].rows[0].document, strlen(sides[1].rows[0].document), ec);
    if (!e && !c->out.len)
        buf_puts(&c->out, "The two versions do not differ.\n");
    for (size_t i = 0; i < 2; i++)
        flow_version_rows_fini(&sides[i]);
    flow_rows_fini(&rows);
    return e;
}

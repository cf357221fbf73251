/* SPDX-License-Identifier: MIT */
/* Flows are created, changed, started and stopped. */
#include "ctl/parts.h"

#include "shardwheel/admin/flows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the document ------------------------------------------------------------------------------------------------ */

/* All of them, each with its place. */
static enum err refuse_faults(const struct flow_faults *faults, struct errctx *ec)
{
    for (size_t i = 0; i < faults->count && i < FLOW_FAULTS_MAX; i++)
        fprintf(stderr, "%s: %s\n", faults->list[i].where[0] ? faults->list[i].where : "/", faults->list[i].text);
    return err_set(ec, ERR_INPUT, "the document has %zu error%s", faults->count, faults->count == 1 ? "" : "s");
}

/* ---- apply ------------------------------------------------------------------------------------------------------- */

/* What is to be done, and what became of it. */
struct applying {
    const char *document;
    char name[FLOW_NAME_MAX + 1];
    struct flow_rows before; /* none: it is new */
    struct buf lines;        /* how it differs from that */
    bool same;               /* ... not at all */
    int64_t id, version;
    bool has_schedule;
};

static void applying_fini(struct applying *a)
{
    flow_rows_fini(&a->before);
    buf_fini(&a->lines);
}

static enum err check_document(struct ctl *c, struct applying *a, struct errctx *ec)
{
    struct flow_verdict *verdict = calloc(1, sizeof *verdict);
    struct refusal r = {0};
    struct flow *flow = NULL;
    enum err e;

    if (!verdict)
        return err_set(ec, ERR_NOMEM, "out of memory");
    e = ctl_refused(admin_check_flow(c->admin, &ctl_actor, a->document, verdict, &r), &r, ec);
    if (!e && verdict->faults.count)
        e = refuse_faults(&verdict->faults, ec);
    if (!e)
        e = flow_load(a->document, strlen(a->document), &flow, &verdict->faults, ec);
    if (!e)
        snprintf(a->name, sizeof a->name, "%s", flow_get_name(flow));
    if (!e)
        a->has_schedule = flow_has_schedule(flow_get_settings(flow));
    flow_destroy(flow);
    flow_verdict_fini(verdict);
    free(verdict);
    return e;
}

static enum err find_before(struct ctl *c, struct applying *a, struct errctx *ec)
{
    const char *name = a->name;
    enum err e = store_load_flows_named(c->session, &name, 1, &a->before, ec);

    a->same = !e && a->before.count && flow_is_same_document(a->before.rows[0].document, a->document);
    if (!e && a->before.count)
        e = flow_put_diff(&a->lines, a->before.rows[0].document, strlen(a->before.rows[0].document), a->document,
                          strlen(a->document), ec);
    return e;
}

static enum err write_document(struct ctl *c, struct applying *a, struct errctx *ec)
{
    struct flow_faults *faults = calloc(1, sizeof *faults);
    struct flow_rows after = {0};
    struct refusal r = {0};
    enum err e;

    if (!faults)
        return err_set(ec, ERR_NOMEM, "out of memory");
    if (a->before.count)
        e = admin_update_flow(c->admin, &ctl_actor, a->before.rows[0].id, a->before.rows[0].version, a->document,
                              faults, &r);
    else
        e = admin_add_flow(c->admin, &ctl_actor, a->document, &a->id, faults, &r);
    e = e && faults->count ? refuse_faults(faults, ec) : ctl_refused(e, &r, ec);
    if (!e)
        e = ctl_find_flow(c, a->name, &after, ec);
    if (!e) {
        a->id = after.rows[0].id;
        a->version = after.rows[0].version;
    }
    flow_rows_fini(&after);
    free(faults);
    return e;
}

static void put_applied_json(const struct applying *a, bool dry_run, struct buf *out)
{
    const char *line = a->lines.len ? a->lines.data : "";
    struct buf text = {0};

    member_object(out, NULL);
    member_bool(out, "dryRun", dry_run);
    member_text(out, "name", a->name);
    member_bool(out, "isNew", a->before.count == 0);
    member_int_or_null(out, "id", a->id);
    member_int_or_null(out, "version", a->version);
    member_list(out, "differences");
    for (; *line; line += strcspn(line, "\n") + 1) {
        buf_clear(&text);
        buf_append(&text, line, strcspn(line, "\n"));
        member_text(out, NULL, text.data);
    }
    buf_puts(out, "]}\n");
    out->failed = out->failed || buf_failed(&text) || buf_failed(&a->lines);
    buf_fini(&text);
}

static void put_applied(const struct applying *a, bool dry_run, struct buf *out)
{
    int64_t was = a->before.count ? a->before.rows[0].version : 0;

    if (a->same && (dry_run || a->version == was))
        buf_printf(out, "flow %s is the same already: version %" PRId64 "\n", a->name, was);
    else if (dry_run)
        buf_printf(out, "flow %s would get version %" PRId64 "\n", a->name, was + 1);
    else if (was)
        buf_printf(out, "flow %s has version %" PRId64 "\n", a->name, a->version);
    else
        buf_printf(out, "flow %s has version %" PRId64 "%s: shardwheelctl flow %s %s starts %s\n", a->name, a->version,
                   a->has_schedule ? ", and is stopped" : "", a->has_schedule ? "start" : "run", a->name,
                   a->has_schedule ? "its schedule" : "a run");
    buf_puts(out, a->lines.len ? a->lines.data : "");
    buf_puts(out, dry_run ? "Nothing was written: --dry-run\n" : "");
    out->failed = out->failed || buf_failed(&a->lines);
}

static enum err apply(struct ctl *c, const char *document, bool must_be_new, struct errctx *ec)
{
    struct applying a = {.document = document};
    enum err e = check_document(c, &a, ec);

    if (!e)
        e = find_before(c, &a, ec);
    if (!e && must_be_new && a.before.count)
        e = err_set(ec, ERR_STATE, "there is already a flow %s: save the document without --apply, and change its name",
                    a.name);
    if (!e && !c->wanted->dry_run)
        e = write_document(c, &a, ec);
    if (!e && c->wanted->json)
        put_applied_json(&a, c->wanted->dry_run, &c->out);
    else if (!e)
        put_applied(&a, c->wanted->dry_run, &c->out);
    applying_fini(&a);
    return e;
}

enum err ctl_apply_flow(struct ctl *c, struct errctx *ec)
{
    struct buf document = {0};
    enum err e = ctl_check_options(c->wanted, (const char *const[]){"file", NULL}, "-f, --dry-run and --json", ec);

    if (!e)
        e = ctl_read_file(ctl_find_option(c->wanted, "file"), FLOW_DOCUMENT_MAX, &document, ec);
    if (!e)
        e = apply(c, document.data, /*must_be_new=*/false, ec);
    buf_fini(&document);
    return e;
}

enum err ctl_flow_from_children(struct ctl *c, struct errctx *ec)
{
    struct buf document = {0};
    struct refusal r = {0};
    enum err e = ctl_refused(admin_put_chain(c->admin, &ctl_actor, c->wanted->job, &document, &r), &r, ec);

    if (!e && buf_failed(&document))
        e = err_set(ec, ERR_NOMEM, "out of memory");
    if (!e && c->wanted->apply)
        e = apply(c, document.data, /*must_be_new=*/true, ec);
    else if (!e)
        buf_puts(&c->out, document.data);
    buf_fini(&document);
    return e;
}

/* ---- start, stop ------------------------------------------------------------------------------------------------- */

enum err ctl_set_flow_started(struct ctl *c, struct errctx *ec)
{
    bool started = c->wanted->verb == CTL_FLOW_START;
    struct flow_rows rows = {0}, after = {0};
    struct refusal r = {0};
    enum err e = ctl_find_flow(c, c->wanted->words[0], &rows, ec);

    if (!e)
        e = ctl_refused(admin_set_flow_started(c->admin, &ctl_actor, rows.rows[0].id, started, &r), &r, ec);
    if (!e)
        e = ctl_find_flow(c, c->wanted->words[0], &after, ec);
    if (!e) {
        buf_printf(&c->out, "flow %s is %s", after.rows[0].name, after.rows[0].started ? "started" : "stopped");
        if (after.rows[0].started && after.rows[0].next_s) {
            buf_puts(&c->out, ", next ");
            zone_put_second(c->zone, after.rows[0].next_s, &c->out);
        }
        buf_puts(&c->out, "\n");
    }
    flow_rows_fini(&after);
    flow_rows_fini(&rows);
    return e;
}

/* SPDX-License-Identifier: MIT */
/* Why a job fired, or did not: the sentences of explain. */
#include "ctl/parts.h"

#include "shardwheel/admin/explain.h"

#define RANGE_S 3600 /* before the end, where no beginning is given */

static void put_json_item(const struct explain_item *item, struct buf *out)
{
    struct buf text = {0};

    explain_put_text(&text, item);
    member_int(out, "dueSeconds", item->due_ms / 1000);
    member_text(out, "kind", trigger_kind_name(item->kind));
    member_text(out, "state", explain_state_name(item->state));
    member_list(out, "runs");
    for (size_t i = 0; i < item->run_count; i++)
        member_int(out, NULL, item->runs[i]);
    member_list_end(out);
    member_int(out, "runsLeftOut", item->runs_left_out);
    member_text(out, "text", text.data ? text.data : "");
    member_object_end(out);
    out->failed = out->failed || buf_failed(&text);
    buf_fini(&text);
}

static void put_json(const struct explanation *ex, bool complete, struct buf *out)
{
    member_object(out, NULL);
    member_int(out, "job", ex->job_id);
    member_int(out, "fromSeconds", ex->from_ms / 1000);
    member_int(out, "untilSeconds", ex->until_ms / 1000);
    member_bool(out, "complete", complete);
    member_list(out, "items");
    for (size_t i = 0; i < ex->count; i++) {
        buf_puts(out, i ? ",\n{" : "\n{");
        put_json_item(&ex->items[i], out);
    }
    buf_puts(out, ex->count ? "\n]}\n" : "]}\n");
}

static void put_text(const struct explanation *ex, bool complete, const struct zone *zone, struct buf *out)
{
    if (ex->count == 0)
        buf_puts(out, "Nothing was due in this time.\n");
    else
        buf_printf(out, "%-19s  %-8s  (%s)\n", "DUE", "STATE", zone_get_name(zone));
    for (size_t i = 0; i < ex->count; i++) {
        zone_put_second(zone, ex->items[i].due_ms / 1000, out);
        buf_printf(out, "  %-8s  ", explain_state_name(ex->items[i].state));
        explain_put_text(out, &ex->items[i]);
        buf_putc(out, '\n');
    }
    if (!complete) {
        buf_puts(out, "There is more: continue with --from '");
        zone_put_second(zone, ex->until_ms / 1000, out);
        buf_puts(out, "'\n");
    }
}

enum err ctl_explain(struct ctl *c, struct errctx *ec)
{
    struct explanation ex = {0};
    struct refusal r = {0};
    int64_t from_s, to_s = c->now_ms / 1000;
    enum err e = ctl_check_options(c->wanted, (const char *const[]){"from", "to", NULL}, "--from and --to", ec);

    if (!e)
        e = ctl_take_instant(c->wanted, "to", c->zone, &to_s, ec);
    from_s = to_s - RANGE_S;
    if (!e)
        e = ctl_take_instant(c->wanted, "from", c->zone, &from_s, ec);
    if (!e)
        e = ctl_refused(admin_explain_job(c->admin, &ctl_actor, c->wanted->job, from_s * 1000, to_s * 1000, &ex, &r),
                        &r, ec);
    if (!e && c->wanted->json)
        put_json(&ex, ex.until_ms >= to_s * 1000, &c->out);
    else if (!e)
        put_text(&ex, ex.until_ms >= to_s * 1000, c->zone, &c->out);
    explanation_fini(&ex);
    return e;
}

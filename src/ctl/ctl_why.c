/* SPDX-License-Identifier: MIT */
/* Why a job fired, or did not: the sentences of explain. */
#include "ctl/parts.h"

#include "shardwheel/admin/explain.h"
#include "shardwheel/store/job.h"

#include <inttypes.h>
#include <string.h>

#define RANGE_S 3600 /* before the end, where no beginning is given */

static enum err take_range(const struct config_ctl *ctl, const struct zone *zone, int64_t now_s, int64_t *from_s,
                           int64_t *to_s, struct errctx *ec)
{
    enum err e = ctl_check_options(ctl, (const char *const[]){"from", "to", NULL}, "--from and --to", ec);

    *to_s = now_s;
    if (!e)
        e = ctl_take_instant(ctl, "to", zone, to_s, ec);
    *from_s = *to_s - RANGE_S;
    return e ? e : ctl_take_instant(ctl, "from", zone, from_s, ec);
}

static void put_json_item(const struct explain_item *item, struct buf *out)
{
    struct buf text = {0};

    explain_put_text(&text, item);
    buf_printf(out, "{\"dueSeconds\":%" PRId64 ",\"kind\":\"%s\",\"state\":\"%s\",\"runs\":[", item->due_ms / 1000,
               trigger_kind_name(item->kind), explain_state_name(item->state));
    for (size_t i = 0; i < item->run_count; i++)
        buf_printf(out, "%s%" PRId64, i ? "," : "", item->runs[i]);
    buf_printf(out, "],\"runsLeftOut\":%" PRId64 ",\"text\":", item->runs_left_out);
    buf_put_json(out, text.data ? text.data : "");
    buf_putc(out, '}');
    out->failed = out->failed || buf_failed(&text);
    buf_fini(&text);
}

static void put_json(const struct explanation *ex, bool complete, struct buf *out)
{
    buf_printf(out, "{\"job\":%" PRId64 ",\"fromSeconds\":%" PRId64 ",\"untilSeconds\":%" PRId64 ",\"complete\":%s,",
               ex->job_id, ex->from_ms / 1000, ex->until_ms / 1000, complete ? "true" : "false");
    buf_puts(out, "\"items\":[");
    for (size_t i = 0; i < ex->count; i++) {
        buf_puts(out, i ? ",\n" : "\n");
        put_json_item(&ex->items[i], out);
    }
    buf_puts(out, ex->count ? "\n]}\n" : "]}\n");
}

static void put_text(const struct explanation *ex, bool complete, const struct zone *zone, struct buf *out)
{
    if (ex->count == 0)
        buf_puts(out, "Nothing was due in that time.\n");
    else
        buf_printf(out, "%-19s  %-8s  (%s)\n", "DUE", "STATE", zone_get_name(zone));
    for (size_t i = 0; i < ex->count; i++) {
        ctl_put_second(zone, ex->items[i].due_ms / 1000, out);
        buf_printf(out, "  %-8s  ", explain_state_name(ex->items[i].state));
        explain_put_text(out, &ex->items[i]);
        buf_putc(out, '\n');
    }
    if (!complete) {
        buf_puts(out, "There is more: continue with --from '");
        ctl_put_second(zone, ex->until_ms / 1000, out);
        buf_puts(out, "'\n");
    }
}

/* Whoever may read the database's password may see every job. */
static enum err explain(const struct config *config, struct store *store, const struct clock *clock,
                        const struct zone *zone, int64_t from_s, int64_t to_s, struct explanation *out,
                        struct errctx *ec)
{
    const struct actor actor = {
        .name = "shardwheelctl", .via = "shardwheelctl", .role = ROLE_ADMIN, .rights = RIGHTS_ALL};
    struct admin *admin = NULL;
    struct refusal r = {0};
    enum err e =
        admin_create(&(struct admin_opts){.store = store, .zone = zone, .config = config}, clock, NULL, &admin, ec);

    if (e)
        return e;
    e = admin_explain_job(admin, &actor, config->ctl.job, from_s * 1000, to_s * 1000, out, &r);
    admin_destroy(admin);
    return e ? err_set(ec, e, "%s", r.text.text) : ERR_OK;
}

enum err ctl_explain(const struct config *config, struct store *store, struct store_session *s,
                     const struct clock *clock, struct errctx *ec)
{
    struct explanation ex = {0};
    struct zone *zone = NULL;
    struct buf text = {0};
    int64_t now_ms = 0, from_s = 0, to_s = 0;
    enum err e = ctl_load_zone(s, config, &zone, ec);

    if (!e)
        e = store_load_wall_ms(s, &now_ms, ec);
    if (!e)
        e = take_range(&config->ctl, zone, now_ms / 1000, &from_s, &to_s, ec);
    if (!e)
        e = explain(config, store, clock, zone, from_s, to_s, &ex, ec);
    if (!e) {
        bool complete = ex.until_ms >= to_s * 1000;

        if (config->ctl.json)
            put_json(&ex, complete, &text);
        else
            put_text(&ex, complete, zone, &text);
        e = ctl_print(&text, ec);
    }
    explanation_fini(&ex);
    zone_destroy(zone);
    return e;
}

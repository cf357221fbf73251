/* SPDX-License-Identifier: MIT */
/* Later rows: written, listed, cancelled; and what a Java admin would leave undone. */
#include "ctl/parts.h"

#include "shardwheel/admin/jobs.h"
#include "shardwheel/follow/triggers.h"
#include "shardwheel/store/going_back.h"
#include "shardwheel/store/job.h"
#include "shardwheel/store/runs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LIST_MAX 1000

/* ---- trigger ----------------------------------------------------------------------------------------------------- */

static enum err add_row(struct store_session *s, const struct later_row *row, int64_t *id, struct errctx *ec)
{
    struct audit_diff diff;
    struct run_job job;
    enum err e = ctl_load_run_job(s, row->job_id, &job, ec);

    if (e)
        return e;
    audit_begin(&diff, AUDIT_ADDED);
    audit_text(&diff, "executorParam", NULL, row->param);
    audit_text(&diff, "addressList", NULL, row->addresses);
    audit_int(&diff, "atSeconds", 0, row->due_s);
    e = store_add_later(s, row, audit_end(&diff, &ctl_actor, "job.trigger", row->job_id, job.name, job.group), id, ec);
    audit_fini(&diff);
    return e;
}

enum err ctl_trigger(struct ctl *c, struct errctx *ec)
{
    const struct config_ctl *wanted = c->wanted;
    struct trigger_order order = {.job_id = wanted->job,
                                  .kind = TRIGGER_MANUAL,
                                  .param = ctl_find_option(wanted, "param"),
                                  .addresses = ctl_find_option(wanted, "addresses")};
    /* As by hand in the original: what is not given is an empty parameter. */
    struct later_row row = {.job_id = wanted->job,
                            .kind = TRIGGER_MANUAL,
                            .param = order.param ? order.param : "",
                            .addresses = str_is_blank(order.addresses) ? NULL : order.addresses,
                            .due_s = c->now_ms / 1000,
                            .retries_left = -1};
    const char *at = ctl_find_option(wanted, "at");
    int64_t id = 0;
    enum err e = ctl_check_options(wanted, (const char *const[]){"param", "addresses", "at", NULL},
                                   "--param, --addresses and --at", ec);

    if (!e)
        e = ctl_take_instant(wanted, "at", c->zone, &row.due_s, ec);
    if (!e && row.due_s < c->now_ms / 1000)
        e = err_set(ec, ERR_INPUT, "at: %s is in the past", log_quote(at).s);
    if (!e)
        e = job_check_order(c->session, &order, ec); /* when it goes out, job and log may be others */
    row.original_due_s = row.due_s;
    if (!e)
        e = add_row(c->session, &row, &id, ec);
    if (e)
        return e;
    if (wanted->json) {
        buf_printf(&c->out, "{\"id\":%" PRId64 ",\"job\":%" PRId64 ",\"dueSeconds\":%" PRId64 "}\n", id, row.job_id,
                   row.due_s);
        return ERR_OK;
    }
    buf_printf(&c->out, "waiting run %" PRId64 ": job %" PRId64 " starts ", id, row.job_id);
    if (at)
        zone_put_second(c->zone, row.due_s, &c->out);
    buf_puts(&c->out, at ? "\n" : "within two seconds\n");
    return ERR_OK;
}

/* ---- later, cancel-later ----------------------------------------------------------------------------------------- */

static void put_row_json(const struct later_row *row, struct buf *out)
{
    member_int(out, "id", row->id);
    member_int(out, "job", row->job_id);
    member_text(out, "kind", trigger_kind_name(row->kind));
    member_int(out, "dueSeconds", row->due_s);
    member_bool(out, "held", row->hold_until_s);
    member_int_or_null(out, "log", row->log_id);
    member_text(out, "addresses", row->addresses);
    member_text(out, "param", row->param);
    buf_puts(out, "}");
}

static void put_row_text(const struct later_row *row, const struct zone *zone, struct buf *out)
{
    buf_printf(out, "%-10" PRId64 "  %-10" PRId64 "  %-7s  ", row->id, row->job_id, trigger_kind_name(row->kind));
    zone_put_second(zone, row->due_s, out);
    if (row->hold_until_s) {
        buf_puts(out, "  waits for an executor until ");
        zone_put_second(zone, row->hold_until_s, out);
    }
    if (row->log_id)
        buf_printf(out, "  log %" PRId64, row->log_id);
    buf_puts(out, "\n");
}

static void put_page(const struct later_page *page, const struct zone *zone, bool json, struct buf *out)
{
    if (json) {
        buf_puts(out, "[");
        for (size_t i = 0; i < page->count; i++) {
            buf_puts(out, i ? ",\n{" : "\n{");
            put_row_json(&page->rows[i], out);
        }
        buf_puts(out, page->count ? "\n]\n" : "]\n");
        return;
    }
    if (page->count == 0) {
        buf_puts(out, "No run is waiting.\n");
        return;
    }
    buf_printf(out, "%-10s  %-10s  %-7s  DUE (%s)\n", "ID", "JOB", "KIND", zone_get_name(zone));
    for (size_t i = 0; i < page->count; i++)
        put_row_text(&page->rows[i], zone, out);
    if (page->count == LIST_MAX)
        buf_printf(out, "Only the first %d are listed; going-back counts all of them.\n", LIST_MAX);
}

enum err ctl_list_later(struct ctl *c, struct errctx *ec)
{
    struct later_page page = {0};
    enum err e = store_list_later(c->session, c->wanted->job, LIST_MAX, &page, ec);

    if (!e)
        put_page(&page, c->zone, c->wanted->json, &c->out);
    later_page_fini(&page);
    return e;
}

static enum err cancel(struct store_session *s, const struct later_row *row, struct errctx *ec)
{
    struct audit_diff diff;
    struct run_job job;
    enum err e = ctl_load_run_job(s, row->job_id, &job, ec);

    if (e)
        return e;
    audit_begin(&diff, AUDIT_REMOVED);
    audit_int(&diff, "later", row->id, 0);
    audit_int(&diff, "atSeconds", row->due_s, 0);
    e = store_cancel_later(s, row->id,
                           audit_end(&diff, &ctl_actor, "job.cancel-later", row->job_id, job.name, job.group), ec);
    audit_fini(&diff);
    return e;
}

enum err ctl_cancel_later(struct ctl *c, struct errctx *ec)
{
    int64_t id = c->wanted->log_id;
    struct later_page page = {0};
    enum err e = store_load_later(c->session, &id, 1, &page, ec);

    if (!e && page.count)
        e = cancel(c->session, &page.rows[0], ec);
    else if (!e)
        e = store_cancel_later(c->session, id, NULL, ec); /* says why there is none */
    if (!e)
        buf_printf(&c->out, "waiting run %" PRId64 " is cancelled\n", id);
    later_page_fini(&page);
    return e;
}

/* ---- going back -------------------------------------------------------------------------------------------------- */

struct fact {
    const char *json;
    const char *text; /* behind the number */
    int64_t count;
    int64_t first_s; /* 0: it has none */
};

#define FACTS_MAX 24

static size_t list_facts(const struct going_back *g, struct fact out[FACTS_MAX])
{
    static const char *const json[TRIGGER_KINDS] = {"schedule", "misfire", "retry", "manual", "parent", "api", "flow"};
    static const char *const text[TRIGGER_KINDS] = {
        "waiting fires of schedules", "misfires that wait",       "waiting retries",       "waiting manual runs",
        "child jobs that wait",       "waiting runs of programs", "waiting steps of flows"};
    size_t n = 0;

    for (int k = 0; k < TRIGGER_KINDS; k++)
        out[n++] = (struct fact){json[k], text[k], g->later.kind[k].count, g->later.kind[k].first_due_s};
    out[n++] = (struct fact){"held", "fires that wait for an executor: their log rows stay open", g->later.held.count,
                             g->later.held.first_due_s};
    out[n++] = (struct fact){"planned", "of these, planned and not ended", g->later.planned, 0};
    out[n++] = (struct fact){"timeZone", "jobs with a time zone: the zone of the admin is used", g->time_zones, 0};
    out[n++] = (struct fact){"fixedDelay", "jobs with a fixed delay: they run as FIX_RATE", g->fixed_delays, 0};
    out[n++] = (struct fact){"validity", "jobs with a start or end date: it is ignored", g->validities, 0};
    out[n++] = (struct fact){"retryWait", "jobs with a retry delay: retries are sent at once", g->retry_waits, 0};
    out[n++] = (struct fact){"hold", "jobs whose fires wait for an executor: their fires fail at once", g->holds, 0};
    out[n++] = (struct fact){"resendLost", "jobs whose lost runs are sent again: these runs fail", g->resends, 0};
    out[n++] = (struct fact){"retention", "jobs with their own retention of log rows", g->retentions, 0};
    out[n++] =
        (struct fact){"watch", "jobs with alarms for missing or long runs: these alarms are not sent", g->watches, 0};
    out[n++] = (struct fact){"flowRuns", "flow runs that are open: they wait until a node starts", g->flow_runs, 0};
    out[n++] = (struct fact){"flows", "flows with a schedule: they do not start", g->flows, g->flows_first_s};
    out[n++] = (struct fact){"users", "users with strong passwords: they cannot log in", g->strong.all, 0};
    out[n++] = (struct fact){"secondFactor", "users with a second factor: it is not asked for", g->factors, 0};
    out[n++] = (struct fact){"leftOpen", "fires of a failed node: their log rows stay open until a node starts",
                             g->left_open, 0};
    return n;
}

/* Some of them, where there are many. */
static void put_users(const struct named_few *users, struct buf *out)
{
    buf_puts(out, ": ");
    for (size_t i = 0; i < users->count; i++) {
        buf_puts(out, i ? ", " : "");
        ctl_put_cell(out, users->names[i]);
    }
    buf_puts(out, (size_t)users->all > users->count ? ", ..." : "");
}

static void put_facts_text(const struct going_back *g, const struct fact *facts, size_t n, const struct zone *zone,
                           struct buf *out)
{
    for (size_t i = 0; i < n; i++) {
        if (!facts[i].count)
            continue;
        buf_printf(out, "%8" PRId64 "  %s", facts[i].count, facts[i].text);
        if (facts[i].first_s) {
            buf_puts(out, "; first ");
            zone_put_second(zone, facts[i].first_s, out);
        }
        if (!strcmp(facts[i].json, "users"))
            put_users(&g->strong, out);
        buf_puts(out, "\n");
    }
    if (going_back_is_empty(g) && g->left_open == 0)
        buf_puts(out, "Nothing: a Java admin will do everything.\n");
}

static void put_facts_json(const struct going_back *g, const struct fact *facts, size_t n, struct buf *out)
{
    member_object(out, NULL);
    for (size_t i = 0; i < n; i++) {
        member_object(out, facts[i].json);
        member_int(out, "count", facts[i].count);
        if (facts[i].first_s)
            member_int(out, "firstDueSeconds", facts[i].first_s);
        if (!strcmp(facts[i].json, "users")) {
            member_list(out, "names");
            for (size_t k = 0; k < g->strong.count; k++)
                member_text(out, NULL, g->strong.names[k]);
            member_list_end(out);
        }
        member_object_end(out);
    }
    buf_puts(out, "}\n");
}

enum err ctl_going_back(struct ctl *c, struct errctx *ec)
{
    struct fact facts[FACTS_MAX];
    struct going_back g;
    enum err e = store_load_going_back(c->session, &g, ec);
    size_t n = e ? 0 : list_facts(&g, facts);

    if (!e && c->wanted->json)
        put_facts_json(&g, facts, n, &c->out);
    else if (!e)
        put_facts_text(&g, facts, n, c->zone, &c->out);
    return e;
}

/* SPDX-License-Identifier: MIT */
#include "shardwheel/admin/runs.h"
#include "shardwheel/calendar.h"

#include "admin/admin_impl.h"
#include "admin/runs/clearing.h"
#include "admin/runs/counts.h"
#include "shardwheel/admin/audit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TYPE_ALL 9

/* The same day and time so many months before, or the last day of that month. */
static int64_t go_back_months(const struct zone *zone, int64_t now_s, int months)
{
    struct civil at = zone_to_civil(zone, now_s);
    int month = (int)at.year * 12 + at.month - 1 - months;

    at.year = month / 12;
    at.month = month % 12 + 1;
    int last = calendar_month_length(at.year, at.month);
    if (at.day > last)
        at.day = last;
    return zone_from_civil(zone, &at);
}

/* before_s and keep of a type; false: there is no such one. */
bool run_clear_resolve(struct run_clear *clear, const struct zone *zone, int64_t now_s)
{
    static const int months[] = {1, 3, 6, 12};
    static const int64_t kept[] = {1000, 10000, 30000, 100000};

    if (clear->type >= 1 && clear->type <= 4)
        clear->before_s = go_back_months(zone, now_s, months[clear->type - 1]);
    else if (clear->type >= 5 && clear->type <= 8)
        clear->keep = kept[clear->type - 5];
    else if (clear->type == 0)
        return clear->before_s > 0 || clear->keep > 0;
    else
        return clear->type == TYPE_ALL;
    return true;
}

static enum err count(struct admin *a, const struct clear_order *order, struct run_cleared *out, struct refusal *r)
{
    struct store_session *s = NULL;
    enum err e;

    if (!run_counts_enter(a->run_counts))
        return refuse(r, REFUSED_LIMIT, NULL, "%d searches are in progress: try again in a moment", RUNS_SLOW_MAX);
    e = admin_take_session(a, &s, r);
    if (!e)
        e = store_count_runs(s, &order->filter, RUNS_COUNT_MS, &out->matched, &r->text);
    if (s && e == ERR_TIMEOUT) {
        out->is_estimate = true;
        e = store_guess_runs(s, &out->matched, &r->text);
    }
    run_counts_leave(a->run_counts);
    if (!e)
        out->matched = out->matched > order->keep ? out->matched - order->keep : 0;
    return admin_end(a, s, e, r);
}

static enum err note(struct admin *a, const struct actor *actor, const struct run_clear *clear, struct refusal *r)
{
    struct audit_diff diff;
    char before[40] = "";

    if (clear->before_s > 0) {
        struct civil at = zone_to_civil(store_get_zone(a->opts.store), clear->before_s);

        snprintf(before, sizeof before, "%04d-%02d-%02d %02d:%02d:%02d", (int)at.year, at.month, at.day, at.hour,
                 at.minute, at.second);
    }
    audit_begin(&diff, AUDIT_REMOVED);
    audit_int(&diff, "jobGroup", clear->group, 0);
    audit_int(&diff, "jobId", clear->job_id, 0);
    audit_text(&diff, "upTo", before[0] ? before : NULL, NULL);
    audit_int(&diff, "keptNewest", clear->keep, 0);
    return admin_write_audit(a, &diff, actor, "run.clear", clear->job_id, "", clear->group, r);
}

enum err admin_clear_runs(struct admin *a, const struct actor *actor, const struct run_clear *clear, bool dry_run,
                          struct run_cleared *out, struct refusal *r)
{
    struct run_clear resolved = *clear;
    struct clear_order order = {0};
    enum err e = refuse_unless(actor, RIGHT_CHANGE, clear->group > 0 ? clear->group : 0, r);

    *out = (struct run_cleared){0};
    if (!e &&
        !run_clear_resolve(&resolved, store_get_zone(a->opts.store), time_floor_div(clock_wall_ms(a->clock), 1000)))
        e = refuse(r, REFUSED_INVALID, "type", "%d is not a valid type", clear->type);
    order.filter = (struct run_filter){.group = clear->group > 0 ? clear->group : 0,
                                       .job_id = clear->job_id > 0 ? clear->job_id : 0,
                                       .until_s = resolved.before_s};
    order.keep = resolved.keep;
    order.from = clear->from;
    order.in_pieces = clear->for_ms > 0;
    snprintf(order.who, sizeof order.who, "%s", actor->name);
    if (e || dry_run)
        return e ? e : count(a, &order, out, r);
    e = note(a, actor, &resolved, r);
    if (e)
        return e;
    e = run_clearing_submit(a->clears, &order, clear->for_ms > 0 ? clear->for_ms : RUNS_CLEAR_WAIT_MS, out, &r->text);
    if (e == ERR_BUSY)
        return refuse(r, REFUSED_LIMIT, NULL, "%s", r->text.text);
    return refuse_error(r, e);
}

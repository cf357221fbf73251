/* SPDX-License-Identifier: MIT */
/* A database that was restored from a backup: what may have run since is listed, and never sent again. */
#include "ctl/parts.h"

#include "shardwheel/schedule.h"
#include "shardwheel/store/job.h"
#include "shardwheel/store/restore.h"

#include <inttypes.h>
#include <string.h>

#define SHOWN_MAX 1000 /* jobs in the list for people */
#define CRON_YEARS 100 /* how far ahead schedules are searched, as nodes do */

static enum err take_options(const struct config_ctl *ctl, const struct zone *zone, struct restore_order *order,
                             struct errctx *ec)
{
    const char *ids = ctl_find_option(ctl, "ids");
    enum err e = ctl_check_options(ctl, (const char *const[]){"from", "ids", NULL},
                                   "--from, --ids, --dry-run, --force and --json", ec);

    if (!e)
        e = ctl_take_instant(ctl, "from", zone, &order->from_s, ec);
    if (!e && ids && !parse_int(ids, 1, INT64_C(1) << 50, &order->ids))
        e = err_set(ec, ERR_INPUT, "ids: expected a number of ids, 1 or more; not %s", log_quote(ids).s);
    return e;
}

static enum err find_next(void *arg, const struct job_due *job, int64_t at_s, struct restore_next *out,
                          struct errctx *ec)
{
    return missed_find(arg, job, at_s, &out->skipped, &out->next_ms, &out->stop, ec);
}

/* ---- what is told ------------------------------------------------------------------------------------------------ */

static void put_json(const struct restore_result *r, bool dry_run, struct buf *out)
{
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {{"fromSeconds", r->from_s}, {"atSeconds", r->at_s},
                   {"epoch", r->epoch},        {"firstLogId", r->first_id + 1},
                   {"unknown", r->unknown},    {"later", r->later},
                   {"running", r->running},    {"moved", r->moved},
                   {"stopped", r->stopped},    {"failuresLeftAlone", r->unhandled},
                   {"flowRuns", r->flow_runs}, {"flows", r->flows},
                   {"sessions", r->sessions},  {"tokens", r->tokens}};

    member_object(out, NULL);
    member_bool(out, "done", !dry_run);
    member_bool(out, "dryRun", dry_run);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        member_int(out, numbers[i].name, numbers[i].value);
    member_bool(out, "reshardWithdrawn", r->reshard);
    member_list(out, "jobs");
    for (size_t i = 0; i < r->count; i++) {
        const struct restored_job *job = &r->jobs[i];

        buf_puts(out, i ? ",\n{" : "\n{");
        member_int(out, "job", job->id);
        member_int(out, "mayHaveRun", job->count);
        member_bool(out, "atLeast", job->more);
        member_int(out, "firstSeconds", job->first_s);
        member_int(out, "lastSeconds", job->last_s);
        member_bool(out, "stopped", job->stopped);
        buf_putc(out, '}');
    }
    buf_puts(out, r->count ? "\n]}\n" : "]}\n");
}

static void put_jobs(const struct restore_result *r, const struct zone *zone, struct buf *out)
{
    bool more = false;
    int64_t sum = 0;

    for (size_t i = 0; i < r->count; i++) {
        sum += r->jobs[i].count;
        more = more || r->jobs[i].more;
    }
    buf_printf(out, "May have run, and is not sent again: %s%" PRId64 " due times of %zu jobs\n",
               more ? "at least " : "", sum, r->count);
    if (r->count)
        buf_printf(out, "%-10s  %10s  %-19s  LAST (%s)\n", "JOB", "DUE TIMES", "FIRST", zone_get_name(zone));
    for (size_t i = 0; i < r->count && i < SHOWN_MAX; i++) {
        const struct restored_job *job = &r->jobs[i];

        buf_printf(out, "%-10" PRId64 "  %9" PRId64 "%s  ", job->id, job->count, job->more ? "+" : " ");
        zone_put_second(zone, job->first_s, out);
        buf_puts(out, "  ");
        zone_put_second(zone, job->last_s, out);
        buf_puts(out, job->stopped ? "  stopped: no further due time\n" : "\n");
    }
    if (r->count > SHOWN_MAX)
        buf_printf(out, "and %zu more jobs: --json lists them all\n", r->count - SHOWN_MAX);
}

static void put_number(int64_t n, const char *what, struct buf *out)
{
    if (n)
        buf_printf(out, "%10" PRId64 "  %s\n", n, what);
}

static void put_text(const struct restore_result *r, const struct zone *zone, bool dry_run, struct buf *out)
{
    buf_puts(out, "Backup of ");
    zone_put_second(zone, r->from_s, out);
    buf_puts(out, ", restored; now it is ");
    zone_put_second(zone, r->at_s, out);
    buf_puts(out, "\n");
    put_jobs(r, zone, out);
    put_number(r->unknown, "of these were planned or being sent, and have rows that say so", out);
    put_number(r->later, "waiting runs were due: retries, runs for a time, fires that waited for an executor", out);
    put_number(r->running, "runs were in progress: a result is stored only if the executor reports it again", out);
    put_number(r->unhandled, "failures were not handled yet: they get no retry and no alarm", out);
    put_number(r->moved, "jobs got a later next time", out);
    put_number(r->flow_runs, "flow runs were open, and end as failed; run them again if needed", out);
    put_number(r->flows, "flows got a later next time", out);
    put_number(r->sessions, "logins end: everybody must log in again", out);
    put_number(r->tokens, "API tokens are those of the backup: a token that was revoked since then is valid again",
               out);
    if (r->reshard)
        buf_puts(out, "The change of the number of shards is cancelled\n");
    buf_printf(out, "Ids of the log continue after %" PRId64 "; every shard has epoch %" PRId64 "\n", r->first_id,
               r->epoch);
    buf_puts(out, dry_run ? "Nothing was written: --dry-run\n" : "Done: start the nodes\n");
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

enum err ctl_after_restore(struct ctl *c, struct errctx *ec)
{
    struct restore_order order = {.dry_run = c->wanted->dry_run, .force = c->wanted->force, .find_next = find_next};
    struct restore_result result = {0};
    struct missed *missed = NULL;
    enum err e = take_options(c->wanted, c->zone, &order, ec);

    if (!e)
        e = missed_create(c->zone, zone_to_civil(c->zone, c->now_ms / 1000).year + CRON_YEARS, &missed, ec);
    order.arg = missed;
    if (!e)
        e = store_after_restore(c->session, &order, &result, ec);
    if (!e && c->wanted->json)
        put_json(&result, order.dry_run, &c->out);
    else if (!e)
        put_text(&result, c->zone, order.dry_run, &c->out);
    restore_result_fini(&result);
    missed_destroy(missed);
    return e;
}

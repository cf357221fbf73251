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

static int64_t sum_due(const struct restore_result *r, bool *more)
{
    int64_t sum = 0;

    *more = false;
    for (size_t i = 0; i < r->count; i++) {
        sum += r->jobs[i].count;
        *more = *more || r->jobs[i].more;
    }
    return sum;
}

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
                   {"sessions", r->sessions},  {"tokens", r->tokens}};

    buf_printf(out, "{\"done\":%s,\"dryRun\":%s", dry_run ? "false" : "true", dry_run ? "true" : "false");
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        buf_printf(out, ",\"%s\":%" PRId64, numbers[i].name, numbers[i].value);
    buf_printf(out, ",\"reshardWithdrawn\":%s,\"jobs\":[", r->reshard ? "true" : "false");
    for (size_t i = 0; i < r->count; i++) {
        const struct restored_job *job = &r->jobs[i];

        buf_printf(out,
                   "%s\n{\"job\":%" PRId64 ",\"mayHaveRun\":%" PRId64 ",\"atLeast\":%s,\"firstSeconds\":%" PRId64
                   ",\"lastSeconds\":%" PRId64 ",\"stopped\":%s}",
                   i ? "," : "", job->id, job->count, job->more ? "true" : "false", job->first_s, job->last_s,
                   job->stopped ? "true" : "false");
    }
    buf_puts(out, r->count ? "\n]}\n" : "]}\n");
}

static void put_jobs(const struct restore_result *r, const struct zone *zone, struct buf *out)
{
    bool more;
    int64_t sum = sum_due(r, &more);

    buf_printf(out, "May have run, and is not sent again: %s%" PRId64 " due times of %zu jobs\n",
               more ? "at least " : "", sum, r->count);
    if (r->count)
        buf_printf(out, "%-10s  %10s  %-19s  LAST (%s)\n", "JOB", "DUE TIMES", "FIRST", zone_get_name(zone));
    for (size_t i = 0; i < r->count && i < SHOWN_MAX; i++) {
        const struct restored_job *job = &r->jobs[i];

        buf_printf(out, "%-10" PRId64 "  %9" PRId64 "%s  ", job->id, job->count, job->more ? "+" : " ");
        ctl_put_second(zone, job->first_s, out);
        buf_puts(out, "  ");
        ctl_put_second(zone, job->last_s, out);
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
    ctl_put_second(zone, r->from_s, out);
    buf_puts(out, ", restored; now it is ");
    ctl_put_second(zone, r->at_s, out);
    buf_puts(out, "\n");
    put_jobs(r, zone, out);
    put_number(r->unknown, "of these were planned or being sent, and have rows that say so", out);
    put_number(r->later, "waiting runs were due: retries, runs for a time, fires that waited", out);
    put_number(r->running, "runs were in progress: their result is known only if it is reported again", out);
    put_number(r->unhandled, "failures were not handled yet: no retry, no alarm", out);
    put_number(r->moved, "jobs got a later next time", out);
    put_number(r->sessions, "logins end: everybody must log in again", out);
    put_number(r->tokens, "API tokens are those of the backup: a token that was revoked since is valid again", out);
    if (r->reshard)
        buf_puts(out, "The change of the number of shards is cancelled\n");
    buf_printf(out, "Ids of the log continue after %" PRId64 "; every shard has epoch %" PRId64 "\n", r->first_id,
               r->epoch);
    buf_puts(out, dry_run ? "Nothing was written: --dry-run\n" : "Done: start the nodes\n");
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

enum err ctl_after_restore(struct store_session *s, const struct config *config, struct errctx *ec)
{
    const struct config_ctl *ctl = &config->ctl;
    struct restore_order order = {.dry_run = ctl->dry_run, .force = ctl->force, .find_next = find_next};
    struct restore_result result = {0};
    struct missed *missed = NULL;
    struct zone *zone = NULL;
    struct buf text = {0};
    int64_t now_ms = 0;
    enum err e = ctl_load_zone(s, config, &zone, ec);

    if (!e)
        e = take_options(ctl, zone, &order, ec);
    if (!e)
        e = store_load_wall_ms(s, &now_ms, ec);
    if (!e)
        e = missed_create(zone, zone_to_civil(zone, now_ms / 1000).year + CRON_YEARS, &missed, ec);
    order.arg = missed;
    if (!e)
        e = store_after_restore(s, &order, &result, ec);
    if (!e && ctl->json)
        put_json(&result, ctl->dry_run, &text);
    else if (!e)
        put_text(&result, zone, ctl->dry_run, &text);
    if (!e)
        e = ctl_print(&text, ec);
    restore_result_fini(&result);
    missed_destroy(missed);
    zone_destroy(zone);
    return e;
}

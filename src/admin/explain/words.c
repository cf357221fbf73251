/* SPDX-License-Identifier: MIT */
/* Reasons by name, and the English sentence of an item. */
#include "admin/explain/explain_impl.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "shardwheel/history.h"
#include "shardwheel/text.h"

#define MESSAGE_MAX 160 /* bytes of a message in a sentence */

/* ---- names ------------------------------------------------------------------------------------------------------- */

const char *explain_state_name(enum explain_state state)
{
    static const char *const names[] = {
        [EXPLAIN_PLANNED] = "planned", [EXPLAIN_RUNNING] = "running", [EXPLAIN_SUCCESS] = "success",
        [EXPLAIN_FAILED] = "failed",   [EXPLAIN_RETRIED] = "retried", [EXPLAIN_LATE] = "late",
        [EXPLAIN_SKIPPED] = "skipped", [EXPLAIN_UNKNOWN] = "unknown", [EXPLAIN_MISSING] = "missing"};

    return names[state];
}

const char *explain_reason_name(enum explain_reason why)
{
    static const char *const names[WHY_REASONS] = {
        [WHY_SUCCEEDED] = "succeeded",
        [WHY_RUNNING] = "running",
        [WHY_PLANNED] = "planned",
        [WHY_WAITING] = "waiting",
        [WHY_OPEN] = "open",
        [WHY_UNDELIVERED] = "undelivered",
        [WHY_DELIVERY_UNKNOWN] = "delivery-unknown",
        [WHY_BLOCK_REFUSED] = "block-refused",
        [WHY_BLOCK_ENDED] = "block-ended",
        [WHY_KILLED] = "killed",
        [WHY_LOST] = "lost",
        [WHY_TIME_LIMIT] = "time-limit",
        [WHY_FAILED] = "failed",
        [WHY_BROADCAST] = "broadcast",
        [WHY_TO_COME] = "to-come",
        [WHY_MOMENT_AGO] = "moment-ago",
        [WHY_CLEANED] = "cleaned",
        [WHY_NOT_PLANNED] = "not-planned",
        [WHY_CHANGED_BEFORE] = "changed-before",
        [WHY_NO_TRACE] = "no-trace",
        [WHY_SKIPPED] = "skipped",
        [WHY_STOPPED] = "stopped",
        [WHY_REMOVED] = "removed",
        [WHY_SCHEDULE_UNKNOWN] = "schedule-unknown",
        [WHY_SCHEDULE_BROKEN] = "schedule-broken",
    };

    return names[why];
}

const char *explain_origin_name(enum explain_origin origin)
{
    static const char *const names[ORIGINS] = {
        [ORIGIN_DUE] = "due",         [ORIGIN_ASKED] = "asked",     [ORIGIN_PARENT] = "parent",
        [ORIGIN_FLOW] = "flow",       [ORIGIN_RETRY] = "retry",     [ORIGIN_MISFIRE] = "misfire",
        [ORIGIN_FOREIGN] = "foreign", [ORIGIN_NOT_DUE] = "not-due", [ORIGIN_BEFORE_CHANGE] = "before-change",
    };

    return names[origin];
}

/* What stands in the text of a row; the longest that does says it. */
static const struct {
    const char *name;
    const char *says; /* NULL: nothing says so by itself */
} causes[CAUSES] = {
    [CAUSE_NONE] = {"none", NULL},
    [CAUSE_NO_EXECUTOR] = {"no-executor", "no address: no executor"},
    [CAUSE_NO_GROUP] = {"no-group", "no address: executor group"},
    [CAUSE_UNREACHABLE] = {"unreachable", "not sent: "},
    [CAUSE_NO_ANSWER] = {"no-answer", "the executor may have taken it"},
    [CAUSE_ALL_BUSY] = {"all-busy", "not sent: no executor has answered that the job is idle"},
    [CAUSE_NONE_ALIVE] = {"none-alive", "not sent: no executor has answered that it lives"},
    [CAUSE_TOO_LATE] = {"too-late", "not sent: too late"},
    [CAUSE_STOPPING] = {"stopping", "not sent: this node is stopping"},
    [CAUSE_QUEUE_FULL] = {"queue-full", "not sent: too many fires waiting"},
    [CAUSE_BAD_ADDRESS] = {"bad-address", "not sent: the address is no http URL"},
    [CAUSE_GLUE_OFF] = {"glue-off", "not sent: GLUE is switched off"},
    [CAUSE_JOB_GONE] = {"job-gone", "not sent: the job is gone"},
    [CAUSE_JOB_STOPPED] = {"job-stopped", "not sent: the job was stopped"},
    [CAUSE_NO_MEMORY] = {"no-memory", "not sent: out of memory"},
};

const char *explain_cause_name(enum explain_cause cause)
{
    return causes[cause].name;
}

enum explain_cause explain_find_cause(const char *text)
{
    enum explain_cause found = CAUSE_NONE;

    if (strstr(text, "Address Router Fail")) /* the full layout's word for it */
        return CAUSE_NO_EXECUTOR;
    for (enum explain_cause c = CAUSE_NONE; c < CAUSES; c++) {
        bool says = causes[c].says && strstr(text, causes[c].says);
        if (says && (!found || strlen(causes[c].says) > strlen(causes[found].says)))
            found = c;
    }
    return found;
}

/* ---- parts of sentences ------------------------------------------------------------------------------------------ */

/* "2026-11-22 16:00:05Z" */
struct time_text {
    char s[24];
};

static struct time_text format_time(int64_t ms)
{
    time_t s = (time_t)time_floor_div(ms, 1000);
    struct time_text out = {""};
    struct tm utc;

    if (gmtime_r(&s, &utc))
        strftime(out.s, sizeof out.s, "%Y-%m-%d %H:%M:%SZ", &utc);
    return out;
}

/* "by ann (console A) at 2026-11-22 16:00:05Z" */
static void put_change(struct buf *out, const struct explain_who *c)
{
    if (c->who)
        buf_printf(out, "by %s (%s)", c->who, c->via ? c->via : "");
    else
        buf_puts(out, "outside shardwheel");
    buf_printf(out, " at %s", format_time(c->at_ms).s);
}

/* "the database was unavailable from ... to ...": to stand behind "because". */
static void put_outage(struct buf *out, const struct explain_outage *o)
{
    const struct time_text at = format_time(o->from_ms);
    const char *from = at.s;

    if (strcmp(o->kind, EVENT_GUARD_LOST) == 0)
        buf_printf(out, "the lock that keeps Java admins on standby was lost at %s", from);
    else if (strcmp(o->kind, EVENT_NODE_DIED) == 0)
        buf_printf(out, "the node %.60s failed at %s, and its shards had to move", o->node, from);
    else
        buf_printf(out, "the database was unavailable from %s to %s", from,
                   format_time(o->told_to_ms ? o->told_to_ms : o->to_ms).s);
}

/* ": what it said", cut between two characters. */
static void put_message(struct buf *out, const char *text)
{
    size_t len = utf8_cut(text, strlen(text), MESSAGE_MAX);

    if (len == 0)
        return;
    buf_puts(out, ": ");
    buf_append(out, text, len);
}

static void put_killed(struct buf *out, const struct explain_end *end)
{
    buf_puts(out, "it was killed");
    if (*end->killer)
        buf_printf(out, " by %s", end->killer);
    if (end->ended_ms)
        buf_printf(out, " at %s", format_time(end->ended_ms).s);
}

/* How it failed: a clause of its own. What was said stands behind it, or in brackets. */
static void put_failure(struct buf *out, const struct explain_end *end)
{
    static const struct {
        const char *clause, *bracket;
    } failures[WHY_REASONS] = {
        [WHY_UNDELIVERED] = {"it could not be delivered", NULL},
        [WHY_DELIVERY_UNKNOWN] = {"it is not known whether the executor received it", "delivery unknown"},
        [WHY_BLOCK_REFUSED] = {"the executor refused it, because the previous run was still running",
                               "its block strategy"},
        [WHY_BLOCK_ENDED] = {"the executor ended it because a later run started", "its block strategy"},
        [WHY_LOST] = {"its executor lost the run", NULL},
        [WHY_TIME_LIMIT] = {"the executor ended it after the timeout", NULL},
        [WHY_FAILED] = {"it failed in the executor", NULL},
    };
    const char *bracket = failures[end->why].bracket;

    if (end->why == WHY_KILLED) {
        put_killed(out, end);
        return;
    }
    buf_puts(out, failures[end->why].clause ? failures[end->why].clause : "it failed");
    if (bracket)
        buf_printf(out, " (%s", bracket);
    put_message(out, end->message);
    if (bracket)
        buf_putc(out, ')');
}

bool explain_has_failed(enum explain_reason why)
{
    return why >= WHY_UNDELIVERED && why <= WHY_FAILED;
}

static void put_success(struct buf *out, const struct explain_end *end)
{
    buf_puts(out, "succeeded");
    if (end->took_s >= 0)
        buf_printf(out, " after %" PRId64 " s", end->took_s);
}

static void put_running(struct buf *out, const struct explain_end *end)
{
    buf_puts(out, "was accepted by the executor and is running");
    if (*end->address)
        buf_printf(out, " at %.100s", end->address);
}

static void put_waiting(struct buf *out, const struct explain_end *end)
{
    buf_puts(out, "is waiting, because no executor could be reached");
    if (end->until_ms)
        buf_printf(out, "; it fails at %s", format_time(end->until_ms).s);
}

/* How it stands; a failure too. */
static void put_end(struct buf *out, const struct explain_end *end)
{
    if (end->why == WHY_SUCCEEDED)
        put_success(out, end);
    else if (end->why == WHY_RUNNING)
        put_running(out, end);
    else if (end->why == WHY_PLANNED)
        buf_puts(out, "is planned and will fire at its due time");
    else if (end->why == WHY_WAITING)
        put_waiting(out, end);
    else if (end->why == WHY_OPEN)
        buf_puts(out, "has no result yet: it is not known whether it was sent");
    else
        put_failure(out, end);
}

/* ---- what has a row ---------------------------------------------------------------------------------------------- */

static bool has_gone_out(const struct explain_end *end)
{
    return end->why != WHY_PLANNED && end->why != WHY_WAITING && end->why != WHY_OPEN;
}

static void put_lateness(struct buf *out, const struct explain_item *item)
{
    if (item->late_s == 0) {
        buf_puts(out, "was sent on time");
        return;
    }
    buf_printf(out, "was sent %" PRId64 " s late", item->late_s);
    if (item->outage) {
        buf_puts(out, " because ");
        put_outage(out, item->outage);
    } else if (item->by_misfire) {
        buf_puts(out, ", by the misfire strategy, because no node had planned it in time");
    }
}

static void put_retries(struct buf *out, const struct explain_item *item)
{
    const struct explain_end *retry = &item->retry;

    if (item->retries > 0 && !explain_has_failed(retry->why)) {
        buf_printf(out, "; retry %d (run %" PRId64 ") ", item->retries, retry->run);
        put_end(out, retry);
    } else if (item->retries > 0) {
        if (item->retries == 1)
            buf_printf(out, "; its retry (run %" PRId64 ") failed too: ", retry->run);
        else
            buf_printf(out, "; all %d retries failed, the last one as run %" PRId64 ": ", item->retries, retry->run);
        put_failure(out, retry);
    }
    if (item->retry_at_ms)
        buf_printf(out, "; the next retry is at %s", format_time(item->retry_at_ms).s);
}

static void put_one(struct buf *out, const struct explain_item *item)
{
    const struct explain_end *end = &item->end;
    bool failed = explain_has_failed(end->why);

    if (has_gone_out(end)) {
        put_lateness(out, item);
        buf_puts(out, failed ? ", but " : item->late_s ? ", and " : " and ");
    }
    put_end(out, end);
    if (failed)
        put_retries(out, item);
}

static void put_spread(struct buf *out, const struct explain_item *item)
{
    const struct explain_spread *n = &item->spread;

    buf_printf(out, "was sent to %zu executors: %zu succeeded, %zu running, %zu failed, %zu without a result",
               n->executors, n->succeeded, n->running, n->failed, n->open);
    if (item->has_end) {
        buf_printf(out, "; of run %" PRId64 " ", item->end.run);
        put_failure(out, &item->end);
    }
}

/* "ann triggered this run manually: it": what is before "was sent". */
static void put_origin(struct buf *out, const struct explain_item *item)
{
    switch (item->origin) {
    case ORIGIN_DUE: buf_puts(out, "It "); return;
    case ORIGIN_ASKED:
        if (item->asked.who)
            buf_printf(out, "%.100s (%.64s)", item->asked.who, item->asked.via ? item->asked.via : "");
        else
            buf_puts(out, "Somebody");
        buf_puts(out, " triggered this run manually");
        break;
    case ORIGIN_PARENT: buf_puts(out, "This run was triggered by the parent job"); break;
    case ORIGIN_FLOW:
        if (item->flow_run)
            buf_printf(out, "This run is a step of flow run %" PRId64, item->flow_run);
        else
            buf_puts(out, "This run is a step of a flow");
        break;
    case ORIGIN_RETRY: buf_puts(out, "This run was the retry of an earlier run"); break;
    case ORIGIN_MISFIRE: buf_puts(out, "The misfire strategy fired once for missed due times"); break;
    case ORIGIN_FOREIGN: buf_puts(out, "This was probably fired by a Java admin"); break;
    case ORIGIN_BEFORE_CHANGE:
        buf_puts(out, "This fire was planned before the job was changed ");
        put_change(out, &item->change);
        break;
    case ORIGIN_NOT_DUE: buf_puts(out, "This fire was not due by the known schedule"); break;
    case ORIGINS: break;
    }
    buf_puts(out, ": it ");
}

/* ---- what has none ----------------------------------------------------------------------------------------------- */

static void put_skipped(struct buf *out, const struct explain_item *item)
{
    if (item->skip == SKIP_RESTORED) {
        buf_printf(out,
                   "It may have run, as one of %" PRId64 " due times: the database was restored from an older backup",
                   item->skipped);
        return;
    }
    buf_printf(out, "It was skipped by the misfire strategy, as one of %" PRId64 " due times", item->skipped);
    if (item->misfire)
        buf_printf(out, " (%s)", item->misfire);
    if (item->outage) {
        buf_puts(out, ", because ");
        put_outage(out, item->outage);
        return;
    }
    switch (item->skip) {
    case SKIP_UNKNOWN:
        buf_puts(out, ": no node had planned it in time, or its next time had been set to a time in the past");
        break;
    case SKIP_LATE: buf_puts(out, ": no node had planned it in time"); break;
    case SKIP_BY_HAND: buf_puts(out, ": its next time had been set to a time in the past"); break;
    case SKIP_RESTORED: break;
    }
}

static void put_not_planned(struct buf *out, const struct explain_item *item)
{
    buf_puts(out, "There is no row: it was not planned because ");
    if (item->outage)
        put_outage(out, item->outage);
    else
        buf_puts(out, "the cluster could not plan at that time");
}

static void put_stopped(struct buf *out, const struct explain_item *item)
{
    buf_puts(out, item->is_ahead ? "The job is stopped" : "The job was stopped at that time");
    if (item->change.at_ms) {
        buf_puts(out, item->change.who ? ": it was stopped " : ": it was changed ");
        put_change(out, &item->change);
    }
}

static void put_unknown(struct buf *out, const struct explain_item *item)
{
    buf_printf(out, "Due times before %s are not known: %s", format_time(item->until_ms).s,
               item->why == WHY_SCHEDULE_BROKEN ? "the schedule was not valid"
                                                : "the earlier schedule is not recorded");
    if (item->change.at_ms) {
        buf_puts(out, "; the job was changed ");
        put_change(out, &item->change);
    }
    buf_puts(out, "; fires that were found are listed");
}

void explain_put_text(struct buf *out, const struct explain_item *item)
{
    switch (item->why) {
    case WHY_SUCCEEDED:
    case WHY_RUNNING:
    case WHY_PLANNED:
    case WHY_WAITING:
    case WHY_OPEN:
    case WHY_UNDELIVERED:
    case WHY_DELIVERY_UNKNOWN:
    case WHY_BLOCK_REFUSED:
    case WHY_BLOCK_ENDED:
    case WHY_KILLED:
    case WHY_LOST:
    case WHY_TIME_LIMIT:
    case WHY_FAILED:
        put_origin(out, item);
        put_one(out, item);
        break;
    case WHY_BROADCAST:
        put_origin(out, item);
        put_spread(out, item);
        break;
    case WHY_TO_COME:
        buf_puts(out, "It is not due yet: the job is started, and its fires are planned a few seconds ahead");
        break;
    case WHY_MOMENT_AGO: buf_puts(out, "It was due just now; its row may not be written yet"); break;
    case WHY_CLEANED: buf_puts(out, "No row was found: old rows may have been deleted"); break;
    case WHY_NOT_PLANNED: put_not_planned(out, item); break;
    case WHY_CHANGED_BEFORE:
        buf_puts(out, "The job was started or changed just before the due time: ");
        put_change(out, &item->change);
        break;
    case WHY_NO_TRACE:
        buf_puts(out, "There is no row, and the reason is not recorded: rows may have been deleted, or another program "
                      "changed the job");
        break;
    case WHY_SKIPPED: put_skipped(out, item); break;
    case WHY_STOPPED: put_stopped(out, item); break;
    case WHY_REMOVED:
        buf_puts(out, "The job was deleted ");
        put_change(out, &item->change);
        buf_puts(out, ": it has no due times after that");
        break;
    case WHY_SCHEDULE_UNKNOWN:
    case WHY_SCHEDULE_BROKEN: put_unknown(out, item); break;
    case WHY_REASONS: break;
    }
    buf_putc(out, '.');
}

/* SPDX-License-Identifier: MIT */
/* What rows of the log say of a due time. */
#include "admin/explain.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "shardwheel/job/codes.h"

#define LATE_MS 2000        /* less is no delay that anybody asks about */
#define OPEN_MS 60000       /* a planned row that is older has not been written, or never will be */
#define RETRY_STEPS 100     /* more are not followed */
#define REASON_MAX 160      /* bytes of a reason */
#define SEND_WINDOW_MS 6000 /* what is planned ahead */

struct explain_time explain_format_time(int64_t ms)
{
    time_t s = (time_t)time_floor_div(ms, 1000);
    struct explain_time out = {""};
    struct tm utc;

    if (gmtime_r(&s, &utc))
        strftime(out.s, sizeof out.s, "%Y-%m-%d %H:%M:%SZ", &utc);
    return out;
}

const struct explain_row *explain_find_row(const struct explain_facts *facts, int64_t id)
{
    size_t low = 0, high = facts->row_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (facts->rows[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < facts->row_count && facts->rows[low].id == id ? &facts->rows[low] : NULL;
}

const struct explain_outage *explain_find_outage(const struct explain_facts *facts, int64_t from_ms, int64_t to_ms)
{
    for (size_t i = 0; i < facts->outage_count; i++)
        if (facts->outages[i].from_ms <= to_ms && facts->outages[i].to_ms >= from_ms)
            return &facts->outages[i];
    return NULL;
}

const struct explain_outage *explain_find_hold(const struct explain_facts *facts, int64_t at_ms)
{
    const struct explain_outage *found = NULL;

    for (size_t i = 0; i < facts->outage_count; i++) {
        const struct explain_outage *o = &facts->outages[i];
        if (o->holds && o->from_ms <= at_ms && o->to_ms > at_ms && (!found || o->to_ms > found->to_ms))
            found = o;
    }
    return found;
}

/* ---- one row ----------------------------------------------------------------------------------------------------- */

enum row_end { ROW_PLANNED, ROW_WAITS, ROW_OPEN, ROW_RUNS, ROW_DONE, ROW_FAILED };

static enum row_end find_end(const struct explain_facts *facts, const struct explain_row *row)
{
    if (row->handle_code == CODE_OK)
        return ROW_DONE;
    if (row->handle_code != CODE_OPEN || (row->trigger_code != CODE_OPEN && row->trigger_code != CODE_OK))
        return ROW_FAILED;
    if (row->trigger_code == CODE_OK)
        return ROW_RUNS;
    if (row->mark == MARK_HELD)
        return ROW_WAITS;
    return row->triggered_s * 1000 + OPEN_MS > facts->now_ms ? ROW_PLANNED : ROW_OPEN;
}

static void put_reason(struct buf *out, const char *text)
{
    if (*text)
        buf_printf(out, ": %.*s", REASON_MAX, text);
}

static void put_failure(struct buf *out, const struct explain_row *row)
{
    if (row->delivery_unknown) {
        buf_puts(out, "nobody knows whether it reached its executor (delivery unknown");
        put_reason(out, row->trigger_text);
        buf_putc(out, ')');
    } else if (row->blocked && row->handle_code == CODE_OPEN) {
        buf_puts(out, "the executor refused it, since the run before was not over (its block strategy");
        put_reason(out, row->trigger_text);
        buf_putc(out, ')');
    } else if (row->blocked) {
        buf_puts(out, "the executor ended it in favour of a later run (its block strategy");
        put_reason(out, row->handle_text);
        buf_putc(out, ')');
    } else if (row->handle_code == CODE_OPEN) {
        buf_puts(out, "it could not be delivered");
        put_reason(out, row->trigger_text);
    } else if (row->lost) {
        buf_puts(out, "its executor lost the run");
        put_reason(out, row->handle_text);
    } else if (row->handle_code == CODE_TIMEOUT) {
        buf_puts(out, "the executor ended it at its time limit");
        put_reason(out, row->handle_text);
    } else {
        buf_puts(out, "it failed in the executor");
        put_reason(out, row->handle_text);
    }
}

static void put_duration(struct buf *out, const struct explain_row *row)
{
    if (row->handled_s >= row->triggered_s && row->handled_s > 0)
        buf_printf(out, " after %" PRId64 " s", row->handled_s - row->triggered_s);
}

/* How it stands with one that has not failed. */
static void put_state(struct buf *out, const struct explain_facts *facts, const struct explain_row *row,
                      enum row_end end)
{
    switch (end) {
    case ROW_PLANNED: buf_puts(out, "is planned and goes out at its second"); break;
    case ROW_WAITS:
        buf_puts(out, "waits, because no executor could be reached");
        for (size_t i = 0; i < facts->later_count; i++)
            if (facts->later[i].log_id == row->id && facts->later[i].hold_until_s)
                buf_printf(out, "; it fails at %s", explain_format_time(facts->later[i].hold_until_s * 1000).s);
        break;
    case ROW_OPEN: buf_puts(out, "has no result yet: whether it was sent is not known"); break;
    case ROW_RUNS:
        buf_puts(out, "was taken by the executor and runs");
        if (*row->address)
            buf_printf(out, " at %.100s", row->address);
        break;
    case ROW_DONE:
        buf_puts(out, "succeeded");
        put_duration(out, row);
        break;
    case ROW_FAILED: put_failure(out, row); break;
    }
}

static enum explain_state find_state(enum row_end end)
{
    switch (end) {
    case ROW_PLANNED:
    case ROW_WAITS: return EXPLAIN_PLANNED;
    case ROW_OPEN: return EXPLAIN_UNKNOWN;
    case ROW_RUNS: return EXPLAIN_RUNNING;
    case ROW_DONE: return EXPLAIN_SUCCESS;
    case ROW_FAILED: return EXPLAIN_FAILED;
    }
    return EXPLAIN_UNKNOWN;
}

static void add_run(struct explain_item *item, int64_t id)
{
    if (item->run_count < EXPLAIN_RUNS_MAX)
        item->runs[item->run_count++] = id;
    else
        item->runs_left_out++;
}

/* ---- retries ----------------------------------------------------------------------------------------------------- */

/* The last of a row's retries; the row itself without any. */
static const struct explain_row *follow(const struct explain_facts *facts, const struct explain_row *row,
                                        struct explain_item *item, int *retries)
{
    *retries = 0;
    add_run(item, row->id);
    while (row->retry_id > row->id && *retries < RETRY_STEPS) {
        const struct explain_row *next = explain_find_row(facts, row->retry_id);
        if (!next)
            break;
        row = next;
        add_run(item, row->id);
        ++*retries;
    }
    return row;
}

/* A retry that waits stands for the second in which it becomes due; it does not name its row. */
static const struct explain_later *find_waiting_retry(const struct explain_facts *facts, const struct explain_row *last)
{
    for (size_t i = 0; i < facts->later_count; i++)
        if (facts->later[i].kind == TRIGGER_RETRY && facts->later[i].log_id == 0 &&
            facts->later[i].due_s >= last->triggered_s)
            return &facts->later[i];
    return NULL;
}

static enum explain_state put_retries(struct buf *out, const struct explain_facts *facts,
                                      const struct explain_row *first, const struct explain_row *last, int retries)
{
    enum row_end end = find_end(facts, last);
    const struct explain_later *waiting =
        end == ROW_FAILED && !last->delivery_unknown && !last->blocked ? find_waiting_retry(facts, last) : NULL;

    put_failure(out, first);
    if (retries > 0 && end != ROW_FAILED) {
        buf_printf(out, "; retry %d (run %" PRId64 ") ", retries, last->id);
        put_state(out, facts, last, end);
        return EXPLAIN_RETRIED;
    }
    if (retries == 1)
        buf_printf(out, "; its retry (run %" PRId64 ") did not help: ", last->id);
    else if (retries > 1)
        buf_printf(out, "; none of its %d retries helped, the last one being run %" PRId64 ": ", retries, last->id);
    if (retries > 0)
        put_failure(out, last);
    if (waiting) {
        buf_printf(out, "; a retry waits until %s", explain_format_time(waiting->due_s * 1000).s);
        return EXPLAIN_RETRIED;
    }
    return first->delivery_unknown && retries == 0 ? EXPLAIN_UNKNOWN : EXPLAIN_FAILED;
}

/* ---- all rows of a due time -------------------------------------------------------------------------------------- */

/* A row tells for when it was planned last, and not when it was sent. */
static int64_t find_sent_ms(const struct explain_facts *facts, const struct explain_row *row)
{
    int64_t at_ms = (row->mark == MARK_PLANNED ? row->fire.due_s : row->triggered_s) * 1000;
    const struct explain_outage *hold = row->mark == MARK_PLANNED ? explain_find_hold(facts, at_ms) : NULL;

    return hold ? hold->to_ms : at_ms;
}

static bool put_lateness(struct buf *out, const struct explain_facts *facts, const struct explain_row *row,
                         const struct explain_item *item)
{
    int64_t sent_ms = find_sent_ms(facts, row);
    const struct explain_outage *outage;

    if (sent_ms - item->due_ms < LATE_MS) {
        buf_puts(out, "It went out on time");
        return false;
    }
    buf_printf(out, "It went out %" PRId64 " s late", (sent_ms - item->due_ms + 500) / 1000);
    outage = explain_find_hold(facts, sent_ms - 1);
    if (!outage)
        outage = explain_find_outage(facts, item->due_ms - SEND_WINDOW_MS, sent_ms);
    if (outage)
        buf_printf(out, " because %s", outage->what);
    else if (row->mark == MARK_PLANNED && row->fire.kind == TRIGGER_MISFIRE)
        buf_puts(out, ", by the misfire rule, because nobody had planned it in time");
    return true;
}

static void tell_one(const struct explain_facts *facts, const struct explain_row *row, struct explain_item *item,
                     struct buf *out)
{
    int retries;
    const struct explain_row *last = follow(facts, row, item, &retries);
    enum row_end end = find_end(facts, row);
    bool late;

    if (end == ROW_PLANNED || end == ROW_WAITS || end == ROW_OPEN) {
        buf_puts(out, "It ");
        put_state(out, facts, row, end);
        item->state = find_state(end);
        return;
    }
    late = put_lateness(out, facts, row, item);
    buf_puts(out, end == ROW_FAILED ? ", but " : late ? ", and " : " and ");
    if (end == ROW_FAILED) {
        item->state = put_retries(out, facts, row, last, retries);
        return;
    }
    put_state(out, facts, row, end);
    item->state = late ? EXPLAIN_LATE : find_state(end);
}

/* A broadcast: numbers of each, and the first that failed. */
static void tell_many(const struct explain_facts *facts, const struct explain_row *const *rows, size_t count,
                      struct explain_item *item, struct buf *out)
{
    size_t ends[ROW_FAILED + 1] = {0};
    const struct explain_row *failed = NULL;

    for (size_t i = 0; i < count; i++) {
        int retries;
        const struct explain_row *last = follow(facts, rows[i], item, &retries);
        enum row_end end = find_end(facts, last);

        ends[end]++;
        if (end == ROW_FAILED && !failed)
            failed = last;
    }
    buf_printf(out,
               "It went out to %zu executors: %zu succeeded, %zu run, %zu failed, %zu are to come or without a "
               "result",
               count, ends[ROW_DONE], ends[ROW_RUNS], ends[ROW_FAILED],
               ends[ROW_PLANNED] + ends[ROW_WAITS] + ends[ROW_OPEN]);
    if (failed) {
        buf_printf(out, "; of run %" PRId64 " ", failed->id);
        put_failure(out, failed);
    }
    item->state = failed           ? EXPLAIN_FAILED
                  : ends[ROW_OPEN] ? EXPLAIN_UNKNOWN
                  : ends[ROW_RUNS] ? EXPLAIN_RUNNING
                  : ends[ROW_DONE] ? EXPLAIN_SUCCESS
                                   : EXPLAIN_PLANNED;
}

void explain_tell_rows(const struct explain_facts *facts, const struct explain_row *const *rows, size_t count,
                       struct explain_item *item)
{
    struct buf out = {0};

    if (count == 1)
        tell_one(facts, rows[0], item, &out);
    else
        tell_many(facts, rows, count, item, &out);
    buf_putc(&out, '.');
    snprintf(item->text, sizeof item->text, "%s", buf_failed(&out) ? "" : out.data);
    buf_fini(&out);
}

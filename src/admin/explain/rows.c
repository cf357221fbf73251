/* SPDX-License-Identifier: MIT */
/* What rows of the log say of a due time. */
#include "admin/explain/explain_impl.h"

#include <string.h>

#include "shardwheel/job/codes.h"
#include "shardwheel/job/words.h"

#define LATE_MS 2000        /* less is no delay that anybody asks about */
#define OPEN_MS 60000       /* a planned row that is older has not been written, or never will be */
#define RETRY_STEPS 100     /* more are not followed */
#define SEND_WINDOW_MS 6000 /* what is planned ahead */

const struct explain_row *explain_find_row(const struct explain_facts *facts, int64_t id)
{
    return list_find(facts->rows, facts->row_count, sizeof *facts->rows, id);
}

const struct explain_outage *explain_find_outage(const struct explain_facts *facts, int64_t from_ms, int64_t to_ms)
{
    for (size_t i = 0; i < facts->outage_count; i++)
        if (facts->outages[i].from_ms <= to_ms && facts->outages[i].to_ms >= from_ms)
            return &facts->outages[i];
    return NULL;
}

/* The one behind whose end a fire of that time went out; NULL: none. */
static const struct explain_outage *find_hold(const struct explain_facts *facts, int64_t at_ms)
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

bool explain_is_killed(const char *handle_msg)
{
    /* What consoles of the original write, in their languages, and what ours writes. */
    static const char *const heads[] = {KILLED_HEAD, "人为操作，主动终止", "人為操作，主動終止",
                                        "Manual operation, kill job"};

    for (size_t i = 0; i < ARRAY_LEN(heads); i++)
        if (strncmp(handle_msg, heads[i], strlen(heads[i])) == 0)
            return true;
    return false;
}

void explain_put_killer(struct buf *out, const char *handle_msg)
{
    const char *name = handle_msg + strlen(KILLED_HEAD), *end;

    if (strncmp(handle_msg, KILLED_HEAD, strlen(KILLED_HEAD)) != 0 || !(end = strchr(name, ')')))
        return;
    buf_append(out, name, (size_t)(end - name));
}

void explain_find_skip(const char *trigger_msg, enum explain_skip *skip, const char **misfire)
{
    static const char *const strategies[] = {"DO_NOTHING", "FIRE_ONCE_NOW"};

    *skip = SKIP_UNKNOWN;
    *misfire = NULL;
    for (enum lang lang = 0; lang < LANGS; lang++) {
        if (strstr(trigger_msg, word_get(lang, WORD_SKIPPED_BY_HAND)))
            *skip = SKIP_BY_HAND;
        else if (strstr(trigger_msg, word_get(lang, WORD_SKIPPED_LATE)))
            *skip = SKIP_LATE;
        else if (strstr(trigger_msg, word_get(lang, WORD_SKIPPED_RESTORED)))
            *skip = SKIP_RESTORED;
    }
    for (size_t i = 0; i < ARRAY_LEN(strategies); i++)
        if (strstr(trigger_msg, strategies[i]))
            *misfire = strategies[i];
}

static enum explain_reason find_failure(const struct explain_row *row)
{
    if (row->delivery_unknown)
        return WHY_DELIVERY_UNKNOWN;
    if (row->blocked)
        return row->handle_code == CODE_OPEN ? WHY_BLOCK_REFUSED : WHY_BLOCK_ENDED;
    if (row->handle_code == CODE_OPEN)
        return WHY_UNDELIVERED;
    if (row->lost)
        return WHY_LOST;
    if (row->killed)
        return WHY_KILLED;
    return row->handle_code == CODE_TIMEOUT ? WHY_TIME_LIMIT : WHY_FAILED;
}

/* Of one that has no code at all `read_end` says WHY_OPEN: the rest is a matter of its age. */
static enum explain_reason find_reason(const struct explain_row *row)
{
    if (row->mark == MARK_SKIPPED)
        return WHY_SKIPPED;
    if (row->handle_code == CODE_OK)
        return WHY_SUCCEEDED;
    if (row->handle_code != CODE_OPEN || (row->trigger_code != CODE_OPEN && row->trigger_code != CODE_OK))
        return find_failure(row);
    if (row->trigger_code == CODE_OK)
        return WHY_RUNNING;
    return row->mark == MARK_HELD ? WHY_WAITING : WHY_OPEN;
}

/* How a row that is over, or runs, stands. It borrows the row's texts. */
static void read_end(const struct explain_row *row, struct explain_end *out)
{
    enum explain_reason why = find_reason(row);
    bool sent = row->handle_code != CODE_OPEN;

    *out = (struct explain_end){.why = why,
                                .run = row->id,
                                .code = sent ? row->handle_code : row->trigger_code,
                                .took_s = -1,
                                .address = row->address,
                                .message = why == WHY_KILLED ? ""
                                           : sent            ? row->handle_text
                                                             : row->trigger_text,
                                .killer = why == WHY_KILLED ? row->killer : "",
                                .said = explain_has_failed(why) ? row->said : NULL,
                                .value = row->value};
    if (why == WHY_UNDELIVERED)
        out->cause = row->cause;
    if (why == WHY_SUCCEEDED || why == WHY_RUNNING || why == WHY_OPEN)
        out->message = "";
    if (row->handled_s > 0 && sent)
        out->ended_ms = row->handled_s * 1000;
    if (row->handled_s >= row->triggered_s && out->ended_ms)
        out->took_s = row->handled_s - row->triggered_s;
}

static void find_end(const struct explain_facts *facts, const struct explain_row *row, struct explain_end *out)
{
    read_end(row, out);
    if (out->why == WHY_OPEN && row->triggered_s * 1000 + OPEN_MS > facts->now_ms)
        out->why = WHY_PLANNED;
    for (size_t i = 0; out->why == WHY_WAITING && i < facts->later_count; i++)
        if (facts->later[i].log_id == row->id && facts->later[i].hold_until_s)
            out->until_ms = facts->later[i].hold_until_s * 1000;
}

static enum explain_state find_state(enum explain_reason why)
{
    if (explain_has_failed(why))
        return EXPLAIN_FAILED;
    if (why == WHY_PLANNED || why == WHY_WAITING)
        return EXPLAIN_PLANNED;
    if (why == WHY_RUNNING)
        return EXPLAIN_RUNNING;
    return why == WHY_SUCCEEDED ? EXPLAIN_SUCCESS : EXPLAIN_UNKNOWN;
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
static const struct later_row *find_waiting_retry(const struct explain_facts *facts, const struct explain_row *last)
{
    for (size_t i = 0; i < facts->later_count; i++)
        if (facts->later[i].kind == TRIGGER_RETRY && facts->later[i].log_id == 0 &&
            facts->later[i].due_s >= last->triggered_s)
            return &facts->later[i];
    return NULL;
}

static enum explain_state tell_retries(const struct explain_facts *facts, const struct explain_row *first,
                                       const struct explain_row *last, struct explain_item *item)
{
    const struct later_row *waiting = NULL;
    struct explain_end end;

    find_end(facts, last, &end);
    item->retries_max = first->retries_left;
    if (item->retries > 0)
        item->retry = end;
    if (explain_has_failed(end.why) && !last->delivery_unknown && !last->blocked)
        waiting = find_waiting_retry(facts, last);
    if (waiting)
        item->retry_at_ms = waiting->due_s * 1000;
    if (waiting || (item->retries > 0 && !explain_has_failed(end.why)))
        return EXPLAIN_RETRIED;
    return first->delivery_unknown && item->retries == 0 ? EXPLAIN_UNKNOWN : EXPLAIN_FAILED;
}

/* ---- all rows of a due time -------------------------------------------------------------------------------------- */

/* A row tells for when it was planned last, and not when it was sent. */
static int64_t find_sent_ms(const struct explain_facts *facts, const struct explain_row *row)
{
    int64_t at_ms = (row->mark == MARK_PLANNED ? row->fire.due_s : row->triggered_s) * 1000;
    const struct explain_outage *hold = row->mark == MARK_PLANNED ? find_hold(facts, at_ms) : NULL;

    return hold ? hold->to_ms : at_ms;
}

static void tell_lateness(const struct explain_facts *facts, const struct explain_row *row, struct explain_item *item)
{
    int64_t sent_ms = find_sent_ms(facts, row);

    if (sent_ms - item->due_ms < LATE_MS)
        return;
    item->late_s = (sent_ms - item->due_ms + 500) / 1000;
    item->outage = find_hold(facts, sent_ms - 1);
    if (!item->outage)
        item->outage = explain_find_outage(facts, item->due_ms - SEND_WINDOW_MS, sent_ms);
    item->by_misfire = !item->outage && row->mark == MARK_PLANNED && row->fire.kind == TRIGGER_MISFIRE;
}

static void tell_one(const struct explain_facts *facts, const struct explain_row *row, struct explain_item *item)
{
    const struct explain_row *last = follow(facts, row, item, &item->retries);
    enum explain_reason why;

    item->has_end = true;
    find_end(facts, row, &item->end);
    item->why = why = item->end.why;
    item->state = find_state(why);
    if (why == WHY_PLANNED || why == WHY_WAITING || why == WHY_OPEN)
        return;
    tell_lateness(facts, row, item);
    if (explain_has_failed(why))
        item->state = tell_retries(facts, row, last, item);
    else if (item->late_s)
        item->state = EXPLAIN_LATE;
}

static void add_to_spread(struct explain_spread *spread, enum explain_reason why)
{
    spread->executors++;
    if (explain_has_failed(why))
        spread->failed++;
    else if (why == WHY_SUCCEEDED)
        spread->succeeded++;
    else if (why == WHY_RUNNING)
        spread->running++;
    else
        spread->open++;
}

/* A broadcast: numbers of each, and the first that failed. */
static void tell_many(const struct explain_facts *facts, const struct explain_row *const *rows, size_t row_count,
                      struct explain_item *item)
{
    bool is_open = false;

    item->why = WHY_BROADCAST;
    for (size_t i = 0; i < row_count; i++) {
        struct explain_end end;
        int retries;

        find_end(facts, follow(facts, rows[i], item, &retries), &end);
        add_to_spread(&item->spread, end.why);
        is_open = is_open || end.why == WHY_OPEN;
        if (explain_has_failed(end.why) && !item->has_end) {
            item->has_end = true;
            item->end = end;
        }
    }
    item->state = item->spread.failed      ? EXPLAIN_FAILED
                  : is_open                ? EXPLAIN_UNKNOWN
                  : item->spread.running   ? EXPLAIN_RUNNING
                  : item->spread.succeeded ? EXPLAIN_SUCCESS
                                           : EXPLAIN_PLANNED;
}

void explain_tell_rows(const struct explain_facts *facts, const struct explain_row *const *rows, size_t count,
                       struct explain_item *item)
{
    if (count == 1)
        tell_one(facts, rows[0], item);
    else
        tell_many(facts, rows, count, item);
}

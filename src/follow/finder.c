/* SPDX-License-Identifier: MIT */
/*
 * A row can fail at any time after it was written, and alarm_status has no index. So each row is read when it is new,
 * by the primary key, and the ids of those without an end are kept (watch.h) and looked at again. Ids are given out
 * before their transactions commit, so the newest rows, of the last FRONT_LAG_MS, are read once more in each look. At
 * start the last FRONT_START_S are read at once, and LOOK_BACK_S before them some rows per look.
 */
#include "follow/finder.h"
#include "shardwheel/job/times.h"

#include <stdlib.h>
#include <string.h>

#define STEP_ROWS 4000  /* ids in one statement: all their rows may be open, and are in memory at once */
#define BACK_STEPS 50   /* statements for the past in one pass */
#define TURN_ROWS 20000 /* watched rows looked at in one pass */
#define WATCH_MAX 200000
#define FRONT_START_S (15 * 60)
#define LOOK_BACK_S (INT64_C(7) * 24 * 3600)
#define FRONT_LAG_MS 60000
#define HORIZON_MS 4000 /* between two of them */
#define RESULT_WAIT_S 30

void finder_init(struct finder *f, const char *incarnation, const struct clock *clock)
{
    f->incarnation = incarnation;
    f->clock = clock;
    watch_init(&f->watch, WATCH_MAX);
    stale_init(&f->stale);
}

void finder_fini(struct finder *f)
{
    watch_fini(&f->watch);
    stale_fini(&f->stale);
}

/* The executor's callback came before the answer to our call: that one's result is about to be written, and would cover
 * a line about a retry. */
static bool waits_for_result(const struct log_state *row, int64_t now_s)
{
    return row->marked && row->trigger_code == 0 && now_s - row->due_s < RESULT_WAIT_S;
}

static enum err sort_rows(struct finder *f, const struct log_state *rows, size_t count, struct errctx *ec)
{
    int64_t now_s = time_floor_div(clock_wall_ms(f->clock), 1000);
    enum err e = ERR_OK;

    for (size_t i = 0; i < count && !e; i++) {
        const struct log_state *row = &rows[i];

        e = watch_note(&f->watch, row->id, ec);
        if (!e)
            e = stale_note(&f->stale, row, now_s, ec);
        if (log_state_is_failed(row)) {
            if (waits_for_result(row, now_s))
                continue;
            if (f->failed_count < FAILED_MAX)
                f->failed[f->failed_count++] = row->id;
            else
                f->more = true;
        } else if (row->incarnation[0] && strcmp(row->incarnation, f->incarnation) != 0 &&
                   now_s - row->due_s >= DIRECT_AGE_S && f->gone_count < GONE_MAX) {
            struct gone_fire *gone = &f->gone[f->gone_count++];
            gone->id = row->id;
            memcpy(gone->incarnation, row->incarnation, sizeof gone->incarnation);
        }
    }
    return e;
}

/* Reads on from *id to `end`, at most so many steps. */
static enum err walk(struct finder *f, struct store_session *s, int64_t *id, int64_t end, int steps, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (; steps > 0 && *id < end && !e; steps--) {
        struct log_state *rows = NULL;
        size_t count = 0;
        int64_t next = 0;
        /* Ids have gaps, and some servers leave wide ones. */
        e = store_find_next_log(s, *id, &next, ec);
        if (e)
            break;
        if (next == 0 || next > end) {
            *id = end;
            break;
        }
        int64_t until = end - next < STEP_ROWS ? end : next + STEP_ROWS;
        e = store_load_log_range(s, next - 1, until, &rows, &count, ec);
        if (!e)
            e = sort_rows(f, rows, count, ec);
        if (!e)
            *id = until;
        free(rows);
    }
    return e;
}

static enum err begin(struct finder *f, struct store_session *s, struct errctx *ec)
{
    int64_t now_s = time_floor_div(clock_wall_ms(f->clock), 1000);
    int64_t old_id, first_id, last_id;
    enum err e = store_load_log_bounds(s, now_s - LOOK_BACK_S, &old_id, &last_id, ec);

    if (!e)
        e = store_load_log_bounds(s, now_s - FRONT_START_S, &first_id, &last_id, ec);
    if (e)
        return e;
    f->front_id = first_id - 1;
    f->back_id = old_id - 1 < f->front_id ? old_id - 1 : f->front_id;
    f->back_end = f->front_id;
    f->horizons.count = 0;
    f->begun = true;
    return ERR_OK;
}

/* The newest id of a pass becomes the front once it is so old that no transaction with a lower id can be open any
 * more. */
static void move_front(struct finder *f, int64_t last_id)
{
    int64_t now_ms = clock_mono_ms(f->clock), id;

    while (horizons_take(&f->horizons, now_ms, FRONT_LAG_MS, &id))
        f->front_id = id > f->front_id ? id : f->front_id;
    horizons_note(&f->horizons, now_ms, HORIZON_MS, last_id);
}

static void note_dropped(struct finder *f, size_t dropped)
{
    if (dropped && !f->warned_watch)
        log_warn("follow", "event=too_many_open_rows count=%zu effect=%s", dropped,
                 log_quote("the oldest open log rows are not checked: if they fail, there is no retry and no alarm").s);
    f->warned_watch = dropped > 0;
}

/* The newest rows are gone, or the whole table was emptied and its ids begin anew. */
static void step_back(struct finder *f, int64_t last_id)
{
    f->front_id = last_id;
    f->horizons.count = 0;
    if (f->back_end > last_id)
        f->back_end = last_id;
    if (f->back_id > f->back_end)
        f->back_id = f->back_end;
}

enum err finder_look(struct finder *f, struct store_session *s, struct errctx *ec)
{
    struct log_state *rows = NULL;
    size_t count = 0, dropped = 0;
    int64_t first_id, last_id, at, back_at;
    enum err e = f->begun ? ERR_OK : begin(f, s, ec);

    f->failed_count = f->gone_count = 0;
    stale_begin(&f->stale);
    f->more = false;
    if (!e)
        e = store_load_log_bounds(s, time_floor_div(clock_wall_ms(f->clock), 1000), &first_id, &last_id, ec);
    if (e)
        return e;
    if (last_id < f->front_id)
        step_back(f, last_id);
    at = f->front_id;
    back_at = f->back_id;
    e = watch_begin(&f->watch, f->front_id, TURN_ROWS, ec);
    if (!e)
        e = store_load_log_list(s, f->watch.turn, f->watch.turn_count, &rows, &count, ec);
    if (!e)
        e = sort_rows(f, rows, count, ec);
    free(rows);
    if (!e)
        e = walk(f, s, &at, last_id, INT32_MAX, ec);
    if (!e)
        e = walk(f, s, &back_at, f->back_end, BACK_STEPS, ec);
    if (!e)
        e = watch_end(&f->watch, clock_mono_ms(f->clock), &dropped, ec);
    if (e) {
        watch_abandon(&f->watch);
        return e;
    }
    f->back_id = back_at;
    move_front(f, last_id);
    f->failed_count = sort_distinct(f->failed, f->failed_count); /* one id may be found by two ways */
    note_dropped(f, dropped);
    return ERR_OK;
}

/* SPDX-License-Identifier: MIT */
#include "upkeep/clean.h"
#include "shardwheel/upkeep.h"

#include <inttypes.h>
#include <stdlib.h>

#define SLOW_MS 30  /* a statement that took longer is followed by smaller ones, */
#define QUICK_MS 15 /* one that took less by larger ones */

void clean_init(struct clean *c, int64_t retention_days)
{
    *c = (struct clean){.retention_days = retention_days, .batch = UPKEEP_BATCH_START};
}

static void end_round(struct clean *c)
{
    free(c->own);
    free(c->ids);
    c->own = NULL;
    c->ids = NULL;
    c->own_count = c->own_at = 0;
    c->walking = false;
}

void clean_fini(struct clean *c)
{
    end_round(c);
}

void clean_forget(struct clean *c)
{
    end_round(c);
    c->done = false;
}

size_t upkeep_next_batch(size_t batch, int64_t took_ms)
{
    if (took_ms > SLOW_MS)
        batch = took_ms > 2 * SLOW_MS ? batch / 4 : batch / 2;
    else if (took_ms < QUICK_MS)
        batch += batch / 4;
    return batch < UPKEEP_BATCH_MIN ? UPKEEP_BATCH_MIN : batch > CLEAN_BATCH_MAX ? CLEAN_BATCH_MAX : batch;
}

/* ---- rounds ------------------------------------------------------------------------------------------------------ */

COMPARE_BY_TWO(compare_retentions, struct job_retention, days, job_id)

static uint64_t hash_settings(const struct clean *c)
{
    uint64_t h = HASH_START;

    for (size_t i = 0; i < c->own_count; i++) {
        h = hash_bytes(h, &c->own[i].job_id, sizeof c->own[i].job_id);
        h = hash_bytes(h, &c->own[i].days, sizeof c->own[i].days);
    }
    return h;
}

static void point_walk(struct clean *c, const struct job_retention *jobs, size_t count, bool except, int64_t days)
{
    for (size_t i = 0; i < count; i++)
        c->ids[i] = jobs[i].job_id;
    c->walk = (struct clean_walk){.before_day = c->day - days, .job_ids = c->ids, .job_count = count, .except = except};
}

/* The next group of jobs with the same days of their own; false after the last one. */
static bool begin_group(struct clean *c)
{
    size_t n = 0;

    if (c->own_at == c->own_count)
        return false;
    while (c->own_at + n < c->own_count && c->own[c->own_at + n].days == c->own[c->own_at].days)
        n++;
    point_walk(c, c->own + c->own_at, n, /*except=*/false, c->own[c->own_at].days);
    c->own_at += n;
    return true;
}

/* Reads the settings; begins a round when they, or the day, are others than those of the last one. */
static enum err look(struct clean *c, struct store_session *s, int64_t day, struct errctx *ec)
{
    enum err e = store_load_retentions(s, &c->own, &c->own_count, ec);
    uint64_t settings;

    if (e)
        return e;
    settings = hash_settings(c);
    c->ids = calloc(c->own_count + 1, sizeof *c->ids);
    if (!c->ids || (c->done && c->day == day && c->settings == settings)) {
        e = c->ids ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory for the retention of %zu jobs", c->own_count);
        end_round(c);
        return e;
    }
    c->day = day;
    c->settings = settings;
    c->cleaned = 0;
    c->own_at = 0;
    c->walking = true;
    qsort(c->own, c->own_count, sizeof *c->own, compare_int64);
    point_walk(c, c->own, c->own_count, /*except=*/true, c->retention_days);
    qsort(c->own, c->own_count, sizeof *c->own, compare_retentions);
    if (c->retention_days < CLEAN_KEEP_MIN_DAYS)
        c->walking = begin_group(c);
    return ERR_OK;
}

static void finish_round(struct clean *c)
{
    if (c->cleaned > 0)
        log_info("upkeep", "event=log_cleaned rows=%" PRId64, c->cleaned);
    c->cleaned = 0;
    c->done = true;
    end_round(c);
}

enum err clean_step(struct clean *c, struct store_session *s, const struct store *store, const struct clock *clock,
                    size_t *removed, int64_t *next_mono_ms, struct errctx *ec)
{
    int64_t begun_ms = clock_mono_ms(clock), ids[CLEAN_BATCH_MAX], rest_ms;
    bool done = false;
    size_t count = 0;
    int minute;
    enum err e = ERR_OK;

    *removed = 0;
    *next_mono_ms = begun_ms + CLEAN_LOOK_MS;
    if (!c->walking) {
        e = look(c, s, store_find_day(store, time_floor_div(clock_wall_ms(clock), 1000), &minute), ec);
        if (!e && !c->walking)
            finish_round(c);
        if (e || !c->walking)
            return e;
    }
    const struct clean_walk before = c->walk;
    e = store_find_expired(s, &c->walk, c->batch, ids, &count, &done, ec);
    int64_t found_ms = clock_mono_ms(clock);
    if (!e && count > 0) {
        e = store_delete_expired(s, &c->walk, ids, count, removed, ec);
        /* Somebody holds one of them: tried with fewer, and left to the next round at last. */
        if (e && (e != ERR_CONFLICT || c->batch > UPKEEP_BATCH_MIN))
            c->walk = before;
        c->batch = upkeep_next_batch(c->batch, e ? INT64_MAX : clock_mono_ms(clock) - found_ms);
    }
    if (e) {
        *next_mono_ms = clock_mono_ms(clock) + CLEAN_REST_MIN_MS;
        return e == ERR_CONFLICT ? ERR_OK : e;
    }
    c->cleaned += (int64_t)*removed;
    rest_ms = (clock_mono_ms(clock) - begun_ms) * CLEAN_REST;
    if (!done || begin_group(c)) {
        *next_mono_ms = clock_mono_ms(clock) + (rest_ms > CLEAN_REST_MIN_MS ? rest_ms : CLEAN_REST_MIN_MS);
        return ERR_OK;
    }
    finish_round(c);
    return ERR_OK;
}

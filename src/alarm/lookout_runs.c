/* SPDX-License-Identifier: MIT */
/* Runs that take too long. */
#include "alarm/lookout.h"
#include "shardwheel/store/lost.h"

#include <inttypes.h>
#include <stdlib.h>

#define PAGE_ROWS 2000
#define PAGES_MAX 50          /* in a turn */
#define YOUNG_MS 20000        /* a younger row may not have been sent; no run is long before */
#define SWEEP_MS (10 * 60000) /* rows that were sent late are found by then */
#define USUAL_MS (10 * 60000) /* how long it is kept what is usual */
#define USUAL_LOOKS_MAX 50    /* in a turn */

static void add_runs(struct lookout *w, const struct open_runs *found)
{
    size_t sorted = w->run_count;

    for (size_t i = 0; i < found->count; i++) {
        const struct open_run *row = &found->rows[i];
        const struct watch_item *item = lookout_find_item(w, row->job_id);
        struct watch_run run = {row->id, row->job_id, row->triggered_s};
        if (!item || item->limits.long_s < 0 || row->triggered_s == INT64_MIN || w->run_count == WATCH_OPEN_MAX ||
            list_find(w->runs, sorted, sizeof run, row->id))
            continue;
        w->runs[w->run_count++] = run;
    }
    qsort(w->runs, w->run_count, sizeof *w->runs, compare_int64);
}

/* From where the turn before ended; from the first row now and then. */
static enum err walk(struct lookout *w, struct store_session *s, int64_t now_ms, struct errctx *ec)
{
    int64_t newest = 0;
    enum err e = store_load_newest_log(s, &newest, ec);

    if (e)
        return e;
    if (w->young_ms == 0 || now_ms - w->young_ms >= YOUNG_MS) {
        bool first = w->young_ms == 0;
        int64_t until = first ? newest : w->young_id;
        w->young_id = newest;
        w->young_ms = now_ms;
        /* Not before it has come to its end: with many rows without a result a sweep takes longer than SWEEP_MS. */
        if ((now_ms - w->sweep_ms >= SWEEP_MS && w->walk_id >= w->walk_until) || until < w->walk_id) {
            w->walk_id = 0;
            w->sweep_ms = first ? 0 : now_ms; /* soon again: what was young then may be sent by now */
        }
        w->walk_until = until;
    }
    for (int page = 0; page < PAGES_MAX && w->walk_id < w->walk_until && !e; page++) {
        struct open_runs found = {0};
        e = store_load_open_runs(s, w->walk_id, w->walk_until, PAGE_ROWS, &found, ec);
        if (!e) {
            add_runs(w, &found);
            w->walk_id = found.until_id;
        }
        open_runs_fini(&found);
    }
    w->walked = w->walked || (!e && w->walk_id >= w->walk_until);
    return e;
}

/* Those that have ended, and those of jobs for which nothing holds any more. */
static enum err drop_runs(struct lookout *w, struct store_session *s, struct errctx *ec)
{
    size_t count = w->run_count, kept = 0, k = 0;
    int64_t *ids = calloc(count + 1, sizeof *ids);
    enum err e = ids ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory for %zu open runs", count);

    for (size_t i = 0; i < count && !e; i++)
        ids[i] = w->runs[i].log_id;
    if (!e && count > 0)
        e = store_keep_open_runs(s, ids, &count, ec);
    for (size_t i = 0; i < w->run_count && !e; i++) {
        const struct watch_item *item = lookout_find_item(w, w->runs[i].job_id);
        while (k < count && ids[k] < w->runs[i].log_id)
            k++;
        if (k < count && ids[k] == w->runs[i].log_id && item && item->limits.long_s >= 0)
            w->runs[kept++] = w->runs[i];
    }
    if (!e)
        w->run_count = kept;
    free(ids);
    return e;
}

/* -1: not known. */
static enum err find_usual(struct store_session *s, struct watch_item *item, int64_t now_ms, int *looks,
                           struct errctx *ec)
{
    int64_t took[USUAL_RUNS];
    size_t count = 0;
    enum err e;

    if (now_ms < item->usual_ms || *looks == 0)
        return ERR_OK;
    --*looks;
    e = store_load_durations(s, item->job_id, took, USUAL_RUNS, &count, ec);
    if (!e) {
        item->usual_s = verdict_find_long(took, count);
        item->usual_ms = now_ms + USUAL_MS;
    }
    return e;
}

/* By the oldest run that is open, NULL without any. */
static enum err judge(struct lookout *w, struct store_session *s, struct watch_item *item, const struct watch_run *run,
                      int64_t now_ms, int *looks, struct errctx *ec)
{
    int64_t age_s = run ? time_floor_div(now_ms, 1000) - run->triggered_s : 0, bound = item->limits.long_s;
    enum err e = ERR_OK;

    if (!run || (bound == 0 && age_s <= LONG_RUN_MIN_S)) {
        lookout_note(w, VERDICT_GOOD, WATCH_LONG_RUN, item->job_id, 0, "-");
        return ERR_OK;
    }
    if (bound == 0) {
        e = find_usual(s, item, now_ms, looks, ec);
        bound = item->usual_ms ? item->usual_s : -1;
    }
    if (!e)
        lookout_note(w,
                     bound < 0       ? VERDICT_IDLE
                     : age_s > bound ? VERDICT_BAD
                                     : VERDICT_GOOD,
                     WATCH_LONG_RUN, item->job_id, run->log_id, "a run takes longer than %" PRId64 " s%s", bound,
                     item->limits.long_s ? "" : ", three times the usual");
    return e;
}

/* From the job at which the looks of the turn before came to an end. */
static enum err judge_all(struct lookout *w, struct store_session *s, int64_t now_ms, struct errctx *ec)
{
    size_t first = w->usual_at;
    int looks = USUAL_LOOKS_MAX;
    enum err e = ERR_OK;

    for (size_t i = 0; i < w->item_count && !e; i++) {
        size_t at = (first + i) % w->item_count;
        if (looks > 0)
            w->usual_at = at;
        if (w->items[at].limits.long_s >= 0)
            e = judge(w, s, &w->items[at], w->items[at].oldest, now_ms, &looks, ec);
    }
    return e;
}

enum err lookout_look_at_runs(struct lookout *w, struct store_session *s, int64_t now_ms, struct errctx *ec)
{
    bool wanted = false;
    enum err e = ERR_OK;

    for (size_t i = 0; i < w->item_count; i++) {
        w->items[i].oldest = NULL;
        wanted = wanted || w->items[i].limits.long_s >= 0;
    }
    if (!wanted) {
        w->run_count = 0;
        w->walk_id = w->young_ms = 0;
        w->walked = false;
        return ERR_OK;
    }
    if (!w->runs) {
        w->runs = calloc(WATCH_OPEN_MAX, sizeof *w->runs);
        if (!w->runs)
            return err_set(ec, ERR_NOMEM, "out of memory for runs that are watched");
    }
    e = walk(w, s, now_ms, ec);
    if (!e)
        e = drop_runs(w, s, ec);
    if (e || !w->walked)
        return e;
    for (size_t i = 0; i < w->run_count; i++) {
        struct watch_item *item = lookout_find_item(w, w->runs[i].job_id);
        if (item && (!item->oldest || w->runs[i].triggered_s < item->oldest->triggered_s))
            item->oldest = &w->runs[i];
    }
    return judge_all(w, s, now_ms, ec);
}

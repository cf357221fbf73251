/* SPDX-License-Identifier: MIT */
#include "follow/lost_runs.h"
#include "shardwheel/job/times.h"
#include "shardwheel/store/lost.h"

#include <stdlib.h>

#define RUNS_MAX 100000       /* that are watched */
#define PAGE_ROWS 2000        /* rows in a statement */
#define FRONT_PAGES 100       /* statements for new rows in a turn */
#define SWEEP_PAGES 10        /* ... and for old ones */
#define SWEEP_MS (10 * 60000) /* from the beginning of one sweep to that of the next */

void lost_runs_forget(struct lost_runs *r)
{
    r->count = 0;
    r->front_id = r->sweep_id = 0;
    r->sweep_mono_ms = clock_mono_ms(r->clock);
    r->horizons.count = 0;
}

static enum err add_runs(struct lost_runs *r, const struct open_runs *found, struct errctx *ec)
{
    size_t sorted_runs = r->count;
    enum err e = ERR_OK;

    for (size_t i = 0; i < found->count; i++) {
        const struct open_run *row = &found->rows[i];
        struct lost_run run = {.id = row->id,
                               .job_id = row->job_id,
                               .group = row->group,
                               .triggered_s = row->triggered_s,
                               .asked_mono_ms = INT64_MIN,
                               .idle_mono_ms = INT64_MIN,
                               .last_idle_mono_ms = INT64_MIN};
        if (list_find(r->list, sorted_runs, sizeof run, run.id))
            continue;
        if (!list_grow(&r->list, r->count, sizeof run)) {
            e = err_set(ec, ERR_NOMEM, "out of memory for %zu open runs", r->count);
            break;
        }
        if (r->count < RUNS_MAX)
            run.address = lost_addresses_get(r->addresses, row->address);
        if (!run.address) {
            log_limited(&r->full_log, r->clock, LOG_WARN, "follow", "event=too_many_open_runs max=%d effect=%s",
                        RUNS_MAX, log_quote("some are checked only after others have ended").s);
            break;
        }
        r->list[r->count++] = run;
    }
    if (r->count > sorted_runs)
        qsort(r->list, r->count, sizeof *r->list, compare_int64);
    return e;
}

static enum err walk(struct lost_runs *r, struct store_session *s, int64_t *at, int64_t until_id, int pages,
                     struct errctx *ec)
{
    enum err e = ERR_OK;

    for (; pages > 0 && *at < until_id && !e && !worker_is_stopping(r->worker); pages--) {
        struct open_runs found = {0};
        e = store_load_open_runs(s, *at, until_id, PAGE_ROWS, &found, ec);
        if (!e)
            e = add_runs(r, &found, ec);
        if (!e)
            *at = found.until_id;
        open_runs_fini(&found);
    }
    return e;
}

/* The newest id of a turn that is LOST_YOUNG_S ago; -1: not known yet. */
static int64_t find_horizon(struct lost_runs *r, int64_t newest_id)
{
    int64_t now_ms = clock_mono_ms(r->clock), found = -1;

    while (horizons_take(&r->horizons, now_ms, LOST_YOUNG_S * 1000, &found))
        ;
    horizons_note(&r->horizons, now_ms, 0, newest_id);
    return found;
}

enum err lost_runs_find(struct lost_runs *r, struct store_session *s, struct errctx *ec)
{
    int64_t now_ms = clock_mono_ms(r->clock), newest = 0, horizon;
    enum err e = store_load_newest_log(s, &newest, ec);

    if (e)
        return e;
    if (newest < r->front_id) { /* the newest rows are gone, or the ids begin anew */
        r->front_id = newest;
        r->horizons.count = 0;
        if (r->sweep_id > newest)
            r->sweep_id = newest;
    }
    horizon = find_horizon(r, newest);
    if (r->front_id == 0 && newest > 0 && r->sweep_id == 0)
        r->front_id = newest; /* all that is there is left to the first sweep */
    if (horizon > r->front_id)
        e = walk(r, s, &r->front_id, horizon, FRONT_PAGES, ec);
    if (!e && now_ms - r->sweep_mono_ms >= SWEEP_MS && r->sweep_id >= r->front_id) {
        r->sweep_id = 0;
        r->sweep_mono_ms = now_ms;
    }
    if (!e)
        e = walk(r, s, &r->sweep_id, r->front_id, SWEEP_PAGES, ec);
    return e;
}

enum err lost_runs_drop_ended(struct lost_runs *r, struct store_session *s, struct errctx *ec)
{
    size_t count = r->count, kept = 0, k = 0;
    int64_t *ids = calloc(count + 1, sizeof *ids);
    enum err e;

    if (!ids)
        return err_set(ec, ERR_NOMEM, "out of memory for %zu open runs", count);
    for (size_t i = 0; i < count; i++)
        ids[i] = r->list[i].id;
    e = store_keep_open_runs(s, ids, &count, ec);
    for (size_t i = 0; i < r->count && !e; i++) {
        while (k < count && ids[k] < r->list[i].id)
            k++;
        if (k < count && ids[k] == r->list[i].id)
            r->list[kept++] = r->list[i];
    }
    if (!e)
        r->count = kept;
    free(ids);
    return e;
}

void lost_runs_fini(struct lost_runs *r)
{
    free(r->list);
    r->list = NULL;
}

/* SPDX-License-Identifier: MIT */
/* What some jobs did last, for a row of ticks each. */
#include "shardwheel/admin/runs.h"

#include "admin/admin_impl.h"
#include "shardwheel/store/jobs.h"

#include <stdlib.h>

#define RECENT_MS 1000
#define TEXT_MAX 1000 /* characters of a message: enough for what it was, and why it failed */
#define BYTES_MAX (8 * 1024 * 1024)

void jobs_recent_fini(struct jobs_recent *recent)
{
    run_rows_fini(&recent->rows);
    free(recent->items);
    *recent = (struct jobs_recent){0};
}

static bool is_among(const int64_t *ids, size_t count, int64_t id)
{
    for (size_t i = 0; i < count; i++)
        if (ids[i] == id)
            return true;
    return false;
}

/* Of the ids those that may be seen, each once: their items, and their ids again in `kept`. */
static enum err keep_visible(struct store_session *s, const struct actor *actor, const int64_t *ids, size_t count,
                             struct jobs_recent *out, int64_t *kept, struct errctx *ec)
{
    struct job_moves moves[RECENT_JOBS_MAX];
    enum err e = store_load_job_moves(s, ids, count, moves, ec);

    for (size_t i = 0; i < count && !e; i++) {
        if (!moves[i].group || !actor_may(actor, RIGHT_SEE, moves[i].group) || is_among(kept, out->count, ids[i]))
            continue;
        out->items[out->count] =
            (struct job_recent){.job_id = ids[i], .is_running = moves[i].runs, .next_ms = moves[i].next_ms};
        kept[out->count++] = ids[i];
    }
    return e;
}

/* Rows are by job, in another order than the jobs were asked for. */
static void share_out(struct jobs_recent *recent)
{
    for (size_t i = 0; i < recent->count; i++) {
        struct job_recent *item = &recent->items[i];
        int64_t sum_s = 0, ended = 0;

        for (size_t k = 0; k < recent->rows.count; k++) {
            const struct run_row *row = &recent->rows.rows[k];

            if (row->job_id != item->job_id)
                continue;
            item->runs = item->count++ ? item->runs : row;
            if (row->state != RUN_SUCCESS || row->handle_s == INT64_MIN || row->trigger_s == INT64_MIN)
                continue;
            sum_s += row->handle_s > row->trigger_s ? row->handle_s - row->trigger_s : 0;
            ended++;
        }
        item->has_mean = ended > 0;
        item->mean_s = ended > 0 ? (double)sum_s / (double)ended : 0;
    }
}

static enum err load(struct store_session *s, const struct actor *actor, const int64_t *ids, size_t count, int64_t each,
                     struct jobs_recent *out, struct errctx *ec)
{
    int64_t seen[RECENT_JOBS_MAX], *runs = calloc(count * (size_t)each + 1, sizeof *runs);
    size_t run_count = 0;
    bool indexed = true;
    enum err e;

    out->items = calloc(count + 1, sizeof *out->items);
    e = runs && out->items ? keep_visible(s, actor, ids, count, out, seen, ec)
                           : err_set(ec, ERR_NOMEM, "out of memory");
    if (!e)
        e = store_find_recent_runs(s, seen, out->count, each, RECENT_MS, runs, &run_count, &indexed, ec);
    out->complete = indexed && e != ERR_TIMEOUT;
    if (!e)
        e = store_load_run_rows(s, runs, run_count, TEXT_MAX, BYTES_MAX, &out->rows, ec);
    e = e == ERR_TIMEOUT ? ERR_OK : e;
    free(runs);
    return e;
}

enum err admin_load_recent_runs(struct admin *a, const struct actor *actor, const int64_t *ids, size_t count,
                                int64_t each, struct jobs_recent *out, struct refusal *r)
{
    struct jobs_recent recent = {0};
    struct store_session *s = NULL;
    enum err e = admin_enter_seeing(a, actor, &s, r);

    if (!e)
        e = load(s, actor, ids, count, each, &recent, &r->text);
    e = admin_end(a, s, e, r);
    if (e) {
        jobs_recent_fini(&recent);
        return e;
    }
    recent.complete = recent.complete && !recent.rows.cut;
    share_out(&recent);
    *out = recent;
    return ERR_OK;
}

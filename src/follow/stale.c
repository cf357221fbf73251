/* SPDX-License-Identifier: MIT */
#include "follow/stale.h"

#include "shardwheel/store/plan.h"

#include <stdlib.h>

void stale_init(struct stale *st)
{
    *st = (struct stale){0};
}

void stale_fini(struct stale *st)
{
    free(st->rows);
    passed_shards_fini(&st->held);
}

void stale_begin(struct stale *st)
{
    st->count = 0;
}

enum err stale_note(struct stale *st, const struct log_state *row, int64_t now_s, struct errctx *ec)
{
    bool is_open = row->marked && !row->incarnation[0] && row->trigger_code == 0 && row->handle_code == 0;

    if (!is_open || now_s - row->due_s < STALE_S || st->count == STALE_MAX)
        return ERR_OK;
    if (!st->rows)
        st->rows = calloc(STALE_MAX, sizeof *st->rows);
    if (!st->rows)
        return err_set(ec, ERR_NOMEM, "out of memory for stale rows");
    st->rows[st->count++] = (struct stale_row){.id = row->id, .job_id = row->job_id, .due_s = row->due_s};
    return ERR_OK;
}

/* The rows that are over: their ids go to `ids`. A change of the number of shards makes other shards of them: begun
 * anew. */
static size_t pick(const struct stale *st, const struct passed_shards *now, int64_t *ids, int64_t *until_s)
{
    size_t n = 0;

    for (size_t i = 0; i < st->count && now->shards == st->held.shards && now->shards > 0; i++) {
        int64_t k = st->rows[i].job_id % now->shards;

        if (k >= 0 && now->until_s[k] != PASSED_NOT_KNOWN && st->held.until_s[k] != PASSED_NOT_KNOWN &&
            st->rows[i].due_s <= st->held.until_s[k] - STALE_S) {
            ids[n++] = st->rows[i].id;
            *until_s = st->rows[i].due_s > *until_s ? st->rows[i].due_s : *until_s;
        }
    }
    qsort(ids, n, sizeof *ids, compare_int64);
    return n;
}

enum err stale_end(struct stale *st, struct store_session *s, int64_t now_mono_ms, size_t *ended, struct errctx *ec)
{
    struct passed_shards now = {0};
    int64_t *ids = NULL, until_s = 0;
    size_t n = 0;
    enum err e;

    *ended = 0;
    if (st->count == 0 || (st->held.shards > 0 && now_mono_ms - st->held_mono_ms < STALE_SEEN_MS))
        return ERR_OK;
    e = store_load_passed(s, &now, ec);
    if (e)
        return e;
    ids = calloc(st->count, sizeof *ids);
    e = ids ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory for stale rows");
    if (!e)
        n = pick(st, &now, ids, &until_s);
    if (!e && n > 0)
        e = store_end_unknown(s, ids, n, until_s, ended, ec);
    free(ids);
    if (e) {
        passed_shards_fini(&now);
        return e;
    }
    passed_shards_fini(&st->held);
    st->held = now;
    st->held_mono_ms = now_mono_ms;
    return ERR_OK;
}

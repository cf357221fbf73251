/* SPDX-License-Identifier: MIT */
/* A move of flow runs: one transaction. */
#include "store/flow/move.h"
#include "store/plan/claim_impl.h"

#include <stdlib.h>

/* Shared: claims of the shard lock its row, and a move that is slow must not wait for other moves. A takeover waits for
 * us; we wait for one, and see its epoch. */
static enum err hold_shards(struct store_session *s, const struct flow_epoch *epochs, size_t count, int *shards,
                            size_t *held, int64_t *now_ms, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    size_t i = 0, n = 0;
    enum err e = store_query(s, &rows, ec,
                             "SELECT shard, epoch, " STORE_NOW_MS
                             " FROM shardwheel_shard WHERE shard IN (?) ORDER BY shard LOCK IN SHARE "
                             "MODE",
                             sql_each(epochs, count, shard));

    if (e == ERR_CONFLICT)
        return err_wrap(ec, ERR_TIMEOUT, "the row of a shard is locked"); /* fewer runs would not help */
    while (!e && db_rows_next(rows)) {
        *now_ms = db_int(rows, 2);
        while (i < count && epochs[i].shard < db_int(rows, 0))
            i++;
        if (i < count && epochs[i].shard == db_int(rows, 0) && epochs[i].epoch == db_int(rows, 1))
            shards[n++] = epochs[i].shard;
    }
    db_rows_destroy(rows);
    *held = n;
    return e;
}

/* On a Galera cluster a shared lock ends at this member: of two commits that wrote the row of a shard one fails. */
static enum err fence_shards(struct store_session *s, const struct flow_batch *batch, struct errctx *ec)
{
    struct sqlbuf *q;

    if (!db_is_galera(s->db))
        return ERR_OK;
    q = store_start_sql(s, "UPDATE shardwheel_shard SET claims = claims + 1 WHERE shard IN (");
    for (size_t i = 0; i < batch->shard_count; i++)
        sql_put(q, "??", sql_word(i ? "," : ""), batch->shards[i]);
    sql_puts(q, ")");
    return store_exec_sql(s, NULL, ec);
}

static int compare_shards(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Nobody decides about the fires of runs that are gone: nobody waits for them either. */
static enum err drop_gone(const struct flow_move_order *order, const struct flow_batch *batch, struct flow_changes *out,
                          struct errctx *ec)
{
    for (size_t i = 0; i < batch->ends.count; i++) {
        const struct flow_fire_end *end = &batch->ends.items[i];
        int shard = (int)(end->run_id % order->n);
        if (!list_find(order->run_ids, order->run_count, sizeof *order->run_ids, end->run_id) ||
            !bsearch(&shard, batch->shards, batch->shard_count, sizeof *batch->shards, compare_shards) ||
            list_find(batch->runs.items, batch->runs.count, sizeof *batch->runs.items, end->run_id))
            continue;
        if (!list_grow(&out->ended, out->ended_count, sizeof *out->ended))
            return err_set(ec, ERR_NOMEM, "out of memory");
        out->ended[out->ended_count++] = end->log_id;
    }
    return ERR_OK;
}

static enum err move_in_txn(struct store_session *s, const struct flow_move_order *order, struct flow_batch *batch,
                            struct flow_changes *out, struct errctx *ec)
{
    int64_t now_ms = 0;
    enum err e = hold_shards(s, order->epochs, order->epoch_count, batch->shards, &batch->shard_count, &now_ms, ec);

    if (e || batch->shard_count == 0)
        return e;
    e = flow_batch_read(s, order, batch, now_ms, ec);
    if (!e)
        e = drop_gone(order, batch, out, ec);
    if (!e)
        e = fence_shards(s, batch, ec);
    for (size_t i = 0; i < batch->runs.count && !e; i++)
        e = order->decide(order->arg, &batch->runs.items[i], now_ms, out, ec);
    if (!e)
        e = flow_changes_write(s, batch, out, order->incarnation, now_ms, ec);
    return e ? e : store_commit_txn(s, ec);
}

enum err store_move_flows(struct store_session *s, const struct flow_move_order *order, struct flow_changes *out,
                          size_t *moved, struct errctx *ec)
{
    struct flow_batch batch = {.shards = calloc(order->epoch_count + 1, sizeof *batch.shards)};
    enum err e = batch.shards ? store_begin_txn(s, ec) : err_set(ec, ERR_NOMEM, "out of memory");

    out->fires_end = &out->fires;
    if (!e)
        e = move_in_txn(s, order, &batch, out, ec);
    store_end_txn(s);
    *moved = e ? 0 : batch.runs.count;
    flow_batch_fini(&batch);
    free(batch.shards);
    return e ? err_wrap(ec, e, "move %zu flow runs", order->run_count) : ERR_OK;
}

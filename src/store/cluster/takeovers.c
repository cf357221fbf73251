/* SPDX-License-Identifier: MIT */
/* shardwheel_takeover: what takeovers found undelivered, until it was settled. */
#include <stdlib.h>

#include "store/conn/rows.h"
#include "shardwheel/store/cluster.h"

enum err store_note_takeovers(struct store_session *s, int first, int count, int64_t epoch, int64_t cursor_s,
                              struct errctx *ec)
{
    struct sqlbuf *q = store_start_sql(s, "INSERT INTO shardwheel_takeover (shard, epoch, cursor_s, taken_ms) VALUES ");

    for (int i = 0; i < count; i++) {
        sql_puts(q, i ? ",(" : "(");
        sql_put(q, "?,?,?," STORE_NOW_MS ")", first + i, epoch, cursor_s);
    }
    /* Epochs may come again after somebody emptied the other tables by hand; this must not stop all takeovers. */
    sql_put(q, " ON DUPLICATE KEY UPDATE taken_ms = " STORE_NOW_MS ", cursor_s = ?", cursor_s);
    return store_exec_sql(s, NULL, ec);
}

enum err store_load_takeovers(struct store_session *s, int shard, struct takeover_note **out, size_t *count,
                              struct errctx *ec)
{
    static const struct row_type notes =
        ROWS(struct takeover_note, FIELDS(struct takeover_note, epoch, cursor_s, age_ms));
    enum err e = store_begin_txn(s, ec); /* as in store_load_planned */

    if (!e) {
        store_sql(s,
                  "SELECT epoch, cursor_s, GREATEST(" STORE_NOW_MS
                  " - taken_ms, 0) FROM shardwheel_takeover WHERE shard = ? ORDER BY epoch",
                  shard);
        e = store_read_array(s, &notes, out, count, ec);
    }
    store_end_txn(s);
    if (!e && *count == 0) {
        free(*out);
        *out = NULL;
    }
    return e ? err_wrap(ec, e, "load the notes of takeovers of shard %d", shard) : ERR_OK;
}

enum err store_note_jumps(struct store_session *s, const struct cursor_move *moves, size_t count, int64_t below_s,
                          struct errctx *ec)
{
    if (count == 0)
        return ERR_OK;
    /* No lock on the cursors: a takeover that comes in between makes this note one too many, which does no harm. */
    struct sqlbuf *q = store_sql(s,
                                 "INSERT INTO shardwheel_takeover (shard, epoch, cursor_s, taken_ms) SELECT shard, "
                                 "epoch, cursor_s, " STORE_NOW_MS " FROM shardwheel_cursor WHERE cursor_s < ?",
                                 below_s);
    for (size_t i = 0; i < count; i++) {
        sql_puts(q, i ? " OR (shard = " : " AND ((shard = ");
        sql_put(q, "? AND epoch = ?)", moves[i].shard, moves[i].epoch);
    }
    sql_puts(q, ") ON DUPLICATE KEY UPDATE taken_ms = " STORE_NOW_MS);
    enum err e = store_write_sql(s, NULL, ec);
    return e ? err_wrap(ec, e, "note that cursors jump") : ERR_OK;
}

enum err store_delete_takeovers(struct store_session *s, int shard, int64_t epoch, bool put_off, struct errctx *ec)
{
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = store_exec(s, NULL, ec, "DELETE FROM shardwheel_takeover WHERE shard = ? AND epoch <= ?", shard, epoch);
    if (!e && put_off)
        e = store_exec(s, NULL, ec,
                       "UPDATE shardwheel_takeover SET taken_ms = " STORE_NOW_MS " WHERE shard = ? AND epoch > ?",
                       shard, epoch);
    e = store_finish_txn(s, e, ec);
    return e ? err_wrap(ec, e, "remove notes of takeovers of shard %d", shard) : ERR_OK;
}

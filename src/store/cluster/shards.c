/* SPDX-License-Identifier: MIT */
/* shardwheel_cluster, shardwheel_shard, shardwheel_cursor. */
#include <inttypes.h>
#include <stdlib.h>

#include "store/conn/rows.h"
#include "shardwheel/store/cluster.h"

/* ---- the rows of a cluster --------------------------------------------------------------------------------- */

/* Writes n where nothing is written, reads what holds, and locks the row: nodes that start at once go one after the
 * other from here on. */
static enum err agree_on_number(struct store_session *s, int n, int64_t now_s, int *in_force, struct errctx *ec)
{
    int64_t found = 0;
    enum err e = store_exec(
        s, NULL, ec,
        "INSERT INTO shardwheel_cluster (id, shards, update_time) VALUES (1, ?, ?) ON DUPLICATE KEY UPDATE id = id", n,
        sql_time(s->st->zone, now_s));

    if (!e)
        e = store_number(s, 0, &found, ec, "SELECT shards FROM shardwheel_cluster WHERE id = 1 FOR UPDATE");
    if (e)
        return e;
    if (found < 1 || found > STORE_SHARDS_MAX)
        return err_set(ec, ERR_STATE, "shardwheel_cluster says %" PRId64 " shards, which is not 1 to %d", found,
                       STORE_SHARDS_MAX);
    *in_force = (int)found;
    return ERR_OK;
}

/* Rows that are there are not touched: their owners are at work on them. */
static enum err insert_missing(struct store_session *s, const char *table, const char *columns, struct sql_value first,
                               struct sql_value second, int n, struct errctx *ec)
{
    int64_t have;
    enum err e =
        store_number(s, 0, &have, ec, "SELECT COUNT(*) FROM ? WHERE shard >= 0 AND shard < ?", sql_word(table), n);

    if (e || have == n)
        return e;
    struct sqlbuf *q = store_sql(s, "INSERT INTO ? (shard, ?) VALUES ", sql_word(table), sql_word(columns));
    for (int i = 0; i < n; i++) {
        sql_puts(q, i ? ",(" : "(");
        sql_put(q, "?,?,?)", i, first, second);
    }
    sql_put(q, " ON DUPLICATE KEY UPDATE ?.shard = ?.shard", sql_word(table), sql_word(table));
    return store_exec_sql(s, NULL, ec);
}

enum err store_insert_shards(struct store_session *s, int n, int64_t now_s, struct errctx *ec)
{
    enum err e = insert_missing(s, "shardwheel_shard", "epoch, owner, update_time", sql_word("0,''"),
                                sql_time(s->st->zone, now_s), n, ec);

    return e ? e : insert_missing(s, "shardwheel_cursor", "epoch, cursor_s", sql_of_int(0), sql_of_int(now_s), n, ec);
}

enum err store_init_shards(struct store_session *s, int n, int64_t now_s, int *in_force, struct errctx *ec)
{
    int number = n;
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = agree_on_number(s, n, now_s, &number, ec);
    if (!e)
        e = store_insert_shards(s, number, now_s, ec);
    e = store_finish_txn(s, e, ec);
    if (e)
        return err_wrap(ec, e, "make the shards");
    *in_force = number;
    return ERR_OK;
}

/* ---- takeover ---------------------------------------------------------------------------------------------- */

static enum err lock_row(struct store_session *s, const char *select, int shard, struct db_rows **out,
                         struct errctx *ec)
{
    enum err e = store_query(s, out, ec, "? ? FOR UPDATE", sql_word(select), shard);

    if (!e && !db_rows_next(*out))
        e = err_set(ec, ERR_NOTFOUND, "shard %d has no row", shard);
    return e;
}

static enum err write_epoch(struct store_session *s, int shard, const char *owner, int64_t epoch, int64_t cursor_s,
                            struct errctx *ec)
{
    enum err e = store_exec(
        s, NULL, ec, "UPDATE shardwheel_shard SET epoch = ?, owner = ?, update_time = ? WHERE shard = ?", epoch,
        sql_fitted(owner, 128, TEXT_AS_IS), sql_time(s->st->zone, clock_wall_ms(s->st->clock) / 1000), shard);

    if (e)
        return e;
    return store_exec(s, NULL, ec, "UPDATE shardwheel_cursor SET epoch = ?, cursor_s = ? WHERE shard = ?", epoch,
                      cursor_s, shard);
}

/* Read while the shard's row is locked: a change of the number locks all of them, so it came before or has to wait. */
static enum err check_number(struct store_session *s, int n, struct errctx *ec)
{
    int64_t in_force = 0;
    enum err e = store_number(s, 0, &in_force, ec, "SELECT shards FROM shardwheel_cluster WHERE id = 1");

    if (e || in_force == n)
        return e;
    return err_set(ec, ERR_STATE, "the cluster now has %" PRId64 " shards, this node still uses %d", in_force, n);
}

enum err store_take_shard(struct store_session *s, int shard, int n, const char *owner, int64_t above, int64_t floor_s,
                          int64_t *epoch, int64_t *cursor_s, struct errctx *ec)
{
    struct db_rows *shard_row = NULL, *cursor_row = NULL;
    int64_t next = 0, cursor = 0;
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = lock_row(s, "SELECT epoch FROM shardwheel_shard WHERE shard = ", shard, &shard_row, ec);
    if (!e)
        e = check_number(s, n, ec);
    if (!e)
        e = lock_row(s, "SELECT epoch, cursor_s FROM shardwheel_cursor WHERE shard = ", shard, &cursor_row, ec);
    if (!e) {
        /* All three are equal unless somebody repaired a row by hand, another node had it last, or the database forgot
         * a commit; beyond each of them is right in any case. */
        int64_t a = db_int(shard_row, 0), b = db_int(cursor_row, 0);
        next = (a > b ? a : b);
        next = (next > above ? next : above) + 1;
        cursor = db_int(cursor_row, 1);
        cursor = cursor > floor_s ? cursor : floor_s;
        e = write_epoch(s, shard, owner, next, cursor, ec);
    }
    if (!e)
        e = store_note_takeovers(s, shard, 1, next, cursor, ec);
    e = store_finish_txn(s, e, ec);
    db_rows_destroy(shard_row);
    db_rows_destroy(cursor_row);
    if (e)
        return err_wrap(ec, e, "take over shard %d", shard);
    *epoch = next;
    *cursor_s = cursor;
    return ERR_OK;
}

/* ---- cursors ----------------------------------------------------------------------------------------------- */

/* The list of shards bounds the rows that are locked; the pairs are the fence. */
static void put_epochs(struct sqlbuf *q, const struct cursor_move *moves, size_t count)
{
    sql_put(q, " WHERE shard IN (?) AND (", sql_each(moves, count, shard));
    for (size_t i = 0; i < count; i++) {
        sql_puts(q, i ? " OR (shard = " : "(shard = ");
        sql_put(q, "? AND epoch = ?)", moves[i].shard, moves[i].epoch);
    }
    sql_puts(q, ")");
}

/* A move that changes no value is no write, and a Galera cluster certifies writes only: an epoch that another member
 * has raised may not be seen here yet. So the row that has the epoch too is written. */
static enum err fence_moves(struct store_session *s, const struct cursor_move *moves, size_t count,
                            struct db_effect *effect, struct errctx *ec)
{
    put_epochs(store_start_sql(s, "UPDATE shardwheel_shard FORCE INDEX (PRIMARY) SET claims = claims + 1"), moves,
               count);
    return store_write_sql(s, effect, ec);
}

static enum err update_cursors(struct store_session *s, const struct cursor_move *moves, size_t count, int64_t second_s,
                               int64_t *matched, struct errctx *ec)
{
    struct db_effect effect = {0};

    put_epochs(
        store_sql(s, "UPDATE shardwheel_cursor FORCE INDEX (PRIMARY) SET cursor_s = GREATEST(cursor_s, ?)", second_s),
        moves, count);
    enum err e = store_write_sql(s, &effect, ec);
    if (!e && db_is_galera(s->db) && effect.changed < effect.matched)
        e = fence_moves(s, moves, count, &effect, ec);
    *matched = effect.matched;
    return e;
}

static enum err read_moves_back(struct store_session *s, struct cursor_move *moves, size_t count, int64_t second_s,
                                struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e = store_query(s, &rows, ec, "SELECT shard, epoch, cursor_s FROM shardwheel_cursor WHERE shard IN (?)",
                             sql_each(moves, count, shard));

    while (!e && db_rows_next(rows))
        for (size_t i = 0; i < count; i++)
            if (moves[i].shard == db_int(rows, 0))
                moves[i].moved = moves[i].epoch == db_int(rows, 1) && db_int(rows, 2) >= second_s;
    db_rows_destroy(rows);
    return e;
}

/* What matches no row commits nothing, which flow control of a Galera cluster does not hold up: there a row is
 * written, else a move of ours that waits to be committed passes for somebody who holds its rows. */
static enum err check_commits(struct store_session *s, struct errctx *ec)
{
    enum err e = store_check_writable(s, ec);

    if (e || !db_is_galera(s->db))
        return e;
    return store_write(s, NULL, ec,
                       "UPDATE shardwheel_primary SET update_time = update_time + INTERVAL 1 SECOND WHERE id = 1");
}

static enum err move_cursors(struct store_session *s, struct cursor_move *moves, size_t count, int64_t second_s,
                             struct errctx *ec)
{
    int64_t matched = 0;
    enum err e;

    for (size_t i = 0; i < count; i++)
        moves[i].moved = false;
    if (count == 0)
        return ERR_OK;
    e = update_cursors(s, moves, count, second_s, &matched, ec);
    if (!e && matched == (int64_t)count) {
        for (size_t i = 0; i < count; i++)
            moves[i].moved = true;
        return ERR_OK;
    }
    if (!e)
        e = read_moves_back(s, moves, count, second_s, ec);
    if (e == ERR_CONFLICT) {
        /* A row that somebody holds stops its own shard. A lock of all tables, as backups take it, stops everybody:
         * then no cursor has moved, and who has a shard keeps it. */
        e = check_commits(s, ec);
        if (e)
            return e;
        for (size_t i = 0; i < count && (!e || e == ERR_CONFLICT); i++) {
            e = update_cursors(s, &moves[i], 1, second_s, &matched, ec);
            moves[i].moved = !e && matched == 1;
        }
        if (e == ERR_CONFLICT)
            e = ERR_OK;
    }
    return e;
}

enum err store_move_cursors(struct store_session *s, struct cursor_move *moves, size_t count, int64_t second_s,
                            struct errctx *ec)
{
    enum err e = move_cursors(s, moves, count, second_s, ec);

    /* A server that nobody works with any more has answered: another node may have these shards by now. */
    if (!e && count > 0 && store_is_moved(s))
        e = err_set(ec, ERR_LOST, "the node now uses another database server");
    if (!e)
        return ERR_OK;
    for (size_t i = 0; i < count; i++)
        moves[i].moved = false;
    return err_wrap(ec, e, "move cursors");
}

enum err store_check_writable(struct store_session *s, struct errctx *ec)
{
    return store_write(s, NULL, ec, "UPDATE shardwheel_cursor SET epoch = epoch WHERE shard = -1");
}

/* ---- how far they are --------------------------------------------------------------------------------------- */

FINI_BY(free, passed_shards, until_s)

static enum err make_passed(struct passed_shards *passed, int shards, struct errctx *ec)
{
    if (shards < 1 || shards > STORE_SHARDS_MAX)
        return err_set(ec, ERR_STATE, "shardwheel_cluster says %d shards", shards);
    passed->until_s = malloc((size_t)shards * sizeof *passed->until_s);
    if (!passed->until_s)
        return err_set(ec, ERR_NOMEM, "out of memory");
    passed->shards = shards;
    for (int k = 0; k < shards; k++)
        passed->until_s[k] = PASSED_NOT_KNOWN;
    return ERR_OK;
}

enum err store_load_passed(struct store_session *s, struct passed_shards *out, struct errctx *ec)
{
    struct passed_shards passed = {0};
    struct db_rows *rows = NULL;
    enum err e =
        store_query(s, &rows, ec,
                    "SELECT k.shards, c.shard, c.cursor_s FROM shardwheel_cluster k LEFT JOIN shardwheel_cursor c ON "
                    "c.shard >= 0 AND c.shard < k.shards AND NOT EXISTS (SELECT 1 FROM shardwheel_takeover t WHERE "
                    "t.shard = c.shard) WHERE k.id = 1 AND k.shards BETWEEN 1 AND ?",
                    STORE_SHARDS_MAX);

    while (!e && db_rows_next(rows)) {
        int64_t shard = db_text(rows, 1) ? db_int(rows, 1) : -1;

        if (passed.shards == 0)
            e = make_passed(&passed, (int)db_int(rows, 0), ec);
        if (!e && shard >= 0 && shard < passed.shards)
            passed.until_s[shard] = db_int(rows, 2);
    }
    db_rows_destroy(rows);
    if (e) {
        passed_shards_fini(&passed);
        return err_wrap(ec, e, "read how far the shards are");
    }
    *out = passed;
    return ERR_OK;
}

/* ---- for display ------------------------------------------------------------------------------------------- */

enum err store_load_shards(struct store_session *s, struct shard_row **out, size_t *count, struct errctx *ec)
{
    static const struct row_type shards =
        ROWS(struct shard_row, FIELDS(struct shard_row, shard, epoch, cursor_s, owner));

    store_start_sql(s, "SELECT s.shard, s.epoch, c.cursor_s, s.owner FROM shardwheel_shard s JOIN shardwheel_cursor c "
                       "ON c.shard = s.shard ORDER BY s.shard");
    enum err e = store_read_array(s, &shards, out, count, ec);
    return e ? err_wrap(ec, e, "read the shards") : ERR_OK;
}

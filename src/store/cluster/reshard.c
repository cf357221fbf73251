/* SPDX-License-Identifier: MIT */
/*
 * shardwheel_reshard: the cluster goes over to another number of shards while its nodes run.
 *
 * While a wish stands, every node's ring stops at the second last_s. When all cursors stand exactly there, one
 * transaction changes the number. It locks every shard row, so no claim and no takeover is under way, and every cursor
 * row, so no ring is beyond. With the epochs raised, whoever has not heard of it yet can neither claim nor move a
 * cursor, and a takeover looks at the number while it holds the shard's row.
 */
#include <inttypes.h>
#include <stdio.h>

#include "store/conn/rows.h"
#include "store/people/audit.h"
#include "shardwheel/store/cluster.h"

/* ---- asking -------------------------------------------------------------------------------------------------- */

static enum err lock_number(struct store_session *s, int *shards, struct errctx *ec)
{
    int64_t number = 0;
    enum err e = store_number(s, 0, &number, ec, "SELECT shards FROM shardwheel_cluster WHERE id = 1 FOR UPDATE");

    if (!e && !number)
        e = err_set(ec, ERR_NOTFOUND, "shardwheel_cluster has no row");
    *shards = (int)number;
    return e;
}

static enum err lock_wish(struct store_session *s, struct reshard_wish *out, struct errctx *ec)
{
    static const struct row_type wishes = ROWS(struct reshard_wish, FIELDS(struct reshard_wish, shards, last_s, tries));

    store_start_sql(s, "SELECT shards, last_s, tries FROM shardwheel_reshard WHERE id = 1 FOR UPDATE");
    enum err e = store_read_row(s, &wishes, out, NULL, ec);
    return e ? err_wrap(ec, e, "shardwheel_reshard") : ERR_OK;
}

static enum err write_wish(struct store_session *s, const struct reshard_wish *wish, struct errctx *ec)
{
    return store_exec(s, NULL, ec, "UPDATE shardwheel_reshard SET shards = ?, last_s = ?, tries = ? WHERE id = 1",
                      wish->shards, wish->last_s, wish->tries);
}

/* A second that no ring has passed: ahead of the server's clock and of every cursor. */
static enum err choose_second(struct store_session *s, int shards, int64_t *last_s, struct errctx *ec)
{
    return store_number(s, 0, last_s, ec,
                        "SELECT GREATEST(" STORE_NOW_MS
                        " DIV 1000, COALESCE(MAX(cursor_s), 0)) + ? FROM shardwheel_cursor WHERE shard >= 0 AND shard "
                        "< ?",
                        RESHARD_AHEAD_S, shards);
}

static enum err ask(struct store_session *s, int n, struct reshard_wish *out, struct errctx *ec)
{
    struct reshard_wish wish = {0};
    int shards = 0;
    enum err e = lock_number(s, &shards, ec);

    if (e == ERR_NOTFOUND)
        return err_set(ec, ERR_STATE, "no node has used this database yet: set shardwheel.shards instead");
    if (e)
        return e;
    e = store_exec(s, NULL, ec,
                   "INSERT INTO shardwheel_reshard (id, shards, last_s, tries) VALUES (1, 0, 0, 0) ON DUPLICATE KEY "
                   "UPDATE id = id");
    if (!e)
        e = lock_wish(s, &wish, ec);
    if (e)
        return e;
    if (wish.shards)
        return err_set(ec, ERR_CONFLICT, "a change from %d to %d shards is in progress", shards, wish.shards);
    if (shards == n)
        return err_set(ec, ERR_STATE, "the cluster already has %d shards: nothing to do", shards);
    wish = (struct reshard_wish){.shards = n, .tries = 1};
    e = choose_second(s, shards, &wish.last_s, ec);
    if (!e)
        e = write_wish(s, &wish, ec);
    if (!e)
        *out = wish;
    return e;
}

enum err store_ask_reshard(struct store_session *s, int n, const struct audit_row *audit, struct reshard_wish *out,
                           struct errctx *ec)
{
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = ask(s, n, out, ec);
    return store_end_audited(s, e, audit, ec);
}

enum err store_cancel_reshard(struct store_session *s, int n, const struct audit_row *audit, bool *found,
                              struct errctx *ec)
{
    struct db_effect effect = {0};
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = store_exec(s, &effect, ec, "UPDATE shardwheel_reshard SET shards = 0 WHERE id = 1 AND shards ??",
                       sql_word(n ? "= " : "<> "), n);
    if (!e && effect.matched)
        e = store_put_audit(s, audit, ec);
    e = store_finish_txn(s, e, ec);
    if (e)
        return err_wrap(ec, e, "cancel the change of the number of shards");
    *found = effect.matched > 0;
    return ERR_OK;
}

/* ---- carrying out -------------------------------------------------------------------------------------------- */

/* A look without locks, which would stop claims and rings: is the transaction worth it? */
static enum err is_time(struct store_session *s, const struct reshard_wish *wish, bool *out, struct errctx *ec)
{
    int64_t is_time = 0;
    enum err e = store_number(s, -1, &is_time, ec,
                              "SELECT " STORE_NOW_MS
                              " > ? OR c.shards = (SELECT COUNT(*) FROM shardwheel_cursor k WHERE k.shard >= 0 AND "
                              "k.shard < c.shards AND k.cursor_s = ?) FROM shardwheel_cluster c WHERE c.id = 1",
                              wish->last_s * 1000 + RESHARD_PATIENCE_MS, wish->last_s);

    if (!e && is_time < 0)
        e = err_set(ec, ERR_NOTFOUND, "shardwheel_cluster has no row");
    *out = is_time > 0;
    return e;
}

static enum err lock_shards(struct store_session *s, int64_t *epoch, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e =
        store_query(s, &rows, ec, "SELECT epoch FROM shardwheel_shard FORCE INDEX (PRIMARY) ORDER BY shard FOR UPDATE");

    while (!e && db_rows_next(rows))
        *epoch = db_int(rows, 0) > *epoch ? db_int(rows, 0) : *epoch;
    db_rows_destroy(rows);
    return e;
}

/* Writes into `out` which of the cursors are not at the second; *there counts those that are. */
static enum err lock_cursors(struct store_session *s, int shards, const struct reshard_wish *wish, int64_t *epoch,
                             int *there, struct reshard_step *out, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    struct buf where = {0};
    int seen = 0;
    enum err e = store_query(
        s, &rows, ec,
        "SELECT epoch, shard, cursor_s FROM shardwheel_cursor FORCE INDEX (PRIMARY) ORDER BY shard FOR UPDATE");

    while (!e && db_rows_next(rows)) {
        int64_t off_s = db_int(rows, 2) - wish->last_s;

        *epoch = db_int(rows, 0) > *epoch ? db_int(rows, 0) : *epoch;
        if (db_int(rows, 1) < 0 || db_int(rows, 1) >= shards)
            continue;
        seen++;
        *there += off_s == 0;
        if (off_s)
            buf_printf(&where, "%sshard %" PRId64 ": %+" PRId64 " s", where.len ? ", " : "", db_int(rows, 1), off_s);
    }
    if (seen < shards)
        buf_printf(&where, "%s%d without a row", where.len ? ", " : "", shards - seen);
    snprintf(out->where, sizeof out->where, "%s", where.len && !buf_failed(&where) ? where.data : "");
    if (where.len >= sizeof out->where)
        snprintf(out->where + sizeof out->where - 4, 4, "...");
    buf_fini(&where);
    db_rows_destroy(rows);
    return e;
}

/* Notes of takeovers hold for jobs of their shard, which are others from now on. All cursors are at last_s and every
 * epoch is raised: a note with these two covers, for any shard, whatever one of the old notes does. */
static enum err replace_notes(struct store_session *s, const struct reshard_wish *wish, int64_t epoch,
                              struct errctx *ec)
{
    enum err e = store_exec(s, NULL, ec, "DELETE FROM shardwheel_takeover");

    return e ? e : store_note_takeovers(s, 0, wish->shards, epoch, wish->last_s, ec);
}

static enum err change_number(struct store_session *s, const struct reshard_wish *wish, int64_t epoch,
                              struct errctx *ec)
{
    int64_t now_s = clock_wall_ms(s->st->clock) / 1000;
    enum err e = store_exec(s, NULL, ec, "UPDATE shardwheel_cluster SET shards = ?, update_time = ? WHERE id = 1",
                            wish->shards, sql_time(s->st->zone, now_s));

    if (!e)
        e = store_insert_shards(s, wish->shards, now_s, ec);
    /* Nobody owns them now; the rows of shards that are no more keep nobody's name either. */
    if (!e)
        e = store_exec(s, NULL, ec, "UPDATE shardwheel_shard SET owner = '', epoch = ? WHERE shard >= 0", epoch);
    if (!e)
        e = store_exec(s, NULL, ec, "UPDATE shardwheel_cursor SET cursor_s = ?, epoch = ? WHERE shard >= 0",
                       wish->last_s, epoch);
    if (!e)
        e = replace_notes(s, wish, epoch, ec);
    return e ? e : write_wish(s, &(struct reshard_wish){.last_s = wish->last_s, .tries = wish->tries}, ec);
}

/* All four locks are held from here on. */
static enum err decide(struct store_session *s, const struct reshard_wish *wish, bool all_there, int64_t epoch,
                       struct reshard_step *out, struct errctx *ec)
{
    struct reshard_wish next = *wish;
    int64_t now_ms = 0;
    enum err e;

    if (all_there) {
        out->outcome = RESHARD_DONE;
        return change_number(s, wish, epoch + 1, ec);
    }
    e = store_load_wall_ms(s, &now_ms, ec);
    if (e || now_ms <= wish->last_s * 1000 + RESHARD_PATIENCE_MS)
        return e;
    if (wish->tries >= RESHARD_TRIES) {
        out->outcome = RESHARD_GIVEN_UP;
        next.shards = 0;
        return write_wish(s, &next, ec);
    }
    e = choose_second(s, out->shards, &next.last_s, ec);
    if (e)
        return e;
    next.tries++;
    out->outcome = RESHARD_POSTPONED;
    out->last_s = next.last_s;
    return write_wish(s, &next, ec);
}

static enum err step(struct store_session *s, const struct reshard_wish *wish, struct reshard_step *out,
                     struct errctx *ec)
{
    struct reshard_wish stands = {0};
    int64_t epoch = 0;
    int there = 0;
    enum err e = lock_number(s, &out->shards, ec);

    if (!e)
        e = lock_wish(s, &stands, ec);
    if (e)
        return e;
    if (stands.shards != wish->shards || stands.last_s != wish->last_s || stands.tries != wish->tries) {
        out->outcome = RESHARD_GONE;
        return ERR_OK;
    }
    e = lock_shards(s, &epoch, ec);
    if (!e)
        e = lock_cursors(s, out->shards, wish, &epoch, &there, out, ec);
    return e ? e : decide(s, wish, there == out->shards, epoch, out, ec);
}

enum err store_step_reshard(struct store_session *s, const struct reshard_wish *wish, struct reshard_step *out,
                            struct errctx *ec)
{
    struct reshard_step result = {.outcome = RESHARD_WAITING, .last_s = wish->last_s};
    bool worth = false;
    enum err e = wish->shards < 1 || wish->shards > STORE_SHARDS_MAX
                     ? err_set(ec, ERR_INPUT, "%d shards are not 1 to %d", wish->shards, STORE_SHARDS_MAX)
                     : is_time(s, wish, &worth, ec);

    if (!e && worth) {
        e = store_begin_txn(s, ec);
        if (!e)
            e = step(s, wish, &result, ec);
        e = store_finish_txn(s, e, ec);
    }
    if (e)
        return err_wrap(ec, e, "change the number of shards to %d", wish->shards);
    *out = result;
    return ERR_OK;
}

/* SPDX-License-Identifier: MIT */
/* shardwheel_node: what nodes write of themselves, what shardwheelctl asks of them; and the status that it shows. */
#include <stdio.h>
#include <stdlib.h>

#include "store/conn/datetime.h"
#include "store/conn/rows.h"
#include "store/people/audit.h"
#include "shardwheel/store/cluster.h"
#include "shardwheel/job/times.h"

#define MARK_LEN 9 /* of "<!--sw:p:", behind which the due second stands */
#define LOOK_BACK_S (15 * 60)

/* ---- nodes --------------------------------------------------------------------------------------------------- */

enum err store_load_cluster(struct store_session *s, const char *incarnation, struct cluster_view *out,
                            struct errctx *ec)
{
    static const struct row_type views =
        ROWS(struct cluster_view, FIELDS(struct cluster_view, now_ms, shards, wish.shards, wish.last_s, wish.tries,
                                         known, drain, release_shard));

    store_sql(s,
              "SELECT " STORE_NOW_MS ", c.shards, r.shards, r.last_s, r.tries, n.incarnation IS NOT NULL, n.drain, "
              "COALESCE(n.release_shard, -1) FROM (SELECT 1 AS one) o LEFT JOIN "
              "shardwheel_cluster c ON c.id = 1 LEFT JOIN shardwheel_reshard r ON r.id = 1 LEFT JOIN shardwheel_node n "
              "ON n.incarnation = ?",
              incarnation);
    enum err e = store_read_row(s, &views, out, NULL, ec);
    return e ? err_wrap(ec, e, "read the cluster") : ERR_OK;
}

enum err store_write_beat(struct store_session *s, const struct node_beat *beat, struct errctx *ec)
{
    /* Only what was taken: a newer one stays. */
    enum err e = store_write(
        s, NULL, ec,
        "INSERT INTO shardwheel_node (incarnation, node, url, version, started_ms, beat_ms, clock_ms, owned, drain, "
        "release_shard, flows) VALUES (?,?,?,?,?," STORE_NOW_MS
        ",?,?,?,-1,1) ON DUPLICATE KEY UPDATE beat_ms = " STORE_NOW_MS
        ", clock_ms = ?, owned = ?, release_shard = IF(release_shard = ?, -1, release_shard)",
        sql_fitted(beat->incarnation, 32, TEXT_AS_IS), sql_fitted(beat->node, 128, TEXT_AS_IS),
        sql_fitted(beat->url, 255, TEXT_AS_IS), sql_fitted(beat->version, 32, TEXT_AS_IS), beat->started_ms,
        beat->clock_ms, beat->owned, beat->drain, beat->clock_ms, beat->owned, beat->released);

    return e ? err_wrap(ec, e, "write this node's row") : ERR_OK;
}

enum err store_forget_nodes(struct store_session *s, int64_t older_than_ms, struct errctx *ec)
{
    enum err e =
        store_write(s, NULL, ec, "DELETE FROM shardwheel_node WHERE beat_ms < " STORE_NOW_MS " - ?", older_than_ms);

    return e ? err_wrap(ec, e, "remove rows of ended nodes") : ERR_OK;
}

enum err store_delete_node(struct store_session *s, const char *incarnation, struct errctx *ec)
{
    enum err e = store_write(s, NULL, ec, "DELETE FROM shardwheel_node WHERE incarnation = ?", incarnation);

    return e ? err_wrap(ec, e, "remove this node's row") : ERR_OK;
}

enum err store_load_nodes(struct store_session *s, struct node_row **out, size_t *count, int64_t *now_ms,
                          struct errctx *ec)
{
    static const struct row_type nodes =
        ROWS(struct node_row, FIELDS(struct node_row, incarnation, node, url, version, started_ms, beat_ms, clock_ms,
                                     owned, drain, release_shard));
    int64_t now = 0;
    enum err e = store_load_wall_ms(s, &now, ec);

    if (!e) {
        store_start_sql(s, "SELECT incarnation, node, url, version, started_ms, beat_ms, clock_ms, owned, drain, "
                           "release_shard FROM shardwheel_node ORDER BY node, started_ms, incarnation");
        e = store_read_array(s, &nodes, out, count, ec);
    }
    if (e)
        return err_wrap(ec, e, "read the nodes");
    *now_ms = now;
    return ERR_OK;
}

/* Within a transaction: sends what was built and leaves the row of audit; `absent` when no row was found. */
static enum err write_asked(struct store_session *s, const struct audit_row *audit, enum err absent, const char *why,
                            struct errctx *ec)
{
    struct db_effect effect = {0};
    enum err e = store_exec_sql(s, &effect, ec);

    if (!e && !effect.matched)
        return err_set(ec, absent, "%s", why);
    if (!e)
        e = store_put_audit(s, audit, ec);
    return e ? e : store_commit_txn(s, ec);
}

enum err store_set_drain(struct store_session *s, const char *incarnation, bool drain, const struct audit_row *audit,
                         struct errctx *ec)
{
    enum err e = store_begin_txn(s, ec);

    if (!e) {
        store_sql(s, "UPDATE shardwheel_node SET drain = ? WHERE incarnation = ?", drain, incarnation);
        e = write_asked(s, audit, ERR_NOTFOUND, "this node no longer exists", ec);
    }
    store_end_txn(s);
    return e;
}

enum err store_ask_release(struct store_session *s, const char *incarnation, int shard, const struct audit_row *audit,
                           struct errctx *ec)
{
    int64_t there = 0;
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = store_number(s, 0, &there, ec, "SELECT 1 FROM shardwheel_node WHERE incarnation = ?", incarnation);
    if (!e && !there)
        e = err_set(ec, ERR_NOTFOUND, "this node no longer exists");
    if (!e) {
        store_sql(s, "UPDATE shardwheel_node SET release_shard = ? WHERE release_shard IN (-1, ?) AND incarnation = ?",
                  shard, shard, incarnation);
        e = write_asked(s, audit, ERR_BUSY, "it still has to release another shard", ec);
    }
    store_end_txn(s);
    return e;
}

enum err store_withdraw_release(struct store_session *s, const char *incarnation, int shard, struct errctx *ec)
{
    return store_write(s, NULL, ec,
                       "UPDATE shardwheel_node SET release_shard = -1 WHERE release_shard = ? AND incarnation = ?",
                       shard, incarnation);
}

/* ---- status -------------------------------------------------------------------------------------------------- */

FINI_BY(free, cluster_status, rows)

static enum err load_shard_views(struct store_session *s, struct cluster_status *to, struct errctx *ec)
{
    static const struct row_type views = ROWS(struct shard_view, FIELDS(struct shard_view, shard, epoch, owner),
                                              TIME(struct shard_view, taken_s, 0), FIELDS(struct shard_view, cursor_s));

    store_sql(s,
              "SELECT s.shard, s.epoch, s.owner, s.update_time, c.cursor_s FROM shardwheel_shard s LEFT JOIN "
              "shardwheel_cursor c ON c.shard = s.shard WHERE s.shard >= 0 AND s.shard < ? ORDER BY s.shard",
              to->shards);
    return store_read_array(s, &views, &to->rows, &to->count, ec);
}

struct shard_view *cluster_find_shard(const struct cluster_status *status, int64_t shard)
{
    for (size_t i = 0; i < status->count; i++) {
        if (status->rows[i].shard == shard)
            return &status->rows[i];
    }
    return NULL;
}

/* The due second ends at the first colon. */
static bool read_due(const char *text, int64_t *due_s)
{
    char number[20];
    size_t len = 0;

    while (len < sizeof number - 1 && text[len] >= '0' && text[len] <= '9') {
        number[len] = text[len];
        len++;
    }
    number[len] = '\0';
    return text[len] == ':' && parse_int(number, 0, INT64_MAX, due_s);
}

/* Open marked rows, counted by shard and due second, so that few rows come over however many fires are planned. */
static enum err count_planned(struct store_session *s, struct cluster_status *to, struct errctx *ec)
{
    char low[DATETIME_TEXT_MAX], high[DATETIME_TEXT_MAX];
    int64_t first_s = INT64_MAX, last_s = 0;
    struct db_rows *rows = NULL;
    enum err e;

    for (size_t i = 0; i < to->count; i++) {
        first_s = to->rows[i].cursor_s < first_s ? to->rows[i].cursor_s : first_s;
        last_s = to->rows[i].cursor_s > last_s ? to->rows[i].cursor_s : last_s;
    }
    if (to->count == 0)
        return ERR_OK;
    datetime_range(s->st->zone, first_s - LOOK_BACK_S, last_s + LOOK_AHEAD_S, low, high);
    e = store_query(s, &rows, ec,
                    "SELECT job_id % ? AS shard, SUBSTRING(trigger_msg, ?, 20) AS due, COUNT(*) FROM xxl_job_log WHERE "
                    "trigger_time >= ? AND trigger_time <= ? AND trigger_code = 0 AND handle_code = 0 AND trigger_msg "
                    "LIKE '<!--sw:p:%' GROUP BY shard, due",
                    to->shards, MARK_LEN + 1, low, high);
    while (!e && db_rows_next(rows)) {
        struct shard_view *row = cluster_find_shard(to, db_int(rows, 0));
        int64_t due_s;

        if (row && read_due(db_text_or_empty(rows, 1), &due_s))
            *(due_s > row->cursor_s ? &row->planned : &row->open_before) += db_int(rows, 2);
    }
    db_rows_destroy(rows);
    return e;
}

enum err store_load_status(struct store_session *s, bool count_fires, struct cluster_status *out, struct errctx *ec)
{
    struct cluster_status status = {0};
    struct cluster_view view = {0};
    enum err e = store_load_cluster(s, "", &view, ec);

    status.now_ms = view.now_ms;
    status.shards = view.shards;
    status.wish = view.wish;
    if (!e)
        e = load_shard_views(s, &status, ec);
    if (!e && count_fires)
        e = count_planned(s, &status, ec);
    if (e) {
        cluster_status_fini(&status);
        return err_wrap(ec, e, "read the shards");
    }
    *out = status;
    return ERR_OK;
}

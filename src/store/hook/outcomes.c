/* SPDX-License-Identifier: MIT */
/* shardwheel_delivery: what has become of events, and the removal of old ones. */
#include "shardwheel/store/hook.h"

#include "store/conn/rows.h"

/* ---- outcomes ---------------------------------------------------------------------------------------------------- */

static enum err write_event(struct store_session *s, const struct delivery_outcome *o, struct errctx *ec)
{
    if (o->sent)
        return store_exec(
            s, NULL, ec,
            "UPDATE shardwheel_delivery SET state = 1, tries = tries + 1, next_ms = 0, ended_ms = " STORE_NOW_MS
            ", status = ?, error = '' WHERE id = ? AND state = 0",
            o->status, o->id);
    return store_exec(s, NULL, ec,
                      "UPDATE shardwheel_delivery SET tries = tries + 1, next_ms = " STORE_NOW_MS
                      " + ?, status = ?, error = ? WHERE id = ? AND state = 0",
                      o->pause_ms, o->status, sql_fitted(o->error, 300, TEXT_AS_IS), o->id);
}

static enum err write_hook(struct store_session *s, const struct delivery_outcome *o, struct errctx *ec)
{
    if (o->sent)
        return store_exec(s, NULL, ec,
                          "UPDATE shardwheel_hook SET failures = 0, next_ms = 0, sent_ms = " STORE_NOW_MS
                          ", error = '' WHERE id = ?",
                          o->hook_id);
    store_sql(s, "UPDATE shardwheel_hook SET error = ?", sql_fitted(o->error, 300, TEXT_AS_IS));
    if (o->away)
        sql_put(&s->sql, ", failures = failures + 1, next_ms = " STORE_NOW_MS " + ?", o->pause_ms);
    sql_put(&s->sql, " WHERE id = ?", o->hook_id);
    return store_exec_sql(s, NULL, ec);
}

/* Of each webhook one outcome: that it took one, if it did, else the last. */
static bool speaks_for_hook(const struct delivery_outcome *list, size_t count, size_t i)
{
    for (size_t k = 0; k < count; k++) {
        bool better = list[k].sent ? !list[i].sent || k < i : !list[i].sent && k > i;
        if (k != i && list[k].hook_id == list[i].hook_id && better)
            return false;
    }
    return true;
}

static enum err give_up(struct store_session *s, const struct delivery_outcome *list, size_t count, size_t *given_up,
                        struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < count && !e; i++) {
        struct db_effect effect = {0};
        if (list[i].sent)
            continue;
        e = store_exec(s, &effect, ec,
                       "UPDATE shardwheel_delivery SET state = 2, next_ms = 0, ended_ms = " STORE_NOW_MS
                       " WHERE id = ? AND state = 0 AND since_ms <= " STORE_NOW_MS " - ?",
                       list[i].id, DELIVERY_KEPT_MS);
        *given_up += (size_t)effect.matched;
    }
    return e;
}

enum err store_end_deliveries(struct store_session *s, const struct delivery_outcome *list, size_t count,
                              size_t *given_up, struct errctx *ec)
{
    enum err e = store_begin_txn(s, ec);

    *given_up = 0;
    for (size_t i = 0; i < count && !e; i++)
        e = write_event(s, &list[i], ec);
    if (!e)
        e = give_up(s, list, count, given_up, ec);
    for (size_t i = 0; i < count && !e; i++)
        if (speaks_for_hook(list, count, i))
            e = write_hook(s, &list[i], ec);
    e = store_finish_txn(s, e, ec);
    *given_up = e ? 0 : *given_up;
    return e ? err_wrap(ec, e, "write what became of %zu events", count) : ERR_OK;
}

/* ---- cleaning ---------------------------------------------------------------------------------------------------- */

/* The ids that the statement under construction finds, at most STORE_LIST_MAX. */
static enum err change_found(struct store_session *s, const char *head, const char *tail, size_t *changed, bool *more,
                             struct errctx *ec)
{
    int64_t ids[STORE_LIST_MAX];
    struct db_effect effect = {0};
    size_t n = 0;

    sql_put(&s->sql, " LIMIT ?", STORE_LIST_MAX);
    enum err e = store_read_ids(s, ids, STORE_LIST_MAX, &n, ec);
    if (!e && n > 0)
        e = store_write(s, &effect, ec, "? WHERE id IN (?) ?", sql_word(head), sql_list(ids, n), sql_word(tail));
    *changed += e ? 0 : (size_t)effect.matched;
    *more |= n == STORE_LIST_MAX;
    return e;
}

static enum err drop_beyond(struct store_session *s, int64_t max_rows, size_t *given_up, bool *more, struct errctx *ec)
{
    int64_t rows = 0;
    size_t removed = 0;
    enum err e = store_number(s, 0, &rows, ec, "SELECT COUNT(*) FROM shardwheel_delivery");

    for (int waits = 1; waits >= 0 && !e && rows > max_rows; waits--) {
        int64_t too_many = rows - max_rows;
        store_sql(s,
                  "SELECT id FROM (SELECT id, state FROM shardwheel_delivery ORDER BY id LIMIT ?) oldest WHERE "
                  "(state = 0) = ?",
                  too_many < STORE_LIST_MAX ? too_many : STORE_LIST_MAX, waits);
        e = change_found(s, "DELETE FROM shardwheel_delivery", "", waits ? given_up : &removed, more, ec);
        *more |= too_many > STORE_LIST_MAX;
    }
    return e;
}

enum err store_clean_deliveries(struct store_session *s, int64_t max_rows, size_t *given_up, int64_t *waiting,
                                bool *more, struct errctx *ec)
{
    size_t removed = 0;
    enum err e;

    *given_up = 0;
    *more = false;
    store_sql(s,
              "SELECT d.id FROM shardwheel_hook h JOIN shardwheel_delivery d ON d.hook_id = h.id AND d.state = 0 WHERE "
              "(h.enabled = 0 OR h.failures > 0) AND d.since_ms <= " STORE_NOW_MS " - ?",
              DELIVERY_KEPT_MS);
    e = change_found(s, "UPDATE shardwheel_delivery SET state = 2, next_ms = 0, ended_ms = " STORE_NOW_MS,
                     "AND state = 0", given_up, more, ec);
    if (!e) {
        store_sql(s, "SELECT id FROM shardwheel_delivery WHERE state IN (1, 2) AND ended_ms < " STORE_NOW_MS " - ?",
                  INT64_C(24) * 3600 * 1000 * DELIVERY_DAYS);
        e = change_found(s, "DELETE FROM shardwheel_delivery", "", &removed, more, ec);
    }
    if (!e) {
        store_start_sql(s, "SELECT d.id FROM (SELECT DISTINCT hook_id FROM shardwheel_delivery) x LEFT JOIN "
                           "shardwheel_hook h ON h.id = x.hook_id JOIN shardwheel_delivery d ON d.hook_id = x.hook_id "
                           "WHERE h.id IS NULL");
        e = change_found(s, "DELETE FROM shardwheel_delivery", "", &removed, more, ec);
    }
    if (!e)
        e = drop_beyond(s, max_rows, given_up, more, ec);
    if (!e)
        e = store_number(s, 0, waiting, ec, "SELECT COUNT(*) FROM shardwheel_delivery WHERE state = 0");
    return e ? err_wrap(ec, e, "clean deliveries of events") : ERR_OK;
}

/* SPDX-License-Identifier: MIT */
/* The named lock that keeps a second standalone node out. */
#include "store/conn/session.h"
#include "shardwheel/store/cluster.h"

/* Asks function(the lock's name tail. */
static enum err query_flag(struct store_session *s, const char *function, const char *tail, bool *out,
                           struct errctx *ec)
{
    char name[STORE_LOCK_NAME_MAX];
    struct db_rows *rows = NULL;
    enum err e = store_ready_session(s, ec);

    if (!e)
        e = store_name_lock(s, "shardwheel_", name, ec);
    if (e)
        return e;
    e = store_query(s, &rows, ec, "SELECT ?(? ?", sql_word(function), name, sql_word(tail));
    if (e)
        return e;
    *out = db_rows_next(rows) && db_int(rows, 0) == 1;
    db_rows_destroy(rows);
    return ERR_OK;
}

enum err store_lock_standalone(struct store_session *s, struct errctx *ec)
{
    bool got = false;
    enum err e = store_ready_session(s, ec);

    if (e)
        return e;
    /* The session is used every second. When its other end is gone without a word, the server must not keep the lock
     * for hours. */
    e = store_exec(s, NULL, ec, "SET SESSION wait_timeout = 10");
    if (!e)
        e = query_flag(s, "GET_LOCK", ", 0)", &got, ec);
    if (!e && !got)
        e = err_set(ec, ERR_BUSY, "another standalone node works with this database");
    if (e)
        return err_wrap(ec, e, "take the lock of the standalone node");
    s->has_named_lock = true;
    return ERR_OK;
}

enum err store_check_standalone(struct store_session *s, bool *held, struct errctx *ec)
{
    enum err e = query_flag(s, "IS_USED_LOCK", ") = CONNECTION_ID()", held, ec);

    return e ? err_wrap(ec, e, "check the lock of the standalone node") : ERR_OK;
}

enum err store_find_standalone(struct store_session *s, bool *used, struct errctx *ec)
{
    enum err e = query_flag(s, "IS_USED_LOCK", ") IS NOT NULL", used, ec);

    return e ? err_wrap(ec, e, "look for a standalone node") : ERR_OK;
}

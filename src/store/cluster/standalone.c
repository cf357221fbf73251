/* SPDX-License-Identifier: MIT */
/* The named lock that keeps a second standalone node out. */
#include "store/conn/session.h"
#include "shardwheel/store/cluster.h"

/* Asks function(the lock's name tail. */
static enum err query_flag(struct store_session *s, const char *function, const char *tail, bool *out,
                           struct errctx *ec)
{
    char name[STORE_LOCK_NAME_MAX];
    int64_t flag = 0;
    enum err e = store_ready_session(s, ec);

    if (!e)
        e = store_name_lock(s, "shardwheel_", name, ec);
    if (!e)
        e = store_number(s, 0, &flag, ec, "SELECT ?(? ?", sql_word(function), name, sql_word(tail));
    if (!e)
        *out = flag == 1;
    return e;
}

enum err store_lock_standalone(struct store_session *s, struct errctx *ec)
{
    bool got = false;
    enum err e = store_ready_session(s, ec); /* it may have had the lock, and lost it with its connection */

    /* The session is used every second. When its other end is gone without a word, the server must not keep the lock
     * for hours. */
    if (!e)
        e = store_exec(s, NULL, ec, "SET SESSION wait_timeout = 10");
    if (!e)
        e = query_flag(s, "GET_LOCK", ", 0)", &got, ec);
    if (!e && !got)
        e = err_set(ec, ERR_BUSY, "another standalone node uses this database");
    if (e)
        return err_wrap(ec, e, "take the lock of the standalone node");
    s->is_bound = true;
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

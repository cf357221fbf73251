/* SPDX-License-Identifier: MIT */
/*
 * store/look: reads whatever an examination of a database wants to see: settings of the server, statistics, rows of
 * any table. See store/conn.h for threads, ownership and errors. The node itself does not read by it.
 *
 * Statements  Constants of the source. Only such as give rows.
 */
#ifndef SHARDWHEEL_STORE_LOOK_H
#define SHARDWHEEL_STORE_LOOK_H

#include "shardwheel/store/conn.h"
#include "shardwheel/store/rows.h"

/* A statement that begins with "SELECT " is ended by the server after limit_ms (ERR_TIMEOUT). ERR_DENIED: a right is
 * missing. ERR_INPUT: refused, such as for a table that is not there. */
MUST_CHECK enum err store_look(struct store_session *s, int limit_ms, const char *statement, struct db_rows **out,
                               struct errctx *ec);
/* The value of a global setting of the server as text; "" when it knows none of that name. */
struct look_value {
    char text[200];
};
MUST_CHECK enum err store_look_setting(struct store_session *s, const char *name, struct look_value *out,
                                       struct errctx *ec);
/* What tells one server from another: its name, port, ids and folder. */
MUST_CHECK enum err store_look_server(struct store_session *s, bool in_txn, struct look_value *out, struct errctx *ec);
/* Writes a row by one session, reads it at once by the other, outside of transactions, and removes it. *seen: it was
 * there. Needs tables of ours. */
MUST_CHECK enum err store_look_behind(struct store_session *writer, struct store_session *reader, bool *seen,
                                      struct errctx *ec);

#endif

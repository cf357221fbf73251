/* SPDX-License-Identifier: MIT */
/*
 * store/guard: the lock that holds Java admins off, and what nodes tell each other of it. See store/conn.h for threads,
 * ownership and errors; coord/guard.c uses it.
 */
#ifndef SHARDWHEEL_STORE_GUARD_H
#define SHARDWHEEL_STORE_GUARD_H

#include "shardwheel/store/conn.h"

/* On a SESSION_GUARD: begins a transaction and asks for a shared lock of the row schedule_lock, which it makes where it
 * is missing. Does not wait for it. *connection is the session's id at the server. `incarnation`: of the node, 32
 * characters at most. Whatever fails here or in the next two: give the session back and begin with a new one. */
MUST_CHECK enum err store_ask_guard(struct store_session *s, const char *incarnation, int64_t *connection,
                                    struct errctx *ec);
/* Waits so long at most for the answer. *held: the row is locked, and has been since *proven_ms at least (the server's
 * clock). ERR_CONFLICT: the server waited for 120 s and gave up. */
MUST_CHECK enum err store_wait_guard(struct store_session *s, const char *incarnation, int timeout_ms, bool *held,
                                     int64_t *proven_ms, struct errctx *ec);
/* Takes 0.9 s at the server. A process that dies meanwhile keeps the row for the rest of that time, so that what it and
 * others were committing is done before a Java admin reads. *proven_ms: the server's clock at its begin. */
MUST_CHECK enum err store_ping_guard(struct store_session *s, int64_t *proven_ms, struct errctx *ec);
void store_end_guard(struct store_session *s, const char *incarnation); /* Java admins may go on */

/* The node's row, on another session. connection 0: the node asks, proven_ms is the present. */
MUST_CHECK enum err store_write_guard(struct store_session *s, const char *incarnation, int64_t connection,
                                      int64_t proven_ms, struct errctx *ec);
/* Removes it (NULL: none), and rows that are older than a minute. */
MUST_CHECK enum err store_delete_guard(struct store_session *s, const char *incarnation, struct errctx *ec);
/* False when the server does not know the session any more that asks. */
MUST_CHECK enum err store_check_asking(struct store_session *s, const char *incarnation, int64_t connection,
                                       bool *alive, struct errctx *ec);
/* Other nodes that gave a sign of life within 5 s, and how many of them hold the guard. */
MUST_CHECK enum err store_count_guards(struct store_session *s, const char *except, int *nodes, int *held,
                                       struct errctx *ec);
/* Whether somebody waits for the table of the row without us, to change or rebuild it: then nobody else may read it any
 * more. Takes a second where that is so. On a SESSION_GUARD that does not hold the guard. */
MUST_CHECK enum err store_is_guard_in_way(struct store_session *s, bool *in_way, struct errctx *ec);
MUST_CHECK enum err store_kill_session(struct store_session *s, int64_t connection, struct errctx *ec);

#endif

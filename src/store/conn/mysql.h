/* SPDX-License-Identifier: MIT */
/*
 * mysql: one connection to the server; text statements, their results, and their errors as enum err.
 *
 * Threads     A connection belongs to one thread at a time.
 * Invariants  Never reconnects by itself. A connection that broke stays broken: close it and open another.
 * Ownership   db_connect and db_query create; db_close and db_rows_destroy free, NULL is fine.
 * Errors      ERR_LOST for every broken connection, whatever was under way: the caller knows whether a write was.
 */
#ifndef STORE_CONN_MYSQL_H
#define STORE_CONN_MYSQL_H

#include "shardwheel/store/conn.h"
#include "shardwheel/store/rows.h"

struct db;

/* Makes the client library ready; any thread, any number of times. */
MUST_CHECK enum err db_library_init(struct errctx *ec);

/* Connects and sets the session up: READ COMMITTED, strict known sql_mode, utf8mb4, time zone UTC, timeouts of the
 * kind. */
MUST_CHECK enum err db_connect(const struct store_opts *opts, enum session_kind kind, struct db **out,
                               struct errctx *ec);
void db_close(struct db *db);
bool db_is_broken(const struct db *db);
/* True when the server has closed an idle connection; costs a system call, no round trip. */
bool db_is_hung_up(const struct db *db);
/* True when the last statement failed because a text does not fit its column: a character or the length. */
bool db_has_data_error(const struct db *db);
bool db_has_length_error(const struct db *db); /* the length */
size_t db_max_packet(const struct db *db);     /* longest statement in bytes */
const char *db_server_version(const struct db *db);
bool db_is_mariadb(const struct db *db);
bool db_is_galera(const struct db *db);         /* one of several servers that take writes */
const char *db_get_server(const struct db *db); /* its identity: see store/hosts.h */
int db_get_socket(const struct db *db);         /* -1 when broken */

/* What to do about a refusal of the server beyond its own words; empty where these are enough. */
const char *db_advise(const char *said);

/* What a statement did; both may be NULL. `matched` counts the rows found, also those that hold the values already.
 */
struct db_effect {
    int64_t matched;
    int64_t changed;  /* of these, the rows that an UPDATE gave other values */
    int64_t first_id; /* of an INSERT that made ids */
};

MUST_CHECK enum err db_exec(struct db *db, const char *sql, size_t len, struct db_effect *effect, struct errctx *ec);
/* Reads the whole result. */
MUST_CHECK enum err db_query(struct db *db, const char *sql, size_t len, struct db_rows **out, struct errctx *ec);
/* db_query in parts, for an answer that may take long: send, look whether it has begun to arrive, read it. */
MUST_CHECK enum err db_send(struct db *db, const char *sql, size_t len, struct errctx *ec);
bool db_has_answer(const struct db *db,
                   int timeout_ms); /* waits so long at most; true as well when the other end is gone */
MUST_CHECK enum err db_read(struct db *db, struct db_rows **out, struct errctx *ec);
/* db_query that keeps no more than one row: they arrive as db_rows_next asks for them, and texts live until its next
 * call. Until db_rows_destroy nothing else may be done with the connection. The end of the rows may be a failure:
 * db_check_rows tells. */
MUST_CHECK enum err db_stream(struct db *db, const char *sql, size_t len, struct db_rows **out, struct errctx *ec);
MUST_CHECK enum err db_check_rows(struct db *db, struct errctx *ec);
int64_t db_connection_id(const struct db *db); /* as the server counts them; 0 when broken */
/* Any failure but a deadlock leaves the outcome open: ERR_UNKNOWN, and the connection is broken. */
MUST_CHECK enum err db_commit(struct db *db, struct errctx *ec);

/* `out` has room for 2 * len + 1. Returns the length written. */
size_t db_escape(struct db *db, char *out, const char *text, size_t len);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * session: a connection of the pool with its state, and transactions on it. Private to store.
 *
 * Threads     A session belongs to the thread that took it; the fields of struct store carry their tags.
 * Invariants  Between calls of the public functions no transaction is open. A connection that broke is closed at once,
 *             and opened anew by the next statement; not within a transaction, nor where the session is bound to it.
 */
#ifndef STORE_CONN_SESSION_H
#define STORE_CONN_SESSION_H

#include "shardwheel/counters.h"
#include "shardwheel/store/schema.h"
#include "store/conn/mysql.h"
#include "store/hosts/link.h"
#include "store/conn/sqlbuf.h"

#define SESSION_KINDS 4

/* Rows that share a value share a statement if they are at least so many; others are written by CASE, so many at
 * once: the server looks a CASE up one by one. */
#define STORE_GROUP_MIN 16
#define STORE_CASE_MAX 64
/* Statements are ended at about this length (or half of what the server takes). */
#define STORE_STATEMENT_SOFT_MAX (1024 * 1024)

/* The server's clock in epoch milliseconds, whatever the zone of the session. */
#define STORE_NOW_MS "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(3)) DIV 1000)"

/* A row that grows when its run ends moves within its page, and pages that are full split: that costs four times the
 * redo. So a row that is written ahead gets as many blanks behind its trigger_msg as the end of the run adds (five
 * bytes of handle_time, one of an empty handle_msg), and whoever writes that end trims them. */
#define STORE_SLACK "      "
#define STORE_TRIM_SLACK "trigger_msg = RTRIM(trigger_msg)"

struct store {
    struct store_opts opts;    /* [const] the strings are ours */
    const struct clock *clock; /* [const] */
    struct counters *counters; /* [const] may be NULL */
    struct zone *zone;         /* [const] */
    int64_t call_ms;           /* [const] the longest that a call of the database may take; see watch.h */
    struct mutex lock;         /* rank LOCK_STORE; never held across a round trip */
    struct cond freed;         /* with lock: a session was given back or closed */
    struct store_session *idle[SESSION_KINDS]; /* [lock] lists by kind */
    int open;                       /* [lock] sessions that exist, idle or taken; at most opts.max_sessions */
    struct store_features features; /* [lock] */
    bool has_features;              /* [lock] */
    _Atomic int own_kinds;     /* [atomic] bits of events that webhooks want, as far as is known; relaxed: one that has
                              * just changed may count a little later */
    _Atomic int *hook_kinds;   /* [const] once shared: what counts of these, our own or those of another store */
    struct log_limit beat_log; /* [atomic] of beats left out */
};

struct store_session {
    struct store_session *next;     /* [lock] of the store, in its idle list */
    struct store *st;               /* [const] */
    enum session_kind kind;         /* [const] */
    struct db *db;                  /* [taker] NULL when broken */
    struct host_link link;          /* [taker] of the connection among those of the process */
    bool in_txn;                    /* [taker] until store_end_txn, also when the connection breaks */
    bool is_bound;                  /* [taker] to its connection, which has a named lock: closed when given back */
    enum err not_ready;             /* [taker] the statement under construction has no connection... */
    struct errctx why;              /* [taker] ... and why */
    enum err no_features;           /* [taker] the next statement is not ready for that, as `why` says */
    struct store_features features; /* [taker] see store_features */
    char database_digest[33];       /* [taker] see store_name_lock; "" until it is asked for */
    struct sqlbuf sql;              /* [taker] the statement under construction */
};

void store_close_session(struct store *st, struct store_session *s); /* gives it back without its connection */
void store_drop_connection(struct store_session *s);                 /* the next store_ready_session makes another */
/* Counts a statement and returns how it ended; a connection that broke is dropped. */
enum err store_note_outcome(struct store_session *s, enum err e);
/* The name of the lock `prefix` of this database: names are one space for all databases of a server and at most 64
 * characters long, as database names are, so that of the database is in it as its MD5. Not all servers have a function
 * for that (MySQL 9.6 has none). */
#define STORE_LOCK_NAME_MAX 65
MUST_CHECK enum err store_name_lock(struct store_session *s, const char *prefix, char out[STORE_LOCK_NAME_MAX],
                                    struct errctx *ec);

/* Connects anew if the connection is broken or hung up; what it held is gone then. */
MUST_CHECK enum err store_ready_session(struct store_session *s, struct errctx *ec);
MUST_CHECK enum err store_begin_txn(struct store_session *s, struct errctx *ec);
MUST_CHECK enum err store_commit_txn(struct store_session *s, struct errctx *ec);
void store_end_txn(struct store_session *s); /* rolls back what is open; nothing otherwise */
/* The end of a transaction of which `e` has come so far: commits if that is no error. */
MUST_CHECK enum err store_finish_txn(struct store_session *s, enum err e, struct errctx *ec);

/* Starts s->sql with a constant text; store_sql with a text and its values, see sql_put. Outside a transaction the
 * session is made ready first, unless it is bound to its connection: who sends the statement is told what stood against
 * that. A connection that breaks within a transaction stays broken until store_end_txn. */
struct sqlbuf *store_start_sql(struct store_session *s, const char *text);
struct sqlbuf *store_sql_values(struct store_session *s, const char *text, const struct sql_value *values);
#define store_sql(s, ...) store_sql_values(s, SQL_VALUES(__VA_ARGS__))
/* Starts s->sql with SELECT, of which the constant text is the rest: a statement that reads and that the server ends
 * after limit_ms (ERR_TIMEOUT), or earlier where the read timeout would break the connection. Nobody waits for a
 * statement that the connection was lost under, and it would go on. */
struct sqlbuf *store_start_limited(struct store_session *s, int limit_ms, const char *text);
#define store_limited(s, limit_ms, ...) store_limited_values(s, limit_ms, SQL_VALUES(__VA_ARGS__))
struct sqlbuf *store_limited_values(struct store_session *s, int limit_ms, const char *text,
                                    const struct sql_value *values);
/* Send s->sql. store_write_sql is store_exec_sql for a statement that commits by itself: a connection that breaks
 * under it leaves the outcome open, so it says ERR_UNKNOWN for ERR_LOST. */
MUST_CHECK enum err store_exec_sql(struct store_session *s, struct db_effect *effect, struct errctx *ec);
MUST_CHECK enum err store_write_sql(struct store_session *s, struct db_effect *effect, struct errctx *ec);
MUST_CHECK enum err store_query_sql(struct store_session *s, struct db_rows **out, struct errctx *ec);
/* The number in the first column of the first row; `none` without a row, or for NULL. */
MUST_CHECK enum err store_query_number(struct store_session *s, int64_t none, int64_t *out, struct errctx *ec);
/* The numbers in the first column, behind the *count that are there, up to max. */
MUST_CHECK enum err store_read_ids(struct store_session *s, int64_t *ids, size_t max, size_t *count, struct errctx *ec);
/* A whole statement, as store_sql has it, in one call. */
#define store_exec(s, effect, ec, ...) (store_sql(s, __VA_ARGS__), store_exec_sql(s, effect, ec))
#define store_write(s, effect, ec, ...) (store_sql(s, __VA_ARGS__), store_write_sql(s, effect, ec))
#define store_query(s, out, ec, ...) (store_sql(s, __VA_ARGS__), store_query_sql(s, out, ec))
#define store_number(s, none, out, ec, ...) (store_sql(s, __VA_ARGS__), store_query_number(s, none, out, ec))
/* store_query_sql for many rows: see db_stream. store_end_stream frees the rows and tells whether all of them came. */
MUST_CHECK enum err store_stream_sql(struct store_session *s, struct db_rows **out, struct errctx *ec);
MUST_CHECK enum err store_end_stream(struct store_session *s, struct db_rows *rows, struct errctx *ec);
/* store_query_sql in two parts; db_has_answer tells when the second one will not wait. */
MUST_CHECK enum err store_send_sql(struct store_session *s, struct errctx *ec);
MUST_CHECK enum err store_read_sql(struct store_session *s, struct db_rows **out, struct errctx *ec);

/* True when the statement under construction is long enough to be sent. */
bool store_is_sql_long(const struct store_session *s);

/* How the texts of one row are made to fit an old table, after a statement with the row as it is was refused. */
struct fitting {
    enum text_fit fit;
    bool cut; /* to the lengths of the oldest columns */
};
/* After a statement that failed: true when it was for a text, and *how is the next thing to try with it. */
bool store_fit_more(const struct store_session *s, struct fitting *how);
bool store_has_data_error(const struct store_session *s);

/* Locks those of any number of log rows that are there, in ascending order, so that writers of results and of
 * callbacks, whose statements go by value and not by id, never wait for each other in a circle. */
MUST_CHECK enum err store_lock_logs(struct store_session *s, const int64_t *ids, size_t count, struct errctx *ec);
/* Rows of shards 0..n-1, where missing: see store_init_shards. To be called with the row of shardwheel_cluster
 * locked. */
MUST_CHECK enum err store_insert_shards(struct store_session *s, int n, int64_t now_s, struct errctx *ec);
/* ERR_BUSY: a node gave a sign of life within the last 10 s. */
MUST_CHECK enum err store_check_nobody_lives(struct store_session *s, struct errctx *ec);
/* A note of a takeover for each of the shards first..first+count-1, within a transaction that holds their shard and
 * cursor rows. */
MUST_CHECK enum err store_note_takeovers(struct store_session *s, int first, int count, int64_t epoch, int64_t cursor_s,
                                         struct errctx *ec);
/* Copies the features, reading them first where that was not done yet. */
MUST_CHECK enum err store_get_features(struct store_session *s, struct store_features *out, struct errctx *ec);
/* The same before a statement is started. Where they cannot be read there are none, and who sends that statement is
 * told why. */
const struct store_features *store_features(struct store_session *s);
const char *job_name_column(const struct store_features *f);    /* of xxl_job_info */
const char *group_title_column(const struct store_features *f); /* of xxl_job_group */
/* The two as values of a statement that is about to be started. */
struct sql_value store_job_name(struct store_session *s);
struct sql_value store_group_title(struct store_session *s);
MUST_CHECK enum err store_read_features(struct store_session *s, struct store_features *out, struct errctx *ec);

#endif

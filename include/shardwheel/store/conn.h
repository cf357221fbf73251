/* SPDX-License-Identifier: MIT */
/*
 * store: the MySQL or MariaDB database: sessions. What is done with them stands in a header per topic beside this one.
 *
 * Threads     A struct store may be used by any thread. A session belongs to the thread that took it.
 * Ownership   What load functions return is the caller's. Text members of rows live as long as the object they came in.
 * Time        DATETIME columns hold local time of the database zone (zone of store_opts); everything here counts from
 *             the epoch.
 * Errors      ERR_LOST: the connection is gone, nothing happened, the next call connects anew. ERR_UNKNOWN: it broke
 *             while a commit was under way. ERR_CONFLICT: deadlock, lock wait timeout, or not what was read. ERR_INPUT:
 *             SQL refused.
 * Rules       Every transaction runs in READ COMMITTED; updates count matched rows (CLIENT_FOUND_ROWS). Locks are taken
 *             in the order cluster, reshard, shard, cursor, takeover, jobs (many at once: claims only), log rows by
 *             ascending id. Nothing here retries by itself.
 */
#ifndef SHARDWHEEL_STORE_CONN_H
#define SHARDWHEEL_STORE_CONN_H

#include "shardwheel/base.h"
#include "shardwheel/counters.h"
#include "shardwheel/cron.h"
#include "shardwheel/job/words.h"

struct store;
struct store_session;
struct hosts;

/* What a load function returns: items, and private memory that their texts lie in; other members follow. name_fini
 * frees a list, an empty one too. */
void store_free_list(void *items, void *memory);
#define STORE_LIST(name, item, items, ...)                                                                             \
    struct name {                                                                                                      \
        item *items;                                                                                                   \
        size_t count;                                                                                                  \
        void *memory;                                                                                                  \
        __VA_ARGS__                                                                                                    \
    };                                                                                                                 \
    static inline void name##_fini(struct name *list)                                                                  \
    {                                                                                                                  \
        store_free_list(list->items, list->memory);                                                                    \
        *list = (struct name){0};                                                                                      \
    }                                                                                                                  \
    struct name

#define STORE_SERVER_MAX 251 /* bytes of a server's identity, with the NUL */

struct store_opts {
    struct hosts *hosts; /* NULL: the one below. See store/hosts.h */
    bool owns_hosts;     /* store_destroy destroys them */
    const char *host;    /* NULL: the socket */
    int port;
    const char *socket; /* NULL: TCP */
    const char *database;
    const char *user;
    const char *password;
    bool tls;           /* TLS where the server offers it; the server is not verified */
    bool tls_require;   /* TLS or no connection */
    bool tls_verify;    /* TLS or no connection; verify chain and name too */
    const char *tls_ca; /* PEM file for tls_verify; NULL: the system's */
    const char *zone;   /* of DATETIME columns; NULL: the zone of the process */
    enum lang lang;     /* of the lines that are added to rows */
    int max_sessions;   /* store_take_session waits beyond that */
    int connect_timeout_ms;
    int read_timeout_ms; /* a statement without answer for so long breaks the connection */
};

/* Copies the options; connects nothing but checks them (the zone). */
MUST_CHECK enum err store_create(const struct store_opts *opts, const struct clock *clock, struct counters *counters,
                                 struct store **out, struct errctx *ec);
void store_destroy(struct store *st); /* all sessions must have been given back */
const struct zone *store_get_zone(const struct store *st);
struct hosts *store_get_hosts(const struct store *st); /* NULL: one server at a socket */

/* How a session is set up at the server. */
enum session_kind {
    SESSION_NORMAL, /* wait_timeout of the server */
    SESSION_CLAIM,  /* wait_timeout 2 s: a paused node lets its row locks go; waits 1 s for a row lock */
    SESSION_RING,   /* waits 1 s for a row lock and 3 s for an answer: nothing holds up the ring for longer */
    /* wait_timeout 10 s; waits 120 s for a row lock. Not one of max_sessions, and closed when given back */
    SESSION_GUARD,
};

/* Takes an idle session of that kind or connects. ERR_LOST server away, ERR_DENIED wrong user or password or no right
 * to the database, ERR_NOTFOUND no such database, ERR_TIMEOUT all max_sessions are in use. The text names host and
 * user. */
MUST_CHECK enum err store_take_session(struct store *st, enum session_kind kind, struct store_session **out,
                                       struct errctx *ec);
void store_give_session(struct store *st, struct store_session *s); /* rolls back; closes a broken one; NULL is fine */
/* True when the sessions of this process have moved to another server, or to none, since this session connected: what
 * it was answered last may be worth nothing by now. No round trip. */
bool store_is_moved(const struct store_session *s);
/* One cheap round trip. A session that broke connects anew at the next call made with it outside a transaction. */
MUST_CHECK enum err store_ping(struct store_session *s, struct errctx *ec);
/* It is at a member of a Galera or Percona XtraDB cluster: locks of rows and by name end at that member. */
bool store_is_galera(const struct store_session *s);
/* The same, and the server must be one that takes our writes: fails on one that is read-only. */
MUST_CHECK enum err store_check_writable(struct store_session *s, struct errctx *ec);
MUST_CHECK enum err store_load_wall_ms(struct store_session *s, int64_t *out_ms,
                                       struct errctx *ec); /* the server's clock */

#endif

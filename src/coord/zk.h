/* SPDX-License-Identifier: MIT */
/*
 * zk: one ZooKeeper session over the asynchronous API of libzookeeper; the only place that knows that library.
 *
 * Threads     Everything here is called by coord's thread. `post` and `poke` are called on the library's threads: they
 *             must only queue and return.
 * Invariants  Each request that zk_ask took is answered exactly once, in the order of asking, unless the session is
 *             closed before. The library restores watches by itself when it reconnects. It never ends a session by
 *             itself: only a server that is reached again says that it has expired.
 * Ownership   zk_ask copies. An event given to `post` is the receiver's, to free with zk_event_destroy.
 */
#ifndef COORD_ZK_H
#define COORD_ZK_H

#include "shardwheel/base.h"

#include <sys/queue.h>

enum zk_verb {
    ZK_MAKE,             /* create a persistent znode, with data */
    ZK_CREATE_QUEUED,    /* create ephemeral and sequential: the server appends ten digits to the path */
    ZK_CREATE_EPHEMERAL, /* create ephemeral */
    ZK_DELETE,
    ZK_LIST,         /* names of the children */
    ZK_LIST_SYNCED,  /* the same, after the server has caught up with all that was ever committed */
    ZK_LIST_WATCHED, /* the same, with a watch for one change of the list */
    ZK_WATCH,        /* owner of a znode, with a watch for its end. A znode that is not there is not watched */
    ZK_READ,         /* the same with data and version, and a watch for its data, too */
    ZK_WRITE,        /* data of a znode that is there, and has that version */
};

enum zk_result {
    ZK_OK,
    ZK_NO_NODE, /* the znode, or the parent of the one to create, is not there */
    ZK_EXISTS,
    ZK_CHANGED, /* the znode has another version than the one to write over */
    ZK_LOST,    /* no answer came: it may have been done or not */
    ZK_REFUSED, /* the server will not; error_text says why */
};

enum zk_state {
    ZK_CONNECTING,
    ZK_CONNECTED,
    ZK_EXPIRED, /* the server has ended the session: its ephemeral znodes are gone */
    ZK_BROKEN,  /* the session cannot be used, for a reason other than expiry */
};

struct zk_ask {
    enum zk_verb verb;
    const char *path;
    const char *data; /* of a znode to create or to write; NULL is empty */
    int version;      /* of ZK_WRITE: what it writes over; -1: any */
    int tag;          /* tag and id come back in the answer */
    uint64_t id;
};

struct zk_answer {
    enum zk_verb verb;
    int tag;
    uint64_t id;
    enum zk_result result;
    const char *error_text; /* static; set unless ZK_OK */
    const char *created;    /* path, with the digits */
    const char *const *names;
    size_t count;
    int64_t owner;    /* session that owns the ephemeral znode, 0 for a persistent one */
    const char *data; /* of ZK_READ: ends with a zero */
    int version;      /* of ZK_READ and ZK_WRITE: that of the data as it is now */
};

struct zk_event {
    STAILQ_ENTRY(zk_event) in_queue; /* the receiver's */
    uint32_t generation;             /* that of zk_open */
    const char *changed_path;        /* NULL: this is an answer; otherwise a watch on this path has fired */
    struct zk_answer answer;
    void *memory[2]; /* what the pointers point into */
};
STAILQ_HEAD(zk_events, zk_event);

struct zk_opts {
    const char *servers; /* as zk_split_servers makes it */
    int64_t session_timeout_ms;
    uint32_t generation;
    const struct clock *clock;
    void (*post)(void *arg, struct zk_event *event);
    void (*poke)(void *arg); /* the state has changed: look at zk_get_state */
    void *arg;
};

struct zk;

/* Takes "host:port,host:port/path" apart, as config has checked it: *servers is for the library, *base is the path with
 * base_path behind it, for the library makes no folder for a path of its own. Both are to be freed, also without
 * memory. */
MUST_CHECK enum err zk_split_servers(const char *text, const char *base_path, char **servers, char **base,
                                     struct errctx *ec);
/* A path or the data of a znode, to be freed. NULL without memory, or with PATH_MAX bytes: what is cut would be another
 * one's. */
PRINTF_LIKE(1, 2) char *zk_format(const char *fmt, ...);
/* Begins a session and returns at once. ERR_LOST when no server's name can be resolved. */
MUST_CHECK enum err zk_open(const struct zk_opts *opts, struct zk **out, struct errctx *ec);
/* Ends the session at the server when it is connected. Waits for requests under way, and longer (3.5 s at most) when
 * the server takes nothing. NULL is fine. */
void zk_close(struct zk *zk);
/* False when it could not be handed to the library: it is certain then that nothing was done. */
bool zk_ask(struct zk *zk, const struct zk_ask *ask);
enum zk_state zk_get_state(struct zk *zk);
/* The server that it is connected to, "?" when there is none. */
struct zk_server {
    char text[64];
} zk_get_server(struct zk *zk);
int64_t zk_get_session_id(struct zk *zk);         /* 0 before the first connection */
int64_t zk_get_session_timeout_ms(struct zk *zk); /* as agreed with the server */
void zk_event_destroy(struct zk_event *event);    /* NULL is fine */
void zk_events_destroy(struct zk_events *events);

#endif

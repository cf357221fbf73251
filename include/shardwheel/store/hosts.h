/* SPDX-License-Identifier: MIT */
/*
 * store/hosts: the database servers that the JDBC URL lists, in order, and the one of them that all sessions of this
 * process go to.
 *
 * A server is known by its identity, not by the name it is reached under: what it says of itself (host name, port,
 * server_id, server_uuid where there is one). A connection to another server than the one in use is closed at once.
 * Which server that is, is decided elsewhere (see hosts_manage); the row of shardwheel_primary says for which
 * generation of decisions a server was written to. A replica has that row too, but another identity.
 *
 * Threads     Any. hosts_probe and hosts_raise connect by themselves and take some seconds at most; one caller at a
 *             time.
 * Invariants  After hosts_use or hosts_stop has returned, no statement begins on a connection of before, and those
 *             under way fail: their sockets are shut down. What was carried out already may still be answered: who must
 *             not act on such an answer asks store_is_moved.
 * Ownership   hosts_create copies. Stores that use the hosts must be destroyed before, unless they own them.
 */
#ifndef SHARDWHEEL_STORE_HOSTS_H
#define SHARDWHEEL_STORE_HOSTS_H

#include "shardwheel/store/conn.h"

#define HOSTS_WHY_MAX 600

struct hosts;

struct host_address {
    const char *host;
    int port;
};

/* What sessions go to. */
struct host_use {
    int index;                     /* of the candidate; -1: none, and all statements are ERR_LOST */
    int64_t generation;            /* of shardwheel_primary; 0: not known */
    char server[STORE_SERVER_MAX]; /* its identity; "": any */
    uint64_t serial;               /* another one after each hosts_use and hosts_stop */
};

/* What a candidate says at present. */
struct host_facts {
    bool reached;      /* it answers and lets us in; what follows is known then */
    bool takes_writes; /* tried, and it is not set to read_only; of Galera: it is in the primary component */
    bool galera;       /* one of several that take writes */
    bool has_tables;   /* shardwheel_primary is there */
    char server[STORE_SERVER_MAX];     /* its identity */
    int64_t generation;                /* of its row; 0: none */
    char row_server[STORE_SERVER_MAX]; /* that its row names: the row was written there */
    char why[HOSTS_WHY_MAX];           /* not reached, or takes no writes: the reason; "" otherwise */
};

/* At least one address. `opts` are those of the store, whose host, port and hosts do not count. */
MUST_CHECK enum err hosts_create(const struct store_opts *opts, const struct host_address *list, size_t count,
                                 const struct clock *clock, struct hosts **out, struct errctx *ec);
void hosts_destroy(struct hosts *h); /* NULL is fine */
size_t hosts_count(const struct hosts *h);
struct host_address hosts_get_address(const struct hosts *h, int index);

/* Until somebody manages them: a single host is the one in use, whatever server answers there; of several, the first
 * that takes writes among those with the newest generation, looked for when a session connects and none is in use, or
 * the one in use does not answer.
 *
 * From hosts_manage on none is in use until hosts_use. `trouble` is called by any thread whenever a connection broke or
 * could not be made, or led to another server; it must only post. */
void hosts_manage(struct hosts *h, void (*trouble)(void *arg), void *arg);
/* All sessions move: connections to what was used before are shut down. Nothing happens when it is the one in use under
 * that generation. */
void hosts_use(struct hosts *h, int index, const char *server, int64_t generation);
/* The server in use stays, under the generation that its row has got: no session moves. */
void hosts_note_generation(struct hosts *h, int64_t generation);
/* On the boot clock; INT64_MAX at first. From then on nothing that the server in use answers counts (store_is_moved),
 * and no session connects, until there is a later one: for a process that was stopped, and does not know yet what
 * others have agreed on meanwhile. */
void hosts_set_lease(struct hosts *h, int64_t until_boot_ms);
void hosts_stop(struct hosts *h, const char *why); /* none is in use; `why` ends up in errors */
struct host_use hosts_get_use(struct hosts *h);

/* Looks at a candidate over a connection of its own: a second for the connection and for each answer, and as long as
 * the resolver takes for its name. */
void hosts_probe(struct hosts *h, int index, struct host_facts *out);
/* Makes the candidate the one that is written to, for `generation`, in one transaction: its row of shardwheel_primary
 * gets the generation, its identity and the node's name; epochs of all shards rise by a million, so that no owner of
 * before may write and none gets an epoch again that a lost commit gave; and, but on Galera, where nothing that was
 * confirmed is lost, ids of xxl_job_log go on ten million beyond the highest. A database without a row gets the row,
 * and nothing else. ERR_STATE: its row has that generation or a newer one. ERR_UNKNOWN: hosts_probe tells. */
MUST_CHECK enum err hosts_raise(struct hosts *h, int index, int64_t generation, const char *node, struct errctx *ec);

#endif

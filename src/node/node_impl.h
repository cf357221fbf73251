/* SPDX-License-Identifier: MIT */
/*
 * node_impl: what the files of node share: the areas of a process, and who starts which.
 *
 * Threads     As node.h; node_load_shards any.
 * Ownership   A part that was made hangs in the struct at once, and node_stop takes it down, half-started too.
 */
#ifndef NODE_NODE_IMPL_H
#define NODE_NODE_IMPL_H

#include "node/host.h"
#include "node/node.h"
#include "node/weak_watch.h"
#include "shardwheel/counters.h"
#include "shardwheel/executor/access.h"
#include "shardwheel/schedule.h"
#include "shardwheel/store/schema.h"

struct primary;

struct node {
    const struct config *config; /* [main] */
    struct config *first;        /* [main] the same until a reload, to put a token in that was made; NULL: none is */
    const struct clock *clock;   /* [const], as all below once started */
    struct counters counters;    /* [atomic] */
    struct watch *watch;         /* [const] of the threads that fires depend on */
    int64_t started_ms;          /* wall clock: when it began to start */
    char name[160];
    char incarnation[17]; /* of this run, in the tables of the cluster */
    char ip[HOST_IP_MAX];
    char url[300]; /* where its pages are; empty until HTTP is served */
    struct zone *zone;
    struct private_server *database; /* standalone --data */
    struct store *store;
    struct primary *primary; /* which server sessions go to; NULL: there is one only, at a socket */
    struct registry *registry;
    struct schedule *schedule;
    struct oidc *oidc;         /* NULL: no such logins */
    struct resolver *resolver; /* of executors and of the mail server */
    struct executor_networks *networks;
    struct access_box access; /* with what executors are called */
    struct results *results;
    struct dispatch *dispatch;
    struct keep_offers *offers; /* runs that have ended */
    struct keep *keep;
    struct complete *complete;
    struct failures *failures;
    struct lost *lost;
    struct flowrun *flows;
    struct events *events;
    struct upkeep *upkeep;
    struct history *history;
    struct triggers *triggers;
    struct coord *coord;
    struct guard *guard;            /* NULL: none is asked for */
    struct store *console_store;    /* of admin */
    struct executor_calls *calls;   /* of admin, as well */
    struct store_features features; /* of the database, at the start */
    struct directory *directory;    /* NULL: there is none */
    struct admin *admin;
    struct tls_server *tls; /* NULL: plain HTTP */
    struct http *http;
    struct weak_watch *weak_watch;
    bool schedule_started; /* [main], as the four that follow but for `shards` */
    bool draining;
    int64_t tls_mono_ms;    /* no look at certificates before */
    int64_t tls_told_ms;    /* wall clock: when one that expires was told of; 0: not yet */
    int resize_to;          /* the number of shards that the last try could not go over to; 0: it could */
    int64_t resize_mono_ms; /* no further try before */
    struct mutex lock;      /* rank LOCK_MAIN; held while shards are replaced or looked at */
    int shards;             /* [lock] where another thread than the main one looks */
};

/* ---- state.c ----------------------------------------------------------------------------------------------------- */

struct http_tls node_get_tls(const struct config *config);
/* Of the present number of shards; `out` has room for STORE_SHARDS_MAX. `arg` is the node. */
size_t node_load_shards(void *arg, struct shard_status *out);

/* ---- apply.c ----------------------------------------------------------------------------------------------------- */

/* With what executors are called. ERR_INPUT: a file of TLS is not good; all of them stay, and the rest counts. */
MUST_CHECK enum err node_set_access(struct node *node, const struct config *config, struct errctx *ec);

/* ---- database.c -------------------------------------------------------------------------------------------------- */

/* The database with all that a node asks of it: its tables, the number of shards, the zones. */
MUST_CHECK enum err node_start_database(struct node *node, struct errctx *ec);

/* ---- beside.c ---------------------------------------------------------------------------------------------------- */

/* ERR_BUSY, after some seconds: the database has a live node of the other kind of coordination. */
MUST_CHECK enum err node_look_beside(struct node *node, struct errctx *ec);

/* ---- token.c ----------------------------------------------------------------------------------------------------- */

/* For a new data folder: a random access token, kept there, unless one is configured (be it empty). */
MUST_CHECK enum err node_make_token(struct config *config, struct errctx *ec);
/* For another new database: prints a line for the configuration, unless there is a good token. */
MUST_CHECK enum err node_propose_token(const struct config *config, struct errctx *ec);

/* ---- people.c ---------------------------------------------------------------------------------------------------- */

MUST_CHECK enum err node_start_admin(struct node *node, struct errctx *ec);
MUST_CHECK enum err node_start_http(struct node *node, struct errctx *ec);

/* ---- tls.c ------------------------------------------------------------------------------------------------------- */

/* Reads the certificate, if TLS is asked for. */
MUST_CHECK enum err node_load_tls(struct node *node, struct errctx *ec);
/* Takes a new certificate where the files have changed. To be called often; `now`: do not wait for a second look. */
void node_follow_tls(struct node *node, bool now);

/* ---- node.c ------------------------------------------------------------------------------------------------------ */

/* With its name and its zone, and nothing else yet. */
MUST_CHECK enum err node_create(const struct config *config, struct node **out, struct errctx *ec);
/* With the present number of shards. in_background: coord_opts. */
MUST_CHECK enum err node_start_coord(struct node *node, bool in_background, struct errctx *ec);

/* ---- stop.c ------------------------------------------------------------------------------------------------------ */

void node_stop_coord(struct node *node); /* it may not be there */

#endif

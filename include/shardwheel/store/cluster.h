/* SPDX-License-Identifier: MIT */
/*
 * store/cluster: the tables that nodes share: shards and their cursors, notes of takeovers, nodes, the wish for another
 * number of shards, the lock of a standalone node. See store/conn.h for threads, ownership and errors.
 */
#ifndef SHARDWHEEL_STORE_CLUSTER_H
#define SHARDWHEEL_STORE_CLUSTER_H

#include "shardwheel/store/audit.h"
#include "shardwheel/store/conn.h"
#include "shardwheel/job/times.h"

/* ---- shards and cursors: store/shards.c --------------------------------------------------------------------- */

#define STORE_SHARDS_MAX 1024 /* of one cluster */

/* The number of shards that the cluster works with goes to *in_force: n if nothing was recorded yet. Makes the rows of
 * those shards where missing (a new cursor starts at now_s). */
MUST_CHECK enum err store_init_shards(struct store_session *s, int n, int64_t now_s, int *in_force, struct errctx *ec);
/* One transaction: locks the shard row, then the cursor row, writes the next epoch and the owner to both, reads the
 * cursor, and leaves a note of it in shardwheel_takeover. The epoch is beyond both rows' and beyond `above`, the
 * highest that the caller ever had of this shard: a database that lost the commit of a takeover would give it the same
 * one again, and what it holds in memory under that epoch would be sent beside what it loads anew. In the same way the
 * cursor is never below `floor_s`, the highest that the caller ever moved it to: what is due by then was sent. 0: none.
 * ERR_STATE when the cluster does not work with n shards any more: who believes in another number would load rows that
 * are another shard's by now. */
MUST_CHECK enum err store_take_shard(struct store_session *s, int shard, int n, const char *owner, int64_t above,
                                     int64_t floor_s, int64_t *epoch, int64_t *cursor_s, struct errctx *ec);

struct cursor_move {
    int shard;
    int64_t epoch;
    bool moved; /* out: the epoch still held and the cursor is at the second or beyond */
};
/* Moves the cursors of several shards (ascending) to second_s in one statement. May be repeated after
 * ERR_UNKNOWN/ERR_LOST. On ERR_CONFLICT (somebody holds a row) it tries each shard by itself; `moved` is right in every
 * case of ERR_OK. */
MUST_CHECK enum err store_move_cursors(struct store_session *s, struct cursor_move *moves, size_t count,
                                       int64_t second_s, struct errctx *ec);

struct shard_row {
    int shard;
    int64_t epoch;
    int64_t cursor_s;
    char owner[128];
};
MUST_CHECK enum err store_load_shards(struct store_session *s, struct shard_row **out, size_t *count,
                                      struct errctx *ec);

/* How far the shards are through. */
#define PASSED_NOT_KNOWN INT64_MIN
struct passed_shards {
    int shards; /* of the cluster; 0: no node has worked on this database yet */
    int64_t
        *until_s; /* the cursor of each; PASSED_NOT_KNOWN while a note of a takeover stands for it, or without a row */
};
MUST_CHECK enum err store_load_passed(struct store_session *s, struct passed_shards *out, struct errctx *ec);
void passed_shards_fini(struct passed_shards *passed);

/* ---- notes of takeovers: store/takeovers.c ----------------------------------------------------------------------- */

/* What a takeover found: rows due at or before the cursor, planned under an older epoch and still open, may be
 * undelivered. The note stands in the database until that was settled, by this owner or a later one. */
struct takeover_note {
    int64_t epoch; /* that it wrote */
    int64_t cursor_s;
    int64_t age_ms; /* how long ago it was when it was loaded, by the server's clock; 0 for one in the future */
};
/* Before cursors move by so much that the next owner, who looks back from where it finds them, would not see what they
 * passed: a note with the cursor as it is for each of those moves whose cursor is below that second and whose epoch
 * holds. A note of that epoch that stands keeps its cursor and becomes as young as if it were of now. May be repeated,
 * also after ERR_UNKNOWN. */
MUST_CHECK enum err store_note_jumps(struct store_session *s, const struct cursor_move *moves, size_t count,
                                     int64_t below_s, struct errctx *ec);
/* All notes of the shard, oldest epoch first. *out is to be freed with free; NULL when there is none. */
MUST_CHECK enum err store_load_takeovers(struct store_session *s, int shard, struct takeover_note **out, size_t *count,
                                         struct errctx *ec);
/* One transaction: removes the notes of the shard up to that epoch; with put_off, the later ones become as young as if
 * their takeovers were now. May be repeated, also after ERR_UNKNOWN. */
MUST_CHECK enum err store_delete_takeovers(struct store_session *s, int shard, int64_t epoch, bool put_off,
                                           struct errctx *ec);

/* ---- nodes: store/nodes.c -------------------------------------------------------------------------------------- */

/* Every time here is of the server's clock, in epoch milliseconds. */

/* A wish for another number of shards, as it stands in shardwheel_reshard. */
struct reshard_wish {
    int shards;     /* 0: no wish stands, and the rest says nothing */
    int64_t last_s; /* every cursor is to stop exactly there */
    int tries;      /* of which this is the n-th */
};

/* What a node reads each second. */
struct cluster_view {
    int64_t now_ms;
    int shards; /* 0: no node has worked on this database yet */
    struct reshard_wish wish;
    bool known; /* the node has a row; the two below are of it */
    bool drain;
    int release_shard; /* -1: none */
};
MUST_CHECK enum err store_load_cluster(struct store_session *s, const char *incarnation, struct cluster_view *out,
                                       struct errctx *ec);

struct node_beat {
    const char *incarnation;
    const char *node;
    const char *url;
    const char *version;
    int64_t started_ms;
    int64_t clock_ms; /* how far the node's clock is ahead of the server's */
    int owned;
    bool drain;   /* counts only if the row is not there: who removed it must not undo what was asked of the node */
    int released; /* this release_shard was taken: it becomes -1; -1: none was */
};
MUST_CHECK enum err store_write_beat(struct store_session *s, const struct node_beat *beat, struct errctx *ec);
/* Removes rows of nodes whose last beat is older than that. */
MUST_CHECK enum err store_forget_nodes(struct store_session *s, int64_t older_than_ms, struct errctx *ec);
MUST_CHECK enum err store_delete_node(struct store_session *s, const char *incarnation, struct errctx *ec);

struct node_row {
    char incarnation[40];
    char node[160];
    char url[300];
    char version[40];
    int64_t started_ms;
    int64_t beat_ms;
    int64_t clock_ms;
    int owned;
    bool drain;
    int release_shard;
};
/* Ordered by name, then by start. *out is to be freed with free; *now_ms is the server's clock. */
MUST_CHECK enum err store_load_nodes(struct store_session *s, struct node_row **out, size_t *count, int64_t *now_ms,
                                     struct errctx *ec);
/* What people ask of nodes and of the cluster: the row of audit (NULL: none) is written in the same transaction, where
 * something was asked. ERR_NOTFOUND when that run of a node is not there any more. */
MUST_CHECK enum err store_set_drain(struct store_session *s, const char *incarnation, bool drain,
                                    const struct audit_row *audit, struct errctx *ec);
/* ERR_BUSY when the node is still asked to release another shard; ERR_NOTFOUND as above. */
MUST_CHECK enum err store_ask_release(struct store_session *s, const char *incarnation, int shard,
                                      const struct audit_row *audit, struct errctx *ec);
/* Nothing when the node has taken it already. */
MUST_CHECK enum err store_withdraw_release(struct store_session *s, const char *incarnation, int shard,
                                           struct errctx *ec);

/* One shard for display. */
struct shard_view {
    int shard;
    int64_t epoch;
    char owner[160];     /* empty: nobody has taken it yet */
    int64_t taken_s;     /* epoch seconds by the owner's clock; 0: not known */
    int64_t cursor_s;    /* 0: the row is missing */
    int64_t planned;     /* planned fires beyond the cursor */
    int64_t open_before; /* planned fires at or before it whose end is not written */
};
struct cluster_status {
    int64_t now_ms;
    int shards; /* 0: no node has worked on this database yet */
    struct reshard_wish wish;
    struct shard_view *rows; /* all shards in force, ascending */
    size_t count;
};
/* Fires are counted where asked for: that looks at rows of xxl_job_log. */
MUST_CHECK enum err store_load_status(struct store_session *s, bool count_fires, struct cluster_status *out,
                                      struct errctx *ec);
void cluster_status_fini(struct cluster_status *status);
struct shard_view *cluster_find_shard(const struct cluster_status *status, int64_t shard); /* NULL: there is none */

/* ---- another number of shards: store/reshard.c ------------------------------------------------------------------- */

#define RESHARD_TRIES 5

/* Writes the wish for n shards. ERR_STATE: the cluster works with n already, or no node has worked on this database
 * yet; ERR_CONFLICT: another wish stands. */
MUST_CHECK enum err store_ask_reshard(struct store_session *s, int n, const struct audit_row *audit,
                                      struct reshard_wish *out, struct errctx *ec);
/* Withdraws the wish for n shards (0: for any number). False in *found when none such stands: carried out, given up or
 * never asked for. */
MUST_CHECK enum err store_cancel_reshard(struct store_session *s, int n, const struct audit_row *audit, bool *found,
                                         struct errctx *ec);

enum reshard_outcome {
    RESHARD_WAITING,   /* the cursors are on their way */
    RESHARD_GONE,      /* that wish does not stand any more */
    RESHARD_DONE,      /* by this call */
    RESHARD_POSTPONED, /* some cursor was not there in time: `last_s` is another second */
    RESHARD_GIVEN_UP,  /* ... for the last time: the wish is removed */
};
struct reshard_step {
    enum reshard_outcome outcome;
    int shards; /* in force before this call */
    int64_t last_s;
    char where[300]; /* POSTPONED and GIVEN_UP: which cursors stood where */
};
/* Tries to carry a wish out. One transaction, which locks the rows of cluster and reshard, all of shards, all of
 * cursors, each ascending: if every cursor is exactly at last_s, the number of shards changes, all cursors are put to
 * last_s and all epochs beyond the highest there ever was. Any number of nodes may try at once. */
MUST_CHECK enum err store_step_reshard(struct store_session *s, const struct reshard_wish *wish,
                                       struct reshard_step *out, struct errctx *ec);

/* ---- standalone ------------------------------------------------------------------------------------------------ */

/* Takes the named lock of this database for as long as the session lives. ERR_BUSY when another session has it. */
MUST_CHECK enum err store_lock_standalone(struct store_session *s, struct errctx *ec);
/* True while this very session still has it. */
MUST_CHECK enum err store_check_standalone(struct store_session *s, bool *held, struct errctx *ec);
/* True while any session has it. */
MUST_CHECK enum err store_find_standalone(struct store_session *s, bool *used, struct errctx *ec);

/* ---- zones of the cluster: store/cluster/zones.c ----------------------------------------------------------------- */

/* A node finds planned rows by their DATETIME columns: one that reads these in another zone looks hours beside them,
 * and they are lost. So the zones that all nodes must have in common are on record in shardwheel_cluster, and a node
 * that starts compares its own. Two names are one zone when their offsets are the same from a year ago until twenty
 * years from now. */
enum cluster_zone {
    CLUSTER_ZONE_DATABASE, /* of DATETIME columns: that of store_opts */
    CLUSTER_ZONE_CRON,
};

/* Names as they stand on record; "" where none does. */
struct cluster_zones {
    char database[ZONE_NAME_MAX];
    char cron[ZONE_NAME_MAX];
};

/* One transaction, after store_init_shards: compares this node's zones with those on record, and puts on record what is
 * not there (NULL). A zone that has no name, and no single offset either, is compared, but cannot be put on record.
 * ERR_STATE names both zones and what to do. */
MUST_CHECK enum err store_agree_on_zones(struct store_session *s, const struct zone *cron, struct cluster_zones *out,
                                         struct errctx *ec);
/* The zones on record, without locks. */
MUST_CHECK enum err store_read_zones(struct store_session *s, struct cluster_zones *out, struct errctx *ec);
/* One transaction: puts a zone on record, for all nodes that start from now on; `before` gets the name that was there.
 * ERR_BUSY: a node gave a sign of life within the last 10 s. ERR_STATE: no node has ever worked on this database.
 * Unless `force`, ERR_CONFLICT when fires are planned in rows that would not be found any more. A node that starts at
 * this very moment and has not written its row yet is not seen. */
MUST_CHECK enum err store_set_zone(struct store_session *s, enum cluster_zone which, const char *name, bool force,
                                   char before[ZONE_NAME_MAX], struct errctx *ec);

#endif

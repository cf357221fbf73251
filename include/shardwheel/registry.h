/* SPDX-License-Identifier: MIT */
/*
 * registry: takes in the heartbeats of executors, keeps the address lists of automatic groups, and hands out snapshots.
 *
 * Threads     One thread of its own writes beats in batches and runs the monitor. registry_submit_beat and
 *             registry_get_snapshot may be called by any thread; neither waits for the database.
 * Ownership   A snapshot is reference-counted and never changes; give it back with registry_put_snapshot.
 * Time        Wall time for rows, monotonic time for periods.
 * Facts       Beats every 30 s (Go 20 s, Python 10 s), dead after 90 s; lists are sorted by code units and joined by a
 *             comma.
 */
#ifndef SHARDWHEEL_REGISTRY_H
#define SHARDWHEEL_REGISTRY_H

#include "shardwheel/base.h"
#include "shardwheel/counters.h"
#include "shardwheel/store/conn.h"

struct registry;

#define MISSED_HOLD_S 90 /* executors do not expire for so long after a node of the cluster has missed beats */

/* The addresses of one group, trimmed, without empty items, in stored order, each once: where it stands first. */
struct registry_group {
    int64_t id;
    const char *app_name;
    const char *access_token; /* "" when the group has none */
    bool manual;
    const char *const *addresses;
    size_t count;
};

struct registry_snapshot {
    _Atomic int refs; /* [atomic] */
    /* [const] and all that follows */
    const struct registry_group *groups; /* ascending by id */
    size_t count;
    bool has_tokens; /* some group has an access token */
    void *memory;
};

MUST_CHECK enum err registry_create(struct store *store, const struct clock *clock, struct counters *counters,
                                    struct registry **out, struct errctx *ec);
/* Loads the first snapshot before it returns, then runs: beats written as they come (at most 200 ms later), groups read
 * again every second, address lists recomputed every 30 s and within a second after a beat of a new address or a
 * removal. */
MUST_CHECK enum err registry_start(struct registry *r, struct errctx *ec);
/* ERR_INPUT when one of the three is blank or too long for its column (50, 255, 255 characters), ERR_BUSY when the
 * queue is full. Copies the texts. */
MUST_CHECK enum err registry_submit_beat(struct registry *r, const char *group, const char *key, const char *value,
                                         bool remove, struct errctx *ec);
const struct registry_snapshot *registry_get_snapshot(struct registry *r); /* never NULL after start */
void registry_put_snapshot(const struct registry_snapshot *snap);
const struct registry_group *registry_find_group(const struct registry_snapshot *snap, int64_t id);
/* The group with exactly this app_name, or NULL. */
const struct registry_group *registry_find_app(const struct registry_snapshot *snap, const char *app_name);
/* A beat came with the appname header: its executor is of the generation that is started with /trigger. */
void registry_note_generation(struct registry *r, const char *address, bool trigger_path);
bool registry_is_trigger_path(struct registry *r, const char *address);
/* Beats may have been turned away, or not taken in: for MISSED_HOLD_S from now no node of the cluster lets executors
 * expire. */
void registry_note_missed(struct registry *r);
void registry_stop(struct registry *r); /* writes what has been taken in */
void registry_join(struct registry *r);
void registry_destroy(struct registry *r);

#endif

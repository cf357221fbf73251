/* SPDX-License-Identifier: MIT */
/*
 * internal: what the files of registry share: the queue of beats, the lists of addresses, snapshots, generations.
 *
 * Threads     Nothing here locks but struct generations; the owner (registry.c) says who may call what.
 */
#ifndef REGISTRY_INTERNAL_H
#define REGISTRY_INTERNAL_H

#include "shardwheel/registry.h"
#include "shardwheel/store/registry.h"

/* ---- beats.c: beats that wait to be written ------------------------------------------------------------------ */

/* One address of one app. A newer beat or removal of the same three texts replaces the older one while it waits, so
 * that the queue is bounded by the number of executors and not by how long the database is away. */
struct beat_entry {
    struct beat_entry *next;      /* by age, oldest first */
    struct beat_entry *hash_next; /* in its bucket */
    uint64_t hash;
    bool remove;
    int64_t queued_mono_ms;          /* when it came into the queue */
    int64_t taken_mono_ms;           /* when it was last renewed */
    const char *group, *key, *value; /* in `text` */
    char text[];
};

#define BEAT_BUCKETS 16384

struct beat_queue {
    struct beat_entry *oldest, *newest;
    struct beat_entry *buckets[BEAT_BUCKETS];
    size_t count;
    size_t max;
};

void beats_init(struct beat_queue *q, size_t max);
void beats_fini(struct beat_queue *q);
/* ERR_BUSY when full, ERR_NOMEM. */
MUST_CHECK enum err beats_put(struct beat_queue *q, const char *group, const char *key, const char *value, bool remove,
                              int64_t now_mono_ms, struct errctx *ec);
/* Takes up to `max` entries out, oldest first, as a list. */
struct beat_entry *beats_take(struct beat_queue *q, size_t max, size_t *count);
/* Puts back what could not be written, also beyond the limit; an entry that has been replaced meanwhile is freed. */
void beats_give_back(struct beat_queue *q, struct beat_entry *list);
void beats_destroy_list(struct beat_entry *list);

/* ---- lists.c: registry rows and groups to address lists: pure ---------------------------------------------------- */

#define ADDRESS_LIST_MAX 65535 /* bytes of the TEXT column */

struct list_change {
    int64_t group;
    const char *old_list; /* in the group_list it was computed from */
    char *new_list;       /* owned */
};

struct list_changes {
    struct list_change *changes; /* ascending by group */
    size_t count;
    size_t cut; /* lists (changed or not) that did not fit into the column */
};

/* Order of code units of UTF-16, as Java compares strings. */
int lists_compare_utf16(const char *a, const char *b);
/* The automatic groups whose list is not the one that the rows give. Only rows of group EXECUTOR count; names match
 * exactly. */
MUST_CHECK enum err lists_compute(const struct group_list *groups, const struct registry_list *rows,
                                  struct list_changes *out, struct errctx *ec);
void lists_fini(struct list_changes *changes);

/* ---- snapshot.c -------------------------------------------------------------------------------------------------- */

/* Copies everything; the caller holds the one reference. */
MUST_CHECK enum err snapshot_create(const struct group_list *groups, const struct registry_snapshot **out,
                                    struct errctx *ec);
bool snapshot_is_same(const struct group_list *a, const struct group_list *b);
/* Of the automatic groups of this app: how many have the address, how many lack it. */
void snapshot_count_address(const struct registry_snapshot *snap, const char *app_name, const char *address,
                            size_t *listed, size_t *missing);

/* ---- generations.c: addresses that are started with /trigger ----------------------------------------------------- */

#define GENERATION_BUCKETS 8192
#define GENERATION_MAX 65536 /* addresses; beyond it older ones of the same bucket are forgotten */

struct generations {
    struct mutex lock;                              /* rank LOCK_LEAF */
    struct generation *buckets[GENERATION_BUCKETS]; /* [lock] */
    size_t count;                                   /* [lock] */
};

void generations_init(struct generations *g);
void generations_fini(struct generations *g);
void generations_note(struct generations *g, const char *address, bool trigger_path);
bool generations_has(struct generations *g, const char *address);

#endif

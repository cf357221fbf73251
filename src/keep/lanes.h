/* SPDX-License-Identifier: MIT */
/*
 * lanes: runs whose logs are to be fetched, by executor: so that one that is slow, or has many, leaves the others
 * theirs.
 *
 * Threads     One owner.
 * Ownership   An item that was added belongs to the lanes until it is taken, and a taken one to who took it.
 */
#ifndef KEEP_LANES_H
#define KEEP_LANES_H

#include <sys/queue.h>

#include "shardwheel/store/kept.h"

#define WAITING_MAX 1024    /* items, of all executors */
#define LANE_WAITING_MAX 64 /* ... of one */
#define LANE_FETCHES_MAX 2  /* requests to one at a time */
#define LANES_MAX 512       /* executors that anything is known of */
#define LANE_PAUSE_MS 10000 /* one that could not be reached is left alone for so long */

struct http_peer;
struct keep_lane;

struct keep_item {
    TAILQ_ENTRY(keep_item) next;
    struct keep_lane *lane;
    int64_t log_id, job_id, trigger_ms;
    char *app_name, *access_token; /* in the memory of the item */
};

struct keep_lane {
    TAILQ_ENTRY(keep_lane) next;
    TAILQ_HEAD(, keep_item) items;
    size_t waiting;
    int fetches;            /* items that were taken and are not done */
    int64_t paused_mono_ms; /* until then; 0: it is not */
    struct http_peer *peer; /* its owner's */
    uint64_t hash;
    char address[];
};

struct keep_lanes {
    TAILQ_HEAD(, keep_lane) list; /* the one whose turn it is first */
    size_t count, waiting;
    void (*forget)(void *arg, struct keep_lane *lane); /* a lane goes; may be NULL */
    void *arg;
};

enum lane_outcome { LANE_ADDED, LANE_FULL, LANE_PAUSED, LANE_NO_MEMORY };

void lanes_init(struct keep_lanes *l);
void lanes_fini(struct keep_lanes *l); /* no item is taken */
enum lane_outcome lanes_add_run(struct keep_lanes *l, const struct kept_run *run, int64_t now_mono_ms);
/* The next item that may be fetched now: of each executor in turn; NULL: there is none. */
struct keep_item *lanes_take_item(struct keep_lanes *l, int64_t now_mono_ms);
/* Frees a taken item. reached: its executor answered; if not, what waits for it is dropped. Returns how many these
 * are. */
size_t lanes_end_item(struct keep_lanes *l, struct keep_item *item, bool reached, int64_t now_mono_ms);
size_t lanes_drop_all(struct keep_lanes *l); /* that wait; their number */

#endif

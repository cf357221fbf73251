/* SPDX-License-Identifier: MIT */
/*
 * tellings: the messages that a node's receivers have, each from the moment it is handed to them until what came of it
 * is written.
 *
 * Threads     tellings_note by any thread; all else by one, which alone adds and removes.
 */
#ifndef ALARM_TELLINGS_H
#define ALARM_TELLINGS_H

#include <sys/queue.h>

#include "alarm/receiver.h"
#include "shardwheel/store/alarm.h"

struct telling {
    LIST_ENTRY(telling) in_list; /* [lock] */
    enum alarm_event event;      /* [const] FAILED or RECOVERED, of a job or of a flow; or FLOW_LATE */
    int64_t flow_alarm;          /* [const] id; 0: it is about a job */
    struct due_alarm due;        /* [const] */
    struct failing_job job;      /* [const] RECOVERED */
    char watch_kind[17];         /* [const] of a state, or of what was held back; "": it is another */
    int64_t target;              /* [const] likewise */
    int phase;                   /* [const] of the state: see enum watch_phase */
    char held_for[41];           /* [const] the channel for which it was held back; "": it was not */
    bool held_over;              /* [const] likewise */
    bool is_unwanted;            /* [const] nobody was to be told after all */
    size_t pending;              /* [lock] parcels under way */
    size_t sent;                 /* [lock] */
    bool failed;                 /* [lock] */
    bool given_up;               /* [lock] */
};

struct tellings {
    struct mutex lock;         /* rank LOCK_COMPLETE; never held across a call of others */
    LIST_HEAD(, telling) list; /* [lock] */
    size_t count;              /* [thread] */
};

void tellings_init(struct tellings *all);
void tellings_fini(struct tellings *all); /* frees what is left */
void tellings_add(struct tellings *all, struct telling *t);
void tellings_remove(struct tellings *all, struct telling *t); /* and frees it */
/* What came of a parcel of t. True: it was the last one. */
bool tellings_note(struct tellings *all, struct telling *t, const struct parcel *d);
/* By which a channel that has quiet hours is told later: see struct held_alarm. NULL: it is not. */
const char *telling_find_kind(const struct telling *t);
int64_t telling_get_target(const struct telling *t);
bool telling_is_over(const struct telling *t);

bool tellings_has_job(struct tellings *all, int64_t job_id);
bool tellings_has_flow_alarm(struct tellings *all, int64_t id);
/* `held_for` "": the state itself. */
bool tellings_has_watch(struct tellings *all, const char *kind, int64_t target, const char *held_for);
/* One whose parcels are all back, which nobody but the caller changes any more; NULL: there is none. */
struct telling *tellings_find_ended(struct tellings *all);
bool tellings_are_ended(struct tellings *all); /* all of them */

#endif

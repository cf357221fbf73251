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
bool tellings_has_job(struct tellings *all, int64_t job_id);
bool tellings_has_flow_alarm(struct tellings *all, int64_t id);
/* One whose parcels are all back, which nobody but the caller changes any more; NULL: there is none. */
struct telling *tellings_find_ended(struct tellings *all);
bool tellings_are_ended(struct tellings *all); /* all of them */

#endif

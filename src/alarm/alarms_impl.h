/* SPDX-License-Identifier: MIT */
/*
 * alarms_impl: the node that tells, for the files that say what it tells: alarms.c of jobs, tell_executors.c,
 * tell_flows.c and tell_watch.c. Private to alarm.
 */
#ifndef ALARM_ALARMS_IMPL_H
#define ALARM_ALARMS_IMPL_H

#include "alarm/in_use.h"
#include "alarm/notes.h"
#include "alarm/offline.h"
#include "alarm/recovery.h"
#include "alarm/tellings.h"
#include "alarm/lookout.h"
#include "shardwheel/alarm.h"

struct alarms {
    struct alarms_opts opts;            /* [const] */
    struct wording wording;             /* [const] */
    const struct clock *clock;          /* [const] */
    struct counters *counters;          /* [const] */
    struct notes notes;                 /* [const] locks by itself */
    struct in_use in_use;               /* [const] the same */
    struct tellings tellings;           /* [const] the same */
    struct worker worker;               /* [const] locks by itself */
    struct log_limit failed_log;        /* [atomic] */
    struct log_limit told_log;          /* [atomic] of executors that are gone */
    _Atomic int64_t send_until_mono_ms; /* [atomic] no try begins after it; relaxed: nothing else is told by it */

    bool failing;          /* [thread] the database did not answer, as all below */
    bool held;             /* the lease is ours */
    int64_t lease_mono_ms; /* next try for the lease */
    int64_t slow_mono_ms;  /* next look at runs and executors */
    int64_t forget_mono_ms;
    struct recovery recovery;
    struct offline offline;
    struct lookout lookout;
};

bool alarms_may_tell(struct alarms *a); /* the lease is ours, and there is room for one more */
/* Takes the message, which may be NULL when out of memory. What a channel does not get in its quiet hours is held back,
 * for what `what` says. */
MUST_CHECK enum err alarms_tell(struct alarms *a, struct store_session *s, const struct telling *what,
                                struct message *message, const struct outlet_about *about, struct errctx *ec);
void alarms_post(struct alarms *a, struct outlet_posts *posts); /* all of them, which are given back */
MUST_CHECK enum err alarms_tell_executors(struct alarms *a, struct store_session *s, struct errctx *ec);
MUST_CHECK enum err alarms_tell_flows(struct alarms *a, struct store_session *s, struct errctx *ec);
/* What did not happen, and what was held back. */
MUST_CHECK enum err alarms_tell_watch(struct alarms *a, struct store_session *s, struct errctx *ec);
/* What came of one of them is written. */
MUST_CHECK enum err alarms_end_watch(struct store_session *s, const struct telling *t, struct errctx *ec);

#endif

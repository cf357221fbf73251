/* SPDX-License-Identifier: MIT */
/*
 * in_use: the outlets that a node tells through: those of its settings, and the channels of the console, which come and
 * go.
 *
 * Threads     in_use_choose by any thread, all else by one.
 */
#ifndef ALARM_IN_USE_H
#define ALARM_IN_USE_H

#include "alarm/outlets.h"
#include "shardwheel/store/channel.h"

#define CHANNELS_LOOK_MS 3000 /* between two looks at those of the console */

struct in_use {
    const struct alarms_opts *opts; /* [const] */
    struct receiver_opts receiver;  /* [const] for outlets_create */
    const struct clock *clock;      /* [const] */
    struct counters *counters;      /* [const] */
    struct mutex lock;              /* rank LOCK_COMPLETE */
    struct outlets *outlets;        /* [lock] for others than the thread, which alone changes it */
    struct channel_rows rows;       /* [thread] the channels of the console in it, as all below */
    int64_t look_mono_ms;           /* next look at them */
    int64_t differ_mono_ms;         /* since when they are not those in use; 0: they are */
};

/* Of the settings alone. `opts` and `receiver` are filled in by the caller; after an error, too, in_use_fini. */
MUST_CHECK enum err in_use_init(struct in_use *u, const struct clock *clock, struct counters *counters,
                                struct errctx *ec);
void in_use_fini(struct in_use *u);
/* Goes over to what the console's channels are now, if that is not in use: at once when `idle`, else when it has waited
 * for some time. What the receivers before had is given up, and is told anew. */
MUST_CHECK enum err in_use_look(struct in_use *u, struct store_session *s, bool idle, struct errctx *ec);
bool in_use_choose(struct in_use *u, const char *app, bool *wanted); /* see alarms_choose */

#endif

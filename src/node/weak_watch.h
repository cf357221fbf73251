/* SPDX-License-Identifier: MIT */
/*
 * weak_watch: looks once a minute for secrets that are none (shardwheel/admin/weak.h), counts them in
 * shardwheel_weak_secrets and names them in the log: at start, when there is one more, and once a day.
 *
 * Threads     One of its own. Made, poked and stopped by the main thread.
 */
#ifndef NODE_WEAK_WATCH_H
#define NODE_WEAK_WATCH_H

#include "shardwheel/base.h"
#include "shardwheel/counters.h"

struct admin;
struct weak_watch;

MUST_CHECK enum err weak_watch_start(struct admin *admin, const struct clock *clock, struct counters *counters,
                                     struct weak_watch **out, struct errctx *ec);
void weak_watch_poke(struct weak_watch *w); /* the settings have changed; NULL is fine */
void weak_watch_stop(struct weak_watch *w); /* waits for the turn under way, and frees; NULL is fine */

#endif

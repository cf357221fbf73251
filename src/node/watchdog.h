/* SPDX-License-Identifier: MIT */
/*
 * watchdog: looks at the threads that fires depend on, and tells the service manager: how the node stands, and that it
 * is alive for as long as all of them go on (watch.h).
 *
 * Threads     The main thread; it has one of its own.
 * Invariants  A database or a ZooKeeper that is away leaves it fed: a restart would bring neither back. What watches
 *             this thread is the service manager, which hears nothing when it hangs.
 */
#ifndef NODE_WATCHDOG_H
#define NODE_WATCHDOG_H

#include "node/node.h"

struct watchdog;

/* To the service manager, in its words: READY=1, STOPPING=1, STATUS=text. Nothing where there is none. */
void watchdog_tell(const char *state);
void watchdog_tell_reload(void); /* it begins; READY=1 ends it */

/* `node` must outlive it. Works without a service manager, too: then for the log and for health. */
MUST_CHECK enum err watchdog_start(struct node *node, struct watchdog **out, struct errctx *ec);
/* What the node is doing, in place of how it stands; a constant. NULL: how it stands again. */
void watchdog_set_status(struct watchdog *w, const char *text);
void watchdog_stop(struct watchdog *w); /* NULL is fine; frees it */

#endif

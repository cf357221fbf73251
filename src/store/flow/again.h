/* SPDX-License-Identifier: MIT */
/* again: tries of flows that a server has forgotten. Private to store. */
#ifndef STORE_FLOW_AGAIN_H
#define STORE_FLOW_AGAIN_H

#include "shardwheel/store/run.h"

/* Part of a transaction. A try was sent, and its row was gone: so is all that was written with it. The step, or the
 * item, stands as it stood after that, and its run waits for the end, and is looked at. Nothing happens if the run has
 * ended or is gone, if the step has ended, or if it has a newer try; else *begun goes up. */
MUST_CHECK enum err flow_begin_again(struct store_session *s, const struct sent_row *row, size_t *begun,
                                     struct errctx *ec);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * retry: what is to be done about one failed fire. Pure.
 *
 * Facts of the original: the row stores the retries that are left; one retry takes one of them, the row's parameter
 * (the job's where that is NULL) and the row's sharding numbers; everything else is the job's present setting. Every
 * failed run alarms, also one that is retried.
 */
#ifndef FOLLOW_RETRY_H
#define FOLLOW_RETRY_H

#include "shardwheel/registry.h"
#include "shardwheel/store/run.h"

/* Fills in alarm and retries of the row, or retry_at_s: a job whose retries wait has a later row instead, with
 * the row's parameter, sharding numbers and one retry less. `group` is the job's, NULL when the registry does not know
 * it; can_tell: an alarm can be sent. A retry of a broadcast's shard goes to the address of that place in the present
 * list, or the first one where nodes have left; a job that became a broadcast since is retried on all addresses. A job
 * that is gone, or whose group is gone, is not retried: there is nobody to send it to. */
MUST_CHECK enum err retry_decide(struct failed_row *row, const struct registry_group *group, bool can_tell,
                                 int64_t now_s, struct errctx *ec);

#endif

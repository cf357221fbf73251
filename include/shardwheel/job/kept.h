/* SPDX-License-Identifier: MIT */
/*
 * kept: which runs have their logs kept by the nodes, as the configuration and jobs say it. Pure.
 */
#ifndef SHARDWHEEL_JOB_KEPT_H
#define SHARDWHEEL_JOB_KEPT_H

/* Each has those of the ones before, too. The numbers stand in shardwheel_job. */
enum kept_which { KEPT_NONE, KEPT_FAILED, KEPT_ALL };

#endif

/* SPDX-License-Identifier: MIT */
/*
 * job_calls: the six calls of xxl-job 3.5 by which programs change jobs: /api/addJob, updateJob, removeJob, startJob,
 * stopJob, triggerJob. They are there where groups have access tokens.
 *
 * Who         A program that knows the app name and the token of a group: it acts as an administrator over all groups.
 * How often   JOB_CALLS_PER_S on a node, JOB_CALLS_BURST at once; beyond that a call is refused with code 502.
 * Threads     Any.
 */
#ifndef HTTP_EXECUTOR_JOB_CALLS_H
#define HTTP_EXECUTOR_JOB_CALLS_H

#include "http/router.h"

#define JOB_CALLS_PER_S 100
#define JOB_CALLS_BURST 100

void job_call_add(const struct route_call *call, struct http_response *r);
void job_call_update(const struct route_call *call, struct http_response *r);
void job_call_remove(const struct route_call *call, struct http_response *r);
void job_call_start(const struct route_call *call, struct http_response *r);
void job_call_stop(const struct route_call *call, struct http_response *r);
void job_call_trigger(const struct route_call *call, struct http_response *r);

/* Takes a turn at now_us; false: there is none. `free_us` is the state. Pure but for it. */
bool job_calls_take(_Atomic int64_t *free_us, int64_t now_us);

#endif

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

/* `name` is one of the six: "/addJob". The body is there. */
void job_call_answer(const struct route_call *call, const char *name, struct http_response *r);

/* Takes a turn at now_us; false: there is none. `free_us` is the state. Pure but for it. */
bool job_calls_take(_Atomic int64_t *free_us, int64_t now_us);

#endif

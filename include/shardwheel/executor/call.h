/* SPDX-License-Identifier: MIT */
/*
 * call: one call to an executor that the caller waits for: stop a job, show a log, ask whether it is there.
 * Threads that must not wait use http_client with request.h and the parsers instead.
 *
 * Threads     Any. Each call has a client and a connection of its own; `max` calls at a time, beyond that ERR_BUSY.
 * Time        A call takes target.timeout_ms at most, the look-up of a name included.
 * Errors      What the executor says, or that it cannot be reached, is in the answer: ERR_OK. Else ERR_BUSY, ERR_NOMEM,
 *             ERR_IO (no descriptors), and the answer is empty.
 */
#ifndef SHARDWHEEL_EXECUTOR_CALL_H
#define SHARDWHEEL_EXECUTOR_CALL_H

#include "shardwheel/executor/log_answer.h"

struct executor_calls;
struct executor_networks;
struct http_tls; /* http_client.h */
struct resolver;

/* Whom to call, with what; all texts but the address may be NULL. */
struct executor_target {
    const char *address;
    const char *app_name;
    const char *group_token;
    const char *access_token; /* the global one */
    int64_t timeout_ms;
    const struct http_tls *tls; /* NULL: verified against the system's */
};

/* Resolver and networks outlive it; NULL will do where every address is an IP, and for the built-in rules of
 * networks.h. */
MUST_CHECK enum err executor_calls_create(const struct clock *clock, struct resolver *resolver,
                                          const struct executor_networks *networks, int max,
                                          struct executor_calls **out, struct errctx *ec);
void executor_calls_destroy(struct executor_calls *calls); /* NULL is fine; no call is under way */

/* Every run of the job at that executor, the waiting ones too. Free with answer_fini. */
MUST_CHECK enum err executor_kill(struct executor_calls *calls, const struct executor_target *target, int64_t job_id,
                                  struct answer *out, struct errctx *ec);
/* Whether it is there. *reached: something answered, executor or not. Free with answer_fini. */
MUST_CHECK enum err executor_ask_beat(struct executor_calls *calls, const struct executor_target *target,
                                      struct answer *out, bool *reached, struct errctx *ec);
/* Lines from `from_line` on, counted from 1. `date_ms`: the trigger_time of the row. Free with log_answer_fini. */
MUST_CHECK enum err executor_read_log(struct executor_calls *calls, const struct executor_target *target,
                                      int64_t log_id, int64_t date_ms, int64_t from_line, struct log_answer *out,
                                      struct errctx *ec);

#endif

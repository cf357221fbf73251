/* SPDX-License-Identifier: MIT */
/*
 * idle: asks executors whether jobs are idle there, many at a time.
 *
 * Threads     One owner, who waits for the answers.
 */
#ifndef FOLLOW_IDLE_H
#define FOLLOW_IDLE_H

#include "shardwheel/executor/http_client.h"

enum idle_answer {
    IDLE_UNKNOWN, /* not asked, no answer, or one that says nothing: an executor without idleBeat */
    IDLE_YES,
    IDLE_NO,
};

struct idle_question {
    const char *address;
    const char *app_name;    /* NULL: not known */
    const char *group_token; /* NULL: none */
    int64_t job_id;
    enum idle_answer answer; /* out */
};

struct idle_asker;

MUST_CHECK enum err idle_create(const struct clock *clock, struct resolver *resolver,
                                const struct executor_networks *networks, struct idle_asker **out, struct errctx *ec);
void idle_destroy(struct idle_asker *a); /* NULL is fine */
/* Questions to one address stand together; after one without an answer the rest of that address is not asked. Takes
 * about budget_ms at most: what was not answered by then stays IDLE_UNKNOWN. */
void idle_ask(struct idle_asker *a, struct idle_question *questions, size_t count, const char *access_token,
              const struct http_tls *tls, int64_t budget_ms);

#endif

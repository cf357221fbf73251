/* SPDX-License-Identifier: MIT */
/*
 * access: with what executors are spoken to, as the operator has it now.
 *
 * Ownership   The texts are the struct's own, and never NULL once it was copied.
 */
#ifndef SHARDWHEEL_EXECUTOR_ACCESS_H
#define SHARDWHEEL_EXECUTOR_ACCESS_H

#include "shardwheel/executor/http_client.h"

struct executor_access {
    char *token; /* the global one */
    struct http_tls tls;
};

/* NULL texts become "". False when out of memory: nothing is to be freed then. */
bool executor_access_copy(const char *token, const struct http_tls *tls, struct executor_access *out);
void executor_access_fini(struct executor_access *access); /* all zero is fine */

#endif

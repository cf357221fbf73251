/* SPDX-License-Identifier: MIT */
/* access: how executors are spoken to, as the operator has it now. */
#ifndef ADMIN_ACCESS_H
#define ADMIN_ACCESS_H

#include "shardwheel/executor/access.h"
#include "shardwheel/record.h"

struct admin;

/* For one call. */
struct access_copy {
    struct executor_access *access;
    struct run_calls calls; /* points into `access` */
};
MUST_CHECK enum err access_copy(struct admin *a, struct access_copy *out, struct errctx *ec);
void access_copy_fini(struct access_copy *copy);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * load_calls: what the executor answers to each call of an admin. It knows nothing of sockets.
 */
#ifndef LOAD_CALLS_H
#define LOAD_CALLS_H

#include "load_executor.h"
#include "load_http.h"

/* Appends one answer to out. Where the kind of the address says so, the server does not send it. */
void calls_handle(struct executor *x, const struct request *r, struct buf *out);

#endif

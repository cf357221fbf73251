/* SPDX-License-Identifier: MIT */
/*
 * http_exchange: one request of an http_client, from its start until its end is told; private to http_client.c, whose
 * promises it keeps.
 *
 * Threads     Those of http_client.
 * Ownership   A connection has one request at most, so what belongs to a request is a part of its connection.
 * Ends        Whatever ends without an answer is noted first and told at the end of a turn, so that done is never
 *             called from within start.
 */
#ifndef EXECUTOR_HTTP_EXCHANGE_H
#define EXECUTOR_HTTP_EXCHANGE_H

#include "shardwheel/executor/http_client.h"

struct conn;

/* http_client_start is here, too. */
void exchange_handle(struct http_client *c, struct conn *conn, uint32_t events); /* as poller_event has them */
/* Notes the end; a connection that was refused its write is as good as before. */
void exchange_end(struct http_client *c, struct conn *conn, enum http_outcome outcome, const char *reason);
void exchange_tell_ended(struct http_client *c);

#endif

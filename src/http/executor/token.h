/* SPDX-License-Identifier: MIT */
/*
 * token: may this caller use the executors' API?
 *
 * Rule        A caller that names its app, and whose group has an access token of its own, must know that one. All
 *             others must know the token of the configuration. Where none is configured, they are let in only while no
 *             group has a token: a database of xxl-job 3.5, where each group has its own, is not open to those who name
 *             none.
 * Threads     Any.
 */
#ifndef HTTP_EXECUTOR_TOKEN_H
#define HTTP_EXECUTOR_TOKEN_H

#include "http/server.h"

#define HEADER_TOKEN "XXL-JOB-ACCESS-TOKEN"
#define HEADER_APP "XXL-JOB-APPNAME"

/* The text of the refusal, or NULL. */
const char *token_check(struct http *h, const struct http_request *head);
/* The same for a call that wants a group's own token, whatever the configuration says. */
const char *token_check_app(struct http *h, const struct http_request *head);
/* Says in the log who is let in, where that follows from the groups: for the start. */
void token_log_rule(struct http *h);

#endif

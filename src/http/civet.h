/* SPDX-License-Identifier: MIT */
/*
 * civet: the HTTP server behind one function per request. The only file that knows the library is civet.c.
 *
 * Threads     `handle` is called by the library's workers, many at a time.
 * Connections A connection is kept after an answer only if the client asked for it ("Connection: keep-alive", as Java executors
 *             do; such a client is told how long and heeds it), and only while less than half of the workers have one. All
 *             others are closed with the answer: a client that keeps a connection unasked may send its next request just when
 *             the server closes it, and the Go executor never repeats a callback that is lost that way.
 * Time        A kept connection is closed KEEP_ALIVE_REAL_MS after its last answer and promised less, so that the client is the
 *             first to let go.
 */
#ifndef HTTP_CIVET_H
#define HTTP_CIVET_H

#include "http/message.h"

struct civet;

struct civet_opts {
    const char *bind; /* NULL: all addresses */
    int port;
    int threads;
    size_t max_body;
    void (*handle)(void *arg, const struct http_request *q, struct http_response *r);
    void *arg;
};

/* ERR_BUSY when the port is in use, ERR_INPUT for an address that is not one of this machine, ERR_DENIED without the right. */
MUST_CHECK enum err civet_check_port(const char *bind, int port, struct errctx *ec);
MUST_CHECK enum err civet_start(const struct civet_opts *opts, struct civet **out, struct errctx *ec);
int civet_get_port(const struct civet *c);
/* Requests that come from now on are told to go elsewhere; waits, for at most `grace_ms`, until those under way are answered,
 * then ends the workers. */
void civet_stop(struct civet *c, const struct clock *clock, int64_t grace_ms);
bool civet_is_stopping(const struct civet *c);
void civet_destroy(struct civet *c);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * front: the HTTP server: takes connections, reads requests, and hands whole ones to the workers of three lanes.
 *
 * Threads     One thread has all connections; it waits for sockets only, and calls `admit`, which must not wait, and
 *             `handle` for what is HTTP_LANE_AT_ONCE. Workers call `handle` for the rest and write the answer; what a
 *             socket does not take at once is written by the front again. So a client that is slow, or sends nothing,
 *             costs a descriptor and what it has sent, and nobody's time.
 * Admission   `admit` is called when the head is there, before any of the body is kept: it refuses (and fills the
 *             answer in), or names the lane. The executors' lane takes all that is admitted; requests without a body go
 *             first there, so that metrics are told while callbacks wait for the database. A full console lane is
 *             answered with 503 and Retry-After.
 *             Logins that wait for a provider have a lane of their own, which is answered likewise when it is full:
 *             a provider that hangs holds up nobody else. Whether a login with a password waits for a directory is
 *             known only when the user was looked up: those are the console's, which has `waits` more workers for them.
 * Pieces      The console's lane may answer in pieces (message.h). Each holds its worker while a slow client takes it:
 *             there are workers for as many as there may be, one for four of the console's, beside the others.
 * Bodies      Those larger than SMALL_BODY share a room; there is none for what is larger than `admit` allows. Who is
 *             refused is answered at once; what he still sends is dropped until he has read the answer.
 * Answers     Those larger than SMALL_ANSWER share a room until their client has taken them; what it does not hold is
 *             answered with 503 and Retry-After instead.
 * Deadlines   Every state of a connection has one (see caller.h), for all of a request and not for each piece of it.
 * Connections At most three quarters of the descriptors of the process, and CONNECTIONS_MAX. Beyond that who has sent
 *             nothing for longest (a second at least) gives way, then who is slow with a head, then with a body; where
 *             none of those is there, new ones wait in the kernel. Heads and small bodies that are not whole share
 *             PENDING_MAX bytes likewise.
 * TLS         Who sends nothing costs no more than without. Handshakes are steps on workers of their own, of which none
 *             waits for a client; so many at a time as greet.c says. Who waits for his client for longer than a second
 *             gives way to others then. All of a handshake has the deadline of a head.
 * Keeping     A connection is kept for a minute after an answer, and the client is told so: on the executors' lane only
 *             if he asked for it ("Connection: keep-alive", as Java executors do, who heed what they are told), on the
 *             console's by the rules of HTTP/1.1. All others are closed with the answer: a client that keeps a
 *             connection unasked may send its next request just when the server closes it, and the Go executor never
 *             repeats a callback that is lost that way. None is kept while half of the connections are open, so those
 *             that idle leave room for as many that do something.
 */
#ifndef HTTP_FRONT_H
#define HTTP_FRONT_H

#include "http/message.h"
#include "shardwheel/counters.h"

struct front;
struct tls_server;

struct front_opts {
    const char *bind; /* NULL: all addresses */
    int port;
    int threads; /* workers of both lanes, 4 at least: a quarter is the console's */
    int waits;   /* workers of the console's lane beside those: requests that may wait for somebody far away */
    size_t max_body;
    size_t max_answers;             /* bytes of large answers that wait for their clients; 0: as many as is usual */
    struct tls_server *tls;         /* NULL: plain HTTP */
    int64_t hsts_s;                 /* see http_response */
    const struct networks *trusted; /* whose word about whom he asks for counts; NULL: nobody's */
    /* *max_body: that of the server; it may be lowered for the request. */
    enum http_lane (*admit)(void *arg, const struct http_request *head, size_t *max_body, struct http_response *r);
    void (*handle)(void *arg, const struct http_request *q, struct http_response *r);
    /* The console's lane is full: 503, as such a client understands it. Called by the front, which must not wait. */
    void (*write_busy)(void *arg, const struct http_request *q, struct http_response *r);
    /* Connections or requests were turned away or kept waiting for long: heartbeats may have been among them. */
    void (*on_overload)(void *arg);
    void *arg;
};

MUST_CHECK enum err front_start(const struct front_opts *opts, const struct clock *clock, struct counters *counters,
                                struct front **out, struct errctx *ec);
int front_get_port(const struct front *f);
/* Waits, for at most `grace_ms`, until the requests under way are answered, then ends the threads. Connections are not
 * kept from now on; new ones are taken until the end of that, for `admit` to tell them to go elsewhere. */
void front_stop(struct front *f, int64_t grace_ms);
void front_destroy(struct front *f); /* stopped, or NULL */

#endif

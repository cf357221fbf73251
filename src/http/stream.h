/* SPDX-License-Identifier: MIT */
/*
 * stream: sends an answer in pieces, from the worker that makes it.
 *
 * Threads     The worker that has the request. Between stream_init and stream_end the socket is its own.
 * Time        A piece must be taken at 16 KiB a second after the first ten, or the client is cut off: so one that reads
 *             nothing costs a worker for some 15 s. streams_max bounds how many workers that can be.
 * Forms       HTTP/1.1 gets chunks; HTTP/1.0 gets all up to the end of the connection.
 */
#ifndef HTTP_STREAM_H
#define HTTP_STREAM_H

#include "http/message.h"
#include "http/wire.h"

#define STREAM_PIECE ((size_t)64 * 1024)

struct gzip;

/* What all streams of a server share. */
struct stream_office {
    const struct clock *clock;   /* [const] */
    struct http_room places;     /* [atomic] for one each */
    bool (*must_end)(void *arg); /* [const] the server does not wait any longer */
    void *arg;                   /* [const] */
};

enum stream_state {
    STREAM_NONE, /* the answer is a whole one */
    STREAM_OPEN,
    STREAM_BROKEN, /* nothing goes out any more */
};

struct stream {
    struct stream_office *office;
    struct wire *wire;
    bool old;       /* HTTP/1.0 */
    bool head_only; /* of a HEAD */
    bool keep;      /* the connection, afterwards */
    enum stream_state state;
    struct gzip *gzip;
    struct buf out;
};

/* Only says where the answer would go. */
void stream_init(struct stream *s, struct stream_office *office, struct wire *wire, bool old, bool head_only,
                 bool keep);
/* The handler is done with the answer. False: it was none in pieces. *keep: the connection can be used again. */
bool stream_end(struct stream *s, struct http_response *r, bool *keep);

#endif

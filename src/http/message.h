/* SPDX-License-Identifier: MIT */
/*
 * message: a request and its answer, as the handlers see them. The library behind is known to civet.c alone.
 */
#ifndef HTTP_MESSAGE_H
#define HTTP_MESSAGE_H

#include "shardwheel/base.h"

enum body_state {
    BODY_WHOLE,
    BODY_TOO_LARGE, /* larger than max_body: it was read and dropped */
    BODY_NO_ROOM,   /* bodies of other requests take all the room there is: it was read and dropped */
    BODY_BROKEN,    /* the client stopped in the middle, or the framing is wrong */
};

/* Who works on a request, as its route says. */
enum http_lane {
    HTTP_LANE_REFUSED,  /* nobody: the answer is there */
    HTTP_LANE_EXECUTOR, /* executor API, metrics, health: never behind the console */
    HTTP_LANE_CONSOLE,  /* everything else */
};

struct http_request {
    const char *method;
    const char *path; /* without query; decoded */
    const char *body; /* ended by a NUL that body_len does not count */
    size_t body_len;
    enum body_state body_state;
    const char *(*get_header)(const void *connection, const char *name); /* any case; NULL when absent */
    const void *connection;
};

struct http_response {
    int status;
    const char *content_type; /* a literal */
    struct buf body;
};

static inline const char *request_get_header(const struct http_request *q, const char *name)
{
    return q->get_header(q->connection, name);
}

#endif

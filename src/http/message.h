/* SPDX-License-Identifier: MIT */
/*
 * message: a request and its answer, as the handlers see them. Sockets are known to the front alone.
 *
 * Threads     A request belongs to the thread that was called with it. struct http_room may be used by any.
 * Ownership   What a request points to lives until its handler returns.
 */
#ifndef HTTP_MESSAGE_H
#define HTTP_MESSAGE_H

#include "shardwheel/base.h"
#include "http/form.h"
#include "shardwheel/network.h"

#define KEEP_ALIVE_TOLD_S 60 /* how long a connection is kept, as clients are told */

/* Who answers a request. Each lane has workers of its own, so that none waits for another's. */
enum http_lane {
    HTTP_LANE_REFUSED,  /* nobody: the answer is there already */
    HTTP_LANE_AT_ONCE,  /* the front itself: needs no worker, as it never waits (heartbeats, the console's files) */
    HTTP_LANE_EXECUTOR, /* the rest of the executors' API, metrics, health */
    HTTP_LANE_CONSOLE,  /* everything else */
    HTTP_LANE_LOGIN,    /* ... that waits for a provider of logins, seconds perhaps */
};
/* People and their programs, not executors. */
static inline bool lane_is_peoples(enum http_lane lane)
{
    return lane == HTTP_LANE_CONSOLE || lane == HTTP_LANE_LOGIN;
}

enum body_state {
    BODY_WHOLE,
    BODY_TOO_LARGE, /* larger than max_body of the request: it is dropped */
    BODY_NO_ROOM,   /* bodies of other requests take all the room there is: it is dropped */
    BODY_BROKEN,    /* the client stopped in the middle */
};

/* ---- bodies ------------------------------------------------------------------------------------------------------ */

/* The memory that all large bodies share, and what is made of them. */
struct http_room {
    size_t max;           /* [const] */
    _Atomic size_t taken; /* [atomic] */
};

bool room_take(struct http_room *room, size_t bytes); /* false: there is not so much left */
void room_give(struct http_room *room, size_t bytes);

/* All zero is an empty one. */
struct http_body {
    struct buf bytes;
    struct http_room *room;
    size_t held; /* of the room */
};

void http_body_fini(struct http_body *body); /* gives memory and room back */

/* ---- requests ---------------------------------------------------------------------------------------------------- */

struct http_request {
    const char *method;
    const char *path;  /* without query; decoded */
    const char *query; /* as it was sent; "" when there is none */
    const char *body;  /* ended by a NUL that body_len does not count */
    size_t body_len;
    enum body_state body_state;
    size_t max_body;                /* in bytes, for such a path */
    struct http_room *room;         /* to be charged for what is made of a large body */
    struct ip peer;                 /* the other end of the connection; see request_get_client_address */
    bool tls;                       /* of the connection */
    const struct networks *trusted; /* of reverse proxies; NULL: the peer is none of them, and speaks for himself */
    const char *(*get_header)(const void *connection, const char *name); /* any case; NULL when absent */
    const char *(*get_next_header)(const char *value, const char *name); /* behind that value; NULL when absent */
    const void *connection;
};

static inline const char *request_get_header(const struct http_request *q, const char *name)
{
    return q->get_header(q->connection, name);
}

/* A Content-Type is `media`, whatever its parameters; NULL is none. */
bool media_is(const char *content_type, const char *media);

/* False when absent or longer than out can hold. */
bool request_get_cookie(const struct http_request *q, const char *name, char *out, size_t size);

/* ---- who asks ---------------------------------------------------------------------------------------------------- */

/* What the client is to us: the peer, or where that is a trusted proxy whom X-Forwarded-For names: the last address
 * there that is no trusted proxy itself, so that nobody can put himself another one's address in front. */
void request_get_client_address(const struct http_request *q, char out[IP_TEXT_MAX]);
/* The client came by https: X-Forwarded-Proto of a trusted proxy says so, or else the connection is one. */
bool request_is_tls(const struct http_request *q);
/* Host, with its port where one was given, as the client wrote it: of X-Forwarded-Host of a trusted proxy, else of the
 * Host field. False when absent, longer than out can hold, or no host at all. */
bool request_get_host(const struct http_request *q, char *out, size_t size);

/* ---- answers ----------------------------------------------------------------------------------------------------- */

struct stream;

struct http_response {
    int status;
    const char *content_type; /* a literal */
    struct buf headers;       /* see response_add_header */
    struct buf body;
    const char *cache_control; /* a literal; NULL: "no-store". Of guarded answers */
    bool guarded;              /* gets what browsers need to be told: all but what executors are answered */
    bool may_gzip;             /* the client takes it compressed */
    int64_t hsts_s;            /* browsers keep to https for so long; 0: that is not said. Of guarded answers */
    struct stream *stream;     /* of the server; NULL: there is none, and pieces are collected in `body` */
};

/* Not for Content-Type, Content-Length and Connection, which the server writes. ERR_INPUT when the value cannot stand
 * in a line. */
MUST_CHECK enum err response_add_header(struct http_response *r, const char *name, const char *value,
                                        struct errctx *ec);
const char *response_name_status(int status); /* as "Not Found" */
/* {"code":...,"msg":...,"content":null,"data":null}, which every dialect understands. */
void response_set_error(struct http_response *r, int status, const char *msg);
/* The whole answer in one piece. The body may be compressed by it. */
void response_write(struct http_response *r, bool keep, bool head_only, struct buf *out);
void response_fini(struct http_response *r);

/* ---- answers in pieces ------------------------------------------------------------------------------------------- */

/*
 * For what may be larger than memory should hold, on the console's lane alone:
 *     r->content_type = "application/json";
 *     if (response_begin_stream(r, &ec))
 *         (write a 503 into r as usual)
 *     for (...) {
 *         buf_printf(&r->body, ...);
 *         if (response_push(r, &ec))
 *             break;
 *     }
 * What stands in the body then goes out as the last piece. Until response_begin_stream nothing has gone out; behind it
 * status and headers are fixed, and a fault can only be told by response_break. No session of the database is held
 * while a piece is pushed: a client may take half a minute for it.
 */

/* ERR_BUSY: as many as may be are under way already. */
MUST_CHECK enum err response_begin_stream(struct http_response *r, struct errctx *ec);
/* Sends the body once it is 64 KiB, and waits until the client has taken it. ERR_LOST: he went, or is too slow, or the
 * node is ending: what is still written goes nowhere. */
MUST_CHECK enum err response_push(struct http_response *r, struct errctx *ec);
/* The rest cannot be made: the connection is cut, so that the client sees that something is missing. */
void response_break(struct http_response *r);

#endif

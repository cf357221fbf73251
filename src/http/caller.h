/* SPDX-License-Identifier: MIT */
/*
 * caller: one connection of the front, and what it is doing. Private to front.c, caller.c and what they call.
 *
 * Threads     The front's own, but for a connection in CALLER_BUSY: that one is its worker's, all but the members of
 *             the front.
 * Invariants  A connection is in the list of its state. All of a list wait for the same time, so that the first has the
 *             next deadline. One that is CALLER_BUSY comes back through the list `answered`, however its request ends.
 */
#ifndef HTTP_CALLER_H
#define HTTP_CALLER_H

#include <assert.h>
#include <sys/queue.h>

#include "http/chunks.h"
#include "http/front.h"
#include "http/head.h"
#include "http/lane.h"
#include "http/stream.h"
#include "http/wire.h"
#include "shardwheel/counters.h"

#define SMALL_BODY ((size_t)8 * 1024)    /* bodies up to this size always have room */
#define SMALL_ANSWER ((size_t)64 * 1024) /* and answers up to that */
#define PIECE ((size_t)64 * 1024)        /* read at once */

enum caller_state {
    CALLER_NEW,       /* has sent nothing */
    CALLER_KEPT,      /* has had an answer, and sent nothing since */
    CALLER_HANDSHAKE, /* ... of TLS: the client is to go on with it */
    CALLER_HELLO,     /* a handshake is to begin, and waits for others to end */
    CALLER_HEAD,      /* a part of a head is there */
    CALLER_BODY,      /* a part of a body is wanted */
    CALLER_BUSY,      /* a worker has the request */
    CALLER_WRITING,   /* the client has not taken all of the answer */
    CALLER_DROPPING,  /* the answer is out and says that this was the last; what comes is read and forgotten */
    CALLER_STATES,
};

#define CALLER_KEPT_MS 65000
static_assert(CALLER_KEPT_MS >= (KEEP_ALIVE_TOLD_S + 5) * 1000, "clients are the first to let go");

extern const int64_t caller_deadlines_ms[CALLER_STATES];

/* A request, from the end of its head to its answer. */
struct exchange {
    char *text; /* what the head points into */
    struct http_head head;
    enum http_lane lane;
    size_t max_body;
    struct chunks chunks;
    uint64_t left; /* of a body of known length */
    struct http_body body;
    enum body_state body_state;
    bool drained; /* no more of the body is to come */
};

struct caller {
    struct lane_job job; /* of the lane, while CALLER_BUSY */
    TAILQ_ENTRY(caller) in_list;
    TAILQ_ENTRY(caller) in_answered;
    struct front *front;
    struct wire wire;
    struct ip peer;
    bool trusted; /* peer is one of front_opts.trusted */
    enum caller_state state;
    int64_t deadline_mono_ms;
    uint32_t watched;    /* events that epoll was told; 0: it does not know the descriptor */
    size_t pending;      /* bytes counted in front.pending */
    struct buf in;       /* what came and was not read yet */
    size_t scanned;      /* see head_find_end */
    struct exchange *ex; /* from the end of a head to the answer */
    bool keep;
    struct buf out;              /* the answer */
    size_t sent;                 /* of it */
    size_t held;                 /* of the room of answers */
    bool shaking;                /* counts in front.handshakes: CALLER_HANDSHAKE, or CALLER_BUSY with its lane */
    bool refused;                /* speaks no TLS where it should */
    enum tls_step step;          /* how the last one ended */
    int64_t shake_until_mono_ms; /* the deadline of the handshake */
};

TAILQ_HEAD(caller_list, caller);

struct front {
    struct front_opts opts;                  /* [const] */
    const struct clock *clock;               /* [const] */
    struct counters *counters;               /* [const] */
    struct thread thread;                    /* [const] after start */
    int port;                                /* [const] */
    int listen_fd, epoll_fd;                 /* [const] */
    int wake_fd;                             /* [const] */
    size_t callers_max;                      /* [const] */
    struct lane *lanes[HTTP_LANE_LOGIN + 1]; /* [const] by enum http_lane */
    struct http_room room;                   /* [atomic] of large bodies */
    struct http_room answers;                /* [atomic] of large answers */
    struct stream_office streams;            /* [atomic] answers in pieces */
    struct lane *shakers;                    /* [const] of handshakes; NULL: no TLS */
    struct log_limit handshake_log;          /* [atomic] */
    _Atomic bool stopping;                   /* [atomic] set once in front_stop, after stop_mono_ms */
    int64_t stop_mono_ms;                    /* [const] once stopping */

    struct mutex lock;           /* rank LOCK_LEAF */
    struct caller_list answered; /* [lock] workers are done with them */
    bool asleep;                 /* [lock] the front waits for events, and must be woken for those */

    struct caller_list lists[CALLER_STATES]; /* [front] by state, soonest deadline first, and all that follows */
    size_t callers;
    size_t handshakes;
    size_t pending;           /* bytes of heads and small bodies that are not whole */
    bool accepting;           /* the listening socket is watched */
    int64_t accept_mono_ms;   /* not before */
    int64_t overload_mono_ms; /* when that was told last */
    int64_t now_mono_ms;      /* of this turn */
    char piece[PIECE];
};

/* ---- exchange.c -------------------------------------------------------------------------------------------------- */

struct exchange *caller_begin(const char *head, size_t len); /* a copy of the head, not read yet; NULL: no memory */
void caller_end(struct exchange **ex);                       /* NULL behind it, and nothing where it is that already */
void caller_give_up(struct exchange *ex, enum body_state state); /* its body */
/* Takes what belongs to the body: *used. False when that is no body. */
bool caller_take_body(struct exchange *ex, struct http_room *room, const char *bytes, size_t len, size_t *used);

/* ---- caller.c ---------------------------------------------------------------------------------------------------- */

void caller_create(struct front *f, int fd,
                   const struct sockaddr *peer); /* reads at once what is there; closes fd when out of memory */
void caller_close(struct caller *c);
void caller_read(struct caller *c);
void caller_write(struct caller *c);
void caller_run(void *front, struct lane_job *job); /* handles the request and writes the answer */
void caller_end_answer(struct caller *c);           /* it came back from its worker */
void caller_drop(struct caller *c);                 /* no more goes out; what comes is read and forgotten */

/* ---- greet.c ----------------------------------------------------------------------------------------------------- */

/* The first byte on a port with TLS. False: nothing is to be read yet, or it was closed. */
bool caller_greet(struct caller *c);
void caller_go_on_shaking(struct caller *c);          /* the first step, or its socket is ready for the next */
void caller_shake(void *front, struct lane_job *job); /* a step of its handshake, on a worker of the lane */
void caller_end_step(struct caller *c);               /* it came back from there */
bool front_begin_handshakes(struct front *f);         /* false: some still wait for others to end */

/* ---- states.c ---------------------------------------------------------------------------------------------------- */

bool front_is_stopping(const struct front *f);
void front_move(struct caller *c, enum caller_state state); /* to another list, with another deadline */
/* The same with a deadline that began before. */
void front_move_until(struct caller *c, enum caller_state state, int64_t deadline_mono_ms);
void front_wake(struct front *f);
void front_set_watch(struct front *f, int fd, uint32_t before, uint32_t events, void *data);
void front_watch(struct caller *c, uint32_t events);
void front_count_pending(struct caller *c); /* after `in`, `ex` or the state of c has changed */
void front_return(struct caller *c);        /* c was CALLER_BUSY; any thread */

#endif

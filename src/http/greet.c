/* SPDX-License-Identifier: MIT */
/*
 * How a connection to a port with TLS begins: its first byte says whether TLS comes at all, then the handshake is made
 * by workers of a lane of its own, since each costs a signature. They never wait for the client: a step takes what is
 * there, and the front waits for the rest.
 */
#include "http/caller.h"

#include <errno.h>
#include <sys/epoll.h>

#define HANDSHAKES_MAX 1024 /* at a time: each holds some 50 KB, 160 KB if the client is greedy */
#define TLS_HANDSHAKE 0x16  /* the first byte of a ClientHello */

/* ---- steps ------------------------------------------------------------------------------------------------------- */

void caller_go_on_shaking(struct caller *c)
{
    front_move(c, CALLER_BUSY);
    if (!lane_put(c->front->shakers, &c->job, /*ahead=*/false))
        caller_close(c); /* the server ends */
}

void caller_shake(void *front, struct lane_job *job)
{
    struct caller *c = (struct caller *)job; /* its first member */

    (void)front;
    c->step = tls_shake(c->wire.tls);
    front_return(c);
}

static void end_handshake(struct caller *c)
{
    c->shaking = false;
    c->front->handshakes--;
}

static void fail(struct caller *c)
{
    struct front *f = c->front;
    char peer[IP_TEXT_MAX];

    ip_write(&c->peer, peer);
    log_limited(&f->handshake_log, f->clock, LOG_INFO, "http", "event=handshake_failed peer=%s error=%s", peer,
                log_quote(tls_get_why(c->wire.tls)).s);
    end_handshake(c);
    caller_drop(c); /* closed with bytes unread, the client would not see the alert that says why */
}

void caller_end_step(struct caller *c)
{
    switch (c->step) {
    case TLS_STEP_DONE:
        end_handshake(c);
        front_move(c, CALLER_NEW);
        caller_read(c); /* many clients have sent their request by now */
        break;
    case TLS_STEP_READS:
    case TLS_STEP_WRITES:
        front_move_until(c, CALLER_HANDSHAKE, c->shake_until_mono_ms); /* for all of it, not for each step */
        front_watch(c, c->step == TLS_STEP_READS ? EPOLLIN : EPOLLOUT);
        break;
    case TLS_STEP_FAILED: fail(c); break;
    }
}

/* ---- the first byte ---------------------------------------------------------------------------------------------- */

bool caller_greet(struct caller *c)
{
    unsigned char first;
    ssize_t n = recv(c->wire.fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        front_watch(c, EPOLLIN);
        return false;
    }
    if (n == 1 && first == TLS_HANDSHAKE) {
        front_watch(c, 0); /* until it is its turn */
        front_move(c, CALLER_HELLO);
        return false;
    }
    if (n == 1 && ((first >= 'A' && first <= 'Z') || (first >= 'a' && first <= 'z'))) {
        c->refused = true; /* plain HTTP: it is told so */
        return true;
    }
    caller_close(c);
    return false;
}

bool front_begin_handshakes(struct front *f)
{
    struct caller *c;

    while (f->handshakes < HANDSHAKES_MAX && (c = TAILQ_FIRST(&f->lists[CALLER_HELLO]))) {
        c->wire.tls = tls_accept(f->opts.tls, c->wire.fd);
        if (!c->wire.tls) {
            caller_close(c);
            continue;
        }
        c->shaking = true;
        f->handshakes++;
        c->shake_until_mono_ms = f->now_mono_ms + caller_deadlines_ms[CALLER_HANDSHAKE];
        caller_go_on_shaking(c);
    }
    return TAILQ_EMPTY(&f->lists[CALLER_HELLO]);
}

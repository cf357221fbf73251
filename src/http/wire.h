/* SPDX-License-Identifier: MIT */
/* wire: the bytes of one connection, plain or by TLS. Who reads and writes requests need not know which. */
#ifndef HTTP_WIRE_H
#define HTTP_WIRE_H

#include <sys/socket.h>

#include "shardwheel/http/tls.h"

struct wire {
    int fd;
    struct tls *tls; /* NULL: plain */
};

/* As recv and send that never wait. */
static inline ssize_t wire_read(struct wire *w, void *out, size_t size)
{
    return w->tls ? tls_read(w->tls, out, size) : recv(w->fd, out, size, MSG_DONTWAIT);
}

static inline ssize_t wire_write(struct wire *w, const void *data, size_t len)
{
    return w->tls ? tls_write(w->tls, data, len) : send(w->fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* All was written, and no more comes; what the other side sends can still be read. */
static inline void wire_end(struct wire *w)
{
    if (w->tls)
        tls_end(w->tls);
    shutdown(w->fd, SHUT_WR);
}

/* Something is missing, and the other side shall see it. */
static inline void wire_cut(struct wire *w)
{
    shutdown(w->fd, SHUT_RDWR);
}

#endif

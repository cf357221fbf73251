/* SPDX-License-Identifier: MIT */
/*
 * link: the connections of sessions as hosts knows them, to shut them down when all move. Private to store.
 *
 * A link has a descriptor of its own for the connection's socket, so that it may be shut down by another thread at any
 * time, also when the client library has just closed its own.
 */
#ifndef STORE_HOSTS_LINK_H
#define STORE_HOSTS_LINK_H

#include "shardwheel/store/hosts.h"

struct host_link {
    struct host_link *prev, *next; /* [lock of hosts] */
    int fd;                        /* [lock of hosts] */
    uint64_t serial;               /* [session] of the use that it was connected for; 0: not linked */
};

/* Where to connect: the use, and its address. ERR_LOST: none is in use, with the reason. */
MUST_CHECK enum err hosts_find(struct hosts *h, struct host_use *use, struct errctx *ec);
/* A connection was made for that use, to that server. ERR_LOST: it is another server, or all have moved meanwhile. */
MUST_CHECK enum err hosts_enter(struct hosts *h, struct host_link *link, const struct host_use *use, int fd,
                                const char *server, struct errctx *ec);
void hosts_leave(struct hosts *h, struct host_link *link); /* nothing happens when it is not linked */
void hosts_note_trouble(struct hosts *h, uint64_t serial, bool could_not_connect); /* of a connection for that use */
bool hosts_is_current(const struct hosts *h, uint64_t serial); /* a connection for that use counts still */

#endif

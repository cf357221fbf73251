/* SPDX-License-Identifier: MIT */
/*
 * poller: waits for sockets, a wake-up from another thread, or a time, whichever is first.
 *
 * Threads     One owner; poller_wake alone may be called by any thread as long as the poller exists.
 * Invariants  An adopted descriptor stays watched for reading between two uses, so that asking for it anew costs no
 *             system call; it is let go when something comes while nobody wants it (its peer closed it).
 * Ownership   Descriptors stay their owner's. An adopted one must be forgotten before it is closed.
 */
#ifndef EXECUTOR_POLLER_H
#define EXECUTOR_POLLER_H

#include <sys/epoll.h>

#include "shardwheel/base.h"

struct poller;

struct poller_event {
    int fd;
    uint32_t tag;    /* as given to poller_want */
    uint32_t events; /* EPOLLIN, EPOLLOUT, EPOLLERR, EPOLLHUP */
};

MUST_CHECK enum err poller_create(struct poller **out, struct errctx *ec);
void poller_destroy(struct poller *p); /* NULL is fine */
void poller_wake(struct poller *p);
int poller_get_wake_fd(const struct poller *p); /* an event descriptor: writing to it does the same */
bool poller_adopt(struct poller *p, int fd);    /* a new descriptor; false when out of memory */
void poller_forget(struct poller *p, int fd);
/* EPOLLIN and EPOLLOUT; 0: nothing for now. One that was not adopted is let go at once then. */
void poller_want(struct poller *p, int fd, uint32_t events, uint32_t tag);
/* Waits to the microsecond, up to whole milliseconds early: the caller looks at its clock and comes again. */
size_t poller_wait(struct poller *p, int64_t wait_us, struct poller_event *out, size_t max);

#endif

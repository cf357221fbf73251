/* SPDX-License-Identifier: MIT */
#include "executor/poller.h"
#include "shardwheel/watch.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define EVENTS_MAX 256

struct watch {
    uint32_t watched; /* events that epoll was told */
    uint32_t wanted;  /* events that were asked for last */
    bool adopted;
};

struct poller {
    int epoll_fd;
    int wake_fd;
    int timer_fd;
    struct watch *watches; /* by descriptor */
    size_t watch_count;
};

static struct watch *get_watch(struct poller *p, int fd)
{
    if ((size_t)fd >= p->watch_count) {
        size_t count = p->watch_count ? p->watch_count : 64;
        struct watch *grown;

        while (count <= (size_t)fd)
            count *= 2;
        grown = realloc(p->watches, count * sizeof *grown);
        if (!grown)
            return NULL;
        memset(grown + p->watch_count, 0, (count - p->watch_count) * sizeof *grown);
        p->watches = grown;
        p->watch_count = count;
    }
    return &p->watches[fd];
}

static void tell_epoll(struct poller *p, int fd, struct watch *w, uint32_t events, uint32_t tag)
{
    struct epoll_event event = {.events = events, .data.u64 = (uint64_t)tag << 32 | (uint32_t)fd};
    int op = !events ? EPOLL_CTL_DEL : w->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

    if (w->watched == events)
        return;
    if (epoll_ctl(p->epoll_fd, op, fd, &event) != 0 && op != EPOLL_CTL_DEL)
        log_error("executor", "event=watch_failed error=%s", log_quote(strerror(errno)).s); /* its request times out */
    else
        w->watched = events;
}

bool poller_adopt(struct poller *p, int fd)
{
    struct watch *w = get_watch(p, fd);

    if (w)
        *w = (struct watch){.adopted = true};
    return w != NULL;
}

void poller_forget(struct poller *p, int fd)
{
    if ((size_t)fd < p->watch_count)
        p->watches[fd] = (struct watch){0}; /* epoll forgets a closed descriptor by itself */
}

void poller_want(struct poller *p, int fd, uint32_t events, uint32_t tag)
{
    struct watch *w = get_watch(p, fd);

    if (!w)
        return; /* out of memory: the request times out */
    w->wanted = events;
    if (events || !w->adopted || (w->watched & EPOLLOUT)) /* an idle socket can always be written to */
        tell_epoll(p, fd, w, events, tag);
}

/* epoll counts in milliseconds: whole ones are left to it, and what is less to a timer. */
static int wait_for_events(struct poller *p, int64_t wait_us, struct epoll_event *events, int max)
{
    int timeout_ms = wait_us / 1000 < INT_MAX ? (int)(wait_us / 1000) : INT_MAX;

    if (wait_us > 0 && wait_us < 1000) {
        struct itimerspec spec = {.it_value.tv_nsec = wait_us * 1000};
        timeout_ms = timerfd_settime(p->timer_fd, 0, &spec, NULL) == 0 ? 10 : 1;
    }
    return epoll_wait(p->epoll_fd, events, max, timeout_ms);
}

size_t poller_wait(struct poller *p, int64_t wait_us, struct poller_event *out, size_t max)
{
    struct epoll_event events[EVENTS_MAX];
    size_t count = 0;
    uint64_t drained;
    int found;

    watch_pause(wait_us / 1000);
    found = wait_for_events(p, wait_us, events, max < EVENTS_MAX ? (int)max : EVENTS_MAX);
    watch_step();
    for (int i = 0; i < found; i++) {
        int fd = (int)(events[i].data.u64 & UINT32_MAX);
        uint32_t tag = (uint32_t)(events[i].data.u64 >> 32);

        if (fd == p->wake_fd || fd == p->timer_fd)
            (void)!read(fd, &drained, sizeof drained);
        else if (!p->watches[fd].wanted)
            tell_epoll(p, fd, &p->watches[fd], 0, tag);
        else
            out[count++] = (struct poller_event){.fd = fd, .tag = tag, .events = events[i].events};
    }
    return count;
}

void poller_wake(struct poller *p)
{
    uint64_t one = 1;

    (void)!write(p->wake_fd, &one, sizeof one); /* a full counter is a wake-up too */
}

int poller_get_wake_fd(const struct poller *p)
{
    return p->wake_fd;
}

static bool watch_own_fd(struct poller *p, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint32_t)fd};

    return fd >= 0 && epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

enum err poller_create(struct poller **out, struct errctx *ec)
{
    struct poller *p = calloc(1, sizeof *p);

    if (!p)
        return err_set(ec, ERR_NOMEM, "out of memory for a poller");
    p->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    p->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    p->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (p->epoll_fd < 0 || !watch_own_fd(p, p->wake_fd) || !watch_own_fd(p, p->timer_fd)) {
        enum err e = err_set(ec, ERR_IO, "event descriptors: %s", strerror(errno));
        poller_destroy(p);
        return e;
    }
    *out = p;
    return ERR_OK;
}

static void close_if_open(int fd)
{
    if (fd >= 0)
        close(fd);
}

void poller_destroy(struct poller *p)
{
    if (!p)
        return;
    close_if_open(p->epoll_fd);
    close_if_open(p->wake_fd);
    close_if_open(p->timer_fd);
    free(p->watches);
    free(p);
}

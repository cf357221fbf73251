/* SPDX-License-Identifier: MIT */
/* Connections go from state to state: lists, what is waited for at their sockets, and who is woken. */
#include "http/caller.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

const int64_t caller_deadlines_ms[CALLER_STATES] = {
    [CALLER_NEW] = 30000,      [CALLER_KEPT] = CALLER_KEPT_MS, [CALLER_HEAD] = 10000,
    [CALLER_BODY] = 60000,     [CALLER_HANDSHAKE] = 10000,     [CALLER_HELLO] = 10000,
    [CALLER_BUSY] = INT64_MAX, [CALLER_WRITING] = 30000,       [CALLER_DROPPING] = 30000,
};

bool front_is_stopping(const struct front *f)
{
    return atomic_load_explicit(&f->stopping, memory_order_acquire); /* pairs with front_stop */
}

void front_wake(struct front *f)
{
    uint64_t one = 1;

    (void)!write(f->wake_fd, &one, sizeof one); /* a full counter is a wake-up too */
}

void front_return(struct caller *c)
{
    struct front *f = c->front;

    mutex_lock(&f->lock);
    bool asleep = f->asleep;
    f->asleep = false;
    TAILQ_INSERT_TAIL(&f->answered, c, in_answered);
    mutex_unlock(&f->lock);
    if (asleep)
        front_wake(f);
}

void front_move(struct caller *c, enum caller_state state)
{
    struct front *f = c->front;

    TAILQ_REMOVE(&f->lists[c->state], c, in_list);
    TAILQ_INSERT_TAIL(&f->lists[state], c, in_list);
    c->state = state;
    c->deadline_mono_ms =
        caller_deadlines_ms[state] == INT64_MAX ? INT64_MAX : f->now_mono_ms + caller_deadlines_ms[state];
}

void front_move_until(struct caller *c, enum caller_state state, int64_t deadline_mono_ms)
{
    struct caller_list *list = &c->front->lists[state];
    struct caller *before;

    front_move(c, state);
    c->deadline_mono_ms = deadline_mono_ms;
    TAILQ_REMOVE(list, c, in_list);
    before = TAILQ_LAST(list, caller_list);
    while (before && before->deadline_mono_ms > deadline_mono_ms)
        before = TAILQ_PREV(before, caller_list, in_list);
    if (before)
        TAILQ_INSERT_AFTER(list, before, c, in_list);
    else
        TAILQ_INSERT_HEAD(list, c, in_list);
}

void front_set_watch(struct front *f, int fd, uint32_t before, uint32_t events, void *data)
{
    struct epoll_event event = {.events = events, .data.ptr = data};
    int op = !events ? EPOLL_CTL_DEL : before ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

    if (epoll_ctl(f->epoll_fd, op, fd, &event) && op != EPOLL_CTL_DEL)
        log_error("http", "event=watch_failed error=%s", log_quote(strerror(errno)).s); /* its deadline ends it */
}

void front_watch(struct caller *c, uint32_t events)
{
    if (c->watched != events)
        front_set_watch(c->front, c->wire.fd, c->watched, events, c);
    c->watched = events;
}

void front_count_pending(struct caller *c)
{
    size_t pending = 0;

    if (c->state == CALLER_HEAD || c->state == CALLER_BODY)
        pending = c->in.cap + (c->ex && !c->ex->body.held ? c->ex->body.bytes.cap : 0);
    c->front->pending += pending - c->pending;
    c->pending = pending;
}

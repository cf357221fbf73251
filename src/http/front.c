/* SPDX-License-Identifier: MIT */
#include "http/front.h"

#include "http/address.h"
#include "http/caller.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS_MAX 20000 /* ten thousand executors may beat at once, and others be there too */
#define CONNECTIONS_MIN 64
#define PENDING_MAX ((size_t)32 * 1024 * 1024)
#define BODIES_MAX 8 /* room for so many bodies of the largest size at a time */
#define ANSWERS_MAX ((size_t)128 << 20)
#define EVENTS_MAX 256
#define ACCEPTS_MAX 64 /* in one turn, so that those that are there get theirs */
#define ACCEPT_PAUSE_MS 20
#define EVICT_AFTER_MS 1000  /* nobody gives way before */
#define TURN_MS 1000         /* a turn at least so often */
#define LATE_MS 5000         /* a turn that comes so late was not given the processor */
#define WAITING_LONG_MS 2000 /* a client may have given up */
#define OVERLOAD_EVERY_MS 1000
#define STREAMS_SHARE 4   /* answers in pieces: one for so many workers of the console */
#define LOGIN_SHARE 16    /* threads for logins that wait for a provider, likewise, two at least */
#define LOGINS_WAITING 64 /* beside those */
#define SHAKERS_SHARE 16  /* threads for TLS handshakes, beside the others: one for so many */
#define CONSOLE_WAITING 4 /* requests that may wait for each worker of the console */

/* ---- connections ------------------------------------------------------------------------------------------------- */

static void note_overload(struct front *f, const char *why)
{
    if (f->now_mono_ms < f->overload_mono_ms + OVERLOAD_EVERY_MS)
        return;
    if (f->now_mono_ms >= f->overload_mono_ms + 60 * OVERLOAD_EVERY_MS)
        log_warn("http", "event=overload why=%s connections=%zu", log_quote(why).s, f->callers);
    f->overload_mono_ms = f->now_mono_ms;
    f->opts.on_overload(f->opts.arg);
}

/* Closes the connection of these states that deserves it most. False when all do something, or have had no time for
 * it. */
static bool evict(struct front *f, enum caller_state from, enum caller_state to, const char *why)
{
    for (enum caller_state state = from; state <= to; state++) {
        struct caller *c = state == CALLER_KEPT ? NULL : TAILQ_FIRST(&f->lists[state]); /* what was promised is kept */
        if (!c || f->now_mono_ms < c->deadline_mono_ms - caller_deadlines_ms[state] + EVICT_AFTER_MS)
            continue;
        counters_add(f->counters, COUNTER_HTTP_TURNED_AWAY_CONNECTIONS, 1);
        note_overload(f, why);
        caller_close(c);
        return true;
    }
    return false;
}

static void close_late(struct front *f)
{
    for (enum caller_state state = 0; state < CALLER_STATES; state++) {
        struct caller *c;
        while ((c = TAILQ_FIRST(&f->lists[state])) && c->deadline_mono_ms <= f->now_mono_ms) {
            if (state == CALLER_HEAD || state == CALLER_BODY || state == CALLER_HANDSHAKE)
                counters_add(f->counters, COUNTER_HTTP_TURNED_AWAY_SLOW, 1);
            caller_close(c);
        }
    }
}

/* ---- new ones ---------------------------------------------------------------------------------------------------- */

static void set_accepting(struct front *f, bool accepting)
{
    if (f->accepting != accepting)
        front_set_watch(f, f->listen_fd, 0, accepting ? EPOLLIN : 0, f);
    f->accepting = accepting;
}

static void pause_accepting(struct front *f)
{
    set_accepting(f, false);
    f->accept_mono_ms = f->now_mono_ms + ACCEPT_PAUSE_MS;
}

static void accept_new(struct front *f)
{
    for (int i = 0; i < ACCEPTS_MAX; i++) {
        if (f->callers > f->callers_max && !evict(f, CALLER_NEW, CALLER_BODY, "too many connections")) {
            note_overload(f, "too many connections, and all have requests in progress");
            pause_accepting(f);
            return;
        }
        struct sockaddr_storage peer = {0};
        socklen_t len = sizeof peer;
        int fd = accept4(f->listen_fd, (struct sockaddr *)&peer, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            caller_create(f, fd, (struct sockaddr *)&peer);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            note_overload(f, strerror(errno));
            if (!evict(f, CALLER_NEW, CALLER_BODY, "no file descriptor is left")) {
                pause_accepting(f);
                return;
            }
        } else if (errno != ECONNABORTED && errno != EINTR) {
            return; /* none is left */
        }
    }
}

/* ---- turns ------------------------------------------------------------------------------------------------------- */

static void end_answers(struct front *f)
{
    struct caller_list answered = TAILQ_HEAD_INITIALIZER(answered);
    struct caller *c;

    mutex_lock(&f->lock);
    TAILQ_CONCAT(&answered, &f->answered, in_answered);
    mutex_unlock(&f->lock);
    while ((c = TAILQ_FIRST(&answered))) {
        TAILQ_REMOVE(&answered, c, in_answered);
        caller_end_answer(c);
    }
}

static void take_event(struct front *f, void *data)
{
    struct caller *c = data;
    uint64_t count;

    if (!data) {
        (void)!read(f->wake_fd, &count, sizeof count);
    } else if (c->state == CALLER_BUSY) {
        front_watch(c, 0); /* the client sends more, or went: that is looked at behind the answer */
    } else if (c->state == CALLER_WRITING) {
        caller_write(c);
    } else if (c->state == CALLER_HANDSHAKE) {
        caller_go_on_shaking(c);
    } else {
        caller_read(c);
    }
}

static void begin_handshakes(struct front *f)
{
    while (!front_begin_handshakes(f) &&
           evict(f, CALLER_HANDSHAKE, CALLER_HANDSHAKE, "too many unfinished TLS handshakes"))
        ;
}

static bool is_waiting_long(struct front *f)
{
    const struct caller *hello = TAILQ_FIRST(&f->lists[CALLER_HELLO]);

    if (lane_get_wait_ms(f->lanes[HTTP_LANE_EXECUTOR]) > WAITING_LONG_MS)
        return true;
    if (!f->shakers)
        return false;
    return lane_get_wait_ms(f->shakers) > WAITING_LONG_MS ||
           (hello && f->now_mono_ms - (hello->deadline_mono_ms - caller_deadlines_ms[CALLER_HELLO]) > WAITING_LONG_MS);
}

static int find_timeout_ms(const struct front *f)
{
    int64_t until_ms = f->now_mono_ms + TURN_MS;

    for (enum caller_state state = 0; state < CALLER_STATES; state++) {
        const struct caller *c = TAILQ_FIRST(&f->lists[state]);
        if (c && c->deadline_mono_ms < until_ms)
            until_ms = c->deadline_mono_ms;
    }
    if (!f->accepting && f->accept_mono_ms < until_ms)
        until_ms = f->accept_mono_ms;
    if (front_is_stopping(f) && f->stop_mono_ms < until_ms)
        until_ms = f->stop_mono_ms;
    return until_ms > f->now_mono_ms ? (int)(until_ms - f->now_mono_ms) : 0;
}

static bool may_end(const struct front *f)
{
    return front_is_stopping(f) && (f->now_mono_ms >= f->stop_mono_ms ||
                                    (TAILQ_EMPTY(&f->lists[CALLER_BODY]) && TAILQ_EMPTY(&f->lists[CALLER_BUSY]) &&
                                     TAILQ_EMPTY(&f->lists[CALLER_WRITING])));
}

/* Until something comes or is due. Workers need not wake a front that has not lain down. */
static int wait_for_events(struct front *f, struct epoll_event *events, int64_t due_ms)
{
    mutex_lock(&f->lock);
    f->asleep = TAILQ_EMPTY(&f->answered);
    bool sleep = f->asleep;
    mutex_unlock(&f->lock);
    int count = epoll_wait(f->epoll_fd, events, EVENTS_MAX, sleep ? (int)(due_ms - f->now_mono_ms) : 0);
    mutex_lock(&f->lock);
    f->asleep = false;
    mutex_unlock(&f->lock);
    f->now_mono_ms = clock_mono_ms(f->clock);
    return count;
}

/* An event's connection is not closed but by its own event: those of one turn must not point to one that is gone. */
static void run_front(void *arg)
{
    struct front *f = arg;
    struct epoll_event events[EVENTS_MAX];

    f->now_mono_ms = clock_mono_ms(f->clock);
    while (!may_end(f)) {
        int64_t due_ms = f->now_mono_ms + find_timeout_ms(f);
        int count = wait_for_events(f, events, due_ms);
        bool accepting = false;

        if (f->now_mono_ms > due_ms + LATE_MS)
            note_overload(f, "this process got no CPU time");
        for (int i = 0; i < count; i++) {
            if (events[i].data.ptr == f)
                accepting = true; /* last, for it may evict others */
            else
                take_event(f, events[i].data.ptr);
        }
        if (accepting)
            accept_new(f);
        end_answers(f);
        close_late(f);
        begin_handshakes(f);
        while (f->pending > PENDING_MAX && evict(f, CALLER_HEAD, CALLER_BODY, "too many incomplete requests"))
            ;
        if (is_waiting_long(f))
            note_overload(f, "requests, or TLS handshakes, wait for a worker");
        if (!f->accepting && f->now_mono_ms >= f->accept_mono_ms)
            set_accepting(f, true);
    }
}

/* ---- start ------------------------------------------------------------------------------------------------------- */

/* Others of the process need descriptors too. */
static size_t choose_callers_max(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur / 4 * 3 < CONNECTIONS_MIN)
        return CONNECTIONS_MIN;
    return files.rlim_cur / 4 * 3 < CONNECTIONS_MAX ? files.rlim_cur / 4 * 3 : CONNECTIONS_MAX;
}

static bool must_end(void *front)
{
    const struct front *f = front;

    return front_is_stopping(f) && clock_mono_ms(f->clock) >= f->stop_mono_ms;
}

static enum err make_lanes(struct front *f, struct errctx *ec)
{
    size_t threads = f->opts.threads > 4 ? (size_t)f->opts.threads : 4, console = threads / 4;
    struct lane_opts executor = {
        .thread_name = "http-exec-%d", .workers = threads - console, .waiting = SIZE_MAX, .run = caller_run, .arg = f};
    size_t streams = console > STREAMS_SHARE ? console / STREAMS_SHARE : 1;
    struct lane_opts others = {.thread_name = "http-console-%d",
                               .workers = console + streams + (size_t)f->opts.waits,
                               .waiting = console * CONSOLE_WAITING,
                               .run = caller_run,
                               .arg = f};
    enum err e = lane_create(&executor, f->clock, &f->lanes[HTTP_LANE_EXECUTOR], ec);

    f->streams = (struct stream_office){.clock = f->clock, .places = {.max = streams}, .must_end = must_end, .arg = f};
    f->lanes[HTTP_LANE_AT_ONCE] = f->lanes[HTTP_LANE_EXECUTOR]; /* for those with a large body */
    if (!e)
        e = lane_create(&others, f->clock, &f->lanes[HTTP_LANE_CONSOLE], ec);
    struct lane_opts logins = {.thread_name = "http-login-%d",
                               .workers = threads > LOGIN_SHARE * 2 ? threads / LOGIN_SHARE : 2,
                               .waiting = LOGINS_WAITING,
                               .run = caller_run,
                               .arg = f};
    if (!e)
        e = lane_create(&logins, f->clock, &f->lanes[HTTP_LANE_LOGIN], ec);
    if (e || !f->opts.tls)
        return e;
    struct lane_opts shakers = {.thread_name = "http-tls-%d",
                                .workers = threads > SHAKERS_SHARE ? threads / SHAKERS_SHARE : 1,
                                .waiting = SIZE_MAX,
                                .run = caller_shake,
                                .arg = f};
    return lane_create(&shakers, f->clock, &f->shakers, ec);
}

static enum err open_descriptors(struct front *f, struct errctx *ec)
{
    enum err e = address_listen(f->opts.bind, f->opts.port, &f->listen_fd, &f->port, ec);

    if (e)
        return e;
    f->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    f->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (f->epoll_fd < 0 || f->wake_fd < 0)
        return err_set(ec, ERR_IO, "event descriptors: %s", strerror(errno));
    front_set_watch(f, f->wake_fd, 0, EPOLLIN, NULL);
    set_accepting(f, true);
    return ERR_OK;
}

enum err front_start(const struct front_opts *opts, const struct clock *clock, struct counters *counters,
                     struct front **out, struct errctx *ec)
{
    struct front *f = calloc(1, sizeof *f);

    if (!f)
        return err_set(ec, ERR_NOMEM, "out of memory for the HTTP server");
    f->opts = *opts;
    f->clock = clock;
    f->counters = counters;
    f->listen_fd = f->epoll_fd = f->wake_fd = -1;
    f->callers_max = choose_callers_max();
    f->room.max = opts->max_body * BODIES_MAX;
    f->answers.max = opts->max_answers ? opts->max_answers : ANSWERS_MAX;
    f->overload_mono_ms = -60 * OVERLOAD_EVERY_MS;
    mutex_init(&f->lock, LOCK_LEAF);
    TAILQ_INIT(&f->answered);
    for (enum caller_state state = 0; state < CALLER_STATES; state++)
        TAILQ_INIT(&f->lists[state]);
    enum err e = open_descriptors(f, ec);
    if (!e)
        e = make_lanes(f, ec);
    if (!e)
        e = thread_start(&f->thread, "http-front", run_front, f, ec);
    if (e) {
        front_stop(f, 0);
        front_destroy(f);
        return e;
    }
    *out = f;
    return ERR_OK;
}

int front_get_port(const struct front *f)
{
    return f->port;
}

/* ---- stop -------------------------------------------------------------------------------------------------------- */

void front_stop(struct front *f, int64_t grace_ms)
{
    f->stop_mono_ms = clock_mono_ms(f->clock) + grace_ms;
    atomic_store_explicit(&f->stopping, true, memory_order_release); /* pairs with front_is_stopping */
    if (f->wake_fd >= 0)
        front_wake(f);
    thread_join(&f->thread);
    struct lane *const lanes[] = {f->lanes[HTTP_LANE_EXECUTOR], f->lanes[HTTP_LANE_CONSOLE], f->lanes[HTTP_LANE_LOGIN],
                                  f->shakers};
    for (size_t i = 0; i < ARRAY_LEN(lanes); i++) {
        if (lanes[i])
            lane_stop(lanes[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(lanes); i++) {
        if (lanes[i])
            lane_join(lanes[i]);
    }
    if (f->listen_fd >= 0)
        close(f->listen_fd);
    f->listen_fd = -1;
}

void front_destroy(struct front *f)
{
    struct caller *c;

    if (!f)
        return;
    for (enum caller_state state = 0; state < CALLER_STATES; state++) {
        while ((c = TAILQ_FIRST(&f->lists[state])))
            caller_close(c);
    }
    lane_destroy(f->lanes[HTTP_LANE_EXECUTOR]);
    lane_destroy(f->lanes[HTTP_LANE_CONSOLE]);
    lane_destroy(f->lanes[HTTP_LANE_LOGIN]);
    lane_destroy(f->shakers);
    if (f->epoll_fd >= 0)
        close(f->epoll_fd);
    if (f->wake_fd >= 0)
        close(f->wake_fd);
    mutex_fini(&f->lock);
    free(f);
}

/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "load_executor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    EVENTS_AT_A_TIME = 512,
    FLUSH_US = 200 * 1000,
    FLUSH_BYTES = 1 << 20,
    STOP_US = 5 * 1000 * 1000,
};

static const char arrivals_header[] =
    "arrival_wall_us,log_id,job_id,log_date_time_ms,broadcast_index,broadcast_total,port,handler\n";
static const char confirmed_header[] = "log_id,confirmed_wall_us\n";

void executor_watch(struct executor *x, struct watch *w, uint32_t events, bool add)
{
    struct epoll_event event = {.events = events, .data.ptr = w};

    if (epoll_ctl(x->epoll_fd, add ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, w->fd, &event) < 0)
        die("epoll_ctl: %s", strerror(errno));
}

void executor_add_result(struct executor *x, int address, const struct result *r)
{
    struct result_queue *q = &x->queues[address % x->queue_count];

    if (q->len == q->cap) {
        size_t cap = q->cap ? q->cap * 2 : 1024;
        struct result *items = malloc(cap * sizeof(*items));

        if (!items)
            die("out of memory (%zu results wait for the admin)", q->len);
        for (size_t i = 0; i < q->len; i++)
            items[i] = q->items[(q->head + i) & (q->cap - 1)];
        free(q->items);
        q->items = items;
        q->head = 0;
        q->cap = cap;
    }
    q->items[(q->head + q->len++) & (q->cap - 1)] = *r;
    x->results_waiting++;
}

static void make_queues(struct executor *x)
{
    x->queue_count = x->opt.callback_connections;
    x->queues = calloc((size_t)x->queue_count, sizeof(*x->queues));
    if (!x->queues)
        die("out of memory (%d queues of results)", x->queue_count);
}

/* The results of --results, dealt out to the queues in turn. */
static void load_results(struct executor *x)
{
    FILE *file = x->opt.results_path ? fopen(x->opt.results_path, "r") : NULL;
    struct result r = {.code = 200};
    int rc;

    if (!x->opt.results_path)
        return;
    if (!file)
        die("%s: cannot open: %s", x->opt.results_path, strerror(errno));
    while ((rc = fscanf(file, "%" SCNd64 ",%" SCNd64, &r.log_id, &r.log_date_time_ms)) == 2) {
        executor_add_result(x, (int)(x->results_given % (size_t)x->queue_count), &r);
        x->results_given++;
    }
    if (rc != EOF || x->results_given == 0)
        die("%s: line %zu is not LOG_ID,DATE_MS", x->opt.results_path, x->results_given + 1);
    fclose(file);
}

static void free_queues(struct executor *x)
{
    for (int i = 0; i < x->queue_count; i++)
        free(x->queues[i].items);
    free(x->queues);
}

/*
 * Pacing, as bbr has it, arms a timer for each packet: on loopback that is only CPU time taken from what is measured.
 * The congestion control of the machine stays where it cannot be chosen.
 */
void executor_tune_socket(int fd)
{
    int on = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static void flush_notes(struct notes *notes)
{
    while (notes->lines.len > 0) {
        ssize_t n = write(notes->fd, notes->lines.data, notes->lines.len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            die("%s: cannot write: %s", notes->path, strerror(errno));
        buf_consume(&notes->lines, (size_t)n);
    }
    notes->flush_mono_us = 0;
}

void executor_note(const struct executor *x, struct notes *notes, const char *line, size_t len)
{
    if (notes->fd < 0)
        return;
    if (notes->flush_mono_us == 0)
        notes->flush_mono_us = x->turn_mono_us + FLUSH_US;
    buf_append(&notes->lines, line, len);
    if (notes->lines.len >= FLUSH_BYTES)
        flush_notes(notes);
}

static void open_notes(struct notes *notes, const char *path, const char *header)
{
    struct stat st;

    *notes = (struct notes){.path = path, .fd = -1};
    if (!path)
        return;
    notes->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (notes->fd < 0 || fstat(notes->fd, &st) < 0)
        die("%s: cannot open: %s", path, strerror(errno));
    if (st.st_size == 0) {
        buf_append(&notes->lines, header, strlen(header));
        flush_notes(notes);
    }
}

static void flush_due_notes(struct notes *notes, int64_t now_us)
{
    if (notes->flush_mono_us && now_us >= notes->flush_mono_us)
        flush_notes(notes);
}

/* Each address and each connection is a descriptor: the soft limit of 1024 is soon reached. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
            fprintf(stderr, "load_executor: cannot raise the limit of open files: %s\n", strerror(errno));
    }
}

static void start_signals(struct executor *x)
{
    sigset_t set;

    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    x->signals = (struct watch){WATCH_SIGNAL, signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC)};
    if (x->signals.fd < 0)
        die("signalfd: %s", strerror(errno));
    executor_watch(x, &x->signals, EPOLLIN, /*add=*/true);
}

/* From here on nothing new is accepted, and results are called back without their delay. */
static void begin_stop(struct executor *x)
{
    struct signalfd_siginfo info;

    while (read(x->signals.fd, &info, sizeof(info)) > 0)
        ;
    if (x->stop_mono_us == 0) {
        x->stop_mono_us = now_mono_us() + STOP_US;
        server_close_listeners(x);
    }
}

static int wait_ms(const struct executor *x)
{
    int64_t wake = server_next_wake(x);
    int64_t admin_wake = admin_next_wake(x);
    int64_t now = now_mono_us();

    if (admin_wake < wake)
        wake = admin_wake;
    if (x->arrivals.flush_mono_us && x->arrivals.flush_mono_us < wake)
        wake = x->arrivals.flush_mono_us;
    if (x->confirmed.flush_mono_us && x->confirmed.flush_mono_us < wake)
        wake = x->confirmed.flush_mono_us;
    if (x->stop_mono_us && x->stop_mono_us < wake)
        wake = x->stop_mono_us;
    if (wake == INT64_MAX)
        return -1;
    if (wake <= now)
        return 0;
    return wake - now > 3600 * INT64_C(1000000) ? 3600 * 1000 : (int)((wake - now + 999) / 1000);
}

static void handle_event(struct executor *x, const struct epoll_event *event)
{
    struct watch *w = event->data.ptr;

    switch (w->kind) {
    case WATCH_SIGNAL: begin_stop(x); break;
    case WATCH_LISTENER:
    case WATCH_CONN: server_handle_event(x, w, event->events); break;
    case WATCH_ADMIN: admin_handle_event(x, w, event->events); break;
    }
}

static void run(struct executor *x)
{
    struct epoll_event events[EVENTS_AT_A_TIME];

    for (;;) {
        int n = epoll_wait(x->epoll_fd, events, EVENTS_AT_A_TIME, wait_ms(x));

        if (n < 0 && errno != EINTR)
            die("epoll_wait: %s", strerror(errno));
        x->turn_mono_us = now_mono_us();
        for (int i = 0; i < n; i++)
            handle_event(x, &events[i]);
        x->turn_mono_us = now_mono_us();
        server_turn(x);
        admin_turn(x, x->turn_mono_us);
        flush_due_notes(&x->arrivals, x->turn_mono_us);
        flush_due_notes(&x->confirmed, x->turn_mono_us);
        if (x->stop_mono_us && (x->turn_mono_us >= x->stop_mono_us || admin_is_done(x)))
            return;
    }
}

static void print_counters(const struct executor *x)
{
    const struct counters *c = &x->count;
    struct rusage use = {0};

    getrusage(RUSAGE_SELF, &use);
    printf("{\"requests\":%" PRId64 ",\"runs\":%" PRId64 ",\"runs_refused\":%" PRId64 ",\"runs_unanswered\":%" PRId64
           ",\"bad_requests\":%" PRId64 ",\"connections\":%" PRId64,
           c->requests, c->runs, c->runs_refused, c->runs_unanswered, c->bad_requests, c->connections);
    printf(",\"results_confirmed\":%" PRId64 ",\"results_left\":%zu,\"callback_calls\":%" PRId64
           ",\"callback_failures\":%" PRId64 ",\"registry_calls\":%" PRId64 ",\"registry_failures\":%" PRId64,
           c->results_confirmed, x->results_waiting + admin_held_results(x), c->callback_calls, c->callback_failures,
           c->registry_calls, c->registry_failures);
    printf(",\"callback_s\":%.4f", (double)(c->last_callback_mono_us - c->first_callback_mono_us) / 1e6);
    if (x->beats)
        beats_print(x);
    printf(",\"cpu_s\":%.3f}\n", (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                                     (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6);
    if (fflush(stdout) != 0)
        die("cannot write the counters: %s", strerror(errno));
}

int main(int argc, char **argv)
{
    struct executor x = {.epoll_fd = -1};

    options_parse(argc, argv, &x.opt);
    raise_descriptor_limit();
    x.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (x.epoll_fd < 0)
        die("epoll_create1: %s", strerror(errno));
    start_signals(&x);
    open_notes(&x.arrivals, x.opt.arrivals_path, arrivals_header);
    open_notes(&x.confirmed, x.opt.confirmed_path, confirmed_header);
    make_queues(&x);
    load_results(&x);
    server_start(&x);
    if (x.opt.beats)
        beats_start(&x);
    admin_start(&x);
    fprintf(stderr, "load_executor: listening on %s:%d..%d\n", x.opt.listen_ip, x.opt.port,
            x.opt.port + x.opt.addresses - 1);
    run(&x);
    flush_notes(&x.arrivals);
    flush_notes(&x.confirmed);
    print_counters(&x);
    server_stop(&x);
    admin_stop(&x);
    if (x.beats)
        beats_stop(&x);
    free_queues(&x);
    buf_fini(&x.arrivals.lines);
    buf_fini(&x.confirmed.lines);
    return 0;
}

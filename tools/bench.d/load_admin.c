/* SPDX-License-Identifier: MIT */
/*
 * load_admin: registration and callbacks, over a few keep-alive connections with one call at a time each.
 *
 * A call that fails is repeated with the next admin of the list until it is answered with code 200; its batch
 * stays with the connection meanwhile. So no result is lost, and some may be sent twice.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "load_executor.h"
#include "load_http.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    RETRY_FIRST_US = 100 * 1000,
    RETRY_MOST_US = 1000 * 1000,
    BEAT_US = 30 * 1000 * 1000,
    BEATS_SCAN_US = 20 * 1000, /* with --beats: so often all connections are looked at, which are very many */
    BEATS_OF_AN_APP = 10,      /* with --beats: so many addresses share an appname */
};

struct admin_conn {
    struct watch watch;
    struct result_queue *queue; /* whose results it calls back; NULL: it registers */
    int beat;                   /* with --beats the one that it makes */
    bool beat_answered;         /* in this round */
    bool busy;                  /* holds a call that is not confirmed */
    bool connecting;
    bool sending;             /* the call is on its way or waits for its answer */
    size_t admin;             /* index of the admin it talks to */
    struct buf call;          /* body of the call it holds */
    struct buf out;           /* what is still to be written */
    struct buf in;            /* the answer so far */
    size_t results;           /* in the call it holds */
    struct buf ids;           /* of these results, where they are noted: int64_t */
    int64_t deadline_mono_us; /* sending: when the answer is given up; else: when the next try begins */
    int64_t retry_us;         /* 0: the last call went well */
    uint32_t events;
};

struct admin_pool {
    struct admin_conn *conns; /* the first one registers */
    size_t count;
    int next_address; /* to register in this round; == addresses: the round is over */
    int64_t next_round_mono_us;
    int64_t next_scan_mono_us; /* of --beats */
    bool announced;
    bool removing; /* the round takes the addresses back */
};

/* ---- what to send ---- */

static void take_registration(struct executor *x, struct admin_conn *c)
{
    struct admin_pool *p = x->admins;

    if (x->beats) {
        buf_printf(
            &c->call,
            "{\"registryGroup\":\"EXECUTOR\",\"registryKey\":\"%s-%d\",\"registryValue\":\"http://10.%d.%d.%d:9999/\"}",
            x->opt.app_name, c->beat / BEATS_OF_AN_APP, c->beat >> 16, c->beat >> 8 & 255, c->beat & 255);
        return;
    }
    buf_printf(&c->call, "{\"registryGroup\":\"EXECUTOR\",\"registryKey\":\"%s\",\"registryValue\":\"http://%s:%d/\"}",
               x->opt.app_name, x->opt.listen_ip, x->opt.port + p->next_address);
}

static inline void append_text(struct buf *b, const char *text)
{
    buf_append(b, text, strlen(text));
}

static void take_results(struct executor *x, struct admin_conn *c)
{
    struct result_queue *q = c->queue;
    bool at_once = x->stop_mono_us != 0;
    const char *date_name = x->opt.callback_is_object ? ",\"logDateTime\":" : ",\"logDateTim\":";
    size_t date_name_len = strlen(date_name);

    buf_append(&c->call, x->opt.callback_is_object ? "{\"callbackList\":[" : "[", x->opt.callback_is_object ? 17 : 1);
    while (q->len > 0 && c->results < (size_t)x->opt.batch) {
        const struct result *r = &q->items[q->head];

        if (!at_once && r->due_mono_us > x->turn_mono_us)
            break;
        append_text(&c->call, c->results ? ",{\"logId\":" : "{\"logId\":");
        buf_append_int(&c->call, r->log_id);
        buf_append(&c->call, date_name, date_name_len);
        buf_append_int(&c->call, r->log_date_time_ms);
        append_text(&c->call, ",\"handleCode\":");
        buf_append_int(&c->call, r->code);
        append_text(&c->call, r->code == 200 ? "}" : ",\"handleMsg\":\"failed by load_executor\"}");
        q->head = (q->head + 1) & (q->cap - 1);
        q->len--;
        x->results_waiting--;
        c->results++;
        if (x->opt.confirmed_path)
            buf_append(&c->ids, (const char *)&r->log_id, sizeof(r->log_id));
    }
    buf_append(&c->call, x->opt.callback_is_object ? "]}" : "]", x->opt.callback_is_object ? 2 : 1);
}

/* True if the connection has a call to make now. */
static bool take_work(struct executor *x, struct admin_conn *c, int64_t now)
{
    struct admin_pool *p = x->admins;
    const struct result_queue *q = c->queue;

    if (x->beats) {
        if (c->beat_answered)
            return false;
        take_registration(x, c);
    } else if (!q) {
        if (x->stop_mono_us && !p->removing) {
            p->removing = true;
            p->next_address = 0;
        }
        if (p->next_address == x->opt.addresses && !p->removing && now >= p->next_round_mono_us) {
            p->next_address = 0;
            p->next_round_mono_us = now + BEAT_US;
        }
        if (p->next_address == x->opt.addresses)
            return false;
        take_registration(x, c);
    } else {
        if (q->len == 0 || (!x->stop_mono_us && q->items[q->head].due_mono_us > now))
            return false;
        take_results(x, c);
    }
    c->busy = true;
    return true;
}

static void write_request(const struct executor *x, struct admin_conn *c)
{
    const struct admin_address *a = &x->opt.admins[c->admin];
    const char *method = c->queue ? "callback" : x->admins->removing ? "registryRemove" : "registry";

    c->out.len = 0;
    buf_printf(&c->out,
               "POST %s/api/%s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json;charset=UTF-8\r\n"
               "Connection: keep-alive\r\nContent-Length: %zu\r\n",
               a->path, method, a->host, c->call.len);
    if (x->opt.path_is_trigger)
        buf_printf(&c->out, "XXL-JOB-APPNAME: %s\r\n", x->opt.app_name);
    if (x->opt.token[0])
        buf_printf(&c->out, "XXL-JOB-ACCESS-TOKEN: %s\r\n", x->opt.token);
    buf_append(&c->out, "\r\n", 2);
    buf_append(&c->out, c->call.data, c->call.len);
}

/* ---- the call ---- */

static void watch_admin(struct executor *x, struct admin_conn *c, uint32_t events)
{
    if (events != c->events)
        executor_watch(x, &c->watch, events, /*add=*/c->events == 0);
    c->events = events;
}

static void close_admin(struct admin_conn *c)
{
    if (c->watch.fd >= 0)
        close(c->watch.fd);
    c->watch.fd = -1;
    c->connecting = false;
    c->events = 0;
    c->in.len = 0;
}

static void fail_call(struct executor *x, struct admin_conn *c, const char *reason)
{
    if (c->retry_us == 0)
        fprintf(stderr, "load_executor: %s at %s failed, trying again: %s\n", c->queue ? "callback" : "registration",
                x->opt.admins[c->admin].url, reason);
    if (!c->queue)
        x->count.registry_failures++;
    else
        x->count.callback_failures++;
    close_admin(c);
    c->sending = false;
    c->admin = (c->admin + 1) % (size_t)x->opt.admin_count;
    c->retry_us = c->retry_us == 0 ? RETRY_FIRST_US : c->retry_us * 2 < RETRY_MOST_US ? c->retry_us * 2 : RETRY_MOST_US;
    c->deadline_mono_us = now_mono_us() + c->retry_us;
}

static void note_confirmed(struct executor *x, struct admin_conn *c)
{
    int64_t now_us = now_wall_us(), id;
    char line[2 * (INT_TEXT_MAX + 1)];

    for (size_t at = 0; at < c->ids.len; at += sizeof(id)) {
        memcpy(&id, c->ids.data + at, sizeof(id));
        char *end = put_int(line, id);
        *end++ = ',';
        end = put_int(end, now_us);
        *end++ = '\n';
        executor_note(x, &x->confirmed, line, (size_t)(end - line));
    }
    c->ids.len = 0;
}

static void confirm_call(struct executor *x, struct admin_conn *c)
{
    struct admin_pool *p = x->admins;

    if (x->beats) {
        x->count.registry_calls++;
        c->beat_answered = true;
        beats_note(x);
    } else if (!c->queue) {
        x->count.registry_calls++;
        p->next_address++;
        if (p->next_address == x->opt.addresses && !p->announced) {
            fprintf(stderr, "load_executor: registered %d addresses\n", x->opt.addresses);
            p->announced = true;
        }
    } else {
        x->count.callback_calls++;
        x->count.results_confirmed += (int64_t)c->results;
        x->count.last_callback_mono_us = now_mono_us();
        note_confirmed(x, c);
        if (x->results_given && x->count.results_confirmed == (int64_t)x->results_given)
            fprintf(stderr, "load_executor: all %zu results are confirmed\n", x->results_given);
    }
    c->results = 0;
    c->call.len = 0;
    buf_shrink(&c->call);
    c->in.len = 0;
    c->busy = c->sending = false;
    c->retry_us = 0;
}

static void send_call(struct executor *x, struct admin_conn *c)
{
    while (c->out.len > 0) {
        ssize_t n = send(c->watch.fd, c->out.data, c->out.len, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0) {
            fail_call(x, c, strerror(errno));
            return;
        }
        buf_consume(&c->out, (size_t)n);
    }
    watch_admin(x, c, c->out.len ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

static void start_call(struct executor *x, struct admin_conn *c, int64_t now)
{
    const struct admin_address *a = &x->opt.admins[c->admin];

    write_request(x, c);
    if (c->queue && x->count.first_callback_mono_us == 0)
        x->count.first_callback_mono_us = now;
    c->in.len = 0;
    c->sending = true;
    c->deadline_mono_us = now + x->opt.admin_timeout_us;
    if (c->watch.fd >= 0) {
        send_call(x, c);
        return;
    }
    c->watch.fd = socket(a->addr.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c->watch.fd < 0)
        die("socket: %s", strerror(errno));
    executor_tune_socket(c->watch.fd);
    c->connecting = true;
    if (connect(c->watch.fd, (const struct sockaddr *)&a->addr, a->addr_len) < 0 && errno != EINPROGRESS)
        fail_call(x, c, strerror(errno));
    else
        watch_admin(x, c, EPOLLOUT);
}

/* ---- the answer ---- */

static void read_answer(struct executor *x, struct admin_conn *c)
{
    bool ended, keep;
    enum http_answer verdict;
    ssize_t n;

    buf_reserve(&c->in, 4096 + 1);
    n = recv(c->watch.fd, c->in.data + c->in.len, c->in.cap - c->in.len - 1, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    ended = n <= 0;
    if (n > 0)
        c->in.len += (size_t)n;
    c->in.data[c->in.len] = '\0'; /* strtoul stops here at the latest */
    if (!c->sending) {            /* the admin closed an idle connection, or speaks without having been asked */
        close_admin(c);
        return;
    }
    verdict = http_judge_answer(&c->in, ended, &keep);
    if (verdict == HTTP_ANSWER_SUCCESS) {
        confirm_call(x, c);
        /* Between two beats executors close the connection: it is idle for longer than their clients keep it. */
        if (!keep || x->beats)
            close_admin(c);
    } else if (verdict == HTTP_ANSWER_FAILURE) {
        fail_call(x, c, ended ? "the connection was closed without a whole answer" : "the answer is not code 200");
    }
}

void admin_handle_event(struct executor *x, struct watch *w, uint32_t events)
{
    struct admin_conn *c = (struct admin_conn *)w;

    if (c->connecting) {
        int error = 0;
        socklen_t len = sizeof(error);

        getsockopt(c->watch.fd, SOL_SOCKET, SO_ERROR, &error, &len);
        if (error) {
            fail_call(x, c, strerror(error));
            return;
        }
        c->connecting = false;
        send_call(x, c);
        return;
    }
    if (c->sending && c->out.len && (events & EPOLLOUT))
        send_call(x, c);
    if (c->watch.fd >= 0 && (events & (EPOLLIN | EPOLLERR | EPOLLHUP)))
        read_answer(x, c);
}

/* ---- the turn of the loop ---- */

void admin_turn(struct executor *x, int64_t now_mono_us)
{
    struct admin_pool *p = x->admins;

    if (x->beats && beats_is_over(x)) {
        if (!beats_next_round(x)) {
            x->stop_mono_us = now_mono_us;
            return;
        }
        for (size_t i = 0; i < p->count; i++)
            p->conns[i].beat_answered = false;
    } else if (x->beats && now_mono_us < p->next_scan_mono_us) {
        return;
    }
    p->next_scan_mono_us = now_mono_us + BEATS_SCAN_US;
    for (size_t i = 0; i < p->count; i++) {
        struct admin_conn *c = &p->conns[i];

        if (c->sending && now_mono_us >= c->deadline_mono_us)
            fail_call(x, c, "no answer in time");
        else if (c->busy && !c->sending && now_mono_us >= c->deadline_mono_us)
            start_call(x, c, now_mono_us);
        else if (!c->busy && take_work(x, c, now_mono_us))
            start_call(x, c, now_mono_us);
    }
}

int64_t admin_next_wake(const struct executor *x)
{
    const struct admin_pool *p = x->admins;
    int64_t wake = INT64_MAX;

    if (x->beats)
        return beats_is_over(x) ? 0 : p->next_scan_mono_us;
    for (size_t i = 0; i < p->count; i++) {
        const struct admin_conn *c = &p->conns[i];
        int64_t at = INT64_MAX;

        if (c->busy)
            at = c->deadline_mono_us;
        else if (!c->queue)
            at = p->next_address < x->opt.addresses || (x->stop_mono_us && !p->removing) ? 0
                 : p->removing                                                           ? INT64_MAX
                                                                                         : p->next_round_mono_us;
        else if (c->queue->len > 0)
            at = x->stop_mono_us ? 0 : c->queue->items[c->queue->head].due_mono_us;
        if (at < wake)
            wake = at;
    }
    return wake;
}

size_t admin_held_results(const struct executor *x)
{
    size_t n = 0;

    for (size_t i = 0; i < x->admins->count; i++)
        n += x->admins->conns[i].results;
    return n;
}

bool admin_is_done(const struct executor *x)
{
    const struct admin_pool *p = x->admins;

    return p->count == 0 || x->beats ||
           (x->results_waiting == 0 && admin_held_results(x) == 0 && p->removing &&
            p->next_address == x->opt.addresses);
}

void admin_start(struct executor *x)
{
    struct admin_pool *p = calloc(1, sizeof(*p));

    if (!p)
        die("out of memory");
    x->admins = p;
    if (x->opt.admin_count == 0)
        return;
    p->count = x->beats ? (size_t)x->opt.beats : (size_t)x->opt.callback_connections + 1;
    p->conns = calloc(p->count, sizeof(*p->conns));
    if (!p->conns)
        die("out of memory (%zu connections to the admin)", p->count);
    for (size_t i = 0; i < p->count; i++) {
        p->conns[i].watch = (struct watch){WATCH_ADMIN, -1};
        p->conns[i].queue = i == 0 || x->beats ? NULL : &x->queues[i - 1];
        p->conns[i].beat = (int)i;
    }
    p->next_address = x->opt.addresses;
    p->next_round_mono_us = 0;
}

void admin_stop(struct executor *x)
{
    struct admin_pool *p = x->admins;

    for (size_t i = 0; i < p->count; i++) {
        close_admin(&p->conns[i]);
        buf_fini(&p->conns[i].call);
        buf_fini(&p->conns[i].out);
        buf_fini(&p->conns[i].in);
        buf_fini(&p->conns[i].ids);
    }
    free(p->conns);
    free(p);
    x->admins = NULL;
}

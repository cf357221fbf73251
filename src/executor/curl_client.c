/* SPDX-License-Identifier: MIT */
/*
 * The one file of this area that knows libcurl.
 *
 * libcurl repeats a request by itself when a connection that it had kept alive ends before any byte of an answer. Its pre-request
 * callback runs before every write of a request head, so the second call for one request is that repeat: it is refused.
 *
 * Several multi handles: curl_multi_remove_handle walks every cached connection of its multi handle.
 */
#include "executor/curl_client.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define POOLS CURL_CLIENT_TAGS
#define SPARE_CALLS_MAX 4096
#define MAX_CONNECTIONS 100000L
#define MAX_IDLE_S 60L
#define READ_BUFFER 8192L

struct pool {
    struct curl_client *client;
    CURLM *multi;
    int64_t timer_mono_ms; /* when libcurl wants to be called; -1: not at all */
    bool touched;          /* may have ended requests */
};

struct call {
    struct call *next;  /* of the spare list, or of those under way */
    struct call **link; /* what points to it among those under way */
    struct pool *pool;
    CURL *easy;
    struct curl_slist *headers;
    struct buf body; /* of the answer */
    bool too_long;
    unsigned writes; /* how often libcurl was about to write the request */
    bool refused;
    bool (*may_send)(void *arg);
    void (*done)(void *arg, const struct http_answer *answer);
    void *arg;
};

struct curl_client {
    const struct clock *clock;
    struct poller *poller;
    struct pool pools[POOLS];
    struct call *spare;
    size_t spare_count;
    struct call *under_way;
    size_t under_way_count;
};

/* ---- what libcurl calls ------------------------------------------------------------------------------------------ */

static size_t on_body(char *data, size_t size, size_t count, void *arg)
{
    struct call *call = arg;
    size_t len = size * count;

    if (len > HTTP_ANSWER_MAX - call->body.len) {
        call->too_long = true;
        return 0;
    }
    buf_append(&call->body, data, len);
    return buf_failed(&call->body) ? 0 : len;
}

static int on_before_write(void *arg, char *peer, char *local, int peer_port, int local_port)
{
    struct call *call = arg;

    (void)peer, (void)local, (void)peer_port, (void)local_port;
    if (call->writes > 0)
        return CURL_PREREQFUNC_ABORT;
    if (!call->may_send(call->arg)) {
        call->refused = true;
        return CURL_PREREQFUNC_ABORT;
    }
    call->writes++;
    return CURL_PREREQFUNC_OK;
}

static int on_timer(CURLM *multi, long timeout_ms, void *arg)
{
    struct pool *pool = arg;

    (void)multi;
    /* A millisecond more, for what the clock cuts off: called too early, libcurl would not ask again for the same time. */
    pool->timer_mono_ms = timeout_ms < 0 ? -1 : clock_mono_ms(pool->client->clock) + timeout_ms + (timeout_ms > 0);
    return 0;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
    struct pool *pool = arg;
    uint32_t events = 0;

    (void)easy, (void)socket_arg;
    if (what == CURL_POLL_IN || what == CURL_POLL_INOUT)
        events |= EPOLLIN;
    if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT)
        events |= EPOLLOUT;
    poller_want(pool->client->poller, fd, events, (uint32_t)(pool - pool->client->pools));
    return 0;
}

static curl_socket_t open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct curl_client *c = arg;
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);

    (void)purpose;
    if (fd >= 0 && !poller_adopt(c->poller, fd)) {
        close(fd);
        fd = -1;
    }
    return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static int close_socket(void *arg, curl_socket_t fd)
{
    struct curl_client *c = arg;

    poller_forget(c->poller, fd);
    return close(fd);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static void destroy_call(struct call *call)
{
    if (!call)
        return;
    curl_easy_cleanup(call->easy);
    curl_slist_free_all(call->headers);
    buf_fini(&call->body);
    free(call);
}

static bool set_options_once(struct curl_client *c, struct call *call)
{
    CURL *e = call->easy;
    CURLcode r = CURLE_OK;

#define SET(option, value) (r = r ? r : curl_easy_setopt(e, option, value))
    SET(CURLOPT_PRIVATE, call);
    SET(CURLOPT_POST, 1L);
    SET(CURLOPT_NOSIGNAL, 1L);
    /* Else the end of a transfer waits for its name look-up, and with it the whole loop. */
    SET(CURLOPT_QUICK_EXIT, 1L);
    SET(CURLOPT_NOPROXY, "*");
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_TCP_NODELAY, 1L);
    SET(CURLOPT_MAXAGE_CONN, MAX_IDLE_S);
    SET(CURLOPT_BUFFERSIZE, READ_BUFFER);
    SET(CURLOPT_SSL_VERIFYPEER, 0L);
    SET(CURLOPT_SSL_VERIFYHOST, 0L);
    SET(CURLOPT_WRITEFUNCTION, on_body);
    SET(CURLOPT_WRITEDATA, call);
    SET(CURLOPT_PREREQFUNCTION, on_before_write);
    SET(CURLOPT_PREREQDATA, call);
    SET(CURLOPT_OPENSOCKETFUNCTION, open_socket);
    SET(CURLOPT_OPENSOCKETDATA, c);
    SET(CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    SET(CURLOPT_CLOSESOCKETDATA, c);
#undef SET
    return r == CURLE_OK;
}

static struct call *take_call(struct curl_client *c)
{
    struct call *call = c->spare;

    if (call) {
        c->spare = call->next;
        c->spare_count--;
        return call;
    }
    call = calloc(1, sizeof *call);
    if (!call)
        return NULL;
    call->easy = curl_easy_init();
    if (!call->easy || !set_options_once(c, call)) {
        destroy_call(call);
        return NULL;
    }
    return call;
}

static void give_call(struct curl_client *c, struct call *call)
{
    curl_slist_free_all(call->headers);
    call->headers = NULL;
    if (c->spare_count >= SPARE_CALLS_MAX || call->body.cap > 16 * (size_t)READ_BUFFER) {
        destroy_call(call);
        return;
    }
    buf_clear(&call->body);
    call->next = c->spare;
    c->spare = call;
    c->spare_count++;
}

static bool add_header(struct call *call, const char *line)
{
    struct curl_slist *grown = curl_slist_append(call->headers, line);

    if (grown)
        call->headers = grown;
    return grown != NULL;
}

/* libcurl wants each without its line end. */
static bool add_lines(struct call *call, const char *lines, size_t len)
{
    struct buf line = {0};
    bool ok = true;

    while (ok && len > 0) {
        const char *end = memmem(lines, len, "\r\n", 2);
        size_t size = end ? (size_t)(end - lines) : len;
        size_t step = end ? size + 2 : size;

        buf_clear(&line);
        buf_append(&line, lines, size);
        ok = !buf_failed(&line) && add_header(call, line.data);
        lines += step;
        len -= step;
    }
    buf_fini(&line);
    return ok;
}

static bool set_request(struct call *call, const struct http_request *request, const char *url)
{
    CURL *e = call->easy;
    CURLcode r = CURLE_OK;

    if (!add_lines(call, request->headers, request->headers_len))
        return false;
    if (!add_header(call, "Expect:") || !add_header(call, "Accept:")) /* libcurl sends neither then */
        return false;
#define SET(option, value) (r = r ? r : curl_easy_setopt(e, option, value))
    SET(CURLOPT_URL, url);
    SET(CURLOPT_HTTPHEADER, call->headers);
    SET(CURLOPT_POSTFIELDS, request->body);
    SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_len);
    SET(CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)request->timeout_ms);
#undef SET
    call->too_long = false;
    call->writes = 0;
    call->refused = false;
    call->may_send = request->may_send;
    call->done = request->done;
    call->arg = request->arg;
    return r == CURLE_OK;
}

enum err curl_client_start(struct curl_client *c, const struct http_request *request, const char *url, uint64_t home)
{
    struct call *call = take_call(c);

    if (!call)
        return ERR_NOMEM;
    call->pool = &c->pools[home % POOLS];
    if (!set_request(call, request, url) || curl_multi_add_handle(call->pool->multi, call->easy) != CURLM_OK) {
        give_call(c, call);
        return ERR_NOMEM;
    }
    call->next = c->under_way;
    call->link = &c->under_way;
    if (call->next)
        call->next->link = &call->next;
    c->under_way = call;
    c->under_way_count++;
    return ERR_OK;
}

size_t curl_client_count(const struct curl_client *c)
{
    return c->under_way_count;
}

/* ---- the end of a call ------------------------------------------------------------------------------------------- */

static const char *explain_unreached(CURL *easy, CURLcode result)
{
    long number = 0;

    if (result == CURLE_OPERATION_TIMEDOUT)
        return "cannot connect: no answer in time";
    if (result == CURLE_COULDNT_CONNECT && curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &number) == CURLE_OK && number) {
        const char *name = strerrordesc_np((int)number);
        return name ? name : "cannot connect";
    }
    return curl_easy_strerror(result);
}

static void explain(struct call *call, CURLcode result, struct http_answer *out)
{
    out->written = call->writes > 0;
    if (call->refused) {
        out->outcome = HTTP_REFUSED;
        out->reason = "not sent";
    } else if (!out->written) {
        out->outcome = HTTP_UNREACHED;
        out->reason = explain_unreached(call->easy, result);
    } else if (result == CURLE_OPERATION_TIMEDOUT) {
        out->outcome = HTTP_TIMEOUT;
        out->reason = "no answer in time";
    } else if (call->too_long) {
        out->outcome = HTTP_BAD_ANSWER;
        out->reason = "the answer is longer than 1 MiB";
    } else if (result == CURLE_UNSUPPORTED_PROTOCOL || result == CURLE_WEIRD_SERVER_REPLY ||
               result == CURLE_WRITE_ERROR) {
        out->outcome = HTTP_BAD_ANSWER;
        out->reason = "the answer is no HTTP";
    } else {
        /* Also where libcurl was about to repeat the request: refused by us, or its new connection failed. */
        out->outcome = HTTP_CLOSED;
        out->reason =
            call->body.len > 0 ? "the connection ended within the answer" : "the connection ended without an answer";
    }
}

static void detach_call(struct curl_client *c, struct call *call)
{
    curl_multi_remove_handle(call->pool->multi, call->easy);
    *call->link = call->next;
    if (call->next)
        call->next->link = call->link;
    c->under_way_count--;
}

/* detach_call for the first one; NULL when there is none. */
static struct call *take_first(struct curl_client *c)
{
    struct call *call = c->under_way;

    if (!call)
        return NULL;
    curl_multi_remove_handle(call->pool->multi, call->easy);
    c->under_way = call->next;
    if (call->next)
        call->next->link = &c->under_way;
    c->under_way_count--;
    return call;
}

static void end_call(struct curl_client *c, struct call *call, CURLcode result)
{
    struct http_answer answer = {0};
    long status = 0;

    if (result == CURLE_OK && curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK) {
        answer.outcome = HTTP_ANSWERED;
        answer.written = true;
        answer.status = (int)status;
    } else {
        explain(call, result, &answer);
    }
    answer.body = call->body.data ? call->body.data : "";
    answer.len = call->body.len;
    detach_call(c, call);
    call->done(call->arg, &answer);
    give_call(c, call);
}

static void end_finished(struct curl_client *c, struct pool *pool)
{
    CURLMsg *msg;
    int left;

    pool->touched = false;
    while ((msg = curl_multi_info_read(pool->multi, &left)) != NULL) {
        struct call *call = NULL;
        CURLcode result = msg->data.result;

        if (msg->msg != CURLMSG_DONE ||
            curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, (char **)&call) != CURLE_OK)
            continue;
        end_call(c, call, result); /* msg is gone after this */
    }
}

/* ---- turning ------------------------------------------------------------------------------------------------------ */

void curl_client_handle(struct curl_client *c, const struct poller_event *event)
{
    struct pool *pool = &c->pools[event->tag];
    int running;
    int flags = (event->events & EPOLLIN ? CURL_CSELECT_IN : 0) | (event->events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                (event->events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);

    curl_multi_socket_action(pool->multi, event->fd, flags, &running); /* one it does not know any more is ignored */
    pool->touched = true;
}

static void handle_timers(struct curl_client *c)
{
    int64_t now_mono_ms = clock_mono_ms(c->clock);
    int running;

    for (size_t i = 0; i < POOLS; i++) {
        struct pool *pool = &c->pools[i];
        if (pool->timer_mono_ms < 0 || pool->timer_mono_ms > now_mono_ms)
            continue;
        pool->timer_mono_ms = -1;
        curl_multi_socket_action(pool->multi, CURL_SOCKET_TIMEOUT, 0, &running);
        pool->touched = true;
    }
}

int64_t curl_client_shorten_wait_us(const struct curl_client *c, int64_t wait_us)
{
    int64_t now_mono_ms = clock_mono_ms(c->clock);

    for (size_t i = 0; i < POOLS; i++) {
        int64_t at = c->pools[i].timer_mono_ms;
        if (at >= 0 && (at - now_mono_ms) * 1000 < wait_us)
            wait_us = (at - now_mono_ms) * 1000;
    }
    return wait_us < 0 ? 0 : wait_us;
}

void curl_client_end_turn(struct curl_client *c)
{
    handle_timers(c);
    for (size_t i = 0; i < POOLS; i++)
        if (c->pools[i].touched)
            end_finished(c, &c->pools[i]);
}

void curl_client_abort(struct curl_client *c)
{
    struct call *call;

    while ((call = take_first(c)) != NULL) {
        struct http_answer answer = {
            .outcome = HTTP_ABORTED, .written = call->writes > 0, .body = "", .reason = "aborted"};

        call->done(call->arg, &answer);
        give_call(c, call);
    }
}

/* ---- life --------------------------------------------------------------------------------------------------------- */

static bool init_pool(struct curl_client *c, struct pool *pool)
{
    CURLMcode r = CURLM_OK;

    pool->client = c;
    pool->timer_mono_ms = -1;
    pool->multi = curl_multi_init();
    if (!pool->multi)
        return false;
#define SET(option, value) (r = r ? r : curl_multi_setopt(pool->multi, option, value))
    SET(CURLMOPT_SOCKETFUNCTION, on_socket);
    SET(CURLMOPT_SOCKETDATA, pool);
    SET(CURLMOPT_TIMERFUNCTION, on_timer);
    SET(CURLMOPT_TIMERDATA, pool);
    SET(CURLMOPT_MAXCONNECTS, MAX_CONNECTIONS);
    SET(CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
#undef SET
    return r == CURLM_OK;
}

enum err curl_client_create(const struct clock *clock, struct poller *poller, struct curl_client **out,
                            struct errctx *ec)
{
    struct curl_client *c;

    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return err_set(ec, ERR_IO, "libcurl does not start");
    c = calloc(1, sizeof *c);
    if (!c) {
        curl_global_cleanup();
        return err_set(ec, ERR_NOMEM, "out of memory for libcurl");
    }
    c->clock = clock;
    c->poller = poller;
    for (size_t i = 0; i < POOLS; i++) {
        if (!init_pool(c, &c->pools[i])) {
            curl_client_destroy(c);
            return err_set(ec, ERR_NOMEM, "out of memory for a pool of connections");
        }
    }
    *out = c;
    return ERR_OK;
}

void curl_client_destroy(struct curl_client *c)
{
    struct call *call;

    if (!c)
        return;
    while ((call = take_first(c)) != NULL)
        destroy_call(call);
    while ((call = c->spare) != NULL) {
        c->spare = call->next;
        destroy_call(call);
    }
    for (size_t i = 0; i < POOLS; i++)
        curl_multi_cleanup(c->pools[i].multi); /* closes the connections */
    free(c);
    curl_global_cleanup();
}

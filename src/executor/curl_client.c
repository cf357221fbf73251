/* SPDX-License-Identifier: MIT */
/*
 * The one file of this area that knows libcurl.
 *
 * libcurl repeats a request by itself when a connection that it had kept alive ends before any byte of an answer. Its
 * pre-request callback runs before every write of a request head, so the second call for one request is that repeat: it
 * is refused.
 *
 * Several multi handles: curl_multi_remove_handle walks every cached connection of its multi handle.
 *
 * A call whose host is a name waits in `naming` until the resolver knows addresses, which libcurl then finds in its
 * cache.
 */
#include "executor/curl_client.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "executor/http_reader.h"
#include "executor/reasons.h"
#include "shardwheel/executor/networks.h"

#define POOLS CURL_CLIENT_TAGS
#define SPARE_CALLS_MAX 4096
#define MAX_CONNECTIONS 100000L
#define READ_BUFFER 8192L
#define CA_CACHE_S 60L /* a file of authorities that was replaced counts after so long */

struct pool {
    struct curl_client *client;
    CURLM *multi;
    int64_t timer_mono_ms; /* when libcurl wants to be called; -1: not at all */
    bool touched;          /* may have ended requests */
};

TAILQ_HEAD(call_list, call);

struct call {
    TAILQ_ENTRY(call) in_list; /* one of the client's */
    struct pool *pool;
    CURL *easy;
    struct curl_slist *headers;
    struct curl_slist *addresses; /* of its host */
    struct curl_peer *peer;
    int64_t deadline_mono_ms;
    int idle_s;                  /* as its answer says */
    struct buf body;             /* of the answer */
    char error[CURL_ERROR_SIZE]; /* libcurl's own words */
    bool takes_start;
    bool too_long;
    unsigned writes; /* how often libcurl was about to write the request */
    bool refused;
    bool forbidden; /* one of the addresses of its host was not called */
    bool (*may_send)(void *arg);
    void (*done)(void *arg, const struct http_answer *answer);
    void *arg;
};

struct curl_client {
    const struct clock *clock;
    struct poller *poller;
    struct resolver *resolver;
    const struct executor_networks *networks; /* may be NULL */
    struct pool pools[POOLS];
    struct call_list spare;
    size_t spare_count;
    struct call_list under_way;
    struct call_list naming;             /* likewise, but not given to libcurl yet */
    size_t count;                        /* of both */
    uint64_t names_ended;                /* look-ups, when they were looked at last */
    int64_t naming_deadline_mono_ms;     /* when they must be looked at in any case; INT64_MAX: never */
    char reason[RESOLVER_TEXT_MAX + 40]; /* of the end that is being told */
};

/* ---- what libcurl calls ------------------------------------------------------------------------------------------ */

static size_t on_body(char *data, size_t size, size_t count, void *arg)
{
    struct call *call = arg;
    size_t len = size * count;

    if (len > HTTP_ANSWER_MAX - call->body.len) {
        call->too_long = true;
        if (call->takes_start)
            buf_append(&call->body, data, HTTP_ANSWER_MAX - call->body.len);
        return 0;
    }
    buf_append(&call->body, data, len);
    return buf_failed(&call->body) ? 0 : len;
}

static size_t on_header(char *line, size_t size, size_t count, void *arg)
{
    static const char name[] = "Keep-Alive:";
    struct call *call = arg;
    size_t len = size * count;

    while (len > 0 && (line[len - 1] == '\r' || line[len - 1] == '\n'))
        len--;
    if (len >= sizeof name - 1 && strncasecmp(line, name, sizeof name - 1) == 0)
        call->idle_s = http_read_keep_alive(line + sizeof name - 1, len - (sizeof name - 1));
    return size * count;
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

/* Called before libcurl looks a name up by itself. */
static int refuse_look_up(void *resolver, void *reserved, void *arg)
{
    (void)resolver, (void)reserved, (void)arg;
    return 1;
}

static int on_timer(CURLM *multi, long timeout_ms, void *arg)
{
    struct pool *pool = arg;

    (void)multi;
    /* A millisecond more, for what the clock cuts off: called too early, libcurl would not ask again for the same
     * time. */
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

/* The address is the one that libcurl connects to, whatever the host's name meant when somebody saved it. */
static curl_socket_t open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct call *call = arg;
    struct curl_client *c = call->pool->client;
    struct ip ip;

    (void)purpose;
    if (ip_from_socket(&address->addr, &ip) && !executor_networks_allow(c->networks, &ip)) {
        call->forbidden = true;
        return CURL_SOCKET_BAD;
    }
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
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
    curl_slist_free_all(call->addresses);
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
    SET(CURLOPT_NOPROXY, "*");
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_TCP_NODELAY, 1L);
    SET(CURLOPT_BUFFERSIZE, READ_BUFFER);
    SET(CURLOPT_KEYPASSWD, ""); /* else OpenSSL asks the terminal for the password of a key */
    SET(CURLOPT_CA_CACHE_TIMEOUT, CA_CACHE_S);
    SET(CURLOPT_ERRORBUFFER, call->error);
    SET(CURLOPT_WRITEFUNCTION, on_body);
    SET(CURLOPT_WRITEDATA, call);
    SET(CURLOPT_HEADERFUNCTION, on_header);
    SET(CURLOPT_HEADERDATA, call);
    SET(CURLOPT_PREREQFUNCTION, on_before_write);
    SET(CURLOPT_PREREQDATA, call);
    SET(CURLOPT_OPENSOCKETFUNCTION, open_socket);
    SET(CURLOPT_OPENSOCKETDATA, call);
    SET(CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    SET(CURLOPT_CLOSESOCKETDATA, c);
#undef SET
    return r == CURLE_OK;
}

static struct call *take_call(struct curl_client *c)
{
    struct call *call = TAILQ_FIRST(&c->spare);

    if (call) {
        TAILQ_REMOVE(&c->spare, call, in_list);
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
    curl_slist_free_all(call->addresses);
    call->headers = call->addresses = NULL;
    if (c->spare_count >= SPARE_CALLS_MAX || call->body.cap > 16 * (size_t)READ_BUFFER) {
        destroy_call(call);
        return;
    }
    buf_clear(&call->body);
    TAILQ_INSERT_HEAD(&c->spare, call, in_list);
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

/* libcurl cuts the age of a connection down to seconds, and takes an age of 0 for none: so a second less, and a
 * connection of its own for each request where that leaves nothing. */
static CURLcode set_idle(CURL *e, int idle_s)
{
    long fresh = idle_s <= 1;
    CURLcode r = CURLE_OK;

#define SET(option, value) (r = r ? r : curl_easy_setopt(e, option, value))
    SET(CURLOPT_FRESH_CONNECT, fresh);
    SET(CURLOPT_FORBID_REUSE, fresh);
    SET(CURLOPT_MAXAGE_CONN, fresh ? 1L : (long)idle_s - 1);
#undef SET
    return r;
}

/* NULL for "", which libcurl takes for nothing given. */
static const char *or_null(const char *text)
{
    return text && text[0] ? text : NULL;
}

/* libcurl uses a connection again only for the same settings. */
static CURLcode set_tls(CURL *e, const struct http_tls *tls)
{
    static const struct http_tls none = {.verify = true};
    char *file = NULL, *folder = NULL; /* of the system's authorities */
    CURLcode r = curl_easy_getinfo(e, CURLINFO_CAINFO, &file);

    if (!tls)
        tls = &none;
    r = r ? r : curl_easy_getinfo(e, CURLINFO_CAPATH, &folder);
#define SET(option, value) (r = r ? r : curl_easy_setopt(e, option, value))
    SET(CURLOPT_SSL_VERIFYPEER, tls->verify ? 1L : 0L);
    SET(CURLOPT_SSL_VERIFYHOST, tls->verify ? 2L : 0L);
    SET(CURLOPT_CAINFO, or_null(tls->ca) ? tls->ca : file);
    SET(CURLOPT_CAPATH, or_null(tls->ca) ? NULL : folder);
    SET(CURLOPT_SSLCERT, or_null(tls->cert));
    SET(CURLOPT_SSLKEY, or_null(tls->key));
#undef SET
    return r;
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
#undef SET
    r = r ? r : set_idle(e, call->peer->idle_s);
    if (strncasecmp(url, "https:", 6) == 0)
        r = r ? r : set_tls(e, request->tls);
    call->error[0] = '\0';
    call->idle_s = HTTP_IDLE_MAX_S;
    call->takes_start = request->takes_start;
    call->too_long = false;
    call->writes = 0;
    call->refused = false;
    call->forbidden = false;
    call->may_send = request->may_send;
    call->done = request->done;
    call->arg = request->arg;
    return r == CURLE_OK;
}

/* ---- names of hosts ---------------------------------------------------------------------------------------------- */

void curl_peer_fini(struct curl_peer *peer)
{
    free(peer->host);
    *peer = (struct curl_peer){0};
}

/* What libcurl will take for the host of the URL. */
static enum err learn_host(struct curl_peer *peer, const char *url)
{
    CURLU *parts = curl_url();
    char *host = NULL, *port = NULL;
    CURLUcode r = parts ? CURLUE_OK : CURLUE_OUT_OF_MEMORY;
    int64_t number;

    r = r ? r : curl_url_set(parts, CURLUPART_URL, url, CURLU_GUESS_SCHEME | CURLU_NON_SUPPORT_SCHEME);
    r = r ? r : curl_url_get(parts, CURLUPART_HOST, &host, 0);
    r = r ? r : curl_url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT);
    if (!r && (host[0] == '[' || host_is_ip(host))) {
        peer->kind = CURL_HOST_IP;
    } else if (!r && parse_int(port, 1, UINT16_MAX, &number)) {
        peer->host = str_copy(host);
        peer->port = (int)number;
        peer->kind = peer->host ? CURL_HOST_NAME : CURL_HOST_UNKNOWN;
    } else if (r != CURLUE_OUT_OF_MEMORY) {
        peer->kind = CURL_HOST_NONE;
    }
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(parts);
    return peer->kind == CURL_HOST_UNKNOWN ? ERR_NOMEM : ERR_OK;
}

/* `addresses`: NULL where none are needed. */
static bool set_addresses(struct call *call, const char *addresses)
{
    struct buf line = {0};

    if (!addresses)
        return true;
    buf_printf(&line, "+%s:%d:%s", call->peer->host, call->peer->port,
               addresses); /* +: they grow old in libcurl's cache */
    if (!buf_failed(&line))
        call->addresses = curl_slist_append(NULL, line.data);
    buf_fini(&line);
    return call->addresses != NULL;
}

/* Gives the call to libcurl. */
static enum err begin(struct curl_client *c, struct call *call, const char *addresses)
{
    int64_t left_ms = call->deadline_mono_ms - clock_mono_ms(c->clock);
    long timeout_ms = left_ms > 0 ? (long)left_ms : 1;
    bool is_ip = call->peer->kind == CURL_HOST_IP;
    CURLcode r = CURLE_OK;

    if (!set_addresses(call, addresses))
        return ERR_NOMEM;
#define SET(option, value) (r = r ? r : curl_easy_setopt(call->easy, option, value))
    SET(CURLOPT_RESOLVE, call->addresses);
    SET(CURLOPT_RESOLVER_START_FUNCTION, is_ip ? NULL : refuse_look_up);
    SET(CURLOPT_TIMEOUT_MS, timeout_ms);
    SET(CURLOPT_CONNECTTIMEOUT_MS, timeout_ms);
#undef SET
    if (r || curl_multi_add_handle(call->pool->multi, call->easy) != CURLM_OK)
        return ERR_NOMEM;
    TAILQ_INSERT_TAIL(&c->under_way, call, in_list);
    return ERR_OK;
}

static void look_at_names_by(struct curl_client *c, int64_t mono_ms)
{
    if (mono_ms < c->naming_deadline_mono_ms)
        c->naming_deadline_mono_ms = mono_ms;
}

static enum err start(struct curl_client *c, struct call *call)
{
    struct resolver_answer found;

    if (call->peer->kind != CURL_HOST_NAME)
        return begin(c, call, NULL);
    resolver_ask(c->resolver, call->peer->host, &found);
    if (found.state == RESOLVER_FOUND)
        return begin(c, call, found.text);
    /* One that failed is told within the turn. */
    look_at_names_by(c, found.state == RESOLVER_WAITS ? call->deadline_mono_ms : clock_mono_ms(c->clock));
    TAILQ_INSERT_TAIL(&c->naming, call, in_list);
    return ERR_OK;
}

enum err curl_client_start(struct curl_client *c, const struct http_request *request, const char *url,
                           struct curl_peer *peer)
{
    struct call *call;
    enum err e = peer->kind == CURL_HOST_UNKNOWN ? learn_host(peer, url) : ERR_OK;

    if (e)
        return e;
    call = take_call(c);
    if (!call)
        return ERR_NOMEM;
    call->pool = &c->pools[peer->home % POOLS];
    call->peer = peer;
    call->deadline_mono_ms = clock_mono_ms(c->clock) + request->timeout_ms;
    e = set_request(call, request, url) ? start(c, call) : ERR_NOMEM;
    if (e)
        give_call(c, call);
    else
        c->count++;
    return e;
}

size_t curl_client_count(const struct curl_client *c)
{
    return c->count;
}

/* ---- the end of a call ------------------------------------------------------------------------------------------- */

/* What went wrong with TLS, with libcurl's words. They have no numbers of their own. */
static const char *explain_tls(struct call *call, const char *what)
{
    struct curl_client *c = call->pool->client;

    snprintf(c->reason, sizeof c->reason, "%s: %s", what, call->error[0] ? call->error : "no reason is known");
    return c->reason;
}

static const char *explain_unreached(struct call *call, CURLcode result)
{
    static const struct {
        CURLcode result;
        const char *text;
    } of_tls[] = {
        {CURLE_PEER_FAILED_VERIFICATION, "the executor's certificate is refused"},
        {CURLE_SSL_CONNECT_ERROR, "TLS does not come about"},
        {CURLE_SSL_CACERT_BADFILE, "shardwheel.executor.tls.ca cannot be used"},
        {CURLE_SSL_CERTPROBLEM, "shardwheel.executor.tls.cert or key cannot be used"},
    };
    CURL *easy = call->easy;
    long number = 0;

    for (size_t i = 0; i < ARRAY_LEN(of_tls); i++)
        if (result == of_tls[i].result)
            return explain_tls(call, of_tls[i].text);

    if (call->forbidden)
        return EXECUTOR_FORBIDDEN_TEXT;
    if (result == CURLE_OPERATION_TIMEDOUT)
        return REASON_LATE_TO_CONNECT;
    if (result == CURLE_COULDNT_CONNECT && curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &number) == CURLE_OK && number) {
        return reason_of_errno((int)number);
    }
    return curl_easy_strerror(result);
}

static void explain(struct call *call, CURLcode result, struct http_answer *out)
{
    out->written = call->writes > 0;
    if (call->refused) {
        out->outcome = HTTP_REFUSED;
        out->reason = REASON_REFUSED;
    } else if (!out->written) {
        out->outcome = HTTP_UNREACHED;
        out->reason = explain_unreached(call, result);
    } else if (result == CURLE_OPERATION_TIMEDOUT) {
        out->outcome = HTTP_TIMEOUT;
        out->reason = REASON_LATE;
    } else if (call->too_long) {
        out->outcome = HTTP_BAD_ANSWER;
        out->reason = REASON_TOO_LONG;
    } else if (result == CURLE_UNSUPPORTED_PROTOCOL || result == CURLE_WEIRD_SERVER_REPLY ||
               result == CURLE_WRITE_ERROR) {
        out->outcome = HTTP_BAD_ANSWER;
        out->reason = REASON_NO_HTTP;
    } else {
        /* Also where libcurl was about to repeat the request: refused by us, or its new connection failed. */
        out->outcome = HTTP_CLOSED;
        out->reason = call->body.len > 0 ? REASON_HALF_ANSWER : REASON_NO_ANSWER;
        if (strstr(call->error, " alert ")) /* with TLS 1.3 a peer says after the first write that it refuses ours */
            out->reason = explain_tls(call, out->reason);
    }
}

/* Of an answer that is too long. */
static bool has_start(const struct call *call)
{
    return call->too_long && call->takes_start && !buf_failed(&call->body);
}

static void end_call(struct curl_client *c, struct call *call, CURLcode result)
{
    struct http_answer answer = {0};
    long status = 0;

    if ((result == CURLE_OK || has_start(call)) &&
        curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK) {
        answer.outcome = HTTP_ANSWERED;
        answer.written = true;
        answer.status = (int)status;
        answer.cut = call->too_long;
        call->peer->idle_s = call->idle_s;
    } else {
        explain(call, result, &answer);
    }
    answer.body = call->body.data ? call->body.data : "";
    answer.len = call->body.len;
    curl_multi_remove_handle(call->pool->multi, call->easy);
    TAILQ_REMOVE(&c->under_way, call, in_list);
    c->count--;
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

/* ---- turning ----------------------------------------------------------------------------------------------------- */

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

static void end_unnamed(struct curl_client *c, struct call *call, const char *reason)
{
    struct http_answer answer = {.outcome = HTTP_UNREACHED, .body = "", .reason = reason};

    c->count--;
    call->done(call->arg, &answer);
    give_call(c, call);
}

/* The call is in no list. False: it goes on waiting. */
static bool try_name(struct curl_client *c, struct call *call, int64_t now_mono_ms)
{
    struct resolver_answer found;

    resolver_ask(c->resolver, call->peer->host, &found);
    if (now_mono_ms >= call->deadline_mono_ms) {
        end_unnamed(c, call, "its host name could not be looked up in time");
    } else if (found.state == RESOLVER_FAILED) {
        snprintf(c->reason, sizeof c->reason, "its host name has no address: %s", found.text);
        end_unnamed(c, call, c->reason);
    } else if (found.state == RESOLVER_WAITS) {
        return false;
    } else if (begin(c, call, found.text) != ERR_OK) {
        end_unnamed(c, call, "out of memory");
    }
    return true;
}

/* A request that is started meanwhile, from within done, is looked at the next time. */
static void handle_names(struct curl_client *c)
{
    int64_t now_mono_ms = clock_mono_ms(c->clock);
    uint64_t ended = resolver_count_ended(c->resolver);
    struct call_list waiting = TAILQ_HEAD_INITIALIZER(waiting);
    struct call *call;

    if (!TAILQ_FIRST(&c->naming) || (ended == c->names_ended && now_mono_ms < c->naming_deadline_mono_ms))
        return;
    c->names_ended = ended;
    c->naming_deadline_mono_ms = INT64_MAX;
    TAILQ_CONCAT(&waiting, &c->naming, in_list);
    while ((call = TAILQ_FIRST(&waiting)) != NULL) {
        TAILQ_REMOVE(&waiting, call, in_list);
        if (try_name(c, call, now_mono_ms))
            continue;
        TAILQ_INSERT_TAIL(&c->naming, call, in_list);
        look_at_names_by(c, call->deadline_mono_ms);
    }
}

int64_t curl_client_shorten_wait_us(const struct curl_client *c, int64_t wait_us)
{
    int64_t now_mono_ms = clock_mono_ms(c->clock);

    if (TAILQ_FIRST(&c->naming) && c->naming_deadline_mono_ms - now_mono_ms < wait_us / 1000)
        wait_us = (c->naming_deadline_mono_ms - now_mono_ms) * 1000;

    for (size_t i = 0; i < POOLS; i++) {
        int64_t at = c->pools[i].timer_mono_ms;
        if (at >= 0 && (at - now_mono_ms) * 1000 < wait_us)
            wait_us = (at - now_mono_ms) * 1000;
    }
    return wait_us < 0 ? 0 : wait_us;
}

void curl_client_end_turn(struct curl_client *c)
{
    handle_names(c);
    handle_timers(c);
    for (size_t i = 0; i < POOLS; i++)
        if (c->pools[i].touched)
            end_finished(c, &c->pools[i]);
}

/* The first one of all, which libcurl then knows no more; NULL when there is none. */
static struct call *take_first(struct curl_client *c)
{
    struct call_list *list = TAILQ_FIRST(&c->under_way) ? &c->under_way : &c->naming;
    struct call *call = TAILQ_FIRST(list);

    if (!call)
        return NULL;
    if (list == &c->under_way)
        curl_multi_remove_handle(call->pool->multi, call->easy);
    TAILQ_REMOVE(list, call, in_list);
    c->count--;
    return call;
}

void curl_client_abort(struct curl_client *c)
{
    struct call *call;

    while ((call = take_first(c)) != NULL) {
        struct http_answer answer = {
            .outcome = HTTP_ABORTED, .written = call->writes > 0, .body = "", .reason = REASON_ABORTED};

        call->done(call->arg, &answer);
        give_call(c, call);
    }
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

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

enum err curl_client_create(const struct clock *clock, struct resolver *resolver,
                            const struct executor_networks *networks, struct poller *poller, struct curl_client **out,
                            struct errctx *ec)
{
    struct curl_client *c;
    enum err e;

    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return err_set(ec, ERR_IO, "libcurl does not start");
    c = calloc(1, sizeof *c);
    if (!c) {
        curl_global_cleanup();
        return err_set(ec, ERR_NOMEM, "out of memory for libcurl");
    }
    c->clock = clock;
    c->networks = networks;
    c->poller = poller;
    TAILQ_INIT(&c->spare);
    TAILQ_INIT(&c->under_way);
    TAILQ_INIT(&c->naming);
    c->naming_deadline_mono_ms = INT64_MAX;
    for (size_t i = 0; i < POOLS; i++) {
        if (!init_pool(c, &c->pools[i])) {
            curl_client_destroy(c);
            return err_set(ec, ERR_NOMEM, "out of memory for a pool of connections");
        }
    }
    e = resolver_watch(resolver, poller_get_wake_fd(poller), ec);
    if (e) {
        curl_client_destroy(c);
        return e;
    }
    c->resolver = resolver;
    *out = c;
    return ERR_OK;
}

void curl_client_destroy(struct curl_client *c)
{
    struct call *call;

    if (!c)
        return;
    if (c->resolver)
        resolver_unwatch(c->resolver, poller_get_wake_fd(c->poller));
    while ((call = take_first(c)) != NULL)
        destroy_call(call);
    while ((call = TAILQ_FIRST(&c->spare)) != NULL) {
        TAILQ_REMOVE(&c->spare, call, in_list);
        destroy_call(call);
    }
    for (size_t i = 0; i < POOLS; i++)
        curl_multi_cleanup(c->pools[i].multi); /* closes the connections */
    free(c);
    curl_global_cleanup();
}

/* SPDX-License-Identifier: MIT */
/*
 * Several multi handles: curl_multi_remove_handle walks every cached connection of its multi handle.
 *
 * A call whose host is a name waits in `naming` until the resolver knows addresses, which libcurl then finds in its
 * cache.
 */
#include "executor/curl_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "executor/curl_call.h"
#include "executor/reasons.h"

#define POOLS CURL_CLIENT_TAGS
#define SPARE_CALLS_MAX 4096
#define MAX_CONNECTIONS 100000L

struct pool {
    struct curl_client *client;
    CURLM *multi;
    int64_t timer_mono_ms; /* when libcurl wants to be called; -1: not at all */
    bool touched;          /* may have ended requests */
};

struct curl_client {
    const struct clock *clock;
    struct curl_sockets sockets;
    struct resolver *resolver;
    struct pool pools[POOLS];
    struct call_list spare;
    size_t spare_count;
    struct call_list under_way;
    struct call_list naming;         /* likewise, but not given to libcurl yet */
    size_t count;                    /* of both */
    uint64_t names_ended;            /* look-ups, when they were looked at last */
    int64_t naming_deadline_mono_ms; /* when they must be looked at in any case; INT64_MAX: never */
    struct curl_reason reason;       /* of the end that is being told */
};

/* ---- what libcurl calls ------------------------------------------------------------------------------------------ */

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
    poller_want(pool->client->sockets.poller, fd, events, (uint32_t)(pool - pool->client->pools));
    return 0;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static struct curl_call *take_call(struct curl_client *c)
{
    struct curl_call *call = TAILQ_FIRST(&c->spare);

    if (!call)
        return curl_call_create(&c->sockets);
    TAILQ_REMOVE(&c->spare, call, in_list);
    c->spare_count--;
    return call;
}

static void give_call(struct curl_client *c, struct curl_call *call)
{
    if (!curl_call_clear(call) || c->spare_count >= SPARE_CALLS_MAX) {
        curl_call_destroy(call);
        return;
    }
    TAILQ_INSERT_HEAD(&c->spare, call, in_list);
    c->spare_count++;
}

/* ---- names of hosts ---------------------------------------------------------------------------------------------- */

/* Gives the call to libcurl. */
static enum err begin(struct curl_client *c, struct curl_call *call, const char *addresses)
{
    int64_t left_ms = call->deadline_mono_ms - clock_mono_ms(c->clock);

    if (!curl_call_set_way(call, addresses, left_ms > 0 ? left_ms : 1) ||
        curl_multi_add_handle(call->pool->multi, call->easy) != CURLM_OK)
        return ERR_NOMEM;
    TAILQ_INSERT_TAIL(&c->under_way, call, in_list);
    return ERR_OK;
}

static void look_at_names_by(struct curl_client *c, int64_t mono_ms)
{
    if (mono_ms < c->naming_deadline_mono_ms)
        c->naming_deadline_mono_ms = mono_ms;
}

static enum err start(struct curl_client *c, struct curl_call *call)
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
    struct curl_call *call;
    enum err e = peer->kind == CURL_HOST_UNKNOWN ? curl_peer_learn(peer, url) : ERR_OK;

    if (e)
        return e;
    call = take_call(c);
    if (!call)
        return ERR_NOMEM;
    call->pool = &c->pools[peer->home % POOLS];
    call->peer = peer;
    call->deadline_mono_ms = clock_mono_ms(c->clock) + request->timeout_ms;
    e = curl_call_set_request(call, request, url) ? start(c, call) : ERR_NOMEM;
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

static void end_call(struct curl_client *c, struct curl_call *call, CURLcode result)
{
    struct http_answer answer;

    curl_call_get_answer(call, result, &c->reason, &answer);
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
        struct curl_call *call = NULL;
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

static void end_unnamed(struct curl_client *c, struct curl_call *call, const char *reason)
{
    struct http_answer answer = {.outcome = HTTP_UNREACHED, .body = "", .reason = reason};

    c->count--;
    call->done(call->arg, &answer);
    give_call(c, call);
}

/* The call is in no list. False: it goes on waiting. */
static bool try_name(struct curl_client *c, struct curl_call *call, int64_t now_mono_ms)
{
    struct resolver_answer found;

    resolver_ask(c->resolver, call->peer->host, &found);
    if (now_mono_ms >= call->deadline_mono_ms) {
        end_unnamed(c, call, "its host name could not be looked up in time");
    } else if (found.state == RESOLVER_FAILED) {
        snprintf(c->reason.text, sizeof c->reason.text, "its host name has no address: %s", found.text);
        end_unnamed(c, call, c->reason.text);
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
    struct curl_call *call;

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
static struct curl_call *take_first(struct curl_client *c)
{
    struct call_list *list = TAILQ_FIRST(&c->under_way) ? &c->under_way : &c->naming;
    struct curl_call *call = TAILQ_FIRST(list);

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
    struct curl_call *call;

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
    c->sockets = (struct curl_sockets){.poller = poller, .networks = networks};
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
    struct curl_call *call;

    if (!c)
        return;
    if (c->resolver)
        resolver_unwatch(c->resolver, poller_get_wake_fd(c->sockets.poller));
    while ((call = take_first(c)) != NULL)
        curl_call_destroy(call);
    while ((call = TAILQ_FIRST(&c->spare)) != NULL) {
        TAILQ_REMOVE(&c->spare, call, in_list);
        curl_call_destroy(call);
    }
    for (size_t i = 0; i < POOLS; i++)
        curl_multi_cleanup(c->pools[i].multi); /* closes the connections */
    free(c);
    curl_global_cleanup();
}

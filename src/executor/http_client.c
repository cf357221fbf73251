/* SPDX-License-Identifier: MIT */
#include "shardwheel/executor/http_client.h"

#include <assert.h>
#include <stdlib.h>

#include "executor/http_conn.h"
#include "executor/http_exchange.h"
#include "executor/reasons.h"

#define EVENTS_PER_TURN 256
#define OPENING_MAX 256    /* ahead, at a time */
#define WARM_AHEAD_MS 1000 /* so long before they are needed */

/* ---- connections ahead ------------------------------------------------------------------------------------------- */

/* Those that may be used no more by then. */
static void drop_old(struct http_client *c, struct http_peer *peer, int64_t mono_ms)
{
    struct conn *conn = TAILQ_FIRST(&peer->free);

    while (conn) {
        struct conn *next = TAILQ_NEXT(conn, in_free);

        if (conn->state == CONN_IDLE && conn->use_until_mono_ms <= mono_ms)
            conn_destroy(c, conn);
        conn = next;
    }
}

void http_client_warm_peer(struct http_client *c, struct http_peer *peer, size_t count)
{
    if (peer->is_impatient)
        drop_old(c, peer, clock_mono_ms(c->clock) + WARM_AHEAD_MS);
    while (peer->plain && peer->conn_count < count && c->opening < OPENING_MAX) {
        struct conn *conn = conn_create(peer);

        if (!conn)
            return;
        if (conn_open(c, conn) != 0) {
            conn->state = CONN_ENDED; /* it is in no list */
            conn_destroy(c, conn);
            return;
        }
        conn_add_opening(c, conn);
    }
}

size_t http_client_count(const struct http_client *c)
{
    return c->busy + (c->curl ? curl_client_count(c->curl) : 0);
}

/* ---- turning ----------------------------------------------------------------------------------------------------- */

static void handle_event(struct http_client *c, const struct poller_event *event)
{
    struct conn *conn;

    if (event->tag < CURL_CLIENT_TAGS) {
        curl_client_handle(c->curl, event);
        return;
    }
    conn = (size_t)event->fd < c->conns_size ? c->conns[event->fd] : NULL;
    if (conn && conn->tag == event->tag)
        exchange_handle(c, conn, event->events);
}

static void end_late(struct http_client *c)
{
    int64_t now_mono_ms = clock_mono_ms(c->clock);
    struct conn *conn;

    while ((conn = TAILQ_FIRST(&c->deadlines)) != NULL && conn->deadline_mono_ms <= now_mono_ms) {
        if (!conn->has_request)
            conn_destroy(c, conn);
        else if (conn->sent > 0)
            exchange_end(c, conn, HTTP_TIMEOUT, REASON_LATE);
        else
            exchange_end(c, conn, HTTP_UNREACHED, REASON_LATE_TO_CONNECT);
    }
    while ((conn = TAILQ_FIRST(&c->idle)) != NULL && conn->deadline_mono_ms <= now_mono_ms)
        conn_destroy(c, conn);
}

static int64_t shorten_wait_us(const struct http_client *c, int64_t wait_us)
{
    const struct conn *next[] = {TAILQ_FIRST(&c->deadlines), TAILQ_FIRST(&c->idle)};
    int64_t now_mono_ms = clock_mono_ms(c->clock);

    if (TAILQ_FIRST(&c->ended))
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(next); i++)
        if (next[i] && (next[i]->deadline_mono_ms - now_mono_ms) * 1000 < wait_us)
            wait_us = (next[i]->deadline_mono_ms - now_mono_ms) * 1000;
    if (c->curl)
        wait_us = curl_client_shorten_wait_us(c->curl, wait_us);
    return wait_us > 0 ? wait_us : 0;
}

void http_client_turn(struct http_client *c, int64_t wait_us)
{
    struct poller_event events[EVENTS_PER_TURN];
    size_t count = poller_wait(c->poller, shorten_wait_us(c, wait_us), events, EVENTS_PER_TURN);

    for (size_t i = 0; i < count; i++)
        handle_event(c, &events[i]);
    if (c->curl)
        curl_client_end_turn(c->curl);
    end_late(c);
    exchange_tell_ended(c);
}

void http_client_wake(struct http_client *c)
{
    poller_wake(c->poller);
}

void http_client_abort(struct http_client *c)
{
    struct conn *conn;

    while ((conn = TAILQ_FIRST(&c->deadlines)) != NULL) {
        if (conn->has_request)
            exchange_end(c, conn, HTTP_ABORTED, REASON_ABORTED);
        else
            conn_destroy(c, conn);
    }
    exchange_tell_ended(c);
    if (c->curl)
        curl_client_abort(c->curl);
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

enum err http_client_add_peer(struct http_client *c, const char *address, struct http_peer **out)
{
    struct http_peer *peer = calloc(1, sizeof *peer);

    if (!peer)
        return ERR_NOMEM;
    peer->address = str_copy(address);
    if (!peer->address) {
        free(peer);
        return ERR_NOMEM;
    }
    peer->plain = plain_address_parse(peer->address, &peer->where);
    if (peer->plain) {
        struct ip ip;
        peer->forbidden = ip_from_socket(&peer->where.socket.any, &ip) && !executor_networks_allow(c->networks, &ip);
    }
    peer->curl = (struct curl_peer){.home = c->peer_count++, .idle_s = HTTP_IDLE_MAX_S};
    TAILQ_INIT(&peer->free);
    TAILQ_INSERT_TAIL(&c->peers, peer, in_peers);
    *out = peer;
    return ERR_OK;
}

void http_client_drop_peer(struct http_client *c, struct http_peer *peer)
{
    struct conn *conn;

    while ((conn = TAILQ_FIRST(&peer->free)) != NULL)
        conn_destroy(c, conn);
    assert(peer->conn_count == 0);
    TAILQ_REMOVE(&c->peers, peer, in_peers);
    curl_peer_fini(&peer->curl);
    free(peer->address);
    free(peer);
}

enum err http_client_create(const struct clock *clock, struct resolver *resolver, struct http_client **out,
                            struct errctx *ec)
{
    struct http_client *c = calloc(1, sizeof *c);
    enum err e;

    if (!c)
        return err_set(ec, ERR_NOMEM, "out of memory for an HTTP client");
    c->clock = clock;
    c->resolver = resolver;
    c->last_tag = CURL_CLIENT_TAGS;
    TAILQ_INIT(&c->peers);
    TAILQ_INIT(&c->deadlines);
    TAILQ_INIT(&c->idle);
    TAILQ_INIT(&c->ended);
    e = poller_create(&c->poller, ec);
    if (e) {
        http_client_destroy(c);
        return e;
    }
    *out = c;
    return ERR_OK;
}

void http_client_set_networks(struct http_client *c, const struct executor_networks *networks)
{
    c->networks = networks;
}

static void destroy_list(struct http_client *c, struct conn_list *list)
{
    struct conn *conn;

    while ((conn = TAILQ_FIRST(list)) != NULL)
        conn_destroy(c, conn);
}

void http_client_destroy(struct http_client *c)
{
    if (!c)
        return;
    destroy_list(c, &c->deadlines);
    destroy_list(c, &c->ended);
    while (TAILQ_FIRST(&c->peers)) /* and their idle connections */
        http_client_drop_peer(c, TAILQ_FIRST(&c->peers));
    curl_client_destroy(c->curl);
    poller_destroy(c->poller);
    free(c->conns);
    buf_fini(&c->head);
    free(c);
}

/* SPDX-License-Identifier: MIT */
/* The HTTP client of dispatch, with executors at its other end that answer, delay, refuse or are gone. */
#include "shardwheel/executor/http_client.h"

#include "sim/sim_impl.h"
#include "shardwheel/watch.h"

#include <stdlib.h>
#include <string.h>

struct http_peer {
    int executor;
    enum sim_executor *how;
};

/* A request under way: until it is written, then until it is answered. */
struct exchange {
    struct exchange *next;
    struct http_request request;
    enum sim_executor how;
    bool written;
    int64_t at_us; /* of what comes next */
    int64_t timeout_us;
};

struct http_client {
    struct sim_run *run;
    struct exchange *list;
    size_t count;
    bool woken;
};

enum err http_client_create(const struct clock *clock, struct resolver *resolver, struct http_client **out,
                            struct errctx *ec)
{
    struct http_client *client = calloc(1, sizeof *client);

    (void)ec, (void)resolver;
    if (!client)
        abort();
    client->run = sim_run_of_clock(clock);
    *out = client;
    return ERR_OK;
}

void http_client_set_networks(struct http_client *client, const struct executor_networks *networks)
{
    (void)client, (void)networks;
}

void http_client_destroy(struct http_client *client)
{
    while (client && client->list) {
        struct exchange *x = client->list;

        client->list = x->next;
        free(x);
    }
    free(client);
}

enum err http_client_add_peer(struct http_client *client, const char *address, struct http_peer **out)
{
    struct http_peer *peer = calloc(1, sizeof *peer);

    if (!peer)
        abort();
    peer->executor = address[sizeof "http://10.0.0." - 1] - '1';
    peer->how = &client->run->sim->executors[peer->executor];
    *out = peer;
    return ERR_OK;
}

void http_client_drop_peer(struct http_client *client, struct http_peer *peer)
{
    (void)client;
    free(peer);
}

void http_client_warm_peer(struct http_client *client, struct http_peer *peer, size_t count)
{
    (void)client, (void)peer, (void)count;
}

size_t http_client_count(const struct http_client *client)
{
    return client->count;
}

static enum sim_executor choose_manner(enum sim_executor how)
{
    return how == EXECUTOR_MIXED ? (enum sim_executor)fibers_draw(EXECUTOR_MIXED) : how;
}

enum err http_client_start(struct http_client *client, const struct http_request *request)
{
    struct exchange *x = calloc(1, sizeof *x);
    struct exchange **tail = &client->list;

    if (!x)
        abort();
    x->request = *request;
    x->how = choose_manner(*request->peer->how);
    if (client->run->cut) /* the way there is broken, or the way back */
        x->how = fibers_chance(700) ? EXECUTOR_GONE : EXECUTOR_SILENT;
    x->timeout_us = fibers_now_us() + request->timeout_ms * 1000;
    /* To the first byte: at once where a connection is there. */
    x->at_us = fibers_now_us() + (fibers_chance(900) ? 0 : (int64_t)fibers_draw(50000));
    while (*tail)
        tail = &(*tail)->next;
    *tail = x;
    client->count++;
    return ERR_OK;
}

static void end_exchange(struct http_client *client, struct exchange *x, const struct http_answer *answer)
{
    for (struct exchange **link = &client->list; *link; link = &(*link)->next) {
        if (*link == x) {
            *link = x->next;
            break;
        }
    }
    client->count--;
    x->request.done(x->request.arg, answer);
    free(x);
}

static void end_without(struct http_client *client, struct exchange *x, enum http_outcome outcome, const char *reason)
{
    end_exchange(client, x, &(struct http_answer){.outcome = outcome, .written = x->written, .reason = reason});
}

/* One that asks, and starts nothing. */
static bool is_question(const struct exchange *x)
{
    return strcmp(x->request.path, "/beat") == 0 || strcmp(x->request.path, "/idleBeat") == 0;
}

static void write_request(struct http_client *client, struct exchange *x)
{
    sim_move(client->run);
    if (x->how == EXECUTOR_GONE || client->run->state == RUN_KILLED) {
        end_without(client, x, HTTP_UNREACHED, "connection refused");
    } else if (x->request.may_send && !x->request.may_send(x->request.arg)) {
        end_without(client, x, HTTP_REFUSED, "not sent");
    } else {
        x->written = true;
        x->at_us = x->how == EXECUTOR_SILENT ? x->timeout_us
                   : x->how == EXECUTOR_SLOW ? fibers_now_us() + (int64_t)fibers_draw(2500000)
                                             : fibers_now_us() + (int64_t)fibers_draw(3000);
        if (!is_question(x))
            sim_arrive(client->run, x->request.peer->executor, x->request.body, x->request.body_len);
        sim_move(client->run);
    }
}

/* The job runs there, and somebody asks whether it does. */
static bool is_busy(const struct sim *sim, const struct exchange *x)
{
    static const char key[] = "\"jobId\":";
    const char *at = memmem(x->request.body, x->request.body_len, key, sizeof key - 1);

    return strcmp(x->request.path, "/idleBeat") == 0 && at &&
           sim_is_busy(sim, x->request.peer->executor, strtoll(at + sizeof key - 1, NULL, 10), 0);
}

static void answer_request(struct http_client *client, struct exchange *x)
{
    static const char good[] = "{\"code\":200,\"msg\":null}", bad[] = "{\"code\":500,\"msg\":\"busy\"}";
    const char *body = x->how == EXECUTOR_REFUSES || is_busy(client->run->sim, x) ? bad : good;

    if (x->how == EXECUTOR_SILENT || fibers_now_us() >= x->timeout_us)
        end_without(client, x, HTTP_TIMEOUT, "no answer");
    else
        end_exchange(client, x,
                     &(struct http_answer){
                         .outcome = HTTP_ANSWERED, .written = true, .status = 200, .body = body, .len = strlen(body)});
}

/* One thing whose time has come. */
static bool handle_one(struct http_client *client)
{
    for (struct exchange *x = client->list; x; x = x->next) {
        if (x->at_us > fibers_now_us())
            continue;
        if (x->written)
            answer_request(client, x);
        else
            write_request(client, x);
        return true;
    }
    return false;
}

void http_client_turn(struct http_client *client, int64_t wait_us)
{
    int64_t until_us = fibers_now_us() + wait_us, next_us = until_us;
    bool any = false;

    watch_pause(wait_us / 1000);
    while (handle_one(client))
        any = true;
    for (const struct exchange *x = client->list; x; x = x->next)
        if (x->at_us < next_us)
            next_us = x->at_us;
    if (!any && !client->woken && next_us > fibers_now_us())
        fibers_wait(client, next_us - fibers_now_us());
    watch_step();
    client->woken = false;
    while (handle_one(client))
        continue;
}

void http_client_wake(struct http_client *client)
{
    client->woken = true;
    fibers_notify(client);
}

void http_client_abort(struct http_client *client)
{
    while (client->list)
        end_without(client, client->list, HTTP_ABORTED, "aborted");
}

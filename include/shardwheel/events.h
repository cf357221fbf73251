/* SPDX-License-Identifier: MIT */
/*
 * events: sends what has happened to webhooks (store/hook.h): POSTs of JSON, signed, at least once each, in order for
 * each job. That is a duty of one node: the owner of shard 0. Every node learns here which events are wanted.
 *
 * Threads     One of its own, with connections of its own; it waits for no receiver. events_test: any, and it waits.
 * Invariants  A receiver that is slow or away delays no other one. Of a job (or flow) one event at a time is under way
 *             for a webhook. What is not known to have been taken stays in the table: who owns shard 0 next sends it.
 * Time        A receiver that is away is tried again after 5, 10, 20 s and so on, at last every 10 minutes, with one
 *             event; one event that it does not take likewise, while events of other jobs go on. What has waited for
 *             DELIVERY_KEPT_MS when a try fails is given up.
 * Limits      EVENTS_AT_ONCE requests for each of HOOKS_MAX webhooks. No redirects. Addresses that executors must not
 *             have by the built-in rules of executor/networks.h are not called.
 */
#ifndef SHARDWHEEL_EVENTS_H
#define SHARDWHEEL_EVENTS_H

#include "shardwheel/base.h"
#include "shardwheel/counters.h"
#include "shardwheel/store/hook.h"

#define EVENTS_AT_ONCE 8
#define EVENTS_MESSAGE_MAX 4096 /* bytes of a run's message */
#define EVENTS_TIMEOUT_MS 10000

struct events;
struct resolver;
struct store;

struct events_opts {
    struct store *store;
    struct resolver *resolver;
    const char *ca;                  /* PEM file for webhooks; "": the system's. Borrowed */
    bool off;                        /* no webhook counts */
    int64_t (*get_epoch)(void *arg); /* of shard 0 while this node owns it, else 0 */
    void *arg;
};

/* Learns which events are wanted: to be called before anything can end. */
MUST_CHECK enum err events_create(const struct events_opts *opts, const struct clock *clock, struct counters *counters,
                                  struct events **out, struct errctx *ec);
MUST_CHECK enum err events_start(struct events *v, struct errctx *ec);
void events_stop(struct events *v); /* requests under way are cut off */
void events_join(struct events *v);
void events_destroy(struct events *v); /* NULL is fine */

/* ---- pure -------------------------------------------------------------------------------------------------------- */

int64_t events_find_pause_ms(int failures); /* after so many in a row, 1 at least */
/* ERR_INPUT: no URL of http or https, or an address that must not be called; the text does not show it. */
MUST_CHECK enum err events_check_url(const char *url, struct errctx *ec);
/* What is sent of an event. */
void events_put_body(struct buf *out, const struct hook_event *event);

/* ---- a try ------------------------------------------------------------------------------------------------------- */

/* Sends an event of test, once, and waits for its end. ERR_LOST: it was not taken, and why; *status: 0 without an
 * answer. */
MUST_CHECK enum err events_test(const struct hook_row *hook, const char *ca, struct resolver *resolver,
                                const struct clock *clock, int *status, struct errctx *ec);

#endif

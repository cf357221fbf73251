/* SPDX-License-Identifier: MIT */
/*
 * receiver: sends messages to one channel, or to the mail server, one after another.
 *
 * Threads     One of its own: a receiver that is slow or away holds up nobody else. receiver_post and receiver_stop may
 *             be called by any thread.
 * Ownership   A parcel is the receiver's from receiver_post until `done` is called with it, on the thread of the
 *             receiver; then it is the caller's again.
 * Time        A receiver that is away is tried again after 2, 10, 30, 30, ... s. What has waited for a minute when a
 *             try fails has failed.
 * Limits      RECEIVER_QUEUE_MAX parcels wait; then receiver_post says no.
 */
#ifndef ALARM_RECEIVER_H
#define ALARM_RECEIVER_H

#include <sys/queue.h>

#include "alarm/channels.h"
#include "alarm/client.h"
#include "alarm/message.h"
#include "shardwheel/counters.h"

#define RECEIVER_QUEUE_MAX 1000

struct parcel {
    STAILQ_ENTRY(parcel) in_queue; /* of whose it is */
    struct message *message;       /* a reference of its own */
    char *to;                      /* of a mail */
    int64_t posted_mono_ms;        /* filled in by receiver_post */
    void *owner;                   /* for `done` */
    char channel[41];              /* for notes */
    /* Filled in by the receiver. */
    bool sent;
    bool given_up;   /* it was not tried as often as it may: the node stops, or another one tells now */
    char error[300]; /* why it was not sent */
};
STAILQ_HEAD(parcel_list, parcel);
struct parcel *parcel_create(struct message *message, const char *to, void *owner); /* NULL: out of memory */
void parcel_destroy(struct parcel *d);                                              /* NULL is fine */

struct receiver_opts {
    const struct channel *channel; /* outlives the receiver */
    const char *from;              /* of mails; outlives the receiver */
    struct client *client;         /* the receiver's from now on, also when it cannot be made */
    bool once;                     /* one try each */
    bool (*may_send)(void *arg);   /* asked before each try; false: it is given up. NULL: always */
    void (*done)(void *arg, const struct channel *channel, struct parcel *d);
    void *arg;
};

struct receiver;
MUST_CHECK enum err receiver_create(const struct receiver_opts *opts, const struct clock *clock,
                                    struct counters *counters, struct receiver **out, struct errctx *ec);
MUST_CHECK enum err receiver_start(struct receiver *r, int number, struct errctx *ec);
const struct channel *receiver_get_channel(const struct receiver *r);
bool receiver_post(struct receiver *r, struct parcel *d); /* false: the queue is full; d stays the caller's */
void receiver_stop(struct receiver *r); /* a call under way ends within about a second; the rest is given up */
void receiver_join(struct receiver *r);
void receiver_destroy(struct receiver *r); /* NULL is fine */

/* How long to wait after so many tries failed in a row. Pure. */
int64_t receiver_find_pause_ms(int failures);

#endif

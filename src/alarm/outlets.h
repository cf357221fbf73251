/* SPDX-License-Identifier: MIT */
/*
 * outlets: all receivers of a node, and which of them a message goes to.
 *
 * Threads     outlets_collect: one caller at a time; else as the receivers.
 */
#ifndef ALARM_OUTLETS_H
#define ALARM_OUTLETS_H

#include "alarm/mail_text.h"
#include "alarm/receiver.h"
#include "shardwheel/counters.h"

struct outlets {
    struct channel_list channels;
    struct channel mail_channel; /* stands for all mails */
    char *from;
    struct receiver **receivers; /* as in `channels`, then that of all mails; NULL for a channel of mails, and for one
                                  * whose URL cannot be called */
    struct receiver *mail;       /* the last of them; NULL: no mail can be sent */
};

/* ERR_INPUT when a setting is wrong: the text begins with its key. Neither mail nor a webhook is fine: outlets_is_empty
 * then. `receiver`: may_send, done, arg and once are taken from it. */
MUST_CHECK enum err outlets_create(const struct alarms_opts *opts, const struct receiver_opts *receiver,
                                   const struct clock *clock, struct counters *counters, struct outlets *out,
                                   struct errctx *ec);
bool outlets_is_empty(const struct outlets *o);
/* A channel is for that group. */
bool outlets_serve(const struct outlets *o, const char *app);
MUST_CHECK enum err outlets_start(struct outlets *o, struct errctx *ec);
void outlets_stop(struct outlets *o); /* and waits until the threads have ended; may be called twice */
void outlets_fini(struct outlets *o);

/* What is to be posted where. */
struct outlet_post {
    struct receiver *receiver;
    struct parcel *parcel;
};
struct outlet_posts {
    struct outlet_post *items;
    size_t count;
    size_t refused;     /* mail addresses that are none, and mails without a mail server */
    bool has_address;   /* of mails there was more than commas and blanks */
    const char **quiet; /* names of channels that it is for, and that have their quiet hours */
    size_t quiet_count;
};
/* Of what a message is. */
struct outlet_about {
    const char *const *apps; /* of these groups; NULL: all channels get it, whatever group or tag they are for */
    size_t app_count;        /* 0: of none, which is for channels of all groups alone */
    bool any_tag;            /* whatever tags channels are for */
    const char *tags;        /* of the job, between commas; NULL: it is about no job */
    const char *emails;      /* addresses of the job, each of which gets it once; "": none */
    const char *only;        /* this channel gets it, and no address does; NULL: all */
    int64_t now_s;           /* whose hours are quiet then gets nothing; 0: none are */
};
MUST_CHECK enum err outlets_collect(struct outlets *o, const struct outlet_about *about, struct message *message,
                                    void *owner, struct outlet_posts *out, struct errctx *ec);
/* NULL: there is none of that name. */
const struct channel *outlets_find_channel(const struct outlets *o, const char *name);
void outlet_posts_fini(struct outlet_posts *posts, bool with_parcels);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * message: one alarm as it is told, the same to all its receivers.
 *
 * Threads     A message never changes once made; references may be taken and given back by any thread.
 */
#ifndef ALARM_MESSAGE_H
#define ALARM_MESSAGE_H

#include "shardwheel/store/alarm.h"
#include "shardwheel/store/watch.h"

enum alarm_event {
    ALARM_EVENT_FAILED,
    ALARM_EVENT_RECOVERED,
    ALARM_EVENT_OFFLINE,
    ALARM_EVENT_TEST,
    ALARM_EVENT_FLOW_FAILED,
    ALARM_EVENT_FLOW_LATE,
    ALARM_EVENT_FLOW_RECOVERED,
    ALARM_EVENT_WATCH, /* and what follows: see watch_event */
};

struct message {
    _Atomic int refs; /* [atomic] */
    /* [const] and all that follows. Texts are UTF-8 without control characters but line ends, and never NULL. */
    enum alarm_event event;
    char *title;
    char *text;
    char *html;      /* body of a mail */
    int64_t job_id;  /* 0: it is about no job */
    int64_t flow_id; /* 0: it is about no flow */
    int64_t run_id;  /* of the flow */
    int64_t log_id;
    int64_t count;
    int code;
    char *job_name; /* or that of the flow */
    char *group_name;
    char *app_name;
    char *reason;
    char *time;
    char *node;
    char *link;
};

const char *alarm_event_name(enum alarm_event event); /* in JSON */
struct message *message_ref(struct message *m);
void message_unref(struct message *m); /* NULL is fine */

/* How messages are worded. */
struct wording {
    const char *title; /* templates; "": the built-in ones */
    const char *text;
    const char *link; /* URL of the console, or "" */
    const char *node;
};
/* NULL when out of memory, as of both below. RECOVERED: `facts` are of the success, `count` failures were not told. */
struct message *message_create_job(const struct wording *wording, enum alarm_event event,
                                   const struct alarm_facts *facts, int64_t count);
/* Executors of a group are gone: `addresses` one to a line; `left`: how many others there are. */
struct message *message_create_offline(const struct wording *wording, const char *app, const char *addresses,
                                       size_t gone, size_t left);
/* A run of a flow has failed, is late, or ended well after one that failed. `apps`: the groups of its jobs, between
 * commas; `reason`: "" for none. */
struct message *message_create_flow(const struct wording *wording, enum alarm_event event,
                                    const struct flow_alarm *alarm, const char *apps, const char *reason);
/* Two for each kind: that it did not happen, and that it is over. */
enum alarm_event watch_event(enum watch_kind kind, bool over);
/* RECOVERED, too, where no success is at hand. `detail`: one sentence, "" for none. */
struct message *message_create_watch(const struct wording *wording, enum alarm_event event,
                                     const struct watch_facts *facts, int64_t target, int64_t log_id,
                                     const char *detail);
struct message *message_create_test(const struct wording *wording, const char *app);

#endif

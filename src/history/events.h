/* SPDX-License-Identifier: MIT */
/*
 * events: those that wait to be written, the oldest first, at most EVENTS_MAX. Those that do not fit are counted, and
 * an event tells of them when there is room again.
 *
 * Threads     One owner.
 */
#ifndef HISTORY_EVENTS_H
#define HISTORY_EVENTS_H

#include "shardwheel/store/history.h"

#define EVENTS_MAX 1000
#define EVENTS_BATCH 100 /* in one statement */
#define EVENT_DETAIL_MAX 400
#define EVENT_DATA_MAX 160

/* Zero-initialised: empty. */
struct events {
    struct event_row rows[EVENTS_MAX]; /* a ring; `detail` and `data` are texts below, the others are constants */
    char texts[EVENTS_MAX][EVENT_DETAIL_MAX];
    char data[EVENTS_MAX][EVENT_DATA_MAX];
    size_t first;
    size_t count;
    int64_t left_out; /* since there was room last */
};

/* `data` is copied (EVENT_DATA_MAX); the other texts of `row` are constants, or live as long as the queue. */
void events_post(struct events *q, const struct event_row *row, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Up to EVENTS_BATCH of the oldest, in their order; they stay until events_drop. */
size_t events_peek(const struct events *q, struct event_row out[EVENTS_BATCH]);
void events_drop(struct events *q, size_t count, const char *node, int64_t now_ms);

#endif

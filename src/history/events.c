/* SPDX-License-Identifier: MIT */
#include "history/events.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "shardwheel/history.h"

void events_post(struct events *q, const struct event_row *row, const char *fmt, ...)
{
    size_t at = (q->first + q->count) % EVENTS_MAX;
    va_list args;

    if (q->count == EVENTS_MAX) {
        q->left_out++;
        return;
    }
    va_start(args, fmt);
    vsnprintf(q->texts[at], EVENT_DETAIL_MAX, fmt, args);
    va_end(args);
    q->rows[at] = *row;
    q->rows[at].detail = q->texts[at];
    if (row->data) {
        snprintf(q->data[at], EVENT_DATA_MAX, "%s", row->data);
        q->rows[at].data = q->data[at];
    }
    q->count++;
}

size_t events_peek(const struct events *q, struct event_row out[EVENTS_BATCH])
{
    size_t n = q->count < EVENTS_BATCH ? q->count : EVENTS_BATCH;

    for (size_t i = 0; i < n; i++)
        out[i] = q->rows[(q->first + i) % EVENTS_MAX];
    return n;
}

void events_drop(struct events *q, size_t count, const char *node, int64_t now_ms)
{
    int64_t left_out = q->left_out;
    char data[40];

    q->first = (q->first + count) % EVENTS_MAX;
    q->count -= count;
    if (left_out == 0 || count == 0)
        return;
    q->left_out = 0;
    snprintf(data, sizeof data, "{\"count\":%" PRId64 "}", left_out);
    events_post(q,
                &(struct event_row){.at_ms = now_ms, .kind = EVENT_LEFT_OUT, .node = node, .shard = -1, .data = data},
                "%" PRId64 " events are missing: the database was unavailable, and the buffer was full.", left_out);
}

/* SPDX-License-Identifier: MIT */
/*
 * progress: how far calls of many results came, for their repeats.
 *
 * Why         A call has a second. One that needs longer is refused, and the executor sends the same body again. What
 *             was stored of it would be found then, but looking for it takes time as well: a backlog of some hundred
 *             thousand results would never get through. So the repeat goes on where the call ended.
 * Memory      PROGRESS_MAX calls, for PROGRESS_MS. Who is forgotten begins at the start again.
 * Threads     Any.
 */
#ifndef HTTP_EXECUTOR_PROGRESS_H
#define HTTP_EXECUTOR_PROGRESS_H

#include "http/executor/callbacks.h"
#include "http/message.h"

#define PROGRESS_MAX 32
#define PROGRESS_MS 300000 /* an executor repeats after 30 s */

struct progress_entry {
    size_t len; /* of the body; 0: the entry is free */
    unsigned char digest[16];
    int64_t noted_mono_ms;
    struct callback_mark mark;
};

struct progress {
    struct mutex lock;                           /* rank LOCK_LEAF */
    struct progress_entry entries[PROGRESS_MAX]; /* [lock] */
};

void progress_init(struct progress *p);
void progress_fini(struct progress *p);
/* The call with this body ended before this mark. */
void progress_note(struct progress *p, const struct http_request *q, const struct callback_mark *mark,
                   int64_t now_mono_ms);
/* True when a call with the same body got so far; that is forgotten with the question. */
bool progress_take(struct progress *p, const struct http_request *q, int64_t now_mono_ms, struct callback_mark *mark);

#endif

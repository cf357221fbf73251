/* SPDX-License-Identifier: MIT */
/*
 * fetch: the log of one run, asked of its executor page by page, many at a time.
 *
 * Threads     One owner, which turns the HTTP client.
 * Invariants  A log takes PAGES_MAX requests at most: where it is longer than that, and its executor says where it
 *             ends, the last request is for its end; else its beginning is kept, and a line that says so.
 */
#ifndef KEEP_FETCH_H
#define KEEP_FETCH_H

#include "keep/lanes.h"
#include "keep/text.h"
#include "shardwheel/executor/access.h"

#define FETCHES_MAX 16 /* at a time */
#define PAGES_MAX 4    /* requests for one log */

struct http_client;

enum fetch_end {
    FETCH_KEPT,    /* there is a text */
    FETCH_AWAY,    /* its executor cannot be reached, or did not answer in time */
    FETCH_NO_LOG,  /* it has none, or what it said is no log */
    FETCH_ABORTED, /* http_client_abort */
};

struct fetches {
    struct http_client *http;       /* its owner's, as all up to `arg` */
    struct executor_access *access; /* with what executors are asked */
    size_t text_max;
    /* Once for each that was started; the text is the fetch's own. */
    void (*ended)(void *arg, struct keep_item *item, enum fetch_end end, const struct buf *text, bool is_cut);
    void *arg;
    size_t count; /* under way */
};

/* False: it did not begin, and `ended` is not called. */
bool fetch_start(struct fetches *f, struct keep_item *item);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * result_queue: results that were posted, and when each of them is to be written: at once, or after a wait for its
 * callback, which may bring it along.
 *
 * Threads     One at a time: struct results has a lock for it.
 * Time        Passed in. A result waits RESULT_WAIT_MS, and up to RESULT_WAIT_MAX_MS while callbacks are behind.
 */
#ifndef RECORD_RESULT_QUEUE_H
#define RECORD_RESULT_QUEUE_H

#include "record/pairs.h"
#include "shardwheel/record.h"

#define RESULT_BATCH_MAX 1000 /* of one transaction */
#define RESULT_LOOK_MS 50     /* between two looks whether callbacks are behind still */

/* All zero but for waiting_max at first. */
struct result_queue {
    size_t waiting_max;
    struct result_list ready;   /* to be written, oldest first */
    struct result_list waiting; /* for their callbacks, oldest first */
    bool hurried;               /* nothing waits any more */
    int64_t behind_mono_ms;     /* until then callbacks are behind */
    size_t left, left_paired;   /* of those that waited: done with lately, and paired among them */
    size_t unpaid;              /* as planned, while waiting did not pay */
};

struct result *result_list_take(struct result_list *list); /* the first, or NULL */

/* Takes what is in the list. True: whoever writes should look. */
bool result_queue_post(struct result_queue *q, struct pairs *pairs, struct result_list *list, int64_t now_mono_ms,
                       int64_t now_boot_ms);
/* More callbacks come than are being written. */
void result_queue_note_behind(struct result_queue *q, int64_t now_mono_ms);
bool result_queue_is_due(const struct result_queue *q, int64_t now_mono_ms); /* something is to be written */
/* When that may be so without a further post; INT64_MAX: never. */
int64_t result_queue_get_look_ms(const struct result_queue *q, int64_t now_mono_ms);
/* One batch, with those whose wait ends by until_mono_ms. */
struct result_list result_queue_take(struct result_queue *q, int64_t now_mono_ms, int64_t until_mono_ms);
void result_queue_drop_paired(struct result_queue *q, struct result *r); /* one that waited: its callback wrote it */
size_t result_queue_count(const struct result_queue *q);

#endif

/* SPDX-License-Identifier: MIT */
/* move: the parts of a move of flow runs. Private to store. */
#ifndef STORE_FLOW_MOVE_H
#define STORE_FLOW_MOVE_H

#include "shardwheel/store/flow_move.h"
#include "store/conn/rows.h"

#define FLOW_LIST(item)                                                                                                \
    struct {                                                                                                           \
        item *items;                                                                                                   \
        size_t count;                                                                                                  \
        void *memory;                                                                                                  \
    }

/* All that is known of the runs of a move; each list by run. */
struct flow_batch {
    int *shards; /* whose epochs hold */
    size_t shard_count;
    FLOW_LIST(struct flow_moving) runs;
    FLOW_LIST(struct flow_step_row) steps;
    FLOW_LIST(struct flow_item_row) items;
    FLOW_LIST(struct flow_fire_end) ends;
    FLOW_LIST(struct flow_ask) asks;
    FLOW_LIST(struct flow_flight) flights;
    FLOW_LIST(struct flow_wake) wakes;
    FLOW_LIST(struct flow_item_result) results;
};
MUST_CHECK enum err flow_batch_read(struct store_session *s, const struct flow_move_order *order,
                                    struct flow_batch *batch, int64_t now_ms, struct errctx *ec);
void flow_batch_fini(struct flow_batch *batch);

MUST_CHECK enum err flow_changes_write(struct store_session *s, const struct flow_batch *batch,
                                       struct flow_changes *changes, const char *incarnation, int64_t now_ms,
                                       struct errctx *ec);

/* alarms.c: what people are to be told of. The last thing in a transaction: it may lock rows of flows. */
MUST_CHECK enum err flow_news_write(struct store_session *s, const struct flow_batch *batch, int64_t now_ms,
                                    struct errctx *ec);

#endif

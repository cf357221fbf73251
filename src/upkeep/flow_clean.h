/* SPDX-License-Identifier: MIT */
/*
 * flow_clean: removes old runs of flows, some at a time, flow by flow, each with its days; then what flows that are
 * gone have left; then it rests.
 *
 * Threads     One owner.
 */
#ifndef UPKEEP_FLOW_CLEAN_H
#define UPKEEP_FLOW_CLEAN_H

#include "shardwheel/store/flow.h"

#define FLOW_CLEAN_EVERY_MS (60 * 60000) /* between two rounds */
#define FLOW_CLEAN_PAGE 20               /* flows that are read at once */
#define FLOW_CLEAN_REST 2                /* after a step nothing is done for so many times as long as it took, */
#define FLOW_CLEAN_REST_MIN_MS 20        /* and so long at least */

struct flow_clean {
    int64_t retention_days; /* of the log */
    char after[FLOW_NAME_MAX + 1];
    struct {
        int64_t id;
        int64_t days; /* 0: its runs are kept */
    } flows[FLOW_CLEAN_PAGE];
    size_t count, at;
    bool last;       /* there are no others behind these */
    int64_t cleaned; /* in this round */
};

void flow_clean_init(struct flow_clean *c, int64_t retention_days);
void flow_clean_forget(struct flow_clean *c); /* the next step begins a round */
/* One step. *next_mono_ms: when the next one is due. */
MUST_CHECK enum err flow_clean_step(struct flow_clean *c, struct store_session *s, const struct clock *clock,
                                    int64_t *next_mono_ms, struct errctx *ec);

#endif

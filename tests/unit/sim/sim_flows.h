/* SPDX-License-Identifier: MIT */
/* The flows of a simulation: a table of which their documents are made, and by which their runs are checked. */
#ifndef TEST_SIM_FLOWS_H
#define TEST_SIM_FLOWS_H

#include "sim/sim_impl.h"

#define SHAPE_STEPS 6
#define SHAPE_EDGES 12
#define SHAPES 12

/* Jobs of flows, by their retries and what else is special about them. */
enum step_job { JOB_ONCE, JOB_TWICE_MORE, JOB_WAITS, JOB_BROADCAST, JOB_HOLDS, JOB_RESENT, FLOW_JOBS };

enum edge_on { ON_NONE, ON_SUCCESS, ON_FAILURE, ON_END };

struct shape {
    const char *name;
    const char *settings; /* members of the document */
    enum flow_policy policy;
    int64_t delay_s; /* of its schedule */
    struct shape_step {
        enum flow_step_kind kind;
        enum step_job job;
        bool join_any;
        int list_of;      /* of a map: the step whose result has the list */
        const char *flow; /* of a flow */
    } steps[SHAPE_STEPS];
    int step_count;
    struct shape_edge {
        int from, to;
        enum edge_on on; /* ON_NONE: there is no edge */
        int more_than;   /* only if the n of the first step's result is more than that; 0: whatever it is */
    } edges[SHAPE_EDGES];
};

struct sim_flows {
    int64_t jobs[FLOW_JOBS];
    struct shape shapes[SHAPES]; /* that of flow i is i - 1 */
    int count;
    const struct memory_log **fires; /* of flow runs, while it is looked at what came of them */
    size_t fire_count;
};

#endif

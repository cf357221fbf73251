/* SPDX-License-Identifier: MIT */
/* flowrun_impl: what the files of the thread `flows` share. */
#ifndef FLOWRUN_FLOWRUN_IMPL_H
#define FLOWRUN_FLOWRUN_IMPL_H

#include "flowrun/documents.h"
#include "flowrun/flights.h"
#include "flowrun/kills.h"
#include "shardwheel/flowrun.h"
#include "shardwheel/record.h"
#include "shardwheel/store/cluster.h"
#include "shardwheel/store/run.h"

#define ASIDE_MAX 100    /* runs that could not be moved */
#define EPOCH_STALE (-1) /* flights that are to be read anew, or dropped if the shard is not ours any more */

struct flowrun {
    struct flowrun_opts opts;    /* [const] */
    const struct clock *clock;   /* [const] */
    struct counters *counters;   /* [const] */
    struct kills *kills;         /* [const] */
    struct worker worker;        /* [const] locks by itself */
    struct documents *documents; /* [thread], as all below */
    struct direct_sender sender;
    struct direct_doubt doubt;
    struct flights flights;
    int64_t epochs[STORE_SHARDS_MAX]; /* with which the flights of each shard were loaded; 0: there are none of it */
    int n;
    int64_t again_mono_ms; /* when to read flights again; 0: never */
    bool compared;         /* likewise, in the next turn */
    int64_t nodes_mono_ms;
    bool waits_for_nodes;
    bool failing;
    int64_t aside_mono_ms[ASIDE_MAX]; /* runs that could not be moved are left alone until then */
    int64_t aside[ASIDE_MAX];
    size_t aside_count;
    struct advance_tally tally;
    bool cut;      /* runs of the move were left for the next one */
    int conflicts; /* moves in a row that met a row that somebody holds */
    size_t param_max;
    /* of the turn */
    struct flow_epoch owned[STORE_SHARDS_MAX];
    int shards[STORE_SHARDS_MAX];
    size_t owned_count;
    bool moved;
};

/* flowrun.c: the table knows better what is waited for. */
void flowrun_read_flights_again(struct flowrun *f);
/* moves.c: runs that are to be looked at, and those whose fires have ended. */
MUST_CHECK enum err moves_look_and_move(struct flowrun *f, struct store_session *s, struct errctx *ec);

#endif

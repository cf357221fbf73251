/* SPDX-License-Identifier: MIT */
/*
 * finder: finds what the failure monitor has to deal with: rows that failed, open fires of other runs of nodes, and
 * open planned rows (stale.h).
 *
 * Threads     One owner.
 * Invariants  A row that fails within 7 days is found, unless there are more open rows than can be watched, which is
 *             logged. After an error a look begins anew where it did before.
 */
#ifndef FOLLOW_FINDER_H
#define FOLLOW_FINDER_H

#include "follow/horizons.h"
#include "follow/stale.h"
#include "follow/watch.h"
#include "shardwheel/store/run.h"

#define FAILED_MAX 1000 /* failed rows in a pass */
#define GONE_MAX 10000

struct gone_fire {
    int64_t id;
    char incarnation[INCARNATION_MAX];
};

struct finder {
    const struct clock *clock;
    const char *incarnation; /* of this run of this node */
    bool begun;              /* front and back are known */
    bool warned_watch;
    int64_t front_id; /* rows up to here have been read, or belong to the past below */
    int64_t back_id;  /* rows of the past up to here have been read */
    int64_t back_end;
    struct horizons horizons; /* of earlier looks */
    struct watch watch;

    /* What the last look found. */
    int64_t failed[FAILED_MAX]; /* ascending */
    size_t failed_count;
    bool more; /* there are more than that */
    struct gone_fire gone[GONE_MAX];
    size_t gone_count;
    struct stale stale;
};

/* All zero before. The text stays. */
void finder_init(struct finder *f, const char *incarnation, const struct clock *clock);
void finder_fini(struct finder *f);
MUST_CHECK enum err finder_look(struct finder *f, struct store_session *s, struct errctx *ec);

#endif

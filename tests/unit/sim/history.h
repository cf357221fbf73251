/* SPDX-License-Identifier: MIT */
/*
 * history: what happens to a cluster at random: nodes that die, stand still, come back and stop; clocks, database,
 * locks and executors that fail; jobs that are edited; another number of shards. Then everything is well again for some
 * minutes, and the invariants must hold.
 */
#ifndef TEST_SIM_HISTORY_H
#define TEST_SIM_HISTORY_H

#include "sim/sim.h"

#define HISTORY_WHY_MAX 600

/* One history, all of it drawn from the seed. False when an invariant does not hold; `why` says which. */
bool history_run(uint64_t seed, enum memory_rule broken, char why[HISTORY_WHY_MAX]);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * lead: how long before its second a cursor is moved. A node that is killed between the two leaves the fires of that
 * second as "delivery unknown", so it is no longer than what the move has taken lately asks for.
 *
 * Threads     Those of its owner. Pure: values in, a number out.
 * Rule        99 of 100 of the last LEAD_SAMPLES moves were done in that time, and LEAD_MARGIN_MS more; and time for
 *             each fire of the second to be routed and written. Never less than LEAD_LEAST_MS nor more than
 *             LEAD_MOST_MS, which is what a node begins with.
 */
#ifndef SCHEDULE_RING_LEAD_H
#define SCHEDULE_RING_LEAD_H

#include "shardwheel/base.h"

#define LEAD_LEAST_MS 20
#define LEAD_MOST_MS 200
#define LEAD_MARGIN_MS 10
#define LEAD_FIRES_PER_MS 15
#define LEAD_SAMPLES 256
#define LEAD_SAMPLES_LEAST 16 /* with fewer it is LEAD_MOST_MS */

struct lead {
    int64_t took_ms[LEAD_SAMPLES]; /* the last ones, in a ring */
    size_t count;                  /* of all that were noted */
};

void lead_init(struct lead *l);
void lead_note(struct lead *l, int64_t took_ms); /* one move, from its beginning to its commit, or to its failure */
int64_t lead_get_ms(const struct lead *l, size_t fires);

#endif

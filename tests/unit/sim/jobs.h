/* SPDX-License-Identifier: MIT */
/* jobs: what the scenarios schedule. */
#ifndef TEST_SIM_JOBS_H
#define TEST_SIM_JOBS_H

#include "test.h"

#include "sim/sim.h"

#include <stdio.h>

/* So many jobs of every period from a second to a minute, in either kind of schedule. Returns the first, which is due
 * each second. */
static inline int64_t add_jobs(struct sim *sim, int count)
{
    static const int periods[] = {1, 2, 3, 5, 7, 10, 15, 20, 30, 60};
    int64_t first = 0;

    for (int i = 0; i < count; i++) {
        int period = periods[i % (int)ARRAY_LEN(periods)];
        char conf[40];
        int64_t id;

        snprintf(conf, sizeof conf, "%d/%d * * * * ?", i % period, period);
        id = i % 3 == 2     ? sim_add_rate(sim, period)
             : period == 60 ? sim_add_cron(sim, "17 * * * * ?")
                            : sim_add_cron(sim, conf);
        first = first ? first : id;
    }
    return first;
}

#endif

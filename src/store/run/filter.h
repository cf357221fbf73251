/* SPDX-License-Identifier: MIT */
/* filter: how runs are looked for: which indexes, and the conditions of a filter. Private to store. */
#ifndef STORE_RUN_FILTER_H
#define STORE_RUN_FILTER_H

#include "shardwheel/store/runs.h"
#include "store/conn/rows.h"

/* Which indexes serve a query. Names are those of the features, or constants. */
struct run_plan {
    const char *walk;   /* has the rows of the filter, and maybe others, in the order of the query; NULL: none has */
    bool exact;         /* ... and no others */
    bool keyed;         /* it begins with the job or the group of the filter */
    const char *sorted; /* has them in another order; NULL: none has */
    bool by_codes;      /* that one is over handle_code */
    bool by_groups;     /* the groups of the filter are looked up one by one, each as exactly as one group would be */
};
/* Pure. */
void run_plan_make(const struct store_features *f, const struct run_filter *filter, enum run_order order,
                   struct run_plan *out);

/* Conditions behind WHERE; each begins with one that is no AND, so the first stands alone. */
/* What an index over (job, time), (group, time) or (time) looks up: job, `group` (0: none) and, by time, the range. */
void run_put_prefix(struct sqlbuf *q, const struct zone *zone, const struct run_filter *filter, int64_t group);
/* " AND ...": all else. */
void run_put_rest(struct sqlbuf *q, const struct run_filter *filter);
void run_put_after(struct sqlbuf *q, enum run_order order, const struct run_place *place); /* nothing for no place */
void run_put_until(struct sqlbuf *q, enum run_order order, const struct run_place *place); /* that one included */
void run_put_order(struct sqlbuf *q, enum run_order order, int64_t limit, int64_t offset);
void run_put_table(struct sqlbuf *q, const char *index); /* " FROM ... WHERE "; NULL: whatever the server takes */

#endif

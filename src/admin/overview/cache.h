/* SPDX-License-Identifier: MIT */
/* overview_cache: overviews by the groups that they are of, and the last health. Private to admin. */
#ifndef ADMIN_OVERVIEW_CACHE_H
#define ADMIN_OVERVIEW_CACHE_H

#include "shardwheel/admin/overview.h"

#define OVERVIEWS 16
#define OVERVIEW_OLD_MS 60000 /* one that is older is no answer any more */

struct overview_place {
    uint64_t key;             /* of the groups; 0: free */
    bool making;              /* somebody makes a newer one */
    const struct overview *o; /* NULL: there was none yet; one reference */
};

struct overview_cache {
    struct mutex lock;                       /* rank LOCK_LEAF */
    struct overview_place places[OVERVIEWS]; /* [lock] */
    struct health health;                    /* [lock] */
    int64_t health_mono_ms;                  /* [lock] when it was loaded; 0: never */
};

void overview_cache_init(struct overview_cache *c);
void overview_cache_fini(struct overview_cache *c);
/* Of the groups of the choice: groups, those without an address, and addresses, each once. */
struct registry_snapshot;
MUST_CHECK enum err overview_count_executors(struct overview *o, const struct registry_snapshot *snap,
                                             const struct group_choice *choice, struct errctx *ec);

#endif

/* SPDX-License-Identifier: MIT */
/* engine_impl: the engine's own structures, for engine.c (what comes in and goes out) and decide.c (what to do). */
#ifndef COORD_ENGINE_IMPL_H
#define COORD_ENGINE_IMPL_H

#include "coord/engine.h"
#include "coord/share.h"

#define UUID_RANDOM_BYTES 10

/* One shard as this node sees it. */
struct seat {
    struct shard_lock lock;
    struct coord_grant grant;
    bool confirmed;       /* the lowest ticket that made the grant still stands */
    bool releasing;       /* handed over, the end of its ticket not yet confirmed */
    bool rotating;        /* given back because it was held for so long */
    bool finished;        /* leaving as the last: nothing of it is left to do */
    bool excess;          /* given back because it was above our share */
    uint64_t list_needed; /* at the head and at our share: the list of nodes to be read before we let pass; or 0 */
    int64_t pass_until_mono_ms; /* at the head again before that: everybody let it pass */
    int64_t away_until_mono_ms;
    int64_t taken_mono_ms;
    int64_t hold_until_mono_ms;
    int64_t vain_until_mono_ms;
};

/* How far a shutdown is. */
enum leaving {
    LEAVING_NOT,
    LEAVING_UNDECIDED, /* our membership ends; who else is there? */
    LEAVING_TO_OTHERS,
    LEAVING_LAST, /* nobody is there to take over: what is planned goes out, also of shards that nobody owns */
};

struct engine {
    int shards;
    char *node_name;
    char *base_path;
    char *member_data;
    int64_t max_hold_ms;
    zk_ask_fn ask;
    void *arg;

    struct seat *seats;
    struct share_item *items; /* room for share_choose */
    struct member member;
    char random[2 * UUID_RANDOM_BYTES + 1];
    uint64_t jitter; /* state of the generator */
    uint32_t sessions;
    bool connected;
    bool able;
    int64_t relief_mono_ms; /* since when others are able and we are not; or 0 */
    bool drained;
    enum leaving leaving;
    uint64_t leaving_list;         /* the list of nodes that decides, or 0 */
    int64_t leaving_until_mono_ms; /* it has to be decided */
    int64_t last_mono_ms;          /* when we turned out to be the last node */
    bool rejoining;                /* this session follows one in which we had shards, and was not connected yet */
    int64_t join_after_mono_ms;
    bool paths_wanted;
    int64_t paths_retry_mono_ms;
    const char *path_refused; /* why one of the folders could not be made, NULL while none was refused; static text */
    int streak;               /* how often in a row a shard above our share came back */
    int64_t excess_after_mono_ms;
    int64_t refused_log_mono_ms;
    uint64_t next_id;
};

int engine_count_grants(const struct engine *e, enum coord_wish wish);
/* Grants, asks back and says what each lock and the membership want; asks ZooKeeper for nothing. */
void engine_decide(struct engine *e, int64_t now_mono_ms);

#endif

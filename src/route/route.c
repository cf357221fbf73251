/* SPDX-License-Identifier: MIT */
#include "shardwheel/job.h"
#include "shardwheel/route.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "route/groups.h"
#include "route/turns.h"

#define FORGET_AFTER_MS (24 * 3600 * INT64_C(1000))

struct routes {
    int64_t forget_mono_ms; /* when the state is dropped next; 0 before the first round */
    struct turns turns;
    struct groups groups;
};

/* ---- planned addresses ------------------------------------------------------------------------------------------- */

/* FNV-1a with a last mixing. */
/* Without memory nothing is listed: the fire is routed anew. */
static bool is_listed(struct routes *r, const struct registry_group *group, const char *address, uint64_t hash)
{
    struct listed listed;

    return groups_get_listed(&r->groups, group, &listed) && listed_find(&listed, group, address, hash) != NOT_LISTED;
}

bool routes_can_keep(struct routes *r, const struct fire *fire, const struct registry_group *group,
                     uint64_t *address_hash)
{
    uint64_t hash;

    if (!fire->written_ahead || !group || fire->route_hash != fire->job->route_hash)
        return false;
    hash = route_hash_address(fire->address);
    if (!fire->broadcast && !is_listed(r, group, fire->address, hash))
        return false;
    *address_hash = hash;
    return true;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

/* Each picks an index of a list that is not empty. */
typedef size_t (*pick_fn)(struct routes *r, int64_t job_id, const struct registry_group *group);

static size_t pick_first(struct routes *r, int64_t job_id, const struct registry_group *group)
{
    (void)r, (void)job_id, (void)group;
    return 0;
}

static size_t pick_last(struct routes *r, int64_t job_id, const struct registry_group *group)
{
    (void)r, (void)job_id;
    return group->count - 1;
}

static size_t pick_random(struct routes *r, int64_t job_id, const struct registry_group *group)
{
    (void)job_id;
    return turns_draw(&r->turns) % group->count;
}

static size_t pick_round(struct routes *r, int64_t job_id, const struct registry_group *group)
{
    return turns_pick_round(&r->turns, job_id, group->count);
}

static size_t pick_hash(struct routes *r, int64_t job_id, const struct registry_group *group)
{
    const struct hash_ring *ring = groups_get_ring(&r->groups, group);

    return ring ? hash_ring_pick(ring, job_id) : route_pick_consistent_hash(job_id, group->addresses, group->count);
}

static size_t pick_least_often(struct routes *r, int64_t job_id, const struct registry_group *group)
{
    struct listed listed;

    return groups_get_listed(&r->groups, group, &listed) ? turns_pick_least_often(&r->turns, job_id, &listed)
                                                         : pick_random(r, job_id, group);
}

static size_t pick_longest_ago(struct routes *r, int64_t job_id, const struct registry_group *group)
{
    struct listed listed;

    return groups_get_listed(&r->groups, group, &listed) ? turns_pick_longest_ago(&r->turns, job_id, &listed)
                                                         : pick_random(r, job_id, group);
}

/* A strategy either picks, or has dispatch ask the executors in turn. */
static const struct strategy {
    const char *name;
    pick_fn pick;
    enum route_ask ask;
} strategies[] = {
    /* Broadcasts are expanded when they are planned: the address stands in the fire, there is nothing to pick. One that
     * was planned when nobody was registered is 0/1 and goes to the first address of those who are there by now; so
     * does a single fire of a job that became a broadcast after it was planned. */
    {"SHARDING_BROADCAST", pick_first, ROUTE_ASK_NOBODY},
    {"FIRST", pick_first, ROUTE_ASK_NOBODY},
    {"LAST", pick_last, ROUTE_ASK_NOBODY},
    {"ROUND", pick_round, ROUTE_ASK_NOBODY},
    {"RANDOM", pick_random, ROUTE_ASK_NOBODY},
    {"CONSISTENT_HASH", pick_hash, ROUTE_ASK_NOBODY},
    {"LEAST_FREQUENTLY_USED", pick_least_often, ROUTE_ASK_NOBODY},
    {"LEAST_RECENTLY_USED", pick_longest_ago, ROUTE_ASK_NOBODY},
    {"FAILOVER", NULL, ROUTE_ASK_ALIVE},
    {"BUSYOVER", NULL, ROUTE_ASK_IDLE},
};
static const struct strategy *const broadcast = &strategies[0];

size_t route_count(void)
{
    return ARRAY_LEN(strategies);
}

const char *route_name(size_t i)
{
    return strategies[i].name;
}

static const struct strategy *find_strategy(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(strategies); i++)
        if (strcmp(name, strategies[i].name) == 0)
            return &strategies[i];
    return NULL;
}

bool route_is_broadcast(const char *strategy)
{
    return strategy && strcmp(strategy, broadcast->name) == 0;
}

bool route_is_known(const char *strategy)
{
    return strategy && find_strategy(strategy);
}

static void choose(struct routes *r, const struct fire *fire, const struct strategy *strategy,
                   const struct registry_group *group, struct route_choice *out)
{
    if (fire->broadcast && fire->address)
        out->address = fire->address;
    else if (group->count == 0)
        snprintf(out->reason, sizeof(out->reason), "no address: no executor of group %.100s is registered",
                 group->app_name);
    else if (strategy->ask)
        out->ask = strategy->ask;
    else
        out->address = group->addresses[strategy->pick(r, fire->job_id, group)];
}

void routes_pick(struct routes *r, const struct fire *fire, const char *route, const struct registry_group *group,
                 struct route_choice *out)
{
    const char *name = route ? route : "";
    /* What was planned as a broadcast stays one, whatever the job says by now. */
    const struct strategy *strategy = fire->broadcast ? broadcast : find_strategy(name);

    out->address = NULL;
    out->ask = ROUTE_ASK_NOBODY;
    out->reason[0] = '\0';
    if (!group)
        snprintf(out->reason, sizeof(out->reason), "no address: executor group %lld does not exist",
                 (long long)fire->group);
    else if (!strategy && str_is_blank(name))
        snprintf(out->reason, sizeof(out->reason), "the job has no route strategy");
    else if (!strategy)
        snprintf(out->reason, sizeof(out->reason), "unknown route strategy \"%.100s\"", name);
    else
        choose(r, fire, strategy, group, out);
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

enum err routes_create(uint64_t seed, struct routes **out, struct errctx *ec)
{
    struct routes *r = calloc(1, sizeof *r);

    if (!r)
        return err_set(ec, ERR_NOMEM, "out of memory for the routes");
    if (!seed) {
        char text[2 * 8 + 1];
        enum err e = random_hex(text, 8, ec);

        if (e) {
            free(r);
            return e;
        }
        seed = strtoull(text, NULL, 16) | 1;
    }
    r->turns.random = seed;
    *out = r;
    return ERR_OK;
}

static void forget_state(struct routes *r)
{
    groups_fini(&r->groups);
    turns_forget(&r->turns);
}

void routes_begin(struct routes *r, int64_t now_mono_ms)
{
    groups_begin(&r->groups);
    if (now_mono_ms > r->forget_mono_ms) {
        forget_state(r);
        r->forget_mono_ms = now_mono_ms + FORGET_AFTER_MS;
    }
}

void routes_destroy(struct routes *r)
{
    if (!r)
        return;
    forget_state(r);
    free(r);
}

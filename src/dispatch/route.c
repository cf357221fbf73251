/* SPDX-License-Identifier: MIT */
#include "dispatch/route.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/hash_ring.h"

#define FORGET_AFTER_MS (24 * 3600 * INT64_C(1000))
#define ROUND_START_BELOW 100
#define ROUND_MAX 1000000

/* Open addressing; `count` of 0 means an empty place. */
struct round_place {
    int64_t job_id;
    int64_t count; /* the value that was used last, plus 1 */
};

struct round_map {
    struct round_place *places;
    size_t size; /* a power of two, or 0 */
    size_t used;
};

struct group_ring {
    int64_t group;
    uint64_t checked_round; /* the round in which the list was compared last */
    struct hash_ring ring;
};

struct routes {
    uint64_t random;
    uint64_t round_number;
    int64_t forget_mono_ms; /* when the state is dropped next; 0 before the first round */
    struct round_map rounds;
    struct group_ring *rings; /* ascending by group */
    size_t ring_count;
};

/* ---- ROUND ------------------------------------------------------------------------------------------------------ */

/* xorshift64*: spread, not secrecy, is what is wanted. */
static uint64_t next_random(struct routes *r)
{
    r->random ^= r->random >> 12;
    r->random ^= r->random << 25;
    r->random ^= r->random >> 27;
    return r->random * UINT64_C(2685821657736338717);
}

static struct round_place *find_round_place(struct round_map *map, int64_t job_id)
{
    size_t at = (size_t)((uint64_t)job_id * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (map->size - 1);

    while (map->places[at].count && map->places[at].job_id != job_id)
        at = (at + 1) & (map->size - 1);
    return &map->places[at];
}

static bool grow_round_map(struct round_map *map)
{
    struct round_map bigger = {.size = map->size ? map->size * 2 : 1024, .used = map->used};

    bigger.places = calloc(bigger.size, sizeof(*bigger.places));
    if (!bigger.places)
        return false;
    for (size_t i = 0; i < map->size; i++)
        if (map->places[i].count)
            *find_round_place(&bigger, map->places[i].job_id) = map->places[i];
    free(map->places);
    *map = bigger;
    return true;
}

/* The counter of the job after this use. Without memory the route still works, only not in turn. */
static uint64_t count_round(struct routes *r, int64_t job_id)
{
    struct round_map *map = &r->rounds;
    struct round_place *place;

    if (map->used * 2 >= map->size && !grow_round_map(map))
        return next_random(r) % ROUND_START_BELOW;
    place = find_round_place(map, job_id);
    if (!place->count)
        map->used++;
    if (!place->count || place->count - 1 > ROUND_MAX)
        place->count = (int64_t)(next_random(r) % ROUND_START_BELOW) + 1;
    else
        place->count++;
    place->job_id = job_id;
    return (uint64_t)place->count - 1;
}

/* ---- CONSISTENT_HASH -------------------------------------------------------------------------------------------- */

static struct group_ring *find_ring(struct routes *r, int64_t group, size_t *place)
{
    size_t low = 0, high = r->ring_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->rings[middle].group < group)
            low = middle + 1;
        else
            high = middle;
    }
    *place = low;
    return low < r->ring_count && r->rings[low].group == group ? &r->rings[low] : NULL;
}

/* The ring of the group's present list, or NULL when out of memory. */
static const struct hash_ring *get_ring(struct routes *r, const struct registry_group *group)
{
    size_t place;
    struct group_ring *found = find_ring(r, group->id, &place);

    if (!found) {
        struct group_ring *grown = realloc(r->rings, (r->ring_count + 1) * sizeof(*grown));
        if (!grown)
            return NULL;
        memmove(&grown[place + 1], &grown[place], (r->ring_count - place) * sizeof(*grown));
        r->rings = grown;
        r->ring_count++;
        found = &grown[place];
        *found = (struct group_ring){.group = group->id};
    }
    if (found->checked_round != r->round_number) {
        if (hash_ring_set(&found->ring, group->addresses, group->count) != ERR_OK)
            return NULL;
        found->checked_round = r->round_number;
    }
    return &found->ring;
}

/* ---- the table -------------------------------------------------------------------------------------------------- */

/* Each picks from a list that is not empty. */
static const char *pick_first(struct routes *r, const struct fire *fire, const struct registry_group *group)
{
    (void)r, (void)fire;
    return group->addresses[0];
}

static const char *pick_round(struct routes *r, const struct fire *fire, const struct registry_group *group)
{
    return group->addresses[count_round(r, fire->job_id) % group->count];
}

static const char *pick_hash(struct routes *r, const struct fire *fire, const struct registry_group *group)
{
    const struct hash_ring *ring = get_ring(r, group);

    return group->addresses[ring ? hash_ring_pick(ring, fire->job_id)
                                 : route_pick_consistent_hash(fire->job_id, group->addresses, group->count)];
}

/*
 * A strategy that needs nothing but its own state (LAST, RANDOM, the least used ones) is one more row. One that asks executors first
 * (FAILOVER, BUSYOVER) must not do so here, on the ring thread: its row will name the question, and the loop will put it to
 * the addresses in turn before it sends the fire.
 */
static const struct strategy {
    const char *name;
    const char *(*pick)(struct routes *r, const struct fire *fire, const struct registry_group *group);
} strategies[] = {
    {"FIRST", pick_first},
    {"ROUND", pick_round},
    {"CONSISTENT_HASH", pick_hash},
};
/* Broadcasts are expanded when they are planned: the address stands in the fire, there is nothing to pick. A single fire of a
 * job that became a broadcast after it was planned goes to the first address. */
static const struct strategy broadcast = {"SHARDING_BROADCAST", pick_first};

static const struct strategy *find_strategy(const char *name)
{
    if (!name)
        return NULL;
    if (strcmp(name, broadcast.name) == 0)
        return &broadcast;
    for (size_t i = 0; i < ARRAY_LEN(strategies); i++)
        if (strcmp(name, strategies[i].name) == 0)
            return &strategies[i];
    return NULL;
}

bool route_is_known(const char *strategy)
{
    return find_strategy(strategy) != NULL;
}

bool route_is_broadcast(const char *strategy)
{
    return find_strategy(strategy) == &broadcast;
}

void routes_pick(struct routes *r, const struct fire *fire, const struct registry_group *group,
                 struct route_choice *out)
{
    const char *name = fire->job->route ? fire->job->route : "";
    /* What was planned as a broadcast stays one, whatever the job says by now. */
    /* Old databases have jobs without one: the column allows NULL. */
    const struct strategy *strategy = fire->broadcast ? &broadcast : find_strategy(str_is_blank(name) ? "FIRST" : name);

    *out = (struct route_choice){0};
    if (!group)
        snprintf(out->reason, sizeof(out->reason), "no address: executor group %lld does not exist",
                 (long long)fire->group);
    else if (!strategy)
        snprintf(out->reason, sizeof(out->reason), "unknown route strategy \"%.100s\"", name);
    else if (fire->broadcast && fire->address)
        out->address = fire->address;
    else if (fire->broadcast || group->count == 0)
        snprintf(out->reason, sizeof(out->reason), "no address: no executor of group %.100s is registered",
                 group->app_name);
    else
        out->address = strategy->pick(r, fire, group);
}

/* ---- life ------------------------------------------------------------------------------------------------------- */

enum err routes_create(uint64_t seed, struct routes **out, struct errctx *ec)
{
    struct routes *r = calloc(1, sizeof(*r));

    if (!r)
        return err_set(ec, ERR_NOMEM, "out of memory for the routes");
    r->random = seed ? seed : 1; /* an xorshift that stands at 0 stays there */
    *out = r;
    return ERR_OK;
}

static void forget_state(struct routes *r)
{
    for (size_t i = 0; i < r->ring_count; i++)
        hash_ring_fini(&r->rings[i].ring);
    free(r->rings);
    free(r->rounds.places);
    r->rings = NULL;
    r->ring_count = 0;
    r->rounds = (struct round_map){0};
}

void routes_begin(struct routes *r, int64_t now_mono_ms)
{
    r->round_number++;
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

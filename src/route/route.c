/* SPDX-License-Identifier: MIT */
#include "shardwheel/job.h"
#include "shardwheel/route.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "route/hash_ring.h"

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

/* Open addressing; `at` of 0 means an empty place. */
struct listed_place {
    uint64_t hash;
    size_t at; /* index of the address, plus 1 */
};

/* What is kept of a group. */
struct group_state {
    int64_t group;
    uint64_t ring_round;  /* the round in which the ring was compared with the list last */
    uint64_t index_round; /* the round of which the index is */
    struct hash_ring ring;
    struct listed_place *index; /* the list by hash */
    size_t index_size;          /* a power of two, or 0 */
};

struct routes {
    uint64_t random;
    uint64_t round_number;
    int64_t forget_mono_ms; /* when the state is dropped next; 0 before the first round */
    struct round_map rounds;
    struct group_state *groups; /* ascending by group */
    size_t group_count;
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

    bigger.places = calloc(bigger.size, sizeof *bigger.places);
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

/* ---- groups ----------------------------------------------------------------------------------------------------- */

static struct group_state *find_state(struct routes *r, int64_t group, size_t *place)
{
    size_t low = 0, high = r->group_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->groups[middle].group < group)
            low = middle + 1;
        else
            high = middle;
    }
    *place = low;
    return low < r->group_count && r->groups[low].group == group ? &r->groups[low] : NULL;
}

/* NULL when out of memory. */
static struct group_state *get_state(struct routes *r, int64_t group)
{
    size_t place;
    struct group_state *found = find_state(r, group, &place);
    struct group_state *grown;

    if (found)
        return found;
    grown = realloc(r->groups, (r->group_count + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    memmove(&grown[place + 1], &grown[place], (r->group_count - place) * sizeof *grown);
    r->groups = grown;
    r->group_count++;
    grown[place] = (struct group_state){.group = group};
    return &grown[place];
}

/* ---- CONSISTENT_HASH -------------------------------------------------------------------------------------------- */

/* The ring of the group's present list, or NULL when out of memory. */
static const struct hash_ring *get_ring(struct routes *r, const struct registry_group *group)
{
    struct group_state *state = get_state(r, group->id);

    if (!state)
        return NULL;
    if (state->ring_round != r->round_number) {
        if (hash_ring_set(&state->ring, group->addresses, group->count) != ERR_OK)
            return NULL;
        state->ring_round = r->round_number;
    }
    return &state->ring;
}

/* ---- planned addresses ------------------------------------------------------------------------------------------ */

/* FNV-1a with a last mixing. */
uint64_t route_hash_address(const char *address)
{
    uint64_t h = hash_text(HASH_START, address);

    h = (h ^ h >> 33) * UINT64_C(0xff51afd7ed558ccd);
    return h ^ h >> 29;
}

static bool make_index(struct group_state *state, const struct registry_group *group)
{
    size_t size = 8;

    while (size < group->count * 2)
        size *= 2;
    if (size > state->index_size) {
        free(state->index);
        state->index_size = 0;
        state->index = calloc(size, sizeof *state->index);
        if (!state->index)
            return false;
        state->index_size = size;
    } else {
        memset(state->index, 0, state->index_size * sizeof *state->index);
    }
    for (size_t i = 0; i < group->count; i++) {
        uint64_t hash = route_hash_address(group->addresses[i]);
        size_t at = hash & (state->index_size - 1);

        while (state->index[at].at)
            at = (at + 1) & (state->index_size - 1);
        state->index[at] = (struct listed_place){hash, i + 1};
    }
    return true;
}

/* Without memory nothing is listed: the fire is routed anew. */
static bool is_listed(struct routes *r, const struct registry_group *group, const char *address, uint64_t hash)
{
    struct group_state *state = get_state(r, group->id);

    if (!state)
        return false;
    if (state->index_round != r->round_number) {
        if (!make_index(state, group))
            return false;
        state->index_round = r->round_number;
    }
    for (size_t at = hash & (state->index_size - 1); state->index[at].at; at = (at + 1) & (state->index_size - 1))
        if (state->index[at].hash == hash && strcmp(group->addresses[state->index[at].at - 1], address) == 0)
            return true;
    return false;
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
 * A strategy that needs nothing but its own state (LAST, RANDOM, the least used ones) is one more row. One that asks
 * executors first (FAILOVER, BUSYOVER) must not do so here, on the ring thread: its row will name the question, and the
 * loop will put it to the addresses in turn before it sends the fire.
 */
static const struct strategy {
    const char *name;
    const char *(*pick)(struct routes *r, const struct fire *fire, const struct registry_group *group);
} strategies[] = {
    {"FIRST", pick_first},
    {"ROUND", pick_round},
    {"CONSISTENT_HASH", pick_hash},
};
/* Broadcasts are expanded when they are planned: the address stands in the fire, there is nothing to pick. A single
 * fire of a job that became a broadcast after it was planned goes to the first address. */
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

bool route_is_broadcast(const char *strategy)
{
    return find_strategy(strategy) == &broadcast;
}

void routes_pick(struct routes *r, const struct fire *fire, const char *route, const struct registry_group *group,
                 struct route_choice *out)
{
    const char *name = route ? route : "";
    /* What was planned as a broadcast stays one, whatever the job says by now. */
    /* Old databases have jobs without one: the column allows NULL. */
    const struct strategy *strategy = fire->broadcast ? &broadcast : find_strategy(str_is_blank(name) ? "FIRST" : name);

    out->address = NULL;
    out->reason[0] = '\0';
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
    struct routes *r = calloc(1, sizeof *r);

    if (!r)
        return err_set(ec, ERR_NOMEM, "out of memory for the routes");
    if (!seed) { /* an xorshift that stands at 0 stays there */
        char text[2 * 8 + 1];
        enum err e = random_hex(text, 8, ec);

        if (e) {
            free(r);
            return e;
        }
        seed = strtoull(text, NULL, 16) | 1;
    }
    r->random = seed;
    *out = r;
    return ERR_OK;
}

static void forget_state(struct routes *r)
{
    for (size_t i = 0; i < r->group_count; i++) {
        hash_ring_fini(&r->groups[i].ring);
        free(r->groups[i].index);
    }
    free(r->groups);
    free(r->rounds.places);
    r->groups = NULL;
    r->group_count = 0;
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

/* SPDX-License-Identifier: MIT */
#include "route/groups.h"

#include <stdlib.h>
#include <string.h>

#include "shardwheel/route.h"

struct listed_place {
    uint64_t hash;
    size_t at; /* index of the address, plus 1; 0: an empty place */
};

struct group_state {
    int64_t group;
    uint64_t ring_round;   /* the round in which the ring was compared with the list last */
    uint64_t listed_round; /* the round of which the rest is */
    struct hash_ring ring;
    uint32_t *hashes;
    size_t hash_count, hash_room;
    struct listed_place *places;
    size_t size;
};

/* NULL when out of memory. */
static struct group_state *get_state(struct groups *groups, int64_t group)
{
    size_t place = list_find_place(groups->states, groups->count, sizeof *groups->states, group);
    struct group_state *found;

    if (place < groups->count && groups->states[place].group == group)
        return &groups->states[place];
    if (!list_grow(&groups->states, groups->count, sizeof *found))
        return NULL;
    found = &groups->states[place];
    memmove(found + 1, found, (groups->count - place) * sizeof *found);
    groups->count++;
    *found = (struct group_state){.group = group};
    return found;
}

const struct hash_ring *groups_get_ring(struct groups *groups, const struct registry_group *group)
{
    struct group_state *state = get_state(groups, group->id);

    if (!state)
        return NULL;
    if (state->ring_round != groups->round) {
        if (hash_ring_set(&state->ring, group->addresses, group->count) != ERR_OK)
            return NULL;
        state->ring_round = groups->round;
    }
    return &state->ring;
}

/* ---- addresses by hash ------------------------------------------------------------------------------------------- */

static bool make_places(struct group_state *state, size_t count)
{
    size_t size = 8;

    while (size < count * 2)
        size *= 2;
    if (size <= state->size) {
        memset(state->places, 0, state->size * sizeof *state->places);
        return true;
    }
    free(state->places);
    state->size = 0;
    state->places = calloc(size, sizeof *state->places);
    if (!state->places)
        return false;
    state->size = size;
    return true;
}

static bool make_hashes(struct group_state *state, size_t count)
{
    state->hash_count = 0;
    if (count <= state->hash_room)
        return true;
    free(state->hashes);
    state->hash_room = 0;
    state->hashes = malloc(count * sizeof *state->hashes);
    if (!state->hashes)
        return false;
    state->hash_room = count;
    return true;
}

static bool make_listed(struct group_state *state, const struct registry_group *group)
{
    if (!make_places(state, group->count) || !make_hashes(state, group->count))
        return false;
    for (size_t i = 0; i < group->count; i++) {
        uint64_t hash = route_hash_address(group->addresses[i]);
        size_t at = hash & (state->size - 1);

        while (state->places[at].at)
            at = (at + 1) & (state->size - 1);
        state->places[at] = (struct listed_place){hash, i + 1};
        state->hashes[i] = (uint32_t)hash;
    }
    state->hash_count = group->count;
    return true;
}

bool groups_get_listed(struct groups *groups, const struct registry_group *group, struct listed *out)
{
    struct group_state *state = get_state(groups, group->id);

    if (!state)
        return false;
    if (state->listed_round != groups->round) {
        if (!make_listed(state, group))
            return false;
        state->listed_round = groups->round;
    }
    *out = (struct listed){state->hashes, state->hash_count, state->places, state->size};
    return true;
}

size_t listed_find(const struct listed *listed, const struct registry_group *group, const char *address, uint64_t hash)
{
    size_t mask = listed->size - 1;

    for (size_t at = hash & mask; listed->places[at].at; at = (at + 1) & mask)
        if (listed->places[at].hash == hash && strcmp(group->addresses[listed->places[at].at - 1], address) == 0)
            return listed->places[at].at - 1;
    return NOT_LISTED;
}

size_t listed_find_hash(const struct listed *listed, uint32_t hash)
{
    size_t mask = listed->size - 1;

    for (size_t at = hash & mask; listed->places[at].at; at = (at + 1) & mask)
        if ((uint32_t)listed->places[at].hash == hash)
            return listed->places[at].at - 1;
    return NOT_LISTED;
}

void groups_begin(struct groups *groups)
{
    groups->round++;
}

void groups_fini(struct groups *groups)
{
    for (size_t i = 0; i < groups->count; i++) {
        hash_ring_fini(&groups->states[i].ring);
        free(groups->states[i].hashes);
        free(groups->states[i].places);
    }
    free(groups->states);
    groups->states = NULL;
    groups->count = 0;
}

uint64_t route_hash_address(const char *address)
{
    uint64_t h = hash_text(HASH_START, address);

    h = (h ^ h >> 33) * UINT64_C(0xff51afd7ed558ccd);
    return h ^ h >> 29;
}

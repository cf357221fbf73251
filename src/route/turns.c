/* SPDX-License-Identifier: MIT */
#include "route/turns.h"

#include <stdlib.h>
#include <string.h>

#define ROUND_START_BELOW 100
#define COUNT_MAX 1000000
#define FIRST_PLACES 1024

enum turn_kind { TURN_ROUND, TURN_OFTEN, TURN_AGO };

/* Of one listed address. */
struct use {
    uint32_t hash;  /* the address */
    uint32_t value; /* how often it was used; or when, counted in uses of the job */
};
#define USE_NEW UINT32_MAX /* of this address nothing is known yet: a job has no four thousand million turns a day */

struct turn {
    uint64_t key;     /* job and kind */
    uint32_t cost;    /* in units of 8 bytes; 0: an empty place */
    uint32_t count;   /* TURN_ROUND: the value that was used last; else: of `uses` */
    struct use *uses; /* in the order of the list when it was used last */
};

/* xorshift64*: spread, not secrecy, is what is wanted. */
uint64_t turns_draw(struct turns *t)
{
    t->random ^= t->random >> 12;
    t->random ^= t->random << 25;
    t->random ^= t->random >> 27;
    return t->random * UINT64_C(2685821657736338717);
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

/* Its place, or the empty one where it would be. */
static struct turn *find_place(const struct turn_map *map, uint64_t key)
{
    size_t at = (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (map->size - 1);

    while (map->places[at].cost && map->places[at].key != key)
        at = (at + 1) & (map->size - 1);
    return &map->places[at];
}

static bool grow(struct turn_map *map)
{
    struct turn_map bigger = *map;

    bigger.size = map->size ? map->size * 2 : FIRST_PLACES;
    bigger.places = calloc(bigger.size, sizeof *bigger.places);
    if (!bigger.places)
        return false;
    for (size_t i = 0; i < map->size; i++)
        if (map->places[i].cost)
            *find_place(&bigger, map->places[i].key) = map->places[i];
    free(map->places);
    *map = bigger;
    return true;
}

static void forget_map(struct turn_map *map)
{
    for (size_t i = 0; i < map->size; i++)
        free(map->places[i].uses);
    free(map->places);
    *map = (struct turn_map){0};
}

void turns_forget(struct turns *t)
{
    forget_map(&t->young);
    forget_map(&t->old);
}

/* The turn of the job, which has `count` 0 when it is new. NULL when out of memory. */
static struct turn *get_turn(struct turns *t, int64_t job_id, enum turn_kind kind, bool *is_new)
{
    uint64_t key = (uint64_t)job_id << 2 | kind;
    struct turn *turn = t->young.size ? find_place(&t->young, key) : NULL, *older;

    *is_new = false;
    if (turn && turn->cost)
        return turn;
    if (t->young.cost >= TURNS_MAX) {
        forget_map(&t->old);
        t->old = t->young;
        t->young = (struct turn_map){0};
    }
    if (t->young.used * 2 >= t->young.size && !grow(&t->young))
        return NULL;
    turn = find_place(&t->young, key);
    older = t->old.size ? find_place(&t->old, key) : NULL;
    if (older && older->cost) {
        *turn = *older;
        older->uses = NULL; /* its place stays taken: others may have been put behind it */
    }
    if (!turn->cost || (kind != TURN_ROUND && !turn->uses)) {
        *turn = (struct turn){.key = key, .cost = TURN_COST};
        *is_new = true;
    }
    t->young.used++;
    t->young.cost += turn->cost;
    return turn;
}

size_t turns_pick_round(struct turns *t, int64_t job_id, size_t count)
{
    bool is_new;
    struct turn *turn = get_turn(t, job_id, TURN_ROUND, &is_new);

    if (!turn)
        return turns_draw(t) % count;
    if (is_new || turn->count > COUNT_MAX)
        turn->count = (uint32_t)(turns_draw(t) % ROUND_START_BELOW);
    else
        turn->count++;
    return turn->count % count;
}

/* ---- uses of addresses ------------------------------------------------------------------------------------------- */

static bool is_of_list(const struct turn *turn, const struct listed *listed)
{
    if (turn->count != listed->count)
        return false;
    for (size_t i = 0; i < listed->count; i++)
        if (turn->uses[i].hash != listed->hashes[i])
            return false;
    return true;
}

/* Makes the uses those of the list; what is known of an address goes along. False when out of memory. */
static bool follow_list(struct turns *t, struct turn *turn, const struct listed *listed)
{
    struct use *uses;

    if (is_of_list(turn, listed))
        return true;
    uses = malloc(listed->count * sizeof *uses);
    if (!uses)
        return false;
    for (size_t i = 0; i < listed->count; i++)
        uses[i] = (struct use){listed->hashes[i], USE_NEW};
    for (size_t i = 0; i < turn->count; i++) {
        size_t at = listed_find_hash(listed, turn->uses[i].hash);
        if (at != NOT_LISTED)
            uses[at].value = turn->uses[i].value;
    }
    free(turn->uses);
    turn->uses = uses;
    turn->count = (uint32_t)listed->count;
    t->young.cost -= turn->cost;
    turn->cost = TURN_COST + turn->count;
    t->young.cost += turn->cost;
    return true;
}

static struct turn *get_uses(struct turns *t, int64_t job_id, enum turn_kind kind, const struct listed *listed)
{
    bool is_new;
    struct turn *turn = get_turn(t, job_id, kind, &is_new);

    return turn && follow_list(t, turn, listed) ? turn : NULL;
}

/* The first of the least. */
static size_t find_least(const struct turn *turn)
{
    size_t least = 0;

    for (size_t i = 1; i < turn->count; i++)
        if (turn->uses[i].value < turn->uses[least].value)
            least = i;
    return least;
}

size_t turns_pick_least_often(struct turns *t, int64_t job_id, const struct listed *listed)
{
    struct turn *turn = get_uses(t, job_id, TURN_OFTEN, listed);
    size_t least;

    if (!turn)
        return turns_draw(t) % listed->count;
    for (size_t i = 0; i < turn->count; i++)
        if (turn->uses[i].value > COUNT_MAX) /* USE_NEW, too */
            turn->uses[i].value = (uint32_t)(turns_draw(t) % listed->count);
    least = find_least(turn);
    turn->uses[least].value++;
    return least;
}

size_t turns_pick_longest_ago(struct turns *t, int64_t job_id, const struct listed *listed)
{
    struct turn *turn = get_uses(t, job_id, TURN_AGO, listed);
    uint32_t next = 0;
    size_t least;

    if (!turn)
        return turns_draw(t) % listed->count;
    for (size_t i = 0; i < turn->count; i++)
        if (turn->uses[i].value != USE_NEW && turn->uses[i].value >= next)
            next = turn->uses[i].value + 1;
    for (size_t i = 0; i < turn->count; i++)
        if (turn->uses[i].value == USE_NEW)
            turn->uses[i].value = next++;
    least = find_least(turn);
    turn->uses[least].value = next;
    return least;
}

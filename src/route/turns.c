/* SPDX-License-Identifier: MIT */
#include "route/turns.h"

#include <stdlib.h>
#include <string.h>

#define ROUND_START_BELOW 100
#define COUNT_MAX 1000000
#define FIRST_PLACES 1024

/* Of one job. 1 and above, so that a place of zeros is empty. */
enum turn_kind { TURN_ROUND = 1, TURN_OFTEN, TURN_AGO };

/* Of one listed address. */
struct use {
    uint32_t hash;  /* the address */
    uint32_t value; /* how often it was used; or when, counted in uses of the job */
};
#define USE_NEW UINT32_MAX /* of this address nothing is known yet: a job has no four thousand million turns a day */

struct turn {
    uint32_t job;
    uint32_t kind : 2;   /* enum turn_kind; 0: an empty place */
    uint32_t count : 30; /* TURN_ROUND: the value that was used last; else: of `uses` */
    struct use *uses;    /* in the order of the list when it was used last */
};
_Static_assert(sizeof(struct turn) == 16, "many jobs have one");

/* xorshift64*: spread, not secrecy, is what is wanted. */
uint64_t turns_draw(struct turns *t)
{
    t->random ^= t->random >> 12;
    t->random ^= t->random << 25;
    t->random ^= t->random >> 27;
    return t->random * UINT64_C(2685821657736338717);
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

static uint32_t cost_of(const struct turn *turn)
{
    return TURN_COST + (turn->kind == TURN_ROUND ? 0 : turn->count);
}

/* Its place, or the empty one where it would be. */
static struct turn *find_place(const struct turn_map *map, uint32_t job, enum turn_kind kind)
{
    uint64_t key = (uint64_t)job << 2 | kind;
    size_t at = (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (map->size - 1);

    while (map->places[at].kind && (map->places[at].job != job || map->places[at].kind != kind))
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
        if (map->places[i].kind)
            *find_place(&bigger, map->places[i].job, (enum turn_kind)map->places[i].kind) = map->places[i];
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
    uint32_t job = (uint32_t)job_id; /* an INT of the database */
    struct turn *turn = t->young.size ? find_place(&t->young, job, kind) : NULL, *older;

    *is_new = false;
    if (turn && turn->kind)
        return turn;
    if (t->young.cost >= TURNS_MAX) {
        forget_map(&t->old);
        t->old = t->young;
        t->young = (struct turn_map){0};
    }
    if (t->young.used * 4 >= t->young.size * 3 && !grow(&t->young))
        return NULL;
    turn = find_place(&t->young, job, kind);
    older = t->old.size ? find_place(&t->old, job, kind) : NULL;
    if (older && older->kind) {
        *turn = *older;
        older->uses = NULL; /* its place stays taken: others may have been put behind it */
    }
    if (!turn->kind || (kind != TURN_ROUND && !turn->uses)) {
        *turn = (struct turn){.job = job, .kind = kind};
        *is_new = true;
    }
    t->young.used++;
    t->young.cost += cost_of(turn);
    return turn;
}

size_t turns_pick_round(struct turns *t, int64_t job_id, size_t count)
{
    bool is_new;
    struct turn *turn = get_turn(t, job_id, TURN_ROUND, &is_new);

    if (!turn)
        return turns_draw(t) % count;
    if (is_new || turn->count > COUNT_MAX)
        turn->count = turns_draw(t) % ROUND_START_BELOW;
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
    t->young.cost -= cost_of(turn);
    turn->count = (uint32_t)listed->count;
    t->young.cost += cost_of(turn);
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

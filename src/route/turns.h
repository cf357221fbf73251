/* SPDX-License-Identifier: MIT */
/*
 * turns: what ROUND and the least-used routes remember of each job: whose turn it is, how often each address was used,
 * or when.
 *
 * Threads     Belongs to one thread at a time.
 * Invariants  As the original counts: ROUND begins at 0 to 99 and again behind 1,000,000; a count of uses begins at a
 *             random number below the length of the list, and again beyond 1,000,000; what is not listed any more is
 *             forgotten; by age an address that is new comes after all known ones, in the order of the list.
 * Bounds      Two generations of TURNS_MAX each: when the younger one is full, the older one is forgotten, which holds
 *             the jobs that were not routed for longest. Those begin anew.
 * Memory      Where there is none, the pick is a random one.
 */
#ifndef ROUTE_TURNS_H
#define ROUTE_TURNS_H

#include "route/groups.h"

/* In units of 8 bytes: a job costs TURN_COST, and 1 more for each address where addresses are counted. So the turns of
 * half a million jobs are remembered at least, of 350,000 where each has four addresses that are counted. */
#define TURNS_MAX ((size_t)4 * 1024 * 1024)
#define TURN_COST 8

struct turn;

struct turn_map {
    struct turn *places; /* open addressing */
    size_t size;         /* a power of two, or 0 */
    size_t used;
    size_t cost;
};

struct turns {
    uint64_t random; /* never 0 */
    struct turn_map young, old;
};

uint64_t turns_draw(struct turns *turns); /* a random number */
void turns_forget(struct turns *turns);   /* all jobs; zero-initialised is fine */

/* Each picks an index of the list, which is not empty, and counts the use. */
size_t turns_pick_round(struct turns *turns, int64_t job_id, size_t count);
size_t turns_pick_least_often(struct turns *turns, int64_t job_id, const struct listed *listed);
size_t turns_pick_longest_ago(struct turns *turns, int64_t job_id, const struct listed *listed);

#endif

/* SPDX-License-Identifier: MIT */
/* coord_nodes: nodes for tests with the schedule's part played by the test: what is asked back is released at once. */
#ifndef SHARDWHEEL_TESTS_COORD_NODES_H
#define SHARDWHEEL_TESTS_COORD_NODES_H

#include "shardwheel/coord.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define NODES_MAX 3
#define NODE_SHARDS 8

struct test_node {
    struct coord *coord;
    struct counters counters;
    _Atomic int changes; /* [atomic] calls of `changed` */
};

static struct test_node nodes[NODES_MAX];

static void on_changed(void *arg, int shard)
{
    struct test_node *n = arg;

    assert_in_range(shard, 0, NODE_SHARDS - 1);
    /* Only counts; nothing is ordered by it. */
    atomic_fetch_add_explicit(&n->changes, 1, memory_order_relaxed);
}

static void release_what_is_asked_back(void)
{
    for (size_t i = 0; i < NODES_MAX; i++) {
        for (int k = 0; nodes[i].coord && k < NODE_SHARDS; k++) {
            struct coord_grant g = coord_get_grant(nodes[i].coord, k);

            if (g.wish == COORD_GIVE_BACK || g.wish == COORD_FINISH)
                coord_release(nodes[i].coord, k, g.serial);
        }
    }
}

static int count_owned(int i)
{
    int n = 0;

    for (int k = 0; k < NODE_SHARDS; k++)
        n += coord_get_grant(nodes[i].coord, k).wish == COORD_OWN;
    return n;
}

static void wait_a_moment(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 5 * 1000 * 1000}, NULL);
}

/* Polls until the condition holds; milliseconds it took, or -1 when it did not within max_ms. */
static int64_t wait_until(bool (*holds)(void), int64_t max_ms)
{
    int64_t begun = clock_mono_ms(clock_system());

    while (clock_mono_ms(clock_system()) - begun <= max_ms) {
        release_what_is_asked_back();
        if (holds())
            return clock_mono_ms(clock_system()) - begun;
        wait_a_moment();
    }
    return -1;
}

static void end_node(int i)
{
    struct coord *c = nodes[i].coord;

    if (!c)
        return;
    nodes[i].coord = NULL;
    coord_stop(c);
    coord_join(c);
    coord_destroy(c);
}

#endif

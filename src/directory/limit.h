/* SPDX-License-Identifier: MIT */
/* limit: until when a question waits. Private to directory. */
#ifndef DIRECTORY_LIMIT_H
#define DIRECTORY_LIMIT_H

#include "shardwheel/base.h"

#define LIMIT_SLICE_MS 250 /* how long is waited without a look at `stopping` */

struct limit {
    const struct clock *clock;    /* [const] */
    const _Atomic bool *stopping; /* [atomic] relaxed: only says when to end */
    int64_t deadline_mono_ms;     /* [const] */
};

static inline int64_t limit_left_ms(const struct limit *l)
{
    int64_t left = l->deadline_mono_ms - clock_mono_ms(l->clock);

    return left > 0 && !atomic_load_explicit(l->stopping, memory_order_relaxed) ? left : 0;
}

/* `limit`: as resolver_await has it. */
static inline int limit_slice_ms(const void *limit)
{
    int64_t left = limit_left_ms(limit);

    return (int)(left < LIMIT_SLICE_MS ? left : LIMIT_SLICE_MS);
}

#endif

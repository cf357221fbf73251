/* SPDX-License-Identifier: MIT */
/*
 * load_beats: how long each round of --beats took, and how long each beat waited for its answer. load_admin.c makes the
 * calls.
 */
#include "load_executor.h"

#include <inttypes.h>
#include <stdlib.h>

struct beat_round {
    int64_t took_us; /* from its begin to the last answer */
    int64_t failures;
    int64_t p50_us, p99_us;
};

struct beats {
    struct beat_round *rounds;
    int round;         /* the one under way */
    int64_t *waits_us; /* of the beats that are answered in this round, ascending because the clock is */
    int answered;
    int64_t begin_mono_us;
    int64_t failures_before;
};

static void begin_round(struct executor *x)
{
    x->beats->answered = 0;
    x->beats->begin_mono_us = now_mono_us();
    x->beats->failures_before = x->count.registry_failures;
}

void beats_start(struct executor *x)
{
    struct beats *b = calloc(1, sizeof(*b));

    if (b) {
        b->rounds = calloc((size_t)x->opt.rounds, sizeof(*b->rounds));
        b->waits_us = calloc((size_t)x->opt.beats, sizeof(*b->waits_us));
    }
    if (!b || !b->rounds || !b->waits_us)
        die("out of memory (%d beats)", x->opt.beats);
    x->beats = b;
    begin_round(x);
}

void beats_note(struct executor *x)
{
    struct beats *b = x->beats;

    b->waits_us[b->answered++] = now_mono_us() - b->begin_mono_us;
}

bool beats_is_over(const struct executor *x)
{
    return x->beats->answered == x->opt.beats;
}

bool beats_next_round(struct executor *x)
{
    struct beats *b = x->beats;

    b->rounds[b->round++] = (struct beat_round){
        .took_us = b->waits_us[b->answered - 1],
        .failures = x->count.registry_failures - b->failures_before,
        .p50_us = b->waits_us[(b->answered - 1) / 2],
        .p99_us = b->waits_us[(size_t)(b->answered - 1) * 99 / 100],
    };
    if (b->round == x->opt.rounds)
        return false;
    begin_round(x);
    return true;
}

void beats_print(const struct executor *x)
{
    const struct beats *b = x->beats;

    printf(",\"rounds\":[");
    for (int i = 0; i < b->round; i++) {
        const struct beat_round *r = &b->rounds[i];

        printf("%s{\"seconds\":%.4f,\"refused\":%" PRId64 ",\"p50_ms\":%.1f,\"p99_ms\":%.1f}", i ? "," : "",
               (double)r->took_us / 1e6, r->failures, (double)r->p50_us / 1e3, (double)r->p99_us / 1e3);
    }
    printf("]");
}

void beats_stop(struct executor *x)
{
    free(x->beats->rounds);
    free(x->beats->waits_us);
    free(x->beats);
    x->beats = NULL;
}

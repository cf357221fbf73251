/* SPDX-License-Identifier: MIT */
/*
 * flowrun/flights: fires whose ends are waited for, and when each is looked at next: often while it is young, at least
 * once a second. No clock and no database.
 *
 * Threads     One belongs to one thread.
 */
#ifndef FLOWRUN_FLIGHTS_H
#define FLOWRUN_FLIGHTS_H

#include "shardwheel/store/flow_move.h"

#define FLIGHT_LOOK_MIN_MS 25
#define FLIGHT_LOOK_MAX_MS 1000

struct flight {
    struct flow_fire fire;
    int64_t since_ms; /* monotonic, as all times here */
    int64_t look_ms;
};
struct flights {
    struct flight *list;
    size_t count;
    size_t at; /* where the next take begins: none waits for ever behind others that are due again */
};

MUST_CHECK enum err flights_add(struct flights *f, struct flow_fire fire, int64_t now_ms, struct errctx *ec);
void flights_drop_run(struct flights *f, int64_t run_id);
void flights_drop_shard(struct flights *f, int shard, int n);
void flights_clear(struct flights *f);
void flights_drop_logs(struct flights *f, const int64_t *log_ids, size_t count); /* ascending */
/* Those that are due, at most max; their next look is planned. */
size_t flights_take_due(struct flights *f, int64_t now_ms, struct flow_fire *out, size_t max);
int64_t flights_find_next_ms(const struct flights *f); /* INT64_MAX: there are none */
void flights_fini(struct flights *f);

#endif

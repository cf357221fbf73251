/* SPDX-License-Identifier: MIT */
#include "flowrun/flights.h"

#include <stdlib.h>

enum err flights_add(struct flights *f, struct flow_fire fire, int64_t now_ms, struct errctx *ec)
{
    if (!list_grow(&f->list, f->count, sizeof *f->list))
        return err_set(ec, ERR_NOMEM, "out of memory for the fires of flows");
    f->list[f->count++] = (struct flight){fire, now_ms, now_ms + FLIGHT_LOOK_MIN_MS};
    return ERR_OK;
}

void flights_drop_run(struct flights *f, int64_t run_id)
{
    size_t kept = 0;

    for (size_t i = 0; i < f->count; i++)
        if (f->list[i].fire.run_id != run_id)
            f->list[kept++] = f->list[i];
    f->count = kept;
}

void flights_drop_shard(struct flights *f, int shard, int n)
{
    size_t kept = 0;

    for (size_t i = 0; i < f->count; i++)
        if (f->list[i].fire.run_id % n != shard)
            f->list[kept++] = f->list[i];
    f->count = kept;
}

void flights_clear(struct flights *f)
{
    f->count = 0;
}

void flights_drop_logs(struct flights *f, const int64_t *log_ids, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < f->count; i++)
        if (!list_find(log_ids, count, sizeof *log_ids, f->list[i].fire.log_id))
            f->list[kept++] = f->list[i];
    f->count = kept;
}

static int64_t find_pause_ms(const struct flight *flight, int64_t now_ms)
{
    int64_t pause_ms = (now_ms - flight->since_ms) / 20;

    return pause_ms < FLIGHT_LOOK_MIN_MS   ? FLIGHT_LOOK_MIN_MS
           : pause_ms > FLIGHT_LOOK_MAX_MS ? FLIGHT_LOOK_MAX_MS
                                           : pause_ms;
}

size_t flights_take_due(struct flights *f, int64_t now_ms, struct flow_fire *out, size_t max)
{
    size_t n = 0;

    for (size_t seen = 0; seen < f->count && n < max; seen++) {
        struct flight *flight;
        f->at = f->at < f->count ? f->at : 0;
        flight = &f->list[f->at++];
        if (flight->look_ms > now_ms)
            continue;
        out[n++] = flight->fire;
        flight->look_ms = now_ms + find_pause_ms(flight, now_ms);
    }
    return n;
}

int64_t flights_find_next_ms(const struct flights *f)
{
    int64_t next_ms = INT64_MAX;

    for (size_t i = 0; i < f->count; i++)
        if (f->list[i].look_ms < next_ms)
            next_ms = f->list[i].look_ms;
    return next_ms;
}

FINI_BY(free, flights, list)

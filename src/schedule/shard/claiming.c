/* SPDX-License-Identifier: MIT */
/* What claims of jobs, later rows and fixed delays have in common: from which second on, and whether to go on. */
#include "schedule/shard/shard_impl.h"

int64_t shard_find_earliest_s(struct shard *shard, int64_t now_ms)
{
    int64_t earliest_s = time_floor_div(now_ms, 1000);
    int64_t passed_s = ring_get_passed_s(shard->deps.ring);
    int64_t hold_s = ring_get_hold_s(shard->deps.ring);

    if (earliest_s < passed_s)
        earliest_s = passed_s;
    /* The last owner's clock may have been ahead of ours. */
    if (earliest_s < shard->cursor_floor_s)
        earliest_s = shard->cursor_floor_s;
    /* A fire planned at the last moment for a second at which the number of shards changes might be pushed after it,
     * and the next owner would take it for one that was sent: such fires go out right behind that second. */
    if (hold_s != INT64_MAX && earliest_s < hold_s && earliest_s >= hold_s - HOLD_MARGIN_S)
        earliest_s = hold_s;
    return earliest_s + 1;
}

bool shard_pause_before_next_try(struct shard *shard)
{
    return worker_pause_until(&shard->worker, clock_mono_ms(shard->deps.clock) + 100);
}

/* A long window after an outage, or many rows that are locked, must not hold up a stop or a handover. */
bool shard_is_called_away(struct shard *shard)
{
    return worker_is_stopping(&shard->worker) || coord_get_grant(shard->deps.coord, shard->number).wish != COORD_OWN;
}

void shard_note_delayed(struct shard *shard, const struct claim_job *claim, const struct plan *plan)
{
    struct delays *d = &shard->delays;
    int64_t job = claim->job->id;

    if (!occurrences_is_delayed(claim->job) || claim->keeps_last)
        return;
    if (claim->fires && !claim->stop) {
        if (!delays_note_fires(d, job, claim->new_next_ms, claim->fires) && !d->full) {
            d->full = true;
            log_warn("schedule",
                     "event=delays_full shard=%d jobs=%zu effect=\"further FIX_DELAY jobs are due a day after their "
                     "last run\"",
                     shard->number, d->count);
        }
    } else if (plan->repeated && !claim->stop) {
        delays_move(d, job, claim->new_next_ms);
    } else {
        delays_forget(d, job);
    }
}

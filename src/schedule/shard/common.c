/* SPDX-License-Identifier: MIT */
/* What several files of a shard call: log lines, pushes, the end of doubtful rows. */
#include "schedule/shard/shard_impl.h"
#include "shardwheel/store/plan.h"

#include <inttypes.h>

static const char *const step_names[] = {
    [STEP_TAKEOVER] = "takeover",         [STEP_CLAIM] = "claim",          [STEP_SETTLE] = "settle_undelivered",
    [STEP_END_DOUBTFUL] = "end_doubtful", [STEP_DELAYS] = "follow_delays",
};

void shard_log_failure(struct shard *shard, enum shard_step step, const struct errctx *ec)
{
    /* One line when it begins, one when it ends: a database that is away must not fill the log. */
    if (!(shard->failing & 1u << step))
        log_warn("schedule", "event=failed step=%s shard=%d epoch=%" PRId64 " error=%s effect=\"tried again\"",
                 step_names[step], shard->number, shard->epoch, log_quote(ec->text).s);
    shard->failing |= 1u << step;
}

void shard_log_good(struct shard *shard, enum shard_step step)
{
    if (shard->failing & 1u << step)
        log_info("schedule", "event=recovered step=%s shard=%d epoch=%" PRId64, step_names[step], shard->number,
                 shard->epoch);
    shard->failing &= ~(1u << step);
}

void shard_push_all(struct shard *shard, struct fire *list)
{
    int64_t now_s = clock_wall_ms(shard->deps.clock) / 1000;

    while (list) {
        struct fire *fire = list;

        list = fire->next;
        /* Later rows are no occurrences of the job's schedule. */
        if (!(fire->flags & FIRE_LATER))
            recent_note(shard->recent, fire->job_id, fire->original_due_s, fire->due_s, now_s);
        if (fire->due_s > shard->planned_last_s)
            shard->planned_last_s = fire->due_s;
        ring_push(shard->deps.ring, fire);
    }
}

void shard_leave_doubtful(struct shard *shard)
{
    if (shard->doubtful_count > 0)
        log_warn("schedule",
                 "event=doubtful_fires_left shard=%d epoch=%" PRId64
                 " fires=%zu effect=\"the next owner sends them; a Java admin may have sent them too\"",
                 shard->number, shard->doubtful_epoch, shard->doubtful_count);
    shard->doubtful_count = 0;
}

void shard_end_doubtful(struct shard *shard)
{
    const struct shard_deps *deps = &shard->deps;
    struct store_session *session = NULL;
    struct errctx ec = {0};
    enum err e;

    if (shard->doubtful_count == 0)
        return;
    e = store_take_session(deps->opts.store, SESSION_CLAIM, &session, &ec);
    if (!e)
        e = store_end_doubtful(session, shard->number, shard->doubtful_epoch, shard->doubtful, shard->doubtful_count,
                               &ec);
    store_give_session(deps->opts.store, session);
    if (e == ERR_STATE) {
        shard_leave_doubtful(shard);
        return;
    }
    if (e) {
        shard_log_failure(shard, STEP_END_DOUBTFUL, &ec);
        return;
    }
    counters_add(deps->counters, COUNTER_FIRES_UNKNOWN, (int64_t)shard->doubtful_count);
    shard->doubtful_count = 0;
    shard_log_good(shard, STEP_END_DOUBTFUL);
}

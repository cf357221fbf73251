/* SPDX-License-Identifier: MIT */
#include "follow/lost_rule.h"
#include "shardwheel/job/times.h"

enum lost_reason lost_decide(const struct lost_facts *f)
{
    if (!f->registered && f->age_s >= LOST_UNREGISTERED_S)
        return LOST_UNREGISTERED;
    if (f->quiet_ms < LOST_QUIET_MS)
        return LOST_NOT;
    if (!f->registered && f->was_registered && f->away_ms >= LOST_AWAY_MS)
        return LOST_LEFT;
    return f->idle_ms >= LOST_IDLE_MS ? LOST_IDLE : LOST_NOT;
}

const char *lost_reason_text(enum lost_reason reason)
{
    static const char *const texts[LOST_REASONS] = {
        [LOST_NOT] = "",
        [LOST_UNREGISTERED] = "lost: no result came within 10 minutes, and the executor's address is not registered",
        [LOST_LEFT] = "lost: the executor has left, and no result came",
        [LOST_IDLE] = "lost: the executor says that the job is idle there, and no result came",
    };

    return texts[reason];
}

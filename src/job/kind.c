/* SPDX-License-Identifier: MIT */
/* Kinds of trigger. */
#include "shardwheel/job.h"

const char *trigger_kind_name(enum trigger_kind kind)
{
    static const char *const names[TRIGGER_KINDS] = {
        [TRIGGER_CRON] = "cron",     [TRIGGER_MISFIRE] = "misfire", [TRIGGER_RETRY] = "retry",
        [TRIGGER_MANUAL] = "manual", [TRIGGER_PARENT] = "parent",   [TRIGGER_API] = "api",
    };

    return names[kind];
}

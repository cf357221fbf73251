/* SPDX-License-Identifier: MIT */
/* Kinds of trigger. */
#include "shardwheel/job.h"

const char *trigger_kind_name(enum trigger_kind kind)
{
    static const char *const names[TRIGGER_KINDS] = {
        [TRIGGER_CRON] = "cron",     [TRIGGER_MISFIRE] = "misfire", [TRIGGER_RETRY] = "retry",
        [TRIGGER_MANUAL] = "manual", [TRIGGER_PARENT] = "parent",   [TRIGGER_API] = "api",
        [TRIGGER_FLOW] = "flow",
    };

    return names[kind];
}

static const char letters[TRIGGER_KINDS] = {
    [TRIGGER_CRON] = 'C',   [TRIGGER_MISFIRE] = 'F', [TRIGGER_RETRY] = 'R', [TRIGGER_MANUAL] = 'M',
    [TRIGGER_PARENT] = 'P', [TRIGGER_API] = 'A',     [TRIGGER_FLOW] = 'W',
};

char trigger_kind_letter(enum trigger_kind kind)
{
    return letters[kind];
}

bool trigger_kind_of_letter(char letter, enum trigger_kind *out)
{
    for (enum trigger_kind kind = 0; kind < TRIGGER_KINDS; kind++)
        if (letters[kind] == letter) {
            *out = kind;
            return true;
        }
    return false;
}

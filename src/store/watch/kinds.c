/* SPDX-License-Identifier: MIT */
/* Names of what may not happen. */
#include "shardwheel/store/watch.h"

#include <string.h>

static const char *const names[WATCH_KINDS + 1] = {
    [WATCH_NO_SUCCESS] = "no_success",       [WATCH_LONG_RUN] = "long_run",     [WATCH_NOT_DONE] = "not_done",
    [WATCH_FEW_EXECUTORS] = "few_executors", [WATCH_LATE_SHARD] = "late_shard",
};

const char *watch_kind_name(enum watch_kind kind)
{
    return names[kind];
}

const char *const *watch_kind_names(void)
{
    return names;
}

bool watch_kind_parse(const char *name, enum watch_kind *out)
{
    for (int k = 0; k < WATCH_KINDS; k++) {
        if (strcmp(names[k], name) == 0) {
            *out = (enum watch_kind)k;
            return true;
        }
    }
    return false;
}

bool watch_kind_is_of_jobs(enum watch_kind kind)
{
    return kind == WATCH_NO_SUCCESS || kind == WATCH_LONG_RUN || kind == WATCH_NOT_DONE;
}

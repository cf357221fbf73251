/* SPDX-License-Identifier: MIT */
/*
 * offline: finds executors that have gone without a word, and groups that have become empty, from what the registry
 * holds now and held before. Pure but for memory.
 *
 * A row that went when its last beat was 80 s old or older was removed because its executor was dead; a younger one,
 * because the executor said so: that is told only when its group has stayed empty for a minute.
 *
 * Time        Monotonic, passed in.
 * Limits      OFFLINE_APPS_MAX groups at a time; what is beyond is not told.
 */
#ifndef ALARM_OFFLINE_H
#define ALARM_OFFLINE_H

#include "shardwheel/store/alarm.h"

#define OFFLINE_APPS_MAX 1000
#define OFFLINE_DEAD_S 80
#define OFFLINE_EMPTY_MS 60000

struct offline_app {
    char *app;
    size_t gone;          /* addresses that nobody was told of */
    struct buf addresses; /* the first of them, one to a line */
    size_t left;          /* addresses that are there */
    int64_t emptied_ms;   /* since when it is empty and nobody was told; -1: it is not */
    int64_t quiet_until_ms;
};

struct offline {
    bool begun;
    struct executor_beats before;
    int64_t before_ms;
    struct offline_app *apps;
    size_t app_count;
};

void offline_reset(struct offline *o); /* frees, too */
/* What the registry holds now; takes `beats`. */
MUST_CHECK enum err offline_note(struct offline *o, struct executor_beats *beats, int64_t now_ms, struct errctx *ec);
/* The next group that is to be told of, and is then quiet for quiet_ms; false: none. The texts of *out live until the
 * next call. */
bool offline_take(struct offline *o, int64_t now_ms, int64_t quiet_ms, struct offline_app *out);

#endif

/* SPDX-License-Identifier: MIT */
#include "keep/lanes.h"

#include <stdlib.h>
#include <string.h>

void lanes_init(struct keep_lanes *l)
{
    *l = (struct keep_lanes){.count = 0};
    TAILQ_INIT(&l->list);
}

static void remove_lane(struct keep_lanes *l, struct keep_lane *lane)
{
    TAILQ_REMOVE(&l->list, lane, next);
    l->count--;
    if (l->forget)
        l->forget(l->arg, lane);
    free(lane);
}

static size_t drop_items(struct keep_lanes *l, struct keep_lane *lane)
{
    size_t dropped = lane->waiting;

    for (struct keep_item *item; (item = TAILQ_FIRST(&lane->items)) != NULL;) {
        TAILQ_REMOVE(&lane->items, item, next);
        free(item);
    }
    lane->waiting = 0;
    l->waiting -= dropped;
    return dropped;
}

size_t lanes_drop_all(struct keep_lanes *l)
{
    struct keep_lane *lane;
    size_t dropped = 0;

    TAILQ_FOREACH(lane, &l->list, next)
    dropped += drop_items(l, lane);
    return dropped;
}

void lanes_fini(struct keep_lanes *l)
{
    lanes_drop_all(l);
    while (!TAILQ_EMPTY(&l->list))
        remove_lane(l, TAILQ_FIRST(&l->list));
}

static struct keep_lane *find_lane(struct keep_lanes *l, const char *address, uint64_t hash)
{
    struct keep_lane *lane;

    TAILQ_FOREACH(lane, &l->list, next)
    if (lane->hash == hash && strcmp(lane->address, address) == 0)
        return lane;
    return NULL;
}

/* One that nobody waits for makes room. */
static bool make_room(struct keep_lanes *l)
{
    struct keep_lane *lane;

    if (l->count < LANES_MAX)
        return true;
    TAILQ_FOREACH(lane, &l->list, next)
    {
        if (lane->waiting == 0 && lane->fetches == 0) {
            remove_lane(l, lane);
            return true;
        }
    }
    return false;
}

static struct keep_lane *add_lane(struct keep_lanes *l, const char *address, uint64_t hash)
{
    size_t size = strlen(address) + 1;
    struct keep_lane *lane = calloc(1, sizeof *lane + size);

    if (!lane)
        return NULL;
    memcpy(lane->address, address, size);
    lane->hash = hash;
    TAILQ_INIT(&lane->items);
    TAILQ_INSERT_TAIL(&l->list, lane, next);
    l->count++;
    return lane;
}

static struct keep_item *make_item(const struct kept_run *run)
{
    size_t name = strlen(run->app_name) + 1, token = strlen(run->access_token) + 1;
    struct keep_item *item = calloc(1, sizeof *item + name + token);

    if (!item)
        return NULL;
    item->log_id = run->log_id;
    item->job_id = run->job_id;
    item->trigger_ms = run->trigger_ms;
    item->app_name = (char *)(item + 1);
    item->access_token = item->app_name + name;
    memcpy(item->app_name, run->app_name, name);
    memcpy(item->access_token, run->access_token, token);
    return item;
}

enum lane_outcome lanes_add_run(struct keep_lanes *l, const struct kept_run *run, int64_t now_mono_ms)
{
    uint64_t hash = hash_text(HASH_START, run->address);
    struct keep_lane *lane = find_lane(l, run->address, hash);
    struct keep_item *item;

    if (lane && lane->paused_mono_ms > now_mono_ms)
        return LANE_PAUSED;
    if (l->waiting >= WAITING_MAX || (lane && lane->waiting >= LANE_WAITING_MAX) || (!lane && !make_room(l)))
        return LANE_FULL;
    if (!lane)
        lane = add_lane(l, run->address, hash);
    item = lane ? make_item(run) : NULL;
    if (!item)
        return LANE_NO_MEMORY;
    item->lane = lane;
    TAILQ_INSERT_TAIL(&lane->items, item, next);
    lane->waiting++;
    l->waiting++;
    return LANE_ADDED;
}

struct keep_item *lanes_take_item(struct keep_lanes *l, int64_t now_mono_ms)
{
    struct keep_lane *lane;
    struct keep_item *item;

    TAILQ_FOREACH(lane, &l->list, next)
    if (lane->waiting > 0 && lane->fetches < LANE_FETCHES_MAX && lane->paused_mono_ms <= now_mono_ms)
        break;
    if (!lane)
        return NULL;
    TAILQ_REMOVE(&l->list, lane, next); /* the others come first next time */
    TAILQ_INSERT_TAIL(&l->list, lane, next);
    item = TAILQ_FIRST(&lane->items);
    TAILQ_REMOVE(&lane->items, item, next);
    lane->waiting--;
    l->waiting--;
    lane->fetches++;
    return item;
}

size_t lanes_end_item(struct keep_lanes *l, struct keep_item *item, bool reached, int64_t now_mono_ms)
{
    struct keep_lane *lane = item->lane;

    free(item);
    lane->fetches--;
    lane->paused_mono_ms = reached ? 0 : now_mono_ms + LANE_PAUSE_MS;
    return reached ? 0 : drop_items(l, lane);
}

/* SPDX-License-Identifier: MIT */
/* How shards stand with the ring: what other threads tell it of theirs, and ask. */
#include "schedule/ring/ring_impl.h"

void ring_push(struct ring *r, struct fire *fire)
{
    atomic_fetch_add_explicit(&r->in_wheel[fire->shard], 1, memory_order_relaxed);
    wheel_push(&r->wheel, fire);
}

void ring_add_shard(struct ring *r, int shard, int64_t epoch, int64_t cursor_s)
{
    mutex_lock(&r->lock);
    r->shards[shard] = (struct ring_shard){.active = true, .epoch = epoch, .cursor_s = cursor_s, .last_s = INT64_MAX};
    mutex_unlock(&r->lock);
}

void ring_limit_shard(struct ring *r, int shard, int64_t last_s)
{
    mutex_lock(&r->lock);
    r->shards[shard].last_s = last_s;
    mutex_unlock(&r->lock);
}

void ring_remove_shard(struct ring *r, int shard)
{
    mutex_lock(&r->lock);
    r->shards[shard].active = false;
    mutex_unlock(&r->lock);
}

void ring_hold(struct ring *r, int64_t last_s)
{
    mutex_lock(&r->lock);
    r->hold_s = last_s;
    mutex_unlock(&r->lock);
}

struct ring_shard ring_get_shard(struct ring *r, int shard)
{
    struct ring_shard out;

    mutex_lock(&r->lock);
    out = r->shards[shard];
    mutex_unlock(&r->lock);
    out.in_wheel = atomic_load_explicit(&r->in_wheel[shard], memory_order_relaxed);
    out.unsent = atomic_load_explicit(&r->unsent[shard], memory_order_acquire); /* pairs with ring_note_sent */
    return out;
}

static int64_t get_locked(struct ring *r, const int64_t *field)
{
    int64_t value;

    mutex_lock(&r->lock);
    value = *field;
    mutex_unlock(&r->lock);
    return value;
}

int64_t ring_get_passed_s(struct ring *r)
{
    return get_locked(r, &r->passed_s);
}

int64_t ring_get_floor_s(struct ring *r, int shard)
{
    return get_locked(r, &r->floor_s[shard]);
}

void ring_level_floors(struct ring *r)
{
    int64_t highest_s = 0;

    mutex_lock(&r->lock);
    for (int k = 0; k < r->opts.shards; k++)
        highest_s = r->floor_s[k] > highest_s ? r->floor_s[k] : highest_s;
    for (int k = 0; k < r->opts.shards; k++)
        r->floor_s[k] = highest_s;
    mutex_unlock(&r->lock);
}

void ring_fence_all(struct ring *r)
{
    mutex_lock(&r->lock);
    for (int k = 0; k < r->opts.shards; k++)
        r->shards[k].fenced = r->shards[k].fenced || r->shards[k].active;
    mutex_unlock(&r->lock);
}

int64_t ring_get_hold_s(struct ring *r)
{
    return get_locked(r, &r->hold_s);
}

int64_t ring_get_lag_ms(struct ring *r)
{
    int64_t now_ms = clock_wall_ms(r->clock);
    int64_t behind_s = INT64_MAX;

    mutex_lock(&r->lock);
    for (int k = 0; k < r->opts.shards; k++) {
        if (r->shards[k].active && r->shards[k].last_s == INT64_MAX && r->passed_s < behind_s)
            behind_s = r->passed_s;
    }
    mutex_unlock(&r->lock);
    if (behind_s == INT64_MAX || (behind_s + 1) * 1000 >= now_ms)
        return 0;
    return now_ms - (behind_s + 1) * 1000;
}

bool ring_is_able(struct ring *r)
{
    return atomic_load_explicit(&r->able, memory_order_relaxed);
}

void ring_note_sent(struct ring *r, int shard, size_t count)
{
    atomic_fetch_sub_explicit(&r->unsent[shard], (int64_t)count, memory_order_acq_rel);
}

/* SPDX-License-Identifier: MIT */
#include "schedule/shard/recent.h"
#include "shardwheel/job/times.h"

#include <stdlib.h>

#define SLOTS_MIN 64
#define CLOCK_TOLERANCE_S 120 /* a second further ahead was planned by another clock, and says nothing now */

/* Open addressing: a job stands at its hash or behind it, with no empty slot in between. */
struct slot {
    uint32_t job;      /* id / shards */
    uint32_t due_s;    /* 0: empty */
    uint32_t before_s; /* the one before; 0: not known */
    uint32_t until_s;  /* due_s; less when a takeover found that it was not sent */
    /* Those that went out late at one second, the last ones: the oldest of their due seconds. 0: none did. */
    uint32_t late_from_s, late_goes_s;
};

struct recent {
    int64_t shards;     /* [const] */
    size_t slots_max;   /* [const] a power of two, as `size` */
    struct slot *slots; /* [schedule thread], and all that follows */
    size_t size;        /* 0: nothing was noted yet */
    size_t used;
    int64_t held_s; /* of a takeover, while jobs are to be looked at; INT64_MAX: none */
};

enum err recent_create(int shards, struct recent **out, struct errctx *ec)
{
    struct recent *r = calloc(1, sizeof *r);

    if (!r)
        return err_set(ec, ERR_NOMEM, "recent: out of memory");
    r->shards = shards;
    r->held_s = INT64_MAX;
    for (r->slots_max = RECENT_SLOTS_MAX; r->slots_max > SLOTS_MIN && r->slots_max * (size_t)shards > RECENT_SLOTS_MAX;)
        r->slots_max /= 2;
    *out = r;
    return ERR_OK;
}

void recent_destroy(struct recent *r)
{
    if (!r)
        return;
    free(r->slots);
    free(r);
}

/* Where the job stands, or would. There is always an empty slot. */
static struct slot *find_slot(struct slot *slots, size_t size, uint32_t job)
{
    size_t at = (job * UINT32_C(2654435769)) ^ (job * UINT32_C(2654435769)) >> 15;

    for (at &= size - 1; slots[at].due_s != 0 && slots[at].job != job;)
        at = (at + 1) & (size - 1);
    return &slots[at];
}

static int64_t get_since_s(const struct recent *r, int64_t now_s)
{
    return (now_s < r->held_s ? now_s : r->held_s) - PLAN_REMEMBER_S;
}

static size_t count_since(const struct recent *r, int64_t since_s)
{
    size_t n = 0;

    for (size_t i = 0; i < r->size; i++)
        n += r->slots[i].due_s != 0 && r->slots[i].until_s >= since_s;
    return n;
}

/* Leaves out what is old, into a table that is half empty at least. With too many jobs it keeps them for less long. */
static void make_room(struct recent *r, int64_t now_s)
{
    int64_t since_s = get_since_s(r, now_s);
    size_t live = count_since(r, since_s), size = SLOTS_MIN;
    struct slot *slots;

    while (live > r->slots_max / 2) {
        since_s += 5;
        live = count_since(r, since_s);
    }
    while (size < live * 2)
        size *= 2;
    slots = calloc(size, sizeof *slots);
    for (size_t i = 0; slots && i < r->size; i++)
        if (r->slots[i].due_s != 0 && r->slots[i].until_s >= since_s)
            *find_slot(slots, size, r->slots[i].job) = r->slots[i];
    free(r->slots);
    r->slots = slots;
    r->size = slots ? size : 0;
    r->used = slots ? live : 0;
}

static bool can_remember(const struct recent *r, int64_t job_id, int64_t due_s)
{
    return job_id >= 0 && job_id / r->shards <= UINT32_MAX && due_s > 0 && due_s <= UINT32_MAX;
}

/* What was late before has gone out by now. */
static void note_late(struct slot *slot, int64_t due_s, int64_t goes_s)
{
    if (goes_s <= due_s || goes_s > UINT32_MAX)
        return;
    if (slot->late_goes_s != (uint32_t)goes_s || slot->late_from_s > due_s)
        slot->late_from_s = (uint32_t)due_s;
    slot->late_goes_s = (uint32_t)goes_s;
}

void recent_note(struct recent *r, int64_t job_id, int64_t due_s, int64_t goes_s, int64_t now_s)
{
    struct slot *slot;

    if (!can_remember(r, job_id, due_s))
        return;
    if (r->used >= r->size / 4 * 3)
        make_room(r, now_s);
    if (r->size == 0)
        return;
    slot = find_slot(r->slots, r->size, (uint32_t)(job_id / r->shards));
    if (slot->due_s == 0)
        r->used++;
    if (slot->due_s < due_s || slot->until_s < due_s || slot->due_s > now_s + CLOCK_TOLERANCE_S)
        *slot = (struct slot){.job = (uint32_t)(job_id / r->shards),
                              .due_s = (uint32_t)due_s,
                              .before_s = slot->due_s < due_s ? slot->due_s : slot->before_s,
                              .until_s = (uint32_t)due_s,
                              .late_from_s = slot->late_from_s,
                              .late_goes_s = slot->late_goes_s};
    note_late(slot, due_s, goes_s);
}

void recent_take_over(struct recent *r, int64_t moved_s)
{
    for (size_t i = 0; i < r->size; i++) {
        struct slot *slot = &r->slots[i];
        int64_t sent_s = slot->late_goes_s > moved_s ? (int64_t)slot->late_from_s - 1 : moved_s;

        /* What the schedule had before says which due times are its own; of a fixed delay only that one is. */
        if (slot->due_s > sent_s && slot->before_s != 0)
            slot->due_s = slot->before_s;
        if (slot->due_s != 0 && slot->until_s > sent_s)
            slot->until_s = sent_s > 0 ? (uint32_t)sent_s : 1;
        if (slot->until_s < slot->due_s && slot->before_s == slot->due_s)
            slot->before_s = 0;
        slot->late_from_s = slot->late_goes_s = 0;
    }
    if (moved_s < r->held_s)
        r->held_s = moved_s;
}

void recent_age(struct recent *r)
{
    r->held_s = INT64_MAX;
}

int64_t recent_get_since_ms(const struct recent *r, int64_t now_ms)
{
    int64_t since_ms = now_ms - PLAN_CATCH_UP_MS;

    return r->held_s < since_ms / 1000 + PLAN_REMEMBER_S ? get_since_s(r, now_ms / 1000) * 1000 : since_ms;
}

int64_t recent_find(const struct recent *r, int64_t job_id, int64_t now_s)
{
    const struct slot *slot;

    if (r->size == 0 || !can_remember(r, job_id, now_s))
        return INT64_MIN;
    slot = find_slot(r->slots, r->size, (uint32_t)(job_id / r->shards));
    return slot->until_s >= get_since_s(r, now_s) && slot->until_s <= now_s + CLOCK_TOLERANCE_S ? slot->until_s
                                                                                                : INT64_MIN;
}

int64_t recent_find_own(const struct recent *r, int64_t job_id)
{
    if (r->size == 0 || !can_remember(r, job_id, 1))
        return 0;
    return find_slot(r->slots, r->size, (uint32_t)(job_id / r->shards))->due_s;
}

size_t recent_count_slots(const struct recent *r)
{
    return r->size;
}

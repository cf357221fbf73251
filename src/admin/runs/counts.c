/* SPDX-License-Identifier: MIT */
#include "admin/runs/counts.h"

#include "shardwheel/admin/runs.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    uint64_t key; /* two digests of the filter: what does not fit both is another one */
    uint64_t check;
    int64_t total;         /* -1: never counted */
    int64_t again_mono_ms; /* not before */
    int64_t used_mono_ms;  /* 0: free */
};

struct run_counts {
    const struct clock *clock;        /* [const] */
    struct mutex lock;                /* rank LOCK_LEAF */
    struct entry entries[COUNTS_MAX]; /* [lock] */
    int slow;                         /* [lock] */
};

struct run_counts *run_counts_create(const struct clock *clock)
{
    struct run_counts *counts = calloc(1, sizeof *counts);

    if (counts) {
        counts->clock = clock;
        mutex_init(&counts->lock, LOCK_LEAF);
    }
    return counts;
}

void run_counts_destroy(struct run_counts *counts)
{
    if (counts)
        mutex_fini(&counts->lock);
    free(counts);
}

bool run_counts_enter(struct run_counts *counts)
{
    mutex_lock(&counts->lock);
    bool may = counts->slow < RUNS_SLOW_MAX;
    counts->slow += may;
    mutex_unlock(&counts->lock);
    return may;
}

void run_counts_leave(struct run_counts *counts)
{
    mutex_lock(&counts->lock);
    counts->slow--;
    mutex_unlock(&counts->lock);
}

static uint64_t digest(uint64_t h, const struct run_filter *f)
{
    const int64_t numbers[] = {f->job_id, f->group, f->states, f->late, f->log_status, f->from_s, f->until_s};

    h = hash_bytes(h, numbers, sizeof numbers);
    h = hash_bytes(h, f->groups, f->group_count * sizeof *f->groups);
    h = hash_text(h, f->address ? f->address : "");
    return hash_text(h, f->text ? f->text : "");
}

/* [lock] The entry of the filter, or the one that goes for it. */
static struct entry *find(struct run_counts *counts, const struct run_filter *filter, bool *found, bool take)
{
    uint64_t key = digest(HASH_START, filter), check = digest(key * 31 + 7, filter);
    struct entry *oldest = &counts->entries[0];

    for (size_t i = 0; i < COUNTS_MAX; i++) {
        struct entry *entry = &counts->entries[i];

        if (entry->used_mono_ms && entry->key == key && entry->check == check) {
            *found = true;
            return entry;
        }
        if (entry->used_mono_ms < oldest->used_mono_ms)
            oldest = entry;
    }
    *found = false;
    if (take)
        *oldest = (struct entry){.key = key, .check = check, .total = -1};
    return oldest;
}

static void use(const struct run_counts *counts, struct entry *entry)
{
    entry->used_mono_ms = clock_mono_ms(counts->clock) + 1; /* never 0 */
}

bool run_counts_find(struct run_counts *counts, const struct run_filter *filter, int64_t *total, bool *again)
{
    bool found;

    mutex_lock(&counts->lock);
    struct entry *entry = find(counts, filter, &found, /*take=*/false);
    *again = !found || clock_mono_ms(counts->clock) >= entry->again_mono_ms;
    if (found)
        use(counts, entry);
    found = found && entry->total >= 0;
    if (found)
        *total = entry->total;
    mutex_unlock(&counts->lock);
    return found;
}

void run_counts_note(struct run_counts *counts, const struct run_filter *filter, int64_t total)
{
    bool found;

    mutex_lock(&counts->lock);
    struct entry *entry = find(counts, filter, &found, /*take=*/true);
    use(counts, entry);
    if (total >= 0)
        entry->total = total;
    else
        entry->again_mono_ms = clock_mono_ms(counts->clock) + COUNT_AGAIN_MS;
    mutex_unlock(&counts->lock);
}

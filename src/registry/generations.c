/* SPDX-License-Identifier: MIT */
#include "registry/internal.h"

#include <stdlib.h>
#include <string.h>

/* Only addresses of the newer generation are kept: the absence of an address means /run. */
struct generation {
    struct generation *next;
    uint64_t hash;
    char address[];
};

void generations_init(struct generations *g)
{
    memset(g, 0, sizeof *g);
    mutex_init(&g->lock, LOCK_LEAF);
}

static void clear_bucket(struct generations *g, struct generation **bucket)
{
    while (*bucket) {
        struct generation *entry = *bucket;
        *bucket = entry->next;
        free(entry);
        g->count--;
    }
}

void generations_fini(struct generations *g)
{
    for (size_t i = 0; i < GENERATION_BUCKETS; i++)
        clear_bucket(g, &g->buckets[i]);
    mutex_fini(&g->lock);
}

static struct generation **find_link(struct generations *g, uint64_t hash, const char *address)
{
    struct generation **link = &g->buckets[hash % GENERATION_BUCKETS];
    while (*link && ((*link)->hash != hash || strcmp((*link)->address, address) != 0))
        link = &(*link)->next;
    return link;
}

static struct generation *create_entry(uint64_t hash, const char *address)
{
    size_t len = strlen(address);
    struct generation *entry = malloc(sizeof *entry + len + 1);
    if (!entry)
        return NULL;
    entry->hash = hash;
    memcpy(entry->address, address, len + 1);
    return entry;
}

void generations_note(struct generations *g, const char *address, bool trigger_path)
{
    uint64_t hash = hash_text(HASH_START, address);
    struct generation *fresh = trigger_path ? create_entry(hash, address) : NULL;
    struct generation *unused = fresh;

    mutex_lock(&g->lock);
    struct generation **link = find_link(g, hash, address);
    if (*link && !trigger_path) {
        unused = *link;
        *link = unused->next;
        g->count--;
    } else if (!*link && fresh) {
        /* Forgetting is harmless: the wrong path is refused without effect, and learned again. */
        struct generation **bucket = &g->buckets[hash % GENERATION_BUCKETS];
        if (g->count >= GENERATION_MAX)
            clear_bucket(g, bucket);
        if (g->count < GENERATION_MAX) {
            fresh->next = *bucket;
            *bucket = fresh;
            g->count++;
            unused = NULL;
        }
    }
    mutex_unlock(&g->lock);
    free(unused); /* no memory for a note is no fault either, for the same reason */
}

bool generations_has(struct generations *g, const char *address)
{
    uint64_t hash = hash_text(HASH_START, address);
    mutex_lock(&g->lock);
    bool has = *find_link(g, hash, address) != NULL;
    mutex_unlock(&g->lock);
    return has;
}

/* SPDX-License-Identifier: MIT */
#include "registry/internal.h"

#include <stdlib.h>
#include <string.h>

void beats_init(struct beat_queue *q, size_t max)
{
    memset(q, 0, sizeof *q);
    q->max = max;
}

void beats_destroy_list(struct beat_entry *list)
{
    while (list) {
        struct beat_entry *next = list->next;
        free(list);
        list = next;
    }
}

void beats_fini(struct beat_queue *q)
{
    beats_destroy_list(q->oldest);
    beats_init(q, q->max);
}

static struct beat_entry **find_link(struct beat_queue *q, uint64_t hash, const char *group, const char *key,
                                     const char *value)
{
    struct beat_entry **link = &q->buckets[hash % BEAT_BUCKETS];
    for (; *link; link = &(*link)->hash_next) {
        struct beat_entry *e = *link;
        if (e->hash == hash && !strcmp(e->value, value) && !strcmp(e->key, key) && !strcmp(e->group, group))
            break;
    }
    return link;
}

/* `link` is the empty end of the entry's bucket. */
static void append(struct beat_queue *q, struct beat_entry **link, struct beat_entry *e)
{
    e->next = NULL;
    e->hash_next = NULL;
    *link = e;
    if (q->newest)
        q->newest->next = e;
    else
        q->oldest = e;
    q->newest = e;
    q->count++;
}

enum err beats_put(struct beat_queue *q, const char *group, const char *key, const char *value, bool remove,
                   int64_t now_mono_ms, struct errctx *ec)
{
    uint64_t hash = hash_text(hash_text(hash_text(HASH_START, group), key), value);
    struct beat_entry **link = find_link(q, hash, group, key, value);

    if (*link) { /* it keeps its place in the queue, the newer word counts */
        (*link)->remove = remove;
        (*link)->taken_mono_ms = now_mono_ms;
        return ERR_OK;
    }
    if (q->count >= q->max)
        return err_set(ec, ERR_BUSY, "%zu heartbeats wait for the database already", q->count);

    struct beat_entry *e = malloc(sizeof *e + str_size(group) + str_size(key) + str_size(value));
    if (!e)
        return err_set(ec, ERR_NOMEM, "out of memory for a heartbeat");
    char *at = e->text;
    e->group = str_pack(&at, group);
    e->key = str_pack(&at, key);
    e->value = str_pack(&at, value);
    e->hash = hash;
    e->remove = remove;
    e->queued_mono_ms = now_mono_ms;
    e->taken_mono_ms = now_mono_ms;
    append(q, link, e);
    return ERR_OK;
}

struct beat_entry *beats_take(struct beat_queue *q, size_t max, size_t *count)
{
    struct beat_entry *list = q->oldest, *last = NULL;
    size_t n = 0;

    for (struct beat_entry *e = list; e && n < max; e = e->next) {
        *find_link(q, e->hash, e->group, e->key, e->value) = e->hash_next;
        last = e;
        n++;
    }
    if (last) {
        q->oldest = last->next;
        if (!q->oldest)
            q->newest = NULL;
        last->next = NULL;
    }
    q->count -= n;
    *count = n;
    return n ? list : NULL;
}

void beats_give_back(struct beat_queue *q, struct beat_entry *list)
{
    while (list) {
        struct beat_entry *e = list;
        list = e->next;
        struct beat_entry **link = find_link(q, e->hash, e->group, e->key, e->value);
        if (*link)
            free(e);
        else
            append(q, link, e);
    }
}

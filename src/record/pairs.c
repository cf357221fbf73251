/* SPDX-License-Identifier: MIT */
#include "record/pairs.h"

#include <stdlib.h>

#define PARTS 16
#define BUCKETS 1024

struct part {
    struct mutex lock;               /* rank LOCK_LEAF */
    struct result *buckets[BUCKETS]; /* [lock] linked by pair_next */
};

struct pairs {
    struct part parts[PARTS]; /* [const] each locks by itself */
};

/* Ids of a claim follow each other: the lowest bits spread them best. */
static struct part *find_part(struct pairs *p, int64_t log_id)
{
    return &p->parts[(uint64_t)log_id % PARTS];
}

/* [lock] The link to the delivery of that log, or the empty end of its bucket. */
static struct result **find_link(struct part *part, int64_t log_id)
{
    struct result **link = &part->buckets[(uint64_t)log_id / PARTS % BUCKETS];

    while (*link && (*link)->log_id != log_id)
        link = &(*link)->pair_next;
    return link;
}

void pairs_add(struct pairs *p, struct result *r)
{
    struct part *part = find_part(p, r->log_id);
    struct result **link;

    mutex_lock(&part->lock);
    link = find_link(part, r->log_id);
    if (!*link) {
        *link = r;
        r->pair = PAIR_OPEN;
    }
    mutex_unlock(&part->lock);
}

/* [lock] */
static void take_out(struct result **link)
{
    struct result *r = *link;

    *link = r->pair_next;
    r->pair_next = NULL;
    r->pair = PAIR_NONE;
}

enum pair_state pairs_remove(struct pairs *p, struct result *r)
{
    struct part *part = find_part(p, r->log_id);
    enum pair_state before;

    mutex_lock(&part->lock);
    before = r->pair;
    if (before != PAIR_NONE)
        take_out(find_link(part, r->log_id));
    mutex_unlock(&part->lock);
    return before;
}

bool pairs_claim(struct pairs *p, int64_t log_id, bool *childless)
{
    struct part *part = find_part(p, log_id);
    struct result *r;
    bool claimed;

    mutex_lock(&part->lock);
    r = *find_link(part, log_id);
    claimed = r && r->pair == PAIR_OPEN;
    if (claimed) {
        r->pair = PAIR_CLAIMED;
        *childless = r->childless;
    }
    mutex_unlock(&part->lock);
    return claimed;
}

enum pair_state pairs_look(struct pairs *p, const struct result *r)
{
    struct part *part = find_part(p, r->log_id);
    enum pair_state state;

    mutex_lock(&part->lock);
    state = r->pair;
    mutex_unlock(&part->lock);
    return state;
}

struct result *pairs_settle(struct pairs *p, int64_t log_id, bool written)
{
    struct part *part = find_part(p, log_id);
    struct result **link, *done = NULL;

    mutex_lock(&part->lock);
    link = find_link(part, log_id);
    if (*link && (*link)->pair == PAIR_CLAIMED) {
        (*link)->pair = written ? PAIR_WRITTEN : PAIR_OPEN;
        if (written && (*link)->waits) {
            done = *link;
            take_out(link);
        }
    }
    mutex_unlock(&part->lock);
    return done;
}

enum err pairs_create(struct pairs **out, struct errctx *ec)
{
    struct pairs *p = calloc(1, sizeof *p);

    if (!p)
        return err_set(ec, ERR_NOMEM, "out of memory for the index of deliveries");
    for (size_t i = 0; i < PARTS; i++)
        mutex_init(&p->parts[i].lock, LOCK_LEAF);
    *out = p;
    return ERR_OK;
}

void pairs_destroy(struct pairs *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < PARTS; i++)
        mutex_fini(&p->parts[i].lock);
    free(p);
}

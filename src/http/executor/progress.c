/* SPDX-License-Identifier: MIT */
#include "http/executor/progress.h"

#include <string.h>

void progress_init(struct progress *p)
{
    mutex_init(&p->lock, LOCK_LEAF);
}

void progress_fini(struct progress *p)
{
    mutex_fini(&p->lock);
}

void progress_note(struct progress *p, const struct http_request *q, const struct callback_mark *mark,
                   int64_t now_mono_ms)
{
    struct progress_entry fresh = {.len = q->body_len, .noted_mono_ms = now_mono_ms, .mark = *mark};
    struct progress_entry *place = p->entries;

    md5_digest(q->body, q->body_len, fresh.digest);
    mutex_lock(&p->lock);
    for (size_t i = 0; i < PROGRESS_MAX && place->len; i++) {
        if (!p->entries[i].len || p->entries[i].noted_mono_ms < place->noted_mono_ms)
            place = &p->entries[i];
    }
    *place = fresh;
    mutex_unlock(&p->lock);
}

/* [lock] To read a large body for its digest takes time: only where one of its length is known. */
static bool has_len(const struct progress *p, size_t len)
{
    for (size_t i = 0; i < PROGRESS_MAX; i++) {
        if (p->entries[i].len == len)
            return true;
    }
    return false;
}

bool progress_take(struct progress *p, const struct http_request *q, int64_t now_mono_ms, struct callback_mark *mark)
{
    unsigned char digest[16];
    bool found = false;

    mutex_lock(&p->lock);
    bool known = has_len(p, q->body_len);
    mutex_unlock(&p->lock);
    if (!known || !q->body_len)
        return false;
    md5_digest(q->body, q->body_len, digest);
    mutex_lock(&p->lock);
    for (size_t i = 0; i < PROGRESS_MAX && !found; i++) {
        struct progress_entry *entry = &p->entries[i];
        if (entry->len != q->body_len || memcmp(entry->digest, digest, sizeof(digest)))
            continue;
        found = now_mono_ms - entry->noted_mono_ms < PROGRESS_MS;
        *mark = entry->mark;
        entry->len = 0;
    }
    mutex_unlock(&p->lock);
    return found;
}

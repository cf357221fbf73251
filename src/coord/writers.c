/* SPDX-License-Identifier: MIT */
/* agreed: the other nodes, and which generations they use. */
#include "coord/agreed_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MAX_MS INT32_MAX

int64_t agreed_find_number(const char *text, const char *key, int64_t max)
{
    const char *at = strstr(text, key);
    int64_t number = at ? strtoll(at + strlen(key), NULL, 10) : 0;

    return number >= 0 && number <= max ? number : 0;
}

struct writer *agreed_find_writer(const struct agreed *a, const char *name)
{
    for (size_t i = 0; i < a->count; i++) {
        if (strcmp(a->writers[i].name, name) == 0)
            return (struct writer *)&a->writers[i];
    }
    return NULL;
}

bool agreed_is_there(const struct agreed *a, const char *name)
{
    const struct writer *w = agreed_find_writer(a, name);

    return w && w->is_listed;
}

bool agreed_knows_writers(const struct agreed *a)
{
    if (!a->is_listed || a->list_stale)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        if (a->writers[i].is_listed && !a->writers[i].is_known)
            return false;
    }
    return true;
}

bool agreed_is_acknowledged(const struct agreed *a, int64_t generation, int64_t now_mono_ms, int64_t timeout_ms,
                            const char **who)
{
    /* Who was gone before we began to look may still be using what he used. */
    *who = "writers of before";
    if (!agreed_knows_writers(a) || a->since_mono_ms == INT64_MAX || now_mono_ms < a->since_mono_ms + timeout_ms)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct writer *w = &a->writers[i];
        int64_t wait_ms = w->timeout_ms > timeout_ms ? w->timeout_ms : timeout_ms;

        *who = w->name;
        if (w->generation >= generation)
            continue;
        if (w->is_listed || now_mono_ms < w->gone_mono_ms + wait_ms)
            return false;
    }
    return true;
}

bool agreed_is_fine_elsewhere(const struct agreed *a, int64_t generation)
{
    for (size_t i = 0; i < a->count; i++) {
        const struct writer *w = &a->writers[i];

        if (w->is_listed && w->is_known && w->is_fine && w->generation == generation)
            return true;
    }
    return false;
}

/* A place for another one: that of who has been gone for longest. NULL: all are there. */
static struct writer *make_room(struct agreed *a)
{
    struct writer *oldest = NULL;

    if (a->count < AGREED_WRITERS_MAX)
        return &a->writers[a->count++];
    for (size_t i = 0; i < a->count; i++) {
        if (!a->writers[i].is_listed && (!oldest || a->writers[i].gone_mono_ms < oldest->gone_mono_ms))
            oldest = &a->writers[i];
    }
    return oldest;
}

void agreed_on_listed(struct agreed *a, const struct zk_answer *answer, int64_t now_mono_ms)
{
    bool ours = false;

    for (size_t i = 0; i < a->count; i++)
        a->writers[i].is_listed = false;
    for (size_t i = 0; i < answer->count; i++) {
        struct writer *w = agreed_find_writer(a, answer->names[i]);

        if (strcmp(answer->names[i], a->name) == 0) {
            ours = true;
            continue;
        }
        if (strlen(answer->names[i]) >= AGREED_NAME_MAX)
            continue; /* no node's incarnation */
        if (!w) {
            w = make_room(a);
            if (!w) {
                a->list_stale = true; /* more nodes than there can be: nothing is decided here */
                a->retry_mono_ms = now_mono_ms + LOCK_RETRY_MS;
                return;
            }
            *w = (struct writer){.is_stale = true};
            snprintf(w->name, sizeof w->name, "%s", answer->names[i]);
        }
        if (w->gone_mono_ms != INT64_MAX) {
            w->is_stale = true; /* new, or back in another session: its watch went with the znode */
            w->gone_mono_ms = INT64_MAX;
        }
        w->is_listed = true;
    }
    for (size_t i = 0; i < a->count; i++) {
        if (!a->writers[i].is_listed && a->writers[i].gone_mono_ms == INT64_MAX)
            a->writers[i].gone_mono_ms = now_mono_ms;
    }
    if (!ours) { /* somebody has deleted it: nobody would wait for us */
        a->is_present = false;
        a->is_fresh = false;
    }
    a->is_listed = true;
    if (a->since_mono_ms == INT64_MAX)
        a->since_mono_ms = now_mono_ms;
}

void agreed_on_writer(struct agreed *a, struct writer *w, const struct zk_answer *answer)
{
    if (answer->result == ZK_NO_NODE)
        a->list_stale = true;
    if (answer->result != ZK_OK) {
        w->is_stale = true;
        return;
    }
    w->generation = agreed_find_number(answer->data, "generation=", GENERATION_MAX - 1);
    w->is_fine = agreed_find_number(answer->data, " fine=", 1) != 0;
    w->timeout_ms = agreed_find_number(answer->data, " timeout=", TIMEOUT_MAX_MS);
    w->is_known = true;
}

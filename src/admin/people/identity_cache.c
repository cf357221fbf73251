/* SPDX-License-Identifier: MIT */
#include "admin/people/identity_cache.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum err identity_cache_init(struct identity_cache *c, struct errctx *ec)
{
    *c = (struct identity_cache){.places = calloc(IDENTITIES, sizeof *c->places)};
    if (!c->places)
        return err_set(ec, ERR_NOMEM, "out of memory for sessions");
    mutex_init(&c->lock, LOCK_LEAF);
    return ERR_OK;
}

static void empty(struct identity_place *place)
{
    identity_fini(&place->who);
    place->key[0] = '\0';
}

void identity_cache_fini(struct identity_cache *c)
{
    if (!c->places)
        return;
    for (size_t i = 0; i < IDENTITIES; i++)
        empty(&c->places[i]);
    free(c->places);
    mutex_fini(&c->lock);
    *c = (struct identity_cache){0};
}

/* The name comes last: anything may be in it. */
void identity_cache_make_key(const struct proof *proof, char out[SECRET_HASH_MAX])
{
    struct buf text = {0};

    buf_printf(&text, "%d %" PRId64 " %zu:%s %s", (int)proof->kind, proof->user_id,
               strlen(proof->secret ? proof->secret : ""), proof->secret ? proof->secret : "",
               proof->name ? proof->name : "");
    if (buf_failed(&text))
        out[0] = '\0';
    else
        sha256_hex(text.data, out);
    buf_fini(&text);
}

FINI_BY(free, identity, groups)

/* False when out of memory. */
static bool copy_identity(const struct identity *from, struct identity *out)
{
    struct identity copy = *from;

    copy.groups = NULL;
    if (from->actor.group_count) {
        copy.groups = malloc(from->actor.group_count * sizeof *copy.groups);
        if (!copy.groups)
            return false;
        memcpy(copy.groups, from->groups, from->actor.group_count * sizeof *copy.groups);
    }
    copy.actor.groups = copy.groups;
    *out = copy;
    return true;
}

static struct identity_place *get_place(struct identity_cache *c, const char *key)
{
    return &c->places[hash_text(HASH_START, key) % IDENTITIES];
}

bool identity_cache_find(struct identity_cache *c, const char *key, int64_t now_mono_ms, struct identity *out,
                         int64_t *generation)
{
    bool found = false;

    mutex_lock(&c->lock);
    struct identity_place *place = get_place(c, key);
    if (*key && !strcmp(place->key, key) && now_mono_ms < place->until_mono_ms)
        found = copy_identity(&place->who, out);
    *generation = c->generation;
    mutex_unlock(&c->lock);
    return found;
}

void identity_cache_put(struct identity_cache *c, const char *key, int64_t now_mono_ms, int64_t generation,
                        const struct identity *who)
{
    struct identity copy;

    if (!*key || !copy_identity(who, &copy))
        return;
    mutex_lock(&c->lock);
    struct identity_place *place = get_place(c, key);
    if (generation == c->generation) {
        struct identity before = place->who;
        memcpy(place->key, key, sizeof place->key);
        place->until_mono_ms = now_mono_ms + KNOWN_MS;
        place->who = copy;
        copy = before;
    }
    mutex_unlock(&c->lock);
    identity_fini(&copy);
}

void identity_cache_clear(struct identity_cache *c)
{
    mutex_lock(&c->lock);
    c->generation++;
    for (size_t i = 0; i < IDENTITIES; i++) {
        if (c->places[i].key[0])
            empty(&c->places[i]);
    }
    mutex_unlock(&c->lock);
}

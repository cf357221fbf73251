/* SPDX-License-Identifier: MIT */
#include "admin/transfer/export.h"
#include "shardwheel/text.h"

#include <stdlib.h>
#include <string.h>

#define SOME_IDS 500 /* of one statement */

struct ids {
    int64_t *v;
    size_t count;
};

void export_children_fini(struct export_children *c)
{
    for (size_t i = 0; i < c->list_count; i++)
        export_names_fini(&c->lists[i]);
    free(c->lists);
    free(c->names);
    *c = (struct export_children){0};
}

/* The next word of a list; false when there is none. *id: 0 where it is no id. */
static bool next_child(const char **at, int64_t *id)
{
    struct text_part item;
    char word[24] = "";

    do
        if (!text_next_item(at, &item))
            return false;
    while (!item.len);
    memcpy(word, item.at, item.len < sizeof word ? item.len : 0);
    if (!parse_int(word, 1, INT64_MAX, id))
        *id = 0;
    return true;
}

/* The most ids that there can be. */
static size_t count_words(const struct transfer_job *jobs, size_t count)
{
    size_t words = 0;

    for (size_t i = 0; i < count; i++)
        words += jobs[i].row.children[0] ? strlen(jobs[i].row.children) / 2 + 1 : 0;
    return words;
}

/* Ascending and distinct. */
static void collect_ids(const struct transfer_job *jobs, size_t count, struct ids *out)
{
    int64_t id;

    for (size_t i = 0; i < count; i++) {
        for (const char *at = jobs[i].row.children; next_child(&at, &id);)
            if (id)
                out->v[out->count++] = id;
    }
    out->count = sort_distinct(out->v, out->count);
}

static const struct export_name *find(const struct export_children *c, int64_t id)
{
    const struct export_name *found = NULL;

    for (size_t i = 0; !found && i < c->list_count; i++)
        found = list_find(c->lists[i].items, c->lists[i].count, sizeof *found, id);
    return found;
}

/* Puts the names at `to`. */
static void name_children(const struct export_children *c, struct transfer_job *job, struct transfer_name *to)
{
    bool all = true;
    size_t n = 0;
    int64_t id;

    for (const char *at = job->row.children; all && next_child(&at, &id);) {
        const struct export_name *child = find(c, id);
        all = child != NULL;
        if (child)
            to[n++] = (struct transfer_name){child->app_name, child->name};
    }
    if (all && n) {
        job->children = to;
        job->child_count = n;
    }
}

static enum err load_names(struct export_children *c, struct store_session *s, const struct group_filter *filter,
                           const struct ids *ids, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t at = 0; !e && at < ids->count; at += SOME_IDS) {
        size_t left = ids->count - at;
        e = store_load_export_names(s, filter, ids->v + at, left < SOME_IDS ? left : SOME_IDS, &c->lists[c->list_count],
                                    ec);
        c->list_count += !e;
    }
    return e;
}

enum err export_children_load(struct export_children *c, struct store_session *s, const struct group_filter *filter,
                              struct transfer_job *jobs, size_t count, struct errctx *ec)
{
    size_t words = count_words(jobs, count);
    struct ids ids = {0};
    enum err e;

    *c = (struct export_children){0};
    if (!words)
        return ERR_OK;
    ids.v = calloc(words, sizeof *ids.v);
    c->lists = calloc(words / SOME_IDS + 1, sizeof *c->lists);
    c->names = calloc(words, sizeof *c->names);
    if (!ids.v || !c->lists || !c->names) {
        free(ids.v);
        return err_set(ec, ERR_NOMEM, "out of memory for the export");
    }
    collect_ids(jobs, count, &ids);
    e = load_names(c, s, filter, &ids, ec);
    for (size_t i = 0, at = 0; !e && i < count; at += count_words(&jobs[i], 1), i++)
        name_children(c, &jobs[i], c->names + at);
    free(ids.v);
    return e;
}

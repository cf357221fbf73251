/* SPDX-License-Identifier: MIT */
#include "registry/internal.h"
#include "shardwheel/text.h"

#include <stdlib.h>
#include <string.h>

/* What `memory` of a snapshot is: one block with everything that its groups point to. */
struct snapshot_memory {
    const struct registry_group **by_app; /* the groups, ascending by app_name, then id */
    const char *const **sorted;           /* of groups[i]: its addresses, ascending by strcmp */
};

static int compare_apps(const void *a, const void *b)
{
    const struct registry_group *x = *(const struct registry_group *const *)a;
    const struct registry_group *y = *(const struct registry_group *const *)b;
    int by_name = strcmp(x->app_name, y->app_name);

    return by_name ? by_name : compare_numbers(x->id, y->id);
}

/* Equal texts in the order of the list. */
static int compare_places(const void *a, const void *b)
{
    const char *const *x = *(const char *const *const *)a, *const *y = *(const char *const *const *)b;
    int by_text = strcmp(*x, *y);
    return by_text ? by_text : (x > y) - (x < y);
}

/* Of equal items the first stays. `room` has places for `count` pointers. */
static size_t drop_repeated(const char **items, size_t count, const char ***room)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        room[i] = &items[i];
    qsort(room, count, sizeof *room, compare_places);
    for (size_t i = count; i-- > 1;) /* from behind: what an item is compared with is still there */
        if (!strcmp(*room[i], *room[i - 1]))
            *room[i] = NULL;
    for (size_t i = 0; i < count; i++)
        if (items[i])
            items[kept++] = items[i];
    return kept;
}

enum err snapshot_create(const struct group_list *list, const struct registry_snapshot **out, struct errctx *ec)
{
    size_t items = 0, text = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct group_row *row = &list->rows[i];
        items += text_count_items(row->address_list);
        text += str_size(row->app_name) + str_size(row->access_token) + str_size(row->address_list);
    }
    /* All parts but the text are of pointer alignment. */
    size_t size = sizeof(struct snapshot_memory) + list->count * (sizeof(struct registry_group) + 2 * sizeof(void *)) +
                  2 * items * sizeof(char *) + text;
    struct registry_snapshot *snap = calloc(1, sizeof *snap);
    char *block = calloc(1, size);
    if (!snap || !block) {
        free(snap);
        free(block);
        return err_set(ec, ERR_NOMEM, "out of memory for a snapshot of %zu groups", list->count);
    }
    struct snapshot_memory *memory = (struct snapshot_memory *)block;
    struct registry_group *groups = (struct registry_group *)(memory + 1);
    const char *const **sorted = (const char *const **)(groups + list->count);
    const char **item = (const char **)(sorted + 2 * list->count);
    char *at = (char *)(item + 2 * items);
    memory->sorted = sorted;
    memory->by_app = (const struct registry_group **)(sorted + list->count);

    for (size_t i = 0; i < list->count; i++) {
        const struct group_row *row = &list->rows[i];
        struct registry_group *group = &groups[i];
        group->id = row->id;
        group->manual = row->manual;
        group->app_name = str_pack(&at, row->app_name);
        group->access_token = str_pack(&at, row->access_token);
        snap->has_tokens |= !str_is_blank(group->access_token);
        group->addresses = item;
        for (char *rest = str_pack(&at, row->address_list), *address; (address = text_cut_item(&rest));)
            item[group->count++] = address;
        group->count = drop_repeated(item, group->count, (const char ***)(item + group->count));
        item += group->count;
        if (group->count)
            memcpy(item, group->addresses, group->count * sizeof *item);
        qsort(item, group->count, sizeof *item, compare_texts);
        sorted[i] = item;
        item += group->count;
        memory->by_app[i] = group;
    }
    qsort(memory->by_app, list->count, sizeof *memory->by_app, compare_apps);

    atomic_init(&snap->refs, 1);
    snap->groups = groups;
    snap->count = list->count;
    snap->memory = memory;
    *out = snap;
    return ERR_OK;
}

void registry_put_snapshot(const struct registry_snapshot *snap)
{
    struct registry_snapshot *s = (struct registry_snapshot *)snap; /* only the count of references ever changes */
    /* Release, so that our reads come before the free; acquire pairs with the releases of the others who put it. */
    if (s && atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) == 1) {
        free(s->memory);
        free(s);
    }
}

const struct registry_group *registry_find_group(const struct registry_snapshot *snap, int64_t id)
{
    return list_find(snap->groups, snap->count, sizeof *snap->groups, id);
}

static int compare_app_name(const void *name, const void *group)
{
    return strcmp(name, (*(const struct registry_group *const *)group)->app_name);
}

/* Index in by_app of the first group whose name is not less. */
static size_t find_app(const struct registry_snapshot *snap, const char *app_name)
{
    const struct snapshot_memory *memory = snap->memory;

    return list_find_first(app_name, memory->by_app, snap->count, sizeof *memory->by_app, compare_app_name);
}

const struct registry_group *registry_find_app(const struct registry_snapshot *snap, const char *app_name)
{
    const struct snapshot_memory *memory = snap->memory;
    size_t i = find_app(snap, app_name);
    return i < snap->count && !strcmp(memory->by_app[i]->app_name, app_name) ? memory->by_app[i] : NULL;
}

void snapshot_count_address(const struct registry_snapshot *snap, const char *app_name, const char *address,
                            size_t *listed, size_t *missing)
{
    const struct snapshot_memory *memory = snap->memory;

    *listed = *missing = 0;
    for (size_t i = find_app(snap, app_name); i < snap->count; i++) {
        const struct registry_group *group = memory->by_app[i];
        if (strcmp(group->app_name, app_name))
            break;
        if (group->manual)
            continue;
        const char *const *sorted = memory->sorted[group - snap->groups];
        if (group->count && bsearch(&address, sorted, group->count, sizeof *sorted, compare_texts))
            (*listed)++;
        else
            (*missing)++;
    }
}

bool snapshot_is_same(const struct group_list *a, const struct group_list *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct group_row *x = &a->rows[i], *y = &b->rows[i];
        if (x->id != y->id || x->manual != y->manual || strcmp(x->app_name, y->app_name) ||
            strcmp(x->access_token, y->access_token) || strcmp(x->address_list, y->address_list))
            return false;
    }
    return true;
}

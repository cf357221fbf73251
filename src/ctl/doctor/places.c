/* SPDX-License-Identifier: MIT */
#include "ctl/doctor/places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* By address; of one address the automatic groups first, then by group. */
static int compare_places(const void *a, const void *b)
{
    const struct executor_place *x = a, *y = b;
    int order = strcmp(x->address, y->address);

    if (order)
        return order;
    if (x->group->manual != y->group->manual)
        return x->group->manual ? 1 : -1;
    return compare_numbers(x->group->id, y->group->id);
}

static bool add_places(struct executor_places *places, const struct group_row *row)
{
    struct group_spec *spec = group_spec_create(row->id, row->app_name, "", row->manual, row->address_list);
    bool whole = spec != NULL;

    for (size_t i = 0; whole && i < spec->count; i++) {
        bool room = list_grow(&places->items, places->count, sizeof *places->items);
        char *address = room ? str_copy(spec->addresses[i]) : NULL;

        whole = address != NULL;
        if (whole)
            places->items[places->count++] = (struct executor_place){address, row};
        for (size_t len = whole ? strlen(address) : 0; len && address[len - 1] == '/'; len--)
            address[len - 1] = '\0';
    }
    group_spec_unref(spec);
    return whole;
}

enum err executor_places_make(const struct group_list *groups, struct executor_places *out, struct errctx *ec)
{
    struct executor_places places = {0};

    for (size_t i = 0; i < groups->count; i++) {
        if (!add_places(&places, &groups->rows[i])) {
            executor_places_fini(&places);
            return err_set(ec, ERR_NOMEM, "out of memory");
        }
    }
    if (places.count)
        qsort(places.items, places.count, sizeof *places.items, compare_places);
    *out = places;
    return ERR_OK;
}

void executor_places_fini(struct executor_places *places)
{
    for (size_t i = 0; i < places->count; i++)
        free(places->items[i].address);
    free(places->items);
    *places = (struct executor_places){0};
}

void place_add(struct words *words, const struct executor_place *place)
{
    char text[80];

    snprintf(text, sizeof text, "%.40s (%.15s)", place->address, place->group->app_name);
    words_add(words, text);
}

bool place_take_host(const char *url, char *out, size_t size, size_t *host_len)
{
    const char *host = strstr(url, "://");
    size_t len;

    host = host ? host + 3 : url;
    len = strcspn(host, "/");
    if (!len || len >= size)
        return false;
    memcpy(out, host, len);
    out[len] = '\0';
    *host_len = strrchr(out, ':') ? (size_t)(strrchr(out, ':') - out) : len;
    return true;
}

bool executor_is_loopback(const char *address)
{
    char host[300];
    size_t len;

    return place_take_host(address, host, sizeof host, &len) &&
           (!strncmp(host, "127.", 4) || !strncmp(host, "[::1]", 5) || (len == 9 && !strncmp(host, "localhost", 9)));
}

/* SPDX-License-Identifier: MIT */
#include "follow/lost_address.h"

#include <stdlib.h>
#include <string.h>

static int compare_address(const void *text, const void *address)
{
    return strcmp(text, (*(struct lost_address *const *)address)->text);
}

static struct lost_address *create_address(const char *text)
{
    struct lost_address *address = calloc(1, sizeof *address);

    if (address)
        address->text = str_copy(text);
    if (!address || !address->text) {
        free(address);
        return NULL;
    }
    address->seen_wall_s = address->seen_mono_ms = INT64_MIN;
    return address;
}

static void destroy_address(struct lost_address *address)
{
    free(address->text);
    free(address);
}

struct lost_address *lost_addresses_get(struct lost_addresses *a, const char *text)
{
    size_t at = list_find_first(text, a->list, a->count, sizeof(struct lost_address *), compare_address);
    struct lost_address *made = NULL;

    if (at < a->count && strcmp(a->list[at]->text, text) == 0)
        return a->list[at];
    if (a->count < LOST_ADDRESSES_MAX && list_grow(&a->list, a->count, sizeof(struct lost_address *)))
        made = create_address(text);
    if (!made)
        return NULL;
    memmove(a->list + at + 1, a->list + at, (a->count - at) * sizeof(struct lost_address *));
    a->list[at] = made;
    a->count++;
    return made;
}

void lost_address_see(struct lost_address *address, const struct clock *clock)
{
    address->registered = true;
    address->seen_mono_ms = clock_mono_ms(clock);
    address->seen_wall_s = time_floor_div(clock_wall_ms(clock), 1000);
}

void lost_addresses_forget(struct lost_addresses *a, int64_t before_mono_ms)
{
    size_t kept = 0;

    for (size_t i = 0; i < a->count; i++) {
        struct lost_address *address = a->list[i];
        if (address->used || address->seen_mono_ms > before_mono_ms)
            a->list[kept++] = address;
        else
            destroy_address(address);
    }
    a->count = kept;
}

void lost_addresses_fini(struct lost_addresses *a)
{
    for (size_t i = 0; i < a->count; i++)
        destroy_address(a->list[i]);
    free(a->list);
    *a = (struct lost_addresses){0};
}

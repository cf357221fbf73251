/* SPDX-License-Identifier: MIT */
#include "shardwheel/base.h"

#include <stdlib.h>
#include <string.h>

#define LIST_MIN 8

/* There is room for a power of two, so that it need not be kept. */
bool list_grow(void *list, size_t count, size_t item_size)
{
    size_t room = count < LIST_MIN ? LIST_MIN : 2 * count;
    void *items;

    if (count != 0 && (count < LIST_MIN || (count & (count - 1)) != 0))
        return true;
    memcpy(&items, list, sizeof items);
    items = room > SIZE_MAX / item_size ? NULL : realloc(items, room * item_size);
    if (items)
        memcpy(list, &items, sizeof items);
    return items != NULL;
}

int compare_int64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return compare_numbers(x, y);
}

int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

size_t list_find_first(const void *key, const void *list, size_t count, size_t item_size,
                       int (*compare)(const void *key, const void *item))
{
    const char *items = list;
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare(key, items + middle * item_size) > 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t list_find_place(const void *list, size_t count, size_t item_size, int64_t number)
{
    return list_find_first(&number, list, count, item_size, compare_int64);
}

void *list_find(const void *list, size_t count, size_t item_size, int64_t number)
{
    return count ? bsearch(&number, list, count, item_size, compare_int64) : NULL;
}

bool list_has_text(const char *const *list, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i], text) == 0)
            return true;
    return false;
}

size_t sort_distinct(int64_t *list, size_t count)
{
    size_t n = 0;

    if (count)
        qsort(list, count, sizeof *list, compare_int64);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || list[i] != list[i - 1])
            list[n++] = list[i];
    return n;
}

uint64_t hash_bytes(uint64_t h, const void *data, size_t len)
{
    const unsigned char *p = data;

    for (size_t i = 0; i < len; i++)
        h = (h ^ p[i]) * UINT64_C(1099511628211);
    return h;
}

uint64_t hash_text(uint64_t h, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;

    do
        h = (h ^ *p) * UINT64_C(1099511628211);
    while (*p++);
    return h;
}

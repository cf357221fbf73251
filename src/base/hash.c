/* SPDX-License-Identifier: MIT */
#include "shardwheel/base.h"

#include <stdlib.h>

int compare_int64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

void *search_by_id(int64_t id, const void *list, size_t count, size_t size)
{
    return count ? bsearch(&id, list, count, size, compare_int64) : NULL;
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

/* SPDX-License-Identifier: MIT */
#include "shardwheel/base.h"

int compare_int64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

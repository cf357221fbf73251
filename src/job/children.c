/* SPDX-License-Identifier: MIT */
/* The list of a job's children, as the original reads it. */
#include <string.h>

#include "shardwheel/job.h"

static struct child_item read_item(const char *text, size_t len, int64_t own_id)
{
    struct child_item item = {.verdict = CHILD_ILLEGAL, .text = text, .len = len};
    int64_t id = 0;

    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return item;
        id = id * 10 + (text[i] - '0');
        if (id > JOB_ID_MAX)
            return item;
    }
    if (id == 0)
        return item;
    item.id = id;
    item.verdict = id == own_id ? CHILD_SELF : CHILD_ID;
    return item;
}

size_t children_parse(const char *list, int64_t own_id, struct child_item out[CHILDREN_MAX])
{
    size_t count = 0, counted = 0;

    if (str_is_blank(list))
        return 0;
    for (const char *at = list; count < CHILDREN_MAX; at++) {
        size_t len = strcspn(at, ",");
        out[count++] = read_item(at, len, own_id);
        if (len > 0)
            counted = count; /* empty items at the end do not count */
        at += len;
        if (!*at)
            break;
    }
    return counted;
}

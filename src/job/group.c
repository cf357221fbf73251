/* SPDX-License-Identifier: MIT */
/* Groups as a direct fire takes them along. */
#include <stdlib.h>
#include <string.h>

#include "shardwheel/job.h"
#include "shardwheel/text.h"

struct group_spec *group_spec_ref(struct group_spec *group)
{
    /* Relaxed: as job_spec_ref. */
    atomic_fetch_add_explicit(&group->refs, 1, memory_order_relaxed);
    return group;
}

void group_spec_unref(struct group_spec *group)
{
    /* acq_rel: as job_spec_unref. */
    if (group && atomic_fetch_sub_explicit(&group->refs, 1, memory_order_acq_rel) == 1)
        free(group);
}

struct group_spec *group_spec_create(int64_t id, const char *app_name, const char *access_token, bool manual,
                                     const char *list)
{
    size_t app_size = strlen(app_name) + 1, token_size = strlen(access_token) + 1, list_size = strlen(list) + 1;
    size_t places = text_count_items(list);
    struct group_spec *group =
        malloc(sizeof *group + places * sizeof *group->addresses + app_size + token_size + list_size);
    if (!group)
        return NULL;
    const char **addresses = (const char **)(group + 1);
    char *at = (char *)(addresses + places);
    *group = (struct group_spec){.id = id, .manual = manual, .addresses = addresses};
    group->app_name = memcpy(at, app_name, app_size);
    group->access_token = memcpy(at + app_size, access_token, token_size);
    char *rest = memcpy(at + app_size + token_size, list, list_size);
    for (char *item; (item = text_cut_item(&rest));)
        if (!list_has_text(addresses, group->count, item))
            addresses[group->count++] = item;
    atomic_init(&group->refs, 1);
    return group;
}

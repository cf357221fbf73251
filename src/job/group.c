/* SPDX-License-Identifier: MIT */
/* Groups as a direct fire takes them along. */
#include <stdlib.h>

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
    size_t places = text_count_items(list);
    size_t texts = str_size(app_name) + str_size(access_token) + str_size(list);
    struct group_spec *group = malloc(sizeof *group + places * sizeof *group->addresses + texts);
    if (!group)
        return NULL;
    const char **addresses = (const char **)(group + 1);
    char *at = (char *)(addresses + places);
    *group = (struct group_spec){.id = id, .manual = manual, .addresses = addresses};
    group->app_name = str_pack(&at, app_name);
    group->access_token = str_pack(&at, access_token);
    for (char *rest = str_pack(&at, list), *item; (item = text_cut_item(&rest));)
        if (!list_has_text(addresses, group->count, item))
            addresses[group->count++] = item;
    atomic_init(&group->refs, 1);
    return group;
}

/* SPDX-License-Identifier: MIT */
/* Direct fires. */
#include <string.h>

#include "shardwheel/job.h"

static struct fire *make_one(const struct direct_order *o, int index, int total, bool broadcast, const char *address)
{
    struct fire *fire = fire_create();

    if (!fire)
        return NULL;
    fire->job = job_spec_ref(o->job);
    fire->target = o->group ? group_spec_ref(o->group) : NULL;
    fire->job_id = o->job->id;
    fire->group = o->job->group;
    fire->due_s = fire->original_due_s = o->now_s;
    fire->shard = -1;
    fire->kind = o->kind;
    fire->generation = o->generation;
    fire->shard_index = index;
    fire->shard_total = total;
    fire->broadcast = broadcast;
    fire->address = str_copy(address);
    if (address && !fire->address) {
        fire_destroy(fire);
        return NULL;
    }
    return fire;
}

enum err fires_make_direct(const struct direct_order *o, struct fire **list, struct errctx *ec)
{
    bool broadcast = strcmp(o->job->route, ROUTE_NAME_BROADCAST) == 0;
    size_t total = broadcast && o->group && o->group->count > 0 ? o->group->count : 1;
    struct fire *made = NULL;

    /* From the last to the first, as each goes to the head of the list. */
    for (size_t i = total; i-- > 0;) {
        const char *address = broadcast && o->group && o->group->count > 0 ? o->group->addresses[i] : NULL;
        struct fire *fire = make_one(o, (int)i, (int)total, broadcast, address);
        if (!fire) {
            fire_destroy_list(made);
            return err_set(ec, ERR_NOMEM, "out of memory for %zu fires of job %lld", total, (long long)o->job->id);
        }
        fire->next = made;
        made = fire;
    }
    while (*list)
        list = &(*list)->next;
    *list = made;
    return ERR_OK;
}

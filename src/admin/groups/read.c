/* SPDX-License-Identifier: MIT */
/* Executor groups as they are, who beats for them, and what uses them. */
#include "shardwheel/admin/groups.h"
#include "shardwheel/admin/overview.h"

#include "admin/admin_impl.h"
#include "admin/groups/check.h"
#include "shardwheel/registry.h"
#include "shardwheel/text.h"

#include <stdlib.h>
#include <string.h>

#define COUNT_LIMIT_MS 2000

static void hide_tokens(const struct actor *actor, struct group_infos *list)
{
    bool may = actor_may(actor, RIGHT_ADMINISTER, 0);

    for (size_t i = 0; i < list->count && !may; i++)
        list->items[i].access_token = NULL;
}

enum err group_load(struct store_session *s, int64_t id, struct group_infos *out, struct refusal *r)
{
    enum err e = store_load_group(s, id, out, &r->text);

    return e == ERR_NOTFOUND ? refuse(r, REFUSED_UNKNOWN, "id", "%s", r->text.text) : e;
}

enum err admin_show_group(struct admin *a, const struct actor *actor, int64_t id, struct group_infos *out,
                          struct refusal *r)
{
    struct store_session *s = NULL;
    enum err e = admin_take_session(a, &s, r);

    if (!e)
        e = group_load(s, id, out, r);
    if (!e)
        hide_tokens(actor, out);
    return admin_end(a, s, e, r);
}

enum err admin_load_group(struct admin *a, const struct actor *actor, int64_t id, struct group_infos *out,
                          struct refusal *r)
{
    enum err e = refuse_unless(actor, RIGHT_SEE, id, r);

    return e ? e : admin_show_group(a, actor, id, out, r);
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

static enum err refuse_list(const struct actor *actor, const struct group_filter *filter, struct refusal *r)
{
    if (filter->by_name)
        return refuse_unless(actor, RIGHT_ADMINISTER, 0, r);
    return filter->all_groups || !filter->group_count ? ERR_OK : refuse_unless(actor, RIGHT_SEE, *filter->groups, r);
}

/* Who cannot be counted in time is counted by what is known of him. */
enum err admin_list_groups(struct admin *a, const struct actor *actor, const struct group_filter *wanted,
                           struct group_infos *out, int64_t *total, bool *is_estimate, struct refusal *r)
{
    struct group_filter filter = *wanted;
    struct store_session *s = NULL;

    filter.groups = actor->groups;
    filter.group_count = actor->group_count;
    filter.all_groups = filter.by_name || actor_may(actor, RIGHT_SEE, 0);
    *out = (struct group_infos){0};
    enum err e = refuse_list(actor, &filter, r);
    if (!e)
        e = admin_take_session(a, &s, r);
    if (!e)
        e = store_list_groups(s, &filter, out, &r->text);
    if (!e && total) {
        e = store_count_groups(s, &filter, COUNT_LIMIT_MS, total, &r->text);
        *is_estimate = e == ERR_TIMEOUT;
        if (e == ERR_TIMEOUT) {
            *total = filter.offset + (int64_t)out->count;
            e = ERR_OK;
        }
    }
    if (e)
        group_infos_fini(out);
    hide_tokens(actor, out);
    return admin_end(a, s, e, r);
}

/* ---- executors --------------------------------------------------------------------------------------------------- */

static struct group_executor *find_executor(struct group_executors *list, const char *address, size_t len)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strlen(list->items[i].address) == len && !strncmp(list->items[i].address, address, len))
            return &list->items[i];
    }
    return NULL;
}

/* Cuts the group's own list to pieces: nobody reads it afterwards. */
static void add_listed(struct group_executors *list)
{
    char *at = (char *)(uintptr_t)list->group.items->address_list;

    for (char *item; at && (item = strsep(&at, ","));) {
        item += strspn(item, " \t");
        size_t len = strcspn(item, " \t");
        if (!len)
            continue;
        struct group_executor *x = find_executor(list, item, len);
        item[len] = '\0';
        if (!x) {
            x = &list->items[list->count++];
            *x = (struct group_executor){.address = item, .beat_s = -1};
        }
        x->listed = true;
    }
}

static enum err merge(struct admin *a, struct group_executors *list, struct errctx *ec)
{
    const char *addresses = list->group.items->address_list;

    list->items = calloc(list->beats.count + (addresses ? text_count_items(addresses) : 0) + 1, sizeof *list->items);
    if (!list->items)
        return err_set(ec, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < list->beats.count; i++)
        list->items[list->count++] =
            (struct group_executor){.address = list->beats.items[i].address, .beat_s = list->beats.items[i].beat_s};
    add_listed(list);
    qsort(list->items, list->count, sizeof *list->items, compare_texts);
    for (size_t i = 0; i < list->count; i++)
        list->items[i].trigger_path = registry_is_trigger_path(a->opts.registry, list->items[i].address);
    return ERR_OK;
}

/* Runs that stand in the log with an address and this group. */
static void count_runs(struct group_executors *list, const struct overview *o, int64_t now_s)
{
    list->has_runs = !(o->incomplete & OVERVIEW_RUNS);
    list->runs_are_estimates = o->runs_are_estimates;
    for (size_t i = 0; i < o->notable.count; i++) {
        const struct notable_run *run = &o->notable.items[i];
        const char *address = run->address ? run->address : "";

        if (run->group != list->group.items->id || list->count == 0)
            continue;
        struct group_executor *x = bsearch(&address, list->items, list->count, sizeof *x, compare_texts);
        if (!x)
            continue;
        if (run->state == RUN_RUNNING)
            x->under_way++;
        if (run->state != RUN_FAILED && run->state != RUN_LOST && run->state != RUN_UNKNOWN)
            continue;
        x->failures += run->trigger_s >= now_s - 3600;
        x->failed_s = run->trigger_s > x->failed_s ? run->trigger_s : x->failed_s;
    }
}

enum err admin_load_executors(struct admin *a, const struct actor *actor, int64_t id, struct group_executors *out,
                              struct refusal *r)
{
    const struct overview *o = NULL;
    struct store_session *s = NULL;
    int64_t now_s = clock_wall_ms(a->clock) / 1000;
    enum err e;

    *out = (struct group_executors){0};
    e = admin_load_group(a, actor, id, &out->group, r);
    if (!e)
        e = admin_take_session(a, &s, r);
    if (!e)
        e = store_load_group_beats(s, out->group.items->app_name, now_s - MISSED_HOLD_S, &out->beats, &r->text);
    if (!e)
        e = merge(a, out, &r->text);
    e = admin_end(a, s, e, r);
    if (!e)
        e = admin_get_overview(a, actor, &o, r);
    if (!e)
        count_runs(out, o, now_s);
    overview_put(o);
    if (e)
        group_executors_fini(out);
    return e;
}

void group_executors_fini(struct group_executors *list)
{
    free(list->items);
    group_beats_fini(&list->beats);
    group_infos_fini(&list->group);
    *list = (struct group_executors){0};
}

enum err admin_list_group_jobs(struct admin *a, const struct actor *actor, int64_t id, int64_t after, int64_t limit,
                               struct group_jobs *out, struct refusal *r)
{
    struct store_session *s = NULL;
    struct group_infos group = {0};
    enum err e = admin_load_group(a, actor, id, &group, r);

    group_infos_fini(&group);
    if (!e)
        e = admin_take_session(a, &s, r);
    if (!e)
        e = store_list_group_jobs(s, id, after, limit, out, &r->text);
    return admin_end(a, s, e, r);
}

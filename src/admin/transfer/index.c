/* SPDX-License-Identifier: MIT */
#include "admin/transfer/import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 500

/* ---- doubles of the document ------------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    const struct transfer_name *x = a, *y = b;
    int by_app = strcmp(x->app_name, y->app_name);

    return by_app ? by_app : strcmp(x->name, y->name);
}

static enum err check_doubles(struct transfer_name *names, size_t count, const char *field, struct refusal *r)
{
    qsort(names, count, sizeof *names, compare_names);
    for (size_t i = 1; i < count; i++) {
        if (compare_names(&names[i - 1], &names[i]) != 0)
            continue;
        enum err e = refuse(r, REFUSED_INVALID, field, "%s%s%s occurs twice", names[i].app_name,
                            *names[i].name ? "/" : "", names[i].name);
        snprintf(r->item, sizeof r->item, "%s%s%s", names[i].app_name, *names[i].name ? "/" : "", names[i].name);
        return e;
    }
    return ERR_OK;
}

static enum err check_rules(const struct transfer *document, struct transfer_name *names, struct refusal *r)
{
    struct buf *texts = calloc(document->rule_count + 1, sizeof *texts);
    enum err e = texts ? ERR_OK : refuse(r, REFUSED_BROKEN, NULL, "out of memory for the import");

    for (size_t i = 0; i < document->rule_count && !e; i++) {
        transfer_put_rule_name(&document->rules[i], &texts[i]);
        names[i] = (struct transfer_name){texts[i].data, ""};
        if (buf_failed(&texts[i]))
            e = refuse(r, REFUSED_BROKEN, NULL, "out of memory for the import");
    }
    if (!e)
        e = check_doubles(names, document->rule_count, "rules", r);
    for (size_t i = 0; texts && i < document->rule_count; i++)
        buf_fini(&texts[i]);
    free(texts);
    return e;
}

enum err transfer_check_names(const struct transfer *d, struct refusal *r)
{
    struct transfer_name *names =
        calloc(d->group_count + d->job_count + d->flow_count + d->rule_count + d->channel_count + 1, sizeof *names);
    enum err e;

    if (!names)
        return refuse(r, REFUSED_BROKEN, NULL, "out of memory for the import");
    for (size_t i = 0; i < d->group_count; i++)
        names[i] = (struct transfer_name){d->groups[i].app_name, ""};
    e = check_doubles(names, d->group_count, "groups", r);
    for (size_t i = 0; i < d->job_count; i++)
        names[i] = (struct transfer_name){d->jobs[i].app_name, d->jobs[i].row.name};
    if (!e)
        e = check_doubles(names, d->job_count, "jobs", r);
    for (size_t i = 0; i < d->flow_count; i++)
        names[i] = (struct transfer_name){d->flows[i].name, ""};
    if (!e)
        e = check_doubles(names, d->flow_count, "flows", r);
    if (!e)
        e = check_rules(d, names, r);
    for (size_t i = 0; i < d->channel_count; i++)
        names[i] = (struct transfer_name){d->channels[i].name, ""};
    if (!e)
        e = check_doubles(names, d->channel_count, "channels", r);
    free(names);
    return e;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

enum err transfer_index_add_group(struct transfer_index *index, int64_t id, const char *app_name, struct refusal *r)
{
    struct group_infos *list = &index->groups;
    struct group_info *more = realloc(list->items, (list->count + 1) * sizeof *more);

    if (!more)
        return refuse(r, REFUSED_BROKEN, NULL, "out of memory for the import");
    list->items = more;
    more[list->count++] = (struct group_info){.id = id, .app_name = app_name};
    return ERR_OK;
}

size_t transfer_index_find_group(const struct transfer_index *index, const char *app_name,
                                 const struct group_info **out)
{
    size_t count = 0;

    *out = NULL;
    for (size_t i = index->groups.count; i-- > 0;) {
        if (strcmp(index->groups.items[i].app_name, app_name) != 0)
            continue;
        *out = &index->groups.items[i];
        count++;
    }
    return count;
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

static int compare_jobs(const void *a, const void *b)
{
    const struct indexed_job *x = a, *y = b;
    int by_group = compare_numbers(x->group, y->group), by_name = by_group ? by_group : strcmp(x->name, y->name);

    return by_name ? by_name : compare_numbers(x->id, y->id);
}

enum err transfer_index_add_job(struct transfer_index *index, int64_t group, int64_t id, const char *name,
                                struct refusal *r)
{
    bool room = list_grow(&index->jobs, index->job_count, sizeof *index->jobs);
    char *copy = room ? str_copy(name ? name : "") : NULL;

    if (!copy)
        return refuse(r, REFUSED_BROKEN, NULL, "out of memory for the import");
    index->jobs[index->job_count++] = (struct indexed_job){.group = group, .id = id, .name = copy};
    return ERR_OK;
}

static enum err load_jobs(struct transfer_index *index, struct admin *a, const struct actor *actor, int64_t group,
                          struct refusal *r)
{
    struct job_query query = {.filter = {.group = group, .status = -1}, .limit = PAGE};
    size_t got = PAGE;
    enum err e = ERR_OK;

    while (!e && got == PAGE) {
        struct job_found found = {0};
        e = admin_list_jobs(a, actor, &query, &found, r);
        got = e ? 0 : found.list.count;
        for (size_t i = 0; !e && i < got; i++)
            e = transfer_index_add_job(index, group, found.list.rows[i].id, found.list.rows[i].name, r);
        if (got)
            query.after.id = found.list.rows[got - 1].id;
        job_found_fini(&found);
    }
    return e;
}

static bool is_named(const struct transfer *document, const struct flow_plans *flows, const char *app_name)
{
    for (size_t i = 0; i < document->job_count; i++) {
        const struct transfer_job *job = &document->jobs[i];
        if (!strcmp(job->app_name, app_name))
            return true;
        for (size_t k = 0; k < job->child_count; k++) {
            if (!strcmp(job->children[k].app_name, app_name))
                return true;
        }
    }
    return flow_plans_name(flows, app_name);
}

void transfer_index_sort(struct transfer_index *index)
{
    if (index->job_count)
        qsort(index->jobs, index->job_count, sizeof *index->jobs, compare_jobs);
    index->sorted = index->job_count;
}

enum err transfer_index_load(struct transfer_index *index, struct admin *a, const struct actor *actor,
                             const struct transfer *document, const struct flow_plans *flows, struct refusal *r)
{
    const struct group_filter all = {.limit = INT32_MAX};
    enum err e = admin_list_groups(a, actor, &all, &index->groups, NULL, NULL, r);

    for (size_t i = 0; !e && i < index->groups.count; i++) {
        struct group_info *group = &index->groups.items[i];
        group->app_name = group->app_name ? group->app_name : "";
        if (is_named(document, flows, group->app_name))
            e = load_jobs(index, a, actor, group->id, r);
    }
    transfer_index_sort(index);
    return e;
}

size_t transfer_index_find_job(const struct transfer_index *index, const char *app_name, const char *name, int64_t *id)
{
    const struct group_info *group;
    size_t at, count = 0;

    if (transfer_index_find_group(index, app_name, &group) != 1)
        return 0;
    const struct indexed_job first = {.group = group->id, .id = INT64_MIN, .name = (char *)(uintptr_t)name};
    at = list_find_first(&first, index->jobs, index->sorted, sizeof first, compare_jobs);
    for (; at < index->sorted && index->jobs[at].group == group->id && !strcmp(index->jobs[at].name, name); at++)
        *id = index->jobs[at].id, count++;
    return count;
}

void transfer_index_fini(struct transfer_index *index)
{
    for (size_t i = 0; i < index->job_count; i++)
        free(index->jobs[i].name);
    free(index->jobs);
    group_infos_fini(&index->groups);
    *index = (struct transfer_index){0};
}

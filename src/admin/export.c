/* SPDX-License-Identifier: MIT */
/* Groups and jobs, taken out. */
#include "shardwheel/admin/transfer.h"

#include <stdlib.h>
#include <string.h>

#include "admin/jobs_impl.h"
#include "shardwheel/job.h"

#define PAGE 500

/* Pages as they were read: all texts are in them, and names of children in `names`. */
struct export_page {
    struct export_page *next;
    struct group_infos groups;
    struct job_found jobs;
    struct transfer_name *names;
};

struct export_pages {
    struct export_page *first;
    size_t bytes;
};

struct exporting {
    struct admin *admin;
    const struct actor *actor;
    struct export *out;
    struct group_info *groups; /* that are taken; by id */
    size_t group_count;
    struct refusal *r;
};

void export_fini(struct export *out)
{
    struct export_page *page = out->pages ? out->pages->first : NULL;

    while (page) {
        struct export_page *next = page->next;
        group_infos_fini(&page->groups);
        job_found_fini(&page->jobs);
        free(page->names);
        free(page);
        page = next;
    }
    free(out->pages);
    free(out->document.groups);
    free(out->document.jobs);
    *out = (struct export){0};
}

static struct export_page *add_page(struct exporting *x)
{
    struct export_page *page = calloc(1, sizeof *page);

    if (!page) {
        refuse(x->r, REFUSED_BROKEN, NULL, "out of memory for the export");
        return NULL;
    }
    page->next = x->out->pages->first;
    x->out->pages->first = page;
    return page;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static bool is_wanted(const int64_t *groups, size_t count, int64_t id)
{
    for (size_t i = 0; groups && i < count; i++) {
        if (groups[i] == id)
            return true;
    }
    return !groups;
}

static enum err keep_groups(struct exporting *x, const struct group_infos *found, const int64_t *groups, size_t count)
{
    for (size_t i = 0; i < found->count; i++) {
        if (!is_wanted(groups, count, found->items[i].id))
            continue;
        struct group_info *more = realloc(x->groups, (x->group_count + 1) * sizeof *more);
        if (!more)
            return refuse(x->r, REFUSED_BROKEN, NULL, "out of memory for the export");
        x->groups = more;
        x->groups[x->group_count++] = found->items[i];
    }
    return ERR_OK;
}

static enum err load_groups(struct exporting *x, const int64_t *groups, size_t count)
{
    int64_t after = 0;
    size_t got = PAGE;
    enum err e = ERR_OK;

    while (!e && got == PAGE) {
        struct export_page *page = add_page(x);
        if (!page)
            return ERR_NOMEM;
        e = admin_list_groups_after(x->admin, x->actor, NULL, NULL, after, PAGE, &page->groups, NULL, NULL, x->r);
        got = e ? 0 : page->groups.count;
        if (got) {
            after = page->groups.items[got - 1].id;
            e = keep_groups(x, &page->groups, groups, count);
        }
    }
    return e;
}

static const struct group_info *find_group(const struct exporting *x, int64_t id)
{
    for (size_t i = 0; i < x->group_count; i++) {
        if (x->groups[i].id == id)
            return &x->groups[i];
    }
    return NULL;
}

static int compare_groups(const void *a, const void *b)
{
    const struct group_values *x = a, *y = b;
    int by_name = strcmp(x->app_name, y->app_name);

    return by_name ? by_name : strcmp(x->title, y->title);
}

static enum err put_groups(struct exporting *x)
{
    struct group_values *list = calloc(x->group_count + 1, sizeof *list);

    if (!list)
        return refuse(x->r, REFUSED_BROKEN, NULL, "out of memory for the export");
    for (size_t i = 0; i < x->group_count; i++) {
        const struct group_info *group = &x->groups[i];
        list[i] = (struct group_values){.app_name = group->app_name ? group->app_name : "",
                                        .title = group->title ? group->title : "",
                                        .address_type = group->address_type,
                                        .addresses = group->address_type ? group->address_list : NULL};
    }
    qsort(list, x->group_count, sizeof *list, compare_groups);
    x->out->document.groups = list;
    x->out->document.group_count = x->group_count;
    return ERR_OK;
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

static size_t measure(const struct job_row *row)
{
    size_t bytes = sizeof *row;

    for (size_t i = 0; i < job_column_count(); i++) {
        const struct job_column *c = job_column_get(i);
        const char *text = c->is_text ? job_row_text(row, c) : NULL;
        bytes += text ? strlen(text) : 0;
    }
    return bytes;
}

static void fill_texts(struct job_row *row)
{
    for (size_t i = 0; i < job_column_count(); i++) {
        const struct job_column *c = job_column_get(i);
        if (c->is_text && !job_row_text(row, c))
            job_row_set_text(row, c, "");
    }
}

/* Pages leave large sources out: then the job is read again, by itself. *row: where it stands from then on. */
static enum err load_source(struct exporting *x, const struct job_row **row)
{
    struct export_page *page;
    enum err e;

    if ((*row)->glue_source || !(*row)->glue_type || !strcmp((*row)->glue_type, "BEAN"))
        return ERR_OK;
    page = add_page(x);
    if (!page)
        return ERR_NOMEM;
    e = admin_load_job(x->admin, x->actor, (*row)->id, &page->jobs, x->r);
    if (!e)
        *row = &page->jobs.list.rows[0];
    return e;
}

static enum err keep_job(struct exporting *x, const struct job_found *found, const struct job_row *row, size_t *max)
{
    struct transfer *d = &x->out->document;
    const struct group_info *group = find_group(x, row->group);
    const struct job_settings *settings = job_found_settings(found, row->id);

    if (!group)
        return ERR_OK;
    enum err e = load_source(x, &row);
    if (e) /* a job that went meanwhile is none to take out */
        return x->r->kind == REFUSED_UNKNOWN ? ERR_OK : e;
    x->out->pages->bytes += measure(row);
    if (d->job_count == TRANSFER_JOBS_MAX || x->out->pages->bytes > TRANSFER_BYTES_MAX)
        return refuse(x->r, REFUSED_LIMIT, "jobGroup", "more than %d jobs or %d MiB: take out some groups at a time",
                      TRANSFER_JOBS_MAX, TRANSFER_BYTES_MAX >> 20);
    if (d->job_count == *max) {
        struct transfer_job *more = realloc(d->jobs, 2 * (*max + 32) * sizeof *more);
        if (!more)
            return refuse(x->r, REFUSED_BROKEN, NULL, "out of memory for the export");
        d->jobs = more;
        *max = 2 * (*max + 32);
    }
    struct transfer_job *job = &d->jobs[d->job_count++];
    *job = (struct transfer_job){.app_name = group->app_name, .row = *row, .running = row->status == 1};
    fill_texts(&job->row);
    job_settings_init(&job->settings, row->id);
    if (settings)
        job->settings = *settings;
    return ERR_OK;
}

static enum err load_jobs(struct exporting *x, int64_t only_group, size_t *max)
{
    struct job_query query = {.filter = {.group = only_group, .status = -1},
                              .own_groups = true,
                              .limit = PAGE,
                              .sources = true,
                              .settings = true};
    size_t got = PAGE;
    enum err e = ERR_OK;

    while (!e && got == PAGE) {
        struct export_page *page = add_page(x);
        if (!page)
            return ERR_NOMEM;
        e = admin_list_jobs(x->admin, x->actor, &query, &page->jobs, x->r);
        got = e ? 0 : page->jobs.list.count;
        for (size_t i = 0; !e && i < got; i++)
            e = keep_job(x, &page->jobs, &page->jobs.list.rows[i], max);
        if (got)
            query.before_id = page->jobs.list.rows[got - 1].id;
    }
    return e;
}

static int compare_jobs(const void *a, const void *b)
{
    const struct transfer_job *x = a, *y = b;
    int by_app = strcmp(x->app_name, y->app_name), by_name = by_app ? by_app : strcmp(x->row.name, y->row.name);

    return by_name ? by_name : compare_int64(&x->row.id, &y->row.id);
}

/* ---- children ---------------------------------------------------------------------------------------------------- */

static int compare_by_id(const void *a, const void *b)
{
    const struct transfer_job *const *x = a, *const *y = b;

    return compare_int64(&(*x)->row.id, &(*y)->row.id);
}

static const struct transfer_job *find_job(struct transfer_job *const *by_id, size_t count, int64_t id)
{
    struct transfer_job key = {.row = {.id = id}}, *wanted = &key;
    struct transfer_job *const *found = bsearch(&wanted, by_id, count, sizeof *by_id, compare_by_id);

    return found ? *found : NULL;
}

/* By name where all of them are in the document; else they stay as ids. */
static enum err name_children(struct exporting *x, struct transfer_job *job, struct transfer_job *const *by_id,
                              size_t count)
{
    size_t most = strlen(job->row.children) / 2 + 1, n = 0;
    char *copy = str_copy(job->row.children), *save = NULL;
    struct export_page *page = copy ? add_page(x) : NULL;
    bool all = true;

    if (page)
        page->names = calloc(most, sizeof *page->names);
    if (!page || !page->names) {
        free(copy);
        return refuse(x->r, REFUSED_BROKEN, NULL, "out of memory for the export");
    }
    for (char *word = strtok_r(copy, ",", &save); word && all; word = strtok_r(NULL, ",", &save)) {
        const struct transfer_job *child = NULL;
        int64_t id;
        if (parse_int(word, 1, INT64_MAX, &id))
            child = find_job(by_id, count, id);
        all = child != NULL;
        if (child)
            page->names[n++] = (struct transfer_name){child->app_name, child->row.name};
    }
    free(copy);
    if (all && n) {
        job->children = page->names;
        job->child_count = n;
    }
    return ERR_OK;
}

static enum err name_all_children(struct exporting *x)
{
    struct transfer *d = &x->out->document;
    struct transfer_job **by_id = calloc(d->job_count + 1, sizeof *by_id);
    enum err e = by_id ? ERR_OK : refuse(x->r, REFUSED_BROKEN, NULL, "out of memory for the export");

    for (size_t i = 0; !e && i < d->job_count; i++)
        by_id[i] = &d->jobs[i];
    if (!e)
        qsort(by_id, d->job_count, sizeof *by_id, compare_by_id);
    for (size_t i = 0; !e && i < d->job_count; i++) {
        if (d->jobs[i].row.children[0])
            e = name_children(x, &d->jobs[i], by_id, d->job_count);
    }
    free(by_id);
    return e;
}

enum err admin_export(struct admin *a, const struct actor *actor, const int64_t *groups, size_t group_count,
                      struct export *out, struct refusal *r)
{
    struct export result = {.pages = calloc(1, sizeof *result.pages)};
    struct exporting x = {.admin = a, .actor = actor, .out = &result, .r = r};
    size_t max = 0;
    enum err e;

    if (!result.pages)
        return refuse(r, REFUSED_BROKEN, NULL, "out of memory for the export");
    e = load_groups(&x, groups, group_count);
    if (!e)
        e = put_groups(&x);
    if (!groups && !e)
        e = load_jobs(&x, 0, &max);
    for (size_t i = 0; groups && !e && i < x.group_count; i++)
        e = load_jobs(&x, x.groups[i].id, &max);
    if (!e) {
        qsort(result.document.jobs, result.document.job_count, sizeof *result.document.jobs, compare_jobs);
        e = name_all_children(&x);
    }
    free(x.groups);
    if (e)
        export_fini(&result);
    else
        *out = result;
    return e;
}

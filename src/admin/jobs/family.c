/* SPDX-License-Identifier: MIT */
#include "shardwheel/admin/family.h"

#include <inttypes.h>
#include <stdlib.h>

#include "admin/admin_impl.h"
#include "shardwheel/job.h"
#include "shardwheel/store/jobs.h"

#define PARENTS_MAX 50000
#define LIMIT_MS 3000

void family_fini(struct family *family)
{
    struct job_list *list = family->memory;

    if (list)
        job_list_fini(list);
    free(list);
    free(family->jobs);
    free(family->links);
    *family = (struct family){0};
}

/* ---- who belongs to it ------------------------------------------------------------------------------------------- */

/* What names a child, once for each. */
static enum err list_links(const struct job_parents *parents, struct family_link **out, size_t *count,
                           struct errctx *ec)
{
    *out = NULL;
    *count = 0;
    for (size_t i = 0; i < parents->count; i++) {
        struct child_item items[CHILDREN_MAX];
        size_t n = children_parse(parents->items[i].children, parents->items[i].id, items);

        for (size_t k = 0; k < n; k++) {
            bool again = items[k].verdict != CHILD_ID;
            for (size_t m = 0; m < k; m++)
                again = again || (items[m].verdict == CHILD_ID && items[m].id == items[k].id);
            if (again)
                continue;
            if (!list_grow(out, *count, sizeof **out))
                return err_set(ec, ERR_NOMEM, "out of memory");
            (*out)[(*count)++] = (struct family_link){parents->items[i].id, items[k].id};
        }
    }
    return ERR_OK;
}

static bool has_job(const struct family *f, int64_t id)
{
    for (size_t i = 0; i < f->job_count; i++)
        if (f->jobs[i].id == id)
            return true;
    return false;
}

static void add_job(struct family *f, int64_t id)
{
    if (has_job(f, id))
        return;
    if (f->job_count == FAMILY_JOBS_MAX)
        f->is_cut = true;
    else
        f->jobs[f->job_count++].id = id;
}

/* Jobs in one direction, nearest first; cycles end where they began. `f->jobs[0]` is the job itself. */
static enum err walk(struct family *f, const struct family_link *all, size_t count, bool down, struct errctx *ec)
{
    struct family way = {.jobs = calloc(FAMILY_JOBS_MAX, sizeof *way.jobs)};

    if (!way.jobs)
        return err_set(ec, ERR_NOMEM, "out of memory");
    add_job(&way, f->jobs[0].id);
    for (size_t i = 0; i < way.job_count; i++)
        for (size_t k = 0; k < count; k++)
            if ((down ? all[k].from : all[k].to) == way.jobs[i].id)
                add_job(&way, down ? all[k].to : all[k].from);
    for (size_t i = 1; i < way.job_count; i++)
        add_job(f, way.jobs[i].id);
    f->is_cut = f->is_cut || way.is_cut;
    free(way.jobs);
    return ERR_OK;
}

enum err family_find(const struct job_parents *parents, int64_t job_id, struct family *out, struct errctx *ec)
{
    struct family f = {.jobs = calloc(FAMILY_JOBS_MAX, sizeof *f.jobs),
                       .links = calloc(FAMILY_LINKS_MAX, sizeof *f.links),
                       .is_cut = parents->cut};
    struct family_link *all = NULL;
    size_t count = 0;
    enum err e = f.jobs && f.links ? list_links(parents, &all, &count, ec) : err_set(ec, ERR_NOMEM, "out of memory");

    if (!e) {
        add_job(&f, job_id);
        e = walk(&f, all, count, /*down=*/true, ec);
    }
    if (!e)
        e = walk(&f, all, count, /*down=*/false, ec);
    for (size_t i = 0; i < count && !e; i++) {
        if (!has_job(&f, all[i].from) || !has_job(&f, all[i].to))
            continue;
        if (f.link_count == FAMILY_LINKS_MAX)
            f.is_cut = true;
        else
            f.links[f.link_count++] = all[i];
    }
    free(all);
    if (e)
        family_fini(&f);
    else
        *out = f;
    return e;
}

/* ---- what they are ----------------------------------------------------------------------------------------------- */

static void describe(const struct actor *actor, const struct job_row *row, struct family_job *job)
{
    job->group = row->group;
    job->is_seen = actor_may(actor, RIGHT_SEE, row->group);
    if (!job->is_seen)
        return;
    job->running = row->status == 1;
    job->name = row->name;
    job->next_ms = job->running ? row->next_ms : 0;
}

static enum err describe_all(struct store_session *s, const struct actor *actor, struct family *f, struct errctx *ec)
{
    int64_t ids[FAMILY_JOBS_MAX];
    struct job_list *list = calloc(1, sizeof *list);
    enum err e;

    if (!list)
        return err_set(ec, ERR_NOMEM, "out of memory");
    f->memory = list;
    for (size_t i = 0; i < f->job_count; i++)
        ids[i] = f->jobs[i].id;
    e = store_load_jobs(s, ids, f->job_count, list, ec);
    for (size_t i = 0; i < f->job_count && !e; i++)
        for (size_t k = 0; k < list->count; k++)
            if (list->rows[k].id == f->jobs[i].id)
                describe(actor, &list->rows[k], &f->jobs[i]);
    return e;
}

/* The right first: whoever may not see the job learns nothing of the others. */
static enum err check_job(struct store_session *s, const struct actor *actor, int64_t job_id, struct refusal *r)
{
    int64_t group = 0;
    enum err e = refuse_error(r, store_load_job_groups(s, &job_id, 1, &group, &r->text));

    if (!e && group == 0)
        return refuse(r, REFUSED_UNKNOWN, "id", "there is no job %" PRId64, job_id);
    return e ? e : refuse_unless(actor, RIGHT_SEE, group, r);
}

enum err admin_load_family(struct admin *a, const struct actor *actor, int64_t job_id, struct family *out,
                           struct refusal *r)
{
    struct job_parents parents = {0};
    struct store_session *s = NULL;
    enum err e = admin_enter_seeing(a, actor, &s, r);

    *out = (struct family){0};
    if (!e)
        e = check_job(s, actor, job_id, r);
    if (!e)
        e = store_load_parents(s, PARENTS_MAX, LIMIT_MS, &parents, &r->text);
    if (!e)
        e = family_find(&parents, job_id, out, &r->text);
    if (!e)
        e = describe_all(s, actor, out, &r->text);
    if (e == ERR_TIMEOUT && r->kind == REFUSED_NOT)
        e = refuse(r, REFUSED_LIMIT, NULL, "the database took too long to read all jobs");
    job_parents_fini(&parents);
    if (e)
        family_fini(out);
    return admin_end(a, s, e, r);
}

/* SPDX-License-Identifier: MIT */
#include "shardwheel/admin/runs.h"

#include "admin/admin_impl.h"
#include "admin/runs/counts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- what it may see --------------------------------------------------------------------------------------------- */

/* *none: its groups are known, and there are none. */
static enum err narrow(const struct actor *actor, const struct run_search *search, struct run_filter *filter,
                       bool *none, struct refusal *r)
{
    *none = false;
    if (filter->group > 0 || !search->own_groups || actor_may(actor, RIGHT_SEE, 0))
        return refuse_unless(actor, RIGHT_SEE, filter->group, r);
    enum err e = refuse_unless_sees(actor, r);
    if (e)
        return e;
    if (actor->group_count == 1 && !filter->job_id) {
        filter->group = actor->groups[0];
    } else {
        filter->groups = actor->groups;
        filter->group_count = actor->group_count;
    }
    *none = actor->group_count == 0;
    return ERR_OK;
}

/* ---- counts ------------------------------------------------------------------------------------------------------ */

static bool is_everything(const struct run_filter *f)
{
    return !f->job_id && !f->group && !f->group_count && !f->states && !f->log_status && !f->late && !f->address &&
           !f->text && !f->from_s && !f->until_s;
}

/* A count that nobody ever finished: what the page itself shows, or what the server guesses of the whole table. */
static int64_t guess(struct store_session *s, const struct run_filter *filter, int64_t at_least)
{
    struct errctx ec;
    int64_t total = 0;

    if (is_everything(filter) && store_guess_runs(s, &total, &ec) == ERR_OK && total > at_least)
        return total;
    return at_least;
}

static enum err count(struct admin *a, struct store_session *s, const struct run_filter *filter, int64_t at_least,
                      struct run_list *out, struct errctx *ec)
{
    bool again, known = run_counts_find(a->run_counts, filter, &out->total, &again);
    enum err e = ERR_TIMEOUT;

    if (again && run_counts_enter(a->run_counts)) {
        e = store_count_runs(s, filter, RUNS_COUNT_MS, &out->total, ec);
        run_counts_leave(a->run_counts);
        if (!e || e == ERR_TIMEOUT)
            run_counts_note(a->run_counts, filter, e ? -1 : out->total);
    }
    if (e && e != ERR_TIMEOUT)
        return e;
    out->is_estimate = e == ERR_TIMEOUT;
    if (out->is_estimate && !known)
        out->total = guess(s, filter, at_least);
    if (out->is_estimate && out->total < at_least)
        out->total = at_least;
    return ERR_OK;
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

/* Rows that no index leads to are looked at one by one. */
static bool is_slow(const struct run_filter *f)
{
    return f->text || f->address || f->states || f->late;
}

static enum err load_names(struct store_session *s, struct run_list *list, struct errctx *ec)
{
    size_t count = list->rows.count;
    int64_t *jobs = calloc(2 * count + 1, sizeof *jobs), *groups = jobs ? jobs + count : NULL;
    enum err e = jobs ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");

    for (size_t i = 0; i < count && !e; i++) {
        jobs[i] = list->rows.rows[i].job_id;
        groups[i] = list->rows.rows[i].group;
    }
    if (!e)
        e = store_load_job_names(s, jobs, count, &list->jobs, ec);
    if (!e)
        e = store_load_group_names(s, groups, count, &list->groups, ec);
    free(jobs);
    return e;
}

static enum err find(struct admin *a, struct store_session *s, const struct run_search *search,
                     const struct run_query *query, struct run_list *out, struct errctx *ec)
{
    struct run_ids ids = {0};
    enum err e = store_search_runs(s, query, &ids, ec);

    if (!e)
        e = store_load_run_rows(s, ids.ids, ids.count, search->text_max, search->bytes_max, &out->rows, ec);
    if (!e) {
        out->last = ids.last;
        out->is_end = ids.is_end;
        out->stop = ids.stop;
    }
    if (!e && search->names)
        e = load_names(s, out, ec);
    if (!e && search->count)
        e = count(a, s, &query->filter, query->skip + (int64_t)ids.count + !ids.is_end, out, ec);
    run_ids_fini(&ids);
    if (e)
        run_list_fini(out);
    return e;
}

enum err admin_list_runs(struct admin *a, const struct actor *actor, const struct run_search *search,
                         struct run_list *out, struct refusal *r)
{
    struct run_query query = search->query;
    struct store_session *s = NULL;
    bool none, slow = is_slow(&query.filter);
    enum err e = narrow(actor, search, &query.filter, &none, r);

    *out = (struct run_list){.is_end = true};
    if (e || none)
        return e;
    if (slow && !run_counts_enter(a->run_counts))
        return refuse(r, REFUSED_LIMIT, NULL, "%d searches are in progress: try again in a moment", RUNS_SLOW_MAX);
    e = admin_take_session(a, &s, r);
    if (!e)
        e = find(a, s, search, &query, out, &r->text);
    if (slow)
        run_counts_leave(a->run_counts);
    return admin_end(a, s, e, r);
}

void run_list_fini(struct run_list *list)
{
    run_rows_fini(&list->rows);
    names_fini(&list->jobs);
    names_fini(&list->groups);
}

static enum err load_run(struct store_session *s, const struct actor *actor, int64_t id, struct run_rows *out,
                         struct refusal *r)
{
    enum err e = store_load_run_rows(s, &id, 1, 0, SIZE_MAX, out, &r->text);

    if (e)
        return e;
    if (out->count == 0)
        e = refuse(r, REFUSED_UNKNOWN, "id", "there is no run %" PRId64, id);
    else
        e = refuse_unless(actor, RIGHT_SEE, out->rows[0].group, r);
    if (e)
        run_rows_fini(out);
    return e;
}

enum err admin_load_run(struct admin *a, const struct actor *actor, int64_t id, struct run_rows *out, struct refusal *r)
{
    struct store_session *s = NULL;
    enum err e = admin_take_session(a, &s, r);

    if (!e)
        e = load_run(s, actor, id, out, r);
    return admin_end(a, s, e, r);
}

enum err admin_show_run(struct admin *a, const struct actor *actor, int64_t id, struct run_list *out, struct refusal *r)
{
    struct store_session *s = NULL;
    enum err e = admin_take_session(a, &s, r);

    *out = (struct run_list){.is_end = true};
    if (!e)
        e = load_run(s, actor, id, &out->rows, r);
    if (!e)
        e = load_names(s, out, &r->text);
    if (e)
        run_list_fini(out);
    return admin_end(a, s, e, r);
}

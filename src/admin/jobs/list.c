/* SPDX-License-Identifier: MIT */
/* Jobs, looked at. */
#include "admin/jobs/jobs_impl.h"
#include "shardwheel/admin/overview.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_MS 5000  /* a page that takes longer is refused */
#define COUNT_MS 2000 /* then what was counted last is given */
#define RUNS_MS 1000  /* of what the jobs did last: left out then */

void job_found_fini(struct job_found *found)
{
    job_list_fini(&found->list);
    free(found->settings);
    free(found->runs);
    free(found->failures);
    *found = (struct job_found){0};
}

const struct job_settings *job_found_settings(const struct job_found *found, int64_t job_id)
{
    return list_find(found->settings, found->settings_count, sizeof *found->settings, job_id);
}

const struct job_last_run *job_found_run(const struct job_found *found, int64_t job_id)
{
    return list_find(found->runs, found->run_count, sizeof *found->runs, job_id);
}

int64_t job_found_failures(const struct job_found *found, int64_t job_id)
{
    for (size_t i = 0; i < found->failure_count; i++)
        if (found->failures[i].job_id == job_id)
            return found->failures[i].count;
    return 0;
}

/* ---- what stands beside the rows --------------------------------------------------------------------------------- */

/* In pieces of what one statement takes. Too slow, or no memory: there are fewer. */
static enum err load_runs(struct store_session *s, const int64_t *ids, size_t count, struct job_found *out,
                          struct errctx *ec)
{
    enum err e = ERR_OK;

    out->runs = calloc(count + 1, sizeof *out->runs);
    if (!out->runs)
        return err_set(ec, ERR_NOMEM, "out of memory");
    for (size_t at = 0, n; at < count && !e; at += n) {
        size_t found = 0;

        n = count - at < 100 ? count - at : 100;
        e = store_load_last_runs(s, ids + at, n, RUNS_MS, out->runs + out->run_count, &found, ec);
        out->run_count += found;
    }
    qsort(out->runs, out->run_count, sizeof *out->runs, compare_int64);
    return e == ERR_TIMEOUT ? ERR_OK : e;
}

static enum err load_beside(struct store_session *s, bool settings, bool runs, struct job_found *out, struct errctx *ec)
{
    size_t count = out->list.count;
    int64_t *ids = count > 0 && (settings || runs) ? calloc(count, sizeof *ids) : NULL;
    enum err e = ERR_OK;

    if (!ids)
        return count > 0 && (settings || runs) ? err_set(ec, ERR_NOMEM, "out of memory") : ERR_OK;
    for (size_t i = 0; i < count; i++)
        ids[i] = out->list.rows[i].id;
    qsort(ids, count, sizeof *ids, compare_int64);
    if (settings)
        e = store_load_job_settings(s, ids, count, &out->settings, &out->settings_count, ec);
    if (!e && runs)
        e = load_runs(s, ids, count, out, ec);
    free(ids);
    return e;
}

enum err job_find(struct store_session *s, const struct actor *actor, int64_t id, enum admin_right right,
                  struct job_list *out, struct refusal *r)
{
    enum err e = refuse_error(r, store_load_jobs(s, &id, 1, out, &r->text));

    if (!e && out->count == 0)
        e = refuse(r, REFUSED_UNKNOWN, "id", "there is no job %" PRId64, id);
    return e ? e : refuse_unless(actor, right, out->rows[0].group, r);
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

static uint64_t hash_filter(const struct job_filter *f)
{
    const char *texts[] = {f->name, f->handler, f->author, f->text, f->tag};
    int64_t numbers[] = {f->group, f->status, f->some_groups, f->some_ids};
    uint64_t h = hash_bytes(HASH_START, numbers, sizeof numbers);

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        h = hash_text(h, texts[i] ? texts[i] : "");
    h = f->some_ids ? hash_bytes(h, f->ids, f->id_count * sizeof *f->ids) : h;
    return f->some_groups ? hash_bytes(h, f->groups, f->group_count * sizeof *f->groups) : h;
}

/* Counting has a time; behind it the last count of the same filter is as good as any. */
static enum err count_jobs(struct admin *a, struct store_session *s, const struct job_filter *filter, int64_t shown,
                           struct job_found *out, struct errctx *ec)
{
    uint64_t hash = hash_filter(filter);
    enum err e = store_count_jobs(s, filter, COUNT_MS, &out->total, ec);

    mutex_lock(&a->lock);
    struct known_count *known = &a->counts[hash % KNOWN_COUNTS];
    if (!e)
        *known = (struct known_count){hash, out->total};
    else if (e == ERR_TIMEOUT)
        out->total = known->hash == hash && known->count > shown ? known->count : shown;
    mutex_unlock(&a->lock);
    out->is_estimate = e == ERR_TIMEOUT;
    return e == ERR_TIMEOUT ? ERR_OK : e;
}

static enum err list_jobs(struct admin *a, struct store_session *s, const struct job_query *q,
                          const struct job_filter *filter, struct job_found *out, struct errctx *ec)
{
    int64_t ranks[STORE_IDS_MAX];
    struct job_page_opts opts = {.filter = *filter,
                                 .sort = q->sort,
                                 .ranks = ranks,
                                 .rank_count = out->failure_count,
                                 .after = q->after,
                                 .offset = q->offset,
                                 .limit = q->limit < JOB_PAGE_MAX ? q->limit : JOB_PAGE_MAX,
                                 .sources = q->sources,
                                 .limit_ms = LIST_MS};
    enum err e;

    opts.after.rank = q->failures > 0 ? 0 : -1;
    for (size_t i = 0; i < out->failure_count; i++) {
        const struct job_failures *f = &out->failures[i];

        ranks[i] = f->job_id;
        opts.after.rank +=
            q->failures > 0 && (f->count < q->failures || (f->count == q->failures && f->job_id < q->after.id));
    }
    e = store_list_jobs(s, &opts, &out->list, ec);

    if (!e)
        e = load_beside(s, q->settings, q->runs, out, ec);
    return !e && q->count ? count_jobs(a, s, filter, q->offset + (int64_t)out->list.count, out, ec) : e;
}

/* *ids is the caller's to free. */
static enum err find_failing(struct admin *a, const struct actor *actor, struct job_filter *filter, int64_t **ids,
                             struct refusal *r)
{
    const struct overview *o = NULL;
    enum err e = admin_get_overview(a, actor, &o, r);

    if (e)
        return e;
    *ids = calloc(o->failing.count + 1, sizeof **ids);
    filter->some_ids = true;
    filter->ids = *ids;
    for (size_t i = 0; *ids && i < o->failing.count; i++)
        (*ids)[filter->id_count++] = o->failing.items[i].job_id;
    overview_put(o);
    return *ids ? ERR_OK : refuse(r, REFUSED_BROKEN, NULL, "out of memory");
}

static enum err load_failures(struct admin *a, const struct actor *actor, struct job_found *out, struct refusal *r)
{
    const struct overview *o = NULL;
    enum err e = admin_get_overview(a, actor, &o, r);

    if (e)
        return e;
    out->failures = calloc(o->ranked.count + 1, sizeof *out->failures);
    for (size_t i = 0; out->failures && i < o->ranked.count; i++)
        out->failures[out->failure_count++] = (struct job_failures){o->ranked.items[i].job_id, o->ranked.items[i].day};
    overview_put(o);
    return out->failures ? ERR_OK : refuse(r, REFUSED_BROKEN, NULL, "out of memory");
}

enum err admin_list_jobs(struct admin *a, const struct actor *actor, const struct job_query *query,
                         struct job_found *out, struct refusal *r)
{
    struct job_filter filter = query->filter;
    struct store_session *s = NULL;
    int64_t *failing = NULL;
    enum err e;

    *out = (struct job_found){0};
    filter.some_groups = false;
    if (filter.group <= 0 && query->own_groups && !actor_may(actor, RIGHT_SEE, 0)) {
        filter.some_groups = true;
        filter.groups = actor->groups;
        filter.group_count = actor->group_count;
        e = refuse_unless_sees(actor, r);
    } else {
        e = refuse_unless(actor, RIGHT_SEE, filter.group > 0 ? filter.group : 0, r);
    }
    if (!e && query->failing)
        e = find_failing(a, actor, &filter, &failing, r);
    if (!e && query->sort == JOBS_RANKED)
        e = load_failures(a, actor, out, r);
    if (!e)
        e = admin_take_session(a, &s, r);
    if (!e)
        e = list_jobs(a, s, query, &filter, out, &r->text);
    free(failing);
    if (e)
        job_found_fini(out);
    return admin_end(a, s, e, r);
}

enum err admin_load_job(struct admin *a, const struct actor *actor, int64_t id, struct job_found *out,
                        struct refusal *r)
{
    struct store_session *s = NULL;
    enum err e = admin_take_session(a, &s, r);

    *out = (struct job_found){0};
    if (!e)
        e = job_find(s, actor, id, RIGHT_SEE, &out->list, r);
    if (!e)
        e = load_beside(s, true, true, out, &r->text);
    if (e)
        job_found_fini(out);
    return admin_end(a, s, e, r);
}

/* ---- versions ---------------------------------------------------------------------------------------------------- */

static uint64_t hash_settings(uint64_t h, const struct job_settings *v)
{
    for (size_t i = 0; i < job_setting_count(); i++) {
        int64_t number = job_setting_number(v, i);

        if (!job_setting_find_text(v, i))
            h = hash_bytes(h, &number, sizeof number);
    }
    for (size_t i = 0; i < job_setting_count(); i++)
        if (job_setting_find_text(v, i))
            h = hash_text(h, job_setting_find_text(v, i));
    return h;
}

void job_version(const struct job_row *row, const struct job_settings *settings, char out[JOB_VERSION_MAX])
{
    uint64_t h = hash_bytes(HASH_START, &row->id, sizeof row->id);

    for (size_t k = 0; k < job_column_count(); k++) {
        const struct job_column *c = job_column_get(k);
        int64_t number = c->is_text ? job_row_text(row, c) != NULL : job_row_number(row, c);

        if (!strcmp(c->field, "triggerLastTime") || !strcmp(c->field, "triggerNextTime"))
            continue;
        h = hash_bytes(h, &number, sizeof number);
        if (c->is_text && number)
            h = hash_text(h, job_row_text(row, c));
    }
    if (settings && !job_settings_are_empty(settings))
        h = hash_settings(h, settings);
    snprintf(out, JOB_VERSION_MAX, "%016" PRIx64, h);
}

/* SPDX-License-Identifier: MIT */
/* All jobs, read once in pages. */
#include "ctl/doctor/children.h"
#include "ctl/doctor/survey.h"
#include "ctl/parts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shardwheel/alarm.h"
#include "shardwheel/job.h"
#include "shardwheel/store/names.h"

#define PAGE "5000"
#define CRON_YEARS 100   /* as nodes search */
#define EDGES_MAX 200000 /* children; more are not looked at */

/* While the survey is made. */
struct reading {
    struct doctor *d;
    struct judge judge;
    struct job_survey *out;
    int64_t *ids; /* ascending */
    size_t count;
    struct link {
        int64_t parent, child;
    } * links;
    size_t link_count;
};

enum column {
    COL_ID,
    COL_GROUP,
    COL_NAME,
    COL_RUNNING,
    COL_NEXT,
    COL_TYPE,
    COL_CONF,
    COL_MISFIRE,
    COL_ROUTE,
    COL_BLOCK,
    COL_GLUE_TYPE,
    COL_HANDLER,
    COL_SOURCE,
    COL_GLUE_TIME,
    COL_CHILDREN,
    COL_EMAIL,
    COL_PARAM,
    COL_ZONE,
    COL_DELAY,
    COL_FROM,
    COL_UNTIL
};
/* Sources of BEAN jobs, which nobody runs, are not read: they lie beside their rows. */
static const char page_format[] =
    "SELECT j.id, j.job_group, j.%s, j.trigger_status = 1, j.trigger_next_time, j.schedule_type, j.schedule_conf, "
    "j.misfire_strategy, j.executor_route_strategy, j.executor_block_strategy, j.glue_type, "
    "TRIM(COALESCE(j.executor_handler, '')) <> '', "
    "CASE WHEN j.glue_type = 'BEAN' THEN 0 ELSE COALESCE(LENGTH(j.glue_source), 0) > 0 END, "
    "j.glue_updatetime IS NOT NULL, j.child_jobid, j.alarm_email, COALESCE(CHAR_LENGTH(j.executor_param), 0), "
    "s.time_zone, s.fixed_delay_s, s.valid_from_s, s.valid_until_s "
    "FROM xxl_job_info j LEFT JOIN shardwheel_job s ON s.job_id = j.id WHERE j.id > %" PRId64
    " ORDER BY j.id LIMIT " PAGE;

static struct job_view read_view(const struct db_rows *look)
{
    return (struct job_view){
        .id = db_int(look, COL_ID),
        .group = db_int(look, COL_GROUP),
        .name = db_text_or_empty(look, COL_NAME),
        .running = db_int(look, COL_RUNNING) != 0,
        .next_ms = db_int(look, COL_NEXT),
        .type = db_text_or_empty(look, COL_TYPE),
        .conf = db_text_or_empty(look, COL_CONF),
        .misfire = db_text_or_empty(look, COL_MISFIRE),
        .route = db_text_or_empty(look, COL_ROUTE),
        .block = db_text_or_empty(look, COL_BLOCK),
        .glue_type = db_text_or_empty(look, COL_GLUE_TYPE),
        .has_handler = db_int(look, COL_HANDLER) != 0,
        .has_source = db_int(look, COL_SOURCE) != 0,
        .has_glue_time = db_int(look, COL_GLUE_TIME) != 0,
        .children = db_text_or_empty(look, COL_CHILDREN),
        .email = db_text_or_empty(look, COL_EMAIL),
        .param_chars = db_int(look, COL_PARAM),
        .zone = db_text_or_empty(look, COL_ZONE),
        .fixed_delay_s = db_int(look, COL_DELAY),
        .valid_from_s = db_int(look, COL_FROM),
        .valid_until_s = db_int(look, COL_UNTIL),
    };
}

/* ---- children ---------------------------------------------------------------------------------------------------- */

static bool add_link(struct reading *r, int64_t parent, int64_t child)
{
    if (r->link_count == EDGES_MAX)
        return true;
    if (!list_grow(&r->links, r->link_count, sizeof *r->links))
        return false;
    r->links[r->link_count++] = (struct link){parent, child};
    return true;
}

static bool take_children(struct reading *r, const struct job_view *job)
{
    struct child_item items[CHILDREN_MAX];
    size_t count = str_is_blank(job->children) ? 0 : children_parse(job->children, job->id, items);
    bool illegal = false;

    for (size_t i = 0; i < count; i++) {
        illegal = illegal || items[i].verdict == CHILD_ILLEGAL;
        if (items[i].verdict == CHILD_ID && !add_link(r, job->id, items[i].id))
            return false;
    }
    if (illegal)
        words_add_named(&r->out->faults[FAULT_CHILD_ILLEGAL], job->id, job->name);
    return true;
}

static bool find_place(const struct reading *r, int64_t id, size_t *out)
{
    const int64_t *found = list_find(r->ids, r->count, sizeof id, id);

    if (found)
        *out = (size_t)(found - r->ids);
    return found != NULL;
}

/* Jobs whose names are looked up once it is known that they are told. */
struct job_ids {
    int64_t first[WORDS_SHOWN];
    size_t count;
    int64_t last;
};

static void add_id(struct job_ids *ids, int64_t id)
{
    if (ids->count < WORDS_SHOWN)
        ids->first[ids->count] = id;
    ids->count++;
    ids->last = id;
}

enum err survey_name_jobs(struct doctor *d, const int64_t *ids, size_t count, struct words *out, struct errctx *ec)
{
    size_t shown = count < WORDS_SHOWN ? count : WORDS_SHOWN;
    struct names names = {0};
    enum err e = store_load_job_names(d->session, ids, shown, &names, ec);

    for (size_t i = 0; i < shown && !e; i++) {
        const struct name_row *row = names_find(&names, ids[i]);

        words_add_named(out, ids[i], row ? row->name : NULL);
    }
    out->count = count;
    names_fini(&names);
    return e;
}

/* Links become edges between places of jobs; those to jobs that are not there are told. */
static enum err judge_children(struct reading *r, struct errctx *ec)
{
    struct family_edge *edges = calloc(r->link_count + 1, sizeof *edges);
    bool *is_in_circle = calloc(r->count + 1, sizeof *is_in_circle);
    struct job_ids missing = {0}, circle = {0};
    size_t n = 0;
    enum err e = edges && is_in_circle ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");

    for (size_t i = 0; i < r->link_count && !e; i++) {
        if (find_place(r, r->links[i].parent, &edges[n].parent) && find_place(r, r->links[i].child, &edges[n].child))
            n++;
        else if (missing.last != r->links[i].parent)
            add_id(&missing, r->links[i].parent);
    }
    if (!e)
        e = children_find_circles(edges, n, r->count, is_in_circle, ec);
    for (size_t i = 0; i < r->count && !e; i++) {
        if (is_in_circle[i])
            add_id(&circle, r->ids[i]);
    }
    if (!e)
        e = survey_name_jobs(r->d, missing.first, missing.count, &r->out->faults[FAULT_CHILD_MISSING], ec);
    if (!e)
        e = survey_name_jobs(r->d, circle.first, circle.count, &r->out->faults[FAULT_CHILD_CIRCLE], ec);
    free(edges);
    free(is_in_circle);
    return e;
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

static bool keep_id(struct reading *r, int64_t id)
{
    if (!list_grow(&r->ids, r->count, sizeof id))
        return false;
    r->ids[r->count++] = id;
    return true;
}

const struct group_row *survey_find_group(const struct group_list *groups, int64_t id)
{
    return list_find(groups->rows, groups->count, sizeof *groups->rows, id);
}

static void count_group(struct job_survey *out, const struct job_view *job)
{
    const struct group_row *found = survey_find_group(&out->groups, job->group);

    if (found)
        out->facts[found - out->groups.rows].running++;
    else
        words_add_named(&out->faults[FAULT_NO_GROUP], job->id, job->name);
}

static bool take_job(struct reading *r, const struct job_view *job)
{
    struct job_survey *out = r->out;
    uint32_t faults = judge_job(&r->judge, job);

    for (int i = 0; i < JUDGE_FAULTS; i++) {
        if (faults & UINT32_C(1) << i)
            words_add_named(&out->faults[i], job->id, job->name);
    }
    out->jobs++;
    out->running += job->running;
    if (job->running) {
        count_group(out, job);
        if (!str_is_blank(job->email))
            words_add_named(&out->mailed, job->id, job->name);
        if (!alarm_are_addresses(job->email))
            words_add_named(&out->bad_mail, job->id, job->name);
    }
    return keep_id(r, job->id) && take_children(r, job);
}

static enum err read_page(struct reading *r, int64_t *after, bool *more, struct errctx *ec)
{
    struct db_rows *look = NULL;
    enum err e =
        doctor_look(r->d, &look, ec, page_format, r->d->features.job_name_is_desc ? "job_desc" : "name", *after);

    *more = !e && db_rows_count(look) > 0;
    while (!e && db_rows_next(look)) {
        struct job_view job = read_view(look);

        *after = job.id;
        if (!take_job(r, &job))
            e = err_set(ec, ERR_NOMEM, "out of memory");
    }
    db_rows_destroy(look);
    if (!e && *more && clock_mono_ms(r->d->clock) >= r->d->deadline_mono_ms)
        e = err_set(ec, ERR_TIMEOUT, "there was only time for %" PRId64 " jobs: see --wait", r->out->jobs);
    return e;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static enum err load_groups(struct doctor *d, struct job_survey *out, struct errctx *ec)
{
    enum err e = store_load_groups(d->session, &out->groups, ec);

    if (!e && !(out->facts = calloc(out->groups.count + 1, sizeof *out->facts)))
        e = err_set(ec, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < out->groups.count && !e; i++) {
        const struct group_row *row = &out->groups.rows[i];
        struct group_spec *spec = group_spec_create(row->id, row->app_name, "", row->manual, row->address_list);

        if (spec)
            out->facts[i].addresses = spec->count;
        else
            e = err_set(ec, ERR_NOMEM, "out of memory");
        group_spec_unref(spec);
    }
    return e;
}

static enum err load_zone(struct doctor *d, struct zone **out, struct errctx *ec)
{
    struct cluster_zones zones;
    enum err e = store_read_zones(d->session, &zones, ec);

    return e ? e : ctl_choose_zone(zones.cron, d->config, out, ec);
}

static bool is_planned(const struct doctor *d)
{
    for (const struct node_row *node = NULL; (node = doctor_next_live(d, node)) != NULL;) {
        if (node->owned > 0)
            return true;
    }
    return false;
}

static enum err read_all(struct doctor *d, struct job_survey *out, struct errctx *ec)
{
    struct zone *zone = NULL;
    struct reading r = {.d = d, .out = out};
    int64_t after = 0;
    bool more = true;
    enum err e = load_groups(d, out, ec);

    if (!e)
        e = load_zone(d, &zone, ec);
    if (!e)
        r.judge = (struct judge){
            .now_ms = d->now_ms,
            .max_year = zone_to_civil(zone, d->now_ms / 1000).year + CRON_YEARS,
            .planned = is_planned(d),
            .glue = d->config->glue,
            .param_max = d->features.param_len,
            .zone = zone,
        };
    while (!e && more)
        e = read_page(&r, &after, &more, ec);
    if (!e)
        e = judge_children(&r, ec);
    judge_fini(&r.judge);
    zone_destroy(zone);
    free(r.ids);
    free(r.links);
    return e;
}

enum err survey_jobs(struct doctor *d, struct errctx *ec)
{
    struct job_survey *made;
    enum err e;

    if (d->survey)
        return ERR_OK;
    made = calloc(1, sizeof *made);
    e = made ? read_all(d, made, ec) : err_set(ec, ERR_NOMEM, "out of memory");
    if (e)
        survey_destroy(made);
    else
        d->survey = made;
    return e;
}

void survey_destroy(struct job_survey *survey)
{
    if (!survey)
        return;
    group_list_fini(&survey->groups);
    free(survey->facts);
    free(survey);
}

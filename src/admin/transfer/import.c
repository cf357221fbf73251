/* SPDX-License-Identifier: MIT */
/* Groups and jobs, put in: each by itself. */
#include "admin/transfer/import.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin/jobs/jobs_impl.h"
#include "shardwheel/admin/glue.h"

bool import_is_over(const struct importing *im)
{
    return clock_mono_ms(im->admin->clock) >= im->deadline_mono_ms;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static const struct group_rules rules = {.scheme = true, .unique = true, .only_changed = true};

static bool is_same_group(const struct group_info *wanted, const struct group_info *now)
{
    return is_same_text(wanted->title, now->title) && wanted->address_type == now->address_type &&
           (!wanted->address_type || is_same_text(wanted->address_list, now->address_list));
}

static bool put_group(void *arg, const struct group_info *now, struct group_info *values, struct refusal *r)
{
    const struct group_info *wanted = arg;

    (void)now;
    (void)r;
    values->title = wanted->title;
    values->address_type = wanted->address_type;
    if (wanted->address_type)
        values->address_list = wanted->address_list;
    return true;
}

static void show_group(struct importing *im, const struct group_info *now, const struct group_info *wanted,
                       struct transfer_item *item)
{
    struct audit_diff diff;

    audit_begin(&diff, now ? AUDIT_CHANGED : AUDIT_ADDED);
    audit_text(&diff, "title", now ? now->title : NULL, wanted->title);
    audit_int(&diff, "addressType", now ? now->address_type : 0, wanted->address_type);
    if (wanted->address_type)
        audit_text(&diff, "addressList", now ? now->address_list : NULL, wanted->address_list);
    import_end_diff(im, &diff, item);
}

static enum err write_group(struct importing *im, const struct group_info *now, const struct group_info *wanted,
                            struct transfer_item *item, struct refusal *r)
{
    struct group_info values = *wanted;
    enum err e = refuse_unless(im->actor, RIGHT_ADMINISTER, 0, r);

    if (!e)
        show_group(im, now, wanted, item);
    if (e || im->dry_run)
        return e;
    if (now)
        return admin_change_group(im->admin, im->actor, now->id, put_group, &values, &rules, r);
    e = admin_add_group(im->admin, im->actor, &values, &rules, &item->id, r);
    if (!e)
        e = transfer_index_add_group(&im->index, item->id, wanted->app_name, r);
    return e;
}

static void import_group(struct importing *im, const struct group_info *wanted, struct transfer_item *item)
{
    const struct group_info *now;
    struct refusal why = {0};
    size_t count = transfer_index_find_group(&im->index, wanted->app_name, &now);
    enum err e = ERR_OK;

    if (count > 1)
        e = refuse(&why, REFUSED_STATE, "appname", "%zu groups are called %s", count, wanted->app_name);
    item->id = count == 1 ? now->id : 0;
    item->outcome = !count                                     ? TRANSFER_CREATE
                    : count == 1 && is_same_group(wanted, now) ? TRANSFER_SAME
                                                               : TRANSFER_CHANGE;
    if (!e && item->outcome != TRANSFER_SAME)
        e = write_group(im, count ? now : NULL, wanted, item, &why);
    import_end_item(item, e, &why);
}

/* The group is to be made by this document, which is tried only. */
static bool is_made_here(const struct importing *im, const char *app_name)
{
    for (size_t i = 0; i < im->document->group_count; i++) {
        if (!strcmp(im->document->groups[i].app_name, app_name))
            return im->result.groups[i].outcome == TRANSFER_CREATE;
    }
    return false;
}

/* ---- children ---------------------------------------------------------------------------------------------------- */

bool import_makes_job(const struct importing *im, const char *app_name, const char *name, size_t *out)
{
    for (*out = 0; *out < im->document->job_count; ++*out) {
        const struct transfer_job *job = &im->document->jobs[*out];
        if (!strcmp(job->app_name, app_name) && !strcmp(job->row.name, name))
            return im->result.jobs[*out].outcome == TRANSFER_CREATE;
    }
    return false;
}

/* The ids of the children, as the column has them. *to_come: one of them is made by this document, which is tried
 * only. */
static enum err find_children(struct importing *im, const struct transfer_job *job, struct buf *out, bool *to_come,
                              struct refusal *r)
{
    buf_append(out, "", 0);
    for (size_t i = 0; i < job->child_count; i++) {
        const struct transfer_name *child = &job->children[i];
        int64_t id = 0;
        size_t count = transfer_index_find_job(&im->index, child->app_name, child->name, &id), made;
        if (count > 1)
            return refuse(r, REFUSED_STATE, "children", "%zu jobs are called %s/%s", count, child->app_name,
                          child->name);
        if (count == 1)
            buf_printf(out, "%s%" PRId64, out->len ? "," : "", id);
        else if (im->dry_run && import_makes_job(im, child->app_name, child->name, &made))
            *to_come = true;
        else
            return refuse(r, REFUSED_UNKNOWN, "children", "there is no job %s/%s", child->app_name, child->name);
    }
    return buf_failed(out) ? refuse(r, REFUSED_BROKEN, NULL, "out of memory for the children") : ERR_OK;
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

/* What the document says of a job; children only in their turn. */
struct wanted {
    const struct transfer_job *job;
    const char *children; /* NULL: they stay */
};

static enum err put_job(void *arg, struct job_row *row, struct job_settings *settings, struct refusal *r)
{
    const struct wanted *wanted = arg;
    struct job_row now = *row;

    (void)r;
    *row = wanted->job->row;
    row->id = now.id;
    row->group = now.group;
    row->children = wanted->children ? wanted->children : now.children;
    for (size_t i = 0; i < job_column_count(); i++) { /* NULL and "" mean the same */
        const struct job_column *c = job_column_get(i);
        const char *text = c->is_text ? job_row_text(row, c) : NULL;
        if (text && !*text && !job_row_text(&now, c))
            job_row_set_text(row, c, NULL);
    }
    *settings = wanted->job->settings;
    settings->job_id = now.id;
    return ERR_OK;
}

/* A source that differs becomes a new version. */
static enum err save_glue(struct importing *im, const struct job_row *now, const struct job_row *wanted,
                          struct refusal *r)
{
    struct glue_save save = {.job_id = now->id, .source = wanted->glue_source, .remark = wanted->glue_remark};
    int64_t updated_s;

    if (is_same_text(now->glue_source, wanted->glue_source) || im->dry_run)
        return ERR_OK;
    if (strlen(save.remark) < GLUE_REMARK_MIN)
        save.remark = "imported";
    return admin_save_glue(im->admin, im->actor, &save, &updated_s, r);
}

static enum err check_type(const struct job_row *now, const struct job_row *wanted, struct refusal *r)
{
    if (is_same_text(now->glue_type, wanted->glue_type))
        return ERR_OK;
    return refuse(r, REFUSED_STATE, "glueType", "the job has the type %s, which cannot be changed: create another job",
                  now->glue_type ? now->glue_type : "BEAN");
}

static enum err switch_job(struct importing *im, int64_t id, bool running, int wanted, bool *switched,
                           struct refusal *r)
{
    if (wanted < 0 || wanted == running)
        return ERR_OK;
    *switched = true;
    if (im->dry_run)
        return ERR_OK;
    return admin_set_running(im->admin, im->actor, id, wanted, r);
}

/* Brings a job that is there to what the document says. */
static enum err change_job(struct importing *im, const struct transfer_job *job, const char *children, int64_t id,
                           struct transfer_item *item, struct refusal *r)
{
    struct wanted wanted = {.job = job, .children = children};
    struct job_edit edit = {.edit = put_job, .arg = &wanted};
    struct job_found found = {0};
    struct audit_diff diff = {0};
    bool same = false, switched = false;
    enum err e = admin_load_job(im->admin, im->actor, id, &found, r);

    if (e)
        return e;
    const struct job_row *row = &found.list.rows[0];
    e = refuse_unless(im->actor, RIGHT_CHANGE, row->group, r);
    if (!e)
        e = check_type(row, &job->row, r);
    if (!e)
        e = job_try_edit(im->admin, im->actor, im->session, row, job_found_settings(&found, id), &edit, &same, &diff,
                         r);
    if (!e && !same && item->outcome != TRANSFER_CREATE) {
        item->outcome = TRANSFER_CHANGE;
        import_keep_diff(item, diff.row.before, diff.row.after);
    }
    if (!e && !same && !im->dry_run)
        e = admin_edit_job(im->admin, im->actor, id, &edit, r);
    if (!e)
        e = save_glue(im, row, &job->row, r);
    if (!e)
        e = switch_job(im, id, row->status == 1, job->running, &switched, r);
    if (!e && switched && item->outcome == TRANSFER_SAME) {
        item->outcome = TRANSFER_CHANGE;
        import_keep_diff(item, job->running ? "{\"running\":false}" : "{\"running\":true}",
                         job->running ? "{\"running\":true}" : "{\"running\":false}");
    }
    audit_fini(&diff);
    job_found_fini(&found);
    return e;
}

static void show_new(struct importing *im, const struct job_form *form, struct transfer_item *item)
{
    struct audit_diff diff = {0};
    const struct audit_row *row = job_put_audit(&diff, im->actor, "", NULL, NULL, &form->row, form->settings);

    import_keep_diff(item, row->before, row->after);
    audit_fini(&diff);
}

/* Its children come when all jobs are there. It is not started yet, either. */
static enum err create_job(struct importing *im, const struct transfer_job *job, int64_t group,
                           struct transfer_item *item, struct refusal *r)
{
    struct job_form form = {.row = job->row, .settings = &job->settings, .order = JOB_ORDER_D};
    struct job_tidy tidy = {0};
    enum err e = ERR_OK;

    form.row.id = 0;
    form.row.group = group;
    form.row.status = form.row.last_ms = form.row.next_ms = 0;
    if (job->child_count)
        form.row.children = "";
    item->outcome = TRANSFER_CREATE;
    if (group)
        e = refuse_unless(im->actor, RIGHT_CHANGE, group, r);
    if (!e && group && im->dry_run)
        e = job_check_form(im->admin, im->actor, im->session, &form, CHECK_NEW, 0, &tidy, r);
    job_tidy_fini(&tidy);
    if (!e)
        show_new(im, &form, item);
    if (e || im->dry_run)
        return e;
    e = admin_add_job(im->admin, im->actor, &form, &item->id, r);
    if (!e)
        e = transfer_index_add_job(&im->index, group, item->id, job->row.name, r);
    return e;
}

static void import_job(struct importing *im, const struct transfer_job *job, struct transfer_item *item)
{
    const struct group_info *group = NULL;
    struct refusal why = {0};
    int64_t id = 0;
    size_t groups = transfer_index_find_group(&im->index, job->app_name, &group);
    size_t count = groups == 1 ? transfer_index_find_job(&im->index, job->app_name, job->row.name, &id) : 0;
    enum err e;

    if (groups > 1)
        e = refuse(&why, REFUSED_STATE, "appname", "%zu groups are called %s", groups, job->app_name);
    else if (!groups && !(im->dry_run && is_made_here(im, job->app_name)))
        e = refuse(&why, REFUSED_UNKNOWN, "appname", "there is no group %s", job->app_name);
    else if (count > 1)
        e = refuse(&why, REFUSED_STATE, "jobDesc", "%zu jobs of %s are called %s", count, job->app_name, job->row.name);
    else if (count == 1) {
        item->outcome = TRANSFER_SAME;
        item->id = id;
        e = change_job(im, job, job->child_count ? NULL : job->row.children, id, item, &why);
    } else
        e = create_job(im, job, group ? group->id : 0, item, &why);
    import_end_item(item, e, &why);
}

/* When all jobs are there: children by their names, and what a new job still lacks. */
static void finish_job(struct importing *im, const struct transfer_job *job, struct transfer_item *item)
{
    bool is_new = item->outcome == TRANSFER_CREATE, to_come = false;
    struct refusal why = {0};
    struct buf children = {0};
    enum err e;

    if (item->outcome == TRANSFER_REFUSED || (!job->child_count && !is_new))
        return;
    e = find_children(im, job, &children, &to_come, &why);
    if (!e && to_come && item->outcome == TRANSFER_SAME)
        item->outcome = TRANSFER_CHANGE; /* to ids that are not there yet */
    else if (!e && !to_come && item->id)
        e = change_job(im, job, job->child_count ? children.data : NULL, item->id, item, &why);
    import_end_item(item, e, &why);
    buf_fini(&children);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

/* An item for each, in the order in which they stand in the result. */
static bool add_items(const struct transfer *d, struct transfer_result *result)
{
    size_t count = d->group_count + d->job_count + d->flow_count + d->rule_count + d->channel_count;

    result->items = calloc(count + 1, sizeof *result->items);
    if (!result->items)
        return false;
    result->count = count;
    for (size_t i = 0; i < count; i++)
        result->items[i].outcome = TRANSFER_LEFT;
    result->groups = result->items;
    result->jobs = result->groups + d->group_count;
    result->flows = result->jobs + d->job_count;
    result->rules = result->flows + d->flow_count;
    result->channels = result->rules + d->rule_count;
    return true;
}

static enum err prepare(struct importing *im, struct refusal *r)
{
    const struct transfer *d = im->document;
    enum err e = transfer_check_names(d, r);

    if (!e && d->job_count > TRANSFER_JOBS_MAX)
        e = refuse(r, REFUSED_LIMIT, "jobs", "more than %d jobs", TRANSFER_JOBS_MAX);
    if (!e && d->flow_count > TRANSFER_FLOWS_MAX)
        e = refuse(r, REFUSED_LIMIT, "flows", "more than %d flows", TRANSFER_FLOWS_MAX);
    if (e)
        return e;
    if (!add_items(d, &im->result))
        return refuse(r, REFUSED_BROKEN, NULL, "out of memory for the import");
    e = flow_plans_load(d, &im->flows, r);
    if (!e)
        e = transfer_index_load(&im->index, im->admin, im->actor, d, im->flows, r);
    return e ? e : admin_take_session(im->admin, &im->session, r);
}

static void run(struct importing *im)
{
    const struct transfer *d = im->document;
    struct transfer_result *result = &im->result;
    size_t done = 0;

    for (size_t i = 0; i < d->group_count && !import_is_over(im); i++)
        import_group(im, &d->groups[i], &result->groups[i]);
    import_alarms(im);
    for (; done < d->job_count && !import_is_over(im); done++)
        import_job(im, &d->jobs[done], &result->jobs[done]);
    transfer_index_sort(&im->index);
    for (size_t i = 0; i < done; i++)
        finish_job(im, &d->jobs[i], &result->jobs[i]);
    if (done == d->job_count)
        import_flows(im);
    for (size_t i = 0; i < result->count; i++)
        result->outcomes[result->items[i].outcome]++;
}

enum err admin_import(struct admin *a, const struct actor *actor, const struct transfer *document, bool dry_run,
                      struct transfer_result *out, struct refusal *r)
{
    struct importing im = {.admin = a,
                           .actor = actor,
                           .document = document,
                           .dry_run = dry_run,
                           .deadline_mono_ms = clock_mono_ms(a->clock) + TRANSFER_MS};
    enum err e;

    if (atomic_exchange_explicit(&a->importing, true, memory_order_acquire)) /* with the release below */
        return refuse(r, REFUSED_LIMIT, NULL, "another import is in progress on this node");
    e = prepare(&im, r);
    if (!e)
        run(&im);
    store_give_session(a->opts.store, im.session);
    transfer_index_fini(&im.index);
    flow_plans_destroy(im.flows);
    atomic_store_explicit(&a->importing, false, memory_order_release); /* with the exchange above */
    if (e)
        transfer_result_fini(&im.result);
    else
        *out = im.result;
    return e;
}

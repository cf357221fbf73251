/* SPDX-License-Identifier: MIT */
/* Jobs, fired by hand: at once, or at a time. */
#include "admin/groups/check.h"
#include "admin/jobs/jobs_impl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shardwheel/store/plan.h"
#include "shardwheel/store/run.h"

#define LATER_YEARS 10 /* nobody means a time beyond that */

enum err job_check_order(struct store_session *s, const struct trigger_order *order, struct errctx *ec)
{
    struct job_spec *job = NULL;
    struct group_spec *group = NULL;
    size_t param_max = 0;
    enum err e = store_load_param_max(s, &param_max, ec);

    if (!e)
        e = store_load_targets(s, &order->job_id, 1, &job, &group, ec);
    if (!e)
        e = trigger_order_check(order, job, group, param_max, ec);
    job_spec_unref(job);
    group_spec_unref(group);
    return e;
}

/* With each call goes the access token, to wherever it is sent: who may run a job but not change it sends it to its own
 * executors alone. */
static enum err check_targets(struct store_session *s, const struct actor *actor, const struct trigger_order *order,
                              int64_t group_id, struct refusal *r)
{
    struct job_spec *job = NULL;
    struct group_spec *own = NULL, *given = NULL;
    enum err e;

    if (str_is_blank(order->addresses) || actor_may(actor, RIGHT_CHANGE, group_id))
        return ERR_OK;
    e = refuse_error(r, store_load_targets(s, &order->job_id, 1, &job, &own, &r->text));
    if (!e && !(given = group_spec_create(group_id, "", "", true, order->addresses)))
        e = refuse(r, REFUSED_BROKEN, NULL, "out of memory");
    for (size_t i = 0; !e && i < given->count; i++) {
        if (!own || !list_has_text(own->addresses, own->count, given->addresses[i]))
            e = refuse(r, REFUSED_RIGHT, "addressList", "%s may run it only on executors of its group", actor->name);
    }
    group_spec_unref(given);
    group_spec_unref(own);
    job_spec_unref(job);
    return e;
}

/* The text of a wrong order begins with what is wrong. */
static enum err refuse_order(struct refusal *r, enum err e)
{
    static const struct {
        const char *begins;
        const char *field;
    } fields[] = {{"addresses", "addressList"}, {"parameter", "executorParam"}, {"executor group", "jobGroup"}};

    if (e != ERR_INPUT && e != ERR_NOTFOUND)
        return job_refuse_error(r, e);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (!strncmp(r->text.text, fields[i].begins, strlen(fields[i].begins)))
            return refuse(r, e == ERR_NOTFOUND ? REFUSED_UNKNOWN : REFUSED_INVALID, fields[i].field, "%s",
                          r->text.text);
    return refuse(r, REFUSED_UNKNOWN, "id", "%s", r->text.text);
}

static enum err check_time(struct admin *a, int64_t at_s, struct refusal *r)
{
    int64_t now_s = time_floor_div(clock_wall_ms(a->clock), 1000);

    if (at_s < now_s)
        return refuse(r, REFUSED_INVALID, "at", "at: this time is in the past");
    if (at_s > now_s + LATER_YEARS * INT64_C(366) * 86400)
        return refuse(r, REFUSED_INVALID, "at", "at: more than %d years from now", LATER_YEARS);
    return ERR_OK;
}

static const struct audit_row *audit_trigger(struct audit_diff *d, const struct actor *actor, const struct job_row *job,
                                             const struct trigger_order *order, int64_t at_s, int64_t log_id)
{
    audit_begin(d, AUDIT_ADDED);
    audit_text(d, "executorParam", NULL, order->param);
    audit_text(d, "addressList", NULL, str_is_blank(order->addresses) ? NULL : order->addresses);
    if (at_s)
        audit_int(d, "atSeconds", 0, at_s);
    if (log_id)
        audit_int(d, "run", 0, log_id);
    return audit_end(d, actor, "job.trigger", job->id, job->name, job->group);
}

/* As by hand in the original: what is not given is an empty parameter. */
static enum err fire_later(struct store_session *s, const struct actor *actor, const struct job_row *job,
                           const struct trigger_order *order, int64_t at_s, int64_t *later_id, struct refusal *r)
{
    struct later_row row = {.job_id = order->job_id,
                            .kind = order->kind,
                            .param = !order->param && order->kind == TRIGGER_MANUAL ? "" : order->param,
                            .addresses = str_is_blank(order->addresses) ? NULL : order->addresses,
                            .due_s = at_s,
                            .original_due_s = at_s,
                            .retries_left = -1};
    struct audit_diff diff = {0};
    enum err e = refuse_order(r, job_check_order(s, order, &r->text));

    if (e)
        return e;
    e = store_add_later(s, &row, audit_trigger(&diff, actor, job, order, at_s, 0), later_id, &r->text);
    audit_fini(&diff);
    return job_refuse_error(r, e);
}

/* No session is held meanwhile: it waits for another one's commit. */
static enum err fire_now(struct admin *a, const struct trigger_order *order, struct trigger_made *made,
                         struct refusal *r)
{
    enum err e = triggers_fire(a->opts.triggers, order, made, &r->text);

    if (e == ERR_STATE) /* this node is stopping: another one will do it */
        return refuse(r, REFUSED_TRY_AGAIN, NULL, "%s", r->text.text);
    return refuse_order(r, e);
}

/* Behind the fire, which others write: one that was fired stays so if this fails. */
static void note_fire(struct admin *a, const struct actor *actor, const struct job_row *job,
                      const struct trigger_order *order, const struct trigger_made *made)
{
    struct store_session *s = NULL;
    struct audit_diff diff = {0};
    struct refusal r;
    int64_t log_id = made->count > 0 ? made->log_ids[0] : 0;
    enum err e = admin_take_session(a, &s, &r);

    if (!e)
        e = store_write_audit(s, audit_trigger(&diff, actor, job, order, 0, log_id), &r.text);
    if (e)
        log_limited(&a->audit_log, a->clock, LOG_WARN, "admin",
                    "event=audit_lost action=job.trigger job=%" PRId64 " who=%s error=%s", job->id,
                    log_quote(actor->name).s, log_quote(r.text.text).s);
    audit_fini(&diff);
    store_give_session(a->opts.store, s);
}

enum err admin_trigger_job(struct admin *a, const struct actor *actor, const struct trigger_order *order, int64_t at_s,
                           struct trigger_made *made, int64_t *later_id, struct refusal *r)
{
    struct store_session *s = NULL;
    struct job_list job = {0};
    struct trigger_made own = {0};
    int64_t id = 0;
    enum err e = admin_take_session(a, &s, r);

    if (!e)
        e = job_find(s, actor, order->job_id, RIGHT_RUN, &job, r);
    if (!e)
        e = refuse_addresses(a, order->addresses, "addressList", r);
    if (!e)
        e = check_targets(s, actor, order, job.rows[0].group, r);
    if (!e && at_s)
        e = check_time(a, at_s, r);
    if (!e && at_s)
        e = fire_later(s, actor, &job.rows[0], order, at_s, &id, r);
    store_give_session(a->opts.store, s);
    if (!e && !at_s) {
        e = fire_now(a, order, &own, r);
        if (!e)
            note_fire(a, actor, &job.rows[0], order, &own);
    }
    job_list_fini(&job);
    if (e || !made)
        free(own.log_ids);
    else
        *made = own;
    if (!e && later_id)
        *later_id = id;
    return e;
}

/* ---- what waits -------------------------------------------------------------------------------------------------- */

enum err admin_list_later(struct admin *a, const struct actor *actor, int64_t job_id, size_t limit,
                          struct later_page *out, struct refusal *r)
{
    struct store_session *s = NULL;
    struct job_list job = {0};
    enum err e = admin_take_session(a, &s, r);

    if (!e)
        e = job_find(s, actor, job_id, RIGHT_SEE, &job, r);
    if (!e)
        e = store_list_later(s, job_id, limit, out, &r->text);
    job_list_fini(&job);
    return admin_end(a, s, e, r);
}

static enum err cancel_later(struct store_session *s, const struct actor *actor, const struct job_row *job, int64_t id,
                             struct refusal *r)
{
    struct later_page page = {0};
    struct audit_diff diff;
    enum err e = refuse_error(r, store_load_later(s, &id, 1, &page, &r->text));

    if (!e && (page.count == 0 || page.rows[0].job_id != job->id))
        e = refuse(r, REFUSED_UNKNOWN, "later", "job %" PRId64 " has no waiting run %" PRId64, job->id, id);
    audit_begin(&diff, AUDIT_REMOVED);
    if (!e) {
        audit_int(&diff, "later", id, 0);
        audit_int(&diff, "atSeconds", page.rows[0].due_s, 0);
        e = store_cancel_later(s, id, audit_end(&diff, actor, "job.cancel-later", job->id, job->name, job->group),
                               &r->text);
        e = e == ERR_NOTFOUND ? refuse(r, REFUSED_UNKNOWN, "later", "%s", r->text.text) : job_refuse_error(r, e);
    }
    audit_fini(&diff);
    later_page_fini(&page);
    return e;
}

enum err admin_cancel_later(struct admin *a, const struct actor *actor, int64_t job_id, int64_t id, struct refusal *r)
{
    struct store_session *s = NULL;
    struct job_list job = {0};
    enum err e = admin_take_session(a, &s, r);

    if (!e)
        e = job_find(s, actor, job_id, RIGHT_RUN, &job, r);
    if (!e)
        e = cancel_later(s, actor, &job.rows[0], id, r);
    job_list_fini(&job);
    return admin_end(a, s, e, r);
}

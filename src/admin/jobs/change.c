/* SPDX-License-Identifier: MIT */
/* Jobs, changed: what is decided under the lock of the job's row. */
#include "admin/jobs/jobs_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TRIES 5              /* of a change that met a deadlock... */
#define TRY_MS 2000          /* ... but not of one that has waited for a row for so long */
#define GUARD_MS 1500        /* a node that has just started holds Java admins off by then */
#define GUARD_AGAIN_MS 10000 /* changes that meet no guard wait for one no more often */
#define GUARD_STEP_MS 50
#define REMOVE_MS 2000 /* rows of the log that are left then are removed by a node later */

enum err job_refuse_error(struct refusal *r, enum err e)
{
    if (!e || r->kind != REFUSED_NOT)
        return e;
    if (e == ERR_NOTFOUND)
        return refuse(r, REFUSED_UNKNOWN, "id", "%s", r->text.text);
    if (e == ERR_CONFLICT)
        return refuse(r, REFUSED_TRY_AGAIN, NULL, "somebody else is changing the job: %s", r->text.text);
    return refuse_error(r, e);
}

/* ---- a change ---------------------------------------------------------------------------------------------------- */

struct change_call {
    struct admin *admin;
    const struct actor *actor;
    const char *action;
    const struct job_match *match; /* NULL: none */
    const struct job_form *form;   /* of an update: checked already */
    const struct job_edit *edit;
    bool start;           /* of act_switch */
    struct job_tidy tidy; /* texts that are to be written */
    struct audit_diff diff;
    struct refusal *r;
    enum err (*act)(struct change_call *call, struct store_session *s, const struct job_state *state,
                    struct job_change *out, struct errctx *ec);
};

/* The first due time behind all that is planned, of the job as it is to be. */
static enum err renew_next(struct change_call *call, struct store_session *s, const struct job_state *state,
                           struct job_change *out, struct errctx *ec)
{
    const struct zone *zone = NULL;
    struct zone *own = NULL;
    int64_t planned_s = 0;
    enum err e = admin_take_zone(call->admin, out->settings.time_zone, &own, &zone, ec);

    if (!e)
        e = store_find_newest_planned(s, state->row.id, state->now_ms, &planned_s, ec);
    if (!e) {
        e = job_find_next(&out->row, &out->settings, zone, state->now_ms, planned_s, &out->row.next_ms, ec);
        if (e == ERR_NOTFOUND || e == ERR_INPUT)
            e = refuse(call->r, REFUSED_STATE, "scheduleConf", "scheduleConf: there is no next time: %s", ec->text);
    }
    zone_destroy(own);
    out->guarded = call->admin->opts.guarded;
    return e;
}

/* Under the lock: the right in the job's group, then what must hold of its version, then what is to be done. */
static enum err decide(void *arg, struct store_session *s, const struct job_state *state, struct job_change *out,
                       struct errctx *ec)
{
    struct change_call *call = arg;
    char version[JOB_VERSION_MAX];
    enum err e = refuse_unless(call->actor, RIGHT_CHANGE, state->row.group, call->r);

    if (e)
        return e;
    job_version(&state->row, &state->settings, version);
    if (call->match && call->match->is && !call->match->is(call->match->arg, version))
        return refuse(call->r, REFUSED_CHANGED, NULL, "job %" PRId64 " has changed since it was read", state->row.id);
    e = call->act(call, s, state, out, ec);
    if (e)
        return e;
    audit_fini(&call->diff);
    out->audit = job_put_audit(&call->diff, call->actor, call->action, &state->row, &state->settings,
                               out->remove ? NULL : &out->row, out->remove ? NULL : &out->settings);
    return ERR_OK;
}

/* Waits for a guard, for a moment that all changes share: a batch of many jobs waits no longer than one. */
static bool waits_for_guard(struct admin *a, enum err e)
{
    int64_t now_ms = clock_mono_ms(a->clock), since_ms = atomic_load(&a->unguarded_mono_ms);

    if (e != ERR_GUARD)
        return false;
    if (!since_ms || now_ms - since_ms >= GUARD_AGAIN_MS) {
        atomic_store(&a->unguarded_mono_ms, now_ms);
        since_ms = now_ms;
    }
    if (now_ms - since_ms >= GUARD_MS)
        return false;
    clock_sleep_ms(GUARD_STEP_MS);
    return true;
}

/* Nothing is held between two tries. */
static enum err change_job(struct change_call *call, int64_t id, struct store_session *s)
{
    int64_t end_ms = clock_mono_ms(call->admin->clock) + TRY_MS;
    struct errctx ec;
    enum err e = ERR_OK;

    for (int i = 0; i < TRIES && (i == 0 || clock_mono_ms(call->admin->clock) < end_ms); i++) {
        do {
            errctx_clear(&ec);
            job_tidy_fini(&call->tidy);
            e = store_change_job(s, id, decide, call, &ec);
        } while (waits_for_guard(call->admin, e));
        if (e != ERR_CONFLICT || call->r->kind != REFUSED_NOT)
            break;
    }
    job_tidy_fini(&call->tidy);
    audit_fini(&call->diff);
    if (call->r->kind == REFUSED_NOT)
        call->r->text = ec;
    return job_refuse_error(call->r, e);
}

static enum err run_change(struct change_call *call, int64_t id)
{
    struct store_session *s = NULL;
    enum err e = admin_take_session(call->admin, &s, call->r);

    if (!e)
        e = change_job(call, id, s);
    return admin_end(call->admin, s, e, call->r);
}

/* ---- new ones ---------------------------------------------------------------------------------------------------- */

static enum err add_job(struct admin *a, const struct actor *actor, struct store_session *s,
                        const struct job_form *form, struct job_tidy *tidy, int64_t *id, struct refusal *r)
{
    struct audit_diff diff = {0};
    struct job_settings settings;
    enum err e = job_check_form(a, actor, s, form, CHECK_NEW, 0, tidy, r);

    if (e)
        return e;
    job_settings_init(&settings, 0);
    if (form->settings)
        settings = *form->settings;
    tidy->row.id = 0;
    const struct audit_row *row = job_put_audit(&diff, actor, "job.add", NULL, NULL, &tidy->row, &settings);
    e = store_add_job(s, &tidy->row, &settings, row, id, &r->text);
    audit_fini(&diff);
    if (e == ERR_NOTFOUND)
        return refuse(r, REFUSED_UNKNOWN, "jobGroup", "jobGroup: %s", r->text.text);
    return job_refuse_error(r, e);
}

enum err admin_add_job(struct admin *a, const struct actor *actor, const struct job_form *form, int64_t *id,
                       struct refusal *r)
{
    struct store_session *s = NULL;
    struct job_tidy tidy = {0};
    enum err e = admin_enter(a, actor, RIGHT_CHANGE, form->row.group, &s, r);

    if (!e)
        e = add_job(a, actor, s, form, &tidy, id, r);
    job_tidy_fini(&tidy);
    return admin_end(a, s, e, r);
}

/* ---- edits ------------------------------------------------------------------------------------------------------- */

static enum err finish_edit(struct change_call *call, struct store_session *s, const struct job_state *state,
                            struct job_change *out, struct errctx *ec)
{
    bool same = is_same_text(state->row.schedule_type, out->row.schedule_type) &&
                is_same_text(state->row.schedule_conf, out->row.schedule_conf) &&
                job_settings_have_same_times(&state->settings, &out->settings);

    return state->row.status != 1 || same ? ERR_OK : renew_next(call, s, state, out, ec);
}

static enum err act_update(struct change_call *call, struct store_session *s, const struct job_state *state,
                           struct job_change *out, struct errctx *ec)
{
    out->row = call->form->row;
    job_keep_own(&out->row, &state->row);
    if (call->form->settings)
        out->settings = *call->form->settings;
    out->settings.job_id = state->row.id;
    return finish_edit(call, s, state, out, ec);
}

static enum err update_job(struct change_call *call, int64_t id, const struct job_form *form, struct store_session *s)
{
    struct job_tidy tidy;
    struct job_form tidied = *form;
    enum err e = job_check_form(call->admin, call->actor, s, form, CHECK_CHANGE, id, &tidy, call->r);

    if (!e) {
        tidied.row = tidy.row;
        call->form = &tidied;
        e = change_job(call, id, s);
    }
    job_tidy_fini(&tidy);
    return e;
}

enum err admin_update_job(struct admin *a, const struct actor *actor, int64_t id, const struct job_form *form,
                          struct refusal *r)
{
    struct change_call call = {.admin = a, .actor = actor, .action = "job.update", .act = act_update, .r = r};
    struct store_session *s = NULL;
    enum err e = admin_enter(a, actor, RIGHT_CHANGE, form->row.group, &s, r);

    if (!e)
        e = update_job(&call, id, form, s);
    return admin_end(a, s, e, r);
}

static enum err act_edit(struct change_call *call, struct store_session *s, const struct job_state *state,
                         struct job_change *out, struct errctx *ec)
{
    struct job_form form = {.row = state->row, .order = JOB_ORDER_D};
    enum err e = call->edit->edit(call->edit->arg, &form.row, &out->settings, call->r);

    if (e)
        return e;
    out->settings.job_id = state->row.id;
    job_keep_own(&form.row, &state->row);
    if (form.row.group != state->row.group)
        e = refuse_unless(call->actor, RIGHT_CHANGE, form.row.group, call->r);
    if (!e)
        e = job_check_form(call->admin, call->actor, s, &form, CHECK_EDIT, state->row.id, &call->tidy, call->r);
    if (e)
        return e;
    out->row = call->tidy.row;
    return finish_edit(call, s, state, out, ec);
}

enum err admin_edit_job(struct admin *a, const struct actor *actor, int64_t id, const struct job_edit *edit,
                        struct refusal *r)
{
    struct change_call call = {.admin = a,
                               .actor = actor,
                               .action = "job.update",
                               .act = act_edit,
                               .edit = edit,
                               .match = &edit->match,
                               .r = r};

    return run_change(&call, id);
}

/* ---- start, stop ------------------------------------------------------------------------------------------------- */

static enum err act_switch(struct change_call *call, struct store_session *s, const struct job_state *state,
                           struct job_change *out, struct errctx *ec)
{
    if (call->start && is_same_text(state->row.schedule_type, "NONE"))
        return refuse(call->r, REFUSED_STATE, "scheduleType", "a job of type NONE cannot be started");
    out->row.status = call->start;
    out->row.last_ms = 0;
    out->row.next_ms = 0;
    return call->start ? renew_next(call, s, state, out, ec) : ERR_OK;
}

enum err admin_set_running(struct admin *a, const struct actor *actor, int64_t id, bool running, struct refusal *r)
{
    struct change_call call = {.admin = a,
                               .actor = actor,
                               .action = running ? "job.start" : "job.stop",
                               .act = act_switch,
                               .start = running,
                               .r = r};

    return run_change(&call, id);
}

/* ---- removal ----------------------------------------------------------------------------------------------------- */

static enum err act_remove(struct change_call *call, struct store_session *s, const struct job_state *state,
                           struct job_change *out, struct errctx *ec)
{
    (void)call;
    (void)s;
    (void)state;
    (void)ec;
    out->remove = true;
    return ERR_OK;
}

/* The job is gone already: what fails here is done by a node later. */
static void remove_log(struct admin *a, struct store_session *s, int64_t id)
{
    int64_t end_ms = clock_mono_ms(a->clock) + REMOVE_MS;
    bool more = true;
    struct errctx ec = {{0}};
    size_t deleted;

    while (more && clock_mono_ms(a->clock) < end_ms)
        if (store_delete_removed(s, id, 0, &deleted, &more, &ec))
            return;
}

enum err admin_remove_job(struct admin *a, const struct actor *actor, int64_t id, const struct job_match *match,
                          struct refusal *r)
{
    struct change_call call = {
        .admin = a, .actor = actor, .action = "job.remove", .act = act_remove, .match = match, .r = r};
    struct store_session *s = NULL;
    enum err e = admin_take_session(a, &s, r);

    if (!e)
        e = change_job(&call, id, s);
    if (!e)
        remove_log(a, s, id);
    return admin_end(a, s, e, r);
}

/* SPDX-License-Identifier: MIT */
#include "shardwheel/admin/batch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "admin/jobs/jobs_impl.h"

#define PAGE 500 /* jobs that are read at a time */

const char *batch_outcome_name(enum batch_outcome outcome)
{
    static const char *const names[] = {"done", "same", "refused", "left"};

    return names[outcome];
}

void batch_result_fini(struct batch_result *result)
{
    for (size_t i = 0; i < result->count; i++) {
        free(result->items[i].name);
        free(result->items[i].text);
    }
    free(result->items);
    *result = (struct batch_result){0};
}

struct batch {
    struct admin *admin;
    const struct actor *actor;
    const struct batch_order *order;
    struct store_session *session; /* of a dry run's checks */
    struct batch_result result;
    int64_t deadline_mono_ms;
};

/* ---- which jobs -------------------------------------------------------------------------------------------------- */

static void add_item(struct batch *b, int64_t id)
{
    b->result.items[b->result.count++] = (struct batch_item){.id = id, .outcome = BATCH_LEFT};
}

static enum err find_by_filter(struct batch *b, struct refusal *r)
{
    struct job_query query = {.filter = b->order->filter, .own_groups = true, .limit = PAGE};
    size_t got = PAGE;
    enum err e = ERR_OK;

    while (!e && got == PAGE && b->result.count <= BATCH_MAX) {
        struct job_found found = {0};
        e = admin_list_jobs(b->admin, b->actor, &query, &found, r);
        got = found.list.count;
        for (size_t i = 0; !e && i < got; i++)
            add_item(b, found.list.rows[i].id);
        if (!e && got)
            query.after.id = found.list.rows[got - 1].id;
        job_found_fini(&found);
    }
    if (!e && b->result.count > BATCH_MAX)
        e = refuse(r, REFUSED_LIMIT, "filter", "the filter matches more than %d jobs: use a narrower one", BATCH_MAX);
    return e;
}

static enum err find_by_ids(struct batch *b, struct refusal *r)
{
    if (b->order->id_count > BATCH_MAX)
        return refuse(r, REFUSED_LIMIT, "ids", "more than %d jobs", BATCH_MAX);
    for (size_t i = 0; i < b->order->id_count; i++)
        add_item(b, b->order->ids[i]);
    return ERR_OK;
}

/* ---- one of them ------------------------------------------------------------------------------------------------- */

static void end_item(struct batch_item *item, enum err e, const struct refusal *why)
{
    item->outcome = e ? BATCH_REFUSED : BATCH_DONE;
    if (!e)
        return;
    item->kind = why->kind;
    item->field = why->field;
    item->text = str_copy(why->text.text);
}

/* Without writing: what would come of it. *same: it is so already. */
static enum err try_item(struct batch *b, const struct job_found *job, bool *same, struct refusal *r)
{
    const struct job_row *row = &job->list.rows[0];
    enum err e = refuse_unless(b->actor, RIGHT_CHANGE, row->group, r);

    *same = false;
    if (e)
        return e;
    switch (b->order->action) {
    case BATCH_START:
        *same = row->status == 1;
        if (!*same && row->schedule_type && !strcmp(row->schedule_type, "NONE"))
            return refuse(r, REFUSED_STATE, "scheduleType", "a job of type NONE cannot be started");
        return ERR_OK;
    case BATCH_STOP: *same = row->status != 1; return ERR_OK;
    case BATCH_REMOVE: return ERR_OK;
    case BATCH_EDIT:
        return job_try_edit(b->admin, b->actor, b->session, row, job_found_settings(job, row->id), &b->order->edit,
                            same, NULL, r);
    }
    return ERR_OK;
}

static enum err do_item(struct batch *b, int64_t id, struct refusal *r)
{
    struct job_edit edit = b->order->edit;

    switch (b->order->action) {
    case BATCH_START:
    case BATCH_STOP: return admin_set_running(b->admin, b->actor, id, b->order->action == BATCH_START, r);
    case BATCH_REMOVE: return admin_remove_job(b->admin, b->actor, id, NULL, r);
    case BATCH_EDIT: edit.match = (struct job_match){0}; return admin_edit_job(b->admin, b->actor, id, &edit, r);
    }
    return ERR_OK;
}

static void run_item(struct batch *b, struct batch_item *item)
{
    struct job_found job = {0};
    struct refusal why = {0};
    bool same = false;
    enum err e = admin_load_job(b->admin, b->actor, item->id, &job, &why);

    if (!e) {
        item->name = str_copy(job.list.rows[0].name ? job.list.rows[0].name : "");
        e = try_item(b, &job, &same, &why);
    }
    job_found_fini(&job);
    if (!e && !same && !b->order->dry_run)
        e = do_item(b, item->id, &why);
    end_item(item, e, &why);
    if (!e && same)
        item->outcome = BATCH_SAME;
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static enum err run(struct batch *b, struct refusal *r)
{
    const struct batch_order *order = b->order;
    enum err e;

    b->result.items = calloc(BATCH_MAX + PAGE, sizeof *b->result.items); /* a page more is looked at, to say so */
    if (!b->result.items)
        return refuse(r, REFUSED_BROKEN, NULL, "out of memory for the jobs");
    e = order->ids ? find_by_ids(b, r) : find_by_filter(b, r);
    if (!e && order->expected >= 0 && order->expected != (int64_t)b->result.count)
        e = refuse(r, REFUSED_STATE, "expected", "there are %zu jobs, but %" PRId64 " were expected", b->result.count,
                   order->expected);
    if (!e && order->action == BATCH_EDIT)
        e = admin_take_session(b->admin, &b->session, r);
    for (size_t i = 0; !e && i < b->result.count; i++) {
        if (clock_mono_ms(b->admin->clock) < b->deadline_mono_ms)
            run_item(b, &b->result.items[i]);
        b->result.outcomes[b->result.items[i].outcome]++;
    }
    store_give_session(b->admin->opts.store, b->session);
    return e;
}

enum err admin_run_batch(struct admin *a, const struct actor *actor, const struct batch_order *order,
                         struct batch_result *out, struct refusal *r)
{
    struct batch b = {
        .admin = a, .actor = actor, .order = order, .deadline_mono_ms = clock_mono_ms(a->clock) + BATCH_MS};
    enum err e;

    if (atomic_fetch_add_explicit(&a->batches, 1, memory_order_relaxed) >= BATCH_AT_ONCE)
        e = refuse(r, REFUSED_LIMIT, NULL, "%d batches are already in progress on this node", BATCH_AT_ONCE);
    else
        e = run(&b, r);
    atomic_fetch_sub_explicit(&a->batches, 1, memory_order_relaxed);
    if (e)
        batch_result_fini(&b.result);
    else
        *out = b.result;
    return e;
}

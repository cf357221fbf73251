/* SPDX-License-Identifier: MIT */
/* The same for many jobs. */
#include "http/v1/job_form.h"
#include "shardwheel/admin/batch.h"

#define TEXT_MAX 255
#define TAGS_MAX 100

static const char *const actions[] = {
    [BATCH_START] = "start", [BATCH_STOP] = "stop", [BATCH_REMOVE] = "remove", [BATCH_EDIT] = "edit", NULL};

/* ---- the call ---------------------------------------------------------------------------------------------------- */

struct batch_call {
    struct batch_order order;
    struct job_given given;
    const char *add_tags, *remove_tags; /* "": none */
};

static void take_filter(struct v1_call *c, struct batch_call *b)
{
    struct job_filter *f = &b->order.filter;
    struct v1_object o = v1_object(&c->body, "filter");

    f->group = v1_int(&o, "group", 1, INT32_MAX, 0);
    f->status = v1_bool(&o, "running", -1);
    f->tag = v1_text(&o, "tag", TEXT_MAX);
    f->text = v1_pattern(c, v1_text(&o, "text", TEXT_MAX));
    f->name = v1_pattern(c, v1_text(&o, "name", TEXT_MAX));
    f->handler = v1_pattern(c, v1_text(&o, "handler", TEXT_MAX));
    f->author = v1_pattern(c, v1_text(&o, "author", TEXT_MAX));
    v1_end(&o);
}

/* What a filter without any condition would find is all there is: that must be asked for by name. */
static bool is_empty(const struct job_filter *f)
{
    const char *texts[] = {f->text, f->name, f->handler, f->author, f->tag};

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (texts[i] && *texts[i])
            return false;
    }
    return !f->group && f->status < 0;
}

static void take_jobs(struct v1_call *c, struct batch_call *b)
{
    static const int64_t none[] = {0}; /* an empty list is one, too */
    struct v1_ints ids = v1_int_list(&c->body, "ids", 1, INT32_MAX, BATCH_MAX);
    bool all = v1_bool(&c->body, "all", false);
    bool has_ids = v1_has(&c->body, "ids"), has_filter = v1_has(&c->body, "filter");

    take_filter(c, b);
    if (has_ids + has_filter + all != 1)
        v1_note(c, REFUSED_REQUIRED, "filter", "select the jobs by one of filter, ids and all");
    else if (has_filter && is_empty(&b->order.filter))
        v1_note(c, REFUSED_REQUIRED, "filter", "the filter has no condition: to select all jobs, use \"all\": true");
    if (!has_ids)
        return;
    b->order.ids = ids.v ? ids.v : none;
    b->order.id_count = ids.count;
}

static enum err put_edit(void *arg, struct job_row *row, struct job_settings *settings, struct refusal *r)
{
    struct batch_call *b = arg;
    enum err e = job_put_over(&b->given, row, settings, r);

    if (!e && job_tags_change(settings, b->add_tags, b->remove_tags, &r->text))
        e = refuse(r, REFUSED_LENGTH, "addTags", "%s", r->text.text);
    return e;
}

static bool sets_tags(const struct job_given *given)
{
    for (size_t i = 0; i < job_setting_count(); i++)
        if (given->settings & UINT32_C(1) << i && job_setting_get(i)->kind == SETTING_TAGS)
            return true;
    return false;
}

static void take_tags(struct v1_call *c, struct batch_call *b)
{
    b->add_tags = v1_joined_list(&c->body, "addTags", TAGS_MAX, 100, false);
    b->remove_tags = v1_joined_list(&c->body, "removeTags", TAGS_MAX, 100, false);
    if ((*b->add_tags || *b->remove_tags) && b->order.action != BATCH_EDIT)
        v1_note(c, REFUSED_INVALID, *b->add_tags ? "addTags" : "removeTags",
                "addTags and removeTags are only for the action edit");
    if ((*b->add_tags || *b->remove_tags) && sets_tags(&b->given))
        v1_note(c, REFUSED_INVALID, "edit.settings.tags", "use addTags and removeTags, or tags; not both");
}

static void take_edit(struct v1_call *c, struct batch_call *b)
{
    struct v1_object edit = v1_object(&c->body, "edit");
    bool is_there = v1_has(&c->body, "edit");

    if (is_there && b->order.action != BATCH_EDIT) {
        v1_note(c, REFUSED_INVALID, "edit", "edit is only for the action edit");
        return;
    }
    if (is_there) {
        job_take(&edit, /*is_new=*/false, &b->given);
        v1_end(&edit);
    }
    take_tags(c, b);
    if (b->order.action == BATCH_EDIT && !b->given.columns && !b->given.settings && !*b->add_tags && !*b->remove_tags)
        v1_note(c, REFUSED_REQUIRED, "edit",
                is_there ? "edit has nothing to change" : "the action edit needs edit, addTags or removeTags");
    b->order.edit = (struct job_edit){.edit = put_edit, .arg = b};
}

static void take_call(struct v1_call *c, struct batch_call *b)
{
    v1_require(&c->body, "action");
    b->order.action = (enum batch_action)v1_choice(&c->body, "action", actions, BATCH_STOP);
    b->order.expected = v1_int(&c->body, "expected", 0, BATCH_MAX, -1);
    b->order.dry_run = v1_bool(&c->body, "dryRun", false);
    take_jobs(c, b);
    take_edit(c, b);
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

static void put_item(struct buf *b, const struct batch_item *item)
{
    member_int(b, "id", item->id);
    member_text(b, "name", item->name);
    member_text(b, "outcome", batch_outcome_name(item->outcome));
    if (item->outcome == BATCH_REFUSED) {
        member_text(b, "kind", refusal_name(item->kind));
        member_text(b, "field", item->field);
        member_text(b, "detail", item->text);
    }
}

static void put_result(struct buf *b, const struct batch_result *result, bool dry_run)
{
    member_bool(b, "dryRun", dry_run);
    member_int(b, "matched", (int64_t)result->count);
    for (int i = BATCH_DONE; i <= BATCH_LEFT; i++)
        member_int(b, batch_outcome_name((enum batch_outcome)i), (int64_t)result->outcomes[i]);
    V1_PUT_LIST(b, "items", result->items, result->count, put_item);
}

static void answer_batch(struct v1_call *c)
{
    struct batch_call b = {0};
    struct batch_result result = {0};

    take_call(c, &b);
    if (!V1_FAILS(c, admin_run_batch, &b.order, &result))
        put_result(&c->r->body, &result, b.order.dry_run);
    batch_result_fini(&result);
}

static const struct v1_route routes[] = {
    {V1_ROUTE(ROUTE_POST, "/batch", ROUTE_LOGIN), V1_JSON_BODY, 0, answer_batch},
};

const struct v1_topic v1_batch = {routes, ARRAY_LEN(routes)};

/* SPDX-License-Identifier: MIT */
/*
 * Executor groups, who beats for them, and their jobs.
 *
 * The ETag is of what people change: heartbeats leave it alone, and so does a change of the access token, which nobody
 * is shown.
 */
#include "shardwheel/admin/groups.h"
#include "http/v1/write.h"

#define LIST "groups"
#define LIST_JOBS "group-jobs"
#define APP_NAME_CHARS 64
#define TITLE_CHARS 255
#define TOKEN_CHARS 255
#define ADDRESSES_MAX 1000
#define ADDRESS_CHARS 255

static const struct group_rules rules = {.scheme = true, .unique = true, .only_changed = true};
static const char *const types[] = {"auto", "manual", NULL};

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* `stable`: what only people change. */
static void put_group(struct buf *b, const struct group_info *g, bool stable)
{
    member_int(b, "id", g->id);
    member_text(b, "appname", g->app_name);
    member_text(b, "title", g->title);
    member_text(b, "addressType", types[g->address_type != 0]);
    if (!stable || g->address_type != 0)
        v1_put_parts(b, "addressList", g->address_list);
    if (!stable) {
        member_bool(b, "hasAccessToken", g->has_token);
        v1_put_instant(b, "updateTime", g->update_s < 0 ? 0 : g->update_s * 1000);
    }
}

static void answer_with(struct v1_call *c, const struct group_info *g)
{
    struct buf tagged = {0};

    put_group(&c->r->body, g, /*stable=*/false);
    V1_PUT_EACH(&tagged, g, 1, put_group, /*stable=*/true);
    v1_tag_answer_by(c, &tagged);
    c->r->body.failed |= buf_failed(&tagged);
    buf_fini(&tagged);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void answer_list(struct v1_call *c)
{
    struct v1_page page = v1_query_ids(c, LIST, /*counted=*/true);
    struct group_filter filter = {.app_name = v1_pattern(c, v1_query_text(c, "appname", APP_NAME_CHARS)),
                                  .title = v1_pattern(c, v1_query_text(c, "title", TITLE_CHARS)),
                                  .after_id = page.from.keys[0],
                                  .limit = page.want};
    struct group_infos list;

    if (V1_FAILS(c, admin_list_groups, &filter, &list, page.count ? &page.total : NULL, &page.is_estimate))
        return;
    V1_PUT_PAGE(c, &page, list.items, list.count, put_group, id, /*stable=*/false);
    group_infos_fini(&list);
}

static void load_and_answer(struct v1_call *c, int64_t id)
{
    struct group_infos list;

    if (v1_has_failed(c, admin_load_group(c->admin, c->actor, id, &list, &c->why)))
        return;
    answer_with(c, list.items);
    group_infos_fini(&list);
}

static void answer_one(struct v1_call *c)
{
    int64_t id = v1_path_id(c, 0);

    if (!v1_is_refused(c))
        load_and_answer(c, id);
}

static void put_runs(struct buf *b, bool known, int64_t under_way, int64_t failures, int64_t failed_s)
{
    member_int_if(b, "runsUnderWay", known, under_way);
    member_int_if(b, "failuresHour", known, failures);
    v1_put_instant(b, "lastFailureAt", failed_s * 1000);
}

static void put_executor(struct buf *b, const struct group_executor *x, const struct group_executors *list)
{
    member_text(b, "address", x->address);
    v1_put_instant(b, "lastBeat", x->beat_s < 0 ? 0 : x->beat_s * 1000);
    member_bool(b, "listed", x->listed);
    member_text(b, "path", x->trigger_path ? "/trigger" : "/run");
    put_runs(b, list->has_runs, x->under_way, x->failures, x->failed_s);
}

static void answer_executors(struct v1_call *c)
{
    int64_t id = v1_path_id(c, 0);
    struct group_executors list;

    if (V1_FAILS(c, admin_load_executors, id, &list))
        return;
    V1_PUT_LIST(&c->r->body, "items", list.items, list.count, put_executor, &list);
    member_bool(&c->r->body, "runsAreEstimates", list.runs_are_estimates);
    group_executors_fini(&list);
}

static void put_figures(struct buf *b, const struct group_figures *f, const struct groups_figures *list)
{
    member_int(b, "id", f->group);
    member_int(b, "online", f->online);
    v1_put_instant(b, "lastBeat", f->beat_s < 0 ? 0 : f->beat_s * 1000);
    member_int(b, "listed", f->listed);
    member_int_if(b, "jobs", list->has_jobs, f->jobs);
    member_int_if(b, "jobsRunning", list->has_jobs, f->jobs_running);
    put_runs(b, list->has_runs, f->under_way, f->failures, f->failed_s);
}

static void answer_figures(struct v1_call *c)
{
    struct v1_ints ids = v1_query_ints_required(c, "ids", GROUP_FIGURES_MAX);
    struct groups_figures list;

    if (V1_FAILS(c, admin_load_group_figures, ids.v, ids.count, &list))
        return;
    V1_PUT_LIST(&c->r->body, "items", list.items, list.count, put_figures, &list);
    member_bool(&c->r->body, "runsAreEstimates", list.runs_are_estimates);
}

static void answer_check_address(struct v1_call *c)
{
    static const char *const codes[] = {[ADDRESS_ANSWERED] = "answered",
                                        [ADDRESS_REFUSED] = "refused",
                                        [ADDRESS_STRANGER] = "no-executor",
                                        [ADDRESS_AWAY] = "unreachable"};
    const char *address = v1_text(&c->body, "address", ADDRESS_CHARS);
    int64_t group = v1_int(&c->body, "jobGroup", 1, INT32_MAX, 0);
    struct address_verdict verdict;
    struct buf *b = &c->r->body;

    v1_require(&c->body, "address");
    if (V1_FAILS(c, admin_check_address, address, group, &verdict))
        return;
    member_bool(b, "ok", verdict.what == ADDRESS_ANSWERED);
    member_text(b, "code", codes[verdict.what]);
    member_int(b, "milliseconds", verdict.took_ms);
    member_text(b, "detail", verdict.detail.text[0] ? verdict.detail.text : NULL);
}

static void put_job(struct buf *b, const struct group_job *job)
{
    member_int(b, "id", job->id);
    member_text(b, "name", job->name);
    member_bool(b, "running", job->running);
}

static void answer_jobs(struct v1_call *c)
{
    int64_t id = v1_path_id(c, 0);
    struct v1_page page = v1_query_ids(c, LIST_JOBS, /*counted=*/false);
    struct group_jobs list;

    if (V1_FAILS(c, admin_list_group_jobs, id, page.from.keys[0], page.want, &list))
        return;
    V1_PUT_PAGE(c, &page, list.items, list.count, put_job, id);
    group_jobs_fini(&list);
}

/* ---- changing ---------------------------------------------------------------------------------------------------- */

/* What a body has: NULL and -1 for what is absent. */
struct asked {
    struct v1_call *c;
    const char *app_name, *title, *access_token;
    int address_type;
    bool has_addresses;
    const char *addresses; /* joined by commas */
};

static void take_body(struct v1_call *c, struct asked *out)
{
    *out = (struct asked){.c = c,
                          .app_name = v1_text(&c->body, "appname", APP_NAME_CHARS),
                          .title = v1_text(&c->body, "title", TITLE_CHARS),
                          .address_type = v1_choice(&c->body, "addressType", types, -1),
                          .has_addresses = v1_has(&c->body, "addressList"),
                          .addresses = v1_joined_list(&c->body, "addressList", ADDRESSES_MAX, ADDRESS_CHARS, false)};
    out->access_token = v1_take_null(&c->body, "accessToken") ? "" : v1_text(&c->body, "accessToken", TOKEN_CHARS);
}

static void answer_add(struct v1_call *c)
{
    struct asked asked;
    int64_t id = 0;

    take_body(c, &asked);
    bool by_hand = asked.address_type == 1;
    struct group_info values = {.app_name = asked.app_name,
                                .title = asked.title,
                                .address_type = by_hand,
                                .address_list = by_hand ? asked.addresses : NULL,
                                .access_token = asked.access_token && *asked.access_token ? asked.access_token : NULL};

    if (!by_hand && *asked.addresses)
        v1_note(c, REFUSED_INVALID, "addressList",
                "executors of an automatic group register by heartbeat: it has no address list of its own");
    if (V1_FAILS(c, admin_add_group, &values, &rules, &id))
        return;
    load_and_answer(c, id);
    if (!c->answered)
        v1_set_created(c, "/groups/", id);
}

/* The ETag of If-Match, if one was sent, is that of the group as it is now. */
static bool is_current(struct v1_call *c, const struct group_info *now, struct refusal *r)
{
    struct buf representation = {0};

    V1_PUT_EACH(&representation, now, 1, put_group, /*stable=*/true);
    return v1_matches(c, &representation, r);
}

static bool decide(void *arg, const struct group_info *now, struct group_info *values, struct refusal *r)
{
    const struct asked *asked = arg;

    if (!is_current(asked->c, now, r))
        return false;
    if (asked->app_name)
        values->app_name = asked->app_name;
    if (asked->title)
        values->title = asked->title;
    if (asked->address_type >= 0)
        values->address_type = asked->address_type;
    if (asked->has_addresses)
        values->address_list = asked->addresses;
    if (asked->access_token)
        values->access_token = *asked->access_token ? asked->access_token : NULL;
    if (!asked->has_addresses || values->address_type != 0)
        return true;
    refuse(r, REFUSED_INVALID, "addressList",
           "executors of an automatic group register by heartbeat: it has no address list of its own");
    return false;
}

static void answer_change(struct v1_call *c)
{
    int64_t id = v1_path_id(c, 0);
    struct asked asked;

    take_body(c, &asked);
    if (!V1_FAILS(c, admin_change_group, id, decide, &asked, &rules))
        load_and_answer(c, id);
}

static bool may_remove(void *arg, const struct group_info *now, struct group_info *values, struct refusal *r)
{
    (void)values;
    return is_current(arg, now, r);
}

static void answer_remove(struct v1_call *c)
{
    int64_t id = v1_path_id(c, 0);

    if (!V1_FAILS(c, admin_remove_group, id, may_remove, c, /*checks_first=*/false))
        v1_set_no_content(c);
}

static const struct v1_route routes[] = {
    {V1_ROUTE(ROUTE_GET, "/groups", ROUTE_SIGHT), V1_NO_BODY, 0, answer_list},
    {V1_ROUTE(ROUTE_POST, "/groups", ROUTE_SIGHT), V1_JSON_BODY, 0, answer_add},
    {V1_ROUTE(ROUTE_GET, "/groups/figures", ROUTE_LOGIN), V1_NO_BODY, 0, answer_figures},
    {V1_ROUTE(ROUTE_POST, "/groups/check-address", ROUTE_LOGIN), V1_JSON_BODY, 0, answer_check_address},
    {V1_ROUTE(ROUTE_GET, "/groups/{id}", ROUTE_LOGIN), V1_NO_BODY, 0, answer_one},
    {V1_ROUTE(ROUTE_PATCH, "/groups/{id}", ROUTE_SIGHT), V1_JSON_BODY, 0, answer_change},
    {V1_ROUTE(ROUTE_DELETE, "/groups/{id}", ROUTE_LOGIN), V1_NO_BODY, 0, answer_remove},
    {V1_ROUTE(ROUTE_GET, "/groups/{id}/executors", ROUTE_LOGIN), V1_NO_BODY, 0, answer_executors},
    {V1_ROUTE(ROUTE_GET, "/groups/{id}/jobs", ROUTE_LOGIN), V1_NO_BODY, 0, answer_jobs},
};

const struct v1_topic v1_groups = {routes, ARRAY_LEN(routes)};

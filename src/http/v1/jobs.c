/* SPDX-License-Identifier: MIT */
/* Jobs, their times, what waits of them, and expressions. */
#include "http/v1/job_form.h"

#include <stdlib.h>
#include <string.h>

#define LIST "jobs"
#define LIST_NEXT "jobs-next"
#define LIST_NAMED "jobs-name"
#define LIST_LAST "jobs-last"
#define LIST_FAILURES "jobs-failures"
#define TEXT_MAX 255
#define LATER_LIST_MAX 500

/* ---- looking ----------------------------------------------------------------------------------------------------- */

static void take_filter(struct v1_call *c, struct job_filter *f)
{
    f->group = v1_query_int(c, "group", 1, INT32_MAX, 0);
    f->status = (int)v1_query_choice(c, "running", (const char *const[]){"false", "true", NULL}, -1);
    f->tag = v1_query_text(c, "tag", TEXT_MAX);
    f->text = v1_pattern(c, v1_query_text(c, "text", TEXT_MAX));
    f->name = v1_pattern(c, v1_query_text(c, "name", TEXT_MAX));
    f->handler = v1_pattern(c, v1_query_text(c, "handler", TEXT_MAX));
    f->author = v1_pattern(c, v1_query_text(c, "author", TEXT_MAX));
}

/* What a cursor of each order has: keys in this order, the name as its text. */
static const struct order {
    enum job_sort sort;
    const char *list;
    size_t keys;
    bool text;
} orders[] = {
    {JOBS_NEWEST, LIST, 1, false},    {JOBS_NEXT, LIST_NEXT, 3, false},       {JOBS_NAMED, LIST_NAMED, 1, true},
    {JOBS_LAST, LIST_LAST, 2, false}, {JOBS_RANKED, LIST_FAILURES, 2, false},
};

static struct job_place read_place(const struct order *order, const struct v1_page *page)
{
    const struct v1_cursor *from = &page->from;

    if (!page->after)
        return (struct job_place){0};
    return (struct job_place){.id = from->keys[0],
                              .time_ms = order->keys > 1 ? from->keys[1] : 0,
                              .status = order->keys > 2 ? from->keys[2] : 0,
                              .name = order->text ? from->text : NULL};
}

static struct v1_cursor make_cursor(const struct order *order, const struct job_found *found, const struct job_row *row)
{
    int64_t second = order->sort == JOBS_LAST     ? row->last_ms
                     : order->sort == JOBS_RANKED ? job_found_failures(found, row->id)
                                                  : row->next_ms;

    return (struct v1_cursor){.keys = {row->id, second, row->status},
                              .count = order->keys,
                              .text = order->text ? (row->name ? row->name : "") : NULL};
}

static void write_page(struct v1_call *c, const struct order *order, struct v1_page *page,
                       const struct job_found *found)
{
    bool more = found->list.count > page->limit;
    size_t count = more ? page->limit : found->list.count;
    struct v1_cursor next = {0};

    V1_PUT_LIST(&c->r->body, "items", found->list.rows, count, job_put, found, /*whole=*/false);
    if (more)
        next = make_cursor(order, found, &found->list.rows[count - 1]);
    page->total = found->total;
    page->is_estimate = found->is_estimate;
    v1_end_page(c, page, more ? &next : NULL);
}

static void answer_list(struct v1_call *c)
{
    static const char *const sorts[] = {"id", "next", "name", "last", "failures", NULL};
    const struct order *order = &orders[v1_query_choice(c, "sort", sorts, 0)];
    struct v1_page page = v1_query_page(c, order->list, order->keys, order->text);
    struct job_query query = {.own_groups = true,
                              .failing = v1_query_choice(c, "result", (const char *const[]){"failed", NULL}, -1) == 0,
                              .sort = order->sort,
                              .after = read_place(order, &page),
                              .failures = order->sort == JOBS_RANKED && page.after ? page.from.keys[1] : 0,
                              .limit = page.want,
                              .count = page.count,
                              .settings = true,
                              .runs = true};
    struct job_found found = {0};

    take_filter(c, &query.filter);
    if (!V1_FAILS(c, admin_list_jobs, &query, &found))
        write_page(c, order, &page, &found);
    job_found_fini(&found);
}

/* As GET gives it. False: it could not be read, and the answer says so. */
static bool write_job(struct v1_call *c, int64_t id)
{
    struct job_found found = {0};
    struct errctx ec;
    bool good = !v1_has_failed(c, admin_load_job(c->admin, c->actor, id, &found, &c->why));

    if (good) {
        struct v1_etag tag = job_tag(&found.list.rows[0], job_found_settings(&found, id));

        job_put(&c->r->body, &found.list.rows[0], &found, /*whole=*/true);
        c->r->body.failed |= response_add_header(c->r, "ETag", tag.text, &ec) != ERR_OK;
    }
    job_found_fini(&found);
    return good;
}

static void answer_load(struct v1_call *c)
{
    int64_t id = v1_path_id(c, 0);

    if (!v1_is_refused(c))
        write_job(c, id);
}

/* ---- changing ---------------------------------------------------------------------------------------------------- */

static void answer_add(struct v1_call *c)
{
    struct job_form form = {.order = JOB_ORDER_D};
    struct job_settings settings;
    struct job_given given;
    int64_t id = 0;

    job_take(&c->body, /*is_new=*/true, &given);
    if (v1_is_refused(c))
        return;
    form.row = given.row;
    job_settings_init(&settings, 0);
    form.settings = &settings;
    if (v1_has_failed(c, job_put_over(&given, &form.row, &settings, &c->why)) ||
        v1_has_failed(c, admin_add_job(c->admin, c->actor, &form, &id, &c->why)) || !write_job(c, id))
        return;
    v1_set_created(c, "/jobs/", id);
}

/* Of If-Match: that of the version that is there. */
static bool is_wanted(void *list, const char *version)
{
    char tag[JOB_VERSION_MAX + 2] = "\"";

    strcat(tag, version);
    strcat(tag, "\"");
    return v1_etag_is_in(list, tag);
}

static struct job_match take_match(struct v1_call *c)
{
    const char *wanted = request_get_header(c->call->q, "If-Match");

    return (struct job_match){wanted ? is_wanted : NULL, (void *)wanted};
}

static void answer_edit(struct v1_call *c)
{
    int64_t id = v1_path_id(c, 0);
    struct job_given given;
    struct job_edit edit = {job_put_over, &given, take_match(c)};

    job_take(&c->body, /*is_new=*/false, &given);
    if (!V1_FAILS(c, admin_edit_job, id, &edit))
        write_job(c, id);
}

static void answer_remove(struct v1_call *c)
{
    int64_t id = v1_path_id(c, 0);
    struct job_match match = take_match(c);

    if (!V1_FAILS(c, admin_remove_job, id, &match))
        v1_set_no_content(c);
}

static void set_running(struct v1_call *c, bool running)
{
    int64_t id = v1_path_id(c, 0);

    if (!V1_FAILS(c, admin_set_running, id, running))
        write_job(c, id);
}

static void answer_start(struct v1_call *c)
{
    set_running(c, true);
}

static void answer_stop(struct v1_call *c)
{
    set_running(c, false);
}

/* ---- firing ------------------------------------------------------------------------------------------------------ */

static void write_fired(struct v1_call *c, const struct trigger_made *made, int64_t later_id)
{
    struct buf *b = &c->r->body;

    v1_put_ints(b, "runs", made->log_ids, made->count);
    member_int_or_null(b, "later", later_id);
}

static void answer_trigger(struct v1_call *c)
{
    struct trigger_order order = {.job_id = v1_path_id(c, 0), .kind = TRIGGER_API};
    int64_t at_ms = v1_instant(&c->body, "at", 0), later_id = 0;
    struct trigger_made made = {0};

    order.param = v1_text(&c->body, "executorParam", 65535);
    order.addresses = v1_joined_list(&c->body, "addressList", 1000, TEXT_MAX, true);
    if (!V1_FAILS(c, admin_trigger_job, &order, at_ms ? time_floor_div(at_ms + 999, 1000) : 0, &made, &later_id)) {
        c->r->status = 202;
        write_fired(c, &made, later_id);
    }
    free(made.log_ids);
}

static void put_later(struct buf *b, const struct later_row *row)
{
    member_int(b, "id", row->id);
    member_text(b, "kind", trigger_kind_name(row->kind));
    v1_put_instant(b, "dueAt", row->due_s * 1000);
    v1_put_instant(b, "waitsForExecutorUntil", row->hold_until_s * 1000);
    member_int_or_null(b, "run", row->log_id);
    member_text(b, "executorParam", row->param);
    member_text(b, "addressList", row->addresses);
}

static void answer_later(struct v1_call *c)
{
    int64_t id = v1_path_id(c, 0), limit = v1_query_int(c, "limit", 1, LATER_LIST_MAX, LATER_LIST_MAX);
    struct later_page page = {0};

    if (V1_FAILS(c, admin_list_later, id, (size_t)limit, &page))
        return;
    V1_PUT_LIST(&c->r->body, "items", page.rows, page.count, put_later);
    later_page_fini(&page);
}

static void answer_cancel(struct v1_call *c)
{
    int64_t id = v1_path_id(c, 0), later = v1_path_id(c, 1);

    if (!V1_FAILS(c, admin_cancel_later, id, later))
        v1_set_no_content(c);
}

/* ---- times ------------------------------------------------------------------------------------------------------- */

static void write_times(struct v1_call *c, const struct job_times *times)
{
    struct buf *b = &c->r->body;

    member_list(b, "items");
    for (size_t i = 0; i < times->count; i++)
        v1_put_instant(b, NULL, times->ms[i]);
    member_list_end(b);
}

static void answer_job_times(struct v1_call *c)
{
    int64_t id = v1_path_id(c, 0), count = v1_query_int(c, "count", 1, JOB_TIMES_MAX, 5);
    struct job_times times;

    if (!V1_FAILS(c, admin_find_job_times, id, (size_t)count, &times))
        write_times(c, &times);
}

static struct schedule_text take_schedule(struct v1_call *c)
{
    struct schedule_text text = {.type = v1_text(&c->body, "scheduleType", 50),
                                 .conf = v1_text(&c->body, "scheduleConf", 1000),
                                 .zone = v1_text(&c->body, "zone", ZONE_NAME_MAX - 1)};

    v1_require(&c->body, "scheduleType");
    return text;
}

static void answer_times(struct v1_call *c)
{
    struct schedule_text text = take_schedule(c);
    int64_t count = v1_int(&c->body, "count", 1, JOB_TIMES_MAX, 5);
    struct job_times times;

    text.from_ms = v1_instant(&c->body, "from", 0);
    if (!V1_FAILS(c, admin_find_times, &text, (size_t)count, &times))
        write_times(c, &times);
}

static void answer_validate(struct v1_call *c)
{
    struct schedule_text text = take_schedule(c);
    struct schedule_verdict v;
    struct buf *b = &c->r->body;

    if (V1_FAILS(c, admin_check_schedule, &text, &v))
        return;
    member_bool(b, "ok", v.ok);
    member_text(b, "field", v.field);
    member_text(b, "reason", v.ok ? NULL : v.reason.text);
    member_int_if(b, "position", v.has_place, (int64_t)v.at);
    member_int_if(b, "length", v.has_place, (int64_t)v.len);
    v1_put_instant(b, "nextFireAt", v.has_next ? v.next_ms : 0);
}

static const struct v1_route routes[] = {
    {V1_ROUTE(ROUTE_GET, "/jobs", ROUTE_LOGIN), V1_NO_BODY, 0, answer_list},
    {V1_ROUTE(ROUTE_POST, "/jobs", ROUTE_SIGHT), V1_JSON_BODY, BODY_MAX_SOURCE, answer_add},
    {V1_ROUTE(ROUTE_GET, "/jobs/{id}", ROUTE_LOGIN), V1_NO_BODY, 0, answer_load},
    {V1_ROUTE(ROUTE_PATCH, "/jobs/{id}", ROUTE_SIGHT), V1_JSON_BODY, 0, answer_edit},
    {V1_ROUTE(ROUTE_DELETE, "/jobs/{id}", ROUTE_LOGIN), V1_NO_BODY, 0, answer_remove},
    {V1_ROUTE(ROUTE_POST, "/jobs/{id}/start", ROUTE_SIGHT), V1_NO_BODY, 0, answer_start},
    {V1_ROUTE(ROUTE_POST, "/jobs/{id}/stop", ROUTE_SIGHT), V1_NO_BODY, 0, answer_stop},
    {V1_ROUTE(ROUTE_POST, "/jobs/{id}/trigger", ROUTE_LOGIN), V1_MAY_BODY, 0, answer_trigger},
    {V1_ROUTE(ROUTE_GET, "/jobs/{id}/next", ROUTE_LOGIN), V1_NO_BODY, 0, answer_job_times},
    {V1_ROUTE(ROUTE_GET, "/jobs/{id}/later", ROUTE_LOGIN), V1_NO_BODY, 0, answer_later},
    {V1_ROUTE(ROUTE_DELETE, "/jobs/{id}/later/{later}", ROUTE_LOGIN), V1_NO_BODY, 0, answer_cancel},
    {V1_ROUTE(ROUTE_POST, "/schedule/validate", ROUTE_LOGIN), V1_JSON_BODY, 0, answer_validate},
    {V1_ROUTE(ROUTE_POST, "/schedule/next", ROUTE_LOGIN), V1_JSON_BODY, 0, answer_times},
};

const struct v1_topic v1_jobs = {routes, ARRAY_LEN(routes)};

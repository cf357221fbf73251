/* SPDX-License-Identifier: MIT */
/* Runs: lists, one, its log at the executor, stop, clear. */
#include "http/v1/facts.h"
#include "shardwheel/admin/runs.h"

#include <stdio.h>
#include <string.h>

#define LIST_CLEARED "cleared" /* how far a clear in pieces got */
#define PIECE_SECONDS_MAX 20
#define LIST_LIMIT_MS 2000
#define LIST_LOOK_MAX 1000000
#define RECENT_DEFAULT 20
#define TEXT_MAX 2000 /* characters of a text in a list */

/* ---- one run ----------------------------------------------------------------------------------------------------- */

static void put_message(struct buf *out, const char *name, const char *text)
{
    struct buf clean = {0};

    run_put_message(&clean, text);
    v1_put_buf(out, name, text && !clean.data ? "" : clean.data, &clean);
}

static void put_sentence(struct buf *out, const struct run_row *row)
{
    struct buf text = {0};

    run_put_sentence(&text, row);
    v1_put_buf(out, "sentence", text.data, &text);
}

static void put_names(struct buf *out, const struct run_list *list, const struct run_row *row)
{
    const struct name_row *job = names_find(&list->jobs, row->job_id);
    const struct name_row *group = names_find(&list->groups, row->group);

    member_text(out, "jobName", job ? job->name : NULL);
    member_text(out, "groupTitle", group ? group->name : NULL);
    member_text(out, "appname", group ? group->app_name : NULL);
}

/* Between its id and its messages: what a row of ticks needs. */
static void put_facts(struct buf *out, const struct run_row *row, const struct run_marks *marks)
{
    int64_t duration_s = run_get_duration_s(row);

    member_text(out, "trigger", marks->has_kind ? trigger_kind_name(marks->kind) : NULL);
    v1_put_instant(out, "dueTime", marks->due_s * 1000);
    member_int(out, "lateSeconds", run_get_late_s(marks));
    member_int_if(out, "durationSeconds", duration_s >= 0, duration_s);
    member_int(out, "skipped", marks->skipped);
    v1_put_outcome(out, row);
    member_int_or_null(out, "retryRunId", marks->retry_log);
}

static void put_run(struct buf *out, const struct run_row *row, const struct run_list *list)
{
    const struct run_marks marks = run_marks_read(row);

    member_int(out, "id", row->id);
    member_int(out, "jobGroup", row->group);
    member_int(out, "jobId", row->job_id);
    put_names(out, list, row);
    member_text(out, "state", run_state_name(row->state));
    put_sentence(out, row);
    put_facts(out, row, &marks);
    member_text(out, "executorAddress", row->address);
    member_text(out, "executorHandler", row->handler);
    member_text(out, "executorParam", row->param);
    member_text(out, "executorShardingParam", row->sharding);
    member_int(out, "executorFailRetryCount", row->retries_left);
    v1_put_second(out, "triggerTime", row->trigger_s);
    member_int(out, "triggerCode", row->trigger_code);
    put_message(out, "triggerMsg", row->trigger_msg);
    v1_put_second(out, "handleTime", row->handle_s);
    member_int(out, "handleCode", row->handle_code);
    put_message(out, "handleMsg", row->handle_msg);
    member_int(out, "alarmStatus", row->alarm_status);
}

static void answer_one(struct v1_call *c)
{
    int64_t id = v1_path_id(c, 0);
    struct run_list list;

    if (V1_FAILS(c, admin_show_run, id, &list))
        return;
    put_run(&c->r->body, &list.rows.rows[0], &list);
    run_list_fini(&list);
}

/* ---- which belong together --------------------------------------------------------------------------------------- */

static void put_link(struct buf *out, const char *name, const struct run_links *links, const struct run_row *row)
{
    const struct name_row *job = row ? names_find(&links->jobs, row->job_id) : NULL;

    if (!member_object_if(out, name, row))
        return;
    member_int(out, "id", row->id);
    member_int(out, "jobId", row->job_id);
    member_text(out, "jobName", job ? job->name : NULL);
    member_text(out, "state", run_state_name(row->state));
    member_object_end(out);
}

static void put_flow(struct buf *out, const struct run_links *links)
{
    if (!member_object_if(out, "flow", links->flow_run))
        return;
    member_int(out, "run", links->flow_run);
    member_int(out, "flowId", links->flow_id);
    member_text(out, "flowName", links->flow_name);
    member_text(out, "step", links->flow_step[0] ? links->flow_step : NULL);
    member_object_end(out);
}

static void answer_links(struct v1_call *c)
{
    int64_t id = v1_path_id(c, 0);
    struct buf *out = &c->r->body;
    struct run_links links;

    if (V1_FAILS(c, admin_load_run_links, id, &links))
        return;
    put_link(out, "retryOf", &links, run_links_find(&links, links.retry_of));
    put_link(out, "retry", &links, run_links_find(&links, links.retry));
    put_link(out, "parent", &links, run_links_find(&links, links.parent));
    member_list(out, "children");
    for (size_t i = 0; i < links.child_count; i++) {
        const struct run_row *child = run_links_find(&links, links.children[i]);

        if (child)
            put_link(out, NULL, &links, child);
    }
    member_list_end(out);
    put_flow(out, &links);
    member_bool(out, "complete", links.complete);
    run_links_fini(&links);
}

/* ---- what jobs did last ------------------------------------------------------------------------------------------ */

static void put_tick(struct buf *out, const struct run_row *run)
{
    const struct run_marks marks = run_marks_read(run);

    member_int(out, "id", run->id);
    member_text(out, "state", run_state_name(run->state));
    put_facts(out, run, &marks);
    v1_put_second(out, "triggerTime", run->trigger_s);
    v1_put_second(out, "handleTime", run->handle_s);
}

static void put_recent(struct buf *out, const struct job_recent *item)
{
    char mean[32];

    snprintf(mean, sizeof mean, "%.1f", item->mean_s);
    member_int(out, "jobId", item->job_id);
    member_bool(out, "running", item->is_running);
    v1_put_instant(out, "nextFireAt", item->next_ms);
    member_json(out, "meanDurationSeconds", item->has_mean ? mean : NULL);
    V1_PUT_LIST(out, "runs", item->runs, item->count, put_tick);
}

static void answer_recent(struct v1_call *c)
{
    struct v1_ints ids = v1_query_ints_required(c, "ids", RECENT_JOBS_MAX);
    int64_t each = v1_query_int(c, "limit", 1, RECENT_RUNS_MAX, RECENT_DEFAULT);
    struct buf *out = &c->r->body;
    struct jobs_recent recent;

    if (V1_FAILS(c, admin_load_recent_runs, ids.v, ids.count, each, &recent))
        return;
    member_bool(out, "complete", recent.complete);
    V1_PUT_LIST(out, "items", recent.items, recent.count, put_recent);
    jobs_recent_fini(&recent);
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

static const char *name_state(int64_t state)
{
    return run_state_name((enum run_state)state);
}

/* "from" is rounded up, "to" down: rows have whole seconds. */
static void take_range(struct v1_call *c, struct run_filter *filter)
{
    int64_t from_ms = v1_query_instant(c, "from", 0), to_ms = v1_query_instant(c, "to", 0);

    filter->from_s = from_ms ? time_floor_div(from_ms + 999, 1000) : 0;
    filter->until_s = to_ms ? time_floor_div(to_ms, 1000) : 0;
    if (from_ms && to_ms && from_ms > to_ms)
        v1_note(c, REFUSED_INVALID, "to", "to must not be before from");
}

static void take_place(struct v1_call *c, const struct v1_page *page, struct run_place *out)
{
    if (!page->after)
        return;
    if (page->from.keys[0] < 1 || !cursor_is_time(page->from.text)) {
        v1_note(c, REFUSED_INVALID, "after", "after must be the `next` of a page of this list");
        return;
    }
    out->id = page->from.keys[0];
    snprintf(out->time, sizeof out->time, "%s", page->from.text);
}

static struct v1_page take_search(struct v1_call *c, struct run_search *search)
{
    struct v1_page page = v1_query_page(c, "runs", 1, true);
    struct run_filter *filter = &search->query.filter;

    filter->job_id = v1_query_int(c, "jobId", 1, INT32_MAX, 0);
    filter->group = v1_query_int(c, "jobGroup", 1, INT32_MAX, 0);
    filter->states = v1_query_states(c, "result", name_state, RUN_STATES, "failed,lost");
    filter->late = v1_query_bool(c, "late", false);
    filter->address = v1_query_text(c, "address", 255);
    filter->text = v1_query_text(c, "text", 200);
    take_range(c, filter);
    take_place(c, &page, &search->query.after);
    search->query.want = page.limit;
    search->count = page.count;
    return page;
}

/* The end of a page that stopped before it was full says so. */
static void end_page(struct v1_call *c, struct v1_page *page, const struct run_list *list)
{
    const struct v1_cursor next = {.keys = {list->last.id}, .count = 1, .text = list->last.time};
    bool more = !list->is_end && list->last.id && list->last.time[0];
    struct buf *out = &c->r->body;

    page->total = list->total;
    page->is_estimate = list->is_estimate;
    v1_end_page(c, page, more ? &next : NULL);
    if (!list->stop)
        return;
    member_bool(out, "incomplete", true);
    member_text(out, "reason",
                list->stop == RUN_STOP_ROWS ? "1,000,000 runs were searched: continue with `next`"
                                            : "the search stopped after 2 s: continue with `next`");
}

static void answer_list(struct v1_call *c)
{
    struct run_search search = {.query = {.order = RUN_BY_TIME, .limit_ms = LIST_LIMIT_MS, .look_max = LIST_LOOK_MAX},
                                .own_groups = true,
                                .names = true,
                                .text_max = TEXT_MAX,
                                .bytes_max = SIZE_MAX};
    struct v1_page page = take_search(c, &search);
    struct run_list list;

    if (V1_FAILS(c, admin_list_runs, &search, &list))
        return;
    V1_PUT_LIST(&c->r->body, "items", list.rows.rows, list.rows.count, put_run, &list);
    end_page(c, &page, &list);
    run_list_fini(&list);
}

/* ---- the log ----------------------------------------------------------------------------------------------------- */

/* Of the executor's text, which counts them. */
static void put_lines(struct buf *out, const struct run_log *log)
{
    const char *at = log->text, *end = at ? at + log->len : NULL;

    member_list(out, "lines");
    while (at && at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        size_t len = line_end ? (size_t)(line_end - at) : (size_t)(end - at);
        struct buf line = {0};

        buf_append(&line, at, len && at[len - 1] == '\r' ? len - 1 : len);
        v1_put_buf(out, NULL, line.data ? line.data : "", &line);
        at += len + 1;
    }
    member_list_end(out);
}

static void answer_log(struct v1_call *c)
{
    static const char *const sources[] = {"any", "executor", "kept", NULL};
    int64_t id = v1_path_id(c, 0), from = v1_query_int(c, "fromLine", 1, INT32_MAX, 1);
    int source = v1_query_choice(c, "source", sources, RUN_LOG_ANY);
    struct buf *out = &c->r->body;
    struct run_log log;

    if (V1_FAILS(c, admin_read_run_log, id, from, (enum run_log_source)source, /*strict=*/false, &log))
        return;
    member_int(out, "fromLine", from);
    put_lines(out, &log);
    member_int(out, "nextLine", log.to_line >= from ? log.to_line + 1 : from);
    member_bool(out, "ended", log.end != RUN_LOG_GOES_ON);
    member_text(out, "reason", log.end != RUN_LOG_GOES_ON ? run_log_end_name(log.end) : NULL);
    member_text(out, "trouble", log.trouble.text[0] ? log.trouble.text : NULL);
    member_text(out, "source", log.is_kept ? "kept" : "executor");
    v1_put_instant(out, "keptAt", log.is_kept ? log.kept_ms : 0);
    member_bool(out, "isCut", log.is_cut);
    run_log_fini(&log);
}

/* ---- stop, clear ------------------------------------------------------------------------------------------------- */

static void answer_kill(struct v1_call *c)
{
    int64_t id = v1_path_id(c, 0);
    struct buf said = {0};

    if (!V1_FAILS(c, admin_kill_run, id, NULL, &said)) {
        member_text(&c->r->body, "executorMessage", said.data);
    }
    buf_fini(&said);
}

static void take_clear(struct v1_call *c, struct run_clear *clear)
{
    int64_t before_ms = v1_instant(&c->body, "before", 0);

    clear->group = v1_int(&c->body, "jobGroup", 1, INT32_MAX, 0);
    clear->job_id = v1_int(&c->body, "jobId", 1, INT32_MAX, 0);
    clear->keep = v1_int(&c->body, "keepNewest", 1, 1000000, 0);
    clear->type = (int)v1_int(&c->body, "type", 1, 9, 0);
    clear->before_s = before_ms ? time_floor_div(before_ms, 1000) : 0;
    if (!clear->type && !clear->keep && !clear->before_s)
        v1_note(c, REFUSED_REQUIRED, "type", "type, before or keepNewest must say what to delete");
    if (clear->type && (clear->keep || clear->before_s))
        v1_note(c, REFUSED_INVALID, "type", "before and keepNewest cannot be used with type");
}

/* Rows without a time are there where all go, by id alone. */
static void take_piece(struct v1_call *c, struct run_clear *clear)
{
    const char *after = v1_text(&c->body, "after", 200);
    char memory[201 * 4];
    struct v1_cursor at;

    clear->for_ms = v1_int(&c->body, "forSeconds", 1, PIECE_SECONDS_MAX, 0) * 1000;
    if (!after)
        return;
    bool all = !clear->group && !clear->job_id && !clear->keep && !clear->before_s && clear->type == 9;
    if (!clear->for_ms || !cursor_parse(after, LIST_CLEARED, 1, /*text=*/true, memory, &at) || at.keys[0] < 1 ||
        !(cursor_is_time(at.text) || (all && !at.text[0]))) {
        v1_note(c, REFUSED_INVALID, "after", "after must be the `next` of the previous call");
        return;
    }
    clear->from.id = at.keys[0];
    snprintf(clear->from.time, sizeof clear->from.time, "%s", at.text);
}

static void put_next_piece(struct buf *out, const struct run_cleared *cleared)
{
    const struct v1_cursor at = {.keys = {cleared->at.id}, .count = 1, .text = cleared->at.time};
    struct buf next = {0};

    if (!cleared->done && cleared->at.id)
        cursor_put(&next, LIST_CLEARED, &at);
    v1_put_buf(out, "next", next.data, &next);
}

static void answer_clear(struct v1_call *c)
{
    struct run_clear clear = {0};
    struct run_cleared cleared;
    struct buf *out = &c->r->body;

    take_clear(c, &clear);
    take_piece(c, &clear);
    bool dry_run = v1_bool(&c->body, "dryRun", false);
    if (V1_FAILS(c, admin_clear_runs, &clear, dry_run, &cleared))
        return;
    member_bool(out, "dryRun", dry_run);
    if (dry_run) {
        member_int(out, "matched", cleared.matched);
        member_bool(out, "matchedIsEstimate", cleared.is_estimate);
    } else {
        member_int(out, "deleted", cleared.deleted);
        member_bool(out, "done", cleared.done);
        if (clear.for_ms)
            put_next_piece(out, &cleared);
    }
}

static const struct v1_route routes[] = {
    {V1_ROUTE(ROUTE_GET, "/jobs/recent", ROUTE_LOGIN), V1_NO_BODY, 0, answer_recent},
    {V1_ROUTE(ROUTE_GET, "/runs", ROUTE_LOGIN), V1_NO_BODY, 0, answer_list},
    {V1_ROUTE(ROUTE_POST, "/runs/clear", ROUTE_LOGIN), V1_JSON_BODY, 0, answer_clear},
    {V1_ROUTE(ROUTE_GET, "/runs/{id}", ROUTE_LOGIN), V1_NO_BODY, 0, answer_one},
    {V1_ROUTE(ROUTE_GET, "/runs/{id}/links", ROUTE_LOGIN), V1_NO_BODY, 0, answer_links},
    {V1_ROUTE(ROUTE_GET, "/runs/{id}/log", ROUTE_LOGIN), V1_NO_BODY, 0, answer_log},
    {V1_ROUTE(ROUTE_POST, "/runs/{id}/kill", ROUTE_LOGIN), V1_NO_BODY, 0, answer_kill},
};

const struct v1_topic v1_runs = {routes, ARRAY_LEN(routes)};

/* SPDX-License-Identifier: MIT */
/* /joblog: runs. */
#include <string.h>

#include "http/console/refuse.h"
#include "http/console/times.h"
#include "shardwheel/admin/runs.h"

#define LIST_LIMIT_MS 8000
#define LIST_LOOK_MAX 20000000
#define LIST_BYTES_MAX (32 << 20)

/* ---- lists ------------------------------------------------------------------------------------------------------- */

static void put_row(struct console_call *call, const struct run_row *row)
{
    struct buf *out = &call->r->body;

    member_object(out, NULL);
    member_int(out, "id", row->id);
    member_int(out, "jobGroup", row->group);
    member_int(out, "jobId", row->job_id);
    console_put_member(call, out, "executorAddress", row->address);
    console_put_member(call, out, "executorHandler", row->handler);
    console_put_member(call, out, "executorParam", row->param);
    console_put_member(call, out, "executorShardingParam", row->sharding);
    member_int(out, "executorFailRetryCount", row->retries_left);
    console_put_run_date(call, out, "triggerTime", row->trigger_s);
    member_int(out, "triggerCode", row->trigger_code);
    console_put_member(call, out, "triggerMsg", row->trigger_msg);
    console_put_run_date(call, out, "handleTime", row->handle_s);
    member_int(out, "handleCode", row->handle_code);
    console_put_member(call, out, "handleMsg", row->handle_msg);
    member_int(out, "alarmStatus", row->alarm_status);
    buf_putc(out, '}');
}

/* In A and B a half that cannot be read is no limit; in C and D it is refused. */
static bool take_range(struct console_call *call, struct run_filter *filter)
{
    bool broken = false;

    times_parse_range(console_get_filter(call, "filterTime"), call->route->h->opts.console_zone, &filter->from_s,
                      &filter->until_s, &broken);
    if (!broken || call->dialect & DIALECTS_AB)
        return true;
    console_fail_hard(call, "filterTime: parse error.");
    return false;
}

static void answer_list(struct console_call *call)
{
    struct run_search search = {.count = true, .bytes_max = LIST_BYTES_MAX};
    struct run_filter *filter = &search.query.filter;
    struct run_list list;
    struct refusal refusal;
    int64_t length, status;

    if (!console_take_page(call, &search.query.skip, &length) || !console_take_int(call, "jobGroup", &filter->group) ||
        !console_take_int(call, "jobId", &filter->job_id) || !console_take_int(call, "logStatus", &status) ||
        !take_range(call, filter))
        return;
    filter->group = filter->group > 0 ? filter->group : 0;
    filter->job_id = filter->job_id > 0 ? filter->job_id : 0;
    filter->log_status = (int)status;
    search.query.order = call->dialect & DIALECTS_AB ? RUN_BY_TIME : RUN_BY_ID;
    search.query.want = (size_t)length;
    search.query.limit_ms = LIST_LIMIT_MS;
    search.query.look_max = LIST_LOOK_MAX;
    if (admin_list_runs(call->admin, &call->actor, &search, &list, &refusal)) {
        console_fail_refusal(call, &refusal);
        return;
    }
    if (list.stop && list.rows.count < search.query.want)
        console_fail_hard(call, "the runs were not found within %d s: choose a job, an executor or a shorter time",
                          LIST_LIMIT_MS / 1000);
    else
        CONSOLE_PUT_LIST(call, list.total, list.is_estimate, list.rows.rows, list.rows.count, put_row);
    run_list_fini(&list);
}

/* ---- rolling log ------------------------------------------------------------------------------------------------- */

static void put_piece(struct console_call *call, const struct run_log *log)
{
    struct buf *out = &call->r->body;
    struct buf html = {0};

    buf_append(&html, "", 0);
    run_put_log_html(&html, log->text ? log->text : "", log->len);
    console_begin_success(call);
    member_object(out, NULL);
    member_int(out, "fromLineNum", log->from_line);
    member_int(out, "toLineNum", log->to_line);
    console_put_member(call, out, "logContent", html.data);
    member_bool(out, "end", log->is_end || (log->to_line < log->from_line && log->is_over));
    member_object_end(out);
    console_end_success(call);
    out->failed = out->failed || buf_failed(&html);
    buf_fini(&html);
}

/* What else was sent, executorAddress and triggerTime of 2.3, is not looked at: nobody says whom we ask. */
static void answer_log(struct console_call *call)
{
    struct run_log log;
    struct refusal refusal;
    int64_t id, from_line;

    if (!console_take_long(call, "logId", &id) || !console_take_int(call, "fromLineNum", &from_line))
        return;
    if (!admin_read_run_log(call->admin, &call->actor, id, from_line, RUN_LOG_ANY, /*strict=*/true, &log, &refusal)) {
        put_piece(call, &log);
        run_log_fini(&log);
    } else if (refusal.kind == REFUSED_UNKNOWN) {
        console_fail_words(call, SAY_LOG_ID_INVALID, SAY_END);
    } else if (refusal.kind == REFUSED_RIGHT) {
        console_fail_right(call);
    } else {
        console_fail(call, refusal.text.text);
    }
}

/* ---- stop, clear ------------------------------------------------------------------------------------------------- */

static void refuse_kill(struct console_call *call, const struct refusal *refusal)
{
    static const struct console_refusal table[] = {
        {REFUSED_STATE, "jobId", {SAY_JOB_ID_INVALID}},
        {REFUSED_STATE, "triggerCode", {SAY_CANNOT_KILL}},
    };

    if (refusal->kind == REFUSED_EXECUTOR)
        console_fail(call, refusal->text.text);
    else
        console_refuse_by(call, refusal, table, ARRAY_LEN(table));
}

static void succeed_with(struct console_call *call, const char *text)
{
    console_begin_success(call);
    console_put_text(call, &call->r->body, text);
    console_end_success(call);
}

/* A run that has ended is left alone, and the answer is a success: what was asked for is so. */
static void answer_kill(struct console_call *call)
{
    struct buf head = {0}, said = {0};
    struct refusal refusal;
    int64_t id;

    if (!console_take_long(call, "id", &id))
        return;
    console_put_say(call, &head, SAY_KILLED_BY_HAND);
    buf_putc(&head, ':');
    if (buf_failed(&head))
        call->r->body.failed = true;
    else if (!admin_kill_run(call->admin, &call->actor, id, head.data, &said, &refusal))
        succeed_with(call, said.len > 0 ? said.data : NULL);
    else if (refusal.kind == REFUSED_STATE && refusal.field && !strcmp(refusal.field, "handleCode"))
        succeed_with(call, refusal.text.text);
    else
        refuse_kill(call, &refusal);
    buf_fini(&head);
    buf_fini(&said);
}

/* Success also where rows are still being removed when the call has waited long enough: the rest goes by itself. */
static void answer_clear(struct console_call *call)
{
    struct run_clear clear = {0};
    struct run_cleared cleared;
    struct refusal refusal;
    int64_t type;

    if (!console_take_int(call, "jobGroup", &clear.group) || !console_take_int(call, "jobId", &clear.job_id) ||
        !console_take_int(call, "type", &type))
        return;
    clear.type = type >= 1 && type <= 9 ? (int)type : -1;
    if (!admin_clear_runs(call->admin, &call->actor, &clear, /*dry_run=*/false, &cleared, &refusal))
        console_succeed(call);
    else if (refusal.kind == REFUSED_INVALID)
        console_fail_words(call, SAY_CLEAN_TYPE_INVALID, SAY_END);
    else
        console_fail_refusal(call, &refusal);
}

static const struct console_endpoint rows[] = {
    {"/joblog/pageList", DIALECTS_ALL, ROUTE_ANY, CONSOLE_CALL, NEED_USER, answer_list},
    {"/joblog/logDetailCat", DIALECTS_ALL, ROUTE_ANY, CONSOLE_CALL, NEED_USER, answer_log},
    {"/joblog/logKill", DIALECTS_ALL, ROUTE_ANY, CONSOLE_CALL, NEED_USER, answer_kill},
    {"/joblog/clearLog", DIALECTS_ALL, ROUTE_ANY, CONSOLE_CALL, NEED_USER, answer_clear},
};

const struct console_topic console_joblog = {rows, ARRAY_LEN(rows)};

/* SPDX-License-Identifier: MIT */
/* The JSON of an event. */
#include "shardwheel/events.h"

#include "shardwheel/job/codes.h"
#include "shardwheel/markup.h"
#include "shardwheel/store/flow_move.h"

static void put_message(struct buf *out, const char *message)
{
    struct buf plain = {0};

    buf_puts(&plain, "");
    markup_put_plain(&plain, message, EVENTS_MESSAGE_MAX);
    if (buf_failed(&plain))
        out->failed = true;
    else
        member_text(out, "message", plain.data);
    buf_fini(&plain);
}

static void put_job(struct buf *out, const struct hook_event *e)
{
    member_object(out, "job");
    member_int(out, "id", e->line);
    member_text(out, "name", *e->job_name ? e->job_name : e->audit_name);
    member_text(out, "group", e->app_name);
    member_object_end(out);
}

/* Tries before this one, as far as the settings of the job are those that it ran with. */
static int find_attempt(const struct hook_event *e)
{
    return e->retries > e->retries_left && e->retries_left >= 0 ? e->retries - e->retries_left + 1 : 1;
}

static void put_run(struct buf *out, const struct hook_event *e)
{
    member_object(out, "run");
    member_int(out, "logId", e->log_id);
    member_bool(out, "ok", e->code == CODE_OK);
    member_int(out, "code", e->code);
    if (e->has_run) {
        member_int_or_null(out, "triggeredMs", e->triggered_s * 1000);
        member_int_or_null(out, "endedMs", e->ended_s * 1000);
        member_text(out, "address", e->address);
        member_int(out, "attempt", find_attempt(e));
        member_int(out, "retriesLeft", e->retries_left > 0 ? e->retries_left : 0);
        put_message(out, e->message);
    }
    member_object_end(out);
}

static void put_change(struct buf *out, const struct hook_event *e)
{
    member_object(out, "change");
    member_text(out, "operation", e->action);
    member_text(out, "who", e->who);
    member_json(out, "before", e->before);
    member_json(out, "after", e->after);
    member_object_end(out);
}

static void put_flow(struct buf *out, const struct hook_event *e)
{
    member_object(out, "flow");
    member_int(out, "id", -e->line);
    member_text(out, "name", e->flow_name);
    member_object_end(out);
    member_object(out, "flowRun");
    member_int(out, "runId", e->run_id);
    member_bool(out, "ok", e->flow_state == FLOW_RUN_SUCCEEDED);
    member_text(out, "state", flow_run_state_name(e->flow_state));
    member_int_or_null(out, "startedMs", e->started_ms);
    member_int_or_null(out, "endedMs", e->ended_ms);
    put_message(out, e->flow_message);
    member_object_end(out);
}

void events_put_body(struct buf *out, const struct hook_event *e)
{
    enum hook_kind kind = e->kind >= 0 && e->kind < HOOK_KINDS ? (enum hook_kind)e->kind : HOOK_RUN_ENDED;

    member_object(out, NULL);
    member_text(out, "event", hook_kind_name(kind));
    member_int(out, "id", e->id);
    member_int(out, "timeMs", e->made_ms);
    switch (kind) {
    case HOOK_RUN_ENDED:
        put_job(out, e);
        put_run(out, e);
        break;
    case HOOK_JOB_CHANGED:
        put_job(out, e);
        put_change(out, e);
        break;
    case HOOK_FLOW_ENDED:
    case HOOK_KINDS: put_flow(out, e); break;
    }
    member_object_end(out);
}

/* SPDX-License-Identifier: MIT */
/* The JSON of an event. */
#include "shardwheel/events.h"

#include <inttypes.h>
#include <string.h>

#include "shardwheel/job/codes.h"
#include "shardwheel/markup.h"
#include "shardwheel/store/flow_move.h"

static void put_text(struct buf *out, const char *name, const char *value)
{
    buf_printf(out, "\"%s\":", name);
    buf_put_json(out, value);
}

static void put_instant(struct buf *out, const char *name, int64_t at_ms)
{
    if (at_ms)
        buf_printf(out, ",\"%s\":%" PRId64, name, at_ms);
    else
        buf_printf(out, ",\"%s\":null", name);
}

static void put_message(struct buf *out, const char *message)
{
    struct buf plain = {0};

    buf_puts(&plain, "");
    markup_put_plain(&plain, message, EVENTS_MESSAGE_MAX);
    if (buf_failed(&plain))
        out->failed = true;
    else
        buf_put_json(out, plain.data);
    buf_fini(&plain);
}

static void put_job(struct buf *out, const struct hook_event *e)
{
    buf_printf(out, ",\"job\":{\"id\":%" PRId64 ",", e->line);
    put_text(out, "name", *e->job_name ? e->job_name : e->audit_name);
    buf_putc(out, ',');
    put_text(out, "group", e->app_name);
    buf_putc(out, '}');
}

/* Tries before this one, as far as the settings of the job are those that it ran with. */
static int find_attempt(const struct hook_event *e)
{
    return e->retries > e->retries_left && e->retries_left >= 0 ? e->retries - e->retries_left + 1 : 1;
}

static void put_run(struct buf *out, const struct hook_event *e)
{
    buf_printf(out, ",\"run\":{\"logId\":%" PRId64 ",\"ok\":%s,\"code\":%d", e->log_id,
               e->code == CODE_OK ? "true" : "false", e->code);
    if (e->has_run) {
        put_instant(out, "triggeredMs", e->triggered_s * 1000);
        put_instant(out, "endedMs", e->ended_s * 1000);
        buf_putc(out, ',');
        put_text(out, "address", e->address);
        buf_printf(out, ",\"attempt\":%d,\"retriesLeft\":%d,\"message\":", find_attempt(e),
                   e->retries_left > 0 ? e->retries_left : 0);
        put_message(out, e->message);
    }
    buf_putc(out, '}');
}

static void put_change(struct buf *out, const struct hook_event *e)
{
    buf_puts(out, ",\"change\":{");
    put_text(out, "operation", e->action);
    buf_putc(out, ',');
    put_text(out, "who", e->who);
    buf_printf(out, ",\"before\":%s,\"after\":%s}", e->before ? e->before : "null", e->after ? e->after : "null");
}

static void put_flow(struct buf *out, const struct hook_event *e)
{
    buf_printf(out, ",\"flow\":{\"id\":%" PRId64 ",", -e->line);
    put_text(out, "name", e->flow_name);
    buf_printf(out, "},\"flowRun\":{\"runId\":%" PRId64 ",\"ok\":%s,", e->run_id,
               e->flow_state == FLOW_RUN_SUCCEEDED ? "true" : "false");
    put_text(out, "state", flow_run_state_name(e->flow_state));
    put_instant(out, "startedMs", e->started_ms);
    put_instant(out, "endedMs", e->ended_ms);
    buf_puts(out, ",\"message\":");
    put_message(out, e->flow_message);
    buf_putc(out, '}');
}

void events_put_body(struct buf *out, const struct hook_event *e)
{
    enum hook_kind kind = e->kind >= 0 && e->kind < HOOK_KINDS ? (enum hook_kind)e->kind : HOOK_RUN_ENDED;

    buf_printf(out, "{\"event\":\"%s\",\"id\":%" PRId64 ",\"timeMs\":%" PRId64, hook_kind_name(kind), e->id,
               e->made_ms);
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
    buf_putc(out, '}');
}

/* SPDX-License-Identifier: MIT */
#include "dispatch/message.h"

#include <string.h>
#include <time.h>

#include "shardwheel/executor/answer.h"
#include "shardwheel/text.h"
#include "shardwheel/dispatch.h"

/* The bounds of the parts add up to less than MESSAGE_MAX. */
#define NAME_MAX_BYTES 500
#define ADDRESSES_MAX_BYTES 1000
#define PARAM_MAX_BYTES 8000
#define TEXT_MAX_BYTES 40000

static void put_line(struct buf *out, const char *label, const char *value, size_t max)
{
    if (out->len > 0)
        buf_puts(out, "<br>");
    buf_puts(out, label);
    buf_puts(out, ": ");
    value = value ? value : "";
    text_put_html(out, value, strlen(value), max);
}

static void put_number_line(struct buf *out, const char *label, int64_t value)
{
    put_line(out, label, "", 1);
    buf_put_int(out, value);
}

static void put_addresses(struct buf *out, const struct registry_group *group)
{
    size_t end;

    if (!group) {
        put_line(out, "addresses", "the executor group does not exist", NAME_MAX_BYTES);
        return;
    }
    put_line(out, "addresses", group->manual ? "manual [" : "automatic [", NAME_MAX_BYTES);
    end = out->len + ADDRESSES_MAX_BYTES;
    for (size_t i = 0; i < group->count && !buf_failed(out); i++) {
        if (out->len > end) {
            buf_printf(out, ", and %zu more", group->count - i);
            break;
        }
        buf_puts(out, i ? ", " : "");
        text_put_html(out, group->addresses[i], strlen(group->addresses[i]), NAME_MAX_BYTES);
    }
    buf_putc(out, ']');
}

static void put_due(struct buf *out, int64_t due_s)
{
    time_t t = (time_t)due_s;
    struct tm utc;
    char text[64] = "";

    if (gmtime_r(&t, &utc))
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    put_line(out, "due", text, sizeof text);
}

static void put_trigger(struct buf *out, const struct fire *fire, const char *node_name)
{
    put_line(out, "trigger type", trigger_kind_name(fire->kind), NAME_MAX_BYTES);
    if (fire->original_due_s != fire->due_s)
        put_due(out, fire->original_due_s);
    put_line(out, "node", node_name, NAME_MAX_BYTES);
}

static void put_settings(struct buf *out, const struct message_facts *f)
{
    const struct fire *fire = f->fire;
    const struct job_spec *job = fire->job;

    put_trigger(out, fire, f->node_name);
    put_line(out, "admin address", f->admin_ip, NAME_MAX_BYTES);
    put_addresses(out, f->group);
    put_line(out, "route", job->route, NAME_MAX_BYTES);
    if (fire->broadcast)
        buf_printf(out, " (%d/%d)", fire->shard_index, fire->shard_total);
    put_line(out, "block strategy", job->block, NAME_MAX_BYTES);
    put_number_line(out, "timeout", job->timeout_s);
    put_number_line(out, "retries", job->retry_count);
}

static void put_outcome(struct buf *out, const struct message_facts *f)
{
    const struct job_spec *job = f->fire->job;

    buf_puts(out, "<br>");
    put_line(out, "executor address", f->address ? f->address : "none", NAME_MAX_BYTES);
    put_line(out, "handler", job->handler, NAME_MAX_BYTES);
    if (job->param)
        put_line(out, "parameter", job->param, PARAM_MAX_BYTES);
    if (f->from_executor) {
        put_line(out, "result", "refused by the executor", NAME_MAX_BYTES);
        put_number_line(out, "code", f->code);
        put_line(out, "msg", f->text, TEXT_MAX_BYTES);
    } else {
        put_line(out, "result", "failed", NAME_MAX_BYTES);
        put_number_line(out, "code", f->code);
        put_line(out, "reason", f->text, TEXT_MAX_BYTES);
    }
}

void dispatch_put_success(struct buf *out, const struct fire *fire, const char *node_name, const char *route)
{
    put_trigger(out, fire, node_name);
    put_line(out, "route", route, NAME_MAX_BYTES);
}

void message_put(struct buf *out, const struct message_facts *f)
{
    if (f->from_executor && f->code == CODE_OK) {
        dispatch_put_success(out, f->fire, f->node_name, f->fire->job->route);
    } else {
        put_settings(out, f);
        put_outcome(out, f);
    }
    if (f->asked)
        buf_puts(out, f->asked);
}

/* SPDX-License-Identifier: MIT */
#include "http/v1/facts.h"

#include "shardwheel/admin/reasons.h"
#include "shardwheel/admin/runs.h"

#include <string.h>

#define FACT_MAX 1000 /* bytes of a text of an event */

static void put_text(struct buf *out, const char *name, const char *text)
{
    if (text && *text)
        v1_put_text(out, name, text);
}

static void put_instant(struct buf *out, const char *name, int64_t ms)
{
    if (ms)
        v1_put_instant(out, name, ms);
}

static void put_who(struct buf *out, const char *name, const struct explain_who *who)
{
    if (!who->at_ms)
        return;
    v1_put_object(out, name);
    v1_put_instant(out, "at", who->at_ms);
    v1_put_text(out, "who", who->who);
    v1_put_text(out, "via", who->via);
    v1_put_object_end(out);
}

static void put_outage(struct buf *out, const struct explain_outage *outage)
{
    if (!outage)
        return;
    v1_put_object(out, "outage");
    v1_put_text(out, "kind", outage->kind);
    v1_put_text(out, "node", outage->node);
    v1_put_instant(out, "from", outage->from_ms);
    v1_put_instant(out, "until", outage->told_to_ms);
    v1_put_object_end(out);
}

static void put_end(struct buf *out, const char *name, const struct explain_end *end)
{
    v1_put_object(out, name);
    v1_put_text(out, "reason", explain_reason_name(end->why));
    v1_put_int(out, "run", end->run);
    v1_put_int(out, "code", end->code);
    if (end->cause)
        v1_put_text(out, "cause", explain_cause_name(end->cause));
    put_text(out, "address", end->address);
    put_text(out, "message", end->message);
    put_text(out, "reasonCode", end->said);
    if (end->said)
        put_text(out, "reasonValue", end->value);
    put_text(out, "killedBy", end->killer);
    if (end->took_s >= 0)
        v1_put_int(out, "tookSeconds", end->took_s);
    put_instant(out, "endedAt", end->ended_ms);
    put_instant(out, "waitsUntil", end->until_ms);
    v1_put_object_end(out);
}

static void put_retry(struct buf *out, const struct explain_item *item)
{
    if (item->retries > 0) {
        v1_put_object(out, "retry");
        v1_put_int(out, "number", item->retries);
        v1_put_int(out, "of", item->retries_max);
        put_end(out, "end", &item->retry);
        v1_put_object_end(out);
    }
    put_instant(out, "retryAt", item->retry_at_ms);
}

static void put_spread(struct buf *out, const struct explain_spread *spread)
{
    v1_put_object(out, "broadcast");
    v1_put_int(out, "executors", (int64_t)spread->executors);
    v1_put_int(out, "succeeded", (int64_t)spread->succeeded);
    v1_put_int(out, "running", (int64_t)spread->running);
    v1_put_int(out, "failed", (int64_t)spread->failed);
    v1_put_int(out, "open", (int64_t)spread->open);
    v1_put_object_end(out);
}

static void put_skipped(struct buf *out, const struct explain_item *item)
{
    static const char *const because[] = {
        [SKIP_LATE] = "late", [SKIP_BY_HAND] = "by-hand", [SKIP_RESTORED] = "restored"};

    v1_put_object(out, "skipped");
    v1_put_int(out, "dueTimes", item->skipped);
    if (item->skip != SKIP_UNKNOWN)
        v1_put_text(out, "because", because[item->skip]);
    put_text(out, "misfireStrategy", item->misfire);
    v1_put_object_end(out);
}

/* Of `facts` what does not apply is left out. */
static void put_reason(struct buf *out, const struct explain_item *item)
{
    v1_put_text(out, "reason", explain_reason_name(item->why));
    v1_put_text(out, "origin", explain_origin_name(item->origin));
    v1_put_object(out, "facts");
    if (item->late_s)
        v1_put_int(out, "lateSeconds", item->late_s);
    if (item->by_misfire)
        v1_put_bool(out, "byMisfire", true);
    put_outage(out, item->outage);
    put_who(out, "change", &item->change);
    put_who(out, "asked", &item->asked);
    if (item->flow_run)
        v1_put_int(out, "flowRun", item->flow_run);
    if (item->has_end)
        put_end(out, "end", &item->end);
    put_retry(out, item);
    if (item->spread.executors)
        put_spread(out, &item->spread);
    if (item->why == WHY_SKIPPED)
        put_skipped(out, item);
    if (item->is_ahead)
        v1_put_bool(out, "ahead", true);
    put_instant(out, "until", item->until_ms);
    v1_put_object_end(out);
}

static void put_sentence(struct buf *b, const struct explain_item *item)
{
    struct buf text = {0};

    explain_put_text(&text, item);
    v1_put_buf(b, "text", text.data, &text);
}

void v1_put_explained(struct buf *b, const struct explain_item *item)
{
    v1_put_instant(b, "due", item->due_ms);
    v1_put_text(b, "kind", trigger_kind_name(item->kind));
    v1_put_text(b, "state", explain_state_name(item->state));
    v1_put_ints(b, "runs", item->runs, item->run_count);
    v1_put_int(b, "runsLeftOut", item->runs_left_out);
    put_reason(b, item);
    put_sentence(b, item);
}

/* ---- events, audit ----------------------------------------------------------------------------------------------- */

/* What stands in the database is shown only as far as it is known here: somebody may have written it by hand. */
static void put_fact(struct buf *b, const struct json_value *name, const struct json_value *value)
{
    static const struct {
        const char *name;
        enum json_kind kind;
    } known[] = {{"shardsBefore", JSON_INT},  {"shardsAfter", JSON_INT}, {"count", JSON_INT},
                 {"version", JSON_TEXT},      {"run", JSON_TEXT},        {"scheduleType", JSON_TEXT},
                 {"scheduleConf", JSON_TEXT}, {"running", JSON_BOOL},    {"added", JSON_BOOL}};
    struct buf text = {0};
    size_t i = 0;
    int64_t number;

    while (i < ARRAY_LEN(known) && !json_is_text(name, known[i].name))
        i++;
    if (i == ARRAY_LEN(known))
        return;
    if (known[i].kind == JSON_INT && json_get_int(value, 0, INT64_MAX, &number)) {
        v1_put_int(b, known[i].name, number);
    } else if (known[i].kind == value->kind && value->kind == JSON_BOOL) {
        v1_put_bool(b, known[i].name, *value->at == 't' || *value->at == 'T');
    } else if (known[i].kind == value->kind && value->kind == JSON_TEXT) {
        buf_append(&text, "", 0);
        json_put_text(&text, value, FACT_MAX);
        v1_put_buf(b, known[i].name, text.data, &text);
    }
}

static void put_facts(struct buf *b, const char *data)
{
    struct json_place place = {0};
    struct json_value root, name, value;
    struct errctx ec;

    v1_put_object(b, "facts");
    if (data && !json_check(data, strlen(data), &root, &ec))
        while (json_next_member(&root, &place, &name, &value))
            put_fact(b, &name, &value);
    v1_put_object_end(b);
}

void v1_put_event(struct buf *b, const struct event_row *row)
{
    v1_put_int(b, "id", row->id);
    v1_put_instant(b, "at", row->at_ms);
    v1_put_instant(b, "until", row->until_ms);
    v1_put_text(b, "kind", row->kind);
    v1_put_text(b, "node", row->node);
    v1_put_int_if(b, "shard", row->shard != -1, row->shard);
    v1_put_int_if(b, "job", row->job_id, row->job_id);
    put_facts(b, row->data);
    v1_put_text(b, "text", row->detail);
}

/* We write nothing but objects there, but the column takes what anybody writes. */
bool v1_read_object(const char *text, struct json_value *root)
{
    struct errctx ec;

    *root = (struct json_value){0};
    return !json_check(text, strlen(text), root, &ec) && root->kind == JSON_OBJECT;
}

static void put_side(struct buf *b, const char *name, const char *side)
{
    struct json_value root;

    if (!side || v1_read_object(side, &root)) {
        v1_put_json(b, name, side);
        return;
    }
    v1_put_object(b, name);
    v1_put_text(b, "unreadable", side);
    v1_put_object_end(b);
}

void v1_put_audit(struct buf *b, const struct audit_entry *entry)
{
    const struct audit_row *row = &entry->row;

    v1_put_int(b, "id", entry->id);
    v1_put_instant(b, "at", entry->at_ms);
    v1_put_text(b, "who", row->who);
    v1_put_int(b, "userId", row->user_id);
    v1_put_text(b, "address", row->address);
    v1_put_text(b, "via", row->via);
    v1_put_text(b, "action", row->action);
    v1_put_int(b, "target", row->target);
    v1_put_text(b, "targetName", row->target_name);
    v1_put_int(b, "jobGroup", row->job_group);
    put_side(b, "before", row->before);
    put_side(b, "after", row->after);
}

void v1_put_outcome(struct buf *out, const struct run_row *row)
{
    const struct run_said said = {.state = row->state,
                                  .trigger_code = row->trigger_code,
                                  .handle_code = row->handle_code,
                                  .trigger_msg = row->tail ? row->tail : row->trigger_msg,
                                  .handle_msg = row->handle_msg};
    struct buf reason = {0}, value = {0};
    const char *why = run_said_name(&said, &value);

    buf_append(&reason, "", 0);
    run_put_reason(&reason, row);
    v1_put_object(out, "outcome");
    v1_put_text(out, "code", run_outcome_name(row));
    v1_put_buf(out, "reason", reason.len ? reason.data : NULL, &reason);
    put_text(out, "reasonCode", why);
    put_text(out, "reasonValue", value.data);
    v1_put_object_end(out);
    out->failed |= buf_failed(&value);
    buf_fini(&value);
}

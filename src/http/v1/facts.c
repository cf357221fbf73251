/* SPDX-License-Identifier: MIT */
#include "http/v1/facts.h"

#include "shardwheel/admin/reasons.h"
#include "shardwheel/admin/runs.h"

#include <string.h>

#define FACT_MAX 1000 /* bytes of a text of an event */

static void put_text(struct buf *out, const char *name, const char *text)
{
    if (text && *text)
        member_text(out, name, text);
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
    member_object(out, name);
    v1_put_instant(out, "at", who->at_ms);
    member_text(out, "who", who->who);
    member_text(out, "via", who->via);
    member_object_end(out);
}

static void put_outage(struct buf *out, const struct explain_outage *outage)
{
    if (!outage)
        return;
    member_object(out, "outage");
    member_text(out, "kind", outage->kind);
    member_text(out, "node", outage->node);
    v1_put_instant(out, "from", outage->from_ms);
    v1_put_instant(out, "until", outage->told_to_ms);
    member_object_end(out);
}

static void put_end(struct buf *out, const char *name, const struct explain_end *end)
{
    member_object(out, name);
    member_text(out, "reason", explain_reason_name(end->why));
    member_int(out, "run", end->run);
    member_int(out, "code", end->code);
    if (end->cause)
        member_text(out, "cause", explain_cause_name(end->cause));
    put_text(out, "address", end->address);
    put_text(out, "message", end->message);
    put_text(out, "reasonCode", end->said);
    if (end->said)
        put_text(out, "reasonValue", end->value);
    put_text(out, "killedBy", end->killer);
    if (end->took_s >= 0)
        member_int(out, "tookSeconds", end->took_s);
    put_instant(out, "endedAt", end->ended_ms);
    put_instant(out, "waitsUntil", end->until_ms);
    member_object_end(out);
}

static void put_retry(struct buf *out, const struct explain_item *item)
{
    if (item->retries > 0) {
        member_object(out, "retry");
        member_int(out, "number", item->retries);
        member_int(out, "of", item->retries_max);
        put_end(out, "end", &item->retry);
        member_object_end(out);
    }
    put_instant(out, "retryAt", item->retry_at_ms);
}

static void put_spread(struct buf *out, const struct explain_spread *spread)
{
    member_object(out, "broadcast");
    member_int(out, "executors", (int64_t)spread->executors);
    member_int(out, "succeeded", (int64_t)spread->succeeded);
    member_int(out, "running", (int64_t)spread->running);
    member_int(out, "failed", (int64_t)spread->failed);
    member_int(out, "open", (int64_t)spread->open);
    member_object_end(out);
}

static void put_skipped(struct buf *out, const struct explain_item *item)
{
    static const char *const because[] = {
        [SKIP_LATE] = "late", [SKIP_BY_HAND] = "by-hand", [SKIP_RESTORED] = "restored"};

    member_object(out, "skipped");
    member_int(out, "dueTimes", item->skipped);
    if (item->skip != SKIP_UNKNOWN)
        member_text(out, "because", because[item->skip]);
    put_text(out, "misfireStrategy", item->misfire);
    member_object_end(out);
}

/* Of `facts` what does not apply is left out. */
static void put_reason(struct buf *out, const struct explain_item *item)
{
    member_text(out, "reason", explain_reason_name(item->why));
    member_text(out, "origin", explain_origin_name(item->origin));
    member_object(out, "facts");
    if (item->late_s)
        member_int(out, "lateSeconds", item->late_s);
    if (item->by_misfire)
        member_bool(out, "byMisfire", true);
    put_outage(out, item->outage);
    put_who(out, "change", &item->change);
    put_who(out, "asked", &item->asked);
    if (item->flow_run)
        member_int(out, "flowRun", item->flow_run);
    if (item->has_end)
        put_end(out, "end", &item->end);
    put_retry(out, item);
    if (item->spread.executors)
        put_spread(out, &item->spread);
    if (item->why == WHY_SKIPPED)
        put_skipped(out, item);
    if (item->is_ahead)
        member_bool(out, "ahead", true);
    put_instant(out, "until", item->until_ms);
    member_object_end(out);
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
    member_text(b, "kind", trigger_kind_name(item->kind));
    member_text(b, "state", explain_state_name(item->state));
    v1_put_ints(b, "runs", item->runs, item->run_count);
    member_int(b, "runsLeftOut", item->runs_left_out);
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
        member_int(b, known[i].name, number);
    } else if (known[i].kind == value->kind && value->kind == JSON_BOOL) {
        member_bool(b, known[i].name, *value->at == 't' || *value->at == 'T');
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

    member_object(b, "facts");
    if (data && !json_check(data, strlen(data), &root, &ec))
        while (json_next_member(&root, &place, &name, &value))
            put_fact(b, &name, &value);
    member_object_end(b);
}

void v1_put_event(struct buf *b, const struct event_row *row)
{
    member_int(b, "id", row->id);
    v1_put_instant(b, "at", row->at_ms);
    v1_put_instant(b, "until", row->until_ms);
    member_text(b, "kind", row->kind);
    member_text(b, "node", row->node);
    member_int_if(b, "shard", row->shard != -1, row->shard);
    member_int_or_null(b, "job", row->job_id);
    put_facts(b, row->data);
    member_text(b, "text", row->detail);
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
        member_json(b, name, side);
        return;
    }
    member_object(b, name);
    member_text(b, "unreadable", side);
    member_object_end(b);
}

void v1_put_audit(struct buf *b, const struct audit_entry *entry)
{
    const struct audit_row *row = &entry->row;

    member_int(b, "id", entry->id);
    v1_put_instant(b, "at", entry->at_ms);
    member_text(b, "who", row->who);
    member_int(b, "userId", row->user_id);
    member_text(b, "address", row->address);
    member_text(b, "via", row->via);
    member_text(b, "action", row->action);
    member_int(b, "target", row->target);
    member_text(b, "targetName", row->target_name);
    member_int(b, "jobGroup", row->job_group);
    put_side(b, "before", row->before);
    put_side(b, "after", row->after);
}

void v1_put_outcome(struct buf *out, const struct run_row *row)
{
    const struct run_said said = {.state = row->state,
                                  .handle_code = row->handle_code,
                                  .trigger_msg = row->tail ? row->tail : row->trigger_msg,
                                  .handle_msg = row->handle_msg};
    struct buf reason = {0}, value = {0};
    const char *why = run_said_name(&said, &value);

    buf_append(&reason, "", 0);
    run_put_reason(&reason, row);
    member_object(out, "outcome");
    member_text(out, "code", run_outcome_name(row));
    v1_put_buf(out, "reason", reason.len ? reason.data : NULL, &reason);
    put_text(out, "reasonCode", why);
    put_text(out, "reasonValue", value.data);
    member_object_end(out);
    out->failed |= buf_failed(&value);
    buf_fini(&value);
}

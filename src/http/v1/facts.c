/* SPDX-License-Identifier: MIT */
#include "http/v1/facts.h"

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
    v1_put_object(out, "skipped");
    v1_put_int(out, "dueTimes", item->skipped);
    if (item->skip != SKIP_UNKNOWN)
        v1_put_text(out, "because", item->skip == SKIP_BY_HAND ? "by-hand" : "late");
    put_text(out, "misfireStrategy", item->misfire);
    v1_put_object_end(out);
}

void v1_put_reason(struct buf *out, const struct explain_item *item)
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

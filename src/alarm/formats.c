/* SPDX-License-Identifier: MIT */
#include "alarm/formats.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "shardwheel/text.h"

bool post_failed(const struct post *post)
{
    return buf_failed(&post->query) || buf_failed(&post->header) || buf_failed(&post->body);
}

void post_fini(struct post *post)
{
    buf_fini(&post->query);
    buf_fini(&post->header);
    buf_fini(&post->body);
}

/* ---- text ------------------------------------------------------------------------------------------------------ */

/* Title and text; of several messages the titles, and how many there are. */
static void put_text(struct buf *out, struct message *const *messages, size_t count, size_t max)
{
    struct buf all = {0};

    if (count == 1) {
        buf_printf(&all, "%s\n%s", messages[0]->title, messages[0]->text);
    } else {
        buf_printf(&all, "%zu alarms:\n", count);
        for (size_t i = 0; i < count; i++)
            buf_printf(&all, "%s\n", messages[i]->title);
    }
    if (buf_failed(&all))
        out->failed = true;
    else
        text_put_utf8(out, all.data, all.len, max);
    buf_fini(&all);
}

/* Slack takes < > & for markup in any text; Feishu takes <at ...> for a mention. */
static void put_safe(struct buf *out, enum channel_kind kind, const char *text)
{
    for (; *text; text++) {
        bool is_at = text[0] == '<' && (strncasecmp(text + 1, "at", 2) == 0 || strncasecmp(text + 1, "/at", 3) == 0);
        if (kind == CHANNEL_SLACK && strchr("&<>", *text))
            buf_puts(out, html_find_entity(*text)->html);
        else if (kind == CHANNEL_FEISHU && is_at)
            buf_puts(out, "\xef\xbc\x9c"); /* the wide sign, which looks the same */
        else
            buf_putc(out, *text);
    }
}

static void put_json_text(struct buf *out, enum channel_kind kind, struct message *const *messages, size_t count)
{
    struct buf text = {0}, safe = {0};

    buf_puts(&safe, "");
    put_text(&text, messages, count, channel_limits[kind].text_max);
    if (!buf_failed(&text) && text.len > 0)
        put_safe(&safe, kind, text.data);
    if (buf_failed(&text) || buf_failed(&safe))
        out->failed = true;
    else
        buf_put_json(out, safe.data);
    buf_fini(&safe);
    buf_fini(&text);
}

/* ---- JSON of ours ------------------------------------------------------------------------------------------------ */

static void put_json(struct buf *out, const struct message *m, int64_t now_ms)
{
    member_object(out, NULL);
    member_text(out, "event", alarm_event_name(m->event));
    member_text(out, "title", m->title);
    member_text(out, "text", m->text);
    member_int(out, "sentMs", now_ms);
    member_text(out, "node", m->node);
    member_text(out, "app", m->app_name);
    if (m->job_id) {
        member_int(out, "jobId", m->job_id);
        member_int(out, "logId", m->log_id);
        member_int(out, "code", m->code);
        member_int(out, "count", m->count);
        member_text(out, "job", m->job_name);
        member_text(out, "group", m->group_name);
        member_text(out, "reason", m->reason);
        member_text(out, "time", m->time);
        member_text(out, "link", m->link);
    }
    if (m->flow_id) {
        member_int(out, "flowId", m->flow_id);
        member_int(out, "runId", m->run_id);
        member_text(out, "flow", m->job_name);
        member_text(out, "reason", m->reason);
    }
    member_object_end(out);
}

/* ---- signatures -------------------------------------------------------------------------------------------------- */

/* Of "timestamp\nsecret" with the secret as its key, base64, escaped for a query. */
static void sign_dingtalk(struct buf *query, const char *secret, int64_t now_ms)
{
    struct buf text = {0}, sign = {0};
    unsigned char digest[32];

    buf_printf(&text, "%" PRId64 "\n%s", now_ms, secret);
    if (buf_failed(&text)) {
        query->failed = true;
        return;
    }
    hmac_sha256(secret, text.data, digest);
    buf_put_base64(&sign, digest, sizeof digest);
    buf_printf(query, "timestamp=%" PRId64 "&sign=", now_ms);
    if (buf_failed(&sign))
        query->failed = true;
    else
        buf_put_url(query, sign.data, sign.len);
    buf_fini(&sign);
    buf_fini(&text);
}

/* Of nothing with "timestamp\nsecret" as the key, base64, as a member of the body. */
static void sign_feishu(struct buf *body, const char *secret, int64_t now_ms)
{
    struct buf key = {0};
    unsigned char digest[32];
    int64_t now_s = time_floor_div(now_ms, 1000);

    buf_printf(&key, "%" PRId64 "\n%s", now_s, secret);
    if (buf_failed(&key)) {
        body->failed = true;
        return;
    }
    hmac_sha256(key.data, "", digest);
    buf_printf(body, "\"timestamp\":\"%" PRId64 "\",\"sign\":\"", now_s);
    buf_put_base64(body, digest, sizeof digest);
    buf_puts(body, "\",");
    buf_fini(&key);
}

static void sign_json(struct buf *header, const char *secret, const struct buf *body)
{
    char digest[65];

    if (buf_failed(body)) {
        header->failed = true;
        return;
    }
    hmac_sha256_hex(secret, body->data, digest);
    buf_printf(header, "X-Shardwheel-Signature: sha256=%s", digest);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* What stands before and behind the text. */
static const struct {
    const char *before, *after;
} frames[CHANNEL_KIND_COUNT] = {
    [CHANNEL_DINGTALK] = {"{\"msgtype\":\"text\",\"text\":{\"content\":", "}}"},
    [CHANNEL_WECOM] = {"{\"msgtype\":\"text\",\"text\":{\"content\":", "}}"},
    [CHANNEL_FEISHU] = {"\"msg_type\":\"text\",\"content\":{\"text\":", "}}"},
    [CHANNEL_SLACK] = {"{\"mrkdwn\":false,\"text\":", "}"},
};

void format_put(enum channel_kind kind, const char *secret, struct message *const *messages, size_t count,
                int64_t now_ms, struct post *out)
{
    struct buf *body = &out->body;

    buf_puts(&out->query, "");
    buf_puts(&out->header, "");
    if (kind == CHANNEL_JSON) {
        put_json(body, messages[0], now_ms);
        if (*secret)
            sign_json(&out->header, secret, body);
        return;
    }
    if (kind == CHANNEL_DINGTALK && *secret)
        sign_dingtalk(&out->query, secret, now_ms);
    buf_puts(body, kind == CHANNEL_FEISHU ? "{" : "");
    if (kind == CHANNEL_FEISHU && *secret)
        sign_feishu(body, secret, now_ms);
    buf_puts(body, frames[kind].before);
    put_json_text(body, kind, messages, count);
    buf_puts(body, frames[kind].after);
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

/* These three answer 200 whatever they think of a message; the code is in the body. */
static bool has_code(enum channel_kind kind)
{
    return kind == CHANNEL_DINGTALK || kind == CHANNEL_WECOM || kind == CHANNEL_FEISHU;
}

/* "Too many messages", in the words of each. */
static bool is_too_many(int64_t code)
{
    static const int64_t codes[] = {130101, 130102, 45009, 9499, 11232};

    for (size_t i = 0; i < ARRAY_LEN(codes); i++)
        if (code == codes[i])
            return true;
    return false;
}

static const char *find_text(struct json_object *answer, const char *name)
{
    struct json_object *value = NULL;

    return json_object_object_get_ex(answer, name, &value) ? json_object_get_string(value) : NULL;
}

static enum client_outcome judge_code(const struct buf *answer, struct errctx *ec)
{
    static const char *const codes[] = {"errcode", "code", "StatusCode"};
    static const char *const texts[] = {"errmsg", "msg", "StatusMessage"};
    struct json_object *root = answer->len > 0 ? json_tokener_parse(answer->data) : NULL;
    enum client_outcome outcome = CLIENT_REFUSED;
    struct json_object *value = NULL;

    err_set(ec, ERR_INPUT, "the answer has no code: is this the URL of a receiver of this kind?");
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        if (!json_object_is_type(root, json_type_object) || !json_object_object_get_ex(root, codes[i], &value))
            continue;
        int64_t code = json_object_get_int64(value);
        const char *text = find_text(root, texts[i]);
        outcome = code == 0 ? CLIENT_SENT : is_too_many(code) ? CLIENT_AWAY : CLIENT_REFUSED;
        err_set(ec, ERR_INPUT, "code %" PRId64 ": %.300s", code, text ? text : "");
        break;
    }
    json_object_put(root);
    return outcome;
}

enum client_outcome format_judge(enum channel_kind kind, int status, const struct buf *answer, struct errctx *ec)
{
    struct buf text = {0};

    if (status >= 200 && status < 300)
        return has_code(kind) ? judge_code(answer, ec) : CLIENT_SENT;
    buf_puts(&text, "");
    text_put_utf8(&text, answer->len > 0 ? answer->data : "", answer->len, 300);
    err_set(ec, ERR_INPUT, "HTTP status %d: %s", status, buf_failed(&text) ? "" : text.data);
    buf_fini(&text);
    return status >= 500 || status == 408 || status == 429 ? CLIENT_AWAY : CLIENT_REFUSED;
}

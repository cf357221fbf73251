/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target for alarms: the texts of channels, as a setting and as rows of the console; templates; messages of jobs
 * whose names and results are anything; what is posted to each kind of webhook; mails; and what receivers answer.
 * The first HEAD_BYTES bytes choose, the rest are texts that end with a NUL each, in the order of enum field. A byte 1
 * in the texts of channels stands for a secret.
 *
 * Oracle      Channels: what is accepted is read the same again when it is written; a refusal never shows a secret.
 *             Texts of messages are UTF-8 without control characters but line ends, and those of the job, but for that.
 *             Posts: json-c in its strict mode takes each, and finds title and text there, cut where they are long;
 *             what Slack and Feishu take for markup is none. The headers are what we write.
 *             Mails: our headers, once each and in order, no line end but CR LF, no byte that is not ASCII, no line
 *             over 76 characters but for addresses (998 then); subject and body decode to what was to be said, and
 *             the body has no tag that is not ours.
 * Run: channels_fuzz -max_len=4000
 */
#include "alarm/channels.h"
#include "alarm/formats.h"
#include "alarm/mail_text.h"
#include "alarm/template.h"
#include "shardwheel/alarm.h"
#include "shardwheel/job/codes.h"
#include "shardwheel/store/channel.h"
#include "shardwheel/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HEAD_BYTES 6
#define SECRET "s3cr3tw0rd"
#define SOME_BYTES (1u << 16) /* of a text that is long */
#define LONG_BYTES (1u << 20) /* and of one that is very long */

enum field {
    FIELD_JOB_NAME,
    FIELD_HANDLE_MSG,
    FIELD_TRIGGER_MSG,
    FIELD_GROUP_NAME,
    FIELD_APP_NAME,
    FIELD_TIME,
    FIELD_EMAILS,
    FIELD_CHANNELS,
    FIELD_TITLE,
    FIELD_TEXT,
    FIELD_NODE,
    FIELD_LINK,
    FIELD_ROW_NAME,
    FIELD_ROW_KIND,
    FIELD_ROW_TARGET,
    FIELD_ROW_SECRET,
    FIELD_ROW_GROUPS,
    FIELD_ANSWER,
    FIELDS
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void give_up(const char *why, const char *text)
{
    fprintf(stderr, "%s: %.3000s\n", why, text);
    abort();
}

static void require(bool holds, const char *why, const char *text)
{
    if (!holds)
        give_up(why, text);
}

/* ---- texts as they should come out ------------------------------------------------------------------------------- */

/* By the table of RFC 3629, section 4. */
static size_t measure(const unsigned char *p)
{
    static const struct {
        unsigned char first[2], second[2];
        size_t len;
    } rows[] = {{{0xc2, 0xdf}, {0x80, 0xbf}, 2}, {{0xe0, 0xe0}, {0xa0, 0xbf}, 3}, {{0xe1, 0xec}, {0x80, 0xbf}, 3},
                {{0xed, 0xed}, {0x80, 0x9f}, 3}, {{0xee, 0xef}, {0x80, 0xbf}, 3}, {{0xf0, 0xf0}, {0x90, 0xbf}, 4},
                {{0xf1, 0xf3}, {0x80, 0xbf}, 4}, {{0xf4, 0xf4}, {0x80, 0x8f}, 4}};

    if (*p < 0x80)
        return 1;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (*p < rows[i].first[0] || *p > rows[i].first[1] || p[1] < rows[i].second[0] || p[1] > rows[i].second[1])
            continue;
        for (size_t k = 2; k < rows[i].len; k++)
            if ((p[k] & 0xc0) != 0x80)
                return 0;
        return rows[i].len;
    }
    return 0;
}

/* What our documents promise of foreign texts: U+FFFD for a byte that is no UTF-8, a blank for a control character. */
static char *clean(const char *text, bool one_line)
{
    char *all = malloc(3 * strlen(text) + 1), *to = all;

    for (const unsigned char *p = (const unsigned char *)text; *p;) {
        size_t len = measure(p);
        bool keep = *p == '\t' || *p == '\n' || *p == '\r' ? !one_line : *p >= ' ' && *p != 0x7f;
        memcpy(to, len > 1 || (len && keep) ? (const char *)p : len ? " " : "\xef\xbf\xbd", len ? len : 3);
        to += len ? len : 3;
        p += len ? len : 1;
    }
    *to = '\0';
    return all;
}

/* `got` is all of `whole`, or its start in `max` bytes with "..." behind it. */
static void check_cut(const char *got, const char *whole, size_t max, const char *what)
{
    size_t len = strlen(got);

    if (strcmp(got, whole) == 0) {
        require(len <= max, what, got);
        return;
    }
    require(len >= 3 && !strcmp(got + len - 3, "..."), what, got);
    len -= 3;
    require(len <= max && len + 4 > max && !memcmp(got, whole, len), what, got);
}

static void check_text(const char *got, const char *raw, size_t max, bool one_line, const char *what)
{
    char *whole = clean(raw, one_line);

    check_cut(got, whole, max, what);
    free(whole);
}

/* It would not be changed by cleaning. */
static void check_clean(const char *text, bool one_line, const char *what)
{
    char *same = clean(text, one_line);

    require(!strcmp(text, same), what, text);
    free(same);
}

/* ---- channels ---------------------------------------------------------------------------------------------------- */

static bool is_same(const char *a, const char *b)
{
    return !strcmp(a, b);
}

static void check_channels_again(const struct channel_list *list, const char *text)
{
    struct channel_list again = {0};
    struct errctx ec = {""};
    struct buf b = {0};

    buf_puts(&b, "");
    for (size_t i = 0; i < list->count; i++) {
        const struct channel *c = &list->items[i];
        buf_printf(&b, "%s=%s name=%s ", channel_limits[c->kind].name, c->target, c->name);
        if (c->secret[0])
            buf_printf(&b, "secret=%s ", c->secret);
        for (size_t k = 0; k < c->group_count; k++)
            buf_printf(&b, "%s%s%s", k ? "," : "groups=", c->groups[k], k + 1 == c->group_count ? "\n" : "");
    }
    require(!channels_parse(b.data, &again, &ec), ec.text, b.data);
    require(again.count == list->count, "not all channels come back", text);
    for (size_t i = 0; i < list->count; i++) {
        const struct channel *c = &list->items[i], *d = &again.items[i];
        require(c->kind == d->kind && is_same(c->name, d->name) && is_same(c->target, d->target) &&
                    is_same(c->secret, d->secret) && c->group_count == d->group_count,
                "a channel is another one when it is written", text);
        require(strstr(text, c->target) && strstr(text, c->secret), "a target that is not there", text);
        for (size_t k = 0; k < c->group_count; k++)
            require(is_same(c->groups[k], d->groups[k]) && channel_serves(c, c->groups[k]), "groups", text);
        for (size_t k = 0; k < i; k++)
            require(!is_same(list->items[k].name, c->name), "two channels of one name", text);
    }
    channels_fini(&again);
    buf_fini(&b);
}

static void check_channels(char *const *fields)
{
    const struct channel_row row = {.name = fields[FIELD_ROW_NAME],
                                    .kind = fields[FIELD_ROW_KIND],
                                    .target = fields[FIELD_ROW_TARGET],
                                    .secret = fields[FIELD_ROW_SECRET],
                                    .app_names = fields[FIELD_ROW_GROUPS],
                                    .tags = "",
                                    .quiet = ""};
    struct channel_list list = {0};
    struct errctx ec = {""};
    const char *text = fields[FIELD_CHANNELS], *field = NULL;

    if (channels_parse(text, &list, &ec)) {
        require(ec.text[0] != '\0', "a refusal without a reason", text);
        require(!strstr(ec.text, SECRET) || strstr(text, "name="), "the refusal shows a secret", ec.text);
        list.items = calloc(CHANNELS_MAX, sizeof *list.items);
    } else {
        check_channels_again(&list, text);
    }
    size_t before = list.count;
    errctx_clear(&ec);
    if (channels_add(&list, &row, &field, &ec)) {
        require(ec.text[0] && list.count == before, "a refusal without a reason", row.target);
        require(!strstr(ec.text, SECRET) || strstr(row.name, SECRET), "the refusal shows a secret", ec.text);
    } else {
        const struct channel *c = &list.items[before];
        require(list.count == before + 1 && c->guarded && is_same(c->target, row.target) &&
                    is_same(c->secret, row.secret) && c->kind != CHANNEL_MAIL,
                "another channel is added", row.target);
        for (const char *p = row.target; *p; p++)
            require((unsigned char)*p > ' ', "a target with a blank", row.target);
    }
    channels_fini(&list);
}

/* ---- posts ------------------------------------------------------------------------------------------------------- */

static const char *get_text(struct json_object *root, const char *name)
{
    struct json_object *value = NULL;

    require(json_object_object_get_ex(root, name, &value) && json_object_is_type(value, json_type_string),
            "a member is not there", name);
    const char *text = json_object_get_string(value);
    require(strlen(text) == (size_t)json_object_get_string_len(value), "a NUL in", name);
    return text;
}

static struct json_object *read_strictly(const struct buf *body)
{
    struct json_tokener *tokener = json_tokener_new();

    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    struct json_object *root = json_tokener_parse_ex(tokener, body->data, (int)body->len);
    require(root && json_tokener_get_parse_end(tokener) == body->len, "this is no JSON", body->data);
    for (size_t i = 0; i < body->len; i++)
        require((unsigned char)body->data[i] >= ' ', "a control character", body->data);
    json_tokener_free(tokener);
    return root;
}

/* Of a text for Slack or Feishu, what its reader sees. */
static char *read_as_shown(enum channel_kind kind, const char *text)
{
    static const char *const marks[][2] = {{"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}};
    char *shown = malloc(strlen(text) + 1), *to = shown;

    while (*text) {
        size_t used = 0;
        for (size_t i = 0; kind == CHANNEL_SLACK && i < ARRAY_LEN(marks) && !used; i++) {
            if (strncmp(text, marks[i][0], strlen(marks[i][0])) != 0)
                continue;
            used = strlen(marks[i][0]);
            *to++ = marks[i][1][0];
        }
        if (kind == CHANNEL_SLACK && !used)
            require(!strchr("<>&", *text), "markup", text);
        if (kind == CHANNEL_FEISHU)
            require(strncasecmp(text, "<at", 3) != 0 && strncasecmp(text, "</at", 4) != 0, "a mention", text);
        if (!used) {
            *to++ = *text;
            used = 1;
        }
        text += used;
    }
    *to = '\0';
    return shown;
}

/* The wide sign of Feishu's as the plain one. */
static char *narrow(const char *text)
{
    char *all = strdup(text), *at;

    while ((at = strstr(all, "\xef\xbc\x9c")) != NULL) {
        *at = '<';
        memmove(at + 1, at + 3, strlen(at + 3) + 1);
    }
    return all;
}

static void check_chat(enum channel_kind kind, struct json_object *root, struct message *const *messages, size_t count)
{
    static const char *const inner[CHANNEL_KIND_COUNT] = {
        [CHANNEL_DINGTALK] = "text", [CHANNEL_WECOM] = "text", [CHANNEL_FEISHU] = "content"};
    struct json_object *holder = root;
    struct buf whole = {0};

    if (inner[kind])
        require(json_object_object_get_ex(root, inner[kind], &holder), "a member is not there", inner[kind]);
    const char *text = get_text(holder, kind == CHANNEL_DINGTALK || kind == CHANNEL_WECOM ? "content" : "text");
    if (count == 1)
        buf_printf(&whole, "%s\n%s", messages[0]->title, messages[0]->text);
    else
        buf_printf(&whole, "%zu alarms:\n", count);
    for (size_t i = 0; count > 1 && i < count; i++)
        buf_printf(&whole, "%s\n", messages[i]->title);
    char *shown = read_as_shown(kind, text);
    if (kind != CHANNEL_FEISHU) {
        check_cut(shown, whole.data, channel_limits[kind].text_max, "a post says something else");
    } else if (!strstr(whole.data, "...") && whole.len < channel_limits[kind].text_max) {
        char *a = narrow(shown), *b = narrow(whole.data);
        require(is_same(a, b), "a post says something else", shown);
        free(a);
        free(b);
    }
    free(shown);
    buf_fini(&whole);
}

static void check_json(struct json_object *root, const struct message *m)
{
    const struct {
        const char *name, *text;
    } members[] = {{"title", m->title},   {"text", m->text},    {"node", m->node},
                   {"app", m->app_name},  {"job", m->job_name}, {"group", m->group_name},
                   {"reason", m->reason}, {"time", m->time},    {"event", alarm_event_name(m->event)}};
    struct json_object *value;

    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        if (m->job_id || i < 4)
            require(is_same(get_text(root, members[i].name), members[i].text), members[i].name, members[i].text);
    if (!m->job_id)
        return;
    require(json_object_object_get_ex(root, "jobId", &value) && json_object_get_int64(value) == m->job_id, "job", "");
    require(json_object_object_get_ex(root, "logId", &value) && json_object_get_int64(value) == m->log_id, "log", "");
    if (utf8_is_valid(m->link, strlen(m->link)))
        require(is_same(get_text(root, "link"), m->link), "link", m->link);
}

static void check_post(enum channel_kind kind, const char *secret, struct message *const *messages, size_t count,
                       int64_t now_ms)
{
    static const char signature[] = "X-Shardwheel-Signature: sha256=";
    struct post post = {0};

    format_put(kind, secret, messages, count, now_ms, &post);
    require(!post_failed(&post), "nothing to post", channel_limits[kind].name);
    struct json_object *root = read_strictly(&post.body);
    if (kind == CHANNEL_JSON)
        check_json(root, messages[0]);
    else
        check_chat(kind, root, messages, count);
    json_object_put(root);
    if (post.header.len > 0) {
        require(kind == CHANNEL_JSON && post.header.len == sizeof signature - 1 + 64 &&
                    !strncmp(post.header.data, signature, sizeof signature - 1) &&
                    strspn(post.header.data + sizeof signature - 1, "0123456789abcdef") == 64,
                "a header of others", post.header.data);
    }
    for (const char *p = post.query.data; *p; p++)
        require(isalnum((unsigned char)*p) || strchr("=&%-", *p), "a query of others", post.query.data);
    post_fini(&post);
}

/* ---- mails ------------------------------------------------------------------------------------------------------- */

static int base64_value(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

/* One line, or one word of a header. */
static void put_decoded(struct buf *out, const char *text, size_t len)
{
    char bytes[80];
    unsigned bits = 0, count = 0;
    size_t n = 0;

    require(len % 4 == 0 && len < sizeof bytes, "base64 that is not whole", text);
    for (size_t i = 0; i < len && text[i] != '='; i++) {
        int value = base64_value(text[i]);
        require(value >= 0, "no base64", text);
        bits = bits << 6 | (unsigned)value;
        count += 6;
        if (count >= 8) {
            count -= 8;
            bytes[n++] = (char)(bits >> count & 0xff);
        }
    }
    buf_append(out, bytes, n);
}

static const char *expect(const char *at, const char *text)
{
    require(!strncmp(at, text, strlen(text)), text, at);
    return at + strlen(text);
}

static const char *skip_line(const char *at)
{
    const char *end = strchr(at, '\n'); /* not strstr, which AddressSanitizer makes read all */

    require(end && end > at && end[-1] == '\r', "a line without an end", at);
    return end + 1;
}

/* Behind the subject, whose words decode one by one. */
static const char *check_subject(const char *at, const char *subject)
{
    struct buf decoded = {0};

    if (!*subject)
        return skip_line(at);
    buf_puts(&decoded, "");
    do {
        const char *word = expect(at, "=?UTF-8?B?"), *end = strstr(word, "?=");
        require(end && end + 2 - at <= 75, "an encoded word that is too long", at);
        size_t before = decoded.len;
        put_decoded(&decoded, word, (size_t)(end - word));
        require(utf8_is_valid(decoded.data + before, decoded.len - before), "a character in two encoded words", at);
        at = expect(end + 2, "\r\n");
    } while (*at == ' ' && at++);
    require(is_same(decoded.data, subject), "another subject", decoded.data);
    buf_fini(&decoded);
    return at;
}

static void check_lines(const struct buf *mail)
{
    size_t begin = 0;

    for (size_t i = 0; i < mail->len; i++) {
        unsigned char c = (unsigned char)mail->data[i];
        require(c == '\r' || c == '\n' || (c >= ' ' && c < 0x7f), "no plain byte", mail->data + begin);
        require((c == '\r') == (mail->data[i + 1] == '\n'), "half a line end", mail->data + begin);
        if (c != '\n')
            continue;
        bool has_address = memchr(mail->data + begin, '<', i - begin);
        require(i - 1 - begin <= (has_address ? 998 : 76), "a line that is too long", mail->data + begin);
        begin = i + 1;
    }
    require(begin == mail->len, "a line without an end", mail->data + begin);
}

static void check_mail(const struct message *m, const char *from, const char *to)
{
    struct buf mail = {0}, body = {0};
    char line[700];

    mail_put(&mail, &(struct mail_facts){.subject = m->title,
                                         .html = m->html,
                                         .log_id = m->log_id,
                                         .from = from,
                                         .to = to,
                                         .unique = "0123456789abcdef",
                                         .now_s = 1795482000});
    require(!buf_failed(&mail), "no mail", m->title);
    check_lines(&mail);
    snprintf(line, sizeof line, "From: shardwheel <%s>\r\nTo: <%s>\r\nSubject: ", from, to);
    const char *at = check_subject(expect(mail.data, line), m->title);
    at = expect(at, "Date: Tue, 24 Nov 2026 01:00:00 +0000\r\n");
    snprintf(line, sizeof line, "Message-ID: <0123456789abcdef.%" PRId64 "%s>\r\n", m->log_id, strchr(from, '@'));
    at = expect(at, line);
    at = expect(at, "MIME-Version: 1.0\r\nAuto-Submitted: auto-generated\r\nContent-Type: text/html; charset=UTF-8\r\n"
                    "Content-Transfer-Encoding: base64\r\n\r\n");
    for (const char *next; *at; at = next) {
        next = skip_line(at);
        put_decoded(&body, at, (size_t)(next - 2 - at));
    }
    require(body.len == strlen(m->html) && !memcmp(body.data, m->html, body.len), "another body", m->html);
    buf_fini(&body);
    buf_fini(&mail);
}

/* Tags and entities of ours, and no others. */
static void check_html(const char *html)
{
    static const char *const tags[] = {"<html>",
                                       "<body>",
                                       "<p>",
                                       "</p>",
                                       "</body>",
                                       "</html>",
                                       "<br>",
                                       "<tr>",
                                       "</tr>",
                                       "<td>",
                                       "</td>",
                                       "<b>",
                                       "</b>",
                                       "</table>",
                                       "<td style=\"vertical-align:top\">",
                                       "<table border=\"1\" cellpadding=\"4\" style=\"border-collapse:collapse\">"};
    static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};

    require(utf8_is_valid(html, strlen(html)), "a body that is no UTF-8", html);
    for (const char *p = html; (p = strpbrk(p, "<&")) != NULL; p++) {
        bool ours = false;
        for (size_t i = 0; i < ARRAY_LEN(tags); i++)
            ours = ours || !strncmp(p, tags[i], strlen(tags[i]));
        for (size_t i = 0; i < ARRAY_LEN(entities); i++)
            ours = ours || !strncmp(p, entities[i], strlen(entities[i]));
        require(ours, "foreign HTML", p);
    }
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void check_message(const struct message *m)
{
    check_clean(m->title, true, "title");
    check_clean(m->text, false, "text");
    check_clean(m->reason, false, "reason");
    require(strlen(m->title) <= 503 && strlen(m->text) <= 16003 && strlen(m->reason) <= 1503, "too long", m->title);
    check_html(m->html);
}

static void check_all(const struct message *const_message, const char *emails, const char *secret, int64_t now_ms)
{
    struct message *m = (struct message *)const_message;
    struct message *many[] = {m, m, m};
    struct mail_list list;
    struct errctx ec = {""};

    check_message(m);
    for (int kind = CHANNEL_JSON; kind < CHANNEL_KIND_COUNT; kind++) {
        check_post((enum channel_kind)kind, secret, many, 1, now_ms);
        if (kind != CHANNEL_JSON)
            check_post((enum channel_kind)kind, secret, many, 3, now_ms);
    }
    check_mail(m, "alarm@example.org", "ann@example.org");
    if (mail_list_parse(emails, &list, &ec))
        return;
    for (size_t i = 0; i < list.count && i < 8; i++) {
        const char *a = list.addresses[i];
        require(strstr(emails, a) && strchr(a, '@') && strchr(a, '@') == strrchr(a, '@'), "no address", a);
        check_mail(m, i ? list.addresses[0] : "alarm@example.org", a);
    }
    require(alarm_are_addresses(emails) == (!list.refused || str_is_blank(emails)), "addresses", emails);
    mail_list_fini(&list);
}

static void check_job(char *const *fields, const uint8_t *head)
{
    struct errctx ec = {""};
    struct wording wording = {.title = fields[FIELD_TITLE],
                              .text = fields[FIELD_TEXT],
                              .link = fields[FIELD_LINK],
                              .node = fields[FIELD_NODE]};
    const struct alarm_facts facts = {.log_id = head[2] % 2 ? 7 : INT64_MAX,
                                      .job_id = head[2] % 3 + 1,
                                      .job_exists = true,
                                      .emails = fields[FIELD_EMAILS],
                                      .job_name = fields[FIELD_JOB_NAME],
                                      .group_name = head[2] & 16 ? NULL : fields[FIELD_GROUP_NAME],
                                      .app_name = fields[FIELD_APP_NAME],
                                      .time = fields[FIELD_TIME],
                                      .trigger_code = head[3] % 2 ? CODE_OK : CODE_FAILED,
                                      .handle_code = head[3] & 2 ? CODE_FAILED : head[3],
                                      .trigger_msg = fields[FIELD_TRIGGER_MSG],
                                      .handle_msg = fields[FIELD_HANDLE_MSG]};

    if (template_check(wording.title, &ec)) {
        require(ec.text[0] != '\0', "a refusal without a reason", wording.title);
        wording.title = "";
    }
    if (template_check(wording.text, &ec))
        wording.text = "";
    struct message *m =
        message_create_job(&wording, head[0] & 1 ? ALARM_EVENT_RECOVERED : ALARM_EVENT_FAILED, &facts, 1 + head[4] % 3);
    require(m != NULL, "no message", "");
    check_text(m->job_name, facts.job_name, 300, true, "job");
    check_text(m->group_name, facts.group_name ? facts.group_name : "(the group was deleted)", 300, true, "group");
    check_text(m->app_name, facts.app_name, 300, true, "app");
    check_text(m->time, facts.time, 300, true, "time");
    check_text(m->node, wording.node, 300, true, "node");
    if (!wording.text[0])
        require(strstr(m->text, m->job_name) != NULL, "a text without its job", m->text);
    check_all(m, head[0] < 0xf8 ? fields[FIELD_EMAILS] : "", head[5] & 1 ? fields[FIELD_ROW_SECRET] : "",
              1795482000000);
    message_unref(m);
    if (head[0] & 6)
        return;
    m = message_create_offline(&wording, facts.app_name, facts.trigger_msg, head[4] % 3, head[5] % 3);
    check_all(m, "", "", 0);
    message_unref(m);
    m = message_create_test(&wording, facts.app_name);
    check_all(m, "", "", -1);
    message_unref(m);
}

static void check_answers(const char *text, size_t len, const uint8_t *head)
{
    static const int statuses[] = {200, 204, 302, 400, 404, 408, 429, 500, 503};

    for (int kind = CHANNEL_JSON; kind < CHANNEL_KIND_COUNT; kind++) {
        struct buf answer = {0};
        struct errctx ec = {""};
        if (len)
            buf_append(&answer, text, len);
        enum client_outcome outcome =
            format_judge((enum channel_kind)kind, statuses[head[1] % ARRAY_LEN(statuses)], &answer, &ec);
        require(outcome == CLIENT_SENT || ec.text[0], "not sent without a reason", text);
        buf_fini(&answer);
    }
}

/* One text, with the secret for a byte 1; `least` bytes of it at least, when it is not empty. */
static char *take_field(const uint8_t **at, const uint8_t *end, bool secret, size_t least)
{
    struct buf b = {0};
    const uint8_t *stop = *at < end ? memchr(*at, '\0', (size_t)(end - *at)) : NULL;

    buf_puts(&b, "");
    stop = stop ? stop : end;
    for (const uint8_t *p = *at; p < stop; p++) {
        if (secret && *p == 1)
            buf_puts(&b, SECRET);
        else
            buf_putc(&b, (char)*p);
    }
    *at = stop < end ? stop + 1 : end;
    while (b.len && b.len < least) {
        char *copy = strdup(b.data);
        buf_append(&b, copy, b.len);
        free(copy);
    }
    return buf_take(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *fields[FIELDS];
    const uint8_t *at = data + HEAD_BYTES, *end = data + size;
    size_t long_field, least;

    if (size < HEAD_BYTES)
        return 0;
    long_field = data[0] >= 0xf8 ? data[1] % FIELD_TIME : FIELDS;
    least = data[0] == 0xff && data[5] == 0xff ? LONG_BYTES : SOME_BYTES;
    for (size_t i = 0; i < FIELDS; i++)
        fields[i] = take_field(&at, end, i == FIELD_CHANNELS || i >= FIELD_ROW_NAME, i == long_field ? least : 0);
    check_channels(fields);
    check_job(fields, data);
    check_answers(fields[FIELD_ANSWER], strlen(fields[FIELD_ANSWER]), data);
    for (int i = 0; i < FIELDS; i++)
        free(fields[i]);
    return 0;
}

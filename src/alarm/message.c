/* SPDX-License-Identifier: MIT */
#include "alarm/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alarm/mail_text.h"
#include "shardwheel/markup.h"
#include "alarm/template.h"
#include "shardwheel/job/codes.h"
#include "shardwheel/job/words.h"
#include "shardwheel/text.h"

#define NAME_MAX_BYTES 300
#define VALUE_MAX_BYTES 1500
#define TITLE_MAX_BYTES 500
#define REASON_MAX_BYTES 1500
#define TEXT_MAX_BYTES 16000

#define TITLE_BUILT_IN "{event}: {job} (log {log})"
#define TEXT_BUILT_IN                                                                                                  \
    "group: {group} ({app})\njob: {job_id} {job}\nlog: {log}, triggered {time}\ncode: {code}\nreason: {reason}\n"      \
    "sent by: {node}\n{link}"
#define TEXT_RECOVERED                                                                                                 \
    "group: {group} ({app})\njob: {job_id} {job}\nlog: {log}, triggered {time}\nsent by: {node}\n{link}"

const char *alarm_event_name(enum alarm_event event)
{
    static const char *const names[] = {"job_failed",  "job_recovered", "executor_offline", "test",
                                        "flow_failed", "flow_late",     "flow_recovered"};
    static const char *const over[WATCH_KINDS] = {"no_success_over", "long_run_over", "not_done_over",
                                                  "few_executors_over", "late_shard_over"};
    int watch = (int)event - ALARM_EVENT_WATCH;

    if (watch >= 0)
        return watch % 2 ? over[watch / 2] : watch_kind_name((enum watch_kind)(watch / 2));
    return names[event];
}

struct message *message_ref(struct message *m)
{
    atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
    return m;
}

void message_unref(struct message *m)
{
    /* Release pairs with the acquire of whoever takes the last one: all that was read of it was read before. */
    if (!m || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1)
        return;
    char *texts[] = {m->title,    m->text,   m->html, m->job_name, m->group_name,
                     m->app_name, m->reason, m->time, m->node,     m->link};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        free(texts[i]);
    free(m);
}

/* ---- messages of log rows -------------------------------------------------------------------------------------- */

/* What follows "<br>TITLE: ", also with the wide colon of the long form; NULL when there is no such line. */
static const char *find_line(const char *text, const char *title)
{
    static const char *const colons[] = {": ", "\xef\xbc\x9a"};
    size_t len = strlen(title);

    for (const char *at = text; (at = strstr(at, "<br>")) != NULL;) {
        at += strlen("<br>");
        if (strncmp(at, title, len) != 0)
            continue;
        for (size_t i = 0; i < ARRAY_LEN(colons); i++)
            if (strncmp(at + len, colons[i], strlen(colons[i])) == 0)
                return at + len + strlen(colons[i]);
    }
    return NULL;
}

/* Of what dispatch writes, in whatever language, the last line; all of what others write. */
static void put_reason(struct buf *out, const struct alarm_facts *f)
{
    static const enum word words[] = {WORD_REASON, WORD_RESULT};
    const char *text = f->trigger_code == CODE_OK ? f->handle_msg : f->trigger_msg;
    const char *at = f->trigger_code == CODE_OK ? text : find_line(text, "msg");
    struct buf part = {0};

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        for (int lang = 0; lang < LANGS && !at; lang++)
            at = find_line(text, word_get((enum lang)lang, words[i]));
    at = at ? at : text;
    const char *end = strstr(at, "<br><br><span"); /* what came later: a retry */
    buf_append(&part, at, end && end > at ? (size_t)(end - at) : strlen(at));
    if (buf_failed(&part))
        out->failed = true;
    else
        markup_put_plain(out, part.data, REASON_MAX_BYTES);
    buf_fini(&part);
}

/* ---- making one -------------------------------------------------------------------------------------------------- */

/* Takes the text: as UTF-8 of at most `max` bytes, with blanks for line ends and tabs where it is to be one line. */
static char *fit(struct buf *text, size_t max, bool one_line)
{
    struct buf fitted = {0};

    for (size_t i = 0; one_line && i < text->len; i++)
        if (text->data[i] == '\n' || text->data[i] == '\r' || text->data[i] == '\t')
            text->data[i] = ' ';
    buf_puts(&fitted, "");
    if (buf_failed(text))
        fitted.failed = true;
    else if (text->len)
        text_put_utf8(&fitted, text->data, text->len, max);
    buf_fini(text);
    return buf_take(&fitted);
}

static char *copy_fitted(const char *text, size_t max)
{
    struct buf b = {0};

    buf_puts(&b, text ? text : "");
    return fit(&b, max, /*one_line=*/true);
}

static char *render(const char *text, const struct template_values *values, size_t value_max, size_t max, bool one_line)
{
    struct buf b = {0};

    template_put(&b, text, values, value_max);
    while (b.len > 0 && (b.data[b.len - 1] == '\n' || b.data[b.len - 1] == ' '))
        b.data[--b.len] = '\0';
    return fit(&b, max, one_line);
}

static struct message *finish(struct message *m)
{
    if (m->title && m->text && m->html && m->job_name && m->group_name && m->app_name && m->reason && m->time &&
        m->node && m->link)
        return m;
    message_unref(m);
    return NULL;
}

static struct message *begin(const struct wording *wording, enum alarm_event event)
{
    struct message *m = calloc(1, sizeof *m);

    if (!m)
        return NULL;
    atomic_init(&m->refs, 1);
    m->event = event;
    m->count = 1;
    m->node = copy_fitted(wording->node, NAME_MAX_BYTES);
    return m;
}

/* What happened, in words. */
static void put_event(struct buf *out, enum alarm_event event, int64_t count)
{
    if (event == ALARM_EVENT_RECOVERED)
        buf_puts(out, "Job works again");
    else if (count > 1)
        buf_printf(out, "Job failed %" PRId64 " times", count);
    else
        buf_puts(out, "Job failed");
}

static char *make_link(const struct wording *wording, int64_t job_id)
{
    struct buf b = {0};
    size_t len = strlen(wording->link);

    buf_puts(&b, "");
    while (len > 0 && wording->link[len - 1] == '/')
        len--;
    if (len > 0) {
        buf_append(&b, wording->link, len);
        buf_printf(&b, "/joblog?jobId=%" PRId64, job_id);
    }
    return buf_take(&b);
}

struct message *message_create_job(const struct wording *wording, enum alarm_event event,
                                   const struct alarm_facts *facts, int64_t count)
{
    struct message *m = begin(wording, event);
    struct buf what = {0}, reason = {0}, html = {0};
    char job_id[24], log_id[24], code[12], number[24];
    bool failed = event == ALARM_EVENT_FAILED;

    if (!m)
        return NULL;
    m->job_id = facts->job_id;
    m->log_id = facts->log_id;
    m->count = count;
    m->code = facts->trigger_code == CODE_OK || !failed ? facts->handle_code : facts->trigger_code;
    m->job_name = copy_fitted(facts->job_name, NAME_MAX_BYTES);
    m->group_name = copy_fitted(facts->group_name ? facts->group_name : "(the group was deleted)", NAME_MAX_BYTES);
    m->app_name = copy_fitted(facts->app_name, NAME_MAX_BYTES);
    m->time = copy_fitted(facts->time, NAME_MAX_BYTES);
    m->link = make_link(wording, facts->job_id);
    put_event(&what, event, count);
    buf_puts(&reason, "");
    if (failed)
        put_reason(&reason, facts);
    m->reason = buf_take(&reason);
    snprintf(job_id, sizeof job_id, "%" PRId64, m->job_id);
    snprintf(log_id, sizeof log_id, "%" PRId64, m->log_id);
    snprintf(code, sizeof code, "%d", m->code);
    snprintf(number, sizeof number, "%" PRId64, count);
    const struct template_values values = {
        .event = what.data,
        .job = m->job_name,
        .job_id = job_id,
        .group = m->group_name,
        .app = m->app_name,
        .log = log_id,
        .code = code,
        .reason = m->reason,
        .time = m->time,
        .count = number,
        .node = m->node,
        .link = m->link,
    };
    m->title = render(wording->title[0] ? wording->title : TITLE_BUILT_IN, &values, 120, TITLE_MAX_BYTES, true);
    m->text = render(!failed            ? TEXT_RECOVERED
                     : wording->text[0] ? wording->text
                                        : TEXT_BUILT_IN,
                     &values, VALUE_MAX_BYTES, TEXT_MAX_BYTES, false);
    if (m->title && m->text)
        mail_put_body(&html, facts, failed ? wording->text[0] ? m->text : m->title : m->text, failed, wording->node);
    m->html = buf_take(&html);
    buf_fini(&what);
    return finish(m);
}

/* What a message that is not of a log row is about; NULL is as "". */
struct plain {
    const char *app, *name, *group, *reason;
    int64_t job_id; /* 0: none, and no link */
};

/* Takes the two buffers. */
static struct message *create_plain(const struct wording *wording, enum alarm_event event, const struct plain *about,
                                    struct buf *title, struct buf *text)
{
    struct message *m = begin(wording, event);
    struct buf html = {0};

    buf_puts(text, "sent by: ");
    text_put_utf8(text, wording->node, strlen(wording->node), NAME_MAX_BYTES);
    if (!m) {
        buf_fini(title);
        buf_fini(text);
        return NULL;
    }
    m->job_id = about->job_id;
    m->title = buf_failed(title) ? NULL : copy_fitted(title->data, TITLE_MAX_BYTES);
    m->text = buf_take(text);
    m->job_name = copy_fitted(about->name, NAME_MAX_BYTES);
    m->group_name = copy_fitted(about->group, NAME_MAX_BYTES);
    m->app_name = copy_fitted(about->app, NAME_MAX_BYTES);
    m->reason = copy_fitted(about->reason, REASON_MAX_BYTES);
    m->time = str_copy("");
    m->link = about->job_id ? make_link(wording, about->job_id) : str_copy("");
    if (m->text)
        mail_put_body(&html, NULL, m->text, false, wording->node);
    m->html = buf_take(&html);
    buf_fini(title);
    return finish(m);
}

struct message *message_create_offline(const struct wording *wording, const char *app, const char *addresses,
                                       size_t gone, size_t left)
{
    struct buf title = {0}, text = {0};

    if (gone == 0)
        buf_puts(&title, "Executor group is empty: ");
    else
        buf_printf(&title, "Executor%s offline: ", gone > 1 ? "s" : "");
    text_put_utf8(&title, app, strlen(app), NAME_MAX_BYTES);
    if (gone > 0) {
        buf_printf(&text, "No heartbeat for 90 s from %zu address%s:\n", gone, gone > 1 ? "es" : "");
        text_put_utf8(&text, addresses, strlen(addresses), TEXT_MAX_BYTES / 2);
    }
    if (left > 0)
        buf_printf(&text, "%zu other%s left.", left, left > 1 ? "s are" : " is");
    else
        buf_puts(&text, "No executor is left in this group: its jobs fail.");
    buf_putc(&text, '\n');
    return create_plain(wording, ALARM_EVENT_OFFLINE, &(struct plain){.app = app}, &title, &text);
}

struct message *message_create_flow(const struct wording *wording, enum alarm_event event,
                                    const struct flow_alarm *alarm, const char *apps, const char *reason)
{
    const char *what = event == ALARM_EVENT_FLOW_FAILED ? "Flow failed"
                       : event == ALARM_EVENT_FLOW_LATE ? "Flow is late"
                                                        : "Flow works again";
    struct buf title = {0}, text = {0};
    struct message *m;

    buf_printf(&title, "%s: %s (run %" PRId64 ")", what, alarm->name, alarm->run_id);
    buf_printf(&text, "flow: %" PRId64 " %s\nrun: %" PRId64 "\n", alarm->flow_id, alarm->name, alarm->run_id);
    if (*reason) {
        buf_puts(&text, "reason: ");
        text_put_utf8(&text, reason, strlen(reason), REASON_MAX_BYTES);
        buf_putc(&text, '\n');
    }
    m = create_plain(wording, event, &(struct plain){.app = apps, .name = alarm->name, .reason = reason}, &title,
                     &text);
    if (m) {
        m->flow_id = alarm->flow_id;
        m->run_id = alarm->run_id;
    }
    return m;
}

enum alarm_event watch_event(enum watch_kind kind, bool over)
{
    return (enum alarm_event)(ALARM_EVENT_WATCH + (int)kind * 2 + over);
}

/* The title up to the name. */
static const char *find_title(enum alarm_event event)
{
    static const char *const titles[WATCH_KINDS][2] = {
        [WATCH_NO_SUCCESS] = {"No success", "Success again"},
        [WATCH_LONG_RUN] = {"Run takes long", "Long run ended"},
        [WATCH_NOT_DONE] = {"Not done in time", "Done late"},
        [WATCH_FEW_EXECUTORS] = {"Too few executors", "Enough executors again"},
        [WATCH_LATE_SHARD] = {"Shard is late", "Shard is on time again"},
    };
    int watch = (int)event - ALARM_EVENT_WATCH;

    return watch < 0 ? "Job works again" : titles[watch / 2][watch % 2];
}

struct message *message_create_watch(const struct wording *wording, enum alarm_event event,
                                     const struct watch_facts *facts, int64_t target, int64_t log_id,
                                     const char *detail)
{
    bool is_job = event == ALARM_EVENT_RECOVERED || event < watch_event(WATCH_FEW_EXECUTORS, false);
    struct buf title = {0}, text = {0};
    struct message *m;

    if (facts->name[0])
        buf_printf(&title, "%s: %s", find_title(event), facts->name);
    else
        buf_printf(&title, "%s: %" PRId64, find_title(event), target);
    buf_puts(&text, "");
    if (facts->app_name[0])
        buf_printf(&text, "group: %s (%s)\n", facts->group_name, facts->app_name);
    if (is_job)
        buf_printf(&text, "job: %" PRId64 " %s\n", target, facts->name);
    if (log_id)
        buf_printf(&text, "log: %" PRId64 "\n", log_id);
    if (*detail)
        buf_printf(&text, "reason: %s\n", detail);
    m = create_plain(wording, event,
                     &(struct plain){.app = facts->app_name,
                                     .name = is_job ? facts->name : "",
                                     .group = facts->group_name,
                                     .reason = detail,
                                     .job_id = is_job ? target : 0},
                     &title, &text);
    if (m)
        m->log_id = log_id;
    return m;
}

struct message *message_create_test(const struct wording *wording, const char *app)
{
    struct buf title = {0}, text = {0};

    buf_puts(&title, "Test of the alarms of shardwheel");
    buf_puts(&text, "This is a test: nothing has failed.\n");
    return create_plain(wording, ALARM_EVENT_TEST, &(struct plain){.app = app}, &title, &text);
}

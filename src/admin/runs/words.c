/* SPDX-License-Identifier: MIT */
#include "shardwheel/admin/runs.h"

#include "admin/explain/explain_impl.h"
#include "shardwheel/job.h"
#include "shardwheel/job/codes.h"
#include "shardwheel/store/lost.h"
#include "shardwheel/text.h"

#include <inttypes.h>
#include <string.h>

#define MARK_HEAD "<!--sw:"
#define MARK_TAIL "-->"
#define ESC 0x1b
#define REASON_MAX 300 /* bytes of a message that a sentence takes */

struct run_marks run_marks_read(const struct run_row *row)
{
    struct run_marks marks = {.retry_log = fire_find_retry_link(row->tail ? row->tail : row->trigger_msg)};
    char incarnation[INCARNATION_MAX];
    struct fire fire = {0};

    if (fire_parse_skipped_mark(row->trigger_msg, &marks.skipped))
        return marks;
    if (row->trigger_msg &&
        (fire_parse_mark(row->trigger_msg, &fire) || fire_parse_direct_mark(row->trigger_msg, &fire, incarnation))) {
        marks.has_kind = true;
        marks.kind = fire.kind;
        marks.due_s = fire.original_due_s;
        marks.sent_s = fire.due_s;
        marks.flow_run = fire.flow_run;
        marks.flow_step = fire.flow_step;
    }
    return marks;
}

void run_put_message(struct buf *out, const char *text)
{
    const char *mark;

    for (; text && (mark = strstr(text, MARK_HEAD)) != NULL; text = mark) {
        const char *tail = strstr(mark, MARK_TAIL);

        buf_append(out, text, (size_t)(mark - text));
        mark = tail ? tail + strlen(MARK_TAIL) : mark + strlen(mark);
    }
    if (text)
        buf_puts(out, text);
}

static bool is_blocked(const struct run_row *row)
{
    const char *tail = row->tail ? row->tail : row->trigger_msg;

    return (tail && strstr(tail, EXPLAIN_BLOCKED)) || (row->handle_msg && strstr(row->handle_msg, EXPLAIN_BLOCKED));
}

const char *run_outcome_name(const struct run_row *row)
{
    if (row->state != RUN_FAILED)
        return run_state_name(row->state);
    if (is_blocked(row))
        return row->handle_code == CODE_OPEN ? "blocked" : "replaced";
    if (row->handle_code == CODE_OPEN)
        return "undelivered";
    return row->handle_code == CODE_TIMEOUT ? "timeout" : "failed";
}

/* That of trigger_msg until the executor had it, then that of handle_msg. */
void run_put_reason(struct buf *out, const struct run_row *row)
{
    const char *sent = row->tail ? row->tail : row->trigger_msg;
    const char *text = row->handle_code != CODE_OPEN ? row->handle_msg : sent;

    if (text && (row->handle_code != CODE_OPEN || (row->trigger_code != CODE_OPEN && row->trigger_code != CODE_OK)))
        explain_put_reason(out, text);
}

int64_t run_get_late_s(const struct run_marks *marks)
{
    return marks->due_s && marks->sent_s > marks->due_s ? marks->sent_s - marks->due_s : 0;
}

int64_t run_get_duration_s(const struct run_row *row)
{
    if (row->handle_code == CODE_OPEN || row->handle_s == INT64_MIN || row->trigger_s == INT64_MIN)
        return -1;
    return row->handle_s > row->trigger_s ? row->handle_s - row->trigger_s : 0;
}

/* What is between tags, with blanks for breaks: enough for one line of plain text. */
static void put_plain(struct buf *out, const char *html, size_t max)
{
    struct buf clean = {0};
    size_t begun = out->len;

    run_put_message(&clean, html);
    for (const char *c = clean.data; c && *c && out->len - begun < max; c++) {
        size_t tag = explain_measure_tag(c, clean.len - (size_t)(c - clean.data));

        if (tag)
            c += tag - 1;
        if (!tag && *c != '\n' && *c != '\r' && *c != '\t' && *c != ' ')
            buf_putc(out, *c);
        else if (out->len > begun && out->data[out->len - 1] != ' ')
            buf_putc(out, ' ');
        if (buf_failed(out))
            break;
    }
    out->failed = out->failed || buf_failed(&clean);
    buf_fini(&clean);
}

static void put_failure(struct buf *out, const struct run_row *row)
{
    if (row->handle_code == CODE_OPEN) {
        buf_printf(out, "No executor accepted it (code %d).", row->trigger_code);
        return;
    }
    if (row->handle_code == CODE_TIMEOUT)
        buf_puts(out, "Its executor ended it after the timeout.");
    else
        buf_printf(out, "It failed (code %d).", row->handle_code);
    if (!str_is_blank(row->handle_msg)) {
        buf_putc(out, ' ');
        put_plain(out, row->handle_msg, REASON_MAX);
    }
}

static void put_skipped(struct buf *out, const struct run_row *row)
{
    int64_t count = run_marks_read(row).skipped;

    if (count == 1)
        buf_puts(out, "One due time passed without a run.");
    else
        buf_printf(out, "%" PRId64 " due times passed without a run.", count);
}

void run_put_sentence(struct buf *out, const struct run_row *row)
{
    switch (row->state) {
    case RUN_PLANNED: buf_puts(out, "It will be sent at its due time."); break;
    case RUN_SENDING: buf_puts(out, "It is being sent, or it is not known yet whether it was sent."); break;
    case RUN_WAITING: buf_puts(out, "No executor could be reached: it will be sent when one is online."); break;
    case RUN_RUNNING: buf_puts(out, "An executor has accepted it and has not reported a result yet."); break;
    case RUN_SUCCESS: buf_puts(out, "It ended well."); break;
    case RUN_FAILED: put_failure(out, row); break;
    case RUN_LOST:
        buf_puts(out, "An executor accepted it and will not report a result: ");
        put_plain(out, row->handle_msg, REASON_MAX);
        break;
    case RUN_UNKNOWN: buf_puts(out, "It is not known whether the executor received it."); break;
    case RUN_SKIPPED: put_skipped(out, row); break;
    case RUN_STATES: break;
    }
}

/* ---- lines for the original's viewer ----------------------------------------------------------------------------- */

static size_t measure_kept_tag(const char *at, size_t left)
{
    static const char *const kept[] = {"<br>", "<b>", "</b>"};

    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        size_t len = strlen(kept[i]);

        if (left >= len && memcmp(at, kept[i], len) == 0)
            return len;
    }
    return 0;
}

void run_put_log_html(struct buf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t tag = text[i] == '<' ? measure_kept_tag(text + i, len - i) : 0;
        const struct html_entity *entity = tag ? NULL : html_find_entity(text[i]);

        if (tag)
            buf_append(out, text + i, tag);
        else if (entity)
            buf_puts(out, entity->html);
        else
            buf_putc(out, text[i] == ESC ? ' ' : text[i]);
        i += tag ? tag : 1;
    }
}

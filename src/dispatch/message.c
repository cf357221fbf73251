/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <time.h>

#include "shardwheel/dispatch.h"
#include "shardwheel/executor/answer.h"
#include "shardwheel/text.h"

/* The bounds of the parts add up to less than DISPATCH_MESSAGE_MAX. */
#define NAME_MAX_BYTES 500
#define ADDRESSES_MAX_BYTES 1000
#define PARAM_MAX_BYTES 8000
#define TEXT_MAX_BYTES 40000

#define COLON "\xef\xbc\x9a" /* U+FF1A, as the original sets it */

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static const char *get_word(const struct message_facts *f, enum word word)
{
    return word_get(f->style.lang, word);
}

static void put_value(struct buf *out, const char *value, size_t max)
{
    value = value ? value : "";
    text_put_html(out, value, strlen(value), max);
}

/* The title of a line, in front of its value. */
static void put_title(struct buf *out, const struct message_facts *f, const char *title)
{
    if (out->len > 0 && !(out->len > 4 && memcmp(out->data + out->len - 4, "<br>", 4) == 0 && f->style.full))
        buf_puts(out, "<br>");
    buf_puts(out, title);
    buf_puts(out, f->style.full ? COLON : ": ");
}

static void put_line(struct buf *out, const struct message_facts *f, enum word title, const char *value, size_t max)
{
    put_title(out, f, get_word(f, title));
    put_value(out, value, max);
}

static void put_number_line(struct buf *out, const struct message_facts *f, enum word title, int64_t value)
{
    put_title(out, f, get_word(f, title));
    buf_put_int(out, value);
}

static void put_list(struct buf *out, const struct message_facts *f)
{
    size_t end = out->len + ADDRESSES_MAX_BYTES;

    buf_putc(out, '[');
    for (size_t i = 0; i < f->group->count && !buf_failed(out); i++) {
        if (out->len > end) {
            word_put(out, f->style.lang, WORD_MORE, (long long)(f->group->count - i), 0);
            break;
        }
        buf_puts(out, i ? ", " : "");
        put_value(out, f->group->addresses[i], NAME_MAX_BYTES);
    }
    buf_putc(out, ']');
}

static void put_due(struct buf *out, const struct message_facts *f)
{
    time_t t = (time_t)f->fire->original_due_s;
    struct tm utc;
    char text[64] = "";

    if (f->fire->original_due_s == f->fire->due_s)
        return;
    if (gmtime_r(&t, &utc))
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    put_line(out, f, WORD_DUE, text, sizeof text);
}

static void put_route(struct buf *out, const struct message_facts *f)
{
    put_line(out, f, WORD_ROUTE, f->job->route, NAME_MAX_BYTES);
    if (f->fire->broadcast)
        buf_printf(out, f->style.full ? "(%d/%d)" : " (%d/%d)", f->fire->shard_index, f->fire->shard_total);
}

static bool is_success(const struct message_facts *f)
{
    return f->from_executor && f->code == CODE_OK;
}

/* ---- short ------------------------------------------------------------------------------------------------------- */

static void put_trigger(struct buf *out, const struct message_facts *f)
{
    put_line(out, f, WORD_TRIGGER_TYPE, word_get_kind(f->style.lang, f->fire->kind), NAME_MAX_BYTES);
    put_due(out, f);
    put_line(out, f, WORD_NODE, f->node_name, NAME_MAX_BYTES);
}

static void put_addresses(struct buf *out, const struct message_facts *f)
{
    if (!f->group) {
        put_line(out, f, WORD_ADDRESSES, get_word(f, WORD_NO_GROUP), NAME_MAX_BYTES);
        return;
    }
    put_line(out, f, WORD_ADDRESSES, get_word(f, f->group->manual ? WORD_MANUAL : WORD_AUTOMATIC), NAME_MAX_BYTES);
    buf_putc(out, ' ');
    put_list(out, f);
}

static void put_short_success(struct buf *out, const struct message_facts *f)
{
    put_trigger(out, f);
    put_line(out, f, WORD_ROUTE, f->job->route, NAME_MAX_BYTES);
}

static void put_short_failure(struct buf *out, const struct message_facts *f)
{
    const struct job_spec *job = f->job;

    put_trigger(out, f);
    put_line(out, f, WORD_ADMIN_ADDRESS, f->admin_ip, NAME_MAX_BYTES);
    put_addresses(out, f);
    put_route(out, f);
    put_line(out, f, WORD_BLOCK, job->block, NAME_MAX_BYTES);
    put_number_line(out, f, WORD_TIMEOUT, job->timeout_s);
    put_number_line(out, f, WORD_RETRIES, job->retry_count);
    buf_puts(out, "<br>");
    put_line(out, f, WORD_ADDRESS, f->address ? f->address : "none", NAME_MAX_BYTES);
    put_line(out, f, WORD_HANDLER, job->handler, NAME_MAX_BYTES);
    if (job->param)
        put_line(out, f, WORD_PARAM, job->param, PARAM_MAX_BYTES);
    put_line(out, f, WORD_RESULT, get_word(f, f->from_executor ? WORD_REFUSED : WORD_FAILED), NAME_MAX_BYTES);
    put_title(out, f, "code");
    buf_put_int(out, f->code);
    put_title(out, f, f->from_executor ? "msg" : get_word(f, WORD_REASON));
    put_value(out, f->text, TEXT_MAX_BYTES);
}

/* ---- long: what is English behind the heading is so in the original ------------------------------------------- */

static void put_settings(struct buf *out, const struct message_facts *f)
{
    const bool manual = f->group && f->group->manual;

    put_line(out, f, WORD_TRIGGER_TYPE, word_get_kind(f->style.lang, f->fire->kind), NAME_MAX_BYTES);
    put_due(out, f);
    put_line(out, f, WORD_ADMIN_ADDRESS, f->admin_ip, NAME_MAX_BYTES);
    put_line(out, f, WORD_ADDRESS_TYPE, get_word(f, manual ? WORD_MANUAL : WORD_AUTOMATIC), NAME_MAX_BYTES);
    put_title(out, f, get_word(f, WORD_ADDRESSES));
    if (f->group && f->group->count > 0)
        put_list(out, f);
    else
        buf_puts(out, "null");
    put_route(out, f);
    put_line(out, f, WORD_BLOCK, f->job->block, NAME_MAX_BYTES);
    put_number_line(out, f, WORD_TIMEOUT, f->job->timeout_s);
    put_number_line(out, f, WORD_RETRIES, f->job->retry_count);
}

static void put_outcome(struct buf *out, const struct message_facts *f)
{
    put_title(out, f, get_word(f, WORD_RESULT));
    if (is_success(f)) {
        buf_puts(out, "success");
    } else if (f->from_executor) {
        buf_puts(out, "error, ");
        buf_puts(out, get_word(f, WORD_RUN));
        buf_puts(out, COLON "<br>address" COLON);
        put_value(out, f->address, NAME_MAX_BYTES);
        buf_puts(out, "<br>code" COLON);
        buf_put_int(out, f->code);
        buf_puts(out, "<br>msg" COLON);
        put_value(out, f->text ? f->text : "null", TEXT_MAX_BYTES);
    } else if (!f->address) {
        buf_puts(out, "error, Address Router Fail.");
    } else {
        buf_puts(out, "error, ");
        put_value(out, f->text, TEXT_MAX_BYTES);
    }
}

static void put_long(struct buf *out, const struct message_facts *f)
{
    put_settings(out, f);
    words_put_heading(out, get_word(f, WORD_RUN));
    put_title(out, f, get_word(f, WORD_ADDRESS));
    buf_puts(out, f->address ? "" : "address route fail, ");
    put_value(out, f->address ? f->address : f->text, NAME_MAX_BYTES);
    if (!str_is_blank(f->job->handler)) {
        put_title(out, f, "JobHandler");
        put_value(out, f->job->handler, NAME_MAX_BYTES);
    }
    put_line(out, f, WORD_PARAM, f->job->param ? f->job->param : "null", PARAM_MAX_BYTES);
    put_outcome(out, f);
}

void dispatch_put_message(struct buf *out, const struct message_facts *f)
{
    if (f->style.full)
        put_long(out, f);
    else if (is_success(f))
        put_short_success(out, f);
    else
        put_short_failure(out, f);
    if (f->asked)
        buf_puts(out, f->asked);
}

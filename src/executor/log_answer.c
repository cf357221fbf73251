/* SPDX-License-Identifier: MIT */
#include "shardwheel/executor/log_answer.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "executor/json_span.h"
#include "shardwheel/executor/request.h"
#include "shardwheel/text.h"

#define SHORT_MAX ((size_t)64 * 1024) /* of a value that is no line of a log */
#define PYTHON_MISSING "No such logid logs."
#define ESC 0x1b

enum { OUTER_CODE, OUTER_MSG, OUTER_CONTENT, OUTER_DATA, OUTER_COUNT };
static const char *const outer_names[OUTER_COUNT] = {"code", "msg", "content", "data"};
enum { PAGE_TO_LINE, PAGE_CONTENT, PAGE_IS_END, PAGE_COUNT };
static const char *const page_names[PAGE_COUNT] = {"toLineNum", "logContent", "isEnd"};

static bool is_object(const struct span *value)
{
    return value->at < value->end && *value->at == '{';
}

/* Code and msg as an answer of their own, so that the rules of answer_parse decide. */
static void parse_envelope(const struct span found[OUTER_COUNT], struct answer *out)
{
    struct buf brief = {0};

    buf_putc(&brief, '{');
    for (int i = OUTER_CODE; i <= OUTER_MSG; i++) {
        size_t len = (size_t)(found[i].end - found[i].at);

        if (len == 0 || len > SHORT_MAX)
            continue;
        buf_printf(&brief, "%s\"%s\":", brief.len > 1 ? "," : "", outer_names[i]);
        buf_append(&brief, found[i].at, len);
    }
    buf_putc(&brief, '}');
    if (buf_failed(&brief))
        *out = (struct answer){.code = CODE_FAILED};
    else
        answer_parse(200, brief.data, brief.len, REQUEST_PATH_LOG, out);
    buf_fini(&brief);
}

static void fail(struct log_answer *out, const char *reason)
{
    answer_fini(&out->answer);
    out->answer = (struct answer){.code = CODE_FAILED, .text = str_copy(reason)};
}

/* A number, or the same as text; `other` for all else. Executors have them as ints; sums of larger ones overflow. */
static int64_t read_line_number(const struct span *value, int64_t other)
{
    struct span s = *value;
    char digits[32];
    size_t len;
    int64_t number;

    if (s.end - s.at >= 2 && *s.at == '"')
        s.at++, s.end--;
    len = s.at < s.end ? (size_t)(s.end - s.at) : 0;
    if (len == 0 || len >= sizeof digits)
        return other;
    memcpy(digits, s.at, len);
    digits[len] = '\0';
    return parse_int(digits, 0, INT32_MAX, &number) ? number : other;
}

/* Where the text of a string that has lost its end is cut: behind its last line end, or else before a character or an
 * escape that is not all there. */
static const char *find_cut(const struct span *value)
{
    const char *at = value->at + 1, *line_end = NULL;

    while (at < value->end) {
        size_t left = (size_t)(value->end - at);
        size_t step = *at == '\\' ? (left > 1 && at[1] == 'u' ? 6 : 2) : utf8_measure(at, left);

        if (step == 0) /* no UTF-8, or its start alone */
            step = left < 4 ? left + 1 : 1;
        if (step > left)
            break;
        at += step;
        if (step == 2 && at[-2] == '\\' && at[-1] == 'n')
            line_end = at;
    }
    return line_end ? line_end : at;
}

/* As text_put_utf8, but escapes of terminals stay: they have the colours. */
static void put_lines(struct buf *out, const char *text, size_t len)
{
    for (const char *end = text + len; text < end;) {
        const char *esc = memchr(text, ESC, (size_t)(end - text)), *stop = esc ? esc : end;

        text_put_utf8(out, text, (size_t)(stop - text), SIZE_MAX);
        if (esc)
            buf_putc(out, ESC);
        text = esc ? esc + 1 : end;
    }
}

/* The string's text; NULL where it is none, or out of memory. `cut`: it has no quote at its end. */
static char *decode(const struct span *value, bool cut, size_t *len)
{
    const char *end = cut ? find_cut(value) : value->end - 1;
    struct buf quoted = {0}, text = {0};
    struct json_tokener *tok = json_tokener_new();
    struct json_object *string = NULL;
    char *out = NULL;

    buf_append(&quoted, value->at, (size_t)(end - value->at));
    buf_putc(&quoted, '"');
    if (tok && !buf_failed(&quoted))
        string = json_tokener_parse_ex(tok, quoted.data, (int)quoted.len);
    if (json_object_is_type(string, json_type_string)) {
        put_lines(&text, json_object_get_string(string), (size_t)json_object_get_string_len(string));
        *len = text.len;
        out = text.data || buf_failed(&text) ? buf_take(&text) : str_copy("");
    }
    json_object_put(string);
    if (tok)
        json_tokener_free(tok);
    buf_fini(&quoted);
    return out;
}

static int64_t count_lines(const char *text, size_t len)
{
    int64_t count = 0;

    for (size_t i = 0; i < len; i++)
        count += text[i] == '\n';
    return count + (len > 0 && text[len - 1] != '\n');
}

static void read_page(struct span page, bool cut, struct log_answer *out)
{
    struct span found[PAGE_COUNT] = {{0}};
    const struct span *content = &found[PAGE_CONTENT];
    bool whole, content_cut;
    int64_t last = out->from_line - 1;

    span_take_char(&page, '{');
    whole = span_find_members(&page, page_names, PAGE_COUNT, found);
    if (!whole && !cut) {
        fail(out, "the executor's answer has a log that is no JSON");
        return;
    }
    content_cut = !whole && content->at && content->end == page.end;
    if (content->at && *content->at == '"')
        out->content = decode(content, content_cut, &out->len);
    else if (content->at && strncmp(content->at, "null", 4) == 0)
        out->content = str_copy("");
    if (!out->content) {
        fail(out, "the executor's answer has a log without lines");
        return;
    }
    out->last_line = read_line_number(&found[PAGE_TO_LINE], 0);
    out->is_end = !content_cut && found[PAGE_IS_END].at && *found[PAGE_IS_END].at == 't';
    out->to_line = content_cut     ? last + count_lines(out->content, out->len)
                   : out->len == 0 ? last
                                   : read_line_number(&found[PAGE_TO_LINE], last);
    if (out->len > 0 && (out->to_line <= last || strcmp(out->content, PYTHON_MISSING) == 0)) {
        out->is_missing = out->is_end = true;
        out->to_line = last;
    }
}

void log_answer_parse(int http_status, const char *body, size_t len, bool cut, int64_t from_line,
                      struct log_answer *out)
{
    struct span s = {body, body + len}, found[OUTER_COUNT] = {{0}};
    const struct span *page;
    bool whole = false;

    *out = (struct log_answer){.from_line = from_line, .to_line = from_line - 1};
    span_skip_blanks(&s);
    if (http_status == 200 && span_take_char(&s, '{'))
        whole = span_find_members(&s, outer_names, OUTER_COUNT, found);
    page = is_object(&found[OUTER_DATA]) ? &found[OUTER_DATA] : &found[OUTER_CONTENT];
    if (!is_object(page) || (!whole && !cut)) {
        answer_parse(http_status, body, len, REQUEST_PATH_LOG, &out->answer);
        if (out->answer.code == CODE_OK)
            fail(out, "the executor's answer has no log");
        return;
    }
    parse_envelope(found, &out->answer);
    if (out->answer.code == CODE_OK)
        read_page(*page, cut, out);
}

void log_answer_fini(struct log_answer *answer)
{
    answer_fini(&answer->answer);
    free(answer->content);
    *answer = (struct log_answer){0};
}

/* SPDX-License-Identifier: MIT */
#include "executor/http_reader.h"

#include <string.h>
#include <strings.h>

#define CHUNK_LINE_MAX 1024

/* ---- lines ------------------------------------------------------------------------------------------------------- */

struct line {
    const char *text; /* without its end */
    size_t len;
};

/* The next line, or why there is none. */
static enum http_reading take_line(struct http_reader *r, const char *bytes, size_t len, size_t max, struct line *out)
{
    size_t from = r->scanned > r->at ? r->scanned : r->at;
    const char *end = from < len ? memchr(bytes + from, '\n', len - from) : NULL;
    size_t size = (end ? (size_t)(end - bytes) + 1 : len) - r->at;

    if (size > max || size > HTTP_HEAD_MAX - r->head_size)
        return HTTP_READ_BAD;
    if (!end) {
        r->scanned = len;
        return HTTP_READ_MORE;
    }
    out->text = bytes + r->at;
    out->len = size - 1;
    if (out->len > 0 && out->text[out->len - 1] == '\r')
        out->len--;
    r->at += size;
    r->head_size += size;
    return HTTP_READ_WHOLE;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_text(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (((unsigned char)text[i] < ' ' && text[i] != '\t') || text[i] == 0x7f)
            return false;
    return true;
}

/* ---- status ------------------------------------------------------------------------------------------------------ */

/* As far as it goes, for what is no HTTP at all must be known before a line end comes. */
static bool begins_as_http(const char *text, size_t len)
{
    static const char start[] = "HTTP/1.";

    return memcmp(text, start, len < sizeof start - 1 ? len : sizeof start - 1) == 0;
}

static enum http_reading read_status(struct http_reader *r, const struct line *line)
{
    const char *t = line->text;

    if (line->len < 12 || !begins_as_http(t, line->len) || (t[7] != '0' && t[7] != '1') || t[8] != ' ' || t[9] < '1' ||
        t[9] > '9' || !is_digit(t[10]) || !is_digit(t[11]) || (line->len > 12 && t[12] != ' ') ||
        !is_text(t, line->len))
        return HTTP_READ_BAD;
    r->old = t[7] == '0';
    r->status = (t[9] - '0') * 100 + (t[10] - '0') * 10 + (t[11] - '0');
    r->phase = HTTP_PHASE_FIELDS;
    return HTTP_READ_MORE;
}

/* ---- fields ------------------------------------------------------------------------------------------------------ */

static bool is_token_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_word(const struct line *line, const char *word)
{
    return line->len == strlen(word) && strncasecmp(line->text, word, line->len) == 0;
}

static void trim(struct line *line)
{
    while (line->len > 0 && is_blank(line->text[0])) {
        line->text++;
        line->len--;
    }
    while (line->len > 0 && is_blank(line->text[line->len - 1]))
        line->len--;
}

static bool split_field(const struct line *line, struct line *name, struct line *value)
{
    size_t n = 0;

    while (n < line->len && is_token_char(line->text[n]))
        n++;
    if (n == 0 || n == line->len || line->text[n] != ':' || !is_text(line->text, line->len))
        return false;
    *name = (struct line){line->text, n};
    *value = (struct line){line->text + n + 1, line->len - n - 1};
    trim(value);
    return true;
}

/* A length beyond the limit stays beyond it, whatever number of digits it has. */
static bool read_length(struct http_reader *r, const struct line *value)
{
    size_t length = 0;

    for (size_t i = 0; i < value->len; i++) {
        if (!is_digit(value->text[i]))
            return false;
        if (length <= HTTP_BODY_MAX)
            length = length * 10 + (size_t)(value->text[i] - '0');
    }
    if (value->len == 0 || (r->has_length && r->length != length))
        return false;
    r->has_length = true;
    r->length = length;
    return true;
}

/* The next of a list that commas separate. False at its end. */
static bool take_option(struct line *list, struct line *out)
{
    const char *comma = list->len > 0 ? memchr(list->text, ',', list->len) : NULL;

    if (list->len == 0)
        return false;
    *out = (struct line){list->text, comma ? (size_t)(comma - list->text) : list->len};
    list->text += out->len + (comma != NULL);
    list->len -= out->len + (comma != NULL);
    trim(out);
    return true;
}

static void read_connection(struct http_reader *r, struct line value)
{
    struct line option;

    while (take_option(&value, &option))
        if (is_word(&option, "close"))
            r->close = true;
}

int http_read_keep_alive(const char *value, size_t len)
{
    static const char name[] = "timeout=";
    struct line list = {value, len}, option;
    int idle_s = HTTP_IDLE_MAX_S;

    while (take_option(&list, &option)) {
        int timeout_s = 0;

        if (option.len < sizeof name || strncasecmp(option.text, name, sizeof name - 1) != 0)
            continue;
        for (size_t i = sizeof name - 1; i < option.len && is_digit(option.text[i]) && timeout_s <= HTTP_IDLE_MAX_S;
             i++)
            timeout_s = timeout_s * 10 + (option.text[i] - '0');
        if (timeout_s <= idle_s)
            idle_s = timeout_s > 0 ? timeout_s - 1 : 0;
    }
    return idle_s;
}

static bool read_field(struct http_reader *r, const struct line *line)
{
    struct line name, value;

    if (!split_field(line, &name, &value))
        return false;
    if (is_word(&name, "content-length"))
        return read_length(r, &value);
    if (is_word(&name, "transfer-encoding")) {
        if (r->chunked || !is_word(&value, "chunked"))
            return false;
        r->chunked = true;
    } else if (is_word(&name, "connection")) {
        read_connection(r, value);
    } else if (is_word(&name, "keep-alive")) {
        r->idle_s = http_read_keep_alive(value.text, value.len);
        r->has_idle = true;
    }
    return true;
}

static void forget_head(struct http_reader *r)
{
    r->phase = HTTP_PHASE_STATUS;
    r->close = r->chunked = r->has_length = r->has_idle = false;
    r->length = 0;
}

/* So many bytes of body come now: all of it, or a chunk. */
static enum http_reading expect_body(struct http_reader *r, size_t size)
{
    size_t room = HTTP_BODY_MAX - r->body_len;

    r->too_long = size > room;
    if (r->too_long && !r->takes_start)
        return HTTP_READ_TOO_LONG;
    r->left = r->too_long ? room : size;
    return HTTP_READ_MORE;
}

static enum http_reading end_part(struct http_reader *r, enum http_phase next)
{
    if (r->too_long)
        return HTTP_READ_TOO_LONG;
    r->phase = next;
    return HTTP_READ_MORE;
}

/* The blank line behind the fields: what kind of body follows. */
static enum http_reading end_head(struct http_reader *r)
{
    if (r->chunked && r->has_length)
        return HTTP_READ_BAD;
    if (r->status < 200) {
        if (r->status == 101) /* another protocol, for which we did not ask */
            return HTTP_READ_BAD;
        forget_head(r);
        return HTTP_READ_MORE;
    }
    r->body_at = r->at;
    if (r->status == 204 || r->status == 304) {
        r->phase = HTTP_PHASE_DONE;
    } else if (r->chunked) {
        r->phase = HTTP_PHASE_CHUNK_SIZE;
    } else if (r->has_length) {
        r->phase = HTTP_PHASE_COUNTED;
        return expect_body(r, r->length);
    } else {
        r->close = true;
        r->phase = HTTP_PHASE_TO_END;
    }
    return HTTP_READ_MORE;
}

/* ---- bodies ------------------------------------------------------------------------------------------------------ */

static enum http_reading read_chunk_size(struct http_reader *r, const struct line *line)
{
    size_t size = 0, n = 0;

    for (; n < line->len && hex_digit(line->text[n]) >= 0; n++)
        if (size <= HTTP_BODY_MAX)
            size = size * 16 + (size_t)hex_digit(line->text[n]);
    if (n == 0 || !is_text(line->text, line->len))
        return HTTP_READ_BAD;
    while (n < line->len && is_blank(line->text[n]))
        n++;
    if (n < line->len && line->text[n] != ';') /* an extension means nothing to us */
        return HTTP_READ_BAD;
    r->phase = size > 0 ? HTTP_PHASE_CHUNK : HTTP_PHASE_TRAILERS;
    return expect_body(r, size);
}

/* Appends to the body what has come of it: it moves down over what was read between the chunks. */
static void take_body(struct http_reader *r, char *bytes, size_t len)
{
    size_t here = len - r->at < r->left ? len - r->at : r->left;
    size_t end = r->body_at + r->body_len;

    if (end != r->at)
        memmove(bytes + end, bytes + r->at, here);
    r->at += here;
    r->left -= here;
    r->body_len += here;
}

/* Lets go of what was read behind the body, so that chunk heads do not add up. */
static void close_gap(struct http_reader *r, char *bytes, size_t *len)
{
    size_t end = r->body_at + r->body_len;
    size_t gap = r->at - end;

    if (gap == 0)
        return;
    memmove(bytes + end, bytes + r->at, *len - r->at);
    *len -= gap;
    r->at = end;
    r->scanned = r->scanned > gap ? r->scanned - gap : 0;
}

/* ---- one step after the other ------------------------------------------------------------------------------------ */

static size_t line_max(enum http_phase phase)
{
    return phase == HTTP_PHASE_CHUNK_SIZE || phase == HTTP_PHASE_CHUNK_END ? CHUNK_LINE_MAX : HTTP_HEAD_MAX;
}

static enum http_reading read_line(struct http_reader *r, const char *bytes, size_t len)
{
    struct line line = {NULL, 0};
    enum http_reading got;

    if (r->phase == HTTP_PHASE_STATUS && !begins_as_http(bytes + r->at, len - r->at))
        return HTTP_READ_BAD;
    got = take_line(r, bytes, len, line_max(r->phase), &line);
    if (got != HTTP_READ_WHOLE)
        return got;
    switch (r->phase) {
    case HTTP_PHASE_STATUS: return read_status(r, &line);
    case HTTP_PHASE_FIELDS:
        if (line.len == 0)
            return end_head(r);
        return read_field(r, &line) ? HTTP_READ_MORE : HTTP_READ_BAD;
    case HTTP_PHASE_CHUNK_SIZE:
        r->head_size -= (size_t)(bytes + r->at - line.text); /* the number of chunks has no bound of its own */
        return read_chunk_size(r, &line);
    case HTTP_PHASE_CHUNK_END:
        r->head_size -= (size_t)(bytes + r->at - line.text);
        r->phase = HTTP_PHASE_CHUNK_SIZE;
        return line.len == 0 ? HTTP_READ_MORE : HTTP_READ_BAD;
    case HTTP_PHASE_TRAILERS:
        if (line.len == 0)
            r->phase = HTTP_PHASE_DONE;
        else if (!split_field(&line, &(struct line){0}, &(struct line){0}))
            return HTTP_READ_BAD;
        return HTTP_READ_MORE;
    case HTTP_PHASE_COUNTED:
    case HTTP_PHASE_CHUNK:
    case HTTP_PHASE_TO_END:
    case HTTP_PHASE_DONE: break;
    }
    return HTTP_READ_MORE;
}

enum http_reading http_reader_step(struct http_reader *r, char *bytes, size_t *len)
{
    enum http_reading got = HTTP_READ_MORE;

    while (got == HTTP_READ_MORE) {
        size_t before = r->at;
        enum http_phase phase = r->phase;

        switch (phase) {
        case HTTP_PHASE_STATUS:
        case HTTP_PHASE_FIELDS:
        case HTTP_PHASE_CHUNK_SIZE:
        case HTTP_PHASE_CHUNK_END:
        case HTTP_PHASE_TRAILERS: got = read_line(r, bytes, *len); break;
        case HTTP_PHASE_COUNTED:
            take_body(r, bytes, *len);
            if (r->left == 0)
                got = end_part(r, HTTP_PHASE_DONE);
            break;
        case HTTP_PHASE_CHUNK:
            take_body(r, bytes, *len);
            if (r->left == 0)
                got = end_part(r, HTTP_PHASE_CHUNK_END);
            break;
        case HTTP_PHASE_TO_END:
            r->left = HTTP_BODY_MAX - r->body_len;
            take_body(r, bytes, *len);
            r->too_long = r->at < *len;
            if (r->too_long)
                got = HTTP_READ_TOO_LONG;
            break;
        case HTTP_PHASE_DONE: got = HTTP_READ_WHOLE; break;
        }
        if (got == HTTP_READ_MORE && r->at == before && r->phase == phase)
            break; /* all that is there was read */
    }
    if (got == HTTP_READ_MORE && r->chunked && r->phase >= HTTP_PHASE_COUNTED)
        close_gap(r, bytes, len);
    return got;
}

enum http_reading http_reader_end(struct http_reader *r)
{
    if (r->phase != HTTP_PHASE_TO_END)
        return HTTP_READ_CUT;
    r->phase = HTTP_PHASE_DONE;
    return HTTP_READ_WHOLE;
}

int http_reader_get_idle_s(const struct http_reader *r)
{
    if (r->phase != HTTP_PHASE_DONE || r->close || r->old)
        return 0;
    return r->has_idle ? r->idle_s : HTTP_IDLE_MAX_S;
}

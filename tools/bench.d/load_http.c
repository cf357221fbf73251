/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "load_http.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    HEADER_MAX = 64 * 1024,
    BODY_MAX = 5 * 1024 * 1024, /* of a request, as executors have it */
    ANSWER_MAX = 64 * 1024,
};

static inline bool header_is(const char *line, const char *colon, const char *name)
{
    return (size_t)(colon - line) == strlen(name) && strncasecmp(line, name, strlen(name)) == 0;
}

static struct json_slice trim(const char *from, const char *to)
{
    while (from < to && (*from == ' ' || *from == '\t'))
        from++;
    while (to > from && (to[-1] == ' ' || to[-1] == '\t'))
        to--;
    return (struct json_slice){from, (size_t)(to - from)};
}

static bool slice_is(struct json_slice s, const char *text)
{
    return s.len == strlen(text) && strncasecmp(s.text, text, s.len) == 0;
}

static bool parse_length(struct json_slice s, uint64_t *out)
{
    uint64_t n = 0;

    if (s.len == 0 || s.len > 18)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        if (s.text[i] < '0' || s.text[i] > '9')
            return false;
        n = n * 10 + (uint64_t)(s.text[i] - '0');
    }
    *out = n;
    return true;
}

/* The first line end, or NULL. Much faster than memmem on lines as short as these. */
static const char *find_crlf(const char *at, const char *end)
{
    for (const char *from = at; from < end;) {
        const char *newline = memchr(from, '\n', (size_t)(end - from));

        if (!newline)
            return NULL;
        if (newline > at && newline[-1] == '\r')
            return newline - 1;
        from = newline + 1;
    }
    return NULL;
}

/* The end of the last header, where its line end and the empty line begin; NULL if it is not there. */
static const char *find_head_end(const char *data, const char *end)
{
    const char *eol = find_crlf(data, end);

    while (eol && end - eol >= 4) {
        if (eol[2] == '\r' && eol[3] == '\n')
            return eol;
        eol = find_crlf(eol + 2, end);
    }
    return NULL;
}

/* False where the request cannot be understood; bodies have a Content-Length, or there is none. */
static bool parse_headers(const char *line, const char *end, struct request *r, uint64_t *length)
{
    while (line < end) {
        const char *eol = find_crlf(line, end);
        const char *colon = memchr(line, ':', (size_t)(eol - line));
        struct json_slice value;

        if (!colon)
            return false;
        value = trim(colon + 1, eol);
        if (header_is(line, colon, "content-length")) {
            if (!parse_length(value, length))
                return false;
        } else if (header_is(line, colon, "xxl-job-access-token")) {
            r->token = value;
        } else if (header_is(line, colon, "connection")) {
            r->keep_alive = r->keep_alive && !slice_is(value, "close");
        } else if (header_is(line, colon, "expect")) {
            r->expects_continue = slice_is(value, "100-continue");
        } else if (header_is(line, colon, "transfer-encoding")) {
            return false;
        }
        line = eol + 2;
    }
    return true;
}

enum http_parse http_parse_request(const char *data, size_t len, struct request *r, size_t *total, uint64_t *length)
{
    const char *head_end = find_head_end(data, data + (len < HEADER_MAX ? len : HEADER_MAX));
    const char *line_end, *space, *space2;

    *r = (struct request){0};
    *length = 0;
    *total = 0;
    if (!head_end)
        return len >= HEADER_MAX ? HTTP_BAD : HTTP_MORE;
    line_end = find_crlf(data, head_end + 2);
    space = memchr(data, ' ', (size_t)(line_end - data));
    space2 = space ? memchr(space + 1, ' ', (size_t)(line_end - space - 1)) : NULL;
    if (!space2 || line_end - space2 != 9 || memcmp(space2 + 1, "HTTP/1.", 7) != 0)
        return HTTP_BAD;
    r->method = (struct json_slice){data, (size_t)(space - data)};
    r->path = (struct json_slice){space + 1, (size_t)(space2 - space - 1)};
    r->keep_alive = space2[8] == '1';
    if (!parse_headers(line_end + 2, head_end + 2, r, length))
        return HTTP_BAD;
    *total = (size_t)(head_end + 4 - data);
    if (*length > BODY_MAX)
        return HTTP_TOO_LARGE;
    r->body = (struct json_slice){data + *total, (size_t)*length};
    *total += (size_t)*length;
    return len < *total ? HTTP_MORE : HTTP_DONE;
}

/* The header's value, its length in *len; NULL if it is not there. */
static const char *find_header(const char *head, const char *end, const char *name, size_t *len)
{
    size_t name_len = strlen(name);

    for (const char *line = head; line < end;) {
        const char *eol = memmem(line, (size_t)(end - line), "\r\n", 2);

        if ((size_t)(eol - line) > name_len && line[name_len] == ':' && strncasecmp(line, name, name_len) == 0) {
            line += name_len + 1;
            while (line < eol && *line == ' ')
                line++;
            *len = (size_t)(eol - line);
            return line;
        }
        line = eol + 2;
    }
    return NULL;
}

/* Puts the chunks of an answer together. True when the last one is there. */
static bool join_chunks(const char *at, const char *end, struct buf *body)
{
    body->len = 0;
    for (;;) {
        const char *eol = memmem(at, (size_t)(end - at), "\r\n", 2);
        unsigned long size;

        if (!eol)
            return false;
        size = strtoul(at, NULL, 16);
        at = eol + 2;
        if (size == 0) /* trailers are not used; the empty line behind it belongs to the answer */
            return end - at >= 2;
        if (size > (size_t)(end - at) || (size_t)(end - at) - size < 2)
            return false;
        buf_append(body, at, size);
        at += size + 2;
    }
}

static enum http_answer judge_body(const char *head, const char *body, size_t len)
{
    struct json_walk walk;
    struct json_slice name, value;
    bool found = false;

    if (memcmp(head + 8, " 200", 4) != 0 || !json_begin_object(&walk, body, len))
        return HTTP_ANSWER_FAILURE;
    while (json_next_member(&walk, &name, &value)) {
        if (json_is(name, "code"))
            found = json_to_int(value) == 200;
    }
    return found && !walk.broken ? HTTP_ANSWER_SUCCESS : HTTP_ANSWER_FAILURE;
}

enum http_answer http_judge_answer(const struct buf *in, bool ended, bool *keep)
{
    enum http_answer incomplete = ended || in->len > ANSWER_MAX ? HTTP_ANSWER_FAILURE : HTTP_ANSWER_MORE;
    const char *head = in->data, *end = head + in->len;
    const char *head_end = memmem(head, in->len, "\r\n\r\n", 4);
    const char *body, *value;
    size_t len;

    *keep = false;
    if (!head_end)
        return incomplete;
    if (head_end - head < 12 || memcmp(head, "HTTP/1.", 7) != 0)
        return HTTP_ANSWER_FAILURE;
    body = head_end + 4;
    value = find_header(head, head_end + 2, "connection", &len);
    *keep = !ended && !(value && len == 5 && strncasecmp(value, "close", 5) == 0);
    value = find_header(head, head_end + 2, "content-length", &len);
    if (value) {
        size_t want = strtoul(value, NULL, 10);

        return (size_t)(end - body) < want ? incomplete : judge_body(head, body, want);
    }
    value = find_header(head, head_end + 2, "transfer-encoding", &len);
    if (value && len == 7 && strncasecmp(value, "chunked", 7) == 0) {
        struct buf joined = {0};
        enum http_answer answer =
            join_chunks(body, end, &joined) ? judge_body(head, joined.data, joined.len) : incomplete;

        buf_fini(&joined);
        return answer;
    }
    *keep = false; /* without a length the answer ends with the connection */
    return ended ? judge_body(head, body, (size_t)(end - body)) : incomplete;
}

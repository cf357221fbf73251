/* SPDX-License-Identifier: MIT */
#include "http/head.h"
#include "shardwheel/text.h"

#include "http/form.h"

#include <string.h>
#include <strings.h>

#define LENGTH_DIGITS 18 /* fits into 64 bits, and no body is as long */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_token_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

enum head_end head_find_end(const char *bytes, size_t len, size_t *scanned, size_t *end)
{
    const char *feed;

    if (len && !is_token_char(*bytes)) /* not even a method: say so before a line end comes */
        return HEAD_BAD;
    while ((feed = memchr(bytes + *scanned, '\n', len - *scanned))) {
        size_t at = (size_t)(feed - bytes);
        if (bytes[at - 1] != '\r')
            return HEAD_BAD;
        if (at >= HEAD_MAX)
            return HEAD_TOO_LONG;
        if (at >= 3 && bytes[at - 2] == '\n') {
            *end = at + 1;
            return HEAD_WHOLE;
        }
        *scanned = at + 1;
    }
    *scanned = len;
    return len >= HEAD_MAX ? HEAD_TOO_LONG : HEAD_MORE;
}

/* ---- the line ---------------------------------------------------------------------------------------------------- */

static bool has_only_visible(const char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text <= ' ' || *text == 0x7f || *text == '#')
            return false;
    }
    return true;
}

/* "http://host/path", as proxies write it, to "/path". NULL when it is neither. */
static char *skip_authority(char *target)
{
    if (!strncasecmp(target, "http://", 7) || !strncasecmp(target, "https://", 8))
        target = strchr(strchr(target, ':') + 3, '/');
    return target && *target == '/' ? target : NULL;
}

static int read_target(char *target, struct http_head *out, const char **why)
{
    char *path = has_only_visible(target) ? skip_authority(target) : NULL;
    char *query = path ? strchr(path, '?') : NULL;

    if (query)
        *query++ = '\0';
    if (!path || !percent_decode(path, /*plus_is_blank=*/false)) {
        *why = "the path of the request is not valid";
        return 400;
    }
    out->path = path;
    out->query = query ? query : path + strlen(path);
    return 0;
}

/* Of RFC 9110 and 5789, and QUERY, which came behind them. Another method is nobody's here: it ends at this place. */
static bool is_method(const char *name)
{
    static const char *const methods[] = {"GET",    "HEAD",    "POST",  "PUT",     "PATCH",
                                          "DELETE", "OPTIONS", "TRACE", "CONNECT", "QUERY"};

    return list_has_text(methods, ARRAY_LEN(methods), name);
}

/* `line` ends with NUL. *why is set for all that is wrong but what is told apart. */
static int read_line(char *line, struct http_head *out, const char **why)
{
    char *target = strchr(line, ' '), *version = target ? strchr(target + 1, ' ') : NULL;

    if (!version || target == line)
        return 400;
    *target++ = *version++ = '\0';
    for (const char *m = line; *m; m++) {
        if (!is_token_char(*m))
            return 400;
    }
    if (strncmp(version, "HTTP/", 5) || !is_digit(version[5]) || version[6] != '.' || !is_digit(version[7]) ||
        version[8])
        return 400;
    if (version[5] != '1') {
        *why = "only HTTP/1.0 and HTTP/1.1 are supported";
        return 505;
    }
    if (!is_method(line)) {
        *why = "this server does not know the method of the request";
        return 501;
    }
    out->method = line;
    out->old = version[7] == '0';
    return read_target(target, out, why);
}

/* ---- the fields -------------------------------------------------------------------------------------------------- */

/* A list of words with commas between them has this one. */
static bool has_word(const char *list, const char *word)
{
    struct text_part item;

    while (text_next_item(&list, &item)) {
        item = text_trim_blanks(item);
        if (item.len == strlen(word) && !strncasecmp(item.at, word, item.len))
            return true;
    }
    return false;
}

static bool read_length(const char *value, struct http_head *out)
{
    size_t digits = strlen(value);

    if (out->has_length || !digits || digits > LENGTH_DIGITS)
        return false;
    for (; *value; value++) {
        if (!is_digit(*value))
            return false;
        out->length = out->length * 10 + (uint64_t)(*value - '0');
    }
    out->has_length = true;
    return true;
}

/* What the server itself needs to know. The reason of a refusal, or NULL. */
static const char *note_field(const char *name, const char *value, struct http_head *out, int *hosts, bool *close)
{
    if (!strcasecmp(name, "Content-Length"))
        return read_length(value, out) ? NULL : "Content-Length is not a single whole number";
    if (!strcasecmp(name, "Transfer-Encoding")) {
        if (out->chunked || out->old || strcasecmp(value, "chunked"))
            return "Transfer-Encoding is not \"chunked\", once and in HTTP/1.1";
        out->chunked = true;
    } else if (!strcasecmp(name, "Connection")) {
        out->keep = out->keep || has_word(value, "keep-alive");
        *close = *close || has_word(value, "close");
    } else if (!strcasecmp(name, "Expect")) {
        out->expects_continue = !out->old && !strcasecmp(value, "100-continue");
    } else if (!strcasecmp(name, "Host")) {
        (*hosts)++;
    }
    return NULL;
}

/* One line without its end, to name NUL value NUL at `to`, which is not behind it. What follows there, or NULL. */
static char *write_field(const char *line, size_t len, char *to)
{
    size_t name = 0, from, end = len;

    while (name < len && is_token_char(line[name]))
        name++;
    if (!name || name == len || line[name] != ':')
        return NULL;
    for (size_t i = name; i < len; i++) {
        if (((unsigned char)line[i] < ' ' && line[i] != '\t') || line[i] == 0x7f)
            return NULL;
    }
    for (from = name + 1; from < len && is_blank(line[from]); from++)
        ;
    while (end > from && is_blank(line[end - 1]))
        end--;
    memmove(to, line, name);
    to[name] = '\0';
    memmove(to + name + 1, line + from, end - from);
    to[name + 1 + end - from] = '\0';
    return to + name + 1 + end - from + 1;
}

int head_read(char *text, size_t len, struct http_head *out, const char **why)
{
    char *feed = memchr(text, '\n', len);
    size_t at = (size_t)(feed - text) + 1, line_len = at - 2;
    char *to = text + at;
    int hosts = 0;
    bool close = false;

    *out = (struct http_head){.fields = to};
    text[line_len] = '\0';
    *why = "the first line is not an HTTP request";
    int status = strlen(text) == line_len ? read_line(text, out, why) : 400;
    if (status)
        return status;
    *why = NULL;
    while (at + 2 < len) {
        feed = memchr(text + at, '\n', len - at);
        size_t size = (size_t)(feed - (text + at)) + 1;
        char *name = to;
        to = write_field(text + at, size - 2, name);
        *why = to ? note_field(name, name + strlen(name) + 1, out, &hosts, &close)
                  : "a line of the head is not a header field";
        if (*why)
            return 400;
        at += size;
    }
    *to = '\0';
    if (out->chunked && out->has_length)
        *why = "the body has both a length and chunks";
    else if (hosts > 1 || (!hosts && !out->old))
        *why = "the head must have exactly one Host";
    out->keep = out->keep && !close;
    out->may_keep = out->keep || (!out->old && !close);
    return *why ? 400 : 0;
}

static const char *find_field(const char *at, const char *name)
{
    while (*at) {
        const char *value = at + strlen(at) + 1;
        if (!strcasecmp(at, name))
            return value;
        at = value + strlen(value) + 1;
    }
    return NULL;
}

const char *head_get_field(const struct http_head *head, const char *name)
{
    return find_field(head->fields, name);
}

const char *head_get_next_field(const char *value, const char *name)
{
    return find_field(value + strlen(value) + 1, name);
}

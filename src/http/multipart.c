/* SPDX-License-Identifier: MIT */
#include "http/multipart.h"

#include "http/message.h"

#include <string.h>
#include <strings.h>

#define BOUNDARY_MAX 70 /* RFC 2046 */

/* What comes between two values: CR LF, two dashes, the boundary. */
struct line {
    char text[4 + BOUNDARY_MAX];
    size_t len;
};

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at;
}

/* ---- parameters of a field --------------------------------------------------------------------------------------- */

/* A value, maybe in quotes; its first byte, and *len. NULL when its quotes do not end. Moves *at behind it. */
static const char *take_value(const char **at, const char *end, size_t *len)
{
    const char *from = *at;

    if (from < end && *from == '"') {
        const char *to = ++from;
        while (to < end && *to != '"')
            to += *to == '\\' && to + 1 < end ? 2 : 1;
        if (to >= end)
            return NULL;
        *len = (size_t)(to - from);
        *at = to + 1;
        return from;
    }
    while (*at < end && !strchr("; \t\r\n", **at))
        ++*at;
    *len = (size_t)(*at - from);
    return from;
}

/* The parameter of that name behind the first word of the text; NULL when absent or the text is no such list. */
static const char *find_parameter(const char *text, const char *end, const char *name, size_t *len)
{
    size_t name_len = strlen(name);
    const char *at = memchr(text, ';', (size_t)(end - text));

    while (at && at < end && *at == ';') {
        at = skip_blanks(at + 1, end);
        const char *key = at;
        while (at < end && *at != '=' && *at != ';')
            at++;
        if (at == end || *at == ';')
            continue;
        bool found = (size_t)(at - key) == name_len && !strncasecmp(key, name, name_len);
        at++;
        const char *value = take_value(&at, end, len);
        if (found || !value)
            return value;
        at = skip_blanks(at, end);
    }
    return NULL;
}

bool multipart_is(const char *content_type)
{
    return media_is(content_type, "multipart/form-data");
}

static bool read_boundary(const char *content_type, struct line *out)
{
    size_t len = 0;
    const char *end = content_type + strlen(content_type);
    const char *boundary = find_parameter(content_type, end, "boundary", &len);

    if (!boundary || !len || len > BOUNDARY_MAX)
        return false;
    memcpy(out->text, "\r\n--", 4);
    memcpy(out->text + 4, boundary, len);
    out->len = len + 4;
    return true;
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

static bool is_named(const char *line, const char *end, const char *name, const char **value)
{
    size_t len = strlen(name);

    if ((size_t)(end - line) <= len || strncasecmp(line, name, len) || line[len] != ':')
        return false;
    *value = skip_blanks(line + len + 1, end);
    return true;
}

static bool is_plain_encoding(const char *value, const char *end)
{
    static const char *const plain[] = {"7bit", "8bit", "binary"};

    while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
        if ((size_t)(end - value) == strlen(plain[i]) && !strncasecmp(value, plain[i], strlen(plain[i])))
            return true;
    }
    return false;
}

/* The lines before a value, from `head` on; NULL when it is fine. */
static const char *read_head(const char *head, const char *end, struct multipart_field *out)
{
    const char *value;

    out->name = NULL;
    while (head < end) {
        const char *line_end = memmem(head, (size_t)(end - head), "\r\n", 2);
        if (!line_end)
            line_end = end;
        if (is_named(head, line_end, "Content-Disposition", &value))
            out->name = find_parameter(value, line_end, "name", &out->name_len);
        else if (is_named(head, line_end, "Content-Transfer-Encoding", &value) && !is_plain_encoding(value, line_end))
            return "is encoded";
        head = line_end + 2;
    }
    return out->name ? NULL : "has no name";
}

/* `at` is behind a boundary. The field up to the next one; *at goes behind that. NULL when it is fine. */
static const char *read_part(const char **at, const char *end, const struct line *boundary, struct multipart_field *out)
{
    const char *line_end = skip_blanks(*at, end);

    if (end - line_end < 2 || memcmp(line_end, "\r\n", 2))
        return "does not begin on its own line";
    const char *head = line_end; /* with the line end, so that a part without any line has its blank one too */
    size_t reach = (size_t)(end - head) < MULTIPART_HEAD_MAX ? (size_t)(end - head) : MULTIPART_HEAD_MAX;
    const char *blank = memmem(head, reach, "\r\n\r\n", 4);
    if (!blank)
        return "has no value, or too much before it";
    const char *why = read_head(blank == head ? head : head + 2, blank, out);
    if (why)
        return why;
    out->value = blank + 4;
    /* From two bytes before: of an empty value the line end may be that of the blank line. */
    const char *next = memmem(blank + 2, (size_t)(end - blank) - 2, boundary->text, boundary->len);
    if (!next)
        return "does not end with the boundary";
    out->value_len = next > out->value ? (size_t)(next - out->value) : 0;
    *at = next + boundary->len;
    return NULL;
}

enum err multipart_parse(const char *content_type, const char *body, size_t len, struct multipart_field *fields,
                         size_t max, size_t *count, struct errctx *ec)
{
    const char *end = body + len, *at;
    struct line boundary;
    size_t n = 0;

    if (!multipart_is(content_type) || !read_boundary(content_type, &boundary))
        return err_set(ec, ERR_INPUT, "the content type has no boundary");
    if (len >= boundary.len - 2 && !memcmp(body, boundary.text + 2, boundary.len - 2))
        at = body + boundary.len - 2;
    else if ((at = memmem(body, len, boundary.text, boundary.len)))
        at += boundary.len;
    else
        return err_set(ec, ERR_INPUT, "the body does not have the boundary");
    while (end - at < 2 || memcmp(at, "--", 2)) {
        if (n == max)
            return err_set(ec, ERR_INPUT, "more than %zu fields", max);
        const char *why = read_part(&at, end, &boundary, &fields[n]);
        if (why)
            return err_set(ec, ERR_INPUT, "field %zu of the body %s", n + 1, why);
        n++;
    }
    *count = n;
    return ERR_OK;
}

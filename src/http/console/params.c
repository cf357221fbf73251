/* SPDX-License-Identifier: MIT */
#include "http/console/params.h"

#include "shardwheel/text.h"

#include <stdlib.h>
#include <string.h>

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* A name or value that was decoded into `memory`, which may still move. */
struct span {
    size_t at, len;
};

struct field {
    struct span name, value;
    size_t param; /* its place in the list */
};

struct reader {
    struct console_params *params;
    struct field *fields;
    size_t count;
};

/* Appends the text with a NUL behind it. False when a % has no two digits. */
static bool decode(const char *text, size_t len, struct buf *out, struct span *span)
{
    span->at = out->len;
    for (size_t i = 0; i < len; i++) {
        char c = text[i] == '+' ? ' ' : text[i];
        if (c == '%') {
            int byte = i + 2 < len ? hex_byte(text + i + 1) : -1;
            if (byte < 0)
                return false;
            c = (char)byte;
            i += 2;
        }
        buf_putc(out, c);
    }
    span->len = out->len - span->at;
    buf_putc(out, '\0');
    return true;
}

static void read_pairs(struct reader *reader, const char *text, size_t len)
{
    struct buf *memory = &reader->params->memory;

    for (size_t at = 0; at < len;) {
        const char *field = text + at, *end = memchr(field, '&', len - at);
        size_t n = end ? (size_t)(end - field) : len - at;
        const char *equals = memchr(field, '=', n);
        size_t name_len = equals ? (size_t)(equals - field) : n;
        at += n + 1;
        if (!n)
            continue;
        if (reader->count == PARAMS_MAX) {
            reader->params->too_many = true;
            return;
        }
        struct field *f = &reader->fields[reader->count];
        if (decode(field, name_len, memory, &f->name) &&
            decode(field + name_len + !!equals, n - name_len - !!equals, memory, &f->value))
            reader->count++;
    }
}

static void take_pairs(struct reader *reader, const struct multipart_field *pairs, size_t count)
{
    struct buf *memory = &reader->params->memory;

    for (size_t i = 0; i < count; i++) {
        if (reader->count == PARAMS_MAX) {
            reader->params->too_many = true;
            return;
        }
        struct field *f = &reader->fields[reader->count++];
        f->name = (struct span){memory->len, pairs[i].name_len};
        buf_append(memory, pairs[i].name, pairs[i].name_len);
        buf_putc(memory, '\0');
        f->value = (struct span){memory->len, pairs[i].value_len};
        buf_append(memory, pairs[i].value, pairs[i].value_len);
        buf_putc(memory, '\0');
    }
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

static struct console_param *find(const struct console_params *params, const char *name)
{
    for (size_t i = 0; i < params->count; i++) {
        if (!strcmp(params->list[i].name, name))
            return &params->list[i];
    }
    return NULL;
}

static bool is_good(const struct console_params *params, const struct span *span)
{
    const char *text = params->memory.data + span->at;

    return !memchr(text, '\0', span->len) && utf8_is_valid(text, span->len);
}

static void note_bad(struct console_params *params, const char *name)
{
    struct buf shown = {0};

    text_put_utf8(&shown, name, strlen(name), sizeof params->bad - 5);
    strncpy(params->bad, buf_failed(&shown) || !shown.len ? "?" : shown.data, sizeof params->bad - 1);
    buf_fini(&shown);
}

static void add_field(struct console_params *params, struct field *f)
{
    const char *name = params->memory.data + f->name.at, *value = params->memory.data + f->value.at;
    struct console_param *p = find(params, name);

    if (!*params->bad && (!is_good(params, &f->name) || !is_good(params, &f->value)))
        note_bad(params, name);
    if (p) {
        p->more += strlen(value) + 1;
    } else {
        p = &params->list[params->count++];
        *p = (struct console_param){.name = name, .first = value};
    }
    f->param = (size_t)(p - params->list);
}

static void append(struct console_param *p, const char *value)
{
    size_t len = strlen(value);

    memcpy(p->joined + p->joined_len, value, len + 1);
    p->joined_len += len;
}

/* A value behind the first one of its name. There is room for all of them at once. False when out of memory. */
static bool join(struct console_param *p, const char *value)
{
    if (!p->joined) {
        p->joined = malloc(strlen(p->first) + p->more + 1);
        if (!p->joined)
            return false;
        append(p, p->first);
    }
    append(p, ",");
    append(p, value);
    return true;
}

/* When all of them are in the list. */
static bool join_field(struct console_params *params, const struct field *f)
{
    struct console_param *p = &params->list[f->param];
    const char *value = params->memory.data + f->value.at;

    return value == p->first || join(p, value);
}

enum err params_load(const char *query, const char *form, size_t form_len, const struct multipart_field *pairs,
                     size_t pair_count, struct console_params *out, struct errctx *ec)
{
    struct console_params params = {.list = calloc(PARAMS_MAX, sizeof *params.list)};
    struct reader reader = {.params = &params, .fields = malloc(PARAMS_MAX * sizeof *reader.fields)};
    bool enough = params.list && reader.fields;

    if (enough) {
        read_pairs(&reader, query, strlen(query));
        read_pairs(&reader, form, form ? form_len : 0);
        take_pairs(&reader, pairs, pair_count);
        enough = !buf_failed(&params.memory);
    }
    for (size_t i = 0; enough && i < reader.count; i++)
        add_field(&params, &reader.fields[i]);
    for (size_t i = 0; enough && i < reader.count; i++)
        enough = join_field(&params, &reader.fields[i]);
    free(reader.fields);
    if (!enough) {
        params_fini(&params);
        return err_set(ec, ERR_NOMEM, "out of memory for the parameters");
    }
    *out = params;
    return ERR_OK;
}

void params_fini(struct console_params *params)
{
    for (size_t i = 0; i < params->count; i++)
        free(params->list[i].joined);
    free(params->list);
    buf_fini(&params->memory);
    *params = (struct console_params){0};
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static const struct console_param *find_either(const struct console_params *params, const char *name)
{
    const struct console_param *p = find(params, name);
    char with_brackets[PARAM_NAME_MAX];
    size_t len = strlen(name);

    if (p || len + 3 > sizeof with_brackets)
        return p;
    memcpy(with_brackets, name, len);
    memcpy(with_brackets + len, "[]", 3);
    return find(params, with_brackets);
}

bool params_has(const struct console_params *params, const char *name)
{
    return find(params, name) != NULL;
}

const char *params_get(const struct console_params *params, const char *name)
{
    const struct console_param *p = find_either(params, name);

    return !p ? NULL : p->joined ? p->joined : p->first;
}

const char *params_get_first(const struct console_params *params, const char *name)
{
    const struct console_param *p = find_either(params, name);

    return p ? p->first : NULL;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* A decimal digit, also a full-width one (U+FF10 to U+FF19); -1 for anything else. Moves behind it. */
static int take_digit(const char **text, int base)
{
    const unsigned char *t = (const unsigned char *)*text;

    if (t[0] == 0xef && t[1] == 0xbc && t[2] >= 0x90 && t[2] <= 0x99) {
        *text += 3;
        return t[2] - 0x90;
    }
    int digit = hex_digit((char)t[0]);
    if (digit < 0 || digit >= base)
        return -1;
    ++*text;
    return digit;
}

/* Blanks of ASCII, and the ideographic one. */
static size_t blank_length(const char *text)
{
    if ((*text > 0 && *text <= ' '))
        return 1;
    return !strncmp(text, "\xe3\x80\x80", 3) ? 3 : 0;
}

static void skip_blanks(const char **text)
{
    for (size_t n; (n = blank_length(*text));)
        *text += n;
}

bool number_parse(const char *text, int64_t min, int64_t max, int64_t *out)
{
    const char *at = text;
    int64_t value = 0;
    int base = 10, digit;

    skip_blanks(&at);
    bool minus = *at == '-';
    at += *at == '-' || *at == '+';
    if (*at == '#' || (*at == '0' && (at[1] == 'x' || at[1] == 'X'))) {
        at += *at == '#' ? 1 : 2;
        base = 16;
    }
    const char *begin = at;
    while ((digit = take_digit(&at, base)) >= 0) {
        if (__builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, minus ? -digit : digit, &value))
            return false;
    }
    bool any = at != begin;
    skip_blanks(&at);
    if (!any || *at || value < min || value > max)
        return false;
    *out = value;
    return true;
}

enum param_number params_get_number(const struct console_params *params, const char *name, int64_t min, int64_t max,
                                    int64_t *out)
{
    const char *text = params_get_first(params, name);

    if (!text)
        return PARAM_ABSENT;
    if (str_is_blank(text))
        return PARAM_EMPTY;
    return number_parse(text, min, max, out) ? PARAM_NUMBER : PARAM_BROKEN;
}

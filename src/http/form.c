/* SPDX-License-Identifier: MIT */
#include "http/form.h"

#include <stdlib.h>
#include <string.h>

bool percent_decode(char *text, bool plus_is_blank)
{
    char *to = text;

    for (; *text; text++) {
        char c = *text == '+' && plus_is_blank ? ' ' : *text;
        if (c == '%') {
            int byte = hex_byte(text + 1);
            if (byte <= 0)
                return false;
            c = (char)byte;
            text += 2;
        }
        *to++ = c;
    }
    *to = '\0';
    return true;
}

static int base64_value(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : c == '-' || c == '+' ? 62 : c == '_' || c == '/' ? 63 : -1;
}

bool base64_read(const char *value, char *out, size_t size, size_t *len)
{
    size_t n = strcspn(value, "=");
    unsigned bits = 0;
    size_t got = 0;

    if (!n || n % 4 == 1 || strspn(value + n, "=") != strlen(value + n) || n / 4 * 3 + 3 >= size)
        return false;
    for (size_t i = 0; i < n; i++) {
        int v = base64_value(value[i]);
        if (v < 0)
            return false;
        bits = (bits << 6 | (unsigned)v) & 0xffffff;
        if (i % 4)
            out[got++] = (char)(bits >> (6 - 2 * (i % 4)));
    }
    out[got] = '\0';
    *len = got;
    return true;
}

/* Names that can be shown as they are. */
static bool is_plain(const char *name)
{
    return strspn(name, ASCII_LETTERS ASCII_DIGITS "_-.[]") == strlen(name);
}

static enum err read_field(char *text, size_t number, struct form_field *out, struct errctx *ec)
{
    char *value = strchr(text, '=');
    bool named;

    if (value)
        *value++ = '\0';
    out->name = text;
    out->value = value ? value : "";
    named = percent_decode(text, true);
    if (named && (!value || percent_decode(value, true)))
        return ERR_OK;
    return err_set(ec, ERR_INPUT, "field %zu%s%.64s: a %% must be followed by two hex digits that are not 00", number,
                   named && is_plain(text) ? ", " : "", named && is_plain(text) ? text : "");
}

static size_t count_fields(const char *text)
{
    size_t count = 1;

    for (; *text; text++)
        count += *text == '&';
    return count;
}

enum err form_parse(const char *text, size_t len, struct form *out, struct errctx *ec)
{
    struct form form = {.memory = malloc(len + 1)};
    enum err e = ERR_OK;

    if (form.memory) {
        memcpy(form.memory, text, len);
        form.memory[len] = '\0';
        if (strlen(form.memory) != len)
            e = err_set(ec, ERR_INPUT, "a field has a NUL");
        else if (count_fields(form.memory) > FORM_FIELDS_MAX)
            e = err_set(ec, ERR_INPUT, "more than %d fields", FORM_FIELDS_MAX);
        else
            form.fields = calloc(count_fields(form.memory), sizeof *form.fields);
    }
    if (!e && !form.fields)
        e = err_set(ec, ERR_NOMEM, "out of memory for the fields");
    for (char *at = form.memory, *next; !e && at && *at; at = next) {
        size_t n = strcspn(at, "&");
        next = at[n] ? at + n + 1 : at + n;
        at[n] = '\0';
        if (n) {
            e = read_field(at, form.count + 1, &form.fields[form.count], ec);
            form.count++;
        }
    }
    if (e) {
        form_fini(&form);
        return e;
    }
    *out = form;
    return ERR_OK;
}

const char *form_get(const struct form *form, const char *name)
{
    for (size_t i = 0; i < form->count; i++) {
        if (!strcmp(form->fields[i].name, name))
            return form->fields[i].value;
    }
    return NULL;
}

void form_fini(struct form *form)
{
    free(form->fields);
    free(form->memory);
    *form = (struct form){0};
}

bool cookie_find(const char *header, const char *name, char *out, size_t size)
{
    size_t name_len = strlen(name);

    while (*header) {
        header += strspn(header, " \t;");
        size_t n = strcspn(header, ";"), end = n;
        const char *value = header + name_len + 1;
        while (end && (header[end - 1] == ' ' || header[end - 1] == '\t'))
            end--;
        if (end > name_len && !strncmp(header, name, name_len) && header[name_len] == '=') {
            size_t len = end - name_len - 1;
            if (len >= 2 && value[0] == '"' && value[len - 1] == '"') {
                value++;
                len -= 2;
            }
            if (len >= size)
                return false;
            memcpy(out, value, len);
            out[len] = '\0';
            return true;
        }
        header += n;
    }
    return false;
}

/* SPDX-License-Identifier: MIT */
#include "oidc/document.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 16

struct document {
    struct json_object *value; /* an object */
};

static struct document *wrap(struct json_object *value)
{
    struct document *d = calloc(1, sizeof *d);

    if (d)
        d->value = value;
    else
        json_object_put(value);
    return d;
}

struct document *document_parse(const char *text)
{
    struct json_tokener *tokener = json_tokener_new_ex(DEPTH_MAX);
    struct json_object *value = NULL;
    size_t len = strlen(text);

    if (!tokener)
        return NULL;
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    if (len < INT32_MAX)
        value = json_tokener_parse_ex(tokener, text, (int)len + 1);
    bool whole = json_tokener_get_error(tokener) == json_tokener_success;
    json_tokener_free(tokener);
    if (whole && json_object_is_type(value, json_type_object))
        return wrap(value);
    json_object_put(value);
    return NULL;
}

void document_destroy(struct document *d)
{
    if (!d)
        return;
    json_object_put(d->value);
    free(d);
}

static struct json_object *get(const struct document *d, const char *name)
{
    struct json_object *value = NULL;

    return json_object_object_get_ex(d->value, name, &value) ? value : NULL;
}

static const char *text_of(struct json_object *value)
{
    if (!json_object_is_type(value, json_type_string))
        return NULL;
    const char *text = json_object_get_string(value);
    return strlen(text) == (size_t)json_object_get_string_len(value) ? text : NULL;
}

const char *document_get_text(const struct document *d, const char *name)
{
    return text_of(get(d, name));
}

bool document_get_time(const struct document *d, const char *name, int64_t *out_s)
{
    struct json_object *value = get(d, name);

    if (json_object_is_type(value, json_type_double)) {
        double seconds = json_object_get_double(value);
        if (!(seconds >= 0 && seconds <= (double)TIME_END_S))
            return false;
        *out_s = (int64_t)seconds;
        return true;
    }
    if (!json_object_is_type(value, json_type_int))
        return false;
    *out_s = json_object_get_int64(value);
    return *out_s >= 0 && *out_s <= TIME_END_S;
}

bool document_has_list(const struct document *d, const char *name)
{
    return json_object_is_type(get(d, name), json_type_array);
}

bool document_is_true(const struct document *d, const char *name)
{
    struct json_object *value = get(d, name);

    return json_object_is_type(value, json_type_boolean) && json_object_get_boolean(value);
}

size_t document_count(const struct document *d, const char *name)
{
    struct json_object *value = get(d, name);

    return json_object_is_type(value, json_type_array) ? json_object_array_length(value) : text_of(value) ? 1 : 0;
}

bool document_lists(const struct document *d, const char *name, const char *text)
{
    struct json_object *value = get(d, name);
    const char *one = text_of(value);

    if (one)
        return !strcmp(one, text);
    size_t count = json_object_is_type(value, json_type_array) ? json_object_array_length(value) : 0;
    for (size_t i = 0; i < count; i++) {
        one = text_of(json_object_array_get_idx(value, i));
        if (one && !strcmp(one, text))
            return true;
    }
    return false;
}

struct document *document_get_item(const struct document *d, const char *name, size_t i)
{
    struct json_object *list = get(d, name);

    if (!json_object_is_type(list, json_type_array) || i >= json_object_array_length(list))
        return NULL;
    struct json_object *item = json_object_array_get_idx(list, i);
    if (!json_object_is_type(item, json_type_object))
        item = json_object_new_object(); /* counts, and is nothing */
    else
        json_object_get(item);
    return item ? wrap(item) : NULL;
}

const char *document_get_json(const struct document *d)
{
    return json_object_to_json_string_ext(d->value, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}

static void put_texts(struct json_object *value, void (*put)(void *arg, const char *text), void *arg)
{
    const char *one = text_of(value);
    size_t count = json_object_is_type(value, json_type_array) ? json_object_array_length(value) : 0;

    if (one)
        put(arg, one);
    for (size_t i = 0; i < count; i++) {
        one = text_of(json_object_array_get_idx(value, i));
        if (one)
            put(arg, one);
    }
}

void document_each_text(const struct document *d, const char *path, size_t len,
                        void (*put)(void *arg, const char *text), void *arg)
{
    struct json_object *at = d->value, *whole;
    char name[200];

    if (!len || len >= sizeof name)
        return;
    memcpy(name, path, len);
    name[len] = '\0';
    whole = get(d, name);
    if (whole) {
        put_texts(whole, put, arg);
        return;
    }
    for (char *part = name, *next; part && at; part = next) {
        next = strchr(part, '.');
        if (next)
            *next++ = '\0';
        struct json_object *below = NULL;
        at = json_object_is_type(at, json_type_object) && json_object_object_get_ex(at, part, &below) ? below : NULL;
    }
    put_texts(at, put, arg);
}

/* SPDX-License-Identifier: MIT */
#include "http/executor/callbacks.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Integers as Gson takes them: 7, 7.0 and "7". */
static bool read_int(struct json_object *value, int64_t min, int64_t max, int64_t *out)
{
    double d;
    int64_t n = 0;

    switch (json_object_get_type(value)) {
    case json_type_int: n = json_object_get_int64(value); break;
    case json_type_double:
        d = json_object_get_double(value);
        if (!(fabs(d) < 9007199254740992.0) || d != floor(d))
            return false;
        n = (int64_t)d;
        break;
    case json_type_string: return parse_int(json_object_get_string(value), min, max, out);
    case json_type_null:
    case json_type_boolean:
    case json_type_object:
    case json_type_array: return false;
    }
    if (n < min || n > max)
        return false;
    *out = n;
    return true;
}

/* Keeps a text for as long as the list lives; NULL when out of memory. */
static const char *keep_text(struct callback_list *list, char *text)
{
    if (!text)
        return NULL;
    list->texts[list->texts_count++] = text; /* one per entry at most: the array is as long as the entries */
    return text;
}

/* NUL cannot stand in a text of ours: U+FFFD takes its place. */
static char *copy_without_nul(const char *text, size_t len)
{
    struct buf out = {0};
    while (len) {
        size_t n = strnlen(text, len);
        buf_append(&out, text, n);
        if (n < len) {
            buf_puts(&out, "\xef\xbf\xbd");
            n++;
        }
        text += n;
        len -= n;
    }
    return buf_take(&out);
}

/* A text as it is, null as NULL, any other value as JSON text. */
static enum err read_message(struct callback_list *list, struct json_object *value, const char **out)
{
    if (!value) {
        *out = NULL;
        return ERR_OK;
    }
    if (json_object_get_type(value) != json_type_string) {
        *out = keep_text(list, str_copy(json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN |
                                                                                  JSON_C_TO_STRING_NOSLASHESCAPE)));
        return *out ? ERR_OK : ERR_NOMEM;
    }
    const char *text = json_object_get_string(value);
    size_t len = (size_t)json_object_get_string_len(value);
    if (strlen(text) == len) {
        *out = text;
        return ERR_OK;
    }
    *out = keep_text(list, copy_without_nul(text, len));
    return *out ? ERR_OK : ERR_NOMEM;
}

static void complain(struct callback_list *list, size_t index, const char *what, struct json_object *value)
{
    if (!list->malformed++)
        err_set(&list->complaint, ERR_INPUT, "callback %zu: %s%s%.100s", index, what, value ? ", but it is " : "",
                value ? json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN) : "");
}

/* Newer executors say handleCode and handleMsg, 2.2.0 says executeResult.code and .msg, Go and Python say both. */
static enum err read_entry(struct callback_list *list, size_t index, struct json_object *item)
{
    struct callback_entry entry = {0};
    struct json_object *id = NULL, *code = NULL, *message = NULL, *nested = NULL;
    int64_t code64;

    if (!item)
        return ERR_OK; /* Java executors may send null in a list; there is nothing in it */
    if (json_object_get_type(item) != json_type_object) {
        complain(list, index, "an object was expected", item);
        return ERR_OK;
    }
    if (!json_object_object_get_ex(item, "logId", &id) || !read_int(id, INT64_MIN, INT64_MAX, &entry.log_id)) {
        complain(list, index, id ? "logId must be an integer" : "logId is missing", id);
        return ERR_OK;
    }
    json_object_object_get_ex(item, "executeResult", &nested);
    bool has_nested = json_object_get_type(nested) == json_type_object;
    json_object_object_get_ex(item, "handleCode", &code);
    if (!code && has_nested)
        json_object_object_get_ex(nested, "code", &code);
    if (!read_int(code, INT32_MIN, INT32_MAX, &code64)) {
        complain(list, index, code ? "handleCode must be an integer of 32 bits" : "handleCode is missing", code);
        return ERR_OK;
    }
    entry.code = (int)code64;
    if (!json_object_object_get_ex(item, "handleMsg", &message) && has_nested)
        json_object_object_get_ex(nested, "msg", &message);
    enum err e = read_message(list, message, &entry.message);
    if (!e)
        list->entries[list->count++] = entry;
    return e;
}

static enum err read_entries(struct callback_list *list, struct json_object *array, struct errctx *ec)
{
    size_t n = array ? json_object_array_length(array) : 0;
    list->entries = calloc(n + 1, sizeof(*list->entries));
    list->texts = calloc(n + 1, sizeof(*list->texts));
    enum err e = list->entries && list->texts ? ERR_OK : ERR_NOMEM;
    for (size_t i = 0; i < n && !e; i++)
        e = read_entry(list, i, json_object_array_get_idx(array, i));
    return e ? err_set(ec, e, "out of memory for %zu callbacks", n) : ERR_OK;
}

/* The array itself, or the one in callbackList; null for "none". */
static enum err find_array(struct json_object *root, struct json_object **out, struct errctx *ec)
{
    struct json_object *array = root;
    if (json_object_get_type(root) == json_type_object && !json_object_object_get_ex(root, "callbackList", &array))
        return err_set(ec, ERR_INPUT, "an array of callbacks or an object with callbackList was expected");
    if (array && json_object_get_type(array) != json_type_array)
        return err_set(ec, ERR_INPUT, "an array of callbacks or an object with callbackList was expected");
    *out = array;
    return ERR_OK;
}

enum err callbacks_parse(const char *body, size_t len, struct callback_list *out, struct errctx *ec)
{
    struct callback_list list = {0};
    struct json_object *array = NULL;

    enum err e = json_parse(body, len, &list.root, ec);
    if (!e)
        e = find_array(list.root, &array, ec);
    if (!e)
        e = read_entries(&list, array, ec);
    if (e) {
        callbacks_fini(&list);
        return e;
    }
    *out = list;
    return ERR_OK;
}

void callbacks_fini(struct callback_list *list)
{
    for (size_t i = 0; i < list->texts_count; i++)
        free(list->texts[i]);
    free(list->texts);
    free(list->entries);
    json_object_put(list->root);
    *list = (struct callback_list){0};
}

/* SPDX-License-Identifier: MIT */
#include "http/executor/callbacks.h"

#include <json-c/json.h>
#include <string.h>

/* Texts; numbers and booleans as the text that stands for them, as Gson takes them. */
static enum err read_text(struct json_object *root, const char *name, const char **out, struct errctx *ec)
{
    struct json_object *value = NULL;

    *out = NULL;
    json_object_object_get_ex(root, name, &value);
    if (!value)
        return ERR_OK;
    enum json_type type = json_object_get_type(value);
    if (type == json_type_object || type == json_type_array)
        return err_set(ec, ERR_INPUT, "%s must be a text", name);
    *out = json_object_get_string(value);
    if (type == json_type_string && strlen(*out) != (size_t)json_object_get_string_len(value))
        return err_set(ec, ERR_INPUT, "%s contains a NUL character", name);
    return ERR_OK;
}

enum err beat_parse(const char *body, size_t len, struct beat_body *out, struct errctx *ec)
{
    struct beat_body beat = {0};
    enum err e = json_parse(body, len, &beat.root, ec);
    if (!e && json_object_get_type(beat.root) != json_type_object)
        e = err_set(ec, ERR_INPUT, "an object with registryGroup, registryKey and registryValue was expected");
    if (!e)
        e = read_text(beat.root, "registryGroup", &beat.group, ec);
    if (!e)
        e = read_text(beat.root, "registryKey", &beat.key, ec);
    if (!e)
        e = read_text(beat.root, "registryValue", &beat.value, ec);
    if (e) {
        beat_fini(&beat);
        return e;
    }
    *out = beat;
    return ERR_OK;
}

void beat_fini(struct beat_body *beat)
{
    json_object_put(beat->root);
    *beat = (struct beat_body){0};
}

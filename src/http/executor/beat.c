/* SPDX-License-Identifier: MIT */
#include "http/executor/callbacks.h"

#include <stdlib.h>

#define TEXT_MAX 4096 /* bytes; what can be registered is far shorter, and the registry says so */

/* Texts; numbers and booleans as the text that stands for them, as Gson takes them. */
static enum err read_text(const struct json_value *value, const char *name, char **out, struct errctx *ec)
{
    struct buf text = {0};

    free(*out); /* of two members with one name the last is meant */
    *out = NULL;
    if (value->kind == JSON_NULL)
        return ERR_OK;
    if (value->kind == JSON_OBJECT || value->kind == JSON_ARRAY)
        return err_set(ec, ERR_INPUT, "%s must be a text", name);
    buf_puts(&text, "");
    if (value->kind != JSON_TEXT) {
        json_put_value(&text, value, TEXT_MAX);
    } else if (json_put_text(&text, value, TEXT_MAX)) {
        buf_fini(&text);
        return err_set(ec, ERR_INPUT, "%s contains a NUL character", name);
    }
    *out = buf_take(&text);
    return *out ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory for a registry call");
}

enum err beat_parse(const char *body, size_t len, struct beat_body *out, struct errctx *ec)
{
    struct beat_body beat = {0};
    struct json_place place = {0};
    struct json_value root, name, value;
    enum err e = json_check(body, len, &root, ec);

    if (!e && root.kind != JSON_OBJECT)
        e = err_set(ec, ERR_INPUT, "an object with registryGroup, registryKey and registryValue was expected");
    while (!e && json_next_member(&root, &place, &name, &value)) {
        if (json_is_text(&name, "registryGroup"))
            e = read_text(&value, "registryGroup", &beat.group, ec);
        else if (json_is_text(&name, "registryKey"))
            e = read_text(&value, "registryKey", &beat.key, ec);
        else if (json_is_text(&name, "registryValue"))
            e = read_text(&value, "registryValue", &beat.value, ec);
    }
    if (e) {
        beat_fini(&beat);
        return e;
    }
    *out = beat;
    return ERR_OK;
}

void beat_fini(struct beat_body *beat)
{
    free(beat->group);
    free(beat->key);
    free(beat->value);
    *beat = (struct beat_body){0};
}

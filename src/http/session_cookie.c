/* SPDX-License-Identifier: MIT */
#include "http/session_cookie.h"

#include "http/form.h"
#include "http/json.h"

#include <inttypes.h>
#include <string.h>

/* ---- texts in JSON ----------------------------------------------------------------------------------------------- */

/* False when it is none, or longer than out can hold. */
static bool take_text(const struct json_value *value, char *out, size_t size)
{
    struct buf text = {0};
    bool good =
        value->kind == JSON_TEXT && !json_put_text(&text, value, size + 8) && !buf_failed(&text) && text.len < size;

    if (good)
        memcpy(out, text.data ? text.data : "", text.len + 1);
    buf_fini(&text);
    return good;
}

/* ---- dialect A --------------------------------------------------------------------------------------------------- */

/* As a number has no zeros in front, so has its text none here. False: not hexadecimal, or nothing. */
static bool read_number(const char *value, char *out, size_t size, size_t *len)
{
    size_t n;

    if (!*value || value[strspn(value, "0123456789abcdefABCDEF")])
        return false;
    value += strspn(value, "0");
    n = strlen(value);
    *len = (n + 1) / 2;
    if (*len >= size)
        return false;
    for (size_t i = 0, at = 0; i < *len; i++) {
        int high = n % 2 && i == 0 ? 0 : hex_digit(value[at++]);
        out[i] = (char)(high * 16 + hex_digit(value[at++]));
    }
    out[*len] = '\0';
    return true;
}

static bool read_row(const struct json_value *row, struct session_cookie *out)
{
    struct json_place place = {0};
    struct json_value name, value;
    bool has_name = false, has_secret = false;

    while (json_next_member(row, &place, &name, &value)) {
        if (json_is_text(&name, "username"))
            has_name = take_text(&value, out->name, sizeof out->name);
        else if (json_is_text(&name, "password"))
            has_secret = take_text(&value, out->secret, sizeof out->secret);
        else if (!json_is_text(&name, "id") && !json_is_text(&name, "role") && !json_is_text(&name, "permission"))
            return false;
    }
    return has_name && has_secret && *out->secret;
}

enum cookie_verdict row_cookie_read(const char *value, struct session_cookie *out)
{
    char text[COOKIE_VALUE_MAX / 2 + 1];
    struct session_cookie read = {0};
    struct json_value root = {0};
    size_t len = 0;

    if (!read_number(value, text, sizeof text, &len))
        return COOKIE_BROKEN;
    if (json_check(text, len, &root, NULL) || root.kind != JSON_OBJECT || !read_row(&root, &read))
        return COOKIE_OTHER;
    *out = read;
    return COOKIE_GOOD;
}

void row_cookie_put(struct buf *out, const struct user *u, const char *secret)
{
    struct buf row = {0};

    buf_printf(&row, "{\"id\":%" PRId64 ",\"username\":", u->id);
    buf_put_json(&row, u->name);
    buf_puts(&row, ",\"password\":");
    buf_put_json(&row, secret ? secret : u->password);
    buf_printf(&row, ",\"role\":%" PRId64 ",\"permission\":", u->role);
    buf_put_json(&row, u->permission);
    buf_putc(&row, '}');
    if (buf_failed(&row))
        out->failed = true;
    else
        buf_put_hex(out, row.data, row.len);
    buf_fini(&row);
}

/* ---- dialects B, C, D -------------------------------------------------------------------------------------------- */

static bool read_token(const struct json_value *token, struct session_cookie *out)
{
    struct json_place place = {0};
    struct json_value name, value;
    bool has_id = false, has_secret = false;

    while (json_next_member(token, &place, &name, &value)) {
        if (json_is_text(&name, "userId"))
            has_id = json_get_int(&value, 1, INT64_MAX, &out->user_id);
        else if (json_is_text(&name, "signature"))
            has_secret = take_text(&value, out->secret, sizeof out->secret);
    }
    return has_id && has_secret && *out->secret;
}

enum cookie_verdict token_cookie_read(const char *value, struct session_cookie *out)
{
    char decoded[COOKIE_VALUE_MAX], text[COOKIE_VALUE_MAX];
    struct session_cookie read = {0};
    struct json_value root = {0};
    size_t len = 0;

    if (strlen(value) >= sizeof decoded)
        return COOKIE_BROKEN;
    strcpy(decoded, value);
    if (!percent_decode(decoded, /*plus_is_blank=*/false) || !base64_read(decoded, text, sizeof text, &len) ||
        json_check(text, len, &root, NULL) || root.kind != JSON_OBJECT || !read_token(&root, &read))
        return COOKIE_BROKEN;
    *out = read;
    return COOKIE_GOOD;
}

void token_cookie_put(struct buf *out, int64_t user_id, const char *secret)
{
    struct buf token = {0};

    buf_printf(&token, "{\"userId\":\"%" PRId64 "\",\"expireTime\":0,\"signature\":", user_id);
    buf_put_json(&token, secret);
    buf_putc(&token, '}');
    if (!buf_failed(&token))
        buf_put_base64url(out, token.data, token.len);
    else
        out->failed = true;
    buf_fini(&token);
}

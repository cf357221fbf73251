/* SPDX-License-Identifier: MIT */
#include "admin/groups/check.h"

#include "admin/admin_impl.h"
#include "shardwheel/executor/networks.h"
#include "shardwheel/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define TOKEN_CHARS_MAX 255
#define APP_NAME_MIN 4
#define APP_NAME_MAX 64

/* ---- script ------------------------------------------------------------------------------------------------------ */

/* "onclick =" and the like, as a word of its own. */
static bool is_handler(const char *text, const char *at)
{
    static const char *const events[] = {"load", "unload", "error", "click",  "dblclick", "mouse",
                                         "key",  "focus",  "blur",  "submit", "change",   "resize"};
    const char *rest = at + 2;

    if (strncasecmp(at, "on", 2) != 0 || (at > text && isalnum((unsigned char)at[-1])))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(events); i++) {
        if (strncasecmp(rest, events[i], strlen(events[i])) != 0)
            continue;
        rest += strlen(events[i]);
        while (isalpha((unsigned char)*rest))
            rest++;
        while (isspace((unsigned char)*rest))
            rest++;
        return *rest == '=';
    }
    return false;
}

bool text_has_script(const char *text)
{
    static const char *const signs[] = {"<script", "</script", "<noscript",   "</noscript", "<iframe",     "<object",
                                        "<embed",  "eval(",    "expression(", "url(",       "javascript:", "vbscript:"};

    for (const char *at = text; *at; at++) {
        for (size_t i = 0; i < ARRAY_LEN(signs); i++) {
            if (strncasecmp(at, signs[i], strlen(signs[i])) == 0)
                return true;
        }
        if (is_handler(text, at))
            return true;
    }
    return false;
}

static bool is_refused_text(const char *text, const struct group_rules *rules)
{
    return rules->angles ? strpbrk(text, "<>") != NULL : text_has_script(text);
}

/* ---- fields ------------------------------------------------------------------------------------------------------ */

static bool is_as_it_was(const char *text, const char *was, const struct group_rules *rules)
{
    return rules->only_changed && text && was && !strcmp(text, was);
}

static enum err check_app_name(const char *name, const struct group_rules *rules, struct refusal *r)
{
    if (str_is_blank(name))
        return refuse(r, REFUSED_REQUIRED, "appname", "the app name is missing");
    size_t length = utf8_count(name, strlen(name), /*utf16=*/true);
    if (length < APP_NAME_MIN || length > APP_NAME_MAX)
        return refuse_length(r, "appname", APP_NAME_MIN, APP_NAME_MAX, "the app name must have %d to %d characters",
                             APP_NAME_MIN, APP_NAME_MAX);
    if (is_refused_text(name, rules))
        return refuse(r, REFUSED_INVALID, "appname",
                      "the app name has script code, or characters that are not allowed");
    return ERR_OK;
}

static enum err check_title(const char *title, const struct group_rules *rules, const struct group_columns *columns,
                            struct refusal *r)
{
    if (str_is_blank(title))
        return refuse(r, REFUSED_REQUIRED, "title", "the title is missing");
    if (is_refused_text(title, rules))
        return refuse(r, REFUSED_INVALID, "title", "the title has script code, or characters that are not allowed");
    if (utf8_count(title, strlen(title), /*utf16=*/false) > (size_t)columns->title_chars)
        return refuse_length(r, "title", 1, (size_t)columns->title_chars, "the title must have at most %d characters",
                             columns->title_chars);
    return ERR_OK;
}

/* Empty items at the end do not count, as in the original. */
static enum err check_items(const char *list, const struct group_rules *rules, struct refusal *r)
{
    size_t len = strlen(list), number = 1;

    while (len && list[len - 1] == ',')
        len--;
    for (size_t at = 0; at < len; number++) {
        const char *comma = memchr(list + at, ',', len - at);
        size_t n = comma ? (size_t)(comma - list) - at : len - at;
        char item[64];
        snprintf(item, sizeof item, "%.*s", (int)(n < sizeof item ? n : sizeof item - 1), list + at);
        if (str_is_blank(item)) {
            refuse(r, REFUSED_REQUIRED, "addressList", "address %zu is empty", number);
            snprintf(r->item, sizeof r->item, "%zu", number);
            return ERR_INPUT;
        }
        if (rules->scheme && strncmp(item, "http://", 7) != 0 && strncmp(item, "https://", 8) != 0) {
            refuse(r, REFUSED_INVALID, "addressList", "address %zu does not begin with http:// or https://", number);
            snprintf(r->item, sizeof r->item, "%s", item);
            return ERR_INPUT;
        }
        at += n + 1;
    }
    return ERR_OK;
}

enum err refuse_addresses(const struct admin *a, const char *list, const char *field, struct refusal *r)
{
    char refused[EXECUTOR_ADDRESS_SHOWN];

    if (!list || !executor_networks_check_list(a->opts.networks, list, refused, &r->text))
        return ERR_OK;
    enum err e = refuse(r, REFUSED_INVALID, field, "%s", r->text.text);
    snprintf(r->item, sizeof r->item, "%s", refused);
    return e;
}

static enum err check_addresses(const struct admin *a, const char *list, const struct group_rules *rules,
                                struct refusal *r)
{
    if (str_is_blank(list))
        return refuse(r, REFUSED_REQUIRED, "addressList", "a manual group needs addresses");
    if (is_refused_text(list, rules))
        return refuse(r, REFUSED_INVALID, "addressList",
                      "the addresses have script code, or characters that are not allowed");
    enum err e = check_items(list, rules, r);
    if (!e)
        e = refuse_addresses(a, list, "addressList", r);
    if (!e && strlen(list) > ADDRESS_LIST_BYTES)
        e = refuse_length(r, "addressList", 0, ADDRESS_LIST_BYTES, "the addresses must have at most %d bytes",
                          ADDRESS_LIST_BYTES);
    return e;
}

static enum err check_token(const char *token, const struct group_columns *columns, struct refusal *r)
{
    if (!token || !*token)
        return ERR_OK;
    if (!columns->has_token)
        return refuse(r, REFUSED_OFF, "accessToken", "executor groups in this database cannot have access tokens");
    if (utf8_count(token, strlen(token), /*utf16=*/false) > TOKEN_CHARS_MAX)
        return refuse_length(r, "accessToken", 0, TOKEN_CHARS_MAX, "the access token must have at most %d characters",
                             TOKEN_CHARS_MAX);
    return ERR_OK;
}

enum err group_check(const struct admin *a, const struct group_info *values, const struct group_info *now,
                     const struct group_rules *rules, const struct group_columns *columns, struct refusal *r)
{
    enum err e = ERR_OK;

    if (!now || !(rules->keeps_name || is_as_it_was(values->app_name, now->app_name, rules)))
        e = check_app_name(values->app_name, rules, r);
    if (!e && !(now && is_as_it_was(values->title, now->title, rules)))
        e = check_title(values->title, rules, columns, r);
    if (!e && values->address_type != 0 &&
        !(now && now->address_type != 0 && is_as_it_was(values->address_list, now->address_list, rules)))
        e = check_addresses(a, values->address_list, rules, r);
    if (!e && values->address_type == 0 && values->address_list && strlen(values->address_list) > ADDRESS_LIST_BYTES)
        e = refuse_length(r, "addressList", 0, ADDRESS_LIST_BYTES, "the addresses must have at most %d bytes",
                          ADDRESS_LIST_BYTES);
    if (!e && (values->address_type < -128 || values->address_type > 127))
        e = refuse(r, REFUSED_INVALID, "addressType", "the address type must be 0 or 1");
    return e ? e : check_token(values->access_token, columns, r);
}

/* SPDX-License-Identifier: MIT */
#include "admin/people/password.h"

#include "shardwheel/text.h"

#include <stdlib.h>
#include <string.h>

bool password_fits(const char *stored, const char *given)
{
    char md5[33], sha[65];

    md5_hex(given, strlen(given), md5);
    sha256_hex(given, sha);
    bool is_md5 = str_equal_const_time(stored, md5);
    bool is_sha = str_equal_const_time(stored, sha);
    return is_md5 || is_sha;
}

bool password_column_is_md5(int column_length)
{
    return column_length < 64;
}

void password_hash(int column_length, const char *password, char out[65])
{
    if (password_column_is_md5(column_length))
        md5_hex(password, strlen(password), out);
    else
        sha256_hex(password, out);
}

/* Java admins of 2.x take a cookie with the value of the column: so it must be a secret. */
enum err password_make_none(char out[PASSWORD_NONE_MAX], struct errctx *ec)
{
    out[0] = '!';
    return random_hex(out + 1, (PASSWORD_NONE_MAX - 2) / 2, ec);
}

bool password_is_none(const char *stored)
{
    size_t len = strlen(stored);

    return len != 32 && len != 64;
}

enum err check_line(const char *field, struct text_part text, size_t min, size_t max, bool utf16, struct refusal *r)
{
    size_t count = utf8_count(text.at, text.len, utf16);

    if (!utf8_is_valid(text.at, text.len))
        return refuse(r, REFUSED_INVALID, field, "%s is not UTF-8", field);
    if (count < min || count > max)
        return refuse_length(r, field, min, max, "%s must have %zu to %zu characters", field, min, max);
    if (text_has_control(text.at, text.len))
        return refuse(r, REFUSED_INVALID, field, "%s must not have control characters", field);
    return ERR_OK;
}

/* Takes the text when it is one, and long enough. */
static enum err check_text(const char *field, const char *text, size_t min, size_t max, char **out, struct refusal *r)
{
    struct text_part t = text_trim(text ? text : "");
    size_t units = utf8_count(t.at, t.len, /*utf16=*/true);

    if (!t.len)
        return refuse(r, REFUSED_REQUIRED, field, "%s is required", field);
    if (!utf8_is_valid(t.at, t.len))
        return refuse(r, REFUSED_INVALID, field, "%s is not UTF-8", field);
    if (units < min || units > max)
        return refuse_length(r, field, min, max, "%s must have %zu to %zu characters", field, min, max);
    *out = strndup(t.at, t.len);
    return *out ? ERR_OK : refuse(r, REFUSED_BROKEN, NULL, "out of memory");
}

/* What could be mark-up wherever the name is shown, or end a line of a log. */
static bool is_fit_for_name(char c)
{
    return (unsigned char)c >= ' ' && c != 0x7f && !strchr("<>\"'&\\", c);
}

enum err check_name(const char *text, size_t min, size_t max, char **out, struct refusal *r)
{
    char *name = NULL;
    enum err e = check_text("username", text, min, max, &name, r);

    if (e)
        return e;
    for (const char *c = name; *c; c++) {
        if (!is_fit_for_name(*c)) {
            free(name);
            return refuse(r, REFUSED_INVALID, "username",
                          "username must not have control characters or any of < > \" ' & \\");
        }
    }
    *out = name;
    return ERR_OK;
}

enum err check_password(const char *text, bool strong, char **out, struct refusal *r)
{
    return strong ? check_text("password", text, STRONG_WORDS_MIN, STRONG_WORDS_MAX, out, r)
                  : check_text("password", text, WORDS_MIN, WORDS_MAX, out, r);
}

/* SPDX-License-Identifier: MIT */
#include "directory/filter.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- filters ----------------------------------------------------------------------------------------------------- */

static bool is_harmless(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("-_.@,=", c));
}

/* As a value of RFC 4515: only letters, digits and a few harmless characters stay, every other byte is \xx. */
static void put_value(struct buf *out, const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (is_harmless(*c))
            buf_putc(out, (char)*c);
        else
            buf_printf(out, "\\%02x", *c);
    }
}

static void put_or_any(struct buf *out, const char *value)
{
    if (value)
        put_value(out, value);
    else
        buf_putc(out, '*');
}

void filter_put(struct buf *out, const char *template, const char *user, const char *dn)
{
    for (const char *at = template; *at;) {
        if (!strncmp(at, "{user}", 6)) {
            put_or_any(out, user);
            at += 6;
        } else if (!strncmp(at, "{dn}", 4)) {
            put_or_any(out, dn);
            at += 4;
        } else {
            buf_putc(out, *at++);
        }
    }
}

bool filter_is_whole(const char *text)
{
    size_t depth = 0, len = strlen(text);

    if (len < 3 || text[0] != '(')
        return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '(')
            depth++;
        else if (text[i] == ')' && --depth == 0)
            return i == len - 1;
    }
    return false;
}

/* ---- URLs -------------------------------------------------------------------------------------------------------- */

/* What is behind the scheme, without slashes at its end. */
static bool parse_place(const char *at, size_t len, struct directory_url *out)
{
    bool bracket = len && *at == '[';
    const char *end = at + len, *close = bracket ? memchr(at, ']', len) : NULL;
    const char *host = at + bracket;
    const char *rest = close ? close + 1 : memchr(host, ':', (size_t)(end - host));
    int64_t port;

    if (bracket && !close)
        return false;
    rest = rest ? rest : end;
    const char *host_end = close ? close : rest;
    if (host_end == host || (size_t)(host_end - host) >= sizeof out->host || (rest < end && *rest != ':'))
        return false;
    snprintf(out->host, sizeof out->host, "%.*s", (int)(host_end - host), host);
    if (strpbrk(out->host, "/?#%@\\\"<>") || (!bracket && strchr(out->host, ':')))
        return false;
    if (rest == end)
        return true;
    if (end - rest - 1 < 1 || end - rest - 1 > 5)
        return false;
    snprintf(out->port, sizeof out->port, "%.*s", (int)(end - rest - 1), rest + 1);
    return parse_int(out->port, 1, 65535, &port);
}

static bool parse_url(const char *at, size_t len, struct directory_url *out)
{
    size_t scheme;

    *out = (struct directory_url){0};
    if (len > 8 && !strncasecmp(at, "ldaps://", 8)) {
        out->tls = true;
        scheme = 8;
    } else if (len > 7 && !strncasecmp(at, "ldap://", 7)) {
        scheme = 7;
    } else {
        return false;
    }
    while (len > scheme && at[len - 1] == '/')
        len--;
    snprintf(out->port, sizeof out->port, "%s", out->tls ? "636" : "389");
    return parse_place(at + scheme, len - scheme, out);
}

enum err urls_parse(const char *text, struct directory_url out[DIRECTORY_URLS_MAX], size_t *count, struct errctx *ec)
{
    static const char between[] = " \t,";
    size_t n = 0;

    for (const char *at = text + strspn(text, between); *at; at += strspn(at, between)) {
        size_t len = strcspn(at, between);

        if (n == DIRECTORY_URLS_MAX)
            return err_set(ec, ERR_INPUT, "more than %d URLs", DIRECTORY_URLS_MAX);
        if (!parse_url(at, len, &out[n]))
            return err_set(ec, ERR_INPUT, "%.*s is not ldaps://host[:port] or ldap://host[:port]",
                           (int)(len > 200 ? 200 : len), at);
        n++;
        at += len;
    }
    if (!n)
        return err_set(ec, ERR_INPUT, "there is no URL");
    *count = n;
    return ERR_OK;
}

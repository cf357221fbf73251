/* SPDX-License-Identifier: MIT */
/*
 * jdbc_url: takes a JDBC URL of MySQL's or MariaDB's driver apart.
 *
 * A password may stand before an @ and in a parameter; so errors quote hosts and names of parameters and nothing
 * else.
 */
#include "config/jdbc_param.h"
#include "config/key.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DEFAULT_PORT 3306

void jdbc_url_destroy(struct jdbc_url *url)
{
    if (!url)
        return;
    for (size_t i = 0; i < url->host_count; i++)
        free(url->hosts[i].host);
    for (size_t i = 0; i < url->unknown_count; i++)
        free(url->unknown[i]);
    free(url->hosts);
    free(url->unknown);
    free(url->socket);
    free(url->database);
    free(url->user);
    free(url->password);
    free(url->time_zone);
    free(url->tls_ca);
    free(url);
}

static enum err add_host(struct jdbc_url *url, const char *text, size_t len, struct errctx *ec)
{
    const char *end = text + len;
    const char *host = text;
    const char *host_end;
    const char *colon;
    struct jdbc_host *added;
    int64_t port = DEFAULT_PORT;

    if (len && *text == '[') {
        host++;
        host_end = memchr(host, ']', (size_t)(end - host));
        if (!host_end || host_end == host || (host_end + 1 < end && host_end[1] != ':'))
            return err_set(ec, ERR_INPUT, "an IPv6 address must be in brackets, as in [::1]:3306");
        colon = host_end + 1 < end ? host_end + 1 : NULL;
    } else {
        colon = memchr(host, ':', len);
        host_end = colon ? colon : end;
        if (colon && memchr(colon + 1, ':', (size_t)(end - colon - 1)))
            return err_set(ec, ERR_INPUT, "a host has two colons: an IPv6 address must be in brackets");
    }
    for (const char *p = host; p < host_end; p++) {
        if (isspace((unsigned char)*p) || strchr("()[]=\\%\"'<>", *p))
            return err_set(ec, ERR_INPUT,
                           "a host name has a character that is not allowed; the form address=(host=...) "
                           "is not supported: write HOST:PORT");
    }
    if (colon) {
        char digits[6] = "";
        size_t n = (size_t)(end - colon - 1);

        if (n > 0 && n < sizeof(digits))
            memcpy(digits, colon + 1, n);
        if (!parse_int(digits, 1, 65535, &port))
            return err_set(ec, ERR_INPUT, "the port of a host must be a number from 1 to 65535");
    }
    if (!list_grow(&url->hosts, url->host_count, sizeof *added))
        return no_memory(ec);
    added = &url->hosts[url->host_count];
    added->host = host < host_end ? strndup(host, (size_t)(host_end - host)) : str_copy("localhost");
    added->port = port;
    if (!added->host)
        return no_memory(ec);
    url->host_count++;
    return ERR_OK;
}

/* USER:PASSWORD before the @ that ends it. */
static enum err parse_credentials(struct jdbc_url *url, const char *text, size_t len, struct errctx *ec)
{
    const char *colon = memchr(text, ':', len);
    size_t user_len = colon ? (size_t)(colon - text) : len;
    enum err e = jdbc_param_decode(text, user_len, "the user before the @", &url->user, ec);

    if (!e && colon)
        e = jdbc_param_decode(colon + 1, len - user_len - 1, "the password before the @", &url->password, ec);
    return e;
}

/* Everything between // and ?. */
static enum err parse_place(struct jdbc_url *url, const char *text, size_t len, struct errctx *ec)
{
    const char *end = text + len;
    /* The last @ there is, so that a password may hold one, or a slash. */
    const char *at = memrchr(text, '@', len);
    const char *slash;
    enum err e;

    if (at) {
        e = parse_credentials(url, text, (size_t)(at - text), ec);
        if (e)
            return e;
        text = at + 1;
    }
    slash = memchr(text, '/', (size_t)(end - text));
    if (!slash || slash + 1 == end)
        return err_set(ec, ERR_INPUT, "the name of the database is missing after the host");
    if (memchr(slash + 1, '/', (size_t)(end - slash - 1)))
        return err_set(ec, ERR_INPUT, "the name of the database has a slash");
    for (const char *host = text;; host++) {
        const char *comma = memchr(host, ',', (size_t)(slash - host));
        const char *host_end = comma ? comma : slash;

        if (host == host_end && (comma || host != text))
            return err_set(ec, ERR_INPUT, "a host in the list is empty");
        e = add_host(url, host, (size_t)(host_end - host), ec);
        if (e || !comma)
            break;
        host = comma;
    }
    return e ? e
             : jdbc_param_decode(slash + 1, (size_t)(end - slash - 1), "the name of the database", &url->database, ec);
}

/* Behind "//", or NULL. */
static const char *skip_scheme(const char *text)
{
    static const char *const schemes[] = {"jdbc:mysql:", "jdbc:mariadb:"};
    /* Ways of the drivers to spread what they read. Here one server is used for all, so they mean a list. */
    static const char *const ways[] = {"//",          "replication://", "loadbalance://",
                                       "failover://", "sequential://",  "load-balance-read://"};

    for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
        if (strncasecmp(text, schemes[i], strlen(schemes[i])) != 0)
            continue;
        for (size_t k = 0; k < ARRAY_LEN(ways); k++) {
            const char *way = text + strlen(schemes[i]);

            if (!strncasecmp(way, ways[k], strlen(ways[k])))
                return way + strlen(ways[k]);
        }
    }
    return NULL;
}

/* Those by which the driver looks for servers that the URL does not name. */
static const char *find_search(const char *text)
{
    static const char *const schemes[] = {"jdbc:mysql+srv:", "jdbc:mariadb:aurora:"};

    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (!strncasecmp(text, schemes[i], strlen(schemes[i])))
            return schemes[i];
    return NULL;
}

/* With an @ in it the text holds USER:PASSWORD somewhere, and who knows where they begin: then no more than jdbc:WORD:
 * or WORD:// is told. Without one a password may stand behind an equals sign. */
static enum err refuse_scheme(const char *text, struct errctx *ec)
{
    const char *first = strchr(text, ':');
    const char *second = first ? strchr(first + 1, ':') : NULL;
    size_t len = strcspn(text, "/@?=;&");
    char scheme[40];

    if (find_search(text))
        return err_set(ec, ERR_INPUT,
                       "%s looks for servers by itself, which is not supported: write all of them after jdbc:mysql:// "
                       "or jdbc:mariadb://, or the one address that always leads to the primary",
                       find_search(text));
    if (strchr(text, '@')) {
        bool is_jdbc = first && !strncasecmp(text, "jdbc:", 5);
        const char *end = is_jdbc ? second : first && !strncmp(first, "://", 3) ? first : NULL;

        if (!end || (size_t)(end - text) >= len)
            return err_set(ec, ERR_INPUT, "it does not begin with jdbc:mysql:// or jdbc:mariadb://");
        len = (size_t)(end - text) + 1;
    }
    snprintf(scheme, sizeof(scheme), "%.*s", (int)len, text);
    return err_set(ec, ERR_INPUT, "it begins with %s, not with jdbc:mysql:// or jdbc:mariadb://", quote(scheme).s);
}

enum err jdbc_url_parse(const char *text, struct jdbc_url **out, struct errctx *ec)
{
    const char *place = skip_scheme(text);
    struct jdbc_url *url;
    size_t len;
    enum err e;

    if (!place)
        return refuse_scheme(text, ec);
    url = calloc(1, sizeof *url);
    if (!url)
        return no_memory(ec);
    len = strcspn(place, "?");
    e = parse_place(url, place, len, ec);
    if (e)
        goto fail;
    e = jdbc_param_parse(url, place[len] ? place + len + 1 : "", ec);
    if (e)
        goto fail;
    *out = url;
    return ERR_OK;
fail:
    jdbc_url_destroy(url);
    return e;
}

/* password, password1 to 3, trustCertificateKeyStorePassword and the like. */
static bool is_password_param(const char *name, size_t len)
{
    static const char word[] = "password";

    for (size_t i = 0; i + sizeof(word) - 1 <= len; i++)
        if (!strncasecmp(name + i, word, sizeof(word) - 1))
            return true;
    return false;
}

void jdbc_url_write_redacted(const char *text, struct buf *out)
{
    const char *place = skip_scheme(text);
    const char *query = strchr(text, '?');
    const char *at;
    const char *colon;

    if (!place)
        place = text;
    if (!query)
        query = text + strlen(text);
    at = query > place ? memrchr(place, '@', (size_t)(query - place)) : NULL;
    colon = at ? memchr(place, ':', (size_t)(at - place)) : NULL;
    if (colon) {
        buf_append(out, text, (size_t)(colon + 1 - text));
        buf_puts(out, "(hidden)");
        text = at;
    }
    buf_append(out, text, (size_t)(query - text));
    while (*query) {
        size_t len = strcspn(query + 1, "&");
        size_t name_len = strcspn(query + 1, "=&");

        if (is_password_param(query + 1, name_len) && name_len < len) {
            buf_append(out, query, name_len + 2);
            buf_puts(out, "(hidden)");
        } else {
            buf_append(out, query, len + 1);
        }
        query += len + 1;
    }
}

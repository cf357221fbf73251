/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target for JDBC URLs. The input is the URL; a byte 1 in it stands for a password.
 *
 * Oracle      What is accepted has hosts, ports and a database that stand in the text (the database maybe with percent
 *             escapes), and is read the same again when it is written in one canonical form, with all its parts.
 *             A refusal says something. Where the password stands as one (behind `...password...=`, or between a colon
 *             and the @ before the host), neither the refusal nor the text for logs has it; and the text for logs is
 *             still the URL, but for that.
 * Run: jdbc_url_fuzz -max_len=600
 */
#include "config/key.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SECRET "s3cr3tw0rd"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void give_up(const char *text, const char *why, const char *more)
{
    fprintf(stderr, "\"%s\": %s: %s\n", text, why, more);
    abort();
}

static char *make_text(const uint8_t *data, size_t size)
{
    struct buf b = {0};

    buf_puts(&b, "");
    for (size_t i = 0; i < size && data[i]; i++) {
        if (data[i] == 1)
            buf_puts(&b, SECRET);
        else
            buf_putc(&b, (char)data[i]);
    }
    return buf_take(&b);
}

/* ---- where a password stands ------------------------------------------------------------------------------------- */

/* Without a look at what the parser does: every one in the text is the value of a parameter with that name, or stands
 * before the last @ and behind the first colon of what follows the slashes. */
static bool is_password(const char *text, const char *at)
{
    const char *query = strchr(text, '?');
    const char *place = strstr(text, "//");

    if (query && at > query) {
        const char *begin = at;
        while (begin > query + 1 && begin[-1] != '&')
            begin--;
        const char *equals = memchr(begin, '=', (size_t)(at - begin));
        for (const char *p = begin; equals && p + 8 <= equals; p++)
            if (!strncasecmp(p, "password", 8))
                return true;
        return false;
    }
    if (!place || at < place)
        return false;
    size_t len = (query ? (size_t)(query - place) : strlen(place)) - 2;
    const char *colon = memchr(place + 2, ':', len), *host = memrchr(place + 2, '@', len);
    return colon && host && colon < at && at < host;
}

static bool are_passwords(const char *text)
{
    const char *at = strstr(text, SECRET);

    if (!at)
        return false;
    for (; at; at = strstr(at + 1, SECRET))
        if (!is_password(text, at))
            return false;
    return true;
}

/* ---- the canonical form ------------------------------------------------------------------------------------------ */

static void put_escaped(struct buf *out, const char *text)
{
    for (; *text; text++)
        buf_printf(out, "%%%02x", (unsigned char)*text);
}

static void put_param(struct buf *out, const char *name, const char *value)
{
    if (!value)
        return;
    buf_printf(out, "&%s=", name);
    put_escaped(out, value);
}

static char *write_url(const struct jdbc_url *url)
{
    static const char *const modes[] = {"DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"};
    struct buf b = {0};
    char number[24];

    buf_puts(&b, "jdbc:mysql://");
    for (size_t i = 0; i < url->host_count; i++) {
        const char *form = strchr(url->hosts[i].host, ':') ? "%s[%s]:%" PRId64 : "%s%s:%" PRId64;
        buf_printf(&b, form, i ? "," : "", url->hosts[i].host, url->hosts[i].port);
    }
    buf_putc(&b, '/');
    put_escaped(&b, url->database);
    buf_printf(&b, "?sslMode=%s", modes[url->tls]);
    put_param(&b, "user", url->user);
    put_param(&b, "password", url->password);
    put_param(&b, "connectionTimeZone", url->time_zone);
    put_param(&b, "localSocket", url->socket);
    put_param(&b, "serverSslCert", url->tls_ca);
    snprintf(number, sizeof number, "%" PRId64, url->connect_timeout_ms);
    put_param(&b, "connectTimeout", number);
    snprintf(number, sizeof number, "%" PRId64, url->socket_timeout_ms);
    put_param(&b, "socketTimeout", number);
    for (size_t i = 0; i < url->unknown_count; i++) /* what may stand before a name, so that the next one is whole */
        buf_printf(&b, "&amp;%s=", url->unknown[i]);
    return buf_take(&b);
}

static bool is_same(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static bool are_same(const struct jdbc_url *a, const struct jdbc_url *b, bool with_password)
{
    bool same = a->host_count == b->host_count && a->unknown_count == b->unknown_count &&
                is_same(a->socket, b->socket) && is_same(a->database, b->database) && is_same(a->user, b->user) &&
                (with_password ? is_same(a->password, b->password) : !a->password == !b->password) &&
                is_same(a->time_zone, b->time_zone) && a->tls == b->tls && is_same(a->tls_ca, b->tls_ca) &&
                a->connect_timeout_ms == b->connect_timeout_ms && a->socket_timeout_ms == b->socket_timeout_ms;

    for (size_t i = 0; same && i < a->host_count; i++)
        same = is_same(a->hosts[i].host, b->hosts[i].host) && a->hosts[i].port == b->hosts[i].port;
    for (size_t i = 0; same && i < a->unknown_count; i++)
        same = is_same(a->unknown[i], b->unknown[i]);
    return same;
}

/* ---- the checks -------------------------------------------------------------------------------------------------- */

static void check_again(const char *text, const struct jdbc_url *url, char *again, bool with_password)
{
    struct jdbc_url *second = NULL;
    struct errctx ec = {""};

    if (jdbc_url_parse(again, &second, &ec))
        give_up(again, "what was written of an accepted URL is refused", ec.text);
    if (!are_same(url, second, with_password))
        give_up(text, "is read differently when it is written as", again);
    jdbc_url_destroy(second);
    free(again);
}

static void check_parts(const char *text, const struct jdbc_url *url)
{
    char number[24];

    if (!url->host_count || !*url->database)
        give_up(text, "accepted", "without a host or a database");
    for (size_t i = 0; i < url->host_count; i++) {
        const struct jdbc_host *h = &url->hosts[i];
        snprintf(number, sizeof number, "%" PRId64, h->port);
        if (!strstr(text, h->host) && strcmp(h->host, "localhost") != 0)
            give_up(text, "a host that is not there", h->host);
        if (h->port < 1 || h->port > 65535 || (h->port != 3306 && !strstr(text, number)))
            give_up(text, "a port that is not there", number);
    }
    if (!strchr(text, '%') && !strstr(text, url->database))
        give_up(text, "a database that is not there", url->database);
}

static char *write_for_log(const char *text)
{
    struct buf b = {0};

    buf_puts(&b, "");
    jdbc_url_write_redacted(text, &b);
    return buf_take(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = make_text(data, size), *for_log = write_for_log(text);
    struct jdbc_url *url = NULL;
    struct errctx ec = {""};
    bool secret = are_passwords(text);
    enum err e = jdbc_url_parse(text, &url, &ec);

    if (secret && strstr(for_log, SECRET))
        give_up(text, "the password shows", for_log);
    if (e && (e != ERR_INPUT || url || !ec.text[0]))
        give_up(text, "a refusal without a reason", ec.text);
    if (e && secret && strstr(ec.text, SECRET))
        give_up(text, "the refusal shows the password", ec.text);
    if (!e) {
        check_parts(text, url);
        check_again(text, url, write_url(url), /*with_password=*/true);
        check_again(text, url, write_for_log(text), /*with_password=*/false);
    }
    jdbc_url_destroy(url);
    free(for_log);
    free(text);
    return 0;
}

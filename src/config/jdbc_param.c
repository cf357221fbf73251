/* SPDX-License-Identifier: MIT */
#include "config/jdbc_param.h"

#include "config/key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_TIMEOUT_MS INT32_MAX

/* What the parameters said, until all are read. */
struct words {
    struct jdbc_url *url;
    bool mode_given; /* sslMode, which goes before the three below */
    bool use_ssl, require_ssl, verify_certificate;
    bool preserve_instants;
};

enum param_kind { PARAM_TEXT, PARAM_TIMEOUT, PARAM_MODE, PARAM_FLAG };

static const struct param {
    const char *name;
    enum param_kind kind;
    size_t offset; /* in struct jdbc_url; of a flag in struct words */
} params[] = {
    {"user", PARAM_TEXT, offsetof(struct jdbc_url, user)},
    {"password", PARAM_TEXT, offsetof(struct jdbc_url, password)},
    {"serverTimezone", PARAM_TEXT, offsetof(struct jdbc_url, time_zone)},
    {"connectionTimeZone", PARAM_TEXT, offsetof(struct jdbc_url, time_zone)},
    {"preserveInstants", PARAM_FLAG, offsetof(struct words, preserve_instants)},
    {"localSocketAddress", PARAM_TEXT, offsetof(struct jdbc_url, socket)},
    {"localSocket", PARAM_TEXT, offsetof(struct jdbc_url, socket)},
    {"connectTimeout", PARAM_TIMEOUT, offsetof(struct jdbc_url, connect_timeout_ms)},
    {"socketTimeout", PARAM_TIMEOUT, offsetof(struct jdbc_url, socket_timeout_ms)},
    {"sslMode", PARAM_MODE, offsetof(struct jdbc_url, tls)},
    {"useSSL", PARAM_FLAG, offsetof(struct words, use_ssl)},
    {"requireSSL", PARAM_FLAG, offsetof(struct words, require_ssl)},
    {"verifyServerCertificate", PARAM_FLAG, offsetof(struct words, verify_certificate)},
    {"serverSslCert", PARAM_TEXT, offsetof(struct jdbc_url, tls_ca)},
};

/* Of the driver's own working; nothing here depends on them. */
static const char *const meaningless[] = {
    "allowLoadLocalInfile",
    "allowMultiQueries",
    "allowPublicKeyRetrieval",
    "autoReconnect",
    "autoReconnectForPools",
    "cachePrepStmts",
    "cacheResultSetMetadata",
    "cacheServerConfiguration",
    "characterEncoding",
    "characterSetResults",
    "connectionCollation",
    "defaultFetchSize",
    "elideSetAutoCommits",
    "failOverReadOnly",
    "initialTimeout",
    "maintainTimeStats",
    "maxReconnects",
    "noAccessToProcedureBodies",
    "nullCatalogMeansCurrent",
    "nullDatabaseMeansCurrent",
    "prepStmtCacheSize",
    "prepStmtCacheSqlLimit",
    "rewriteBatchedStatements",
    "tcpKeepAlive",
    "tinyInt1isBit",
    "transformedBitIsBoolean",
    "useAffectedRows",
    "useCursorFetch",
    "useInformationSchema",
    "useJDBCCompliantTimezoneShift",
    "useLegacyDatetimeCode",
    "useLocalSessionState",
    "useServerPrepStmts",
    "useUnicode",
    "yearIsDateType",
    "zeroDateTimeBehavior",
};

/* A plus stays one, so that serverTimezone=GMT+8 is what it
 * says; Java's drivers make it a blank, and nobody means that. */
enum err jdbc_param_decode(const char *text, size_t len, const char *what, char **out, struct errctx *ec)
{
    char *plain = malloc(len + 1);
    size_t n = 0;

    if (!plain)
        return no_memory(ec);
    for (size_t i = 0; i < len; i++) {
        char c = text[i];

        if (c == '%') {
            int byte = i + 2 < len ? hex_byte(text + i + 1) : -1;

            if (byte <= 0) {
                free(plain);
                return err_set(ec, ERR_INPUT, "%s: a %% must be followed by two hex digits that are not 00", what);
            }
            c = (char)byte;
            i += 2;
        }
        plain[n++] = c;
    }
    plain[n] = 0;
    free(*out);
    *out = plain;
    return ERR_OK;
}

/* Whoever separates parameters by something else than & has the next ones in the value, a password maybe. */
static struct quoted quote_word(const char *value)
{
    char word[32];

    snprintf(word, sizeof(word), "%.*s", (int)strcspn(value, ";,&?@=: \t"), value);
    return quote(word);
}

static enum err parse_flag(const char *name, const char *value, bool *out, struct errctx *ec)
{
    bool yes = !strcasecmp(value, "true") || !strcasecmp(value, "yes") || !strcmp(value, "1");

    if (!yes && strcasecmp(value, "false") && strcasecmp(value, "no") && strcmp(value, "0"))
        return err_set(ec, ERR_INPUT, "parameter %s: got %s, expected true or false", name, quote_word(value).s);
    *out = yes;
    return ERR_OK;
}

static enum err parse_timeout(const char *name, const char *value, int64_t *out, struct errctx *ec)
{
    if (!parse_int(value, 0, MAX_TIMEOUT_MS, out))
        return err_set(ec, ERR_INPUT, "parameter %s: got %s, expected milliseconds as a whole number", name,
                       quote_word(value).s);
    return ERR_OK;
}

static enum err parse_ssl_mode(const char *value, enum jdbc_tls *out, struct errctx *ec)
{
    static const struct {
        const char *name;
        enum jdbc_tls mode;
    } modes[] = {
        {"DISABLED", JDBC_TLS_DISABLED},
        {"PREFERRED", JDBC_TLS_PREFERRED},
        {"REQUIRED", JDBC_TLS_REQUIRED},
        {"VERIFY_CA", JDBC_TLS_VERIFY_CA},
        {"VERIFY-CA", JDBC_TLS_VERIFY_CA},
        {"VERIFY_IDENTITY", JDBC_TLS_VERIFY_IDENTITY},
        {"DISABLE", JDBC_TLS_DISABLED},
        {"TRUST", JDBC_TLS_REQUIRED},
        {"VERIFY-FULL", JDBC_TLS_VERIFY_IDENTITY},
    };

    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        if (!strcasecmp(value, modes[i].name)) {
            *out = modes[i].mode;
            return ERR_OK;
        }
    }
    return err_set(ec, ERR_INPUT,
                   "parameter sslMode: got %s, expected DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY",
                   quote_word(value).s);
}

static enum err add_unknown(struct jdbc_url *url, const char *name, struct errctx *ec)
{
    if (!list_grow(&url->unknown, url->unknown_count, sizeof *url->unknown) ||
        !(url->unknown[url->unknown_count] = str_copy(name)))
        return no_memory(ec);
    url->unknown_count++;
    return ERR_OK;
}

static bool is_meaningless(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(meaningless); i++)
        if (!strcasecmp(name, meaningless[i]))
            return true;
    return false;
}

static enum err apply_param(struct words *words, const char *name, const char *text, size_t len, struct errctx *ec)
{
    const struct param *param = params;
    char what[80];
    char *value = NULL;
    void *field;
    enum err e;

    while (param < params + ARRAY_LEN(params) && strcasecmp(name, param->name))
        param++;
    snprintf(what, sizeof(what), "parameter %.60s", name);
    if (param == params + ARRAY_LEN(params)) {
        e = jdbc_param_decode(text, len, what, &value, ec);
        free(value);
        return e || is_meaningless(name) ? e : add_unknown(words->url, name, ec);
    }
    field = (char *)(param->kind == PARAM_FLAG ? (void *)words : (void *)words->url) + param->offset;
    if (param->kind == PARAM_TEXT)
        return jdbc_param_decode(text, len, what, field, ec);
    e = jdbc_param_decode(text, len, what, &value, ec);
    if (!e && param->kind == PARAM_FLAG)
        e = parse_flag(name, value, field, ec);
    else if (!e && param->kind == PARAM_TIMEOUT)
        e = parse_timeout(name, value, field, ec);
    else if (!e)
        e = parse_ssl_mode(value, field, ec);
    words->mode_given = words->mode_given || param->kind == PARAM_MODE;
    free(value);
    return e;
}

/* Names are taken as they stand, so that jdbc_url_write_redacted knows a password by its name too. */
static enum err parse_param(struct words *words, const char *text, size_t len, struct errctx *ec)
{
    const char *equals = memchr(text, '=', len);
    size_t name_len = equals ? (size_t)(equals - text) : len;
    char *name = strndup(text, name_len);
    enum err e = name ? apply_param(words, name, equals ? equals + 1 : text, equals ? len - name_len - 1 : 0, ec)
                      : no_memory(ec);

    free(name);
    return e;
}

static void unset(char **text)
{
    free(*text);
    *text = NULL;
}

/* Shell scripts and XML leave their marks: \& and &amp; stand for & too. */
enum err jdbc_param_parse(struct jdbc_url *url, const char *text, struct errctx *ec)
{
    struct words words = {.url = url, .use_ssl = true, .preserve_instants = true};

    while (*text) {
        size_t len = strcspn(text, "&");
        const char *next = text + len + (text[len] == '&');
        enum err e = ERR_OK;

        if (text[len] == '&' && len && text[len - 1] == '\\')
            len--;
        if (!strncmp(next, "amp;", 4))
            next += 4;
        if (len)
            e = parse_param(&words, text, len, ec);
        if (e)
            return e;
        text = next;
    }
    if (!words.mode_given)
        url->tls = !words.use_ssl             ? JDBC_TLS_DISABLED
                   : words.verify_certificate ? JDBC_TLS_VERIFY_CA
                   : words.require_ssl        ? JDBC_TLS_REQUIRED
                                              : JDBC_TLS_PREFERRED;
    if (url->time_zone && (!words.preserve_instants || !*url->time_zone || !strcasecmp(url->time_zone, "LOCAL")))
        unset(&url->time_zone);
    if (url->time_zone && !strcasecmp(url->time_zone, "SERVER"))
        memcpy(url->time_zone, "SERVER", 6);
    if (url->socket && !*url->socket)
        unset(&url->socket);
    return ERR_OK;
}

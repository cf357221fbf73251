/* SPDX-License-Identifier: MIT */
#include "config/jdbc_param.h"

#include "config/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_TIMEOUT_MS INT32_MAX

/* What the parameters said, until all are read. */
struct tls_words {
    bool given;    /* sslMode, which goes before the others */
    bool disabled; /* useSSL=false */
    bool required; /* requireSSL=true */
    bool verified; /* verifyServerCertificate=true */
};

enum param {
    PARAM_USER,
    PARAM_PASSWORD,
    PARAM_ZONE,
    PARAM_PRESERVE_INSTANTS,
    PARAM_SOCKET,
    PARAM_CONNECT_TIMEOUT,
    PARAM_SOCKET_TIMEOUT,
    PARAM_SSL_MODE,
    PARAM_USE_SSL,
    PARAM_REQUIRE_SSL,
    PARAM_VERIFY_CERTIFICATE,
    PARAM_TLS_CA,
    PARAM_MEANINGLESS, /* of the driver's own working; nothing here depends on it */
};

static const struct {
    const char *name;
    enum param param;
} params[] = {
    {"user", PARAM_USER},
    {"password", PARAM_PASSWORD},
    {"serverTimezone", PARAM_ZONE},
    {"connectionTimeZone", PARAM_ZONE},
    {"preserveInstants", PARAM_PRESERVE_INSTANTS},
    {"localSocketAddress", PARAM_SOCKET},
    {"localSocket", PARAM_SOCKET},
    {"connectTimeout", PARAM_CONNECT_TIMEOUT},
    {"socketTimeout", PARAM_SOCKET_TIMEOUT},
    {"sslMode", PARAM_SSL_MODE},
    {"useSSL", PARAM_USE_SSL},
    {"requireSSL", PARAM_REQUIRE_SSL},
    {"verifyServerCertificate", PARAM_VERIFY_CERTIFICATE},
    {"serverSslCert", PARAM_TLS_CA},
    {"allowLoadLocalInfile", PARAM_MEANINGLESS},
    {"allowMultiQueries", PARAM_MEANINGLESS},
    {"allowPublicKeyRetrieval", PARAM_MEANINGLESS},
    {"autoReconnect", PARAM_MEANINGLESS},
    {"autoReconnectForPools", PARAM_MEANINGLESS},
    {"cachePrepStmts", PARAM_MEANINGLESS},
    {"cacheResultSetMetadata", PARAM_MEANINGLESS},
    {"cacheServerConfiguration", PARAM_MEANINGLESS},
    {"characterEncoding", PARAM_MEANINGLESS},
    {"characterSetResults", PARAM_MEANINGLESS},
    {"connectionCollation", PARAM_MEANINGLESS},
    {"defaultFetchSize", PARAM_MEANINGLESS},
    {"elideSetAutoCommits", PARAM_MEANINGLESS},
    {"failOverReadOnly", PARAM_MEANINGLESS},
    {"initialTimeout", PARAM_MEANINGLESS},
    {"maintainTimeStats", PARAM_MEANINGLESS},
    {"maxReconnects", PARAM_MEANINGLESS},
    {"noAccessToProcedureBodies", PARAM_MEANINGLESS},
    {"nullCatalogMeansCurrent", PARAM_MEANINGLESS},
    {"nullDatabaseMeansCurrent", PARAM_MEANINGLESS},
    {"prepStmtCacheSize", PARAM_MEANINGLESS},
    {"prepStmtCacheSqlLimit", PARAM_MEANINGLESS},
    {"rewriteBatchedStatements", PARAM_MEANINGLESS},
    {"tcpKeepAlive", PARAM_MEANINGLESS},
    {"tinyInt1isBit", PARAM_MEANINGLESS},
    {"transformedBitIsBoolean", PARAM_MEANINGLESS},
    {"useAffectedRows", PARAM_MEANINGLESS},
    {"useCursorFetch", PARAM_MEANINGLESS},
    {"useInformationSchema", PARAM_MEANINGLESS},
    {"useJDBCCompliantTimezoneShift", PARAM_MEANINGLESS},
    {"useLegacyDatetimeCode", PARAM_MEANINGLESS},
    {"useLocalSessionState", PARAM_MEANINGLESS},
    {"useServerPrepStmts", PARAM_MEANINGLESS},
    {"useUnicode", PARAM_MEANINGLESS},
    {"yearIsDateType", PARAM_MEANINGLESS},
    {"zeroDateTimeBehavior", PARAM_MEANINGLESS},
};

static enum err no_memory(struct errctx *ec)
{
    return err_set(ec, ERR_NOMEM, "out of memory");
}

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
            int high = i + 2 < len ? hex_digit(text[i + 1]) : -1;
            int low = i + 2 < len ? hex_digit(text[i + 2]) : -1;

            if (high < 0 || low < 0 || !(high | low)) {
                free(plain);
                return err_set(ec, ERR_INPUT, "%s: a %% must be followed by two hex digits that are not 00", what);
            }
            c = (char)(high << 4 | low);
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

static void move_text(char **from, char **to)
{
    free(*to);
    *to = *from;
    *from = NULL;
}

static enum err add_unknown(struct jdbc_url *url, const char *name, struct errctx *ec)
{
    char **names = realloc(url->unknown, (url->unknown_count + 1) * sizeof *names);

    if (!names)
        return no_memory(ec);
    url->unknown = names;
    names[url->unknown_count] = str_copy(name);
    if (!names[url->unknown_count])
        return no_memory(ec);
    url->unknown_count++;
    return ERR_OK;
}

/* Takes *value where it is kept. */
static enum err apply_param(struct jdbc_url *url, struct tls_words *tls, const char *name, char **value,
                            bool *preserve_instants, struct errctx *ec)
{
    size_t i = 0;
    bool flag = false;
    enum err e = ERR_OK;

    while (i < ARRAY_LEN(params) && strcasecmp(name, params[i].name))
        i++;
    if (i == ARRAY_LEN(params))
        return add_unknown(url, name, ec);
    switch (params[i].param) {
    case PARAM_USER: move_text(value, &url->user); break;
    case PARAM_PASSWORD: move_text(value, &url->password); break;
    case PARAM_ZONE: move_text(value, &url->time_zone); break;
    case PARAM_PRESERVE_INSTANTS: e = parse_flag(name, *value, preserve_instants, ec); break;
    case PARAM_SOCKET: move_text(value, &url->socket); break;
    case PARAM_CONNECT_TIMEOUT: e = parse_timeout(name, *value, &url->connect_timeout_ms, ec); break;
    case PARAM_SOCKET_TIMEOUT: e = parse_timeout(name, *value, &url->socket_timeout_ms, ec); break;
    case PARAM_SSL_MODE:
        e = parse_ssl_mode(*value, &url->tls, ec);
        tls->given = true;
        break;
    case PARAM_USE_SSL:
        e = parse_flag(name, *value, &flag, ec);
        tls->disabled = !flag;
        break;
    case PARAM_REQUIRE_SSL: e = parse_flag(name, *value, &tls->required, ec); break;
    case PARAM_VERIFY_CERTIFICATE: e = parse_flag(name, *value, &tls->verified, ec); break;
    case PARAM_TLS_CA: move_text(value, &url->tls_ca); break;
    case PARAM_MEANINGLESS: break;
    }
    return e;
}

static enum err parse_param(struct jdbc_url *url, struct tls_words *tls, const char *text, size_t len,
                            bool *preserve_instants, struct errctx *ec)
{
    const char *equals = memchr(text, '=', len);
    size_t name_len = equals ? (size_t)(equals - text) : len;
    char *name = NULL;
    char *value = NULL;
    char what[80];
    enum err e;

    /* Names are taken as they stand, so that jdbc_url_write_redacted knows a password by its name too. */
    name = strndup(text, name_len);
    if (!name)
        return no_memory(ec);
    snprintf(what, sizeof(what), "parameter %.60s", name);
    e = jdbc_param_decode(equals ? equals + 1 : text, equals ? len - name_len - 1 : 0, what, &value, ec);
    if (e)
        goto out;
    e = apply_param(url, tls, name, &value, preserve_instants, ec);
out:
    free(name);
    free(value);
    return e;
}

/* Shell scripts and XML leave their marks: \& and &amp; stand for & too. */
enum err jdbc_param_parse(struct jdbc_url *url, const char *text, struct errctx *ec)
{
    struct tls_words tls = {0};
    bool preserve_instants = true;

    while (*text) {
        size_t len = strcspn(text, "&");
        const char *next = text + len + (text[len] == '&');
        enum err e = ERR_OK;

        if (text[len] == '&' && len && text[len - 1] == '\\')
            len--;
        if (!strncmp(next, "amp;", 4))
            next += 4;
        if (len)
            e = parse_param(url, &tls, text, len, &preserve_instants, ec);
        if (e)
            return e;
        text = next;
    }
    if (!tls.given)
        url->tls = tls.disabled   ? JDBC_TLS_DISABLED
                   : tls.verified ? JDBC_TLS_VERIFY_CA
                   : tls.required ? JDBC_TLS_REQUIRED
                                  : JDBC_TLS_PREFERRED;
    if (url->time_zone && (!preserve_instants || !*url->time_zone || !strcasecmp(url->time_zone, "LOCAL"))) {
        free(url->time_zone);
        url->time_zone = NULL;
    }
    if (url->time_zone && !strcasecmp(url->time_zone, "SERVER"))
        memcpy(url->time_zone, "SERVER", 6);
    if (url->socket && !*url->socket) {
        free(url->socket);
        url->socket = NULL;
    }
    return ERR_OK;
}

/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a properties file: it is read, its keys and values are looked at as the program does, and each
 * value is tried as a JDBC URL. Besides not crashing: a password must not show, and must come back as it was
 * encoded.
 */
#include "config/key.h"
#include "config/original.h"
#include "config/properties.h"
#include "config/settings.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum err add_pair(void *arg, const char *key, const char *value, int line, struct errctx *ec)
{
    if (line < 1 || !*key)
        abort();
    return settings_add(arg, SETTING_FROM_FILE, "f", key, value, ec);
}

static void try_url(const char *text)
{
    struct jdbc_url *url = NULL;
    struct buf redacted = {0};
    struct errctx ec = {{0}};

    jdbc_url_write_redacted(text, &redacted);
    if (!jdbc_url_parse(text, &url, &ec) &&
        (!url->host_count || !url->database || !url->hosts[0].host || url->hosts[0].port < 1))
        abort();
    jdbc_url_destroy(url);
    buf_fini(&redacted);
}

/* Neither the list of values nor an error may show a password behind whatever URL. */
static void try_secret(const char *text)
{
    static const char secret[] = "tE5tS3cr3t";
    struct jdbc_url *url = NULL;
    struct buf whole = {0};
    struct buf redacted = {0};
    struct errctx ec = {{0}};

    if (strstr(text, secret))
        return;
    buf_printf(&whole, "%s%cpassword=%s", text, strchr(text, '?') ? '&' : '?', secret);
    jdbc_url_write_redacted(whole.data, &redacted);
    if (strstr(redacted.data, secret))
        abort();
    if (jdbc_url_parse(whole.data, &url, &ec)) {
        if (strstr(ec.text, secret))
            abort();
    } else if (!url->password || strcmp(url->password, secret)) {
        abort();
    }
    jdbc_url_destroy(url);
    buf_fini(&redacted);
    buf_fini(&whole);
}

/* Any bytes but NUL, encoded, come back as they were, before the @ and as a parameter. */
static void try_password(const char *password)
{
    struct jdbc_url *url = NULL;
    struct buf encoded = {0};
    struct buf text = {0};
    struct errctx ec = {{0}};

    for (const char *p = password; *p; p++)
        buf_printf(&encoded, "%%%02x", (unsigned char)*p);
    buf_puts(&encoded, "");
    buf_printf(&text, "jdbc:mysql://u:x%s@h/d?user=%s", encoded.data, encoded.data);
    if (jdbc_url_parse(text.data, &url, &ec) || strcmp(url->user, password) || strcmp(url->password + 1, password))
        abort();
    jdbc_url_destroy(url);
    buf_fini(&encoded);
    buf_fini(&text);
}

static void try_setting(const struct settings *settings, char **envp, const struct setting *setting)
{
    struct errctx ec = {{0}};
    char *value = NULL;

    (void)original_find(setting->name);
    (void)original_find_variable(setting->name, strlen(setting->name));
    for (size_t i = 0; i < KEY_COUNT; i++) {
        struct key_value parsed = {0};

        (void)name_is_variable(setting->name, strlen(setting->name), key_rows[i].name);
        (void)name_distance(setting->name, key_rows[i].name);
        if (!key_parse(&key_rows[i], setting->value, &parsed, &ec))
            free(parsed.text);
    }
    (void)quote(setting->value);
    try_url(setting->value);
    if (!settings_resolve(settings, envp, setting->value, &value, &ec))
        try_url(value);
    free(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char *envp[] = {"HOME=/root", "A_B=${a.b:x}", NULL};
    struct settings settings = {0};
    struct properties_sink sink = {.add = add_pair, .arg = &settings};
    struct errctx ec = {{0}};
    char *text = malloc(size + 14);

    if (!text)
        return 0;
    if (properties_parse("f", (const char *)data, size, &sink, &ec) && !*ec.text)
        abort();
    for (size_t i = 0; i < settings.count; i++)
        try_setting(&settings, envp, &settings.items[i]);
    settings_fini(&settings);

    memcpy(text, "jdbc:mysql://", 13);
    memcpy(text + 13, data, size);
    text[13 + size] = 0;
    try_url(text);
    try_secret(text);
    try_secret(text + 13);
    try_password(text + 13);
    free(text);
    return 0;
}

/* SPDX-License-Identifier: MIT */
#include "admin/people/totp.h"

#include <stdio.h>
#include <string.h>

#define ISSUER "shardwheel"

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/* ---- base32 ------------------------------------------------------------------------------------------------------ */

/* Of a multiple of five bytes: no padding. */
static void put_base32(const unsigned char *bytes, size_t len, char *out)
{
    uint64_t bits = 0;
    unsigned have = 0;

    for (size_t i = 0; i < len; i++) {
        bits = (bits << 8 | bytes[i]) & 0xffff;
        for (have += 8; have >= 5; have -= 5)
            *out++ = letters[bits >> (have - 5) & 31];
    }
    *out = '\0';
}

/* How many bytes; 0 when it is none, or too long. */
static size_t read_base32(const char *text, unsigned char *out, size_t size)
{
    uint64_t bits = 0;
    unsigned have = 0;
    size_t len = 0;

    for (; *text; text++) {
        const char *at = strchr(letters, *text);
        if (!at)
            return 0;
        bits = (bits << 5 | (uint64_t)(at - letters)) & 0xffff;
        have += 5;
        if (have < 8)
            continue;
        have -= 8;
        if (len == size)
            return 0;
        out[len++] = (unsigned char)(bits >> have);
    }
    return len;
}

/* ---- codes ------------------------------------------------------------------------------------------------------- */

enum err totp_make_secret(char out[FACTOR_SECRET_MAX], struct errctx *ec)
{
    unsigned char bytes[TOTP_SECRET_BYTES];
    enum err e = random_bytes(bytes, sizeof bytes, ec);

    if (!e)
        put_base32(bytes, sizeof bytes, out);
    explicit_bzero(bytes, sizeof bytes);
    return e;
}

bool totp_make_code(const char *secret, int64_t step, char out[TOTP_DIGITS + 1])
{
    unsigned char key[FACTOR_SECRET_MAX], message[8], mac[20];
    size_t len = read_base32(secret, key, sizeof key);

    if (!len)
        return false;
    for (int i = 0; i < 8; i++)
        message[i] = (unsigned char)((uint64_t)step >> (56 - 8 * i));
    hmac_sha1(key, len, message, sizeof message, mac);
    const unsigned char *at = mac + (mac[19] & 15);
    uint32_t number = (uint32_t)(at[0] & 127) << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    snprintf(out, TOTP_DIGITS + 1, "%06u", number % 1000000);
    explicit_bzero(key, sizeof key);
    return true;
}

/* Without what is in `skipped`; false when it has not the length, or other characters than `allowed`. */
static bool clean(const char *text, const char *skipped, const char *allowed, size_t len, char *out)
{
    size_t n = 0;

    for (; *text; text++) {
        char c = *text >= 'A' && *text <= 'Z' ? (char)(*text + 'a' - 'A') : *text;
        if (strchr(skipped, c))
            continue;
        if (n == len || !strchr(allowed, c))
            return false;
        out[n++] = c;
    }
    out[n] = '\0';
    return n == len;
}

int64_t totp_find_step(const char *secret, const char *code, int64_t now_ms, int64_t last_step)
{
    char given[TOTP_DIGITS + 1], right[TOTP_DIGITS + 1];
    int64_t now = now_ms / TOTP_STEP_MS, found = 0;

    if (!clean(code, " \t", ASCII_DIGITS, TOTP_DIGITS, given))
        return 0;
    for (int64_t step = now - 1; step <= now + 1; step++) {
        bool fits = totp_make_code(secret, step, right) && str_equal_const_time(given, right);
        if (fits && step > last_step)
            found = step;
    }
    return found;
}

void totp_put_url(struct buf *out, const char *name, const char *secret)
{
    buf_puts(out, "otpauth://totp/" ISSUER ":");
    buf_put_url(out, name, strlen(name));
    buf_printf(out, "?secret=%s&issuer=" ISSUER, secret);
}

/* ---- recovery codes ---------------------------------------------------------------------------------------------- */

enum err recovery_make(char out[RECOVERY_TEXT_MAX], struct errctx *ec)
{
    unsigned char bytes[RECOVERY_BYTES];
    char text[17];
    enum err e = random_bytes(bytes, sizeof bytes, ec);

    if (e)
        return e;
    put_base32(bytes, sizeof bytes, text);
    for (char *c = text; *c; c++)
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 'a' - 'A') : *c;
    snprintf(out, RECOVERY_TEXT_MAX, "%.4s-%.4s-%.4s-%.4s", text, text + 4, text + 8, text + 12);
    return ERR_OK;
}

bool recovery_hash(const char *text, char out[SECRET_HASH_MAX])
{
    char cleaned[17];

    if (!clean(text, " \t-", "abcdefghijklmnopqrstuvwxyz234567", 16, cleaned))
        return false;
    sha256_hex(cleaned, out);
    return true;
}

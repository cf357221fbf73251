/* SPDX-License-Identifier: MIT */
/* The strict part of JSON, and instants. */
#include "http/v1/read.h"
#include "shardwheel/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static const char *skip_digits(const char *p)
{
    return p + strspn(p, "0123456789");
}

/* RFC 8259: no leading zero, digits on both sides of a point. */
static bool is_number(const char *text, size_t len)
{
    char copy[400];
    const char *p = copy, *from;

    if (len >= sizeof copy)
        return false;
    memcpy(copy, text, len);
    copy[len] = '\0';
    p += *p == '-';
    from = p;
    p = skip_digits(p);
    if (p == from || (*from == '0' && p > from + 1))
        return false;
    if (*p == '.') {
        from = ++p;
        p = skip_digits(p);
        if (p == from)
            return false;
    }
    if (*p == 'e' || *p == 'E') {
        p++;
        p += *p == '-' || *p == '+';
        from = p;
        p = skip_digits(p);
        if (p == from)
            return false;
    }
    return !*p;
}

static bool is_word(const char *text, size_t len)
{
    static const char *const words[] = {"true", "false", "null"};

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strlen(words[i]) == len && !memcmp(words[i], text, len))
            return true;
    }
    return false;
}

/* Half of a character beyond U+FFFF, written as \uD8.. or \uDC..: 1 or 2; else 0. */
static int find_half(const char *p)
{
    if (p[0] != '\\' || p[1] != 'u' || (p[2] | 0x20) != 'd')
        return 0;
    if (p[3] == '8' || p[3] == '9' || (p[3] | 0x20) == 'a' || (p[3] | 0x20) == 'b')
        return 1;
    return (p[3] | 0x20) >= 'c' ? 2 : 0;
}

/* The end of a text that begins at `p` with its quote, or NULL: a control character or half a character is in it. */
static const char *skip_text(const char *p)
{
    for (p++; *p != '"'; p++) {
        int half = find_half(p);
        if ((unsigned char)*p < ' ' || half == 2 || (half == 1 && find_half(p + 6) != 2))
            return NULL;
        p += half ? 11 : *p == '\\';
    }
    return p + 1;
}

/* A comma with nothing but an end behind it. */
static bool is_last_comma(const char *p)
{
    p += 1 + strspn(p + 1, " \t\r\n");
    return *p == ']' || *p == '}';
}

enum err json_check_strict(const char *text, size_t len, struct errctx *ec)
{
    const char *end = text + len, *p = text;

    if (!utf8_is_valid(text, len))
        return err_set(ec, ERR_INPUT, "the body is no UTF-8");
    while (p < end) {
        const char *from = p;
        if (*p == '"') {
            p = skip_text(p);
            if (!p)
                return err_set(ec, ERR_INPUT,
                               "a text of the body has a control character or half a character in it, at byte %zu",
                               (size_t)(from - text));
        } else if (strchr(" \t\r\n{}[]:", *p)) {
            p++;
        } else if (*p == ',') {
            if (is_last_comma(p))
                return err_set(ec, ERR_INPUT, "the body is no JSON: a comma has nothing behind it, at byte %zu",
                               (size_t)(from - text));
            p++;
        } else {
            size_t n = strcspn(p, " \t\r\n{}[]:,\"");
            if (!is_word(p, n) && !is_number(p, n))
                return err_set(ec, ERR_INPUT, "the body is no JSON: a value was expected at byte %zu",
                               (size_t)(from - text));
            p += n;
        }
    }
    return ERR_OK;
}

/* ---- instants ---------------------------------------------------------------------------------------------------- */

/* `n` digits as a number, or -1. */
static int read_digits(const char **p, size_t n)
{
    int value = 0;

    for (size_t i = 0; i < n; i++, (*p)++) {
        if (!isdigit((unsigned char)**p))
            return -1;
        value = 10 * value + (**p - '0');
    }
    return value;
}

static bool skip_one(const char **p, const char *of)
{
    if (!**p || !strchr(of, **p))
        return false;
    (*p)++;
    return true;
}

static bool is_date(int year, int month, int day)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 || year % 400 == 0);

    return year >= 1970 && month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1] + (leap && month == 2);
}

/* What follows the minutes: ":07.5", of which milliseconds are kept. */
static bool read_second(const char **p, int *second, int *ms)
{
    int scale = 100;

    if (!skip_one(p, ":"))
        return false;
    *second = read_digits(p, 2);
    *ms = 0;
    if (!skip_one(p, "."))
        return true;
    if (!isdigit((unsigned char)**p))
        return false;
    for (; isdigit((unsigned char)**p); (*p)++, scale /= 10)
        *ms += (**p - '0') * scale;
    return true;
}

/* "Z", or how far the zone is ahead of UTC. */
static bool read_zone(const char **p, int *ahead_minutes)
{
    *ahead_minutes = 0;
    if (skip_one(p, "zZ"))
        return true;
    int sign = **p == '-' ? -1 : 1;
    if (!skip_one(p, "+-"))
        return false;
    int hours = read_digits(p, 2);
    if (hours < 0 || hours > 23 || !skip_one(p, ":"))
        return false;
    int minutes = read_digits(p, 2);
    *ahead_minutes = sign * (60 * hours + minutes);
    return minutes >= 0 && minutes <= 59;
}

bool instant_parse(const char *text, int64_t *out_ms)
{
    const char *p = text;
    struct tm tm = {0};
    int ms, ahead_minutes;

    int year = read_digits(&p, 4);
    if (year < 0 || !skip_one(&p, "-"))
        return false;
    int month = read_digits(&p, 2);
    if (month < 0 || !skip_one(&p, "-"))
        return false;
    int day = read_digits(&p, 2);
    if (day < 0 || !is_date(year, month, day) || !skip_one(&p, "tT"))
        return false;
    tm.tm_year = year - 1900;
    tm.tm_mon = month - 1;
    tm.tm_mday = day;
    tm.tm_hour = read_digits(&p, 2);
    if (tm.tm_hour < 0 || tm.tm_hour > 23 || !skip_one(&p, ":"))
        return false;
    tm.tm_min = read_digits(&p, 2);
    if (tm.tm_min < 0 || tm.tm_min > 59 || !read_second(&p, &tm.tm_sec, &ms) || tm.tm_sec < 0 || tm.tm_sec > 60)
        return false;
    if (!read_zone(&p, &ahead_minutes) || *p)
        return false;
    int64_t out = ((int64_t)timegm(&tm) - 60 * ahead_minutes) * 1000 + ms;
    if (out < 0)
        return false;
    *out_ms = out;
    return true;
}

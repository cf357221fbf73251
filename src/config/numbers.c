/* SPDX-License-Identifier: MIT */
/* numbers: numbers, durations, sizes and words of a list, from text and back. Bounds are checked by the caller.
 */
#include "config/key.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

struct unit {
    const char *suffix;
    int64_t factor;
};

/* Largest first, so that writing finds the shortest form; the first one of equal factor is the one written. */
static const struct unit duration_units[] = {
    {"d", 24 * HOUR_MS}, {"h", HOUR_MS}, {"m", MINUTE_MS}, {"s", SECOND_MS}, {"ms", 1},
};
static const struct unit size_units[] = {
    {"g", 1024 * MEBI}, {"gb", 1024 * MEBI}, {"m", MEBI}, {"mb", MEBI}, {"k", KIBI}, {"kb", KIBI}, {"b", 1},
};
/* Ended by NULL; the words of an enum stand in its order. */
static const char *const words[][6] = {
    [KIND_SWITCH] = {"off", "on"},
    [KIND_AUTO_OFF] = {"off", "auto"},
    [KIND_SHORT_LONG] = {"short", "long"},
    [KIND_PASSWORDS] = {"original", "strong"},
    [KIND_LEVEL] = {"error", "warn", "info", "debug"},
    [KIND_FORMAT] = {"keyvalue", "json"},
    [KIND_DIALECT] = {"auto", "A", "B", "C", "D"},
    [KIND_GLUE] = {"on", "off", "bean-only"},
    [KIND_KEPT] = {"off", "failed", "all"},
    [KIND_ENABLED] = {"off", "on", "auto"},
    [KIND_CLIENT_AUTH] = {"none", "want", "need"},
    [KIND_COORDINATION] = {"auto", "zookeeper", "standalone"},
};

const char *config_glue_name(enum config_glue glue)
{
    return words[KIND_GLUE][glue];
}

/* Reads digits with an optional sign; false when there are none or they overflow. *rest is what follows. */
static bool read_number(const char *text, int64_t *out, const char **rest)
{
    bool negative = *text == '-';
    int64_t value = 0;
    const char *p = text + (*text == '-' || *text == '+');

    if (!isdigit((unsigned char)*p))
        return false;
    for (; isdigit((unsigned char)*p); p++) {
        int digit = *p - '0';

        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, negative ? -digit : digit, &value))
            return false;
    }
    *out = value;
    *rest = p;
    return true;
}

/* A number and a suffix of the table; a number alone counts `plain` each. */
static bool parse_with_unit(const char *text, const struct unit *units, size_t count, int64_t plain, int64_t *out)
{
    const char *suffix;
    int64_t value;
    int64_t factor = 0;

    if (!read_number(text, &value, &suffix))
        return false;
    if (!*suffix)
        factor = plain;
    for (size_t i = 0; i < count; i++)
        if (!strcasecmp(suffix, units[i].suffix))
            factor = units[i].factor;
    return factor && !__builtin_mul_overflow(value, factor, out);
}

/* ISO 8601 as Java's Duration reads it: PnDTnHnMn.nS, each part at most once and in this order. Digits after the
 * milliseconds are dropped. */
static bool parse_iso_duration(const char *text, int64_t *out)
{
    static const struct unit parts[] = {{"D", 24 * HOUR_MS}, {"H", HOUR_MS}, {"M", MINUTE_MS}, {"S", SECOND_MS}};
    const char *p = text;
    int64_t total = 0;
    size_t next = 0;
    bool in_time = false;

    if (toupper((unsigned char)*p++) != 'P')
        return false;
    while (*p) {
        int64_t value, millis = 0;

        if (!in_time && toupper((unsigned char)*p) == 'T') {
            in_time = true;
            next = 1;
            p++;
        }
        if (!isdigit((unsigned char)*p) || !read_number(p, &value, &p))
            return false;
        if (*p == '.') {
            for (int64_t weight = 100; isdigit((unsigned char)*++p); weight /= 10)
                millis += (*p - '0') * weight;
            if (toupper((unsigned char)*p) != 'S')
                return false;
        }
        while (next < ARRAY_LEN(parts) && toupper((unsigned char)*p) != parts[next].suffix[0])
            next++;
        if (next == ARRAY_LEN(parts) || (next > 0) != in_time ||
            __builtin_mul_overflow(value, parts[next].factor, &value) || __builtin_add_overflow(total, value, &total) ||
            __builtin_add_overflow(total, millis, &total))
            return false;
        next++;
        p++;
    }
    *out = total;
    return text[1];
}

static bool parse_word(enum key_kind kind, const char *text, int64_t *out)
{
    static const struct unit synonyms[] = {{"true", 1}, {"yes", 1}, {"1", 1}, {"false", 0}, {"no", 0}, {"0", 0}};

    for (int64_t i = 0; words[kind][i]; i++) {
        if (!strcasecmp(text, words[kind][i])) {
            *out = i;
            return true;
        }
    }
    for (size_t i = 0; (kind == KIND_SWITCH || kind == KIND_ENABLED) && i < ARRAY_LEN(synonyms); i++) {
        if (!strcasecmp(text, synonyms[i].suffix)) {
            *out = synonyms[i].factor;
            return true;
        }
    }
    return false;
}

bool key_parse_number(const struct key_row *row, const char *text, int64_t *out)
{
    const char *rest;

    if (row->kind == KIND_INT)
        return read_number(text, out, &rest) && !*rest;
    if (row->kind == KIND_DURATION)
        return parse_iso_duration(text, out) || parse_with_unit(text, duration_units, ARRAY_LEN(duration_units),
                                                                strcmp(row->unit, "s") ? 1 : SECOND_MS, out);
    if (row->kind == KIND_SIZE)
        return parse_with_unit(text, size_units, ARRAY_LEN(size_units), 1, out);
    return parse_word(row->kind, text, out);
}

static void write_with_unit(int64_t number, const struct unit *units, size_t count, const char *plain, struct buf *out)
{
    for (size_t i = 0; number && i < count; i++) {
        if (number % units[i].factor == 0) {
            buf_printf(out, "%" PRId64 "%s", number / units[i].factor, units[i].factor == 1 ? plain : units[i].suffix);
            return;
        }
    }
    buf_put_int(out, number);
}

void key_write_number(const struct key_row *row, int64_t number, struct buf *out)
{
    if (row->kind == KIND_DURATION)
        write_with_unit(number, duration_units, ARRAY_LEN(duration_units), "ms", out);
    else if (row->kind == KIND_SIZE)
        write_with_unit(number, size_units, ARRAY_LEN(size_units), "", out);
    else if (row->kind < ARRAY_LEN(words) && words[row->kind][0])
        buf_puts(out, words[row->kind][number]);
    else
        buf_put_int(out, number);
}

void key_write_words(const struct key_row *row, struct buf *out)
{
    const char *const *list = words[row->kind];

    if (row->kind == KIND_SWITCH)
        buf_puts(out, "on or off");
    for (size_t i = 0; row->kind != KIND_SWITCH && list[i]; i++)
        buf_printf(out, "%s%s", i == 0 ? "" : list[i + 1] ? ", " : " or ", list[i]);
}

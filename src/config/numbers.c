/* SPDX-License-Identifier: MIT */
/* numbers: numbers, durations, sizes and words of a list, from text and back. Bounds are checked by the caller.
 */
#include "config/keys.h"

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
/* In the order of enum log_level. */
static const char *const level_names[] = {"error", "warn", "info", "debug"};
static const char *const format_names[] = {"keyvalue", "json"};
static const char *const auto_off_names[] = {"off", "auto"};
static const char *const short_long_names[] = {"short", "long"};
/* In the order of enum config_coordination. */
static const char *const coordination_names[] = {"auto", "zookeeper", "standalone"};
/* In the order of enum config_dialect. */
static const char *const dialect_names[] = {"auto", "A", "B", "C", "D"};
static const char *const glue_names[] = {"on", "off", "bean-only"};

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

/* Seconds may have a fraction; digits after the milliseconds are dropped. *p is left behind the digits. */
static int64_t read_millis(const char **p)
{
    int64_t millis = 0;
    int64_t weight = 100;

    for (; isdigit((unsigned char)**p); (*p)++, weight /= 10)
        millis += (**p - '0') * weight;
    return millis;
}

/* ISO 8601 as Java's Duration reads it: PnDTnHnMn.nS, each part at most once and in this order. */
static bool parse_iso_duration(const char *text, int64_t *out)
{
    static const struct unit parts[] = {{"D", 24 * HOUR_MS}, {"H", HOUR_MS}, {"M", MINUTE_MS}, {"S", SECOND_MS}};
    const char *p = text;
    int64_t total = 0;
    size_t next = 0;
    bool in_time = false;
    bool any = false;

    if (toupper((unsigned char)*p++) != 'P')
        return false;
    while (*p) {
        int64_t value;
        int64_t millis = 0;
        bool has_fraction = false;
        const char *rest;

        if (!in_time && toupper((unsigned char)*p) == 'T') {
            in_time = true;
            any = false; /* T must be followed by a part */
            next = 1;
            p++;
            continue;
        }
        if (*p == '-' || *p == '+' || !read_number(p, &value, &rest))
            return false;
        p = rest;
        if (*p == '.') {
            p++;
            has_fraction = true;
            millis = read_millis(&p);
        }
        while (next < ARRAY_LEN(parts) && toupper((unsigned char)*p) != parts[next].suffix[0])
            next++;
        if (next == ARRAY_LEN(parts) || (next > 0) != in_time || (has_fraction && parts[next].factor != SECOND_MS))
            return false;
        if (__builtin_mul_overflow(value, parts[next].factor, &value) || __builtin_add_overflow(total, value, &total) ||
            __builtin_add_overflow(total, millis, &total))
            return false;
        next++;
        p++;
        any = true;
    }
    *out = total;
    return any;
}

static bool parse_switch(const char *text, int64_t *out)
{
    static const struct unit words[] = {{"on", 1},  {"true", 1},  {"yes", 1}, {"1", 1},
                                        {"off", 0}, {"false", 0}, {"no", 0},  {"0", 0}};

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (!strcasecmp(text, words[i].suffix)) {
            *out = words[i].factor;
            return true;
        }
    }
    return false;
}

static bool parse_word(const char *text, const char *const *words, size_t count, int64_t *out)
{
    for (size_t i = 0; i < count; i++) {
        if (!strcasecmp(text, words[i])) {
            *out = (int64_t)i;
            return true;
        }
    }
    return false;
}

bool key_parse_number(const struct key_row *row, const char *text, int64_t *out)
{
    const char *rest;

    switch (row->kind) {
    case KIND_INT: return read_number(text, out, &rest) && !*rest;
    case KIND_DURATION:
        if (parse_iso_duration(text, out))
            return true;
        return parse_with_unit(text, duration_units, ARRAY_LEN(duration_units), strcmp(row->unit, "s") ? 1 : SECOND_MS,
                               out);
    case KIND_SIZE: return parse_with_unit(text, size_units, ARRAY_LEN(size_units), 1, out);
    case KIND_SWITCH: return parse_switch(text, out);
    case KIND_AUTO_OFF: return parse_word(text, auto_off_names, ARRAY_LEN(auto_off_names), out);
    case KIND_SHORT_LONG: return parse_word(text, short_long_names, ARRAY_LEN(short_long_names), out);
    case KIND_LEVEL: return parse_word(text, level_names, ARRAY_LEN(level_names), out);
    case KIND_FORMAT: return parse_word(text, format_names, ARRAY_LEN(format_names), out);
    case KIND_COORDINATION: return parse_word(text, coordination_names, ARRAY_LEN(coordination_names), out);
    case KIND_DIALECT: return parse_word(text, dialect_names, ARRAY_LEN(dialect_names), out);
    case KIND_GLUE: return parse_word(text, glue_names, ARRAY_LEN(glue_names), out);
    case KIND_TEXT:
    case KIND_PATH:
    case KIND_NAME:
    case KIND_ADDRESS:
    case KIND_NETWORKS:
    case KIND_LEVELS:
    case KIND_SERVERS:
    case KIND_JDBC:
    case KIND_DRIVER: break;
    }
    return false;
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
    switch (row->kind) {
    case KIND_DURATION: write_with_unit(number, duration_units, ARRAY_LEN(duration_units), "ms", out); break;
    case KIND_SIZE: write_with_unit(number, size_units, ARRAY_LEN(size_units), "", out); break;
    case KIND_SWITCH: buf_puts(out, number ? "on" : "off"); break;
    case KIND_AUTO_OFF: buf_puts(out, auto_off_names[number]); break;
    case KIND_SHORT_LONG: buf_puts(out, short_long_names[number]); break;
    case KIND_LEVEL: buf_puts(out, level_names[number]); break;
    case KIND_FORMAT: buf_puts(out, format_names[number]); break;
    case KIND_COORDINATION: buf_puts(out, coordination_names[number]); break;
    case KIND_DIALECT: buf_puts(out, dialect_names[number]); break;
    case KIND_GLUE: buf_puts(out, glue_names[number]); break;
    case KIND_INT:
    case KIND_TEXT:
    case KIND_PATH:
    case KIND_NAME:
    case KIND_ADDRESS:
    case KIND_NETWORKS:
    case KIND_LEVELS:
    case KIND_SERVERS:
    case KIND_JDBC:
    case KIND_DRIVER: buf_put_int(out, number); break;
    }
}

static void write_words(const char *const *words, size_t count, struct buf *out)
{
    for (size_t i = 0; i < count; i++)
        buf_printf(out, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " or ", words[i]);
}

void key_write_words(const struct key_row *row, struct buf *out)
{
    if (row->kind == KIND_LEVEL)
        write_words(level_names, ARRAY_LEN(level_names), out);
    else if (row->kind == KIND_FORMAT)
        write_words(format_names, ARRAY_LEN(format_names), out);
    else if (row->kind == KIND_COORDINATION)
        write_words(coordination_names, ARRAY_LEN(coordination_names), out);
    else if (row->kind == KIND_DIALECT)
        write_words(dialect_names, ARRAY_LEN(dialect_names), out);
    else if (row->kind == KIND_GLUE)
        write_words(glue_names, ARRAY_LEN(glue_names), out);
    else if (row->kind == KIND_AUTO_OFF)
        write_words(auto_off_names, ARRAY_LEN(auto_off_names), out);
    else if (row->kind == KIND_SHORT_LONG)
        write_words(short_long_names, ARRAY_LEN(short_long_names), out);
    else
        buf_puts(out, "on or off");
}

/* SPDX-License-Identifier: MIT */
/*
 * cron_item: one item of a field. The first character decides which function reads it.
 */
#include "cron/cron_item.h"
#include "shardwheel/text.h"

#include <inttypes.h>
#include <string.h>

/* Two plain numbers have a second meaning, by accident: the original marks "*" and "?" with them inside its sets. */
#define MARK_EVERY 99
#define MARK_NONE 98
#define LAST_OFFSET_MAX 30
#define NO_END (-1)
#define NO_STEP 0

struct field_info {
    const char *name;
    int min, max;       /* the year's max is max_year */
    int modulus;        /* where a range runs over the top; 0: it must not */
    int max_step;       /* of "/n"; ranges have no limit */
    const char *begins; /* with what an item may begin, for messages */
};

static const struct field_info field_infos[FIELD_COUNT] = {
    [FIELD_SECOND] = {"second", 0, 59, 60, 59, "a number, * or /"},
    [FIELD_MINUTE] = {"minute", 0, 59, 60, 59, "a number, * or /"},
    [FIELD_HOUR] = {"hour", 0, 23, 24, 23, "a number, * or /"},
    [FIELD_DAY_OF_MONTH] = {"day-of-month", 1, 31, 31, 31, "a number, *, /, ?, L, LW or L-n"},
    [FIELD_MONTH] = {"month", 1, 12, 12, 12, "a number, a name from JAN to DEC, * or /"},
    [FIELD_DAY_OF_WEEK] = {"day-of-week", 1, 7, 7, 7, "a number, a name from SUN to SAT, *, /, ? or L"},
    [FIELD_YEAR] = {"year", CRON_YEAR_FIRST, 0, 0, INT32_MAX, "a number, * or /"},
};

const char *cron_field_name(enum cron_field field)
{
    return field_infos[field].name;
}

struct quoted cron_quote(const char *text, size_t len)
{
    struct quoted q;
    size_t room = sizeof(q.s) - sizeof("...");
    size_t n = utf8_cut(text, len, room);

    for (size_t i = 0; i < n; i++)
        q.s[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? '.' : text[i];
    memcpy(q.s + n, n < len ? "..." : "", n < len ? sizeof("...") : 1);
    return q;
}

/* Upper case, and 0 beyond the end, so that looking ahead needs no test of the length. */
static char item_at(const struct cron_item *it, size_t i)
{
    char c = i < it->len ? it->text[i] : '\0';

    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c; /* the same in every locale */
}

static bool item_has_digit(const struct cron_item *it, size_t i)
{
    return item_at(it, i) >= '0' && item_at(it, i) <= '9';
}

static bool field_is_day(enum cron_field field)
{
    return field == FIELD_DAY_OF_MONTH || field == FIELD_DAY_OF_WEEK;
}

static void add_value(const struct cron_item *it, int64_t value)
{
    struct cron *cron = it->cron;

    if (it->field == FIELD_YEAR) {
        if (value >= 0 && value <= CRON_YEAR_LAST)
            cron->years[value / 64] |= UINT64_C(1) << (value % 64);
    } else if (value == MARK_NONE) { /* in the day fields only: for the others it is out of range */
        *(it->field == FIELD_DAY_OF_MONTH ? &cron->no_day_of_month : &cron->no_day_of_week) = true;
    } else if (value < 64 && value <= field_infos[it->field].max) { /* "8#1" is accepted and never fires */
        cron->values[it->field] |= UINT64_C(1) << value;
    }
}

/* From `start` to `end` (or the field's maximum) by `step`. NO_STEP: the start alone, or every value for
 * MARK_EVERY. */
static enum err add_range(const struct cron_item *it, int64_t start, int64_t end, int64_t step)
{
    const struct field_info *info = &field_infos[it->field];
    bool is_year = it->field == FIELD_YEAR;
    int64_t max = is_year ? it->cron->max_year : info->max;
    bool marked = start == MARK_EVERY || (start == MARK_NONE && field_is_day(it->field));

    if (!is_year && !marked && (start < info->min || start > max))
        return cron_item_fail(it, "%" PRId64 " is out of range, expected %d to %d", start, info->min, info->max);
    if (!is_year && end > max)
        return cron_item_fail(it, "the range ends at %" PRId64 ", expected at most %d", end, info->max);
    if (start == MARK_EVERY) {
        start = info->min;
        step = step <= 0 ? 1 : step;
    }
    if (step <= 0) {
        add_value(it, start);
        return ERR_OK;
    }
    if (end == NO_END && is_year && start > max)
        return cron_item_fail(it, "the first year is after the last that is searched, %" PRId64, max);
    if (end == NO_END)
        end = max;
    if (end < start) {
        if (is_year)
            return cron_item_fail(it, "years run from %" PRId64 " to %" PRId64 ", expected a later end", start, end);
        end += info->modulus;
    }
    if (is_year && end > CRON_YEAR_LAST) /* "1970-2147483647" must cost neither time nor memory */
        end = CRON_YEAR_LAST;
    for (int64_t value = start; value <= end; value += step)
        add_value(it, is_year || value <= max ? value : value - info->modulus);
    return ERR_OK;
}

/* One or more digits at *i, which moves behind them. */
static enum err read_number(const struct cron_item *it, size_t *i, int64_t *out)
{
    int64_t value = 0;

    if (!item_has_digit(it, *i))
        return cron_item_fail(it, "expected a number at character %zu", *i + 1);
    for (; item_has_digit(it, *i); ++*i) {
        value = value * 10 + (item_at(it, *i) - '0');
        if (value > INT32_MAX)
            return cron_item_fail(it, "the number is too large, expected at most %d", INT32_MAX);
    }
    *out = value;
    return ERR_OK;
}

/* All of the rest: digits, with a sign or without. */
static enum err read_rest_as_int(const struct cron_item *it, size_t i, int64_t *out)
{
    bool negative = item_at(it, i) == '-';
    enum err e;

    if (negative || item_at(it, i) == '+')
        i++;
    e = read_number(it, &i, out);
    if (e)
        return e;
    if (i < it->len)
        return cron_item_fail(it, "expected the end after the number, at character %zu", i + 1);
    if (negative)
        *out = -*out;
    return ERR_OK;
}

static enum err check_step(const struct cron_item *it, int64_t step)
{
    const struct field_info *info = &field_infos[it->field];

    if (step > info->max_step)
        return cron_item_fail(it, "step %" PRId64 " is too large, expected at most %d", step, info->max_step);
    return ERR_OK;
}

/* The number or name before the # is added by the caller. */
static enum err parse_nth(const struct cron_item *it, size_t i)
{
    int64_t nth;
    enum err e = read_rest_as_int(it, i, &nth);

    if (e)
        return e;
    if (nth < 1 || nth > 5)
        return cron_item_fail(it, "%" PRId64 " follows the #, expected 1 to 5", nth);
    it->cron->nth_week = (int)nth;
    return ERR_OK;
}

/* The number of the name whose three letters stand at i, or 0. */
static int find_name(const struct cron_item *it, size_t i)
{
    static const char months[] = "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC";
    static const char days[] = "SUNMONTUEWEDTHUFRISAT";
    const char *names = it->field == FIELD_MONTH ? months : it->field == FIELD_DAY_OF_WEEK ? days : "";
    char name[3] = {item_at(it, i), item_at(it, i + 1), item_at(it, i + 2)};

    for (int n = 0; names[n * 3] != '\0'; n++)
        if (memcmp(names + n * 3, name, 3) == 0)
            return n + 1;
    return 0;
}

/* Anything behind what is understood here is ignored: MONDAY, MON-FRIDAY and MON/2 are MON, MON-FRI and MON. */
static enum err parse_name(const struct cron_item *it)
{
    bool weekday = it->field == FIELD_DAY_OF_WEEK;
    int start = find_name(it, 0);
    int end = NO_END;
    enum err e;

    if (start == 0) /* always so in the fields without names */
        return cron_item_fail(it, "unknown word, expected %s", field_infos[it->field].begins);
    if (item_at(it, 3) == '-') {
        end = find_name(it, 4);
        if (end == 0)
            return cron_item_fail(it, "expected a name after the -, from %s", weekday ? "SUN to SAT" : "JAN to DEC");
    } else if (weekday && item_at(it, 3) == '#') {
        e = parse_nth(it, 4);
        if (e)
            return e;
    } else if (weekday && item_at(it, 3) == 'L') {
        it->cron->last_week = true;
    }
    return add_range(it, start, end, end == NO_END ? NO_STEP : 1);
}

/* "?" and one more character, whatever it is; counted as UTF-16 does, where a character beyond U+FFFF is two. */
static enum err parse_question(const struct cron_item *it)
{
    size_t units = 0;

    for (size_t i = 0; i < it->len; i++) {
        unsigned char c = (unsigned char)it->text[i];
        units += (c & 0xc0) == 0x80 ? 0 : c >= 0xf0 ? 2 : 1;
    }
    if (!field_is_day(it->field))
        return cron_item_fail(it, "? is for day-of-month and day-of-week only");
    if (units > 2)
        return cron_item_fail(it, "expected nothing after the ?");
    add_value(it, MARK_NONE);
    return ERR_OK;
}

static enum err parse_every(const struct cron_item *it)
{
    size_t slash = item_at(it, 0) == '*' ? 1 : 0;
    int64_t step;
    enum err e;

    if (item_at(it, slash) != '/') /* "*5" is "*" */
        return add_range(it, MARK_EVERY, NO_END, NO_STEP);
    e = read_rest_as_int(it, slash + 1, &step);
    if (!e)
        e = check_step(it, step);
    return e ? e : add_range(it, MARK_EVERY, NO_END, step);
}

/* Exactly L, LW, or L- with any digits and perhaps a W: other items that begin with L are taken for a name. */
static bool item_is_last(const struct cron_item *it)
{
    size_t i = 1;

    if (item_at(it, 0) != 'L')
        return false;
    if (it->len == 1 || (it->len == 2 && item_at(it, 1) == 'W'))
        return true;
    if (item_at(it, i++) != '-')
        return false;
    while (item_has_digit(it, i))
        i++;
    if (item_at(it, i) == 'W')
        i++;
    return i == it->len;
}

static enum err parse_last_day(const struct cron_item *it)
{
    int64_t offset = 0;
    size_t i = 2;
    enum err e;

    if (item_at(it, 1) == '-' && item_at(it, 2) != 'W') { /* "L-W" is "LW" */
        e = read_number(it, &i, &offset);
        if (e)
            return e;
    }
    if (offset > LAST_OFFSET_MAX)
        return cron_item_fail(it, "%" PRId64 " days before the last, expected at most %d", offset, LAST_OFFSET_MAX);
    if (item_at(it, it->len - 1) == 'W')
        it->cron->weekday_last_offsets |= UINT32_C(1) << offset;
    else
        it->cron->last_offsets |= UINT32_C(1) << offset;
    return ERR_OK;
}

static enum err parse_last(const struct cron_item *it)
{
    switch (it->field) {
    case FIELD_SECOND:
    case FIELD_MINUTE:
    case FIELD_HOUR: return cron_item_fail(it, "L is for day-of-month and day-of-week only");
    case FIELD_DAY_OF_MONTH: return parse_last_day(it);
    case FIELD_DAY_OF_WEEK:
        add_value(it, 7); /* every Saturday, also for "L-3" and "LW" */
        return ERR_OK;
    case FIELD_MONTH:
    case FIELD_YEAR:
    case FIELD_COUNT: break;
    }
    return ERR_OK; /* accepted without adding a value: if nothing else adds one, evaluation fails */
}

/* "start-end" and perhaps "/step"; i stands behind the dash. What follows is ignored. */
static enum err parse_range_tail(const struct cron_item *it, int64_t start, size_t i)
{
    int64_t end, step = 1;
    enum err e = read_number(it, &i, &end);

    if (e)
        return e;
    if (item_at(it, i) == '/') {
        i++;
        e = read_number(it, &i, &step);
        if (e)
            return e;
    }
    return add_range(it, start, end, step);
}

/* "start/step"; i stands behind the slash. Text behind a step of two or more digits is ignored, behind one
 * digit refused. */
static enum err parse_step_tail(const struct cron_item *it, int64_t start, size_t i)
{
    size_t first = i;
    int64_t step;
    enum err e = read_number(it, &i, &step);

    if (e)
        return e;
    if (i < it->len && i - first == 1)
        return cron_item_fail(it, "expected the end after the step, at character %zu", i + 1);
    e = check_step(it, step);
    return e ? e : add_range(it, start, NO_END, step);
}

static enum err parse_week_of_day(const struct cron_item *it, int64_t day, size_t i)
{
    enum err e;

    if (it->field != FIELD_DAY_OF_WEEK)
        return cron_item_fail(it, "%c after a number is for day-of-week only", item_at(it, i));
    if (item_at(it, i) == '#') {
        e = parse_nth(it, i + 1);
        if (e)
            return e;
        add_value(it, day); /* any number: those that are no weekday never fire, but 98 is "?" here too */
        return ERR_OK;
    }
    if (day < 1 || day > 7)
        return cron_item_fail(it, "%" PRId64 " stands before the L, expected 1 to 7", day);
    it->cron->last_week = true;
    add_value(it, day);
    return ERR_OK;
}

static enum err parse_number(const struct cron_item *it)
{
    size_t i = 0;
    int64_t value;
    enum err e = read_number(it, &i, &value);

    if (e)
        return e;
    switch (item_at(it, i)) {
    case 'L':
    case '#': return parse_week_of_day(it, value, i);
    case 'W':
        if (it->field != FIELD_DAY_OF_MONTH)
            return cron_item_fail(it, "W is for day-of-month only");
        if (value > 31)
            return cron_item_fail(it, "%" PRId64 " stands before the W, expected at most 31", value);
        it->cron->weekday_days |= UINT32_C(1) << value;
        return ERR_OK;
    case '-': return parse_range_tail(it, value, i + 1);
    case '/': return parse_step_tail(it, value, i + 1);
    default: /* the end, or text that is ignored: "5X" is 5 */ return add_range(it, value, NO_END, NO_STEP);
    }
}

enum err cron_parse_item(const struct cron_item *it)
{
    char c = item_at(it, 0);

    if (item_is_last(it))
        return parse_last(it);
    if (c >= 'A' && c <= 'Z')
        return parse_name(it);
    if (c >= '0' && c <= '9')
        return parse_number(it);
    if (c == '?')
        return parse_question(it);
    if (c == '*' || c == '/')
        return parse_every(it);
    return cron_item_fail(it, "expected %s", field_infos[it->field].begins);
}

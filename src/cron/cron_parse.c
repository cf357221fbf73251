/* SPDX-License-Identifier: MIT */
/*
 * cron_parse: cuts the text into fields and items. It is read in place and nothing but the result is allocated,
 * so the cost is linear in its length.
 */
#include "cron/cron_item.h"

#include <stdlib.h>
#include <string.h>

static bool has_char(const char *text, size_t len, char c)
{
    return memchr(text, c, len) != NULL;
}

static enum err check_day_of_week(const struct cron_item *it)
{
    const char *hash = memchr(it->text, '#', it->len);

    if (it->len > 1 && (has_char(it->text, it->len, 'L') || has_char(it->text, it->len, 'l')) &&
        has_char(it->text, it->len, ','))
        return cron_item_fail(it, "L cannot be part of a list, expected one item");
    if (hash != NULL && has_char(hash + 1, it->len - (size_t)(hash + 1 - it->text), '#'))
        return cron_item_fail(it, "expected at most one #");
    return ERR_OK;
}

/* `it` holds the whole field, and each item of it in turn. */
static enum err parse_field(struct cron_item *it)
{
    const char *end = it->text + it->len;
    const char *p = it->text;
    enum err e = it->field == FIELD_DAY_OF_WEEK ? check_day_of_week(it) : ERR_OK;

    while (!e && p < end) {
        const char *comma = memchr(p, ',', (size_t)(end - p));

        it->text = p;
        it->len = (size_t)((comma ? comma : end) - p);
        if (it->len > 0) /* "1,,2" is "1,2" */
            e = cron_parse_item(it);
        p = comma ? comma + 1 : end;
    }
    return e;
}

static bool is_separator(char c)
{
    return c == ' ' || c == '\t';
}

/* Characters up to U+0020 at both ends of a field do not count, so that line ends behind the text do no harm. */
static void strip_field(struct cron_item *it)
{
    while (it->len > 0 && (unsigned char)it->text[it->len - 1] <= ' ')
        it->len--;
    while (it->len > 0 && (unsigned char)*it->text <= ' ') {
        it->text++;
        it->len--;
    }
}

/* From `at` to `end` of the text something is wrong. */
static void note_fault(struct cron_fault *fault, const char *text, const char *at, const char *end)
{
    *fault = (struct cron_fault){.at = (size_t)(at - text), .len = (size_t)(end - at)};
}

static enum err parse_text(struct cron *cron, const char *text, struct cron_fault *fault, struct errctx *ec)
{
    struct cron_item it = {.cron = cron, .ec = ec};
    const char *day_of_month = text, *day_of_week_end = text;
    const char *p = text;
    int fields = 0;
    enum err e;

    for (;;) {
        while (is_separator(*p))
            p++;
        if (*p == '\0')
            break;
        if (fields == FIELD_COUNT) {
            note_fault(fault, text, p, p + strlen(p));
            return err_set(ec, ERR_INPUT, "text after the seventh field: \"%s\", expected 6 or 7 fields",
                           cron_quote(p, strlen(p)).s);
        }
        it.text = p;
        while (*p != '\0' && !is_separator(*p))
            p++;
        it.len = (size_t)(p - it.text);
        it.field = (enum cron_field)fields++;
        strip_field(&it);
        if (it.field == FIELD_DAY_OF_MONTH)
            day_of_month = it.text;
        if (it.field == FIELD_DAY_OF_WEEK)
            day_of_week_end = it.text + it.len;
        e = parse_field(&it);
        if (e) {
            note_fault(fault, text, it.text, it.text + it.len);
            return e;
        }
    }
    if (fields < FIELD_YEAR) {
        note_fault(fault, text, p, p);
        return err_set(ec, ERR_INPUT,
                       "number of fields: found %d, expected 6 or 7: second minute hour day-of-month month "
                       "day-of-week [year]",
                       fields);
    }
    if (cron->no_day_of_month == cron->no_day_of_week) {
        note_fault(fault, text, day_of_month, day_of_week_end);
        return err_set(ec, ERR_INPUT, "day-of-month and day-of-week are %s, expected exactly one of them to be ?",
                       cron->no_day_of_month ? "both ?" : "both given");
    }
    if (fields == FIELD_YEAR) {
        it = (struct cron_item){.cron = cron, .ec = ec, .field = FIELD_YEAR, .text = "*", .len = 1};
        return cron_parse_item(&it);
    }
    return ERR_OK;
}

enum err cron_parse_at(const char *text, int64_t max_year, struct cron **out, struct cron_fault *fault,
                       struct errctx *ec)
{
    struct cron_fault found = {0};
    struct cron *cron;
    enum err e;

    if (text == NULL) {
        if (fault)
            *fault = found;
        return err_set(ec, ERR_INPUT, "no text, expected 6 or 7 fields");
    }
    cron = calloc(1, sizeof *cron);
    if (cron == NULL)
        return err_set(ec, ERR_NOMEM, "no memory for a cron expression");
    cron->max_year = max_year;
    e = parse_text(cron, text, &found, ec);
    if (e) {
        cron_destroy(cron);
        if (fault && e == ERR_INPUT)
            *fault = found;
        return e;
    }
    *out = cron;
    return ERR_OK;
}

enum err cron_parse(const char *text, int64_t max_year, struct cron **out, struct errctx *ec)
{
    return cron_parse_at(text, max_year, out, NULL, ec);
}

void cron_destroy(struct cron *cron)
{
    free(cron);
}

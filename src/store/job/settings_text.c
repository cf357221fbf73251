/* SPDX-License-Identifier: MIT */
/* Settings of ours as texts: what people write, and what they are shown. */
#include "shardwheel/calendar.h"
#include "shardwheel/store/job.h"
#include "shardwheel/text.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define TAGS_MAX_CHARS 512

#define FIELD(of) offsetof(struct job_settings, of), sizeof((struct job_settings *)0)->of
#define INSTANT_FORM "YYYY-MM-DD[ HH:MM[:SS]], with Z at its end for UTC"

static const char *const kept_words[] = {"off", "failed", "all", NULL}; /* enum kept_which */

/* The zone stands first: ctl_job.c reads instants of the same line in it. */
static const struct job_setting rows[] = {
    {"time-zone", "timeZone", "time_zone", "a name such as Asia/Shanghai", SETTING_ZONE, FIELD(time_zone), 0, 0, NULL,
     0},
    {"fixed-delay", "fixedDelaySeconds", "fixed_delay_s", "seconds, 1 to 2147483647", SETTING_NUMBER,
     FIELD(fixed_delay_s), 1, INT32_MAX, NULL, 0},
    {"valid-from", "validFrom", "valid_from_s", INSTANT_FORM, SETTING_INSTANT, FIELD(valid_from_s), 0, 0, NULL, 0},
    {"valid-until", "validUntil", "valid_until_s", INSTANT_FORM, SETTING_INSTANT, FIELD(valid_until_s), 0, 0, NULL, 0},
    {"retry-wait", "retryWaitSeconds", "retry_wait_s", "seconds, 1 to 86400", SETTING_NUMBER, FIELD(retry_wait_s), 1,
     86400, NULL, 0},
    {"retry-wait-max", "retryWaitMaxSeconds", "retry_wait_max_s", "seconds, 1 to 604800", SETTING_NUMBER,
     FIELD(retry_wait_max_s), 1, 7 * 86400, NULL, 0},
    {"hold", "holdSeconds", "hold_s", "seconds, 1 to 604800", SETTING_NUMBER, FIELD(hold_s), 1, 7 * 86400, NULL, 0},
    {"resend-lost", "resendLost", "resend_lost", "on or off", SETTING_FLAG, FIELD(resend_lost), 0, 1, NULL, 0},
    {"retention-days", "retentionDays", "retention_days", "days, 1 to 36500", SETTING_NUMBER, FIELD(retention_days), 1,
     36500, NULL, 0},
    {"success-within", "successWithinSeconds", "success_within_s", "seconds, 60 to 31622400", SETTING_NUMBER,
     FIELD(success_within_s), 60, 366 * 86400, NULL, 0},
    {"longest-run", "longestRunSeconds", "longest_run_s",
     "seconds, 60 to 2592000, or 0 for three times the usual duration", SETTING_NUMBER, FIELD(longest_run_s), 0,
     30 * 86400, NULL, 0},
    {"done-by", "doneBy", "done_by", "a time of day, HH:MM", SETTING_CLOCK, FIELD(done_by), 0, 0, NULL, 0},
    {"tags", "tags", "tags", "words separated by commas, 512 characters in total", SETTING_TAGS, FIELD(tags), 0, 0,
     NULL, 0},
    {"kept-logs", "keptLogs", "kept_logs", "off, failed or all", SETTING_WORD, FIELD(kept_logs), 0, 0, kept_words, 3},
};

size_t job_setting_count(void)
{
    return ARRAY_LEN(rows);
}

const struct job_setting *job_setting_get(size_t i)
{
    return &rows[i];
}

const char *job_setting_name(size_t i)
{
    return rows[i].name;
}

static bool is_text(const struct job_setting *row)
{
    switch (row->kind) {
    case SETTING_ZONE:
    case SETTING_CLOCK:
    case SETTING_TAGS: return true;
    case SETTING_NUMBER:
    case SETTING_INSTANT:
    case SETTING_FLAG:
    case SETTING_WORD: break;
    }
    return false;
}

static char *text_of(struct job_settings *settings, const struct job_setting *row)
{
    return (char *)settings + row->offset;
}

static int64_t *number_of(struct job_settings *settings, const struct job_setting *row)
{
    return (int64_t *)(void *)((char *)settings + row->offset);
}

const char *job_setting_find_text(const struct job_settings *settings, size_t i)
{
    return is_text(&rows[i]) ? (const char *)settings + rows[i].offset : NULL;
}

int64_t job_setting_number(const struct job_settings *settings, size_t i)
{
    return is_text(&rows[i]) ? SETTING_NONE : *(const int64_t *)(const void *)((const char *)settings + rows[i].offset);
}

bool job_setting_is_set(const struct job_settings *settings, size_t i)
{
    const char *text = job_setting_find_text(settings, i);

    return text ? *text != '\0' : job_setting_number(settings, i) != SETTING_NONE;
}

void job_setting_copy(struct job_settings *to, const struct job_settings *from, size_t i)
{
    memcpy((char *)to + rows[i].offset, (const char *)from + rows[i].offset, rows[i].size);
}

static void unset(struct job_settings *settings, const struct job_setting *row)
{
    if (is_text(row))
        *text_of(settings, row) = '\0';
    else
        *number_of(settings, row) = SETTING_NONE;
}

void job_settings_init(struct job_settings *settings, int64_t job_id)
{
    *settings = (struct job_settings){.job_id = job_id};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        unset(settings, &rows[i]);
}

bool job_settings_are_empty(const struct job_settings *settings)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (job_setting_is_set(settings, i))
            return false;
    return true;
}

bool job_settings_are_equal(const struct job_settings *a, const struct job_settings *b)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *text = job_setting_find_text(a, i);

        if (text ? strcmp(text, job_setting_find_text(b, i)) != 0
                 : job_setting_number(a, i) != job_setting_number(b, i))
            return false;
    }
    return true;
}

void job_setting_put(const struct job_settings *settings, size_t i, const struct zone *zone, struct buf *out)
{
    int64_t number = job_setting_number(settings, i);

    if (!job_setting_is_set(settings, i)) {
        buf_puts(out, "none");
        return;
    }
    switch (rows[i].kind) {
    case SETTING_ZONE:
    case SETTING_CLOCK:
    case SETTING_TAGS: buf_puts(out, job_setting_find_text(settings, i)); break;
    case SETTING_NUMBER: buf_put_int(out, number); break;
    case SETTING_FLAG: buf_puts(out, number ? "on" : "off"); break;
    case SETTING_WORD: buf_puts(out, job_setting_word(i, number)); break;
    case SETTING_INSTANT: zone_put_second(zone, number, out); break;
    }
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* Exactly so many digits at *at. */
static bool take_digits(const char **at, int count, int *out)
{
    *out = 0;
    for (int i = 0; i < count; i++, ++*at) {
        if (**at < '0' || **at > '9')
            return false;
        *out = *out * 10 + (**at - '0');
    }
    return true;
}

static bool take_char(const char **at, const char *chars)
{
    if (!**at || !strchr(chars, **at))
        return false;
    ++*at;
    return true;
}

/* YYYY-MM-DD, and behind a blank or T the time of day: HH:MM or HH:MM:SS. */
static bool take_civil(const char **at, struct civil *c)
{
    int year;

    *c = (struct civil){0};
    if (!take_digits(at, 4, &year) || !take_char(at, "-") || !take_digits(at, 2, &c->month) || !take_char(at, "-") ||
        !take_digits(at, 2, &c->day))
        return false;
    c->year = year;
    if (!take_char(at, " T"))
        return true;
    if (!take_digits(at, 2, &c->hour) || !take_char(at, ":") || !take_digits(at, 2, &c->minute))
        return false;
    return !take_char(at, ":") || take_digits(at, 2, &c->second);
}

bool job_clock_parse(const char *value, int *hour, int *minute)
{
    const char *at = value;

    return take_digits(&at, 2, hour) && take_char(&at, ":") && take_digits(&at, 2, minute) && !*at && *hour < 24 &&
           *minute < 60;
}

bool job_instant_parse(const char *value, const struct zone *zone, int64_t *out)
{
    const char *at = value;
    struct civil c;
    bool utc;

    if (!take_civil(&at, &c))
        return false;
    utc = take_char(&at, "Z");
    if (*at || c.year < 1970 || !civil_is_real(&c))
        return false;
    *out = utc ? civil_to_second(&c) : zone_from_civil(zone, &c);
    return true;
}

static bool parse_clock(const char *value, char out[6])
{
    int hour, minute;

    if (!job_clock_parse(value, &hour, &minute))
        return false;
    snprintf(out, 6, "%02d:%02d", hour, minute);
    return true;
}

/* The same offsets on each machine that runs a node: no zone that is known by a file alone. */
static bool parse_zone(const char *value, char out[ZONE_NAME_MAX])
{
    struct zone *zone = NULL;
    struct errctx ec;
    char portable[ZONE_NAME_MAX];
    bool good;

    errctx_clear(&ec);
    if (strlen(value) >= ZONE_NAME_MAX || zone_load(value, &zone, &ec))
        return false;
    good = zone_find_name(zone, 0, 0, portable) && strcmp(portable, value) == 0;
    zone_destroy(zone);
    if (good)
        snprintf(out, ZONE_NAME_MAX, "%s", value);
    return good;
}

/* Blanks around the words go, and so do empty words. */
static bool parse_tags(const char *value, char out[JOB_TAGS_MAX])
{
    struct text_part tag;
    size_t len = 0;

    if (!utf8_is_valid(value, strlen(value)))
        return false;
    for (const char *c = value; *c; c++)
        if ((unsigned char)*c < ' ')
            return false;
    while (text_next_item(&value, &tag)) {
        tag = text_trim_part(tag);
        if (tag.len == 0)
            continue;
        if (len + tag.len + 2 > JOB_TAGS_MAX)
            return false;
        if (len)
            out[len++] = ',';
        memcpy(out + len, tag.at, tag.len);
        len += tag.len;
    }
    out[len] = '\0';
    return utf8_count(out, len, /*utf16=*/false) <= TAGS_MAX_CHARS;
}

/* Those of `list` that `without` does not have, behind what is there; each once. `out` has room for two lists. */
static void put_tags(char *out, const char *list, const char *without)
{
    struct text_part tag;

    while (text_next_item(&list, &tag))
        if (!text_list_has_part(without, tag) && !text_list_has_part(out, tag))
            sprintf(out + strlen(out), "%s%.*s", *out ? "," : "", (int)tag.len, tag.at);
}

enum err job_tags_change(struct job_settings *settings, const char *add, const char *remove, struct errctx *ec)
{
    char more[JOB_TAGS_MAX], less[JOB_TAGS_MAX], tags[2 * JOB_TAGS_MAX] = "";

    if (parse_tags(add, more) && parse_tags(remove, less)) {
        put_tags(tags, settings->tags, less);
        put_tags(tags, more, "");
        if (parse_tags(tags, more)) {
            strcpy(settings->tags, more);
            return ERR_OK;
        }
    }
    return err_set(ec, ERR_INPUT, "tags have %d characters together at most, and no control characters",
                   TAGS_MAX_CHARS);
}

const char *job_setting_word(size_t i, int64_t number)
{
    for (int64_t k = 0; number >= 0 && rows[i].words[k]; k++)
        if (k == number)
            return rows[i].words[k];
    return ""; /* of a later release */
}

static bool parse_word(const struct job_setting *row, const char *value, int64_t *out)
{
    for (int64_t k = 0; row->words[k]; k++) {
        if (strcmp(row->words[k], value) == 0) {
            *out = k;
            return true;
        }
    }
    return false;
}

enum err job_setting_parse(struct job_settings *settings, size_t i, const char *value, const struct zone *zone,
                           struct errctx *ec)
{
    const struct job_setting *row = &rows[i];
    bool good = true;

    if (!*value || strcmp(value, "none") == 0) {
        unset(settings, row);
        return ERR_OK;
    }
    switch (row->kind) {
    case SETTING_ZONE: good = parse_zone(value, text_of(settings, row)); break;
    case SETTING_CLOCK: good = parse_clock(value, text_of(settings, row)); break;
    case SETTING_TAGS: good = parse_tags(value, text_of(settings, row)); break;
    case SETTING_NUMBER: good = parse_int(value, row->min, row->max, number_of(settings, row)); break;
    case SETTING_INSTANT: good = job_instant_parse(value, zone, number_of(settings, row)); break;
    case SETTING_WORD: good = parse_word(row, value, number_of(settings, row)); break;
    case SETTING_FLAG:
        good = strcmp(value, "on") == 0 || strcmp(value, "off") == 0;
        *number_of(settings, row) = strcmp(value, "on") == 0 ? 1 : SETTING_NONE;
        break;
    }
    if (good)
        return ERR_OK;
    return err_set(ec, ERR_INPUT, "%s: expected %s, or none; not %s", row->name, row->form, log_quote(value).s);
}

enum err job_settings_check(const struct job_settings *settings, struct errctx *ec)
{
    if (settings->valid_from_s != SETTING_NONE && settings->valid_until_s != SETTING_NONE &&
        settings->valid_from_s >= settings->valid_until_s)
        return err_set(ec, ERR_INPUT, "valid-until: it must be later than valid-from");
    if (settings->retry_wait_max_s != SETTING_NONE && settings->retry_wait_s == SETTING_NONE)
        return err_set(ec, ERR_INPUT, "retry-wait-max: it needs retry-wait");
    if (settings->retry_wait_max_s != SETTING_NONE && settings->retry_wait_max_s < settings->retry_wait_s)
        return err_set(ec, ERR_INPUT, "retry-wait-max: it must not be less than retry-wait");
    if (settings->longest_run_s > 0 && settings->longest_run_s < 60)
        return err_set(ec, ERR_INPUT, "longest-run: it must be 60 or more, or 0 for three times the usual");
    return ERR_OK;
}

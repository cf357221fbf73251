/* SPDX-License-Identifier: MIT */
/* The marks that rows of fires carry at the head of trigger_msg, and the sharding numbers in a row. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "shardwheel/job.h"

/* ---- marks ------------------------------------------------------------------------------------------------- */

static const char mark_head[] = "<!--sw:p:";
static const char mark_tail[] = "-->";

void fire_format_mark(const struct fire *fire, char out[100])
{
    char late[32] = "", kind[24] = "";

    if (fire->flags & FIRE_LATER && fire->generation > 0)
        snprintf(kind, sizeof kind, ":K%c:G%d", trigger_kind_letter(fire->kind), fire->generation);
    else if (fire->flags & FIRE_LATER)
        snprintf(kind, sizeof kind, ":K%c", trigger_kind_letter(fire->kind));
    else if (fire->kind == TRIGGER_MISFIRE)
        snprintf(kind, sizeof kind, ":M");
    if (fire->original_due_s != fire->due_s)
        snprintf(late, sizeof late, ":O%" PRId64, fire->original_due_s);
    snprintf(out, 100, "%s%" PRId64 ":%" PRId64 "%s%s%s%s", mark_head, fire->due_s, fire->epoch,
             fire->flags & FIRE_LAST ? ":L" : "", kind, late, mark_tail);
}

static bool skip_text(const char **at, const char *text)
{
    size_t n = strlen(text);

    if (strncmp(*at, text, n) != 0)
        return false;
    *at += n;
    return true;
}

/* Decimal digits without a sign, within int64_t. */
static bool read_number(const char **at, int64_t *out)
{
    int64_t value = 0;
    const char *p = *at;

    for (; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *p - '0', &value))
            return false;
    if (p == *at)
        return false;
    *at = p;
    *out = value;
    return true;
}

bool fire_parse_mark(const char *text, struct fire *out)
{
    int64_t due_s, epoch, original_due_s, generation = 0;
    enum trigger_kind kind = TRIGGER_CRON;
    int flags = 0;

    if (!text || !skip_text(&text, mark_head) || !read_number(&text, &due_s) || !skip_text(&text, ":") ||
        !read_number(&text, &epoch))
        return false;
    original_due_s = due_s;
    if (skip_text(&text, ":L"))
        flags |= FIRE_LAST;
    if (skip_text(&text, ":M"))
        kind = TRIGGER_MISFIRE;
    if (skip_text(&text, ":K")) {
        if (!trigger_kind_of_letter(*text, &kind))
            return false;
        flags |= FIRE_LATER;
        text++;
        if (skip_text(&text, ":G") && (!read_number(&text, &generation) || generation > INT32_MAX))
            return false;
    }
    if (skip_text(&text, ":O") && !read_number(&text, &original_due_s))
        return false;
    if (!skip_text(&text, mark_tail))
        return false;
    out->due_s = due_s;
    out->original_due_s = original_due_s;
    out->epoch = epoch;
    out->kind = kind;
    out->flags = flags;
    out->generation = (int)generation;
    return true;
}

/* ---- marks of direct fires --------------------------------------------------------------------------------- */

static const char direct_head[] = "<!--sw:d:";
static bool is_incarnation_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
}

/* A fire of the job's schedule is no direct one. */
static bool read_kind(const char **at, enum trigger_kind *out)
{
    enum trigger_kind kind;

    if (!trigger_kind_of_letter(**at, &kind) || kind == TRIGGER_CRON || kind == TRIGGER_MISFIRE)
        return false;
    *out = kind;
    ++*at;
    return true;
}

void fire_format_direct_mark(const struct fire *fire, const char *incarnation, char out[100])
{
    char behind[40] = "";

    if (fire->kind == TRIGGER_FLOW)
        snprintf(behind, sizeof behind, "%" PRId64 ".%d", fire->flow_run, fire->flow_step);
    else if (fire->generation > 0)
        snprintf(behind, sizeof behind, ":G%d", fire->generation);
    snprintf(out, 100, "%s%.32s:%" PRId64 ":%c%s%s", direct_head, incarnation, fire->due_s,
             trigger_kind_letter(fire->kind), behind, mark_tail);
}

bool fire_parse_direct_mark(const char *text, struct fire *out, char incarnation[INCARNATION_MAX])
{
    enum trigger_kind kind;
    size_t len = 0;
    int64_t due_s, generation = 0, run = 0, step = 0;

    if (!text || !skip_text(&text, direct_head))
        return false;
    while (len < INCARNATION_MAX - 1 && is_incarnation_char(text[len]))
        len++;
    const char *at = text + len;
    if (len == 0 || !skip_text(&at, ":") || !read_number(&at, &due_s) || !skip_text(&at, ":") || !read_kind(&at, &kind))
        return false;
    if (kind == TRIGGER_FLOW &&
        (!read_number(&at, &run) || !skip_text(&at, ".") || !read_number(&at, &step) || step > INT32_MAX))
        return false;
    if (skip_text(&at, ":G") && (!read_number(&at, &generation) || generation > INT32_MAX))
        return false;
    if (!skip_text(&at, mark_tail))
        return false;
    memcpy(incarnation, text, len);
    incarnation[len] = '\0';
    out->due_s = out->original_due_s = due_s;
    out->epoch = 0;
    out->kind = kind;
    out->generation = (int)generation;
    out->flow_run = run;
    out->flow_step = (int)step;
    out->flags = 0;
    return true;
}

/* ---- generations -------------------------------------------------------------------------------------------- */

int generation_of_child(int generation)
{
    return generation % GENERATION_LOST;
}

int generation_count_lost(int generation)
{
    return generation / GENERATION_LOST;
}

int generation_add_lost(int generation)
{
    return generation_count_lost(generation) < 1000 ? generation + GENERATION_LOST : generation;
}

/* ---- skipped due times ------------------------------------------------------------------------------------- */

static const char skipped_head[] = "<!--sw:s:";

void fire_format_skipped_mark(int64_t count, char out[40])
{
    snprintf(out, 40, "%s%" PRId64 "%s", skipped_head, count, mark_tail);
}

bool fire_parse_skipped_mark(const char *text, int64_t *count)
{
    return text && skip_text(&text, skipped_head) && read_number(&text, count) && skip_text(&text, mark_tail);
}

/* ---- retries ----------------------------------------------------------------------------------------------- */

void fire_format_retry_link(int64_t log_id, char out[40])
{
    snprintf(out, 40, RETRY_LINK_HEAD "%" PRId64 "%s", log_id, mark_tail);
}

int64_t fire_find_retry_link(const char *text)
{
    const char *at = text ? strstr(text, RETRY_LINK_HEAD) : NULL;
    int64_t log_id;

    return at && skip_text(&at, RETRY_LINK_HEAD) && read_number(&at, &log_id) && skip_text(&at, mark_tail) ? log_id : 0;
}

/* ---- sharding ---------------------------------------------------------------------------------------------- */

bool fire_parse_sharding(const char *text, int *index, int *total)
{
    int64_t i, n;

    if (!text || !read_number(&text, &i) || !skip_text(&text, "/") || !read_number(&text, &n) || *text != '\0')
        return false;
    if (n < 1 || i > INT32_MAX || n > INT32_MAX)
        return false;
    *index = (int)i;
    *total = (int)n;
    return true;
}

/* SPDX-License-Identifier: MIT */
/* flow/settings: the members of a document that say when a flow is due, and what becomes of its runs. */
#include "flow/reader.h"
#include "shardwheel/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define YEAR_LAST 2100 /* of a cron expression: not beyond what any node searches */
#define CRON_MAX 128   /* bytes of an expression, as that of a job */
#define QUEUE_MAX 1000
#define QUEUE_USUAL 10
#define DEADLINE_MAX_S (366 * 86400)
#define RETENTION_MAX_DAYS 3650
#define WORDS_MAX 20       /* tags, and addresses */
#define TAGS_MAX_CHARS 512 /* together, with the commas between them, as those of a job */

/* ---- when it is due ---------------------------------------------------------------------------------------------- */

static void read_cron(struct place *place, struct flow_settings *out)
{
    struct errctx ec = {""};
    struct cron *cron = NULL;

    out->cron = reader_text(place, "cron", false);
    if (!out->cron)
        return;
    if (strlen(out->cron) > CRON_MAX)
        reader_fault_at(place, "cron", "the expression has %zu bytes; %d are allowed", strlen(out->cron), CRON_MAX);
    else if (cron_parse(out->cron, YEAR_LAST, &cron, &ec))
        reader_fault_at(place, "cron", "%s", ec.text);
    cron_destroy(cron);
}

/* The same offsets on each machine that runs a node: no zone that is known by a file alone. */
static void read_zone(struct place *place, struct flow_settings *out)
{
    char portable[ZONE_NAME_MAX];
    struct errctx ec = {""};
    struct zone *zone = NULL;

    out->zone = reader_text(place, "zone", false);
    if (!out->zone)
        return;
    if (strlen(out->zone) >= ZONE_NAME_MAX || zone_load(out->zone, &zone, &ec))
        reader_fault_at(place, "zone", "there is no time zone \"%.*s\"", ZONE_NAME_MAX, out->zone);
    else if (!zone_find_name(zone, 0, 0, portable) || strcmp(portable, out->zone) != 0)
        reader_fault_at(place, "zone",
                        "the time zone \"%s\" depends on the machine; a name such as Asia/Shanghai is expected",
                        out->zone);
    zone_destroy(zone);
}

/* 0: there is none. */
static int64_t read_instant(struct place *place, const char *name)
{
    const char *text = reader_text(place, name, false);
    int64_t ms;

    if (!text)
        return 0;
    if (instant_parse(text, &ms) && ms > 0 && ms % 1000 == 0)
        return ms / 1000;
    reader_fault_at(place, name, "an instant in whole seconds such as 2026-12-01T00:00:00Z is expected");
    return 0;
}

static void read_schedule(struct place *document, struct flow_settings *out)
{
    static const char *const members[] = {"cron", "every", "delay", "zone", "from", "until", "misfire", NULL};
    static const char *const misfires[] = {"skip", "once"};
    struct place place = {.r = document->r, .object = reader_find(document, "schedule")};
    int count = 0;

    if (!place.object)
        return;
    place.where = reader_where(document, "schedule");
    if (!reader_open(&place, members))
        return;
    for (size_t i = 0; i < 3; i++)
        count += reader_find(&place, members[i]) != NULL;
    if (count != 1)
        reader_fault_at(&place, NULL, "exactly one of \"cron\", \"every\" and \"delay\" is needed");
    read_cron(&place, out);
    out->every_s = reader_number(&place, "every", 1, INT32_MAX, false, 0);
    out->delay_s = reader_number(&place, "delay", 1, INT32_MAX, false, 0);
    read_zone(&place, out);
    out->from_s = read_instant(&place, "from");
    out->until_s = read_instant(&place, "until");
    if (out->from_s && out->until_s && out->until_s <= out->from_s)
        reader_fault_at(&place, "until", "\"until\" must be later than \"from\"");
    out->misfire_once = reader_word(&place, "misfire", misfires, 2, false) == 1;
}

/* ---- lists of words ---------------------------------------------------------------------------------------------- */

/* What is wrong with it; NULL: nothing. */
typedef const char *judge_word(const char *text, size_t len);

static const char *judge_tag(const char *text, size_t len)
{
    if (len == 0 || text[0] == ' ' || text[len - 1] == ' ')
        return "a tag must not be empty, or begin or end with a space";
    return text_has_control(text, len) || memchr(text, ',', len) ? "a tag must not have commas or control characters"
                                                                 : NULL;
}

static const char *judge_mail(const char *text, size_t len)
{
    return strlen(text) == len && mail_is_address(text) ? NULL : "a mail address such as ops@example.org is expected";
}

static bool has_word(struct json_object *array, const char *text, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct json_object *other = json_object_array_get_idx(array, i);
        if (json_object_is_type(other, json_type_string) && strcmp(json_object_get_string(other), text) == 0)
            return true;
    }
    return false;
}

/* An array of different texts, joined by commas; to free with free, NULL: out of memory. */
static char *read_words(struct place *document, const char *name, judge_word *judge)
{
    struct buf out = {0};
    size_t count;
    struct json_object *array = reader_array(document, name, WORDS_MAX, false, &count);

    buf_puts(&out, "");
    for (size_t i = 0; i < count; i++) {
        struct place at = reader_enter(document, array, name, i);
        bool is_text = json_object_is_type(at.object, json_type_string);
        const char *text = is_text ? json_object_get_string(at.object) : "";
        const char *why = is_text ? judge(text, (size_t)json_object_get_string_len(at.object)) : "a text is expected";

        if (!why && has_word(array, text, i))
            why = "it occurs twice";
        if (why)
            reader_fault_at(&at, NULL, "%s", why);
        buf_printf(&out, "%s%s", i ? "," : "", text);
    }
    return buf_take(&out);
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

enum err flow_read_settings(struct place *document, struct errctx *ec)
{
    static const char *const policies[] = {"skip", "queue", "parallel"};
    struct flow *flow = document->r->flow;
    struct flow_settings *out = &flow->settings;

    read_schedule(document, out);
    out->policy = (enum flow_policy)reader_word(document, "whenRunning", policies, 3, false);
    out->queue_max = (int)reader_number(document, "queueMax", 1, QUEUE_MAX, false, QUEUE_USUAL);
    out->deadline_s = reader_number(document, "deadline", 1, DEADLINE_MAX_S, false, 0);
    out->retention_days = (int)reader_number(document, "retentionDays", 1, RETENTION_MAX_DAYS, false, 0);
    out->tags = flow->tags = read_words(document, "tags", judge_tag);
    out->mails = flow->mails = read_words(document, "alarm", judge_mail);
    if (!out->tags || !out->mails)
        return err_set(ec, ERR_NOMEM, "out of memory");
    if (utf8_count(out->tags, strlen(out->tags), /*utf16=*/false) > TAGS_MAX_CHARS)
        reader_fault_at(document, "tags", "the tags have more than %d characters in total", TAGS_MAX_CHARS);
    return ERR_OK;
}

const struct flow_settings *flow_get_settings(const struct flow *flow)
{
    return &flow->settings;
}

/* ---- as a job ---------------------------------------------------------------------------------------------------- */

bool flow_has_schedule(const struct flow_settings *settings)
{
    return settings->cron || settings->every_s || settings->delay_s;
}

void flow_make_due(const struct flow_settings *settings, char conf[FLOW_CONF_MAX], struct job_due *out)
{
    int64_t rate_s = settings->every_s ? settings->every_s : settings->delay_s;

    snprintf(conf, FLOW_CONF_MAX, "%" PRId64, rate_s);
    *out = (struct job_due){.schedule_type = settings->cron ? "CRON"
                                             : rate_s       ? "FIX_RATE"
                                                            : "NONE",
                            .schedule_conf = settings->cron ? settings->cron
                                             : rate_s       ? conf
                                                            : "",
                            .misfire = "",
                            .route = "",
                            .handler = "",
                            .time_zone = settings->zone,
                            .fixed_delay_s = settings->delay_s,
                            .valid_from_s = settings->from_s,
                            .valid_until_s = settings->until_s};
}

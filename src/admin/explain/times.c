/* SPDX-License-Identifier: MIT */
/* How the schedule was in each part of the range, and which due times that makes. */
#include "admin/explain/explain_impl.h"
#include "admin/jobs/jobs_impl.h"

#include <stdio.h>
#include <string.h>

#include "shardwheel/schedule.h"
#include "shardwheel/store/job.h"

const char *const explain_field_names[FIELDS] = {
    [FIELD_TYPE] = "scheduleType",       [FIELD_CONF] = "scheduleConf",       [FIELD_RUNNING] = "running",
    [FIELD_TIME_ZONE] = "time-zone",     [FIELD_FIXED_DELAY] = "fixed-delay", [FIELD_VALID_FROM] = "valid-from",
    [FIELD_VALID_UNTIL] = "valid-until",
};

/* ---- segments ---------------------------------------------------------------------------------------------------- */

/* What others edit is of the original's table; settings of ours stay. */
static bool is_foreign(enum explain_field f)
{
    return f == FIELD_TYPE || f == FIELD_CONF || f == FIELD_RUNNING;
}

/* What was before a change, by what is known of behind it. */
static const char *find_before(const struct explain_change *c, const struct explain_segment *behind,
                               enum explain_field f)
{
    if (c->before[f])
        return c->before[f];
    if (c->removed || (c->by_others && is_foreign(f)))
        return NULL;
    return behind->values[f];
}

static void go_back(const struct explain_facts *facts, struct explain_segment *list)
{
    for (size_t i = facts->change_count; i > 0; i--) {
        const struct explain_change *c = &facts->changes[i - 1];
        struct explain_segment *seg = &list[i], *before = &list[i - 1];

        for (size_t f = 0; f < FIELDS; f++)
            seg->values[f] = c->after[f] && !seg->values[f] ? c->after[f] : seg->values[f];
        seg->exists = !c->removed;
        seg->begin = before->end = c;
        seg->from_ms = before->to_ms = c->at_ms;
        before->exists = !c->added;
        for (size_t f = 0; f < FIELDS; f++)
            before->values[f] = find_before(c, seg, (enum explain_field)f);
    }
}

/* What a change of ours does not name it left as it was. */
static void go_on(const struct explain_facts *facts, struct explain_segment *list)
{
    for (size_t i = 0; i < facts->change_count; i++) {
        const struct explain_change *c = &facts->changes[i];

        for (size_t f = 0; f < FIELDS; f++)
            if (!list[i + 1].values[f] && !c->by_others && !c->added)
                list[i + 1].values[f] = c->after[f] ? c->after[f] : list[i].values[f];
    }
}

size_t explain_make_segments(const struct explain_facts *facts, struct explain_segment *out)
{
    size_t last = facts->change_count, kept = 0;

    memset(out, 0, (last + 1) * sizeof *out);
    out[last].to_ms = facts->found ? INT64_MAX : facts->now_ms; /* also when nobody recorded that it was removed */
    out[last].exists = facts->found;
    memcpy(out[last].values, facts->now, sizeof out[last].values);
    go_back(facts, out);
    go_on(facts, out);
    if (facts->added_ms > out[0].from_ms)
        out[0].from_ms = facts->added_ms;
    for (size_t i = 0; i <= last; i++) {
        struct explain_segment seg = out[i];

        seg.from_ms = seg.from_ms < facts->from_ms ? facts->from_ms : seg.from_ms;
        seg.to_ms = seg.to_ms > facts->to_ms ? facts->to_ms : seg.to_ms;
        if (seg.from_ms < seg.to_ms)
            out[kept++] = seg;
    }
    return kept;
}

bool explain_is_known(const struct explain_segment *seg)
{
    return seg->values[FIELD_TYPE] && seg->values[FIELD_CONF] && seg->values[FIELD_RUNNING];
}

bool explain_is_running(const struct explain_segment *seg)
{
    return seg->values[FIELD_RUNNING] && strcmp(seg->values[FIELD_RUNNING], "true") == 0;
}

/* ---- due times --------------------------------------------------------------------------------------------------- */

static const char *get_setting(const struct explain_segment *seg, enum explain_field f)
{
    const char *value = seg->values[f];

    return value && strcmp(value, "null") != 0 ? value : "none";
}

/* Instants on record are in UTC, also without a Z. A setting that cannot be read is as if it were not set. */
static void read_setting(const struct explain_facts *facts, const char *value, bool instant, size_t i,
                         struct job_settings *out)
{
    char text[ZONE_NAME_MAX];
    struct errctx ec;
    size_t len = strlen(value);
    bool bare = instant && strcmp(value, "none") != 0 && len > 0 && value[len - 1] != 'Z';

    snprintf(text, sizeof text, "%s%s", value, bare ? "Z" : "");
    if (job_setting_parse(out, i, text, facts->zone, &ec))
        return;
}

static void read_settings(const struct explain_facts *facts, const struct explain_segment *seg,
                          struct job_settings *out)
{
    static const enum explain_field fields[] = {FIELD_TIME_ZONE, FIELD_FIXED_DELAY, FIELD_VALID_FROM,
                                                FIELD_VALID_UNTIL};

    job_settings_init(out, facts->job_id);
    for (size_t i = 0; i < job_setting_count(); i++)
        for (size_t k = 0; k < ARRAY_LEN(fields); k++)
            if (strcmp(job_setting_name(i), explain_field_names[fields[k]]) == 0)
                read_setting(facts, get_setting(seg, fields[k]), k >= 2, i, out);
}

/* From each row to the next one by the rate, so that a schedule that was set anew keeps the phase that it had. */
static enum err list_rates(const struct explain_facts *facts, const struct explain_segment *seg, struct job_due *job,
                           const int64_t *rates, size_t rate_count, size_t max, int64_t *out_ms, size_t *count,
                           struct errctx *ec)
{
    int64_t from_ms = seg->from_ms, rate_s = 0;
    enum err e = ERR_OK;

    *count = 0;
    if (!parse_int(job->schedule_conf, 1, INT32_MAX, &rate_s))
        return err_set(ec, ERR_INPUT, "FIX_RATE needs whole seconds, not '%.60s'", job->schedule_conf);
    for (size_t i = 0; i <= rate_count && !e && *count < max && from_ms < seg->to_ms; i++) {
        int64_t to_ms = i < rate_count ? rates[i] : seg->to_ms;
        size_t more = 0;

        if (i < rate_count && (rates[i] < seg->from_ms || rates[i] >= seg->to_ms))
            continue;
        /* Before the first row its phase holds; behind each its own. One that ends too near to the next is no time. */
        job->next_ms = *count > 0 ? out_ms[*count - 1] : i < rate_count ? rates[i] : job->next_ms;
        if (job->next_ms == 0)
            job->next_ms = seg->from_ms + rate_s * 1000;
        e = schedule_list_due(job, facts->zone, facts->max_year, from_ms, i < rate_count ? to_ms - rate_s * 500 : to_ms,
                              out_ms + *count, max - *count, &more, ec);
        *count += more;
        if (!e && i < rate_count && *count < max)
            out_ms[(*count)++] = rates[i];
        from_ms = i < rate_count ? rates[i] + 1 : to_ms;
    }
    return e;
}

/* A fixed delay has no times but those at which it fired. */
static size_t copy_rates(const struct explain_segment *seg, const int64_t *rates, size_t rate_count, size_t max,
                         int64_t *out_ms)
{
    size_t n = 0;

    for (size_t i = 0; i < rate_count && n < max; i++)
        if (rates[i] >= seg->from_ms && rates[i] < seg->to_ms)
            out_ms[n++] = rates[i];
    return n;
}

static bool is_delayed(const struct job_due *job)
{
    int64_t rate_s;

    return job->fixed_delay_s > 0 && parse_int(job->schedule_conf, 1, INT32_MAX, &rate_s) &&
           rate_s == job->fixed_delay_s;
}

enum err explain_list_due(const struct explain_facts *facts, const struct explain_segment *seg, const int64_t *rates,
                          size_t rate_count, size_t max, int64_t *out_ms, size_t *count, struct errctx *ec)
{
    const struct job_row row = {
        .id = facts->job_id, .schedule_type = seg->values[FIELD_TYPE], .schedule_conf = seg->values[FIELD_CONF]};
    struct job_settings settings;
    struct job_due job;

    read_settings(facts, seg, &settings);
    job_make_due(&row, &settings, &job);
    job.time_zone = settings.time_zone;
    job.next_ms = seg->end ? 0 : facts->next_ms; /* its phase is that of now if nothing has changed since */
    *count = 0;
    if (strcmp(job.schedule_type, "NONE") == 0 || !*job.schedule_type)
        return ERR_OK;
    if (strcmp(job.schedule_type, "FIX_RATE") == 0) {
        if (!is_delayed(&job))
            return list_rates(facts, seg, &job, rates, rate_count, max, out_ms, count, ec);
        *count = copy_rates(seg, rates, rate_count, max, out_ms);
        return ERR_OK;
    }
    return schedule_list_due(&job, facts->zone, facts->max_year, seg->from_ms, seg->to_ms, out_ms, max, count, ec);
}

/* SPDX-License-Identifier: MIT */
#include "schedule/plan/occurrences.h"
#include "shardwheel/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parsed expressions, by hash of their text: many jobs share few texts, and parsing costs more than searching. The last
 * answer is kept too, since jobs of one text are usually due together. */
#define CACHE_SLOTS 1024
#define ZONE_SLOTS 64 /* zones of jobs; with more than so many in use some are read anew now and then */
/* Searches that one round may spend on counting what was skipped: some 20 ms. */
#define COUNT_BUDGET 20000

struct cached {
    char *text;
    char *zone_name;   /* of the job; NULL: that of the cluster */
    struct cron *cron; /* NULL: the text is broken, see error */
    char *error;       /* of the text, or of the last search; NULL: none, or out of memory */
    int64_t from_ms;
    int64_t next_ms; /* valid while from_ms matches */
    enum err answer; /* of that search */
};

struct named_zone {
    char name[ZONE_NAME_MAX]; /* as a job has it */
    struct zone *zone;        /* NULL: the slot is empty */
};

struct occurrences {
    const struct zone *zone;          /* [const] of the cluster */
    int64_t max_year;                 /* [const] */
    struct cached cache[CACHE_SLOTS]; /* [schedule thread], and all that follows */
    struct named_zone zones[ZONE_SLOTS];
    int budget;
};

enum err occurrences_create(const struct zone *zone, int64_t max_year, struct occurrences **out, struct errctx *ec)
{
    struct occurrences *o = calloc(1, sizeof *o);

    if (!o)
        return err_set(ec, ERR_NOMEM, "occurrences: out of memory");
    o->zone = zone;
    o->max_year = max_year;
    o->budget = COUNT_BUDGET;
    *out = o;
    return ERR_OK;
}

static void forget(struct cached *c)
{
    free(c->text);
    free(c->zone_name);
    cron_destroy(c->cron);
    free(c->error);
    *c = (struct cached){0};
}

void occurrences_destroy(struct occurrences *o)
{
    if (!o)
        return;
    for (size_t i = 0; i < CACHE_SLOTS; i++)
        forget(&o->cache[i]);
    for (size_t i = 0; i < ZONE_SLOTS; i++)
        zone_destroy(o->zones[i].zone);
    free(o);
}

void occurrences_begin(struct occurrences *o)
{
    o->budget = COUNT_BUDGET;
}

/* ---- cron -------------------------------------------------------------------------------------------------------- */

/* ERR_INPUT: there is no such time zone. That is not kept: files of zones come and go. */
static enum err find_zone(struct occurrences *o, const char *name, const struct zone **out, char why[WHY_MAX])
{
    size_t at = hash_text(HASH_START, name) % ZONE_SLOTS, home = at;
    struct zone *zone = NULL;
    struct errctx ec;
    enum err e;

    for (size_t i = 0; i < ZONE_SLOTS && o->zones[at].zone; i++, at = (at + 1) % ZONE_SLOTS)
        if (strcmp(o->zones[at].name, name) == 0) {
            *out = o->zones[at].zone;
            return ERR_OK;
        }
    errctx_clear(&ec);
    e = strlen(name) < ZONE_NAME_MAX ? zone_load(name, &zone, &ec)
                                     : err_set(&ec, ERR_INPUT, "there is no such time zone");
    if (e) {
        snprintf(why, WHY_MAX, "%.190s", ec.text);
        return e == ERR_NOMEM ? e : ERR_INPUT;
    }
    at = o->zones[at].zone ? home : at;
    zone_destroy(o->zones[at].zone);
    o->zones[at].zone = zone;
    snprintf(o->zones[at].name, ZONE_NAME_MAX, "%s", name);
    *out = zone;
    return ERR_OK;
}

static void keep_error(struct cached *c, const struct errctx *ec)
{
    free(c->error);
    c->error = str_copy(ec->text);
}

static void show_error(const struct cached *c, char why[WHY_MAX])
{
    snprintf(why, WHY_MAX, "%.150s", c->error ? c->error : "out of memory");
}

static struct cached *find_cron(struct occurrences *o, const char *text, const char *zone_name)
{
    uint32_t hash = 2166136261u;
    struct cached *c;
    struct errctx ec;
    enum err e;

    for (const char *s = text; *s; s++) /* many times a second: not by a call */
        hash = (hash ^ (unsigned char)*s) * 16777619u;
    for (const char *s = zone_name; s && *s; s++)
        hash = (hash ^ (unsigned char)*s) * 16777619u;
    c = &o->cache[hash % CACHE_SLOTS];

    if (c->text && strcmp(c->text, text) == 0 && str_equal(c->zone_name, zone_name))
        return c;
    forget(c);
    c->text = str_copy(text);
    c->zone_name = str_copy(zone_name);
    c->from_ms = INT64_MIN;
    errctx_clear(&ec);
    e = c->text && (c->zone_name || !zone_name) ? cron_parse(text, o->max_year, &c->cron, &ec) : ERR_NOMEM;
    if (e == ERR_NOMEM) {
        forget(c);
        return NULL;
    }
    if (e)
        keep_error(c, &ec);
    return c;
}

static enum err next_cron(struct occurrences *o, const struct job_due *job, int64_t from_ms, int64_t *out_ms,
                          char why[WHY_MAX])
{
    const char *zone_name = job->time_zone && job->time_zone[0] ? job->time_zone : NULL;
    struct cached *c = find_cron(o, job->schedule_conf, zone_name);
    const struct zone *zone = o->zone;
    struct errctx ec;

    if (!c)
        return ERR_NOMEM;
    if (!c->cron) {
        show_error(c, why);
        return ERR_INPUT;
    }
    if (c->from_ms != from_ms) {
        enum err e = zone_name ? find_zone(o, zone_name, &zone, why) : ERR_OK;

        if (e)
            return e;
        errctx_clear(&ec);
        c->answer = cron_next(c->cron, zone, from_ms, &c->next_ms, &ec);
        c->from_ms = from_ms;
        if (c->answer)
            keep_error(c, &ec);
    }
    if (c->answer == ERR_NOTFOUND)
        snprintf(why, WHY_MAX, "no further occurrence");
    else if (c->answer)
        show_error(c, why);
    else
        *out_ms = c->next_ms;
    return c->answer;
}

/* ---- rates ------------------------------------------------------------------------------------------------------- */

static bool is_fixed(const struct job_due *job)
{
    return strcmp(job->schedule_type, "FIX_RATE") == 0;
}

/* A rate below 1 would never leave the present; the original fires such a job in every round. */
static bool read_rate(const struct job_due *job, int64_t *rate_s)
{
    return parse_int(job->schedule_conf, 1, INT32_MAX, rate_s);
}

bool occurrences_is_delayed(const struct job_due *job)
{
    int64_t rate_s;

    return job->fixed_delay_s > 0 && is_fixed(job) && read_rate(job, &rate_s) && rate_s == job->fixed_delay_s;
}

static enum err next_fixed(const struct job_due *job, int64_t from_ms, int64_t *out_ms, char why[WHY_MAX])
{
    int64_t rate_s, next_ms, first_ms = job->valid_from_s * 1000;

    if (!read_rate(job, &rate_s)) {
        snprintf(why, WHY_MAX, "FIX_RATE needs whole seconds from 1 to %d, not '%.60s'", INT32_MAX, job->schedule_conf);
        return ERR_INPUT;
    }
    next_ms = time_floor_div(from_ms + rate_s * 1000 + 999, 1000) * 1000;
    if (next_ms < first_ms)
        next_ms += (first_ms - next_ms + rate_s * 1000 - 1) / (rate_s * 1000) * rate_s * 1000;
    *out_ms = next_ms;
    return ERR_OK;
}

/* Six fields have no year. */
static bool has_year(const char *conf)
{
    int fields = 0;

    for (bool inside = false; *conf; conf++) {
        bool blank = *conf == ' ' || *conf == '\t';

        fields += !blank && !inside;
        inside = !blank;
    }
    return fields > 6;
}

/* Asked of each fire that is planned: what has no year, or ends in a later one, is told without a search. */
bool occurrences_end_by(struct occurrences *o, const struct job_due *job, int64_t from_ms)
{
    const struct cached *c = NULL;
    int64_t next_ms;
    char why[WHY_MAX];

    if (strcmp(job->schedule_type, "CRON") == 0 && has_year(job->schedule_conf))
        c = find_cron(o, job->schedule_conf, job->time_zone && job->time_zone[0] ? job->time_zone : NULL);
    if (!c || !c->cron || cron_last_year(c->cron) > zone_to_civil(o->zone, time_floor_div(from_ms, 1000)).year + 1)
        return false;
    return next_cron(o, job, from_ms, &next_ms, why) == ERR_NOTFOUND;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static enum err end_with_validity(const struct job_due *job, enum err e, const int64_t *out_ms, char why[WHY_MAX])
{
    if (e || job->valid_until_s == 0 || *out_ms < job->valid_until_s * 1000)
        return e;
    snprintf(why, WHY_MAX, "no further occurrence before the end of its validity");
    return ERR_STATE;
}

enum err occurrences_next(struct occurrences *o, const struct job_due *job, int64_t from_ms, int64_t *out_ms,
                          char why[WHY_MAX])
{
    enum err e = ERR_INPUT;

    if (strcmp(job->schedule_type, "CRON") == 0)
        e = next_cron(o, job, from_ms < job->valid_from_s * 1000 ? job->valid_from_s * 1000 - 1 : from_ms, out_ms, why);
    else if (is_fixed(job))
        e = next_fixed(job, from_ms, out_ms, why);
    else
        snprintf(why, WHY_MAX, "schedule type '%.40s' has no next time", job->schedule_type);
    return end_with_validity(job, e, out_ms, why);
}

enum err occurrences_skip_to(struct occurrences *o, const struct job_due *job, int64_t due_ms, int64_t from_ms,
                             int64_t *out_ms, char why[WHY_MAX])
{
    int64_t rate_s, steps;

    if (occurrences_is_delayed(job) || !is_fixed(job) || !read_rate(job, &rate_s))
        return occurrences_next(o, job, from_ms, out_ms, why);
    if (from_ms < job->valid_from_s * 1000)
        from_ms = job->valid_from_s * 1000 - 1;
    steps = time_floor_div(from_ms - due_ms, rate_s * 1000) + 1;
    *out_ms = due_ms + (steps < 1 ? 1 : steps) * rate_s * 1000;
    return end_with_validity(job, ERR_OK, out_ms, why);
}

enum err occurrences_is_own(struct occurrences *o, const struct job_due *job, int64_t due_s, int64_t newest_s,
                            bool *own, char why[WHY_MAX])
{
    int64_t rate_s, next_ms = 0;
    enum err e;

    *own = due_s == newest_s;
    if (*own || occurrences_is_delayed(job))
        return ERR_OK;
    if (is_fixed(job)) {
        *own = read_rate(job, &rate_s) && (newest_s - due_s) % rate_s == 0;
        return ERR_OK;
    }
    e = occurrences_next(o, job, due_s * 1000 - 1, &next_ms, why);
    *own = e == ERR_OK && next_ms == due_s * 1000;
    return e == ERR_NOMEM ? e : ERR_OK; /* a broken schedule has none; who fires it finds out */
}

struct occurrences_count occurrences_count(struct occurrences *o, const struct job_due *job, int64_t due_ms,
                                           int64_t until_ms)
{
    struct occurrences_count c = {.last_ms = due_ms};
    int64_t rate_s, next_ms = 0;
    char why[WHY_MAX];

    if (job->valid_until_s && until_ms >= job->valid_until_s * 1000)
        until_ms = job->valid_until_s * 1000 - 1;
    if (occurrences_is_delayed(job) || until_ms <= due_ms)
        return c;
    if (is_fixed(job) && read_rate(job, &rate_s)) {
        c.count = (until_ms - due_ms) / (rate_s * 1000);
        c.last_ms = due_ms + c.count * rate_s * 1000;
        return c;
    }
    while (o->budget > 0) {
        o->budget--;
        if (occurrences_next(o, job, c.last_ms, &next_ms, why) || next_ms > until_ms)
            return c;
        c.count++;
        c.last_ms = next_ms;
    }
    c.more = true;
    return c;
}

/* ---- for others -------------------------------------------------------------------------------------------------- */

enum err schedule_find_next(const struct job_due *job, const struct zone *zone, int64_t max_year, int64_t from_ms,
                            int64_t *out_ms, struct errctx *ec)
{
    struct occurrences *o = NULL;
    char why[WHY_MAX] = "";
    enum err e = occurrences_create(zone, max_year, &o, ec);

    if (e)
        return e;
    e = occurrences_next(o, job, from_ms, out_ms, why);
    occurrences_destroy(o);
    if (e == ERR_STATE)
        e = ERR_NOTFOUND;
    return e ? err_set(ec, e, "%s", e == ERR_NOMEM ? "out of memory" : why) : ERR_OK;
}

static enum err list_due(struct occurrences *o, const struct job_due *job, int64_t from_ms, int64_t to_ms,
                         int64_t *out_ms, size_t max, size_t *count, char why[WHY_MAX])
{
    int64_t next_ms = 0, rate_s = 0;
    bool fixed = is_fixed(job);
    enum err e = ERR_OK;

    if (fixed && !read_rate(job, &rate_s)) {
        snprintf(why, WHY_MAX, "FIX_RATE needs whole seconds, not '%.60s'", job->schedule_conf);
        return ERR_INPUT;
    }
    if (fixed)
        next_ms = job->next_ms - time_floor_div(job->next_ms - from_ms, rate_s * 1000) * rate_s * 1000;
    else
        e = occurrences_next(o, job, from_ms - 1, &next_ms, why);

    while (!e && next_ms < to_ms && *count < max) {
        bool valid =
            next_ms >= job->valid_from_s * 1000 && (job->valid_until_s == 0 || next_ms < job->valid_until_s * 1000);

        if (valid)
            out_ms[(*count)++] = next_ms;
        if (fixed)
            next_ms += rate_s * 1000;
        else
            e = occurrences_next(o, job, next_ms, &next_ms, why);
    }
    return e;
}

enum err schedule_list_due(const struct job_due *job, const struct zone *zone, int64_t max_year, int64_t from_ms,
                           int64_t to_ms, int64_t *out_ms, size_t max, size_t *count, struct errctx *ec)
{
    struct occurrences *o = NULL;
    char why[WHY_MAX] = "";
    enum err e = ERR_OK;

    *count = 0;
    if (occurrences_is_delayed(job))
        return ERR_OK;
    e = occurrences_create(zone, max_year, &o, ec);
    if (e)
        return e;
    e = list_due(o, job, from_ms, to_ms, out_ms, max, count, why);
    occurrences_destroy(o);
    if (e == ERR_STATE || e == ERR_NOTFOUND)
        return ERR_OK; /* the schedule has ended */
    return e ? err_set(ec, e, "%s", e == ERR_NOMEM ? "out of memory" : why) : ERR_OK;
}

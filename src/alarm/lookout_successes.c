/* SPDX-License-Identifier: MIT */
/* Jobs that have had no success in time. */
#include "alarm/lookout.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define RUNS_FIRST 30  /* the newest runs of a job, among which a success is looked for... */
#define RUNS_MORE 1000 /* ... and where all of them failed */
#define MORE_MAX 50    /* such jobs in a turn */

/* The zone of a job; NULL: there is no such time zone, and nothing is said of it. */
static const struct zone *find_zone(struct lookout *w, const char *name)
{
    struct errctx ec = {{0}};

    if (!name[0])
        return w->zone;
    if (w->job_zone && strcmp(zone_get_name(w->job_zone), name) == 0)
        return w->job_zone;
    zone_destroy(w->job_zone);
    w->job_zone = NULL;
    return zone_load(name, &w->job_zone, &ec) ? NULL : w->job_zone;
}

static enum verdict judge_done(struct lookout *w, const struct watch_item *item, int64_t now_s)
{
    const struct zone *zone = find_zone(w, item->zone_name);
    struct errctx ec = {{0}};
    struct cron *cron = NULL;
    enum verdict v = VERDICT_IDLE;

    if (!zone || (item->cron_text[0] && cron_parse(item->cron_text, w->max_year, &cron, &ec)))
        return VERDICT_IDLE;
    v = verdict_done(zone, item->limits.done_minute, cron, item->since_s, item->begun_s, now_s);
    cron_destroy(cron);
    return v;
}

/* By what is known; GOOD where nothing holds. */
static enum verdict judge(struct lookout *w, const struct watch_item *item, enum watch_kind kind, int64_t now_s)
{
    if (!item->expected)
        return VERDICT_GOOD;
    if (kind == WATCH_NO_SUCCESS)
        return item->limits.success_s < 0
                   ? VERDICT_GOOD
                   : verdict_success(item->limits.success_s, item->since_s, item->success_s, now_s);
    return item->limits.done_minute < 0 ? VERDICT_GOOD : judge_done(w, item, now_s);
}

/* What is good by what is known stays good; what is too early to say does not matter, unless it is open. */
static bool is_to_be_looked_up(struct lookout *w, const struct watch_item *item, int64_t now_s)
{
    static const enum watch_kind kinds[] = {WATCH_NO_SUCCESS, WATCH_NOT_DONE};

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        enum verdict v = judge(w, item, kinds[i], now_s);
        if (v == VERDICT_BAD ||
            (v == VERDICT_IDLE && lookout_find_state(&w->states, watch_kind_name(kinds[i]), item->job_id)))
            return true;
    }
    return false;
}

/* A job is bad only where it was looked up just now. */
static void note(struct lookout *w, const struct watch_item *item, bool looked_up, int64_t now_s)
{
    enum verdict success = judge(w, item, WATCH_NO_SUCCESS, now_s), done = judge(w, item, WATCH_NOT_DONE, now_s);

    if (looked_up || success == VERDICT_GOOD)
        lookout_note(w, success, WATCH_NO_SUCCESS, item->job_id, 0, "no success for %" PRId64 " s",
                     item->limits.success_s);
    if (looked_up || done == VERDICT_GOOD)
        lookout_note(w, done, WATCH_NOT_DONE, item->job_id, 0, "no run that was due has succeeded by %02d:%02d",
                     item->limits.done_minute / 60, item->limits.done_minute % 60);
}

static enum err look_up(struct lookout *w, struct store_session *s, const int64_t *ids, size_t count, int64_t each,
                        struct job_success **found, size_t *found_count, struct errctx *ec)
{
    bool indexed = true;
    enum err e = store_load_successes(s, ids, count, each, found, found_count, &indexed, ec);

    if (!e && !indexed && !w->blind_told) {
        w->blind_told = true;
        log_warn("alarm", "event=watch_blind effect=%s",
                 log_quote("xxl_job_log has no index on job_id: no alarm is sent for jobs without a success").s);
    }
    if (!e && !indexed)
        return err_set(ec, ERR_NOTFOUND, "no index");
    for (size_t i = 0; i < *found_count && !e; i++) {
        struct watch_item *item = lookout_find_item(w, (*found)[i].job_id);
        if (item && (*found)[i].success_s > item->success_s)
            item->success_s = (*found)[i].success_s;
        if (item && (*found)[i].begun_s > item->begun_s)
            item->begun_s = (*found)[i].begun_s;
    }
    return e;
}

/* The jobs of which all runs that were looked at failed, while there may be more: above `after`, or the others. */
static size_t keep_failing(struct lookout *w, const struct job_success *found, size_t count, int64_t after, bool above,
                           int64_t now_s, int64_t *ids)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        const struct watch_item *item = lookout_find_item(w, found[i].job_id);
        if (item && (item->job_id > after) == above && found[i].ended == RUNS_FIRST && found[i].success_s == 0 &&
            is_to_be_looked_up(w, item, now_s))
            ids[kept++] = item->job_id;
    }
    qsort(ids, kept, sizeof *ids, compare_int64);
    return kept;
}

/* At most WATCH_LOOKS_MAX, from where the turn before ended. */
static size_t choose(struct lookout *w, int64_t now_s, int64_t *ids)
{
    size_t count = 0, i = 0;

    for (; i < w->item_count && count < WATCH_LOOKS_MAX; i++) {
        const struct watch_item *item = &w->items[(w->look_at + i) % w->item_count];
        if (is_to_be_looked_up(w, item, now_s))
            ids[count++] = item->job_id;
    }
    w->look_at = w->item_count ? (w->look_at + i) % w->item_count : 0;
    qsort(ids, count, sizeof *ids, compare_int64);
    return count;
}

enum err lookout_look_at_successes(struct lookout *w, struct store_session *s, int64_t now_ms, struct errctx *ec)
{
    int64_t now_s = time_floor_div(now_ms, 1000);
    int64_t *ids = calloc(WATCH_LOOKS_MAX, sizeof *ids), *more = calloc(WATCH_LOOKS_MAX, sizeof *more);
    struct job_success *found = NULL, *found_more = NULL;
    size_t count = 0, found_count = 0, more_count = 0, asked = 0;
    enum err e = ids && more ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory for jobs that are looked up");

    if (!e) {
        count = choose(w, now_s, ids);
        e = count ? look_up(w, s, ids, count, RUNS_FIRST, &found, &found_count, ec) : ERR_OK;
    }
    if (!e) {
        more_count = keep_failing(w, found, found_count, w->more_after, /*above=*/true, now_s, more);
        more_count += keep_failing(w, found, found_count, w->more_after, false, now_s, more + more_count);
        asked = more_count < MORE_MAX ? more_count : MORE_MAX;
        w->more_after = asked ? more[asked - 1] : 0;
        e = asked ? look_up(w, s, more, asked, RUNS_MORE, &found_more, &found_count, ec) : ERR_OK;
    }
    if (!e)
        qsort(more + asked, more_count - asked, sizeof *more, compare_int64);
    for (size_t i = 0; i < w->item_count && !e; i++) {
        int64_t id = w->items[i].job_id;
        note(w, &w->items[i],
             list_find(ids, count, sizeof id, id) && !list_find(more + asked, more_count - asked, sizeof id, id),
             now_s);
    }
    free(ids);
    free(more);
    free(found);
    free(found_more);
    return e == ERR_NOTFOUND ? ERR_OK : e;
}

/* SPDX-License-Identifier: MIT */
/*
 * The failure monitor.
 *
 * Finding: a row can fail at any time after it was written, and alarm_status has no index. So each row is read when it
 * is new, by the primary key, and the ids of those without an end are kept (watch.h) and looked at again. Ids are given
 * out before their transactions commit, so the newest rows, of the last FRONT_LAG_MS, are read once more in each pass.
 * At start the last FRONT_START_S are read at once, and LOOK_BACK_S before them some rows per pass.
 */
#include "shardwheel/alarm.h"
#include "shardwheel/follow.h"
#include "shardwheel/job.h"
#include "shardwheel/record.h"
#include "shardwheel/store/run.h"
#include "follow/horizons.h"
#include "follow/retry.h"
#include "follow/stale.h"
#include "follow/watch.h"
#include "shardwheel/job/times.h"
#include "shardwheel/job/codes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PERIOD_MS 10000
#define DOUBT_MS 500    /* a retry whose commit is in doubt has little time to be sent */
#define FAILED_MAX 1000 /* failed rows in a pass */
#define BATCH_MAX 50    /* of them in a transaction */
#define STEP_ROWS 20000 /* ids in one statement */
#define BACK_STEPS 10   /* statements for the past in one pass */
#define TURN_ROWS 20000 /* watched rows looked at in one pass */
#define WATCH_MAX 200000
#define FRONT_START_S (15 * 60)
#define LOOK_BACK_S (INT64_C(7) * 24 * 3600)
#define FRONT_LAG_MS 60000
#define HORIZON_MS 4000 /* between two of them */
#define RESULT_WAIT_S 30
#define GONE_MAX 10000

struct gone_fire {
    int64_t id;
    char incarnation[INCARNATION_MAX];
};

struct failures {
    struct failures_opts opts;   /* [const] the strings are ours */
    const struct clock *clock;   /* [const] */
    struct counters *counters;   /* [const] */
    struct alarms *alarms;       /* [const] */
    struct worker worker;        /* [const] locks by itself */
    struct direct_sender sender; /* [thread] */
    struct log_limit aside_log;  /* [atomic] */

    bool begun; /* [thread], as all below: front and back are known */
    bool failing;
    bool warned_watch;
    int64_t front_id; /* rows up to here have been read, or belong to the past below */
    int64_t back_id;  /* rows of the past up to here have been read */
    int64_t back_end;
    struct horizons horizons; /* of earlier passes */
    struct watch watch;
    struct stale stale;
    bool doubtful; /* the outcome of a transaction is unknown; no other one begins before it is settled */
    struct failed_batch doubt;
    int64_t doubt_boot_ms;                    /* when it was begun */
    const struct registry_snapshot *snapshot; /* of the batch under way */

    /* Of the pass. */
    int64_t failed[FAILED_MAX];
    size_t failed_count;
    bool more; /* there are more than that */
    struct gone_fire gone[GONE_MAX];
    size_t gone_count;
};

/* ---- looking ----------------------------------------------------------------------------------------------- */

/* The executor's callback came before the answer to our call: that one's result is about to be written, and would cover
 * a line about a retry. */
static bool waits_for_result(const struct log_state *row, int64_t now_s)
{
    return row->marked && row->trigger_code == 0 && now_s - row->due_s < RESULT_WAIT_S;
}

static enum err sort_rows(struct failures *f, const struct log_state *rows, size_t count, struct errctx *ec)
{
    int64_t now_s = time_floor_div(clock_wall_ms(f->clock), 1000);
    enum err e = ERR_OK;

    for (size_t i = 0; i < count && !e; i++) {
        const struct log_state *row = &rows[i];

        e = watch_note(&f->watch, row->id, ec);
        if (!e)
            e = stale_note(&f->stale, row, now_s, ec);
        if (log_state_is_failed(row)) {
            if (waits_for_result(row, now_s))
                continue;
            if (f->failed_count < FAILED_MAX)
                f->failed[f->failed_count++] = row->id;
            else
                f->more = true;
        } else if (row->incarnation[0] && strcmp(row->incarnation, f->opts.incarnation) != 0 &&
                   now_s - row->due_s >= DIRECT_AGE_S && f->gone_count < GONE_MAX) {
            struct gone_fire *gone = &f->gone[f->gone_count++];
            gone->id = row->id;
            memcpy(gone->incarnation, row->incarnation, sizeof gone->incarnation);
        }
    }
    return e;
}

/* Reads on from *id to `end`, at most so many steps. */
static enum err walk(struct failures *f, struct store_session *s, int64_t *id, int64_t end, int steps,
                     struct errctx *ec)
{
    enum err e = ERR_OK;

    for (; steps > 0 && *id < end && !e; steps--) {
        struct log_state *rows = NULL;
        size_t count = 0;
        int64_t next = 0;
        /* Ids have gaps, and some servers leave wide ones. */
        e = store_find_next_log(s, *id, &next, ec);
        if (e)
            break;
        if (next == 0 || next > end) {
            *id = end;
            break;
        }
        int64_t until = end - next < STEP_ROWS ? end : next + STEP_ROWS;
        e = store_load_log_range(s, next - 1, until, &rows, &count, ec);
        if (!e)
            e = sort_rows(f, rows, count, ec);
        if (!e)
            *id = until;
        free(rows);
    }
    return e;
}

static enum err begin(struct failures *f, struct store_session *s, struct errctx *ec)
{
    int64_t now_s = time_floor_div(clock_wall_ms(f->clock), 1000);
    int64_t old_id, first_id, last_id;
    enum err e = store_load_log_bounds(s, now_s - LOOK_BACK_S, &old_id, &last_id, ec);

    if (!e)
        e = store_load_log_bounds(s, now_s - FRONT_START_S, &first_id, &last_id, ec);
    if (e)
        return e;
    f->front_id = first_id - 1;
    f->back_id = old_id - 1 < f->front_id ? old_id - 1 : f->front_id;
    f->back_end = f->front_id;
    f->horizons.count = 0;
    f->begun = true;
    return ERR_OK;
}

/* The newest id of a pass becomes the front once it is so old that no transaction with a lower id can be open any
 * more. */
static void move_front(struct failures *f, int64_t last_id)
{
    int64_t now_ms = clock_mono_ms(f->clock), id;

    while (horizons_take(&f->horizons, now_ms, FRONT_LAG_MS, &id))
        f->front_id = id > f->front_id ? id : f->front_id;
    horizons_note(&f->horizons, now_ms, HORIZON_MS, last_id);
}

static void note_dropped(struct failures *f, size_t dropped)
{
    if (dropped && !f->warned_watch)
        log_warn("follow", "event=too_many_open_rows count=%zu effect=%s", dropped,
                 log_quote("the oldest open log rows are not looked at again: if they fail, nobody is told").s);
    f->warned_watch = dropped > 0;
}

/* The newest rows are gone, or the whole table was emptied and its ids begin anew. */
static void step_back(struct failures *f, int64_t last_id)
{
    f->front_id = last_id;
    f->horizons.count = 0;
    if (f->back_end > last_id)
        f->back_end = last_id;
    if (f->back_id > f->back_end)
        f->back_id = f->back_end;
}

/* Everything that has to be looked at in this pass. */
static enum err look(struct failures *f, struct store_session *s, struct errctx *ec)
{
    struct log_state *rows = NULL;
    size_t count = 0, dropped = 0;
    int64_t first_id, last_id, at, back_at;
    enum err e = f->begun ? ERR_OK : begin(f, s, ec);

    f->failed_count = f->gone_count = 0;
    stale_begin(&f->stale);
    f->more = false;
    if (!e)
        e = store_load_log_bounds(s, time_floor_div(clock_wall_ms(f->clock), 1000), &first_id, &last_id, ec);
    if (e)
        return e;
    if (last_id < f->front_id)
        step_back(f, last_id);
    at = f->front_id;
    back_at = f->back_id;
    e = watch_begin(&f->watch, f->front_id, TURN_ROWS, ec);
    if (!e)
        e = store_load_log_list(s, f->watch.turn, f->watch.turn_count, &rows, &count, ec);
    if (!e)
        e = sort_rows(f, rows, count, ec);
    free(rows);
    if (!e)
        e = walk(f, s, &at, last_id, INT32_MAX, ec);
    if (!e)
        e = walk(f, s, &back_at, f->back_end, BACK_STEPS, ec);
    if (!e)
        e = watch_end(&f->watch, clock_mono_ms(f->clock), &dropped, ec);
    if (e) {
        watch_abandon(&f->watch);
        return e;
    }
    f->back_id = back_at;
    move_front(f, last_id);
    f->failed_count = sort_distinct(f->failed, f->failed_count); /* one id may be found by two ways */
    note_dropped(f, dropped);
    counters_set(f->counters, COUNTER_ROWS_WATCHED, (int64_t)f->watch.count);
    return ERR_OK;
}

/* ---- what nodes that are gone have left ----------------------------------------------------------------------- */

static bool is_live(char (*live)[INCARNATION_MAX], size_t count, const char *incarnation)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(live[i], incarnation) == 0)
            return true;
    return false;
}

static enum err end_gone(struct failures *f, struct store_session *s, struct errctx *ec)
{
    char(*live)[INCARNATION_MAX] = NULL;
    int64_t *ids;
    int64_t now_ms = clock_mono_ms(f->clock);
    size_t live_count = 0, n = 0, ended = 0;
    enum err e;

    if (f->gone_count == 0)
        return ERR_OK;
    ids = calloc(f->gone_count, sizeof *ids);
    if (!ids)
        return err_set(ec, ERR_NOMEM, "out of memory for %zu fires of nodes that are gone", f->gone_count);
    e = store_load_live_nodes(s, NODE_GONE_MS, &live, &live_count, ec);
    for (size_t i = 0; !e && i < f->gone_count; i++) {
        int64_t seen_ms = watch_get_seen_ms(&f->watch, f->gone[i].id);
        if (seen_ms <= now_ms - DIRECT_SEEN_MS && !is_live(live, live_count, f->gone[i].incarnation))
            ids[n++] = f->gone[i].id;
    }
    if (!e)
        e = store_end_direct(s, ids, n, &ended, ec);
    if (!e && ended) {
        counters_add(f->counters, COUNTER_FIRES_UNKNOWN, (int64_t)ended);
        log_warn("follow", "event=delivery_unknown count=%zu why=%s", ended,
                 log_quote("their node went away before it could tell what came of these retries").s);
        f->more = true; /* they are failures now */
    }
    free(live);
    free(ids);
    return e;
}

static enum err end_stale(struct failures *f, struct store_session *s, struct errctx *ec)
{
    size_t ended = 0;
    enum err e = stale_end(&f->stale, s, clock_mono_ms(f->clock), &ended, ec);

    if (ended > 0) {
        counters_add(f->counters, COUNTER_FIRES_UNKNOWN, (int64_t)ended);
        log_warn("follow", "event=delivery_unknown count=%zu why=%s", ended,
                 log_quote("their shards have passed them long ago, and nobody has written what came of them").s);
        f->more = true; /* they are failures now */
    }
    return e;
}

/* ---- dealing with failed rows --------------------------------------------------------------------------------- */

struct decider {
    struct failures *f;
    int64_t now_s;
};

static enum err decide(void *arg, struct failed_row *row, struct errctx *ec)
{
    struct decider *d = arg;
    const struct registry_group *group = row->job ? registry_find_group(d->f->snapshot, row->job->group) : NULL;
    bool can_tell = alarms_choose(d->f->alarms, group ? group->app_name : NULL, &row->has_mail);

    return retry_decide(row, group, can_tell, d->now_s, ec);
}

static void count_row(struct failures *f, const struct failed_row *row)
{
    log_fire(FOLLOW,
             "event=failure_followed log_id=%" PRId64 " job=%" PRId64 " retry_log_id=%" PRId64 " retry_at=%" PRId64
             " alarm=%d",
             row->id, row->job_id, row->retries ? row->retries->log_id : 0, row->retry_at_s, (int)row->alarm);
    switch (row->alarm) {
    case ALARM_OPEN:
    case ALARM_LOCKED: break; /* counted when it is told */
    case ALARM_NOT_NEEDED: counters_add(f->counters, COUNTER_ALARMS_JOB_GONE, 1); break;
    case ALARM_DONE:
        counters_add(f->counters, row->grouped ? COUNTER_ALARMS_GROUPED : COUNTER_ALARMS_NO_ADDRESS, 1);
        break;
    case ALARM_FAILED: counters_add(f->counters, COUNTER_ALARMS_FAILED, 1); break;
    }
    counters_add(f->counters, COUNTER_RETRIES, row->retry_at_s != 0);
}

/* After the commit: retries go out first, then the alarms. */
static void follow(struct failures *f, struct failed_batch *batch, int64_t begun_boot_ms)
{
    struct fire *list = NULL;
    struct fire **tail = &list;

    for (size_t i = 0; i < batch->count; i++) {
        count_row(f, &batch->rows[i]);
        *tail = batch->rows[i].retries;
        batch->rows[i].retries = NULL;
        while (*tail)
            tail = &(*tail)->next;
    }
    direct_send(&f->sender, list, begun_boot_ms);
    alarms_poke(f->alarms);
}

static enum err handle_some(struct failures *f, struct store_session *s, const int64_t *ids, size_t count,
                            struct errctx *ec)
{
    struct decider decider = {.f = f, .now_s = time_floor_div(clock_wall_ms(f->clock), 1000)};
    struct failed_batch batch = {0};
    int64_t begun_boot_ms = clock_boot_ms(f->clock);
    enum err e;

    f->snapshot = registry_get_snapshot(f->opts.registry);
    e = store_handle_failures(s, ids, count, f->opts.incarnation, decide, &decider, &batch, ec);
    registry_put_snapshot(f->snapshot);
    f->snapshot = NULL;
    if (e == ERR_UNKNOWN) {
        f->doubtful = true;
        f->doubt = batch;
        f->doubt_boot_ms = begun_boot_ms;
        return e;
    }
    if (!e)
        follow(f, &batch, begun_boot_ms);
    failed_batch_fini(&batch);
    return e;
}

/* Each by itself. One that the database does not take in any way must not keep the others from their turn, nor come
 * back for ever. */
static enum err handle_singly(struct failures *f, struct store_session *s, const int64_t *ids, size_t count,
                              struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < count && !e; i++) {
        e = handle_some(f, s, &ids[i], 1, ec);
        if (e == ERR_INPUT) {
            log_limited(&f->aside_log, f->clock, LOG_ERROR, "follow",
                        "event=failure_set_aside log=%" PRId64 " error=%s effect=%s", ids[i], log_quote(ec->text).s,
                        log_quote("no retry, no alarm, alarm_status 3").s);
            counters_add(f->counters, COUNTER_ALARMS_FAILED, 1);
            e = store_set_aside_failure(s, ids[i], ec);
        } else if (e == ERR_CONFLICT) {
            e = ERR_OK; /* somebody holds it: in the next pass */
        }
    }
    return e;
}

static enum err handle_all(struct failures *f, struct store_session *s, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t at = 0, n; at < f->failed_count && !e && !worker_is_stopping(&f->worker); at += n) {
        n = f->failed_count - at < BATCH_MAX ? f->failed_count - at : BATCH_MAX;
        e = handle_some(f, s, f->failed + at, n, ec);
        if (e == ERR_INPUT || e == ERR_CONFLICT)
            e = handle_singly(f, s, f->failed + at, n, ec);
    }
    return e;
}

/* What a transaction of unknown outcome did after all is followed up. */
static enum err settle_doubt(struct failures *f, struct store_session *s, struct errctx *ec)
{
    bool happened = false;
    enum err e;

    direct_end_late(&f->sender);
    e = f->doubtful ? store_find_failures(s, &f->doubt, f->opts.incarnation, &happened, ec) : ERR_OK;

    if (e || !f->doubtful)
        return e;
    f->doubtful = false;
    if (happened)
        follow(f, &f->doubt, f->doubt_boot_ms);
    failed_batch_fini(&f->doubt);
    return ERR_OK;
}

/* ---- passes ------------------------------------------------------------------------------------------------ */

static enum err pass(struct failures *f, struct errctx *ec)
{
    struct store_session *s = NULL;
    enum err e = store_take_session(f->opts.store, SESSION_NORMAL, &s, ec);

    if (!e)
        e = settle_doubt(f, s, ec);
    if (!e)
        e = look(f, s, ec);
    if (!e)
        e = handle_all(f, s, ec);
    if (!e)
        e = end_gone(f, s, ec);
    if (!e)
        e = end_stale(f, s, ec);
    store_give_session(f->opts.store, s);
    return e;
}

bool failures_turn(struct failures *f)
{
    struct errctx ec;
    errctx_clear(&ec);
    enum err e = pass(f, &ec);

    if (e && !f->failing)
        log_warn("follow", "event=failure_monitor_failing error=%s effect=%s", log_quote(ec.text).s,
                 log_quote("retries and alarms wait").s);
    else if (!e && f->failing)
        log_info("follow", "event=failure_monitor_working");
    f->failing = e != ERR_OK;
    return !e && f->more;
}

static int64_t run_turn(void *arg)
{
    struct failures *f = arg;
    int64_t next_mono_ms = clock_mono_ms(f->clock) + PERIOD_MS;

    if (failures_turn(f))
        return 0;
    return f->doubtful ? DOUBT_MS : next_mono_ms - clock_mono_ms(f->clock);
}

/* ---- life -------------------------------------------------------------------------------------------------- */

enum err failures_create(const struct failures_opts *opts, const struct clock *clock, struct counters *counters,
                         struct failures **out, struct errctx *ec)
{
    struct failures *f = calloc(1, sizeof *f);
    enum err e;

    if (!f)
        return err_set(ec, ERR_NOMEM, "out of memory for the failure monitor");
    f->opts = *opts;
    f->opts.alarms = (struct alarms_opts){0}; /* theirs */
    f->clock = clock;
    f->counters = counters;
    f->sender = (struct direct_sender){
        .store = opts->store, .clock = clock, .counters = counters, .submit = opts->submit, .arg = opts->arg};
    worker_init(&f->worker, clock);
    watch_init(&f->watch, WATCH_MAX);
    stale_init(&f->stale);
    f->opts.incarnation = str_copy(opts->incarnation);
    e = f->opts.incarnation ? alarms_create(&opts->alarms, clock, counters, &f->alarms, ec)
                            : err_set(ec, ERR_NOMEM, "out of memory for the failure monitor");
    if (e) {
        failures_destroy(f);
        return e;
    }
    *out = f;
    return ERR_OK;
}

enum err failures_start(struct failures *f, struct errctx *ec)
{
    enum err e = alarms_start(f->alarms, ec);

    return e ? e : worker_start(&f->worker, "failures", run_turn, NULL, f, ec);
}

void failures_stop(struct failures *f)
{
    worker_stop(&f->worker);
}

void failures_join(struct failures *f)
{
    worker_join(&f->worker);
    alarms_stop(f->alarms); /* now that nobody posts any more */
    alarms_join(f->alarms);
}

void failures_destroy(struct failures *f)
{
    if (!f)
        return;
    failed_batch_fini(&f->doubt);
    direct_sender_fini(&f->sender);
    alarms_destroy(f->alarms);
    watch_fini(&f->watch);
    stale_fini(&f->stale);
    worker_fini(&f->worker);
    free((char *)f->opts.incarnation);
    free(f);
}

/* SPDX-License-Identifier: MIT */
/* The failure monitor: what finder.h finds is retried, told and ended. */
#include "shardwheel/alarm.h"
#include "shardwheel/follow.h"
#include "shardwheel/job.h"
#include "shardwheel/record.h"
#include "shardwheel/store/run.h"
#include "follow/finder.h"
#include "follow/retry.h"
#include "shardwheel/job/times.h"
#include "shardwheel/job/codes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PERIOD_MS 10000
#define DOUBT_MS 500 /* a retry whose commit is in doubt has little time to be sent */
#define BATCH_MAX 50 /* failed rows in a transaction */

struct failures {
    struct failures_opts opts;   /* [const] the strings are ours */
    const struct clock *clock;   /* [const] */
    struct counters *counters;   /* [const] */
    struct alarms *alarms;       /* [const] */
    struct worker worker;        /* [const] locks by itself */
    struct direct_sender sender; /* [thread] */
    struct log_limit aside_log;  /* [atomic] */

    struct finder finder; /* [thread], as all below */
    bool failing;
    bool more;     /* failed rows are left for another pass, at once */
    bool doubtful; /* the outcome of a transaction is unknown; no other one begins before it is settled */
    struct failed_batch doubt;
    int64_t doubt_boot_ms;                    /* when it was begun */
    const struct registry_snapshot *snapshot; /* of the batch under way */
};

/* ---- looking ----------------------------------------------------------------------------------------------- */

static enum err look(struct failures *f, struct store_session *s, struct errctx *ec)
{
    enum err e = finder_look(&f->finder, s, ec);

    f->more = f->finder.more;
    if (!e)
        counters_set(f->counters, COUNTER_ROWS_WATCHED, (int64_t)f->finder.watch.count);
    return e;
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

    if (f->finder.gone_count == 0)
        return ERR_OK;
    ids = calloc(f->finder.gone_count, sizeof *ids);
    if (!ids)
        return err_set(ec, ERR_NOMEM, "out of memory for %zu fires of nodes that are gone", f->finder.gone_count);
    e = store_load_live_nodes(s, NODE_GONE_MS, &live, &live_count, ec);
    for (size_t i = 0; !e && i < f->finder.gone_count; i++) {
        int64_t seen_ms = watch_get_seen_ms(&f->finder.watch, f->finder.gone[i].id);
        if (seen_ms <= now_ms - DIRECT_SEEN_MS && !is_live(live, live_count, f->finder.gone[i].incarnation))
            ids[n++] = f->finder.gone[i].id;
    }
    if (!e)
        e = store_end_direct(s, ids, n, &ended, ec);
    if (!e && ended) {
        counters_add(f->counters, COUNTER_FIRES_UNKNOWN, (int64_t)ended);
        log_warn("follow", "event=delivery_unknown count=%zu why=%s", ended,
                 log_quote("their node failed before it wrote the result of these retries").s);
        f->more = true; /* they are failures now */
    }
    free(live);
    free(ids);
    return e;
}

static enum err end_stale(struct failures *f, struct store_session *s, struct errctx *ec)
{
    size_t ended = 0;
    enum err e = stale_end(&f->finder.stale, s, clock_mono_ms(f->clock), &ended, ec);

    if (ended > 0) {
        counters_add(f->counters, COUNTER_FIRES_UNKNOWN, (int64_t)ended);
        log_warn("follow", "event=delivery_unknown count=%zu why=%s", ended,
                 log_quote("the cursors of their shards have passed them long ago, and no result was written").s);
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

    for (size_t at = 0, n; at < f->finder.failed_count && !e && !worker_is_stopping(&f->worker); at += n) {
        n = f->finder.failed_count - at < BATCH_MAX ? f->finder.failed_count - at : BATCH_MAX;
        e = handle_some(f, s, f->finder.failed + at, n, ec);
        if (e == ERR_INPUT || e == ERR_CONFLICT)
            e = handle_singly(f, s, f->finder.failed + at, n, ec);
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
    struct errctx ec = {0};
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

void failures_end(struct failures *f)
{
    struct store_session *s = NULL;
    struct errctx ec;
    enum err e = ERR_OK;

    for (int i = 0; i < DOUBT_END_TRIES && f->doubtful && !e; i++) {
        errctx_clear(&ec);
        e = store_take_session(f->opts.store, SESSION_NORMAL, &s, &ec);
        if (!e && settle_doubt(f, s, &ec))
            log_warn("follow", "event=failure_monitor_failing error=%s effect=%s", log_quote(ec.text).s,
                     log_quote("retries and alarms wait").s);
        store_give_session(f->opts.store, s);
        s = NULL;
    }
}

static void end_turns(void *arg)
{
    failures_end(arg);
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
    f->opts.incarnation = str_copy(opts->incarnation);
    finder_init(&f->finder, f->opts.incarnation, clock);
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

    return e ? e : worker_start(&f->worker, "failures", run_turn, end_turns, f, ec);
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
    finder_fini(&f->finder);
    worker_fini(&f->worker);
    free((char *)f->opts.incarnation);
    free(f);
}

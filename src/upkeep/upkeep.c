/* SPDX-License-Identifier: MIT */
#include "shardwheel/store/jobs.h"
#include "shardwheel/store/login.h"
#include "shardwheel/upkeep.h"
#include "upkeep/clean.h"
#include "upkeep/flow_clean.h"
#include "upkeep/kept_clean.h"
#include "upkeep/report.h"
#include "upkeep/sweep.h"

#include <inttypes.h>
#include <stdlib.h>

#define IDLE_MS 1000                                   /* between two looks whether shard 0 is ours */
#define RETRY_MS 5000                                  /* after a step that failed */
#define ORPHANS_MS (10 * 60000)                        /* between two looks for settings of jobs that are gone */
#define SESSIONS_MS 60000                              /* between two counts of sessions */
#define TOKEN_KEPT_MS (INT64_C(30) * 24 * 3600 * 1000) /* tokens are shown as expired for so long */
#define ORPHAN_AGE_S (10 * 60)                         /* younger ones are left alone */
#define REMOVED_MS 30000     /* between two looks for rows of the log of jobs that were removed */
#define REMOVED_AGE_MS 30000 /* until then whoever removes one is at it himself */
#define REMOVED_PAUSE_MS 100 /* between two statements */

struct upkeep {
    struct upkeep_opts opts;   /* [const] */
    const struct clock *clock; /* [const] */
    struct counters *counters; /* [const] */
    struct worker worker;      /* [const] locks by itself */

    int64_t epoch; /* [thread], as all below: of the shard when this began; 0: it is not ours */
    struct report report;
    struct clean clean;
    struct sweep sweep;
    struct flow_clean flow_clean;
    struct kept_clean kept_clean;
    int64_t report_mono_ms; /* when each is due */
    int64_t clean_mono_ms;
    int64_t orphans_mono_ms;
    int64_t people_mono_ms;
    int64_t sessions_mono_ms;
    int64_t sweep_mono_ms;
    int64_t removed_mono_ms;
    int64_t flows_mono_ms;
    int64_t kept_mono_ms;
    bool failing;
    int64_t cleaning_mono_ms; /* since when the log is being cleaned, or cannot be; 0: it is clean */
};

/* ---- duties ------------------------------------------------------------------------------------------------------ */

static enum err delete_orphans(struct upkeep *u, struct store_session *s, struct errctx *ec)
{
    int64_t now_s = time_floor_div(clock_wall_ms(u->clock), 1000);
    size_t deleted = 0;
    enum err e = store_delete_orphan_settings(s, now_s - ORPHAN_AGE_S, &deleted, ec);

    if (deleted > 0)
        log_info("upkeep", "event=settings_removed count=%zu why=\"their jobs were deleted\"", deleted);
    u->orphans_mono_ms = clock_mono_ms(u->clock) + (deleted > 0 ? IDLE_MS : ORPHANS_MS);
    return e;
}

static enum err delete_removed(struct upkeep *u, struct store_session *s, size_t *removed, struct errctx *ec)
{
    bool more = false;
    size_t deleted = 0;
    enum err e = store_delete_removed(s, 0, clock_wall_ms(u->clock) - REMOVED_AGE_MS, &deleted, &more, ec);

    *removed += deleted;
    u->removed_mono_ms = clock_mono_ms(u->clock) + (more ? REMOVED_PAUSE_MS : REMOVED_MS);
    return e;
}

/* Expired sessions, and what users who are gone have left. */
static enum err clean_people(struct upkeep *u, struct store_session *s, struct errctx *ec)
{
    size_t deleted = 0;
    enum err e = store_clean_people(s, TOKEN_KEPT_MS, &deleted, ec);

    u->people_mono_ms = clock_mono_ms(u->clock) + (deleted > 0 ? IDLE_MS : ORPHANS_MS);
    return e;
}

static enum err count_sessions(struct upkeep *u, struct store_session *s, struct errctx *ec)
{
    int64_t count = 0;
    enum err e = store_count_sessions(s, &count, ec);

    if (!e)
        counters_set(u->counters, COUNTER_CONSOLE_SESSIONS, count);
    u->sessions_mono_ms = clock_mono_ms(u->clock) + SESSIONS_MS;
    return e;
}

static enum err clean_kept(struct upkeep *u, struct store_session *s, struct errctx *ec)
{
    size_t removed = 0;
    enum err e = kept_clean_step(&u->kept_clean, s, u->clock, &removed, &u->kept_mono_ms, ec);

    counters_add(u->counters, COUNTER_KEPT_CLEANED, (int64_t)removed);
    if (!e)
        counters_set(u->counters, COUNTER_KEPT_BYTES, u->kept_clean.bytes);
    return e;
}

static enum err do_due(struct upkeep *u, struct store_session *s, struct errctx *ec)
{
    int64_t now_ms = clock_mono_ms(u->clock);
    size_t removed = 0;
    enum err e = ERR_OK;

    if (now_ms >= u->report_mono_ms)
        e = report_step(&u->report, s, u->opts.store, u->clock, &u->report_mono_ms, ec);
    if (!e && now_ms >= u->orphans_mono_ms)
        e = delete_orphans(u, s, ec);
    if (!e && now_ms >= u->people_mono_ms)
        e = clean_people(u, s, ec);
    if (!e && now_ms >= u->sessions_mono_ms)
        e = count_sessions(u, s, ec);
    if (!e && now_ms >= u->clean_mono_ms)
        e = clean_step(&u->clean, s, u->opts.store, u->clock, &removed, &u->clean_mono_ms, ec);
    if (!e && now_ms >= u->sweep_mono_ms)
        e = sweep_step(&u->sweep, s, u->clock, &u->sweep_mono_ms, ec);
    if (!e && now_ms >= u->removed_mono_ms)
        e = delete_removed(u, s, &removed, ec);
    if (!e && now_ms >= u->flows_mono_ms)
        e = flow_clean_step(&u->flow_clean, s, u->clock, &u->flows_mono_ms, ec);
    if (!e && now_ms >= u->kept_mono_ms)
        e = clean_kept(u, s, ec);
    counters_add(u->counters, COUNTER_LOG_ROWS_CLEANED, (int64_t)removed);
    return e;
}

/* ---- turns ------------------------------------------------------------------------------------------------------- */

/* Another owner may have worked since this node had the shard: nothing of before is relied on. */
static void begin(struct upkeep *u, int64_t epoch)
{
    u->epoch = epoch;
    u->cleaning_mono_ms = 0;
    report_init(&u->report);
    clean_forget(&u->clean);
    flow_clean_forget(&u->flow_clean);
    kept_clean_forget(&u->kept_clean);
    counters_set(u->counters, COUNTER_KEPT_BYTES, 0);
    counters_set(u->counters, COUNTER_CONSOLE_SESSIONS, 0);
    counters_set(u->counters, COUNTER_LOG_CLEANING, 0);
    u->report_mono_ms = u->clean_mono_ms = u->orphans_mono_ms = u->people_mono_ms = u->sessions_mono_ms =
        u->sweep_mono_ms = u->removed_mono_ms = u->flows_mono_ms = u->kept_mono_ms = clock_mono_ms(u->clock);
}

static int64_t find_due(const struct upkeep *u)
{
    const int64_t all[] = {u->clean_mono_ms, u->orphans_mono_ms, u->people_mono_ms, u->sessions_mono_ms,
                           u->sweep_mono_ms, u->removed_mono_ms, u->flows_mono_ms,  u->kept_mono_ms};
    int64_t due = u->report_mono_ms;

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        due = all[i] < due ? all[i] : due;
    return due;
}

static void note_cleaning(struct upkeep *u)
{
    int64_t now_ms = clock_mono_ms(u->clock);

    if (!u->failing && !u->clean.walking)
        u->cleaning_mono_ms = 0;
    else if (!u->cleaning_mono_ms)
        u->cleaning_mono_ms = now_ms;
    counters_set(u->counters, COUNTER_LOG_CLEANING, u->cleaning_mono_ms ? now_ms - u->cleaning_mono_ms : 0);
}

static void note(struct upkeep *u, enum err e, const struct errctx *ec)
{
    if (e && !u->failing)
        log_warn("upkeep", "event=upkeep_failing error=%s effect=%s", log_quote(ec->text).s,
                 log_quote("log reports and cleaning wait").s);
    else if (!e && u->failing)
        log_info("upkeep", "event=upkeep_working");
    u->failing = e != ERR_OK;
    note_cleaning(u);
}

int64_t upkeep_turn(struct upkeep *u)
{
    int64_t epoch = u->opts.get_epoch(u->opts.arg);
    struct store_session *s = NULL;
    struct errctx ec = {0};
    int64_t wait_ms;
    enum err e;

    if (epoch != u->epoch)
        begin(u, epoch);
    if (epoch == 0)
        return IDLE_MS;
    wait_ms = find_due(u) - clock_mono_ms(u->clock);
    if (wait_ms > 0)
        return wait_ms < IDLE_MS ? wait_ms : IDLE_MS;
    e = store_take_session(u->opts.store, SESSION_CLAIM, &s, &ec);
    if (!e)
        e = store_check_epoch(s, 0, epoch, &ec);
    if (e == ERR_CONFLICT) {
        store_give_session(u->opts.store, s);
        return IDLE_MS; /* it is somebody else's by now, as will be heard soon */
    }
    if (!e)
        e = do_due(u, s, &ec);
    store_give_session(u->opts.store, s);
    if (e == ERR_CONFLICT)
        return IDLE_MS; /* somebody held a row: tried again */
    note(u, e, &ec);
    wait_ms = find_due(u) - clock_mono_ms(u->clock);
    return e ? RETRY_MS : wait_ms < 0 ? 0 : wait_ms < IDLE_MS ? wait_ms : IDLE_MS;
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

enum err upkeep_create(const struct upkeep_opts *opts, const struct clock *clock, struct counters *counters,
                       struct upkeep **out, struct errctx *ec)
{
    struct upkeep *u = calloc(1, sizeof *u);

    if (!u)
        return err_set(ec, ERR_NOMEM, "upkeep: out of memory");
    u->opts = *opts;
    u->clock = clock;
    u->counters = counters;
    worker_init(&u->worker, clock);
    clean_init(&u->clean, opts->retention_days);
    sweep_init(&u->sweep, opts->audit_days);
    flow_clean_init(&u->flow_clean, opts->retention_days);
    kept_clean_init(&u->kept_clean, opts->kept_days, opts->kept_total);
    *out = u;
    return ERR_OK;
}

WORKER_LIFE(upkeep, "upkeep", NULL)

void upkeep_destroy(struct upkeep *u)
{
    if (!u)
        return;
    clean_fini(&u->clean);
    worker_fini(&u->worker);
    free(u);
}

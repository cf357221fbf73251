/* SPDX-License-Identifier: MIT */
/* The duties of the owner of shard 0, step by step on a clock of the test's own, on a log in memory. */
#include "test.h"

#include "shardwheel/store/alarm.h"
#include "shardwheel/store/login.h"
#include "shardwheel/store/jobs.h"
#include "shardwheel/store/kept.h"
#include "shardwheel/store/upkeep.h"
#include "shardwheel/upkeep.h"
#include "upkeep/clean.h"
#include "upkeep/flow_clean.h"
#include "upkeep/kept_clean.h"
#include "upkeep/report.h"
#include "upkeep/sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY_S 86400
#define TODAY INT64_C(20000)
#define NOON_S (TODAY * DAY_S + 12 * 3600)
#define ROWS_MAX 60000

enum row_state { RUNNING, SUCCESS, FAILED, SKIPPED, GONE };

struct row {
    int64_t at_s; /* in the zone of the log */
    int64_t job;
    enum row_state state;
    bool open; /* and marked */
};

static struct world {
    struct clock clock;
    int64_t ms;          /* all clocks, from NOON_S on */
    int64_t epoch;       /* of shard 0, as the node believes */
    int64_t owned_epoch; /* ... and as the database says */
    struct row rows[ROWS_MAX];
    size_t count;
    struct report_row {
        int64_t day;
        struct report_counts counts;
        int writes;
    } reports[10];
    size_t report_count;
    struct job_retention own[10];
    size_t own_count;
    int64_t ms_per_statement, ms_per_row; /* what counting costs */
    int64_t delete_ms;                    /* what a statement that removes costs... */
    int64_t delete_row_us;                /* ... and for each row */
    size_t held;                          /* this row is locked by somebody: its index + 1 */
    int counts_made;
    int64_t longest_ms; /* of a statement that counts */
    int64_t busy_ms;    /* of all statements */
    size_t longest_delete;
    int64_t orphan_looks, people_looks;
    size_t old_sessions;
    int64_t sessions;
    size_t removed_rows;        /* of the log of jobs that were removed */
    size_t old[HISTORY_TABLES]; /* rows that are to go */
    int64_t before_ms[HISTORY_TABLES];
    int sweeps;
    struct {
        const char *document;
        size_t old;
        int64_t days; /* with which it was cleaned last */
    } flows[50];
    size_t flow_count;
    size_t gone_runs;
    int flow_pages, flow_rounds;
    bool flow_held;         /* the first one, by somebody */
    int64_t kept, kept_old; /* kept logs of ten bytes each, and those of them that are old */
    int kept_measured;
    enum err error; /* of every statement */
    struct upkeep *u;
    struct counters counters;
} w;

static int64_t read_us(const struct clock *clock)
{
    (void)clock;
    return NOON_S * 1000000 + w.ms * 1000;
}

static int64_t read_ms(const struct clock *clock)
{
    (void)clock;
    return 1000000 + w.ms;
}

static int64_t get_epoch(void *arg)
{
    (void)arg;
    return w.epoch;
}

/* ---- the log in memory ------------------------------------------------------------------------------------------- */

struct store_session {
    int unused;
};
static struct store_session the_session;

static enum err answer(struct errctx *ec)
{
    return w.error ? err_set(ec, w.error, "as told") : ERR_OK;
}

enum err store_take_session(struct store *st, enum session_kind kind, struct store_session **out, struct errctx *ec)
{
    (void)st, (void)kind;
    *out = &the_session;
    return answer(ec);
}

void store_give_session(struct store *st, struct store_session *s)
{
    (void)st, (void)s;
}

enum err store_check_epoch(struct store_session *s, int shard, int64_t epoch, struct errctx *ec)
{
    (void)s;
    assert_int_equal(shard, 0);
    return epoch == w.owned_epoch ? answer(ec) : err_set(ec, ERR_CONFLICT, "another owner");
}

int64_t store_find_day(const struct store *st, int64_t now_s, int *minute)
{
    (void)st;
    *minute = (int)(now_s % DAY_S / 60);
    return now_s / DAY_S;
}

enum err store_count_minutes(struct store_session *s, int64_t day, int from, int count, int limit_ms,
                             struct report_counts *out, struct errctx *ec)
{
    int64_t took_ms = w.ms_per_statement;

    (void)s;
    assert_in_range(count, 1, DAY_MINUTES - from);
    w.counts_made++;
    memset(out, 0, (size_t)count * sizeof *out);
    for (size_t i = 0; i < w.count; i++) {
        const struct row *r = &w.rows[i];
        int64_t m = (r->at_s - day * DAY_S) / 60 - from;
        if (r->state == GONE || r->at_s < day * DAY_S || m < 0 || m >= count)
            continue;
        took_ms += w.ms_per_row;
        out[m].total++;
        out[m].running += r->state == RUNNING;
        out[m].success += r->state == SUCCESS;
        out[m].skipped += r->state == SKIPPED;
    }
    if (took_ms > limit_ms) {
        w.ms += limit_ms;
        w.busy_ms += limit_ms;
        return err_set(ec, ERR_TIMEOUT, "too long");
    }
    w.ms += took_ms;
    w.busy_ms += took_ms;
    w.longest_ms = took_ms > w.longest_ms ? took_ms : w.longest_ms;
    return answer(ec);
}

enum err store_write_report(struct store_session *s, int64_t day, const struct report_counts *counts, int64_t now_s,
                            struct errctx *ec)
{
    struct report_row *row = w.reports;

    (void)s, (void)now_s;
    while (row < w.reports + w.report_count && row->day != day)
        row++;
    assert_true(row < w.reports + ARRAY_LEN(w.reports));
    if (row == w.reports + w.report_count)
        w.report_count++;
    row->day = day;
    row->counts = *counts;
    row->writes++;
    return answer(ec);
}

enum err store_load_retentions(struct store_session *s, struct job_retention **out, size_t *count, struct errctx *ec)
{
    (void)s;
    *out = calloc(w.own_count + 1, sizeof **out);
    assert_non_null(*out);
    memcpy(*out, w.own, w.own_count * sizeof **out);
    *count = w.own_count;
    return answer(ec);
}

static bool is_expired(const struct clean_walk *walk, const struct row *r)
{
    bool named = bsearch(&r->job, walk->job_ids, walk->job_count, sizeof *walk->job_ids, compare_int64);

    return r->state != GONE && !r->open && r->at_s <= walk->before_day * DAY_S && named != walk->except;
}

enum err store_find_expired(struct store_session *s, struct clean_walk *walk, size_t max, int64_t *ids, size_t *count,
                            bool *done, struct errctx *ec)
{
    (void)s;
    *count = 0;
    while (*count < max && walk->id < (int64_t)w.count) {
        if (is_expired(walk, &w.rows[walk->id]))
            ids[(*count)++] = walk->id;
        walk->id++;
    }
    *done = walk->id == (int64_t)w.count;
    return answer(ec);
}

enum err store_delete_expired(struct store_session *s, const struct clean_walk *walk, const int64_t *ids, size_t count,
                              size_t *deleted, struct errctx *ec)
{
    int64_t took_ms = w.delete_ms + (int64_t)count * w.delete_row_us / 1000;

    (void)s;
    *deleted = 0;
    for (size_t i = 0; i < count; i++)
        if ((size_t)ids[i] + 1 == w.held)
            return err_set(ec, ERR_CONFLICT, "locked");
    for (size_t i = 0; i < count; i++) {
        assert_true(is_expired(walk, &w.rows[ids[i]]));
        w.rows[ids[i]].state = GONE;
        ++*deleted;
    }
    w.ms += took_ms;
    w.busy_ms += took_ms;
    w.longest_delete = took_ms > (int64_t)w.longest_delete ? (size_t)took_ms : w.longest_delete;
    return answer(ec);
}

enum err store_delete_orphan_settings(struct store_session *s, int64_t before_s, size_t *deleted, struct errctx *ec)
{
    (void)s;
    assert_true(before_s <= NOON_S + w.ms / 1000 - 300);
    *deleted = 0;
    w.orphan_looks++;
    return answer(ec);
}

enum err store_clean_people(struct store_session *s, int64_t token_ms, size_t *deleted, struct errctx *ec)
{
    (void)s;
    assert_int_equal(token_ms, INT64_C(30) * 24 * 3600 * 1000);
    *deleted = w.old_sessions < 500 ? w.old_sessions : 500;
    w.old_sessions -= *deleted;
    w.people_looks++;
    return answer(ec);
}

enum err store_count_sessions(struct store_session *s, int64_t *out, struct errctx *ec)
{
    (void)s;
    *out = w.sessions;
    return answer(ec);
}

enum err store_sweep_history(struct store_session *s, enum history_table table, int64_t before_ms, size_t max,
                             size_t *removed, struct errctx *ec)
{
    (void)s;
    *removed = w.old[table] < max ? w.old[table] : max;
    w.old[table] -= *removed;
    w.before_ms[table] = before_ms;
    w.sweeps++;
    return answer(ec);
}

enum err store_list_flows(struct store_session *s, const struct flow_filter *filter, const char *after, int64_t limit,
                          struct flow_rows *out, struct errctx *ec)
{
    static struct flow_row rows[50];
    static char names[50][24];
    size_t from = *after ? (size_t)atoi(after + 1) + 1 : 0;

    (void)s;
    assert_int_equal(filter->started, -1);
    w.flow_pages++;
    *out = (struct flow_rows){.rows = rows};
    for (size_t i = from; i < w.flow_count && out->count < (size_t)limit; i++) {
        snprintf(names[i], sizeof names[i], "f%02zu", i);
        rows[out->count++] = (struct flow_row){.id = (int64_t)i, .name = names[i], .document = w.flows[i].document};
    }
    return answer(ec);
}

void store_free_list(void *items, void *memory)
{
    (void)items, (void)memory; /* static */
}

enum err store_delete_old_flow_runs(struct store_session *s, int64_t flow_id, int64_t days, size_t *deleted, bool *more,
                                    struct errctx *ec)
{
    size_t *old = &w.flows[flow_id].old;

    (void)s;
    *deleted = 0;
    *more = false;
    if (w.flow_held && flow_id == 0)
        return err_set(ec, ERR_CONFLICT, "locked");
    w.flows[flow_id].days = days;
    *deleted = *old < 100 ? *old : 100;
    *old -= *deleted;
    *more = *deleted == 100;
    return answer(ec);
}

enum err store_find_gone_flow(struct store_session *s, int64_t *flow_id, struct errctx *ec)
{
    (void)s;
    *flow_id = w.gone_runs > 0 ? 77 : 0;
    return answer(ec);
}

enum err store_forget_flow_alarms(struct store_session *s, struct errctx *ec)
{
    (void)s;
    w.flow_rounds++;
    return answer(ec);
}

enum err store_delete_flow_runs(struct store_session *s, int64_t flow_id, bool *more, struct errctx *ec)
{
    (void)s;
    assert_int_equal(flow_id, 77);
    w.gone_runs -= w.gone_runs < 100 ? w.gone_runs : 100;
    *more = w.gone_runs > 0;
    return answer(ec);
}

enum err store_delete_removed(struct store_session *s, int64_t job_id, int64_t before_ms, size_t *deleted, bool *more,
                              struct errctx *ec)
{
    (void)s;
    assert_int_equal(job_id, 0);
    assert_int_equal(before_ms, NOON_S * 1000 + w.ms - 30000);
    *more = w.removed_rows > 0;
    *deleted = w.removed_rows < 500 ? w.removed_rows : 500;
    w.removed_rows -= *deleted;
    return answer(ec);
}

enum err store_measure_kept(struct store_session *s, int64_t *bytes, struct errctx *ec)
{
    (void)s;
    *bytes = w.kept * 10;
    w.kept_measured++;
    return answer(ec);
}

enum err store_clean_kept(struct store_session *s, int64_t before_ms, int64_t bytes, size_t max, size_t *removed,
                          int64_t *removed_bytes, struct errctx *ec)
{
    int64_t n = (bytes + 9) / 10 > w.kept_old ? (bytes + 9) / 10 : w.kept_old;

    (void)s;
    assert_int_equal(before_ms, NOON_S * 1000 + w.ms - INT64_C(20) * DAY_S * 1000);
    n = n < w.kept ? n : w.kept;
    n = n < (int64_t)max ? n : (int64_t)max;
    w.kept -= n;
    w.kept_old -= n < w.kept_old ? n : w.kept_old;
    *removed = (size_t)n;
    *removed_bytes = n * 10;
    return answer(ec);
}

/* ---- the test's own ---------------------------------------------------------------------------------------------- */

static void start(int64_t retention_days)
{
    memset(&w, 0, sizeof w);
    w.clock = (struct clock){read_us, read_ms, read_ms};
    w.epoch = w.owned_epoch = 3;
    struct errctx ec = {{0}};
    assert_int_equal(upkeep_create(&(struct upkeep_opts){.retention_days = retention_days,
                                                         .audit_days = 100,
                                                         .kept_days = 20,
                                                         .kept_total = 10000,
                                                         .get_epoch = get_epoch},
                                   &w.clock, &w.counters, &w.u, &ec),
                     ERR_OK);
}

static void end(void)
{
    upkeep_destroy(w.u);
}

static void run_for(int64_t ms)
{
    int64_t until = w.ms + ms;
    int turns = 0;

    while (w.ms < until) {
        int64_t before_ms = w.ms;
        int64_t wait_ms = upkeep_turn(w.u);
        assert_true(wait_ms >= 0);
        assert_true(++turns < 1000000);
        w.ms += wait_ms + (w.ms == before_ms && wait_ms == 0); /* time goes on by itself, too */
    }
}

static size_t add_row(int64_t at_s, enum row_state state)
{
    assert_true(w.count < ROWS_MAX);
    w.rows[w.count] = (struct row){.at_s = at_s, .state = state, .job = 1};
    return w.count++;
}

static const struct report_row *find_report(int64_t day)
{
    for (size_t i = 0; i < w.report_count; i++)
        if (w.reports[i].day == day)
            return &w.reports[i];
    return NULL;
}

static void assert_report(int64_t day, int64_t running, int64_t success, int64_t failed)
{
    const struct report_row *row = find_report(day);

    assert_non_null(row);
    assert_int_equal(row->counts.running, running);
    assert_int_equal(row->counts.success, success);
    assert_int_equal(row->counts.total - row->counts.running - row->counts.success - row->counts.skipped, failed);
}

/* ---- who does it ------------------------------------------------------------------------------------------------- */

static void only_the_owner_of_shard_0_does_anything(void **state)
{
    (void)state;
    start(30);
    w.epoch = 0;
    run_for(200000);
    assert_int_equal(w.counts_made + (int)w.report_count + w.orphan_looks, 0);
    w.epoch = 3;
    w.owned_epoch = 4; /* somebody else has it by now */
    run_for(200000);
    assert_int_equal(w.counts_made + (int)w.report_count + w.orphan_looks, 0);
    w.epoch = 4;
    run_for(2000);
    assert_int_equal(w.report_count, 3);
    assert_int_equal(w.orphan_looks, 1);
    run_for(2 * 600000);
    assert_int_equal(w.orphan_looks, 3);
    end();
}

static void old_sessions_go_in_pieces(void **state)
{
    (void)state;
    start(30);
    w.old_sessions = 1200;
    run_for(500);
    assert_int_equal(w.old_sessions, 700);
    run_for(5000);
    assert_int_equal(w.old_sessions, 0);
    assert_int_equal(w.people_looks, 4);
    run_for(600000);
    assert_int_equal(w.people_looks, 5);
    end();
}

/* Rows of the log that whoever removed their job has left. */
static void rows_of_removed_jobs_go_in_pieces(void **state)
{
    (void)state;
    start(30);
    run_for(1000);
    w.removed_rows = 1200;
    run_for(28000);
    assert_int_equal(w.removed_rows, 1200);
    run_for(4000);
    assert_int_equal(w.removed_rows, 0);
    assert_int_equal(counters_get(&w.counters, COUNTER_LOG_ROWS_CLEANED), 1200);
    end();
}

/* What another owner did meanwhile is not known: all is counted anew, and nothing half counted is written. */
static void a_new_owner_counts_anew(void **state)
{
    (void)state;
    start(30);
    size_t old = add_row(NOON_S - 5 * 3600, FAILED);
    run_for(65000);
    assert_report(TODAY, 0, 0, 1);
    w.epoch = 0;
    run_for(5000);
    w.rows[old].state = SUCCESS;
    w.epoch = w.owned_epoch = 5;
    w.ms_per_statement = 20;
    run_for(2000);
    run_for(65000);
    assert_report(TODAY, 0, 1, 0);
    end();
}

/* ---- log report -------------------------------------------------------------------------------------------------- */

static void the_numbers_are_the_originals(void **state)
{
    (void)state;
    start(30);
    for (int day = -4; day <= 1; day++) { /* 4 days back and tomorrow are nobody's */
        for (int i = 0; i < 10 + day; i++)
            add_row((TODAY + day) * DAY_S + i * 7200, i % 4 == 0   ? RUNNING
                                                      : i % 4 == 1 ? SUCCESS
                                                      : i % 4 == 2 ? FAILED
                                                                   : SKIPPED);
        add_row((TODAY + day) * DAY_S + DAY_S - 1, SUCCESS);
    }
    run_for(1000);
    assert_int_equal(w.report_count, 3);
    assert_report(TODAY - 2, 2, 3, 2);
    assert_report(TODAY - 1, 3, 3, 2);
    assert_report(TODAY, 3, 4, 2);
    end();
}

static void changes_are_seen(void **state)
{
    (void)state;
    start(30);
    size_t running = add_row(NOON_S - DAY_S - 3600, RUNNING);
    size_t failed = add_row(NOON_S - 2 * DAY_S - 3600, FAILED);
    run_for(1000);
    assert_report(TODAY - 1, 1, 0, 0);
    assert_report(TODAY - 2, 0, 0, 1);
    w.rows[running].state = SUCCESS;
    w.rows[failed].state = SUCCESS;
    add_row(NOON_S + w.ms / 1000, RUNNING);
    run_for(REPORT_PERIOD_MS + 1000);
    assert_report(TODAY - 1, 0, 1, 0); /* a run that had no end is looked at in each pass */
    assert_report(TODAY, 1, 0, 0);     /* as are the newest minutes */
    run_for(REPORT_ALL_MS + REPORT_PERIOD_MS);
    assert_report(TODAY - 2, 0, 1, 0);                   /* everything else within the hour */
    assert_in_range(find_report(TODAY)->writes, 61, 64); /* each pass writes */
    end();
}

static void midnight_begins_a_new_day(void **state)
{
    (void)state;
    start(30);
    add_row(NOON_S, SUCCESS);
    run_for(INT64_C(12) * 3600000 - 30000);
    size_t late = add_row((TODAY + 1) * DAY_S - 1, RUNNING);
    add_row((TODAY + 1) * DAY_S, SUCCESS);
    run_for(120000);
    assert_report(TODAY, 1, 1, 0);
    assert_report(TODAY + 1, 0, 1, 0);
    w.rows[late].state = FAILED;
    run_for(REPORT_PERIOD_MS);
    assert_report(TODAY, 0, 1, 1);
    int writes = find_report(TODAY - 2)->writes; /* not touched any more */
    run_for(3 * REPORT_PERIOD_MS);
    assert_int_equal(find_report(TODAY - 2)->writes, writes);
    end();
}

/* With very many rows: small statements, long rests, and the newest minutes first all the same. */
static void many_rows_are_read_in_small_pieces(void **state)
{
    (void)state;
    start(30);
    w.ms_per_statement = 2;
    w.ms_per_row = 20; /* 10 rows a minute are half a minute of the day: 288 s for a day */
    for (int i = 0; i < DAY_MINUTES * 10; i++)
        add_row(TODAY * DAY_S - DAY_S / 2 + i * 6, i % 500 ? SUCCESS : RUNNING);
    run_for(60000);
    assert_null(find_report(TODAY));
    assert_true(w.busy_ms <= 60000 / (REPORT_REST + 1) + 2000);
    run_for(INT64_C(60) * 60000);
    assert_report(TODAY, 14, DAY_MINUTES * 5 - 14, 0);
    assert_true(w.longest_ms <= 1002); /* REPORT_HOT minutes and the next one */
    int passes = find_report(TODAY)->writes;
    run_for(10 * REPORT_PERIOD_MS);
    assert_in_range(find_report(TODAY)->writes - passes, 9, 11);
    end();
}

/* A statement that the server cuts off is tried again with fewer minutes. */
static void a_statement_that_takes_too_long_is_made_smaller(void **state)
{
    (void)state;
    start(30);
    w.ms_per_row = 100;
    for (int i = 0; i < 60; i++)
        add_row(NOON_S - 4 * 3600 + i * 30, SUCCESS);
    run_for(INT64_C(10) * 60000);
    assert_report(TODAY, 0, 60, 0);
    end();
}

/* ---- cleaning ---------------------------------------------------------------------------------------------------- */

static void batches_follow_the_time_they_take(void **state)
{
    static const struct {
        size_t batch;
        int64_t took_ms;
        size_t next;
    } cases[] = {
        {100, 0, 125},
        {100, 14, 125},
        {100, 15, 100},
        {100, 30, 100},
        {100, 31, 50},
        {100, 60, 50},
        {100, 61, 25},
        {30, 5000, 10},
        {10, 5000, 10},
        {10, 0, 12},
        {450, 0, CLEAN_BATCH_MAX},
        {CLEAN_BATCH_MAX, 0, CLEAN_BATCH_MAX},
        {10, INT64_MAX, 10},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(upkeep_next_batch(cases[i].batch, cases[i].took_ms), cases[i].next);
}

static size_t count_left(int64_t job)
{
    size_t n = 0;

    for (size_t i = 0; i < w.count; i++)
        n += w.rows[i].job == job && w.rows[i].state != GONE;
    return n;
}

static void add_days(int64_t job, int days)
{
    for (int d = 0; d < days; d++)
        w.rows[add_row(NOON_S - d * DAY_S, SUCCESS)].job = job;
}

static void each_job_has_its_days(void **state)
{
    (void)state;
    start(30);
    add_days(1, 100);
    add_days(2, 100);
    add_days(3, 100);
    add_days(4, 100);
    w.own[0] = (struct job_retention){2, 1};
    w.own[1] = (struct job_retention){3, 90};
    w.own[2] = (struct job_retention){4, 1};
    w.own_count = 3;
    w.rows[99].open = true;
    run_for(20000);
    assert_int_equal(count_left(1), 31 + 1); /* at noon of 30 days ago is after its midnight */
    assert_int_equal(count_left(2), 2);
    assert_int_equal(count_left(3), 91);
    assert_int_equal(count_left(4), 2);
    assert_int_equal(counters_get(&w.counters, COUNTER_LOG_ROWS_CLEANED), 400 - 32 - 2 - 91 - 2);
    w.rows[99].open = false;
    run_for(5 * CLEAN_LOOK_MS);
    assert_int_equal(count_left(1), 32); /* not before the next day... */
    w.own[0].days = 40;
    run_for(CLEAN_LOOK_MS + 20000);
    assert_int_equal(count_left(1), 31); /* ... or when settings have changed */
    run_for(INT64_C(13) * 3600000);
    assert_int_equal(count_left(1), 30);
    assert_int_equal(count_left(4), 1);
    end();
}

static void a_short_retention_means_none(void **state)
{
    static const struct {
        int64_t days;
        size_t left;
    } cases[] = {{-1, 50}, {0, 50}, {1, 50}, {2, 50}, {3, 4}, {7, 8}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        start(cases[i].days);
        add_days(1, 50);
        add_days(2, 50);
        w.own[0] = (struct job_retention){2, 1};
        w.own_count = 1;
        run_for(20000);
        assert_int_equal(count_left(1), cases[i].left);
        assert_int_equal(count_left(2), 2); /* a job's own is followed all the same */
        end();
    }
}

static void cleaning_is_slow_on_purpose(void **state)
{
    (void)state;
    start(3);
    w.delete_ms = 1;
    w.delete_row_us = 500; /* 100 rows take 51 ms */
    for (int i = 0; i < 20000; i++)
        add_row(NOON_S - 10 * DAY_S, SUCCESS);
    int64_t begun_ms = w.ms;
    w.busy_ms = 0;
    while (count_left(1) > 0)
        run_for(1000);
    assert_true(w.longest_delete <= 100);
    assert_true((w.ms - begun_ms) >= w.busy_ms * 5 / 2);
    end();
}

static int64_t cleaning_s(void)
{
    return counters_get(&w.counters, COUNTER_LOG_CLEANING) / 1000;
}

/* How long it takes is there to see, also while it fails; and nothing of it on a node that has lost the shard. */
static void cleaning_that_does_not_end_shows(void **state)
{
    (void)state;
    start(3);
    w.sessions = 3;
    w.delete_ms = 1;
    w.delete_row_us = 50000;
    for (int i = 0; i < 5000; i++)
        add_row(NOON_S - 10 * DAY_S, SUCCESS);
    run_for(60000);
    assert_in_range(cleaning_s(), 50, 60);
    assert_int_equal(counters_get(&w.counters, COUNTER_CONSOLE_SESSIONS), 3);
    w.error = ERR_LOST;
    run_for(60000);
    assert_in_range(cleaning_s(), 100, 120);
    w.error = ERR_OK;
    while (count_left(1) > 0)
        run_for(1000);
    run_for(10000);
    assert_int_equal(cleaning_s(), 0);
    for (int i = 0; i < 5000; i++)
        add_row(NOON_S - 10 * DAY_S, SUCCESS);
    while (cleaning_s() == 0)
        run_for(10000);
    w.epoch = 0;
    run_for(1000);
    assert_int_equal(cleaning_s(), 0);
    assert_int_equal(counters_get(&w.counters, COUNTER_CONSOLE_SESSIONS), 0);
    end();
}

/* One row that somebody holds keeps the others from nothing. */
static void a_locked_row_is_left_to_the_next_round(void **state)
{
    (void)state;
    start(3);
    add_days(1, 300);
    w.held = 151;
    run_for(60000);
    assert_in_range(count_left(1), 5, 4 + UPKEEP_BATCH_MIN);
    w.held = 0;
    run_for(INT64_C(12) * 3600000 + 60000);
    assert_int_equal(count_left(1), 3);
    end();
}

/* ---- trouble ----------------------------------------------------------------------------------------------------- */

static void errors_are_tried_again(void **state)
{
    (void)state;
    start(3);
    add_days(1, 30);
    w.error = ERR_LOST;
    run_for(100000);
    w.error = ERR_OK;
    run_for(REPORT_PERIOD_MS + 10000);
    assert_int_equal(count_left(1), 4);
    assert_report(TODAY, 0, 1, 0);
    end();
}

/* ---- audit and history ------------------------------------------------------------------------------------------- */

static void audit_and_history_are_swept_in_small_pieces(void **state)
{
    (void)state;
    start(30);
    w.old[HISTORY_AUDIT] = 2 * SWEEP_BATCH + 1;
    w.old[HISTORY_EVENTS] = SWEEP_BATCH;
    run_for(SWEEP_EVERY_MS / 2);
    assert_int_equal(w.old[HISTORY_AUDIT] + w.old[HISTORY_EVENTS], 0);
    assert_int_equal(w.sweeps, 3 + 1 + 2);
    assert_in_range(NOON_S * 1000 - w.before_ms[HISTORY_AUDIT], INT64_C(100) * DAY_S * 1000 - 10000,
                    INT64_C(100) * DAY_S * 1000);
    assert_in_range(NOON_S * 1000 - w.before_ms[HISTORY_EVENTS], 8 * DAY_S * 1000 - 10000, 8 * DAY_S * 1000);
    assert_in_range(NOON_S * 1000 - w.before_ms[HISTORY_MINUTES], 8 * DAY_S * 1000 - 10000, 8 * DAY_S * 1000);
    run_for(SWEEP_EVERY_MS);
    assert_int_equal(w.sweeps, 6 + 3);
    end();
}

/* ---- flows ------------------------------------------------------------------------------------------------------- */

#define STEPS "\"steps\":[{\"name\":\"a\",\"type\":\"wait\",\"seconds\":1}]}"

static void old_runs_of_flows_go_by_their_days(void **state)
{
    (void)state;
    start(30);
    w.flow_count = 45;
    for (size_t i = 0; i < w.flow_count; i++) {
        w.flows[i].document = i == 7   ? "{\"name\":\"f\",\"retentionDays\":2," STEPS
                              : i == 8 ? "not a document"
                                       : "{\"name\":\"f\"," STEPS;
        w.flows[i].old = 150;
    }
    w.gone_runs = 150;
    w.flow_held = true;
    run_for(FLOW_CLEAN_EVERY_MS / 2);
    assert_int_equal(w.flow_pages, 3);
    assert_int_equal(w.gone_runs, 0);
    for (size_t i = 1; i < w.flow_count; i++) {
        assert_int_equal(w.flows[i].old, 0);
        assert_int_equal(w.flows[i].days, i == 7 ? 2 : 30);
    }
    assert_int_equal(w.flows[0].old, 150);
    w.flow_held = false;
    run_for(FLOW_CLEAN_EVERY_MS);
    assert_int_equal(w.flow_pages, 6);
    assert_int_equal(w.flow_rounds, 2);
    assert_int_equal(w.flows[0].old, 0);
    end();
}

/* As with the log; days of its own count anyway. */
static void flows_are_kept_where_the_log_is(void **state)
{
    (void)state;
    start(2);
    w.flow_count = 2;
    w.flows[0].document = "{\"name\":\"f\"," STEPS;
    w.flows[1].document = "{\"name\":\"f\",\"retentionDays\":1," STEPS;
    w.flows[0].old = w.flows[1].old = 5;
    run_for(60000);
    assert_int_equal(w.flows[0].old, 5);
    assert_int_equal(w.flows[1].old, 0);
    end();
}

static void kept_logs_go_by_age_and_by_size(void **state)
{
    (void)state;
    start(30);
    w.kept = 900;
    w.kept_old = 450;
    run_for(100); /* a batch, then a pause */
    assert_int_equal(w.kept, 900 - KEPT_CLEAN_BATCH);
    run_for(5000);
    assert_int_equal(w.kept, 450);
    assert_int_equal(counters_get(&w.counters, COUNTER_KEPT_BYTES), 4500);
    int measured = w.kept_measured;
    w.kept = 1500; /* half as much again as is allowed */
    run_for(KEPT_CLEAN_EVERY_MS - 10000);
    assert_int_equal(w.kept_measured, measured);
    run_for(20000);
    assert_int_equal(w.kept, 950); /* with some room for those that come */
    assert_int_equal(counters_get(&w.counters, COUNTER_KEPT_CLEANED), 450 + 550);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(audit_and_history_are_swept_in_small_pieces),
        cmocka_unit_test(only_the_owner_of_shard_0_does_anything),
        cmocka_unit_test(old_sessions_go_in_pieces),
        cmocka_unit_test(rows_of_removed_jobs_go_in_pieces),
        cmocka_unit_test(a_new_owner_counts_anew),
        cmocka_unit_test(the_numbers_are_the_originals),
        cmocka_unit_test(changes_are_seen),
        cmocka_unit_test(midnight_begins_a_new_day),
        cmocka_unit_test(many_rows_are_read_in_small_pieces),
        cmocka_unit_test(a_statement_that_takes_too_long_is_made_smaller),
        cmocka_unit_test(batches_follow_the_time_they_take),
        cmocka_unit_test(each_job_has_its_days),
        cmocka_unit_test(a_short_retention_means_none),
        cmocka_unit_test(cleaning_is_slow_on_purpose),
        cmocka_unit_test(cleaning_that_does_not_end_shows),
        cmocka_unit_test(a_locked_row_is_left_to_the_next_round),
        cmocka_unit_test(errors_are_tried_again),
        cmocka_unit_test(old_runs_of_flows_go_by_their_days),
        cmocka_unit_test(flows_are_kept_where_the_log_is),
        cmocka_unit_test(kept_logs_go_by_age_and_by_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * runs_bench: how long lists of runs take on a large log: the store's part of each page, without a node.
 *   runs_bench SOCKET [database=xxl_job] [rounds=200]
 * The database is one that tools/bench.d/runs.sql has filled. Each round draws other jobs, groups and times. Prints a
 * line for each kind of page: median, 99th percentile and maximum in milliseconds, and what stopped searches.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shardwheel/store/runs.h"
#include "shardwheel/store/schema.h"
#include "store/conn/mysql.h"

#define PAGE 50
#define DAY_S 86400

static struct errctx failure;

static void check(enum err e, const char *what)
{
    if (!e)
        return;
    fprintf(stderr, "runs_bench: %s: %s: %s\n", what, err_name(e), failure.text);
    exit(1);
}

static int64_t draw(int64_t below)
{
    return (int64_t)(random() % below);
}

/* What is drawn for a round. */
struct drawn {
    struct run_query query;
    int64_t newest_s;
};

static void all(struct drawn *d)
{
    (void)d;
}
static void usual_job(struct drawn *d)
{
    d->query.filter.job_id = 12 + draw(99978);
}
static void busy_job(struct drawn *d)
{
    d->query.filter.job_id = 1 + draw(11);
}
static void job_without_runs(struct drawn *d)
{
    d->query.filter.job_id = 200000 + draw(1000);
}
static void usual_group(struct drawn *d)
{
    d->query.filter.group = 2 + draw(48);
}
static void large_group(struct drawn *d)
{
    d->query.filter.group = 1;
}
static void small_group(struct drawn *d)
{
    d->query.filter.group = 60;
}
static void four_groups(struct drawn *d)
{
    static const int64_t groups[] = {5, 17, 23, 60};

    d->query.filter.groups = groups;
    d->query.filter.group_count = ARRAY_LEN(groups);
}
static void some_hour(struct drawn *d)
{
    d->query.filter.from_s = d->newest_s - draw(29 * DAY_S) - 3600;
    d->query.filter.until_s = d->query.filter.from_s + 3600;
}
static void some_day(struct drawn *d)
{
    d->query.filter.from_s = d->newest_s - draw(29 * DAY_S) - DAY_S;
    d->query.filter.until_s = d->query.filter.from_s + DAY_S;
}
static void last_week(struct drawn *d)
{
    d->query.filter.from_s = d->newest_s - 7 * DAY_S;
}
static void group_and_day(struct drawn *d)
{
    usual_group(d);
    some_day(d);
}
static void small_group_and_day(struct drawn *d)
{
    small_group(d);
    some_day(d);
}
static void failed(struct drawn *d)
{
    d->query.filter.states = 1u << RUN_FAILED;
}
static void running(struct drawn *d)
{
    d->query.filter.states = 1u << RUN_RUNNING;
}
static void lost(struct drawn *d)
{
    d->query.filter.states = 1u << RUN_LOST;
}
static void failed_of_group(struct drawn *d)
{
    failed(d);
    usual_group(d);
}
static void log_status(struct drawn *d)
{
    d->query.filter.log_status = 1 + (int)draw(3);
}
static void address(struct drawn *d)
{
    d->query.filter.address = "http://10.0.7.3:9999/";
}
static void text(struct drawn *d)
{
    d->query.filter.text = "IllegalStateException";
}
static void text_not_there(struct drawn *d)
{
    d->query.filter.text = "no such text";
}

static const struct {
    const char *name;
    void (*draw)(struct drawn *d);
} pages[] = {
    {"newest", all},
    {"job", usual_job},
    {"job of 200,000 to 500,000 runs", busy_job},
    {"job without runs", job_without_runs},
    {"group", usual_group},
    {"group of 40 %", large_group},
    {"group of 10 jobs", small_group},
    {"four groups", four_groups},
    {"some hour", some_hour},
    {"some day", some_day},
    {"last week", last_week},
    {"group and day", group_and_day},
    {"small group and day", small_group_and_day},
    {"failed", failed},
    {"running", running},
    {"lost: none", lost},
    {"failed of a group", failed_of_group},
    {"logStatus 1, 2, 3", log_status},
    {"address", address},
    {"text", text},
    {"text: none", text_not_there},
};

static int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static void run_page(struct store_session *s, size_t page, enum run_order order, int rounds, int64_t newest_s)
{
    double *ms = calloc((size_t)rounds, sizeof *ms);
    size_t stopped[3] = {0}, rows_found = 0;

    for (int i = 0; i < rounds; i++) {
        struct drawn d = {.query = {.order = order, .want = PAGE, .limit_ms = 2000, .look_max = 1000000},
                          .newest_s = newest_s};
        struct run_ids ids;
        struct run_rows rows;
        int64_t begun_us = clock_wall_us(clock_system());

        pages[page].draw(&d);
        check(store_search_runs(s, &d.query, &ids, &failure), pages[page].name);
        check(store_load_run_rows(s, ids.ids, ids.count, 1000, SIZE_MAX, &rows, &failure), "rows");
        ms[i] = (double)(clock_wall_us(clock_system()) - begun_us) / 1000;
        stopped[ids.stop]++;
        rows_found += rows.count;
        run_rows_fini(&rows);
        run_ids_fini(&ids);
        if (ms[i] > 1500 && i >= 5) /* each of them takes as long */
            rounds = i + 1;
    }
    qsort(ms, (size_t)rounds, sizeof *ms, compare_double);
    printf("%-32s %-4s  median %7.1f  p99 %7.1f  max %7.1f ms  %3zu rows  stopped: %zu by rows, %zu by time of %d\n",
           pages[page].name, order == RUN_BY_TIME ? "time" : "id", ms[rounds / 2], ms[(rounds * 99 + 99) / 100 - 1],
           ms[rounds - 1], rows_found / (size_t)rounds, stopped[RUN_STOP_ROWS], stopped[RUN_STOP_TIME], rounds);
    fflush(stdout);
    free(ms);
}

static int64_t find_newest(struct store_session *s)
{
    struct run_query query = {.want = 1, .limit_ms = 2000, .look_max = 1};
    struct run_ids ids;
    struct run_rows rows;
    int64_t newest_s;

    check(store_search_runs(s, &query, &ids, &failure), "newest");
    check(store_load_run_rows(s, ids.ids, ids.count, 0, SIZE_MAX, &rows, &failure), "newest");
    newest_s = rows.count > 0 ? rows.rows[0].trigger_s : 0;
    run_rows_fini(&rows);
    run_ids_fini(&ids);
    return newest_s;
}

int main(int argc, char **argv)
{
    struct store_opts opts = {.database = "xxl_job",
                              .user = "root",
                              .password = "",
                              .zone = "Asia/Shanghai",
                              .max_sessions = 2,
                              .connect_timeout_ms = 5000,
                              .read_timeout_ms = 30000};
    struct store_features features;
    struct store *st = NULL;
    struct store_session *s = NULL;
    int64_t rounds = 200, only = -1;

    for (int i = 2; i < argc; i++) {
        if (strncmp(argv[i], "database=", 9) == 0)
            opts.database = argv[i] + 9;
        else if ((strncmp(argv[i], "rounds=", 7) != 0 || !parse_int(argv[i] + 7, 1, 100000, &rounds)) &&
                 (strncmp(argv[i], "page=", 5) != 0 || !parse_int(argv[i] + 5, 0, ARRAY_LEN(pages) - 1, &only)))
            argc = 1;
    }
    if (argc < 2) {
        fprintf(stderr, "usage: runs_bench SOCKET [database=xxl_job] [rounds=200] [page=NUMBER]\n");
        return 2;
    }
    opts.socket = argv[1];
    srandom(1);
    check(store_create(&opts, clock_system(), NULL, &st, &failure), "store");
    check(store_load_features(st, &features, &failure), "schema");
    check(store_take_session(st, SESSION_NORMAL, &s, &failure), "session");
    int64_t newest_s = find_newest(s);
    for (size_t i = 0; i < ARRAY_LEN(pages); i++)
        for (int order = RUN_BY_TIME; order <= RUN_BY_ID; order++)
            if (only < 0 || (size_t)only == i)
                run_page(s, i, (enum run_order)order, (int)rounds, newest_s);
    store_give_session(st, s);
    store_destroy(st);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * store_bench: what the writes of fires cost the database, without a node: claim, result and callback of each fire, as
 * a node makes them, some batches apart. Give it a server of its own:
 *   tools/bench server --data DIR     prints socket and pid
 *   store_bench SOCKET PID [fires=20000] [batch=500] [jobs=10000] [message=150] [plans=1] [lag=10] [together=0|1]
 *   [index=0|1] [children=1|0] [log-indexes=0|1]
 * log-indexes=1: on the keys of the oldest schema, with the two indexes of sql/index.sql for lists of runs; 0: without.
 * Left out: on the keys of a new schema.
 * children=0 leaves out the look for jobs with children; none of the jobs here has any.
 * The database store_bench is dropped and made anew. Prints one line of JSON; CPU of the server and of this program in
 * milliseconds per 1,000 fires, redo and binary log in bytes per fire (MySQL does not tell the latter), statements per
 * 100 fires.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/conn/mysql.h"
#include "shardwheel/job.h"
#include "shardwheel/store/cluster.h"
#include "shardwheel/store/plan.h"
#include "shardwheel/store/run.h"
#include "shardwheel/store/schema.h"

#define BASE_MS INT64_C(1700000000000)
#define STEP_MS 10000
#define BATCH_MAX 5000
#define LAG_MAX 100

struct plan {
    int64_t fires, batch, jobs, message, plans, lag, together, index, children, log_indexes;
};

struct bench {
    struct plan plan;
    const char *socket;
    const char *pid;
    struct store *store;
    struct store_session *claims, *results; /* as a node has them */
    struct db *db;
    int64_t epoch;
    struct job_due *jobs;
    char *message;
    int64_t (*logs)[BATCH_MAX]; /* of the last batches, by their number modulo LAG_MAX */
};

struct figures {
    int64_t server_ms, own_ms, redo, binlog, statements;
};

static struct errctx failure;

static void check(enum err e, const char *what)
{
    if (!e)
        return;
    fprintf(stderr, "store_bench: %s: %s: %s\n", what, err_name(e), failure.text);
    exit(1);
}

static void *get_memory(size_t size)
{
    void *p = calloc(1, size);

    check(p ? ERR_OK : err_set(&failure, ERR_NOMEM, "out of memory"), "start");
    return p;
}

/* ---- the database ------------------------------------------------------------------------------------------ */

static void run(struct bench *b, const char *sql)
{
    check(db_exec(b->db, sql, strlen(sql), NULL, &failure), sql);
}

/* The sum of one column over all rows. */
static int64_t sum_of(struct bench *b, const char *sql, unsigned column)
{
    struct db_rows *rows = NULL;
    int64_t sum = 0;

    check(db_query(b->db, sql, strlen(sql), &rows, &failure), sql);
    while (db_rows_next(rows))
        sum += db_int(rows, column);
    db_rows_destroy(rows);
    return sum;
}

static int64_t cpu_ms_of(const char *pid)
{
    char path[64], line[1024] = "";
    long user = 0, system = 0;

    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    FILE *f = fopen(path, "r");
    if (f) {
        if (!fgets(line, sizeof line, f))
            line[0] = '\0';
        fclose(f);
    }
    /* The name in brackets may hold anything. */
    const char *rest = strrchr(line, ')');
    if (!rest || sscanf(rest, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld", &user, &system) != 2)
        check(err_set(&failure, ERR_NOTFOUND, "no such process"), path);
    return (user + system) * 1000 / sysconf(_SC_CLK_TCK);
}

static struct figures read_figures(struct bench *b)
{
    return (struct figures){
        .server_ms = cpu_ms_of(b->pid),
        .own_ms = cpu_ms_of("self"),
        .redo = sum_of(b, "SHOW GLOBAL STATUS LIKE 'Innodb_os_log_written'", 1),
        .binlog = sum_of(b, "SHOW GLOBAL STATUS LIKE 'Binlog_bytes_written'", 1),
        .statements = sum_of(b, "SHOW GLOBAL STATUS LIKE 'Questions'", 1),
    };
}

static void add_jobs(struct bench *b)
{
    struct buf sql = {0};

    for (int64_t i = 0; i < b->plan.jobs; i++) {
        struct job_due *job = &b->jobs[i];
        char conf[64];
        snprintf(conf, sizeof conf, "%" PRId64 "/10 * * * * ?", i % b->plan.plans);
        *job = (struct job_due){.id = i + 1,
                                .group = 1,
                                .next_ms = BASE_MS,
                                .schedule_type = "CRON",
                                .schedule_conf = str_copy(conf),
                                .misfire = "DO_NOTHING",
                                .route = "ROUND",
                                .handler = "benchHandler",
                                .param = "parameter"};
        buf_printf(&sql,
                   "%s(%" PRId64 ",1,'job','bench','CRON','%s','DO_NOTHING','ROUND','benchHandler','parameter',"
                   "'SERIAL_EXECUTION','BEAN',1,%" PRId64 ")",
                   sql.len ? ","
                           : "INSERT INTO xxl_job_info (id, job_group, job_desc, author, schedule_type, schedule_conf, "
                             "misfire_strategy, executor_route_strategy, executor_handler, executor_param, "
                             "executor_block_strategy, glue_type, trigger_status, trigger_next_time) VALUES ",
                   job->id, conf, job->next_ms);
        if (sql.len < 1000000 && i + 1 < b->plan.jobs)
            continue;
        check(db_exec(b->db, sql.data, sql.len, NULL, &failure), "add jobs");
        buf_clear(&sql);
    }
    buf_fini(&sql);
}

static void set_up(struct bench *b)
{
    struct store_opts opts = {.socket = b->socket,
                              .database = "",
                              .user = "bench",
                              .password = "bench",
                              .zone = "UTC",
                              .max_sessions = 4,
                              .connect_timeout_ms = 5000,
                              .read_timeout_ms = 60000};
    char *password = NULL;
    int64_t cursor_s;
    int in_force;

    check(db_connect(&opts, SESSION_NORMAL, &b->db, &failure), "connect");
    run(b, "DROP DATABASE IF EXISTS store_bench");
    run(b, "CREATE DATABASE store_bench");
    run(b, "USE store_bench");
    opts.database = "store_bench";
    check(store_create(&opts, clock_system(), NULL, &b->store, &failure), "store");
    check(store_install_schema(b->store, NULL, NULL, &password, &failure), "schema");
    free(password);
    check(store_take_session(b->store, SESSION_CLAIM, &b->claims, &failure), "session");
    check(store_take_session(b->store, SESSION_NORMAL, &b->results, &failure), "session");
    check(store_init_shards(b->claims, 1, BASE_MS / 1000, &in_force, &failure), "shards");
    check(store_take_shard(b->claims, 0, 1, "bench", 0, 0, &b->epoch, &cursor_s, &failure), "shard");
    if (b->plan.index)
        run(b, "CREATE INDEX i_shardwheel_next ON xxl_job_info (trigger_status, trigger_next_time)");
    if (b->plan.log_indexes >= 0)
        run(b, "ALTER TABLE xxl_job_log DROP KEY I_jobgroup, DROP KEY I_jobid");
    if (b->plan.log_indexes > 0)
        run(b, "ALTER TABLE xxl_job_log ADD KEY i_shardwheel_job (job_id, trigger_time), "
               "ADD KEY i_shardwheel_group (job_group, trigger_time)");
    b->jobs = get_memory((size_t)b->plan.jobs * sizeof *b->jobs);
    b->logs = get_memory(LAG_MAX * sizeof *b->logs);
    b->message = get_memory((size_t)b->plan.message + 1);
    memset(b->message, 'm', (size_t)b->plan.message);
    add_jobs(b);
}

static void tear_down(struct bench *b)
{
    store_give_session(b->store, b->claims);
    store_give_session(b->store, b->results);
    store_destroy(b->store);
    run(b, "DROP DATABASE store_bench");
    db_close(b->db);
    for (int64_t i = 0; i < b->plan.jobs; i++)
        free((char *)b->jobs[i].schedule_conf);
    free(b->jobs);
    free(b->logs);
    free(b->message);
}

/* ---- fires ------------------------------------------------------------------------------------------------- */

static const char address[] = "http://127.0.0.1:20013/";

static void claim(struct bench *b, int64_t number)
{
    struct claim_job claims[BATCH_MAX];
    size_t count = (size_t)b->plan.batch;

    for (size_t i = 0; i < count; i++) {
        struct job_due *job = &b->jobs[(number * b->plan.batch + (int64_t)i) % b->plan.jobs];
        struct fire *f = fire_create();
        check(f && (f->address = str_copy(address)) ? ERR_OK : ERR_NOMEM, "fire");
        f->job_id = job->id;
        f->group = 1;
        f->due_s = f->original_due_s = job->next_ms / 1000;
        f->epoch = b->epoch;
        f->written_ahead = true;
        claims[i] =
            (struct claim_job){.job = job, .new_next_ms = job->next_ms + STEP_MS, .fires = f, .message = b->message};
    }
    check(store_claim_jobs(b->claims, 0, b->epoch, claims, count, NULL, &failure), "claim");
    for (size_t i = 0; i < count; i++) {
        check(claims[i].advanced ? ERR_OK : ERR_CONFLICT, "a job was not what it is");
        b->logs[number % LAG_MAX][i] = claims[i].fires->log_id;
        b->jobs[claims[i].job->id - 1].next_ms = claims[i].new_next_ms;
        fire_destroy(claims[i].fires);
    }
}

static void end(struct bench *b, int64_t number)
{
    struct fire_result results[BATCH_MAX];
    struct callback_entry callbacks[BATCH_MAX];
    struct children children = {.incarnation = "0"};
    size_t count = (size_t)b->plan.batch;

    for (size_t i = 0; i < count; i++) {
        int64_t id = b->logs[number % LAG_MAX][i];
        results[i] = (struct fire_result){
            .log_id = id, .code = 200, .address = address, .message = b->message, .as_planned = true};
        callbacks[i] = (struct callback_entry){.log_id = id, .code = 200, .delivers = b->plan.together};
    }
    if (!b->plan.together)
        check(store_write_results(b->results, results, count, &failure), "results");
    check(store_write_callbacks(b->results, callbacks, count, BASE_MS / 1000, b->plan.children ? &children : NULL,
                                &failure),
          "callbacks");
}

static bool read_option(struct plan *plan, const char *text)
{
    const struct {
        const char *name;
        int64_t *value, least, most;
    } options[] = {
        {"fires=", &plan->fires, 1, 100000000}, {"batch=", &plan->batch, 1, BATCH_MAX},
        {"jobs=", &plan->jobs, 1, 10000000},    {"message=", &plan->message, 0, 60000},
        {"plans=", &plan->plans, 1, 1000000},   {"lag=", &plan->lag, 0, LAG_MAX - 1},
        {"together=", &plan->together, 0, 1},   {"index=", &plan->index, 0, 1},
        {"children=", &plan->children, 0, 1},   {"log-indexes=", &plan->log_indexes, 0, 1},
    };

    for (size_t i = 0; i < ARRAY_LEN(options); i++) {
        size_t n = strlen(options[i].name);
        char *rest = NULL;
        if (strncmp(text, options[i].name, n) != 0)
            continue;
        *options[i].value = strtoll(text + n, &rest, 10);
        return rest > text + n && !*rest && *options[i].value >= options[i].least &&
               *options[i].value <= options[i].most;
    }
    return false;
}

int main(int argc, char **argv)
{
    struct bench b = {.plan = {.fires = 20000,
                               .batch = 500,
                               .jobs = 10000,
                               .message = 150,
                               .plans = 1,
                               .lag = 10,
                               .children = 1,
                               .log_indexes = -1}};

    for (int i = 3; i < argc; i++)
        if (!read_option(&b.plan, argv[i]))
            argc = 0;
    if (argc < 3 || b.plan.batch > b.plan.jobs) {
        fputs("usage: store_bench SOCKET PID [fires=N] [batch=N] [jobs=N, batch or more] [message=BYTES] [plans=N] "
              "[lag=BATCHES] "
              "[together=0|1] [index=0|1] [children=0|1] [log-indexes=0|1]\n",
              stderr);
        return 2;
    }
    b.socket = argv[1];
    b.pid = argv[2];
    set_up(&b);
    int64_t batches = (b.plan.fires + b.plan.batch - 1) / b.plan.batch, fires = batches * b.plan.batch;
    struct figures was = read_figures(&b);
    for (int64_t k = 0; k < batches + b.plan.lag; k++) {
        if (k < batches)
            claim(&b, k);
        if (k >= b.plan.lag)
            end(&b, k - b.plan.lag);
    }
    struct figures is = read_figures(&b);
    int64_t open = sum_of(&b, "SELECT COUNT(*) FROM xxl_job_log WHERE trigger_code <> 200 OR handle_code <> 200", 0);
    double n = (double)fires;
    printf("{\"fires\": %" PRId64 ", \"batch\": %" PRId64 ", \"jobs\": %" PRId64 ", \"message\": %" PRId64
           ", \"together\": %" PRId64 ", \"index\": %" PRId64
           ", \"server_ms_per_1000\": %.1f, \"own_ms_per_1000\": %.2f, "
           "\"redo_bytes\": %.0f, \"binlog_bytes\": %.0f, \"statements_per_100\": %.2f, \"open\": %" PRId64 "}\n",
           fires, b.plan.batch, b.plan.jobs, b.plan.message, b.plan.together, b.plan.index,
           (double)(is.server_ms - was.server_ms) * 1000 / n, (double)(is.own_ms - was.own_ms) * 1000 / n,
           (double)(is.redo - was.redo) / n, (double)(is.binlog - was.binlog) / n,
           (double)(is.statements - was.statements) * 100 / n, open);
    tear_down(&b);
    return open ? 1 : 0;
}

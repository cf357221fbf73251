/* SPDX-License-Identifier: MIT */
/*
 * trigger_bench: how long a fire that somebody asks for takes from the call to its arrival at the executor, and how
 * many go through. A whole standalone node with a database of its own, an executor, and those who ask, in one process:
 *   trigger_bench DIR [rate=1000] [seconds=10] [threads=32]
 * DIR is the data folder of the database: new, or one of an earlier run. Prints one line of JSON; times in
 * milliseconds. Calls are made at their time, whether earlier ones have been answered or not, as far as there are
 * threads.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "node/node.h"
#include "shardwheel/config.h"
#include "shardwheel/follow/triggers.h"
#include "store/conn/mysql.h"

#define JOB INT64_C(700)
#define LOGS_MAX 4000000
#define CONNS_MAX 256
#define REQUEST_MAX 8192

static _Atomic int64_t *arrived_us; /* [atomic] by log id */
static _Atomic bool over;           /* [atomic] */
static struct errctx failure;

static void check(enum err e, const char *what)
{
    if (!e)
        return;
    fprintf(stderr, "trigger_bench: %s: %s: %s\n", what, err_name(e), failure.text);
    exit(1);
}

/* ---- the executor ------------------------------------------------------------------------------------------------ */

struct conn {
    int fd;
    size_t len;
    char text[REQUEST_MAX];
};

/* False while the request is not whole. */
static bool answer(struct conn *c)
{
    static const char reply[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n"
                                "{\"code\":200}";
    const char *body, *length, *id;

    c->text[c->len] = '\0';
    body = strstr(c->text, "\r\n\r\n");
    length = strcasestr(c->text, "\r\ncontent-length:");
    if (!body || !length || strlen(body + 4) < strtoul(length + 17, NULL, 10))
        return false;
    id = strstr(body, "\"logId\":");
    if (id && strtoll(id + 8, NULL, 10) < LOGS_MAX)
        atomic_store(&arrived_us[strtoll(id + 8, NULL, 10)], clock_wall_us(clock_system()));
    c->len = 0;
    return write(c->fd, reply, sizeof reply - 1) > 0;
}

static void read_some(struct conn *c)
{
    ssize_t n = read(c->fd, c->text + c->len, REQUEST_MAX - 1 - c->len);

    if (n <= 0) {
        close(c->fd);
        c->fd = -1;
        c->len = 0;
        return;
    }
    c->len += (size_t)n;
    answer(c);
}

static void run_executor(void *arg)
{
    static struct conn conns[CONNS_MAX];
    int listener = *(int *)arg;

    for (int i = 0; i < CONNS_MAX; i++)
        conns[i].fd = -1;
    while (!atomic_load(&over)) {
        struct pollfd fds[CONNS_MAX + 1] = {{.fd = listener, .events = POLLIN}};

        for (int i = 0; i < CONNS_MAX; i++)
            fds[i + 1] = (struct pollfd){.fd = conns[i].fd, .events = POLLIN};
        if (poll(fds, CONNS_MAX + 1, 100) <= 0)
            continue;
        for (int i = 0; i < CONNS_MAX; i++)
            if (fds[i + 1].revents)
                read_some(&conns[i]);
        for (int i = 0; i < CONNS_MAX && fds[0].revents; i++)
            if (conns[i].fd < 0) {
                conns[i].fd = accept(listener, NULL, NULL);
                break;
            }
    }
}

static int listen_somewhere(int *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) || listen(fd, 128) ||
        getsockname(fd, (struct sockaddr *)&at, &len))
        check(err_set(&failure, ERR_IO, "no port for the executor"), "start");
    *port = ntohs(at.sin_port);
    return fd;
}

/* ---- the node ---------------------------------------------------------------------------------------------------- */

static struct config *load_config(char *dir)
{
    char *argv[] = {"shardwheel", "standalone", "--data", dir, "--server.port=0", "--shardwheel.log.level=error", NULL};
    char *env[] = {NULL};
    struct config *config = NULL;

    check(config_load((int)ARRAY_LEN(argv) - 1, argv, env, &config, &failure), "config");
    return config;
}

static void add_job(const char *dir, int port)
{
    struct store_opts opts = {
        .database = "xxl_job", .user = "root", .password = "", .connect_timeout_ms = 5000, .read_timeout_ms = 10000};
    struct db *db = NULL;
    char path[300], sql[900];

    snprintf(path, sizeof path, "%s/mysql.sock", dir);
    opts.socket = path;
    check(db_connect(&opts, SESSION_NORMAL, &db, &failure), "connect");
    snprintf(sql, sizeof sql,
             "REPLACE INTO xxl_job_group (id, app_name, title, address_type, address_list, update_time) VALUES (700, "
             "'bench', 'bench', 1, 'http://127.0.0.1:%d/', NOW())",
             port);
    check(db_exec(db, sql, strlen(sql), NULL, &failure), "group");
    snprintf(sql, sizeof sql,
             "REPLACE INTO xxl_job_info (id, job_group, job_desc, schedule_type, executor_route_strategy, "
             "executor_handler, executor_block_strategy, glue_type, trigger_status) VALUES (%lld, 700, 'bench', "
             "'NONE', 'FIRST', 'bench', 'SERIAL_EXECUTION', 'BEAN', 0)",
             (long long)JOB);
    check(db_exec(db, sql, strlen(sql), NULL, &failure), "job");
    db_close(db);
}

/* ---- those who ask ----------------------------------------------------------------------------------------------- */

struct asked {
    int64_t called_us, answered_us, log_id;
};

struct plan {
    int64_t rate, seconds, threads;
};

struct asker {
    struct thread thread;
    struct triggers *triggers;
    const struct plan *plan;
    int64_t number, start_us;
    struct asked *list;
    size_t count, errors;
};

static void run_asker(void *arg)
{
    struct asker *a = arg;
    const struct clock *clock = clock_system();

    for (int64_t i = a->number; i < a->plan->rate * a->plan->seconds; i += a->plan->threads) {
        int64_t due_us = a->start_us + i * 1000000 / a->plan->rate;
        struct trigger_made made = {0};
        struct errctx ec;

        while (clock_wall_us(clock) < due_us)
            usleep((useconds_t)(due_us - clock_wall_us(clock) > 0 ? due_us - clock_wall_us(clock) : 0));
        struct asked asked = {.called_us = clock_wall_us(clock)};
        if (triggers_fire(a->triggers, &(struct trigger_order){JOB, TRIGGER_API, "p", NULL}, &made, &ec)) {
            a->errors++;
            continue;
        }
        asked.answered_us = clock_wall_us(clock);
        asked.log_id = made.log_ids[0];
        free(made.log_ids);
        a->list[a->count++] = asked;
    }
}

static double at_percent(const int64_t *sorted, size_t count, double percent)
{
    return count ? (double)sorted[(size_t)((double)(count - 1) * percent / 100)] / 1000 : 0;
}

static void print_times(const char *name, int64_t *list, size_t count)
{
    qsort(list, count, sizeof *list, compare_int64);
    printf(", \"%s\": {\"p50\": %.1f, \"p99\": %.1f, \"max\": %.1f}", name, at_percent(list, count, 50),
           at_percent(list, count, 99), at_percent(list, count, 100));
}

static void report(const struct plan *plan, struct asker *askers, int64_t start_us)
{
    size_t total = (size_t)(plan->rate * plan->seconds), n = 0, arrived = 0, errors = 0;
    int64_t *calls = calloc(total + 1, sizeof *calls), *arrivals = calloc(total + 1, sizeof *arrivals);
    int64_t last_us = start_us;

    if (!calls || !arrivals)
        check(err_set(&failure, ERR_NOMEM, "out of memory"), "report");
    for (int64_t t = 0; t < plan->threads; t++) {
        errors += askers[t].errors;
        for (size_t i = 0; i < askers[t].count; i++) {
            const struct asked *a = &askers[t].list[i];
            int64_t at_us = atomic_load(&arrived_us[a->log_id]);
            calls[n++] = a->answered_us - a->called_us;
            if (at_us)
                arrivals[arrived++] = at_us - a->called_us;
            if (at_us > last_us)
                last_us = at_us;
        }
    }
    printf("{\"asked\": %zu, \"errors\": %zu, \"arrived\": %zu, \"per_s\": %.0f", n, errors, arrived,
           (double)arrived * 1e6 / (double)(last_us - start_us + 1));
    print_times("answer_ms", calls, n);
    print_times("arrival_ms", arrivals, arrived);
    printf("}\n");
    free(calls);
    free(arrivals);
}

static void run(struct node *node, const struct plan *plan)
{
    struct asker *askers = calloc((size_t)plan->threads, sizeof *askers);
    int64_t start_us = clock_wall_us(clock_system()) + 500000;

    for (int64_t i = 0; askers && i < plan->threads; i++) {
        askers[i] = (struct asker){.triggers = node_get_triggers(node),
                                   .plan = plan,
                                   .number = i,
                                   .start_us = start_us,
                                   .list = calloc((size_t)(plan->rate * plan->seconds), sizeof(struct asked))};
        check(askers[i].list ? thread_start(&askers[i].thread, "asker", run_asker, &askers[i], &failure) : ERR_NOMEM,
              "start");
    }
    for (int64_t i = 0; askers && i < plan->threads; i++)
        thread_join(&askers[i].thread);
    clock_sleep_ms(1000); /* the last arrivals */
    report(plan, askers, start_us);
    for (int64_t i = 0; askers && i < plan->threads; i++)
        free(askers[i].list);
    free(askers);
}

int main(int argc, char **argv)
{
    struct plan plan = {.rate = 1000, .seconds = 10, .threads = 32};
    struct thread executor = {0};
    struct node *node = NULL;
    struct config *config;
    int port = 0, listener;

    for (int i = 2; i < argc; i++)
        if (!parse_int(strncmp(argv[i], "rate=", 5) ? "" : argv[i] + 5, 1, 100000, &plan.rate) &&
            !parse_int(strncmp(argv[i], "seconds=", 8) ? "" : argv[i] + 8, 1, 600, &plan.seconds) &&
            !parse_int(strncmp(argv[i], "threads=", 8) ? "" : argv[i] + 8, 1, 1000, &plan.threads))
            check(err_set(&failure, ERR_INPUT, "what is %s?", argv[i]), "arguments");
    if (argc < 2)
        check(err_set(&failure, ERR_INPUT, "trigger_bench DIR [rate=1000] [seconds=10] [threads=32]"), "arguments");
    arrived_us = calloc(LOGS_MAX, sizeof *arrived_us);
    listener = listen_somewhere(&port);
    config = load_config(argv[1]);
    log_set_level(LOG_ERROR);
    check(node_start(config, &node, &failure), "node");
    add_job(argv[1], port);
    check(thread_start(&executor, "executor", run_executor, &listener, &failure), "executor");
    run(node, &plan);
    node_stop(node);
    atomic_store(&over, true);
    thread_join(&executor);
    config_destroy(config);
    free(arrived_us);
    return 0;
}

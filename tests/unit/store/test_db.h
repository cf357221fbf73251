/* SPDX-License-Identifier: MIT */
/*
 * test_db: a private MariaDB server for one test program, on a socket in a folder of its own; gone with the
 * program.
 *
 * Threads     test_db_start and test_db_stop belong to the main thread; SQL of a test runs on a connection of its
 * own.
 */
#ifndef SHARDWHEEL_TESTS_STORE_TEST_DB_H
#define SHARDWHEEL_TESTS_STORE_TEST_DB_H

#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store/conn/mysql.h"
#include "store/conn/session.h"
#include "shardwheel/store/cluster.h"

#define TEST_DEADLINE_MS 120000

struct test_db {
    char dir[64];
    char socket[128];
    pid_t pid;
    struct store_opts opts;
    int port;       /* of 127.0.0.1, set before test_db_start; 0: the server is at its socket alone */
    struct db *sql; /* for the test's own statements; session time zone UTC */
};

static struct test_db test_db;

static inline void test_pause(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
}

/* ---- SQL of the test --------------------------------------------------------------------------------------- */

/* One statement on a connection; fails the test with the server's words. The matched rows. */
static inline int64_t test_run(struct db *db, const char *sql)
{
    struct db_effect effect = {0};
    struct errctx ec = {{0}};

    if (db_exec(db, sql, strlen(sql), &effect, &ec))
        fail_msg("%s: %s", sql, ec.text);
    return effect.matched;
}

PRINTF_LIKE(1, 2) static inline int64_t test_sql(const char *fmt, ...)
{
    struct buf sql = {0};
    va_list args;
    char *text = NULL;

    va_start(args, fmt);
    assert_true(vasprintf(&text, fmt, args) >= 0);
    va_end(args);
    int64_t n = test_run(test_db.sql, text);
    free(text);
    buf_fini(&sql);
    return n;
}

/* The first column of the first row; "(none)" without a row, "(null)" for NULL. Valid until the next call. */
PRINTF_LIKE(1, 2) static inline const char *test_text(const char *fmt, ...)
{
    static char *kept;
    struct db_rows *rows = NULL;
    struct errctx ec = {{0}};
    va_list args;
    char *sql = NULL;

    va_start(args, fmt);
    assert_true(vasprintf(&sql, fmt, args) >= 0);
    va_end(args);
    if (db_query(test_db.sql, sql, strlen(sql), &rows, &ec))
        fail_msg("%s: %s", sql, ec.text);
    free(kept);
    kept = strdup(!db_rows_next(rows) ? "(none)" : db_text(rows, 0) ? db_text(rows, 0) : "(null)");
    db_rows_destroy(rows);
    free(sql);
    return kept;
}

#define test_int(...) strtoll(test_text(__VA_ARGS__), NULL, 10)

/* Of the server's clock, whatever its zone. */
static inline int64_t test_now_s(void)
{
    return test_int("SELECT UNIX_TIMESTAMP()");
}

/* Waits until the query gives a number that is not 0. */
static inline int64_t test_wait(const char *sql)
{
    int64_t deadline = clock_mono_ms(clock_system()) + TEST_DEADLINE_MS;

    for (;;) {
        int64_t n = test_int("%s", sql);
        if (n)
            return n;
        if (clock_mono_ms(clock_system()) > deadline)
            fail_msg("still nothing: %s", sql);
        test_pause();
    }
}

/* ---- the server -------------------------------------------------------------------------------------------- */

static inline pid_t test_spawn(char *const argv[], const char *log)
{
    pid_t parent = getpid();
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        if (!freopen(log, "a", stdout) || dup2(fileno(stdout), STDERR_FILENO) < 0)
            _exit(126);
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that dies takes its server along */
        /* A server that starts deletes the temporary tables it finds in this folder, also those of another that
         * runs. */
        setenv("TMPDIR", test_db.dir, 1);
        if (getppid() != parent)
            _exit(126);
        execvp(argv[0], argv);
        _exit(127);
    }
    return pid;
}

static inline void test_db_show_log(void)
{
    char command[128];

    snprintf(command, sizeof command, "tail -n 30 %s/log >&2", test_db.dir);
    if (system(command) != 0)
        fputs("(no log)\n", stderr);
}

static inline void test_db_connect(void)
{
    struct errctx ec = {{0}};
    int64_t deadline = clock_mono_ms(clock_system()) + TEST_DEADLINE_MS;
    struct store_opts opts = test_db.opts;

    opts.database = "";
    opts.read_timeout_ms = 600000; /* a busy machine writes a million rows slowly */
    while (db_connect(&opts, SESSION_NORMAL, &test_db.sql, &ec)) {
        int status;
        if (waitpid(test_db.pid, &status, WNOHANG) != 0 || clock_mono_ms(clock_system()) > deadline) {
            test_db_show_log();
            fail_msg("the private mariadbd does not start: %s", ec.text);
        }
        test_pause();
    }
}

#define TEST_DB_LOG_SIZE "--innodb-log-file-size=32M"

static inline void test_db_run(char *const argv[], const char *log)
{
    int status = 0;

    waitpid(test_spawn(argv, log), &status, 0);
    if (status != 0) {
        test_db_show_log();
        fail_msg("%s failed", argv[0]);
    }
}

/* Data of a server without databases. It is made once and kept beside the program, for all that lie there: to make it
 * takes as long as many a test. */
static inline void test_db_copy_empty(char *data, const char *log)
{
    char folder[256], lock_path[300], made[300], fresh[300], datadir[320];
    ssize_t len = readlink("/proc/self/exe", folder, sizeof folder - 1);
    struct stat program;

    assert_true(len > 0 && stat("/usr/sbin/mariadbd", &program) == 0);
    folder[len] = '\0';
    *strrchr(folder, '/') = '\0';
    snprintf(lock_path, sizeof lock_path, "%s/mariadb-empty.lock", folder);
    snprintf(made, sizeof made, "%s/mariadb-empty-%" PRId64, folder, (int64_t)program.st_mtime); /* of this release */
    snprintf(fresh, sizeof fresh, "%s/mariadb-empty.new", folder);
    snprintf(datadir, sizeof datadir, "--datadir=%s", fresh);

    int lock = open(lock_path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    assert_true(lock >= 0 && flock(lock, LOCK_EX) == 0);
    if (access(made, F_OK) != 0) {
        char *install[] = {"/usr/bin/mariadb-install-db",
                           "--no-defaults",
                           datadir,
                           "--auth-root-authentication-method=normal",
                           "--skip-test-db",
                           TEST_DB_LOG_SIZE,
                           geteuid() == 0 ? "--user=root" : NULL,
                           NULL};
        test_db_run((char *[]){"rm", "-rf", fresh, NULL}, log);
        test_db_run(install, log);
        assert_int_equal(rename(fresh, made), 0);
    }
    close(lock);
    test_db_run((char *[]){"cp", "-a", made, data, NULL}, log);
}

/* For cmocka_run_group_tests. `*state` is left alone. */
static inline int test_db_start(void **state)
{
    char data[128], socket[160], log[128], pid_file[128];
    char datadir[160], port[32], *address = "--bind-address=127.0.0.1";

    (void)state;
    snprintf(test_db.dir, sizeof test_db.dir, "/tmp/shardwheel-test-XXXXXX");
    if (!mkdtemp(test_db.dir))
        fail_msg("mkdtemp: %s", strerror(errno));
    if (access("/usr/sbin/mariadbd", X_OK) != 0 || access("/usr/bin/mariadb-install-db", X_OK) != 0)
        fail_msg("this test needs /usr/sbin/mariadbd and /usr/bin/mariadb-install-db (package mariadb-server)");
    /* A starting server removes the temporary tables of all servers that share its folder for them. */
    setenv("TMPDIR", test_db.dir, 1);
    snprintf(data, sizeof data, "%s/data", test_db.dir);
    snprintf(datadir, sizeof datadir, "--datadir=%s", data);
    snprintf(log, sizeof log, "%s/log", test_db.dir);
    snprintf(test_db.socket, sizeof test_db.socket, "%s/socket", test_db.dir);
    snprintf(socket, sizeof socket, "--socket=%s", test_db.socket);
    snprintf(pid_file, sizeof pid_file, "--pid-file=%s/pid", test_db.dir);

    snprintf(port, sizeof port, "--port=%d", test_db.port);

    test_db_copy_empty(data, log);
    /* --user matters to root only; others run the server as themselves. */
    char *server[] = {"/usr/sbin/mariadbd",
                      "--no-defaults",
                      datadir,
                      socket,
                      pid_file,
                      test_db.port ? address : "--skip-networking",
                      test_db.port ? port : "--skip-name-resolve",
                      "--innodb-buffer-pool-size=128M",
                      TEST_DB_LOG_SIZE,
                      "--innodb-flush-log-at-trx-commit=0",
                      "--innodb-flush-method=nosync",
                      "--innodb-doublewrite=0",
                      "--loose-debug-no-sync", /* of no file, however its table is kept */
                      "--loose-skip-sync-frm",
                      "--innodb-file-per-table=0",
                      "--character-set-server=utf8mb4",
                      "--max-allowed-packet=4M",
                      "--local-infile=1",
                      geteuid() == 0 ? "--user=root" : NULL,
                      NULL};
    test_db.pid = test_spawn(server, log);
    test_db.opts = (struct store_opts){.socket = test_db.socket,
                                       .database = "xxl_job",
                                       .user = "root",
                                       .password = "",
                                       .zone = "Asia/Shanghai",
                                       .lang = LANG_EN,
                                       .max_sessions = 10,
                                       .connect_timeout_ms = 60000,
                                       .read_timeout_ms = 10000};
    test_db_connect();
    return 0;
}

static inline int test_db_stop(void **state)
{
    char command[96];

    (void)state;
    db_close(test_db.sql);
    test_db.sql = NULL;
    if (test_db.pid > 0) {
        kill(test_db.pid, SIGKILL); /* nobody reads its data again */
        waitpid(test_db.pid, NULL, 0);
        test_db.pid = 0;
    }
    snprintf(command, sizeof command, "rm -rf %s", test_db.dir);
    return system(command);
}

/* ---- databases --------------------------------------------------------------------------------------------- */

#define assert_ok(call)                                                                                                \
    do {                                                                                                               \
        struct errctx assert_ok_ec = {{0}};                                                                            \
        struct errctx *ec = &assert_ok_ec;                                                                             \
        enum err assert_ok_e = (call);                                                                                 \
        if (assert_ok_e)                                                                                               \
            fail_msg("%s: %s: %s", #call, err_name(assert_ok_e), assert_ok_ec.text);                                   \
    } while (0)

static inline void test_db_empty(void)
{
    test_sql("DROP DATABASE IF EXISTS xxl_job");
    test_sql("CREATE DATABASE xxl_job");
    test_sql("USE xxl_job");
}

static inline struct store *test_store(void)
{
    struct store *st = NULL;

    assert_ok(store_create(&test_db.opts, clock_system(), NULL, &st, ec));
    return st;
}

/* A new database of family 3.4 with our tables and n shards whose cursors stand at now_s. */
static inline struct store *test_db_fresh(int n, int64_t now_s)
{
    struct store_session *s = NULL;
    char *password = NULL;
    struct store *st;
    int in_force = 0;

    test_db_empty();
    st = test_store();
    assert_ok(store_install_schema(st, NULL, NULL, &password, ec));
    free(password);
    assert_ok(store_take_session(st, SESSION_NORMAL, &s, ec));
    assert_ok(store_init_shards(s, n, now_s, &in_force, ec));
    assert_int_equal(in_force, n);
    store_give_session(st, s);
    return st;
}

static inline struct store_session *test_take(struct store *st, enum session_kind kind)
{
    struct store_session *s = NULL;

    assert_ok(store_take_session(st, kind, &s, ec));
    return s;
}

/* The server's id of a session's connection. */
static inline int64_t test_connection_id(struct store_session *s)
{
    struct db_rows *rows = NULL;
    static const char sql[] = "SELECT CONNECTION_ID()";

    assert_ok(db_query(s->db, sql, sizeof sql - 1, &rows, ec));
    assert_true(db_rows_next(rows));
    int64_t id = db_int(rows, 0);
    db_rows_destroy(rows);
    return id;
}

/* A job that is running, CRON, due at next_ms. */
static inline void test_add_job(int64_t id, int64_t next_ms)
{
    test_sql("INSERT INTO xxl_job_info (id, job_group, job_desc, schedule_type, schedule_conf, misfire_strategy, "
             "executor_route_strategy, executor_handler, executor_param, executor_block_strategy, glue_type, "
             "trigger_status, trigger_next_time) VALUES (%" PRId64 ", 1, 'job', 'CRON', '0 * * * * ?', 'DO_NOTHING', "
             "'FIRST', 'demo', 'p', 'SERIAL_EXECUTION', 'BEAN', 1, %" PRId64 ")",
             id, next_ms);
}

/* How many statements of that kind the server has run, e.g. "COM_UPDATE". */
static inline int64_t test_commands(const char *name)
{
    return test_int("SELECT variable_value FROM information_schema.global_status WHERE variable_name = '%s'", name);
}

/* A second connection that the test drives beside its first. */
static inline struct db *test_connect(void)
{
    struct store_opts opts = test_db.opts;
    struct db *db = NULL;

    opts.read_timeout_ms = 600000; /* a busy machine writes a million rows slowly */
    assert_ok(db_connect(&opts, SESSION_NORMAL, &db, ec));
    return db;
}

#endif

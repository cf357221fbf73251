/* SPDX-License-Identifier: MIT */
#include "shardwheel/store/private_server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define READY_MS 60000  /* recovery after a crash may take its time */
#define FOLDER_MS 30000 /* a server whose parent was killed is given this long to end */
#define STOP_MS 60000
#define POLL_MS 20

struct private_server {
    char dir[PATH_MAX];
    char socket[108]; /* what a unix address can hold */
    pid_t pid;        /* 0: ended */
    int lock_fd;      /* the folder's lock; the server inherits it, so the lock lives as long as either */
    const struct clock *clock;
};

static const char *find_server(void)
{
    static const char *const paths[] = {"/usr/sbin/mariadbd", "/usr/libexec/mariadbd", "/usr/local/sbin/mariadbd",
                                        "/usr/sbin/mysqld"};

    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        if (access(paths[i], X_OK) == 0)
            return paths[i];
    }
    return NULL;
}

static enum err make_folder(struct private_server *ps, const char *dir, struct errctx *ec)
{
    char part[PATH_MAX];

    if (snprintf(part, sizeof part, "%s", dir) >= (int)sizeof part)
        return err_set(ec, ERR_INPUT, "the data folder's name is too long");
    for (char *slash = strchr(part + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash)
            *slash = '\0';
        if (mkdir(part, 0700) != 0 && errno != EEXIST)
            return err_set(ec, ERR_IO, "make folder %s: %s", part, strerror(errno));
        if (!slash)
            break;
        *slash = '/';
    }
    if (!realpath(dir, ps->dir))
        return err_set(ec, ERR_IO, "folder %s: %s", dir, strerror(errno));
    if (snprintf(ps->socket, sizeof ps->socket, "%s/" PRIVATE_SERVER_SOCKET, ps->dir) >= (int)sizeof ps->socket)
        return err_set(ec, ERR_INPUT,
                       "the data folder %.300s is too deep: its socket's name has more than %zu characters", ps->dir,
                       sizeof ps->socket - 1);
    return ERR_OK;
}

/* The process that wrote its number into the lock file still lives: then waiting is of no use. */
static bool has_live_owner(int lock_fd)
{
    char text[24] = "";
    int64_t pid;

    return pread(lock_fd, text, sizeof text - 1, 0) > 0 && parse_int(text, 1, INT32_MAX, &pid) &&
           (kill((pid_t)pid, 0) == 0 || errno == EPERM);
}

static enum err lock_folder(struct private_server *ps, struct errctx *ec)
{
    int64_t deadline_ms = clock_mono_ms(ps->clock) + FOLDER_MS;
    char path[PATH_MAX + 16], pid[24];

    snprintf(path, sizeof path, "%s/lock", ps->dir);
    /* Not close-on-exec: a server that outlives its killed parent for a moment keeps the folder locked. */
    ps->lock_fd = open(path, O_RDWR | O_CREAT, 0600);
    if (ps->lock_fd < 0)
        return err_set(ec, ERR_IO, "open %s: %s", path, strerror(errno));
    while (flock(ps->lock_fd, LOCK_EX | LOCK_NB) != 0) {
        if (has_live_owner(ps->lock_fd) || clock_mono_ms(ps->clock) >= deadline_ms)
            return err_set(ec, ERR_BUSY, "another process uses the data folder %s", ps->dir);
        clock_sleep_ms(POLL_MS);
    }
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    if (ftruncate(ps->lock_fd, 0) != 0 || pwrite(ps->lock_fd, pid, strlen(pid), 0) < 0)
        return err_set(ec, ERR_IO, "write %s: %s", path, strerror(errno));
    return ERR_OK;
}

/* Starts a program; its output goes to `log`. Signals of the terminal go to us alone, and it ends with us. */
static pid_t spawn(char *const argv[], const char *log)
{
    pid_t parent = getpid();
    pid_t pid = fork();

    if (pid == 0) {
        sigset_t none;
        int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);

        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        setsid();
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent)
            _exit(126); /* it was gone before we asked to be told */
        if (fd >= 0) {
            dup2(fd, STDOUT_FILENO);
            dup2(fd, STDERR_FILENO);
        }
        execv(argv[0], argv);
        _exit(127);
    }
    return pid;
}

static enum err write_file(const char *path, const char *text, struct errctx *ec)
{
    FILE *f = fopen(path, "we");

    if (!f)
        return err_set(ec, ERR_IO, "write %s: %s", path, strerror(errno));
    fputs(text, f);
    if (fclose(f) != 0)
        return err_set(ec, ERR_IO, "write %s: %s", path, strerror(errno));
    return ERR_OK;
}

/* Makes the system tables in a folder beside it and renames that, so that half a data folder is never found. */
static enum err install(struct private_server *ps, struct errctx *ec)
{
    char data[PATH_MAX + 32], fresh[PATH_MAX + 32], log[PATH_MAX + 32], arg_data[PATH_MAX + 64], tmp[PATH_MAX + 64];
    char *argv[] = {"/usr/bin/mariadb-install-db",
                    "--no-defaults",
                    arg_data,
                    tmp,
                    "--auth-root-authentication-method=normal",
                    "--skip-test-db",
                    "--skip-name-resolve",
                    geteuid() == 0 ? "--user=root" : NULL,
                    NULL};
    char *rm[] = {"/bin/rm", "-rf", fresh, NULL};
    struct stat st;
    int status = 0;
    pid_t pid;

    snprintf(data, sizeof data, "%s/db", ps->dir);
    snprintf(fresh, sizeof fresh, "%s/db.new", ps->dir);
    snprintf(log, sizeof log, "%s/install.log", ps->dir);
    snprintf(arg_data, sizeof arg_data, "--datadir=%s", fresh);
    snprintf(tmp, sizeof tmp, "--tmpdir=%s", ps->dir);
    if (stat(data, &st) == 0)
        return ERR_OK;
    pid = spawn(rm, log);
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        return err_set(ec, ERR_IO, "remove %s: see %s", fresh, log);
    pid = spawn(argv, log);
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        return err_set(ec, ERR_IO, "mariadb-install-db failed for %s: see %s", fresh, log);
    if (rename(fresh, data) != 0)
        return err_set(ec, ERR_IO, "rename %s: %s", fresh, strerror(errno));
    return ERR_OK;
}

static bool answers(const struct private_server *ps)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char greeting;
    bool ok;

    if (fd < 0)
        return false;
    memcpy(addr.sun_path, ps->socket, sizeof addr.sun_path);
    /* A greeting comes only when the server is ready to take a login. */
    ok = connect(fd, (struct sockaddr *)&addr, sizeof addr) == 0 && read(fd, &greeting, 1) == 1;
    close(fd);
    return ok;
}

bool private_server_is_running(struct private_server *ps)
{
    if (ps->pid > 0 && waitpid(ps->pid, NULL, WNOHANG) != 0)
        ps->pid = 0;
    return ps->pid > 0;
}

static enum err launch(struct private_server *ps, const char *server, struct errctx *ec)
{
    char data[PATH_MAX + 32], tmp[PATH_MAX + 32], sock[200], pid_file[PATH_MAX + 32], init[PATH_MAX + 32],
        log[PATH_MAX + 32];
    char *argv[] = {(char *)server,
                    "--no-defaults",
                    data,
                    tmp,
                    sock,
                    pid_file,
                    init,
                    "--skip-networking",
                    "--skip-name-resolve",
                    "--character-set-server=utf8mb4",
                    "--innodb-flush-log-at-trx-commit=1",
                    "--innodb-buffer-pool-size=256M",
                    "--innodb-log-file-size=256M",
                    "--max-connections=200",
                    geteuid() == 0 ? "--user=root" : NULL,
                    NULL};
    int64_t deadline_ms = clock_mono_ms(ps->clock) + READY_MS;
    enum err e;

    snprintf(data, sizeof data, "--datadir=%s/db", ps->dir);
    /* Not the system's: a server that starts removes the temporary tables of all servers that share its tmpdir. */
    snprintf(tmp, sizeof tmp, "--tmpdir=%s", ps->dir);
    snprintf(sock, sizeof sock, "--socket=%s", ps->socket);
    snprintf(pid_file, sizeof pid_file, "--pid-file=%s/mariadbd.pid", ps->dir);
    snprintf(init, sizeof init, "%s/init.sql", ps->dir);
    e = write_file(init, "CREATE DATABASE IF NOT EXISTS xxl_job DEFAULT CHARACTER SET utf8mb4;\n", ec);
    if (e)
        return e;
    snprintf(init, sizeof init, "--init-file=%s/init.sql", ps->dir);
    snprintf(log, sizeof log, "%s/mariadbd.log", ps->dir);
    unlink(ps->socket);
    ps->pid = spawn(argv, log);
    if (ps->pid < 0)
        return err_set(ec, ERR_IO, "start %s: %s", server, strerror(errno));
    while (!answers(ps)) {
        if (!private_server_is_running(ps))
            return err_set(ec, ERR_IO, "%s ended at once: see %s", server, log);
        if (clock_mono_ms(ps->clock) >= deadline_ms)
            return err_set(ec, ERR_TIMEOUT, "%s does not answer on %s: see %s", server, ps->socket, log);
        clock_sleep_ms(POLL_MS);
    }
    return ERR_OK;
}

enum err private_server_start(const char *dir, const struct clock *clock, struct private_server **out,
                              struct errctx *ec)
{
    struct private_server *ps = calloc(1, sizeof *ps);
    const char *server = find_server();
    enum err e;

    if (!ps)
        return err_set(ec, ERR_NOMEM, "private database: out of memory");
    ps->clock = clock;
    ps->lock_fd = -1;
    if (!server) {
        e = err_set(ec, ERR_NOTFOUND, "mariadbd is not installed (Debian's package mariadb-server)");
        goto out;
    }
    e = make_folder(ps, dir, ec);
    if (e)
        goto out;
    e = lock_folder(ps, ec);
    if (e)
        goto out;
    e = install(ps, ec);
    if (e)
        goto out;
    e = launch(ps, server, ec);
    if (e)
        goto out;
    *out = ps;
    ps = NULL;
out:
    private_server_stop(ps);
    return e ? err_wrap(ec, e, "private database in %s", dir) : ERR_OK;
}

const char *private_server_get_socket(const struct private_server *ps)
{
    return ps->socket;
}

void private_server_stop(struct private_server *ps)
{
    int64_t deadline_ms;

    if (!ps)
        return;
    deadline_ms = clock_mono_ms(ps->clock) + STOP_MS;
    if (ps->pid > 0)
        kill(ps->pid, SIGTERM);
    while (private_server_is_running(ps)) {
        if (clock_mono_ms(ps->clock) >= deadline_ms) {
            kill(ps->pid, SIGKILL);
            deadline_ms += STOP_MS;
        }
        clock_sleep_ms(POLL_MS);
    }
    if (ps->lock_fd >= 0)
        close(ps->lock_fd);
    free(ps);
}

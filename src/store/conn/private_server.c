/* SPDX-License-Identifier: MIT */
/* The server's process. Its folder and its user: private_folder.c. */
#include "shardwheel/store/private_server.h"

#include <errno.h>
#include <fcntl.h>
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

#include "store/conn/private_folder.h"

#define READY_MS 60000  /* recovery after a crash may take its time */
#define FOLDER_MS 30000 /* a server whose parent was killed is given this long to end */
#define STOP_MS 60000
#define POLL_MS 20

struct private_server {
    struct private_folder folder;
    pid_t pid;   /* 0: ended */
    int lock_fd; /* the folder's lock; the server inherits it, so the lock lives as long as either */
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

    snprintf(path, sizeof path, "%s/lock", ps->folder.dir);
    /* Not close-on-exec: a server that outlives its killed parent for a moment keeps the folder locked. */
    ps->lock_fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
    if (ps->lock_fd < 0)
        return err_set(ec, ERR_IO, "open %s: %s", path, strerror(errno));
    while (flock(ps->lock_fd, LOCK_EX | LOCK_NB) != 0) {
        if (has_live_owner(ps->lock_fd) || clock_mono_ms(ps->clock) >= deadline_ms)
            return err_set(ec, ERR_BUSY, "another process uses the data folder %s", ps->folder.dir);
        clock_sleep_ms(POLL_MS);
    }
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    if (ftruncate(ps->lock_fd, 0) != 0 || pwrite(ps->lock_fd, pid, strlen(pid), 0) < 0)
        return err_set(ec, ERR_IO, "write %s: %s", path, strerror(errno));
    return ERR_OK;
}

/* Starts a program for the server's user; its output goes to `log`. Signals of the terminal go to us alone, and it ends
 * with us. */
static pid_t spawn(const struct private_server *ps, char *const argv[], const char *log)
{
    pid_t parent = getpid();
    pid_t pid = fork();

    if (pid == 0) {
        sigset_t none;
        int fd;

        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        setsid();
        if (chdir("/") != 0 || !private_folder_enter(&ps->folder))
            _exit(125);
        fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
        prctl(PR_SET_PDEATHSIG, SIGTERM); /* a change of the user would undo it */
        if (getppid() != parent)
            _exit(126); /* it was gone before we asked to be told */
        if (fd >= 0) {
            dup2(fd, STDOUT_FILENO);
            dup2(fd, STDERR_FILENO);
        }
        /* Ours, not the server's, which knows them too. */
        unsetenv("NOTIFY_SOCKET");
        unsetenv("WATCHDOG_USEC");
        unsetenv("WATCHDOG_PID");
        unsetenv("CREDENTIALS_DIRECTORY");
        execv(argv[0], argv);
        _exit(127);
    }
    return pid;
}

/* In a folder of the server's user, who must not be able to lead us elsewhere by a link. */
static enum err write_init_file(const struct private_server *ps, const char *path, struct errctx *ec)
{
    static const char text[] = "CREATE DATABASE IF NOT EXISTS xxl_job DEFAULT CHARACTER SET utf8mb4;\n";
    int fd;
    bool ok;

    unlink(path);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    ok = fd >= 0 && write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1 &&
         (!private_folder_has_other_user(&ps->folder) || fchown(fd, ps->folder.uid, ps->folder.gid) == 0);
    if (fd >= 0 && close(fd) != 0)
        ok = false;
    return ok ? ERR_OK : err_set(ec, ERR_IO, "write %s: %s", path, strerror(errno));
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
                    NULL};
    char *rm[] = {"/bin/rm", "-rf", fresh, NULL};
    struct stat st;
    int status = 0;
    pid_t pid;

    snprintf(data, sizeof data, "%s/db", ps->folder.dir);
    snprintf(fresh, sizeof fresh, "%s/db.new", ps->folder.dir);
    snprintf(log, sizeof log, "%s/install.log", ps->folder.dir);
    snprintf(arg_data, sizeof arg_data, "--datadir=%s", fresh);
    snprintf(tmp, sizeof tmp, "--tmpdir=%s", ps->folder.dir);
    if (stat(data, &st) == 0)
        return ERR_OK;
    pid = spawn(ps, rm, log);
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        return err_set(ec, ERR_IO, "remove %s: see %s", fresh, log);
    pid = spawn(ps, argv, log);
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
    memcpy(addr.sun_path, ps->folder.socket, sizeof addr.sun_path);
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
                    "--secure-file-priv=/dev/null", /* no file is below it: none is read or written by SQL */
                    "--skip-networking",
                    "--skip-name-resolve",
                    "--character-set-server=utf8mb4",
                    "--innodb-flush-log-at-trx-commit=1",
                    "--innodb-buffer-pool-size=256M",
                    "--innodb-log-file-size=256M",
                    "--max-connections=200",
                    NULL};
    int64_t deadline_ms = clock_mono_ms(ps->clock) + READY_MS;
    enum err e;

    snprintf(data, sizeof data, "--datadir=%s/db", ps->folder.dir);
    /* Not the system's: a server that starts removes the temporary tables of all servers that share its tmpdir. */
    snprintf(tmp, sizeof tmp, "--tmpdir=%s", ps->folder.dir);
    snprintf(sock, sizeof sock, "--socket=%s", ps->folder.socket);
    snprintf(pid_file, sizeof pid_file, "--pid-file=%s/mariadbd.pid", ps->folder.dir);
    snprintf(init, sizeof init, "%s/init.sql", ps->folder.dir);
    e = write_init_file(ps, init, ec);
    if (e)
        return e;
    snprintf(init, sizeof init, "--init-file=%s/init.sql", ps->folder.dir);
    snprintf(log, sizeof log, "%s/mariadbd.log", ps->folder.dir);
    unlink(ps->folder.socket);
    ps->pid = spawn(ps, argv, log);
    if (ps->pid < 0)
        return err_set(ec, ERR_IO, "start %s: %s", server, strerror(errno));
    while (!answers(ps)) {
        if (!private_server_is_running(ps))
            return err_set(ec, ERR_IO, "%s ended at once: see %s", server, log);
        if (clock_mono_ms(ps->clock) >= deadline_ms)
            return err_set(ec, ERR_TIMEOUT, "%s does not answer on %s: see %s", server, ps->folder.socket, log);
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
    e = server ? private_folder_make(&ps->folder, dir, ec)
               : err_set(ec, ERR_NOTFOUND, "mariadbd is not installed (Debian's package mariadb-server)");
    if (!e)
        e = lock_folder(ps, ec);
    if (!e)
        e = install(ps, ec);
    if (!e)
        e = launch(ps, server, ec);
    if (e) {
        private_server_stop(ps);
        return err_wrap(ec, e, "private database in %s", dir);
    }
    *out = ps;
    return ERR_OK;
}

const char *private_server_get_socket(const struct private_server *ps)
{
    return ps->folder.socket;
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

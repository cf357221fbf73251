/* SPDX-License-Identifier: MIT */
/*
 * The server asks nobody for a password: who comes into its folder has the data. So the folder is one user's alone
 * (0700): this process's, or where this process is root, a user's for whom the server then runs: mysql, or nobody where
 * there is none of that name. That user may be unable to reach the folder (in /root, say). Then the server gets a view
 * of the file system of its own, in which the first folder on the way that is closed to it holds nothing but the way.
 */
#include "shardwheel/store/private_server.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
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
    char socket[108];      /* what a unix address can hold */
    char closed[PATH_MAX]; /* the first folder on the way that is closed to the server's user; empty: none */
    char user[64];         /* of the server */
    uid_t uid;
    gid_t gid;
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

enum folder_content { FOLDER_EMPTY, FOLDER_OURS, FOLDER_FOREIGN };

static enum folder_content look_into(const char *path)
{
    static const char *const ours[] = {"lock", "db"};
    enum folder_content found = FOLDER_EMPTY;
    DIR *dir = opendir(path);

    if (!dir)
        return FOLDER_FOREIGN;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL && found != FOLDER_OURS;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        found = FOLDER_FOREIGN;
        for (size_t i = 0; i < ARRAY_LEN(ours); i++)
            if (strcmp(entry->d_name, ours[i]) == 0)
                found = FOLDER_OURS;
    }
    closedir(dir);
    return found;
}

/* One that was there before may be open to others. It is closed where nothing else is in it, so that nobody loses his
 * /tmp. */
static enum err close_folder(struct private_server *ps, const struct stat *st, struct errctx *ec)
{
    enum folder_content content = look_into(ps->dir);

    if ((st->st_mode & 077) == 0)
        return ERR_OK;
    if (content == FOLDER_FOREIGN)
        return err_set(
            ec, ERR_INPUT,
            "the data folder %.300s is open to others (mode %03o) and holds other things: name a new folder, "
            "or close it with chmod 700",
            ps->dir, st->st_mode & 0777);
    if (content == FOLDER_OURS && (st->st_mode & 022))
        return err_set(ec, ERR_INPUT,
                       "others could write into the data folder %.300s (mode %03o): look at what is in it, then close "
                       "it with chmod 700",
                       ps->dir, st->st_mode & 0777);
    if (chmod(ps->dir, 0700) != 0)
        return err_set(ec, ERR_IO, "close %s: %s", ps->dir, strerror(errno));
    log_info("store", "event=data_folder_closed folder=%s mode=%03o", log_quote(ps->dir).s, st->st_mode & 0777);
    return ERR_OK;
}

/* ---- the server's user ------------------------------------------------------------------------------------------- */

static enum err choose_user(struct private_server *ps, struct errctx *ec)
{
    static const char *const names[] = {"mysql", "nobody"};
    const struct passwd *user = NULL;

    ps->uid = geteuid();
    ps->gid = getegid();
    if (ps->uid != 0)
        return ERR_OK;
    for (size_t i = 0; i < ARRAY_LEN(names) && (!user || user->pw_uid == 0); i++)
        user = getpwnam(names[i]);
    if (!user || user->pw_uid == 0)
        return err_set(ec, ERR_NOTFOUND,
                       "the database does not run as root, and there is neither a user mysql nor a user nobody");
    ps->uid = user->pw_uid;
    ps->gid = user->pw_gid;
    snprintf(ps->user, sizeof ps->user, "%s", user->pw_name);
    return ERR_OK;
}

static bool has_other_user(const struct private_server *ps)
{
    return ps->uid != geteuid();
}

/* nftw has no argument for its callback. */
static _Thread_local const struct private_server *new_owner;

static int give_entry(const char *path, const struct stat *st, int what, struct FTW *where)
{
    (void)st, (void)what, (void)where;
    return lchown(path, new_owner->uid, new_owner->gid);
}

/* A folder of root's, be it new or of an earlier version, which ran the server as root. The folder itself comes last,
 * so that one that was given away half is given away anew. What is the user's already is left alone: he might have put
 * a link to something else in it. */
static enum err give_folder(struct private_server *ps, struct errctx *ec)
{
    new_owner = ps;
    if (nftw(ps->dir, give_entry, 16, FTW_PHYS | FTW_MOUNT | FTW_DEPTH) != 0)
        return err_set(ec, ERR_IO, "give %s to the user %s: %s", ps->dir, ps->user, strerror(errno));
    return ERR_OK;
}

static enum err secure_folder(struct private_server *ps, struct errctx *ec)
{
    struct stat st;
    enum err e;

    if (stat(ps->dir, &st) != 0)
        return err_set(ec, ERR_IO, "folder %s: %s", ps->dir, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return err_set(ec, ERR_INPUT, "%s is no folder", ps->dir);
    if (st.st_uid != geteuid() && st.st_uid != ps->uid)
        return err_set(ec, ERR_INPUT, "the data folder %.300s belongs to another user (number %d)", ps->dir,
                       (int)st.st_uid);
    e = close_folder(ps, &st, ec);
    if (e)
        return e;
    return has_other_user(ps) && st.st_uid != ps->uid ? give_folder(ps, ec) : ERR_OK;
}

/* ---- the way to the folder --------------------------------------------------------------------------------------- */

/* By the mode alone: where a list of rights says otherwise, the view does no harm. */
static bool may_pass(const struct private_server *ps, const char *folder)
{
    struct stat st;

    if (stat(folder, &st) != 0)
        return true;
    return st.st_mode & (st.st_uid == ps->uid ? S_IXUSR : st.st_gid == ps->gid ? S_IXGRP : S_IXOTH);
}

static void find_closed(struct private_server *ps)
{
    char part[PATH_MAX];

    snprintf(part, sizeof part, "%s", ps->dir);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (!may_pass(ps, part)) {
            snprintf(ps->closed, sizeof ps->closed, "%s", part);
            return;
        }
        *slash = '/';
    }
}

/* In a child, as root: from now on there is nothing in the closed folder but the way to ours. */
static bool enter_view(const struct private_server *ps)
{
    char part[PATH_MAX], ours[40];
    int fd;

    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return false;
    fd = open(ps->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    snprintf(ours, sizeof ours, "/proc/self/fd/%d", fd);
    if (fd < 0 || mount("shardwheel", ps->closed, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0755,size=64k") != 0)
        return false;
    snprintf(part, sizeof part, "%s", ps->dir);
    for (char *slash = part + strlen(ps->closed);; *slash = '/') {
        slash = strchr(slash + 1, '/');
        if (slash)
            *slash = '\0';
        if (mkdir(part, 0755) != 0 && errno != EEXIST)
            return false;
        if (!slash)
            break;
    }
    return mount(ours, ps->dir, NULL, MS_BIND, NULL) == 0;
}

/* In a child. */
static bool become_server(const struct private_server *ps)
{
    if (!has_other_user(ps))
        return true;
    if (ps->closed[0] && !enter_view(ps))
        return false;
    return setgroups(0, NULL) == 0 && setgid(ps->gid) == 0 && setuid(ps->uid) == 0 && setuid(0) != 0;
}

/* Before anything is started, so that there is a clear word about it. */
static enum err try_user(struct private_server *ps, struct errctx *ec)
{
    int status = 0;
    pid_t pid;

    find_closed(ps);
    pid = fork();
    if (pid == 0)
        _exit(become_server(ps) && access(ps->dir, R_OK | W_OK | X_OK) == 0 ? 0 : 1);
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return err_set(ec, ERR_IO, "start a process: %s", strerror(errno));
    if (status == 0)
        return ERR_OK;
    return err_set(ec, ERR_INPUT,
                   "the database does not run as root, and its user %s cannot reach the data folder %.200s: %.200s is "
                   "closed to it. Name a folder elsewhere, or open the way to it",
                   ps->user, ps->dir, ps->closed[0] ? ps->closed : ps->dir);
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
    ps->lock_fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
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
        if (chdir("/") != 0 || !become_server(ps))
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
         (!has_other_user(ps) || fchown(fd, ps->uid, ps->gid) == 0);
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

    snprintf(data, sizeof data, "%s/db", ps->dir);
    snprintf(fresh, sizeof fresh, "%s/db.new", ps->dir);
    snprintf(log, sizeof log, "%s/install.log", ps->dir);
    snprintf(arg_data, sizeof arg_data, "--datadir=%s", fresh);
    snprintf(tmp, sizeof tmp, "--tmpdir=%s", ps->dir);
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

    snprintf(data, sizeof data, "--datadir=%s/db", ps->dir);
    /* Not the system's: a server that starts removes the temporary tables of all servers that share its tmpdir. */
    snprintf(tmp, sizeof tmp, "--tmpdir=%s", ps->dir);
    snprintf(sock, sizeof sock, "--socket=%s", ps->socket);
    snprintf(pid_file, sizeof pid_file, "--pid-file=%s/mariadbd.pid", ps->dir);
    snprintf(init, sizeof init, "%s/init.sql", ps->dir);
    e = write_init_file(ps, init, ec);
    if (e)
        return e;
    snprintf(init, sizeof init, "--init-file=%s/init.sql", ps->dir);
    snprintf(log, sizeof log, "%s/mariadbd.log", ps->dir);
    unlink(ps->socket);
    ps->pid = spawn(ps, argv, log);
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
    e = server ? choose_user(ps, ec)
               : err_set(ec, ERR_NOTFOUND, "mariadbd is not installed (Debian's package mariadb-server)");
    if (!e)
        e = make_folder(ps, dir, ec);
    if (!e)
        e = secure_folder(ps, ec);
    if (!e)
        e = try_user(ps, ec);
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

/* SPDX-License-Identifier: MIT */
#include "store/conn/private_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <pwd.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shardwheel/store/private_server.h"

static enum err make_folder(struct private_folder *f, const char *dir, struct errctx *ec)
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
    if (!realpath(dir, f->dir))
        return err_set(ec, ERR_IO, "folder %s: %s", dir, strerror(errno));
    if (snprintf(f->socket, sizeof f->socket, "%s/" PRIVATE_SERVER_SOCKET, f->dir) >= (int)sizeof f->socket)
        return err_set(ec, ERR_INPUT,
                       "the data folder %.300s is too deep: its socket's name has more than %zu characters", f->dir,
                       sizeof f->socket - 1);
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
static enum err close_folder(struct private_folder *f, const struct stat *st, struct errctx *ec)
{
    enum folder_content content = look_into(f->dir);

    if ((st->st_mode & 077) == 0)
        return ERR_OK;
    if (content == FOLDER_FOREIGN)
        return err_set(ec, ERR_INPUT,
                       "the data folder %.300s is open to other users (mode %03o) and has other files: use a new "
                       "folder, or close it with chmod 700",
                       f->dir, st->st_mode & 0777);
    if (content == FOLDER_OURS && (st->st_mode & 022))
        return err_set(ec, ERR_INPUT,
                       "other users can write to the data folder %.300s (mode %03o): check its files, then close it "
                       "with chmod 700",
                       f->dir, st->st_mode & 0777);
    if (chmod(f->dir, 0700) != 0)
        return err_set(ec, ERR_IO, "close %s: %s", f->dir, strerror(errno));
    log_info("store", "event=data_folder_closed folder=%s mode=%03o", log_quote(f->dir).s, st->st_mode & 0777);
    return ERR_OK;
}

/* ---- the server's user ------------------------------------------------------------------------------------------- */

static enum err choose_user(struct private_folder *f, struct errctx *ec)
{
    static const char *const names[] = {"mysql", "nobody"};
    const struct passwd *user = NULL;

    f->uid = geteuid();
    f->gid = getegid();
    if (f->uid != 0)
        return ERR_OK;
    for (size_t i = 0; i < ARRAY_LEN(names) && (!user || user->pw_uid == 0); i++)
        user = getpwnam(names[i]);
    if (!user || user->pw_uid == 0)
        return err_set(ec, ERR_NOTFOUND,
                       "the database does not run as root, and neither a user mysql nor a user nobody exists");
    f->uid = user->pw_uid;
    f->gid = user->pw_gid;
    snprintf(f->user, sizeof f->user, "%s", user->pw_name);
    return ERR_OK;
}

bool private_folder_has_other_user(const struct private_folder *f)
{
    return f->uid != geteuid();
}

/* nftw has no argument for its callback. */
static _Thread_local const struct private_folder *new_owner;

static int give_entry(const char *path, const struct stat *st, int what, struct FTW *where)
{
    (void)st, (void)what, (void)where;
    return lchown(path, new_owner->uid, new_owner->gid);
}

/* A folder of root's, be it new or of an earlier version, which ran the server as root. The folder itself comes last,
 * so that one that was given away half is given away anew. What is the user's already is left alone: he might have put
 * a link to something else in it. */
static enum err give_folder(struct private_folder *f, struct errctx *ec)
{
    new_owner = f;
    if (nftw(f->dir, give_entry, 16, FTW_PHYS | FTW_MOUNT | FTW_DEPTH) != 0)
        return err_set(ec, ERR_IO, "give %s to the user %s: %s", f->dir, f->user, strerror(errno));
    return ERR_OK;
}

static enum err secure_folder(struct private_folder *f, struct errctx *ec)
{
    struct stat st;
    enum err e;

    if (stat(f->dir, &st) != 0)
        return err_set(ec, ERR_IO, "folder %s: %s", f->dir, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return err_set(ec, ERR_INPUT, "%s is not a folder", f->dir);
    if (st.st_uid != geteuid() && st.st_uid != f->uid)
        return err_set(ec, ERR_INPUT, "the data folder %.300s belongs to another user (number %d)", f->dir,
                       (int)st.st_uid);
    e = close_folder(f, &st, ec);
    if (e)
        return e;
    return private_folder_has_other_user(f) && st.st_uid != f->uid ? give_folder(f, ec) : ERR_OK;
}

/* ---- the way to the folder --------------------------------------------------------------------------------------- */

/* By the mode alone: where a list of rights says otherwise, the view does no harm. */
static bool may_pass(const struct private_folder *f, const char *folder)
{
    struct stat st;

    if (stat(folder, &st) != 0)
        return true;
    return st.st_mode & (st.st_uid == f->uid ? S_IXUSR : st.st_gid == f->gid ? S_IXGRP : S_IXOTH);
}

static void find_closed(struct private_folder *f)
{
    char part[PATH_MAX];

    snprintf(part, sizeof part, "%s", f->dir);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (!may_pass(f, part)) {
            snprintf(f->closed, sizeof f->closed, "%s", part);
            return;
        }
        *slash = '/';
    }
}

/* In a child, as root: from now on there is nothing in the closed folder but the way to ours. */
static bool enter_view(const struct private_folder *f)
{
    char part[PATH_MAX], ours[40];
    int fd;

    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return false;
    fd = open(f->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    snprintf(ours, sizeof ours, "/proc/self/fd/%d", fd);
    if (fd < 0 || mount("shardwheel", f->closed, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0755,size=64k") != 0)
        return false;
    snprintf(part, sizeof part, "%s", f->dir);
    for (char *slash = part + strlen(f->closed);; *slash = '/') {
        slash = strchr(slash + 1, '/');
        if (slash)
            *slash = '\0';
        if (mkdir(part, 0755) != 0 && errno != EEXIST)
            return false;
        if (!slash)
            break;
    }
    return mount(ours, f->dir, NULL, MS_BIND, NULL) == 0;
}

bool private_folder_enter(const struct private_folder *f)
{
    if (!private_folder_has_other_user(f))
        return true;
    if (f->closed[0] && !enter_view(f))
        return false;
    return setgroups(0, NULL) == 0 && setgid(f->gid) == 0 && setuid(f->uid) == 0 && setuid(0) != 0;
}

/* Before anything is started, so that there is a clear word about it. */
static enum err try_user(struct private_folder *f, struct errctx *ec)
{
    int status = 0;
    pid_t pid;

    find_closed(f);
    pid = fork();
    if (pid == 0)
        _exit(private_folder_enter(f) && access(f->dir, R_OK | W_OK | X_OK) == 0 ? 0 : 1);
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return err_set(ec, ERR_IO, "start a process: %s", strerror(errno));
    if (status == 0)
        return ERR_OK;
    return err_set(ec, ERR_INPUT,
                   "the database does not run as root, and its user %s cannot reach the data folder %.200s: it may not "
                   "enter %.200s. Use another folder, or allow that user to enter it",
                   f->user, f->dir, f->closed[0] ? f->closed : f->dir);
}

enum err private_folder_make(struct private_folder *f, const char *dir, struct errctx *ec)
{
    enum err e = choose_user(f, ec);

    if (!e)
        e = make_folder(f, dir, ec);
    if (!e)
        e = secure_folder(f, ec);
    return e ? e : try_user(f, ec);
}

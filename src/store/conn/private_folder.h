/* SPDX-License-Identifier: MIT */
/*
 * private_folder: where a private server has its data, and whose it is. Private to store.
 *
 * The server asks nobody for a password: who comes into its folder has the data. So the folder is one user's alone
 * (0700): this process's, or where this process is root, a user's for whom the server then runs: mysql, or nobody where
 * there is none of that name. That user may be unable to reach the folder (in /root, say). Then the server gets a view
 * of the file system of its own, in which the first folder on the way that is closed to it holds nothing but the way.
 */
#ifndef STORE_CONN_PRIVATE_FOLDER_H
#define STORE_CONN_PRIVATE_FOLDER_H

#include <limits.h>
#include <sys/types.h>

#include "shardwheel/base.h"

struct private_folder {
    char dir[PATH_MAX];
    char socket[108];      /* what a unix address can hold */
    char closed[PATH_MAX]; /* the first folder on the way that is closed to the server's user; empty: none */
    char user[64];         /* of the server */
    uid_t uid;
    gid_t gid;
};

/* Makes the folder where it is missing and closes it to others; chooses the server's user and gives it to him. Tries
 * whether he can reach it, before anything is started, so that there is a clear word about it. */
MUST_CHECK enum err private_folder_make(struct private_folder *f, const char *dir, struct errctx *ec);
bool private_folder_has_other_user(const struct private_folder *f);   /* than this process */
MUST_CHECK bool private_folder_enter(const struct private_folder *f); /* in a child: it becomes the server's user */

#endif

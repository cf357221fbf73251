/* SPDX-License-Identifier: MIT */
/*
 * store/private_server: a database of our own, for `standalone --data`.
 *
 * Threads     The main thread alone.
 */
#ifndef SHARDWHEEL_STORE_PRIVATE_SERVER_H
#define SHARDWHEEL_STORE_PRIVATE_SERVER_H

#include "shardwheel/base.h"

/* A private mariadbd: a child of this process with its data, socket and log in one folder, full fsync, no TCP. It ends
 * with this process, also when that is killed, and finds its data again at the next start. Who comes into the folder
 * has the data, so it is closed to all others. The server is never root (its user is then mysql, or nobody), and SQL
 * reads and writes no files. */
struct private_server;
#define PRIVATE_SERVER_SOCKET "mysql.sock" /* in that folder */

/* Makes the folder and the data where missing (the database xxl_job, empty), starts the server and waits until it
 * answers. A folder that is open to others is closed where it is empty or was made here. Call it from the main thread.
 * ERR_NOTFOUND: mariadbd is not installed. ERR_BUSY: another process uses the folder. ERR_INPUT: the folder is somebody
 * else's, is open and not ours to close, or the server's user cannot reach it. ERR_IO with the log file's name. */
MUST_CHECK enum err private_server_start(const char *dir, const struct clock *clock, struct private_server **out,
                                         struct errctx *ec);
const char *private_server_get_socket(const struct private_server *ps);
bool private_server_is_running(struct private_server *ps);
void private_server_stop(struct private_server *ps); /* asks it to end, waits, frees; NULL is fine */

#endif

/* SPDX-License-Identifier: MIT */
/*
 * database: opens the database that the settings name, for the node and for the control commands alike.
 *
 * Threads     The main thread alone.
 */
#ifndef SHARDWHEEL_STORE_DATABASE_H
#define SHARDWHEEL_STORE_DATABASE_H

#include "shardwheel/counters.h"
#include "shardwheel/config.h"
#include "shardwheel/store/private_server.h"
#include "shardwheel/store/conn.h"

/* Connects nothing yet. `server` is the private one of `standalone --data`, already started, or NULL for that which
 * runs: its socket lies in that folder. Errors name the setting. */
MUST_CHECK enum err database_open(const struct config *config, struct private_server *server, const struct clock *clock,
                                  struct counters *counters, struct store **out, struct errctx *ec);
/* The same database with sessions of its own, CONSOLE_SESSIONS_MAX at most, so that people and the scheduler never wait
 * for each other. They go to the server that those of `beside` go to, which must live longer. */
#define CONSOLE_SESSIONS_MAX 8
MUST_CHECK enum err database_open_for_console(const struct config *config, struct private_server *server,
                                              const struct store *beside, const struct clock *clock, struct store **out,
                                              struct errctx *ec);

#endif

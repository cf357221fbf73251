/* SPDX-License-Identifier: MIT */
/* mysql_rules: what errors of servers and of the client library mean, and how sessions are set. Private to
 * store/conn/mysql.c. Pure. */
#ifndef STORE_CONN_MYSQL_RULES_H
#define STORE_CONN_MYSQL_RULES_H

#include "shardwheel/store/conn.h"

enum err mysql_err_of(unsigned code);
bool mysql_is_data_error(unsigned code); /* a text does not fit its column: a character or the length */

/* The timeout of a session of that kind in whole seconds; 0: none. */
unsigned mysql_timeout_s(enum session_kind kind, int timeout_ms);
#define SESSION_SETTINGS_MAX 400
/* The statement that sets a session up. */
void mysql_format_settings(const struct store_opts *opts, enum session_kind kind, char out[SESSION_SETTINGS_MAX]);

#endif

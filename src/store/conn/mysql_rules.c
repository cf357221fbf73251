/* SPDX-License-Identifier: MIT */
#include "store/conn/mysql_rules.h"

#include <errmsg.h>
#include <stdio.h>

#include "shardwheel/job/times.h"

#define SHORT_TIMEOUT_S 3
#define GUARD_LOCK_WAIT_S 120 /* behind Java admins, of which each may wait 50 s itself */

/* ---- errors ------------------------------------------------------------------------------------------------------ */

/* Numbers are used where MariaDB's header and MySQL's differ or lack the name. */
enum err mysql_err_of(unsigned code)
{
    switch (code) {
    case CR_SERVER_GONE_ERROR:
    case CR_SERVER_LOST:
    case CR_SERVER_LOST_EXTENDED:
    case CR_SOCKET_CREATE_ERROR:
    case CR_CONNECTION_ERROR:
    case CR_CONN_HOST_ERROR:
    case CR_IPSOCK_ERROR:
    case CR_UNKNOWN_HOST:
    case CR_SERVER_HANDSHAKE_ERR:
    case CR_COMMANDS_OUT_OF_SYNC:
    case CR_MALFORMED_PACKET:
    case 1040: /* too many connections */
    case 1047: /* a cluster node that is not ready */
    case 1053: /* shutdown in progress */
    case 1077:
    case 1079:
    case 1080: /* the server forces the thread to close */
    case 1152: /* aborted connection */
    case 1158:
    case 1159:
    case 1160:
    case 1161: /* network trouble as the server sees it */
    case 1180: /* an error during a commit: what became of it is not known */
    case 1184: /* new aborted connection */
    case 1203: /* user has too many connections */
    case 1290: /* read-only server: a former primary; a new connection may reach the present one */
    case 1317: /* interrupted by KILL: what the connection holds is in doubt, so it goes */
    case 1792:
    case 1836: /* read-only */
    case 1927: /* connection was killed (MariaDB) */
    case 3169: /* session was killed (MySQL) */
    case 4031: /* closed by the server for being idle (MySQL) */ return ERR_LOST;
    case 1020: /* row changed since it was read (MariaDB with snapshot isolation) */
    case 1205: /* lock wait timeout */
    case 1213: /* deadlock */
    case 3572: /* NOWAIT */ return ERR_CONFLICT;
    case 1044:
    case 1045:
    case 1130: /* host not allowed */
    case 1142:
    case 1143:
    case 1227:
    case 1251: /* client does not support the login method */
    case 1698:
    case 1820:
    case 1862: /* password expired */
    case 3118: /* account locked */
    case CR_SSL_CONNECTION_ERROR:
    case CR_AUTH_PLUGIN_CANNOT_LOAD: return ERR_DENIED;
    case 1049: return ERR_NOTFOUND;
    case 1969: /* max_statement_time (MariaDB) */
    case 3024: /* max_execution_time (MySQL) */ return ERR_TIMEOUT;
    case 1021: /* disk full */
    case 1114: /* table full */
    case 1226: /* a resource limit of the user */ return ERR_BUSY;
    case 1037:
    case 1038:
    case 1041:
    case CR_OUT_OF_MEMORY: return ERR_NOMEM;
    default: return ERR_INPUT;
    }
}

bool mysql_is_data_error(unsigned code)
{
    switch (code) {
    case 1406: /* too long for the column */
    case 1366: /* incorrect string value: a character that the column cannot hold */
    case 1300: /* invalid character string */
    case 1267:
    case 1270:
    case 1271: /* illegal mix of collations: a column and a literal that do not go together */
    case 3854:
    case 3988: /* cannot convert the string (MySQL 8) */ return true;
    default: return false;
    }
}

/* ---- settings ---------------------------------------------------------------------------------------------------- */

static unsigned whole_seconds(int ms)
{
    return ms <= 0 ? 0 : (unsigned)((ms + 999) / 1000);
}

/* No call of the ring or the guard takes longer than this: both have to notice within seconds that the database is
 * away. */
unsigned mysql_timeout_s(enum session_kind kind, int timeout_ms)
{
    unsigned seconds = whole_seconds(timeout_ms);
    bool is_short = kind == SESSION_RING || kind == SESSION_GUARD;

    return is_short && (seconds == 0 || seconds > SHORT_TIMEOUT_S) ? SHORT_TIMEOUT_S : seconds;
}

/* A lock wait must end before the read timeout: the one is an answer, the other breaks the connection. Servers look
 * at waits about once a second, so the answer may be a second late. */
static unsigned lock_wait_s(const struct store_opts *opts, enum session_kind kind)
{
    unsigned read_s = whole_seconds(opts->read_timeout_ms);

    /* A claim that waits for one locked job would be late with all others. */
    if (kind != SESSION_NORMAL || (read_s >= 1 && read_s <= 3))
        return 1;
    return read_s == 0 || read_s > 50 ? 50 : read_s - 2;
}

void mysql_format_settings(const struct store_opts *opts, enum session_kind kind, char out[SESSION_SETTINGS_MAX])
{
    unsigned wait_s = lock_wait_s(opts, kind);
    int idle_s = kind == SESSION_CLAIM ? CLAIM_IDLE_S : kind == SESSION_GUARD ? GUARD_IDLE_S : 0;
    int len = snprintf(out, SESSION_SETTINGS_MAX,
                       "SET autocommit=1, sql_mode='STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION', time_zone='+00:00', "
                       "sql_safe_updates=0, sql_select_limit=DEFAULT, innodb_lock_wait_timeout=%u, "
                       "lock_wait_timeout=%u",
                       kind == SESSION_GUARD ? GUARD_LOCK_WAIT_S : wait_s, wait_s);

    if (idle_s)
        snprintf(out + len, SESSION_SETTINGS_MAX - (size_t)len, ", wait_timeout=%d", idle_s);
}

/* SPDX-License-Identifier: MIT */
/* Settings of the database server: those that lose commits, change what statements mean, or are too small. */
#include "ctl/doctor/check.h"

#include "ctl/doctor/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Sessions of a node beside spring.datasource.hikari.maximum-pool-size: two of the guard, and the console's. */
#define SESSIONS_BESIDE (2 + 8)
#define PACKET_MIN (INT64_C(4) * 1024 * 1024) /* the largest text of a job, and a statement around it */
#define IDLE_MIN_S 60
#define LIMIT_MIN_S 10

static enum err load(struct doctor *d, const char *name, struct look_value *out, struct errctx *ec)
{
    return store_look_setting(d->session, name, out, ec);
}

/* Of two names among servers the one that this one knows. */
static enum err load_either(struct doctor *d, const char *name, const char *other, struct look_value *out,
                            struct errctx *ec)
{
    enum err e = load(d, name, out, ec);

    return e || out->text[0] ? e : load(d, other, out, ec);
}

static bool is_on(const struct look_value *v)
{
    return !strcasecmp(v->text, "ON") || !strcmp(v->text, "1");
}

/* A number; `none` when the server does not know the setting. */
static enum err load_number(struct doctor *d, const char *name, int64_t none, int64_t *out, struct errctx *ec)
{
    struct look_value value;
    enum err e = load(d, name, &value, ec);

    if (!e)
        *out = value.text[0] ? (int64_t)strtod(value.text, NULL) : none;
    return e;
}

/* ---- commits ----------------------------------------------------------------------------------------------------- */

static enum err check_binlog(struct doctor *d, struct errctx *ec)
{
    struct look_value log_bin, sync = {{0}};
    enum err e = load(d, "log_bin", &log_bin, ec);

    if (e || !is_on(&log_bin))
        return e;
    e = load(d, "sync_binlog", &sync, ec);
    if (!e && strcmp(sync.text, "1") != 0)
        doctor_tell(d, DOCTOR_WARNING, "commits_binlog", NULL, "SET GLOBAL sync_binlog = 1, and in the server's file.",
                    "sync_binlog is %s: if the machine fails, server and replicas may have different commits.",
                    sync.text);
    return e;
}

static enum err check_commits(struct doctor *d, struct errctx *ec)
{
    struct look_value flush = {{0}}, doublewrite = {{0}};
    enum err e = load(d, "innodb_flush_log_at_trx_commit", &flush, ec);

    if (!e && !strcmp(flush.text, "2"))
        doctor_tell(d, DOCTOR_WARNING, "commits_flush", NULL,
                    "SET GLOBAL innodb_flush_log_at_trx_commit = 1, and in the server's file.",
                    "innodb_flush_log_at_trx_commit is 2: if the machine fails, the commits of about one second are "
                    "lost, and fires may be sent twice.");
    else if (!e && strcmp(flush.text, "1") != 0)
        doctor_tell(d, DOCTOR_CRITICAL, "commits_flush", NULL,
                    "SET GLOBAL innodb_flush_log_at_trx_commit = 1, and in the server's file.",
                    "innodb_flush_log_at_trx_commit is %s: if the server fails, the commits of about one second are "
                    "lost, and fires may be sent twice.",
                    flush.text);
    if (!e)
        e = load(d, "innodb_doublewrite", &doublewrite, ec);
    if (!e && (!strcasecmp(doublewrite.text, "OFF") || !strcmp(doublewrite.text, "0")))
        doctor_tell(
            d, DOCTOR_WARNING, "commits_torn", NULL,
            "Set innodb_doublewrite = ON, unless the file system writes whole pages.",
            "innodb_doublewrite is off: a page that is partly written when the machine fails cannot be repaired.");
    if (!e)
        e = check_binlog(d, ec);
    return e;
}

/* ---- what statements mean ---------------------------------------------------------------------------------------- */

/* What every session of ours sets at its begin: who forgets it between statements gives sessions to several clients. */
static enum err check_own_session(struct doctor *d, struct errctx *ec)
{
    struct look *look = NULL;
    enum err e = doctor_look(d,
                             "SHOW SESSION VARIABLES WHERE Variable_name IN ('tx_isolation', 'transaction_isolation', "
                             "'sql_mode', 'time_zone', 'autocommit')",
                             &look, ec);

    while (!e && look_next(look)) {
        const char *name = look_text_or_empty(look, 0), *value = look_text_or_empty(look, 1);
        bool fine = strstr(name, "isolation")     ? !strcasecmp(value, "READ-COMMITTED")
                    : !strcmp(name, "sql_mode")   ? words_are_same(value, "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION")
                    : !strcmp(name, "autocommit") ? !strcasecmp(value, "ON")
                                                  : !strcmp(value, "+00:00");

        if (!fine)
            doctor_tell(d, DOCTOR_CRITICAL, "session_changed", name,
                        "Connect nodes to the server, or configure the proxy to keep the settings of a session.",
                        "A session loses its settings: its %s is '%s'. A proxy shares sessions between clients.", name,
                        value);
    }
    look_destroy(look);
    return e;
}

static enum err check_row_binlog(struct doctor *d, struct errctx *ec)
{
    struct look_value log_bin, format = {{0}};
    enum err e = load(d, "log_bin", &log_bin, ec);

    if (!e && is_on(&log_bin))
        e = load(d, "binlog_format", &format, ec);
    if (!e && !strcasecmp(format.text, "STATEMENT"))
        doctor_tell(d, DOCTOR_CRITICAL, "binlog_statement", NULL,
                    "SET GLOBAL binlog_format = 'ROW' (or 'MIXED'), and in the server's file; then restart the nodes.",
                    "binlog_format is STATEMENT: the server refuses every write with READ COMMITTED, which nodes use.");
    return e;
}

static enum err check_meaning(struct doctor *d, struct errctx *ec)
{
    struct look_value isolation = {{0}}, mode = {{0}};
    enum err e = check_own_session(d, ec);

    if (!e)
        e = check_row_binlog(d, ec);
    if (!e)
        e = load_either(d, "transaction_isolation", "tx_isolation", &isolation, ec);
    if (!e && !strcasecmp(isolation.text, "SERIALIZABLE"))
        doctor_tell(d, DOCTOR_WARNING, "isolation_server", NULL,
                    "SET GLOBAL TRANSACTION ISOLATION LEVEL READ COMMITTED (or REPEATABLE READ), and in its file.",
                    "The isolation level of the server is SERIALIZABLE. Nodes set their own, but each SELECT of other "
                    "programs locks rows, and nodes wait for them.");
    if (!e)
        e = load(d, "sql_mode", &mode, ec);
    if (!e && !words_have(mode.text, "STRICT_TRANS_TABLES") && !words_have(mode.text, "STRICT_ALL_TABLES"))
        doctor_tell(d, DOCTOR_WARNING, "sql_mode_server", NULL,
                    "Add STRICT_TRANS_TABLES to sql_mode, also in the configuration file of the server.",
                    "The sql_mode of the server is '%s', without STRICT_TRANS_TABLES. Nodes set their own, but long "
                    "values of other programs are cut without an error.",
                    mode.text);
    return e;
}

/* ---- limits ------------------------------------------------------------------------------------------------------ */

static enum err check_connections(struct doctor *d, struct errctx *ec)
{
    int64_t max = 0, most = 0, live = d->has_tables ? (int64_t)doctor_count_live(d) : 0;
    int64_t wanted = (live ? live : 1) * (d->config->datasource_max_sessions + SESSIONS_BESIDE);
    struct look *look = NULL;
    enum err e = load_number(d, "max_connections", INT32_MAX, &max, ec);

    if (!e)
        e = doctor_look(d, "SHOW GLOBAL STATUS LIKE 'Max_used_connections'", &look, ec);
    if (!e && look_next(look))
        most = look_int(look, 1);
    look_destroy(look);
    if (!e && wanted > max)
        doctor_tell(d, DOCTOR_WARNING, "connections_few", NULL,
                    "Raise max_connections, or lower spring.datasource.hikari.maximum-pool-size.",
                    "max_connections is %" PRId64 ", but %" PRId64 " nodes can open %" PRId64
                    " with this configuration, besides other clients.",
                    max, live ? live : 1, wanted);
    else if (!e && most > max * 9 / 10)
        doctor_tell(d, DOCTOR_WARNING, "connections_used", NULL, "Find out who uses them, or raise max_connections.",
                    "%" PRId64 " of %" PRId64
                    " connections (max_connections) were in use at some time since the start of the server.",
                    most, max);
    return e;
}

static enum err check_times(struct doctor *d, struct errctx *ec)
{
    static const struct {
        const char *name;
        double per_s;
    } limits[] = {{"max_statement_time", 1.0}, {"max_execution_time", 1000.0}};
    struct look_value value;
    int64_t idle = 0;
    enum err e = load_number(d, "wait_timeout", INT32_MAX, &idle, ec);

    if (!e && idle < IDLE_MIN_S)
        doctor_tell(d, DOCTOR_WARNING, "idle_short", NULL, "Set wait_timeout to 60 or more.",
                    "wait_timeout is %" PRId64 " s: idle sessions end and are opened again and again.", idle);
    for (size_t i = 0; !e && i < ARRAY_LEN(limits); i++) {
        double s;

        e = load(d, limits[i].name, &value, ec);
        s = e ? 0 : strtod(value.text, NULL) / limits[i].per_s;
        if (s > 0 && s < LIMIT_MIN_S)
            doctor_tell(d, DOCTOR_WARNING, "statements_short", NULL, "Set it to 0, or to at least 10 s.",
                        "%s ends statements after %.1f s: cleaning, reports and lists of a large log will fail.",
                        limits[i].name, s);
    }
    return e;
}

static enum err check_limits(struct doctor *d, struct errctx *ec)
{
    int64_t packet = 0;
    enum err e = check_connections(d, ec);

    if (!e)
        e = check_times(d, ec);
    if (!e)
        e = load_number(d, "max_allowed_packet", INT64_MAX, &packet, ec);
    if (!e && packet < PACKET_MIN)
        doctor_tell(d, DOCTOR_WARNING, "packet_small", NULL,
                    "Set max_allowed_packet to 16M, in the configuration file of the server.",
                    "max_allowed_packet is %" PRId64 " bytes: a large parameter or GLUE source cannot be written.",
                    packet);
    return e;
}

/* ---- one writer -------------------------------------------------------------------------------------------------- */

static enum err check_writable(struct doctor *d, struct errctx *ec)
{
    struct look_value only = {{0}}, super = {{0}}, wsrep = {{0}};
    struct errctx why;
    int64_t step = 1;
    enum err e = load(d, "read_only", &only, ec);

    if (!e)
        e = load(d, "super_read_only", &super, ec);
    errctx_clear(&why);
    if (!e && (is_on(&super) || (is_on(&only) && store_check_writable(d->session, &why))))
        doctor_tell(d, DOCTOR_CRITICAL, "server_read_only", NULL,
                    "Set the primary in spring.datasource.url, or check the failover.",
                    "The server is read-only: a replica, or an old primary. Nothing is planned or sent.");
    if (!e)
        e = load(d, "wsrep_on", &wsrep, ec);
    if (!e)
        e = load_number(d, "auto_increment_increment", 1, &step, ec);
    if (!e && (is_on(&wsrep) || step != 1))
        doctor_tell(d, DOCTOR_NOTE, "several_primaries", NULL, NULL,
                    "The server seems to be one of several that accept writes (%s): all nodes and Java admins must use "
                    "the same one.",
                    is_on(&wsrep) ? "wsrep_on" : "auto_increment_increment above 1");
    return e;
}

const struct doctor_check doctor_server_checks[] = {
    {"server_writable", "The server accepts writes.",
     (const char *const[]){"server_read_only", "several_primaries", NULL}, DOCTOR_DATABASE, check_writable},
    {"server_commits", "A confirmed commit is permanent.",
     (const char *const[]){"commits_flush", "commits_torn", "commits_binlog", NULL}, DOCTOR_DATABASE, check_commits},
    {"server_modes", "Isolation level and sql_mode are correct.",
     (const char *const[]){"session_changed", "binlog_statement", "isolation_server", "sql_mode_server", NULL},
     DOCTOR_DATABASE, check_meaning},
    {"server_limits", "The limits of the server are large enough.",
     (const char *const[]){"connections_few", "connections_used", "idle_short", "statements_short", "packet_small",
                           NULL},
     DOCTOR_DATABASE, check_limits},
    {0},
};

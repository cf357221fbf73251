/* SPDX-License-Identifier: MIT */
/* Settings of the database server: those that lose commits, change what statements mean, or are too small. */
#include "ctl/doctor/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Sessions of a node beside spring.datasource.hikari.maximum-pool-size: two of the guard, and the console's. */
#define SESSIONS_BESIDE (2 + 8)
#define LIMIT_MIN_S 10
#define FLUSH_CHANGE "SET GLOBAL innodb_flush_log_at_trx_commit = 1, and in the server's file."

static enum err load(struct doctor *d, const char *name, struct look_value *out, struct errctx *ec)
{
    return store_look_setting(d->session, name, out, ec);
}

static bool is_on(const char *value)
{
    return !strcasecmp(value, "ON") || !strcmp(value, "1");
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

/* ---- single settings --------------------------------------------------------------------------------------------- */

/* When a value is wrong. */
enum wrong { WRONG_IS, WRONG_IS_NOT, WRONG_IS_OFF, WRONG_BELOW, WRONG_NOT_STRICT };

static bool is_wrong(enum wrong when, const char *than, const char *value)
{
    switch (when) {
    case WRONG_IS: return !strcasecmp(value, than);
    case WRONG_IS_NOT: return strcmp(value, than) != 0;
    case WRONG_IS_OFF: return !strcasecmp(value, "OFF") || !strcmp(value, "0");
    case WRONG_BELOW: return value[0] && strtod(value, NULL) < strtod(than, NULL);
    case WRONG_NOT_STRICT: return !words_have(value, "STRICT_TRANS_TABLES") && !words_have(value, "STRICT_ALL_TABLES");
    }
    return false;
}

static const struct rule {
    const char *check;        /* that tells it */
    const char *name, *other; /* of two names among servers the one that this one knows; NULL: there is one */
    enum wrong when;
    const char *than;
    bool with_binlog; /* counts only where there is one */
    enum doctor_level level;
    const char *code, *change;
    const char *before, *after; /* what is said around the value; NULL: it is not shown */
} rules[] = {
    {"server_commits", "innodb_flush_log_at_trx_commit", NULL, WRONG_IS, "2", false, DOCTOR_WARNING, "commits_flush",
     FLUSH_CHANGE, "innodb_flush_log_at_trx_commit is ",
     ": if the machine fails, the commits of about one second are lost, and fires may be sent twice."},
    {"server_commits", "innodb_flush_log_at_trx_commit", NULL, WRONG_IS_NOT, "1", false, DOCTOR_CRITICAL,
     "commits_flush", FLUSH_CHANGE, "innodb_flush_log_at_trx_commit is ",
     ": if the server fails, the commits of about one second are lost, and fires may be sent twice."},
    {"server_commits", "innodb_doublewrite", NULL, WRONG_IS_OFF, "", false, DOCTOR_WARNING, "commits_torn",
     "Set innodb_doublewrite = ON, unless the file system writes whole pages.",
     "innodb_doublewrite is off: a page that is partly written when the machine fails cannot be repaired.", NULL},
    {"server_commits", "sync_binlog", NULL, WRONG_IS_NOT, "1", true, DOCTOR_WARNING, "commits_binlog",
     "SET GLOBAL sync_binlog = 1, and in the server's file.", "sync_binlog is ",
     ": if the machine fails, server and replicas may have different commits."},
    {"server_modes", "binlog_format", NULL, WRONG_IS, "STATEMENT", true, DOCTOR_CRITICAL, "binlog_statement",
     "SET GLOBAL binlog_format = 'ROW' (or 'MIXED'), and in the server's file; then restart the nodes.",
     "binlog_format is STATEMENT: the server refuses every write with READ COMMITTED, which nodes use.", NULL},
    {"server_modes", "transaction_isolation", "tx_isolation", WRONG_IS, "SERIALIZABLE", false, DOCTOR_WARNING,
     "isolation_server", "SET GLOBAL TRANSACTION ISOLATION LEVEL READ COMMITTED (or REPEATABLE READ), and in its file.",
     "The isolation level of the server is SERIALIZABLE. Nodes set their own, but each SELECT of other programs locks "
     "rows, and nodes wait for them.",
     NULL},
    {"server_modes", "sql_mode", NULL, WRONG_NOT_STRICT, "", false, DOCTOR_WARNING, "sql_mode_server",
     "Add STRICT_TRANS_TABLES to sql_mode, also in the configuration file of the server.",
     "The sql_mode of the server is '",
     "', without STRICT_TRANS_TABLES. Nodes set their own, but long values of other programs are cut without an "
     "error."},
    {"server_limits", "wait_timeout", NULL, WRONG_BELOW, "60", false, DOCTOR_WARNING, "idle_short",
     "Set wait_timeout to 60 or more.", "wait_timeout is ", " s: idle sessions end and are opened again and again."},
    /* 4 MiB: the largest text of a job, and a statement around it. */
    {"server_limits", "max_allowed_packet", NULL, WRONG_BELOW, "4194304", false, DOCTOR_WARNING, "packet_small",
     "Set max_allowed_packet to 16M, in the configuration file of the server.", "max_allowed_packet is ",
     " bytes: a large parameter or GLUE source cannot be written."},
};

/* Those of the check. */
static enum err check_rules(struct doctor *d, struct errctx *ec)
{
    struct look_value binlog;
    const char *told = ""; /* of several rules with one code the first one counts */
    enum err e = load(d, "log_bin", &binlog, ec);

    for (size_t i = 0; i < ARRAY_LEN(rules) && !e; i++) {
        const struct rule *rule = &rules[i];
        struct look_value value;

        if (strcmp(rule->check, d->check->code) != 0 || (rule->with_binlog && !is_on(binlog.text)) ||
            !strcmp(told, rule->code))
            continue;
        e = load(d, rule->name, &value, ec);
        if (!e && rule->other && !value.text[0])
            e = load(d, rule->other, &value, ec);
        if (e || !is_wrong(rule->when, rule->than, value.text))
            continue;
        told = rule->code;
        doctor_tell(d, rule->level, rule->code, NULL, rule->change, "%s%s%s", rule->before,
                    rule->after ? value.text : "", rule->after ? rule->after : "");
    }
    return e;
}

/* ---- what statements mean ---------------------------------------------------------------------------------------- */

/* What every session of ours sets at its begin: who forgets it between statements gives sessions to several clients. */
static enum err check_own_session(struct doctor *d, struct errctx *ec)
{
    struct db_rows *look = NULL;
    enum err e = doctor_look(d, &look, ec,
                             "SHOW SESSION VARIABLES WHERE Variable_name IN ('tx_isolation', 'transaction_isolation', "
                             "'sql_mode', 'time_zone', 'autocommit')");

    while (!e && db_rows_next(look)) {
        const char *name = db_text_or_empty(look, 0), *value = db_text_or_empty(look, 1);
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
    db_rows_destroy(look);
    return e;
}

static enum err check_meaning(struct doctor *d, struct errctx *ec)
{
    enum err e = check_own_session(d, ec);

    return e ? e : check_rules(d, ec);
}

/* ---- limits ------------------------------------------------------------------------------------------------------ */

static enum err check_connections(struct doctor *d, struct errctx *ec)
{
    int64_t max = 0, most = 0, live = d->has_tables ? (int64_t)doctor_count_live(d) : 0;
    int64_t wanted = (live ? live : 1) * (d->config->datasource_max_sessions + SESSIONS_BESIDE);
    struct db_rows *look = NULL;
    enum err e = load_number(d, "max_connections", INT32_MAX, &max, ec);

    if (!e)
        e = doctor_look(d, &look, ec, "SHOW GLOBAL STATUS LIKE 'Max_used_connections'");
    if (!e && db_rows_next(look))
        most = db_int(look, 1);
    db_rows_destroy(look);
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

static enum err check_limits(struct doctor *d, struct errctx *ec)
{
    static const struct {
        const char *name;
        double per_s;
    } limits[] = {{"max_statement_time", 1.0}, {"max_execution_time", 1000.0}};
    struct look_value value;
    enum err e = check_connections(d, ec);

    for (size_t i = 0; !e && i < ARRAY_LEN(limits); i++) {
        double s;

        e = load(d, limits[i].name, &value, ec);
        s = e ? 0 : strtod(value.text, NULL) / limits[i].per_s;
        if (s > 0 && s < LIMIT_MIN_S)
            doctor_tell(d, DOCTOR_WARNING, "statements_short", NULL, "Set it to 0, or to at least 10 s.",
                        "%s ends statements after %.1f s: cleaning, reports and lists of a large log will fail.",
                        limits[i].name, s);
    }
    return e ? e : check_rules(d, ec);
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
    if (!e && (is_on(super.text) || (is_on(only.text) && store_check_writable(d->session, &why))))
        doctor_tell(d, DOCTOR_CRITICAL, "server_read_only", NULL,
                    "Set the primary in spring.datasource.url, or check the failover.",
                    "The server is read-only: a replica, or an old primary. Nothing is planned or sent.");
    if (!e)
        e = load(d, "wsrep_on", &wsrep, ec);
    if (!e)
        e = load_number(d, "auto_increment_increment", 1, &step, ec);
    if (!e && (is_on(wsrep.text) || step != 1))
        doctor_tell(d, DOCTOR_NOTE, "several_primaries", NULL, NULL,
                    "The server seems to be one of several that accept writes (%s): all nodes and Java admins must use "
                    "the same one.",
                    is_on(wsrep.text) ? "wsrep_on" : "auto_increment_increment above 1");
    return e;
}

const struct doctor_check doctor_server_checks[] = {
    {"server_writable", "The server accepts writes.",
     (const char *const[]){"server_read_only", "several_primaries", NULL}, DOCTOR_DATABASE, check_writable},
    {"server_commits", "A confirmed commit is permanent.",
     (const char *const[]){"commits_flush", "commits_torn", "commits_binlog", NULL}, DOCTOR_DATABASE, check_rules},
    {"server_modes", "Isolation level and sql_mode are correct.",
     (const char *const[]){"session_changed", "binlog_statement", "isolation_server", "sql_mode_server", NULL},
     DOCTOR_DATABASE, check_meaning},
    {"server_limits", "The limits of the server are large enough.",
     (const char *const[]){"connections_few", "connections_used", "idle_short", "statements_short", "packet_small",
                           NULL},
     DOCTOR_DATABASE, check_limits},
    {0},
};

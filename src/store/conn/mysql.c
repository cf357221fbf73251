/* SPDX-License-Identifier: MIT */
/* The only file that knows the client library (libmariadb). */
#include "store/conn/mysql.h"

#include "store/conn/datetime.h"
#include "store/conn/mysql_rules.h"

#include <errno.h>
#include <errmsg.h>
#include <fcntl.h>
#include <mysql.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct db {
    MYSQL *mysql; /* NULL once broken, so that the server sees the socket closed and lets the locks go */
    unsigned last_errno;
    size_t max_packet;
    bool mariadb;
    bool galera;
    char version[64];
    char server[STORE_SERVER_MAX];
};

struct db_rows {
    MYSQL_RES *res;
    MYSQL_ROW row;
};

/* ---- errors ------------------------------------------------------------------------------------------------ */

bool db_has_length_error(const struct db *db)
{
    return db->last_errno == 1406;
}

bool db_has_data_error(const struct db *db)
{
    return mysql_is_data_error(db->last_errno);
}

const char *db_advise(const char *said)
{
    if (!strstr(said, "pxc_strict_mode"))
        return "";
    return ": pxc_strict_mode=PERMISSIVE allows named locks; with ZooKeeper and shardwheel.java-guard=off, nodes take "
           "them only to install tables";
}

static void break_off(struct db *db)
{
    mysql_close(db->mysql);
    db->mysql = NULL;
}

/* Keeps the number, closes what is broken, and puts the server's words into `ec`. A library that ran out of memory
 * (which it may show by no number at all) has left part of an answer unread: its connection is of no use any more.
 */
static enum err fail(struct db *db, struct errctx *ec)
{
    unsigned code = mysql_errno(db->mysql);
    enum err e = code == 0 ? ERR_NOMEM : mysql_err_of(code);

    if (code == CR_SSL_CONNECTION_ERROR && db->max_packet) /* not refused: it was set up and has ended */
        e = ERR_LOST;
    db->last_errno = code;
    const char *said = code == 0 ? "out of memory" : mysql_error(db->mysql);
    err_set(ec, e, "%s (error %u)%s", said, code, db_advise(said));
    if (e == ERR_LOST || code == 0 || code == CR_OUT_OF_MEMORY)
        break_off(db);
    return e;
}

static enum err fail_broken(struct errctx *ec)
{
    return err_set(ec, ERR_LOST, "the connection is closed");
}

/* ---- connecting -------------------------------------------------------------------------------------------- */

enum err db_library_init(struct errctx *ec)
{
    /* The library does this once for the process, under a guard of its own. */
    return mysql_library_init(0, NULL, NULL) ? err_set(ec, ERR_NOMEM, "the database client library cannot be started")
                                             : ERR_OK;
}

static void set_options(MYSQL *mysql, const struct store_opts *opts, enum session_kind kind)
{
    unsigned connect_s = mysql_timeout_s(kind, opts->connect_timeout_ms);
    unsigned read_s = mysql_timeout_s(kind, opts->read_timeout_ms);
    my_bool no = 0, yes = 1;

    /* A silent reconnect would lose row locks and named locks without anybody noticing. */
    mysql_options(mysql, MYSQL_OPT_RECONNECT, &no);
    mysql_options(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    /* LOAD DATA LOCAL would let a hostile server read our files. */
    mysql_options(mysql, MYSQL_OPT_LOCAL_INFILE, &(unsigned int){0});
    if (connect_s)
        mysql_options(mysql, MYSQL_OPT_CONNECT_TIMEOUT, &connect_s);
    if (read_s) {
        mysql_options(mysql, MYSQL_OPT_READ_TIMEOUT, &read_s);
        mysql_options(mysql, MYSQL_OPT_WRITE_TIMEOUT, &read_s);
    }
    if (opts->tls || opts->tls_require || opts->tls_verify) {
        mysql_options(mysql, MYSQL_OPT_SSL_ENFORCE, &yes);
        if (opts->tls_ca)
            mysql_options(mysql, MYSQL_OPT_SSL_CA, opts->tls_ca);
    }
    mysql_options(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, opts->tls_verify ? &yes : &no);
}

static enum err run(struct db *db, const char *sql, struct errctx *ec)
{
    return db_exec(db, sql, strlen(sql), NULL, ec);
}

#define FACTS "SELECT @@max_allowed_packet, VERSION(), CONCAT(@@hostname, ':', @@port, '#', @@server_id"

/* What the server is. Its version as told at the handshake says which variables it has; some proxies tell another. */
static enum err read_facts(struct db *db, struct errctx *ec)
{
    static const char *const ways[] = {
        FACTS "), IF(@@wsrep_provider = 'none', 0, IF(@@wsrep_on, 1, -1))",       /* MariaDB */
        FACTS ", '/', @@server_uuid), @@version_comment LIKE '%XtraDB Cluster%'", /* MySQL */
        FACTS "), 0",
    };
    const char *handshake = mysql_get_server_info(db->mysql);
    size_t way = handshake && strcasestr(handshake, "mariadb") ? 0 : 1;
    struct db_rows *rows = NULL;
    enum err e = db_query(db, ways[way], strlen(ways[way]), &rows, ec);

    if (e && db->last_errno == 1193) /* unknown variable */
        e = db_query(db, ways[2], strlen(ways[2]), &rows, ec);
    if (e)
        return e;
    if (!db_rows_next(rows)) {
        e = err_set(ec, ERR_LOST, "the server did not return its settings");
        goto out;
    }
    if (db_int(rows, 3) < 0)
        e = err_set(ec, ERR_LOST, "wsrep_on is OFF on a Galera member: writes are not replicated to the other members");
    db->max_packet = (size_t)db_int(rows, 0);
    snprintf(db->version, sizeof db->version, "%s", db_text_or_empty(rows, 1));
    snprintf(db->server, sizeof db->server, "%s", db_text_or_empty(rows, 2));
    db->galera = db_int(rows, 3) == 1;
    db->mariadb = strcasestr(db->version, "mariadb") != NULL;
out:
    db_rows_destroy(rows);
    return e;
}

static enum err set_up_session(struct db *db, const struct store_opts *opts, enum session_kind kind, struct errctx *ec)
{
    char settings[SESSION_SETTINGS_MAX];
    /* The variable for the isolation level has two names among servers; the statement has one. */
    enum err e = run(db, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", ec);

    mysql_format_settings(opts, kind, settings);
    if (!e)
        e = run(db, settings, ec);
    return e ? e : read_facts(db, ec);
}

/* ERR_INPUT would mean that a repeat cannot help; here the server refused the login in a way not known to us. */
static enum err fail_connect(struct db *db, struct errctx *ec)
{
    enum err e = fail(db, ec);

    return e == ERR_INPUT ? err_wrap(ec, ERR_DENIED, "refused") : e;
}

static enum err connect_and_set_up(struct db *db, const struct store_opts *opts, enum session_kind kind,
                                   struct errctx *ec)
{
    db->mysql = mysql_init(NULL);
    if (!db->mysql)
        return err_set(ec, ERR_NOMEM, "out of memory");
    set_options(db->mysql, opts, kind);
    if (!mysql_real_connect(db->mysql, opts->host, opts->user, opts->password, opts->database, (unsigned)opts->port,
                            opts->socket, CLIENT_FOUND_ROWS))
        return fail_connect(db, ec);
    if ((opts->tls_require || opts->tls_verify) && !mysql_get_ssl_cipher(db->mysql))
        return err_set(ec, ERR_DENIED, "the server does not offer TLS, which is required");
    int fd = (int)mysql_get_socket(db->mysql);
    if (fd >= 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
        return err_set(ec, ERR_IO, "fcntl: %s", strerror(errno));
    return set_up_session(db, opts, kind, ec);
}

enum err db_connect(const struct store_opts *opts, enum session_kind kind, struct db **out, struct errctx *ec)
{
    struct db *db = calloc(1, sizeof *db);
    const char *user = opts->user ? opts->user : "";
    const char *database = opts->database ? opts->database : "";
    enum err e;

    if (!db)
        return err_set(ec, ERR_NOMEM, "out of memory");
    e = connect_and_set_up(db, opts, kind, ec);
    if (!e) {
        *out = db;
        return ERR_OK;
    }
    db_close(db);
    if (opts->socket)
        return err_wrap(ec, e, "connect to database %s at socket %s as user %s", database, opts->socket, user);
    return err_wrap(ec, e, "connect to database %s at %s:%d as user %s", database, opts->host ? opts->host : "",
                    opts->port, user);
}

void db_close(struct db *db)
{
    if (!db)
        return;
    if (db->mysql)
        mysql_close(db->mysql);
    free(db);
}

bool db_is_broken(const struct db *db)
{
    return !db->mysql;
}

/* Between statements the server has nothing to say but goodbye, so anything to read is the end. */
bool db_is_hung_up(const struct db *db)
{
    return db_has_answer(db, 0);
}

size_t db_max_packet(const struct db *db)
{
    return db->max_packet;
}

const char *db_server_version(const struct db *db)
{
    return db->version;
}

bool db_is_mariadb(const struct db *db)
{
    return db->mariadb;
}

bool db_is_galera(const struct db *db)
{
    return db->galera;
}

const char *db_get_server(const struct db *db)
{
    return db->server;
}

int db_get_socket(const struct db *db)
{
    return db->mysql ? (int)mysql_get_socket(db->mysql) : -1;
}

/* ---- statements -------------------------------------------------------------------------------------------- */

static enum err send_statement(struct db *db, const char *sql, size_t len, struct errctx *ec)
{
    if (!db->mysql)
        return fail_broken(ec);
    db->last_errno = 0;
    return mysql_real_query(db->mysql, sql, (unsigned long)len) ? fail(db, ec) : ERR_OK;
}

/* An UPDATE says "Rows matched: 2  Changed: 1  Warnings: 0"; other statements change what they count. */
static int64_t count_changed(MYSQL *mysql, int64_t matched)
{
    static const char head[] = "Changed: ";
    const char *info = mysql_info(mysql);
    const char *number = info ? strstr(info, head) : NULL;

    return number ? strtoll(number + sizeof head - 1, NULL, 10) : matched;
}

enum err db_exec(struct db *db, const char *sql, size_t len, struct db_effect *effect, struct errctx *ec)
{
    enum err e = send_statement(db, sql, len, ec);

    if (e)
        return e;
    if (mysql_field_count(db->mysql) > 0) {
        /* Not expected; the rows must be read or the connection is out of step. */
        mysql_free_result(mysql_store_result(db->mysql));
    }
    if (effect) {
        effect->matched = (int64_t)mysql_affected_rows(db->mysql);
        effect->first_id = (int64_t)mysql_insert_id(db->mysql);
        effect->changed = count_changed(db->mysql, effect->matched);
    }
    return ERR_OK;
}

static enum err take_rows(struct db *db, MYSQL_RES *res, struct db_rows **out, struct errctx *ec)
{
    struct db_rows *rows;
    enum err e;

    if (!res) {
        if (mysql_errno(db->mysql) == 0 && mysql_field_count(db->mysql) == 0)
            return err_set(ec, ERR_STATE, "the statement returns no rows");
        e = fail(db, ec);
        /* Part of an answer may be left unread, unless the server itself ended it with an error. */
        if (db->mysql && (db->last_errno == 0 || db->last_errno >= CR_MIN_ERROR))
            break_off(db);
        return e;
    }
    rows = calloc(1, sizeof *rows);
    if (!rows) {
        mysql_free_result(res);
        return err_set(ec, ERR_NOMEM, "out of memory");
    }
    rows->res = res;
    *out = rows;
    return ERR_OK;
}

enum err db_query(struct db *db, const char *sql, size_t len, struct db_rows **out, struct errctx *ec)
{
    enum err e = send_statement(db, sql, len, ec);

    return e ? e : take_rows(db, mysql_store_result(db->mysql), out, ec);
}

enum err db_stream(struct db *db, const char *sql, size_t len, struct db_rows **out, struct errctx *ec)
{
    enum err e = send_statement(db, sql, len, ec);

    return e ? e : take_rows(db, mysql_use_result(db->mysql), out, ec);
}

enum err db_check_rows(struct db *db, struct errctx *ec)
{
    if (!db->mysql)
        return fail_broken(ec);
    return mysql_errno(db->mysql) ? fail(db, ec) : ERR_OK;
}

enum err db_send(struct db *db, const char *sql, size_t len, struct errctx *ec)
{
    if (!db->mysql)
        return fail_broken(ec);
    db->last_errno = 0;
    return mysql_send_query(db->mysql, sql, (unsigned long)len) ? fail(db, ec) : ERR_OK;
}

bool db_has_answer(const struct db *db, int timeout_ms)
{
    if (!db->mysql)
        return true;
    struct pollfd p = {.fd = (int)mysql_get_socket(db->mysql), .events = POLLIN | POLLRDHUP};
    return poll(&p, 1, timeout_ms) > 0;
}

enum err db_read(struct db *db, struct db_rows **out, struct errctx *ec)
{
    if (!db->mysql)
        return fail_broken(ec);
    return mysql_read_query_result(db->mysql) ? fail(db, ec) : take_rows(db, mysql_store_result(db->mysql), out, ec);
}

int64_t db_connection_id(const struct db *db)
{
    return db->mysql ? (int64_t)mysql_thread_id(db->mysql) : 0;
}

enum err db_commit(struct db *db, struct errctx *ec)
{
    if (!db->mysql)
        return fail_broken(ec);
    db->last_errno = 0;
    if (!mysql_real_query(db->mysql, "COMMIT", 6))
        return ERR_OK;
    unsigned code = mysql_errno(db->mysql);
    if (mysql_err_of(code) == ERR_CONFLICT)
        return fail(db, ec);
    err_set(ec, ERR_UNKNOWN, "%s (error %u)", mysql_error(db->mysql), code);
    break_off(db);
    return ERR_UNKNOWN;
}

size_t db_escape(struct db *db, char *out, const char *text, size_t len)
{
    return db->mysql ? mysql_real_escape_string(db->mysql, out, text, (unsigned long)len) : 0;
}

/* ---- rows -------------------------------------------------------------------------------------------------- */

size_t db_rows_count(const struct db_rows *rows)
{
    return (size_t)mysql_num_rows(rows->res);
}

void db_rows_rewind(struct db_rows *rows)
{
    mysql_data_seek(rows->res, 0);
    rows->row = NULL;
}

bool db_rows_next(struct db_rows *rows)
{
    if (!rows)
        return false;
    rows->row = mysql_fetch_row(rows->res);
    return rows->row != NULL;
}

const char *db_text(const struct db_rows *rows, unsigned col)
{
    return rows->row[col];
}

const char *db_text_or_empty(const struct db_rows *rows, unsigned col)
{
    return rows->row[col] ? rows->row[col] : "";
}

int64_t db_int(const struct db_rows *rows, unsigned col)
{
    return rows->row[col] ? strtoll(rows->row[col], NULL, 10) : 0;
}

int64_t db_seconds(const struct db_rows *rows, unsigned col)
{
    return datetime_bound(db_int(rows, col));
}

int64_t db_millis(const struct db_rows *rows, unsigned col)
{
    int64_t ms = db_int(rows, col), s = datetime_bound(ms / 1000);

    return s == ms / 1000 ? ms : s * 1000;
}

void db_rows_destroy(struct db_rows *rows)
{
    if (!rows)
        return;
    mysql_free_result(rows->res);
    free(rows);
}

/* SPDX-License-Identifier: MIT */
#include "shardwheel/store/look.h"

#include <stdio.h>
#include <string.h>

#include "store/conn/session.h"

#define SELECT "SELECT "

enum err store_look(struct store_session *s, int limit_ms, const char *statement, struct db_rows **out,
                    struct errctx *ec)
{
    if (strncmp(statement, SELECT, strlen(SELECT)) == 0)
        store_start_limited(s, limit_ms, statement + strlen(SELECT));
    else
        store_start_sql(s, statement);
    return store_query_sql(s, out, ec);
}

enum err store_look_setting(struct store_session *s, const char *name, struct look_value *out, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e = store_query(s, &rows, ec, "SHOW GLOBAL VARIABLES WHERE Variable_name = ?", name);

    if (e)
        return err_wrap(ec, e, "read the setting %s", name);
    snprintf(out->text, sizeof out->text, "%s", db_rows_next(rows) ? db_text_or_empty(rows, 1) : "");
    db_rows_destroy(rows);
    return ERR_OK;
}

/* ---- one server? ------------------------------------------------------------------------------------------------- */

static enum err read_server(struct store_session *s, struct look_value *out, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    size_t at = 0;
    enum err e = store_query(
        s, &rows, ec,
        "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('hostname', 'port', 'server_id', 'server_uuid', 'datadir')");

    out->text[0] = '\0';
    while (!e && db_rows_next(rows) && at < sizeof out->text)
        at += (size_t)snprintf(out->text + at, sizeof out->text - at, "%s%s=%s", at ? " " : "",
                               db_text_or_empty(rows, 0), db_text_or_empty(rows, 1));
    db_rows_destroy(rows);
    return e;
}

enum err store_look_server(struct store_session *s, bool in_txn, struct look_value *out, struct errctx *ec)
{
    enum err e = in_txn ? store_begin_txn(s, ec) : ERR_OK;

    if (!e)
        e = read_server(s, out, ec);
    store_end_txn(s);
    return e ? err_wrap(ec, e, "ask which server this is") : ERR_OK;
}

/* The table of failed logins: a name that nobody has, without failures, disturbs nobody, and is swept if it stays. */
enum err store_look_behind(struct store_session *writer, struct store_session *reader, bool *seen, struct errctx *ec)
{
    char name[40] = "doctor:", random[17];
    int64_t count = 0;
    enum err e = random_hex(random, 8, ec);

    if (e)
        return e;
    strcat(name, random);
    e = store_write(writer, NULL, ec,
                    "INSERT INTO shardwheel_login (who, failures, last_ms) VALUES (?, 0, " STORE_NOW_MS ")", name);
    if (!e) {
        e = store_number(reader, 0, &count, ec, "SELECT COUNT(*) FROM shardwheel_login WHERE who = ?", name);
        *seen = count > 0;
        if (store_write(writer, NULL, e ? NULL : ec, "DELETE FROM shardwheel_login WHERE who = ?", name) && !e)
            e = ERR_LOST;
    }
    return e ? err_wrap(ec, e, "write and read a row") : ERR_OK;
}

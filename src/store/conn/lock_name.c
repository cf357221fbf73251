/* SPDX-License-Identifier: MIT */
/* Names of named locks. */
#include <stdio.h>
#include <string.h>

#include "store/conn/session.h"

/* The name as the server has it: it may fold its case. Asked once, since a session keeps its database. */
static enum err load_digest(struct store_session *s, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e = store_query(s, &rows, ec, "SELECT DATABASE()");

    if (!e && !db_rows_next(rows))
        e = err_set(ec, ERR_LOST, "the server did not return the name of the database");
    if (!e)
        md5_hex(db_text_or_empty(rows, 0), strlen(db_text_or_empty(rows, 0)), s->database_digest);
    db_rows_destroy(rows);
    return e;
}

enum err store_name_lock(struct store_session *s, const char *prefix, char out[STORE_LOCK_NAME_MAX], struct errctx *ec)
{
    enum err e = s->database_digest[0] ? ERR_OK : load_digest(s, ec);

    if (!e)
        snprintf(out, STORE_LOCK_NAME_MAX, "%.30s%s", prefix, s->database_digest);
    return e;
}
